//! Working copies (`API.md` 4.21).

pub(crate) mod crashes;
mod lifecycle;
mod nullified;
mod random;
mod revisions;
mod schedule;

use serde_json::{Value, json};

use crate::support::{Failures, Reply, Server};

fn field(slug: &str, kind: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind })
}

/// Returns the definition of notes in two languages. A note names other notes.
fn notes() -> Value {
    json!({ "name": "Notes", "slug": "notes", "working_copy": true,
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
        "fields": [
            { "name": "title", "slug": "title", "type": "text", "required": true },
            { "name": "code", "slug": "code", "type": "text", "unique": true },
            field("body", "rich-text"),
            field("rank", "number"),
            { "name": "see", "slug": "see", "type": "reference", "settings": { "blueprint": "notes" } },
        ] })
}

fn start() -> Server {
    let server = Server::start();
    server.post("/v2/blueprints", &notes()).expect(201);
    server
}

fn path(id: &str) -> String {
    format!("/v2/resources/notes/{id}")
}

fn edit(server: &Server, id: &str, attributes: Value) -> Reply {
    server.patch(&format!("{}?copy=working", path(id)), &json!({ "attributes": attributes }))
}

fn publish(server: &Server, id: &str, body: &Value) -> Reply {
    server.post(&format!("{}/publish", path(id)), body)
}

fn working(server: &Server, id: &str) -> Value {
    server.get(&format!("{}?copy=working", path(id))).expect(200).data()
}

/// Everything that readers of live copies can be answered, with the tags.
fn live_answers(server: &Server, token: &str, id: &str) -> Vec<(String, Option<String>)> {
    let client = server.as_token(token);
    let base = "/v2/resources/notes";
    [
        base.to_owned(),
        path(id),
        format!("{base}?sort=-updated_at,title&facets=rank,updated_at:day&stats=rank"),
        format!("{base}?search=e&filter[title][contains]=e&expand=see"),
        format!("{base}?q=edited&highlight=title"),
        format!("{base}?cursor=&per_page=1&sort=title"),
        format!("{base}/export?format=ndjson"),
        format!("{}/neighbors?sort=title", path(id)),
        format!("{}/referrers", path(id)),
    ]
    .iter()
    .map(|url| {
        let reply = client.get(url).expect(200);
        (format!("{url}: {}", reply.text.replace(server.address(), "")), reply.header("etag").map(str::to_owned))
    })
    .collect()
}

#[test]
fn a_published_resource_is_changed_without_the_site_seeing_it() {
    let mut server = start();
    let other = server.create("notes", json!({ "title": "other", "rank": 2 }));
    let id = server.create("notes", json!({ "title": "one", "rank": 1, "body": "<p>b</p>" }));
    let viewer = server.token(&["view"]);
    let before = [live_answers(&server, &viewer, &id), live_answers(&server, server.secret(), &id)];
    let feed = |server: &Server| server.as_token(&viewer).get("/v2/changes?since=0").expect(200).lines();
    let changes = feed(&server);
    let live = server.find(&format!("notes/{id}"));

    let reply = edit(&server, &id, json!({ "title": "edited", "rank": 9, "see": other })).expect(200);
    let edited = reply.data();
    assert_eq!(edited, working(&server, &id));
    assert_eq!(reply.header("etag"), server.get(&format!("{}?copy=working", path(&id))).header("etag"));
    assert_ne!(reply.header("etag"), server.get(&path(&id)).header("etag"));
    let expected = json!({ "title": "edited", "code": null, "body": "<p>b</p>", "rank": 9, "see": other });
    assert_eq!(edited["attributes"], expected);
    let copy = &edited["working_copy"];
    assert_eq!((&copy["publish_at"], &copy["conflicts"]), (&Value::Null, &json!([])));
    assert_eq!(copy["updated_at"], edited["updated_at"]);
    assert_ne!(edited["updated_at"], live["updated_at"]);
    assert_eq!(working(&server, &other)["working_copy"], Value::Null);

    assert_eq!(feed(&server), changes);
    assert_eq!(live_answers(&server, &viewer, &id), before[0]);
    assert_eq!(live_answers(&server, server.secret(), &id), before[1]);
    let last = server.get("/v2/changes?since=0").expect(200).lines();
    assert_eq!(last.last().unwrap()["op"], "edited");

    server.kill_and_restart();
    assert_eq!(working(&server, &id), edited);
    server.restart_without_index();
    assert_eq!(working(&server, &id), edited);
    let texts = |answers: &[(String, Option<String>)]| answers.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&live_answers(&server, &viewer, &id)), texts(&before[0]));

    let published = publish(&server, &id, &json!({})).expect(200).data();
    assert_eq!(published, server.find(&format!("notes/{id}")));
    assert_eq!(published["attributes"], edited["attributes"]);
    assert_eq!(published["published_at"], live["published_at"]);
    assert_eq!(working(&server, &id)["working_copy"], Value::Null);
}

#[test]
fn lists_of_working_copies_are_over_exactly_their_values() {
    let server = start();
    let mut ids = Vec::new();
    for (title, rank) in [("apple", 1), ("banana", 2), ("cherry", 3), ("date", 4)] {
        ids.push(server.create("notes", json!({ "title": title, "rank": rank, "code": title })));
    }
    server.patch(&format!("{}?variant=de", path(&ids[3])), &json!({ "attributes": { "title": "Dattel" } })).expect(200);
    // The order by dates needs different ones.
    let pause = || std::thread::sleep(std::time::Duration::from_millis(2));
    pause();
    edit(&server, &ids[0], json!({ "title": "zebra apple", "rank": 30 })).expect(200);
    pause();
    edit(&server, &ids[2], json!({ "rank": null, "see": ids[0] })).expect(200);
    let of_german = json!({ "attributes": { "title": "Ananas" } });
    server.patch(&format!("{}?copy=working&variant=de", path(&ids[3])), &of_german).expect(200);
    let mut failures = Failures::default();
    let named = |query: &str| {
        let found = server.ids(&format!("notes?{query}"));
        found.iter().map(|id| ids.iter().position(|known| known == id).unwrap()).collect::<Vec<_>>()
    };
    for (query, expected) in [
        ("sort=title", vec![0, 1, 2, 3]),
        ("copy=live&sort=title", vec![0, 1, 2, 3]),
        ("copy=working&sort=title", vec![1, 2, 3, 0]),
        ("c%6Fpy=working&sort=title", vec![1, 2, 3, 0]),
        ("copy=working&sort=-rank", vec![0, 3, 1, 2]),
        ("copy=working&sort=rank&filter[rank][gte]=2", vec![1, 3, 0]),
        ("copy=working&filter[rank][null]=true", vec![2]),
        ("copy=working&filter[rank]=1", vec![]),
        ("filter[rank]=1", vec![0]),
        ("copy=working&search=zebra", vec![0]),
        ("search=zebra", vec![]),
        ("copy=working&q=zebra", vec![0]),
        ("q=zebra", vec![]),
        ("copy=working&sort=title&filter[working_copy]=true", vec![2, 0]),
        ("copy=working&sort=title&filter[working_copy]=false", vec![1, 3]),
        ("copy=working&sort=title&filter[working_copy][ne]=true", vec![1, 3]),
        ("copy=working&sort=title&filter[see.title]=zebra apple", vec![2]),
        ("copy=working&sort=title&filter[see.rank]=1", vec![]),
        ("copy=working&variant=de&sort=title", vec![3, 0, 1, 2]),
        ("copy=working&variant=de&filter[title]=Ananas", vec![3]),
        ("variant=de&filter[title]=Ananas", vec![]),
        ("copy=working&variant=de&fallback=en&fallback_mode=all&sort=title", vec![3, 1, 2, 0]),
        ("copy=working&variant=de&fallback=en&fallback_mode=all&filter[working_copy]=true", vec![3]),
        ("copy=working&sort=-updated_at", vec![2, 0, 3, 1]),
    ] {
        let query = query.replace(' ', "%20");
        let found = named(&query);
        // Without an order of their own, nulls are last, the newest first.
        failures.check_eq(&query, found.clone(), expected);
        failures.check_eq(
            &query,
            server.get(&format!("/v2/resources/notes?{query}")).json()["meta"]["total"].clone(),
            json!(found.len()),
        );
        let exported = server.get(&format!("/v2/resources/notes/export?format=ndjson&{query}")).expect(200).lines();
        failures.check_eq(&query, exported.len(), found.len());
    }
    let meta = |query: &str| server.get(&format!("/v2/resources/notes?{query}")).expect(200).json()["meta"].clone();
    let aggregated = meta("copy=working&facets=title,rank&stats=rank");
    failures.check_eq("sum", aggregated["stats"]["rank"]["sum"].clone(), json!(36));
    failures.check_eq("null", aggregated["facets"]["rank"]["null"].clone(), json!(1));
    let titles: Vec<Value> =
        aggregated["facets"]["title"]["values"].as_array().unwrap().iter().map(|one| one["value"].clone()).collect();
    failures.check_eq("titles", json!(titles), json!(["banana", "cherry", "date", "zebra apple"]));
    failures.check_eq("live sum", meta("stats=rank")["stats"]["rank"]["sum"].clone(), json!(10));
    // A walk, the neighbors, and related resources.
    let (mut walked, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v2/resources/notes?copy=working&sort=title&per_page=1&cursor={cursor}"));
        let page = page.expect(200).json();
        walked.push(page["data"][0]["attributes"]["title"].clone());
        let Some(next) = page["links"]["next"].as_str() else { break };
        assert!(next.contains("copy=working"), "{next}");
        cursor = next.rsplit("cursor=").next().unwrap().split('&').next().unwrap().to_owned();
    }
    failures.check_eq("walk", json!(walked), json!(["banana", "cherry", "date", "zebra apple"]));
    let of_live = server.get("/v2/resources/notes?sort=title&per_page=1&cursor=").json()["links"]["next"].clone();
    let of_live = of_live.as_str().unwrap().rsplit("cursor=").next().unwrap().to_owned();
    let mixed = server.get(&format!("/v2/resources/notes?copy=working&sort=title&per_page=1&cursor={of_live}"));
    failures.check_eq("a cursor of the live list", mixed.outcome(), "422 INVALID_PARAMETER".to_owned());
    let neighbors = server.get(&format!("{}/neighbors?copy=working&sort=title", path(&ids[0]))).expect(200).json();
    failures.check_eq("previous", neighbors["data"]["previous"]["id"].clone(), json!(ids[3]));
    failures.check_eq("position", neighbors["meta"]["position"].clone(), json!(4));
    let expanded = server.get(&format!("{}?copy=working&expand=see", path(&ids[2]))).expect(200).json();
    failures.check_eq("included", expanded["included"][0]["attributes"]["title"].clone(), json!("zebra apple"));
    failures.check(expanded["included"][0]["working_copy"].is_object(), || expanded.to_string());
    failures.assert_none();
}

#[test]
fn related_working_copies_have_the_date_of_the_variant_whose_values_they_show() {
    let server = start();
    let see = json!({ "name": "see", "slug": "see", "type": "reference", "settings": { "blueprint": "notes" } });
    let mut linking = json!({ "name": "plain", "slug": "plain", "working_copy": true, "fields": [see] });
    server.post("/v2/blueprints", &linking).expect(201);
    linking["slug"] = json!("german");
    linking["variants"] = json!([{ "name": "de", "slug": "de", "default": true }]);
    server.post("/v2/blueprints", &linking).expect(201);
    let note = server.create("notes", json!({ "title": "one" }));
    edit(&server, &note, json!({ "title": "two" })).expect(200);
    // The two working copies must not have the same date.
    std::thread::sleep(std::time::Duration::from_millis(10));
    let in_german = format!("{}?copy=working&variant=de", path(&note));
    server.patch(&in_german, &json!({ "attributes": { "title": "zwei" } })).expect(200);
    let (english, german) = (working(&server, &note), server.get(&in_german).expect(200).data());
    assert_ne!(english["updated_at"], german["updated_at"]);
    // A blueprint without variants ignores the parameter.
    for (slug, query, expected) in
        [("plain", "", &english), ("plain", "&variant=de", &english), ("german", "", &german)]
    {
        let id = server.create(slug, json!({ "see": note }));
        let shown = server.get(&format!("/v2/resources/{slug}/{id}?copy=working&expand=see{query}")).expect(200).json();
        assert_eq!(shown["included"], json!([expected]), "{slug}{query}");
    }
}

#[test]
fn tags_of_working_copies_change_with_both_copies_and_conditions_hold() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    let tag = |query: &str| server.get(&format!("{}{query}", path(&id))).expect(200).header("etag").unwrap().to_owned();
    let list = |query: &str| server.get(&format!("/v2/resources/notes{query}")).header("etag").unwrap().to_owned();
    let state = || [tag(""), tag("?copy=working"), list(""), list("?copy=working")];
    let changed = |before: &[String; 4], after: &[String; 4]| {
        before.iter().zip(after).map(|(before, after)| before != after).collect::<Vec<_>>()
    };
    let first = state();
    edit(&server, &id, json!({ "rank": 1 })).expect(200);
    let second = state();
    assert_eq!(changed(&first, &second), [false, true, false, true]);
    // A write that changes nothing leaves no trace.
    edit(&server, &id, json!({ "rank": 1 })).expect(200);
    assert_eq!(state(), second);
    server.patch(&path(&id), &json!({ "attributes": { "title": "two" } })).expect(200);
    let third = state();
    assert_eq!(changed(&second, &third), [true; 4]);
    assert_eq!(working(&server, &id)["attributes"]["title"], "two");
    let send = |tag: &str| {
        let headers = [("content-type", "application/json"), ("if-match", tag)];
        let body = json!({ "attributes": { "rank": 2 } }).to_string();
        server.raw("PATCH", &format!("{}?copy=working", path(&id)), &headers, body.as_bytes())
    };
    for stale in [&second[1], &third[0]] {
        assert_eq!(send(stale).outcome(), "412 PRECONDITION_FAILED");
    }
    send(&third[1]).expect(200);
    let known = [("if-none-match", third[1].as_str())];
    assert_eq!(server.raw("GET", &format!("{}?copy=working", path(&id)), &known, b"").status, 200);
    let now = tag("?copy=working");
    let known = [("if-none-match", now.as_str())];
    assert_eq!(server.raw("GET", &format!("{}?copy=working", path(&id)), &known, b"").status, 304);
    let now = list("?copy=working");
    let known = [("if-none-match", now.as_str())];
    assert_eq!(server.raw("GET", "/v2/resources/notes?copy=working", &known, b"").status, 304);
}

#[test]
fn invalid_requests_are_refused() {
    let server = start();
    server.blueprint("plain", json!([field("title", "text")]));
    let plain = server.create("plain", json!({ "title": "x" }));
    let id = server.create("notes", json!({ "title": "x" }));
    let edited = server.create("notes", json!({ "title": "y" }));
    edit(&server, &edited, json!({ "rank": 1 })).expect(200);
    let body = json!({ "attributes": { "title": "z" } });
    let mut failures = Failures::default();
    for (method, url, body, outcome) in [
        ("GET", "/v2/resources/plain?copy=working".to_owned(), None, "422 INVALID_PARAMETER"),
        ("GET", "/v2/resources/plain?copy=live".to_owned(), None, "200"),
        ("GET", "/v2/resources/notes?copy=both".to_owned(), None, "422 INVALID_PARAMETER"),
        ("GET", "/v2/resources/notes?copy=working&strict=true".to_owned(), None, "200"),
        ("GET", format!("/v2/resources/plain/{plain}?copy=working"), None, "422 INVALID_PARAMETER"),
        ("GET", "/v2/resources/notes?filter[working_copy]=true".to_owned(), None, "422 INVALID_FILTER"),
        ("GET", "/v2/resources/plain?filter[working_copy]=true".to_owned(), None, "422 INVALID_FILTER"),
        ("GET", "/v2/resources/notes?copy=working&filter[working_copy]=maybe".to_owned(), None, "422 INVALID_FILTER"),
        ("GET", "/v2/resources/notes?copy=working&filter[working_copy][gt]=1".to_owned(), None, "422 INVALID_FILTER"),
        ("GET", "/v2/resources/notes?copy=working&sort=working_copy".to_owned(), None, "422 INVALID_SORT"),
        ("PATCH", format!("/v2/resources/plain/{plain}?copy=working"), Some(body.clone()), "422 INVALID_PARAMETER"),
        ("POST", "/v2/resources/notes?copy=working".to_owned(), Some(body.clone()), "422 INVALID_PARAMETER"),
        (
            "PATCH",
            format!("{}?copy=working", path(&id)),
            Some(json!({ "published_at": null })),
            "422 VALIDATION_FAILED",
        ),
        (
            "PATCH",
            format!("{}?copy=working", path(&id)),
            Some(json!({ "attributes": { "rank": "x" } })),
            "422 VALIDATION_FAILED",
        ),
        ("PUT", format!("{}?copy=working", path(&id)), Some(json!({})), "422 VALIDATION_FAILED"),
        ("DELETE", format!("{}?copy=working", path(&id)), None, "404 NOT_FOUND"),
        ("DELETE", format!("{}?copy=working&variant=de", path(&edited)), None, "404 NOT_FOUND"),
        ("POST", format!("{}/publish", path(&id)), Some(json!({})), "404 NOT_FOUND"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "variants": ["de"] })), "404 NOT_FOUND"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "variants": ["fr"] })), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "variants": [] })), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "at": "soon" })), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "force": 1 })), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "published_at": null })), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!({ "when": 1 })), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish", path(&edited)), Some(json!([])), "422 VALIDATION_FAILED"),
        ("POST", format!("{}/publish?copy=working", path(&edited)), Some(json!({})), "422 INVALID_PARAMETER"),
        ("POST", format!("/v2/resources/plain/{plain}/publish"), Some(json!({})), "422 INVALID_PARAMETER"),
        ("POST", path("00000000-0000-7000-8000-000000000000") + "/publish", Some(json!({})), "404 NOT_FOUND"),
        ("PUT", "/v2/blueprints/notes".to_owned(), Some(json!({ "name": "Notes", "fields": [] })), "409 CONFLICT"),
    ] {
        let reply = server.send(method, &url, body.as_ref());
        failures.check_eq(&format!("{method} {url} {body:?}"), reply.outcome(), outcome.to_owned());
    }
    // The message recommends nothing that is refused.
    let null = json!({ "ids": [edited], "published_at": null });
    let invalid = json!({ "ids": [edited], "published_at": "soon" });
    for (url, body) in [
        (format!("{}/publish", path(&edited)), json!({ "published_at": null })),
        ("/v2/resources/notes/bulk-publish?copy=working".to_owned(), null),
        ("/v2/resources/notes/bulk-publish".to_owned(), invalid),
    ] {
        let reply = server.post(&url, &body);
        let is_right = reply.error_keys() == ["published_at"] && !reply.message().contains("or null");
        failures.check(is_right, || format!("{url} {body}: {}", reply.text));
    }
    // Abilities.
    let cases = [
        (&["view"][..], "GET", "?copy=working", "403 FORBIDDEN"),
        (&["view", "update"], "GET", "?copy=working", "403 FORBIDDEN"),
        (&["preview"], "GET", "?copy=working", "200"),
        (&["preview"], "PATCH", "?copy=working", "403 FORBIDDEN"),
        (&["update"], "PATCH", "?copy=working", "200"),
        (&["delete"], "DELETE", "?copy=working", "403 FORBIDDEN"),
        (&["update"], "POST", "/publish", "403 FORBIDDEN"),
        (&["publish"], "POST", "/publish", "200"),
    ];
    for (abilities, method, rest, outcome) in cases {
        let token = server.token(abilities);
        let body = json!({ "attributes": { "rank": 5 } });
        let body = match method {
            "PATCH" => Some(&body),
            "POST" => Some(&Value::Null),
            _ => None,
        };
        let body = body.map(|body| if body.is_null() { json!({}) } else { body.clone() });
        let reply = server.as_token(&token).send(method, &format!("{}{rest}", path(&edited)), body.as_ref());
        failures.check_eq(&format!("{abilities:?} {method} {rest}"), reply.outcome(), outcome.to_owned());
    }
    failures.assert_none();
}

#[test]
fn the_answer_to_a_write_shows_the_working_copy_also_to_a_token_that_may_not_read_it() {
    let server = start();
    let id = server.create("notes", json!({ "title": "x", "rank": 7 }));
    edit(&server, &id, json!({ "title": "y" })).expect(200);
    let token = server.token(&["update"]);
    let body = json!({ "attributes": { "code": "c" } });
    let reply = server.as_token(&token).send("PATCH", &format!("{}?copy=working", path(&id)), Some(&body)).expect(200);
    assert_eq!(reply.data(), working(&server, &id));
    assert_eq!(reply.data()["attributes"]["title"], "y");
}

#[test]
fn blueprints_without_working_copies_have_neither_the_setting_nor_its_columns_in_answers() {
    let server = Server::start();
    let blueprint = server.blueprint("plain", json!([field("title", "text")]));
    assert_eq!(blueprint.get("working_copy"), None);
    let mut definition = json!({ "name": "plain", "working_copy": true, "fields": [field("title", "text")] });
    let on = server.put("/v2/blueprints/plain", &definition).expect(200).data();
    assert_eq!(on["working_copy"], true);
    let id = server.create("plain", json!({ "title": "x" }));
    let url = format!("/v2/resources/plain/{id}");
    server.patch(&format!("{url}?copy=working"), &json!({ "attributes": { "title": "y" } })).expect(200);
    definition["working_copy"] = json!(false);
    let plan = server.put("/v2/blueprints/plain?dry_run=true", &definition).expect(200).data();
    assert_eq!(plan["conflicts"], json!({ "count": 1, "ids": [id] }));
    let refused = server.put("/v2/blueprints/plain", &definition);
    assert_eq!((refused.outcome().as_str(), &refused.json()["errors"]["count"]), ("409 CONFLICT", &json!(1)));
    assert_eq!(refused.json()["errors"]["ids"], json!([id]));
    server.delete(&format!("{url}?copy=working")).expect(204);
    assert_eq!(server.put("/v2/blueprints/plain", &definition).expect(200).data().get("working_copy"), None);
}
