//! The watch over the log of a server, which must never contain tokens or addresses of clients.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::ADMIN;

/// Reads a log while it is written. Prints warnings and errors.
pub(super) struct LogWatch {
    lines: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<Read>>,
}

/// The findings in a log at its end.
#[derive(Default)]
struct Read {
    leaking: Vec<String>,
    last: String,
}

impl LogWatch {
    /// Starts the watch. The channel gets the address of the server, if it is in this log. A JSON log also has lines
    /// that are printed for people, for example the owner's link.
    pub(super) fn start(log: ChildStderr, is_json: bool) -> (LogWatch, Receiver<String>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let (found, address) = channel();
        let read = move || {
            let mut read = Read::default();
            for line in BufReader::new(log).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                kept.lock().unwrap().push(line.clone());
                if let Some(address) = address_in(&line) {
                    let _ = found.send(address);
                    continue;
                }
                if ["TRACE", "DEBUG", "INFO"].iter().all(|level| !line.contains(level)) {
                    eprintln!("{line}");
                }
                if leaks(&line) && (!is_json || line.starts_with('{')) {
                    read.leaking.push(line.clone());
                }
                read.last = line;
            }
            read
        };
        (LogWatch { lines, thread: Some(std::thread::spawn(read)) }, address)
    }

    /// Returns the lines so far.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Waits for the end of the log. Returns its last line. Fails the test if the log contained a token or an address.
    pub(super) fn finish(&mut self) -> String {
        let Read { leaking, last } = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        if !std::thread::panicking() {
            assert!(leaking.is_empty(), "the log holds tokens or addresses:\n{}", leaking.join("\n"));
        }
        last
    }
}

/// Returns the address, if this is the line in which a server reports its address.
pub(super) fn address_in(line: &str) -> Option<String> {
    Some(line.split("listens on ").nth(1)?.split(',').next()?.to_owned())
}

/// Returns whether a line contains a token or an address. (Only the IPv6 addresses that tests use are recognized: many
/// words of Rust look like one.)
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
