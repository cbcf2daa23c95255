//! The flag that an index's files are damaged. It does not know the files.
//!
//! Values are read in the middle of comparisons and scans, which cannot fail. So a read of damaged bytes reports the
//! damage first, and then returns nothing. Results computed meanwhile may be wrong. So [`Damage::check`] must be called
//! before a result is returned, cached or written.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::Error;

/// The damage found in the files of one index. It never goes away: the index must be rebuilt.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    first: OnceLock<FoundDamage>,
}

/// The place to report damage of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileDamage<'a> {
    pub(crate) path: &'a Path,
    pub(crate) damage: &'a Damage,
}

#[derive(Debug)]
struct FoundDamage {
    path: PathBuf,
    what: String,
}

impl Damage {
    /// Notes damage in a file. Only the first report is logged and kept.
    pub(crate) fn report(&self, path: &Path, what: impl Into<String>) {
        let what = what.into();
        let text = format!("{}: {what}", path.display());
        if self.first.set(FoundDamage { path: path.to_owned(), what }).is_ok() {
            tracing::error!("the index is damaged and must be rebuilt: {text}");
        }
    }

    /// Returns whether any was found.
    pub(crate) fn is_found(&self) -> bool {
        self.first.get().is_some()
    }

    /// Fails if damage was found.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.first.get() {
            None => Ok(()),
            Some(FoundDamage { path, what }) => Err(Error::corrupt(path, what.clone())),
        }
    }
}

impl FileDamage<'_> {
    /// Notes damage in the file.
    pub(crate) fn report(&self, what: &str) {
        self.damage.report(self.path, what);
    }
}
