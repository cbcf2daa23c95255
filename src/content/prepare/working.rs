//! Reads the body of a publication of working copies (`API.md` 4.21), of one resource or of several. Must not know
//! which working copies there are.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, FieldErrors};
use bindery_model::id::ResourceId;
use bindery_model::sent::quote;
use bindery_model::time::Millis;
use serde_json::{Map, Value};

use crate::command::{Item, PublicationMoment, WorkingPublication};
use crate::data::version::IfMatch;
use crate::prepare::body::{self, kind_of};

const KEYS: [&str; 4] = ["variants", "published_at", "at", "force"];

/// The terms of a publication in a body, apart from the resource.
#[derive(Clone)]
pub(crate) struct PublicationTerms {
    variants: Option<Vec<u16>>,
    moment: PublicationMoment,
    published: Option<Millis>,
    force: bool,
}

impl PublicationTerms {
    /// All working copies, now.
    const ALL_NOW: PublicationTerms =
        PublicationTerms { variants: None, moment: PublicationMoment::Now, published: None, force: false };

    /// Reads them, and what is wrong with them. `keys` are the keys that the body may have.
    pub(crate) fn read(blueprint: &Blueprint, body: &Map<String, Value>, keys: &[&str]) -> (Self, FieldErrors) {
        let mut errors = body::unknown_keys(body, keys, &[]);
        let variants = variants(blueprint, body.get("variants"), &mut errors);
        let published = body.get("published_at").and_then(|sent| {
            let date = body::date_not_null(sent);
            date.map_err(|error| errors.push(("published_at".to_owned(), vec![error]))).ok()
        });
        let moment = match body.get("at") {
            None => PublicationMoment::Now,
            Some(Value::Null) => PublicationMoment::Never,
            Some(sent) => match body::date(sent) {
                Ok(at) => PublicationMoment::At(at),
                Err(error) => {
                    errors.push(("at".to_owned(), vec![error]));
                    PublicationMoment::Never
                }
            },
        };
        // Conflicts are known only with the variants and the moment, so errors in these come first.
        let moment = if errors.has("variants") { PublicationMoment::Never } else { moment };
        let force = match body.get("force") {
            None => false,
            Some(Value::Bool(force)) => *force,
            Some(other) => {
                errors.push(("force".to_owned(), vec![format!("must be true or false; it is {}", kind_of(other))]));
                false
            }
        };
        (PublicationTerms { variants, moment, published, force }, errors)
    }

    /// Returns the publication of a resource under these terms.
    pub(crate) fn publication_of(&self, id: ResourceId, if_match: IfMatch, refusal: Option<Error>) -> Item {
        let PublicationTerms { variants, moment, published, force } = self.clone();
        let publication = WorkingPublication { id, variants, moment, published, force, if_match, refusal };
        Item::PublishWorkingCopies(Box::new(publication))
    }
}

/// Prepares the publication that a body describes. Its errors are reported only if the resource exists.
pub(crate) fn publication(blueprint: &Blueprint, id: ResourceId, if_match: IfMatch, body: Value) -> Item {
    let read = body::into_object(body).map(|body| PublicationTerms::read(blueprint, &body, &KEYS));
    let (terms, refusal) = match read {
        Ok((terms, errors)) => (terms, (!errors.is_empty()).then(|| Error::validation(errors))),
        Err(error) => (PublicationTerms::ALL_NOW, Some(error)),
    };
    terms.publication_of(id, if_match, refusal)
}

/// Reads the slugs of variants as numbers; `None` for all variants.
fn variants(blueprint: &Blueprint, value: Option<&Value>, errors: &mut FieldErrors) -> Option<Vec<u16>> {
    let mut error = |text: String| errors.push(("variants".to_owned(), vec![text]));
    let slugs = match value {
        None | Some(Value::Null) => return None,
        Some(Value::Array(slugs)) if !slugs.is_empty() => slugs,
        Some(Value::Array(_)) => {
            error("must be null for all variants, or name at least one".to_owned());
            return None;
        }
        Some(other) => {
            error(format!("must be null or an array of slugs; it is {}", kind_of(other)));
            return None;
        }
    };
    let mut numbers = Vec::with_capacity(slugs.len());
    for slug in slugs {
        match slug.as_str().and_then(|slug| blueprint.variant(slug)) {
            Some(variant) => numbers.push(variant.number),
            None => {
                let sent = slug.as_str().map_or_else(|| kind_of(slug).to_owned(), quote);
                error(format!("has {sent}, which is no variant of the blueprint `{}`", blueprint.slug));
            }
        }
    }
    Some(numbers)
}
