//! Damaged data folders: `bindery verify` finds the damage and changes nothing. `bindery salvage` makes a new folder
//! from the intact parts.

mod anywhere;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::folders::{copy, files, flip, listing, run};
use crate::support::{Failures, Server};

/// The folder of a stopped server with 120 notes and a page. If the server was killed, the last 20 notes are only in
/// the log.
struct Site {
    folder: tempfile::TempDir,
    /// The title of each note by id.
    notes: BTreeMap<String, String>,
}

fn site(is_killed: bool) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(&folder.path().join("data"), &[]);
    let fields = json!([
        { "name": "Title", "slug": "title", "type": "text", "unique": true },
        { "name": "Body", "slug": "body", "type": "text" },
    ]);
    server.blueprint("notes", fields);
    server
        .post("/v2/blueprints", &json!({ "name": "Home", "slug": "home", "kind": "singular_resource", "fields": [] }))
        .expect(201);
    let mut notes = BTreeMap::new();
    for n in 0..120 {
        if n == 100 {
            server.terminate();
            server.restart();
        }
        let title = format!("note {n}");
        // Some notes are large enough for several pieces.
        let body = blake3::hash(title.as_bytes()).to_hex().repeat(if n % 30 == 7 { 900 } else { 3 });
        let id = server.create("notes", json!({ "title": title, "body": body }));
        notes.insert(id, title);
    }
    let first = notes.keys().next().unwrap().clone();
    server.patch(&format!("/v2/resources/notes/{first}"), &json!({ "attributes": { "body": "changed" } })).expect(200);
    if is_killed {
        server.kill();
    } else {
        server.terminate();
    }
    Site { folder, notes }
}

impl Site {
    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    /// Makes a copy of the folder with some damage.
    fn damaged(&self, damage: impl Fn(&Path)) -> tempfile::TempDir {
        let other = tempfile::tempdir().unwrap();
        copy(&self.data(), &other.path().join("data"));
        damage(&other.path().join("data"));
        other
    }
}

fn titles(server: &Server) -> BTreeMap<String, String> {
    let lines = server.get("/v2/resources/notes/export?format=ndjson").expect(200).lines();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.iter().map(|line| (text(&line["id"]), text(&line["attributes"]["title"]))).collect()
}

fn log_of(data: &Path) -> std::path::PathBuf {
    files(&data.join("log"), ".log").remove(0)
}

/// Returns the position of the record of a title in the log.
fn position_of(data: &Path, title: &str) -> usize {
    let bytes = fs::read(log_of(data)).unwrap();
    let needle = format!("\"title\":\"{title}\"");
    bytes.windows(needle.len()).position(|window| window == needle.as_bytes()).unwrap()
}

fn break_store(data: &Path) {
    break_database(&data.join("store/sled/db"));
}

fn break_database(db: &Path) {
    let length = fs::metadata(db).unwrap().len() as usize;
    fs::write(db, b"garbage ".iter().copied().cycle().take(length).collect::<Vec<u8>>()).unwrap();
}

/// Returns the largest file with this ending in a folder and its subfolders.
fn largest(folder: &Path, ending: &str) -> std::path::PathBuf {
    let within = files(folder, "").into_iter().filter(|path| path.is_dir()).map(|folder| largest(&folder, ending));
    let found = files(folder, ending).into_iter().chain(within);
    found.max_by_key(|path| fs::metadata(path).map_or(0, |metadata| metadata.len())).unwrap_or_default()
}

#[test]
fn verify_changes_nothing_and_names_every_kind_of_damage() {
    let stopped = site(false);
    let ran = run(&["verify"], &stopped.data());
    assert!(ran.code == Some(0) && ran.text.contains("no problems found"), "{}", ran.text);
    let killed = site(true);
    let ran = run(&["verify"], &killed.data());
    assert!(ran.code == Some(0) && ran.text.contains("no problems found"), "{}", ran.text);
    type Damage = fn(&Path);
    let cases: [(&str, &str, Damage); 17] = [
        ("a flipped bit in the log", "damaged at byte", |data| flip(&log_of(data), position_of(data, "note 60"))),
        ("the log removed", "the log ends", |data| fs::remove_dir_all(data.join("log")).unwrap()),
        ("a segment's header", "its header is damaged", |data| flip(&log_of(data), 20)),
        ("the store removed", "the store is missing", |data| fs::remove_dir_all(data.join("store")).unwrap()),
        ("garbage in the store", "store", break_store),
        ("garbage in its scattered keys", "store", |data| break_database(&data.join("store/scattered/db"))),
        ("no checkpoint", "no valid checkpoint", |data| fs::remove_file(data.join("store/CHECKPOINT")).unwrap()),
        ("a store marked as damaged", "marked as damaged", |data| {
            fs::write(data.join("store/CONDEMNED"), "a test").unwrap();
        }),
        ("a damaged base", "is damaged", |data| {
            fs::create_dir_all(data.join("base")).unwrap();
            fs::write(data.join("base/00000000000000000007.base"), [7; 100]).unwrap();
        }),
        ("a base removed", "no intact base", |data| {
            let first = log_of(data);
            fs::rename(&first, first.with_file_name("00000000000000000050.log")).unwrap();
        }),
        ("a flipped bit in an index", "the index of `notes` is damaged; the next start rebuilds it", |data| {
            flip(&largest(&data.join("index"), "columns"), 300);
        }),
        ("a flipped bit in the terms of an index", "dictionary", |data| {
            flip(&largest(&data.join("index"), "dictionary"), 50);
        }),
        ("the manifest of the indexes", "every index is unusable; the next start rebuilds it", |data| {
            flip(&data.join("index/MANIFEST"), 60);
        }),
        ("the files of an index", "the index of `notes` is damaged", |data| {
            let folders = fs::read_dir(data.join("index")).unwrap().map(|entry| entry.unwrap().path());
            for folder in folders.filter(|path| path.is_dir()) {
                fs::remove_dir_all(folder).unwrap();
            }
        }),
        ("a foreign file", "no file of a server", |data| fs::write(data.join("notes.txt"), "mine").unwrap()),
        ("an interrupted restore", "did not finish", |data| fs::write(data.join("RESTORING"), "").unwrap()),
        ("imports of the analytics", "imports.json: its checksum is wrong", |data| {
            fs::write(data.join("analytics/imports.json"), "{").unwrap();
        }),
    ];
    let mut failures = Failures::default();
    for (what, expected, damage) in cases {
        let damaged = stopped.damaged(damage);
        let data = damaged.path().join("data");
        let before = (listing(&data), files(damaged.path(), ""));
        let ran = run(&["verify"], &data);
        failures.check(ran.code == Some(1), || format!("{what}: exit code {:?}, {}", ran.code, ran.text));
        failures.check(ran.text.contains(expected), || format!("{what}: {}", ran.text));
        failures.check(!ran.text.contains("no problems"), || format!("{what}: {}", ran.text));
        failures.check(listing(&data) == before.0, || format!("{what}: the folder was changed"));
        failures
            .check(files(damaged.path(), "") == before.1, || format!("{what}: something is left beside the folder"));
    }
    failures.assert_none();
}

#[test]
fn commands_on_a_folder_that_is_no_data_folder_are_rejected_and_create_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let none = temp.path().join("none");
    let other = temp.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter.txt"), "Dear …").unwrap();
    let token = ["token", "create", "--name", "x", "--abilities", "view"];
    let to = temp.path().join("new");
    let salvage = ["salvage", "--to", to.to_str().unwrap()];
    let log = temp.path().join("access.log");
    fs::write(&log, "").unwrap();
    let import = ["analytics", "import", log.to_str().unwrap(), "--site", "example.com"];
    let commands: [&[&str]; 8] = [
        &token,
        &["token", "list"],
        &["verify"],
        &["reindex"],
        &["export", "notes"],
        &salvage,
        &import,
        &["analytics", "delete", "--site", "example.com"],
    ];
    for arguments in commands {
        for (folder, expected) in [(&none, "does not exist"), (&other, "is no data folder")] {
            let ran = run(arguments, folder);
            assert!(ran.code == Some(1) && ran.text.contains(expected), "{arguments:?}: {ran:?}");
        }
    }
    assert!(!none.exists() && !to.exists());
    assert_eq!(files(&other, "").len(), 1);
}

/// The notes that salvage must keep of a damaged folder.
enum Kept {
    /// Every note.
    All,
    /// Every note except this one.
    AllBut(&'static str),
    /// At least this many notes, each with its title, and no others.
    AtLeast(usize),
}

#[test]
fn salvage_keeps_what_is_left_and_says_what_is_lost() {
    type Damage = fn(&Path);
    let bit = |data: &Path| flip(&log_of(data), position_of(data, "note 110"));
    let cases: [(&str, bool, Kept, Damage); 10] = [
        ("an intact folder", false, Kept::All, |_| {}),
        ("a killed server", true, Kept::All, |_| {}),
        ("a bit in the log, the store is whole", false, Kept::All, bit),
        ("only the store is left", false, Kept::All, |data| {
            fs::remove_dir_all(data.join("log")).unwrap();
            fs::remove_dir_all(data.join("index")).unwrap();
        }),
        ("only the store is left, and its scattered keys are broken", false, Kept::AtLeast(119), |data| {
            fs::remove_dir_all(data.join("log")).unwrap();
            fs::remove_dir_all(data.join("index")).unwrap();
            break_database(&data.join("store/scattered/db"));
        }),
        ("only the log is left", true, Kept::All, |data| {
            fs::remove_dir_all(data.join("store")).unwrap();
            fs::remove_dir_all(data.join("index")).unwrap();
        }),
        ("the store is broken, the log whole", true, Kept::All, break_store),
        ("a bit in the log, and the store broken", false, Kept::AllBut("note 110"), |data| {
            flip(&log_of(data), position_of(data, "note 110"));
            break_store(data);
        }),
        ("a bit in the log behind the checkpoint", true, Kept::AtLeast(119), bit),
        ("the beginning of the log, and the store broken", false, Kept::AtLeast(0), |data| {
            flip(&log_of(data), 40);
            fs::remove_dir_all(data.join("store")).unwrap();
        }),
    ];
    let (stopped, killed) = (site(false), site(true));
    let mut failures = Failures::default();
    for (what, is_killed, kept, damage) in cases {
        let site = if is_killed { &killed } else { &stopped };
        let damaged = site.damaged(damage);
        let (data, new) = (damaged.path().join("data"), damaged.path().join("new"));
        let before = listing(&data);
        let ran = run(&["salvage", "--to", new.to_str().unwrap()], &data);
        failures.check(listing(&data) == before, || format!("{what}: the old folder was changed"));
        // If the store reached the disk before the kill, it has everything.
        let is_whole = match kept {
            Kept::All => true,
            Kept::AllBut(_) => false,
            Kept::AtLeast(_) => ran.code == Some(0),
        };
        let expected_code = if is_whole { Some(0) } else { Some(2) };
        failures.check(ran.code == expected_code, || format!("{what}: exit code {:?}\n{}", ran.code, ran.text));
        failures.check(is_whole == ran.text.contains("nothing is lost"), || format!("{what}: {}", ran.text));
        if !new.exists() {
            continue;
        }
        let verified = run(&["verify"], &new);
        failures.check(verified.code == Some(0), || format!("{what}: the new folder: {}", verified.text));
        let server = Server::start_in(&new, &[]);
        if server.get("/v2/blueprints/notes").status != 200 {
            failures.check(matches!(kept, Kept::AtLeast(0)), || format!("{what}: the blueprint is lost"));
            continue;
        }
        let found = titles(&server);
        failures.check(ran.text.contains(&format!("notes: {} resources kept", found.len())), || ran.text.clone());
        failures
            .check(found.iter().all(|(id, title)| site.notes.get(id) == Some(title)), || format!("{what}: {found:?}"));
        let is_kept = match kept {
            Kept::All => found == site.notes,
            Kept::AllBut(lost) => found.len() + 1 == site.notes.len() && found.values().all(|title| title != lost),
            Kept::AtLeast(count) => found.len() >= count && (!is_whole || found == site.notes),
        };
        failures.check(is_kept, || format!("{what}: {} of {} notes\n{}", found.len(), site.notes.len(), ran.text));
        let again = json!({ "attributes": { "title": "note 3" } });
        failures.check_eq(what, server.post("/v2/resources/notes", &again).status, 422);
        failures.check_eq(what, server.get("/v2/resources/home").status, 200);
    }
    failures.assert_none();
}

#[test]
fn salvage_keeps_what_is_on_both_sides_of_a_missing_segment_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut notes = BTreeMap::new();
    for round in 0..4 {
        // The last record is not known to be synced, so the start after a kill begins a new segment.
        let mut server = Server::start_failing(&data, &[], "log::mark=return(EIO)");
        if round == 0 {
            server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
        }
        for n in 0..20 {
            let title = format!("note {round}.{n}");
            notes.insert(server.create("notes", json!({ "title": title })), title);
        }
        match round {
            3 => drop(server.terminate()),
            _ => server.kill(),
        }
    }
    let segments = files(&data.join("log"), ".log");
    assert!(segments.len() > 2, "{segments:?}");
    let holds = |segment: &Path, title: &str| {
        let needle = format!("\"title\":\"{title}\"");
        fs::read(segment).unwrap().windows(needle.len()).any(|window| window == needle.as_bytes())
    };
    let middle = &segments[1];
    let others: Vec<&std::path::PathBuf> = segments.iter().filter(|segment| *segment != middle).collect();
    let mut rest = notes.clone();
    rest.retain(|_, title| others.iter().any(|segment| holds(segment, title)));
    assert!(rest.len() > 20 && rest.len() < notes.len() - 10, "{} of {} notes", rest.len(), notes.len());
    fs::remove_file(middle).unwrap();
    for is_store_whole in [true, false] {
        if !is_store_whole {
            break_store(&data);
        }
        let what = if is_store_whole { "the store is whole" } else { "the store is broken" };
        let verified = run(&["verify"], &data);
        assert_eq!(verified.code, Some(1), "{what}: {}", verified.text);
        let new = folder.path().join(what);
        let ran = run(&["salvage", "--to", new.to_str().unwrap()], &data);
        let (code, kept) = if is_store_whole { (0, &notes) } else { (2, &rest) };
        assert_eq!(ran.code, Some(code), "{what}: {}", ran.text);
        assert_eq!(run(&["verify"], &new).code, Some(0), "{what}");
        assert_eq!(&titles(&Server::start_in(&new, &[])), kept, "{what}: {}", ran.text);
    }
}

#[test]
fn salvage_keeps_the_revisions_that_can_be_read_and_names_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start_in(&data, &[]);
    let body = json!({ "name": "Notes", "slug": "notes", "history": { "keep": 100, "days": 365 },
        "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
    server.post("/v2/blueprints", &body).expect(201);
    let titles: Vec<String> = (0..40).map(|n| format!("note {n}")).collect();
    let id = server.create("notes", json!({ "title": titles[0] }));
    let path = format!("/v2/resources/notes/{id}");
    for title in &titles[1..] {
        server.patch(&path, &json!({ "attributes": { "title": title } })).expect(200);
    }
    server.terminate();
    // Only the log is left, without the transaction of one write.
    flip(&log_of(&data), position_of(&data, "note 30"));
    break_store(&data);
    let new = folder.path().join("new");
    let ran = run(&["salvage", "--to", new.to_str().unwrap()], &data);
    assert_eq!(ran.code, Some(2), "{}", ran.text);
    assert!(ran.text.contains(&format!("`notes` {id}: revisions ")), "{}", ran.text);
    assert_eq!(run(&["verify"], &new).code, Some(0));
    let server = Server::start_in(&new, &[]);
    let listed = || -> Vec<String> {
        let listed = server.get(&format!("{path}/history?limit=100")).expect(200).data();
        let numbers = listed.as_array().unwrap().iter().rev().map(|one| one["number"].clone());
        let read = |number: Value| server.get(&format!("{path}/history/{number}")).expect(200).data();
        numbers.map(|number| read(number)["attributes"]["title"].as_str().unwrap().to_owned()).collect()
    };
    let left = listed();
    let expected: Vec<&String> = titles.iter().filter(|title| left.contains(title)).collect();
    assert_eq!(left.iter().collect::<Vec<_>>(), expected, "{}", ran.text);
    assert!(!left.contains(&titles[30]) && left.ends_with(&titles[31..]), "{left:?}");
    assert!(left.len() >= 25, "{left:?}");
    server.patch(&path, &json!({ "attributes": { "title": "one more" } })).expect(200);
    assert_eq!(listed().len(), left.len() + 1);
}
