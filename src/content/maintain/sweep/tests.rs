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
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    blueprint(&content, "notes").await;
    fill(&content, "notes", 1).await;
    let copies = || content.shared.store.scan(Prefix::Copies(1)).count();
    let mut export = Export::begin(content.view(&access(), "notes").unwrap(), "format=ndjson", None).unwrap();
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
    assert_eq!(copies(), 4);
    assert_eq!(lines(&mut export), 1);
    drop(export);
    until("the superseded version is removed", || copies() == 3).await;
    content.close();
}

#[test]
fn only_expired_answers_are_removed() {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::open(temp.path(), &StoreOptions::default()).unwrap();
    let count = STEP_KEYS * 2 + 10;
    let entries = (0..count).map(|n| {
        let key = Key::Idempotency { token: "t".into(), key: format!("{n:05}").as_str().into() };
        let expires = if n % 3 == 0 { 1000 } else { 2000 };
        StoreWrite::put(key, kept_until(expires))
    });
    store.apply(1, &entries.collect::<Vec<_>>()).unwrap();
    let mut sweeper = Sweeper::new(Vec::new());
    let mut steps = 0;
    for number in 2..20 {
        std::thread::sleep(STEP_PAUSE);
        let removals = sweeper.next_step(&store, 1000).unwrap();
        steps += usize::from(!removals.is_empty());
        assert!(removals.len() <= STEP_KEYS);
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
