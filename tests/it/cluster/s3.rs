//! An S3 server in memory, with faults: what the crate `object_store` asks for, and no more. Conditional puts are atomic.
//!
//! Nodes are told apart by their access key id. Signatures are not checked. Must not know what an object means.

mod faults;
mod http;
mod objects;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use faults::Effect;
pub(super) use faults::{Fault, Faults};
use http::{Request, Response};
use objects::Objects;

/// A running server. It stops when dropped.
pub(super) struct S3 {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    objects: Mutex<Objects>,
    faults: Mutex<Faults>,
    is_stopped: AtomicBool,
}

impl S3 {
    /// Starts a server without objects and without faults. Every bucket exists.
    pub(super) fn start(seed: u64) -> S3 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            objects: Mutex::default(),
            faults: Mutex::new(Faults::new(seed)),
            is_stopped: AtomicBool::new(false),
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

    /// Returns the variables with which a node of this access key uses the server.
    pub(super) fn environment(&self, access_key: &str) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "false".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", access_key.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "not-checked".to_owned()),
        ];
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Lets a share of the requests fail, from 0 to 1.
    pub(super) fn set_rate(&self, rate: f64) {
        self.shared.faults.lock().unwrap().rate = rate;
    }

    /// Answers nothing to a node for some time, or to all.
    pub(super) fn cut_off(&self, access_key: Option<&str>, time: Duration) {
        self.shared.faults.lock().unwrap().cut_off(access_key, time);
    }

    /// Ends all faults. A put that is delivered late still comes.
    pub(super) fn heal(&self) {
        self.shared.faults.lock().unwrap().heal();
    }

    /// Waits until no put is on its way any more.
    pub(super) fn wait_for_late_puts(&self) {
        let last = self.shared.faults.lock().unwrap().last_late_put;
        let left = last.map(|at| at.saturating_duration_since(Instant::now())).unwrap_or_default();
        std::thread::sleep(left + Duration::from_millis(100));
    }

    /// Returns how often each fault has fired.
    pub(super) fn fired(&self) -> BTreeMap<Fault, u64> {
        self.shared.faults.lock().unwrap().fired.clone()
    }

    /// Returns the number of requests.
    pub(super) fn requests(&self) -> u64 {
        self.shared.faults.lock().unwrap().requests
    }

    /// Returns the contents of all objects whose keys begin so, in the order of their keys.
    pub(super) fn contents(&self, prefix: &str) -> Vec<Vec<u8>> {
        self.shared.objects.lock().unwrap().contents(prefix)
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
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
        let (fault, time) = shared.faults.lock().unwrap().draw(&request);
        if !answer(stream, shared, request, fault, time) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Answers one request. Returns whether the connection stays open.
fn answer(stream: &TcpStream, shared: &Arc<Shared>, request: Request, fault: Option<Fault>, time: Duration) -> bool {
    let act = |request: &Request| shared.objects.lock().unwrap().handle(request);
    let Some(fault) = fault else { return act(&request).write(stream, &request) };
    match fault.effect() {
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
                shared.objects.lock().unwrap().handle(&request);
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
        s3.shared.objects.lock().unwrap().handle(&request).status
    };
    assert_eq!((put("1"), put("2")), (200, 412));
    assert_eq!(s3.contents("bucket/a/"), [b"1".to_vec()]);
}
