//! The rights of each role (`API.md` 5.8.5). A change of a member's role takes effect at once.

use serde_json::{Value, json};

use super::{Browser, Failures, Server, member};

const FORBIDDEN: &str = "403 FORBIDDEN";

/// Starts a server with a blueprint and a published resource.
fn world() -> (Server, String) {
    let server = Server::start();
    let related = json!({ "blueprint": "notes", "on_delete": "nullify" });
    let fields = json!([
        { "name": "Title", "type": "text" },
        { "name": "See", "slug": "see", "type": "reference", "settings": related },
    ]);
    server.blueprint("notes", fields);
    let singular = json!({ "name": "Home", "slug": "home", "kind": "singular_resource",
        "fields": [{ "name": "Title", "type": "text" }] });
    server.post("/v2/blueprints", &singular).expect(201);
    let published = server.create("notes", json!({ "title": "published" }));
    (server, published)
}

fn draft(server: &Server, attributes: Value) -> String {
    let reply = server.post("/v2/resources/notes", &json!({ "attributes": attributes })).expect(201);
    reply.data()["id"].as_str().unwrap().to_owned()
}

#[test]
fn each_role_may_do_what_is_documented_and_nothing_else() {
    let (server, published) = world();
    let all = ["owner", "editor", "author", "viewer"].map(|role| member(&server, role, role));
    let other = server.member("other", None);
    let mut failures = Failures::default();
    let attributes = json!({ "attributes": { "title": "new" } });
    let live = json!({ "attributes": { "title": "new" }, "published_at": "2026-01-01T00:00:00Z" });
    for (method, path, body, outcomes) in [
        ("GET", "/v2/blueprints", None, ["200"; 4]),
        ("GET", "/v2/resources/notes", None, ["200"; 4]),
        ("GET", "/v2/analytics/summary", None, ["200", "200", FORBIDDEN, "200"]),
        ("POST", "/v2/resources/notes", Some(&attributes), ["201", "201", "201", FORBIDDEN]),
        ("POST", "/v2/resources/notes", Some(&live), ["201", "201", FORBIDDEN, FORBIDDEN]),
        ("PATCH", &format!("/v2/resources/notes/{published}"), Some(&attributes), ["200", "200", FORBIDDEN, FORBIDDEN]),
        ("GET", "/v2/members", None, ["200"; 4]),
        ("GET", "/v2/status", None, ["200", FORBIDDEN, FORBIDDEN, FORBIDDEN]),
        ("GET", "/v2/search?search=pub", None, ["200"; 4]),
        ("GET", "/v2/tokens", None, ["200", FORBIDDEN, FORBIDDEN, FORBIDDEN]),
        ("GET", &format!("/v2/members/{other}"), None, ["200", FORBIDDEN, FORBIDDEN, FORBIDDEN]),
        ("GET", "/v2/backup", None, ["200", FORBIDDEN, FORBIDDEN, FORBIDDEN]),
        (
            "POST",
            "/v2/blueprints",
            Some(&json!({ "name": "T", "fields": [] })),
            ["201", FORBIDDEN, FORBIDDEN, FORBIDDEN],
        ),
        (
            "POST",
            "/v2/tokens",
            Some(&json!({ "name": "t", "abilities": ["manage"] })),
            ["201", FORBIDDEN, FORBIDDEN, FORBIDDEN],
        ),
        (
            "PATCH",
            &format!("/v2/members/{other}"),
            Some(&json!({ "role": "x" })),
            ["200", FORBIDDEN, FORBIDDEN, FORBIDDEN],
        ),
        (
            "POST",
            &format!("/v2/members/{other}/invitations"),
            Some(&json!({})),
            ["201", FORBIDDEN, FORBIDDEN, FORBIDDEN],
        ),
        ("DELETE", "/v2/analytics/events?site=a.example", None, ["200", FORBIDDEN, FORBIDDEN, FORBIDDEN]),
    ] {
        for (browser, outcome) in all.iter().zip(outcomes) {
            // A backup is not text, so only its head is read.
            let method = if path == "/v2/backup" { "HEAD" } else { method };
            let reply = browser.send(method, path, body);
            let got = if path == "/v2/backup" { reply.status.to_string() } else { reply.outcome() };
            let case = format!("{} {method} {path}", browser.email);
            failures.check(outcome.starts_with(&got) || got == outcome, || format!("{case}: got {got}, not {outcome}"));
        }
    }
    for (browser, shows_emails) in all.iter().zip([true, false, false, false]) {
        let emails = browser.get("/v2/members").expect(200).text.contains("@example.org");
        failures.check_eq(&format!("{} sees emails", browser.email), emails, shows_emails);
    }
    failures.assert_none();
    server.as_token(&server.token(&["preview", "update"])).get("/v2/members").expect(403);
}

#[test]
fn an_author_changes_nothing_that_readers_see() {
    let (server, published) = world();
    let author = member(&server, "ada", "author");
    let home = server.ids("home").remove(0);
    let own = draft(&server, json!({ "title": "draft" }));
    let target = draft(&server, json!({ "title": "target" }));
    server.patch(&format!("/v2/resources/notes/{published}"), &json!({ "attributes": { "see": target } })).expect(200);
    let before = server.get("/v2/resources/notes?filter[published_at][null]=false").expect(200).text;
    let (draft_path, live_path) = (format!("/v2/resources/notes/{own}"), format!("/v2/resources/notes/{published}"));
    let (title, date) = (json!({ "attributes": { "title": "x" } }), json!("2026-02-01T00:00:00Z"));
    let dated = json!({ "attributes": { "title": "x" }, "published_at": date });
    let mut failures = Failures::default();
    for (method, path, body, outcome) in [
        ("PATCH", draft_path.as_str(), Some(title.clone()), "200"),
        ("PUT", &draft_path, Some(title.clone()), "200"),
        ("PATCH", &draft_path, Some(json!({ "published_at": date })), FORBIDDEN),
        ("PUT", &draft_path, Some(dated.clone()), FORBIDDEN),
        ("PATCH", &live_path, Some(title.clone()), FORBIDDEN),
        ("PUT", &live_path, Some(title.clone()), FORBIDDEN),
        ("PUT", &live_path, Some(dated.clone()), FORBIDDEN),
        ("PATCH", &live_path, Some(json!({ "published_at": null })), FORBIDDEN),
        ("DELETE", &live_path, None, FORBIDDEN),
        ("PATCH", &format!("/v2/resources/home/{home}"), Some(title.clone()), FORBIDDEN),
        // The published resource would lose its value.
        ("DELETE", &format!("/v2/resources/notes/{target}"), None, FORBIDDEN),
        ("POST", "/v2/resources/notes/bulk-publish", Some(json!({ "ids": [own] })), FORBIDDEN),
        ("POST", "/v2/resources/notes/import", Some(json!({ "attributes": {} })), FORBIDDEN),
    ] {
        failures.check_eq(
            &format!("{method} {path} {body:?}"),
            author.send(method, path, body.as_ref()).outcome(),
            outcome.into(),
        );
    }
    failures.assert_none();
    // Items of a bulk are decided one by one.
    let items = json!({ "resources": [{ "attributes": { "title": "a" } }, dated] });
    let reply = author.post("/v2/resources/notes/bulk", &items).expect(207).json();
    assert_eq!((reply["meta"]["created"].clone(), reply["meta"]["failed"].clone()), (json!(1), json!(1)), "{reply}");
    assert_eq!(reply["data"]["failed"][0]["errors"]["code"], "FORBIDDEN");
    let ids = json!({ "ids": [published, own] });
    let reply = author.send("DELETE", "/v2/resources/notes/bulk", Some(&ids)).expect(207).json();
    assert_eq!(reply["data"]["deleted"][0]["id"], json!(own), "{reply}");
    assert_eq!(server.get("/v2/resources/notes?filter[published_at][null]=false").expect(200).text, before);
}

#[test]
fn a_removed_or_demoted_member_loses_rights_at_once() {
    let (server, published) = world();
    let path = format!("/v2/resources/notes/{published}");
    let body = json!({ "attributes": { "title": "x" } });
    let editor = member(&server, "ada", "editor");
    let second = super::browser(&server, super::sign_in(&server, &editor.email, super::PASSWORD));
    let role = |browser: &Browser<'_>, role: Value| {
        server.patch(&format!("/v2/members/{}", browser.member), &json!({ "role": role })).expect(200);
    };
    editor.send("PATCH", &path, Some(&body)).expect(200);
    role(&editor, json!("viewer"));
    for browser in [&editor, &second] {
        browser.send("PATCH", &path, Some(&body)).expect(403);
        browser.get(&path).expect(200);
        assert_eq!(browser.get("/v2/session").expect(200).data()["role"], "viewer");
    }
    for word in [json!("translator"), json!(null), json!("Owner")] {
        role(&editor, word.clone());
        editor.get(&path).expect(403);
        let said = editor.get("/v2/session").expect(403).message();
        assert!(said.contains("`owner`, `editor`, `author` and `viewer`"), "{word}: {said}");
    }
    role(&editor, json!("owner"));
    editor.get("/v2/tokens").expect(200);
    role(&editor, json!(null));
    second.send("DELETE", "/v2/session", None).expect(204);
    role(&editor, json!("owner"));
    server.delete(&format!("/v2/members/{}", editor.member)).expect(204);
    editor.get(&path).expect(401);
    super::sign_in(&server, &editor.email, super::PASSWORD).expect(401);
    // A later member with the same name is a different member.
    server.member("ada", Some("owner"));
    editor.get(&path).expect(401);
    super::sign_in(&server, &editor.email, super::PASSWORD).expect(401);
}
