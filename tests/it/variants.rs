//! Variants (`API.md` 2.5).

use serde_json::{Value, json};

use crate::support::{Failures, Server};

fn pages(server: &Server) {
    let body = json!({
        "name": "Pages", "slug": "pages",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" },
            { "name": "Chinese", "slug": "zh-CN" }],
        "fields": [{ "name": "Title", "slug": "title", "type": "text", "required": true },
            { "name": "Count", "slug": "count", "type": "number" }],
    });
    server.post("/v2/blueprints", &body).expect(201);
}

#[test]
fn a_write_changes_only_one_copy() {
    let server = Server::start();
    pages(&server);
    let id = server.create("pages", json!({ "title": "hello", "count": 1 }));
    let path = format!("/v2/resources/pages/{id}");
    let read =
        |variant: &str| server.get(&format!("{path}?variant={variant}")).expect(200).data()["attributes"].clone();
    let empty = json!({ "title": null, "count": null });
    assert_eq!(read("de"), empty, "a read does not fall back to another variant");
    let mut failures = Failures::default();
    for (name, method, variant, attributes, outcome, expected) in [
        (
            "the first write of a copy requires the required fields",
            "PATCH",
            "de",
            json!({ "count": 2 }),
            422,
            empty.clone(),
        ),
        ("patch", "PATCH", "de", json!({ "title": "hallo" }), 200, json!({ "title": "hallo", "count": null })),
        ("patch of another field", "PATCH", "de", json!({ "count": 2 }), 200, json!({ "title": "hallo", "count": 2 })),
        ("put", "PUT", "de", json!({ "title": "servus" }), 200, json!({ "title": "servus", "count": null })),
        (
            "put without a required field",
            "PUT",
            "de",
            json!({ "count": 3 }),
            422,
            json!({ "title": "servus", "count": null }),
        ),
    ] {
        let body = json!({ "attributes": attributes });
        let reply = server.send(method, &format!("{path}?variant={variant}"), Some(&body));
        failures.check_eq(name, reply.status, outcome);
        failures.check_eq(name, read(variant), expected.clone());
        failures
            .check(reply.status != 200 || reply.data()["attributes"] == expected, || format!("{name}: {}", reply.text));
        failures.check_eq(name, read("en"), json!({ "title": "hello", "count": 1 }));
        failures.check_eq(name, read("zh-CN"), empty.clone());
    }
    // The three dates belong to the resource.
    let en = server.get(&path).data();
    let de = server.get(&format!("{path}?variant=de")).data();
    failures.check_eq("dates", (&en["updated_at"], &en["published_at"]), (&de["updated_at"], &de["published_at"]));
    let unpublish = server.patch(&format!("{path}?variant=de"), &json!({ "published_at": null })).expect(200);
    failures.check_eq(
        "the write answers with the requested copy",
        &unpublish.data()["attributes"]["title"],
        &json!("servus"),
    );
    failures.check_eq("the other copy is a draft, too", &server.get(&path).data()["published_at"], &Value::Null);
    // A create writes only the requested copy.
    let body = json!({ "attributes": { "title": "nur deutsch" } });
    let made = server.post("/v2/resources/pages?variant=de", &body).expect(201).data();
    failures.check_eq("the created copy", &made["attributes"]["title"], &json!("nur deutsch"));
    failures.check_eq(
        "the other copy",
        &server.find(&format!("pages/{}", made["id"].as_str().unwrap()))["attributes"],
        &empty,
    );
    failures.assert_none();
}

#[test]
fn writing_only_nulls_to_a_missing_copy_changes_nothing() {
    let server = Server::start();
    let variants = json!([{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }]);
    let body = json!({ "name": "v", "variants": variants, "fields": [{ "name": "t", "type": "text" }] });
    server.post("/v2/blueprints", &body).expect(201);
    let id = server.create("v", json!({ "t": "x" }));
    let path = format!("/v2/resources/v/{id}?variant=de");
    let before = server.get(&path).expect(200);
    for (method, attributes) in [("PATCH", json!({})), ("PATCH", json!({ "t": null })), ("PUT", json!({}))] {
        let reply = server.send(method, &path, Some(&json!({ "attributes": attributes }))).expect(200);
        assert_eq!(reply.data(), before.data(), "{method} {attributes}");
        assert_eq!(reply.header("etag"), before.header("etag"), "{method} {attributes}");
    }
}

#[test]
fn unknown_variants_are_rejected_and_plain_blueprints_ignore_them() {
    let server = Server::start();
    pages(&server);
    server.blueprint("plain", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let id = server.create("pages", json!({ "title": "x" }));
    let plain = server.create("plain", json!({ "title": "x" }));
    let body = json!({ "attributes": { "title": "y" } });
    let mut failures = Failures::default();
    for slug in ["fr", "DE", "", "zh", "zh-cn", "de ", "%20"] {
        let slug = slug.replace(' ', "%20");
        for (method, path, sent) in [
            ("GET", "/v2/resources/pages".to_owned(), None),
            ("GET", format!("/v2/resources/pages/{id}"), None),
            ("GET", "/v2/resources/pages/export".to_owned(), None),
            ("POST", "/v2/resources/pages".to_owned(), Some(&body)),
            ("PUT", format!("/v2/resources/pages/{id}"), Some(&body)),
            ("PATCH", format!("/v2/resources/pages/{id}"), Some(&body)),
            ("DELETE", format!("/v2/resources/pages/{id}"), None),
        ] {
            let reply = server.send(method, &format!("{path}?variant={slug}"), sent);
            let case = format!("{method} {slug}");
            failures.check_eq(&case, reply.outcome(), "422 INVALID_VARIANT".to_owned());
            failures.check(["`en`", "`de`", "`zh-CN`"].iter().all(|part| reply.message().contains(part)), || {
                reply.text.clone()
            });
        }
        failures.check_eq(
            "fallback",
            server.get(&format!("/v2/resources/pages?fallback={slug}")).code(),
            "INVALID_VARIANT".to_owned(),
        );
    }
    for path in ["/v2/resources/plain".to_owned(), format!("/v2/resources/plain/{plain}")] {
        failures.check_eq(&path, server.get(&format!("{path}?variant=fr&fallback=xx")).status, 200);
    }
    let path = format!("/v2/resources/plain/{plain}?variant=fr");
    failures.check_eq("plain write", server.patch(&path, &body).data()["attributes"]["title"].clone(), json!("y"));
    failures.check_eq(
        "a delete with a valid slug deletes all copies",
        server.delete(&format!("/v2/resources/pages/{id}?variant=de")).status,
        204,
    );
    failures.assert_none();
}

#[test]
fn fallback_fills_nulls_in_lists_and_reads() {
    let server = Server::start();
    pages(&server);
    let both = server.create("pages", json!({ "title": "hello", "count": 1 }));
    let path = format!("/v2/resources/pages/{both}?variant=de");
    server.patch(&path, &json!({ "attributes": { "title": "hallo" } })).expect(200);
    let english = server.create("pages", json!({ "title": "only", "count": 2 }));
    let mut failures = Failures::default();
    for (query, expected) in [
        ("variant=de", vec![&english, &both]),
        ("variant=de&filter[title][null]=true", vec![&english]),
        ("variant=de&filter[title]=hallo", vec![&both]),
        ("variant=de&filter[title]=hello", vec![]),
        ("variant=de&search=hallo", vec![&both]),
        ("variant=de&search=only", vec![]),
        ("variant=de&sort=title", vec![&both, &english]),
        ("variant=de&fallback=en&filter[title]=only", vec![]),
        ("filter[title]=hallo", vec![]),
        ("variant=zh-CN&filter[title][null]=true", vec![&english, &both]),
    ] {
        failures.check_eq(query, server.ids(&format!("pages?{query}")), expected.into_iter().cloned().collect());
    }
    for (query, first, second) in [
        ("variant=de", json!({ "title": null, "count": null }), json!({ "title": "hallo", "count": null })),
        ("variant=de&fallback=en", json!({ "title": "only", "count": 2 }), json!({ "title": "hallo", "count": 1 })),
        ("fallback=de", json!({ "title": "only", "count": 2 }), json!({ "title": "hello", "count": 1 })),
        (
            "variant=zh-CN&fallback=de",
            json!({ "title": null, "count": null }),
            json!({ "title": "hallo", "count": null }),
        ),
        ("variant=de&fallback=de", json!({ "title": null, "count": null }), json!({ "title": "hallo", "count": null })),
    ] {
        let listed = server.get(&format!("/v2/resources/pages?{query}")).expect(200).data();
        failures.check_eq(query, &listed[0]["attributes"], &first);
        failures.check_eq(query, &listed[1]["attributes"], &second);
        failures.check_eq(query, &server.find(&format!("pages/{both}?{query}"))["attributes"], &second);
        let exported = server.get(&format!("/v2/resources/pages/export?{query}")).expect(200).data();
        failures.check_eq(query, &exported, &listed);
    }
    let chosen = server.find(&format!("pages/{both}?variant=de&fallback=en&fields=attributes.count"));
    failures.check_eq("with fields", chosen, json!({ "attributes": { "count": 1 } }));
    failures.assert_none();
}

#[test]
fn variants_can_be_added_and_removed() {
    let server = Server::start();
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let blueprint =
        |variants: Value| json!({ "name": "Pages", "slug": "pages", "variants": variants, "fields": fields });
    let english = json!({ "name": "English", "slug": "en", "default": true });
    let german = json!({ "name": "Deutsch", "slug": "de" });
    server.post("/v2/blueprints", &blueprint(json!([]))).expect(201);
    let id = server.create("pages", json!({ "title": "first" }));
    let title = |query: &str| server.find(&format!("pages/{id}{query}"))["attributes"]["title"].clone();
    let put = |variants: Value, query: &str| server.put(&format!("/v2/blueprints/pages{query}"), &blueprint(variants));

    put(json!([german, english]), "").expect(200);
    assert_eq!((title(""), title("?variant=en"), title("?variant=de")), (json!("first"), json!("first"), Value::Null));
    server
        .patch(&format!("/v2/resources/pages/{id}?variant=de"), &json!({ "attributes": { "title": "erst" } }))
        .expect(200);

    let conflict = put(json!([english]), "").expect(409);
    assert_eq!(conflict.json()["errors"]["count"], 1);
    assert_eq!(conflict.json()["errors"]["ids"], json!([id]));
    assert_eq!(title("?variant=de"), "erst");
    let renamed = json!([{ "name": "English", "slug": "en-GB", "default": true }, german]);
    put(renamed, "").expect(409);
    let plan = put(json!([english]), "?dry_run=true&force=true").expect(200).data();
    assert_eq!((&plan["loses"], &plan["conflicts"]["count"]), (&json!({ "title": 1 }), &json!(0)));
    put(json!([english]), "?force=true").expect(200);
    put(json!([english, german]), "").expect(200);
    assert_eq!(
        (title(""), title("?variant=de")),
        (json!("first"), Value::Null),
        "a variant that is removed and added again is empty"
    );
    assert_eq!(server.ids("pages?variant=de&filter[title][null]=true"), [id.as_str()]);

    server
        .patch(&format!("/v2/resources/pages/{id}?variant=de"), &json!({ "attributes": { "title": "zweit" } }))
        .expect(200);
    put(json!([]), "").expect(409);
    put(json!([]), "?force=true").expect(200);
    assert_eq!(title(""), "first", "the copy of the default stays when all variants are removed");
    assert_eq!(server.ids("pages?filter[title]=first"), [id.as_str()]);

    for (variants, keys) in [
        (json!([{ "name": "A", "slug": "a" }]), vec!["variants"]),
        (json!([english, english]), vec!["variants.1.slug", "variants"]),
        (json!([{ "name": "A", "slug": "1a", "default": true }]), vec!["variants.0.slug"]),
        (json!([{ "name": "A", "slug": "a_b", "default": true }]), vec!["variants.0.slug"]),
        (json!([{ "name": "A", "slug": "a".repeat(36), "default": true }]), vec!["variants.0.slug"]),
        (json!([{ "name": "A", "slug": "", "default": true }]), vec!["variants.0.slug"]),
        (json!([{ "name": "A", "default": true }]), vec!["variants.0.slug"]),
        (json!([{ "name": "A", "slug": "a", "default": "yes" }]), vec!["variants.0.default", "variants"]),
        (json!({}), vec!["variants"]),
    ] {
        let reply = put(variants.clone(), "").expect(422);
        assert_eq!(reply.error_keys(), keys, "{variants}");
    }
    put(json!([{ "name": "A", "slug": "a".repeat(35), "default": true }]), "").expect(200);
}

#[test]
fn a_dangling_relation_in_one_variant_may_be_sent_in_all() {
    let server = Server::start();
    let relation = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": "pages" } });
    let body = json!({
        "name": "Pages", "slug": "pages",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }],
        "fields": [relation("one", "reference"), relation("other", "reference"), relation("many", "references")],
    });
    server.post("/v2/blueprints", &body).expect(201);
    let gone = server.create("pages", json!({}));
    let page = server.create("pages", json!({ "one": gone, "many": [gone] }));
    server.delete(&format!("/v2/resources/pages/{gone}")).expect(204);
    let path = format!("/v2/resources/pages/{page}?variant=de");
    let mut failures = Failures::default();
    for (attributes, keys) in [
        (json!({ "other": gone }), vec!["other"]),
        (json!({ "one": gone, "other": gone, "many": [gone] }), vec!["other"]),
        (json!({ "one": gone, "many": [page, gone] }), vec![]),
    ] {
        let reply = server.patch(&path, &json!({ "attributes": attributes }));
        failures.check_eq(&attributes.to_string(), reply.status, if keys.is_empty() { 200 } else { 422 });
        failures.check_eq(&attributes.to_string(), reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    // The relation stays valid as long as one variant holds it.
    let english = format!("/v2/resources/pages/{page}");
    server.patch(&english, &json!({ "attributes": { "one": null } })).expect(200);
    server.patch(&english, &json!({ "attributes": { "one": gone } })).expect(200);
    for path in [&english, &path] {
        server.patch(path, &json!({ "attributes": { "one": null } })).expect(200);
    }
    failures.check_eq(
        "no variant holds it any more",
        server.patch(&english, &json!({ "attributes": { "one": gone } })).error_keys(),
        vec!["one".to_owned()],
    );
    failures.assert_none();
}
