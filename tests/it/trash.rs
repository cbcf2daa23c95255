//! The trash (`API.md` 4.23): to every reader a deletion is final, and the resource can still be brought back.

mod random;

use serde_json::{Value, json};

use crate::support::{Failures, Reply, Server, succeed};

fn field(slug: &str, kind: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind })
}

fn relation(slug: &str, kind: &str, on_delete: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": "authors", "on_delete": on_delete } })
}

/// The fields of articles.
fn article_fields() -> Vec<Value> {
    let slug = json!({ "name": "slug", "slug": "slug", "type": "slug", "unique": true });
    let kind = json!({ "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": ["news", "essay"] } });
    vec![
        field("title", "text"),
        slug,
        kind,
        field("note", "text"),
        relation("kept", "references", "keep"),
        relation("author", "reference", "nullify"),
        relation("authors", "references", "nullify"),
        relation("editor", "reference", "restrict"),
    ]
}

fn articles(fields: &[Value]) -> Value {
    json!({ "name": "Articles", "slug": "articles", "fields": fields, "record_title": "title", "trash": { "days": 30 },
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }] })
}

/// Creates authors and articles, both with a trash.
fn magazine(server: &Server) {
    let authors = json!({ "name": "Authors", "slug": "authors", "fields": [field("name", "text")],
        "record_title": "name", "trash": { "days": 30 } });
    server.post("/v2/blueprints", &authors).expect(201);
    server.post("/v2/blueprints", &articles(&article_fields())).expect(201);
}

fn delete(server: &Server, path: &str) {
    server.delete(&format!("/v2/resources/{path}")).expect(204);
}

fn restore(server: &Server, id: &str) -> Reply {
    server.raw("POST", &format!("/v2/trash/{id}/restore"), &[], b"")
}

/// Returns the ids in the trash, newest first.
fn trashed(server: &Server, query: &str) -> Vec<String> {
    let page = server.get(&format!("/v2/trash{query}")).expect(200).data();
    page.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the operations and ids of the change feed.
fn feed(server: &Server, token: &str) -> Vec<(String, String)> {
    let lines = server.as_token(token).get("/v2/changes?since=0").expect(200).lines();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines.iter().filter(|line| line["op"].is_string()).map(|line| (text(&line["op"]), text(&line["id"]))).collect()
}

#[test]
fn the_setting_is_off_by_default_and_is_shown_only_where_it_is_set() {
    let server = Server::start();
    let plain = server.blueprint("plain", json!([field("title", "text")]));
    assert_eq!(plain.get("trash"), None);
    let id = server.create("plain", json!({ "title": "a" }));
    delete(&server, &format!("plain/{id}"));
    assert!(trashed(&server, "").is_empty());
    assert_eq!(restore(&server, &id).outcome(), "404 NOT_FOUND");

    let with = json!({ "name": "Plain", "fields": [field("title", "text")], "trash": { "days": 30 } });
    assert_eq!(server.put("/v2/blueprints/plain", &with).expect(200).data()["trash"], json!({ "days": 30 }));
    let plan = json!({ "name": "Plain", "fields": [field("title", "text")], "trash": null });
    let plan = server.put("/v2/blueprints/plain?dry_run=true", &plan).expect(200).data();
    assert_eq!(plan["changes"], json!([{ "op": "set", "field": "trash" }]));
    let without = json!({ "name": "Plain", "fields": [field("title", "text")] });
    assert_eq!(server.put("/v2/blueprints/plain", &without).expect(200).data().get("trash"), None);
    let wrong = json!({ "name": "Plain", "fields": [], "trash": { "days": 366 } });
    assert_eq!(server.put("/v2/blueprints/plain", &wrong).error_keys(), ["trash.days"]);
}

#[test]
fn to_every_reader_a_deletion_is_final_until_the_resource_is_restored_as_it_was() {
    let mut server = Server::start();
    magazine(&server);
    let author = server.create("authors", json!({ "name": "Ada" }));
    let article = server.create(
        "articles",
        json!({ "title": "One", "slug": "one", "kind": "news", "kept": [author], "author": author, "editor": author }),
    );
    let path = format!("/v2/resources/articles/{article}");
    server
        .patch(&format!("{path}?variant=de"), &json!({ "attributes": { "title": "Eins", "slug": "eins" } }))
        .expect(200);
    let before = server.find(&format!("articles/{article}"));
    let german = server.find(&format!("articles/{article}?variant=de"));
    assert!(before["published_at"].is_string(), "the test creates published resources");
    let view = server.token(&["view"]);

    delete(&server, &format!("articles/{article}"));
    for query in ["", "?filter[slug]=one", "?search=One", "?variant=de"] {
        assert!(server.ids(&format!("articles{query}")).is_empty(), "{query}");
    }
    assert_eq!(server.get(&path).outcome(), "404 NOT_FOUND");
    assert_eq!(server.get(&format!("/v2/resources/authors/{author}/referrers")).data(), json!([]));
    assert_eq!(feed(&server, &view).last(), Some(&("deleted".to_owned(), article.clone())));
    // A relation of a resource in the trash forbids nothing, and its unique values are free.
    delete(&server, &format!("authors/{author}"));
    restore(&server, &author).expect(200);
    let other = server.create("articles", json!({ "title": "Other", "slug": "one" }));
    delete(&server, &format!("articles/{other}"));

    let entries = server.get("/v2/trash?blueprint=articles").expect(200);
    let entry = entries.data()[1].clone();
    let expected = json!({ "id": article, "blueprint": "articles", "title": "One", "deleted_at": entry["deleted_at"],
        "by": { "type": "token", "id": "admin", "name": "admin" }, "referrers": [] });
    assert_eq!(entry, expected);
    assert_eq!(entries.json()["meta"], json!({ "current_page": 1, "last_page": 1, "per_page": 25, "total": 2 }));

    server.kill_and_restart();
    let restored = restore(&server, &article).expect(200);
    assert_eq!(restored.header("etag"), server.get(&path).header("etag"));
    let mut expected = before.clone();
    expected["updated_at"] = restored.data()["updated_at"].clone();
    assert!(expected["updated_at"].as_str() > before["updated_at"].as_str());
    assert_eq!(restored.data(), expected);
    assert_eq!(server.get(&path).expect(200).data(), expected);
    assert_eq!(server.find(&format!("articles/{article}?variant=de"))["attributes"], german["attributes"]);
    assert_eq!(feed(&server, &view).last(), Some(&("created".to_owned(), article.clone())));
    assert_eq!(server.ids("articles?filter[slug]=one"), std::slice::from_ref(&article));
    assert_eq!(server.ids("articles?variant=de&search=Eins"), std::slice::from_ref(&article));
    // The unique values are claimed again.
    let taken = server.post("/v2/resources/articles", &json!({ "attributes": { "slug": "one" } }));
    assert_eq!(taken.error_keys(), ["slug"]);
    assert_eq!(restore(&server, &article).outcome(), "404 NOT_FOUND");
    assert_eq!(trashed(&server, ""), std::slice::from_ref(&other));
}

#[test]
fn a_resource_comes_back_as_a_draft_if_that_is_asked_for() {
    let server = Server::start();
    magazine(&server);
    let view = server.token(&["view"]);
    for (body, is_draft) in
        [("", false), ("{}", false), (r#"{"as_draft": false}"#, false), (r#"{"as_draft":true}"#, true)]
    {
        let id = server.create("articles", json!({ "title": "One" }));
        delete(&server, &format!("articles/{id}"));
        let headers = [("content-type", "application/json")];
        let restored = server.raw("POST", &format!("/v2/trash/{id}/restore"), &headers, body.as_bytes()).expect(200);
        assert_eq!(restored.data()["published_at"].is_null(), is_draft, "{body}");
        let seen = server.as_token(&view).get(&format!("/v2/resources/articles/{id}")).status;
        assert_eq!(seen, if is_draft { 404 } else { 200 }, "{body}");
    }
    let id = server.create("articles", json!({ "title": "One" }));
    delete(&server, &format!("articles/{id}"));
    for (body, outcome) in [
        ("{", "400 MALFORMED_JSON"),
        ("[]", "422 VALIDATION_FAILED"),
        (r#"{"as_draft": 1}"#, "422 VALIDATION_FAILED"),
        (r#"{"draft": true}"#, "422 VALIDATION_FAILED"),
    ] {
        let headers = [("content-type", "application/json")];
        let reply = server.raw("POST", &format!("/v2/trash/{id}/restore"), &headers, body.as_bytes());
        assert_eq!(reply.outcome(), outcome, "{body}");
    }
    assert_eq!(trashed(&server, ""), [id]);
}

/// Each case deletes an article, changes something, restores the article, and says what comes of it.
#[test]
fn what_has_changed_meanwhile_is_decided_like_a_write_and_nothing_is_lost() {
    let server = Server::start();
    magazine(&server);
    let change = |edit: &dyn Fn(&mut Vec<Value>)| {
        let mut fields = article_fields();
        edit(&mut fields);
        server.put("/v2/blueprints/articles?force=true", &articles(&fields)).expect(200);
    };
    let author = || server.create("authors", json!({ "name": "Ada" }));
    let deleted = |attributes: Value| {
        let id = server.create("articles", attributes);
        delete(&server, &format!("articles/{id}"));
        id
    };
    let attributes = |id: &str| restore(&server, id).expect(200).data()["attributes"].clone();

    // A unique value that another resource holds.
    let id = deleted(json!({ "title": "a", "slug": "same" }));
    let other = server.create("articles", json!({ "slug": "same" }));
    let refused = restore(&server, &id);
    assert_eq!((refused.outcome(), refused.error_keys()), ("409 CONFLICT".to_owned(), vec!["slug".to_owned()]));
    assert!(refused.message().contains(&other), "{}", refused.message());
    delete(&server, &format!("articles/{other}"));
    assert_eq!(attributes(&id)["slug"], "same");

    // A value that the field no longer accepts.
    let id = deleted(json!({ "title": "a", "kind": "essay" }));
    change(&|fields| fields[2]["settings"]["values"] = json!(["news"]));
    let refused = restore(&server, &id);
    assert_eq!(
        (refused.outcome(), refused.error_keys()),
        ("422 VALIDATION_FAILED".to_owned(), vec!["kind".to_owned()])
    );
    assert!(refused.message().contains("stays in the trash"), "{}", refused.message());
    change(&|_| ());
    assert_eq!(attributes(&id)["kind"], "essay");

    // Another type, with a value that it accepts, and with one that it does not.
    let [good, bad] = ["https://example.org/", "no link"].map(|note| deleted(json!({ "title": "a", "note": note })));
    change(&|fields| fields[3]["type"] = json!("link"));
    assert_eq!(restore(&server, &bad).error_keys(), ["note"]);
    assert_eq!(attributes(&good)["note"], "https://example.org/");
    change(&|_| ());
    assert_eq!(attributes(&bad)["note"], "no link");

    // A removed field is gone, also if it was added again; a field that became required is empty.
    let id = deleted(json!({ "title": "a", "note": "n" }));
    change(&|fields| drop(fields.remove(3)));
    change(&|fields| fields.push(json!({ "name": "must", "slug": "must", "type": "text", "required": true })));
    let restored = attributes(&id);
    assert_eq!((&restored["note"], &restored["must"], &restored["title"]), (&Value::Null, &Value::Null, &json!("a")));
    change(&|_| ());

    // A field that became unique.
    let id = deleted(json!({ "title": "twice" }));
    let other = server.create("articles", json!({ "title": "twice" }));
    for kept in server.ids("articles?per_page=100") {
        if kept != other {
            delete(&server, &format!("articles/{kept}"));
        }
    }
    change(&|fields| fields[0]["unique"] = json!(true));
    assert_eq!(restore(&server, &id).error_keys(), ["title"]);
    delete(&server, &format!("articles/{other}"));
    restore(&server, &id).expect(200);
    assert_eq!(
        server.post("/v2/resources/articles", &json!({ "attributes": { "title": "twice" } })).error_keys(),
        ["title"]
    );
    change(&|_| ());

    // Related resources that were deleted: `keep` keeps, `nullify` nullifies, `restrict` forbids.
    let (gone, here) = (author(), author());
    let id = deleted(json!({ "kept": [gone, here], "author": gone, "authors": [gone, here], "editor": here }));
    delete(&server, &format!("authors/{gone}"));
    let restored = attributes(&id);
    assert_eq!(restored["kept"], json!([gone, here]));
    assert_eq!((&restored["author"], &restored["authors"]), (&Value::Null, &json!([here])));
    assert_eq!(server.ids("articles?filter[author][null]=false"), Vec::<String>::new());
    assert_eq!(server.ids(&format!("articles?filter[authors][has]={here}")), std::slice::from_ref(&id));
    delete(&server, &format!("articles/{id}"));
    delete(&server, &format!("authors/{here}"));
    let refused = restore(&server, &id);
    assert_eq!(
        (refused.outcome(), refused.error_keys()),
        ("422 VALIDATION_FAILED".to_owned(), vec!["editor".to_owned()])
    );
    restore(&server, &here).expect(200);
    assert_eq!(attributes(&id)["editor"], json!(here));

    // A variant that was removed.
    let id = server.create("articles", json!({ "title": "en" }));
    server
        .patch(&format!("/v2/resources/articles/{id}?variant=de"), &json!({ "attributes": { "title": "de" } }))
        .expect(200);
    delete(&server, &format!("articles/{id}"));
    let mut english = articles(&article_fields());
    english["variants"] = json!([]);
    server.put("/v2/blueprints/articles?force=true", &english).expect(200);
    assert_eq!(attributes(&id)["title"], "en");
    assert!(server.get("/v2/status").status == 200);
}

#[test]
fn the_trash_is_for_tokens_that_may_delete_and_see_drafts_of_their_blueprints() {
    let server = Server::start();
    magazine(&server);
    let author = server.create("authors", json!({ "name": "Ada" }));
    let article = server.create("articles", json!({ "title": "One", "kept": [author] }));
    delete(&server, &format!("authors/{author}"));
    delete(&server, &format!("articles/{article}"));
    let token = |abilities: Value, blueprints: Value| {
        let body = json!({ "name": "t", "abilities": abilities, "blueprints": blueprints });
        server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
    };
    let mut failures = Failures::default();
    for (abilities, list, restored, purged) in [
        (json!(["preview", "delete"]), "200", "200", "204"),
        (json!(["view", "delete"]), "403 FORBIDDEN", "200", "204"),
        (json!(["preview", "create", "update", "publish"]), "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN"),
        (json!(["view"]), "403 FORBIDDEN", "403 FORBIDDEN", "403 FORBIDDEN"),
    ] {
        let secret = token(abilities.clone(), Value::Null);
        let client = server.as_token(&secret);
        failures.check_eq(&format!("{abilities} list"), client.get("/v2/trash").outcome().as_str(), list);
        let reply = client.raw("POST", &format!("/v2/trash/{article}/restore"), &[], b"");
        failures.check_eq(&format!("{abilities} restore"), reply.outcome().as_str(), restored);
        if reply.status == 200 {
            delete(&server, &format!("articles/{article}"));
        }
        let own = server.create("articles", json!({ "title": "own" }));
        delete(&server, &format!("articles/{own}"));
        let reply = client.send("DELETE", &format!("/v2/trash/{own}"), None);
        failures.check_eq(&format!("{abilities} purge"), reply.outcome().as_str(), purged);
    }
    // The answer shows a draft also to a token that may not read it.
    let draft = server.post("/v2/resources/articles", &json!({ "attributes": { "title": "d" } })).expect(201).data();
    let draft = draft["id"].as_str().unwrap();
    delete(&server, &format!("articles/{draft}"));
    let secret = token(json!(["delete"]), Value::Null);
    let shown = server.as_token(&secret).raw("POST", &format!("/v2/trash/{draft}/restore"), &[], b"").expect(200);
    let read = server.find(&format!("articles/{draft}"));
    failures.check_eq("a draft", shown.data(), read);

    // Blueprints that a token does not see do not exist for it, neither as entries nor as referrers.
    let secret = token(json!(["preview", "delete"]), json!(["authors"]));
    let client = server.as_token(&secret);
    let listed = client.get("/v2/trash").expect(200);
    failures.check_eq("total", listed.json()["meta"]["total"].clone(), json!(1));
    failures.check_eq("entry", listed.data()[0]["referrers"].clone(), json!([]));
    let all = server.get("/v2/trash?blueprint=authors").expect(200).data()[0]["referrers"].clone();
    failures.check_eq("referrers", all, json!([{ "blueprint": "articles", "field": "kept", "total": 1 }]));
    for (path, method) in [(format!("/v2/trash/{article}/restore"), "POST"), (format!("/v2/trash/{article}"), "DELETE")]
    {
        let hidden = client.raw(method, &path, &[], b"");
        let missing = client.raw(method, &path.replace(&article, &draft.replace('0', "1")), &[], b"");
        failures.check_eq(&path, (hidden.status, missing.status), (404, 404));
    }
    let hidden = client.get("/v2/trash?blueprint=articles");
    let missing = client.get("/v2/trash?blueprint=nothing");
    failures.check_eq("hidden", hidden.outcome().as_str(), "422 INVALID_PARAMETER");
    failures.check_eq("as missing", hidden.message().replace("articles", "nothing"), missing.message());
    failures.assert_none();
}

#[test]
fn the_trash_has_pages_newest_first_over_all_blueprints() {
    let server = Server::start();
    magazine(&server);
    let mut expected = Vec::new();
    for n in 0..31 {
        let blueprint = if n % 3 == 0 { "authors" } else { "articles" };
        let attributes = if n % 3 == 0 { json!({ "name": n.to_string() }) } else { json!({ "title": n.to_string() }) };
        let id = server.create(blueprint, attributes);
        delete(&server, &format!("{blueprint}/{id}"));
        expected.push((id, n));
        // No two have the same time.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    expected.reverse();
    let page = |query: &str| server.get(&format!("/v2/trash?{query}")).expect(200);
    let mut seen = Vec::new();
    let mut next = Some(page("per_page=7"));
    while let Some(reply) = next {
        let body = reply.json();
        seen.extend(body["data"].as_array().unwrap().iter().map(|entry| entry["title"].as_str().unwrap().to_owned()));
        assert_eq!(body["meta"]["total"], 31);
        let link = body["links"]["next"].as_str().map(str::to_owned);
        next = link.map(|link| page(link.split_once('?').unwrap().1));
    }
    assert_eq!(seen, expected.iter().map(|(_, n)| n.to_string()).collect::<Vec<_>>());
    assert_eq!(page("page=9&per_page=7").data(), json!([]));
    let of_authors: Vec<String> = expected.iter().filter(|(_, n)| n % 3 == 0).map(|(id, _)| id.clone()).collect();
    assert_eq!(trashed(&server, "?blueprint=authors"), of_authors);
    for query in ["page=0", "per_page=101", "page=x", "blueprint=a&blueprint=b", "strict=1&sort=title"] {
        assert_eq!(server.get(&format!("/v2/trash?{query}")).outcome(), "422 INVALID_PARAMETER", "{query}");
    }
    // In bulk too.
    let ids: Vec<String> = (0..3).map(|n| server.create("authors", json!({ "name": format!("bulk {n}") }))).collect();
    server.send("DELETE", "/v2/resources/authors/bulk", Some(&json!({ "ids": ids }))).expect(200);
    assert_eq!(page("").json()["meta"]["total"], 34);
    for id in &ids {
        server.delete(&format!("/v2/trash/{id}")).expect(204);
        assert_eq!(server.delete(&format!("/v2/trash/{id}")).outcome(), "404 NOT_FOUND");
    }
    assert_eq!(page("").json()["meta"]["total"], 31);
}

#[test]
fn imports_and_the_trash_do_not_get_in_each_others_way() {
    let server = Server::start();
    magazine(&server);
    let import = |line: Value| {
        let headers = [("content-type", "application/x-ndjson")];
        let reply = server.raw("POST", "/v2/resources/articles/import", &headers, line.to_string().as_bytes());
        reply.expect(200).lines()[0]["id"].as_str().unwrap().to_owned()
    };
    let keyed = |title: &str| json!({ "key": "k", "attributes": { "title": title } });
    let first = import(keyed("first"));
    delete(&server, &format!("articles/{first}"));
    // The key is free, so an import creates another resource. The first one comes back without the key.
    let second = import(keyed("second"));
    assert_ne!(first, second);
    restore(&server, &first).expect(200);
    assert_eq!(import(keyed("third")), second);
    // If the key is still free, it comes back as well.
    delete(&server, &format!("articles/{second}"));
    restore(&server, &second).expect(200);
    assert_eq!(import(keyed("fourth")), second);
    // An import creates a resource under an id that is in the trash. Then the one in the trash cannot come back.
    delete(&server, &format!("articles/{second}"));
    assert_eq!(import(json!({ "id": second, "attributes": { "title": "again" } })), second);
    assert_eq!(restore(&server, &second).outcome(), "409 CONFLICT");
    assert_eq!(trashed(&server, ""), std::slice::from_ref(&second));
    delete(&server, &format!("articles/{second}"));
    assert_eq!(trashed(&server, ""), std::slice::from_ref(&second));
    assert_eq!(restore(&server, &second).expect(200).data()["attributes"]["title"], "again");
    // The same id in the trash of two blueprints.
    let headers = [("content-type", "application/x-ndjson")];
    let line = json!({ "id": second, "attributes": { "name": "namesake" } }).to_string();
    server.raw("POST", "/v2/resources/authors/import", &headers, line.as_bytes()).expect(200);
    delete(&server, &format!("articles/{second}"));
    delete(&server, &format!("authors/{second}"));
    assert_eq!(restore(&server, &second).outcome(), "422 INVALID_PARAMETER");
    let restored = server.raw("POST", &format!("/v2/trash/{second}/restore?blueprint=authors"), &[], b"").expect(200);
    assert_eq!(restored.data()["attributes"]["name"], "namesake");
    restore(&server, &second).expect(200);
}

#[test]
fn a_restored_resource_has_its_own_values_although_another_one_had_its_id() {
    let server = Server::start();
    let slugs = ["a", "b", "c", "d", "e", "f"];
    let variants = slugs.map(|slug| json!({ "name": slug, "slug": slug, "default": slug == "a" }));
    let blueprint = |trash: Value| {
        json!({ "name": "Notes", "slug": "notes", "fields": [field("title", "text")], "variants": variants,
            "trash": trash })
    };
    server.post("/v2/blueprints", &blueprint(json!({ "days": 30 }))).expect(201);
    let id = server.create("notes", json!({ "title": "own a" }));
    let path = |slug: &str| format!("/v2/resources/notes/{id}?variant={slug}");
    for slug in slugs.into_iter().skip(1) {
        server.patch(&path(slug), &json!({ "attributes": { "title": format!("own {slug}") } })).expect(200);
    }
    let titles = || slugs.map(|slug| server.get(&path(slug)).expect(200).data()["attributes"]["title"].take());
    let own = titles();
    delete(&server, &format!("notes/{id}"));
    server.put("/v2/blueprints/notes", &blueprint(Value::Null)).expect(200);
    let imported = slugs.map(|slug| (slug.to_owned(), json!({ "title": format!("imported {slug}") })));
    let imported: serde_json::Map<String, Value> = imported.into_iter().collect();
    let line = json!({ "id": id, "variants": imported }).to_string();
    let headers = [("content-type", "application/x-ndjson")];
    server.raw("POST", "/v2/resources/notes/import", &headers, line.as_bytes()).expect(200);
    assert_eq!(titles(), slugs.map(|slug| json!(format!("imported {slug}"))));
    // The trash is switched off, so this deletion is final, and the resource in the trash stays there.
    delete(&server, &format!("notes/{id}"));
    restore(&server, &id).expect(200);
    assert_eq!(titles(), own);
}

#[test]
fn a_blueprint_with_a_trash_is_deleted_only_by_force_which_empties_it() {
    let mut server = Server::start();
    magazine(&server);
    let id = server.create("articles", json!({ "title": "One", "slug": "one" }));
    delete(&server, &format!("articles/{id}"));
    let refused = server.delete("/v2/blueprints/articles");
    assert_eq!(refused.outcome(), "409 CONFLICT");
    assert!(refused.message().contains("1 resource in its trash"), "{}", refused.message());
    let errors = refused.json()["errors"].take();
    assert_eq!((&errors["count"], &errors["ids"]), (&json!(1), &json!([id])));
    server.delete("/v2/blueprints/articles?force=true").expect(204);
    assert!(trashed(&server, "").is_empty());
    assert_eq!(restore(&server, &id).outcome(), "404 NOT_FOUND");
    server.post("/v2/blueprints", &articles(&article_fields())).expect(201);
    server.kill_and_restart();
    assert!(trashed(&server, "").is_empty());
    assert_eq!(restore(&server, &id).outcome(), "404 NOT_FOUND");
    // Switching the trash off keeps what is in it.
    let id = server.create("articles", json!({ "title": "Two" }));
    delete(&server, &format!("articles/{id}"));
    let mut without = articles(&article_fields());
    without["trash"] = Value::Null;
    server.put("/v2/blueprints/articles", &without).expect(200);
    let gone = server.create("articles", json!({ "title": "Three" }));
    delete(&server, &format!("articles/{gone}"));
    assert_eq!(trashed(&server, ""), std::slice::from_ref(&id));
    restore(&server, &id).expect(200);
}

#[test]
fn backups_verify_salvage_and_a_rebuilt_index_keep_the_trash() {
    let mut server = Server::start();
    magazine(&server);
    let author = server.create("authors", json!({ "name": "Ada" }));
    let mut ids = Vec::new();
    for n in 0..12 {
        let id =
            server.create("articles", json!({ "title": format!("t{n}"), "slug": format!("s{n}"), "kept": [author] }));
        let german = json!({ "attributes": { "title": format!("de {n}") } });
        server.patch(&format!("/v2/resources/articles/{id}?variant=de"), &german).expect(200);
        ids.push(id);
    }
    delete(&server, &format!("authors/{author}"));
    ids.iter().take(8).for_each(|id| delete(&server, &format!("articles/{id}")));
    let before = server.get("/v2/trash").expect(200).text;
    let address = server.address().to_owned();
    let relative = |text: &str, address: &str| text.replace(address, "");
    assert!(server.terminate().success());
    let folder = server.folder().to_owned();
    let data = folder.to_str().unwrap();
    succeed(&["verify", "--data", data]);
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    succeed(&["backup", "--data", data, &path("b.bindery")]);
    succeed(&["restore", &path("b.bindery"), "--data", &path("restored")]);
    succeed(&["salvage", "--data", data, "--to", &path("salvaged")]);
    std::fs::remove_dir_all(folder.join("index")).unwrap();
    for data in [folder.clone(), temp.path().join("restored"), temp.path().join("salvaged")] {
        let mut other = Server::start_in(&data, &[]);
        let shown = other.get("/v2/trash").expect(200).text;
        assert_eq!(relative(&shown, other.address()), relative(&before, &address), "{data:?}");
        for (n, id) in ids.iter().enumerate().take(8) {
            let restored = restore(&other, id).expect(200).data();
            assert_eq!(restored["attributes"]["title"], format!("t{n}"), "{data:?}");
            assert_eq!(other.find(&format!("articles/{id}?variant=de"))["attributes"]["title"], format!("de {n}"));
        }
        assert_eq!(other.get("/v2/resources/articles").json()["meta"]["total"], 12, "{data:?}");
        assert!(other.terminate().success());
        succeed(&["verify", "--data", data.to_str().unwrap()]);
    }
}
