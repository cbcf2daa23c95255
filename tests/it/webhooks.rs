//! Webhooks (`API.md` 6.2), with receivers on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;

/// A message that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) headers: BTreeMap<String, String>,
    text: String,
}

impl Message {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn change(&self) -> (String, String) {
        let json = self.json();
        (json["op"].as_str().unwrap().to_owned(), json["id"].as_str().unwrap_or_default().to_owned())
    }
}

/// The function that returns a receiver's answer to a message.
type Decide = Box<dyn Fn(&Message) -> String + Send + Sync>;

/// A receiver whose answers the test decides.
pub(crate) struct Receiving {
    pub(crate) url: String,
    messages: Receiver<Message>,
}

impl Receiving {
    fn start(decide: impl Fn(&Message) -> String + Send + Sync + 'static) -> Receiving {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?a=b", listener.local_addr().unwrap());
        let (sender, messages) = channel();
        let decide: Arc<Decide> = Arc::new(Box::new(decide));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (sender, decide) = (sender.clone(), Arc::clone(&decide));
                std::thread::spawn(move || receive(stream, &sender, &decide));
            }
        });
        Receiving { url, messages }
    }

    pub(crate) fn accepting() -> Receiving {
        Receiving::start(|_| "200 OK\r\n".to_owned())
    }

    #[track_caller]
    pub(crate) fn next(&self) -> Message {
        self.messages.recv_timeout(Duration::from_secs(30)).expect("no message arrived")
    }

    fn is_quiet_for(&self, time: Duration) -> bool {
        self.messages.recv_timeout(time).is_err()
    }
}

/// Reads one message and answers it.
fn receive(stream: TcpStream, sender: &Sender<Message>, decide: &Decide) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    assert!(line.starts_with("POST /"), "{line}");
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let message = Message { headers, text: String::from_utf8(body).ok()? };
    let answer = decide(&message);
    let _ = sender.send(message);
    let head = format!("HTTP/1.1 {answer}content-length: 0\r\nconnection: close\r\n\r\n");
    reader.get_mut().write_all(head.as_bytes()).ok()
}

fn start() -> Server {
    let server = Server::start_with(&["--webhook-private-addresses"]);
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    server
}

#[track_caller]
fn webhook(server: &Server, url: &str, events: &[&str]) -> Value {
    let body = json!({ "name": "hook", "url": url, "events": events });
    server.post("/v2/webhooks", &body).expect(201).data()
}

fn path(webhook: &Value) -> String {
    format!("/v2/webhooks/{}", webhook["id"].as_str().unwrap())
}

/// `API.md` 4.24.3.
#[test]
fn with_cache_tags_a_message_names_the_tags_of_the_answers_that_a_change_made_obsolete() {
    let server = Server::start_with(&["--webhook-private-addresses", "--cache-tags"]);
    let title = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let notes = json!({ "name": "Notes", "slug": "notes", "working_copy": true, "fields": title });
    server.post("/v2/blueprints", &notes).expect(201);
    let receiving = Receiving::accepting();
    let created = webhook(&server, &receiving.url, &["created", "edited", "deleted"]);
    let id = server.create("notes", json!({ "title": "One" }));
    let edit = json!({ "attributes": { "title": "Two" } });
    server.patch(&format!("/v2/resources/notes/{id}?copy=working"), &edit).expect(200);
    server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
    let mut numbers = Vec::new();
    for op in ["created", "edited", "deleted"] {
        let message = receiving.next();
        if op == "edited" {
            assert_eq!((&message.json()["op"], &message.json()["tags"]), (&json!(op), &json!([])));
            assert!(!message.headers.contains_key("surrogate-key"), "the site sees nothing of it");
            continue;
        }
        assert_eq!((&message.json()["op"], &message.json()["tags"]), (&json!(op), &json!(["notes", id])));
        assert_eq!(message.headers["surrogate-key"], format!("notes {id}"));
        numbers.push(message.headers["bindery-number"].parse::<u64>().unwrap());
    }
    assert!(numbers[0] <= numbers[1], "{numbers:?}");
    let now = server.get("/v2/resources/notes").expect(200).header("bindery-number").unwrap().parse::<u64>().unwrap();
    assert_eq!(now, numbers[1], "nothing was written after the deletion");
    server.post(&format!("{}/test", path(&created)), &json!({})).expect(200);
    let test = receiving.next();
    assert_eq!(test.json()["tags"], Value::Null);
    assert!(!test.headers.contains_key("surrogate-key"));
}

const ALL: [&str; 5] = ["created", "updated", "published", "unpublished", "deleted"];

#[test]
fn webhooks_are_kept_and_their_secret_is_shown_once() {
    let mut server = start();
    let created = webhook(&server, "https://example.com/a?b=c", &["deleted", "created"]);
    assert!(created["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(created["events"], json!(["created", "deleted"]));
    let mut shown = created.clone();
    shown.as_object_mut().unwrap().remove("secret");
    server.kill_and_restart_with(&["--webhook-private-addresses"]);
    assert_eq!(server.get(&path(&created)).expect(200).data(), shown);
    assert_eq!(server.get("/v2/webhooks").expect(200).data(), json!([shown]));
    let change = json!({ "active": false, "blueprints": ["notes"], "name": "x" });
    let changed = server.patch(&path(&created), &change).expect(200).data();
    assert_eq!(
        (&changed["active"], &changed["blueprints"], &changed["url"]),
        (&json!(false), &json!(["notes"]), &shown["url"])
    );
    assert!(changed["updated_at"].as_str() > shown["updated_at"].as_str());
    // A webhook that was read can be sent back.
    assert_eq!(server.patch(&path(&created), &changed).expect(200).data(), changed);
    for (body, field) in [
        (json!({ "name": "", "url": "https://a.b/", "events": ["created"] }), "name"),
        (json!({ "name": "n", "url": "ftp://a.b/", "events": ["created"] }), "url"),
        (json!({ "name": "n", "url": "https://u:p@a.b/", "events": ["created"] }), "url"),
        (json!({ "name": "n", "url": "/a", "events": ["created"] }), "url"),
        (json!({ "name": "n", "url": "https://a.b/", "events": [] }), "events"),
        (json!({ "name": "n", "url": "https://a.b/", "events": ["made"] }), "events"),
        (json!({ "name": "n", "url": "https://a.b/", "events": ["created"], "blueprints": ["no"] }), "blueprints"),
        (json!({ "name": "n", "url": "https://a.b/", "events": ["created"], "active": 1 }), "active"),
        (json!({ "name": "n", "url": "https://a.b/", "events": ["created"], "more": 1 }), "more"),
    ] {
        let reply = server.post("/v2/webhooks", &body);
        assert_eq!(
            (reply.outcome(), reply.error_keys()),
            ("422 VALIDATION_FAILED".into(), vec![field.to_owned()]),
            "{body}"
        );
    }
    server.delete(&path(&created)).expect(204);
    for reply in [server.get(&path(&created)), server.delete(&path(&created)), server.patch(&path(&created), &change)] {
        assert_eq!(reply.outcome(), "404 NOT_FOUND");
    }
    let reader = server.token(&["preview", "create", "update"]);
    assert_eq!(server.as_token(&reader).get("/v2/webhooks").outcome(), "403 FORBIDDEN");
}

#[test]
fn changes_are_sent_signed_in_order_with_the_resource() {
    let server = start();
    server.blueprint("other", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    server.create("notes", json!({ "title": "before" }));
    let receiving = Receiving::accepting();
    let hook = webhook(&server, &receiving.url, &ALL);
    server.patch(&path(&hook), &json!({ "blueprints": ["notes"] })).expect(200);
    let id = server.create("notes", json!({ "title": "ä" }));
    server.create("other", json!({ "title": "unwanted" }));
    let first = receiving.next();
    assert_eq!(first.change(), ("created".to_owned(), id.clone()));
    assert_eq!(first.json()["resource"], server.find(&format!("notes/{id}")));
    assert_eq!((&first.json()["blueprint"], &first.json()["number"]), (&json!("notes"), &json!(2)));
    check_signature(hook["secret"].as_str().unwrap(), &first);
    server.patch(&format!("/v2/resources/notes/{id}"), &json!({ "published_at": null })).expect(200);
    server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
    assert_eq!(receiving.next().change(), ("unpublished".to_owned(), id.clone()));
    let last = receiving.next();
    assert_eq!((last.change(), &last.json()["resource"]), (("deleted".to_owned(), id), &Value::Null));
    let tested = server.post(&format!("{}/test", path(&hook)), &json!({})).expect(200).data();
    assert_eq!((&tested["state"], &tested["status"]), (&json!("delivered"), &json!(200)));
    assert_eq!(receiving.next().json()["op"], "test");
    // The last delivery is noted once its answer has arrived.
    let deliveries = || server.get(&format!("{}/deliveries", path(&hook))).expect(200).data();
    let started = Instant::now();
    while deliveries().as_array().unwrap().len() < 3 && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let deliveries = deliveries();
    let ops: Vec<&str> = deliveries.as_array().unwrap().iter().map(|one| one["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["deleted", "unpublished", "created"]);
    assert_eq!(deliveries[2]["id"], first.headers["webhook-id"]);
    // A webhook that is switched off sends nothing, and continues after it is switched on.
    server.patch(&path(&hook), &json!({ "active": false })).expect(200);
    let id = server.create("notes", json!({}));
    assert!(receiving.is_quiet_for(Duration::from_millis(800)));
    server.patch(&path(&hook), &json!({ "active": true })).expect(200);
    assert_eq!(receiving.next().change(), ("created".to_owned(), id));
}

/// Verifies a message with a third-party library. Prints a note if there is none.
fn check_signature(secret: &str, message: &Message) {
    let script = "import json, sys\nfrom standardwebhooks import Webhook\nsent = json.load(sys.stdin)\n\
        Webhook(sent['secret']).verify(sent['body'], sent['headers'])\n\
        try:\n    Webhook(sent['secret']).verify(sent['body'] + ' ', sent['headers'])\nexcept Exception:\n    sys.exit(0)\nsys.exit(9)";
    let python = std::env::var("BINDERY_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_library = Command::new(&python).args(["-c", "import standardwebhooks"]).output();
    if !has_library.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "signatures are not verified by a library: `pip install standardwebhooks` for {python} (BINDERY_TEST_PYTHON)"
        );
        return;
    }
    let mut child = Command::new(&python).args(["-c", script]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let sent = json!({ "secret": secret, "body": message.text, "headers": message.headers });
    child.stdin.take().unwrap().write_all(sent.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "the library rejects the signature of {message:?}");
}

#[test]
fn what_fails_is_sent_again_before_what_came_later_and_nobody_else_waits() {
    let server = start();
    let failing = Arc::new(Mutex::new(String::new()));
    let receiving = {
        let failing = Arc::clone(&failing);
        Receiving::start(move |message| match message.change().1 == *failing.lock().unwrap() {
            true => "500 Internal Server Error\r\n".to_owned(),
            false => "204 No Content\r\n".to_owned(),
        })
    };
    let hook = webhook(&server, &receiving.url, &ALL);
    let first = server.create("notes", json!({}));
    receiving.next();
    *failing.lock().unwrap() = first.clone();
    let title = |title: &str| json!({ "attributes": { "title": title } });
    server.patch(&format!("/v2/resources/notes/{first}"), &title("1")).expect(200);
    server.delete(&format!("/v2/resources/notes/{first}")).expect(204);
    let started = Instant::now();
    let failed = receiving.next();
    assert_eq!(failed.change(), ("updated".to_owned(), first.clone()));
    let other = server.create("notes", json!({}));
    assert_eq!(receiving.next().change(), ("created".to_owned(), other));
    let deliveries = || server.get(&format!("{}/deliveries", path(&hook))).expect(200).data();
    let retried = deliveries().as_array().unwrap().iter().find(|one| one["state"] == "retrying").unwrap().clone();
    assert_eq!((&retried["status"], &retried["attempt"]), (&json!(500), &json!(1)));
    assert!(retried["next_attempt_at"].is_string() && retried["error"].is_string());
    *failing.lock().unwrap() = String::new();
    let again = receiving.next();
    assert!(started.elapsed() >= Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(again.headers["webhook-id"], failed.headers["webhook-id"]);
    assert_eq!(again.change(), ("updated".to_owned(), first.clone()));
    assert_eq!(receiving.next().change(), ("deleted".to_owned(), first));
}

#[test]
fn a_narrowed_webhook_does_not_send_what_waits_and_is_no_longer_wanted() {
    let server = start();
    let receiving = Receiving::start(|_| "500 Internal Server Error\r\n".to_owned());
    let hook = webhook(&server, &receiving.url, &["created", "deleted"]);
    let id = server.create("notes", json!({}));
    assert_eq!(receiving.next().change(), ("created".to_owned(), id.clone()));
    server.patch(&path(&hook), &json!({ "events": ["deleted"] })).expect(200);
    server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
    assert_eq!(receiving.next().change(), ("deleted".to_owned(), id));
}

#[test]
fn after_a_kill_each_change_was_sent_at_least_once_and_in_order() {
    let mut server = start();
    let receiving = Receiving::accepting();
    webhook(&server, &receiving.url, &ALL);
    let mut expected = Vec::new();
    for n in 0..60 {
        let id = server.create("notes", json!({ "title": format!("{n}") }));
        server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
        expected.push(id);
        if n % 15 == 14 {
            server.kill_and_restart_with(&["--webhook-private-addresses"]);
        }
    }
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let is_complete = |seen: &BTreeMap<String, Vec<String>>| {
        expected.iter().all(|id| seen.get(id).is_some_and(|ops| ops.last().is_some_and(|op| op == "deleted")))
    };
    while !is_complete(&seen) {
        let (op, id) = receiving.next().change();
        let ops = seen.entry(id).or_default();
        // After a kill, changes may be sent again, from any earlier one on.
        assert!(op == "created" || ops.iter().any(|op| op == "created"), "a deletion before the creation");
        ops.push(op);
    }
}

#[test]
fn a_webhook_that_fell_behind_goes_on_with_the_oldest_change_that_is_kept() {
    let mut server = start();
    let is_accepting = Arc::new(AtomicBool::new(false));
    let accepts = Arc::clone(&is_accepting);
    let receiving = Receiving::start(move |_| {
        let status = if accepts.load(Ordering::Relaxed) { "200 OK" } else { "500 Internal Server Error" };
        format!("{status}\r\n")
    });
    webhook(&server, &receiving.url, &["created"]);
    let bulk = json!({ "resources": vec![json!({ "attributes": {} }); 100] });
    for _ in 0..12 {
        server.post("/v2/resources/notes/bulk", &bulk).expect(201);
    }
    // The answer refuses the message. A thousand changes wait to be sent again, and the others stay in the feed.
    receiving.next();
    server.kill();
    is_accepting.store(true, Ordering::Relaxed);
    while !receiving.is_quiet_for(Duration::from_millis(50)) {}
    server.kill_and_restart_with(&["--webhook-private-addresses", "--changes-kept", "50"]);
    let mut missing: BTreeSet<u64> = (1_151..=1_200).collect();
    while !missing.is_empty() {
        missing.remove(&receiving.next().json()["number"].as_u64().unwrap());
    }
}

#[test]
fn a_test_with_an_idempotency_key_is_sent_once() {
    let server = Server::start_with(&["--webhook-private-addresses", "--max-body-bytes", "2000"]);
    let receiving = Receiving::accepting();
    let path = format!("{}/test", path(&webhook(&server, &receiving.url, &["created"])));
    let test = |key: &str| server.raw("POST", &path, &[("idempotency-key", key)], b"").expect(200);
    let first = test("one");
    assert_eq!((receiving.next().json()["op"].as_str(), &first.data()["status"]), (Some("test"), &json!(200)));
    assert_eq!(test("one").text, first.text);
    assert!(receiving.is_quiet_for(Duration::from_millis(500)));
    assert_ne!(test("other").text, first.text);
    receiving.next();

    // The key cannot stand for a body that cannot be read.
    let large = [b' '; 2_001];
    assert_eq!(server.raw("POST", &path, &[("idempotency-key", "large")], &large).status, 413);
    assert!(receiving.is_quiet_for(Duration::from_millis(500)));
}

#[test]
fn private_addresses_and_redirects_to_them_are_refused() {
    let mut server = start();
    let target = Receiving::accepting();
    let location = target.url.clone();
    let redirecting = Receiving::start(move |_| format!("307 Temporary Redirect\r\nlocation: {location}\r\n"));
    let test =
        |server: &Server, hook: &Value| server.post(&format!("{}/test", path(hook)), &json!({})).expect(200).data();
    let hook = webhook(&server, &redirecting.url, &["created"]);
    let tested = test(&server, &hook);
    assert_eq!((&tested["state"], &tested["status"]), (&json!("given_up"), &json!(307)));
    server.kill_and_restart();
    let port = redirecting.url.split([':', '/']).nth(4).unwrap();
    for host in
        ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"]
    {
        let hook = webhook(&server, &format!("http://{host}:{port}/"), &["created"]);
        let tested = test(&server, &hook);
        let error = tested["error"].as_str().unwrap();
        assert!(error.contains("webhook_private_addresses"), "{host}: {error}");
        assert_eq!(tested["status"], Value::Null);
    }
    server.create("notes", json!({}));
    redirecting.next();
    assert!(redirecting.is_quiet_for(Duration::from_secs(1)) && target.is_quiet_for(Duration::ZERO));
}

/// Returns the figures of a process in `/proc`: its threads, and its resident memory in MiB.
fn threads_and_memory(server: &Server) -> (usize, usize) {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap().count();
    (threads, crate::clients::attack::memory(server))
}

#[test]
fn a_thousand_webhooks_get_a_change_each_and_one_more_is_refused() {
    let server = start();
    let receiving = Receiving::accepting();
    let before = threads_and_memory(&server);
    let hooks: Vec<String> = (0..1_000)
        .map(|n| {
            let url = receiving.url.replace("a=b", &format!("hook={n}"));
            webhook(&server, &url, &["created"])["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let body = json!({ "name": "one more", "url": receiving.url, "events": ["created"] });
    let refused = server.post("/v2/webhooks", &body).expect(409);
    assert_eq!((refused.code().as_str(), refused.message().contains("1000")), ("CONFLICT", true), "{refused:?}");
    let id = server.create("notes", json!({ "title": "for all" }));
    let started = Instant::now();
    let mut most = before;
    let mut arrived = std::collections::BTreeSet::new();
    for n in 0..1_000 {
        let message = receiving.next();
        assert_eq!(message.change(), ("created".to_owned(), id.clone()));
        arrived.insert(message.headers["webhook-id"].clone());
        if n % 50 == 0 {
            let now = threads_and_memory(&server);
            most = (most.0.max(now.0), most.1.max(now.1));
        }
    }
    eprintln!("1000 deliveries in {:?}; threads and MiB: {before:?} before, {most:?} at most", started.elapsed());
    assert_eq!(arrived.len(), 1_000, "each webhook got it once");
    assert!(hooks.iter().all(|hook| arrived.iter().any(|message| message.contains(hook.as_str()))));
    assert!(receiving.is_quiet_for(Duration::from_millis(500)), "nothing is sent twice");
    assert!(most.0 < before.0 + 40 && most.1 < before.1 + 150, "{before:?} before, {most:?} at most");
    server.delete(&format!("/v2/webhooks/{}", hooks[0])).expect(204);
    server.post("/v2/webhooks", &body).expect(201);
}

#[test]
fn a_restored_copy_sends_nothing_unless_it_is_asked_to() {
    let receiving = Receiving::accepting();
    let server = start();
    let hook = webhook(&server, &receiving.url, &["created"]);
    let idle = json!({ "name": "off", "url": receiving.url, "events": ["created"], "active": false });
    server.post("/v2/webhooks", &idle).expect(201);
    server.create("notes", json!({ "title": "on the original" }));
    receiving.next();
    // The progress is saved every two seconds.
    std::thread::sleep(Duration::from_secs(4));
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("all.backup");
    let bindery = |arguments: &[&std::ffi::OsStr]| {
        let output = Command::new(crate::support::binary()).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(output.status.success(), "{text}");
        text
    };
    let (address, token) = (server.address().to_owned(), server.secret().to_owned());
    bindery(&[
        "backup".as_ref(),
        file.as_ref(),
        "--url".as_ref(),
        address.as_ref(),
        "--token".as_ref(),
        token.as_ref(),
    ]);
    drop(server);
    for keeps in [false, true] {
        let folder = temp.path().join(if keeps { "kept" } else { "copy" });
        let mut arguments: Vec<&std::ffi::OsStr> = vec!["restore".as_ref(), file.as_ref()];
        arguments.extend(["--data".as_ref(), folder.as_os_str()]);
        if keeps {
            arguments.push("--keep-webhooks".as_ref());
        }
        let output = bindery(&arguments);
        assert_eq!(output.contains("webhooks switched off: 1,"), !keeps, "{output}");
        let restored = Server::start_in(&folder, &["--webhook-private-addresses"]);
        let shown = restored.get(&path(&hook)).expect(200).data();
        assert_eq!(shown["active"], json!(keeps), "{shown}");
        let id = restored.create("notes", json!({ "title": "on the copy" }));
        if !keeps {
            assert!(receiving.is_quiet_for(Duration::from_secs(2)), "the copy sent something");
            restored.patch(&path(&hook), &json!({ "active": true })).expect(200);
        }
        assert_eq!(receiving.next().change(), ("created".to_owned(), id));
        assert!(receiving.is_quiet_for(Duration::from_millis(500)), "and nothing else");
    }
}

#[test]
fn a_webhook_shows_what_failed_last_until_the_next_success() {
    let mut server = start();
    let answer = Arc::new(Mutex::new("200 OK"));
    let receiving = {
        let answer = Arc::clone(&answer);
        Receiving::start(move |_| format!("{}\r\n", answer.lock().unwrap()))
    };
    let hook = webhook(&server, &receiving.url, &["created"]);
    assert_eq!(hook["error"], Value::Null);
    // The two are read one after the other, so a delivery may end between them.
    let errors = |server: &Server| {
        let one = server.get(&path(&hook)).expect(200).data()["error"].clone();
        [one, server.get("/v2/webhooks").expect(200).data()[0]["error"].clone()]
    };
    let becomes = |server: &Server, expected: Option<&str>| {
        let started = Instant::now();
        loop {
            let found = errors(server);
            let is_expected = found.iter().all(|error| match expected {
                Some(part) => error.as_str().is_some_and(|text| text.contains(part)),
                None => error.is_null(),
            });
            if is_expected {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "{found:?} instead of {expected:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    *answer.lock().unwrap() = "503 Service Unavailable";
    server.create("notes", json!({}));
    receiving.next();
    becomes(&server, Some("503 Service Unavailable"));
    // The first failure is saved soon.
    std::thread::sleep(Duration::from_secs(5));
    server.kill_and_restart_with(&["--webhook-private-addresses"]);
    becomes(&server, Some("503 Service Unavailable"));
    *answer.lock().unwrap() = "204 No Content";
    server.create("notes", json!({}));
    becomes(&server, None);
    // A webhook that was shown can be sent back.
    let shown = server.get(&path(&hook)).expect(200).data();
    server.patch(&path(&hook), &shown).expect(200);
}

#[test]
fn a_webhook_that_cannot_be_started_says_so_and_is_started_later() {
    let mut server = start();
    let receiving = Receiving::accepting();
    let hook = webhook(&server, &receiving.url, &["created"]);
    let folder = server.folder().to_owned();
    server.terminate();
    for (points, expected) in [
        // This case comes first, so that nothing is sent again: that would be a success.
        ("webhook::progress=1*return", "its stored progress cannot be read"),
        ("webhook::start=2*return(EIO)", "its delivery cannot be started"),
    ] {
        let mut failing = Server::start_failing(&folder, &["--webhook-private-addresses"], points);
        let started = Instant::now();
        loop {
            let shown = failing.get(&path(&hook)).expect(200).data();
            if shown["error"].as_str().is_some_and(|text| text.starts_with(expected)) {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
        failing.create("notes", json!({}));
        receiving.next();
        let started = Instant::now();
        while failing.get(&path(&hook)).expect(200).data()["error"] != Value::Null {
            assert!(started.elapsed() < Duration::from_secs(20), "the error stays after a success");
            std::thread::sleep(Duration::from_millis(50));
        }
        failing.terminate();
    }
}

#[test]
fn a_panic_of_a_delivery_is_shown_and_the_delivery_goes_on() {
    let temp = tempfile::tempdir().unwrap();
    let points = "webhook::deliver=1*off->1*panic(in a test)";
    let server = Server::start_failing(&temp.path().join("data"), &["--webhook-private-addresses"], points);
    server.blueprint("notes", json!([]));
    let receiving = Receiving::accepting();
    let hook = webhook(&server, &receiving.url, &["created"]);
    let shown = || server.get(&path(&hook)).expect(200).data()["error"].clone();
    let mut arrived = Vec::new();
    let first = server.create("notes", json!({}));
    arrived.push(receiving.next().change().1);
    let second = server.create("notes", json!({}));
    let started = Instant::now();
    while shown().is_null() {
        assert!(started.elapsed() < Duration::from_secs(20), "the panic is not shown");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(shown().as_str().unwrap().contains("an error of the server"), "{}", shown());
    let third = server.create("notes", json!({}));
    arrived.extend([receiving.next().change().1, receiving.next().change().1]);
    assert_eq!(arrived, [first, second, third]);
    let started = Instant::now();
    while !shown().is_null() {
        assert!(started.elapsed() < Duration::from_secs(20), "the error stays after a success");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the number of bytes that a process has written to disk.
fn written(server: &Server) -> u64 {
    let figures = std::fs::read_to_string(format!("/proc/{}/io", server.process())).unwrap();
    let line = figures.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn receivers_that_are_gone_cost_no_writing_for_as_long_as_they_are_gone() {
    let server = start();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", gone.local_addr().unwrap());
    drop(gone);
    (0..30).for_each(|_| drop(webhook(&server, &url, &["created"])));
    let bulk = json!({ "resources": vec![json!({ "attributes": {} }); 100] });
    (0..10).for_each(|_| drop(server.post("/v2/resources/notes/bulk", &bulk).expect(201)));
    // By now, every change has failed once.
    std::thread::sleep(Duration::from_secs(4));
    let before = written(&server);
    // During this time, each change is sent again.
    std::thread::sleep(Duration::from_secs(12));
    let rate = (written(&server) - before) / 12;
    eprintln!("{rate} bytes a second are written for 30 receivers that are gone");
    assert!(rate < 100_000, "{rate} bytes a second");
}

#[test]
fn slow_receivers_do_not_keep_a_prompt_one_waiting() {
    let server = start();
    // The receiver accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let held = std::thread::spawn(move || {
        let mut held = Vec::new();
        silent.incoming().map_while(Result::ok).take(140).for_each(|stream| held.push(stream));
        std::thread::sleep(Duration::from_secs(30));
    });
    (0..140).for_each(|_| drop(webhook(&server, &url, &["created"])));
    let receiving = Receiving::accepting();
    webhook(&server, &receiving.url, &["created"]);
    let started = Instant::now();
    (0..30).for_each(|n| drop(server.create("notes", json!({ "title": n.to_string() }))));
    (0..30).for_each(|_| drop(receiving.next()));
    let took = started.elapsed();
    eprintln!("30 messages arrived in {took:?} beside 140 receivers that never answer");
    // Each of the other receivers occupies a place for 15 seconds.
    assert!(took < Duration::from_secs(12), "{took:?}");
    drop(held);
}
