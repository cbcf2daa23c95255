//! Members who sign in (`API.md` 5.8): their sessions and their rights.

mod attacks;
mod authors;
mod invitations;
mod limited;
mod passwords;
mod roles;
mod views;

use serde_json::{Value, json};

use crate::support::{Failures, LateClock, Reply, Server};

/// A password that is long enough.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// A browser in which somebody is signed in.
pub(crate) struct Browser<'a> {
    server: &'a Server,
    member: u64,
    email: String,
    cookie: String,
    csrf: String,
}

impl Browser<'_> {
    fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None)
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, Some(body))
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.raw(method, path, &[("x-csrf-token", &self.csrf)], body)
    }

    /// Sends a request with the cookie and these headers.
    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Reply {
        let mut all = vec![("cookie", self.cookie.as_str())];
        all.extend(headers);
        if body.is_some() {
            all.push(("content-type", "application/json"));
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        self.server.as_token("").raw(method, path, &all, body.as_bytes())
    }
}

/// Returns the name and the value of the cookie that an answer sets, as a request sends them.
#[track_caller]
pub(crate) fn cookie_of(reply: &Reply) -> String {
    reply.header("set-cookie").expect("no cookie is set").split(';').next().unwrap().to_owned()
}

fn sign_in_with(server: &Server, headers: &[(&str, &str)], email: &str, password: &str) -> Reply {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    let body = json!({ "email": email, "password": password }).to_string();
    server.as_token("").raw("POST", "/v2/session", &all, body.as_bytes())
}

fn sign_in(server: &Server, email: &str, password: &str) -> Reply {
    sign_in_with(server, &[], email, password)
}

/// Makes a browser with the session that an answer begins.
#[track_caller]
fn browser(server: &Server, reply: Reply) -> Browser<'_> {
    let reply = reply.expect(200);
    let data = reply.data();
    Browser {
        server,
        member: data["member"]["id"].as_u64().unwrap(),
        email: data["member"]["email"].as_str().unwrap().to_owned(),
        cookie: cookie_of(&reply),
        csrf: data["csrf"].as_str().unwrap().to_owned(),
    }
}

/// Returns the secret of a new invitation.
#[track_caller]
pub(crate) fn invite(server: &Server, member: u64) -> String {
    let reply = server.post(&format!("/v2/members/{member}/invitations"), &json!({})).expect(201);
    secret_of(reply.data()["url"].as_str().unwrap())
}

fn secret_of(url: &str) -> String {
    url.split_once("/admin/invitation#").unwrap_or_else(|| panic!("{url}")).1.to_owned()
}

pub(crate) fn accept(server: &Server, body: &Value) -> Reply {
    server.as_token("").send("POST", "/v2/invitation", Some(body))
}

/// Makes a new member with this name and role, signed in.
#[track_caller]
pub(crate) fn member<'a>(server: &'a Server, name: &str, role: &str) -> Browser<'a> {
    let id = server.member(name, Some(role));
    let secret = invite(server, id);
    browser(server, accept(server, &json!({ "token": secret, "password": PASSWORD })))
}

#[test]
fn a_member_signs_in_and_out() {
    let server = Server::start();
    let ada = member(&server, "ada", "editor");
    let reply = sign_in(&server, "Ada@Example.org", PASSWORD).expect(200);
    let cookie = reply.header("set-cookie").unwrap().to_owned();
    for part in ["bindery_session=bns_", "; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=2592000"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains("__Host-"), "{cookie}");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let data = reply.data();
    let abilities = ["view", "preview", "create", "update", "delete", "publish", "analytics:view"];
    assert_eq!(data["abilities"], json!(abilities));
    assert_eq!(data["role"], "editor");
    let shown = json!({ "id": ada.member, "name": "ada", "email": "ada@example.org", "role": "editor" });
    assert_eq!(data["member"], shown);
    let second = browser(&server, reply);
    assert_ne!((&second.cookie, &second.csrf), (&ada.cookie, &ada.csrf));

    let again = second.get("/v2/session").expect(200);
    assert_eq!(again.data(), data, "reading the session shows the same");
    assert_eq!(cookie_of(&again), second.cookie, "the cookie lasts on");
    assert_eq!(second.get("/v2/blueprints").expect(200).header("cache-control"), Some("no-store"));

    let gone = second.send("DELETE", "/v2/session", None).expect(204);
    assert!(gone.header("set-cookie").unwrap().starts_with("bindery_session=;"));
    // A copied cookie alone is of no use.
    for path in ["/v2/session", "/v2/blueprints", "/v2/sessions"] {
        second.get(path).expect(401);
    }
    ada.get("/v2/session").expect(200);
}

#[test]
fn a_cookie_lasts_as_long_as_the_session_that_its_request_renews() {
    let Some(clock) = LateClock::compile(20 * 24 * 3_600) else { return };
    clock.set_late(true);
    let server = clock.start_server();
    let ada = member(&server, "ada", "viewer");
    let first = ada.get("/v2/session").expect(200).data();
    clock.set_late(false);
    // Both the request that renews the session and those after it get the cookie of thirty days.
    for _ in 0..2 {
        let later = ada.get("/v2/session").expect(200);
        let cookie = later.header("set-cookie").unwrap();
        let seconds: i64 = cookie.split("; Max-Age=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
        assert!((2_591_940..=2_592_000).contains(&seconds), "{cookie}");
        assert!(later.data()["expires_at"].as_str() > first["expires_at"].as_str(), "{}", later.text);
    }
}

#[test]
fn sessions_are_listed_ended_and_outlive_a_kill() {
    let mut server = Server::start();
    let (cookie, csrf, id) = {
        let ada = member(&server, "ada", "viewer");
        let other = browser(&server, sign_in_with(&server, &[("user-agent", "Tester/1")], &ada.email, PASSWORD));
        let list = other.get("/v2/sessions").expect(200).data();
        let list = list.as_array().unwrap();
        assert_eq!(list.len(), 2);
        let current: Vec<&Value> = list.iter().filter(|session| session["current"] == true).collect();
        assert_eq!(current.len(), 1);
        assert_eq!((&current[0]["agent"], &current[0]["address"]), (&json!("Tester/1"), &json!("127.0.0.1")));
        assert!(!other.get("/v2/sessions").text.contains(&other.cookie[20..]), "a list shows no secret");
        let first = list.iter().find(|session| session["current"] == false).unwrap()["id"].as_str().unwrap();
        let ended = format!("/v2/sessions/{first}");
        let bob = member(&server, "bob", "author");
        // Other members can neither see nor end it.
        bob.get(&format!("/v2/sessions?member={}", ada.member)).expect(403);
        bob.send("DELETE", &ended, None).expect(404);
        ada.get("/v2/session").expect(200);
        other.send("DELETE", &ended, None).expect(204);
        other.send("DELETE", &ended, None).expect(404);
        ada.get("/v2/session").expect(401);
        // A token with `manage` must name the member.
        server.get("/v2/sessions").expect(422);
        let own = server.get(&format!("/v2/sessions?member={}", ada.member)).expect(200).data();
        assert_eq!(own.as_array().unwrap().len(), 1);
        server.get("/v2/sessions?member=99").expect(404);
        (other.cookie.clone(), other.csrf.clone(), own[0]["id"].as_str().unwrap().to_owned())
    };
    server.kill_and_restart();
    let again = server.as_token("").raw("GET", "/v2/session", &[("cookie", &cookie)], b"").expect(200);
    assert_eq!(again.data()["csrf"], csrf.as_str());
    server.delete(&format!("/v2/sessions/{id}")).expect(204);
    server.as_token("").raw("GET", "/v2/session", &[("cookie", &cookie)], b"").expect(401);
}

#[test]
fn a_member_has_twenty_sessions_at_most() {
    let server = Server::start();
    let first = member(&server, "ada", "viewer");
    let mut last = String::new();
    for _ in 0..20 {
        last = cookie_of(&sign_in(&server, &first.email, PASSWORD).expect(200));
    }
    first.get("/v2/session").expect(401);
    let list = server.get(&format!("/v2/sessions?member={}", first.member)).expect(200).data();
    assert_eq!(list.as_array().unwrap().len(), 20);
    server.as_token("").raw("GET", "/v2/session", &[("cookie", &last)], b"").expect(200);
}

#[test]
fn only_the_right_password_of_a_member_with_rights_signs_in() {
    let server = Server::start_with(&["--analytics-trusted-proxies", "127.0.0.1"]);
    member(&server, "ada", "editor");
    let bob = member(&server, "bob", "author");
    server.member("without", Some("owner"));
    server.patch(&format!("/v2/members/{}", bob.member), &json!({ "role": "translator" })).expect(200);
    let message = "the email or the password is wrong";
    let mut failures = Failures::default();
    for (at, (email, password, outcome, said)) in [
        ("ada@example.org", "correct horse battery stapl", "401 UNAUTHENTICATED", message),
        ("ada@example.org", "Correct horse battery staple", "401 UNAUTHENTICATED", message),
        ("nobody@example.org", PASSWORD, "401 UNAUTHENTICATED", message),
        ("without@example.org", PASSWORD, "401 UNAUTHENTICATED", message),
        ("bob@example.org", "wrong password", "401 UNAUTHENTICATED", message),
        ("bob@example.org", PASSWORD, "403 FORBIDDEN", "`translator`"),
        ("ada@example.org", "", "422 VALIDATION_FAILED", "password"),
        ("", PASSWORD, "422 VALIDATION_FAILED", "email"),
    ]
    .into_iter()
    .enumerate()
    {
        // Each request has its own address, so that none is slowed down.
        let address = format!("203.0.113.{at}");
        let reply = sign_in_with(&server, &[("x-forwarded-for", &address)], email, password);
        let case = format!("{email} {password}");
        failures.check_eq(&case, reply.outcome(), outcome.to_owned());
        failures.check(reply.message().contains(said), || format!("{case}: {}", reply.message()));
        failures.check(reply.header("set-cookie").is_none(), || format!("{case}: sets a cookie"));
    }
    failures.assert_none();
}

#[test]
fn a_token_that_is_sent_counts_alone() {
    let server = Server::start();
    let owner = member(&server, "ada", "owner");
    let view = server.token(&["view"]);
    let with = |token: &str, path: &str| server.as_token(token).raw("GET", path, &[("cookie", &owner.cookie)], b"");
    owner.get("/v2/tokens").expect(200);
    with(&view, "/v2/tokens").expect(403);
    with(&view, "/v2/blueprints").expect(200);
    with("unknown", "/v2/blueprints").expect(401);
    with(&view, "/v2/session").expect(401);
    // No CSRF token is needed, because the request has a token of the API.
    let body = json!({ "name": "T", "fields": [] }).to_string();
    let headers = [("cookie", owner.cookie.as_str()), ("content-type", "application/json")];
    server.raw("POST", "/v2/blueprints", &headers, body.as_bytes()).expect(201);
}

#[test]
fn cookies_of_other_servers_on_the_host_are_not_in_the_way() {
    let (server, other) = (Server::start(), Server::start());
    let (ada, eve) = (member(&server, "ada", "owner"), member(&other, "eve", "owner"));
    let read = |cookie: &str| server.as_token("").raw("GET", "/v2/session", &[("cookie", cookie)], b"");
    read(&eve.cookie).expect(401);
    for both in [format!("{}; {}", eve.cookie, ada.cookie), format!("theme=dark; {}; {}", ada.cookie, eve.cookie)] {
        assert_eq!(read(&both).expect(200).data()["member"]["name"], "ada", "{both}");
    }
}

#[test]
fn behind_tls_the_cookie_is_one_that_only_this_host_can_set() {
    let server = Server::start_with(&["--analytics-trusted-proxies", "127.0.0.1"]);
    let ada = member(&server, "ada", "owner");
    let tls = [("x-forwarded-proto", "https")];
    let reply = sign_in_with(&server, &tls, &ada.email, PASSWORD).expect(200);
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-bindery_session=") && cookie.contains("; Secure"), "{cookie}");
    let secret = cookie_of(&reply).split_once('=').unwrap().1.to_owned();
    let read = |name: &str, headers: &[(&str, &str)]| {
        let cookie = format!("{name}={secret}");
        let mut all = vec![("cookie", cookie.as_str())];
        all.extend(headers);
        server.as_token("").raw("GET", "/v2/session", &all, b"").status
    };
    assert_eq!(read("__Host-bindery_session", &tls), 200);
    assert_eq!(read("bindery_session", &tls), 401, "anybody on the way could have set it");
    assert_eq!(read("bindery_session", &[]), 200);
    // Only trusted proxies may send it.
    let direct = Server::start();
    let bob = member(&direct, "bob", "owner");
    assert!(cookie_of(&sign_in_with(&direct, &tls, &bob.email, PASSWORD)).starts_with("bindery_session="));
    let public = Server::start_with(&["--public-url", "https://cms.example.org"]);
    let eve = member(&public, "eve", "owner");
    assert!(eve.cookie.starts_with("__Host-bindery_session="), "{}", eve.cookie);
}

#[test]
fn a_session_waits_for_changes_and_gets_events_until_it_ends() {
    use std::io::{BufRead, BufReader};

    use crate::clients::attack::Raw;

    let server = Server::start();
    server.blueprint("notes", json!([]));
    let ada = member(&server, "ada", "editor");
    let begin = |path: &str, headers: &str| {
        let mut raw = Raw::connect(server.address());
        raw.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\ncookie: {}\r\n{headers}\r\n", ada.cookie));
        raw
    };
    let mut waiting = begin("/v2/changes?since=now&wait=30", "");
    let mut events =
        BufReader::new(begin("/v2/changes?since=now", "accept: text/event-stream\r\nconnection: close\r\n").0);
    let mut next = || {
        let mut line = String::new();
        while !line.starts_with("data: ") {
            line.clear();
            if events.read_line(&mut line).unwrap() == 0 {
                return None;
            }
        }
        Some(line)
    };
    std::thread::sleep(std::time::Duration::from_millis(300));
    for nth in 0..3 {
        let id = server.create("notes", json!({}));
        let event = next().unwrap_or_else(|| panic!("the stream ended before event {nth}"));
        assert!(event.contains(&id), "{event}");
    }
    assert_eq!(waiting.answer().map(|answer| answer.status), Some(200));
    ada.send("DELETE", "/v2/session", None).expect(204);
    server.create("notes", json!({}));
    assert_eq!(next(), None, "the session has ended");
}
