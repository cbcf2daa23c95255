//! The ways in which a word is found beyond the word as it stands.

use std::sync::Arc;

use super::synonyms::{SynonymPhrases, Synonyms};
use crate::language::{Forms, Language, is_in_compounds};
use crate::names::Name;
use crate::text_query::{Rest, WantedToken};
use crate::tokens::Token;

/// Widens a search: parts of names, forms of a word, compounds, synonyms, and resources that lack some of the words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expansion {
    /// The language of the texts, for forms of a word and compounds.
    pub language: Option<Language>,
    /// True if resources that lack some of the words are found if few have all.
    pub lets_go: bool,
    /// Words that a resource need not have.
    pub stop_words: Vec<String>,
    /// The synonyms that words have; `None` for none.
    pub synonyms: Option<Synonymous>,
}

/// Synonyms, as one variant has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Synonymous {
    /// All synonyms.
    pub synonyms: Arc<Synonyms>,
    /// The slug of the variant.
    pub variant: Option<String>,
}

/// The other ways in which a word is found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Alternatives {
    /// The parts of a name, which are found anywhere in a resource; empty for other words.
    pub(crate) parts: Vec<WantedToken>,
    /// The parts of a name, joined, if that differs from the name.
    pub(crate) joined: Option<String>,
    pub(crate) forms: Option<Forms>,
    /// True if compounds are found that begin or end with the word.
    pub(crate) has_compounds: bool,
    pub(crate) synonyms: SynonymPhrases,
}

impl Alternatives {
    /// Returns the alternatives of a word. `raw` is the word as it was typed.
    pub(super) fn of(token: &Token<'_>, raw: &str, language: Option<Language>) -> Alternatives {
        let name = Name::of(raw, token.kind);
        let part = |part: &str| {
            let alternatives = Some(Box::default());
            WantedToken { text: part.to_owned(), typos: 0, rest: Rest::Nothing, alternatives }
        };
        let mut parts: Vec<WantedToken> = Vec::new();
        for part in name.iter().flat_map(Name::asked_parts).map(part) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        Alternatives {
            parts,
            joined: name.as_ref().and_then(Name::joined).filter(|joined| *joined != token.text),
            forms: language.and_then(|language| Forms::of(language, &token.text)),
            has_compounds: language.is_some_and(Language::has_compounds) && is_in_compounds(&token.text),
            synonyms: SynonymPhrases::default(),
        }
    }
}
