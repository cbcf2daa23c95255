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
