//! Random histories of writes, compared with a naive list of everything that was ever written. The server is killed and
//! its index removed between the steps.

use serde_json::{Value, json};

use crate::oracle::random::Random;
use crate::support::Server;

/// The number of steps.
const STEPS: usize = 220;
const KEEP: usize = 12;
const VARIANTS: [&str; 2] = ["en", "de"];

/// A resource of the model: for each variant everything that it ever was.
struct Resource {
    id: String,
    versions: [Vec<Version>; 2],
    published: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Version {
    op: &'static str,
    fields: Vec<&'static str>,
    title: Option<String>,
    body: Option<String>,
    published: bool,
}

impl Resource {
    /// Returns the title and the body of a variant.
    fn live(&self, variant: usize) -> (Option<String>, Option<String>) {
        self.versions[variant].last().map_or((None, None), |version| (version.title.clone(), version.body.clone()))
    }

    fn push(&mut self, variant: usize, op: &'static str, (title, body): (Option<String>, Option<String>)) {
        let before = self.live(variant);
        let mut fields = Vec::new();
        if before.0 != title {
            fields.push("title");
        }
        if before.1 != body {
            fields.push("body");
        }
        if !fields.is_empty() {
            self.versions[variant].push(Version { op, fields, title, body, published: self.published });
        }
    }

    fn publish(&mut self, published: bool) {
        if self.published == published {
            return;
        }
        self.published = published;
        let op = if published { "published" } else { "unpublished" };
        for variant in 0..2 {
            if variant == 0 || !self.versions[variant].is_empty() {
                let (title, body) = self.live(variant);
                self.versions[variant].push(Version { op, fields: Vec::new(), title, body, published });
            }
        }
    }
}

struct History {
    server: Server,
    resources: Vec<Resource>,
    random: Random,
}

impl History {
    fn text(&mut self) -> String {
        let words: Vec<String> = (0..self.random.below(300)).map(|_| format!("w{}", self.random.below(5000))).collect();
        words.join(" ")
    }

    fn step(&mut self) {
        let at = self.random.below(self.resources.len());
        let variant = self.random.below(2);
        let path = format!("/v2/resources/notes/{}", self.resources[at].id);
        let query = format!("variant={}", VARIANTS[variant]);
        match self.random.below(12) {
            0 if self.resources.len() < 4 => {
                let (title, body) = (self.text(), format!("<p>{}</p>", self.text()));
                let reply = json!({ "attributes": { "title": title, "body": body } });
                let id = self.server.post("/v2/resources/notes", &reply).expect(201).data()["id"].clone();
                let version = Version {
                    op: "created",
                    fields: vec!["title", "body"],
                    title: Some(title),
                    body: Some(body),
                    published: false,
                };
                let id = id.as_str().unwrap().to_owned();
                self.resources.push(Resource { id, versions: [vec![version], Vec::new()], published: false });
            }
            0..=5 => {
                let (mut title, mut body) = self.resources[at].live(variant);
                match self.random.chance(50) {
                    true => title = Some(format!("t{}", self.random.below(4))),
                    false => body = Some(format!("<p>{}</p>", self.text())),
                }
                let attributes = json!({ "attributes": { "title": title, "body": body } });
                self.server.patch(&format!("{path}?{query}"), &attributes).expect(200);
                self.resources[at].push(variant, "updated", (title, body));
            }
            6 | 7 => {
                let published = self.random.chance(50);
                let date = published.then_some("2026-01-01T00:00:00Z");
                self.server.patch(&path, &json!({ "published_at": date })).expect(200);
                self.resources[at].publish(published);
            }
            8 | 9 => {
                let n_versions = self.resources[at].versions[variant].len();
                let number = self.random.within(1, n_versions + 1);
                let reply = self.server.post(&format!("{path}/history/{number}/restore?{query}"), &json!({}));
                let is_kept = number <= n_versions && number + KEEP > n_versions;
                if n_versions == 0 {
                    return;
                }
                assert_eq!(reply.status, if is_kept { 200 } else { 404 }, "{number} of {n_versions}: {}", reply.text);
                if is_kept {
                    let version = self.resources[at].versions[variant][number - 1].clone();
                    self.resources[at].push(variant, "restored", (version.title, version.body));
                }
            }
            10 if self.random.chance(20) => self.server.kill_and_restart(),
            10 if self.random.chance(10) => self.server.restart_without_index(),
            _ => {}
        }
    }

    fn compare(&self) {
        for resource in &self.resources {
            for (variant, versions) in VARIANTS.iter().zip(&resource.versions) {
                // A variant that was never written has one empty revision.
                if !versions.is_empty() {
                    self.compare_variant(&resource.id, variant, versions);
                }
            }
        }
    }

    fn compare_variant(&self, id: &str, variant: &str, versions: &[Version]) {
        let history = format!("/v2/resources/notes/{id}/history");
        let listed = self.server.get(&format!("{history}?variant={variant}&limit=100")).expect(200).data();
        let shown = |one: &Value| (one["number"].clone(), one["op"].clone(), one["fields"].clone());
        let listed: Vec<_> = listed.as_array().unwrap().iter().map(shown).collect();
        let first = versions.len().saturating_sub(KEEP);
        let expected = versions.iter().enumerate().skip(first).rev();
        let expected: Vec<_> = expected.map(|(at, one)| (json!(at + 1), json!(one.op), json!(one.fields))).collect();
        assert_eq!(listed, expected, "{id} {variant}");
        for (at, version) in versions.iter().enumerate().skip(first) {
            let shown = self.server.get(&format!("{history}/{}?variant={variant}", at + 1)).expect(200).data();
            let attributes = json!({ "title": version.title, "body": version.body });
            assert_eq!(shown["attributes"], attributes, "{id} {variant} {at}");
            assert_eq!(shown["published_at"].is_string(), version.published, "{id} {variant} {at}");
        }
    }
}

#[test]
fn random_histories_have_the_revisions_that_a_naive_list_has() {
    for seed in 0..3 {
        let server = Server::start();
        let body = json!({ "name": "Notes", "slug": "notes", "history": { "keep": KEEP, "days": 3650 },
            "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
            "fields": [
                { "name": "title", "slug": "title", "type": "text" },
                { "name": "body", "slug": "body", "type": "rich-text" },
            ] });
        server.post("/v2/blueprints", &body).expect(201);
        let mut history = History { server, resources: Vec::new(), random: Random::new(seed) };
        let created = json!({ "attributes": { "title": "a", "body": "<p>b</p>" } });
        let id = history.server.post("/v2/resources/notes", &created).expect(201).data()["id"].clone();
        let version = Version {
            op: "created",
            fields: vec!["title", "body"],
            title: Some("a".to_owned()),
            body: Some("<p>b</p>".to_owned()),
            published: false,
        };
        let id = id.as_str().unwrap().to_owned();
        history.resources.push(Resource { id, versions: [vec![version], Vec::new()], published: false });
        for step in 0..STEPS {
            history.step();
            if step % 20 == 0 {
                history.compare();
            }
        }
        history.compare();
    }
}
