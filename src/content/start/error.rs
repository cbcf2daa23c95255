//! The reasons why a data folder cannot be used.

use std::path::Path;

use bindery_base::BaseError;
use bindery_store::KEPT_FREE_BYTES;

/// The reason why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be used.
    #[error("the data folder {folder} cannot be used: {cause}")]
    Folder {
        /// The folder.
        folder: String,
        /// The reason.
        cause: String,
    },
    /// The backup cannot be read, or is incomplete.
    #[error("the backup {file} cannot be used: {cause}")]
    Backup {
        /// The file.
        file: String,
        /// The reason.
        cause: String,
    },
    /// Another server has the folder open.
    #[error("the data folder {0} is in use by another bindery process; talk to that one with `--url` and `--token`")]
    InUse(String),
    /// The cluster cannot be restored.
    #[error("the cluster cannot be restored: {0}")]
    Cluster(String),
    /// The stored content cannot be read.
    #[error("the stored content cannot be read: {0}")]
    Content(String),
}

impl StartError {
    /// Returns the error for a data folder that cannot be used because of an error of the system.
    pub fn folder(folder: &Path, cause: &dyn std::fmt::Display) -> StartError {
        let cause = cause.to_string();
        let advice = match is_disk_full(&cause) {
            true => format!("; {}{}", free_space(folder), earlier_stores(folder)),
            false => advice(&cause).map(|advice| format!("; {advice}")).unwrap_or_default(),
        };
        StartError::Folder { folder: folder.display().to_string(), cause: cause + &advice }
    }

    /// Returns the error for a backup that cannot be read. The text says "backup", because users do not know bases.
    pub(crate) fn backup(file: &Path, error: &BaseError) -> StartError {
        let cause = match error {
            BaseError::Io { source, .. } => source.to_string(),
            BaseError::Damaged { what, .. } => format!("it is damaged: {what}"),
            BaseError::Version { version, .. } => {
                format!("it has format {version}, which this version of the server does not know")
            }
            other => other.to_string(),
        };
        StartError::Backup { file: file.display().to_string(), cause }
    }

    pub(crate) fn content(cause: impl std::fmt::Display) -> StartError {
        StartError::Content(cause.to_string())
    }
}

/// Extracts the system's error number from the text of an error.
fn number(cause: &str) -> Option<u32> {
    let (_, rest) = cause.rsplit_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

fn is_disk_full(cause: &str) -> bool {
    matches!(number(cause), Some(28 | 122))
}

/// Returns advice about how much space to free: the reserve of the store, and room for applying the rest of the log.
fn free_space(folder: &Path) -> String {
    let files = std::fs::read_dir(folder.join(bindery_base::LOG)).into_iter().flatten().flatten();
    let log: u64 = files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    let needed = (log + KEPT_FREE_BYTES).div_ceil(1 << 20);
    format!("free at least {needed} MiB on its disk and start again: nothing that was acknowledged is lost")
}

/// Returns the paths of stores that a start has moved aside, which may be deleted to free space.
fn earlier_stores(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut stores: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| bindery_base::number_of_aside(name, bindery_base::STORE).is_some())
        .map(|name| format!("`{}`", folder.join(name).display()))
        .collect();
    stores.sort();
    match stores.is_empty() {
        true => String::new(),
        false => format!("; {} may be deleted, because the store is rebuilt without them", stores.join(" and ")),
    }
}

/// Returns the advice about an error of the system, by its number in the text of an error.
fn advice(cause: &str) -> Option<&'static str> {
    match number(cause)? {
        23 | 24 => Some("raise the limit of open files (`ulimit -n`, `LimitNOFILE` of systemd) and start again"),
        11 | 12 => Some("free some memory, or raise the limit of processes and threads, and start again"),
        1 | 13 => Some("let the user that runs the server read and write everything in the folder, and start again"),
        30 => Some("mount its disk so that it can be written to, and start again"),
        5 => Some("its disk fails: copy the folder to another disk with what can still be read, and start from there"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_comes_with_what_to_do() {
        for code in [1, 5, 11, 12, 13, 23, 24, 28, 30, 122] {
            let error = StartError::folder(Path::new("data"), &std::io::Error::from_raw_os_error(code));
            assert!(error.to_string().contains(&format!("(os error {code}); ")), "{error}");
        }
        let error = StartError::folder(Path::new("data"), &"the log in data/log is damaged");
        assert!(error.to_string().ends_with("is damaged"), "{error}");
    }
}
