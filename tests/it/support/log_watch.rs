//! Watches the log of a server for what must never be in it: tokens, and addresses of clients.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use super::ADMIN;

/// Reads a log while it is written. Prints warnings and errors.
pub(super) struct LogWatch {
    lines: Arc<AtomicUsize>,
    thread: Option<JoinHandle<Read>>,
}

/// What is known of a log at its end.
#[derive(Default)]
struct Read {
    leaking: Vec<String>,
    last: String,
}

impl LogWatch {
    pub(super) fn start(log: ChildStderr) -> LogWatch {
        let lines = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lines);
        let read = move || {
            let mut read = Read::default();
            for line in BufReader::new(log).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                counted.fetch_add(1, Ordering::Relaxed);
                if ["TRACE", "DEBUG", "INFO"].iter().all(|level| !line.contains(level)) {
                    eprintln!("{line}");
                }
                if leaks(&line) {
                    read.leaking.push(line.clone());
                }
                read.last = line;
            }
            read
        };
        LogWatch { lines, thread: Some(std::thread::spawn(read)) }
    }

    /// How many lines there were so far.
    pub(super) fn lines(&self) -> usize {
        self.lines.load(Ordering::Relaxed)
    }

    /// Waits for the end of the log. Returns its last line. Fails the test if it had a token or an address.
    pub(super) fn finish(&mut self) -> String {
        let Read { leaking, last } = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        if !std::thread::panicking() {
            assert!(leaking.is_empty(), "the log holds tokens or addresses:\n{}", leaking.join("\n"));
        }
        last
    }
}

/// Whether a line holds a token, or an address. (Of those of IPv6 only the ones that tests use: many words of Rust look
/// like one.)
pub(crate) fn leaks(line: &str) -> bool {
    let of_address = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
    let mut words = line.split(|c| !of_address(c)).map(|word| word.trim_matches([':', '.']));
    let is_address = |word: &str| word.parse::<Ipv4Addr>().is_ok() || word.parse::<SocketAddrV4>().is_ok();
    let secrets = ["bnd_", "bns_", "bni_", "argon2id"];
    secrets.iter().any(|secret| line.contains(secret))
        || line.contains(ADMIN)
        || line.contains("2001:db8")
        || words.any(is_address)
}
