//! Random histories of writes of live and working copies, compared with a naive model for readers of both: lists, totals, facets,
//! searches, tags, revisions and the change feed. The server is killed and its index removed between the steps.

mod compare;
mod model;

use serde_json::{Map, Value, json};

use self::compare::compare;
use self::model::{FIELDS, Note, VARIANTS};
use super::path;
use crate::oracle::random::Random;
use crate::support::{Client, Server};

/// The number of histories, unless the variable [`HISTORIES`] has another one.
const DEFAULT_HISTORIES: u64 = 10;
const HISTORIES: &str = "BINDERY_TEST_HISTORIES";
/// The number of steps of a history.
const STEPS: usize = 80;
/// The number of revisions that are kept.
const KEEP: usize = 12;
const WORDS: [&str; 6] = ["apple", "berry", "cherry", "Äpfel", "date tree", "e"];

struct World {
    server: Server,
    /// The secrets of those who write.
    writers: [String; 2],
    viewer: String,
    notes: Vec<Note>,
    /// The change feed since the history began: operations and ids.
    feed: Vec<(&'static str, String)>,
    random: Random,
    has_extra_field: bool,
}

impl World {
    fn value(&mut self, field: usize) -> Value {
        match (field, self.random.below(8)) {
            (1 | 2, 0) => Value::Null,
            (0, _) => json!(WORDS[self.random.below(WORDS.len())]),
            (1, _) => json!(self.random.below(4)),
            (_, _) => {
                let count = self.random.below(3);
                json!((0..count).map(|n| WORDS[(n + count) % WORDS.len()]).collect::<Vec<_>>())
            }
        }
    }

    fn writer(&self, actor: usize) -> Client<'_> {
        self.server.as_token(&self.writers[actor])
    }

    fn note(&mut self, op: &'static str, at: usize) {
        self.feed.push((op, self.notes[at].id.clone()));
    }

    fn create(&mut self, actor: usize) {
        let values = [self.value(0), self.value(1), self.value(2)];
        let attributes: Map<String, Value> =
            FIELDS.iter().map(|field| (*field).to_owned()).zip(values.clone()).collect();
        let is_published = self.random.chance(70);
        let date = is_published.then_some("2026-01-01T00:00:00Z");
        let body = json!({ "attributes": attributes, "published_at": date });
        let reply = self.writer(actor).send("POST", "/v2/resources/notes", Some(&body)).expect(201);
        let id = reply.data()["id"].as_str().unwrap().to_owned();
        self.notes.push(Note::new(id, is_published, values, actor));
        self.note("created", self.notes.len() - 1);
    }

    fn step(&mut self) {
        let at = self.random.below(self.notes.len());
        let (variant, actor) = (self.random.below(2), self.random.below(2));
        match self.random.below(24) {
            0 | 1 if self.notes.len() < 14 => self.create(actor),
            0..=3 => self.write_live(at, variant, actor),
            4..=10 => self.write_working(at, variant, actor),
            11 => self.discard(at, variant),
            12..=14 => self.publish(at, variant, actor),
            15 => {
                self.writer(actor)
                    .send("PATCH", &path(&self.notes[at].id), Some(&json!({ "published_at": null })))
                    .expect(200);
                if self.notes[at].unpublish(actor) {
                    self.note("unpublished", at);
                }
            }
            16 if self.notes.len() > 3 => self.delete(at, actor),
            17..=19 => self.restore_revision(at, variant, actor),
            20 if self.random.chance(30) => self.change_blueprint(),
            21 if self.random.chance(20) => self.server.kill_and_restart(),
            22 if self.random.chance(10) => {
                assert!(self.server.terminate().success());
                std::fs::remove_dir_all(self.server.folder().join("index")).unwrap();
                self.server.restart();
            }
            _ => {}
        }
    }

    fn write_live(&mut self, at: usize, variant: usize, actor: usize) {
        let field = self.random.below(3);
        let value = self.value(field);
        let url = format!("{}?variant={}", path(&self.notes[at].id), VARIANTS[variant]);
        self.writer(actor).send("PATCH", &url, Some(&json!({ "attributes": { FIELDS[field]: value } }))).expect(200);
        let mut values = self.notes[at].copies[variant].live.clone();
        values[field] = value;
        if self.notes[at].write_live(variant, values, "updated", actor) {
            self.note("updated", at);
        }
    }

    fn write_working(&mut self, at: usize, variant: usize, actor: usize) {
        let field = self.random.below(3);
        let value = self.value(field);
        let tags = self.live_tags();
        let url = format!("{}?copy=working&variant={}", path(&self.notes[at].id), VARIANTS[variant]);
        self.writer(actor).send("PATCH", &url, Some(&json!({ "attributes": { FIELDS[field]: value } }))).expect(200);
        self.wrote_working(at, variant, &[(field, value)], "edited", actor, &tags);
    }

    /// Notes a write of the working copy, which is one of the live copy for a draft.
    fn wrote_working(
        &mut self,
        at: usize,
        variant: usize,
        values: &[(usize, Value)],
        op: &'static str,
        actor: usize,
        tags: &[Option<String>],
    ) {
        let note = &mut self.notes[at];
        if note.keeps_working(variant) {
            let is_change = note.write_working(variant, values, op, actor);
            assert_eq!(self.live_tags(), tags, "a write of a working copy changes tags of live answers");
            if is_change {
                self.note("edited", at);
            }
            return;
        }
        let mut all = note.copies[variant].live.clone();
        values.iter().for_each(|(field, value)| all[*field] = value.clone());
        if note.write_live(variant, all, if op == "edited" { "updated" } else { op }, actor) {
            self.note("updated", at);
        }
    }

    fn discard(&mut self, at: usize, variant: usize) {
        let url = format!("{}?copy=working&variant={}", path(&self.notes[at].id), VARIANTS[variant]);
        let reply = self.server.delete(&url);
        let has_one = !self.notes[at].copies[variant].working.is_empty();
        assert_eq!(reply.status, if has_one { 204 } else { 404 }, "{}", reply.text);
        if has_one {
            self.notes[at].discard(variant);
            self.note("edited", at);
        }
    }

    fn delete(&mut self, at: usize, actor: usize) {
        self.writer(actor).send("DELETE", &path(&self.notes[at].id), None).expect(204);
        self.note("deleted", at);
        let mut note = self.notes.swap_remove(at);
        if self.random.chance(60) {
            self.writer(actor).send("POST", &format!("/v2/trash/{}/restore", note.id), Some(&json!({}))).expect(200);
            note.push_to_all("deleted", actor);
            note.push_to_all("restored", actor);
            self.notes.push(note);
            self.note("created", self.notes.len() - 1);
        }
    }

    fn restore_revision(&mut self, at: usize, variant: usize, actor: usize) {
        let n_revisions = self.notes[at].copies[variant].revisions.len();
        if n_revisions == 0 {
            return;
        }
        let number = self.random.within(1, n_revisions + 1);
        let tags = self.live_tags();
        let history = format!("{}/history/{number}/restore?variant={}", path(&self.notes[at].id), VARIANTS[variant]);
        let reply = self.writer(actor).send("POST", &history, Some(&json!({})));
        let is_kept = number <= n_revisions && number + KEEP > n_revisions;
        assert_eq!(reply.status, if is_kept { 200 } else { 404 }, "{number} of {n_revisions}: {}", reply.text);
        if is_kept {
            let values = self.notes[at].copies[variant].revisions[number - 1].values.clone();
            let values: Vec<(usize, Value)> = values.into_iter().enumerate().collect();
            self.wrote_working(at, variant, &values, "restored", actor, &tags);
        }
    }

    fn publish(&mut self, at: usize, variant: usize, actor: usize) {
        let (is_one, is_forced) = (self.random.chance(40), self.random.chance(40));
        let note = &self.notes[at];
        let having: Vec<usize> = (0..2).filter(|variant| !note.copies[*variant].working.is_empty()).collect();
        let chosen = if is_one { vec![variant] } else { having.clone() };
        let variants = if is_one { json!([VARIANTS[variant]]) } else { Value::Null };
        let body = json!({ "variants": variants, "force": is_forced });
        let reply = self.writer(actor).send("POST", &format!("{}/publish", path(&note.id)), Some(&body));
        let is_missing = match is_one {
            true => !having.contains(&variant),
            false => having.is_empty() && note.is_published,
        };
        let mut conflicts: Vec<&str> = chosen.iter().flat_map(|variant| note.copies[*variant].conflicts()).collect();
        conflicts.sort_unstable_by_key(|slug| FIELDS.iter().position(|field| field == slug));
        conflicts.dedup();
        match (is_missing, conflicts.is_empty() || is_forced) {
            (true, _) => assert_eq!(reply.outcome(), "404 NOT_FOUND"),
            (false, false) => {
                assert_eq!(
                    (reply.outcome().as_str(), reply.error_keys()),
                    ("409 CONFLICT", conflicts.iter().map(|slug| (*slug).to_owned()).collect())
                );
            }
            (false, true) => {
                reply.expect(200);
                let op = if note.is_published { "updated" } else { "published" };
                self.notes[at].publish(&chosen, actor);
                self.note(op, at);
            }
        }
    }

    fn change_blueprint(&mut self) {
        self.has_extra_field = !self.has_extra_field;
        self.server.put("/v2/blueprints/notes", &blueprint(self.has_extra_field)).expect(200);
        self.notes.iter_mut().for_each(Note::end_revisions);
    }

    /// Returns the tags of what a reader of live copies sees.
    fn live_tags(&self) -> Vec<Option<String>> {
        let client = self.server.as_token(&self.viewer);
        let urls = ["/v2/resources/notes", "/v2/resources/notes?variant=de&sort=title&facets=tags"];
        urls.iter().map(|url| client.get(url).header("etag").map(str::to_owned)).collect()
    }
}

fn blueprint(has_extra_field: bool) -> Value {
    let mut fields = vec![
        json!({ "name": "title", "slug": "title", "type": "text" }),
        json!({ "name": "rank", "slug": "rank", "type": "number" }),
        json!({ "name": "tags", "slug": "tags", "type": "multi-enum" }),
    ];
    if has_extra_field {
        fields.insert(1, json!({ "name": "extra", "slug": "extra", "type": "text" }));
    }
    json!({ "name": "Notes", "slug": "notes", "working_copy": true, "trash": { "days": 30 },
        "history": { "keep": KEEP, "days": 3650 },
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
        "fields": fields })
}

#[test]
fn random_histories_of_both_copies_are_answered_as_a_naive_model_answers_them() {
    let mut server = Server::start();
    let writer = server.token(&["view", "preview", "create", "update", "delete", "publish"]);
    let (writers, viewer) = ([server.secret().to_owned(), writer], server.token(&["view"]));
    let histories = std::env::var(HISTORIES).map_or(DEFAULT_HISTORIES, |text| text.parse().unwrap());
    for seed in 0..histories {
        server.post("/v2/blueprints", &blueprint(false)).expect(201);
        let (writers, viewer) = (writers.clone(), viewer.clone());
        let since = compare::last_change(&server);
        let random = Random::new(seed);
        let (notes, feed) = (Vec::new(), Vec::new());
        let mut world = World { server, writers, viewer, notes, feed, random, has_extra_field: false };
        (0..4).for_each(|_| world.create(0));
        for step in 1..=STEPS {
            world.step();
            if step % 16 == 0 {
                compare(&world, since, seed);
            }
        }
        server = world.server;
        server.delete("/v2/blueprints/notes?force=true").expect(204);
    }
}
