//! `expand` and `fields[…]`: the related resources that are answered too, and their selected parts (`API.md` 4.2.9).
//! Must not know resources.

use std::collections::BTreeMap;

use bindery_model::blueprint::{Blueprint, Field};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::filter::{Copies, Relation, Scope, copies_of};
use super::message::quoted_list;
use super::nearest::with_nearest;
use super::raw::RawParams;
use super::select::Selection;
use super::strict::ignored;

/// The most paths of a request.
const MAX_PATHS: usize = 10;
/// The most relations in a path.
const MAX_RELATIONS: usize = 2;

/// The related resources that are answered too.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expansion {
    /// The paths, in the order of the request. Each is a sequence of relations.
    pub paths: Vec<Vec<ExpansionStep>>,
    /// The selected parts of resources, by the slug of their blueprint. Resources of other blueprints are answered
    /// whole.
    pub selections: BTreeMap<String, Selection>,
}

/// A relation that is followed.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpansionStep {
    /// The field, and the blueprint that it leads to.
    pub relation: Relation,
    /// The copies of the related resources that are answered, and whose relations are followed.
    pub copies: Copies,
}

impl Expansion {
    /// Returns whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the slugs of the blueprints on the paths, each once, in order.
    pub fn depends_on(&self) -> Vec<String> {
        let mut slugs: Vec<String> = self.paths.iter().flatten().map(|step| step.relation.blueprint.clone()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        slugs
    }

    /// Reads the parameters. The scope has the variants of the answer.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub(super) fn parse(params: &RawParams, scope: &Scope<'_>) -> Result<Expansion, Error> {
        let mut expansion = Expansion::default();
        if let Some(sent) = params.single("expand")? {
            let count = sent.split(',').count();
            if count > MAX_PATHS {
                return Err(invalid(format!("`expand` has {count} paths; it must have at most {MAX_PATHS}")));
            }
            for path in sent.split(',') {
                expansion.paths.push(steps(path, scope)?);
            }
        }
        for blueprint in expansion.depends_on().iter().filter_map(|slug| (scope.related)(slug)) {
            if let Some(selection) = Selection::parse_related(params, blueprint)? {
                expansion.selections.insert(blueprint.slug.clone(), selection);
            }
        }
        if scope.is_strict {
            expansion.check_effect(params)?;
        }
        Ok(expansion)
    }

    /// # Errors
    /// `INVALID_PARAMETER` for a `fields[…]` of a blueprint that is on no path.
    fn check_effect(&self, params: &RawParams) -> Result<(), Error> {
        let of_others = params.names().find(|name| {
            let slug = name.strip_prefix("fields[").and_then(|rest| rest.strip_suffix(']'));
            slug.is_some_and(|slug| !self.selections.contains_key(slug))
        });
        of_others.map_or(Ok(()), |name| Err(ignored(name, "no path of `expand` leads to resources of that blueprint")))
    }
}

/// Returns the relations of a path.
fn steps(path: &str, scope: &Scope<'_>) -> Result<Vec<ExpansionStep>, Error> {
    let names: Vec<&str> = path.split('.').collect();
    if names.len() > MAX_RELATIONS {
        let problem = format!("the path {} of `expand` goes through {} relations", quote(path), names.len());
        return Err(invalid(format!("{problem}; at most {MAX_RELATIONS} are possible")));
    }
    let mut blueprint = scope.blueprint;
    let mut steps = Vec::new();
    for name in names {
        let field = blueprint.field(name).filter(|field| field.related_blueprint().is_some());
        let field = field.ok_or_else(|| unknown(path, name, blueprint))?;
        // The error must not depend on whether the blueprint exists, nor on the rest of the path.
        blueprint = related(field, scope).ok_or_else(|| {
            invalid(format!("the path {} of `expand` leads to a blueprint that this token does not have", quote(path)))
        })?;
        let copies = copies_of(blueprint, scope.variant, scope.fallback);
        steps.push(ExpansionStep { relation: Relation::of(field), copies });
    }
    Ok(steps)
}

fn related<'a>(field: &Field, scope: &Scope<'a>) -> Option<&'a Blueprint> {
    field.related_blueprint().and_then(|slug| (scope.related)(slug))
}

fn unknown(path: &str, name: &str, blueprint: &Blueprint) -> Error {
    let relations = blueprint.fields.iter().filter(|field| field.related_blueprint().is_some());
    let known: Vec<&str> = relations.map(|field| field.slug.as_str()).collect();
    let names = if known.is_empty() { "none".to_owned() } else { quoted_list(&known) };
    let place = if name == path { String::new() } else { format!(" in the path {}", quote(path)) };
    let problem = match (name, blueprint.field(name)) {
        ("", _) => format!("`expand` has an empty entry{place}."),
        (_, Some(_)) => format!("{}{place} is no relation.", quote(name)),
        _ => with_nearest(&format!("`expand` names {}{place}, which does not exist", quote(name)), name, &known),
    };
    invalid(format!("{problem} Relations of `{}`: {names}", blueprint.slug))
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidParameter, message)
}
