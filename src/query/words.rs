//! `q`, `q_mode`, `q_match`, `typos` and `highlight`: ranked search (`API.md` 4.6.15 to 4.6.17). Must not know how
//! words are found.

use std::sync::Arc;

use bindery_index::{
    Boost, Curve, Expansion, SortBy, SortKey, Synonymous, Synonyms, TextField, TextQuery, Words, word_count,
};
use bindery_model::blueprint::{Blueprint, BoostSetting, Field};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use bindery_model::time::Millis;

use super::Copies;
use super::message::quoted_list;
use super::nearest::with_nearest;
use super::raw::RawParams;
use super::strict::ignored;
use super::{slug_of, sort};
use crate::projection::{has_prose, language_of, ranked_columns};

/// The most words in `q`. Each is looked up in every field.
const MAX_WORDS: usize = 100;
/// An hour.
const HOUR: Millis = 3_600_000;
/// The most fields in `highlight`. Each is read for every resource of a page.
const MAX_HIGHLIGHTS: usize = 10;

/// The order of ranked search without `sort`.
pub(super) const BY_RELEVANCE: SortKey = SortKey { by: SortBy::Relevance, descending: true };

/// The requested excerpts of texts around the matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Highlights {
    /// The words that are marked.
    pub words: Words,
    /// The numbers of the fields that are shown, each once, in the order of the request.
    pub fields: Vec<u32>,
}

/// Returns whether a text for `q` has words. A list ignores one without words.
pub fn has_words(q: &str) -> bool {
    !Words::parse(q, true).is_empty()
}

/// Returns whether a blueprint has fields for `search` and `q`. Without any, a list ignores both.
pub fn has_ranked_fields(blueprint: &Blueprint) -> bool {
    !ranked_columns(blueprint).is_empty()
}

/// Parses `q`; returns `None` if it is empty.
///
/// # Errors
/// `INVALID_PARAMETER`.
pub(super) fn parse(
    params: &RawParams,
    blueprint: &Blueprint,
    copies: Copies,
    synonyms: Option<&Arc<Synonyms>>,
    now: Millis,
    is_strict: bool,
) -> Result<Option<TextQuery>, Error> {
    let how = WordParams::parse(params)?;
    let q = params.single("q")?;
    if is_strict {
        how.check_effect(q)?;
    }
    let Some(q) = q else { return Ok(None) };
    check_count(q)?;
    let mut words = how.words(q, blueprint, copies, synonyms);
    words.merge_equal();
    let columns = ranked_columns(blueprint);
    let why = match (words.is_empty(), columns.is_empty()) {
        (true, _) => Some("it has no words".to_owned()),
        (_, true) => Some(format!("`{}` has no field of the type `text` or `rich-text`", blueprint.slug)),
        _ => None,
    };
    match why {
        Some(why) if is_strict => Err(ignored("q", &why)),
        Some(_) => Ok(None),
        None => {
            let field = |(column, weight)| TextField { column, weight, fallback: copies.fallback };
            let query = TextQuery::new(words, columns.into_iter().map(field).collect());
            Ok(Some(query.with_boosts(boosts(blueprint, copies.fallback, now))))
        }
    }
}

/// Checks the number of words of `q`.
///
/// # Errors
/// `INVALID_PARAMETER` if there are too many.
pub(super) fn check_count(q: &str) -> Result<(), Error> {
    let words = word_count(q);
    if words > MAX_WORDS {
        let message = format!("`q` has {words} words; it must have at most {MAX_WORDS}");
        return Err(Error::new(Code::InvalidParameter, message));
    }
    Ok(())
}

/// Returns the synonyms of a blueprint's words in a variant, if it has any.
pub(super) fn synonyms_of(
    blueprint: &Blueprint,
    copies: Copies,
    synonyms: Option<&Arc<Synonyms>>,
) -> Option<Synonymous> {
    let has_synonyms = blueprint.search.as_ref().is_none_or(|search| search.synonyms);
    synonyms.filter(|_| has_synonyms).map(|synonyms| Synonymous {
        synonyms: Arc::clone(synonyms),
        variant: slug_of(blueprint, copies.variant).map(str::to_owned),
    })
}

/// Returns the names of the fields that count into the order.
pub(super) fn boosted(blueprint: &Blueprint) -> Vec<String> {
    blueprint.search.iter().flat_map(|search| &search.boost).map(|boost| boost.field.clone()).collect()
}

/// Returns the dates and numbers that count into the order. Time counts in hours, so that the order changes no more
/// often.
fn boosts(blueprint: &Blueprint, fallback: Option<u16>, now: Millis) -> Vec<Boost> {
    let settings = blueprint.search.iter().flat_map(|search| &search.boost);
    let boost = |setting: &BoostSetting| {
        let BoostSetting { field, weight, half_life_days, from, to } = setting;
        let curve = match (half_life_days, to) {
            (Some(half_life_days), _) => {
                Curve::Recency { now: now - now.rem_euclid(HOUR), half_life_days: *half_life_days }
            }
            (None, Some(to)) => Curve::Range { from: from.unwrap_or(0.0), to: *to },
            (None, None) => Curve::Logarithm,
        };
        Some(Boost { by: sort::by(blueprint, field, fallback)?, curve, weight: *weight })
    };
    settings.filter_map(boost).collect()
}

/// The ways in which words are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Also by parts of names, forms of a word and compounds.
    Broad,
    /// As they stand, with typos and beginnings.
    Exact,
}

/// The words that a resource must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matching {
    /// All, or if few resources have all, some.
    Any,
    All,
}

/// The parameters that say how words are found.
pub struct WordParams {
    typos: Option<bool>,
    mode: Option<Mode>,
    matching: Option<Matching>,
}

impl WordParams {
    /// The names of the parameters.
    pub const NAMES: [&str; 3] = ["typos", "q_mode", "q_match"];

    /// Reads the parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub fn parse(params: &RawParams) -> Result<WordParams, Error> {
        Ok(WordParams {
            typos: params.given_flag("typos")?,
            mode: choice(params, "q_mode", [("broad", Mode::Broad), ("exact", Mode::Exact)])?,
            matching: choice(params, "q_match", [("any", Matching::Any), ("all", Matching::All)])?,
        })
    }

    /// Checks, for a strict request with this `q`, that each of the parameters has an effect.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub fn check_effect(&self, q: Option<&str>) -> Result<(), Error> {
        match self.first_given() {
            Some(name) if q.is_none() => Err(ignored(name, "there is no `q`")),
            Some(_) if self.mode == Some(Mode::Exact) && self.matching.is_some() => {
                Err(ignored("q_match", "`q_mode=exact` asks for all words"))
            }
            _ => Ok(()),
        }
    }

    fn first_given(&self) -> Option<&'static str> {
        let given = [self.typos.is_some(), self.mode.is_some(), self.matching.is_some()];
        WordParams::NAMES.into_iter().zip(given).find_map(|(name, is_given)| is_given.then_some(name))
    }

    fn words(&self, q: &str, blueprint: &Blueprint, copies: Copies, synonyms: Option<&Arc<Synonyms>>) -> Words {
        let typos = self.typos.unwrap_or(true);
        if self.mode == Some(Mode::Exact) {
            return Words::parse(q, typos);
        }
        let settings = blueprint.search.as_ref();
        let expansion = Expansion {
            language: language_of(blueprint, copies.variant),
            lets_go: self.matching != Some(Matching::All),
            stop_words: settings.map(|search| search.stop_words.clone()).unwrap_or_default(),
            synonyms: synonyms_of(blueprint, copies, synonyms),
        };
        Words::parse_expanded(q, typos, &expansion)
    }
}

fn choice<T>(params: &RawParams, name: &str, choices: [(&str, T); 2]) -> Result<Option<T>, Error> {
    let Some(sent) = params.single(name)? else { return Ok(None) };
    let [one, other] = [choices[0].0, choices[1].0];
    let found = choices.into_iter().find(|(choice, _)| *choice == sent).map(|(_, value)| value);
    let message = || format!("`{name}` is {}; it must be `{one}` or `{other}`, or left out", quote(sent));
    found.map(Some).ok_or_else(|| Error::new(Code::InvalidParameter, message()))
}

/// Returns the fields that `highlight` names, with the words of `q`.
///
/// # Errors
/// `INVALID_PARAMETER`.
pub(super) fn highlights(
    params: &RawParams,
    blueprint: &Blueprint,
    query: Option<&TextQuery>,
    is_strict: bool,
) -> Result<Option<Arc<Highlights>>, Error> {
    let Some(sent) = params.single("highlight")? else { return Ok(None) };
    if query.is_none() && is_strict {
        return Err(ignored("highlight", "there is no `q` with words"));
    }
    let mut fields = Vec::new();
    for slug in sent.split(',') {
        let field = blueprint.field(slug).filter(|field| has_prose(field));
        let number = field.map(|field| field.number).ok_or_else(|| no_such_field(slug, sent, blueprint))?;
        if !fields.contains(&number) {
            fields.push(number);
        }
        if fields.len() > MAX_HIGHLIGHTS {
            let message =
                format!("`highlight` names more than {MAX_HIGHLIGHTS} fields; it must name at most {MAX_HIGHLIGHTS}");
            return Err(Error::new(Code::InvalidParameter, message));
        }
    }
    let words = query.map(|query| query.words().clone()).unwrap_or_default();
    Ok(Some(Arc::new(Highlights { words, fields })))
}

fn no_such_field(slug: &str, sent: &str, blueprint: &Blueprint) -> Error {
    let known: Vec<&str> = blueprint.fields.iter().filter(|field| has_prose(field)).map(slug_of_field).collect();
    let problem = match (slug, blueprint.field(slug)) {
        ("", _) => format!("`highlight` is {}, which has an empty entry.", quote(sent)),
        (_, Some(field)) => {
            format!("`highlight` names {}, which is of the type `{}`.", quote(slug), field.field_type.name())
        }
        (_, None) => {
            let problem = format!("`highlight` names {}, which does not exist", quote(slug));
            with_nearest(&problem, slug, known.iter().copied())
        }
    };
    let known = match known.is_empty() {
        true => format!("`{}` has none", blueprint.slug),
        false => quoted_list(known),
    };
    let message = format!("{problem} Fields of the types `text` and `rich-text`: {known}");
    Error::new(Code::InvalidParameter, message)
}

fn slug_of_field(field: &Field) -> &str {
    &field.slug
}
