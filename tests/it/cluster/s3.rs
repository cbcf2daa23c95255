//! An S3 server with faults: what the crate `object_store` asks for, and no more. Its objects are in memory, where
//! conditional puts are atomic and signatures are not checked, or in Ceph, to which it forwards the requests that no
//! fault keeps.
//!
//! Nodes are told apart by their access key id. Must not know what an object means.

mod forward;
mod http;
mod objects;

use std::io::BufReader;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::ceph::{self, Ceph};
use super::faults::{Fault, Faults};
use forward::Forward;
use http::{Request, Response};
use objects::Objects;

/// A running server. It stops when dropped.
pub(super) struct S3 {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    /// The prefix of this server's clusters.
    prefix: String,
    faults: Mutex<Faults>,
    is_stopped: AtomicBool,
    /// The seconds by which the clock of the server is ahead.
    clock_error: AtomicI64,
}

/// The place of the objects.
enum Store {
    Memory(Mutex<Objects>),
    Ceph(Forward),
}

impl Store {
    fn handle(&self, request: &Request) -> Response {
        match self {
            Store::Memory(objects) => objects.lock().unwrap().handle(request),
            Store::Ceph(forward) => forward.handle(request),
        }
    }
}

/// The effect of a fault on a request.
enum Effect {
    Close,
    Refuse(u16, &'static str),
    ActAndRefuse(u16, &'static str),
    ActAndClose,
    DelayBefore,
    DelayAfter,
    CutBody,
    ActLater,
}

impl S3 {
    /// Starts a server without objects and without faults. Every bucket exists.
    pub(super) fn start(seed: u64) -> S3 {
        S3::serve(Store::Memory(Mutex::default()), "some/prefix".to_owned(), seed)
    }

    /// Starts a server without faults, whose objects are in Ceph.
    pub(super) fn before(ceph: &Arc<Ceph>, seed: u64) -> S3 {
        S3::serve(Store::Ceph(Forward::to(Arc::clone(ceph))), ceph.new_prefix(), seed)
    }

    fn serve(store: Store, prefix: String, seed: u64) -> S3 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            store,
            prefix,
            faults: Mutex::new(Faults::new(seed)),
            is_stopped: AtomicBool::new(false),
            clock_error: AtomicI64::new(0),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        S3 { port, shared }
    }

    /// Returns an address of which there is no cluster yet.
    pub(super) fn address(&self) -> String {
        format!("s3://{}/{}", ceph::BUCKET, self.shared.prefix)
    }

    /// Returns the variables with which a node of this access key uses the server.
    pub(super) fn environment(&self, access_key: &str) -> Vec<(String, String)> {
        environment(self.port, access_key)
    }

    /// Returns what goes wrong.
    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.shared.faults.lock().unwrap()
    }

    /// Sets the clock of the server wrong, by some seconds.
    pub(super) fn set_clock_ahead(&self, seconds: i64) {
        self.shared.clock_error.store(seconds, Ordering::SeqCst);
    }

    /// Overwrites objects from now on although a put asks for a new name.
    pub(super) fn ignore_conditions(&self) {
        self.shared.objects().ignores_conditions = true;
    }

    /// Replaces an object, whose key begins with the bucket.
    pub(super) fn put(&self, key: &str, bytes: &[u8]) {
        let request = Request::of("PUT", &format!("/{key}"), &[], bytes);
        assert_eq!(self.shared.store.handle(&request).status, 200);
    }

    /// Returns the contents of all objects whose keys begin so, in the order of their keys.
    pub(super) fn contents(&self, prefix: &str) -> Vec<Vec<u8>> {
        self.shared.objects().contents(prefix)
    }
}

impl Shared {
    /// Returns the objects in memory.
    fn objects(&self) -> MutexGuard<'_, Objects> {
        match &self.store {
            Store::Memory(objects) => objects.lock().unwrap(),
            Store::Ceph(_) => panic!("the objects are in Ceph"),
        }
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Returns the variables with which a node of this access key uses a server of S3 at a port.
pub(super) fn environment(port: u16, access_key: &str) -> Vec<(String, String)> {
    let variables = [
        ("AWS_ENDPOINT", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "false".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", access_key.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", ceph::SECRET.to_owned()),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns what a fault makes of a request.
fn effect_of(fault: Fault) -> Effect {
    match fault {
        Fault::DelayBefore => Effect::DelayBefore,
        Fault::DelayAfter => Effect::DelayAfter,
        Fault::AnswerDropped => Effect::ActAndClose,
        Fault::ClosedBefore | Fault::CutOff => Effect::Close,
        Fault::Conflict => Effect::Refuse(409, "ConditionalRequestConflict"),
        Fault::TooManyRequests => Effect::Refuse(429, "SlowDown"),
        Fault::Internal => Effect::Refuse(500, "InternalError"),
        Fault::InternalActed => Effect::ActAndRefuse(500, "InternalError"),
        Fault::Unavailable => Effect::Refuse(503, "SlowDown"),
        Fault::UnavailableActed => Effect::ActAndRefuse(503, "SlowDown"),
        Fault::BodyCut => Effect::CutBody,
        Fault::DeliveredLate => Effect::ActLater,
    }
}

/// Returns whether the fault can happen to a request. A plain put never comes late: a store orders the puts of one
/// name by itself, and the log overwrites only what it no longer needs.
fn applies(fault: Fault, request: &Request) -> bool {
    match fault {
        Fault::Conflict | Fault::DeliveredLate => request.is_conditional_put(),
        Fault::BodyCut => request.method == "GET" && request.parameter("list-type").is_none(),
        _ => true,
    }
}

/// Serves one connection until it is closed.
fn serve(stream: &TcpStream, shared: &Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader) {
        if shared.is_stopped.load(Ordering::SeqCst) {
            break;
        }
        let (fault, time) = shared.faults.lock().unwrap().draw(request.access_key(), |fault| applies(fault, &request));
        if !answer(stream, shared, request, fault, time) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Answers one request. Returns whether the connection stays open.
fn answer(stream: &TcpStream, shared: &Arc<Shared>, request: Request, fault: Option<Fault>, time: Duration) -> bool {
    let act = |request: &Request| Response {
        clock_error: shared.clock_error.load(Ordering::SeqCst),
        ..shared.store.handle(request)
    };
    let Some(fault) = fault else { return act(&request).write(stream, &request) };
    match effect_of(fault) {
        Effect::Close => false,
        Effect::Refuse(status, code) => Response::error(status, code).write(stream, &request),
        Effect::ActAndRefuse(status, code) => {
            act(&request);
            Response::error(status, code).write(stream, &request)
        }
        Effect::ActAndClose => {
            act(&request);
            false
        }
        Effect::DelayBefore => {
            std::thread::sleep(time);
            act(&request).write(stream, &request)
        }
        Effect::DelayAfter => {
            let response = act(&request);
            std::thread::sleep(time);
            response.write(stream, &request)
        }
        Effect::CutBody => {
            act(&request).write_half(stream);
            false
        }
        Effect::ActLater => {
            let shared = Arc::clone(shared);
            std::thread::spawn(move || {
                std::thread::sleep(time);
                shared.store.handle(&request);
                shared.faults.lock().unwrap().late_puts -= 1;
            });
            false
        }
    }
}

#[test]
fn a_name_is_created_once() {
    let s3 = S3::start(1);
    let put = |body: &str| {
        let request = Request::of("PUT", "/bucket/a/b", &[("if-none-match", "*")], body.as_bytes());
        s3.shared.store.handle(&request).status
    };
    assert_eq!((put("1"), put("2")), (200, 412));
    assert_eq!(s3.contents("bucket/a/"), [b"1".to_vec()]);
}
