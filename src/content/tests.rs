#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::model::ability::Ability;

#[tokio::test]
async fn writes_are_refused_during_a_shutdown_and_reads_go_on() {
    let temp = tempfile::tempdir().unwrap();
    let content = Content::open(&ContentOptions {
        folder: temp.path().to_owned(),
        admin_token: None,
        video_hosts: Vec::new(),
        store_cache_bytes: 1 << 20,
        index: IndexOptions::default(),
    })
    .unwrap();
    let access = Access::everything("test");
    let body = json!({ "name": "Notes", "fields": [{ "name": "Title", "type": "text" }] }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
    let write = |title: &str| {
        let body = json!({ "attributes": { "title": title } }).to_string();
        let writing = content.write(&access, Ability::Create, "notes", "").unwrap();
        async move { writing.create(body.as_bytes(), None).await }
    };
    write("taken").await.unwrap();
    assert!(content.is_writable());
    content.close();
    assert!(!content.is_writable());
    let refused = write("refused").await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, Code::Overloaded);
    assert!(refused.message.contains("nothing was applied"), "{refused}");
    let list = content.read(&access, "notes").unwrap().list("", "").unwrap().json;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!((&list["meta"]["total"], &list["data"][0]["attributes"]["title"]), (&json!(1), &json!("taken")));
}
