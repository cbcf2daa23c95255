//! Errors of analytics that a cluster shares.

use std::io;

use bindery_analytics::OpenError;
use bindery_cluster::ClusterError;
use bindery_model::error::{Code, Error};

/// The reason why shared analytics cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CountingError {
    /// The storage of the cluster fails.
    #[error(transparent)]
    Storage(#[from] ClusterError),
    /// The disk of this server fails.
    #[error("the analytics cannot be written to disk: {0}")]
    Disk(#[from] io::Error),
    /// The folder that was made cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The analytics refuse.
    #[error(transparent)]
    Analytics(#[from] Error),
    /// An object is damaged, missing, or of a newer version.
    #[error("the shared analytics cannot be read: {name} {what}")]
    Damaged {
        /// The name of the object.
        name: String,
        /// The damage.
        what: String,
    },
    /// Another node counts since a moment ago.
    #[error("another node of the cluster counts now")]
    Superseded,
}

impl CountingError {
    pub(crate) fn damaged(name: &str, what: &str) -> CountingError {
        CountingError::Damaged { name: name.to_owned(), what: what.to_owned() }
    }
}

impl From<CountingError> for Error {
    /// Keeps an error of the analytics. Everything else means that the cluster's storage has to be there first.
    fn from(error: CountingError) -> Error {
        match error {
            CountingError::Analytics(error) => error,
            CountingError::Disk(_) | CountingError::Open(_) => Error::internal(error),
            error => Error::new(Code::LogUnreachable, format!("{error}; try again in a moment")),
        }
    }
}
