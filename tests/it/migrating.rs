//! The scripts of `docs/migrating`: what they make of exports of other servers can be imported, and imported again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{ADMIN, Server, binary};

/// The address that the files of Strapi begin with.
const STRAPI: &str = "https://cms.example.com";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn exported(name: &str) -> PathBuf {
    root().join("tests/data/migrating").join(name)
}

/// Runs a script in a folder, or says that this machine has no Python.
fn run(folder: &Path, script: &str, arguments: &[&str]) -> Option<Output> {
    let script = root().join("docs/migrating").join(script);
    let mut python = Command::new("python3");
    python.arg("-B").arg(script).args(arguments).current_dir(folder).env("DIRECTUS_TOKEN", ADMIN);
    match python.output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: `python3` cannot be run: {error}");
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the commands that a script printed. Returns what they print.
fn follow(folder: &Path, server: &Server, printed: &Output) -> String {
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let commands = text(&printed.stdout).replace("blueprint apply", "blueprint apply --yes");
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &commands]).current_dir(folder).env("PATH", path);
    let output = shell.env("BINDERY_URL", server.address()).env("BINDERY_TOKEN", ADMIN).output().unwrap();
    assert!(output.status.success(), "{commands}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

/// The sums of what the imports of a run created and updated.
fn counts(printed: &str) -> (u64, u64) {
    let sum = |word: &str| {
        let before = printed.lines().filter(|line| line.contains(" in ")).filter_map(|line| line.split(word).next());
        before.filter_map(|part| part.trim_end().rsplit([' ', ',']).next()?.parse::<u64>().ok()).sum()
    };
    (sum(" created"), sum(" updated"))
}

/// The attributes and the date of the one resource that a query finds.
#[track_caller]
fn one(server: &Server, query: &str) -> Value {
    let found = server.get(&format!("/v2/resources/{query}")).expect(200).data();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{query}: {found}");
    found[0].clone()
}

fn total(server: &Server, query: &str) -> u64 {
    server.get(&format!("/v2/resources/{query}")).expect(200).json()["meta"]["total"].as_u64().unwrap()
}

#[track_caller]
fn notes(output: &Output, expected: &[&str]) {
    let printed = text(&output.stderr);
    for line in expected {
        assert!(printed.lines().any(|printed| printed.trim_start() == *line), "{line}:\n{printed}");
    }
}

#[test]
fn an_export_of_wordpress_can_be_imported_twice() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let file = exported("wordpress.xml").display().to_string();
    let Some(output) = run(folder.path(), "wordpress.py", &[&file, "out"]) else { return };
    assert_eq!(counts(&follow(folder.path(), &server, &output)), (20, 0));
    assert_eq!(counts(&follow(folder.path(), &server, &output)), (0, 20));
    notes(
        &output,
        &[
            "1 comments: dropped",
            "1 post: dropped, with the status `trash`",
            "1 block `latest-posts`: dropped, since WordPress makes its content",
            "1 shortcode `contact-form-7`: left as text",
            "1 metadata `_secret_plugin`: dropped",
            "1 page: published without a date in UTC",
            "1 post: published without a date in UTC",
        ],
    );

    let odd = one(&server, "posts?filter[wordpress_id]=45&expand=picture,tags,author&fields=published_at,attributes");
    assert_eq!(odd["published_at"], "2026-11-25T15:12:15.000+00:00");
    assert_eq!(odd["attributes"]["title"], "Emoji 😀 and \"quotes\" bold & ‘curly’");
    assert_eq!(odd["attributes"]["source"], "https://example.com/a\nhttps://example.com/b");
    let body = odd["attributes"]["body"].as_str().unwrap();
    assert!(body.starts_with("<p>Tea &amp; cake ☕ ]]&gt; and ]]&gt; end</p>"), "{body}");
    assert!(body.contains("<figcaption>Seen in <em>Bonn</em></figcaption>"), "{body}");
    let picture = one(&server, &format!("attachments?filter[id]={}", odd["attributes"]["picture"].as_str().unwrap()));
    assert_eq!(picture["attributes"]["alt"], "Blue \"gears\" 😀");

    let classic = one(&server, "posts?filter[slug]=classic-editor");
    let body = classic["attributes"]["body"].as_str().unwrap();
    assert!(body.starts_with("<p>First line<br>\nsecond line.</p>\n<p>Second paragraph with</p>\n<figure>"), "{body}");
    let renamed = one(&server, "posts?filter[old_slugs][has]=before");
    assert_eq!(renamed["attributes"]["address"], "/2026/11/after/");

    let local = one(&server, "posts?filter[wordpress_id]=59");
    assert_eq!(local["published_at"], "2026-11-25T16:12:15.000+00:00");
    assert_eq!(one(&server, "pages?filter[wordpress_id]=61")["published_at"], "2000-01-01T00:00:00.000+00:00");

    let site = server.token(&["view"]);
    let seen = server.as_token(&site).get("/v2/resources/posts?sort=title&fields=attributes.title").expect(200).data();
    let seen: Vec<&str> =
        seen.as_array().unwrap().iter().filter_map(|post| post["attributes"]["title"].as_str()).collect();
    assert_eq!(seen.len(), 4, "neither drafts nor private and scheduled posts: {seen:?}");
    assert_eq!(one(&server, "posts?filter[status]=future")["published_at"], "2100-01-01T09:00:00.000+00:00");
}

#[test]
fn an_export_of_strapi_can_be_imported_twice() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    for part in ["schemas", "entities", "links", "configuration"] {
        let (from, to) = (exported(&format!("strapi/{part}.jsonl")), folder.path().join(part));
        std::fs::create_dir(&to).unwrap();
        std::fs::copy(from, to.join(format!("{part}_00001.jsonl"))).unwrap();
    }
    let packed = ["-m", "tarfile", "-c", "site.tar", "schemas", "entities", "links", "configuration"];
    let packed = Command::new("python3").args(packed).current_dir(folder.path()).status();
    let Some(output) = run(folder.path(), "strapi.py", &["site.tar", "out", STRAPI]) else { return };
    assert!(packed.unwrap().success());
    // The homepage is singular, so it exists already. Authors and articles relate to each other, so authors come twice.
    assert_eq!(counts(&follow(folder.path(), &server, &output)), (11, 3));
    assert_eq!(counts(&follow(folder.path(), &server, &output)), (0, 14));
    notes(
        &output,
        &[
            "1 articles: changes dropped that are not published yet",
            "1 articles: draft of a language dropped, since other languages are published",
            "1 articles: `secret` dropped, of the type `password`",
            "1 articles: `margin` dropped, since it is private",
            "1 shared.quote: `source` dropped, since it is private",
        ],
    );

    let odd = one(&server, "articles?filter[slug]=odd");
    let body = odd["attributes"]["body"].as_str().unwrap();
    assert!(
        body.contains("<em><strong> both</strong></em><u> u</u><s> s</s><code> c&lt;d&gt;</code><br>second"),
        "{body}"
    );
    let titles = ["seo_meta_title", "custom_seo_meta_title", "custom_seo_meta_title_2"];
    assert_eq!(titles.map(|field| &odd["attributes"][field]), ["Meta", "Own", "Third"]);
    let sections = &odd["attributes"]["sections"]["blocks"];
    assert_eq!(sections[1]["image"], json!([format!("{STRAPI}/uploads/raeder_gears_572772e546.png")]));
    assert_eq!(sections[1]["seo"]["metaTitle"], "nested");
    assert_eq!((odd["attributes"].get("margin"), sections[0].get("source")), (None, None), "they are private");
    let ada = one(&server, "authors?filter[name][starts_with]=Ada");
    assert_eq!((&ada["attributes"]["favourite"], &odd["attributes"]["author"]), (&odd["id"], &ada["id"]));
    assert_eq!(one(&server, "categories?variant=de&filter[slug]=technik")["attributes"]["name"], "Technik");
    assert_eq!(one(&server, "articles?variant=ar&filter[slug]=asm-ar")["published_at"], Value::Null);
    assert_eq!(total(&server, "articles?filter[title][contains]=CHANGED"), 0, "that is not published");
}

/// A server with recorded answers, of which each list has one page.
fn directus(answers: BTreeMap<String, Value>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &answers)));
    url
}

fn answer(mut stream: TcpStream, answers: &BTreeMap<String, Value>) {
    let lines: Vec<String> =
        BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let (path, query) = lines[0].split(' ').nth(1).unwrap().split_once('?').unwrap();
    let is_beyond = query.contains("offset=") && !query.contains("offset=0&");
    let (status, body) = match answers.get(path) {
        Some(_) if is_beyond => ("200 OK", json!({ "data": [] })),
        Some(data) => ("200 OK", json!({ "data": data })),
        None => ("403 Forbidden", json!({ "errors": [{ "message": "You don't have permission to access this." }] })),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all((head + &body).as_bytes());
}

#[test]
fn the_content_of_directus_can_be_imported_twice() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let recorded = std::fs::read_to_string(exported("directus.json")).unwrap();
    let mut answers: BTreeMap<String, Value> = serde_json::from_str(&recorded).unwrap();
    let url = directus(answers.clone());
    let Some(output) = run(folder.path(), "directus.py", &[&url, "out"]) else { return };
    assert_eq!(counts(&follow(folder.path(), &server, &output)), (19, 3));
    assert_eq!(counts(&follow(folder.path(), &server, &output)), (0, 22));
    notes(
        &output,
        &[
            "1 articles: `secret` dropped, of the type `hash`",
            "1 articles: `views` dropped, a number of 2^53 or more",
            "1 articles: with the status `archived`, written as drafts",
        ],
    );

    let odd = one(&server, "articles?filter[directus_key]=41");
    assert_eq!(odd["attributes"]["title"], "Emoji 😀 & \"quotes\" <b>");
    let blocks = odd["attributes"]["blocks"]["blocks"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().filter_map(|block| block["collection"].as_str()).collect();
    assert_eq!(kinds, ["block_quote", "block_image", "block_quote"]);
    assert_eq!(odd["attributes"]["gallery"], json!([odd["attributes"]["cover"]]));
    let arabic = one(&server, "articles?variant=ar-SA&filter[translations_slug]=asm-ar");
    assert_eq!((&arabic["id"], &arabic["attributes"]["kind"]), (&odd["id"], &odd["attributes"]["kind"]));
    let ada = one(&server, "authors?filter[name][starts_with]=Ada");
    assert_eq!((&ada["attributes"]["favourite"], &odd["attributes"]["author"]), (&odd["id"], &ada["id"]));
    let site = server.token(&["view"]);
    let seen = server.as_token(&site).get("/v2/resources/articles?filter[directus_key]=45").expect(200).json();
    assert_eq!(seen["meta"]["total"], 0, "it is published in 2100");

    // A part that cannot be read is an error, not an empty part.
    answers.remove("/items/authors");
    let url = directus(answers);
    let refused = run(folder.path(), "directus.py", &[&url, "other"]).unwrap();
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.contains("/items/authors?") && error.contains("answered 403 Forbidden"), "{error}");
    assert!(!folder.path().join("other").exists());
}
