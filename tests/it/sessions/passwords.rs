//! Members who change their own passwords (`API.md` 5.8.7).

use serde_json::{Value, json};

use super::{Failures, PASSWORD, browser, cookie_of, member, sign_in};
use crate::support::{ADMIN, Server};

const PATH: &str = "/v2/session/password";
const ANOTHER: &str = "another password";

fn change(present: &str, password: &str) -> Value {
    json!({ "current_password": present, "password": password })
}

#[test]
fn every_role_sets_its_own_password_and_ends_its_other_sessions() {
    let server = Server::start();
    for role in ["owner", "editor", "author", "viewer"] {
        let here = member(&server, role, role);
        let elsewhere = browser(&server, sign_in(&server, &here.email, PASSWORD));
        let reply = here.send("PUT", PATH, Some(&change(PASSWORD, ANOTHER))).expect(200);
        assert_eq!(reply.data()["member"]["id"], here.member, "{role}");
        assert_ne!(cookie_of(&reply), here.cookie, "{role}");
        browser(&server, reply).get("/v2/session").expect(200);
        for ended in [&here, &elsewhere] {
            ended.get("/v2/session").expect(401);
        }
        sign_in(&server, &here.email, PASSWORD).expect(401);
        sign_in(&server, &here.email, ANOTHER).expect(200);
    }
}

#[test]
fn a_new_password_outlives_a_kill() {
    let mut server = Server::start();
    let ada = member(&server, "ada", "author");
    ada.send("PUT", PATH, Some(&change(PASSWORD, ANOTHER))).expect(200);
    let email = ada.email.clone();
    server.kill_and_restart();
    sign_in(&server, &email, PASSWORD).expect(401);
    sign_in(&server, &email, ANOTHER).expect(200);
}

#[test]
fn whoever_does_not_know_the_password_or_has_no_session_changes_nothing() {
    let server = Server::start();
    let ada = member(&server, "ada", "editor");
    let mut failures = Failures::default();
    for (body, field) in [
        (change("wrong password", ANOTHER), "current_password"),
        (change("", ANOTHER), "current_password"),
        (json!({ "password": ANOTHER }), "current_password"),
        (change(PASSWORD, "too short"), "password"),
        (change(PASSWORD, &"x".repeat(1001)), "password"),
        (json!({ "current_password": PASSWORD }), "password"),
        (json!({ "current_password": PASSWORD, "password": ANOTHER, "member": 1 }), "member"),
    ] {
        let reply = ada.send("PUT", PATH, Some(&body)).expect(422);
        failures.check_eq(&body.to_string(), reply.error_keys(), vec![field.to_owned()]);
    }
    failures.assert_none();
    let body = change(PASSWORD, ANOTHER);
    ada.raw("PUT", PATH, &[], Some(&body)).expect(403);
    ada.raw("PUT", PATH, &[("x-csrf-token", &ada.csrf), ("origin", "https://evil.example")], Some(&body)).expect(403);
    server.as_token("").send("PUT", PATH, Some(&body)).expect(401);
    server.as_token(ADMIN).send("PUT", PATH, Some(&body)).expect(401);
    ada.get("/v2/session").expect(200);
    sign_in(&server, &ada.email, PASSWORD).expect(200);
}

#[test]
fn wrong_passwords_are_slowed_down() {
    let server = Server::start();
    let ada = member(&server, "ada", "editor");
    for _ in 0..5 {
        ada.send("PUT", PATH, Some(&change("wrong password", ANOTHER))).expect(422);
    }
    let reply = ada.send("PUT", PATH, Some(&change(PASSWORD, ANOTHER))).expect(429);
    assert!(reply.header("retry-after").is_some());
    ada.get("/v2/session").expect(200);
}
