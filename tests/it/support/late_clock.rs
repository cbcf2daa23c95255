//! A server whose clock a test sets back. Needs gcc.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::Server;

/// The source of a library whose clock is `SECONDS` late while a file exists.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, clock, at);
    const char *file = getenv("CLOCK_BACK");
    if (!failed && clock == CLOCK_REALTIME && file && !access(file, F_OK)) at->tv_sec -= SECONDS;
    return failed;
}
"#;

/// The compiled library, and the file that it looks for.
pub(crate) struct LateClock {
    folder: TempDir,
}

impl LateClock {
    /// Compiles the library. Returns `None`, and says so, if there is no gcc.
    pub(crate) fn compile(seconds: u64) -> Option<LateClock> {
        let clock = LateClock { folder: tempfile::tempdir().unwrap() };
        let source = clock.path("clock.c");
        std::fs::write(&source, SOURCE).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.arg(format!("-DSECONDS={seconds}")).args(["-shared", "-fPIC", "-o"]).args([clock.path("clock.so"), source]);
        let Ok(status) = gcc.status() else {
            eprintln!("skipped: there is no gcc");
            return None;
        };
        assert!(status.success(), "the clock does not compile");
        Some(clock)
    }

    /// Starts a server on an empty folder that goes by this clock.
    pub(crate) fn start_server(&self) -> Server {
        let (library, file) = (self.path("clock.so"), self.path("late"));
        let variables = [("LD_PRELOAD", library.to_str().unwrap()), ("CLOCK_BACK", file.to_str().unwrap())];
        Server::start_in_environment(&self.path("data"), &[], &variables)
    }

    /// Makes the clock late, or right.
    pub(crate) fn set_late(&self, is_late: bool) {
        match is_late {
            true => std::fs::write(self.path("late"), "").unwrap(),
            false => std::fs::remove_file(self.path("late")).unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
