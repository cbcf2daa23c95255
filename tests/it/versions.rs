//! Versions come from the log: whoever applies it has the same entity tags, after a restart, a kill or a rebuild as
//! well.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::support::Server;

/// Links, and so the tags of lists, begin with it.
const PLACE: [&str; 2] = ["--public-url", "https://content.example.com"];

const LISTS: [&str; 6] = [
    "/v2/resources/notes",
    "/v2/resources/notes?filter[title][contains]=a&sort=-title&per_page=2",
    "/v2/resources/notes?filter[author.name]=Ada&expand=author",
    "/v2/resources/authors?facets=name",
    "/v2/resources/news?sort=-published_at",
    "/v2/resources/about",
];

fn fill(server: &Server) -> Vec<String> {
    let text = |name: &str| json!({ "name": name, "type": "text" });
    server.blueprint("authors", json!([text("Name")]));
    server.blueprint(
        "notes",
        json!([text("Title"), { "name": "Author", "type": "reference", "settings": { "blueprint": "authors" } }]),
    );
    let news = json!({ "name": "News", "scheduled": true, "fields": [text("Title")] });
    server.post("/v2/blueprints", &news).expect(201);
    server
        .post("/v2/blueprints", &json!({ "name": "About", "kind": "singular_resource", "fields": [text("Title")] }))
        .expect(201);
    let ada = server.create("authors", json!({ "name": "Ada" }));
    let mut notes: Vec<String> = Vec::new();
    for title in ["a", "ab", "abc", "b"] {
        notes.push(server.create("notes", json!({ "title": title, "author": ada })));
    }
    server
        .patch(&format!("/v2/resources/notes/{}", notes[0]), &json!({ "published_at": "2026-01-01T00:00:00Z" }))
        .expect(200);
    server
        .patch(
            &format!("/v2/resources/notes/{}", notes[1]),
            &json!({ "attributes": { "title": "ax" }, "published_at": null }),
        )
        .expect(200);
    server.delete(&format!("/v2/resources/notes/{}", notes.pop().unwrap())).expect(204);
    for published_at in ["2026-01-01T00:00:00Z", "2099-01-01T00:00:00Z"] {
        server.post("/v2/resources/news", &json!({ "attributes": {}, "published_at": published_at })).expect(201);
    }
    notes
}

/// The tag and the body of each answer, as a token with `manage` and as the public get it.
fn answers(server: &Server, view: &str, notes: &[String]) -> BTreeMap<String, (Option<String>, Value)> {
    let resources = notes.iter().map(|id| format!("/v2/resources/notes/{id}"));
    let paths: Vec<String> = LISTS.map(str::to_owned).into_iter().chain(resources).collect();
    let mut answers = BTreeMap::new();
    for (name, client) in [("manage", server.as_token(server.secret())), ("view", server.as_token(view))] {
        for path in &paths {
            let reply = client.get(path);
            answers.insert(format!("{name} {path}"), (reply.header("etag").map(str::to_owned), reply.json()));
        }
    }
    answers
}

#[test]
fn entity_tags_are_those_of_the_log_after_restarts_and_rebuilds() {
    let mut server = Server::start_with(&PLACE);
    let notes = fill(&server);
    let view = server.token(&["view"]);
    let first = answers(&server, &view, &notes);
    assert!(first.values().filter(|(tag, _)| tag.is_some()).count() > 12, "{first:?}");
    server.kill_and_restart_with(&PLACE);
    assert_eq!(answers(&server, &view, &notes), first);
    for folders in [&["index"][..], &["store", "index"]] {
        server.kill();
        for folder in folders {
            fs::remove_dir_all(server.folder().join(folder)).unwrap();
        }
        server.kill_and_restart_with(&PLACE);
        assert_eq!(answers(&server, &view, &notes), first, "without {folders:?}");
    }
    // They still change with what they stand for, and only with that.
    server
        .patch(&format!("/v2/resources/notes/{}", notes[1]), &json!({ "attributes": { "title": "draft" } }))
        .expect(200);
    let changed = answers(&server, &view, &notes);
    for (path, (tag, _)) in &changed {
        let concerns_notes = path.starts_with("manage")
            && path.contains("/notes")
            && !path.ends_with(&notes[0])
            && !path.ends_with(&notes[2]);
        assert_eq!(tag != &first[path].0, concerns_notes, "{path}");
    }
}
