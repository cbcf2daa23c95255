//! Random sequences of all kinds of writes. Answers and stored data are compared with a naive model of the contract.
//!
//! `BINDERY_MODEL_STEPS=20000` makes a long run, `BINDERY_MODEL_SEED=7` a different one.

mod naive;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use self::naive::{Call, FIELDS, Model, Verdict};
use crate::oracle::random::Random;
use crate::support::{ADMIN, Reply, Server, setting};

const PATH: &str = "/v2/resources/things";
const VARIANTS: [&str; 2] = ["en", "de"];
const MISSING: &str = "01936b9e-0000-7000-8000-000000000000";

/// A server, its model, and the state from which calls are generated.
struct Run {
    server: Server,
    model: Model,
    random: Random,
    editor: String,
    /// The last known entity tag of each resource.
    tags: BTreeMap<String, String>,
    step: usize,
    seed: u64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let server = Server::start();
        let body = json!({
            "name": "Things", "slug": "things",
            "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "German", "slug": "de" }],
            "fields": [
                { "name": "Title", "slug": "title", "type": "text", "required": true },
                { "name": "Code", "slug": "code", "type": "text", "unique": true },
                { "name": "Count", "slug": "count", "type": "number" },
                { "name": "Tags", "slug": "tags", "type": "multi-enum", "settings": { "values": ["a", "b", "c"] } },
                { "name": "Related", "slug": "related", "type": "reference", "settings": { "blueprint": "things" } },
            ],
        });
        server.post("/v2/blueprints", &body).expect(201);
        let editor = server.token(&["preview", "create", "update", "delete"]);
        let random = Random::new(seed);
        Run { server, model: Model::default(), random, editor, tags: BTreeMap::new(), step: 0, seed }
    }

    fn context(&self) -> String {
        format!("seed {}, step {}", self.seed, self.step)
    }

    fn id(&mut self) -> String {
        let ids: Vec<&String> = self.model.things.keys().collect();
        match self.random.below(12) {
            0 => MISSING.to_owned(),
            1 => "nonsense".to_owned(),
            _ if ids.is_empty() => MISSING.to_owned(),
            _ => (*self.random.pick(&ids)).clone(),
        }
    }

    fn value(&mut self, field: &str) -> Value {
        if self.random.chance(12) {
            return Value::Null;
        }
        if self.random.chance(6) {
            return json!({ "not": "valid" });
        }
        match field {
            "title" => json!(self.random.text(&["a", "b", "Çé", "", "long title with words"])),
            "code" => json!(format!("code-{}", self.random.below(12))),
            "count" => json!(self.random.below(5)),
            "tags" => json!(*self.random.pick(&[&["a"][..], &["b", "a"], &[], &["a", "b", "c"], &["a", "a"], &["z"]])),
            _ => json!(self.id()),
        }
    }

    fn attributes(&mut self, percent: usize) -> Value {
        let mut attributes = Map::new();
        for field in FIELDS {
            if self.random.chance(percent) {
                attributes.insert(field.to_owned(), self.value(field));
            }
        }
        if self.random.chance(3) {
            attributes.insert("unknown".to_owned(), json!(1));
        }
        Value::Object(attributes)
    }

    /// Returns the body of a create or an update.
    fn body(&mut self, attributes_percent: usize, date_percent: usize) -> Value {
        let mut body = Map::new();
        if self.random.chance(95) {
            let filled = if attributes_percent > 80 { 75 } else { 35 };
            let attributes = if self.random.chance(2) { json!([1]) } else { self.attributes(filled) };
            body.insert("attributes".to_owned(), attributes);
        }
        if self.random.chance(date_percent) {
            let date = match self.random.below(8) {
                0 | 1 => Value::Null,
                2 => json!("soon"),
                n => json!(format!("2026-0{n}-01T00:00:00.000+00:00")),
            };
            body.insert("published_at".to_owned(), date);
        }
        Value::Object(body)
    }

    fn call(&mut self, is_whole: bool) -> Call {
        let variant = *self.random.pick(&VARIANTS);
        Call { variant, may_publish: self.random.chance(70), is_whole }
    }

    fn send(&self, call: Call, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        let token = if call.may_publish { ADMIN } else { &self.editor };
        let path = match call.variant {
            "en" => path.to_owned(),
            variant => format!("{path}?variant={variant}"),
        };
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.server.as_token(token).raw(method, &path, &all, body.to_string().as_bytes())
    }

    fn step(&mut self) {
        self.step += 1;
        match self.random.below(20) {
            0..=3 => self.create(),
            4..=6 => self.update("PATCH"),
            7..=8 => self.update("PUT"),
            9 => self.delete(),
            10..=12 => self.bulk_create(),
            13..=15 => self.bulk_update(),
            16 => self.bulk_delete(),
            17..=18 => self.bulk_publish(),
            _ => self.bulk_unpublish(),
        }
    }

    fn create(&mut self) {
        let call = self.call(true);
        let body = self.body(95, 40);
        let reply = self.send(call, "POST", PATH, &[], &body);
        let id = if reply.status == 201 { reply.data()["id"].as_str().unwrap().to_owned() } else { String::new() };
        let verdict = self.model.create(call, &body, &id);
        self.check(&reply, 201, &verdict, &body);
        self.check_answer(&reply, call, &verdict);
    }

    fn update(&mut self, method: &str) {
        let call = self.call(method == "PUT");
        let id = self.id();
        let body = self.body(if call.is_whole { 95 } else { 50 }, 30);
        let known = self.tags.get(&id).cloned();
        let stale = self.random.chance(30);
        let tag = if stale { Some("\"1-1\"".to_owned()) } else { known.filter(|_| self.random.chance(30)) };
        let headers: Vec<(&str, &str)> = tag.as_deref().map(|tag| ("if-match", tag)).into_iter().collect();
        let reply = self.send(call, method, &format!("{PATH}/{id}"), &headers, &body);
        let verdict = self.model.update(call, &id, &body, !stale);
        self.check(&reply, 200, &verdict, &body);
        self.check_answer(&reply, call, &verdict);
    }

    fn delete(&mut self) {
        let call = self.call(true);
        let id = self.id();
        let reply = self.send(call, "DELETE", &format!("{PATH}/{id}"), &[], &Value::Null);
        let verdict = self.model.delete(&id);
        self.check(&reply, 204, &verdict, &json!(id));
    }

    fn bulk_create(&mut self) {
        let call = self.call(true);
        let items: Vec<Value> = (0..self.random.within(1, 5)).map(|_| self.body(95, 30)).collect();
        let reply = self.send(call, "POST", &format!("{PATH}/bulk"), &[], &json!({ "resources": items }));
        // The server assigns the ids. If it accepts an item that the model rejects, the indexes differ.
        let ids = ids_by_index(&reply, "created");
        let id = |index: usize| ids.get(&(index as u64)).cloned().unwrap_or_default();
        let verdicts = items.iter().enumerate().map(|(index, body)| self.model.create(call, body, &id(index)));
        let verdicts: Vec<Verdict> = verdicts.collect();
        self.check_bulk(&reply, 201, "created", &verdicts, &json!(items));
    }

    fn bulk_update(&mut self) {
        let call = self.call(false);
        let items: Vec<(String, Value)> =
            (0..self.random.within(1, 5)).map(|_| (self.id(), self.body(50, 20))).collect();
        let updates: Vec<Value> = items
            .iter()
            .map(|(id, body)| {
                let mut update = body.clone();
                update["id"] = json!(id);
                update
            })
            .collect();
        let reply = self.send(call, "PATCH", &format!("{PATH}/bulk"), &[], &json!({ "updates": updates }));
        let verdicts: Vec<Verdict> = items.iter().map(|(id, body)| self.model.update(call, id, body, true)).collect();
        self.check_bulk(&reply, 200, "updated", &verdicts, &json!(updates));
    }

    fn ids(&mut self) -> Vec<String> {
        (0..self.random.within(1, 4)).map(|_| self.id()).collect()
    }

    fn bulk_delete(&mut self) {
        let (call, ids) = (self.call(true), self.ids());
        let reply = self.send(call, "DELETE", &format!("{PATH}/bulk"), &[], &json!({ "ids": ids }));
        let verdicts: Vec<Verdict> = ids.iter().map(|id| self.model.delete(id)).collect();
        self.check_bulk(&reply, 200, "deleted", &verdicts, &json!(ids));
    }

    fn bulk_publish(&mut self) {
        let (call, ids) = (self.call(true), self.ids());
        let date = self.random.chance(50).then_some("2031-01-01T00:00:00.000+00:00");
        let mut body = json!({ "ids": ids });
        if let Some(date) = date {
            body["published_at"] = json!(date);
        }
        let reply = self.send(call, "POST", &format!("{PATH}/bulk-publish"), &[], &body);
        if !call.may_publish {
            assert_eq!((reply.status, reply.code().as_str()), (403, "FORBIDDEN"), "{}", self.context());
            return;
        }
        let verdicts: Vec<Verdict> = ids.iter().map(|id| self.model.publish(id, date)).collect();
        self.check_bulk(&reply, 200, "published", &verdicts, &body);
        for id in ids {
            let Some(thing) = self.model.things.get_mut(&id).filter(|thing| thing.published.as_deref() == Some("now"))
            else {
                continue;
            };
            let answered = self.server.get(&format!("{PATH}/{id}")).expect(200).data();
            thing.published = Some(answered["published_at"].as_str().unwrap().to_owned());
            // All dates have one format, so their texts compare like the dates.
            let is_in_order = answered["published_at"].as_str() <= answered["updated_at"].as_str();
            assert!(is_in_order, "seed {}, step {}: {answered}", self.seed, self.step);
        }
    }

    fn bulk_unpublish(&mut self) {
        let (call, ids) = (self.call(true), self.ids());
        let body = json!({ "ids": ids });
        let reply = self.send(call, "POST", &format!("{PATH}/bulk-unpublish"), &[], &body);
        if !call.may_publish {
            assert_eq!((reply.status, reply.code().as_str()), (403, "FORBIDDEN"), "{}", self.context());
            return;
        }
        let verdicts: Vec<Verdict> = ids.iter().map(|id| self.model.unpublish(id)).collect();
        self.check_bulk(&reply, 200, "unpublished", &verdicts, &body);
    }

    fn check(&self, reply: &Reply, status: u16, verdict: &Verdict, body: &Value) {
        let context = self.context();
        match verdict {
            Ok(_) => assert_eq!(reply.status, status, "{context}: {body} {}", reply.text),
            Err((code, fields)) => {
                assert_eq!(reply.code(), *code, "{context}: {body} {} {fields:?}", reply.text);
                assert_eq!(&error_fields(&reply.json()["errors"]), fields, "{context}: {body} {}", reply.text);
            }
        }
    }

    fn check_bulk(&mut self, reply: &Reply, status: u16, name: &str, verdicts: &[Verdict], body: &Value) {
        let context = self.context();
        self.tags.clear();
        let failed = verdicts.iter().filter(|verdict| verdict.is_err()).count();
        let json = reply.json();
        assert_eq!(reply.status, if failed > 0 { 207 } else { status }, "{context}: {body} {json} {verdicts:?}");
        let succeeded: Vec<Value> = verdicts
            .iter()
            .enumerate()
            .filter_map(|(index, verdict)| verdict.as_ref().ok().map(|id| json!({ "id": id, "index": index })))
            .collect();
        let meta = json!({ "total": verdicts.len(), name: succeeded.len(), "failed": failed });
        assert_eq!((&json["data"][name], &json["meta"]), (&json!(succeeded), &meta), "{context}: {body}");
        let rejected =
            verdicts.iter().enumerate().filter_map(|(index, verdict)| Some((index, verdict.as_ref().err()?)));
        for ((index, (code, fields)), answered) in rejected.zip(json["data"]["failed"].as_array().unwrap()) {
            assert_eq!(
                (&answered["index"], &answered["errors"]["code"]),
                (&json!(index), &json!(code)),
                "{context}: {body}"
            );
            assert_eq!(&error_fields(&answered["errors"]), fields, "{context}: {body}");
        }
    }

    /// Checks that a single write answers with the current resource and entity tag.
    fn check_answer(&mut self, reply: &Reply, call: Call, verdict: &Verdict) {
        let Ok(id) = verdict else { return };
        let read = self.server.get(&format!("{PATH}/{id}?variant={}", call.variant)).expect(200);
        assert_eq!(reply.data(), read.data(), "{}", self.context());
        assert_eq!(reply.header("etag"), read.header("etag"), "{}", self.context());
        self.tags.insert(id.clone(), read.header("etag").unwrap().to_owned());
    }

    /// Compares all stored resources with the model.
    fn compare(&mut self, viewer: &str) {
        let context = self.context();
        self.tags.clear();
        for variant in VARIANTS {
            let mut listed = Vec::new();
            for page in 1.. {
                let address = format!("{PATH}?variant={variant}&sort=id&per_page=100&page={page}");
                let json = self.server.get(&address).expect(200).json();
                assert_eq!(json["meta"]["total"], self.model.things.len(), "{context}");
                listed.extend(json["data"].as_array().unwrap().clone());
                if json["links"]["next"].is_null() {
                    break;
                }
            }
            assert_eq!(listed.len(), self.model.things.len(), "{context}");
            for (item, (id, thing)) in listed.iter().zip(&self.model.things) {
                assert_eq!(item["id"], json!(id), "{context}");
                assert_eq!(item["published_at"], json!(thing.published), "{context} {id}");
                let copy = thing.copies.get(variant).cloned().unwrap_or_else(naive::empty);
                assert_eq!(item["attributes"], Value::Object(copy), "{context} {id} {variant}");
            }
        }
        let published = self.model.things.values().filter(|thing| thing.published.is_some()).count();
        let seen = self.server.as_token(viewer).get(&format!("{PATH}?per_page=1")).expect(200).json();
        assert_eq!(seen["meta"]["total"], published, "{context}");
        for (title, variant) in [("a", "en"), ("b", "de")] {
            let holds = |thing: &&naive::Thing| thing.copies.get(variant).is_some_and(|copy| copy["title"] == title);
            let expected = self.model.things.values().filter(holds).count();
            let address = format!("{PATH}?variant={variant}&filter[title]={title}&per_page=1");
            assert_eq!(self.server.get(&address).expect(200).json()["meta"]["total"], expected, "{context}");
        }
    }
}

/// Returns the keys of `fields` in an error object.
fn error_fields(errors: &Value) -> BTreeSet<String> {
    errors["fields"].as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

fn ids_by_index(reply: &Reply, name: &str) -> BTreeMap<u64, String> {
    let json = reply.json();
    let list = json["data"][name].as_array().cloned().unwrap_or_default();
    list.iter().map(|one| (one["index"].as_u64().unwrap(), one["id"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn random_writes_match_the_model() {
    let steps = setting("BINDERY_MODEL_STEPS", 800) as usize;
    let first_seed = setting("BINDERY_MODEL_SEED", 1);
    for seed in first_seed..first_seed + 2 {
        let mut run = Run::new(seed);
        let viewer = run.server.token(&["view"]);
        for step in 0..steps {
            run.step();
            if step % 20 == 19 {
                run.compare(&viewer);
            }
        }
        assert!(!run.model.things.is_empty(), "some resources are left");
        run.server.kill_and_restart();
        run.compare(&viewer);
    }
}
