#![allow(clippy::unwrap_used)]

use bindery_model::ability::Ability;
use serde_json::json;

use super::*;
use crate::IfMatch;
use crate::fixture::{access, open};

#[tokio::test]
async fn lost_notes_of_uses_of_media_are_written_again_for_live_and_working_copies() {
    let folder = tempfile::tempdir().unwrap();
    let content = open(folder.path());
    let body = json!({ "name": "notes", "slug": "notes", "working_copy": true,
        "fields": [{ "name": "Picture", "slug": "picture", "type": "image" }] });
    content.create_blueprint(&access(), body.to_string().as_bytes(), None).await.unwrap();
    let media = [1, 2].map(|n| format!("0192b3c4-0000-7000-8000-{n:012}"));
    let using = |media: &str| json!({ "picture": format!("/media/{media}/a.png") });
    let body = json!({ "attributes": using(&media[0]), "published_at": "2026-01-01T00:00:00Z" });
    let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
    writing.create(body.to_string().as_bytes(), None).await.unwrap();
    let page = content.view(&access(), "notes").unwrap().list("fields=id").unwrap().resources;
    let page: Vec<Value> = serde_json::from_str(&page).unwrap();
    let writing = content.write(&access(), Ability::Update, "notes", "copy=working").unwrap();
    let id = writing.target(page[0]["id"].as_str().unwrap()).unwrap();
    let body = json!({ "attributes": using(&media[1]) }).to_string();
    writing.change(id, IfMatch::Any, body.as_bytes()).await.unwrap();

    let store = &content.shared.store;
    let notes = || -> Vec<Key> {
        let used = media.iter().map(|id| Prefix::MediaUsers(ResourceId::parse(id).unwrap()));
        used.flat_map(|used| store.scan(used)).map(|entry| entry.unwrap().0).collect()
    };
    let before = notes();
    assert_eq!(before.len(), 2, "{before:?}");
    let lost: Vec<StoreWrite> = before.iter().cloned().map(StoreWrite::delete).collect();
    store.apply(store.applied(), &lost).unwrap();
    assert!(notes().is_empty());
    let repaired = repair(store, store.applied()).unwrap();
    assert!(repaired.losses.is_empty(), "{:?}", repaired.losses);
    assert_eq!(notes(), before);
}
