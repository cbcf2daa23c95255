//! The storage of a history: an S3 server with faults, in memory or before Ceph, or PostgreSQL behind connections that
//! fail.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::ceph::{ACCESS_KEYS, Ceph};
use super::faults::{Fault, Faults};
use super::postgres::{PASSWORD, Postgres};
use super::s3::S3;

/// The faults of a connection to PostgreSQL.
const OF_CONNECTIONS: [Fault; 4] = [Fault::DelayBefore, Fault::DelayAfter, Fault::AnswerDropped, Fault::ClosedBefore];
/// The time in which PostgreSQL has carried out a statement whose answer is dropped.
const CARRIED_OUT: Duration = Duration::from_millis(100);

/// The kind of a storage.
pub(super) enum Kind {
    S3,
    /// Starts once for all histories of a test.
    Ceph(Arc<Ceph>),
    Postgres,
}

/// The storage of a cluster, with its faults.
pub(super) enum Storage {
    S3(S3),
    Postgres(Database),
}

/// A database, and a proxy to it for each node.
pub(super) struct Database {
    /// Kept running.
    _server: Postgres,
    proxies: Vec<Proxy>,
    faults: Arc<Mutex<Faults>>,
}

impl Storage {
    /// Starts a storage for some nodes. `None` if what it needs is not there.
    pub(super) fn start(kind: &Kind, seed: u64, nodes: usize) -> Option<Storage> {
        match kind {
            Kind::S3 => Some(Storage::S3(S3::start(seed))),
            Kind::Ceph(ceph) => Some(Storage::S3(S3::before(ceph, seed))),
            Kind::Postgres => Database::start(seed, nodes).map(Storage::Postgres),
        }
    }

    /// Returns the address that a node uses.
    pub(super) fn address(&self, node: usize) -> String {
        match self {
            Storage::S3(s3) => s3.address(),
            Storage::Postgres(database) => database.address(node),
        }
    }

    /// Returns the variables with which a node uses it.
    pub(super) fn environment(&self, node: usize) -> Vec<(String, String)> {
        match self {
            Storage::S3(s3) => s3.environment(key(node)),
            Storage::Postgres(_) => vec![("PGPASSWORD".to_owned(), PASSWORD.to_owned())],
        }
    }

    /// Returns what goes wrong.
    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        match self {
            Storage::S3(s3) => s3.faults(),
            Storage::Postgres(database) => database.faults.lock().unwrap(),
        }
    }

    /// Returns the kinds of faults that can happen.
    pub(super) fn kinds_of_faults(&self) -> Vec<Fault> {
        match self {
            Storage::S3(_) => Fault::all().collect(),
            Storage::Postgres(_) => OF_CONNECTIONS.into_iter().chain([Fault::CutOff]).collect(),
        }
    }

    /// Waits until no put is on its way any more.
    pub(super) fn wait_for_late_puts(&self) {
        while self.faults().late_puts > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Requests of nodes that were killed may still be carried out.
        std::thread::sleep(Duration::from_millis(100));
    }

    /// Overwrites objects from now on although a put asks for a new name.
    pub(super) fn ignore_conditions(&self) {
        match self {
            Storage::S3(s3) => s3.ignore_conditions(),
            Storage::Postgres(_) => unreachable!("PostgreSQL has no condition that can be ignored"),
        }
    }
}

impl Database {
    fn start(seed: u64, nodes: usize) -> Option<Database> {
        let server = Postgres::start()?;
        let faults = Arc::new(Mutex::new(Faults::new(seed)));
        let proxies = (0..nodes).map(|node| Proxy::start(server.port(), key(node), Arc::clone(&faults))).collect();
        Some(Database { _server: server, proxies, faults })
    }

    fn address(&self, node: usize) -> String {
        format!("postgres://bindery@127.0.0.1:{}/bindery?sslmode=disable", self.proxies[node].port)
    }
}

/// Returns the name by which a node is known to faults. To a server of S3 it is its access key.
pub(super) fn key(node: usize) -> &'static str {
    ACCESS_KEYS[node]
}

/// Passes on the connections of one node.
struct Proxy {
    port: u16,
    is_stopped: Arc<AtomicBool>,
}

impl Proxy {
    fn start(to: u16, node: &str, faults: Arc<Mutex<Faults>>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (node, stopped) = (node.to_owned(), Arc::clone(&is_stopped));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                pass_on(client, server, &node, &faults);
            }
        });
        Proxy { port, is_stopped }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Passes on what both sides send, until one of them ends or a fault ends it.
fn pass_on(client: TcpStream, server: TcpStream, node: &str, faults: &Arc<Mutex<Faults>>) {
    [&client, &server].into_iter().for_each(|stream| drop(stream.set_nodelay(true)));
    let pairs = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
    // Answers are passed on after this time.
    let answers_from = Arc::new(Mutex::new(Instant::now()));
    for (is_answer, (from, to)) in [false, true].into_iter().zip(pairs) {
        let (Ok(mut from), Ok(mut to)) = (from, to) else { return };
        let (node, faults, answers_from) = (node.to_owned(), Arc::clone(faults), Arc::clone(&answers_from));
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                let is_passed = match is_answer {
                    true => {
                        let wait = answers_from.lock().unwrap().saturating_duration_since(Instant::now());
                        std::thread::sleep(wait);
                        !faults.lock().unwrap().is_cut_off(&node) && to.write_all(&bytes[..count]).is_ok()
                    }
                    false => pass_request(&bytes[..count], &mut to, &node, &faults, &answers_from),
                };
                if !is_passed {
                    break;
                }
            }
            [&from, &to].into_iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        });
    }
}

/// Passes on a piece of what a node sends. Returns whether the connection stays open.
fn pass_request(
    bytes: &[u8],
    to: &mut TcpStream,
    node: &str,
    faults: &Mutex<Faults>,
    answers_from: &Mutex<Instant>,
) -> bool {
    let (fault, time) = faults.lock().unwrap().draw(node, |fault| OF_CONNECTIONS.contains(&fault));
    match fault {
        None => to.write_all(bytes).is_ok(),
        Some(Fault::DelayBefore) => {
            std::thread::sleep(time);
            to.write_all(bytes).is_ok()
        }
        Some(Fault::DelayAfter) => {
            *answers_from.lock().unwrap() = Instant::now() + time;
            to.write_all(bytes).is_ok()
        }
        Some(Fault::AnswerDropped) => {
            *answers_from.lock().unwrap() = Instant::now() + CARRIED_OUT * 2;
            let _ = to.write_all(bytes);
            std::thread::sleep(CARRIED_OUT);
            false
        }
        Some(_) => false,
    }
}
