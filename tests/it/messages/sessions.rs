//! The messages about signing in.

use serde_json::json;

use super::Transcript;
use crate::support::Server;

const PASSWORD: &str = "correct horse battery staple";

/// Records the errors of sessions and invitations.
pub(super) fn record(transcript: &mut Transcript, server: &Server) {
    transcript.section("Signing in");
    let author = json!({ "name": "author", "email": "author@example.org", "role": "author" });
    let member = server.post("/v2/members", &author).expect(201).data()["id"].as_u64().unwrap();
    let path = format!("/v2/members/{member}");
    let invited = server.post(&format!("{path}/invitations"), &json!({})).expect(201).data();
    let secret = invited["url"].as_str().unwrap().split('#').nth(1).unwrap().to_owned();
    let json_type = ("content-type", "application/json");
    let mut ask = |method: &str, path: &str, headers: &[(&str, &str)], body: Option<serde_json::Value>| {
        let sent = body.as_ref().map(ToString::to_string).unwrap_or_default();
        let reply = server.as_token("").raw(method, path, &[headers, &[json_type]].concat(), sent.as_bytes());
        if reply.status >= 400 {
            let shown: Vec<&str> = headers.iter().map(|(name, _)| *name).filter(|name| *name != "cookie").collect();
            let body = sent.replace(&secret, "SECRET");
            transcript.record(&format!("{method} {path} {} {body}", shown.join(" ")), &reply);
        }
        reply
    };
    ask("POST", "/v2/session", &[], Some(json!({})));
    ask(
        "POST",
        "/v2/session",
        &[],
        Some(json!({ "email": "author@example.org", "password": "wrong", "remember": true })),
    );
    ask("POST", "/v2/session", &[], Some(json!({ "email": "author@example.org", "password": "wrong" })));
    ask("GET", "/v2/session", &[], None);
    ask("GET", "/v2/invitation", &[], None);
    ask("GET", "/v2/invitation", &[("x-invitation", "unknown")], None);
    ask("POST", "/v2/invitation", &[], Some(json!({ "password": PASSWORD })));
    ask("POST", "/v2/invitation", &[], Some(json!({ "token": secret, "password": "short", "email": "a@example.org" })));
    let reply = ask("POST", "/v2/invitation", &[], Some(json!({ "token": secret, "password": PASSWORD })));
    let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let csrf = reply.data()["csrf"].as_str().unwrap().to_owned();
    let session = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    let wrong = json!({ "current_password": "wrong", "password": "short" });
    ask("PUT", "/v2/session/password", &session, Some(wrong));
    let wrong = json!({ "current_password": "wrong", "password": "another password" });
    ask("PUT", "/v2/session/password", &session, Some(wrong));
    let dated = json!({ "attributes": { "must": "x" }, "published_at": "2026-01-01" });
    ask("POST", "/v2/resources/notes", &session[..1], Some(dated.clone()));
    ask("GET", "/v2/tokens", &[session[0], ("origin", "https://evil.example")], None);
    ask("GET", "/v2/tokens", &session, None);
    ask("POST", "/v2/resources/notes", &session, Some(dated));
    let note = server.ids("notes").remove(0);
    let live = format!("/v2/resources/notes/{note}");
    ask("PATCH", &live, &session, Some(json!({ "attributes": { "must": "y" } })));
    let setting = server.ids("settings").remove(0);
    ask("PATCH", &format!("/v2/resources/settings/{setting}"), &session, Some(json!({ "attributes": {} })));
    ask("GET", "/v2/sessions?member=99", &session, None);
    ask("DELETE", "/v2/sessions/x", &session, None);
    for role in [json!("translator"), json!(null)] {
        server.patch(&path, &json!({ "role": role })).expect(200);
        ask("GET", "/v2/session", &session, None);
    }
    for _ in 0..4 {
        server.as_token("").send("POST", "/v2/session", Some(&json!({ "email": "a", "password": "wrong" })));
    }
    ask("POST", "/v2/session", &[], Some(json!({ "email": "a", "password": "wrong" })));
    transcript.ask(server, server.secret(), "GET", "/v2/sessions", None);
    transcript.ask(server, server.secret(), "GET", "/v2/session", None);
    transcript.ask(server, server.secret(), "GET", "/v2/search", None);
    transcript.ask(server, server.secret(), "GET", "/v2/search?search=x&limit=0", None);
    transcript.ask(server, server.secret(), "GET", "/admin/missing.js", None);
    server.delete(&path).expect(204);
}
