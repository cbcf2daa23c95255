#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use bindery_model::ability::Ability;
use bindery_store::StoreOptions;
use serde_json::json;

use super::*;
use crate::data::kept_answer::tests::kept_until;
use crate::fixture::{access, copy_folder, open, options};
use crate::{Content, Export, IfMatch};

async fn blueprint(content: &Content, slug: &str) {
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text", "unique": true }]);
    let body = json!({ "name": slug, "slug": slug, "fields": fields }).to_string();
    content.create_blueprint(&access(), body.as_bytes(), None).await.unwrap();
}

async fn fill(content: &Content, slug: &str, count: usize) {
    let mut import = content.import(&access(), slug, "").unwrap();
    for n in 0..count {
        let line = json!({ "key": format!("k{n}"), "attributes": { "title": format!("title {n}") } }).to_string();
        import.push(line.as_bytes()).await.unwrap();
    }
    import.finish().await.unwrap();
}

/// Waits until a condition is true, for at most ten seconds.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Reads an export to its end and counts its lines.
fn lines(export: &mut crate::Export) -> usize {
    let mut count = 0;
    while let Some(piece) = export.next_chunk().unwrap() {
        count += piece.iter().filter(|byte| **byte == b'\n').count();
    }
    count
}

#[tokio::test]
async fn a_deleted_blueprint_is_purged_once_no_reader_needs_it() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let store = content.shared.store.clone();
    for slug in ["gone", "stays"] {
        blueprint(&content, slug).await;
        fill(&content, slug, 700).await;
    }
    let mut export = Export::begin(content.view(&access(), "gone").unwrap(), "format=ndjson", None).unwrap();
    content.delete_blueprint(&access(), "gone", "force=true").await.unwrap();
    fill(&content, "stays", 10).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(holds_any_of(&store, ObsoleteData::Blueprint(1)).unwrap(), "resources are kept while they are read");
    assert_eq!(lines(&mut export), 700);
    drop(export);
    until("the deleted blueprint is purged", || !holds_any_of(&store, ObsoleteData::Blueprint(1)).unwrap()).await;
    assert_eq!(store.scan(Prefix::Resources(2)).count(), 700);
    assert_eq!(store.scan(Prefix::Uniques(2)).count(), 700);
    // A new blueprint with the same slug starts empty.
    blueprint(&content, "gone").await;
    fill(&content, "gone", 3).await;
    let mut export = Export::begin(content.view(&access(), "gone").unwrap(), "format=ndjson", None).unwrap();
    assert_eq!(lines(&mut export), 3);
    content.close();
}

#[tokio::test]
async fn a_purge_continues_after_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    blueprint(&content, "gone").await;
    fill(&content, "gone", 2000).await;
    content.delete_blueprint(&access(), "gone", "force=true").await.unwrap();
    content.close();
    assert!(
        holds_any_of(&content.shared.store, ObsoleteData::Blueprint(1)).unwrap(),
        "the purge takes longer than the shutdown"
    );
    drop(content);
    let content = open(temp.path());
    let store = content.shared.store.clone();
    until("the purge continues", || !holds_any_of(&store, ObsoleteData::Blueprint(1)).unwrap()).await;
    content.close();
}

#[tokio::test]
async fn a_superseded_version_is_kept_while_any_reader_needs_it() {
    for query in ["", "copy=working"] {
        is_kept_while_an_export_needs_it(query).await;
    }
}

async fn is_kept_while_an_export_needs_it(query: &str) {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let body = json!({ "name": "notes", "slug": "notes", "working_copy": true, "fields": fields }).to_string();
    content.create_blueprint(&access(), body.as_bytes(), None).await.unwrap();
    fill(&content, "notes", 1).await;
    let copies = || content.shared.store.scan(Prefix::Copies(1)).count();
    let view = content.view_of(&access(), "notes", query).unwrap();
    let mut export = Export::begin(view, "format=ndjson", None).unwrap();
    let create = |title: &str| {
        let body = json!({ "attributes": { "title": title } }).to_string();
        let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
        async move { writing.create(body.as_bytes(), None).await.unwrap() }
    };
    // The first write replaces the state that the export holds, but supersedes no version. The next one does.
    create("new").await;
    let list = content.view(&access(), "notes").unwrap().list("sort=created_at").unwrap().resources;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let id = list[0]["id"].as_str().unwrap().to_owned();
    let writing = content.write(&access(), Ability::Update, "notes", "").unwrap();
    let target = writing.target(&id).unwrap();
    let body = json!({ "attributes": { "title": "changed" } }).to_string();
    writing.change(target, IfMatch::Any, body.as_bytes()).await.unwrap();
    create("newer").await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(copies(), 4, "{query}");
    assert_eq!(lines(&mut export), 1);
    drop(export);
    until("the superseded version is removed", || copies() == 3).await;
    content.close();
}

/// The greatest number of keys of a step.
const MOST_KEYS: usize = *STEP_KEYS.end();

fn with_large_steps() -> Sweeper {
    Sweeper { step_keys: MOST_KEYS, ..Sweeper::new(Vec::new()) }
}

#[test]
fn a_step_that_took_long_is_followed_by_smaller_ones() {
    let mut sweeper = Sweeper::new(Vec::new());
    let mut after = |took: Duration| {
        sweeper.step_began = Some(Instant::now() - took);
        sweeper.step_ended();
        sweeper.step_keys
    };
    assert_eq!([0; 6].map(|_| after(Duration::ZERO)), [32, 64, 128, 256, 256, 256]);
    assert_eq!([STEP_TIME / 2, STEP_TIME * 2, STEP_TIME * 2].map(&mut after), [256, 128, 64]);
    assert_eq!([STEP_TIME * 9; 4].map(&mut after), [32, 16, 16, 16]);
    // Without a step nothing changes.
    sweeper.step_ended();
    assert_eq!(sweeper.step_keys, 16);
}

#[test]
fn only_expired_answers_are_removed() {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::open(temp.path(), &StoreOptions::default()).unwrap();
    let count = MOST_KEYS * 2 + 10;
    let entries = (0..count).map(|n| {
        let key = Key::Idempotency { token: "t".into(), key: format!("{n:05}").as_str().into() };
        let expires = if n % 3 == 0 { 1000 } else { 2000 };
        StoreWrite::put(key, kept_until(expires))
    });
    store.apply(1, &entries.collect::<Vec<_>>()).unwrap();
    // A state without blueprints.
    let empty = tempfile::tempdir().unwrap();
    let state = open(empty.path()).state();
    let mut sweeper = with_large_steps();
    let mut steps = 0;
    for number in 2..20 {
        std::thread::sleep(STEP_PAUSE);
        let removals = sweeper.next_step(&store, &state, 1000).unwrap();
        steps += usize::from(!removals.is_empty());
        assert!(removals.len() <= MOST_KEYS);
        store.apply(number, &removals).unwrap();
    }
    assert_eq!(steps, 3);
    let left: Vec<Key> = store.scan(Prefix::Idempotency).map(|entry| entry.unwrap().0).collect();
    assert_eq!(left.len(), count - count.div_ceil(3));
}

#[tokio::test]
async fn a_kill_after_a_checkpoint_leaves_no_superseded_versions() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    blueprint(&content, "notes").await;
    fill(&content, "notes", 300).await;
    // The export keeps the superseded versions.
    let export = Export::begin(content.view(&access(), "notes").unwrap(), "format=ndjson", None).unwrap();
    let mut import = content.import(&access(), "notes", "").unwrap();
    for n in 0..300 {
        let line = json!({ "key": format!("k{n}"), "attributes": { "title": format!("changed {n}") } }).to_string();
        import.push(line.as_bytes()).await.unwrap();
    }
    import.finish().await.unwrap();
    content.checkpoint().await.unwrap();
    assert_eq!(content.shared.store.scan(Prefix::Copies(1)).count(), 600);
    // Copy the folder as a kill would leave it now, and write a backup.
    let killed = tempfile::tempdir().unwrap();
    copy_folder(temp.path(), killed.path());
    let backup = temp.path().join("saved-backup");
    content.backup(&backup).unwrap();
    drop(export);
    content.close();
    drop(content);

    let restored = tempfile::tempdir().unwrap();
    crate::restore_backup(&backup, &options(restored.path()), false).unwrap();
    crate::finish_restore(restored.path()).unwrap();
    for folder in [killed.path(), restored.path(), temp.path()] {
        let content = open(folder);
        assert_eq!(content.shared.store.scan(Prefix::Copies(1)).count(), 300, "{folder:?}");
        assert_eq!(content.shared.store.scan(Prefix::Superseded).count(), 0, "{folder:?}");
        let found = content.verify();
        assert_eq!((found.issue_count, found.unnamed_copies, found.resources), (0, 0, 300), "{:?}", found.issues);
        let mut export = Export::begin(content.view(&access(), "notes").unwrap(), "format=ndjson", None).unwrap();
        assert_eq!(lines(&mut export), 300);
        content.close();
    }
}

#[tokio::test]
async fn lists_of_superseded_versions_are_removed_with_the_versions() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    blueprint(&content, "notes").await;
    for _ in 0..2 {
        fill(&content, "notes", 10).await;
        let changed = json!({ "key": "k1", "attributes": { "title": "changed" } }).to_string();
        let mut import = content.import(&access(), "notes", "").unwrap();
        import.push(changed.as_bytes()).await.unwrap();
        import.finish().await.unwrap();
    }
    let store = content.shared.store.clone();
    until("the lists are removed", || store.scan(Prefix::Superseded).count() == 0).await;
    until("the versions are removed", || store.scan(Prefix::Copies(1)).count() == 10).await;
    content.close();
}

#[tokio::test]
async fn resources_leave_the_trash_in_small_steps_once_their_time_is_up() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let store = content.shared.store.clone();
    let body = |days: u16| {
        let fields = json!([{ "name": "Title", "slug": "title", "type": "text", "unique": true }]);
        json!({ "name": "notes", "slug": "notes", "fields": fields, "trash": { "days": days } }).to_string()
    };
    content.create_blueprint(&access(), body(2).as_bytes(), None).await.unwrap();
    fill(&content, "notes", 700).await;
    let delete = async |count: usize| {
        for _ in 0..count / 100 {
            let page = content.view(&access(), "notes").unwrap().list("per_page=100&fields=id").unwrap().resources;
            let page: Vec<serde_json::Value> = serde_json::from_str(&page).unwrap();
            let ids: Vec<_> = page.iter().map(|resource| resource["id"].clone()).collect();
            let writing = content.write(&access(), Ability::Delete, "notes", "").unwrap();
            let body = json!({ "ids": ids }).to_string();
            writing.bulk(crate::Operation::Delete, body.as_bytes(), None).await.unwrap();
        }
    };
    delete(600).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let deleted = content.state().released;
    tokio::time::sleep(Duration::from_millis(50)).await;
    delete(100).await;
    let (mut sweeper, state) = (with_large_steps(), content.state());
    let day: Millis = 24 * 60 * 60 * 1_000;
    let left = |store: &Store| trash_total(store, 1).unwrap();
    assert_eq!(left(&store), 700);
    let mut run = |state: &State, now: Millis| {
        let mut n_steps = 0;
        loop {
            sweeper.next_step = Instant::now();
            sweeper.next_trash = Instant::now();
            let step = sweeper.next_step(&store, state, now).unwrap();
            if step.is_empty() {
                return n_steps;
            }
            assert!(step.len() <= MOST_KEYS + 4, "{}", step.len());
            n_steps += 1;
            store.apply(store.applied(), &step).unwrap();
        }
    };
    assert_eq!(run(&state, deleted + 2 * day - 1_000), 0);
    assert!(run(&state, deleted + 2 * day) >= 5);
    assert_eq!(left(&store), 100);
    assert!(content.verify().issues.is_empty(), "{:?}", content.verify().issues);
    // A shorter time also counts for what is in the trash already.
    content.replace_blueprint(&access(), "notes", "").unwrap().run(body(1).as_bytes()).await.unwrap();
    run(&content.state(), deleted + 2 * day - 1_000);
    assert_eq!(left(&store), 0);
    for prefix in [Prefix::Trash(1), Prefix::TrashOrder(1), Prefix::TrashTotal(1), Prefix::Copies(1)] {
        assert_eq!(store.scan(prefix).count(), 0, "{prefix:?}");
    }
}

#[tokio::test]
async fn without_the_setting_resources_leave_the_trash_when_the_time_that_each_was_promised_is_up() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let store = content.shared.store.clone();
    let body = |trash: serde_json::Value| {
        let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
        json!({ "name": "notes", "slug": "notes", "fields": fields, "trash": trash }).to_string()
    };
    content.create_blueprint(&access(), body(json!({ "days": 300 })).as_bytes(), None).await.unwrap();
    fill(&content, "notes", 400).await;
    let delete_100 = async || {
        let page = content.view(&access(), "notes").unwrap().list("per_page=100&fields=id").unwrap().resources;
        let page: Vec<serde_json::Value> = serde_json::from_str(&page).unwrap();
        let ids: Vec<_> = page.iter().map(|resource| resource["id"].clone()).collect();
        let writing = content.write(&access(), Ability::Delete, "notes", "").unwrap();
        writing.bulk(crate::Operation::Delete, json!({ "ids": ids }).to_string().as_bytes(), None).await.unwrap();
    };
    let define = async |trash: serde_json::Value| {
        let change = content.replace_blueprint(&access(), "notes", "").unwrap();
        change.run(body(trash).as_bytes()).await.unwrap();
    };
    for _ in 0..3 {
        delete_100().await;
    }
    define(json!({ "days": 1 })).await;
    delete_100().await;
    define(serde_json::Value::Null).await;
    let (mut sweeper, state) = (with_large_steps(), content.state());
    let mut n_steps = 0;
    // More wait before those whose time is up than one step reads.
    while n_steps == 0 || sweeper.has_more_trash {
        sweeper.next_step = Instant::now();
        let step = sweeper.next_step(&store, &state, state.released + 2 * 24 * 60 * 60 * 1_000).unwrap();
        assert!(step.len() <= MOST_KEYS + 4, "{}", step.len());
        store.apply(store.applied(), &step).unwrap();
        n_steps += 1;
    }
    assert!(n_steps >= 4, "{n_steps}");
    assert_eq!((trash_total(&store, 1).unwrap(), store.scan(Prefix::TrashOrder(1)).count()), (300, 300));
    assert!(content.verify().issues.is_empty(), "{:?}", content.verify().issues);
}

#[tokio::test]
async fn revisions_leave_the_history_in_small_steps_and_versions_that_only_they_name_with_them() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let store = content.shared.store.clone();
    let body = |history: serde_json::Value| {
        let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
        json!({ "name": "notes", "slug": "notes", "fields": fields, "history": history }).to_string()
    };
    let define = async |history: serde_json::Value| {
        let change = content.replace_blueprint(&access(), "notes", "").unwrap();
        change.run(body(history).as_bytes()).await.unwrap();
    };
    content.create_blueprint(&access(), body(json!({ "keep": 1000, "days": 1 })).as_bytes(), None).await.unwrap();
    fill(&content, "notes", 3).await;
    let page = content.view(&access(), "notes").unwrap().list("fields=id").unwrap().resources;
    let page: Vec<serde_json::Value> = serde_json::from_str(&page).unwrap();
    let ids: Vec<String> = page.iter().map(|resource| resource["id"].as_str().unwrap().to_owned()).collect();
    let write = async |id: &str, title: &str| {
        let writing = content.write(&access(), Ability::Update, "notes", "").unwrap();
        let id = writing.target(id).unwrap();
        let body = json!({ "attributes": { "title": title } }).to_string();
        writing.change(id, IfMatch::Any, body.as_bytes()).await.unwrap();
    };
    for n in 0..450 {
        write(&ids[0], &format!("a {n}")).await;
    }
    write(&ids[1], "b").await;
    let count = |prefix: Prefix| store.scan(prefix).count();
    assert_eq!((count(Prefix::Revisions(1)), count(Prefix::FormerCopies(1))), (453, 451));
    let mut sweeper = with_large_steps();
    let mut run = |state: &State, now: Millis| {
        let mut n_steps = 0;
        sweeper.next_history = Instant::now();
        loop {
            sweeper.next_step = Instant::now();
            let step = sweeper.next_step(&store, state, now).unwrap();
            assert!(step.len() <= MOST_KEYS + 2 * STEP_REVISIONS as usize + 2, "{}", step.len());
            n_steps += usize::from(!step.is_empty());
            store.apply(store.applied(), &step).unwrap();
            if sweeper.next_history > Instant::now() && step.is_empty() {
                return n_steps;
            }
        }
    };
    let now = bindery_model::time::now_millis();
    let day: Millis = 24 * 60 * 60 * 1_000;
    assert_eq!(run(&content.state(), now), 0);
    // The live versions stay.
    assert!(run(&content.state(), now + 2 * day) >= 4);
    assert_eq!((count(Prefix::Revisions(1)), count(Prefix::FormerCopies(1))), (2, 0));
    let history = content.history(&access(), "notes", &ids[0], "").await.unwrap();
    assert_eq!(history.revisions.len(), 1);
    write(&ids[0], "c").await;
    define(serde_json::Value::Null).await;
    run(&content.state(), now);
    for prefix in [Prefix::Histories(1), Prefix::Revisions(1), Prefix::FormerCopies(1)] {
        assert_eq!(count(prefix), 0, "{prefix:?}");
    }
    // The history of a deleted resource goes as well.
    define(json!({ "keep": 1000, "days": 1 })).await;
    write(&ids[1], "d").await;
    let writing = content.write(&access(), Ability::Delete, "notes", "").unwrap();
    let id = writing.target(&ids[1]).unwrap();
    writing.delete(id, IfMatch::Any).await.unwrap();
    run(&content.state(), now);
    assert_eq!(count(Prefix::Histories(1)) + count(Prefix::Revisions(1)) + count(Prefix::FormerCopies(1)), 0);
}
