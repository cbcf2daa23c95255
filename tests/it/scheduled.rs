//! Blueprints whose publications become visible at their date (`API.md` 3.5).

use std::time::{Duration, Instant};

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::support::{LateClock, Reply, Server};

/// Returns the time in this many seconds.
fn at(seconds: f64) -> String {
    let moment = Utc::now() + TimeDelta::milliseconds((seconds * 1000.0) as i64);
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn news(server: &Server, scheduled: bool) {
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let mut body = json!({ "name": "News", "slug": "news", "fields": fields });
    if scheduled {
        body["scheduled"] = json!(true);
    }
    server.post("/v2/blueprints", &body).expect(201);
}

fn publish(server: &Server, title: &str, at: &str) -> String {
    let body = json!({ "attributes": { "title": title }, "published_at": at });
    server.post("/v2/resources/news", &body).expect(201).data()["id"].as_str().unwrap().to_owned()
}

fn titles(reply: &Reply) -> Vec<Value> {
    reply.data().as_array().unwrap().iter().map(|item| item["attributes"]["title"].clone()).collect()
}

#[test]
fn readers_see_a_publication_only_once_its_date_has_come() {
    let server = Server::start();
    news(&server, true);
    assert_eq!(server.get("/v2/blueprints/news").expect(200).data()["scheduled"], json!(true));
    publish(&server, "past", &at(-100.0));
    let soon = publish(&server, "soon", &at(2.5));
    let later = publish(&server, "later", &at(3600.0));
    let view = server.token(&["view"]);
    let reader = server.as_token(&view);
    let list = || reader.get("/v2/resources/news?sort=title").expect(200);
    let first = list();
    assert_eq!(titles(&first), ["past"]);
    assert_eq!(titles(&server.get("/v2/resources/news?sort=title").expect(200)), ["later", "past", "soon"]);
    for id in [&soon, &later] {
        assert_eq!(reader.get(&format!("/v2/resources/news/{id}")).outcome(), "404 NOT_FOUND");
    }
    let export = reader.get("/v2/resources/news/export?format=ndjson").expect(200);
    assert_eq!(export.lines().len(), 1);
    for query in ["search=so", "filter[title]=soon", "filter[published_at][gt]=2020-01-01T00:00:00Z&filter[title]=soon"]
    {
        assert_eq!(
            reader.get(&format!("/v2/resources/news?{query}")).expect(200).json()["meta"]["total"],
            0,
            "{query}"
        );
    }
    // The tag changes at the time of the publication, without a write.
    let tag = first.header("etag").unwrap().to_owned();
    let known = |tag: &str| reader.raw("GET", "/v2/resources/news?sort=title", &[("if-none-match", tag)], b"");
    assert_eq!(known(&tag).status, 304);
    let end = Instant::now() + Duration::from_secs(20);
    while known(&tag).status == 304 {
        assert!(Instant::now() < end, "the publication never becomes visible");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = list();
    assert_eq!(titles(&second), ["past", "soon"]);
    assert_ne!(second.header("etag"), Some(tag.as_str()));
    reader.get(&format!("/v2/resources/news/{soon}")).expect(200);
    assert_eq!(reader.get(&format!("/v2/resources/news/{later}")).outcome(), "404 NOT_FOUND");
}

#[test]
fn tags_tell_nothing_of_what_is_to_come() {
    let mut server = Server::start();
    news(&server, true);
    publish(&server, "past", &at(-100.0));
    let view = server.token(&["view"]);
    let tag = |server: &Server| {
        let reply = server.as_token(&view).get("/v2/resources/news").expect(200);
        reply.header("etag").unwrap().to_owned()
    };
    let before = tag(&server);
    let later = publish(&server, "later", &at(3600.0));
    server.patch(&format!("/v2/resources/news/{later}"), &json!({ "attributes": { "title": "x" } })).expect(200);
    assert_eq!(tag(&server), before);
    server.patch(&format!("/v2/resources/news/{later}"), &json!({ "published_at": at(-1.0) })).expect(200);
    let shown = tag(&server);
    assert_ne!(shown, before);
    server.patch(&format!("/v2/resources/news/{later}"), &json!({ "published_at": at(3600.0) })).expect(200);
    assert_ne!(tag(&server), shown);
    // Future publications remain invisible after a restart.
    server.kill_and_restart();
    assert_eq!(titles(&server.as_token(&view).get("/v2/resources/news").expect(200)), ["past"]);
}

#[test]
fn without_the_setting_the_date_does_not_matter() {
    let server = Server::start();
    news(&server, false);
    assert_eq!(server.get("/v2/blueprints/news").expect(200).data().get("scheduled"), None);
    publish(&server, "later", &at(3600.0));
    let view = server.token(&["view"]);
    assert_eq!(titles(&server.as_token(&view).get("/v2/resources/news").expect(200)), ["later"]);
    // The setting can be changed at any time.
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    server.put("/v2/blueprints/news", &json!({ "name": "News", "fields": fields, "scheduled": true })).expect(200);
    assert!(titles(&server.as_token(&view).get("/v2/resources/news").expect(200)).is_empty());
    server.put("/v2/blueprints/news", &json!({ "name": "News", "fields": fields })).expect(200);
    assert_eq!(titles(&server.as_token(&view).get("/v2/resources/news").expect(200)), ["later"]);
}

#[test]
fn what_is_to_come_is_not_named_to_writers_who_may_not_see_it() {
    let server = Server::start();
    let fields = json!([{ "name": "Code", "slug": "code", "type": "text", "unique": true }]);
    server
        .post("/v2/blueprints", &json!({ "name": "N", "slug": "news", "fields": fields, "scheduled": true }))
        .expect(201);
    let body = json!({ "attributes": { "code": "c" }, "published_at": at(3600.0) });
    let later = server.post("/v2/resources/news", &body).expect(201).data()["id"].as_str().unwrap().to_owned();
    let create = server.token(&["view", "create"]);
    let refused =
        server.as_token(&create).send("POST", "/v2/resources/news", Some(&json!({ "attributes": { "code": "c" } })));
    assert_eq!(refused.status, 422);
    assert!(!refused.text.contains(&later), "{}", refused.text);
}

#[test]
fn what_was_published_stays_so_when_the_clock_goes_back() {
    let Some(clock) = LateClock::compile(100) else { return };
    let server = clock.start_server();
    news(&server, true);
    let id = publish(&server, "soon", &at(1.0));
    let view = server.token(&["view"]);
    let reader = server.as_token(&view);
    let path = format!("/v2/resources/news/{id}");
    assert_eq!(reader.get(&path).status, 404);
    let end = Instant::now() + Duration::from_secs(10);
    while reader.get("/v2/changes?since=0").expect(200).text.is_empty() {
        assert!(Instant::now() < end, "it is not published");
        std::thread::sleep(Duration::from_millis(20));
    }
    reader.get(&path).expect(200);
    clock.set_late(true);
    reader.get(&path).expect(200);
    assert_eq!(titles(&reader.get("/v2/resources/news").expect(200)), ["soon"]);
}
