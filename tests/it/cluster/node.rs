//! A node as a process, and a client that knows whether a request was sent. Must not know what is tested.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{ADMIN, Reply, binary};

/// The header `Host` of all requests: links in answers are the same on all nodes then.
const HOST: &str = "cluster.example";

/// A node: its folder and its port stay the same over restarts.
pub(super) struct Node {
    pub(super) folder: PathBuf,
    pub(super) port: u16,
    log: String,
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
    /// The failure points of every start.
    points: &'static str,
    child: Mutex<Option<Child>>,
    /// The id of the process that was started last.
    process: Arc<AtomicU32>,
    /// True if the process was started to fail at some step.
    is_armed: AtomicBool,
}

/// Returns a port that nothing uses. Below those that systems give out, so that it stays free while the node is down.
pub(super) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let spread = (std::process::id() as u16).wrapping_mul(61) % 10_000;
        let port = 12_000 + (spread + NEXT.fetch_add(1, Ordering::SeqCst)) % 18_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Node {
    /// Prepares a node. Starts nothing.
    pub(super) fn new(folder: &Path, log: &str, environment: Vec<(String, String)>, arguments: &[&str]) -> Node {
        Node {
            folder: folder.to_owned(),
            port: free_port(),
            log: log.to_owned(),
            environment,
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            points: "",
            child: Mutex::new(None),
            process: Arc::default(),
            is_armed: AtomicBool::new(false),
        }
    }

    /// Has the other nodes connect to this address instead of the port.
    pub(super) fn reach_at(&mut self, address: &str) {
        self.arguments.extend(["--node-address".to_owned(), address.to_owned()]);
    }

    /// Has every start of the node fail, or do something sooner, at the named points.
    pub(super) fn always_fail(&mut self, points: &'static str) {
        self.points = points;
    }

    /// Returns the id of the process, which changes with each start.
    pub(super) fn process(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.process)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--data").arg(&self.folder);
        command.env("BINDERY_ADMIN_TOKEN", ADMIN).env("BINDERY_LOG_FILTER", "info");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Makes a cluster of the folder.
    #[track_caller]
    pub(super) fn create_cluster(&self) {
        self.try_create_cluster().unwrap();
    }

    /// Makes a cluster of the folder. Returns the error that is printed.
    pub(super) fn try_create_cluster(&self) -> Result<(), String> {
        let output = self.command(&["cluster", "create", "--log", &self.log]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(error) }
    }

    /// Gives the log of the cluster what only this node has. The node must have been killed.
    #[track_caller]
    pub(super) fn repair(&self) {
        let output = self.command(&["cluster", "repair", "--log", &self.log]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts the process, whatever becomes of it. What it logs is appended to a file beside the folder.
    pub(super) fn start(&self) {
        self.start_failing("");
    }

    /// Returns whether the process may still fail at the step with which it was started.
    pub(super) fn is_armed(&self) -> bool {
        self.is_armed.load(Ordering::SeqCst)
    }

    /// Starts the process so that it fails at the named points (the form is in `bindery_disk::failure`).
    pub(super) fn start_failing(&self, points: &str) {
        self.is_armed.store(!points.is_empty(), Ordering::SeqCst);
        let mut child = self.child.lock().unwrap();
        assert!(child.is_none(), "the node runs already");
        let log = OpenOptions::new().create(true).append(true).open(self.log_file()).unwrap();
        let listen = format!("127.0.0.1:{}", self.port);
        let mut command = self.command(&["serve", "--listen", &listen]);
        command.args(["--log", &self.log]).args(&self.arguments).stdout(Stdio::null()).stderr(log);
        let started = command.env("FAILPOINTS", format!("{};{points}", self.points)).spawn().unwrap();
        self.process.store(started.id(), Ordering::SeqCst);
        *child = Some(started);
    }

    /// Waits until the node is ready. Starts it again if its process ends meanwhile.
    pub(super) fn wait_ready(&self, time: Duration) -> Result<(), String> {
        let (deadline, client) = (Instant::now() + time, Client::new(Duration::from_secs(5)));
        let mut last = String::new();
        while Instant::now() < deadline {
            match client.get(self, "/readyz", &[]) {
                Ok(reply) if reply.status == 200 => return Ok(()),
                Ok(reply) => last = reply.text,
                Err(error) => last = format!("{error:?}"),
            }
            std::thread::sleep(Duration::from_millis(20));
            if self.has_ended() {
                self.start();
            }
        }
        Err(format!("the node {} is not ready: {last}\n{}", self.folder.display(), self.logged()))
    }

    /// Returns whether the process has ended by itself, or was never started.
    pub(super) fn has_ended(&self) -> bool {
        let mut child = self.child.lock().unwrap();
        let has_ended = child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
        if has_ended {
            *child = None;
        }
        has_ended
    }

    /// Sends SIGKILL and waits for the end.
    pub(super) fn kill(&self) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends SIGSTOP or SIGCONT.
    pub(super) fn signal(&self, signal: &str) {
        if let Some(child) = self.child.lock().unwrap().as_ref() {
            // The process may have ended.
            let _ = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
        }
    }

    /// Removes the folder. The node must have been killed, maybe before it made its folder.
    pub(super) fn empty(&self) {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    fn log_file(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// Returns what the node has logged since its first start.
    pub(super) fn logged(&self) -> String {
        let mut text = String::new();
        let _ = File::open(self.log_file()).and_then(|mut file| file.read_to_string(&mut text));
        text
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The connection was refused.
    NotSent,
    /// The request may have arrived, and the connection ended.
    Cut,
    /// The request may have arrived, and there was no answer in time.
    TooLate,
}

/// A client of all nodes. Each request has a connection of its own.
pub(super) struct Client {
    agent: ureq::Agent,
}

impl Client {
    /// Creates a client that waits so long for an answer.
    pub(super) fn new(timeout: Duration) -> Client {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_idle_connections(0)
            .timeout_global(Some(timeout))
            .build()
            .new_agent();
        Client { agent }
    }

    pub(super) fn get(&self, node: &Node, path: &str, headers: &[(&str, &str)]) -> Result<Reply, Unanswered> {
        self.send(node, "GET", path, headers, None)
    }

    /// Reads what includes everything that was acknowledged before.
    pub(super) fn latest(&self, node: &Node, path: &str) -> Result<Reply, Unanswered> {
        self.get(node, path, &[("bindery-after", "latest")])
    }

    pub(super) fn send(
        &self,
        node: &Node,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Reply, Unanswered> {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}{path}", node.port))
            .header("host", HOST)
            .header("authorization", format!("Bearer {ADMIN}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json");
                self.agent.run(request.body(body.to_string()).unwrap())
            }
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut response = sent.map_err(|error| match error {
            ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => Unanswered::NotSent,
            ureq::Error::Timeout(_) => Unanswered::TooLate,
            _ => Unanswered::Cut,
        })?;
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned()));
        let headers = headers.collect();
        let mut bytes = Vec::new();
        response.body_mut().as_reader().read_to_end(&mut bytes).map_err(|_| Unanswered::Cut)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Reply { status: response.status().as_u16(), headers, text })
    }

    /// Creates a blueprint with these fields.
    #[track_caller]
    pub(super) fn blueprint(&self, node: &Node, slug: &str, fields: Value) {
        let body = json!({ "name": slug, "slug": slug, "fields": fields });
        self.send(node, "POST", "/v2/blueprints", &[], Some(&body)).unwrap().expect(201);
    }

    /// Creates a published resource.
    pub(super) fn create(
        &self,
        node: &Node,
        blueprint: &str,
        attributes: &Value,
        headers: &[(&str, &str)],
    ) -> Result<Reply, Unanswered> {
        let body = json!({ "attributes": attributes, "published_at": "2026-01-01T00:00:00Z" });
        self.send(node, "POST", &format!("/v2/resources/{blueprint}"), headers, Some(&body))
    }

    /// Returns the titles of all notes in order, as the newest state has them.
    pub(super) fn titles(&self, node: &Node) -> Result<Vec<String>, Unanswered> {
        let mut titles = Vec::new();
        for page in 1.. {
            let list = self.latest(node, &format!("/v2/resources/notes?sort=title&per_page=100&page={page}"))?;
            let data = list.expect(200).data();
            let here = data.as_array().unwrap();
            titles.extend(here.iter().map(|note| note["attributes"]["title"].as_str().unwrap().to_owned()));
            if here.len() < 100 {
                break;
            }
        }
        titles.sort();
        Ok(titles)
    }
}

/// Makes a cluster of two nodes and starts them.
#[track_caller]
pub(super) fn create_cluster(
    folder: &Path,
    log: &str,
    environment: &[(String, String)],
    arguments: &[&str],
) -> [Node; 2] {
    let nodes = ["a", "b"].map(|name| Node::new(&folder.join(name), log, environment.to_vec(), arguments));
    nodes[0].create_cluster();
    start(&nodes);
    nodes
}

/// Starts nodes and waits until they are ready.
#[track_caller]
pub(super) fn start(nodes: &[Node]) {
    nodes.iter().for_each(Node::start);
    nodes.iter().for_each(|node| node.wait_ready(Duration::from_secs(60)).unwrap());
}

/// Returns the number of the state that an answer was made from.
pub(super) fn number_of(reply: &Reply) -> Option<u64> {
    reply.header("bindery-number")?.parse().ok()
}
