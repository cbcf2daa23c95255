//! Tokens and members (`API.md` 5 and 4.10).

mod hidden;
mod limits;
mod logs;
mod twins;

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Failures, Server};

const ABILITIES: [&str; 8] = ["view", "preview", "create", "update", "delete", "publish", "analytics:view", "manage"];

#[test]
fn every_endpoint_requires_its_ability() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "T", "slug": "t", "type": "text" }]));
    let id = server.create("notes", json!({}));
    let item = format!("/v2/resources/notes/{id}");
    let member = format!("/v2/members/{}", server.member("ada", None));
    let note = json!({ "attributes": {} });
    let blueprint = server.get("/v2/blueprints/notes").data();
    let mut failures = Failures::default();
    for (method, path, body, abilities) in [
        ("GET", "/v2/resources/notes".to_owned(), None, "view preview"),
        ("GET", "/v2/resources/notes/export".to_owned(), None, "view preview"),
        ("GET", item.clone(), None, "view preview"),
        ("POST", "/v2/resources/notes".to_owned(), Some(note.clone()), "create"),
        (
            "POST",
            "/v2/resources/notes".to_owned(),
            Some(json!({ "attributes": {}, "published_at": "2026-01-01" })),
            "create",
        ),
        ("PUT", item.clone(), Some(note.clone()), "update"),
        ("PATCH", item.clone(), Some(note.clone()), "update"),
        ("PATCH", item.clone(), Some(json!({ "published_at": "2026-01-01" })), ""),
        ("DELETE", "/v2/resources/notes/nothing".to_owned(), None, "delete"),
        ("POST", "/v2/resources/notes/import".to_owned(), None, "manage"),
        ("GET", "/v2/blueprints".to_owned(), None, "view preview manage"),
        ("GET", "/v2/blueprints/notes".to_owned(), None, "view preview manage"),
        ("POST", "/v2/blueprints".to_owned(), Some(json!({})), "manage"),
        ("PUT", "/v2/blueprints/notes".to_owned(), Some(blueprint.clone()), "manage"),
        ("PUT", "/v2/blueprints/notes?dry_run=true".to_owned(), Some(blueprint), "manage"),
        ("DELETE", "/v2/blueprints/nothing".to_owned(), None, "manage"),
        ("GET", "/v2/tokens".to_owned(), None, "manage"),
        ("POST", "/v2/tokens".to_owned(), Some(json!({})), "manage"),
        ("DELETE", "/v2/tokens/nothing".to_owned(), None, "manage"),
        ("GET", "/v2/members".to_owned(), None, "manage"),
        ("POST", "/v2/members".to_owned(), Some(json!({})), "manage"),
        ("GET", member.clone(), None, "manage"),
        ("PATCH", member.clone(), Some(json!({})), "manage"),
        ("DELETE", "/v2/members/999".to_owned(), None, "manage"),
    ] {
        for ability in ABILITIES {
            let token = server.token(&[ability]);
            let reply = server.as_token(&token).send(method, &path, body.as_ref());
            let is_allowed = abilities.split(' ').any(|one| one == ability);
            let case = format!("{method} {path} {body:?} with {ability}");
            failures.check((reply.status != 403) == is_allowed && reply.status != 401, || {
                format!("{case}: {}", reply.outcome())
            });
            let names_one =
                abilities.is_empty() || abilities.split(' ').any(|one| reply.message().contains(&format!("`{one}`")));
            failures.check(reply.status != 403 || names_one, || format!("{case}: {}", reply.message()));
        }
        failures.check_eq(
            &format!("{method} {path} without a token"),
            server.as_token("").send(method, &path, body.as_ref()).status,
            401,
        );
    }
    // The answer to a write shows the resource even if the token may not read.
    let update = server.token(&["update"]);
    let body = json!({ "attributes": { "t": "seen" } });
    failures.check_eq(
        "seen",
        server.as_token(&update).send("PATCH", &item, Some(&body)).data()["attributes"]["t"].clone(),
        json!("seen"),
    );
    failures.assert_none();
}

#[test]
fn tokens_are_created_listed_validated_and_revoked() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let body = json!({ "name": "n", "abilities": ["update", "view", "view"], "blueprints": ["notes"], "expires_at": "2999-01-01T00:00Z" });
    let made = server.post("/v2/tokens", &body).expect(201).data();
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("bnd_") && secret.len() >= 4 + 43, "{secret}");
    assert_eq!(made["abilities"], json!(["view", "update"]));
    assert_eq!(
        (&made["blueprints"], &made["expires_at"]),
        (&json!(["notes"]), &json!("2999-01-01T00:00:00.000+00:00"))
    );
    let second = server.post("/v2/tokens", &json!({ "name": "m", "abilities": ["manage"] })).expect(201).data();
    assert_eq!((&second["blueprints"], &second["expires_at"]), (&Value::Null, &Value::Null));
    assert_ne!(second["secret"], made["secret"]);
    let listed = server.get("/v2/tokens").expect(200);
    assert!(!listed.text.contains("bnd_") && !listed.text.contains("secret"), "{}", listed.text);
    let ids: Vec<Value> = listed.data().as_array().unwrap().iter().map(|token| token["id"].clone()).collect();
    assert_eq!(ids, [made["id"].clone(), second["id"].clone()], "in order of creation, without the admin's token");

    let mut failures = Failures::default();
    for (body, keys) in [
        (json!({}), vec!["name", "abilities"]),
        (json!({ "name": "", "abilities": ["view"] }), vec!["name"]),
        (json!({ "name": 1, "abilities": ["view"] }), vec!["name"]),
        (json!({ "name": "x", "abilities": [] }), vec!["abilities"]),
        (json!({ "name": "x", "abilities": "view" }), vec!["abilities"]),
        (json!({ "name": "x", "abilities": ["look", 1, "view"] }), vec!["abilities"]),
        (json!({ "name": "x", "abilities": ["view"], "blueprints": ["nothing"] }), vec!["blueprints"]),
        (json!({ "name": "x", "abilities": ["view"], "blueprints": "notes" }), vec!["blueprints"]),
        (json!({ "name": "x", "abilities": ["view"], "blueprints": [1] }), vec!["blueprints"]),
        (json!({ "name": "x", "abilities": ["manage"], "blueprints": ["notes"] }), vec!["blueprints"]),
        (json!({ "name": "x", "abilities": ["manage"], "blueprints": [] }), vec!["blueprints"]),
        (json!({ "name": "x", "abilities": ["view"], "expires_at": "soon" }), vec!["expires_at"]),
        (json!({ "name": "x", "abilities": ["view"], "expires_at": 5 }), vec!["expires_at"]),
        (json!({ "name": "x", "abilities": ["view"], "extra": 5 }), vec!["extra"]),
    ] {
        let reply = server.post("/v2/tokens", &body);
        failures.check_eq(&body.to_string(), reply.outcome(), "422 VALIDATION_FAILED".to_owned());
        failures.check_eq(&body.to_string(), reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    let both = server.post("/v2/tokens", &json!({ "name": "x", "abilities": ["look", "see"] }));
    failures.check_eq("all errors", both.json()["errors"]["fields"]["abilities"].as_array().unwrap().len(), 2);

    // A revoked token is rejected at once. Revoking it again is a 404.
    failures.check_eq("before it is revoked", server.as_token(secret).get("/v2/resources/notes").status, 200);
    let path = format!("/v2/tokens/{}", made["id"].as_str().unwrap());
    server.delete(&path).expect(204);
    failures.check_eq(
        "after it is revoked",
        server.as_token(secret).get("/v2/resources/notes").outcome(),
        "401 UNAUTHENTICATED".to_owned(),
    );
    failures.check_eq("revoked again", server.delete(&path).status, 404);
    failures.assert_none();
}

#[test]
fn an_expired_token_is_rejected() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let soon = std::time::SystemTime::now() + Duration::from_millis(600);
    let soon = soon.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    // Formats milliseconds since 1970 as a timestamp. The standard library has no calendar.
    let (days, of_day) = (soon / 86_400_000, soon % 86_400_000);
    let (year, month, day) = date_of(days as i64);
    let seconds = of_day / 1000;
    let date = format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        of_day % 1000
    );
    let made = server
        .post("/v2/tokens", &json!({ "name": "x", "abilities": ["view"], "expires_at": date }))
        .expect(201)
        .data();
    let secret = made["secret"].as_str().unwrap();
    server.as_token(secret).get("/v2/resources/notes").expect(200);
    std::thread::sleep(Duration::from_millis(700));
    let reply = server.as_token(secret).get("/v2/resources/notes").expect(401);
    assert!(reply.message().contains("expired"), "{}", reply.text);
}

#[test]
fn the_use_of_a_token_is_noted_once_and_costs_readers_nothing() {
    let mut server = Server::start();
    server.blueprint("notes", json!([{ "name": "T", "slug": "t", "type": "text" }]));
    server.create("notes", json!({ "t": "x" }));
    let token = server.token(&["view"]);
    let used = |server: &Server| server.get("/v2/tokens").expect(200).data()[0]["last_used_at"].clone();
    assert_eq!(used(&server), Value::Null);
    // The answer is kept from before the use of the token is noted.
    let kept = server.get("/v2/resources/notes").expect(200);
    let first = server.as_token(&token).get("/v2/resources/notes").expect(200);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while used(&server).is_null() {
        assert!(std::time::Instant::now() < deadline, "the use is not noted");
        std::thread::sleep(Duration::from_millis(10));
    }
    let noted = used(&server);
    let writes = |server: &Server| server.get("/v2/status").expect(200).data()["number"].clone();
    let before = writes(&server);
    for _ in 0..50 {
        let tag = first.header("etag").unwrap();
        let reply = server.as_token(&token).raw("GET", "/v2/resources/notes", &[("if-none-match", tag)], b"");
        assert_eq!(reply.status, 304, "what was answered before is still valid");
        server.as_token(&token).get("/v2/changes").expect(200);
    }
    assert_eq!(server.get("/v2/resources/notes").expect(200).header("etag"), kept.header("etag"));
    assert_eq!((writes(&server), used(&server)), (before, noted.clone()), "reads cause no more writes");
    server.kill_and_restart();
    assert_eq!(used(&server), noted);
}

/// Returns the year, month and day of a number of days since 1970. The calendar repeats every 400 years, an era.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[test]
fn a_token_cannot_see_blueprints_outside_its_list() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    server.blueprint("secrets", json!([]));
    let id = server.create("secrets", json!({}));
    let abilities = ["preview", "create", "update", "delete", "publish"];
    let body = json!({ "name": "x", "abilities": abilities, "blueprints": ["notes"] });
    let made = server.post("/v2/tokens", &body).expect(201).data();
    let client = server.as_token(made["secret"].as_str().unwrap());
    let note = json!({ "attributes": {} });
    let mut failures = Failures::default();
    for (method, path, body, status) in [
        ("GET", "/v2/resources/notes".to_owned(), None, 200),
        ("POST", "/v2/resources/notes".to_owned(), Some(&note), 201),
        ("GET", "/v2/blueprints/notes".to_owned(), None, 200),
        ("GET", "/v2/resources/secrets".to_owned(), None, 404),
        ("GET", "/v2/resources/secrets/export".to_owned(), None, 404),
        ("GET", format!("/v2/resources/secrets/{id}"), None, 404),
        ("POST", "/v2/resources/secrets".to_owned(), Some(&note), 404),
        ("PUT", format!("/v2/resources/secrets/{id}"), Some(&note), 404),
        ("PATCH", format!("/v2/resources/secrets/{id}"), Some(&note), 404),
        ("DELETE", format!("/v2/resources/secrets/{id}"), None, 404),
        ("GET", "/v2/blueprints/secrets".to_owned(), None, 404),
    ] {
        failures.check_eq(&format!("{method} {path}"), client.send(method, &path, body).status, status);
    }
    let listed = client.get("/v2/blueprints").expect(200).data();
    failures.check_eq("listed", listed.as_array().unwrap().len(), 1);
    let hidden = client.get("/v2/resources/secrets").message();
    let absent = client.get("/v2/resources/nothing").message();
    failures.check_eq("messages", hidden.replace("secrets", "nothing"), absent);
    failures.assert_none();
}

#[test]
fn members_are_created_validated_changed_and_deleted() {
    let server = Server::start();
    let body = json!({ "name": "Ada", "email": "ada@example.org", "role": "editor" });
    let reply = server.post("/v2/members", &body).expect(201);
    let ada = reply.data();
    let id = ada["id"].as_u64().unwrap();
    assert_eq!(reply.header("location"), Some(format!("{}/v2/members/{id}", server.address()).as_str()));
    assert_eq!((&ada["name"], &ada["email"], &ada["role"]), (&body["name"], &body["email"], &body["role"]));
    let bob = server.post("/v2/members", &json!({ "name": "Bob", "email": "bob@example.org" })).expect(201).data();
    assert_eq!((bob["id"].as_u64(), &bob["role"]), (Some(id + 1), &Value::Null));
    let path = format!("/v2/members/{id}");
    assert_eq!(server.get(&path).expect(200).data(), ada);
    assert_eq!(server.get("/v2/members").expect(200).data(), json!([ada, bob]));
    let mut failures = Failures::default();
    for (method, path, body, keys) in [
        ("POST", "/v2/members", json!({}), vec!["name", "email"]),
        ("POST", "/v2/members", json!({ "name": "", "email": "x@y" }), vec!["name"]),
        ("POST", "/v2/members", json!({ "name": "X", "email": "x" }), vec!["email"]),
        ("POST", "/v2/members", json!({ "name": "X", "email": 5 }), vec!["email"]),
        ("POST", "/v2/members", json!({ "name": "X", "email": "ada@example.org" }), vec!["email"]),
        ("POST", "/v2/members", json!({ "name": "X", "email": "x@y", "role": 5 }), vec!["role"]),
        ("POST", "/v2/members", json!({ "name": "X", "email": "x@y", "role": "" }), vec!["role"]),
        ("POST", "/v2/members", json!({ "name": "X", "email": "x@y", "admin": true }), vec!["admin"]),
        ("PATCH", &path, json!({ "name": null }), vec!["name"]),
        ("PATCH", &path, json!({ "email": null }), vec!["email"]),
        ("PATCH", &path, json!({ "email": "bob@example.org" }), vec!["email"]),
        ("PATCH", &path, json!({ "nickname": "a" }), vec!["nickname"]),
    ] {
        let reply = server.send(method, path, Some(&body));
        failures.check_eq(&body.to_string(), reply.outcome(), "422 VALIDATION_FAILED".to_owned());
        failures.check_eq(&body.to_string(), reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    for (body, name, email, role) in [
        (json!({}), "Ada", "ada@example.org", json!("editor")),
        (json!({ "email": "ada@example.org" }), "Ada", "ada@example.org", json!("editor")),
        (json!({ "name": "Ada L" }), "Ada L", "ada@example.org", json!("editor")),
        (json!({ "role": null }), "Ada L", "ada@example.org", Value::Null),
        (json!({ "role": "owner", "email": "l@example.org", "id": 5 }), "Ada L", "l@example.org", json!("owner")),
    ] {
        let data = server.patch(&path, &body).expect(200).data();
        let same = data["name"] == name && data["email"] == email && data["role"] == role && data["id"] == id;
        failures.check(same, || format!("{body}: {data}"));
    }
    // Ids are never reused.
    let last = format!("/v2/members/{}", id + 1);
    server.delete(&last).expect(204);
    failures.check_eq("deleted again", server.delete(&last).status, 404);
    failures.check_eq("read after it is deleted", server.get(&last).status, 404);
    failures.check_eq("the next id", server.member("carl", None), id + 2);
    failures.assert_none();
}

#[test]
fn tokens_and_members_survive_a_restart() {
    let mut server = Server::start();
    server.blueprint("notes", json!([]));
    let (kept, revoked) = (server.token(&["view"]), server.token(&["view"]));
    let listed = server.get("/v2/tokens").data();
    server.delete(&format!("/v2/tokens/{}", listed[1]["id"].as_str().unwrap())).expect(204);
    let first = server.member("ada", None);
    server.delete(&format!("/v2/members/{first}")).expect(204);
    server.kill_and_restart();
    server.as_token(&kept).get("/v2/resources/notes").expect(200);
    server.as_token(&revoked).get("/v2/resources/notes").expect(401);
    assert_eq!(server.member("bob", None), first + 1);
}
