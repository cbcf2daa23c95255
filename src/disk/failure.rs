//! Failure points: named places at which a test makes the process fail, as a disk or a power cut would.
//!
//! They are compiled in for tests only: the crate `fail` is enabled by the workspace's dev-dependencies, so a normal
//! build contains none of them. The variable `FAILPOINTS` defines the actions, in the syntax of that crate:
//!
//! ```text
//! FAILPOINTS='log::append=return(EIO)'              every append fails
//! FAILPOINTS='log::append=5*off->1*return(ENOSPC)'  the sixth append fails, the others work
//! FAILPOINTS='index::manifest=2*off->return(kill)'  the process is gone at the third manifest
//! FAILPOINTS='log::append=return(short)'            half of the bytes are written, then EIO
//! FAILPOINTS='checkpoint::begin=sleep(2000)'        waits two seconds
//! FAILPOINTS='clock::ahead=return(-3600)'           the clock of a node is an hour behind
//! FAILPOINTS='watch::gone=return(5)'                a leader is gone after five seconds
//! ```
//!
//! A name consists of the module, `::` and the step that follows. This module must not know the meaning of the steps.

use std::io;

/// The errors of the system by name, with their numbers on Linux.
const ERRORS: [(&str, i32); 5] = [("EIO", 5), ("EACCES", 13), ("EMFILE", 24), ("ENOSPC", 28), ("EROFS", 30)];

/// Fails if a test defined an action for this point: with the error that it named, or by the end of the process.
/// Otherwise returns `Ok` at once.
pub fn point(name: &'static str) -> io::Result<()> {
    match action(name) {
        None => Ok(()),
        Some(action) => Err(perform(&action)),
    }
}

/// Calls `write` with `bytes`, unless a test defined that this write fails. With the action `short`, the first half of
/// the bytes is written before the failure.
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

/// Returns whether a test defined an action for this point. This is for events that are too rare without help.
pub fn is_asked_for(name: &'static str) -> bool {
    action(name).is_some()
}

/// Returns the number that a test defined for this point; 0 if it defined none.
pub fn number(name: &'static str) -> i64 {
    action(name).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Returns a time that a test made shorter, in seconds: some waits are too long for a test.
pub fn time(name: &'static str, otherwise: std::time::Duration) -> std::time::Duration {
    match number(name) {
        0 => otherwise,
        seconds => std::time::Duration::from_secs(seconds.unsigned_abs()),
    }
}

/// Returns the action that a test defined for this point, if it is due.
#[allow(unused_variables, reason = "the macro is empty without its feature")]
fn action(name: &'static str) -> Option<String> {
    fail::fail_point!(name, |argument| Some(argument.unwrap_or_default()));
    None
}

/// Performs an action: returns the named error. `kill` ends the process without running destructors, like SIGKILL.
fn perform(action: &str) -> io::Error {
    if action == "kill" {
        std::process::abort();
    }
    let (_, number) = ERRORS.iter().find(|(name, _)| *name == action).unwrap_or(&ERRORS[0]);
    io::Error::from_raw_os_error(*number)
}
