//! The authors of a resource and its outdated variants (`API.md` 5.8.6): members see them, tokens and exports do not.

use serde_json::{Value, json};

use super::{Server, member};

fn world() -> Server {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "type": "text" }]));
    server
}

#[test]
fn members_see_who_created_and_changed_a_resource() {
    let server = world();
    let (ada, bob) = (member(&server, "ada", "editor"), member(&server, "bob", "viewer"));
    let secret = server.token(&["preview", "create", "update"]);
    let tokens = server.get("/v2/tokens").expect(200).data();
    let token = json!({ "token": { "id": tokens[0]["id"], "name": "test" } });
    let ada_is = json!({ "member": { "id": ada.member, "name": "ada" } });
    let body = |title: &str| json!({ "attributes": { "title": title } });
    let meta = |value: &Value| (value["meta"]["created_by"].clone(), value["meta"]["updated_by"].clone());

    let created = ada.post("/v2/resources/notes", &body("a")).expect(201).data();
    assert_eq!(meta(&created), (ada_is.clone(), ada_is.clone()));
    let path = format!("/v2/resources/notes/{}", created["id"].as_str().unwrap());
    server.as_token(&secret).send("PATCH", &path, Some(&body("b"))).expect(200);
    let expected = (ada_is.clone(), token.clone());
    assert_eq!(meta(&bob.get(&path).expect(200).data()), expected);
    assert_eq!(meta(&bob.get("/v2/resources/notes?fields=id").expect(200).data()[0]), expected);
    // A write that changes nothing has no author.
    assert_eq!(meta(&ada.send("PATCH", &path, Some(&body("b"))).expect(200).data()), expected);
    let reply = ada.send("PUT", &path, Some(&body("c"))).expect(200);
    assert_eq!(meta(&reply.data()), (ada_is.clone(), ada_is.clone()));
    // A resource that was read can be sent back completely.
    ada.send("PUT", &path, Some(&reply.data())).expect(200);
    server.patch(&path, &body("d")).expect(200);
    let admin = json!({ "token": { "id": "admin", "name": "admin" } });
    assert_eq!(meta(&bob.get(&path).expect(200).data()).1, admin);

    // Changes of names are shown. Members who were removed have no name.
    server.patch(&format!("/v2/members/{}", ada.member), &json!({ "name": "Ada L." })).expect(200);
    assert_eq!(bob.get(&path).expect(200).data()["meta"]["created_by"]["member"]["name"], "Ada L.");
    server.delete(&format!("/v2/members/{}", ada.member)).expect(204);
    let gone = bob.get(&path).expect(200).data()["meta"]["created_by"]["member"].clone();
    assert_eq!(gone, json!({ "id": ada.member, "name": null }));
}

#[test]
fn readers_of_working_copies_see_who_changed_those() {
    let server = Server::start();
    let fields = json!([{ "name": "Title", "type": "text" }]);
    let body = json!({ "name": "Notes", "slug": "notes", "working_copy": true, "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
    let ada = member(&server, "ada", "editor");
    let path = format!("/v2/resources/notes/{}", server.create("notes", json!({ "title": "a" })));
    let edited = json!({ "attributes": { "title": "b" } });
    let reply = ada.send("PATCH", &format!("{path}?copy=working"), Some(&edited)).expect(200);
    let ada_is = json!({ "member": { "id": ada.member, "name": "ada" } });
    let admin = json!({ "token": { "id": "admin", "name": "admin" } });
    let list = "/v2/resources/notes?copy=working";
    let read = |path: &str| ada.get(path).expect(200).data();
    for (shown, by) in [
        (reply.data(), &ada_is),
        (read(&format!("{path}?copy=working")), &ada_is),
        (read(list)[0].clone(), &ada_is),
        (read(&path), &admin),
        (read("/v2/resources/notes")[0].clone(), &admin),
    ] {
        assert_eq!((&shown["meta"]["created_by"], &shown["meta"]["updated_by"]), (&admin, by), "{shown}");
    }
}

#[test]
fn a_translation_is_outdated_from_a_change_of_its_source_until_it_is_written_again() {
    let server = Server::start();
    let variants = json!([{ "slug": "en", "default": true }, { "slug": "fr" }, { "slug": "de" }]);
    let fields = json!([{ "name": "Title", "type": "text" }]);
    server.post("/v2/blueprints", &json!({ "name": "Notes", "variants": variants, "fields": fields })).expect(201);
    let ada = member(&server, "ada", "editor");
    let id = server.create("notes", json!({ "title": "a" }));
    let path = format!("/v2/resources/notes/{id}");
    let write = |variant: &str, title: &str| {
        let body = json!({ "attributes": { "title": title } });
        let path = format!("{path}?variant={variant}");
        let written = ada.send("PATCH", &path, Some(&body)).expect(200).data()["meta"]["outdated_variants"].clone();
        let read = |path: &str| ada.get(path).expect(200).data();
        let listed = read("/v2/resources/notes")[0]["meta"]["outdated_variants"].clone();
        assert_eq!((&written, &listed), (&read(&path)["meta"]["outdated_variants"], &written));
        written
    };
    for (variant, title, outdated) in [
        ("fr", "un", json!([])),
        ("en", "b", json!(["fr"])),
        // A write that changes nothing makes no variant outdated or current.
        ("fr", "un", json!(["fr"])),
        ("en", "b", json!(["fr"])),
        ("de", "eins", json!(["fr"])),
        ("fr", "deux", json!([])),
        ("en", "c", json!(["fr", "de"])),
    ] {
        assert_eq!(write(variant, title), outdated, "{variant} {title}");
    }
    let variants = json!([{ "slug": "fr", "default": true }, { "slug": "en" }, { "slug": "de" }]);
    let changed = json!({ "name": "Notes", "variants": variants, "fields": fields });
    server.send("PUT", "/v2/blueprints/notes", Some(&changed)).expect(200);
    // The variant is French, which was written before English.
    assert_eq!(ada.get(&path).expect(200).data()["meta"]["outdated_variants"], json!(["de"]));
}

#[test]
fn translations_are_as_outdated_after_a_stay_in_the_trash_as_before() {
    let mut server = Server::start();
    let blueprint = |default: &str| {
        let variant = |slug: &str| json!({ "slug": slug, "default": slug == default });
        let variants = ["en", "fr", "de"].map(variant);
        json!({ "name": "Notes", "variants": variants, "trash": { "days": 30 },
            "working_copy": true, "history": { "keep": 50, "days": 365 },
            "fields": [{ "name": "Title", "type": "text" }] })
    };
    server.post("/v2/blueprints", &blueprint("en")).expect(201);
    let histories: [&[(&str, Value)]; 6] = [
        &[("fr", json!("un")), ("en", json!("b")), ("de", json!("eins"))],
        &[("fr", json!("un")), ("de", json!("eins"))],
        &[("fr", json!("un")), ("de", json!("eins")), ("en", json!("b"))],
        &[("de", json!("eins")), ("de", Value::Null), ("en", json!("b")), ("fr", json!("un"))],
        &[("fr", json!("un")), ("en", Value::Null)],
        &[],
    ];
    let mut ids = Vec::new();
    for history in histories {
        let id = server.create("notes", json!({ "title": "a" }));
        for (variant, title) in history {
            let body = json!({ "attributes": { "title": title } });
            server.patch(&format!("/v2/resources/notes/{id}?variant={variant}"), &body).expect(200);
        }
        ids.push(id);
    }
    // Working copies have no part in it.
    let body = json!({ "attributes": { "title": "edited" } });
    server.patch(&format!("/v2/resources/notes/{}?variant=de&copy=working", ids[0]), &body).expect(200);
    let ada = member(&server, "ada", "editor");
    let outdated = |server: &Server, default: &str| -> Vec<Value> {
        server.put("/v2/blueprints/notes", &blueprint(default)).expect(200);
        let read = |id: &String| ada.get(&format!("/v2/resources/notes/{id}")).expect(200).data();
        ids.iter().map(|id| read(id)["meta"]["outdated_variants"].take()).collect()
    };
    let of_all = |server: &Server| ["en", "fr", "de"].map(|default| outdated(server, default));
    let titles = |server: &Server| -> Vec<Value> {
        let paths = ids.iter().flat_map(|id| ["en", "fr", "de"].map(|variant| (id, variant)));
        let history = paths.flat_map(|(id, variant)| {
            let history = format!("/v2/resources/notes/{id}/history");
            let listed = server.get(&format!("{history}?variant={variant}")).expect(200).data();
            let kept = listed.as_array().unwrap().iter().rev().filter(|one| one["op"] != "deleted");
            let numbers: Vec<Value> =
                kept.filter(|one| one["op"] != "restored").map(|one| one["number"].clone()).collect();
            let read = |number: Value| server.get(&format!("{history}/{number}?variant={variant}")).expect(200).data();
            numbers.into_iter().map(read).map(|mut one| one["attributes"].take()).collect::<Vec<_>>()
        });
        history.collect()
    };
    let before = of_all(&server);
    let in_english = [json!(["fr"]), json!([]), json!(["fr", "de"]), json!(["de"]), json!(["fr"]), json!([])];
    assert_eq!(before[0], in_english);
    let told = titles(&server);
    for round in 0..3 {
        for id in &ids {
            server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
            server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
        }
        assert_eq!(of_all(&server), before, "round {round}");
        assert_eq!(titles(&server), told, "round {round}");
    }
    // The next write of the source makes them outdated as usual.
    outdated(&server, "en");
    server.patch(&format!("/v2/resources/notes/{}", ids[1]), &json!({ "attributes": { "title": "b" } })).expect(200);
    assert_eq!(outdated(&server, "en")[1], json!(["fr", "de"]));
    assert!(server.terminate().success());
    let verified = crate::folders::run(&["verify"], server.folder());
    assert_eq!(verified.code, Some(0), "{}", verified.text);
}

#[test]
fn answers_to_tokens_and_exports_say_nothing_of_it_whoever_asked_first() {
    let mut server = world();
    let ada = member(&server, "ada", "editor");
    let path = format!("/v2/resources/notes/{}", server.create("notes", json!({ "title": "a" })));
    let list = "/v2/resources/notes";
    let view = server.token(&["view"]);
    for _ in 0..3 {
        for path in [path.as_str(), list] {
            let (session, token) = (ada.get(path).expect(200), server.get(path).expect(200));
            assert!(session.text.contains("\"meta\":{\"created_by\""), "{}", session.text);
            for reply in [&token, &server.as_token(&view).get(path).expect(200)] {
                assert!(!reply.text.contains("created_by") && !reply.text.contains("admin"), "{}", reply.text);
            }
            // A tag of a token's answer does not make the browser show that answer to a member.
            let known = [("if-none-match", token.header("etag").unwrap())];
            assert!(ada.raw("GET", path, &known, None).expect(200).text.contains("created_by"));
        }
    }
    let tag = ada.get(&path).expect(200).header("etag").unwrap().to_owned();
    let body = json!({ "attributes": { "title": "b" } });
    let with_tag = [("x-csrf-token", ada.csrf.as_str()), ("if-match", &tag)];
    ada.raw("PATCH", &path, &with_tag, Some(&body)).expect(200);
    ada.raw("PATCH", &path, &with_tag, Some(&body)).expect(412);
    let exports =
        ["", "?format=ndjson", "?format=csv", "?all_variants=true"].map(|query| format!("{list}/export{query}"));
    for export in &exports {
        assert_eq!(ada.get(export).expect(200).text, server.get(export).expect(200).text, "{export}");
    }
    let before = (ada.get(&path).expect(200).data(), server.get(&path).expect(200).text);
    let (cookie, csrf) = (ada.cookie.clone(), ada.csrf.clone());
    server.kill_and_restart();
    let headers = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    let after = server.as_token("").raw("GET", &path, &headers, b"").expect(200).data();
    assert_eq!((after, server.get(&path).expect(200).text), before);
}

#[test]
fn an_idempotency_key_belongs_to_a_member() {
    let server = world();
    let (ada, bob) = (member(&server, "ada", "editor"), member(&server, "bob", "editor"));
    let body = json!({ "attributes": { "title": "a" } });
    let post = |browser: &super::Browser<'_>| {
        let headers = [("x-csrf-token", browser.csrf.as_str()), ("idempotency-key", "k")];
        browser.raw("POST", "/v2/resources/notes", &headers, Some(&body)).expect(201).data()
    };
    let first = post(&ada);
    assert_eq!(post(&ada), first);
    let other = post(&bob);
    assert_ne!(other["id"], first["id"]);
    assert_eq!(other["meta"]["created_by"]["member"]["name"], "bob");
}
