//! Views of lists that members save (`API.md` 4.19).

use std::process::Command;

use serde_json::{Value, json};

use super::{Browser, Failures, Server, member};
use crate::support::{ADMIN, binary};

fn save(browser: &Browser<'_>, name: &str, shared: bool) -> Value {
    let body = json!({ "blueprint": "notes", "name": name, "query": "q=a&sort=t", "shared": shared });
    browser.post("/v2/views", &body).expect(201).data()
}

fn names(browser: &Browser<'_>, query: &str) -> Vec<String> {
    let list = browser.get(&format!("/v2/views{query}")).expect(200).data();
    list.as_array().unwrap().iter().map(|view| view["name"].as_str().unwrap().to_owned()).collect()
}

fn world() -> Server {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    server.blueprint("secrets", json!([]));
    server
}

#[test]
fn a_member_has_views_of_their_own_and_sees_shared_ones() {
    let server = world();
    let (ada, bob, owner) =
        (member(&server, "ada", "viewer"), member(&server, "bob", "editor"), member(&server, "eve", "owner"));
    let own = save(&ada, "mine", false);
    let owned_by = json!({ "id": ada.member, "name": "ada" });
    assert_eq!((&own["type"], &own["query"], &own["owner"]), (&json!("view"), &json!("q=a&sort=t"), &owned_by));
    let shared = save(&ada, "ours", true);
    assert_eq!(
        (names(&ada, ""), names(&bob, "")),
        (vec!["mine".to_owned(), "ours".to_owned()], vec!["ours".to_owned()])
    );
    assert_eq!(names(&bob, "?blueprint=secrets"), Vec::<String>::new());
    let path = |view: &Value| format!("/v2/views/{}", view["id"].as_str().unwrap());
    let mut failures = Failures::default();
    let renamed = json!({ "name": "x" });
    for (browser, view, status) in
        [(&bob, &own, 404), (&bob, &shared, 403), (&owner, &own, 404), (&owner, &shared, 200)]
    {
        let case = format!("{} {}", browser.email, view["name"]);
        failures.check_eq(&case, browser.send("PATCH", &path(view), Some(&renamed)).status, status);
    }
    let changed = json!({ "name": "all", "query": "", "shared": true, "blueprint": "secrets" });
    let after = ada.send("PATCH", &path(&own), Some(&changed)).expect(200).data();
    failures.check_eq("changed", (&after["name"], &after["blueprint"]), (&json!("all"), &json!("notes")));
    failures.check_eq("seen", names(&bob, ""), vec!["all".to_owned(), "x".to_owned()]);
    for (body, key) in [
        (json!({ "name": "x", "query": "" }), "blueprint"),
        (json!({ "blueprint": "nothing", "name": "x", "query": "" }), "blueprint"),
        (json!({ "blueprint": "notes", "name": "", "query": "" }), "name"),
        (json!({ "blueprint": "notes", "name": "x" }), "query"),
        (json!({ "blueprint": "notes", "name": "x", "query": "x".repeat(8_193) }), "query"),
        (json!({ "blueprint": "notes", "name": "x", "query": "", "shared": 1 }), "shared"),
        (json!({ "blueprint": "notes", "name": "x", "query": "", "extra": 1 }), "extra"),
    ] {
        let reply = ada.post("/v2/views", &body);
        failures.check_eq(key, (reply.status, reply.error_keys()), (422, vec![key.to_owned()]));
    }
    // Tokens have no views.
    for (method, path, body) in [
        ("GET", "/v2/views".to_owned(), None),
        ("POST", "/v2/views".to_owned(), Some(&changed)),
        ("DELETE", path(&own), None),
    ] {
        failures.check_eq(method, server.send(method, &path, body).outcome(), "403 FORBIDDEN".to_owned());
    }
    ada.send("DELETE", &path(&own), None).expect(204);
    ada.send("DELETE", &path(&own), None).expect(404);
    failures.assert_none();
}

#[test]
fn views_end_with_what_they_are_of_and_outlive_kills_and_backups() {
    let mut server = world();
    let (cookie, csrf) = {
        let (ada, bob) = (member(&server, "ada", "editor"), member(&server, "bob", "editor"));
        for (name, shared) in [("mine", false), ("ours", true)] {
            save(&ada, name, shared);
        }
        let gone = json!({ "blueprint": "secrets", "name": "gone", "query": "", "shared": true });
        bob.post("/v2/views", &gone).expect(201);
        // A member has no views of a blueprint that the member may not see.
        server.patch(&format!("/v2/members/{}", bob.member), &json!({ "blueprints": ["notes"] })).expect(200);
        assert_eq!(names(&bob, ""), ["ours"]);
        bob.post("/v2/views", &gone).expect(422);
        server.patch(&format!("/v2/members/{}", bob.member), &json!({ "blueprints": null })).expect(200);
        server.delete("/v2/blueprints/secrets").expect(204);
        server.blueprint("secrets", json!([]));
        assert_eq!(names(&bob, ""), ["ours"]);
        (bob.cookie.clone(), bob.csrf.clone())
    };
    let file = server.folder().parent().unwrap().join("all.backup");
    let backup = ["backup", file.to_str().unwrap(), "--url", server.address(), "--token", ADMIN];
    assert!(Command::new(binary()).args(backup).output().unwrap().status.success());
    let folder = server.folder().parent().unwrap().join("restored");
    let restore = ["restore", file.to_str().unwrap(), "--data", folder.to_str().unwrap()];
    assert!(Command::new(binary()).args(restore).output().unwrap().status.success());
    let restored = Server::start_in(&folder, &[]);
    server.kill_and_restart();
    for server in [&server, &restored] {
        let list = server.as_token("").raw("GET", "/v2/views", &[("cookie", &cookie), ("x-csrf-token", &csrf)], b"");
        assert_eq!(list.expect(200).data()[0]["name"], "ours");
    }
    // A shared view stays when its owner is removed. Its owner then has no name.
    let members = server.get("/v2/members").expect(200).data();
    server.delete(&format!("/v2/members/{}", members[0]["id"])).expect(204);
    let list = server.as_token("").raw("GET", "/v2/views", &[("cookie", &cookie)], b"").expect(200).data();
    assert_eq!((list.as_array().unwrap().len(), &list[0]["owner"]["name"]), (1, &Value::Null));
}

#[test]
fn a_member_saves_a_hundred_views_at_most() {
    let server = world();
    let ada = member(&server, "ada", "editor");
    (0..100).for_each(|n| drop(save(&ada, &n.to_string(), n % 2 == 0)));
    let body = json!({ "blueprint": "notes", "name": "x", "query": "" });
    assert_eq!(ada.post("/v2/views", &body).outcome(), "409 CONFLICT");
    save(&member(&server, "bob", "editor"), "another member's", true);
}
