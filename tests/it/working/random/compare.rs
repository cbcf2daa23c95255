//! Compares what the server answers with what the naive model says.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::model::{BLUEPRINTS, FIELDS, Note, SEE, Trashed, VARIANTS, Values};
use super::{KEEP, WORDS, World};
use crate::support::{Client, Server};

/// Returns the number of the last change.
pub(super) fn last_change(server: &Server) -> u64 {
    server.get("/v2/changes?since=now").header("x-last-change").unwrap().parse().unwrap()
}

/// A reader, and the copies that it reads.
struct Reader<'a> {
    client: Client<'a>,
    /// The positions of the blueprints that it sees.
    kinds: Vec<usize>,
    sees_drafts: bool,
    is_working: bool,
}

impl Reader<'_> {
    fn sees(&self, note: &Note) -> bool {
        self.kinds.contains(&note.kind) && (self.sees_drafts || note.is_published)
    }

    /// Returns the resource that a value of the relation names, if the reader sees it.
    fn target<'n>(&self, world: &'n World, value: &Value) -> Option<&'n Note> {
        world.notes.iter().find(|note| *value == note.id && self.sees(note))
    }
}

/// Compares everything, for readers of live and of working copies, of both blueprints and of one.
pub(super) fn compare(world: &World, since: u64, seed: u64) {
    let reader = |secret: &str, kinds: &[usize], sees_drafts: bool, is_working: bool| Reader {
        client: world.server.as_token(secret),
        kinds: kinds.to_vec(),
        sees_drafts,
        is_working,
    };
    let readers = [
        reader(&world.viewer, &[0, 1], false, false),
        reader(world.server.secret(), &[0, 1], true, false),
        reader(world.server.secret(), &[0, 1], true, true),
        reader(&world.limited[0], &[0], true, false),
        reader(&world.limited[0], &[0], true, true),
        reader(&world.limited[1], &[1], true, true),
    ];
    for (variant, slug) in VARIANTS.iter().enumerate() {
        for reader in &readers {
            let copy = if reader.is_working { "copy=working" } else { "copy=live" };
            let query = format!("{copy}&variant={slug}");
            if variant == 0 {
                compare_everywhere(world, reader, copy);
            }
            for (kind, blueprint) in BLUEPRINTS.iter().enumerate() {
                let base = format!("/v2/resources/{blueprint}?{query}");
                if !reader.kinds.contains(&kind) {
                    assert_eq!(reader.client.get(&base).status, 404, "{base}");
                    continue;
                }
                let seen = world.notes.iter().filter(|note| note.kind == kind && reader.sees(note));
                let notes: Vec<(&Note, Values)> =
                    seen.map(|note| (note, note.copies[variant].shown(reader.is_working))).collect();
                compare_relations(world, reader, &base, variant, &notes);
                // The rest does not depend on what else the reader sees.
                if reader.kinds.len() == 2 {
                    compare_lists(&reader.client, &base, &notes);
                }
                if reader.is_working {
                    compare_copies(&reader.client, &base, variant, &notes);
                }
            }
        }
        let admin = world.server.as_token(world.server.secret());
        world.notes.iter().for_each(|note| compare_revisions(&admin, note, variant, seed));
    }
    for reader in readers.iter().filter(|reader| reader.sees_drafts && !reader.is_working || reader.kinds == [1]) {
        compare_trash(world, reader, seed);
        compare_feed(world, reader, since, seed);
        compare_hidden(world, reader);
    }
}

/// Compares the change feed.
fn compare_feed(world: &World, reader: &Reader<'_>, since: u64, seed: u64) {
    let changes = reader.client.get(&format!("/v2/changes?since={since}")).expect(200).lines();
    let seen = world.feed.iter().filter(|(_, _, kind)| reader.kinds.contains(kind));
    let expected: Vec<(&str, &str)> = seen.map(|(op, id, _)| (*op, id.as_str())).collect();
    let changes = changes.iter().map(|change| (change["op"].as_str().unwrap(), change["id"].as_str().unwrap()));
    // The resources of the history before this one are still being deleted.
    let changes: Vec<_> = changes.filter(|(_, id)| world.feed.iter().any(|(_, known, _)| known == id)).collect();
    assert_eq!(changes, expected, "the feed of {:?}, seed {seed}", reader.kinds);
}

/// Compares the trash.
fn compare_trash(world: &World, reader: &Reader<'_>, seed: u64) {
    let answer = reader.client.get("/v2/trash?per_page=100").expect(200).json();
    let deleted_at = |id: &str| {
        let entry = answer["data"].as_array().unwrap().iter().find(|entry| entry["id"] == id);
        entry.unwrap_or_else(|| panic!("{id} is not in the trash of {:?}, seed {seed}", reader.kinds))["deleted_at"]
            .as_str()
            .unwrap()
    };
    let mut seen: Vec<&Trashed> =
        world.trash.iter().rev().filter(|one| reader.kinds.contains(&one.note.kind)).collect();
    assert!(seen.is_sorted_by_key(|one| Reverse(deleted_at(&one.note.id))), "the newest is not the first, seed {seed}");
    // Equal dates, of deletions in the same millisecond, are in the order of the ids, the greatest first.
    seen.sort_by_key(|one| Reverse((deleted_at(&one.note.id), one.note.id.clone())));
    let expected: Vec<Value> = seen
        .into_iter()
        .map(|one| {
            let Note { id, kind, copies, .. } = &one.note;
            let other = 1 - kind;
            let referrers = json!([{ "blueprint": BLUEPRINTS[other], "field": "see", "total": one.referrers }]);
            let is_shown = one.referrers > 0 && reader.kinds.contains(&other);
            let referrers = if is_shown { referrers } else { json!([]) };
            json!([id, BLUEPRINTS[*kind], copies[0].live[0], referrers])
        })
        .collect();
    let entries = answer["data"].as_array().unwrap().iter();
    let listed: Vec<Value> =
        entries.map(|one| json!([one["id"], one["blueprint"], one["title"], one["referrers"]])).collect();
    assert_eq!(json!(listed), json!(expected), "the trash of {:?}, seed {seed}", reader.kinds);
    assert_eq!(answer["meta"]["total"], json!(expected.len()));
}

/// Compares what a reader of one blueprint is answered about resources of both: all of its own, and nothing of others.
fn compare_hidden(world: &World, reader: &Reader<'_>) {
    let admin = world.server.as_token(world.server.secret());
    for note in &world.notes {
        for rest in ["/history", "/history/1", "/referrers", "?copy=working", "/neighbors"] {
            let url = format!("{}{rest}", note.path());
            let reply = reader.client.get(&url);
            if !reader.kinds.contains(&note.kind) {
                assert_eq!(reply.outcome(), "404 NOT_FOUND", "{url}");
            } else if rest == "/referrers" {
                let refer = world.notes.iter().filter(|other| reader.sees(other) && other.refers_to(&note.id)).count();
                let told = reply.expect(200).data();
                let total: u64 = told.as_array().unwrap().iter().map(|one| one["total"].as_u64().unwrap()).sum();
                assert_eq!(total, refer as u64, "{url}: {told}");
            } else {
                assert_eq!((reply.status, &reply.text), (admin.get(&url).status, &admin.get(&url).text), "{url}");
            }
        }
    }
}

/// Compares the search over all blueprints, which is over the default variant.
fn compare_everywhere(world: &World, reader: &Reader<'_>, copy: &str) {
    for word in WORDS.iter().filter(|word| !word.contains(' ') && word.len() > 1) {
        let sent = word.replace('Ä', "%C3%84");
        let url = format!("/v2/search?q={sent}&typos=false&per_page=100&{copy}");
        let answer = reader.client.get(&url).expect(200).json();
        let has_title = |note: &&Note| reader.sees(note) && note.copies[0].shown(reader.is_working)[0] == *word;
        let mut expected: Vec<(&str, &str)> =
            world.notes.iter().filter(has_title).map(|note| (note.id.as_str(), BLUEPRINTS[note.kind])).collect();
        let mut found: Vec<(&str, &str)> = answer["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let blueprint = &one["relationships"]["blueprint"]["data"]["id"];
                (one["id"].as_str().unwrap(), blueprint.as_str().unwrap_or_default())
            })
            .collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{url} for {:?}", reader.kinds);
        assert_eq!(answer["meta"]["total"], json!(expected.len()), "{url} for {:?}", reader.kinds);
    }
}

/// Compares what a reader sees by the relation.
fn compare_relations(world: &World, reader: &Reader<'_>, base: &str, variant: usize, notes: &[(&Note, Values)]) {
    let list = |rest: &str| reader.client.get(&format!("{base}&per_page=100&{rest}"));
    let compare = |rest: &str, holds: &dyn Fn(&Values) -> bool| {
        let expected: Vec<&str> =
            notes.iter().filter(|(_, values)| holds(values)).map(|(note, _)| note.id.as_str()).collect();
        compare_ids(&format!("{base}&{rest} for {:?}", reader.kinds), &list(rest).expect(200).json()["data"], expected);
    };
    for wanted in [true, false] {
        let dangles = |values: &Values| !values[SEE].is_null() && reader.target(world, &values[SEE]).is_none();
        compare(&format!("filter[see][dangling]={wanted}"), &|values| dangles(values) == wanted);
    }
    for target in world.notes.iter().chain(world.trash.iter().map(|one| &one.note)) {
        compare(&format!("filter[see]={}", target.id), &|values| values[SEE] == target.id);
    }
    if reader.kinds.len() < 2 {
        assert_eq!(list("expand=see").outcome(), "422 INVALID_PARAMETER", "{base}");
        assert_eq!(list("filter[see.title]=apple").outcome(), "422 INVALID_FILTER", "{base}");
        return;
    }
    let shown = |target: &Note| target.copies[variant].shown(reader.is_working);
    for word in &WORDS[..3] {
        compare(&format!("filter[see.title]={word}"), &|values| {
            reader.target(world, &values[SEE]).is_some_and(|target| shown(target)[0] == *word)
        });
    }
    let answer = list("expand=see").expect(200).json();
    let mut expected: Vec<&Note> = notes.iter().filter_map(|(_, values)| reader.target(world, &values[SEE])).collect();
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    expected.dedup_by(|a, b| a.id == b.id);
    compare_ids(base, &answer["included"], expected.iter().map(|note| note.id.as_str()).collect());
    for included in answer["included"].as_array().unwrap() {
        let target = expected.iter().find(|note| included["id"] == note.id).unwrap();
        assert_eq!(attributes(included), attributes_of(&shown(target)), "{base}");
    }
}

fn compare_ids(what: &str, data: &Value, mut expected: Vec<&str>) {
    let mut found: Vec<&str> = data.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{what}");
}

/// Returns the attributes of a resource without the field that only some blueprints have.
fn attributes(resource: &Value) -> Value {
    let mut attributes = resource["attributes"].clone();
    attributes.as_object_mut().unwrap().remove("extra");
    attributes
}

fn attributes_of(values: &Values) -> Value {
    FIELDS.iter().map(|field| (*field).to_owned()).zip(values.clone()).collect::<Map<String, Value>>().into()
}

/// Compares the list of revisions and each revision.
fn compare_revisions(client: &Client<'_>, note: &Note, variant: usize, seed: u64) {
    let (history, slug) = (format!("{}/history", note.path()), VARIANTS[variant]);
    let revisions = &note.copies[variant].revisions;
    // A variant that was never written has one empty revision.
    if revisions.is_empty() {
        return;
    }
    let listed = client.get(&format!("{history}?variant={slug}&limit=100")).expect(200).data();
    let shown = |one: &Value| (one["number"].clone(), one["op"].clone(), one["fields"].clone());
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(shown).collect();
    let first = revisions.len().saturating_sub(KEEP);
    let kept = || revisions.iter().enumerate().skip(first);
    let expected = kept().rev().map(|(at, one)| {
        let fields: Vec<&str> = one.fields.iter().map(|field| FIELDS[*field]).collect();
        (json!(at + 1), json!(one.op), json!(fields))
    });
    let sorted = |(number, op, fields): (Value, Value, Value)| {
        let place = |slug: &Value| FIELDS.iter().position(|field| slug == *field);
        let mut fields = fields.as_array().unwrap().clone();
        fields.sort_by_key(place);
        (number, op, json!(fields))
    };
    let listed: Vec<_> = listed.into_iter().map(sorted).collect();
    assert_eq!(listed, expected.collect::<Vec<_>>(), "{} {slug}, seed {seed}", note.id);
    for (at, revision) in kept() {
        let shown = client.get(&format!("{history}/{}?variant={slug}", at + 1)).expect(200).data();
        assert_eq!(attributes(&shown), attributes_of(&revision.values), "{} {slug} {at}, seed {seed}", note.id);
        assert_eq!(shown["published_at"].is_string(), revision.is_published, "{} {slug} {at}", note.id);
    }
}

/// Compares filters, totals, facets, statistics, orders and searches with the naive ones.
fn compare_lists(client: &Client<'_>, query: &str, notes: &[(&Note, Values)]) {
    let list = |rest: &str| client.get(&format!("{query}&per_page=100&{rest}")).expect(200).json();
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
        assert_eq!(attributes(shown), attributes_of(values), "{query}");
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
        let page = client.get(&format!("{query}&per_page=3&sort=-rank&cursor={cursor}"));
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
        let (_, parameters) = query.split_once('?').unwrap();
        let shown = client.get(&format!("{}?{parameters}", note.path())).expect(200).data();
        let copy = &shown["working_copy"];
        assert_eq!(copy.is_object(), !note.copies[variant].working.is_empty(), "{query} {shown}");
        if copy.is_object() {
            assert_eq!(copy["conflicts"], json!(note.copies[variant].conflicts()), "{query} {shown}");
        }
    }
    for wanted in [true, false] {
        let answer = client.get(&format!("{query}&filter[working_copy]={wanted}")).expect(200).json();
        let expected = notes.iter().filter(|(note, _)| note.copies[variant].working.is_empty() != wanted).count();
        assert_eq!(answer["meta"]["total"], json!(expected), "{query} {wanted}");
    }
}
