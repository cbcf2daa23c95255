//! The tags of answers for a cache in front of the server (`API.md` 4.24), and Varnish with the configuration that
//! `deploy/varnish.vcl` has.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Failures, Reply, Server};

fn text(slug: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": "text" })
}

fn start(arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments);
    server.blueprint("authors", json!([text("name")]));
    server.blueprint("topics", json!([text("name")]));
    let author =
        json!({ "name": "Author", "slug": "author", "type": "reference", "settings": { "blueprint": "authors" } });
    server.blueprint("articles", json!([text("title"), author]));
    server
}

fn tags(reply: &Reply) -> BTreeSet<String> {
    let named = reply.header("surrogate-key").unwrap_or_default();
    let by_comma = reply.header("cache-tag").unwrap_or_default();
    assert_eq!(named.split(' ').collect::<Vec<_>>(), by_comma.split(',').collect::<Vec<_>>());
    named.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Writes to every kind of resource, and checks that an answer changes only if the write has one of its tags.
#[test]
fn an_answer_has_the_tags_of_the_writes_that_change_it() {
    let server = start(&["--cache-tags"]);
    let ada = server.create("authors", json!({ "name": "Ada" }));
    let bob = server.create("authors", json!({ "name": "Bob" }));
    let topic = server.create("topics", json!({ "name": "Bread" }));
    let first = server.create("articles", json!({ "title": "First", "author": ada }));
    let second = server.create("articles", json!({ "title": "Second", "author": bob }));
    let reads = [
        ("/v2/resources/articles".to_owned(), vec!["articles", &first, &second]),
        ("/v2/resources/articles?per_page=1&sort=title".to_owned(), vec!["articles", &first]),
        ("/v2/resources/articles?filter[title]=nothing".to_owned(), vec!["articles"]),
        ("/v2/resources/articles?filter[author.name]=Ada".to_owned(), vec!["articles", "authors", &first]),
        ("/v2/resources/articles?expand=author&per_page=1&sort=title".to_owned(), vec!["articles", "authors", &first]),
        (format!("/v2/resources/articles/{first}"), vec![&first]),
        (format!("/v2/resources/articles/{first}?expand=author"), vec!["authors", &first]),
        ("/v2/resources/topics".to_owned(), vec!["topics", &topic]),
    ];
    let writes: [(&str, &str, Value); 6] = [
        ("authors", &ada, json!({ "attributes": { "name": "Ada L." } })),
        ("authors", &bob, json!({ "published_at": null })),
        ("topics", &topic, json!({ "attributes": { "name": "Rye" } })),
        ("articles", &first, json!({ "attributes": { "title": "A first" } })),
        ("articles", &second, json!({ "attributes": { "author": null } })),
        ("articles", &second, json!({ "published_at": null })),
    ];
    let token = server.token(&["view"]);
    let view = server.as_token(&token);
    let mut failures = Failures::default();
    let ask = || reads.iter().map(|(path, _)| view.get(path).expect(200)).collect::<Vec<_>>();
    for ((path, expected), reply) in reads.iter().zip(ask()) {
        failures.check_eq(path, tags(&reply), expected.iter().map(|name| (*name).to_owned()).collect());
        // A kept answer has them, too, and so has the first one of a client that sends a tag.
        failures.check_eq(path, tags(&view.get(path)), tags(&reply));
        failures.check(reply.header("bindery-number").is_some(), || format!("{path}: no number"));
    }
    for (slug, id, change) in writes {
        let before = ask();
        server.patch(&format!("/v2/resources/{slug}/{id}"), &change).expect(200);
        for ((path, _), (before, after)) in reads.iter().zip(before.iter().zip(ask())) {
            let is_purged = !tags(before).is_disjoint(&[slug.to_owned(), id.to_owned()].into());
            failures.check(is_purged || before.text == after.text, || {
                format!("{path} changed with {slug} {change}, and has only {:?}", tags(before))
            });
        }
    }
    failures.assert_none();
}

#[test]
fn a_slug_that_the_token_cannot_see_and_answers_that_no_cache_may_keep_have_no_tags() {
    let server = start(&["--cache-tags"]);
    let ada = server.create("authors", json!({ "name": "Ada" }));
    let id = server.create("articles", json!({ "title": "First", "author": ada }));
    let limited = json!({ "name": "articles only", "abilities": ["view"], "blueprints": ["articles"] });
    let token = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let list = server.as_token(&token).get("/v2/resources/articles").expect(200);
    assert_eq!(tags(&list), ["articles".to_owned(), id.clone()].into());
    for path in ["/v2/resources/articles?sort=no", "/v2/resources/articles/no", "/v2/blueprints", "/v2/status"] {
        let reply = server.get(path);
        assert_eq!(reply.header("surrogate-key"), None, "{path}");
    }
    let plain = start(&[]);
    let reply = plain.get("/v2/resources/articles").expect(200);
    for name in ["surrogate-key", "cache-tag", "bindery-number"] {
        assert_eq!(reply.header(name), None, "without the setting, there is no {name}");
    }
}

/// A running Varnish with the configuration of the repository. Killed when dropped.
struct Varnish {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Varnish {
    fn start(program: &Path, server: &Server, token: &str) -> Varnish {
        let folder = tempfile::tempdir().unwrap();
        let (_, port) = server.address().rsplit_once(':').unwrap();
        let vcl = include_str!("../../deploy/varnish.vcl")
            .replace("\"7700\"", &format!("\"{port}\""))
            .replace("TOKEN", token);
        std::fs::write(folder.path().join("bindery.vcl"), vcl).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut command = Command::new(program);
        command.args(["-F", "-j", "none", "-s", "malloc,16m", "-a", &address]);
        command.arg("-f").arg(folder.path().join("bindery.vcl")).arg("-n").arg(folder.path().join("work"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let varnish = Varnish { child, address, _folder: folder };
        let started = Instant::now();
        while std::net::TcpStream::connect(&varnish.address).is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "Varnish does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        varnish
    }

    fn get(&self, path: &str) -> (String, bool) {
        let mut answer = ureq::get(format!("http://{}{path}", self.address)).call().unwrap();
        // An answer that was kept has the numbers of two requests: its own, and the one that fetched it.
        let is_hit = answer.headers()["x-varnish"].to_str().unwrap().contains(' ');
        (answer.body_mut().read_to_string().unwrap(), is_hit)
    }

    fn title(&self, path: &str) -> (u64, bool) {
        let (body, is_hit) = self.get(path);
        let body: Value = serde_json::from_str(&body).unwrap();
        let data = if body["data"].is_array() { &body["data"][0] } else { &body["data"] };
        (data["attributes"]["title"].as_str().unwrap().parse().unwrap(), is_hit)
    }
}

impl Drop for Varnish {
    fn drop(&mut self) {
        // Its own child ends when the pipe between them closes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program that the environment names, or says that it names none.
fn varnishd() -> Option<PathBuf> {
    let program = std::env::var_os("BINDERY_TEST_VARNISH").filter(|program| !program.is_empty());
    if program.is_none() {
        eprintln!("skipped: BINDERY_TEST_VARNISH does not name varnishd");
    }
    program.map(PathBuf::from)
}

#[test]
fn varnish_allows_each_origin_what_the_server_allows_it() {
    let Some(program) = varnishd() else { return };
    let server = start(&["--cache-tags", "--cors-origins=https://a.example,https://b.example"]);
    server.create("articles", json!({ "title": "0" }));
    let token = server.token(&["view"]);
    let varnish = Varnish::start(&program, &server, &token);
    let allowed = |origin: Option<&str>| {
        let mut request = ureq::get(format!("http://{}/v2/resources/articles", varnish.address));
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let answer = request.call().unwrap();
        answer.headers().get("access-control-allow-origin").map(|origin| origin.to_str().unwrap().to_owned())
    };
    // Varnish keeps the first answers, and sends them in the second round.
    for _ in 0..2 {
        assert_eq!(allowed(None), None);
        for origin in ["https://a.example", "https://b.example"] {
            assert_eq!(allowed(Some(origin)).as_deref(), Some(origin));
        }
        assert_eq!(allowed(Some("https://c.example")), None);
    }
}

/// Writers count a title up, and wait until Varnish shows each number. Readers ask all the time, so that answers are on
/// their way while their tags are purged. None of them may go back, and most come from Varnish.
#[test]
fn varnish_never_serves_a_page_that_is_older_than_a_purge() {
    let Some(program) = varnishd() else { return };
    let server = start(&["--cache-tags", "--webhook-private-addresses"]);
    let token = server.token(&["view"]);
    let varnish = Varnish::start(&program, &server, &token);
    let url = format!("http://{}/purge/a-path-that-nobody-can-guess", varnish.address);
    let events = ["created", "updated", "published", "unpublished", "deleted"];
    let hook = server.post("/v2/webhooks", &json!({ "name": "Varnish", "url": url, "events": events })).expect(201);
    let test = format!("/v2/webhooks/{}/test", hook.data()["id"].as_str().unwrap());
    assert_eq!(server.post(&test, &json!({})).expect(200).data()["status"], 200);
    let id = server.create("articles", json!({ "title": "0" }));
    let paths = ["/v2/resources/articles".to_owned(), format!("/v2/resources/articles/{id}")];
    let shown = [AtomicU64::new(0), AtomicU64::new(0)];
    let (ended, hits, all) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (varnish, ended, hits, all) = (&varnish, &ended, &hits, &all);
        for (path, shown) in paths.iter().zip(&shown) {
            for _ in 0..2 {
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let least = shown.load(Ordering::SeqCst);
                        let (title, is_hit) = varnish.title(path);
                        assert!(title >= least, "{path} shows {title} after {least}");
                        shown.fetch_max(title, Ordering::SeqCst);
                        hits.fetch_add(u64::from(is_hit), Ordering::Relaxed);
                        all.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
        for count in 1..=100 {
            let change = json!({ "attributes": { "title": count.to_string() } });
            server.patch(&paths[1], &change).expect(200);
            let written = Instant::now();
            while shown.iter().any(|shown| shown.load(Ordering::SeqCst) < count) {
                assert!(written.elapsed() < Duration::from_secs(30), "Varnish does not show {count}: {shown:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    let (hits, all) = (hits.into_inner(), all.into_inner());
    assert!(hits > all / 2, "only {hits} of {all} answers came from Varnish");
    // Nobody else may purge, write or read anything but lists and resources through it.
    for (method, path) in [("POST", "/purge"), ("GET", "/v2/tokens"), ("DELETE", &paths[1])] {
        let request = ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", varnish.address));
        let answer = ureq::agent().run(request.body(()).unwrap());
        assert!(matches!(answer, Err(ureq::Error::StatusCode(404 | 405))), "{method} {path}: {answer:?}");
    }
}
