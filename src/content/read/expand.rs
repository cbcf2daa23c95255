//! The related resources that are answered beside a resource or a page (`API.md` 4.2.9). Must not know how resources
//! are searched for.

use std::collections::HashSet;

use bindery_index::{Hit, Interrupt};
use bindery_model::error::{Code, Error};
use bindery_query::projection::whole_column;
use bindery_query::{Copies, Expansion, ExpansionStep, Selection};

use crate::data::lookup::Lookup;
use crate::data::state::Collection;
use crate::data::visibility::Visibility;
use crate::read::resolve::{Resolver, Result, StopReason};
use crate::read::resource::{Presentation, write_hit};

/// The most related resources of an answer; more are an error.
const MAX_INCLUDED: usize = 1_000;
/// The most bytes of related resources; more are an error.
const MAX_BYTES: usize = 32 << 20;

/// The related resources of an answer, while they are collected.
pub(super) struct IncludedResources<'a> {
    resolver: &'a Resolver<'a>,
    lookup: &'a dyn Lookup,
    expansion: &'a Expansion,
    /// The resource objects as JSON text, separated by commas.
    json: String,
    count: usize,
    /// The resources in `json`, by blueprint slug and id.
    known: HashSet<(&'a str, u128)>,
    /// The resources whose relations were followed, with the number of the path and the step on it.
    followed: HashSet<(usize, usize, u128)>,
}

/// A resource whose relation is followed.
#[derive(Clone, Copy)]
struct RelationSource<'a> {
    collection: &'a Collection,
    copies: Copies,
    hit: Hit,
}

impl<'a> IncludedResources<'a> {
    /// Creates an empty collection.
    pub(super) fn new(
        resolver: &'a Resolver<'a>,
        lookup: &'a dyn Lookup,
        expansion: &'a Expansion,
    ) -> IncludedResources<'a> {
        let (known, followed) = (HashSet::new(), HashSet::new());
        IncludedResources { resolver, lookup, expansion, json: String::new(), count: 0, known, followed }
    }

    /// Adds the resources that a resource relates to, path by path. `copies` are the copies whose values are answered.
    ///
    /// # Errors
    /// If there are too many, the store fails, or it is interrupted.
    pub(super) fn add(&mut self, collection: &Collection, copies: Copies, hit: Hit) -> Result<()> {
        for (path, steps) in self.expansion.paths.iter().enumerate() {
            self.follow(path, steps, 0, RelationSource { collection, copies, hit })?;
        }
        Ok(())
    }

    /// Returns the number of related resources.
    pub(super) fn len(&self) -> u64 {
        self.count as u64
    }

    /// Returns all of them as a JSON array.
    pub(super) fn finish(self) -> String {
        format!("[{}]", self.json)
    }

    fn follow(
        &mut self,
        path: usize,
        steps: &'a [ExpansionStep],
        depth: usize,
        from: RelationSource<'_>,
    ) -> Result<()> {
        let Some(step) = steps.get(depth) else { return Ok(()) };
        if !self.followed.insert((path, depth, from.hit.id)) {
            return Ok(());
        }
        let Resolver { state, access, interrupt, .. } = *self.resolver;
        if interrupt.is_over() {
            return Err(StopReason::Interrupted);
        }
        let Ok(collection) = state.visible(access, &step.relation.blueprint) else { return Ok(()) };
        let visibility = Visibility::of(access, &collection.blueprint, state.released);
        for id in from.related_ids(step) {
            let Some(hit) = collection.snapshot.get(id).filter(|hit| visibility.shows(hit.stamps.published)) else {
                continue;
            };
            self.include(collection, step, &hit)?;
            self.follow(path, steps, depth + 1, RelationSource { collection, copies: step.copies, hit })?;
        }
        Ok(())
    }

    fn include(&mut self, collection: &Collection, step: &'a ExpansionStep, hit: &Hit) -> Result<()> {
        let slug = step.relation.blueprint.as_str();
        if !self.known.insert((slug, hit.id)) {
            return Ok(());
        }
        self.count += 1;
        if self.count > MAX_INCLUDED {
            let problem = format!("`expand` leads to more than {MAX_INCLUDED} resources");
            return Err(too_large(format!("{problem}; ask for fewer resources, or for fewer paths")));
        }
        if self.count > 1 {
            self.json.push(',');
        }
        let Copies { variant, fallback } = step.copies;
        let selection = self.expansion.selections.get(slug).cloned().unwrap_or_else(Selection::all);
        let is_working = collection.snapshot.is_working();
        let public_url = self.resolver.state.public_url.clone();
        let (highlights, hides_errors, names) = (None, false, None);
        let presentation =
            Presentation { variant, fallback, selection, highlights, is_working, hides_errors, names, public_url };
        write_hit(&mut self.json, self.lookup, collection, hit, &presentation, &Interrupt::never())
            .map_err(StopReason::Failed)?;
        if self.json.len() > MAX_BYTES {
            let problem = format!("the resources that `expand` leads to have more than {MAX_BYTES} bytes");
            return Err(too_large(format!("{problem}; ask for fewer, or for less of them with `fields[{slug}]`")));
        }
        Ok(())
    }
}

impl RelationSource<'_> {
    /// Returns the ids in the relation's value as it is answered.
    fn related_ids(self, step: &ExpansionStep) -> Vec<u128> {
        let (snapshot, column) = (&self.collection.snapshot, step.relation.column);
        let Copies { variant, fallback } = self.copies;
        let slot = self.hit.slot;
        match fallback {
            Some(fallback) if snapshot.is_null(slot, variant, whole_column(column)) => {
                snapshot.related_ids(slot, fallback, column)
            }
            _ => snapshot.related_ids(slot, variant, column),
        }
    }
}

fn too_large(message: String) -> StopReason {
    StopReason::Failed(Error::new(Code::InvalidParameter, message))
}
