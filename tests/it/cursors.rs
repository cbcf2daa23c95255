//! Walks with cursors (`API.md` 4.2.8).

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::oracle::random::Random;
use crate::support::{Client, Server};

const LIST: &str = "/v2/resources/notes";

fn notes(server: &Server) {
    let text = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
    let fields = json!([text("title"), { "name": "n", "slug": "n", "type": "number" }]);
    let variants = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    let body = json!({ "name": "Notes", "slug": "notes", "fields": fields, "variants": variants });
    server.post("/v2/blueprints", &body).expect(201);
    server.blueprint("others", json!([text("title"), { "name": "n", "slug": "n", "type": "number" }]));
}

/// Returns the cursor of the next page.
fn next(body: &Value) -> Option<String> {
    let link = body["links"]["next"].as_str()?;
    Some(link.split("cursor=").nth(1).unwrap().to_owned())
}

fn page(client: &Client<'_>, query: &str, cursor: &str) -> Value {
    client.get(&format!("{LIST}?{query}&cursor={cursor}")).expect(200).json()
}

#[test]
fn a_cursor_belongs_to_its_list_and_outlives_restarts() {
    let mut server = Server::start();
    notes(&server);
    for n in 0..5 {
        server.create("notes", json!({ "title": format!("t{n}"), "n": n % 2 }));
        server.create("others", json!({ "title": format!("t{n}"), "n": n % 2 }));
    }
    let view = server.token(&["view"]);
    let admin = server.secret().to_owned();
    let first = page(&server.as_token(&admin), "sort=n,title&per_page=2", "");
    assert_eq!(first["meta"], json!({ "total": 5, "per_page": 2 }));
    assert_eq!((&first["links"]["prev"], &first["links"]["last"]), (&Value::Null, &Value::Null));
    assert!(first["links"]["first"].as_str().unwrap().ends_with("sort=n,title&per_page=2&cursor="));
    let cursor = next(&first).unwrap();
    server.kill_and_restart();
    let reader = server.as_token(&view);
    let list = |query: &str, cursor: &str| server.get(&format!("{LIST}?{query}&cursor={cursor}"));
    let refused = "422 INVALID_PARAMETER";
    // Parameters to which a cursor is not bound may change during the walk.
    for query in ["sort=n,title", "sort=n,title&per_page=100&fields=id", "sort=n,title&filter[n]=1&variant=en"] {
        assert_eq!(list(query, &cursor).outcome(), "200", "{query}");
    }
    for query in ["", "sort=n", "sort=-n,title", "sort=n,-title", "sort=n,title,id", "sort=n,title&variant=de"] {
        assert_eq!(list(query, &cursor).outcome(), refused, "{query}");
    }
    assert_eq!(reader.get(&format!("{LIST}?sort=n,title&cursor={cursor}")).outcome(), refused);
    assert_eq!(server.get(&format!("/v2/resources/others?sort=n,title&cursor={cursor}")).outcome(), refused);
    assert_eq!(list("sort=n,title&page=1", &cursor).outcome(), refused);
    assert_eq!(list("sort=n,title&page=1", "").outcome(), refused);
    let mut damaged: Vec<String> =
        (0..cursor.len()).map(|at| cursor[..at].to_owned()).filter(|cut| !cut.is_empty()).collect();
    damaged.extend((0..cursor.len()).map(|at| {
        let other = if cursor.as_bytes()[at] == b'A' { "B" } else { "A" };
        format!("{}{other}{}", &cursor[..at], &cursor[at + 1..])
    }));
    damaged.extend(["x".to_owned(), format!("{cursor}A"), format!("{cursor}="), "%ff".to_owned()]);
    for damaged in damaged {
        assert_eq!(list("sort=n,title", &damaged).outcome(), refused, "{damaged}");
    }
    // The error is reported even if the client has the list.
    assert_eq!(server.raw("GET", &format!("{LIST}?cursor=x"), &[("if-none-match", "*")], b"").status, 422);
    // Exports have no pages.
    assert_eq!(server.get(&format!("{LIST}/export?strict=1&cursor=")).outcome(), refused);
    server.get(&format!("{LIST}?strict=1&cursor=")).expect(200);
}

#[test]
fn a_cursor_ends_with_the_order_of_texts_in_which_it_was_made() {
    let server = Server::start();
    let mut blueprint = server.blueprint("notes", json!([{ "name": "title", "slug": "title", "type": "text" }]));
    for title in ["zinc", "öl", "oak"] {
        server.create("notes", json!({ "title": title }));
    }
    let titles = |body: &Value| -> Vec<String> {
        let data = body["data"].as_array().unwrap().iter();
        data.map(|item| item["attributes"]["title"].as_str().unwrap().to_owned()).collect()
    };
    let swedish = json!([{ "name": "sv", "slug": "sv", "default": true }]);
    let query = "sort=title&per_page=2";
    // In Swedish, `ö` comes after `z`. The copies are those of the only variant before and after the change.
    for (variants, first, second) in [(swedish, "oak öl", "oak zinc"), (json!([]), "oak zinc", "oak öl")] {
        let before = page(&server.as_token(server.secret()), query, "");
        assert_eq!(titles(&before).join(" "), first);
        blueprint["variants"] = variants;
        server.put("/v2/blueprints/notes?force=true", &blueprint).expect(200);
        let after = server.get(&format!("{LIST}?{query}&cursor={}", next(&before).unwrap()));
        assert_eq!(after.outcome(), "422 INVALID_PARAMETER", "{first}");
        assert_eq!(titles(&page(&server.as_token(server.secret()), query, "")).join(" "), second);
    }
}

#[test]
fn a_walk_beside_writes_shows_each_resource_that_is_not_written_once() {
    for (seed, sort) in
        ["", "sort=n", "sort=-n,title", "sort=title", "sort=-title,n", "sort=-updated_at", "sort=id"].iter().enumerate()
    {
        let mut random = Random::new(seed as u64);
        let mut server = Server::start();
        notes(&server);
        let attributes = |random: &mut Random| {
            let title = random.text(&["a", "B", "é", "", "z", "ab", "zz"]);
            let n = if random.chance(20) { Value::Null } else { json!(random.below(7)) };
            json!({ "title": if title.is_empty() { Value::Null } else { title.into() }, "n": n })
        };
        let mut ids: Vec<String> = (0..150).map(|_| server.create("notes", attributes(&mut random))).collect();
        let mut written: HashSet<String> = HashSet::new();
        let mut shown: BTreeMap<String, usize> = BTreeMap::new();
        let mut cursor = String::new();
        for step in 0.. {
            let body = page(&server.as_token(server.secret()), &format!("{sort}&per_page=7&fields=id"), &cursor);
            for item in body["data"].as_array().unwrap() {
                *shown.entry(item["id"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            let Some(next) = next(&body) else { break };
            cursor = next;
            assert!(step < 200, "the walk does not end");
            for _ in 0..4 {
                let id = ids[random.below(ids.len())].clone();
                let path = format!("{LIST}/{id}");
                match random.below(4) {
                    0 => drop(server.delete(&path)),
                    1 => ids.push(server.create("notes", attributes(&mut random))),
                    _ => drop(server.patch(&path, &json!({ "attributes": attributes(&mut random) }))),
                }
                written.insert(id);
            }
            // The page ends with a resource that is deleted before the walk continues.
            let last = body["data"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
            if random.chance(50) {
                server.delete(&format!("{LIST}/{last}"));
                written.insert(last);
            }
            if step == 5 {
                server.kill_and_restart();
            }
        }
        for id in ids.iter().take(150).filter(|id| !written.contains(*id)) {
            assert_eq!(shown.get(id), Some(&1), "{sort}: {id}");
        }
        assert!(written.len() < 140, "{sort}: nearly everything was written");
    }
}
