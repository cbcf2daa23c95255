//! Filters in queries: a tree of conditions on a resource itself and conditions on related resources. Must not know how
//! they are written.

use bindery_index::{self as index, ColumnId};
use bindery_model::blueprint::{Blueprint, Field};

use super::condition::not;
use crate::projection;

/// Looks up a blueprint that a relation names, by its slug. `None` if the token does not have it.
pub type BlueprintLookup<'a> = dyn Fn(&str) -> Option<&'a Blueprint> + 'a;

/// A condition on a resource.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// A condition on the resource itself.
    Own(index::Filter),
    /// The conjunction: all of the filters hold.
    And(Vec<Filter>),
    /// The disjunction: at least one of the filters holds.
    Or(Vec<Filter>),
    /// The complement: the filter does not hold.
    Not(Box<Filter>),
    /// The filter on related resources: at least one resource that the relation refers to, and that the token sees,
    /// meets the condition.
    Related(Relation, Copies, Box<Filter>),
    /// The relation has at least one id of a resource that does not exist or that the token does not see.
    Dangling(Relation),
}

/// A relation, followed from the resources that have the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The column of the field.
    pub column: ColumnId,
    /// The slug of the related blueprint. It may not exist, or the token may not have it.
    pub blueprint: String,
}

impl Relation {
    /// Returns the relation of a field.
    pub(crate) fn of(field: &Field) -> Relation {
        let blueprint = field.related_blueprint().unwrap_or_default().to_owned();
        Relation { column: projection::column_of(field), blueprint }
    }
}

/// The copies of a blueprint's resources that a condition reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copies {
    /// The variant whose values are compared.
    pub variant: u16,
    /// The variant whose values are compared where the first one is null.
    pub fallback: Option<u16>,
}

impl Copies {
    /// Returns the copies of the answer, whose nulls this fallback fills even if conditions do not use it.
    pub fn answered_with(self, fallback: Option<u16>) -> Copies {
        Copies { fallback: fallback.filter(|fallback| *fallback != self.variant), ..self }
    }
}

impl Filter {
    /// Returns the conjunction of filters. Conditions on the resource itself are joined into one.
    pub(crate) fn all(filters: Vec<Filter>) -> Filter {
        let (own, mut others) = separate(filters);
        let own: Vec<index::Filter> = own.into_iter().filter(|filter| *filter != index::Filter::All).collect();
        let own = match own.len() {
            0 => None,
            1 => own.into_iter().next(),
            _ => Some(index::Filter::And(own)),
        };
        match (own, others.len()) {
            (None, 0) => Filter::Own(index::Filter::All),
            (None, 1) => others.remove(0),
            (Some(own), 0) => Filter::Own(own),
            (own, _) => {
                others.extend(own.map(Filter::Own));
                Filter::And(others)
            }
        }
    }

    /// Returns the disjunction of filters, of which there must be at least one.
    pub(super) fn any(mut filters: Vec<Filter>) -> Filter {
        if filters.len() == 1 {
            return filters.remove(0);
        }
        let (own, mut others) = separate(filters);
        if others.is_empty() {
            return Filter::Own(index::Filter::Or(own));
        }
        match own.len() {
            0 => {}
            1 => others.extend(own.into_iter().map(Filter::Own)),
            _ => others.push(Filter::Own(index::Filter::Or(own))),
        }
        Filter::Or(others)
    }

    pub(super) fn not(self) -> Filter {
        match self {
            Filter::Own(own) => Filter::Own(not(own)),
            Filter::Not(filter) => *filter,
            filter => Filter::Not(Box::new(filter)),
        }
    }

    /// Returns the slugs of the blueprints on whose resources it depends, each once, in order.
    pub fn depends_on(&self) -> Vec<String> {
        let mut slugs = Vec::new();
        self.add_related(&mut slugs);
        slugs.sort_unstable();
        slugs.dedup();
        slugs
    }

    fn add_related(&self, slugs: &mut Vec<String>) {
        match self {
            Filter::Own(_) => {}
            Filter::And(filters) | Filter::Or(filters) => filters.iter().for_each(|filter| filter.add_related(slugs)),
            Filter::Not(filter) => filter.add_related(slugs),
            Filter::Related(relation, _, filter) => {
                slugs.push(relation.blueprint.clone());
                filter.add_related(slugs);
            }
            Filter::Dangling(relation) => slugs.push(relation.blueprint.clone()),
        }
    }
}

/// Separates the conditions on the resource itself from the others.
fn separate(filters: Vec<Filter>) -> (Vec<index::Filter>, Vec<Filter>) {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for filter in filters {
        match filter {
            Filter::Own(filter) => own.push(filter),
            filter => others.push(filter),
        }
    }
    (own, others)
}

/// Returns the copies of a blueprint for these variants: the variants with the same slugs if it has them, or else the
/// default.
pub(crate) fn copies_of(blueprint: &Blueprint, variant: Option<&str>, fallback: Option<&str>) -> Copies {
    let number = |slug: &str| blueprint.variant(slug).map_or_else(|| blueprint.default_variant(), |found| found.number);
    let own = variant.map_or_else(|| blueprint.default_variant(), number);
    Copies { variant: own, fallback: fallback.map(number).filter(|fallback| *fallback != own) }
}
