//! A server with a random blueprint, and random writes to it.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::answer::Table;
use super::app::InProcess;
use super::random::Random;
use super::values::{self, Related, attributes};
use crate::support::TYPES;
use crate::support::{ADMIN, Reply, Server};

/// The slug of the blueprint.
pub(crate) const SLUG: &str = "things";

/// The place where the server runs.
pub(crate) enum Driver {
    InProcess(InProcess),
    /// The binary, and a token that cannot see drafts.
    Binary(Server, String),
}

pub(crate) struct World {
    pub(crate) driver: Driver,
    blueprint: Value,
    related: Related,
    /// The slugs of the blueprints to which relations lead. A blueprint comes before those that refer to it.
    related_slugs: &'static [&'static str],
    /// The ids of all resources.
    known: BTreeSet<String>,
    next_field: usize,
    /// The number of writes that were rejected, of those that were attempted.
    pub(crate) rejected: usize,
    pub(crate) attempted: usize,
}

impl Driver {
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        match self {
            Driver::InProcess(server) => server.send(method, path, body),
            Driver::Binary(server, _) => server.send(method, path, body),
        }
    }

    pub(crate) fn read(&self, path: &str, sees_drafts: bool) -> Reply {
        match self {
            Driver::InProcess(server) => server.read(path, sees_drafts),
            Driver::Binary(server, viewer) => server.as_token(if sees_drafts { ADMIN } else { viewer }).get(path),
        }
    }

    fn import(&self, lines: &[Value]) -> Vec<Value> {
        match self {
            Driver::InProcess(server) => server.import(SLUG, lines),
            Driver::Binary(server, _) => {
                let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
                let headers = [("content-type", "application/x-ndjson")];
                let path = format!("/v2/resources/{SLUG}/import");
                let reply = server.raw("POST", &path, &headers, body.as_bytes()).expect(200);
                reply.lines()
            }
        }
    }
}

impl World {
    pub(crate) fn new(random: &mut Random, driver: Driver) -> World {
        for blueprint in values::related_blueprints() {
            driver.send("POST", "/v2/blueprints", Some(&blueprint)).expect(201);
        }
        let mut related = Related::default();
        for number in 0..6 {
            let body = json!({ "name": "m", "email": format!("m{number}@example.com"), "role": null });
            let member = driver.send("POST", "/v2/members", Some(&body)).expect(201).data();
            related.members.push(member["id"].as_u64().unwrap());
        }
        let mut world = World::of(driver, values::blueprint(random, SLUG), related);
        world.related_slugs = &["owners", "targets"];
        for _ in 0..3 {
            world.create_related(random, "owners");
        }
        for _ in 0..6 {
            world.create_related(random, "targets");
        }
        world
    }

    fn create_related(&mut self, random: &mut Random, slug: &str) {
        let body = json!({ "attributes": values::related_attributes(random, slug, &self.related), "published_at": moment(random) });
        let variant = if slug == "targets" { random.text(&["", "?variant=de", "?variant=en"]) } else { String::new() };
        let reply = self.driver.send("POST", &format!("/v2/resources/{slug}{variant}"), Some(&body)).expect(201);
        self.related.of(slug).push(reply.data()["id"].as_str().unwrap().to_owned());
    }

    /// Changes, publishes or deletes a resource that others relate to.
    fn change_related(&mut self, random: &mut Random) {
        let slug = *random.pick(self.related_slugs);
        let ids = self.related.of(slug);
        if ids.len() < 3 {
            return self.create_related(random, slug);
        }
        let nth = random.below(ids.len());
        let path = format!("/v2/resources/{slug}/{}", ids[nth]);
        let variant =
            if slug == "targets" { random.text(&["", "?variant=de", "?variant=zh-CN"]) } else { String::new() };
        match random.below(5) {
            0 => {
                self.related.of(slug).remove(nth);
                drop(self.driver.send("DELETE", &path, None).expect(204));
            }
            1 | 2 => {
                drop(self.driver.send("PATCH", &path, Some(&json!({ "published_at": moment(random) }))).expect(200))
            }
            _ => {
                let body = json!({ "attributes": values::related_attributes(random, slug, &self.related) });
                drop(self.driver.send("PATCH", &format!("{path}{variant}"), Some(&body)).expect(200));
            }
        }
    }

    /// Makes a world with this blueprint and no resources.
    pub(crate) fn of(driver: Driver, blueprint: Value, related: Related) -> World {
        let next_field = blueprint["fields"].as_array().unwrap().len();
        let blueprint = driver.send("POST", "/v2/blueprints", Some(&blueprint)).expect(201).data();
        World {
            driver,
            blueprint,
            related,
            related_slugs: &[],
            known: BTreeSet::new(),
            next_field,
            rejected: 0,
            attempted: 0,
        }
    }

    /// Imports the given lines.
    pub(crate) fn load(&mut self, lines: &[Value]) {
        for line in self.driver.import(lines) {
            self.attempted += 1;
            match line["id"].as_str() {
                Some(id) => drop(self.known.insert(id.to_owned())),
                None => self.rejected += 1,
            }
        }
    }

    /// Sends a batch of writes of every kind.
    pub(crate) fn write(&mut self, random: &mut Random) {
        if self.known.len() < 30 {
            // There are many writes from time to time, so that large runs, orders and bitmaps are covered, too.
            let count = if random.chance(6) { 500 } else { 40 };
            self.import(random, count);
        }
        for _ in 0..random.within(2, 14) {
            if !self.related_slugs.is_empty() && random.chance(30) {
                self.change_related(random);
            }
            match random.below(16) {
                0..=2 => self.create(random),
                3..=6 => self.change(random, "PATCH"),
                7 => self.change(random, "PUT"),
                8 => self.delete(random),
                9 => self.publish_one(random),
                10 => self.bulk_create(random),
                11 => self.bulk_update(random),
                12 => self.bulk_delete(random),
                13 => self.bulk_publish(random),
                14 => self.import(random, 12),
                _ => self.revise(random),
            }
        }
    }

    /// Returns all resources, from an export. Checks that exactly the acknowledged ones exist.
    pub(crate) fn table(&self, random: &mut Random) -> Table {
        let reply = self.driver.read(&format!("/v2/resources/{SLUG}/export?format=ndjson&all_variants=true"), true);
        let lines: Vec<Value> = reply.expect(200).lines();
        let ids: BTreeSet<String> = lines.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids, self.known, "the export has exactly the acknowledged resources");
        let mut table = Table::new(self.blueprint.clone(), &lines);
        for slug in self.related_slugs {
            let blueprint = self.driver.read(&format!("/v2/blueprints/{slug}"), true).expect(200).data();
            let export = format!("/v2/resources/{slug}/export?format=ndjson&all_variants=true");
            let mut related = Table::new(blueprint, &self.driver.read(&export, true).expect(200).lines());
            related.related = table.related.clone();
            table.related.insert((*slug).to_owned(), Rc::new(related));
        }
        for _ in 0..6.min(lines.len()) {
            let index = random.below(lines.len());
            for variant in table.variants() {
                let id = &table.rows[index].id;
                let got =
                    self.driver.read(&format!("/v2/resources/{SLUG}/{id}?variant={variant}"), true).expect(200).data();
                assert_eq!(got, self.as_read(&table, &lines[index], index, &variant), "get and export agree");
            }
        }
        table
    }

    fn as_read(&self, table: &Table, line: &Value, index: usize, variant: &str) -> Value {
        let mut resource = line.clone();
        let object = resource.as_object_mut().unwrap();
        object.remove("variants");
        object.remove("key");
        object.insert("attributes".to_owned(), table.rows[index].copies[variant].clone());
        resource
    }

    fn send(&mut self, method: &str, path: &str, body: &Value) -> Option<Reply> {
        let body = (method != "DELETE" || path.contains("bulk")).then_some(body);
        let reply = self.driver.send(method, &format!("/v2/resources/{SLUG}{path}"), body);
        self.attempted += 1;
        assert!(reply.status < 300 || reply.status == 422, "{method} {path}: {}", reply.text);
        if reply.status == 422 {
            self.rejected += 1;
            return None;
        }
        Some(reply)
    }

    fn variant(&self, random: &mut Random) -> String {
        let variants = self.blueprint["variants"].as_array().unwrap();
        match variants.is_empty() || random.chance(20) {
            true => String::new(),
            false => format!("?variant={}", random.pick(variants)["slug"].as_str().unwrap()),
        }
    }

    fn some_id(&self, random: &mut Random) -> Option<String> {
        self.known.iter().nth(random.below(self.known.len())).cloned()
    }

    fn some_ids(&self, random: &mut Random) -> Vec<String> {
        let mut ids: Vec<String> = (0..random.within(1, 5)).filter_map(|_| self.some_id(random)).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    fn attributes(&self, random: &mut Random) -> Map<String, Value> {
        attributes(random, &self.blueprint, &self.related)
    }

    fn create(&mut self, random: &mut Random) {
        let body = json!({ "attributes": self.attributes(random), "published_at": moment(random) });
        let variant = self.variant(random);
        if let Some(reply) = self.send("POST", &variant, &body) {
            self.known.insert(reply.data()["id"].as_str().unwrap().to_owned());
        }
    }

    fn change(&mut self, random: &mut Random, method: &str) {
        let Some(id) = self.some_id(random) else { return };
        let mut attributes = self.attributes(random);
        if method == "PATCH" {
            attributes.retain(|_, _| random.chance(30));
        }
        let variant = self.variant(random);
        self.send(method, &format!("/{id}{variant}"), &json!({ "attributes": attributes }));
    }

    fn publish_one(&mut self, random: &mut Random) {
        let Some(id) = self.some_id(random) else { return };
        self.send("PATCH", &format!("/{id}"), &json!({ "published_at": moment(random) }));
    }

    fn delete(&mut self, random: &mut Random) {
        let Some(id) = self.some_id(random) else { return };
        self.send("DELETE", &format!("/{id}"), &Value::Null);
        self.known.remove(&id);
    }

    fn bulk_create(&mut self, random: &mut Random) {
        let items: Vec<Value> = (0..random.within(1, 6))
            .map(|_| json!({ "attributes": self.attributes(random), "published_at": moment(random) }))
            .collect();
        let variant = self.variant(random);
        if let Some(reply) = self.send("POST", &format!("/bulk{variant}"), &json!({ "resources": items })) {
            let created = reply.data()["created"].as_array().unwrap().clone();
            self.known.extend(created.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        }
    }

    fn bulk_update(&mut self, random: &mut Random) {
        let ids = self.some_ids(random);
        let updates: Vec<Value> =
            ids.iter().map(|id| json!({ "id": id, "attributes": self.attributes(random) })).collect();
        let variant = self.variant(random);
        self.send("PATCH", &format!("/bulk{variant}"), &json!({ "updates": updates }));
    }

    fn bulk_delete(&mut self, random: &mut Random) {
        let ids = self.some_ids(random);
        if let Some(reply) = self.send("DELETE", "/bulk", &json!({ "ids": ids })) {
            for item in reply.data()["deleted"].as_array().unwrap() {
                self.known.remove(item["id"].as_str().unwrap());
            }
        }
    }

    fn bulk_publish(&mut self, random: &mut Random) {
        let ids = self.some_ids(random);
        let at = moment(random);
        match (random.below(3), at) {
            (0, _) => drop(self.send("POST", "/bulk-unpublish", &json!({ "ids": ids }))),
            (_, Value::Null) => drop(self.send("POST", "/bulk-publish", &json!({ "ids": ids }))),
            (_, at) => drop(self.send("POST", "/bulk-publish", &json!({ "ids": ids, "published_at": at }))),
        }
    }

    fn import(&mut self, random: &mut Random, count: usize) {
        let variants = self.blueprint["variants"].as_array().unwrap().clone();
        let lines: Vec<Value> = (0..count)
            .map(|_| {
                let mut line = json!({ "key": format!("key {}", random.below(600)), "published_at": moment(random) });
                if random.chance(50) {
                    line["created_at"] =
                        random.text(&["2026-11-20T23:59:59.999Z", "2000-01-01", "1999-12-31T23:59:59.999Z"]).into();
                    line["updated_at"] = random.text(&["2026-11-21", "2026-11-20T12:00:00Z"]).into();
                }
                if variants.is_empty() {
                    line["attributes"] = self.attributes(random).into();
                } else {
                    for variant in &variants {
                        if random.chance(40) {
                            continue;
                        }
                        line["variants"][variant["slug"].as_str().unwrap()] = self.attributes(random).into();
                    }
                }
                line
            })
            .collect();
        self.load(&lines);
    }

    /// Adds a field, removes one, reverses their order, or adds a variant.
    fn revise(&mut self, random: &mut Random) {
        let mut body = self.blueprint.clone();
        let fields = body["fields"].as_array_mut().unwrap();
        match random.below(4) {
            0 if fields.len() > 1 => drop(fields.remove(random.below(fields.len()))),
            1 => fields.reverse(),
            2 if !self.blueprint["variants"].as_array().unwrap().is_empty() => {
                let slug = random.text(&["fr", "pl", "ja"]);
                let variants = body["variants"].as_array_mut().unwrap();
                if !variants.iter().any(|variant| variant["slug"] == slug.as_str()) {
                    variants.push(json!({ "name": slug, "slug": slug, "default": false }));
                }
            }
            _ => {
                fields.push(values::field(self.next_field, random.pick::<&str>(&TYPES)));
                self.next_field += 1;
            }
        }
        let reply = self.driver.send("PUT", &format!("/v2/blueprints/{SLUG}"), Some(&body));
        assert!(reply.status == 200, "{}", reply.text);
        self.blueprint = self.driver.read(&format!("/v2/blueprints/{SLUG}"), true).expect(200).data();
    }
}

/// Returns a `published_at`: near today, at a boundary of the range, or null.
fn moment(random: &mut Random) -> Value {
    let today = chrono::Utc::now().date_naive();
    let day = |days: i64| today + chrono::Duration::days(days);
    match random.below(10) {
        0..=2 => Value::Null,
        3 => format!("{}T00:00:00Z", day(0)).into(),
        4 => format!("{}T23:59:59.999Z", day(0)).into(),
        5 => format!("{}T00:00:00Z", day(1)).into(),
        6 => format!("{}T23:30:00-01:00", day(-1)).into(),
        7 => random
            .text(&["2026-11-20T23:59:59.999Z", "2000-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999Z", "0001-01-01"])
            .into(),
        8 => "2024-02-29T12:00:00.5Z".into(),
        _ => "2026-01-01".into(),
    }
}
