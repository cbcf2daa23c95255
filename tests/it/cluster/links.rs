//! The connections between nodes: each node is reached by the others through a proxy, which can be cut for all of them
//! or for one. Clients connect to the nodes themselves. Must not know what the connections are used for.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::KEY;
use super::node::{self, Client, Node, free_port};
use super::s3::S3;

/// The time between two looks whether a cut has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A way to cut a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Connections are refused. From one node only they are accepted and closed, since all nodes use one port.
    Refused,
    /// Connections are accepted, and nothing is passed on. It arrives when the cut ends, as the packets would that the
    /// network repeats.
    Silent,
    /// Requests arrive, and answers do not until the cut ends.
    Unanswered,
}

/// The proxies in front of all nodes.
pub(super) struct Links(Vec<Arc<Link>>);

/// The proxy in front of one node.
struct Link {
    port: u16,
    to: u16,
    /// The process of each node.
    processes: Vec<Arc<AtomicU32>>,
    /// The cuts and their ends, by the node that connects; `None` is any.
    cuts: Mutex<Vec<(Option<usize>, Cut, Instant)>>,
    is_stopped: AtomicBool,
}

/// One connection of a node to another.
struct Connection {
    client: SocketAddr,
    /// The node that has opened it, once that was looked up.
    from: Mutex<Option<usize>>,
}

impl Links {
    /// Starts a proxy in front of each of these ports. The processes are those of the nodes at the ports.
    pub(super) fn start(ports: &[u16], processes: &[Arc<AtomicU32>]) -> Links {
        let start = |&to: &u16| {
            let port = free_port();
            let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
            let (cuts, is_stopped) = (Mutex::default(), AtomicBool::new(false));
            let link = Arc::new(Link { port, to, processes: processes.to_vec(), cuts, is_stopped });
            let accepting = Arc::clone(&link);
            std::thread::spawn(move || accept(&accepting, listener));
            link
        };
        Links(ports.iter().map(start).collect())
    }

    /// Returns where a node is reached by the others.
    pub(super) fn address(&self, node: usize) -> String {
        format!("127.0.0.1:{}", self.0[node].port)
    }

    /// Cuts the connections that one node, or any, opens to another one, for some time.
    pub(super) fn cut(&self, from: Option<usize>, to: usize, cut: Cut, time: Duration) {
        self.0[to].cuts.lock().unwrap().push((from, cut, Instant::now() + time));
        if (from, cut) == (None, Cut::Refused) {
            self.0[to].wake();
        }
    }

    /// Ends all cuts.
    pub(super) fn heal(&self) {
        self.0.iter().for_each(|link| link.cuts.lock().unwrap().clear());
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for link in &self.0 {
            link.is_stopped.store(true, Ordering::SeqCst);
            link.wake();
        }
    }
}

impl Link {
    /// Lets the thread that accepts connections look at the cuts.
    fn wake(&self) {
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    fn refuses_all(&self) -> bool {
        let now = Instant::now();
        self.cuts.lock().unwrap().iter().any(|&(from, cut, end)| (from, cut) == (None, Cut::Refused) && now < end)
    }

    /// Returns how a connection is cut now.
    fn cut_of(&self, connection: &Connection) -> Option<Cut> {
        let now = Instant::now();
        let cuts: Vec<_> = {
            let mut cuts = self.cuts.lock().unwrap();
            cuts.retain(|(_, _, end)| now < *end);
            cuts.clone()
        };
        let from = match cuts.iter().any(|(from, ..)| from.is_some()) {
            true => connection.from(&self.processes),
            false => None,
        };
        cuts.into_iter().find(|(cut, ..)| cut.is_none_or(|cut| Some(cut) == from)).map(|(_, cut, _)| cut)
    }

    /// Waits until bytes may be passed on. Returns false if the connection ends instead.
    fn wait(&self, connection: &Connection, is_answer: bool) -> bool {
        while !self.is_stopped() {
            match self.cut_of(connection) {
                Some(Cut::Refused) => return false,
                Some(Cut::Unanswered) if !is_answer => return true,
                Some(Cut::Silent | Cut::Unanswered) => std::thread::sleep(LOOK),
                None => return true,
            }
        }
        false
    }
}

impl Connection {
    /// Returns the node that has opened the connection, if it can be found.
    fn from(&self, processes: &[Arc<AtomicU32>]) -> Option<usize> {
        let mut from = self.from.lock().unwrap();
        if from.is_none() {
            let socket = socket_at(self.client)?;
            *from = processes.iter().position(|process| has_open(process.load(Ordering::SeqCst), &socket));
        }
        *from
    }
}

/// Returns the name that the system gives to the socket at a local address.
fn socket_at(address: SocketAddr) -> Option<String> {
    let port = format!(":{:04X}", address.port());
    let sockets = std::fs::read_to_string("/proc/net/tcp").ok()?;
    let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut local = fields.filter(|fields| fields.get(1).is_some_and(|address| address.ends_with(&port)));
    Some(format!("socket:[{}]", local.find_map(|fields| fields.get(9).filter(|number| **number != "0").copied())?))
}

/// Returns whether a process has a file of this name open.
fn has_open(process: u32, name: &str) -> bool {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file == Path::new(name))
}

/// Accepts connections until the proxies are dropped. While all are refused, nothing listens.
fn accept(link: &Arc<Link>, mut listener: TcpListener) {
    loop {
        let Ok((client, address)) = listener.accept() else { continue };
        if link.is_stopped() {
            return;
        }
        if link.refuses_all() {
            drop((listener, client));
            while link.refuses_all() && !link.is_stopped() {
                std::thread::sleep(LOOK);
            }
            listener = loop {
                match TcpListener::bind(("127.0.0.1", link.port)) {
                    Ok(listener) => break listener,
                    Err(_) if link.is_stopped() => return,
                    Err(_) => std::thread::sleep(LOOK),
                }
            };
            continue;
        }
        let link = Arc::clone(link);
        std::thread::spawn(move || pass_on(&link, client, Connection { client: address, from: Mutex::default() }));
    }
}

/// Passes on what both sides send, until one of them ends or the connection is cut.
fn pass_on(link: &Arc<Link>, client: TcpStream, connection: Connection) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", link.to)) else { return };
    [&client, &server].into_iter().for_each(|stream| drop(stream.set_nodelay(true)));
    let (Ok(to_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| pass(link, &connection, from_server, to_client, true));
        pass(link, &connection, client, server, false);
    });
}

fn pass(link: &Link, connection: &Connection, mut from: TcpStream, mut to: TcpStream, is_answer: bool) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !link.wait(connection, is_answer) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // The end arrives no earlier than the bytes before it would.
    link.wait(connection, is_answer);
    [&from, &to].into_iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
}

/// Prepares two nodes that forward to each other.
fn two_nodes(folder: &Path, s3: &S3) -> [Node; 2] {
    ["a", "b"]
        .map(|name| Node::new(&folder.join(name), "s3://bucket/prefix", s3.environment(name), &["--cluster-key", KEY]))
}

/// Its other threads go on, so it is alive in all other respects.
#[test]
fn a_leader_whose_disk_hangs_does_not_keep_the_others_from_writing() {
    let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(3));
    let mut nodes = two_nodes(temp.path(), &s3);
    nodes[0].always_fail("log::sync=20*off->1*sleep(20000)");
    nodes[0].create_cluster();
    node::start(&nodes);
    let client = Client::new(Duration::from_secs(30));
    client.blueprint(&nodes[1], "notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let write = || client.create(&nodes[1], "notes", &json!({ "title": "x" }), &[]).unwrap().outcome();
    // The second node hears the first one after two beats.
    std::thread::sleep(Duration::from_secs(2));
    let mut hung: Option<Instant> = None;
    let took = loop {
        let began = Instant::now();
        let outcome = write();
        let took = began.elapsed();
        match (outcome.as_str(), hung) {
            ("201", None) => {}
            ("201", Some(_)) => break took,
            ("503 OUTCOME_UNKNOWN", _) => hung = hung.or(Some(began)),
            other => panic!("{other:?}"),
        }
        let waited = hung.map_or(took, |hung| hung.elapsed());
        assert!(waited < Duration::from_secs(10), "nobody writes while the leader hangs");
    };
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_leader_that_is_heard_and_not_reached_is_not_waited_for() {
    let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(3));
    let mut nodes = two_nodes(temp.path(), &s3);
    let links = Links::start(&nodes.each_ref().map(|node| node.port), &nodes.each_ref().map(Node::process));
    nodes.iter_mut().enumerate().for_each(|(index, node)| node.reach_at(&links.address(index)));
    nodes[0].create_cluster();
    node::start(&nodes);
    let client = Client::new(Duration::from_secs(30));
    client.blueprint(&nodes[1], "notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    // The second node hears the first one after two beats.
    std::thread::sleep(Duration::from_secs(2));
    let write = || {
        let began = Instant::now();
        let reply = client.create(&nodes[1], "notes", &json!({ "title": "x" }), &[]).unwrap();
        (reply.outcome(), began.elapsed())
    };
    assert_eq!(write().0, "201");
    links.cut(Some(1), 0, Cut::Silent, Duration::from_secs(60));
    let (outcome, took) = write();
    assert_eq!(outcome, "503 OUTCOME_UNKNOWN", "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    // From now on it writes by itself.
    let (outcome, took) = write();
    assert_eq!(outcome, "201");
    assert!(took < Duration::from_secs(2), "{took:?}");
    links.heal();
    assert_eq!(write().0, "201");
}
