//! Points of failure: places with a name at which a test makes the process fail, as a disk or the power would.
//!
//! Compiled in for tests only: the crate `fail` is enabled by the workspace's dev-dependencies, so a build with `cargo
//! build` has none of it. The variable `FAILPOINTS` says what happens where, in the words of that crate:
//!
//! ```text
//! FAILPOINTS='log::append=return(EIO)'              every append fails
//! FAILPOINTS='log::append=5*off->1*return(ENOSPC)'  the sixth append fails, the others work
//! FAILPOINTS='index::manifest=2*off->return(kill)'  the process is gone at the third manifest
//! FAILPOINTS='log::append=return(short)'            half of the bytes are written, then EIO
//! FAILPOINTS='checkpoint::begin=sleep(2000)'        waits two seconds
//! ```
//!
//! A name is the module, `::` and the step that is about to be taken. It must not know what the steps mean.

use std::io;

/// The errors of the system by name, with their numbers on Linux.
const ERRORS: [(&str, i32); 5] = [("EIO", 5), ("EACCES", 13), ("EMFILE", 24), ("ENOSPC", 28), ("EROFS", 30)];

/// Fails here if a test said so: with the error that it named, or by the end of the process. Otherwise `Ok`, at once.
pub fn point(name: &'static str) -> io::Result<()> {
    match action(name) {
        None => Ok(()),
        Some(action) => Err(perform(&action)),
    }
}

/// Writes `bytes` by `write`, unless a test said that this write fails. With the action `short`, the first half of the
/// bytes is written before it fails.
pub fn write(name: &'static str, bytes: &[u8], write: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
    match action(name).as_deref() {
        None => write(bytes),
        Some("short") => {
            write(&bytes[..bytes.len() / 2])?;
            Err(io::Error::from_raw_os_error(5))
        }
        Some(action) => Err(perform(action)),
    }
}

/// Tests whether a test said something of this point: for what happens too rarely by itself.
pub fn is_asked_for(name: &'static str) -> bool {
    action(name).is_some()
}

/// The action that a test asked for at this point, if it is time.
#[allow(unused_variables, reason = "the macro is empty without its feature")]
fn action(name: &'static str) -> Option<String> {
    fail::fail_point!(name, |argument| Some(argument.unwrap_or_default()));
    None
}

/// The named error. `kill` ends the process without any of its destructors, like SIGKILL.
fn perform(action: &str) -> io::Error {
    if action == "kill" {
        std::process::abort();
    }
    let (_, number) = ERRORS.iter().find(|(name, _)| *name == action).unwrap_or(&ERRORS[0]);
    io::Error::from_raw_os_error(*number)
}
