#![allow(clippy::unwrap_used)]

use std::cell::Cell;

use bindery_model::ability::Ability;
use bindery_query::{ListParams, RawParams, Steering};
use serde_json::json;

use super::*;
use crate::{Content, IdempotentAnswer, fixture};

async fn create(content: &Content, blueprint: &str, attributes: serde_json::Value) -> String {
    let access = fixture::access();
    let writing = content.write(&access, Ability::Create, blueprint, "").unwrap();
    let body = json!({ "attributes": attributes }).to_string();
    let IdempotentAnswer::Fresh(created) = writing.create(body.as_bytes(), None).await.unwrap() else { unreachable!() };
    created.id.to_string()
}

/// Creates notes that relate to notes through two relations.
async fn notes(content: &Content) {
    let access = fixture::access();
    let about = json!({ "name": "About", "slug": "about", "type": "reference", "settings": { "blueprint": "notes" } });
    let blueprint =
        json!({ "name": "Notes", "slug": "notes", "fields": [{ "name": "T", "slug": "t", "type": "text" }, about] });
    content.create_blueprint(&access, blueprint.to_string().as_bytes(), None).await.unwrap();
    let mut about = json!(null);
    for number in 0..300 {
        about = create(content, "notes", json!({ "t": format!("t{number}"), "about": about })).await.into();
    }
}

#[tokio::test]
async fn a_search_through_relations_can_be_stopped_at_any_moment() {
    let temp = tempfile::tempdir().unwrap();
    let content = fixture::open(temp.path());
    notes(&content).await;
    let (access, state) = (fixture::access(), content.state());
    let collection = state.collection("notes").unwrap();
    let raw = "filter[about.about.t][contains]=t1&filter[$not][about][dangling]=true&filter[about][$some][t][ne]=t5";
    let related = |slug: &str| state.collection(slug).ok().map(|collection| &*collection.blueprint);
    let query = ListParams::parse(&RawParams::parse(raw), &collection.blueprint, &related, 0, &Steering::default())
        .unwrap()
        .query;
    let mut interrupted = 0;
    for asked in 0_u32.. {
        let left = Cell::new(asked);
        let is_over = || left.replace(left.get().saturating_sub(1)) == 0;
        let interrupt = Interrupt::when(&is_over);
        let resolver = Resolver { state: &state, access: &access, interrupt: &interrupt, explanation: None };
        let found = resolver.query(collection, &query).and_then(|query| {
            collection.snapshot.search_with(&query, 0, 10, &interrupt).map_err(|error| stopped(collection, error))
        });
        match found {
            Err(StopReason::Interrupted) => interrupted += 1,
            Err(StopReason::Failed(error)) => panic!("{error}"),
            Ok(found) => {
                // The matches are the notes two after t1, t10 to t19 and t100 to t199. The last filter excludes none of
                // them.
                assert_eq!(found.total, 111);
                break;
            }
        }
    }
    assert!(interrupted > 10, "{interrupted}");
}
