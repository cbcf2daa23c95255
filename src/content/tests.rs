#![allow(clippy::unwrap_used)]

mod memory_log;
mod random;
mod two_contents;

use serde_json::json;

use super::*;
use crate::model::ability::Ability;
use crate::model::error::Code;

#[tokio::test]
async fn writes_are_refused_during_a_shutdown_and_reads_go_on() {
    let temp = tempfile::tempdir().unwrap();
    let content = fixture::open(temp.path());
    let access = fixture::access();
    let body = json!({ "name": "Notes", "fields": [{ "name": "Title", "type": "text" }] }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
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

/// The keys of an export, by line.
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
    let content = fixture::open(temp.path());
    let access = fixture::access();
    let body = json!({ "name": "Notes", "fields": [{ "name": "Title", "type": "text" }] }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
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
    let renamed = |place: usize, key: &str| json!({ "id": ids[place].to_string(), "key": key });
    import(&[renamed(0, "a2"), renamed(1, "b2")]).await;
    exports.push((begin(), json!(["a2", "b2", "c"])));
    import(&[renamed(0, "a3")]).await;
    content.write(&access, Ability::Delete, "notes", "").unwrap().delete(ids[2], IfMatch::Any).await.unwrap();
    exports.push((begin(), json!(["a3", "b2"])));
    for (export, expected) in &mut exports {
        assert_eq!(json!(keys(export)), *expected);
    }
    drop(exports);
    // Once nobody can need a former key, it is removed from the store.
    for _ in 0..500 {
        if content.shared.store.scan(crate::store::Prefix::All).all(|entry| !is_former_key(&entry.unwrap().0)) {
            content.close();
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("former import keys stay in the store");
}

fn is_former_key(key: &crate::store::Key) -> bool {
    matches!(key, crate::store::Key::FormerImportKey { .. })
}
