//! `GET /v2/search/suggest` (`API.md` 4.26): what a search field offers while somebody types. Must not know how words
//! are found.

use std::sync::Arc;

use axum::http::StatusCode;
use bindery_content::{SuggestedWord, Suggestions, common_words, require_for_copy};
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_query::{CopyKind, RawParams, has_words, strict};
use serde_json::{Value, json};

use super::search::{blueprints, check_variant, too_slow};
use crate::answer::respond::data_value;
use crate::error::Answer;
use crate::request::head::Call;

/// The most suggestions.
const MOST: usize = 20;

/// The default number of them.
const DEFAULT: usize = 10;

/// The number of words that each of several blueprints names: the most frequent of all need not be so in one of them.
const WORDS_OF_EACH: usize = 50;

/// The titles of a blueprint, each with the id of its resource, the best first.
type Titles = Vec<(ResourceId, String)>;

/// Suggestions of all blueprints.
#[derive(Default)]
struct Found {
    /// The words, the most frequent first.
    words: Vec<SuggestedWord>,
    /// Questions that were asked before, each with the number of visitors who found something.
    questions: Vec<(String, u64)>,
    /// The titles of each blueprint.
    titles: Vec<(Arc<Blueprint>, Titles)>,
}

pub(crate) async fn suggest(call: Call) -> Answer {
    call.access.require(&[Ability::View])?;
    let params = RawParams::parse(&call.query);
    require_for_copy(&call.access, &params)?;
    strict::check(&params, &["q", "blueprints", "variant", "limit", "copy"])?;
    let invalid = |text: &str| Error::new(Code::InvalidParameter, text);
    let q = params.single("q")?.ok_or_else(|| invalid("`q` is required: what was typed so far"))?;
    let limit = params
        .single("limit")?
        .map_or(Some(DEFAULT), |sent| sent.parse().ok().filter(|limit| (1..=MOST).contains(limit)));
    let limit = limit.ok_or_else(|| invalid(&format!("`limit` must be a number from 1 to {MOST}")))?;
    let copies = CopyKind::parse_for_all(&params)?;
    let blueprints = blueprints(&call, &params)?;
    check_variant(&params, &blueprints)?;
    if !has_words(q) {
        return Ok(data_value(StatusCode::OK, json!([])));
    }
    let most = call.app.config.query_timeout;
    match tokio::time::timeout(most, find(&call, &params, copies, blueprints, limit)).await {
        Ok(found) => Ok(data_value(StatusCode::OK, found?.shown(q, limit))),
        Err(_) => Err(too_slow(most).into()),
    }
}

/// Asks the blueprints one after another, so that a request never runs more than one search at a time.
async fn find(
    call: &Call,
    params: &RawParams,
    copies: CopyKind,
    blueprints: Vec<Arc<Blueprint>>,
    limit: usize,
) -> Result<Found> {
    let sees = |slug: &str| blueprints.iter().any(|blueprint| blueprint.slug == slug);
    let beginning = params.single("q")?.unwrap_or_default();
    let asked_before = call.app.analytics.asked_before();
    let questions = asked_before.map_or_else(Vec::new, |asked| asked.find(beginning, limit, sees));
    let mut found = Found { questions, ..Found::default() };
    let most_words = if blueprints.len() > 1 { WORDS_OF_EACH } else { limit };
    let mut words_of_each = Vec::with_capacity(blueprints.len());
    for blueprint in blueprints {
        // Blueprints without working copies answer with the live ones.
        let query = match copies == CopyKind::Working && blueprint.working_copy {
            true => match params.single("variant")?.filter(|slug| blueprint.variant(slug).is_some()) {
                Some(variant) => format!("copy=working&variant={variant}"),
                None => "copy=working".to_owned(),
            },
            false => String::new(),
        };
        let view = match call.app.content.view_of(&call.access, &blueprint.slug, &query) {
            Ok(view) => view,
            // The blueprint was deleted after the list of blueprints was read.
            Err(error) if error.code == Code::NotFound => continue,
            Err(error) => return Err(error),
        };
        let Suggestions { words, titles, .. } = view.suggest_in_time(params, most_words, limit).await?;
        words_of_each.push((view, words));
        found.titles.push((blueprint, titles));
    }
    found.words = common_words(&words_of_each, params, limit).await?;
    Ok(found)
}

impl Found {
    /// Returns at most `limit` suggestions: what was typed with its last word completed, then questions that were asked
    /// before, then titles. Titles have at least half of the places if there are as many, and words half of the others.
    fn shown(self, q: &str, limit: usize) -> Value {
        let head = bindery_query::before_last_word(q);
        let mut words = self.words;
        let longest = self.titles.iter().map(|(_, titles)| titles.len()).max().unwrap_or(0);
        let by_place = (0..longest).flat_map(|place| {
            self.titles.iter().filter_map(move |(blueprint, titles)| Some((blueprint, titles.get(place)?)))
        });
        let titles: Vec<Value> = by_place.map(|(blueprint, title)| title_json(blueprint, title)).take(limit).collect();
        let places = limit.div_ceil(2).max(limit - titles.len());
        let mut questions = self.questions;
        let most = (places / 2).max(places.saturating_sub(words.len()));
        words.truncate(places - most.min(questions.len()));
        let is_word = |text: &str| words.iter().any(|word| format!("{head}{}", word.text).to_lowercase() == *text);
        questions.retain(|(text, _)| !is_word(text));
        questions.truncate(places - words.len());
        let left = limit - words.len() - questions.len();
        let question = |(text, count): (String, u64)| json!({ "kind": "question", "text": text, "count": count });
        let word = |word: SuggestedWord| {
            let text = format!("{head}{}", word.text);
            json!({ "kind": "word", "text": text, "count": word.count })
        };
        let before = words.into_iter().map(word).chain(questions.into_iter().map(question));
        before.chain(titles.into_iter().take(left)).collect()
    }
}

fn title_json(blueprint: &Blueprint, (id, title): &(ResourceId, String)) -> Value {
    json!({ "kind": "title", "text": title, "blueprint": blueprint.slug, "id": id.to_string() })
}
