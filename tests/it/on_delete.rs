//! The effects of relations beyond their values: `on_delete` (`API.md` 2.4.9) and `referrers` (`API.md` 4.3.1).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::{Failures, Reply, Server};

fn relation(slug: &str, kind: &str, blueprint: &str, on_delete: &str) -> Value {
    let settings = json!({ "blueprint": blueprint, "on_delete": on_delete });
    json!({ "name": slug, "slug": slug, "type": kind, "settings": settings })
}

/// Creates authors, and articles that relate to them in every way.
fn magazine(server: &Server) {
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    let body = json!({ "name": "Articles", "slug": "articles", "fields": [
        { "name": "Title", "slug": "title", "type": "text" },
        relation("kept", "reference", "authors", "keep"),
        relation("author", "reference", "authors", "nullify"),
        relation("authors", "references", "authors", "nullify"),
        relation("editor", "reference", "authors", "restrict"),
        relation("parents", "references", "articles", "restrict"),
        relation("next", "reference", "articles", "nullify"),
    ], "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }] });
    server.post("/v2/blueprints", &body).expect(201);
}

/// Returns the number of resources in a refusal, and the ids that it lists.
fn conflict(reply: &Reply) -> (Value, Value) {
    let mut body = reply.json();
    (body["errors"]["count"].take(), body["errors"]["ids"].take())
}

fn author(server: &Server, name: &str) -> String {
    server.create("authors", json!({ "name": name }))
}

#[test]
fn deleting_what_is_referred_to_keeps_nullifies_or_is_refused() {
    let server = Server::start();
    magazine(&server);
    let (a, b, c) = (author(&server, "a"), author(&server, "b"), author(&server, "c"));
    let article = server.create(
        "articles",
        json!({ "title": "t", "kept": a, "author": a, "authors": [b, a, c], "editor": c, "parents": [], "next": null }),
    );
    let german = json!({ "attributes": { "title": "T", "author": b, "authors": [a] } });
    server.patch(&format!("/v2/resources/articles/{article}?variant=de"), &german).expect(200);
    let path = format!("/v2/resources/articles/{article}");
    let before = server.get(&path).expect(200);

    server.delete(&format!("/v2/resources/authors/{a}")).expect(204);
    let after = server.get(&path).expect(200);
    let attributes = |query: &str| server.get(&format!("{path}{query}")).expect(200).data()["attributes"].take();
    let english = attributes("");
    assert_eq!(english["kept"], json!(a), "`keep` leaves the id");
    assert_eq!(english["author"], Value::Null);
    assert_eq!(english["authors"], json!([b, c]));
    assert_eq!(english["title"], "t");
    let german = attributes("?variant=de");
    assert_eq!((&german["author"], &german["authors"], &german["title"]), (&json!(b), &json!([]), &json!("T")));
    // It is a change of the article like any other.
    assert_ne!(before.header("etag"), after.header("etag"));
    assert_ne!(before.data()["updated_at"], after.data()["updated_at"]);
    assert_eq!(server.ids("articles?filter[author][null]=true"), std::slice::from_ref(&article));
    assert!(server.ids(&format!("articles?filter[authors]={a}")).is_empty());

    let refused = server.delete(&format!("/v2/resources/authors/{c}"));
    assert_eq!(refused.outcome(), "409 CONFLICT", "{}", refused.text);
    assert_eq!(conflict(&refused), (json!(1), json!([article])));
    assert_eq!(server.get(&path).expect(200).data()["attributes"]["authors"], json!([b, c]), "nothing was written");
    server.patch(&path, &json!({ "attributes": { "editor": null } })).expect(200);
    server.delete(&format!("/v2/resources/authors/{c}")).expect(204);
    assert_eq!(attributes("")["authors"], json!([b]));
}

#[test]
fn a_resource_that_refers_to_itself_can_be_deleted() {
    let server = Server::start();
    magazine(&server);
    let own = server.create("articles", json!({ "title": "own" }));
    let path = format!("/v2/resources/articles/{own}");
    server.patch(&path, &json!({ "attributes": { "parents": [own], "next": own } })).expect(200);
    server.delete(&path).expect(204);
    assert!(server.ids("articles").is_empty());
}

#[test]
fn in_bulk_each_item_is_decided_against_what_those_before_it_left() {
    let server = Server::start();
    magazine(&server);
    let parent = server.create("articles", json!({ "title": "parent" }));
    let child = server.create("articles", json!({ "title": "child", "parents": [parent] }));
    let other = server.create("articles", json!({ "title": "other", "next": child }));
    let bulk = |ids: Value| server.send("DELETE", "/v2/resources/articles/bulk", Some(&json!({ "ids": ids })));
    let reply = bulk(json!([parent, child]));
    assert_eq!(reply.json()["data"]["failed"][0]["index"], json!(0), "{}", reply.text);
    assert_eq!(server.ids("articles?sort=title"), [other.clone(), parent.clone()]);
    assert_eq!(server.find(&format!("articles/{other}"))["attributes"]["next"], Value::Null);

    let child = server.create("articles", json!({ "title": "child", "parents": [parent], "next": other }));
    let reply = bulk(json!([child, other, parent])).expect(200);
    assert_eq!(reply.json()["data"]["failed"], json!([]), "{}", reply.text);
    assert!(server.ids("articles").is_empty());
}

#[test]
fn a_refusal_names_only_what_the_token_may_see() {
    let server = Server::start();
    magazine(&server);
    server.blueprint("secrets", json!([relation("who", "reference", "authors", "restrict")]));
    let a = author(&server, "a");
    let published = server.create("articles", json!({ "title": "p", "editor": a }));
    let draft = server
        .post("/v2/resources/articles", &json!({ "attributes": { "title": "d", "editor": a }, "published_at": null }))
        .expect(201)
        .data()["id"]
        .take();
    let hidden = server.create("secrets", json!({ "who": a }));
    let limited = json!({ "name": "l", "abilities": ["view", "delete"], "blueprints": ["authors", "articles"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let path = format!("/v2/resources/authors/{a}");
    let refusal = |token: &str| conflict(&server.as_token(token).send("DELETE", &path, None).expect(409));
    assert_eq!(refusal(&limited), (json!(3), json!([published])));
    let (_, all) = refusal(server.secret());
    let mut ids: Vec<String> = serde_json::from_value(all).unwrap();
    ids.sort();
    let mut expected = vec![published, draft.as_str().unwrap().to_owned(), hidden];
    expected.sort();
    assert_eq!(ids, expected);
}

#[test]
fn referrers_are_those_that_the_token_sees() {
    let server = Server::start();
    magazine(&server);
    server.blueprint("notes", json!([relation("about", "references", "authors", "keep")]));
    let a = author(&server, "a");
    let mut articles: Vec<String> = (0..12)
        .map(|number| server.create("articles", json!({ "title": number.to_string(), "author": a, "authors": [a] })))
        .collect();
    articles.sort();
    let draft = json!({ "attributes": { "about": [a] } });
    let note = server.post("/v2/resources/notes", &draft).expect(201).data()["id"].take();
    // The relation is in another variant only, and still counts once.
    let german = json!({ "attributes": { "kept": a } });
    server.patch(&format!("/v2/resources/articles/{}?variant=de", articles[3]), &german).expect(200);
    let path = format!("/v2/resources/authors/{a}/referrers");
    let of_articles = [
        json!({ "blueprint": "articles", "field": "kept", "total": 1, "ids": [articles[3]] }),
        json!({ "blueprint": "articles", "field": "author", "total": 12, "ids": articles[..10] }),
        json!({ "blueprint": "articles", "field": "authors", "total": 12, "ids": articles[..10] }),
    ];
    let mut all = of_articles.to_vec();
    all.push(json!({ "blueprint": "notes", "field": "about", "total": 1, "ids": [note] }));
    assert_eq!(server.get(&path).expect(200).data(), json!(all));

    let view = server.token(&["view"]);
    assert_eq!(server.as_token(&view).get(&path).expect(200).data(), json!(of_articles), "no drafts");
    let some = json!({ "name": "s", "abilities": ["preview", "view"], "blueprints": ["authors", "notes"] });
    let some = server.post("/v2/tokens", &some).expect(201).data()["secret"].as_str().unwrap().to_owned();
    assert_eq!(server.as_token(&some).get(&path).expect(200).data(), json!(all[3..]), "no other blueprints");
    assert_eq!(server.as_token(&server.token(&["create"])).get(&path).outcome(), "403 FORBIDDEN");
    assert_eq!(server.get("/v2/resources/authors/nobody/referrers").outcome(), "404 NOT_FOUND");
    let unseen = server.post("/v2/resources/authors", &json!({ "attributes": { "name": "draft" } })).expect(201);
    let unseen = format!("/v2/resources/authors/{}/referrers", unseen.data()["id"].as_str().unwrap());
    assert_eq!(server.as_token(&view).get(&unseen).outcome(), "404 NOT_FOUND");
    assert_eq!(server.get(&unseen).expect(200).data(), json!([]));
}

/// The values of the relations, by the id of the resource: `author`, `authors`, `editor`.
type Model = BTreeMap<String, (Option<String>, Vec<String>, Option<String>)>;

#[test]
fn random_deletions_are_those_of_a_naive_model() {
    let server = Server::start();
    magazine(&server);
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut authors: Vec<String> = (0..8).map(|number| author(&server, &number.to_string())).collect();
    let mut model = Model::new();
    let mut failures = Failures::default();
    for round in 0..120 {
        let pick = |random: &mut dyn FnMut(usize) -> usize| {
            (random(3) > 0 && !authors.is_empty()).then(|| authors[random(authors.len())].clone())
        };
        match random(4) {
            0 => authors.push(author(&server, "new")),
            1 | 2 => {
                let one = pick(&mut random);
                let mut several: Vec<String> = (0..3).filter_map(|_| pick(&mut random)).collect();
                several.sort();
                several.dedup();
                let editor = if random(4) == 0 { pick(&mut random) } else { None };
                let attributes = json!({ "title": "t", "author": one, "authors": several, "editor": editor });
                model.insert(server.create("articles", attributes), (one, several, editor));
            }
            _ => {
                let ids: Vec<String> = (0..1 + random(3)).filter_map(|_| pick(&mut random)).collect();
                let reply = server.send("DELETE", "/v2/resources/authors/bulk", Some(&json!({ "ids": ids.clone() })));
                let mut expected = Vec::new();
                for (index, id) in (0..).zip(ids) {
                    let is_there = authors.contains(&id);
                    if !is_there || model.values().any(|(_, _, editor)| editor.as_ref() == Some(&id)) {
                        expected.push(index);
                        continue;
                    }
                    authors.retain(|author| *author != id);
                    for (one, several, _) in model.values_mut() {
                        one.take_if(|one| *one == id);
                        several.retain(|author| *author != id);
                    }
                }
                let failed = reply.json()["data"]["failed"].take();
                let failed: Vec<u64> =
                    failed.as_array().into_iter().flatten().filter_map(|item| item["index"].as_u64()).collect();
                failures.check_eq(&format!("round {round}: {}", reply.text), failed, expected);
            }
        }
    }
    for (id, (one, several, editor)) in &model {
        let attributes = &server.find(&format!("articles/{id}"))["attributes"];
        failures.check_eq(id, &attributes["author"], &json!(one));
        failures.check_eq(id, &attributes["authors"], &json!(several));
        failures.check_eq(id, &attributes["editor"], &json!(editor));
    }
    failures.assert_none();
    assert!(!model.is_empty());
}

#[test]
fn deletions_beside_writes_leave_nothing_that_names_what_is_gone() {
    let server = Server::start();
    magazine(&server);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let ids = server.ids("authors?per_page=3");
                    let Some(id) = ids.first() else { continue };
                    let attributes = json!({ "title": "t", "author": id, "authors": ids });
                    let reply = server.post("/v2/resources/articles", &json!({ "attributes": attributes }));
                    assert!([201, 422].contains(&reply.status), "{}", reply.text);
                }
            });
        }
        for number in 0..60 {
            let id = author(&server, &number.to_string());
            if number % 2 == 1 {
                server.delete(&format!("/v2/resources/authors/{id}")).expect(204);
            }
            if let Some(first) = server.ids("authors?sort=created_at").first().filter(|_| number > 5) {
                server.delete(&format!("/v2/resources/authors/{first}")).expect(204);
            }
        }
        stop.store(true, Ordering::SeqCst);
    });
    let authors = server.ids("authors?per_page=100");
    let export = server.get("/v2/resources/articles/export?format=ndjson").expect(200).lines();
    assert!(!export.is_empty());
    for article in export {
        let (one, several) = (&article["attributes"]["author"], &article["attributes"]["authors"]);
        for id in several.as_array().unwrap().iter().chain([one]).filter_map(Value::as_str) {
            assert!(authors.iter().any(|author| author == id), "{article}");
        }
    }
}

#[test]
fn settings_of_relations_are_checked() {
    let server = Server::start();
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    let create = |field: Value| server.post("/v2/blueprints", &json!({ "name": "X", "slug": "x", "fields": [field] }));
    let reply = create(relation("a", "reference", "authors", "cascade")).expect(422);
    assert!(reply.text.contains("`on_delete` must be one of `keep`, `nullify`, `restrict`"), "{}", reply.text);
    let mut required = relation("a", "reference", "authors", "nullify");
    required["required"] = json!(true);
    assert!(create(required).expect(422).text.contains("must not be `nullify` in a required field"));
    let reply = create(relation("a", "reference", "authors", "restrict")).expect(201).data();
    assert_eq!(
        reply["fields"][0]["settings"],
        json!({ "blueprint": "authors", "display": [], "on_delete": "restrict" })
    );
    let kept = json!({ "name": "X", "fields": [relation("a", "reference", "authors", "keep")] });
    let reply = server.put("/v2/blueprints/x", &kept).expect(200).data();
    assert_eq!(reply["fields"][0]["settings"], json!({ "blueprint": "authors", "display": [] }));
}

#[test]
fn resources_of_several_blueprints_with_one_id_keep_their_own_values_in_the_index() {
    let server = Server::start();
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    let by = author(&server, "a");
    let id = "01900000-0000-7000-8000-000000000001";
    let blueprints = ["books", "films"];
    for slug in blueprints {
        let title = json!({ "name": "Title", "slug": "title", "type": "text" });
        server.blueprint(slug, json!([title, relation("author", "reference", "authors", "nullify")]));
        let line = json!({ "id": id, "attributes": { "title": format!("of-{slug}"), "author": by } }).to_string();
        let types = [("content-type", "application/x-ndjson")];
        server.raw("POST", &format!("/v2/resources/{slug}/import"), &types, line.as_bytes()).expect(200);
    }
    server.delete(&format!("/v2/resources/authors/{by}")).expect(204);
    for slug in blueprints {
        assert_eq!(server.find(&format!("{slug}/{id}"))["attributes"]["author"], Value::Null);
        for title in blueprints {
            let found = server.ids(&format!("{slug}?filter[title]=of-{title}"));
            assert_eq!(found.len(), usize::from(slug == title), "{slug} with the title of {title}");
        }
    }
}

#[test]
fn the_deletions_of_one_request_change_only_so_many_resources_together() {
    let server = Server::start();
    magazine(&server);
    let authors: Vec<String> = (0..12).map(|number| author(&server, &number.to_string())).collect();
    let line = json!({ "attributes": { "title": "t", "authors": authors } }).to_string();
    let lines = vec![line; 3_000].join("\n");
    let types = [("content-type", "application/x-ndjson")];
    server.raw("POST", "/v2/resources/articles/import", &types, lines.as_bytes()).expect(200);
    let bulk = |ids: &[String]| server.send("DELETE", "/v2/resources/authors/bulk", Some(&json!({ "ids": ids })));
    // Three times 3,000 values are fewer than 10,000, four times are more.
    let reply = bulk(&authors).json();
    let failed = reply["data"]["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 9, "{reply}");
    for failure in failed {
        let text = failure.to_string();
        assert!(text.contains("CONFLICT") && text.contains("at most 10000 can be changed by one request"), "{text}");
        let errors = &failure["errors"];
        assert_eq!((&errors["count"], errors["ids"].as_array().map(Vec::len)), (&json!(3_000), Some(10)), "{text}");
    }
    let left = || {
        let list = server.get("/v2/resources/authors?sort=created_at&fields=id").expect(200).data();
        Vec::from_iter(list.as_array().unwrap().iter().map(|author| author["id"].as_str().unwrap().to_owned()))
    };
    assert_eq!(left(), authors[3..]);
    let article = server.get("/v2/resources/articles?per_page=1").expect(200).data()[0]["attributes"]["authors"].take();
    assert_eq!(article, json!(authors[3..]));
    // The next ones can be deleted in another request.
    assert_eq!(bulk(&authors[3..5]).json()["data"]["failed"], json!([]));
    assert_eq!(left(), authors[5..]);
}

#[test]
fn the_deletions_of_one_request_rewrite_only_so_many_bytes_together() {
    let server = Server::start();
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    let page = json!({ "name": "Page", "slug": "page", "type": "html-page" });
    server.blueprint("pages", json!([relation("authors", "references", "authors", "nullify"), page]));
    let authors: Vec<String> = (0..4).map(|number| author(&server, &number.to_string())).collect();
    let types = [("content-type", "application/x-ndjson")];
    // Each page has a megabyte.
    let import = |pages: usize, authors: &[String]| {
        let blocks = json!([{ "text": "x".repeat(1 << 20) }]);
        let line = json!({ "attributes": { "authors": authors, "page": { "blocks": blocks } } }).to_string();
        let body = vec![line; pages].join("\n");
        server.raw("POST", "/v2/resources/pages/import", &types, body.as_bytes()).expect(200);
    };
    import(40, &authors[..2]);
    import(70, &authors[2..]);
    let bulk = |ids: &[String]| {
        let reply = server.send("DELETE", "/v2/resources/authors/bulk", Some(&json!({ "ids": ids }))).json();
        let failed = reply["data"]["failed"].as_array().unwrap().iter();
        let failed = failed.map(|one| format!("{} {}", one["index"], one["errors"]["message"]));
        (reply["meta"]["deleted"].clone(), Vec::from_iter(failed))
    };
    // 40 MB are allowed, twice 40 MB are not.
    let (deleted, failed) = bulk(&authors[..2]);
    assert_eq!((deleted, failed.len()), (json!(1), 1), "{failed:?}");
    assert!(failed[0].starts_with("1 ") && failed[0].contains("can be changed by one request"), "{failed:?}");
    // 70 MB are too many for one deletion. The items after it are refused without the same work.
    let (deleted, failed) = bulk(&authors[2..]);
    assert_eq!((deleted, failed.len()), (json!(0), 2), "{failed:?}");
    assert!(failed[0].starts_with("0 ") && failed[1].starts_with("1 "), "{failed:?}");
    assert_eq!(server.get("/v2/resources/authors?per_page=1").json()["meta"]["total"], 3);
}
