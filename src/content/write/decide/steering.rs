//! Decides commands on synonyms and rules of ranked search.

use std::collections::{HashMap, HashSet};

use bindery_index::SynonymEntry;
use bindery_model::error::{Code, Error, Result};
use bindery_model::sent::quote;
use bindery_model::time::time_of_change;
use bindery_store::Key;
use serde_json::{Map, Value};

use crate::command::{Outcome, SteeringCommand, SteeringKind};
use crate::data::refusals::{no_search_rule, no_synonym};
use crate::data::search_rule::SearchRule;
use crate::data::state::State;
use crate::data::steering_checks::{check_rule, check_variant};
use crate::data::synonym::Synonym;
use crate::prepare::steering;
use crate::write::overlay::Overlay;

/// The most entries of synonyms.
const MAX_SYNONYMS: usize = 10_000;
/// The most words and phrases that all entries together put in the place of one. Each is looked up with the question.
const MAX_OF_WORD: usize = 100;
/// The most rules. Each is compared with the question.
const MAX_RULES: usize = 1_000;

pub(super) fn decide(state: &State, overlay: &mut Overlay<'_>, command: &SteeringCommand) -> Result<Outcome> {
    match command {
        SteeringCommand::Create(SteeringKind::Synonym, body) => {
            check_count(state.steering.synonyms().len(), MAX_SYNONYMS, "synonyms")?;
            let id = overlay.new_id()?.to_string();
            let synonym = steering::synonym(body, id, overlay.now)?;
            check_synonym(state, &synonym)?;
            Ok(put_synonym(overlay, &synonym))
        }
        SteeringCommand::Create(SteeringKind::Rule, body) => {
            check_count(state.steering.rules().len(), MAX_RULES, "rules")?;
            let id = overlay.new_id()?.to_string();
            let rule = steering::rule(body, id, overlay.now)?;
            check_rule(state, &rule, overlay.now)?;
            Ok(put_rule(overlay, &rule))
        }
        SteeringCommand::Change { kind: SteeringKind::Synonym, id, body, is_whole } => {
            let before = state.steering.synonym(id).ok_or_else(|| no_synonym(id))?;
            let body = merged(before.to_json(), body, *is_whole);
            let synonym = Synonym {
                created_at: before.created_at,
                updated_at: before.updated_at,
                ..steering::synonym(&body, id.clone(), 0)?
            };
            if synonym == *before {
                return Ok(Outcome::Steering(before.to_json()));
            }
            check_synonym(state, &synonym)?;
            let updated_at = time_of_change(overlay.now, before.updated_at);
            Ok(put_synonym(overlay, &Synonym { updated_at, ..synonym }))
        }
        SteeringCommand::Change { kind: SteeringKind::Rule, id, body, is_whole } => {
            let before = state.steering.rule(id).ok_or_else(|| no_search_rule(id))?;
            let body = merged(before.to_json(), body, *is_whole);
            let rule = SearchRule {
                created_at: before.created_at,
                updated_at: before.updated_at,
                ..steering::rule(&body, id.clone(), 0)?
            };
            if rule == *before {
                return Ok(Outcome::Steering(before.to_json()));
            }
            check_rule(state, &rule, overlay.now)?;
            let updated_at = time_of_change(overlay.now, before.updated_at);
            Ok(put_rule(overlay, &SearchRule { updated_at, ..rule }))
        }
        SteeringCommand::Delete(SteeringKind::Synonym, id) => {
            state.steering.synonym(id).ok_or_else(|| no_synonym(id))?;
            overlay.remove(Key::Synonym(id.as_str().into()));
            Ok(Outcome::Done)
        }
        SteeringCommand::Delete(SteeringKind::Rule, id) => {
            state.steering.rule(id).ok_or_else(|| no_search_rule(id))?;
            overlay.remove(Key::SearchRule(id.as_str().into()));
            Ok(Outcome::Done)
        }
    }
}

/// Removes the rules of a blueprint that is deleted.
pub(super) fn forget(state: &State, overlay: &mut Overlay<'_>, blueprint: &str) {
    for stored in state.steering.rules().filter(|stored| stored.rule.blueprint.as_deref() == Some(blueprint)) {
        overlay.remove(Key::SearchRule(stored.rule.id.as_str().into()));
    }
}

/// Returns a body in which keys that are missing have their present values, unless the whole is replaced.
fn merged(before: Value, body: &Map<String, Value>, is_whole: bool) -> Map<String, Value> {
    let mut merged = match before {
        Value::Object(before) if !is_whole => before,
        _ => Map::new(),
    };
    merged.extend(body.clone());
    merged
}

fn put_synonym(overlay: &mut Overlay<'_>, synonym: &Synonym) -> Outcome {
    overlay.put(Key::Synonym(synonym.id.as_str().into()), synonym.encode());
    Outcome::Steering(synonym.to_json())
}

fn put_rule(overlay: &mut Overlay<'_>, rule: &SearchRule) -> Outcome {
    overlay.put(Key::SearchRule(rule.id.as_str().into()), rule.encode());
    Outcome::Steering(rule.to_json())
}

fn check_count(count: usize, most: usize, what: &str) -> Result<()> {
    match count >= most {
        true => {
            let text = format!("there are {most} {what}, which is the most there may be; delete some first");
            Err(Error::new(Code::ValidationFailed, text))
        }
        false => Ok(()),
    }
}

/// Checks that the variant of synonyms exists, and that no word gets too many of them.
fn check_synonym(state: &State, synonym: &Synonym) -> Result<()> {
    check_variant(state, None, synonym.variant.as_deref())?;
    let entry = SynonymEntry::new(&synonym.id, None, &synonym.words, synonym.one_way);
    let sources: HashSet<&[String]> = entry.sources().map(|(row, _)| row).collect();
    let of_one = |row: &[String]| entry.sources().filter(|(own, _)| *own == row).map(|(_, count)| count).sum::<usize>();
    let mut counts: HashMap<&[String], usize> = sources.iter().map(|row| (*row, of_one(row))).collect();
    for stored in state.steering.synonyms().filter(|stored| stored.synonym.id != synonym.id) {
        for (row, count) in stored.entry.sources() {
            if let Some(sum) = counts.get_mut(row) {
                *sum += count;
            }
        }
    }
    match counts.into_iter().find(|(_, count)| *count > MAX_OF_WORD) {
        Some((row, count)) => {
            let word = quote(&row.join(" "));
            let text = format!("{word} would have {count} synonyms in all entries; it may have at most {MAX_OF_WORD}");
            Err(Error::of_field("words", text))
        }
        None => Ok(()),
    }
}
