//! Attacks by somebody who is not signed in, or is signed in as somebody else (`API.md` 5.8).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Failures, PASSWORD, Server, browser, cookie_of, member, sign_in, sign_in_with};
use crate::media;

#[test]
fn a_foreign_page_can_use_no_session() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let (ada, bob) = (member(&server, "ada", "owner"), member(&server, "bob", "owner"));
    let own = server.address().to_owned();
    let (csrf, other) = (ada.csrf.as_str(), bob.csrf.as_str());
    let tls = own.replace("http:", "https:");
    let mut failures = Failures::default();
    for (headers, read, write) in [
        (vec![("x-csrf-token", csrf)], 200, 201),
        (vec![("x-csrf-token", csrf), ("origin", own.as_str())], 200, 201),
        // A proxy that the configuration does not name may speak TLS.
        (vec![("x-csrf-token", csrf), ("origin", tls.as_str())], 200, 201),
        (vec![], 200, 403),
        (vec![("x-csrf-token", "")], 200, 403),
        (vec![("x-csrf-token", other)], 200, 403),
        (vec![("x-csrf-token", &csrf[1..])], 200, 403),
        (vec![("x-csrf-token", csrf), ("origin", "http://evil.example")], 403, 403),
        (vec![("x-csrf-token", csrf), ("origin", "http://127.0.0.1:1")], 403, 403),
        (vec![("x-csrf-token", csrf), ("origin", "null")], 403, 403),
        (vec![("x-csrf-token", csrf), ("origin", "")], 403, 403),
        (vec![("x-csrf-token", csrf), ("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "empty")], 200, 201),
        (vec![("x-csrf-token", csrf), ("sec-fetch-site", "none"), ("sec-fetch-dest", "document")], 200, 201),
        // A page of a subdomain, whose requests have the cookie.
        (vec![("x-csrf-token", csrf), ("sec-fetch-site", "same-site")], 403, 403),
        (vec![("x-csrf-token", csrf), ("sec-fetch-site", "cross-site")], 403, 403),
        (vec![("x-csrf-token", csrf), ("sec-fetch-site", "none"), ("sec-fetch-site", "same-site")], 403, 403),
        // Content that the dashboard shows.
        (vec![("x-csrf-token", csrf), ("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "image")], 403, 403),
    ] {
        let body = json!({ "attributes": {} });
        let case = format!("{headers:?}");
        failures.check_eq(&format!("read {case}"), ada.raw("GET", "/v2/resources/notes", &headers, None).status, read);
        let reply = ada.raw("POST", "/v2/resources/notes", &headers, Some(&body));
        failures.check_eq(&format!("write {case}"), reply.status, write);
        failures.check_eq(&format!("HEAD {case}"), ada.raw("HEAD", "/v2/resources/notes", &headers, None).status, read);
    }
    failures.assert_none();
    assert_eq!(server.ids("notes").len(), 5);
    for (method, path) in [("DELETE", "/v2/session"), ("DELETE", "/v2/members/1"), ("PATCH", "/v2/members/1")] {
        ada.raw(method, path, &[], None).expect(403);
    }
    ada.get("/v2/session").expect(200);
    // A foreign page cannot sign its visitors in either.
    sign_in_with(&server, &[("origin", "http://evil.example")], &ada.email, PASSWORD).expect(403);
    sign_in_with(&server, &[("origin", &own)], &ada.email, PASSWORD).expect(200);
    let form = [("content-type", "text/plain")];
    let body = json!({ "email": ada.email, "password": PASSWORD }).to_string();
    server.as_token("").raw("POST", "/v2/session", &form, body.as_bytes()).expect(415);
}

#[test]
fn markup_can_use_no_session_except_for_files() {
    let server = media::start();
    let ada = member(&server, "ada", "owner");
    for (destination, status) in [("empty", 200), ("document", 200), ("image", 403), ("video", 403), ("iframe", 403)] {
        let headers = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", destination)];
        for path in ["/v2/backup", "/v2/backup/media", "/v2/session", "/v2/openapi.json"] {
            assert_eq!(ada.raw("HEAD", path, &headers, None).status, status, "{destination} {path}");
        }
    }
    // A token is no session, and a browser does not add one by itself.
    server.raw("GET", "/v2/status", &[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")], b"").expect(200);
    // A preview of the site shows the pictures of drafts to whoever is signed in.
    let file: media::Part<'_> = ("file", Some("a.png"), &media::png(2, 2));
    let draft = media::send_form(&server, "POST", "/v2/media/media", &[file]).expect(201).data();
    let url = draft["attributes"]["url"].as_str().unwrap();
    for site in ["same-origin", "same-site"] {
        let headers = [("cookie", ada.cookie.as_str()), ("sec-fetch-site", site), ("sec-fetch-dest", "image")];
        media::request(&server, "GET", url, &headers).expect(200);
    }
    media::fetch(&server, url).expect(404);
}

#[test]
fn a_session_that_was_planted_is_not_taken_over() {
    let server = Server::start();
    let (ada, eve) = (member(&server, "ada", "owner"), member(&server, "eve", "viewer"));
    let planted = "bindery_session=bns_0123456789abcdef";
    let reply = sign_in_with(&server, &[("cookie", planted)], &ada.email, PASSWORD).expect(200);
    assert_ne!(cookie_of(&reply), planted);
    server.as_token("").raw("GET", "/v2/session", &[("cookie", planted)], b"").expect(401);
    // The session of Eve, which was planted in the browser of Ada, ends when Ada signs in there.
    let reply = sign_in_with(&server, &[("cookie", &eve.cookie)], &ada.email, PASSWORD);
    let now = browser(&server, reply);
    assert_eq!(now.get("/v2/session").expect(200).data()["member"]["name"], "ada");
    eve.get("/v2/session").expect(401);
    ada.get("/v2/session").expect(200);
}

#[test]
fn guessing_is_slowed_down_for_an_address_and_for_a_member() {
    let server = Server::start_with(&["--analytics-trusted-proxies", "127.0.0.1"]);
    let ada = member(&server, "ada", "owner");
    let bob = member(&server, "bob", "owner");
    let from = |address: &str, email: &str, password: &str| {
        sign_in_with(&server, &[("x-forwarded-for", address)], email, password)
    };
    // One address tries many members: the sixth guess is not checked, even if it is right.
    for guess in 0..5 {
        from("203.0.113.1", &format!("nobody{guess}@example.org"), "wrong password").expect(401);
    }
    let reply = from("203.0.113.1", &ada.email, PASSWORD).expect(429);
    let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=12).contains(&seconds), "{seconds}");
    from("203.0.113.2", &ada.email, PASSWORD).expect(200);
    // Many addresses try one member. Different letter case and spaces do not make another member.
    for (guess, email) in
        ["bob@example.org", "BOB@example.org", " bob@example.org", "Bob@Example.Org", "bob@example.org"]
            .into_iter()
            .enumerate()
    {
        from(&format!("203.0.113.1{guess}"), email, "wrong password").expect(401);
    }
    from("203.0.113.20", &bob.email, PASSWORD).expect(429);
    bob.get("/v2/session").expect(200);
    // Unknown members are slowed down like known ones, so that the delay reveals nothing.
    for guess in 0..5 {
        from(&format!("203.0.113.3{guess}"), "nobody@example.org", "wrong password").expect(401);
    }
    from("203.0.113.40", "nobody@example.org", "wrong password").expect(429);
    // Successful sign-ins are not slowed down, however many there are.
    for _ in 0..8 {
        from("203.0.113.50", &ada.email, PASSWORD).expect(200);
    }
    // All addresses of an IPv6 network count as one address.
    for guess in 0..5 {
        from(&format!("2001:db8::{guess}"), &format!("x{guess}@example.org"), "wrong password").expect(401);
    }
    from("2001:db8::ffff", &ada.email, PASSWORD).expect(429);
    // Parallel guesses are counted before they are checked.
    let wrong = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                if sign_in(&server, "ada@example.org", "wrong password").status == 401 {
                    wrong.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(wrong.into_inner(), 5);
}

/// Returns the memory of a process that is in use, in bytes.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_flood_of_sign_ins_leaves_members_their_turn_and_ordinary_reads_fast_and_memory_bounded() {
    let server = Server::start_with(&["--analytics-trusted-proxies", "127.0.0.1"]);
    server.blueprint("notes", json!([{ "name": "Title", "type": "text" }]));
    server.create("notes", json!({ "title": "a" }));
    let ada = member(&server, "ada", "owner");
    let before = resident(server.process());
    let (stop, guesses) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut slowest, mut total, mut most) = (Duration::ZERO, Duration::ZERO, 0);
    let mut failures = Failures::default();
    std::thread::scope(|scope| {
        for _ in 0..80 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // Each guess has its own address and its own member, so nothing slows it down.
                    let guess = guesses.fetch_add(1, Ordering::Relaxed);
                    let address = format!("10.{}.{}.{}", guess >> 16 & 255, guess >> 8 & 255, guess & 255);
                    let email = format!("nobody{guess}@example.org");
                    let reply = sign_in_with(&server, &[("x-forwarded-for", &address)], &email, "wrong password");
                    // The answer is the same as for a member, whose password is checked.
                    reply.expect(401);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        for read in 0..200 {
            let begun = Instant::now();
            // Each request has other parameters, so that its answer is not cached.
            ada.get(&format!("/v2/resources/notes?search=a&n={read}")).expect(200);
            server.get(&format!("/v2/resources/notes?search=a&m={read}")).expect(200);
            slowest = slowest.max(begun.elapsed());
            total += begun.elapsed();
            most = most.max(resident(server.process()));
            if read % 20 == 0 {
                let begun = Instant::now();
                let reply = sign_in(&server, &ada.email, PASSWORD);
                failures.check_eq(&format!("sign in {read}"), reply.outcome(), "200".to_owned());
                failures.check(begun.elapsed() < Duration::from_secs(2), || format!("{read}: {:?}", begun.elapsed()));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    eprintln!("{} guesses, slowest {slowest:?}, mean {:?}", guesses.load(Ordering::Relaxed), total / 400);
    failures.assert_none();
    assert!(total / 400 < Duration::from_millis(100), "{:?}", total / 400);
    // The limit: two passwords at 19 MiB, and the memory of 80 connections.
    assert!(most.saturating_sub(before) < 150 << 20, "{before} to {most}");
}
