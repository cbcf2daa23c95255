//! Uploads (`API.md` 4.27.3): forms, limits, types, names, keys, replacements, and files from the web.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    BOUNDARY, Part, Web, definition, fetch, form, jpeg, png, send_form, send_form_with, start, start_with, text, upload,
};
use crate::clients::attack::{Raw, head};
use crate::support::{ADMIN, Failures, Server};

#[test]
fn an_upload_answers_with_the_resource_and_what_is_known_of_the_file() {
    let server = start();
    let bytes = jpeg(300, 200);
    let parts: [Part<'_>; 3] = [
        ("attributes", None, br#"{"alt":"A boat","focal_x":0.25}"#),
        ("file", Some("boat.jpg"), &bytes),
        ("published_at", None, b"2026-01-01T00:00:00Z"),
    ];
    let reply = send_form(&server, "POST", "/v2/media/media", &parts).expect(201);
    let resource = reply.data();
    let id = resource["id"].as_str().unwrap();
    assert_eq!(reply.header("location").unwrap(), format!("{}/v2/resources/media/{id}", server.address()));
    assert!(reply.header("etag").is_some());
    let hash = text(&resource, "hash");
    let expected = json!({
        "file_name": "boat.jpg", "mime": "image/jpeg", "bytes": resource["attributes"]["bytes"], "width": 300, "height": 200,
        "hash": hash, "url": format!("/media/{id}/boat.jpg?v={hash}-0.25-0.5"),
        "placeholder": resource["attributes"]["placeholder"], "focal_x": 0.25, "focal_y": null, "alt": "A boat",
    });
    assert_eq!(resource["attributes"], expected);
    assert!(!text(&resource, "placeholder").is_empty());
    let served = fetch(&server, text(&resource, "url")).expect(200);
    assert_eq!(blake3::hash(&served.bytes).to_hex().as_str(), hash);
    assert_eq!(served.bytes.len() as u64, resource["attributes"]["bytes"].as_u64().unwrap());
    assert_eq!(server.find(&format!("media/{id}")), resource);

    let same = upload(&server, "again.jpg", &bytes);
    assert_eq!(text(&same, "hash"), hash);
    assert_ne!(same["id"], resource["id"]);
}

#[test]
fn invalid_forms_are_refused_with_the_part_that_is_wrong() {
    let server = start();
    server.blueprint("notes", json!([{ "name": "Title", "type": "text" }]));
    let bytes = png(10, 10);
    let file: Part<'_> = ("file", Some("a.png"), &bytes);
    let animation = broken_animation();
    let bitmap = bitmap();
    let mut failures = Failures::default();
    let cases: [(&str, &[Part<'_>], &str, &[&str]); 15] = [
        ("no file", &[("attributes", None, b"{}")], "422 VALIDATION_FAILED", &["file"]),
        ("two files", &[file, file], "422 VALIDATION_FAILED", &["file"]),
        ("an unknown part", &[file, ("title", None, b"x")], "422 VALIDATION_FAILED", &["title"]),
        (
            "attributes twice",
            &[file, ("attributes", None, b"{}"), ("attributes", None, b"{}")],
            "422 VALIDATION_FAILED",
            &["attributes"],
        ),
        ("no JSON", &[file, ("attributes", None, b"{")], "400 MALFORMED_JSON", &[]),
        ("an array", &[file, ("attributes", None, b"[]")], "422 VALIDATION_FAILED", &["attributes"]),
        ("an unknown attribute", &[file, ("attributes", None, b"{\"x\":1}")], "422 VALIDATION_FAILED", &["x"]),
        ("a system field", &[file, ("attributes", None, b"{\"hash\":\"1\"}")], "422 VALIDATION_FAILED", &["hash"]),
        ("no date", &[file, ("published_at", None, b"soon")], "422 VALIDATION_FAILED", &["published_at"]),
        ("an empty file", &[("file", Some("a.png"), b"")], "422 VALIDATION_FAILED", &["file"]),
        ("a broken picture", &[("file", Some("a.png"), &bytes[..40])], "422 VALIDATION_FAILED", &["file"]),
        ("a broken second frame", &[("file", Some("a.gif"), &animation)], "422 VALIDATION_FAILED", &["file"]),
        ("a bitmap that ends early", &[("file", Some("a.bmp"), &bitmap[..90])], "422 VALIDATION_FAILED", &["file"]),
        (
            "HTML",
            &[("file", Some("a.png"), b"<!doctype html><html><body>x</body></html>")],
            "415 UNSUPPORTED_MEDIA_TYPE",
            &[],
        ),
        (
            "a program",
            &[("file", Some("a.png"), b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0")],
            "415 UNSUPPORTED_MEDIA_TYPE",
            &[],
        ),
    ];
    for (name, parts, outcome, keys) in cases {
        let reply = send_form(&server, "POST", "/v2/media/media", parts);
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        failures.check_eq(name, (reply.outcome(), reply.error_keys()), (outcome.to_owned(), keys));
    }
    failures.check_eq("a blueprint without files", send_form(&server, "POST", "/v2/media/notes", &[file]).status, 422);
    failures.check_eq("an unknown blueprint", send_form(&server, "POST", "/v2/media/nothing", &[file]).status, 404);
    let json_body = server.post("/v2/media/media", &json!({}));
    failures.check_eq("JSON", json_body.outcome(), "415 UNSUPPORTED_MEDIA_TYPE".to_owned());
    let viewer = server.token(&["view", "update"]);
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let reply =
        server.as_token(&viewer).raw("POST", "/v2/media/media", &[("content-type", &content_type)], &form(&[file]));
    failures.check_eq("no ability", reply.outcome(), "403 FORBIDDEN".to_owned());
    failures.check_eq("nothing was created", server.ids("media").len(), 0);
    let whole = upload(&server, "a.bmp", &bitmap);
    failures.check_eq("a whole bitmap", &whole["attributes"]["width"], &json!(20));
    failures.assert_none();
}

/// Returns a BMP of 20 × 10 pixels, with 3 bytes for each.
fn bitmap() -> Vec<u8> {
    let head: [&[u8]; 9] = [
        b"BM",
        &654_u32.to_le_bytes(),
        &[0; 4],
        &54_u32.to_le_bytes(),
        &40_u32.to_le_bytes(),
        &20_u32.to_le_bytes(),
        &10_u32.to_le_bytes(),
        &[1, 0, 24, 0],
        &[0; 24],
    ];
    [head.concat(), vec![128; 10 * 60]].concat()
}

/// Returns a GIF of two frames, of which the second cannot be decoded.
fn broken_animation() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for shade in [0, 200] {
        let frame = image::RgbaImage::from_fn(64, 64, |x, y| [shade, (x * 3) as u8, (y * 3) as u8, 255].into());
        encoder.encode_frame(image::Frame::new(frame)).unwrap();
    }
    drop(encoder);
    // The frame has a control block of 8 bytes, a descriptor of 10, its colors, the size of codes, and blocks of up to
    // 255 bytes, each behind its length.
    let frame = bytes.windows(3).rposition(|three| three == [0x21, 0xF9, 0x04]).unwrap();
    let colors = 3 << ((bytes[frame + 17] & 7) + 1);
    let codes = frame + 18 + colors + 2;
    assert_eq!(bytes[codes - 1], 255, "the first block is full");
    bytes[codes..codes + 255].fill(0xFF);
    bytes
}

#[test]
fn the_file_has_its_own_limit_and_everything_else_the_usual_one() {
    let server = start_with(&["--media-max-bytes", "50000", "--max-body-bytes", "2000"]);
    let text = |bytes: usize| "x".repeat(bytes).into_bytes();
    let outcome = |parts: &[Part<'_>]| send_form(&server, "POST", "/v2/media/media", parts).outcome();
    assert_eq!(outcome(&[("file", Some("a.txt"), &text(50_000))]), "201");
    assert_eq!(outcome(&[("file", Some("a.txt"), &text(50_001))]), "413 PAYLOAD_TOO_LARGE");
    assert_eq!(outcome(&[("file", Some("a.txt"), &text(500_000))]), "413 PAYLOAD_TOO_LARGE");
    let attributes = json!({ "alt": "y".repeat(2_000) }).to_string();
    let parts: [Part<'_>; 2] = [("attributes", None, attributes.as_bytes()), ("file", Some("a.txt"), b"x y z")];
    assert_eq!(outcome(&parts), "413 PAYLOAD_TOO_LARGE");
}

#[test]
fn names_are_cleaned() {
    let server = start();
    let mut failures = Failures::default();
    for (sent, stored) in [
        ("../../etc/passwd.png", "passwd.png"),
        ("C:\\\\pictures\\\\a.png", "a.png"),
        ("e\u{301}vil\u{202e}gnp.png", "évilgnp.png"),
        ("..", "file"),
        ("a b (1).png", "a b (1).png"),
    ] {
        let resource = upload(&server, sent, &png(8, 8));
        failures.check_eq(sent, text(&resource, "file_name").to_owned(), stored.to_owned());
        failures.check_eq(sent, fetch(&server, text(&resource, "url")).status, 200);
    }
    let long = upload(&server, &format!("{}.png", "n".repeat(400)), &png(8, 8));
    failures
        .check(text(&long, "file_name").len() == 255 && text(&long, "file_name").ends_with(".png"), || "long".into());
    failures.assert_none();
}

#[test]
fn a_key_makes_an_upload_happen_once() {
    let server = start();
    let bytes = png(10, 10);
    let other = png(11, 11);
    let send = |key: &str, bytes: &[u8], alt: &str| {
        let attributes = json!({ "alt": alt }).to_string();
        let parts: [Part<'_>; 2] = [("file", Some("a.png"), bytes), ("attributes", None, attributes.as_bytes())];
        send_form_with(&server, "POST", "/v2/media/media", &[("idempotency-key", key)], &parts)
    };
    let first = send("k1", &bytes, "x").expect(201);
    let second = send("k1", &bytes, "x").expect(201);
    assert_eq!(first.text, second.text);
    assert_eq!(first.header("location"), second.header("location"));
    assert_eq!(server.ids("media").len(), 1);
    assert_eq!(send("k1", &other, "x").outcome(), "422 IDEMPOTENCY_KEY_REUSED");
    assert_eq!(send("k1", &bytes, "y").outcome(), "422 IDEMPOTENCY_KEY_REUSED");
    send("k2", &bytes, "x").expect(201);
    assert_eq!(server.ids("media").len(), 2);
}

#[test]
fn replacing_the_file_keeps_the_id_and_the_path_of_the_address() {
    let server = start();
    let resource = upload(&server, "boat.jpg", &jpeg(30, 20));
    let path = format!("/v2/media/media/{}/content", resource["id"].as_str().unwrap());
    let bytes = png(50, 40);
    let file: Part<'_> = ("file", Some("other.png"), &bytes);
    let stale = send_form_with(&server, "PUT", &path, &[("if-match", "\"1-1\"")], &[file]);
    assert_eq!(stale.outcome(), "412 PRECONDITION_FAILED");
    assert_eq!(send_form(&server, "PUT", &format!("{path}?copy=working"), &[file]).status, 422);
    let unknown = "/v2/media/media/0190f3a0-0000-7000-8000-000000000001/content";
    assert_eq!(send_form(&server, "PUT", unknown, &[file]).outcome(), "404 NOT_FOUND");
    // Parameters come before the resource, and the type of the body before `If-Match`.
    let working = send_form(&server, "PUT", &format!("{unknown}?copy=working"), &[file]);
    assert_eq!(working.outcome(), "422 INVALID_PARAMETER");
    let stale = [("if-match", "\"1-1\""), ("content-type", "text/plain")];
    assert_eq!(server.raw("PUT", &path, &stale, b"x").outcome(), "415 UNSUPPORTED_MEDIA_TYPE");

    let replaced = send_form(&server, "PUT", &path, &[file]).expect(200).data();
    assert_eq!(replaced["id"], resource["id"]);
    let url = |of: &serde_json::Value| text(of, "url").split_once('?').map(|(path, _)| path.to_owned()).unwrap();
    assert_eq!(url(&replaced), url(&resource));
    assert_ne!(text(&replaced, "url"), text(&resource, "url"));
    assert_eq!((&replaced["attributes"]["width"], text(&replaced, "mime")), (&json!(50), "image/png"));
    let german = server.find(&format!("media/{}?variant=de", resource["id"].as_str().unwrap()));
    assert_eq!(text(&german, "hash"), text(&replaced, "hash"));
    assert_eq!(fetch(&server, text(&resource, "url")).expect(200).header("content-type"), "image/png");
    assert_eq!(send_form(&server, "PUT", &path, &[file]).expect(200).data()["updated_at"], replaced["updated_at"]);
}

#[test]
fn a_stopped_upload_leaves_nothing() {
    let mut server = start_with(&["--client-timeout", "1"]);
    let mut stream = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v2/media/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: multipart/form-data; \
         boundary={BOUNDARY}\r\nContent-Length: 1000000\r\n\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; \
         name=\"file\"; filename=\"a.txt\"\r\n\r\nsome text",
        server.secret()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.contains("400"), "{answer}");
    drop(stream);
    let uploads = server.folder().join("media-cache/uploads");
    let is_empty = || std::fs::read_dir(&uploads).is_ok_and(|entries| entries.count() == 0);
    for _ in 0..100 {
        if is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_empty());
    assert_eq!(server.ids("media").len(), 0);
    server.terminate();
}

#[test]
fn uploads_that_one_token_has_begun_leave_slots_to_others() {
    let server = start_with(&["--client-timeout", "8"]);
    let (slow, other) = (server.token(&["create"]), server.token(&["create"]));
    let file: [Part<'_>; 1] = [("file", Some("a.txt"), b"some text")];
    let upload = |token: &str| {
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        server.as_token(token).raw("POST", "/v2/media/media", &[("content-type", &content_type)], &form(&file))
    };
    let begin = |_: usize| {
        let mut stream = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
        let head = format!(
            "POST /v2/media/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {slow}\r\nContent-Type: multipart/form-data; \
             boundary={BOUNDARY}\r\nContent-Length: 1000000\r\n\r\n--{BOUNDARY}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut begun: Vec<TcpStream> = (0..100).map(begin).collect();
    let until = |status: u16, prepare: &mut dyn FnMut()| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            prepare();
            let reply = upload(&slow);
            if reply.status == status || Instant::now() > deadline {
                return reply.expect(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // The upload that is to be refused may have had the last slot while others were refused. The next one takes it.
    let refused = until(503, &mut || begun.push(begin(0)));
    assert!(refused.message().contains("32 files of this token are being uploaded"), "{}", refused.text);
    assert!(refused.header("retry-after").is_some());
    upload(&other).expect(201);
    // A client that sends nothing loses its slot.
    until(201, &mut || ());
    drop(begun);
}

#[test]
fn a_head_of_a_part_that_never_ends_is_refused() {
    let server = start();
    let mut body = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; x=\"").into_bytes();
    body.extend("y".repeat(3 << 20).into_bytes());
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let reply = server.raw("POST", "/v2/media/media", &[("content-type", &content_type)], &body);
    assert_eq!(reply.outcome(), "400 MALFORMED_JSON");
    assert!(reply.text.contains("the head of a part of the form is too long"), "{}", reply.text);
}

/// Other bodies must be there after ten timeouts, even if they arrive steadily.
#[test]
fn a_file_may_take_longer_than_other_bodies_as_long_as_it_arrives() {
    let server = start_with(&["--client-timeout", "1"]);
    let pieces = 24;
    let body = form(&[("file", Some("slow.txt"), "a line of text\n".repeat(pieces * 1_400).as_bytes())]);
    let mut stream = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v2/media/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {}\r\n\r\n",
        server.secret(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    for piece in body.chunks(body.len().div_ceil(pieces)) {
        stream.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn files_are_fetched_from_the_web_but_not_from_private_addresses() {
    let server = start_with(&["--webhook-private-addresses"]);
    let bytes = png(20, 10);
    let web = Web::start(bytes.clone()).address;
    let fetch_from = |server: &Server, url: &str| {
        server.post("/v2/media/media/fetch", &json!({ "url": url, "attributes": { "alt": "x" } }))
    };
    let resource = fetch_from(&server, &format!("{web}/a%20b.png")).expect(201).data();
    assert_eq!((text(&resource, "file_name"), &resource["attributes"]["width"]), ("a b.png", &json!(20)));
    assert_eq!(text(&resource, "alt"), "x");
    assert_eq!(text(&fetch_from(&server, &format!("{web}/moved")).expect(201).data(), "file_name"), "a b.png");
    for url in [
        format!("{web}/loop"),
        format!("{web}/missing"),
        "ftp://x/".to_owned(),
        "x".to_owned(),
        web.replace("//", "//:secret@"),
    ] {
        assert_eq!(fetch_from(&server, &url).expect(422).error_keys(), ["url"], "{url}");
    }
    assert_eq!(server.post("/v2/media/media/fetch", &json!({})).expect(422).error_keys(), ["url"]);
    let keyed = json!({ "url": format!("{web}/c.png"), "key": "c" });
    let created = server.post("/v2/media/media/fetch", &keyed).expect(201).data();
    let known = server.post("/v2/media/media/fetch", &json!({ "url": format!("{web}/missing"), "key": "c" }));
    assert_eq!(known.expect(200).data(), created);
    for (body, key) in [
        (json!({ "url": web, "key": 1 }), "key"),
        (json!({ "url": web, "file": "x" }), "file"),
        (json!({ "url": format!("{web}/empty") }), "url"),
    ] {
        assert_eq!(server.post("/v2/media/media/fetch", &body).expect(422).error_keys(), [key], "{body}");
    }
    let unknown = server.post("/v2/media/media/fetch", &json!({ "url": web, "file": "x" })).message();
    assert!(unknown.contains("`url`, `key`"), "{unknown}");

    let closed = Server::start();
    closed.post("/v2/blueprints", &definition()).expect(201);
    for url in [&*web, "http://localhost:1/", "http://169.254.169.254/latest", "http://[::1]/", "http://0x7f.1/"] {
        assert_eq!(fetch_from(&closed, url).expect(422).error_keys(), ["url"], "{url}");
    }
}

#[test]
fn the_answer_with_a_known_file_is_kept_under_an_idempotency_key() {
    let server = start_with(&["--webhook-private-addresses"]);
    let web = Web::start(png(20, 10)).address;
    let fetch_as = |idempotency_key: &str, url: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", idempotency_key)];
        let body = json!({ "url": format!("{web}{url}"), "key": "c" });
        server.raw("POST", "/v2/media/media/fetch", &headers, body.to_string().as_bytes())
    };
    let created = fetch_as("one", "/c.png").expect(201).data();
    let known = fetch_as("two", "/c.png").expect(200);
    assert_eq!(known.data(), created);
    let path = format!("/v2/resources/media/{}", created["id"].as_str().unwrap());
    server.patch(&path, &json!({ "attributes": { "alt": "changed" } })).expect(200);
    let again = fetch_as("two", "/c.png").expect(200);
    assert_eq!((&again.text, again.header("etag")), (&known.text, known.header("etag")));
    assert_eq!(fetch_as("two", "/d.png").outcome(), "422 IDEMPOTENCY_KEY_REUSED");
    assert_eq!(fetch_as("three", "/c.png").expect(200).data()["attributes"]["alt"], "changed");
}

#[test]
fn an_upload_whose_token_is_revoked_meanwhile_is_refused() {
    let server = start();
    let resource = upload(&server, "a.png", &png(10, 10));
    let path = format!("/v2/media/media/{}/content", resource["id"].as_str().unwrap());
    let bytes = form(&[("file", Some("b.png"), &png(20, 20))]);
    for (method, path) in [("POST", "/v2/media/media"), ("PUT", &*path)] {
        let token = server.post("/v2/tokens", &json!({ "name": "upload", "abilities": ["create", "update"] }));
        let token = token.expect(201).data();
        let length = bytes.len();
        let headers = format!("content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {length}\r\n");
        let mut raw = Raw::connect(server.address());
        raw.send(head(method, path, &format!("{headers}\r\n")).replace(ADMIN, token["secret"].as_str().unwrap()));
        raw.send(&bytes[..length / 2]);
        std::thread::sleep(Duration::from_millis(500));
        server.delete(&format!("/v2/tokens/{}", token["id"].as_str().unwrap())).expect(204);
        raw.send(&bytes[length / 2..]);
        assert_eq!(raw.answer().unwrap().status, 401, "{method}");
    }
    assert_eq!(server.find("media"), json!([resource]));
}
