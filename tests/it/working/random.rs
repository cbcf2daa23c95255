//! Random histories of writes of live and working copies of two blueprints that refer to each other, compared with a
//! naive model for readers of both, and of one: lists, totals, facets, searches, relations, tags, revisions, the trash
//! and the change feed. The server is killed and its index removed between the steps.

mod compare;
mod model;

use serde_json::{Map, Value, json};

use self::compare::compare;
use self::model::{BLUEPRINTS, FIELDS, Note, Release, SEE, Trashed, VARIANTS};
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
    /// The secrets of those who see all of one blueprint and nothing of the other one.
    limited: [String; 2],
    notes: Vec<Note>,
    /// The trash, in the order of the deletions.
    trash: Vec<Trashed>,
    /// The change feed since the history began: operations, ids, and positions of blueprints.
    feed: Vec<(&'static str, String, usize)>,
    random: Random,
    has_extra_field: bool,
}

impl World {
    /// Returns a value for a field of a blueprint.
    fn value(&mut self, kind: usize, field: usize) -> Value {
        match (field, self.random.below(8)) {
            (1 | 2, 0) | (SEE, 0..=2) => Value::Null,
            (SEE, _) => {
                let others: Vec<&Note> = self.notes.iter().filter(|note| note.kind != kind).collect();
                if others.is_empty() { Value::Null } else { json!(self.random.pick(&others).id) }
            }
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
        let Note { id, kind, .. } = &self.notes[at];
        self.feed.push((op, id.clone(), *kind));
    }

    fn create(&mut self, actor: usize) {
        let kind = self.random.below(2);
        let values = [0, 1, 2, SEE].map(|field| self.value(kind, field));
        let attributes: Map<String, Value> =
            FIELDS.iter().map(|field| (*field).to_owned()).zip(values.clone()).collect();
        let is_published = self.random.chance(70);
        let date = is_published.then_some("2026-01-01T00:00:00Z");
        let body = json!({ "attributes": attributes, "published_at": date });
        let url = format!("/v2/resources/{}", BLUEPRINTS[kind]);
        let reply = self.writer(actor).send("POST", &url, Some(&body)).expect(201);
        let id = reply.data()["id"].as_str().unwrap().to_owned();
        self.notes.push(Note::new(kind, id, is_published, values, actor));
        self.note("created", self.notes.len() - 1);
    }

    fn step(&mut self) {
        let at = self.random.below(self.notes.len());
        let (variant, actor) = (self.random.below(2), self.random.below(2));
        match self.random.below(25) {
            0 | 1 if self.notes.len() < 14 => self.create(actor),
            0..=3 => self.write_live(at, variant, actor),
            4..=10 => self.write_working(at, variant, actor),
            11 => self.discard(at, variant),
            12..=14 => self.publish(at, variant, actor),
            15 => {
                self.writer(actor)
                    .send("PATCH", &self.notes[at].path(), Some(&json!({ "published_at": null })))
                    .expect(200);
                if self.notes[at].unpublish(actor) {
                    self.note("unpublished", at);
                }
            }
            16 if self.notes.len() > 3 => self.delete(at, actor),
            17..=19 => self.restore_revision(at, variant, actor),
            20 if self.random.chance(30) => self.change_blueprint(),
            21 if self.random.chance(20) => self.server.kill_and_restart(),
            22 if self.random.chance(10) => self.server.restart_without_index(),
            23 => self.empty_trash(actor),
            _ => {}
        }
    }

    /// Returns whether a value of the relation names nothing that exists.
    fn is_missing(&self, value: &Value) -> bool {
        !value.is_null() && self.notes.iter().all(|note| *value != note.id)
    }

    fn write_live(&mut self, at: usize, variant: usize, actor: usize) {
        let field = self.random.below(FIELDS.len());
        let value = self.value(self.notes[at].kind, field);
        let url = format!("{}?variant={}", self.notes[at].path(), VARIANTS[variant]);
        self.writer(actor).send("PATCH", &url, Some(&json!({ "attributes": { FIELDS[field]: value } }))).expect(200);
        let mut values = self.notes[at].copies[variant].live.clone();
        values[field] = value;
        if self.notes[at].write_live(variant, values, "updated", actor) {
            self.note("updated", at);
        }
    }

    fn write_working(&mut self, at: usize, variant: usize, actor: usize) {
        let field = self.random.below(FIELDS.len());
        let value = self.value(self.notes[at].kind, field);
        let tags = self.live_tags();
        let url = format!("{}?copy=working&variant={}", self.notes[at].path(), VARIANTS[variant]);
        let body = json!({ "attributes": { FIELDS[field]: value } });
        let reply = self.writer(actor).send("PATCH", &url, Some(&body)).expect(200).json();
        self.wrote_working(at, variant, &[(field, value)], "edited", actor, &tags);
        let see = self.notes[at].copies[variant].working.get(&SEE);
        let is_ready = see.is_none_or(|(value, _)| !self.is_missing(value));
        assert_eq!(reply["meta"]["not_ready"]["see"].is_null(), is_ready, "{reply}");
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
        let url = format!("{}?copy=working&variant={}", self.notes[at].path(), VARIANTS[variant]);
        let reply = self.server.delete(&url);
        let has_one = !self.notes[at].copies[variant].working.is_empty();
        assert_eq!(reply.status, if has_one { 204 } else { 404 }, "{}", reply.text);
        if has_one {
            self.notes[at].discard(variant);
            self.note("edited", at);
        }
    }

    fn delete(&mut self, at: usize, actor: usize) {
        self.writer(actor).send("DELETE", &self.notes[at].path(), None).expect(204);
        let mut note = self.notes.swap_remove(at);
        let referrers = self.notes.iter().filter(|other| other.refers_to(&note.id)).count();
        let mut released: Vec<&mut Note> = self.notes.iter_mut().collect();
        released.sort_by(|a, b| a.id.cmp(&b.id));
        for other in released {
            let op = match other.release(&note.id, actor) {
                Release::Nothing => continue,
                Release::Edited => "edited",
                Release::Updated => "updated",
            };
            self.feed.push((op, other.id.clone(), other.kind));
        }
        self.feed.push(("deleted", note.id.clone(), note.kind));
        note.push_to_all("deleted", actor);
        self.trash.push(Trashed { note, referrers });
        if self.random.chance(40) {
            self.restore(self.trash.len() - 1, actor);
        }
    }

    fn restore(&mut self, at: usize, actor: usize) {
        let mut note = self.trash.remove(at).note;
        self.writer(actor).send("POST", &format!("/v2/trash/{}/restore", note.id), Some(&json!({}))).expect(200);
        note.restore(|value| self.is_missing(value), actor);
        self.notes.push(note);
        self.note("created", self.notes.len() - 1);
    }

    /// Brings a resource back from the trash, or removes it.
    fn empty_trash(&mut self, actor: usize) {
        if self.trash.is_empty() {
            return;
        }
        let at = self.random.below(self.trash.len());
        if self.random.chance(70) {
            self.restore(at, actor);
        } else {
            let gone = self.trash.remove(at).note;
            // A token cannot remove a resource that it does not see.
            let other = self.server.as_token(&self.limited[1 - gone.kind]);
            assert_eq!(other.send("DELETE", &format!("/v2/trash/{}", gone.id), None).status, 404);
            let own = self.server.as_token(&self.limited[gone.kind]);
            own.send("DELETE", &format!("/v2/trash/{}", gone.id), None).expect(204);
        }
    }

    fn restore_revision(&mut self, at: usize, variant: usize, actor: usize) {
        let n_revisions = self.notes[at].copies[variant].revisions.len();
        if n_revisions == 0 {
            return;
        }
        let number = self.random.within(1, n_revisions + 1);
        let tags = self.live_tags();
        let history = format!("{}/history/{number}/restore?variant={}", self.notes[at].path(), VARIANTS[variant]);
        let reply = self.writer(actor).send("POST", &history, Some(&json!({})));
        let is_kept = number <= n_revisions && number + KEEP > n_revisions;
        let values = is_kept.then(|| self.notes[at].copies[variant].revisions[number - 1].values.clone());
        // A working copy may name what does not exist; it cannot be published.
        let is_missing = values.as_ref().is_some_and(|values| self.is_missing(&values[SEE]));
        let expected = match is_kept {
            true if is_missing && !self.notes[at].keeps_working(variant) => 422,
            true => 200,
            false => 404,
        };
        assert_eq!(reply.status, expected, "{number} of {n_revisions}: {}", reply.text);
        if let Some(values) = values.filter(|_| expected == 200) {
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
        let reply = self.writer(actor).send("POST", &format!("{}/publish", note.path()), Some(&body));
        let is_missing = match is_one {
            true => !having.contains(&variant),
            false => having.is_empty() && note.is_published,
        };
        let mut conflicts: Vec<&str> = chosen.iter().flat_map(|variant| note.copies[*variant].conflicts()).collect();
        conflicts.sort_unstable_by_key(|slug| FIELDS.iter().position(|field| field == slug));
        conflicts.dedup();
        let see = chosen.iter().filter_map(|variant| note.copies[*variant].working.get(&SEE));
        let is_dangling = see.into_iter().any(|(value, _)| self.is_missing(value));
        match (is_missing, conflicts.is_empty() || is_forced) {
            (true, _) => assert_eq!(reply.outcome(), "404 NOT_FOUND"),
            (false, true) if is_dangling => {
                let refused = (reply.outcome(), reply.error_keys());
                assert_eq!(refused, ("422 VALIDATION_FAILED".to_owned(), vec!["see".to_owned()]));
            }
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
        self.server.put("/v2/blueprints/notes", &blueprint(0, self.has_extra_field)).expect(200);
        self.notes.iter_mut().filter(|note| note.kind == 0).for_each(Note::end_revisions);
    }

    /// Returns the tags of what a reader of live copies sees.
    fn live_tags(&self) -> Vec<Option<String>> {
        let client = self.server.as_token(&self.viewer);
        let urls = ["/v2/resources/notes", "/v2/resources/people?variant=de&sort=title&facets=tags"];
        urls.iter().map(|url| client.get(url).header("etag").map(str::to_owned)).collect()
    }
}

fn blueprint(kind: usize, has_extra_field: bool) -> Value {
    let see = json!({ "blueprint": BLUEPRINTS[1 - kind], "on_delete": "nullify" });
    let mut fields = vec![
        json!({ "name": "title", "slug": "title", "type": "text" }),
        json!({ "name": "rank", "slug": "rank", "type": "number" }),
        json!({ "name": "tags", "slug": "tags", "type": "multi-enum" }),
        json!({ "name": "see", "slug": "see", "type": "reference", "settings": see }),
    ];
    if has_extra_field {
        fields.insert(1, json!({ "name": "extra", "slug": "extra", "type": "text" }));
    }
    json!({ "name": BLUEPRINTS[kind], "slug": BLUEPRINTS[kind], "record_title": "title", "working_copy": true,
        "trash": { "days": 30 }, "history": { "keep": KEEP, "days": 3650 },
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
        "fields": fields })
}

/// Creates both blueprints. The first one can name the second one only when that exists.
fn create_blueprints(server: &Server) {
    let mut first = blueprint(0, false);
    first["fields"].as_array_mut().unwrap().pop();
    server.post("/v2/blueprints", &first).expect(201);
    server.post("/v2/blueprints", &blueprint(1, false)).expect(201);
    server.put("/v2/blueprints/notes", &blueprint(0, false)).expect(200);
}

/// Deletes both blueprints, which refer to each other.
fn delete_blueprints(server: &Server) {
    for slug in BLUEPRINTS {
        server.delete(&format!("/v2/blueprints/{slug}?force=true")).expect(204);
    }
}

#[test]
fn random_histories_of_both_copies_are_answered_as_a_naive_model_answers_them() {
    let mut server = Server::start();
    let writer = server.token(&["view", "preview", "create", "update", "delete", "publish"]);
    let (writers, viewer) = ([server.secret().to_owned(), writer], server.token(&["view"]));
    let histories = std::env::var(HISTORIES).map_or(DEFAULT_HISTORIES, |text| text.parse().unwrap());
    for seed in 0..histories {
        create_blueprints(&server);
        let limited = BLUEPRINTS.map(|slug| {
            let body = json!({ "name": slug, "abilities": ["view", "preview", "delete"], "blueprints": [slug] });
            server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
        });
        let (writers, viewer) = (writers.clone(), viewer.clone());
        let since = compare::last_change(&server);
        let random = Random::new(seed);
        let (notes, trash, feed) = (Vec::new(), Vec::new(), Vec::new());
        let mut world = World { server, writers, viewer, limited, notes, trash, feed, random, has_extra_field: false };
        (0..5).for_each(|_| world.create(0));
        for step in 1..=STEPS {
            world.step();
            if step % 16 == 0 {
                compare(&world, since, seed);
            }
        }
        server = world.server;
        delete_blueprints(&server);
    }
}
