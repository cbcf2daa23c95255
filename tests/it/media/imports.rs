//! `bindery import --fetch-media`: the files that imported items name by their addresses on the web.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Web, definition, fetch, png, text};
use crate::support::{ADMIN, Server, binary};

/// The setting that allows the server to fetch from loopback.
const PRIVATE: [&str; 1] = ["--webhook-private-addresses"];

/// Runs an import in a folder. Returns the exit code and what it printed.
fn import(folder: &Path, place: &[&str], arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.args(["import", "posts", "posts.ndjson"]).args(arguments).args(place).current_dir(folder);
    command.env_remove("BINDERY_URL").env_remove("BINDERY_TOKEN").env("BINDERY_WEBHOOK_PRIVATE_ADDRESSES", "true");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn import_to(server: &Server, folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    import(folder, &["--url", server.address(), "--token", ADMIN], arguments)
}

/// Creates a blueprint with fields that hold addresses, in two languages.
fn posts(server: &Server) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let fields = [field("title", "text"), field("cover", "image"), field("paper", "file"), field("source", "link")];
    let variants = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    let blueprint = json!({ "name": "Posts", "slug": "posts", "fields": fields, "variants": variants });
    server.post("/v2/blueprints", &blueprint).expect(201);
}

fn write(folder: &Path, items: &[Value]) {
    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
    std::fs::write(folder.join("posts.ndjson"), lines.join("\n")).unwrap();
}

/// Returns the posts by their titles.
fn post(server: &Server, title: &str) -> Value {
    let path = format!("/v2/resources/posts?filter[title]={title}");
    server.get(&path).expect(200).data()[0].clone()
}

#[test]
fn an_import_takes_each_file_into_the_library_once() {
    let server = Server::start_with(&PRIVATE);
    server.post("/v2/blueprints", &definition()).expect(201);
    posts(&server);
    let web = Web::start(png(20, 10));
    let address = |path: &str| format!("{}{path}", web.address);
    let attributes = |title: &str, cover: &str| json!({ "title": title, "cover": cover });
    let items = [
        json!({ "key": "1", "published_at": "2026-01-01", "variants": {
            "en": { "title": "one", "cover": address("/a.png"), "paper": address("/b.png"), "source": address("/c.png") },
            "de": { "title": "eins", "cover": address("/a.png") } } }),
        json!({ "key": "2", "attributes": attributes("two", &address("/a.png")) }),
        json!({ "key": "3", "attributes": attributes("three", &address("/missing")) }),
        json!({ "key": "4", "attributes": attributes("four", "/pictures/x.png") }),
        json!({ "key": "5", "attributes": attributes("five", &format!("{}/media/x/y.png", server.address())) }),
        json!({ "key": "6", "attributes": { "title": 6, "cover": address("/a.png") } }),
    ];
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &items);
    let (code, printed) = import_to(&server, folder.path(), &["--fetch-media"]);
    assert_eq!(code, Some(1), "{printed}");
    for line in ["2 files in the library, 1 could not be fetched", "404 Not Found", "posts.ndjson.unfetched.ndjson"] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let unfetched = std::fs::read_to_string(folder.path().join("posts.ndjson.unfetched.ndjson")).unwrap();
    let unfetched: Value = serde_json::from_str(unfetched.trim()).unwrap();
    assert_eq!(unfetched["url"], address("/missing"));

    let one = post(&server, "one");
    let cover = text(&one, "cover").to_owned();
    assert!(cover.starts_with("/media/") && cover.contains("/a.png?v="), "{cover}");
    assert!(text(&one, "paper").contains("/b.png?v="));
    assert_eq!(text(&one, "source"), address("/c.png"));
    assert_eq!(text(&post(&server, "two"), "cover"), cover);
    let german = server.get("/v2/resources/posts?variant=de&filter[title]=eins").expect(200).data()[0].clone();
    assert_eq!(text(&german, "cover"), cover);
    assert_eq!(text(&post(&server, "three"), "cover"), address("/missing"));
    assert_eq!(text(&post(&server, "four"), "cover"), "/pictures/x.png");
    assert!(text(&post(&server, "five"), "cover").starts_with(server.address()));
    assert!(fetch(&server, &cover).expect(200).bytes.starts_with(b"\x89PNG"));
    // The item that failed has the new address, so that a corrected file needs nothing from the web.
    let rejected = std::fs::read_to_string(folder.path().join("posts.ndjson.rejected.ndjson")).unwrap();
    assert!(rejected.contains(&cover), "{rejected}");

    let asked = web.count("/a.png") + web.count("/b.png");
    assert_eq!((asked, web.count("/c.png")), (2, 0));
    let before = server.ids("media");
    let (code, printed) = import_to(&server, folder.path(), &["--fetch-media", "--media", "media"]);
    assert_eq!(code, Some(1), "{printed}");
    assert_eq!((web.count("/a.png") + web.count("/b.png"), web.count("/missing")), (2, 2));
    assert_eq!(server.ids("media"), before);
    assert_eq!(text(&post(&server, "two"), "cover"), cover);
}

#[test]
fn an_import_that_was_killed_goes_on_where_it_ended() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let mut server = Server::start_in(&folder, &PRIVATE);
    server.post("/v2/blueprints", &definition()).expect(201);
    posts(&server);
    server.terminate();
    let web = Web::start(png(20, 10));
    let cover = |number: u32| format!("{}/{number}.png", web.address);
    let items: Vec<Value> = (0..40)
        .map(|number| json!({ "key": number.to_string(), "attributes": { "title": number.to_string(), "cover": cover(number) } }))
        .collect();
    write(temp.path(), &items);
    // The twentieth file that is stored kills the server.
    let failing = Server::start_failing(&folder, &PRIVATE, "media::stored=19*off->return(kill)");
    let (code, printed) = import_to(&failing, temp.path(), &["--fetch-media"]);
    assert!(code == Some(1) && printed.contains("import the file again"), "{printed}");
    drop(failing);
    let mut server = Server::start_in(&folder, &PRIVATE);
    let known = server.ids("media?per_page=100").len();
    assert!((1..40).contains(&known), "{known}");
    let asked = web.asked.lock().unwrap().len();
    let (code, printed) = import_to(&server, temp.path(), &["--fetch-media"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(server.ids("media?per_page=100").len(), 40);
    assert_eq!(web.asked.lock().unwrap().len() - asked, 40 - known);

    // A data folder without a server knows the same files.
    server.terminate();
    let asked = web.asked.lock().unwrap().len();
    let (code, printed) = import(temp.path(), &["--data", folder.to_str().unwrap()], &["--fetch-media"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(web.asked.lock().unwrap().len(), asked);
    write(temp.path(), &[json!({ "key": "x", "attributes": { "title": "x", "cover": cover(99) } })]);
    let (code, printed) = import(temp.path(), &["--data", folder.to_str().unwrap()], &["--fetch-media"]);
    assert_eq!(code, Some(0), "{printed}");
    let server = Server::start_in(&folder, &[]);
    let fetched = post(&server, "x");
    fetch(&server, text(&fetched, "cover")).expect(200);
    assert_eq!(server.ids("media?per_page=100").len(), 41);
}

#[test]
fn an_import_says_which_library_it_needs_and_which_addresses_are_refused() {
    let server = Server::start();
    posts(&server);
    let web = Web::start(png(20, 10));
    let folder = tempfile::tempdir().unwrap();
    let cover = format!("{}/a.png", web.address);
    write(folder.path(), &[json!({ "key": "1", "attributes": { "title": "one", "cover": cover } })]);
    let (code, printed) = import_to(&server, folder.path(), &["--fetch-media"]);
    assert!(code == Some(1) && printed.contains("there is none"), "{printed}");
    server.post("/v2/blueprints", &definition()).expect(201);
    let (code, printed) = import_to(&server, folder.path(), &["--fetch-media", "--media", "posts"]);
    assert!(code == Some(1) && printed.contains("those are `media`"), "{printed}");
    let (code, printed) = import_to(&server, folder.path(), &["--fetch-media"]);
    assert!(code == Some(1) && printed.contains("webhook_private_addresses"), "{printed}");
    assert_eq!(text(&post(&server, "one"), "cover"), cover);
    assert!(web.asked.lock().unwrap().is_empty());
    let mut second = definition();
    second["slug"] = json!("files");
    server.post("/v2/blueprints", &second).expect(201);
    let (code, printed) = import_to(&server, folder.path(), &["--fetch-media"]);
    assert!(code == Some(1) && printed.contains("`--media`: `files`, `media`"), "{printed}");
    let (code, printed) = import_to(&server, folder.path(), &["--media", "media"]);
    assert!(code != Some(0) && printed.contains("--fetch-media"), "{printed}");
}
