//! Random histories of writes of live and working copies, compared with a naive model for readers of both. The server is killed
//! and its index removed between the steps.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::path;
use crate::oracle::random::Random;
use crate::support::{Client, Server};

/// The number of steps.
const STEPS: usize = 260;
const VARIANTS: [&str; 2] = ["en", "de"];
const WORDS: [&str; 6] = ["apple", "berry", "cherry", "Äpfel", "date tree", "e"];

/// The values of a copy: title, rank, tags.
type Values = [Value; 3];

const FIELDS: [&str; 3] = ["title", "rank", "tags"];
const NULLS: Values = [Value::Null, Value::Null, Value::Null];

/// A resource of the model.
struct Note {
    id: String,
    is_published: bool,
    live: [Values; 2],
    /// For each variant, the changed fields: the value, and the live value when it was changed first.
    working: [BTreeMap<usize, (Value, Value)>; 2],
}

impl Note {
    /// Returns the values that a reader sees.
    fn shown(&self, variant: usize, is_working: bool) -> Values {
        let mut values = self.live[variant].clone();
        for (field, (value, _)) in self.working[variant].iter().filter(|_| is_working) {
            values[*field] = value.clone();
        }
        values
    }

    fn conflicts(&self, variant: usize) -> Vec<&'static str> {
        let is_conflict = |(field, (value, base)): &(&usize, &(Value, Value))| {
            let live = &self.live[variant][**field];
            live != base && live != value
        };
        self.working[variant].iter().filter(is_conflict).map(|(field, _)| FIELDS[*field]).collect()
    }

    fn write_working(&mut self, variant: usize, field: usize, value: Value) {
        let live = self.live[variant][field].clone();
        let working = &mut self.working[variant];
        if value == live {
            working.remove(&field);
        } else {
            working.entry(field).or_insert((Value::Null, live)).0 = value;
        }
    }

    fn publish(&mut self, variants: &[usize]) {
        self.is_published = true;
        for variant in variants {
            self.live[*variant] = self.shown(*variant, true);
            self.working[*variant].clear();
        }
    }
}

struct World {
    server: Server,
    viewer: String,
    notes: Vec<Note>,
    random: Random,
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

    fn create(&mut self) {
        let values = [self.value(0), self.value(1), self.value(2)];
        let attributes: Map<String, Value> =
            FIELDS.iter().map(|field| (*field).to_owned()).zip(values.clone()).collect();
        let is_published = self.random.chance(70);
        let date = is_published.then_some("2026-01-01T00:00:00Z");
        let body = json!({ "attributes": attributes, "published_at": date });
        let id = self.server.post("/v2/resources/notes", &body).expect(201).data()["id"].as_str().unwrap().to_owned();
        let working = [BTreeMap::new(), BTreeMap::new()];
        self.notes.push(Note { id, is_published, live: [values, NULLS], working });
    }

    fn step(&mut self) {
        let at = self.random.below(self.notes.len());
        let (variant, field) = (self.random.below(2), self.random.below(3));
        let url = path(&self.notes[at].id);
        let of_variant = format!("variant={}", VARIANTS[variant]);
        match self.random.below(20) {
            0 | 1 if self.notes.len() < 14 => self.create(),
            0..=3 => {
                let value = self.value(field);
                let body = json!({ "attributes": { FIELDS[field]: value } });
                self.server.patch(&format!("{url}?{of_variant}"), &body).expect(200);
                self.notes[at].live[variant][field] = value;
            }
            4..=10 => {
                let value = self.value(field);
                let body = json!({ "attributes": { FIELDS[field]: value } });
                self.server.patch(&format!("{url}?copy=working&{of_variant}"), &body).expect(200);
                let note = &mut self.notes[at];
                match note.is_published || !note.working[variant].is_empty() {
                    true => note.write_working(variant, field, value),
                    false => note.live[variant][field] = value,
                }
            }
            11 => {
                let reply = self.server.delete(&format!("{url}?copy=working&{of_variant}"));
                let expected = if self.notes[at].working[variant].is_empty() { 404 } else { 204 };
                assert_eq!(reply.status, expected, "{}", reply.text);
                self.notes[at].working[variant].clear();
            }
            12..=14 => self.publish(at, variant),
            15 => {
                self.server.patch(&url, &json!({ "published_at": null })).expect(200);
                self.notes[at].is_published = false;
            }
            16 if self.notes.len() > 3 => {
                self.server.delete(&url).expect(204);
                let note = self.notes.swap_remove(at);
                if self.random.chance(60) {
                    self.server.post(&format!("/v2/trash/{}/restore", note.id), &json!({})).expect(200);
                    self.notes.push(note);
                }
            }
            17 if self.random.chance(20) => self.server.kill_and_restart(),
            18 if self.random.chance(10) => {
                assert!(self.server.terminate().success());
                std::fs::remove_dir_all(self.server.folder().join("index")).unwrap();
                self.server.restart();
            }
            _ => {}
        }
    }

    fn publish(&mut self, at: usize, variant: usize) {
        let note = &mut self.notes[at];
        let (is_one, is_forced) = (self.random.chance(40), self.random.chance(40));
        let having: Vec<usize> = (0..2).filter(|variant| !note.working[*variant].is_empty()).collect();
        let chosen = if is_one { vec![variant] } else { having.clone() };
        let variants = if is_one { json!([VARIANTS[variant]]) } else { Value::Null };
        let reply = self
            .server
            .post(&format!("{}/publish", path(&note.id)), &json!({ "variants": variants, "force": is_forced }));
        let is_missing = match is_one {
            true => !having.contains(&variant),
            false => having.is_empty() && note.is_published,
        };
        let mut conflicts: Vec<&str> = chosen.iter().flat_map(|variant| note.conflicts(*variant)).collect();
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
                note.publish(&chosen);
            }
        }
    }

    fn compare(&self) {
        let admin = self.server.as_token(self.server.secret());
        let viewer = self.server.as_token(&self.viewer);
        for (variant, slug) in VARIANTS.iter().enumerate() {
            for (client, is_working, sees_drafts) in
                [(&viewer, false, false), (&admin, false, true), (&admin, true, true)]
            {
                let copy = if is_working { "copy=working" } else { "copy=live" };
                let query = format!("{copy}&variant={slug}");
                let notes: Vec<(&Note, Values)> = self
                    .notes
                    .iter()
                    .filter(|note| sees_drafts || note.is_published)
                    .map(|note| (note, note.shown(variant, is_working)))
                    .collect();
                compare_lists(client, &query, &notes);
                if is_working {
                    compare_copies(client, &query, variant, &notes);
                }
            }
        }
    }
}

/// Compares filters, totals, facets, statistics, orders and searches with the naive ones.
fn compare_lists(client: &Client<'_>, query: &str, notes: &[(&Note, Values)]) {
    let list = |rest: &str| client.get(&format!("/v2/resources/notes?{query}&per_page=100&{rest}")).expect(200).json();
    let ids = |answer: &Value| -> Vec<String> {
        answer["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let sorted = |mut ids: Vec<String>| {
        ids.sort_unstable();
        ids
    };
    let matching = |holds: &dyn Fn(&Values) -> bool| {
        sorted(notes.iter().filter(|(_, values)| holds(values)).map(|(note, _)| note.id.clone()).collect())
    };
    let all = list("facets=title,rank,tags&stats=rank");
    assert_eq!(sorted(ids(&all)), matching(&|_| true), "{query}");
    for shown in all["data"].as_array().unwrap() {
        let (_, values) = notes.iter().find(|(note, _)| shown["id"] == *note.id).unwrap();
        let expected: Map<String, Value> = FIELDS.iter().map(|field| (*field).to_owned()).zip(values.clone()).collect();
        assert_eq!(shown["attributes"], Value::Object(expected), "{query}");
    }
    let ranks: Vec<i64> = notes.iter().filter_map(|(_, values)| values[1].as_i64()).collect();
    assert_eq!(all["meta"]["stats"]["rank"]["sum"], json!(ranks.iter().sum::<i64>()), "{query}");
    assert_eq!(all["meta"]["facets"]["rank"]["null"], json!(notes.len() - ranks.len()), "{query}");
    let mut titles: BTreeMap<&str, u64> = BTreeMap::new();
    notes.iter().filter_map(|(_, values)| values[0].as_str()).for_each(|title| *titles.entry(title).or_default() += 1);
    for counted in all["meta"]["facets"]["title"]["values"].as_array().unwrap() {
        assert_eq!(counted["count"], json!(titles.remove(counted["value"].as_str().unwrap())), "{query}");
    }
    assert!(titles.is_empty(), "{query}: {titles:?}");
    for word in WORDS {
        let sent = word.replace(' ', "%20").replace('Ä', "%C3%84");
        let has_title = |values: &Values| values[0] == word;
        assert_eq!(sorted(ids(&list(&format!("filter[title]={sent}")))), matching(&has_title), "{query} {word}");
        let contains = |values: &Values| {
            values[0].as_str().is_some_and(|title| title.to_lowercase().contains(&word.to_lowercase()))
        };
        assert_eq!(sorted(ids(&list(&format!("search={sent}")))), matching(&contains), "{query} {word}");
        let has_tag = |values: &Values| values[2].as_array().is_some_and(|tags| tags.iter().any(|tag| tag == word));
        assert_eq!(sorted(ids(&list(&format!("filter[tags][has]={sent}")))), matching(&has_tag), "{query} {word}");
        if !word.contains(' ') && word.len() > 1 {
            let found = sorted(ids(&list(&format!("q={sent}&typos=false"))));
            assert_eq!(found, matching(&|values| values[0] == word), "{query} q={word}");
        }
    }
    for rank in 0..4 {
        let answer = list(&format!("filter[rank][gte]={rank}"));
        let expected = matching(&|values| values[1].as_i64().is_some_and(|own| own >= rank)).len();
        assert_eq!(answer["meta"]["total"], json!(expected), "{query} {rank}");
    }
    let by_rank = |(note, values): &(&Note, Values)| {
        let rank = values[1].as_i64();
        (rank.is_none(), std::cmp::Reverse(rank), std::cmp::Reverse(note.id.clone()))
    };
    let mut by_rank: Vec<_> = notes.iter().map(by_rank).collect();
    by_rank.sort_unstable();
    let expected: Vec<String> = by_rank.iter().map(|(_, _, id)| id.0.to_owned()).collect();
    assert_eq!(ids(&list("sort=-rank")), expected, "{query}");
    let (mut walked, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v2/resources/notes?{query}&per_page=3&sort=-rank&cursor={cursor}"));
        let page = page.expect(200).json();
        walked.extend(ids(&page));
        let Some(next) = page["links"]["next"].as_str() else { break };
        cursor = next.split("cursor=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    }
    assert_eq!(walked, expected, "{query}");
}

/// Compares the key `working_copy` and its filter.
fn compare_copies(client: &Client<'_>, query: &str, variant: usize, notes: &[(&Note, Values)]) {
    for (note, _) in notes {
        let shown = client.get(&format!("{}?{query}", path(&note.id))).expect(200).data();
        let copy = &shown["working_copy"];
        assert_eq!(copy.is_object(), !note.working[variant].is_empty(), "{query} {shown}");
        if copy.is_object() {
            assert_eq!(copy["conflicts"], json!(note.conflicts(variant)), "{query} {shown}");
        }
    }
    for wanted in [true, false] {
        let answer =
            client.get(&format!("/v2/resources/notes?{query}&filter[working_copy]={wanted}")).expect(200).json();
        let expected = notes.iter().filter(|(note, _)| note.working[variant].is_empty() != wanted).count();
        assert_eq!(answer["meta"]["total"], json!(expected), "{query} {wanted}");
    }
}

#[test]
fn random_histories_of_both_copies_are_answered_as_a_naive_model_answers_them() {
    for seed in 0..3 {
        let server = Server::start();
        let body = json!({ "name": "Notes", "slug": "notes", "working_copy": true, "trash": { "days": 30 },
            "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
            "fields": [
                { "name": "title", "slug": "title", "type": "text" },
                { "name": "rank", "slug": "rank", "type": "number" },
                { "name": "tags", "slug": "tags", "type": "multi-enum" },
            ] });
        server.post("/v2/blueprints", &body).expect(201);
        let viewer = server.token(&["view"]);
        let mut world = World { server, viewer, notes: Vec::new(), random: Random::new(seed) };
        (0..4).for_each(|_| world.create());
        for step in 0..STEPS {
            world.step();
            if step % 10 == 0 {
                world.compare();
            }
        }
        world.compare();
    }
}
