//! Uses of media (`API.md` 4.27.6): referrers by relation and by address, and the deletion of what is used.

use serde_json::{Value, json};

use super::{definition, png, start, text, upload};
use crate::support::Server;

/// Creates pages that can use media in every way.
fn pages(server: &Server) {
    let relation = json!({ "blueprint": "media" });
    let body = json!({ "name": "Pages", "slug": "pages", "working_copy": true, "fields": [
        { "name": "cover", "type": "reference", "settings": relation },
        { "name": "gallery", "type": "references", "settings": { "blueprint": "media", "on_delete": "nullify" } },
        { "name": "image", "type": "image" },
        { "name": "file", "type": "file" },
        { "name": "link", "type": "link" },
        { "name": "body", "type": "rich-text" },
        { "name": "page", "type": "html-page" },
        { "name": "note", "type": "text" },
    ], "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }] });
    server.post("/v2/blueprints", &body).expect(201);
}

fn referrers(server: &Server, id: &str) -> Value {
    server.get(&format!("/v2/resources/media/{id}/referrers")).expect(200).data()
}

/// The referrers, also by what working copies hold.
fn referrers_in_working(server: &Server, id: &str) -> Value {
    server.get(&format!("/v2/resources/media/{id}/referrers?copy=working")).expect(200).data()
}

#[test]
fn every_use_counts_and_forbids_the_deletion() {
    let server = start();
    pages(&server);
    let media = upload(&server, "a.png", &png(10, 10));
    let (id, url) = (media["id"].as_str().unwrap(), text(&media, "url").to_owned());
    let path = format!("/v2/resources/media/{id}");
    assert_eq!(referrers(&server, id), json!([]));
    let html = format!("<p>text <img src=\"{url}\" alt=\"x\"></p>");
    for (field, value) in [
        ("cover", json!(id)),
        ("image", json!(url)),
        ("file", json!(format!("/media/{id}/other-name.png"))),
        ("link", json!(url)),
        ("body", json!(html)),
        ("page", json!({ "html": html })),
    ] {
        let page = server.create("pages", json!({ field: value }));
        let expected = json!([{ "blueprint": "pages", "field": field, "total": 1, "ids": [page] }]);
        assert_eq!(referrers(&server, id), expected, "{field}");
        let refused = server.delete(&path).expect(409).json();
        assert_eq!((&refused["errors"]["count"], &refused["errors"]["ids"]), (&json!(1), &json!([page])), "{field}");
        server.patch(&format!("/v2/resources/pages/{page}"), &json!({ "attributes": { field: null } })).expect(200);
        assert_eq!(referrers(&server, id), json!([]), "{field}");
        server.patch(&format!("/v2/resources/pages/{page}"), &json!({ "attributes": { field: value } })).expect(200);
        assert_eq!(referrers(&server, id), expected, "{field}");
        server.delete(&format!("/v2/resources/pages/{page}")).expect(204);
    }
    for (field, value) in
        [("note", json!(url)), ("image", json!(format!("https://other.example{url}"))), ("gallery", json!([id]))]
    {
        server.create("pages", json!({ field: value }));
    }
    let found = referrers(&server, id);
    assert_eq!((found.as_array().unwrap().len(), &found[0]["field"]), (1, &json!("gallery")));
    server.delete(&path).expect(204);
    assert_eq!(server.ids("pages?filter[gallery][has]=x").len(), 0);
}

#[test]
fn uses_in_variants_working_copies_and_drafts_count_for_those_who_see_them() {
    let server = start();
    pages(&server);
    let media = upload(&server, "a.png", &png(10, 10));
    let (id, url) = (media["id"].as_str().unwrap(), text(&media, "url").to_owned());
    let path = format!("/v2/resources/media/{id}");
    let page = server.create("pages", json!({ "note": "x" }));
    let of_page = format!("/v2/resources/pages/{page}");
    let expected = json!([{ "blueprint": "pages", "field": "image", "total": 1, "ids": [page] }]);
    let viewer = server.token(&["view"]);
    let seen = |token: &str| server.as_token(token).get(&format!("{path}/referrers")).expect(200).data();

    let change = json!({ "attributes": { "image": url } });
    server.patch(&format!("{of_page}?variant=de"), &change).expect(200);
    assert_eq!((referrers(&server, id), seen(&viewer)), (expected.clone(), expected.clone()));
    server.delete(&path).expect(409);
    server.patch(&format!("{of_page}?variant=de"), &json!({ "attributes": { "image": null } })).expect(200);

    for (field, value) in [("image", url.as_str()), ("cover", id)] {
        let change = json!({ "attributes": { field: value } });
        server.patch(&format!("{of_page}?copy=working"), &change).expect(200);
        let expected = json!([{ "blueprint": "pages", "field": field, "total": 1, "ids": [page] }]);
        assert_eq!((referrers_in_working(&server, id), referrers(&server, id)), (expected, json!([])), "{field}");
        server.as_token(&viewer).get(&format!("{path}/referrers?copy=working")).expect(403);
        let refused = server.delete(&path).expect(409).json();
        assert_eq!(refused["errors"]["count"], 1, "{field}");
        server.delete(&format!("{of_page}?copy=working")).expect(204);
        assert_eq!(referrers_in_working(&server, id), json!([]), "{field}");
    }

    let draft = server.post("/v2/resources/pages", &change).expect(201).data();
    assert_eq!((referrers(&server, id)[0]["ids"][0].clone(), seen(&viewer)), (draft["id"].clone(), json!([])));
    server.delete(&path).expect(409);
    server.delete(&format!("/v2/resources/pages/{}", draft["id"].as_str().unwrap())).expect(204);
    server.delete(&path).expect(204);
}

#[test]
fn a_file_that_very_many_pages_once_used_can_be_deleted() {
    let server = start();
    pages(&server);
    let media = upload(&server, "a.png", &png(10, 10));
    let (id, url) = (media["id"].as_str().unwrap(), text(&media, "url").to_owned());
    let path = format!("/v2/resources/media/{id}");
    let pages: Vec<String> = (0..1_100).map(|number| format!("0192b3c4-0000-7000-8000-{number:012x}")).collect();
    let line = |page: &String| json!({ "id": page, "attributes": { "image": url } }).to_string();
    let lines: Vec<String> = pages.iter().map(line).collect();
    let ndjson = [("content-type", "application/x-ndjson")];
    server.raw("POST", "/v2/resources/pages/import", &ndjson, lines.join("\n").as_bytes()).expect(200);
    assert_eq!(referrers(&server, id)[0]["total"], 1_100);
    let bulk = |method: &str, body: Value| {
        server.send(method, "/v2/resources/pages/bulk", Some(&body)).expect(200);
    };
    // Half of them are deleted, and the others lose the address, except the last one.
    let (deleted, changed) = pages[..1_099].split_at(500);
    deleted.chunks(100).for_each(|ids| bulk("DELETE", json!({ "ids": ids })));
    for ids in changed.chunks(100) {
        let update = |id: &String| json!({ "id": id, "attributes": { "image": null } });
        bulk("PATCH", json!({ "updates": ids.iter().map(update).collect::<Vec<Value>>() }));
    }
    let refused = server.delete(&path).expect(409).json();
    assert_eq!((&refused["errors"]["count"], &refused["errors"]["ids"]), (&json!(1), &json!([pages[1_099]])));
    bulk("DELETE", json!({ "ids": [pages[1_099]] }));
    server.delete(&path).expect(204);
}

#[test]
fn absolute_addresses_count_with_the_public_url() {
    let server = super::start_with(&["--public-url", "https://cms.example"]);
    pages(&server);
    let media = upload(&server, "a.png", &png(10, 10));
    let (id, url) = (media["id"].as_str().unwrap(), text(&media, "url").to_owned());
    assert!(url.starts_with("https://cms.example/media/"));
    let page = server.create("pages", json!({ "image": url, "body": format!("<img src=\"{url}\">") }));
    let fields: Vec<Value> =
        referrers(&server, id).as_array().unwrap().iter().map(|used| used["field"].clone()).collect();
    assert_eq!(fields, ["image", "body"]);
    server.delete(&format!("/v2/resources/media/{id}")).expect(409);
    server.delete(&format!("/v2/resources/pages/{page}")).expect(204);
    server.delete(&format!("/v2/resources/media/{id}")).expect(204);
}

#[test]
fn a_page_that_comes_back_from_the_trash_uses_its_media_again() {
    let server = Server::start();
    let mut media = definition();
    media["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &media).expect(201);
    let body = json!({ "name": "Pages", "slug": "pages", "trash": { "days": 30 }, "fields": [{ "name": "image", "type": "image" }] });
    server.post("/v2/blueprints", &body).expect(201);
    let media = upload(&server, "a.png", &png(10, 10));
    let (id, url) = (media["id"].as_str().unwrap(), text(&media, "url"));
    let page = server.create("pages", json!({ "image": url }));
    let path = format!("/v2/resources/media/{id}");
    server.delete(&format!("/v2/resources/pages/{page}")).expect(204);
    server.delete(&path).expect(204);
    super::fetch(&server, url).expect(404);
    server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
    super::fetch(&server, url).expect(200);
    server.post(&format!("/v2/trash/{page}/restore"), &json!({})).expect(200);
    server.delete(&path).expect(409);
}
