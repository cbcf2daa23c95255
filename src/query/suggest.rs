//! The parameters of suggestions while somebody types (`API.md` 4.26). Must not know which words there are.

use std::sync::Arc;

use bindery_index::{self as index, ColumnId, Expansion, TextField, TextQuery, Words, last_word};
use bindery_model::blueprint::{Blueprint, Field, FieldType};
use bindery_model::error::Error;

use super::filter::{Filter, copies_of};
use super::raw::RawParams;
use super::rule::Steering;
use super::{Query, words};
use crate::projection::{self, language_of, ranked_columns};

/// The suggestions that are asked for in one blueprint.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestParams {
    /// The resources that have the words before the last one.
    pub head: Query,
    /// The beginning of the last word, as words are compared; `None` if it is complete.
    pub beginning: Option<String>,
    /// The fields whose words are suggested.
    pub fields: Vec<TextField>,
    /// The resources whose titles have the words, with the column of the title; `None` without a title.
    pub titles: Option<(Query, ColumnId)>,
}

/// Returns what was typed before the last word, or all of it if the last word is complete.
pub fn before_last_word(q: &str) -> &str {
    last_word(q).map_or(q, |last| &q[..last.at])
}

impl AsRef<Query> for SuggestParams {
    fn as_ref(&self) -> &Query {
        &self.head
    }
}

impl SuggestParams {
    /// Reads the parameters for a blueprint. In a variant that it does not have, its default counts.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub fn parse(params: &RawParams, blueprint: &Blueprint, steering: &Steering) -> Result<SuggestParams, Error> {
        let q = params.single("q")?.unwrap_or_default();
        words::check_count(q)?;
        let slug = params.single("variant")?.filter(|slug| blueprint.variant(slug).is_some());
        let copies = copies_of(blueprint, slug, None);
        let field = |(column, weight)| TextField { column, weight, fallback: None };
        let fields: Vec<TextField> = ranked_columns(blueprint).into_iter().map(field).collect();
        let expansion = Expansion {
            language: language_of(blueprint, copies.variant),
            synonyms: words::synonyms_of(blueprint, copies, steering.synonyms.as_ref()),
            ..Expansion::default()
        };
        let of_words = |q: &str, fields: Vec<TextField>| -> Query {
            let words = Words::parse_expanded(q, true, &expansion);
            let filter = match words.is_empty() {
                true => index::Filter::All,
                false => index::Filter::Words(Arc::new(TextQuery::new(words, fields))),
            };
            Query { copies, filter: Filter::Own(filter), sort: vec![words::BY_RELEVANCE] }
        };
        let last = last_word(q);
        // The blank says that the words before the last one are complete, also those before a hyphen or slash.
        let head = last.as_ref().map_or_else(String::new, |last| format!("{} ", &q[..last.at]));
        let named = blueprint.record_title.as_ref().and_then(|slug| blueprint.field(slug));
        let is_text = |field: &&Field| matches!(field.field_type, FieldType::Text);
        let title = named.or_else(|| blueprint.fields.iter().find(is_text));
        let title = title.filter(|field| projection::has_prose(field)).map(projection::column_of);
        let titles = title.map(|column| (of_words(q, vec![field((column, 1.0))]), column));
        Ok(SuggestParams {
            head: of_words(&head, fields.clone()),
            beginning: last.map(|last| last.text),
            fields,
            titles,
        })
    }
}
