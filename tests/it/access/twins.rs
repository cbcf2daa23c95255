//! Two servers that differ only in contents that a token or a member may not see. Every answer to the token or member
//! is the same on both.
//!
//! The resources of both servers are imported, so that their ids and dates are the same too. The complete answers are
//! compared, except for the time of day, request ids, the address of the server and the ids that it assigns. These ids
//! are numbered in the order of their appearance. So are entity tags, which depend on a secret of each server.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::oracle::random::Random;
use crate::sessions::{PASSWORD, accept, cookie_of, invite};
use crate::support::{Failures, Reply, Server};

const STEPS: usize = 400;
const MISSING: &str = "0192b3c4-0000-7000-8000-000000000000";
const WORDS: [&str; 5] = ["alpha", "beta", "gamma", "alphabet", ""];

/// The contents that one of the servers has and the other lacks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hidden {
    /// Drafts, hidden from tokens without `preview`.
    Drafts,
    /// A blueprint, hidden from a token and a member that are limited to another one.
    Blueprint,
}

/// The sender of a request.
enum Sender {
    Token { id: String, secret: String },
    Session { cookie: String, csrf: String },
}

/// A server, and the names of the values that differ from server to server.
struct Twin {
    server: Server,
    senders: Vec<Sender>,
    /// The ids that the server assigned, in order.
    given: Vec<String>,
    tags: Vec<String>,
    /// The answer for each tag of a path.
    bodies: HashMap<(String, usize, String), String>,
    last_tag: HashMap<(String, usize), String>,
}

impl Twin {
    /// Starts a server. `has_secrets` says whether the blueprint `secrets` exists.
    fn start(hidden: Hidden, has_secrets: bool) -> Twin {
        let server = Server::start();
        server.blueprint("secrets", json!([{ "name": "T", "slug": "t", "type": "text" }]));
        let relation = |slug: &str, kind: &str, to: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": to } });
        let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
        let mut unique = field("slug", "slug");
        unique["unique"] = json!(true);
        server.blueprint(
            "notes",
            json!([
                field("title", "text"),
                field("count", "number"),
                unique,
                field("who", "user"),
                relation("see", "references", "notes"),
                relation("secret", "reference", "secrets"),
            ]),
        );
        if !has_secrets {
            server.delete("/v2/blueprints/secrets?force=true").expect(204);
        }
        server.member("ada", None);
        let token = |abilities: &[&str], blueprints: Value| {
            let body = json!({ "name": "x", "abilities": abilities, "blueprints": blueprints });
            let data = server.post("/v2/tokens", &body).expect(201).data();
            let text = |key: &str| data[key].as_str().unwrap().to_owned();
            Sender::Token { id: text("id"), secret: text("secret") }
        };
        let senders = match hidden {
            Hidden::Drafts => vec![token(&["view"], Value::Null), token(&["view", "create"], Value::Null)],
            Hidden::Blueprint => {
                let abilities = ["preview", "create", "update", "delete", "publish"];
                vec![token(&abilities, json!(["notes"])), editor_of_notes(&server)]
            }
        };
        let (given, tags) = (Vec::new(), Vec::new());
        Twin { server, senders, given, tags, bodies: HashMap::new(), last_tag: HashMap::new() }
    }

    fn import(&self, blueprint: &str, item: &Value) {
        let path = format!("/v2/resources/{blueprint}/import");
        let headers = [("content-type", "application/x-ndjson")];
        let reply = self.server.raw("POST", &path, &headers, format!("{item}\n").as_bytes()).expect(200);
        assert!(reply.text.contains("\"op\""), "{}", reply.text);
    }

    /// Returns the answer to a request, as text that is the same on both servers.
    fn answer(&mut self, token: usize, request: &Request) -> String {
        let named = |text: &str| {
            let names = self.given.iter().enumerate();
            names.fold(text.to_owned(), |text, (n, id)| text.replace(&format!("GIVEN-{n}-"), id))
        };
        let (path, body) = (named(&request.path), request.body.as_ref().map(|body| named(&body.to_string())));
        let cached = self.last_tag.get(&(path.clone(), token)).filter(|_| request.is_conditional).cloned();
        let mut headers: Vec<(&str, &str)> = cached.iter().map(|tag| ("if-none-match", tag.as_str())).collect();
        headers.extend(body.is_some().then_some(("content-type", "application/json")));
        headers.extend(request.idempotency_key.as_deref().map(|key| ("idempotency-key", key)));
        let secret = match &self.senders[token] {
            Sender::Token { secret, .. } => secret.as_str(),
            Sender::Session { cookie, csrf } => {
                headers.extend([("cookie", cookie.as_str()), ("x-csrf-token", csrf)]);
                ""
            }
        };
        let client = self.server.as_token(secret);
        let reply = client.raw(request.method, &path, &headers, body.unwrap_or_default().as_bytes());
        self.learn(request, &reply);
        let body = match path.starts_with("/v2/changes") && reply.status == 200 {
            true => self.normal(&without_numbers(&reply.text)),
            false => self.normal(&reply.text),
        };
        let mut answer = format!("{} {body}", reply.status);
        for (name, value) in &reply.headers {
            match name.as_str() {
                "date" | "x-request-id" => {}
                // The numbers of the feed also count changes that the sender may not see.
                "x-last-change" => {}
                "content-length" if path.starts_with("/v2/changes") => {}
                "etag" => {
                    answer.push_str(&format!("\netag: {}", self.tag(&path, token, request, &reply, value, &body)))
                }
                _ => answer.push_str(&format!("\n{name}: {}", self.normal(value))),
            }
        }
        answer
    }

    /// Collects the ids that the server assigned.
    fn learn(&mut self, request: &Request, reply: &Reply) {
        if request.method != "POST" || reply.status >= 300 && reply.status != 207 {
            return;
        }
        let data = reply.data();
        let created = data["created"].as_array().cloned().unwrap_or_else(|| vec![data.clone()]);
        let ids = created.iter().filter_map(|item| item["id"].as_str());
        self.given.extend(ids.filter(|_| request.creates).map(str::to_owned));
    }

    /// Returns the tag's number. A tag of a path never stands for two answers.
    fn tag(&mut self, path: &str, token: usize, request: &Request, reply: &Reply, tag: &str, body: &str) -> usize {
        if request.method == "GET" {
            self.last_tag.insert((path.to_owned(), token), tag.to_owned());
            if reply.status == 200 {
                let key = (path.to_owned(), token, tag.to_owned());
                let known = self.bodies.entry(key).or_insert_with(|| body.to_owned());
                assert_eq!(known, body, "one tag for two answers to {path}");
            }
        }
        let known = self.tags.iter().position(|known| known == tag);
        known.unwrap_or_else(|| {
            self.tags.push(tag.to_owned());
            self.tags.len() - 1
        })
    }

    fn normal(&self, text: &str) -> String {
        let mut text = text.replace(self.server.address(), "ADDRESS");
        for (n, id) in self.given.iter().enumerate() {
            text = text.replace(id, &format!("GIVEN-{n}-"));
        }
        for (n, sender) in self.senders.iter().enumerate() {
            if let Sender::Token { id, .. } = sender {
                text = text.replace(id, &format!("SENDER-{n}-"));
            }
        }
        // Dates that both servers were given are older.
        while let Some(at) = find_date(&text) {
            text.replace_range(at..at + DATE_CHARS, "NOW");
        }
        text
    }
}

/// Makes a member who is signed in, and limited to the blueprint `notes`.
fn editor_of_notes(server: &Server) -> Sender {
    let member = json!({ "name": "eve", "email": "eve@example.org", "role": "editor", "blueprints": ["notes"] });
    let id = server.post("/v2/members", &member).expect(201).data()["id"].as_u64().unwrap();
    let reply = accept(server, &json!({ "token": invite(server, id), "password": PASSWORD })).expect(200);
    Sender::Session { cookie: cookie_of(&reply), csrf: reply.data()["csrf"].as_str().unwrap().to_owned() }
}

/// Returns the answer of the change feed without its numbers.
fn without_numbers(lines: &str) -> String {
    let lines = lines.lines().map(|line| {
        let mut change: Value = serde_json::from_str(line).unwrap();
        change["number"].take();
        change.to_string() + "\n"
    });
    lines.collect()
}

const DATE_CHARS: usize = "2026-11-20T20:42:31.123+00:00".len();

/// Returns the position of a date of this run.
fn find_date(text: &str) -> Option<usize> {
    let dates = text.match_indices('T').filter_map(|(at, _)| at.checked_sub(10));
    dates.into_iter().find(|at| {
        let year = text.get(*at..at + 4).and_then(|year| year.parse::<u32>().ok());
        let is_date = text.get(at + 4..at + 5) == Some("-") && text.len() >= at + DATE_CHARS;
        is_date && year.is_some_and(|year| (2026..3000).contains(&year))
    })
}

/// A request to both servers. Ids that they assigned are written `GIVEN-n-`.
#[derive(Debug)]
struct Request {
    method: &'static str,
    path: String,
    body: Option<Value>,
    is_conditional: bool,
    creates: bool,
    idempotency_key: Option<String>,
}

/// The contents of both servers, and those of the first one only.
struct World {
    random: Random,
    hidden: Hidden,
    shared: Vec<String>,
    secret: Vec<String>,
    n_ids: usize,
}

impl World {
    fn id(&mut self) -> String {
        self.n_ids += 1;
        format!("01900000-0000-7000-8000-{:012x}", self.n_ids)
    }

    fn item(&mut self, id: &str, is_published: bool, slug: &str) -> Value {
        let day = self.random.within(10, 28);
        let date = format!("2021-03-{day}T10:00:00.{:03}Z", self.random.below(1000));
        let published = if is_published { json!(date) } else { Value::Null };
        let attributes = json!({
            "title": self.random.text(&WORDS),
            "count": self.random.below(5),
            "slug": format!("{slug}-{}", &id[24..]),
        });
        json!({ "id": id, "published_at": published, "created_at": date, "updated_at": date, "attributes": attributes })
    }

    /// Makes a change on both servers.
    fn change_both(&mut self, twins: &mut [Twin; 2]) {
        let is_new = self.shared.len() < 5 || self.random.chance(40);
        let id = if is_new { self.id() } else { self.random.pick(&self.shared).clone() };
        if !is_new && self.random.chance(25) {
            let path = format!("/v2/resources/notes/{id}");
            let statuses = [0, 1].map(|n: usize| twins[n].server.delete(&path).status);
            assert_eq!(statuses[0], statuses[1]);
            return;
        }
        let is_published = self.random.chance(75);
        let mut item = self.item(&id, is_published, "shared");
        if !self.shared.is_empty() && self.random.chance(40) {
            item["attributes"]["see"] = json!([id]);
        }
        twins.iter().for_each(|twin| twin.import("notes", &item));
        if is_new {
            self.shared.push(id);
        }
    }

    /// Makes a change on the first server only, of contents that the tokens may not see.
    fn change_hidden(&mut self, twin: &Twin) {
        let is_new = self.secret.is_empty() || self.random.chance(40);
        let id = if is_new { self.id() } else { self.random.pick(&self.secret).clone() };
        let blueprint = match self.hidden {
            Hidden::Drafts => "notes",
            Hidden::Blueprint => "secrets",
        };
        let path = format!("/v2/resources/{blueprint}/{id}");
        if !is_new && self.random.chance(30) {
            twin.server.delete(&path);
            return;
        }
        let is_published = self.hidden == Hidden::Blueprint && self.random.chance(50);
        let mut item = self.item(&id, is_published, "hidden");
        if self.hidden == Hidden::Blueprint {
            item["attributes"] = json!({ "t": self.random.text(&WORDS) });
        } else if !self.shared.is_empty() && self.random.chance(50) {
            item["attributes"]["see"] = json!([id]);
        }
        twin.import(blueprint, &item);
        if self.random.chance(30) && self.hidden == Hidden::Drafts {
            twin.server.patch(&path, &json!({ "attributes": { "count": 77 } })).expect(200);
        }
        if is_new {
            self.secret.push(id);
        }
    }

    /// Returns any id: one of both servers, a hidden one, one that the servers assigned, or an unknown one.
    fn any_id(&mut self, n_given: usize) -> String {
        match self.random.below(8) {
            0..3 if !self.shared.is_empty() => self.random.pick(&self.shared).clone(),
            3..6 if !self.secret.is_empty() => self.random.pick(&self.secret).clone(),
            6 if n_given > 0 => format!("GIVEN-{}-", self.random.below(n_given)),
            _ => MISSING.to_owned(),
        }
    }

    fn attributes(&mut self, n_given: usize) -> Value {
        let mut attributes = json!({ "title": self.random.text(&WORDS), "count": self.random.below(5) });
        if self.random.chance(50) {
            attributes["see"] = json!([self.any_id(n_given)]);
        }
        if self.random.chance(40) {
            attributes["secret"] = json!(self.any_id(n_given));
        }
        if self.random.chance(20) {
            attributes["who"] = json!(self.random.below(3));
        }
        if self.random.chance(20) {
            // The slug is not the slug of a draft: answers say that a value is taken, but not by whom (`hidden.rs`).
            attributes["slug"] = json!(format!("given-{}", self.random.below(20)));
        }
        attributes
    }

    fn read(&mut self, n_given: usize) -> Request {
        let id = self.any_id(n_given);
        let queries = [
            String::new(),
            "sort=title,-count&per_page=3&page=2".to_owned(),
            "sort=-published_at,id&per_page=100".to_owned(),
            "search=alpha&sort=count".to_owned(),
            "filter[count][gte]=2&sort=id".to_owned(),
            "filter[count][gt]=50".to_owned(),
            "filter[see][null]=false&sort=id".to_owned(),
            "filter[see][ne]=x&filter[published]=true&sort=slug".to_owned(),
            "filter[published_at][null]=true&sort=id".to_owned(),
            "filter[created_at][lt]=2021-03-20&fields=id,attributes.title&sort=id".to_owned(),
            "filter[slug][starts_with]=hidden".to_owned(),
            format!("filter[id]={id}"),
            format!("filter[see][has]={id}"),
            format!("filter[secret]={id}&sort=id"),
        ];
        let query = self.random.pick(&queries).clone();
        let path = match self.random.below(12) {
            0 => "/v2/blueprints".to_owned(),
            1 => format!("/v2/blueprints/{}", self.random.pick(&["notes", "nothing"])),
            2..5 => format!("/v2/resources/notes/{id}"),
            5 | 6 => {
                let format = self.random.pick(&["json", "ndjson", "csv"]);
                format!("/v2/resources/notes/export?{query}&format={format}")
            }
            7 if self.hidden == Hidden::Blueprint => {
                (*self.random.pick(&["/v2/resources/secrets", "/v2/blueprints/secrets"])).to_owned()
            }
            8 if self.hidden == Hidden::Blueprint => self.beside_lists(&id),
            _ => format!("/v2/resources/notes?{query}"),
        };
        let method = if self.random.chance(15) { "HEAD" } else { "GET" };
        let is_conditional = self.random.chance(50);
        Request { method, path, body: None, is_conditional, creates: false, idempotency_key: None }
    }

    /// Makes a read other than a list, in which a blueprint could show.
    fn beside_lists(&mut self, id: &str) -> String {
        let paths = [
            format!("/v2/resources/secrets/{id}"),
            format!("/v2/resources/secrets/{id}/referrers"),
            format!("/v2/resources/notes/{id}/referrers"),
            format!("/v2/resources/notes/{id}?expand=see,secret"),
            "/v2/resources/notes?expand=secret".to_owned(),
            "/v2/resources/notes?filter[secret.t]=alpha".to_owned(),
            "/v2/search?search=a".to_owned(),
            "/v2/search?q=alpha".to_owned(),
            "/v2/search?q=alpha&group=true".to_owned(),
            "/v2/search/suggest?q=al".to_owned(),
            "/v2/changes?since=0".to_owned(),
            "/v2/openapi.json".to_owned(),
            "/v2/status".to_owned(),
            "/v2/members".to_owned(),
            "/v2/views".to_owned(),
        ];
        self.random.pick(&paths).clone()
    }

    fn write(&mut self, n_given: usize) -> Request {
        let attributes = self.attributes(n_given);
        let published = if self.random.chance(50) { json!("2022-01-01T00:00:00Z") } else { Value::Null };
        let create = json!({ "attributes": attributes, "published_at": published });
        let (method, path, body) = match self.random.below(if self.hidden == Hidden::Drafts { 4 } else { 9 }) {
            0 | 1 => ("POST", "notes".to_owned(), Some(create)),
            2 => {
                let other = json!({ "attributes": self.attributes(n_given) });
                ("POST", "notes/bulk".to_owned(), Some(json!({ "resources": [create, other] })))
            }
            3 => ("PATCH", format!("notes/{}", self.any_id(0)), Some(json!({}))),
            4 => ("PATCH", format!("notes/{}", self.any_id(n_given)), Some(json!({ "attributes": attributes }))),
            5 => ("PUT", format!("notes/{}", self.any_id(n_given)), Some(create)),
            6 => ("POST", "notes/bulk-publish".to_owned(), Some(json!({ "ids": [self.any_id(n_given)] }))),
            7 => ("DELETE", format!("notes/{}", self.any_id(n_given)), None),
            _ => {
                let id = self.any_id(n_given);
                let path = self.random.pick(&["secrets", "secrets/bulk", "secrets/import"]).to_string();
                match self.random.chance(50) {
                    true => ("POST", path, Some(create)),
                    false => ("PATCH", format!("secrets/{id}"), Some(json!({}))),
                }
            }
        };
        let creates = matches!(path.as_str(), "notes" | "notes/bulk");
        let path = format!("/v2/resources/{path}");
        Request { method, path, body, is_conditional: false, creates, idempotency_key: None }
    }

    /// Makes a creation with a key and a body that others send, too: the same token again, or one that sees more.
    fn keyed(&mut self) -> Request {
        let (key, body) = self.key_and_body("title");
        let path = "/v2/resources/notes".to_owned();
        let body = Some(body);
        Request { method: "POST", path, body, is_conditional: false, creates: true, idempotency_key: Some(key) }
    }

    fn key_and_body(&mut self, field: &str) -> (String, Value) {
        let key = format!("key-{}", self.random.below(12));
        (key, json!({ "attributes": { field: *self.random.pick(&["alpha", "beta"]) } }))
    }

    /// Makes the admin create a hidden resource on the first server, with a key that the tokens also use.
    fn keyed_by_another(&mut self, twin: &Twin) {
        let (path, field) = match self.hidden {
            Hidden::Drafts => ("/v2/resources/notes", "title"),
            Hidden::Blueprint => ("/v2/resources/secrets", "t"),
        };
        let (key, body) = self.key_and_body(field);
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        let reply = twin.server.raw("POST", path, &headers, body.to_string().as_bytes());
        assert!(reply.status < 500, "{}", reply.text);
    }
}

fn compare(hidden: Hidden, seed: u64) {
    let mut twins = [Twin::start(hidden, true), Twin::start(hidden, hidden == Hidden::Drafts)];
    let random = Random::new(seed);
    let mut world = World { random, hidden, shared: Vec::new(), secret: Vec::new(), n_ids: 0 };
    let (mut failures, mut n_read, mut n_changed) = (Failures::default(), 0, 0);
    for step in 0..STEPS {
        let n_given = twins[0].given.len();
        let request = match world.random.below(10) {
            0 => {
                world.change_both(&mut twins);
                continue;
            }
            1..4 => {
                match world.random.chance(20) {
                    true => world.keyed_by_another(&twins[0]),
                    false => world.change_hidden(&twins[0]),
                }
                n_changed += 1;
                continue;
            }
            4 if world.random.chance(40) => world.keyed(),
            4 => world.write(n_given),
            _ => world.read(n_given),
        };
        n_read += 1;
        let token = world.random.below(twins[0].senders.len());
        let answers = twins.each_mut().map(|twin| twin.answer(token, &request));
        failures.check(answers[0] == answers[1], || {
            format!("step {step}, token {token}, {request:?}:\n{}\n---\n{}\n", answers[0], answers[1])
        });
    }
    assert!(n_read > STEPS / 3 && n_changed > STEPS / 6, "{n_read} requests, {n_changed} hidden changes");
    assert!(twins[0].bodies.len() > 30, "{} tags", twins[0].bodies.len());
    failures.assert_none();
}

#[test]
fn nothing_of_a_draft_shows_to_tokens_that_see_what_is_published() {
    (1..=2).for_each(|seed| compare(Hidden::Drafts, seed));
}

#[test]
fn nothing_of_another_blueprint_shows_to_a_limited_token_or_member() {
    (11..=12).for_each(|seed| compare(Hidden::Blueprint, seed));
}
