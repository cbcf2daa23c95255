//! Repeated reads. The server caches whole answers, and a cached answer must be equal to a new one. Unknown parameters
//! are ignored (`API.md` 4.2.4), but are part of the cache key. So a read with a parameter that was never sent before
//! never gets a cached answer. Both answers must agree, after every kind of change.

use serde_json::{Value, json};

use super::notes;
use crate::oracle::random::Random;
use crate::support::{ADMIN, Client, Failures, Server};

const STEPS: usize = 250;
const LIST: &str = "/v2/resources/notes";

const QUERIES: [&str; 13] = [
    "",
    "?per_page=2&page=2",
    "?sort=title,-count",
    "?filter[count][gte]=3",
    "?filter[published]=false",
    "?search=note",
    "?fields=id,attributes.title",
    "?variant=de&fallback=en",
    "?filter[title][null]=true&variant=de",
    "?filter[topic.name]=a",
    "?filter[$not][topic.name][in]=a,b",
    "?filter[topic][dangling]=true",
    "?filter[count]=3&fallback=en&fallback_mode=all&variant=de&sort=title",
];
const TOPICS: &str = "/v2/resources/topics";

fn blueprint(extra: &[Value]) -> Value {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let topic = json!({ "name": "topic", "slug": "topic", "type": "reference", "settings": { "blueprint": "topics" } });
    let mut fields = vec![field("title", "text"), field("count", "number"), topic];
    fields.extend_from_slice(extra);
    let variant = |slug: &str, is_default| json!({ "name": slug, "slug": slug, "default": is_default });
    json!({ "name": "Notes", "slug": "notes", "fields": fields, "variants": [variant("en", true), variant("de", false)] })
}

/// Reads the parts of an answer that a client uses: status, tag, and the answer without links, which repeat the query
/// string.
fn read(client: &Client<'_>, path: &str) -> (String, Option<String>, Value) {
    let reply = client.get(path);
    let mut body = reply.json();
    body.as_object_mut().unwrap().remove("links");
    (reply.outcome(), reply.header("etag").map(str::to_owned), body)
}

/// Compares each repeated read with the same read under a parameter that was never sent before.
fn compare(failures: &mut Failures, server: &Server, tokens: &[&str], paths: &[String], nth: &mut usize) {
    for token in tokens {
        let client = server.as_token(token);
        for path in paths {
            *nth += 1;
            let unseen = format!("{path}{}unseen{nth}=1", if path.contains('?') { '&' } else { '?' });
            let expected = read(&client, &unseen);
            failures.check_eq(path, read(&client, path), expected.clone());
            failures.check_eq(path, read(&client, path), expected);
        }
    }
}

/// Makes one random change of the resources to which notes relate.
fn change_topic(server: &Server, random: &mut Random, topics: &mut Vec<String>) {
    let (name, published) = (["a", "b", "c"][random.below(3)], [None, Some("2026-01-01")][random.below(2)]);
    let body = json!({ "attributes": { "name": name }, "published_at": published });
    let nth = random.below(topics.len().max(1));
    match (random.below(6), topics.get(nth)) {
        (0, Some(id)) => {
            server.delete(&format!("{TOPICS}/{id}")).expect(204);
            topics.remove(nth);
        }
        (1..=3, Some(id)) => drop(server.patch(&format!("{TOPICS}/{id}"), &body).expect(200)),
        _ => topics.push(server.post(TOPICS, &body).expect(201).data()["id"].as_str().unwrap().to_owned()),
    }
}

/// Makes one random change of the contents that the reads show.
fn change(server: &Server, random: &mut Random, ids: &mut Vec<String>, topics: &mut Vec<String>, step: usize) {
    let mut attributes = json!({ "title": format!("note {}", random.below(4)), "count": random.below(6) });
    if random.chance(30) {
        return change_topic(server, random, topics);
    }
    if let Some(topic) = topics.get(random.below(5)) {
        attributes["topic"] = json!(topic);
    }
    let published = [json!(null), json!("2026-01-01"), json!("2999-01-01")][random.below(3)].clone();
    let nth = random.below(ids.len().max(1));
    let (id, path) = match ids.get(nth) {
        Some(id) => (id.clone(), format!("{LIST}/{id}")),
        None => (String::new(), LIST.to_owned()),
    };
    let variant = ["en", "de"][random.below(2)];
    match random.below(if ids.is_empty() { 2 } else { 12 }) {
        0 | 1 => {
            let body = json!({ "attributes": attributes, "published_at": published });
            let created = server.post(&format!("{LIST}?variant={variant}"), &body).expect(201);
            ids.push(created.data()["id"].as_str().unwrap().to_owned());
        }
        2 | 3 => {
            drop(server.patch(&format!("{path}?variant={variant}"), &json!({ "attributes": attributes })).expect(200))
        }
        4 => drop(server.patch(&path, &json!({ "published_at": published })).expect(200)),
        5 => drop(server.put(&path, &json!({ "attributes": { "title": "replaced" } })).expect(200)),
        6 => drop(server.post(&format!("{LIST}/bulk-publish"), &json!({ "ids": ids })).expect(200)),
        7 => drop(server.post(&format!("{LIST}/bulk-unpublish"), &json!({ "ids": [id] })).expect(200)),
        8 => {
            server.delete(&path).expect(204);
            ids.remove(nth);
        }
        9 => {
            let line = json!({ "key": "imported", "published_at": "2026-01-02", "variants": { variant: attributes } });
            let headers = [("content-type", "application/x-ndjson")];
            server.raw("POST", &format!("{LIST}/import"), &headers, format!("{line}\n").as_bytes()).expect(200);
        }
        10 => {
            let more = json!({ "name": "More", "slug": format!("more-{step}"), "type": "text" });
            server.put("/v2/blueprints/notes", &blueprint(&[more])).expect(200);
        }
        _ => {
            server.delete("/v2/blueprints/notes?force=true").expect(204);
            server.post("/v2/blueprints", &blueprint(&[])).expect(201);
            ids.clear();
        }
    }
}

#[test]
fn a_repeated_read_shows_what_a_first_one_would_show() {
    let server = Server::start();
    server.blueprint("topics", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    server.post("/v2/blueprints", &blueprint(&[])).expect(201);
    let (view, preview) = (server.token(&["view"]), server.token(&["preview"]));
    server.blueprint("other", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let limited = |blueprint: &str| {
        let body = json!({ "name": blueprint, "abilities": ["preview"], "blueprints": [blueprint] });
        server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
    };
    let (other, notes) = (limited("other"), limited("notes"));
    let tokens = [view.as_str(), preview.as_str(), other.as_str(), notes.as_str(), "unknown"];
    let (mut failures, mut random, mut nth) = (Failures::default(), Random::new(11), 0);
    let (mut ids, mut topics) = (Vec::new(), Vec::new());
    for step in 0..STEPS {
        change(&server, &mut random, &mut ids, &mut topics, step);
        let mut paths: Vec<String> =
            (0..3).map(|_| format!("{LIST}{}", QUERIES[random.below(QUERIES.len())])).collect();
        if let Some(id) = ids.get(random.below(ids.len().max(1))) {
            let query = ["", "?variant=de&fallback=en", "?fields=attributes", "?variant=nope"][random.below(4)];
            paths.push(format!("{LIST}/{id}{query}"));
        }
        compare(&mut failures, &server, &tokens, &paths, &mut nth);
    }
    failures.assert_none();
}

#[test]
fn repeated_reads_follow_tokens_that_are_revoked_and_blueprints_that_are_deleted() {
    let server = Server::start();
    let id = notes(&server, 2).remove(0);
    let paths = [LIST.to_owned(), format!("{LIST}/{id}")];
    let token = json!({ "name": "reader", "abilities": ["view"] });
    let token = server.post("/v2/tokens", &token).expect(201).data();
    let reader = server.as_token(token["secret"].as_str().unwrap());
    let outcomes = || [reader.get(&paths[0]).outcome(), reader.get(&paths[1]).outcome()];
    assert_eq!((outcomes(), outcomes()), (["200", "200"].map(str::to_owned), ["200", "200"].map(str::to_owned)));
    server.delete("/v2/blueprints/notes?force=true").expect(204);
    assert_eq!(outcomes(), ["404 NOT_FOUND", "404 NOT_FOUND"].map(str::to_owned));
    server.delete(&format!("/v2/tokens/{}", token["id"].as_str().unwrap())).expect(204);
    assert_eq!(outcomes(), ["401 UNAUTHENTICATED", "401 UNAUTHENTICATED"].map(str::to_owned));
}

#[test]
fn a_repeated_list_has_the_links_of_its_own_host_and_query() {
    let server = Server::start();
    notes(&server, 3);
    for _ in 0..3 {
        for host in ["a.example", "b.example:81"] {
            for query in ["per_page=1", "per_page=1&", "per_page=1&x=1", "per_page=01"] {
                let answer = super::raw_host(&server, &format!("{LIST}?{query}"), host);
                let kept = query.trim_end_matches('&');
                let next = format!("\"next\":\"http://{host}{LIST}?{kept}&page=2\"");
                assert!(answer.contains(&next), "{next} in {answer}");
            }
        }
    }
}

#[test]
fn a_tag_makes_answers_conditional_that_were_never_asked_for_if_they_are_the_same() {
    let server = Server::start();
    let id = notes(&server, 3).remove(0);
    let tag = |path: &str| server.get(path).expect(200).header("etag").unwrap().to_owned();
    let (list, one) = (tag(LIST), tag(&format!("{LIST}/{id}")));
    let with = |path: &str, tag: &str| server.raw("GET", path, &[("if-none-match", tag)], b"");
    for (path, tag, outcome) in [
        (format!("{LIST}?sort=-created_at"), &list, "304"),
        (format!("{LIST}?sort=title"), &list, "200"),
        (format!("{LIST}?sort=nothing"), &list, "422 INVALID_SORT"),
        (format!("{LIST}?page=0"), &list, "422 INVALID_PARAMETER"),
        (format!("{LIST}/{id}?fields=id"), &one, "304"),
        (format!("{LIST}/{id}?fields=nothing"), &one, "422 INVALID_PARAMETER"),
        (format!("{LIST}/{id}?fields=id"), &list, "200"),
        (format!("{LIST}?sort=count"), &one, "200"),
    ] {
        for _ in 0..2 {
            let reply = with(&path, tag);
            assert_eq!(reply.outcome(), outcome, "{path}");
            assert_eq!(reply.status == 304, reply.text.is_empty(), "{path}");
        }
    }
    // A draft is 404 for a token that cannot see it, even if others read it often.
    let draft = server.post(LIST, &json!({ "attributes": { "title": "draft" } })).expect(201);
    let draft = format!("{LIST}/{}", draft.data()["id"].as_str().unwrap());
    let view = server.token(&["view"]);
    for _ in 0..2 {
        let seen = server.as_token(ADMIN).get(&draft).expect(200);
        let tag = seen.header("etag").unwrap().to_owned();
        server.as_token(&view).get(&draft).expect(404);
        server.as_token(&view).raw("GET", &draft, &[("if-none-match", &tag)], b"").expect(404);
    }
}

#[test]
fn routes_and_methods_are_checked_before_tokens_also_where_reads_are_looked_up_first() {
    let server = Server::start();
    notes(&server, 1);
    let nobody = server.as_token("");
    for (path, outcome) in [
        ("/v2/resources/", "404 NOT_FOUND"),
        ("/v2/resources/notes/", "404 NOT_FOUND"),
        ("/v2/resources/notes/a/b", "404 NOT_FOUND"),
        ("/v2/resources/notes/bulk", "405 METHOD_NOT_ALLOWED"),
        ("/v2/resources/notes/bulk-publish", "405 METHOD_NOT_ALLOWED"),
        ("/v2/resources/notes/import", "405 METHOD_NOT_ALLOWED"),
        ("/v2/resources/notes/export", "401 UNAUTHENTICATED"),
        ("/v2/resources/notes/x", "401 UNAUTHENTICATED"),
        ("/v2/resources/notes", "401 UNAUTHENTICATED"),
    ] {
        assert_eq!(nobody.get(path).outcome(), outcome, "{path}");
    }
}
