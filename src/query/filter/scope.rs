//! Filters on the resources of one blueprint: resolves the names in them, in this blueprint or in a related one
//! (`API.md` 4.6.14). Must not know how parameters are written.

use bindery_index as index;
use bindery_model::blueprint::{Blueprint, Field};
use bindery_model::error::Error;
use bindery_model::id::ResourceId;
use bindery_model::sent::quote;
use bindery_model::time::Millis;

use super::super::copy::CopyKind;
use super::super::message::quoted_list;
use super::super::name::{self, Target};
use super::super::nearest::{nearest, with_nearest};
use super::condition::{Condition, invalid, not};
use super::group::{Group, MAX_RELATIONS, RawFilter};
use super::operator::{OPERATORS, Operator, Test};
use super::tree::{BlueprintLookup, Filter, Relation, copies_of};
use super::{column, date};

/// The blueprint that filters are about, and the context in which they are resolved.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) blueprint: &'a Blueprint,
    /// The look-up of related blueprints.
    pub(crate) related: &'a BlueprintLookup<'a>,
    /// The slug of the requested variant.
    pub(crate) variant: Option<&'a str>,
    /// The slug of the variant that filters read where the requested one is null.
    pub(crate) fallback: Option<&'a str>,
    /// The copies that filters read.
    pub(crate) copy: CopyKind,
    /// "Today" for `filter[published]`.
    pub(crate) now: Millis,
    /// True if values that would be ignored are errors.
    pub(crate) is_strict: bool,
    /// The relations from the resources of the request to these, each followed by a dot.
    pub(crate) path: String,
}

impl<'a> Scope<'a> {
    /// Returns the conditions of a group, all of which must hold. Empty if all its filters are ignored.
    ///
    /// # Errors
    /// `INVALID_FILTER`.
    pub(super) fn conditions(&self, group: &Group<'_>) -> Result<Vec<Filter>, Error> {
        let mut all = Vec::new();
        for sent in &group.filters {
            all.extend(self.filter(sent, sent.field)?);
        }
        for (relation, group) in &group.some {
            all.extend(self.some(relation, group)?);
        }
        for group in group.all.values() {
            all.extend(self.group(group)?);
        }
        let mut any = Vec::new();
        for group in group.any.values() {
            any.extend(self.group(group)?);
        }
        if !any.is_empty() {
            all.push(Filter::any(any));
        }
        if let Some(group) = &group.not {
            all.extend(self.group(group)?.map(Filter::not));
        }
        Ok(all)
    }

    /// Returns the conditions of a group as one condition.
    fn group(&self, group: &Group<'_>) -> Result<Option<Filter>, Error> {
        let conditions = self.conditions(group)?;
        Ok((!conditions.is_empty()).then(|| Filter::all(conditions)))
    }

    /// Resolves one filter; returns `None` if it is ignored. `name` is the remaining part of its field's name.
    fn filter(&self, sent: &RawFilter<'_>, name: &str) -> Result<Option<Filter>, Error> {
        let Some(target) = name::resolve(self.blueprint, name) else {
            let Some((field, Some(rest))) = self.relation(name) else { return Err(self.unknown(name)) };
            let related = self.follow(field)?;
            return Ok(related.filter(sent, rest)?.map(|filter| self.on_related(field, &related, filter)));
        };
        let Some(operator) = Operator::parse(sent.operator).filter(|operator| operator.works_on(&target)) else {
            let names = || OPERATORS.iter().filter(|operator| operator.works_on(&target)).map(|operator| operator.name);
            let supports = match nearest(sent.operator, names()) {
                Some(meant) => format!("did you mean `{meant}`? It supports"),
                None => "it supports".to_owned(),
            };
            let (path, sent, names) = (&self.path, quote(sent.operator), quoted_list(names()));
            let problem = format!("`{path}{name}` does not support the operator {sent}; {supports} {names}.");
            return Err(self.with_fields(&problem));
        };
        let condition = Condition { label: sent.label, operator, value: sent.value };
        let own = match target {
            Target::Id => id(&condition)?,
            Target::Published => match date::published(&condition, self.now) {
                None if self.is_strict => return Err(condition.not_a_boolean()),
                None => return Ok(None),
                Some(filter) => filter,
            },
            Target::WorkingCopy => self.working_copy(&condition)?,
            Target::Date(date) => date::date(&condition, date)?,
            Target::Column(column) if operator.test == Test::Dangling => {
                let dangling = Filter::Dangling(Relation::of(column.field));
                return Ok(Some(if condition.boolean()? { dangling } else { dangling.not() }));
            }
            Target::Column(column) => column::column(&condition, &column)?,
        };
        Ok(Some(Filter::Own(if operator.is_complement { not(own) } else { own })))
    }

    /// Returns the condition that one related resource meets all filters of a group. `name` is the relation, or two
    /// relations with a dot between them.
    fn some(&self, name: &str, group: &Group<'_>) -> Result<Option<Filter>, Error> {
        let Some((field, rest)) = self.relation(name) else {
            return Err(match self.blueprint.field(name) {
                None => self.unknown(name),
                Some(_) => invalid(format!("`{}{name}` is no relation, so `$some` cannot follow it", self.path)),
            });
        };
        let related = self.follow(field)?;
        let filter = match rest {
            None => related.group(group)?,
            Some(rest) => related.some(rest, group)?,
        };
        Ok(filter.map(|filter| self.on_related(field, &related, filter)))
    }

    /// Returns the relation at the beginning of a name, and the part after its dot.
    fn relation<'n>(&self, name: &'n str) -> Option<(&'a Field, Option<&'n str>)> {
        let (slug, rest) = name.split_once('.').map_or((name, None), |(slug, rest)| (slug, Some(rest)));
        let field = self.blueprint.field(slug)?;
        field.related_blueprint().map(|_| (field, rest))
    }

    /// Returns the scope of the resources that a relation names.
    ///
    /// # Errors
    /// `INVALID_FILTER` if there are too many relations, or if the token does not have the blueprint. The message must
    /// not depend on whether the blueprint exists, nor on the rest of the name.
    fn follow(&self, field: &'a Field) -> Result<Scope<'a>, Error> {
        let path = format!("{}{}", self.path, field.slug);
        if self.path.matches('.').count() == MAX_RELATIONS {
            return Err(invalid(format!("`{path}` goes through more than {MAX_RELATIONS} relations")));
        }
        let blueprint = field.related_blueprint().and_then(|slug| (self.related)(slug)).ok_or_else(|| {
            invalid(format!(
                "`{path}` relates to a blueprint that this token does not have; filter by the ids that `{path}` has instead"
            ))
        })?;
        Ok(Scope { blueprint, path: format!("{path}."), ..self.clone() })
    }

    fn on_related(&self, field: &Field, related: &Scope<'_>, filter: Filter) -> Filter {
        let copies = copies_of(related.blueprint, self.variant, self.fallback);
        Filter::Related(Relation::of(field), copies, Box::new(filter))
    }

    /// Returns the condition that a resource has a working copy in the variant of the request.
    ///
    /// # Errors
    /// `INVALID_FILTER` for a request that does not read working copies, and for a value that is not a boolean.
    fn working_copy(&self, condition: &Condition<'_>) -> Result<index::Filter, Error> {
        if self.copy != CopyKind::Working {
            let label = condition.label;
            return Err(invalid(format!("`filter[{label}]` needs `copy=working`, which this request does not have")));
        }
        let none = index::Filter::Column(index::WORKING_UPDATED, index::Predicate::Null);
        Ok(if condition.boolean()? { not(none) } else { none })
    }

    /// Returns the error for an unknown name. Lists the fields.
    fn unknown(&self, name: &str) -> Error {
        let mut known = name::filterable(self.blueprint);
        if let Some((slug, rest)) = name.split_once('.') {
            // The client may have meant a part, or a field of a related blueprint.
            let relations = self.blueprint.fields.iter().filter(|field| field.related_blueprint().is_some());
            known.extend(relations.map(|field| format!("{}.{rest}", field.slug)).filter(|_| !slug.is_empty()));
        }
        let place = match self.path.strip_suffix('.') {
            None => String::new(),
            Some(path) => format!(" in `{}`, which `{path}` relates to", self.blueprint.slug),
        };
        let problem = format!("there is no filterable field {}{place}", quote(name));
        self.with_fields(&with_nearest(&problem, name, known))
    }

    /// Makes an `INVALID_FILTER` that lists the fields.
    fn with_fields(&self, problem: &str) -> Error {
        invalid(format!("{problem} Filterable fields: {}", quoted_list(name::filterable(self.blueprint))))
    }
}

/// Returns the filter of the operator's test on `id`. A value that is not an id matches nothing.
fn id(condition: &Condition) -> Result<index::Filter, Error> {
    let ids = |values: &[String]| {
        let ids: Vec<u128> = values.iter().filter_map(|id| ResourceId::parse(id)).map(ResourceId::as_u128).collect();
        if ids.is_empty() { index::Filter::Nothing } else { index::Filter::Ids(ids) }
    };
    Ok(match condition.operator.test {
        Test::OneOf => ids(&condition.list()?),
        _ => ids(&[condition.value.to_owned()]),
    })
}
