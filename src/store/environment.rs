//! Distinguishes an error of the environment (a full disk, a limit, missing rights, a failing disk) from damage. sled
//! reports both in the same ways: as an error, or by a panic.

use super::error::StoreError;

/// The system errors that sled gets when its files are damaged, because it follows positions and names in them: missing
/// file, existing file, not a folder, a folder, invalid argument, file too large, illegal seek, value too large.
const CODES_OF_DAMAGE: [i32; 8] = [2, 17, 20, 21, 22, 27, 29, 75];

/// Returns the system's error in the debug text of an error or of a panic. sled keeps only this text of the errors of
/// its threads.
pub(super) fn system_error(text: &str) -> Option<i32> {
    let behind = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let digits = behind("Os { code: ").or_else(|| behind("(os error "))?;
    digits.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the system's error if the environment caused it, and not damaged files.
pub(super) fn environment_error(text: &str) -> Option<std::io::Error> {
    let code = system_error(text).filter(|code| !CODES_OF_DAMAGE.contains(code))?;
    Some(std::io::Error::from_raw_os_error(code))
}

/// The system's number of a failed read or write.
const EIO: i32 = 5;

impl StoreError {
    /// Returns whether the system may have dropped pages that it could not write, while readers still see them.
    pub(super) fn may_have_dropped_writes(&self) -> bool {
        match self {
            StoreError::Io { action, .. } => *action == "sync",
            StoreError::Sled { source, .. } => system_error(&format!("{source:?}")) == Some(EIO),
            StoreError::Panicked { what, .. } => system_error(what) == Some(EIO),
            _ => false,
        }
    }

    /// Returns whether the files themselves are damaged. Otherwise they may be intact and must not be replaced: the
    /// system does not allow reading or writing them, another process has them open, or they have another format.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Io { .. }
            | StoreError::InUse { .. }
            | StoreError::Unavailable { .. }
            | StoreError::NoRoom { .. }
            | StoreError::Version { .. } => false,
            StoreError::Sled { source, .. } => environment_error(&format!("{source:?}")).is_none(),
            StoreError::Panicked { what, .. } | StoreError::DoesNotOpen { what, .. } => {
                environment_error(what).is_none()
            }
            StoreError::Damaged { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn errors_of_the_environment_are_told_from_damage() {
        let sled = |source: io::Error| StoreError::Sled { action: "read", source: sled::Error::Io(source) };
        let of_code = io::Error::from_raw_os_error;
        // The error looks like one that sled passes on from one of its threads.
        let copied = |code: i32| io::Error::other(format!("{:?}", of_code(code)));
        let panicked = |code: i32| {
            let what = format!("called `Result::unwrap()` on an `Err` value: Io({:?})", of_code(code));
            StoreError::Panicked { action: "read", what }
        };
        for code in [5, 11, 12, 13, 23, 24, 28, 30, 122] {
            for error in [sled(of_code(code)), sled(copied(code)), panicked(code)] {
                assert!(!error.is_damage(), "{code}: {error:?}");
            }
        }
        let damaged = [
            sled(of_code(2)),
            sled(of_code(22)),
            sled(io::Error::from(io::ErrorKind::UnexpectedEof)),
            panicked(2),
            StoreError::Panicked { action: "read", what: "tried to load a Free page".to_owned() },
            StoreError::Sled { action: "read", source: sled::Error::Corruption { at: None, bt: () } },
            StoreError::DoesNotOpen { folder: PathBuf::new(), what: "cannot change the io buffer size".to_owned() },
            StoreError::Damaged { key: String::new(), what: "its checksum is wrong" },
        ];
        for error in damaged {
            assert!(error.is_damage(), "{error:?}");
        }
    }
}
