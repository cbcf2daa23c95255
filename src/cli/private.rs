//! Keeps other users of the machine from reading the files of the binary, which contain drafts, hashes and secrets.
//! Must not know commands.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::Mode;

/// The permissions of all users except the owner.
const OTHERS: u32 = 0o077;

/// Makes all files and folders that the process creates from now on accessible to its user only, regardless of its
/// umask.
pub(super) fn keep_new_files_private() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Returns a warning if other users may enter the data folder. Only the mode of the folder itself matters: nobody can
/// reach a file in a folder that they may not enter.
pub(super) fn warning_of(data: &Path) -> Option<String> {
    let mode = fs::metadata(data).ok()?.permissions().mode() & 0o777;
    (mode & OTHERS != 0).then(|| {
        let data = data.display();
        format!("the data folder {data} is open to other users of this machine (mode {mode:04o}); `chmod -R go= {data}` closes it")
    })
}
