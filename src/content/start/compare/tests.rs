#![allow(clippy::unwrap_used)]

use bindery_index::{Copy as IndexCopy, IndexOp, Value as Indexed};
use serde_json::json;

use std::path::Path;

use bindery_access::Access;
use bindery_model::ability::Ability;

use super::*;
use crate::fixture::options;
use crate::{Content, ContentOptions, IndexOptions};

fn open(folder: &Path, index: IndexOptions) -> Content {
    Content::open(&ContentOptions { index, ..options(folder) }).unwrap()
}

/// Returns the name, settings and value of a field for each form of column in the index.
fn fields() -> Vec<(&'static str, serde_json::Value, serde_json::Value)> {
    let long = format!("Ünïcode Text, {}", "lang und länger ".repeat(300));
    vec![
        ("text", json!({}), json!(long)),
        ("rich-text", json!({}), json!("<p>Ä &amp; b</p>")),
        ("number", json!({}), json!(12.5)),
        ("boolean", json!({}), json!(true)),
        ("datetime", json!({}), json!("2026-11-20T20:42:31+02:00")),
        ("multi-enum", json!({ "values": ["A", "b"] }), json!(["A", "b"])),
        ("money", json!({}), json!({ "amount": 5, "currency": "EUR" })),
        ("address", json!({}), json!({ "city": "Ulm" })),
        ("slug", json!({}), json!(null)),
    ]
}

async fn fill(content: &Content) -> ResourceId {
    let access = Access::everything("test");
    let slugged = |name: &str| name.replace('-', "_");
    let described: Vec<serde_json::Value> = fields()
        .iter()
        .map(|(name, settings, _)| json!({ "name": name, "slug": slugged(name), "type": name, "settings": settings }))
        .collect();
    let body = json!({ "name": "All", "slug": "all", "fields": described }).to_string();
    content.create_blueprint(&access, body.as_bytes(), None).await.unwrap();
    let attributes: serde_json::Map<String, serde_json::Value> =
        fields().into_iter().map(|(name, _, value)| (slugged(name), value)).collect();
    let body = json!({ "attributes": attributes }).to_string();
    for _ in 0..3 {
        create(content, &body).await;
    }
    let entry = content.shared.store.scan(Prefix::Resources(1)).next().unwrap().unwrap();
    let (Key::Resource { id, .. }, _) = entry else { panic!("{entry:?}") };
    id
}

async fn create(content: &Content, body: &str) {
    let writing = content.write(&Access::everything("test"), Ability::Create, "all", "").unwrap();
    writing.create(body.as_bytes(), None).await.unwrap();
}

/// Changes the values of a resource in the index only, then verifies.
fn corrupt(content: &Content, id: ResourceId, change: impl FnOnce(&mut Vec<(u32, Indexed)>)) -> Findings {
    let state = content.state();
    let collection = state.collection("all").unwrap();
    let blueprint = &collection.blueprint;
    let stored = content.shared.store.get(&Key::Resource { blueprint: blueprint.number, id }).unwrap().unwrap();
    let meta = Meta::decode(&stored).unwrap();
    let variant = blueprint.default_variant();
    let version = meta.copy(variant).unwrap();
    let values = content.shared.store.values(blueprint, id, version).unwrap();
    let mut values = projection::project(blueprint, values.iter().enumerate());
    change(&mut values);
    let copies = vec![(variant, Some(IndexCopy { number: version.number, values }))];
    collection.index.apply(vec![IndexOp::Put { id: id.as_u128(), stamps: meta.stamps(), copies }]);
    let mut next = State::clone(&state);
    next.refresh(blueprint.number);
    content.shared.cell.publish(next);
    content.verify()
}

#[tokio::test]
async fn a_wrong_value_in_any_column_of_the_index_is_reported() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path(), IndexOptions::default());
    let id = fill(&content).await;
    let findings = corrupt(&content, id, |_| {});
    assert_eq!((findings.issue_count, findings.resources), (0, 3), "{:?}", findings.issues);
    let columns: Vec<u32> = {
        let state = content.state();
        let mut columns = Vec::new();
        for name in projection::column_names(&state.collection("all").unwrap().blueprint) {
            let column = projection::column(&state.collection("all").unwrap().blueprint, &name).unwrap();
            columns.push(column.id);
        }
        columns.dedup();
        columns
    };
    for column in columns {
        let findings = corrupt(&content, id, |values| {
            let before = values.len();
            values.retain(|(id, _)| *id != column);
            if values.len() == before {
                values.push((column, Indexed::Text("extra".into())));
            }
        });
        assert_eq!(findings.issue_count, 1, "column {column}: {:?}", findings.issues);
        assert!(findings.issues[0].contains("has different values in the index: `"), "{:?}", findings.issues);
    }
    for wrong in [Indexed::Number(12.25), Indexed::Text("12.5".into())] {
        let findings = corrupt(&content, id, |values| {
            let position = values.iter().position(|(_, value)| matches!(value, Indexed::Number(12.5))).unwrap();
            values[position].1 = wrong;
        });
        assert_eq!(findings.issues, [format!("`all` {id}: variant 0 has different values in the index: `number`")]);
    }
    content.close();
}

#[tokio::test]
async fn verification_compares_index_files_on_disk_after_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path(), IndexOptions::default());
    let id = fill(&content).await;
    content.close();
    drop(content);
    let content = open(temp.path(), IndexOptions::default());
    let findings = content.verify();
    assert_eq!((findings.issue_count, findings.resources), (0, 3), "{:?}", findings.issues);
    let findings = corrupt(&content, id, |values| values.truncate(1));
    assert_eq!(findings.issue_count, 1, "{:?}", findings.issues);
    // Write something, so that closing writes the index to disk.
    create(&content, &json!({ "attributes": {} }).to_string()).await;
    content.close();
    drop(content);
    // The files now contain the wrong values. Rebuilding the index corrects them.
    let content = open(temp.path(), IndexOptions::default());
    assert_eq!(content.verify().issue_count, 1);
    content.close();
    drop(content);
    std::fs::remove_dir_all(temp.path().join("index")).unwrap();
    let content = open(temp.path(), IndexOptions::default());
    assert_eq!(content.verify().issue_count, 0);
    content.close();
}
