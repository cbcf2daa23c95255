#![allow(clippy::unwrap_used)]

mod kept_lists;
mod memory_log;
mod pipelined_imports;
mod random;
mod two_contents;

use bindery_model::ability::Ability;
use bindery_model::error::Code;
use bindery_model::time::{format_millis, now_millis};
use bindery_store::{Key, Prefix, StoreWrite};
use serde_json::json;

use super::*;
use crate::command::Command;
use crate::data::blueprint_change::ChangeId;

/// Makes a content with a blueprint whose resources have a title.
async fn with_notes(folder: &std::path::Path) -> (Content, std::sync::Arc<bindery_access::Access>) {
    let content = fixture::open(folder);
    let access = fixture::access();
    let body = json!({ "name": "Notes", "fields": [{ "name": "Title", "type": "text" }] }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
    (content, access)
}

#[tokio::test]
async fn writes_are_refused_during_a_shutdown_and_reads_go_on() {
    let temp = tempfile::tempdir().unwrap();
    let (content, access) = with_notes(temp.path()).await;
    let write = |title: &str| {
        let body = json!({ "attributes": { "title": title } }).to_string();
        let writing = content.write(&access, Ability::Create, "notes", "").unwrap();
        async move { writing.create(body.as_bytes(), None).await }
    };
    write("accepted").await.unwrap();
    assert!(content.is_writable());
    content.close();
    assert!(!content.is_writable());
    let refused = write("refused").await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, Code::Overloaded);
    assert!(refused.message.contains("nothing was applied"), "{refused}");
    let list = content.view(&access, "notes").unwrap().list("").unwrap();
    let resources: serde_json::Value = serde_json::from_str(&list.resources).unwrap();
    assert_eq!((list.total, &resources[0]["attributes"]["title"]), (1, &json!("accepted")));
}

/// Reads long after the last write must not keep older memory runs in use.
#[tokio::test]
async fn readers_let_go_of_replaced_runs_without_another_write() {
    let temp = tempfile::tempdir().unwrap();
    let (content, access) = with_notes(temp.path()).await;
    let body = json!({ "attributes": { "title": "one" } }).to_string();
    content.write(&access, Ability::Create, "notes", "").unwrap().create(body.as_bytes(), None).await.unwrap();
    content.checkpoint().await.unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !content.state().with_replaced_runs().is_empty() {
        assert!(std::time::Instant::now() < until, "the snapshot still holds the memory run");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Returns the keys of an export, by line.
fn keys(export: &mut Export) -> Vec<serde_json::Value> {
    let mut text = Vec::new();
    while let Some(piece) = export.next_chunk().unwrap() {
        text.extend(piece);
    }
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap()["key"].clone()).collect()
}

#[tokio::test]
async fn an_export_shows_the_import_keys_of_the_moment_it_began() {
    let temp = tempfile::tempdir().unwrap();
    let (content, access) = with_notes(temp.path()).await;
    let import = async |lines: &[serde_json::Value]| {
        let mut import = content.import(&access, "notes", "").unwrap();
        let mut answers = Vec::new();
        for line in lines {
            answers.extend(import.push(line.to_string().as_bytes()).await.unwrap());
        }
        answers.extend(import.finish().await.unwrap());
        answers.into_iter().map(|answer| answer.result.unwrap().id).collect::<Vec<_>>()
    };
    let line = |key: &str| json!({ "key": key, "attributes": { "title": key } });
    let ids = import(&[line("a"), line("b"), line("c")]).await;
    let begin = || {
        let query = "format=ndjson&all_variants=true&sort=id";
        Export::begin(content.view(&access, "notes").unwrap(), query, None).unwrap()
    };
    let mut exports = vec![(begin(), json!(["a", "b", "c"]))];
    let renamed = |position: usize, key: &str| json!({ "id": ids[position].to_string(), "key": key });
    import(&[renamed(0, "a2"), renamed(1, "b2")]).await;
    exports.push((begin(), json!(["a2", "b2", "c"])));
    // One resource hands its key to another in a single transaction.
    import(&[renamed(0, "a3"), renamed(1, "a2")]).await;
    exports.push((begin(), json!(["a3", "a2", "c"])));
    content.write(&access, Ability::Delete, "notes", "").unwrap().delete(ids[2], IfMatch::Any).await.unwrap();
    exports.push((begin(), json!(["a3", "a2"])));
    // A resource without a key gets one.
    let body = json!({ "attributes": { "title": "x" } }).to_string();
    let writing = content.write(&access, Ability::Create, "notes", "").unwrap();
    let IdempotentAnswer::Fresh(keyless) = writing.create(body.as_bytes(), None).await.unwrap() else { unreachable!() };
    exports.push((begin(), json!(["a3", "a2", null])));
    import(&[json!({ "id": keyless.id.to_string(), "key": "d" })]).await;
    exports.push((begin(), json!(["a3", "a2", "d"])));
    for (export, expected) in &mut exports {
        assert_eq!(json!(keys(export)), *expected);
    }
    drop(exports);
    // Once nobody can need a former key, it is removed from the store.
    for _ in 0..500 {
        if content.shared.store.scan(bindery_store::Prefix::All).all(|entry| !is_former_key(&entry.unwrap().0)) {
            content.close();
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("former import keys stay in the store");
}

fn is_former_key(key: &bindery_store::Key) -> bool {
    matches!(key, bindery_store::Key::FormerImportKey { .. })
}

#[tokio::test]
async fn a_resource_that_is_imported_again_with_fewer_variants_has_no_old_ones_after_a_kill() {
    let temp = tempfile::tempdir().unwrap();
    let content = fixture::open(temp.path());
    let access = fixture::access();
    let variants = json!([
        { "name": "English", "slug": "en", "default": true },
        { "name": "German", "slug": "de", "default": false },
    ]);
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let body = json!({ "name": "Notes", "slug": "notes", "variants": variants, "fields": fields }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
    let import = async |line: serde_json::Value| {
        let mut import = content.import(&access, "notes", "").unwrap();
        import.push(line.to_string().as_bytes()).await.unwrap();
        import.finish().await.unwrap().remove(0).result.unwrap().id
    };
    let both = json!({ "variants": { "en": { "title": "one" }, "de": { "title": "eins" } } });
    let id = import(both).await;
    content.checkpoint().await.unwrap();
    content.write(&access, Ability::Delete, "notes", "").unwrap().delete(id, IfMatch::Any).await.unwrap();
    import(json!({ "id": id.to_string(), "variants": { "en": { "title": "two" } } })).await;
    let killed = tempfile::tempdir().unwrap();
    fixture::copy_folder(temp.path(), killed.path());
    content.close();

    let content = fixture::open(killed.path());
    let titles = |query: &str| content.view(&access, "notes").unwrap().list(query).unwrap().resources;
    assert!(titles("variant=de").contains("\"title\":null"), "{}", titles("variant=de"));
    assert!(titles("variant=en").contains("two"));
    let findings = content.verify();
    assert_eq!(findings.issue_count, 0, "{:?}", findings.issues);
    content.close();
}

#[tokio::test]
async fn a_step_of_a_change_that_is_over_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let (content, access) = with_notes(temp.path()).await;
    let fields = |required: bool| {
        let field = json!({ "name": "Title", "slug": "title", "type": "text", "required": required, "unique": true });
        json!({ "name": "Notes", "slug": "notes", "fields": [field] }).to_string()
    };
    content.replace_blueprint(&access, "notes", "").unwrap().run(fields(false).as_bytes()).await.unwrap();
    let before = content.find_blueprint(&access, "notes").unwrap();
    // A leader that was cut off goes on with a change that somebody else has finished.
    let change = ChangeId { blueprint: before.number, number: before.filled };
    let steps = [
        Command::FinishChange(change),
        Command::DropChange(change),
        Command::Backfill { change, resources: std::sync::Arc::default() },
    ];
    for step in steps {
        let refused = content.submit(step).await.map(|_| ()).unwrap_err();
        assert_eq!(refused.code, Code::Conflict, "{refused}");
    }
    assert_eq!(content.find_blueprint(&access, "notes").unwrap(), before);
    content.replace_blueprint(&access, "notes", "").unwrap().run(fields(true).as_bytes()).await.unwrap();
    assert_ne!(content.find_blueprint(&access, "notes").unwrap(), before);
}

#[tokio::test]
async fn a_planned_publication_that_cannot_be_read_is_passed_over() {
    let temp = tempfile::tempdir().unwrap();
    let (content, access) = (fixture::open(temp.path()), fixture::access());
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let body = json!({ "name": "Notes", "slug": "notes", "working_copy": true, "fields": fields }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
    let body = json!({ "attributes": { "title": "one" }, "published_at": "2026-01-01T00:00:00Z" }).to_string();
    let create = || content.write(&access, Ability::Create, "notes", "").unwrap().create(body.as_bytes(), None);
    create().await.unwrap();
    create().await.unwrap();
    let store = &content.shared.store;
    let at = format_millis(now_millis() + 1_000);
    for (key, _) in store.scan(Prefix::Resources(1)).map(std::result::Result::unwrap).collect::<Vec<_>>() {
        let Key::Resource { id, .. } = key else { continue };
        let writing = content.write(&access, Ability::Update, "notes", "copy=working").unwrap();
        writing.change(id, IfMatch::Any, br#"{ "attributes": { "title": "two" } }"#).await.unwrap();
        let writing = content.write(&access, Ability::Publish, "notes", "").unwrap();
        writing.publish(id, IfMatch::Any, json!({ "at": at }).to_string().as_bytes(), None).await.unwrap();
    }
    // The working copy of the first resource, whose publication comes first.
    let mut copies = store.scan(Prefix::Copies(1)).map(|entry| entry.unwrap().0);
    let is_working =
        |key: &Key| matches!(key, Key::Copy { variant, .. } if bindery_index::variant_of_working(*variant).is_some());
    let damaged = StoreWrite::put(copies.find(is_working).unwrap(), vec![0]);
    store.apply(store.applied(), &[damaged]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    create().await.unwrap();
    let list = content.view(&access, "notes").unwrap().list("").unwrap();
    assert_eq!(list.resources.matches(r#""title":"two""#).count(), 1, "{}", list.resources);
}

#[tokio::test]
async fn restoring_a_revision_waits_for_the_memory_that_its_values_take() {
    let temp = tempfile::tempdir().unwrap();
    let (content, access) = (fixture::open(temp.path()), fixture::access());
    let fields = json!([{ "name": "Text", "slug": "text", "type": "rich-text" }]);
    let history = json!({ "keep": 10, "days": 10 });
    let body = json!({ "name": "Notes", "slug": "notes", "history": history, "fields": fields }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
    let body = json!({ "attributes": { "text": format!("<p>{}</p>", "a".repeat(900_000)) } }).to_string();
    let writing = content.write(&access, Ability::Create, "notes", "").unwrap();
    let IdempotentAnswer::Fresh(created) = writing.create(body.as_bytes(), None).await.unwrap() else { unreachable!() };
    let writing = content.write(&access, Ability::Update, "notes", "").unwrap();
    writing.change(created.id, IfMatch::Any, br#"{ "attributes": { "text": "<p>b</p>" } }"#).await.unwrap();
    let restore = || {
        let writing = content.write(&access, Ability::Update, "notes", "").unwrap();
        writing.restore_revision(created.id, 1, IfMatch::Any, b"", None)
    };
    let all_memory = content.shared.admission.admit(usize::MAX).await.unwrap();
    let restored = tokio::time::timeout(std::time::Duration::from_millis(300), restore()).await;
    assert!(restored.is_err(), "it did not wait");
    drop(all_memory);
    restore().await.unwrap();
}
