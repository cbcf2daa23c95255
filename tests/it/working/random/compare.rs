//! Compares what the server answers with what the naive model says.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::model::{FIELDS, Note, VARIANTS, Values};
use super::{KEEP, WORDS, World};
use crate::support::{Client, Server};
use crate::working::path;

/// Returns the number of the last change.
pub(super) fn last_change(server: &Server) -> u64 {
    server.get("/v2/changes?since=now").header("x-last-change").unwrap().parse().unwrap()
}

/// Compares everything, for readers of live and of working copies.
pub(super) fn compare(world: &World, since: u64, seed: u64) {
    let admin = world.server.as_token(world.server.secret());
    let viewer = world.server.as_token(&world.viewer);
    for (variant, slug) in VARIANTS.iter().enumerate() {
        for (client, is_working, sees_drafts) in [(&viewer, false, false), (&admin, false, true), (&admin, true, true)]
        {
            let copy = if is_working { "copy=working" } else { "copy=live" };
            let query = format!("{copy}&variant={slug}");
            let notes: Vec<(&Note, Values)> = world
                .notes
                .iter()
                .filter(|note| sees_drafts || note.is_published)
                .map(|note| (note, note.copies[variant].shown(is_working)))
                .collect();
            compare_lists(client, &query, &notes);
            if is_working {
                compare_copies(client, &query, variant, &notes);
            }
        }
        world.notes.iter().for_each(|note| compare_revisions(&admin, note, variant, seed));
    }
    let changes = admin.get(&format!("/v2/changes?since={since}")).expect(200).lines();
    let expected: Vec<(&str, &str)> = world.feed.iter().map(|(op, id)| (*op, id.as_str())).collect();
    let changes = changes.iter().map(|change| (change["op"].as_str().unwrap(), change["id"].as_str().unwrap()));
    // The resources of the history before this one are still being deleted.
    let changes: Vec<_> = changes.filter(|(_, id)| expected.iter().any(|(_, known)| known == id)).collect();
    assert_eq!(changes, expected, "the feed, seed {seed}");
}

/// Compares the list of revisions and each revision.
fn compare_revisions(client: &Client<'_>, note: &Note, variant: usize, seed: u64) {
    let (history, slug) = (format!("{}/history", path(&note.id)), VARIANTS[variant]);
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
        let mut attributes = shown["attributes"].clone();
        attributes.as_object_mut().unwrap().remove("extra");
        let expected: Map<String, Value> =
            FIELDS.iter().map(|field| (*field).to_owned()).zip(revision.values.clone()).collect();
        assert_eq!(attributes, Value::Object(expected), "{} {slug} {at}, seed {seed}", note.id);
        assert_eq!(shown["published_at"].is_string(), revision.is_published, "{} {slug} {at}", note.id);
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
        let mut attributes = shown["attributes"].clone();
        attributes.as_object_mut().unwrap().remove("extra");
        assert_eq!(attributes, Value::Object(expected), "{query}");
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
        assert_eq!(copy.is_object(), !note.copies[variant].working.is_empty(), "{query} {shown}");
        if copy.is_object() {
            assert_eq!(copy["conflicts"], json!(note.copies[variant].conflicts()), "{query} {shown}");
        }
    }
    for wanted in [true, false] {
        let answer =
            client.get(&format!("/v2/resources/notes?{query}&filter[working_copy]={wanted}")).expect(200).json();
        let expected = notes.iter().filter(|(note, _)| note.copies[variant].working.is_empty() != wanted).count();
        assert_eq!(answer["meta"]["total"], json!(expected), "{query} {wanted}");
    }
}
