//! The resources that refer to a resource: the fields that refer to it, and the index query that finds the resources.
//!
//! The index knows only applied transactions. The committer checks later decisions itself.

use std::sync::Arc;

use bindery_index::{Filter, Interrupt, Kind, Predicate, ResultSet, VariantNumber, working_variant};
use bindery_model::blueprint::{Field, OnDelete};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_query::projection;

use crate::data::state::{Collection, State};

/// A blueprint with relations to another one, or to itself.
pub(crate) struct Referrer<'a> {
    /// The blueprint that has the relations.
    pub(crate) collection: &'a Arc<Collection>,
    /// The relations: at least one field.
    pub(crate) fields: Vec<&'a Field>,
}

/// Returns the blueprints with relations to the blueprint of that slug, in the order of their slugs.
pub(crate) fn referring_to<'a>(state: &'a State, slug: &str) -> impl Iterator<Item = Referrer<'a>> {
    state.blueprints.values().filter_map(move |collection| {
        let fields = collection.blueprint.fields.iter().filter(|field| field.related_blueprint() == Some(slug));
        let fields: Vec<&Field> = fields.collect();
        (!fields.is_empty()).then_some(Referrer { collection, fields })
    })
}

impl<'a> Referrer<'a> {
    /// Keeps only the fields with this `on_delete` setting; `None` if there are none.
    pub(crate) fn with(&self, on_delete: OnDelete) -> Option<Referrer<'a>> {
        self.whose(|effect| effect == on_delete)
    }

    /// Keeps only the fields whose `on_delete` setting meets a condition; `None` if there are none.
    pub(crate) fn whose(&self, meets: impl Fn(OnDelete) -> bool) -> Option<Referrer<'a>> {
        let has = |field: &&Field| field.field_type.relation().is_some_and(|relation| meets(relation.on_delete));
        let fields: Vec<&Field> = self.fields.iter().copied().filter(has).collect();
        (!fields.is_empty()).then_some(Referrer { collection: self.collection, fields })
    }

    /// Returns the resources that refer to a resource by at least one of the fields, in any variant, and meet the
    /// filter. With `in_working`, resources also count by what their working copies hold.
    ///
    /// # Errors
    /// `OVERLOADED` while the index is being rebuilt, `INTERNAL` if it fails.
    pub(crate) fn find(&self, id: ResourceId, also: &Filter, in_working: bool) -> Result<ResultSet> {
        let found = self.find_with(id, also, in_working, &Interrupt::never());
        found.map_err(|error| self.collection.search_failed(error))
    }

    /// Like [`Referrer::find`], but the interrupt can end it.
    ///
    /// # Errors
    /// The errors of the index.
    pub(crate) fn find_with(
        &self,
        id: ResourceId,
        also: &Filter,
        in_working: bool,
        interrupt: &Interrupt<'_>,
    ) -> Result<ResultSet, bindery_index::Error> {
        let blueprint = &self.collection.blueprint;
        let naming = self.fields.iter().filter_map(|field| {
            let column = projection::column(blueprint, &field.slug)?;
            let text = id.to_string();
            let names = if column.kind == Kind::List { Predicate::Has(text) } else { Predicate::Equals(text) };
            Some(Filter::Column(column.id, names))
        });
        let filter = Filter::And(vec![Filter::Or(naming.collect()), also.clone()]);
        let live = blueprint.variant_numbers();
        let working = live.iter().copied().filter(|_| in_working && blueprint.working_copy).map(working_variant);
        let variants = live.iter().copied().chain(working);
        let filters: Vec<(VariantNumber, Filter)> = variants.map(|variant| (variant, filter.clone())).collect();
        self.collection.snapshot.select_any(&filters, interrupt)
    }
}
