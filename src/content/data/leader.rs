//! The leader of a cluster: the node that the last `lead` transaction names. Leading decides who does the regular jobs
//! and to whom the others forward writes; the order of the log does not depend on it.

use bindery_model::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The node that leads, since a transaction said so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// The name of the node.
    pub node: String,
    /// The address at which the other nodes reach it.
    pub address: String,
    /// 1, 2, 3: each leader has the next number.
    pub term: u64,
}

impl Leader {
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(Error::internal)
    }

    /// # Errors
    /// `INTERNAL` if the record is malformed.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Leader> {
        serde_json::from_slice(bytes).map_err(Error::internal)
    }
}
