//! Formats of files: a data folder that a released version wrote can be opened by all later versions. A file of any
//! other format is refused with a message that says so.
//!
//! `version-0.1` has the formats of the first release, which all later versions open. They do not open formats that
//! only earlier builds wrote. `cargo test --test it -- --ignored make_a_fixture` makes a fixture of the current
//! formats: set its name in `FIXTURE` to the release that first writes them, and never replace the fixture of a
//! released version. The index has no fixture, because an index of another format is rebuilt.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::folders::{copy, files, listing, refused_start, run};
use crate::support::Server;

/// The name of the fixture to make.
const FIXTURE: &str = "version-0.1";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Writes a folder to one compressed file: the path of each file, its size and its bytes.
fn pack(folder: &Path, file: &Path) {
    let mut packed = zstd::stream::Encoder::new(fs::File::create(file).unwrap(), 19).unwrap();
    pack_into(folder, folder, &mut packed);
    packed.finish().unwrap();
}

fn pack_into(root: &Path, folder: &Path, packed: &mut impl std::io::Write) {
    for path in files(folder, "") {
        if path.is_dir() {
            pack_into(root, &path, packed);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&path).unwrap();
        writeln!(packed, "{name}\n{}", bytes.len()).unwrap();
        packed.write_all(&bytes).unwrap();
    }
}

fn unpack(file: &Path, folder: &Path) {
    let mut bytes = Vec::new();
    zstd::stream::Decoder::new(fs::File::open(file).unwrap()).unwrap().read_to_end(&mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    let line = |rest: &mut &[u8]| {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let line = String::from_utf8(rest[..end].to_vec()).unwrap();
        *rest = &rest[end + 1..];
        line
    };
    while !rest.is_empty() {
        let (name, size) = (line(&mut rest), line(&mut rest).parse::<usize>().unwrap());
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &rest[..size]).unwrap();
        rest = &rest[size..];
    }
}

/// Returns everything that can be read of the fixture.
fn everything(server: &Server) -> Value {
    let day = "start=2026-11-20&end=2026-11-21&site=www.example.com";
    let paths = [
        "/v2/blueprints".to_owned(),
        "/v2/members".to_owned(),
        "/v2/tokens".to_owned(),
        "/v2/resources/posts/export?all_variants=true&sort=id".to_owned(),
        "/v2/resources/posts?search=needle&sort=title&fields=attributes.title".to_owned(),
        "/v2/resources/posts?filter[size][gt]=20&sort=-size&fields=attributes.size".to_owned(),
        "/v2/resources/posts?variant=de&filter[title][starts_with]=bei&fields=attributes.title&sort=id".to_owned(),
        "/v2/resources/home/export".to_owned(),
        format!("/v2/analytics/pages?{day}"),
        format!("/v2/analytics/summary?{day}"),
    ];
    let answers = paths.iter().map(|path| {
        let mut answer = server.get(path).expect(200).json();
        // Links contain the port.
        if let Some(answer) = answer.as_object_mut() {
            answer.remove("links");
        }
        (path.clone(), answer)
    });
    Value::Object(answers.collect())
}

/// Makes a site that has contents in every kind of file.
fn make_site(data: &Path) -> Value {
    let mut server = Server::start_in(data, &["--analytics-sites", "www.example.com"]);
    let body = json!({
        "name": "Posts", "slug": "posts",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "German", "slug": "de" }],
        "fields": [
            { "name": "Title", "slug": "title", "type": "text", "unique": true },
            { "name": "Body", "slug": "body", "type": "rich-text" },
            { "name": "Size", "slug": "size", "type": "number" },
            { "name": "Tags", "slug": "tags", "type": "multi-enum", "settings": { "values": ["a", "b", "ü"] } },
            { "name": "Price", "slug": "price", "type": "money" },
            { "name": "On", "slug": "day", "type": "datetime" },
            { "name": "See", "slug": "see", "type": "references", "settings": { "blueprint": "posts" } },
        ],
    });
    server.post("/v2/blueprints", &body).expect(201);
    server
        .post("/v2/blueprints", &json!({ "name": "Home", "slug": "home", "kind": "singular_resource", "fields": [] }))
        .expect(201);
    server.member("Ada", Some("editor"));
    server.token(&["view"]);
    let mut last: Option<String> = None;
    for n in 0..40 {
        // One value is larger than a page of the store.
        let word = if n == 7 { blake3::hash(b"7").to_hex().repeat(700) } else { format!("needle {n}") };
        let attributes = json!({
            "title": format!("Größe {n}"), "body": format!("<p>{word}</p>"), "size": f64::from(n) * 1.5,
            "tags": (["a", "b", "ü"][..n as usize % 4]), "price": { "amount": n, "currency": "EUR" },
            "day": "2026-11-20T20:42:31+02:00", "see": last.iter().collect::<Vec<_>>(),
        });
        let id = server.create("posts", attributes);
        if n % 3 == 0 {
            let german = json!({ "attributes": { "title": format!("Beitrag {n}") } });
            server.patch(&format!("/v2/resources/posts/{id}?variant=de"), &german).expect(200);
        }
        if n % 11 == 5 {
            server.delete(&format!("/v2/resources/posts/{id}")).expect(204);
        } else {
            last = Some(id);
        }
        if n == 20 {
            server.terminate();
            server.restart();
        }
    }
    let line = |minute: u32, path: &str| {
        format!(
            "203.0.113.{minute} - - [20/Nov/2026:09:{minute:02}:01 +0000] \"GET {path} HTTP/1.1\" 200 512 \
             \"https://links.example.net/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\"\n"
        )
    };
    let log: String = (1..30).map(|minute| line(minute, ["/", "/a", "/b"][minute as usize % 3])).collect();
    let headers = [("content-type", "text/plain")];
    server.raw("POST", "/v2/analytics/import?site=www.example.com", &headers, log.as_bytes()).expect(200);
    let golden = everything(&server);
    server.terminate();
    golden
}

#[test]
#[ignore = "makes a fixture: run it when the format of a file has changed"]
fn make_a_fixture() {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("data");
    let golden = make_site(&data);
    fs::create_dir_all(fixtures()).unwrap();
    pack(&data, &fixtures().join(format!("{FIXTURE}.zst")));
    let text = serde_json::to_string_pretty(&golden).unwrap() + "\n";
    fs::write(fixtures().join(format!("{FIXTURE}.json")), text).unwrap();
}

#[test]
fn every_fixture_opens_and_answers_as_it_did() {
    let packed = files(&fixtures(), ".zst");
    assert!(!packed.is_empty());
    for file in packed {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().join("data");
        unpack(&file, &data);
        let golden: Value = serde_json::from_slice(&fs::read(file.with_extension("json")).unwrap()).unwrap();
        let mut server = Server::start_in(&data, &[]);
        let found = everything(&server);
        for (path, answer) in golden.as_object().unwrap() {
            assert_eq!(found[path], *answer, "{}: {path}", file.display());
        }
        server.create("posts", json!({ "title": "new" }));
        server.terminate();
        let ran = run(&["verify"], &data);
        assert_eq!(ran.code, Some(0), "{}: {}", file.display(), ran.text);
    }
}

/// Replaces the byte at `at`, which is the version of the format, and repairs the CRC32 of `covered` behind it.
fn set_format(path: &Path, at: usize, format: u8, covered: Option<std::ops::Range<usize>>) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] = format;
    if let Some(covered) = covered {
        let sum = crc32fast::hash(&bytes[covered.clone()]).to_le_bytes();
        bytes[covered.end..covered.end + 4].copy_from_slice(&sum);
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_file_of_another_format_is_refused_with_a_message_that_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("data");
    let mut server = Server::start_in(&data, &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    server.create("notes", json!({ "text": "kept" }));
    server.terminate();
    let unknown = "which this version of the server cannot read";

    // The checkpoint of the store.
    let checkpoint = data.join("store/CHECKPOINT");
    let intact = fs::read(&checkpoint).unwrap();
    for format in [1, 2, 4] {
        match format {
            // A file of this version has no byte with the version.
            1 => {
                fs::write(&checkpoint, [&intact[1..9], &crc32fast::hash(&intact[1..9]).to_le_bytes()].concat()).unwrap()
            }
            _ => set_format(&checkpoint, 0, format, Some(0..9)),
        }
        let expected = format!("CHECKPOINT has format {format}, {unknown}");
        let ran = refused_start(&data, "");
        assert!(ran.text.contains(&expected), "{}", ran.text);
        let ran = run(&["verify"], &data);
        assert!(ran.code == Some(1) && ran.text.contains(unknown), "{}", ran.text);
        fs::write(&checkpoint, &intact).unwrap();
    }

    // The log.
    let segment = files(&data.join("log"), ".log").remove(0);
    let intact = fs::read(&segment).unwrap();
    for format in [1, 3] {
        let mut bytes = intact.clone();
        bytes[..8].copy_from_slice(if format == 1 { b"bndrylog" } else { b"bndrylg3" });
        let sum = crc32fast::hash(&bytes[..24]);
        bytes[24..28].copy_from_slice(&sum.to_le_bytes());
        fs::write(&segment, &bytes).unwrap();
        let ran = refused_start(&data, "");
        assert!(ran.text.contains(&format!("has format {format} of the log, {unknown}")), "{}", ran.text);
        assert_eq!(fs::read(&segment).unwrap(), bytes, "it is left as it is");
    }
    fs::write(&segment, intact).unwrap();

    // Backups and bases.
    let backup = temp.path().join("all.backup");
    assert_eq!(run(&["backup", backup.to_str().unwrap()], &data).code, Some(0));
    set_format(&backup, 8, 3, None);
    let new = temp.path().join("new");
    let ran = run(&["restore", backup.to_str().unwrap()], &new);
    assert!(
        ran.code == Some(1) && ran.text.contains("all.backup cannot be used: it has format 3, which"),
        "{}",
        ran.text
    );
    assert!(!new.exists());
    let base = data.join("base");
    fs::create_dir_all(&base).unwrap();
    fs::copy(&backup, base.join("00000000000000000002.base")).unwrap();
    fs::remove_dir_all(data.join("store")).unwrap();
    let ran = refused_start(&data, "");
    assert!(ran.text.contains("a base of format 3, which"), "{}", ran.text);
    fs::remove_dir_all(base).unwrap();

    // The index is made from the store, so one of another format is rebuilt.
    let manifest = data.join("index/MANIFEST");
    let text = fs::read_to_string(&manifest).unwrap();
    let json = text.split_once('\n').unwrap().1.replacen("\"format\":", "\"format\":9", 1);
    fs::write(&manifest, format!("{:08x}\n{json}", crc32fast::hash(json.as_bytes()))).unwrap();
    let server = Server::start_in(&data, &[]);
    assert_eq!(server.ids("notes?search=kept").len(), 1);
}

#[test]
fn analytics_of_another_format_are_refused_and_left_as_they_are() {
    let temp = tempfile::tempdir().unwrap();
    let whole = temp.path().join("whole");
    let mut server = Server::start_in(&whole, &["--analytics-sites", "www.example.com"]);
    let line = "203.0.113.1 - - [20/Nov/2026:09:00:01 +0000] \"GET /a HTTP/1.1\" 200 512 \"-\" \
                \"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\"\n";
    let headers = [("content-type", "text/plain")];
    server.raw("POST", "/v2/analytics/import?site=www.example.com", &headers, line.as_bytes()).expect(200);
    server.terminate();
    let set_day_file = |data: &Path, format: u8| {
        let path = files(&data.join("analytics/days"), ".part").remove(0);
        let mut bytes = fs::read(&path).unwrap();
        bytes[7] = b'0' + format;
        let sum = crc32fast::hash(&[&bytes[..24], &bytes[28..]].concat()).to_le_bytes();
        bytes[24..28].copy_from_slice(&sum);
        fs::write(path, bytes).unwrap();
    };
    let set_json = |data: &Path, name: &str, format: u8| {
        let path = data.join("analytics").join(name);
        let text = fs::read_to_string(&path).unwrap();
        let text = match format {
            // A file of this version has no line with the version.
            1 => text.split_once('\n').unwrap().1.to_owned(),
            _ => text.replacen("\"version\":2", &format!("\"version\":{format}"), 1),
        };
        fs::write(&path, text).unwrap();
    };
    let cases = [".part", "imports.json", "state.json"].map(|name| [(name, 1), (name, 3)]).concat();
    for (number, (name, format)) in cases.into_iter().enumerate() {
        let data = temp.path().join(format!("{number}"));
        copy(&whole, &data);
        if name == ".part" {
            set_day_file(&data, format)
        } else {
            set_json(&data, name, format)
        }
        let expected = &format!("{name} has format {format}, which this version of the server cannot read");
        let before = listing(&data.join("analytics"));
        for command in [&["verify"][..], &["analytics", "repair"]] {
            let ran = run(command, &data);
            assert!(ran.code == Some(1) && ran.text.contains(expected), "{command:?}: {}", ran.text);
        }
        assert_eq!(listing(&data.join("analytics")), before, "{expected}");
        // Content does not depend on analytics.
        let server = Server::start_in(&data, &["--analytics-sites", "www.example.com"]);
        server.get("/v2/blueprints").expect(200);
        let day = "start=2026-11-20&end=2026-11-20&site=www.example.com";
        let refused = server.get(&format!("/v2/analytics/pages?{day}")).expect(500);
        assert!(refused.message().contains("could not be opened"), "{}", refused.text);
    }
}
