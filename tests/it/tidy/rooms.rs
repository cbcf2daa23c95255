//! The rooms of the code: which module may import which, as `ARCHITECTURE.md` lists it, and that no files import each
//! other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Imports;
use super::{none, read};

/// A list of rooms in `ARCHITECTURE.md`.
struct Rooms {
    /// The folder that the rooms are in: `src`, or `src/content`.
    scope: String,
    /// From the top down, each with the rooms that it imports.
    rooms: Vec<(String, BTreeSet<String>)>,
}

/// The lists stand in code blocks that begin with `rooms of FOLDER`. A line is `ROOM: ROOM ROOM …`.
fn rooms() -> Vec<Rooms> {
    let document = read("ARCHITECTURE.md");
    let blocks = document.split("```").skip(1).step_by(2);
    let lists = blocks.filter_map(|block| block.trim_start_matches("text").trim_start().strip_prefix("rooms of "));
    let lists = lists.map(|list| {
        let mut lines = list.lines();
        let scope = lines.next().unwrap_or_default().trim().to_owned();
        let rooms = lines.filter(|line| !line.trim().is_empty()).map(|line| {
            let (room, imports) = line.split_once(':').unwrap_or_else(|| panic!("{scope}: `{line}` has no colon"));
            (room.trim().to_owned(), imports.split_whitespace().map(str::to_owned).collect())
        });
        let rooms = rooms.collect();
        Rooms { scope, rooms }
    });
    lists.collect()
}

/// The room of a file within a scope: `src/content/write/append.rs` is in `write` of `src/content`.
fn room_of<'a>(scope: &str, file: &'a str) -> Option<&'a str> {
    let rest = file.strip_prefix(scope)?.strip_prefix('/')?;
    rest.split('/').next().map(|name| name.trim_end_matches(".rs"))
}

#[test]
fn rooms_import_only_rooms_below_them() {
    let imports = Imports::of_the_project();
    let mut errors = Vec::new();
    for Rooms { scope, rooms } in rooms() {
        let mut used: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for (file, imported) in imports.arrows() {
            let (Some(room), Some(other)) = (room_of(&scope, file), room_of(&scope, imported)) else { continue };
            // A face such as `lib.rs` hands out what its rooms have.
            if room != other && !(scope.ends_with("src") && matches!(room, "lib" | "main")) {
                used.entry(room).or_default().entry(other).or_insert_with(|| format!("{file} imports {imported}"));
            }
        }
        for (position, (room, listed)) in rooms.iter().enumerate() {
            let below: BTreeSet<&str> = rooms[position + 1..].iter().map(|(below, _)| below.as_str()).collect();
            for other in listed.iter().filter(|other| !below.contains(other.as_str())) {
                errors.push(format!("ARCHITECTURE.md: `{room}` of {scope} is not above `{other}`"));
            }
            let used = used.remove(room.as_str()).unwrap_or_default();
            for (other, example) in used.iter().filter(|(other, _)| !listed.contains(**other)) {
                errors.push(format!("`{room}` of {scope} may not import `{other}`: {example}"));
            }
            for other in listed.iter().filter(|other| !used.contains_key(other.as_str())) {
                errors.push(format!("ARCHITECTURE.md: `{room}` of {scope} does not import `{other}`"));
            }
        }
        errors.extend(used.into_keys().map(|room| format!("ARCHITECTURE.md does not list `{room}` of {scope}")));
    }
    none(&errors);
}

#[test]
fn every_large_folder_has_its_rooms_listed() {
    let listed: Vec<String> = rooms().into_iter().map(|rooms| rooms.scope).collect();
    assert_eq!(listed, ["src", "src/content", "src/http", "src/analytics", "src/model", "index/src"]);
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let imports = Imports::of_the_project();
    let circles: Vec<String> = imports.circles().into_iter().map(|circle| circle.join("\n    ")).collect();
    assert!(circles.is_empty(), "files that import each other:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_would_be_found() {
    let files = [
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a.rs", "use crate::b::{self, Outer};\nmod inner;\npub use inner::Inner;"),
        ("src/a/inner.rs", "pub struct Inner;"),
        ("src/b.rs", "use super::a::Inner;\npub struct Outer(Inner);"),
    ];
    let of = |files: &[(&str, &str)]| {
        Imports::of(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()).circles()
    };
    // `b` takes from `a` only what `a` hands on from `inner`: no circle.
    assert_eq!(of(&files), Vec::<Vec<String>>::new());
    let mut files = files;
    files[2].1 = "use crate::b::Outer;\npub struct Inner(Outer);";
    assert_eq!(of(&files).len(), 1);
    files[2].1 = "pub struct Inner;";
    files[3].1 = "use crate::a::Missing;\npub struct Outer;";
    assert_eq!(of(&files).len(), 1);
}
