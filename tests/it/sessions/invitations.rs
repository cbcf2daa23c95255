//! The links with which members set passwords (`API.md` 5.8.4).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::{Failures, PASSWORD, Reply, Server, accept, browser, invite, member, secret_of, sign_in};
use crate::support::{ADMIN, binary};

fn read(server: &Server, secret: &str) -> Reply {
    server.as_token("").raw("GET", "/v2/invitation", &[("x-invitation", secret)], b"")
}

#[test]
fn an_invitation_is_for_one_member_and_used_once() {
    let server = Server::start();
    let id = server.member("ada", Some("author"));
    let reply = server.post(&format!("/v2/members/{id}/invitations"), &json!({})).expect(201);
    let data = reply.data();
    let url = data["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("{}/admin/invitation#bni_", server.address())), "{url}");
    assert!(data["expires_at"].as_str().unwrap().ends_with("+00:00"));
    let secret = secret_of(url);
    let shown = read(&server, &secret).expect(200).data();
    assert_eq!(shown, json!({ "email": "ada@example.org", "name": "ada", "role": "author" }));
    // An invalid body does not use the invitation up.
    let mut failures = Failures::default();
    for (body, outcome) in [
        (json!({ "token": secret, "password": "too short" }), "422 VALIDATION_FAILED"),
        (json!({ "token": secret, "password": "x".repeat(1001) }), "422 VALIDATION_FAILED"),
        (json!({ "token": secret, "password": PASSWORD, "name": " " }), "422 VALIDATION_FAILED"),
        (json!({ "token": secret, "password": PASSWORD, "email": "eve@example.org" }), "422 VALIDATION_FAILED"),
        (json!({ "token": secret, "password": PASSWORD, "role": "owner" }), "422 VALIDATION_FAILED"),
        (json!({ "password": PASSWORD }), "422 VALIDATION_FAILED"),
        (json!({ "token": format!("{secret}0"), "password": PASSWORD }), "404 NOT_FOUND"),
        (json!({ "token": "", "password": PASSWORD }), "404 NOT_FOUND"),
    ] {
        failures.check_eq(&body.to_string(), accept(&server, &body).outcome(), outcome.to_owned());
    }
    failures.assert_none();
    let body = json!({ "token": secret, "password": PASSWORD, "name": "Ada Lovelace" });
    let ada = browser(&server, accept(&server, &body));
    assert_eq!(ada.get("/v2/session").expect(200).data()["member"]["name"], "Ada Lovelace");
    accept(&server, &body).expect(404);
    read(&server, &secret).expect(404);
    sign_in(&server, "ada@example.org", PASSWORD).expect(200);
}

#[test]
fn a_newer_link_replaces_the_older_and_a_new_password_ends_all_sessions() {
    let server = Server::start();
    let ada = member(&server, "ada", "editor");
    let (older, newer) = (invite(&server, ada.member), invite(&server, ada.member));
    read(&server, &older).expect(404);
    accept(&server, &json!({ "token": older, "password": PASSWORD })).expect(404);
    ada.get("/v2/session").expect(200);
    let again = browser(&server, accept(&server, &json!({ "token": newer, "password": "another password" })));
    ada.get("/v2/session").expect(401);
    again.get("/v2/session").expect(200);
    sign_in(&server, &ada.email, PASSWORD).expect(401);
    sign_in(&server, &ada.email, "another password").expect(200);
}

#[test]
fn links_are_made_by_those_who_manage_and_die_with_their_member() {
    let server = Server::start();
    let path = format!("/v2/members/{}/invitations", server.member("ada", Some("editor")));
    let secret = secret_of(server.post(&path, &json!({})).expect(201).data()["url"].as_str().unwrap());
    let editor = member(&server, "eve", "editor");
    editor.post(&path, &json!({})).expect(403);
    let token = server.token(&["view", "update", "publish"]);
    server.as_token(&token).send("POST", &path, Some(&json!({}))).expect(403);
    server.as_token("").send("POST", &path, Some(&json!({}))).expect(401);
    server.post("/v2/members/99/invitations", &json!({})).expect(404);
    server.delete(&path.replace("/invitations", "")).expect(204);
    read(&server, &secret).expect(404);
    accept(&server, &json!({ "token": secret, "password": PASSWORD })).expect(404);
    // A member with a role without rights cannot sign in.
    let reader = server.member("reader", Some("reader"));
    let secret = invite(&server, reader);
    accept(&server, &json!({ "token": secret, "password": PASSWORD })).expect(403);
}

#[test]
fn members_show_when_they_were_seen_and_until_when_they_are_invited() {
    let mut server = Server::start();
    let id = server.member("ada", Some("viewer"));
    let path = format!("/v2/members/{id}");
    let shown = |server: &Server| {
        let data = server.get(&path).expect(200).data();
        assert_eq!(server.get("/v2/members").expect(200).data()[0], data);
        (data["last_seen_at"].clone(), data["invited_until"].clone())
    };
    assert_eq!(shown(&server), (json!(null), json!(null)));
    let invited = server.post(&format!("{path}/invitations"), &json!({})).expect(201).data();
    assert_eq!(shown(&server), (json!(null), invited["expires_at"].clone()));
    let changed = server.patch(&path, &json!({ "name": "Ada" })).expect(200).data();
    assert_eq!(changed["invited_until"], invited["expires_at"]);
    let body = json!({ "token": secret_of(invited["url"].as_str().unwrap()), "password": PASSWORD });
    let ada = browser(&server, accept(&server, &body));
    let (seen, pending) = shown(&server);
    assert!(seen.is_string() && pending.is_null(), "{seen} {pending}");
    let colleagues = ada.get("/v2/members").expect(200).text;
    assert!(!colleagues.contains("last_seen_at") && !colleagues.contains("invited_until"), "{colleagues}");
    // The link stays used after a sign-out and after a restart.
    sign_in(&server, "ada@example.org", PASSWORD).expect(200);
    let (again, _) = shown(&server);
    assert!(again.as_str() >= seen.as_str());
    ada.send("DELETE", "/v2/session", None).expect(204);
    server.kill_and_restart();
    assert_eq!(shown(&server), (again, json!(null)));
}

/// A server with its printed lines, up to a certain line.
struct Started {
    child: Child,
    printed: Vec<String>,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(folder: &Path, until: &str) -> Started {
    let mut child = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder)
        .env("BINDERY_ADMIN_TOKEN", ADMIN)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut printed = Vec::new();
    for line in lines {
        let is_last = line.contains(until);
        printed.push(line);
        if is_last {
            break;
        }
    }
    Started { child, printed }
}

impl Started {
    fn line(&self, part: &str) -> &str {
        self.printed
            .iter()
            .find(|line| line.contains(part))
            .unwrap_or_else(|| panic!("{part}: {:?}", self.printed))
            .trim()
    }

    fn post(&self, path: &str, body: &serde_json::Value) -> (u16, serde_json::Value) {
        let url = self.line("listens on").split("listens on ").nth(1).unwrap().split(',').next().unwrap().to_owned();
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let request = agent.post(format!("{url}{path}")).header("content-type", "application/json");
        let mut answer = request.send(body.to_string()).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap())
    }
}

#[test]
fn the_first_start_prints_a_link_that_makes_one_owner() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let first = start(&folder, "/admin/invitation#");
    let url = first.line("/admin/invitation#").to_owned();
    let address = first.line("listens on").split("listens on ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    assert!(url.starts_with(&format!("{address}/admin/invitation#bni_")), "{url}");
    drop(first);
    // A restart makes no second link while the first is valid.
    let second = start(&folder, "Nobody can sign in");
    assert!(second.printed.iter().all(|line| !line.contains("#bni_")), "{:?}", second.printed);
    let hint = second.line("Nobody can sign in");
    assert!(hint.contains("--role owner --url http://127.0.0.1:") && hint.contains("--token TOKEN"), "{hint}");
    let body = json!({ "token": secret_of(&url), "password": PASSWORD });
    let (status, answer) = second.post("/v2/invitation", &body);
    assert_eq!((status, answer["errors"]["fields"].as_object().map(|fields| fields.len())), (422, Some(2)), "{answer}");
    let body = json!({ "token": secret_of(&url), "password": PASSWORD, "name": "Ada", "email": "ada@example.org" });
    let (status, answer) = second.post("/v2/invitation", &body);
    assert_eq!((status, &answer["data"]["role"]), (200, &json!("owner")), "{answer}");
    assert_eq!(second.post("/v2/invitation", &body).0, 404);
    drop(second);
    let third = Server::start_in(&folder, &[]);
    let members = third.get("/v2/members").expect(200).data();
    assert_eq!(members[0]["email"], "ada@example.org");
    sign_in(&third, "ada@example.org", PASSWORD).expect(200);
}

#[test]
fn the_command_invites_on_a_server_and_in_a_folder() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let run = |arguments: &[&str]| {
        let output = Command::new(binary()).args(["member", "invite"]).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.code(), text, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let server = Server::start_in(&folder, &[]);
    let remote = ["--url", server.address(), "--token", ADMIN];
    let (code, _, error) = run(&[&["ada@example.org"], &remote[..]].concat());
    assert!(code == Some(1) && error.contains("--role"), "{error}");
    let (code, url, error) = run(&[&["ada@example.org", "--role", "editor"], &remote[..]].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(url.starts_with(server.address()), "{url}");
    let ada = browser(&server, accept(&server, &json!({ "token": secret_of(&url), "password": PASSWORD })));
    assert_eq!(ada.get("/v2/session").expect(200).data()["role"], "editor");
    // A second invitation with another role makes no second member.
    let (_, url, _) = run(&[&["ada@example.org", "--role", "viewer"], &remote[..]].concat());
    assert_eq!(read(&server, &secret_of(&url)).expect(200).data()["role"], "viewer");
    assert_eq!(server.get("/v2/members").expect(200).data().as_array().unwrap().len(), 1);
    // The invitation has a limit. Another invitation keeps it unless it says otherwise.
    server.blueprint("notes", json!([]));
    for (more, limit) in [
        (&["--blueprints", "notes"][..], json!(["notes"])),
        (&[], json!(["notes"])),
        (&["--all-blueprints"], json!(null)),
    ] {
        let (code, _, error) = run(&[&["ada@example.org"], more, &remote[..]].concat());
        assert_eq!(code, Some(0), "{error}");
        assert_eq!(server.get("/v2/members").expect(200).data()[0]["blueprints"], limit);
    }
    drop(server);
    let data = folder.to_str().unwrap();
    let (code, _, error) = run(&["eve@example.org", "--role", "viewer", "--blueprints", "nothing", "--data", data]);
    assert!(code == Some(1) && error.contains("nothing"), "{error}");
    let (code, url, error) = run(&["bob@example.org", "--role", "owner", "--name", "Bob", "--data", data]);
    assert_eq!(code, Some(0), "{error}");
    let server = Server::start_in(&folder, &[]);
    let bob = browser(&server, accept(&server, &json!({ "token": secret_of(&url), "password": PASSWORD })));
    assert_eq!(bob.get("/v2/members").expect(200).data()[1]["name"], "Bob");
}
