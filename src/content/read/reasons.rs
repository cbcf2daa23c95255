//! Reasons for the places of resources in a list by relevance, as JSON (`API.md` 4.18), with the names of fields. Must
//! not know how resources are ordered.

use bindery_index::{FoundWord, Hit, Reason, WordReason};
use bindery_model::blueprint::Blueprint;
use bindery_model::id::ResourceId;
use bindery_query::PinnedBy;
use bindery_query::projection::column_name;
use serde_json::{Value, json};

/// Returns the reasons of the resources of a page, in its order.
pub(super) fn ranking(blueprint: &Blueprint, hits: &[Hit], reasons: &[Reason], pinned: &[PinnedBy]) -> Value {
    let of = |(hit, reason): (&Hit, &Reason)| {
        let pin = pinned.iter().find(|pin| pin.id == hit.id);
        let Reason { words, lacks, typos, ways, score, nearness, boost } = reason;
        json!({
            "id": ResourceId::from_u128(hit.id).to_string(),
            "pinned": pin.map(|PinnedBy { rule, position, .. }| json!({ "rule": rule, "position": position })),
            "words": words.iter().map(|word| of_word(blueprint, word)).collect::<Vec<_>>(),
            "lacks": lacks,
            "typos": typos,
            "ways": ways,
            "score": score,
            "nearness": nearness,
            "boost": boost,
        })
    };
    hits.iter().zip(reasons).map(of).collect()
}

fn of_word(blueprint: &Blueprint, WordReason { asked, found, is_missed }: &WordReason) -> Value {
    match found {
        None => json!({ "asked": asked, "found": null, "missed": is_missed }),
        Some(FoundWord { way, typos, words, columns }) => {
            let fields: Vec<String> = columns.iter().filter_map(|column| column_name(blueprint, *column)).collect();
            json!({ "asked": asked, "found": way.name(), "typos": typos, "as": words, "fields": fields })
        }
    }
}
