//! Random histories of writes, deletions and restorations, compared with a naive model after each step. The server is
//! killed, stopped, and its index removed, between the steps.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::oracle::random::Random;
use crate::support::Server;

/// The number of steps.
const STEPS: usize = 350;

/// A resource of the model.
#[derive(Debug, Clone, PartialEq)]
struct Resource {
    title: String,
    slug: Option<String>,
    german: Option<String>,
    /// Ids of the same blueprint, by a relation that is nullified.
    next: Option<String>,
    published: bool,
}

#[derive(Debug, Default)]
struct Model {
    live: BTreeMap<String, Resource>,
    /// The trash in the order of the deletions, with the number of resources that referred to each.
    trash: Vec<(String, Resource, usize)>,
}

impl Model {
    fn holder(&self, slug: Option<&String>) -> Option<&String> {
        self.live.iter().find(|(_, resource)| slug.is_some() && resource.slug.as_ref() == slug).map(|(id, _)| id)
    }

    fn referrers(&self, target: &str) -> usize {
        let refers = |(id, resource): &(&String, &Resource)| *id != target && resource.next.as_deref() == Some(target);
        self.live.iter().filter(refers).count()
    }

    /// Deletes resources as one request does: what referred to them before it counts.
    fn delete(&mut self, ids: &[String]) {
        let referrers: Vec<usize> = ids.iter().map(|id| self.referrers(id)).collect();
        for (id, referrers) in ids.iter().zip(referrers) {
            let Some(resource) = self.live.remove(id) else { continue };
            self.trash.push((id.clone(), resource, referrers));
            for other in self.live.values_mut().filter(|other| other.next.as_ref() == Some(id)) {
                other.next = None;
            }
        }
    }

    /// Restores a resource. Returns the expected status.
    fn restore(&mut self, id: &str, as_draft: bool) -> u16 {
        let Some(position) = self.trash.iter().position(|(other, ..)| other == id) else { return 404 };
        if self.holder(self.trash[position].1.slug.as_ref()).is_some() {
            return 409;
        }
        let (id, mut resource, _) = self.trash.remove(position);
        if let Some(next) = &resource.next
            && *next != id
            && !self.live.contains_key(next)
        {
            resource.next = None;
        }
        resource.published &= !as_draft;
        self.live.insert(id, resource);
        200
    }

    fn purge(&mut self, id: &str) -> u16 {
        let before = self.trash.len();
        self.trash.retain(|(other, ..)| other != id);
        if self.trash.len() < before { 204 } else { 404 }
    }
}

struct History {
    server: Server,
    model: Model,
    random: Random,
    view: String,
}

impl History {
    fn new(seed: u64) -> History {
        let server = Server::start();
        let next = json!({ "blueprint": "notes", "on_delete": "nullify" });
        let body = json!({ "name": "Notes", "slug": "notes", "record_title": "title", "trash": { "days": 1 },
            "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
            "fields": [
                { "name": "title", "slug": "title", "type": "text" },
                { "name": "slug", "slug": "slug", "type": "slug", "unique": true },
                { "name": "next", "slug": "next", "type": "reference", "settings": next },
            ] });
        server.post("/v2/blueprints", &body).expect(201);
        let view = server.token(&["view"]);
        History { server, model: Model::default(), random: Random::new(seed), view }
    }

    fn any_id(&mut self) -> String {
        let known: Vec<&String> = self.model.live.keys().chain(self.model.trash.iter().map(|(id, ..)| id)).collect();
        match known.is_empty() {
            true => "0199a0b6-0000-7000-8000-000000000000".to_owned(),
            false => (*self.random.pick(&known)).clone(),
        }
    }

    fn attributes(&mut self) -> Value {
        let slug = self.random.chance(60).then(|| format!("s{}", self.random.below(8)));
        let live: Vec<String> = self.model.live.keys().cloned().collect();
        let next = (self.random.chance(40) && !live.is_empty()).then(|| self.random.pick(&live).clone());
        json!({ "title": format!("t{}", self.random.below(1000)), "slug": slug, "next": next })
    }

    /// Writes a resource, or changes one. The model says whether the server accepts it.
    fn write(&mut self) {
        let attributes = self.attributes();
        let (slug, next) = (attributes["slug"].as_str().map(str::to_owned), attributes["next"].as_str());
        let next = next.map(str::to_owned);
        let title = attributes["title"].as_str().unwrap().to_owned();
        let holder = self.model.holder(slug.as_ref()).cloned();
        if self.random.chance(50) {
            let published = self.random.chance(60);
            let date = published.then_some("2026-01-01T00:00:00Z");
            let body = json!({ "attributes": attributes, "published_at": date });
            let reply = self.server.post("/v2/resources/notes", &body);
            assert_eq!(reply.status, if holder.is_some() { 422 } else { 201 }, "{}", reply.text);
            if reply.status == 201 {
                let id = reply.data()["id"].as_str().unwrap().to_owned();
                self.model.live.insert(id, Resource { title, slug, german: None, next, published });
            }
            return;
        }
        let id = self.any_id();
        let path = format!("/v2/resources/notes/{id}");
        let Some(resource) = self.model.live.get_mut(&id) else {
            assert_eq!(self.server.patch(&path, &json!({ "attributes": {} })).status, 404);
            return;
        };
        if self.random.chance(30) {
            self.server.patch(&format!("{path}?variant=de"), &json!({ "attributes": { "title": title } })).expect(200);
            resource.german = Some(title);
            return;
        }
        let reply = self.server.patch(&path, &json!({ "attributes": attributes }));
        let is_free = holder.is_none_or(|holder| holder == id);
        assert_eq!(reply.status, if is_free { 200 } else { 422 }, "{}", reply.text);
        if is_free {
            (resource.title, resource.slug, resource.next) = (title, slug, next);
        }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..=7 => self.write(),
            8..=10 => {
                let id = self.any_id();
                let expected = if self.model.live.contains_key(&id) { 204 } else { 404 };
                assert_eq!(self.server.delete(&format!("/v2/resources/notes/{id}")).status, expected);
                self.model.delete(&[id]);
            }
            11 => {
                let mut ids: Vec<String> = (0..4).map(|_| self.any_id()).collect();
                ids.sort();
                ids.dedup();
                self.server.send("DELETE", "/v2/resources/notes/bulk", Some(&json!({ "ids": ids })));
                self.model.delete(&ids);
            }
            12..=15 => {
                let (id, as_draft) = (self.any_id(), self.random.chance(30));
                let reply = self.server.post(&format!("/v2/trash/{id}/restore"), &json!({ "as_draft": as_draft }));
                assert_eq!(reply.status, self.model.restore(&id, as_draft), "{}", reply.text);
            }
            16 => {
                let id = self.any_id();
                assert_eq!(self.server.delete(&format!("/v2/trash/{id}")).status, self.model.purge(&id));
            }
            17 if self.random.chance(30) => self.server.kill_and_restart(),
            17 if self.random.chance(30) => self.server.restart_without_index(),
            _ => {}
        }
    }

    /// Compares everything that readers see with the model.
    fn compare(&self) {
        let expected = |is_seen: &dyn Fn(&Resource) -> bool| -> BTreeMap<String, Value> {
            let seen = self.model.live.iter().filter(|(_, resource)| is_seen(resource));
            let shown =
                |resource: &Resource| json!({ "title": resource.title, "slug": resource.slug, "next": resource.next });
            seen.map(|(id, resource)| (id.clone(), shown(resource))).collect()
        };
        let listed = |token: &str, query: &str| -> BTreeMap<String, Value> {
            let lines = self.server.as_token(token).get(&format!("/v2/resources/notes/export?format=ndjson{query}"));
            let lines = lines.expect(200).lines().into_iter();
            lines.map(|line| (line["id"].as_str().unwrap().to_owned(), line["attributes"].clone())).collect()
        };
        let admin = self.server.secret();
        assert_eq!(listed(admin, ""), expected(&|_| true));
        assert_eq!(listed(&self.view, ""), expected(&|resource| resource.published));
        for slug in 0..8 {
            let slug = Some(format!("s{slug}"));
            let found = listed(admin, &format!("&filter[slug]={}", slug.as_deref().unwrap()));
            assert_eq!(found, expected(&|resource| resource.slug == slug));
        }
        let german = listed(admin, "&variant=de&filter[title][null]=false");
        let german: BTreeMap<&String, &Value> = german.iter().map(|(id, values)| (id, &values["title"])).collect();
        let translated = self.model.live.iter().filter_map(|(id, one)| Some((id, json!(one.german.as_ref()?))));
        let translated: Vec<(&String, Value)> = translated.collect();
        assert_eq!(german, translated.iter().map(|(id, title)| (*id, title)).collect());

        let page = self.server.get("/v2/trash?per_page=100").expect(200).json();
        assert_eq!(page["meta"]["total"], self.model.trash.len());
        let shown = |entry: &Value| (entry["id"].clone(), entry["title"].clone(), entry["referrers"].clone());
        let shown: Vec<_> = page["data"].as_array().unwrap().iter().map(shown).collect();
        let entry = |(id, resource, referrers): &(String, Resource, usize)| {
            let referrers = match referrers {
                0 => json!([]),
                total => json!([{ "blueprint": "notes", "field": "next", "total": total }]),
            };
            (json!(id), json!(resource.title), referrers)
        };
        let mut entries: Vec<_> = self.model.trash.iter().rev().map(entry).take(100).collect();
        // Resources that one request deleted have the same time; their order is that of their ids.
        let times: BTreeMap<String, String> = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["id"].to_string(), entry["deleted_at"].as_str().unwrap().to_owned()))
            .collect();
        entries.sort_by(|one, other| {
            let key = |entry: &(Value, Value, Value)| (times[&entry.0.to_string()].clone(), entry.0.to_string());
            key(other).cmp(&key(one))
        });
        assert_eq!(shown, entries);
    }
}

#[test]
fn random_histories_have_the_resources_and_the_trash_that_a_naive_model_has() {
    for seed in 0..4 {
        let mut history = History::new(seed);
        for step in 0..STEPS {
            history.step();
            if step % 5 == 0 {
                history.compare();
            }
        }
        history.compare();
    }
}
