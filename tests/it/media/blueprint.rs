//! Blueprints of the kind `media`, and writes of the fields that the server adds (`API.md` 4.27.1 and 4.27.2).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BOUNDARY, definition, fetch, form, jpeg, png, send_form, start, text, upload};
use crate::support::{Failures, Server};

const SYSTEM: [&str; 10] =
    ["file_name", "mime", "bytes", "width", "height", "hash", "url", "placeholder", "focal_x", "focal_y"];

#[test]
fn the_server_adds_its_fields_and_accepts_them_back() {
    let server = start();
    let blueprint = server.get("/v2/blueprints/media").expect(200).data();
    let fields = blueprint["fields"].as_array().unwrap();
    let system: Vec<&str> = fields.iter().filter(|field| field["system"] == true).map(slug_of).collect();
    assert_eq!(system, SYSTEM);
    assert_eq!(slug_of(&fields[10]), "alt");

    server.put("/v2/blueprints/media", &blueprint).expect(200);
    let mut longer = blueprint.clone();
    longer["fields"].as_array_mut().unwrap().push(json!({ "name": "Caption", "type": "text" }));
    longer.as_object_mut().unwrap().remove("kind");
    server.put("/v2/blueprints/media", &longer).expect(200);
    server.put("/v2/blueprints/media", &definition()).expect(200);

    let mut changed = blueprint;
    changed["fields"][5]["name"] = json!("Other");
    assert_eq!(server.put("/v2/blueprints/media", &changed).expect(422).error_keys(), ["fields.5.slug"]);
    let own = json!({ "name": "x", "kind": "media", "fields": [{ "name": "Hash", "type": "text" }] });
    assert_eq!(server.post("/v2/blueprints", &own).expect(422).error_keys(), ["fields.0.slug"]);
    let kind = json!({ "name": "Media", "kind": "resource", "fields": [] });
    assert_eq!(server.put("/v2/blueprints/media", &kind).outcome(), "409 CONFLICT");
}

fn slug_of(field: &Value) -> &str {
    field["slug"].as_str().unwrap()
}

#[test]
fn only_an_upload_creates_media_and_sets_the_fields() {
    let server = start();
    let refused = server.post("/v2/resources/media", &json!({ "attributes": {} })).expect(422);
    assert!(refused.message().contains("POST /v2/media/media"), "{}", refused.message());
    let bulk = json!({ "resources": [{ "attributes": { "alt": "x" } }] });
    let failed = server.post("/v2/resources/media/bulk", &bulk).expect(207).data();
    assert_eq!(failed["failed"][0]["errors"]["code"], "VALIDATION_FAILED");
    let line = server.raw(
        "POST",
        "/v2/resources/media/import",
        &[("content-type", "application/x-ndjson")],
        b"{\"attributes\":{\"alt\":\"x\"}}\n",
    );
    assert_eq!(line.expect(200).lines()[0]["errors"]["code"], "VALIDATION_FAILED");

    let resource = upload(&server, "a.jpg", &jpeg(40, 20));
    let path = format!("/v2/resources/media/{}", resource["id"].as_str().unwrap());
    let mut failures = Failures::default();
    for (slug, value) in [
        ("file_name", json!("b.jpg")),
        ("mime", json!("image/png")),
        ("bytes", json!(1)),
        ("width", json!(1)),
        ("height", Value::Null),
        ("hash", json!("0".repeat(64))),
        ("url", json!("/media/x")),
        ("placeholder", Value::Null),
        ("focal_x", json!(1.5)),
        ("focal_y", json!(-0.1)),
    ] {
        let reply = server.patch(&path, &json!({ "attributes": { slug: value } }));
        failures.check_eq(slug, (reply.status, reply.error_keys()), (422, vec![slug.to_owned()]));
        let bulk = json!({ "updates": [{ "id": resource["id"], "attributes": { slug: value } }] });
        failures.check_eq(slug, server.patch("/v2/resources/media/bulk", &bulk).status, 207);
    }
    failures.assert_none();

    let mut whole = server.get(&path).expect(200).data();
    server.put(&path, &whole).expect(200);
    whole["attributes"] = json!({ "alt": "only this" });
    let kept = server.put(&path, &whole).expect(200).data();
    for slug in SYSTEM {
        assert_eq!(kept["attributes"][slug], resource["attributes"][slug], "{slug}");
    }
    let line = json!({ "id": resource["id"], "attributes": { "alt": "imported" } }).to_string();
    let imported =
        server.raw("POST", "/v2/resources/media/import", &[("content-type", "application/x-ndjson")], line.as_bytes());
    assert_eq!(imported.expect(200).lines()[0]["op"], "updated");
    let exported = server.get("/v2/resources/media/export?all_variants=true&format=ndjson").expect(200).text;
    let again = server.raw(
        "POST",
        "/v2/resources/media/import",
        &[("content-type", "application/x-ndjson")],
        exported.as_bytes(),
    );
    assert_eq!(again.expect(200).lines()[0]["op"], "updated");
}

#[test]
fn all_variants_have_the_same_file_and_the_address_changes_with_the_focal_point() {
    let server = start();
    let bytes = jpeg(40, 20);
    let parts: [(&str, Option<&str>, &[u8]); 2] =
        [("file", Some("a.jpg"), &bytes), ("attributes", None, b"{\"alt\":\"deutsch\"}")];
    let created = send_form(&server, "POST", "/v2/media/media?variant=de", &parts).expect(201).data();
    let path = format!("/v2/resources/media/{}", created["id"].as_str().unwrap());
    assert_eq!(created["attributes"]["alt"], "deutsch");
    let english = server.get(&path).expect(200).data();
    assert_eq!(english["attributes"]["alt"], Value::Null);
    assert_same(&server, &path);

    let moved = server.patch(&format!("{path}?variant=de"), &json!({ "attributes": { "focal_x": 0.25 } })).expect(200);
    let moved = moved.data();
    assert_eq!(moved["attributes"]["focal_x"], 0.25);
    assert_ne!(moved["attributes"]["url"], english["attributes"]["url"]);
    assert_eq!(moved["attributes"]["alt"], "deutsch");
    assert_same(&server, &path);
    assert_eq!(server.ids("media?filter[focal_x]=0.25&variant=en").len(), 1);
    let whole = server.get(&path).expect(200).data();
    let mut focal = whole.clone();
    focal["attributes"]["focal_y"] = json!(0.75);
    let focal = server.put(&path, &focal).expect(200).data();
    assert_ne!(focal["attributes"]["url"], whole["attributes"]["url"]);
    let back = json!({ "attributes": { "focal_x": null, "focal_y": null } });
    let back = server.patch(&path, &back).expect(200).data();
    assert_eq!(back["attributes"]["url"], english["attributes"]["url"]);
}

#[test]
fn a_working_copy_has_a_focal_point_of_its_own_until_it_becomes_live() {
    let server = Server::start();
    let mut media = definition();
    media["working_copy"] = json!(true);
    media["history"] = json!({ "keep": 10, "days": 365 });
    server.post("/v2/blueprints", &media).expect(201);
    let resource = upload(&server, "a.jpg", &jpeg(40, 20));
    let url = text(&resource, "url");
    let path = format!("/v2/resources/media/{}", resource["id"].as_str().unwrap());
    let working = format!("{path}?copy=working");
    let focal = |path: &str| server.get(path).expect(200).data()["attributes"]["focal_x"].clone();
    let crop = || super::fetch(&server, &format!("{url}&w=160&h=160&fit=cover")).expect(200);
    let before = crop();

    server.patch(&working, &json!({ "attributes": { "focal_x": 0.25, "alt": "x" } })).expect(200);
    assert_eq!((focal(&working), focal(&path)), (json!(0.25), Value::Null));
    assert_eq!(server.ids("media?filter[focal_x]=0.25&copy=working").len(), 1);
    assert_eq!(server.ids("media?filter[focal_x]=0.25").len(), 0);
    let during = crop();
    assert_eq!((&during.bytes, during.header("cache-control")), (&before.bytes, before.header("cache-control")));
    assert_eq!(text(&server.find(&format!("media/{}?copy=working", resource["id"].as_str().unwrap())), "url"), url);
    let whole = json!({ "attributes": { "alt": "only this" } });
    server.put(&working, &whole).expect(200);
    assert_eq!(focal(&working), json!(0.25), "a PUT without it keeps it");
    for (slug, value) in [("focal_x", json!(2)), ("hash", json!("0".repeat(64))), ("width", json!(1))] {
        let refused = server.patch(&working, &json!({ "attributes": { slug: value } })).expect(422);
        assert_eq!(refused.error_keys(), [slug]);
    }
    server.post(&format!("{path}/publish"), &json!({})).expect(200);
    let live = server.get(&path).expect(200).data();
    assert_eq!((&live["attributes"]["focal_x"], text(&live, "alt")), (&json!(0.25), "only this"));
    assert!(text(&live, "url").ends_with("-0.25-0.5"));
    assert_same(&server, &path);

    // The live copy changes it, too.
    server.patch(&format!("{path}?variant=de&copy=working"), &json!({ "attributes": { "focal_x": 0.5 } })).expect(200);
    server.patch(&path, &json!({ "attributes": { "focal_x": 0.75 } })).expect(200);
    let conflict = server.post(&format!("{path}/publish"), &json!({})).expect(409);
    assert_eq!(conflict.json()["errors"]["fields"]["focal_x"].as_array().unwrap().len(), 1);
    server.delete(&format!("{path}?variant=de&copy=working")).expect(204);

    // A restored revision has the focal point of its file only.
    server.post(&format!("{path}/history/1/restore"), &json!({})).expect(200);
    assert_eq!(focal(&working), Value::Null);
    server.delete(&working).expect(204);
    let bytes = png(50, 40);
    let content = format!("/v2/media/media/{}/content", resource["id"].as_str().unwrap());
    send_form(&server, "PUT", &content, &[("file", Some("b.png"), &bytes)]).expect(200);
    server.post(&format!("{path}/history/1/restore"), &json!({})).expect(200);
    assert_eq!(focal(&working), json!(0.75));
}

/// Checks that both variants have the same system fields.
#[track_caller]
fn assert_same(server: &Server, path: &str) {
    let of = |variant: &str| server.get(&format!("{path}?variant={variant}")).expect(200).data();
    let (english, german) = (of("en"), of("de"));
    for slug in SYSTEM {
        assert_eq!(english["attributes"][slug], german["attributes"][slug], "{slug}");
    }
}

#[test]
fn system_fields_can_be_filtered_sorted_counted_and_searched() {
    let server = start();
    let small = upload(&server, "small-boat.png", &png(10, 10));
    let large = upload(&server, "large-house.jpg", &jpeg(300, 200));
    let id = |resource: &Value| resource["id"].as_str().unwrap().to_owned();
    let mut failures = Failures::default();
    for (query, expected) in [
        ("filter[mime]=image/png", vec![id(&small)]),
        ("filter[mime][starts_with]=image/", vec![id(&small), id(&large)]),
        ("filter[width][gt]=100", vec![id(&large)]),
        (&*format!("filter[hash]={}", text(&small, "hash")), vec![id(&small)]),
        ("q=house", vec![id(&large)]),
        ("filter[file_name][contains]=boat", vec![id(&small)]),
    ] {
        failures.check_eq(query, server.ids(&format!("media?{query}&sort=id")), expected);
    }
    failures.check_eq("sort", server.ids("media?sort=-width"), vec![id(&large), id(&small)]);
    let list = server.get("/v2/resources/media?facets=mime&stats=bytes").expect(200).json();
    failures.check_eq("facets", list["meta"]["facets"]["mime"]["distinct"].clone(), json!(2));
    failures.check_eq("stats", list["meta"]["stats"]["bytes"]["count"].clone(), json!(2));
    failures.assert_none();
}

#[test]
fn many_files_move_to_another_folder_at_once() {
    let server = Server::start();
    let mut media = definition();
    media["fields"].as_array_mut().unwrap().push(json!({ "name": "Folder", "type": "text" }));
    server.post("/v2/blueprints", &media).expect(201);
    let files: Vec<Value> =
        (0..3).map(|number| upload(&server, &format!("{number}.png"), &png(10 + number, 10))).collect();
    let move_to = |folder: Value| {
        let update = |file: &Value| json!({ "id": file["id"], "attributes": { "folder": folder } });
        let updates: Vec<Value> = files[..2].iter().map(update).collect();
        server.patch("/v2/resources/media/bulk", &json!({ "updates": updates })).expect(200);
    };
    let count = |filter: &str| server.ids(&format!("media?filter[folder]{filter}")).len();
    move_to(json!("Holidays"));
    assert_eq!((count("=Holidays"), count("[null]=true")), (2, 1));
    let path = |file: &Value| format!("/v2/resources/media/{}", file["id"].as_str().unwrap());
    for file in &files {
        let moved = server.get(&path(file)).expect(200).data();
        for slug in SYSTEM {
            assert_eq!(moved["attributes"][slug], file["attributes"][slug], "{slug}");
        }
        super::fetch(&server, text(file, "url")).expect(200);
    }
    let facets = server.get("/v2/resources/media?facets=folder").expect(200).json();
    assert_eq!(facets["meta"]["facets"]["folder"]["values"], json!([{ "value": "Holidays", "count": 2 }]));
    move_to(Value::Null);
    assert_eq!(count("[null]=true"), 3);
}

#[test]
fn a_variant_that_is_added_later_has_the_fields_too() {
    let server = start();
    let resource = upload(&server, "a.png", &png(10, 10));
    let mut longer = definition();
    longer["variants"].as_array_mut().unwrap().push(json!({ "name": "fr", "slug": "fr" }));
    server.put("/v2/blueprints/media", &longer).expect(200);
    let path = format!("/v2/resources/media/{}?variant=fr", resource["id"].as_str().unwrap());
    assert_eq!(server.get(&path).expect(200).data()["attributes"]["hash"], resource["attributes"]["hash"]);
    assert_eq!(server.ids("media?filter[mime]=image/png&variant=fr").len(), 1);
    server.put("/v2/blueprints/media", &definition()).expect(200);
}

#[test]
fn a_variant_has_the_fields_also_if_the_server_stopped_when_it_was_added() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let mut server = Server::start_in(&folder, &[]);
    server.post("/v2/blueprints", &definition()).expect(201);
    let resource = upload(&server, "a.png", &png(10, 10));
    server.terminate();
    let failing = Server::start_failing(&folder, &[], "apply::stored=return(kill)");
    let mut longer = definition();
    longer["variants"].as_array_mut().unwrap().push(json!({ "name": "fr", "slug": "fr" }));
    let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        failing.put("/v2/blueprints/media", &longer);
    }));
    assert!(sent.is_err(), "the server answered");
    drop(failing);
    let server = Server::start_in(&folder, &[]);
    let until = Instant::now() + Duration::from_secs(30);
    while !server.ids("media?variant=fr&filter[hash][null]=true").is_empty() {
        assert!(Instant::now() < until, "the fields are missing");
        std::thread::sleep(Duration::from_millis(20));
    }
    let path = format!("/v2/resources/media/{}?variant=fr", resource["id"].as_str().unwrap());
    assert_eq!(server.get(&path).expect(200).data()["attributes"]["hash"], resource["attributes"]["hash"]);
}

#[test]
fn addresses_begin_with_the_public_url_if_there_is_one() {
    let mut server = super::start_with(&["--public-url", "https://cms.example/base"]);
    let resource = upload(&server, "a.png", &png(10, 10));
    let url = text(&resource, "url");
    assert!(url.starts_with("https://cms.example/base/media/"), "{url}");
    let id = resource["id"].as_str().unwrap();
    let path = format!("/v2/resources/media/{id}");
    for other in [&*path, &*format!("{path}?fields=attributes.url")] {
        assert_eq!(text(&server.get(other).expect(200).data(), "url"), url, "{other}");
    }
    assert_eq!(text(&server.get("/v2/resources/media").expect(200).data()[0], "url"), url);
    assert!(server.get("/v2/resources/media/export?format=csv").expect(200).text.contains(url));
    server.put(&path, &resource).expect(200);

    let before = server.get(&path).expect(200).header("etag").unwrap().to_owned();
    server.kill_and_restart_with(&["--public-url", "https://www.example"]);
    let moved = server.raw("GET", &path, &[("if-none-match", &before)], b"").expect(200);
    assert!(text(&moved.data(), "url").starts_with("https://www.example/media/"), "{}", moved.text);
    let json = ("content-type", "application/json");
    for (tag, expected) in [(&*before, 412), (moved.header("etag").unwrap(), 200)] {
        server.raw("PATCH", &path, &[json, ("if-match", tag)], b"{\"attributes\":{}}").expect(expected);
    }
}

#[test]
fn what_the_server_says_of_a_file_is_restored_together() {
    let server = Server::start();
    let mut body = definition();
    body["history"] = json!({ "keep": 50, "days": 365 });
    server.post("/v2/blueprints", &body).expect(201);
    let first = upload(&server, "a.png", &png(30, 20));
    let id = first["id"].as_str().unwrap();
    let replace = |bytes: &[u8]| {
        send_form(&server, "PUT", &format!("/v2/media/media/{id}/content"), &[("file", Some("b.jpg"), bytes)])
            .expect(200)
    };
    let of_file = ["mime", "bytes", "width", "height", "hash"];
    for asked in of_file {
        replace(&jpeg(50, 40));
        let restored =
            server.post(&format!("/v2/resources/media/{id}/history/1/restore"), &json!({ "fields": [asked] }));
        let restored = restored.expect(200).data();
        for slug in of_file {
            assert_eq!(restored["attributes"][slug], first["attributes"][slug], "{slug} with {asked}");
        }
        let delivered = fetch(&server, text(&restored, "url")).expect(200);
        assert_eq!(delivered.header("content-type"), "image/png");
    }
}

#[test]
fn a_restored_revision_without_a_file_removes_none() {
    let server = Server::start();
    let mut body = definition();
    body["history"] = json!({ "keep": 50, "days": 365 });
    body["variants"] = json!([{ "name": "en", "slug": "en", "default": true }]);
    server.post("/v2/blueprints", &body).expect(201);
    let media = upload(&server, "a.png", &png(30, 20));
    let path = format!("/v2/resources/media/{}", media["id"].as_str().unwrap());
    body["variants"] = json!([{ "name": "de", "slug": "de", "default": true }, { "name": "en", "slug": "en" }]);
    server.put("/v2/blueprints/media", &body).expect(200);
    server.patch(&path, &json!({ "attributes": { "alt": "ein Bild" } })).expect(200);
    let first = server.get(&format!("{path}/history/1")).expect(200).data();
    assert_eq!(first["attributes"]["hash"], Value::Null);
    for fields in [json!(["hash", "focal_x"]), Value::Null] {
        let asked = json!({ "fields": fields });
        let restored = server.post(&format!("{path}/history/1/restore"), &asked).expect(200).data();
        assert_same(&server, &path);
        for slug in SYSTEM {
            assert_eq!(restored["attributes"][slug], media["attributes"][slug], "{slug} with {fields}");
        }
        let alt = if fields.is_null() { Value::Null } else { json!("ein Bild") };
        assert_eq!(restored["attributes"]["alt"], alt);
    }
    fetch(&server, text(&media, "url")).expect(200);
}

#[test]
fn a_file_comes_back_from_the_trash_although_all_variants_were_replaced() {
    let server = Server::start();
    let mut body = definition();
    body["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &body).expect(201);
    let media = upload(&server, "a.png", &png(30, 20));
    let id = media["id"].as_str().unwrap();
    server.delete(&format!("/v2/resources/media/{id}")).expect(204);
    body["variants"] = json!([{ "name": "en-GB", "slug": "en-GB", "default": true }]);
    server.put("/v2/blueprints/media", &body).expect(200);
    let restored = server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200).data();
    for slug in SYSTEM {
        assert_eq!(restored["attributes"][slug], media["attributes"][slug], "{slug}");
    }
    fetch(&server, text(&media, "url")).expect(200);
}

#[test]
fn the_answer_to_a_replacement_shows_the_resource_also_to_a_token_that_may_not_read_it() {
    let server = start();
    let media = upload(&server, "a.png", &png(30, 20));
    let path = format!("/v2/resources/media/{}", media["id"].as_str().unwrap());
    server.patch(&path, &json!({ "published_at": null, "attributes": { "focal_x": 0.3 } })).expect(200);
    let token = server.token(&["update"]);
    let body = form(&[("file", Some("b.png"), &png(40, 20))]);
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let content = format!("/v2/media/media/{}/content", media["id"].as_str().unwrap());
    let reply = server.as_token(&token).raw("PUT", &content, &[("content-type", &kind)], &body).expect(200);
    assert_eq!(reply.data(), server.get(&path).expect(200).data());
    assert_eq!(reply.data()["attributes"]["width"], 40);
}
