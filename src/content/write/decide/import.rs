//! Imported items: looked up by key or id and, if they relate to each other, decided together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bindery_model::blueprint::BlueprintKind;
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::value;
use bindery_store::Key;

use super::decider::{Decider, Edit, Promise, Relations, RequiredFieldRule, UpdatedAtSource};
use crate::command::{ImportItem, Item, ItemOutcome, MissingTargets, WrittenResource};
use crate::data::lookup::Lookup;
use crate::data::records::{Meta, encode_id};
use crate::data::refusals::needs_upload;
use crate::prepare::import_order::{given_names, targets_of};
use crate::write::overlay::Savepoint;

/// The number of decisions for each item, on average, after which failed items are not tried again. Without a limit,
/// the decisions of items that unblock each other one by one grow with the square of their number, and all other
/// writes wait meanwhile.
const DECISIONS_PER_ITEM: usize = 20;

/// The number of decisions that even few items may take: enough for some twenty that all depend on each other.
const MIN_DECISIONS: usize = 10_000;

/// The positions of the items that relate to a name.
type Users = HashMap<String, Vec<usize>>;

/// Items that are decided together.
struct Together<'a> {
    items: &'a [Item],
    users: &'a Users,
    /// The number of decisions before failed items are not tried again.
    decisions_left: usize,
}

/// The result of trying some items, by position.
#[derive(Default)]
struct Attempt {
    passed: BTreeMap<usize, ItemOutcome>,
    /// The failed items, which left no trace.
    failed: BTreeMap<usize, Error>,
}

impl Decider<'_, '_> {
    /// Decides items that may relate to each other, forwards and in cycles.
    ///
    /// An item may fail only because of another item that fails, or that gives up a unique value later. So whenever
    /// some items pass, the failed ones are tried again, but not after a later item about the same resource has passed.
    /// Every other reported error holds in the final state, unless the decisions ran out: then each open item is
    /// decided once more, in order and with nothing promised.
    pub(super) fn decide_together(&mut self, items: &[Item]) -> Vec<ItemOutcome> {
        let users = self.users_in(items);
        let decisions_left = MIN_DECISIONS.max(DECISIONS_PER_ITEM * items.len());
        let mut together = Together { items, users: &users, decisions_left };
        let mut outcomes: BTreeMap<usize, ItemOutcome> = BTreeMap::new();
        let mut last_passed: HashMap<String, usize> = HashMap::new();
        let mut open: Vec<usize> = (0..items.len()).collect();
        loop {
            let Attempt { mut passed, mut failed } = self.try_together(&mut together, &open);
            let is_last = passed.is_empty() && together.decisions_left == 0;
            if passed.is_empty() {
                // An item may block the item that it relates to, for example by a unique value. Without promises it
                // fails first, and the other one passes. The errors with promises are the more exact ones.
                self.promised.clear();
                let alone = self.try_in_order(&mut together, &open, &HashMap::new());
                passed = alone.passed;
                failed.retain(|position, _| !passed.contains_key(position));
                for (position, error) in alone.failed {
                    failed.entry(position).or_insert(error);
                }
            }
            let is_over = passed.is_empty() || is_last;
            self.note_passed(items, &passed, &mut last_passed);
            outcomes.extend(passed);
            let is_open = |position: usize| !is_over && self.may_pass_yet(&items[position], position, &last_passed);
            let (again, done): (Vec<_>, Vec<_>) = failed.into_iter().partition(|(position, _)| is_open(*position));
            outcomes.extend(done.into_iter().map(|(position, error)| (position, ItemOutcome::Failed(error))));
            if again.is_empty() {
                return outcomes.into_values().collect();
            }
            open = again.into_iter().map(|(position, _)| position).collect();
        }
    }

    fn users_in(&self, items: &[Item]) -> Users {
        let mut users = Users::new();
        for (position, item) in items.iter().enumerate() {
            let Item::Import(item) = item else { continue };
            for target in targets_of(self.blueprint, item) {
                users.entry(target.to_owned()).or_default().push(position);
            }
        }
        users
    }

    /// Notes the last item that has passed under each name.
    fn note_passed(
        &self,
        items: &[Item],
        passed: &BTreeMap<usize, ItemOutcome>,
        last_passed: &mut HashMap<String, usize>,
    ) {
        for (position, outcome) in passed {
            let (Item::Import(item), ItemOutcome::Written(written)) = (&items[*position], outcome) else { continue };
            let names = given_names(self.blueprint, item).into_iter().chain([written.id.to_string()]);
            // The failed item may name a key that this one has replaced.
            let former_key = written.before.as_ref().and_then(|before| before.key.clone());
            for name in names.chain(written.meta.key.clone()).chain(former_key) {
                let last = last_passed.entry(name).or_default();
                *last = (*last).max(*position);
            }
        }
    }

    /// Returns whether a failed item may be tried again: not if it cannot be read, and not if a later item about the
    /// same resource has passed, because the later one wins.
    fn may_pass_yet(&self, item: &Item, position: usize, last_passed: &HashMap<String, usize>) -> bool {
        let Item::Import(item) = item else { return false };
        let names = given_names(self.blueprint, item);
        !names.iter().any(|name| last_passed.get(name).is_some_and(|last| *last > position))
    }

    /// Decides the open items in order, with each promised to all the others. No item passes once the decisions have
    /// run out.
    fn try_together(&mut self, together: &mut Together<'_>, open: &[usize]) -> Attempt {
        let before = self.overlay.savepoint();
        let mut failed = BTreeMap::new();
        while together.decisions_left > 0 {
            self.promised.clear();
            let hopeful: Vec<usize> = open.iter().copied().filter(|position| !failed.contains_key(position)).collect();
            let promise = |position: &usize| Some((*position, self.promise(&together.items[*position])?));
            let promises: HashMap<usize, ResourceId> = hopeful.iter().filter_map(promise).collect();
            let Attempt { passed, failed: refused } = self.try_in_order(together, &hopeful, &promises);
            let broke_a_promise = refused.keys().any(|position| promises.contains_key(position));
            if !broke_a_promise {
                failed.extend(refused);
                return Attempt { passed, failed };
            }
            self.overlay.roll_back_to(&before);
            // The others may have failed only because of an item that is invalid on its own, so they are tried again.
            let invalid_alone: BTreeMap<usize, Error> = refused
                .keys()
                .filter_map(|position| Some((*position, self.error_alone(together, *position, &before)?)))
                .collect();
            let mut gone = Vec::new();
            for (position, error) in if invalid_alone.is_empty() { refused } else { invalid_alone } {
                gone.extend(self.withdraw(&together.items[position], promises.get(&position)));
                failed.insert(position, error);
            }
            self.fail_users(together, &promises, gone, &mut failed);
        }
        Attempt { passed: BTreeMap::new(), failed }
    }

    /// Decides items in order. `ids` are those of the resources that they bring.
    ///
    /// An item that needs a unique value is tried again as soon as a later item gives that value up, so values that
    /// move from item to item take few decisions in any order. The exception is an item with another one about the same
    /// resource behind it: the later one wins.
    fn try_in_order(
        &mut self,
        together: &mut Together<'_>,
        positions: &[usize],
        ids: &HashMap<usize, ResourceId>,
    ) -> Attempt {
        let id_at = |position: &usize| ids.get(position).copied();
        let last: HashMap<ResourceId, usize> =
            positions.iter().filter_map(|position| Some((id_at(position)?, *position))).collect();
        let mut attempt = Attempt::default();
        let mut waiting: HashMap<Key, Vec<usize>> = HashMap::new();
        for position in positions {
            let mut next = BTreeSet::from([*position]);
            while let Some(position) = next.pop_first() {
                let before = self.overlay.savepoint();
                match self.decide_imported(together, position) {
                    ItemOutcome::Failed(error) => {
                        attempt.failed.insert(position, error);
                        if id_at(&position).is_some_and(|id| last.get(&id) == Some(&position)) {
                            for claim in self.claims_wanted_by(&together.items[position]) {
                                waiting.entry(claim).or_default().push(position);
                            }
                        }
                    }
                    outcome => {
                        attempt.failed.remove(&position);
                        attempt.passed.insert(position, outcome);
                        if together.decisions_left > 0 {
                            let given_up = self.overlay.removed_since(&before);
                            let woken = given_up.filter_map(|claim| waiting.remove(claim)).flatten();
                            next.extend(woken.filter(|position| attempt.failed.contains_key(position)));
                        }
                    }
                }
            }
        }
        attempt
    }

    /// Decides an item alone and returns its error. Leaves no trace.
    fn error_alone(&mut self, together: &mut Together<'_>, position: usize, before: &Savepoint) -> Option<Error> {
        let outcome = self.decide_imported(together, position);
        self.overlay.roll_back_to(before);
        match outcome {
            ItemOutcome::Failed(error) => Some(error),
            ItemOutcome::Written(_) | ItemOutcome::Waiting(_) => None,
        }
    }

    /// Fails the items that relate to names that no item brings any more, and then the items that relate to those.
    fn fail_users(
        &mut self,
        together: &mut Together<'_>,
        promises: &HashMap<usize, ResourceId>,
        mut gone: Vec<String>,
        failed: &mut BTreeMap<usize, Error>,
    ) {
        let before = self.overlay.savepoint();
        let users = together.users;
        while let Some(name) = gone.pop() {
            for position in users.get(&name).into_iter().flatten() {
                if together.decisions_left == 0 {
                    return;
                }
                if failed.contains_key(position) || !promises.contains_key(position) {
                    continue;
                }
                if let Some(error) = self.error_alone(together, *position, &before) {
                    failed.insert(*position, error);
                    gone.extend(self.withdraw(&together.items[*position], promises.get(position)));
                }
            }
        }
    }

    fn decide_imported(&mut self, together: &mut Together<'_>, position: usize) -> ItemOutcome {
        together.decisions_left = together.decisions_left.saturating_sub(1);
        match &together.items[position] {
            Item::Import(item) => self.import(item),
            Item::Refused(error) => ItemOutcome::Failed(error.clone()),
            _ => ItemOutcome::Failed(Error::internal("an import with an item of another kind")),
        }
    }

    fn claims_wanted_by(&self, item: &Item) -> Vec<Key> {
        match item {
            Item::Import(item) => self.claims_in(&item.copies),
            _ => Vec::new(),
        }
    }

    /// Gives an id to the resource that an item brings, so that others may relate to it.
    fn promise(&mut self, item: &Item) -> Option<ResourceId> {
        let Item::Import(item) = item else { return None };
        let known = item.key.as_ref().and_then(|key| self.promised.get(key)).map(|promise| promise.id);
        let found = self.find_imported(item).ok()?.map(|(id, _)| id);
        let id = match found.or(known).or(item.id) {
            Some(id) => id,
            None => self.new_resource_id().ok()?,
        };
        for name in names_of(item, id) {
            self.promised.entry(name).or_insert(Promise { id, n_items: 0 }).n_items += 1;
        }
        Some(id)
    }

    /// Takes back the promise of an item that failed. Returns the names that no other item brings.
    fn withdraw(&mut self, item: &Item, id: Option<&ResourceId>) -> Vec<String> {
        let (Item::Import(item), Some(id)) = (item, id) else { return Vec::new() };
        let mut gone = Vec::new();
        for name in names_of(item, *id) {
            let Some(promise) = self.promised.get_mut(&name) else { continue };
            promise.n_items -= 1;
            if promise.n_items == 0 {
                self.promised.remove(&name);
                gone.push(name);
            }
        }
        gone
    }

    /// Returns the existing resource that an item's key or id names; for a singular blueprint its only one.
    fn find_imported(&self, item: &ImportItem) -> Result<Option<(ResourceId, Meta)>> {
        let blueprint = self.blueprint.number;
        let mut named = item.id;
        if let Some(key) = &item.key {
            named = self.overlay.known_under(blueprint, key)?.or(named);
        }
        if self.blueprint.kind == BlueprintKind::Singular {
            named = Some(self.singular_id()?);
        }
        let Some(id) = named else { return Ok(None) };
        Ok(self.overlay.meta(blueprint, id)?.map(|meta| (id, meta)))
    }

    fn singular_id(&self) -> Result<ResourceId> {
        let id = self.overlay.singular(self.blueprint.number)?;
        id.ok_or_else(|| Error::internal("a singular blueprint without its resource"))
    }

    pub(super) fn import(&mut self, item: &ImportItem) -> ItemOutcome {
        self.try_import(item).unwrap_or_else(ItemOutcome::Failed)
    }

    fn try_import(&mut self, item: &ImportItem) -> Result<ItemOutcome> {
        let found = self.find_imported(item)?;
        let waits_as = match self.missing_targets {
            MissingTargets::Wait { .. } => Some(self.names_of_resource(item, found.as_ref())),
            MissingTargets::Refuse => None,
        };
        // The later of two lines about a resource wins, so it must not be applied before the earlier one.
        if let Some(names) = &waits_as
            && names.iter().any(|name| self.is_waiting(name))
        {
            return Ok(self.wait(names));
        }
        let (edit, relations) = self.edit_for_import(item, found)?;
        if let (Some(names), Relations::Unresolved) = (&waits_as, relations) {
            return Ok(self.wait(names));
        }
        let before = self.overlay.savepoint();
        match self.apply_imported(item, edit) {
            Ok(written) => Ok(ItemOutcome::Written(Box::new(written))),
            Err(error) => {
                self.overlay.roll_back_to(&before);
                Err(error)
            }
        }
    }

    /// Returns the names by which this item and others may identify its resource. One line may name the id and the next
    /// one the key, and an earlier line of the import may have connected the two.
    fn names_of_resource(&self, item: &ImportItem, found: Option<&(ResourceId, Meta)>) -> Vec<String> {
        let mut names = given_names(self.blueprint, item);
        if let Some((id, meta)) = found {
            names.push(id.to_string());
            names.extend(meta.key.clone());
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    fn is_waiting(&self, name: &str) -> bool {
        self.waiting.contains(name) || self.waiting_before.iter().any(|names| names.contains(name))
    }

    fn wait(&mut self, names: &[String]) -> ItemOutcome {
        self.waiting.extend(names.iter().cloned());
        ItemOutcome::Waiting(names.to_vec())
    }

    fn apply_imported(&mut self, item: &ImportItem, edit: Edit) -> Result<WrittenResource> {
        // An earlier resource may have had the id that the item gives, and may be in the trash.
        if item.id.is_some() && edit.before.is_none() {
            self.forget_history(edit.id, &edit.after, 0)?;
        }
        self.apply_edit(edit)
    }

    fn edit_for_import(&mut self, item: &ImportItem, found: Option<(ResourceId, Meta)>) -> Result<(Edit, Relations)> {
        let blueprint = self.blueprint.number;
        let (id, before) = match found {
            Some((id, meta)) => (id, Some(meta)),
            None if self.blueprint.kind == BlueprintKind::Media => return Err(needs_upload(self.blueprint)),
            None => (self.id_for_import(item)?, None),
        };
        let (number, now) = (self.overlay.number, self.overlay.now);
        let mut after = before.clone().unwrap_or_else(|| Meta::new(number, now, None));
        after.published = item.published.apply(after.published, now);
        after.created = item.created.unwrap_or(after.created);
        after.updated = item.updated.unwrap_or(after.updated);
        if before.is_none() {
            after.authors.created_by.clone_from(&self.overlay.actor);
        }
        let mut edit = Edit::new(id, before, after);
        edit.relations = value::Relations::IdsOrKeys;
        if item.updated.is_some() {
            edit.updated = UpdatedAtSource::Given;
        }
        if let Some(key) = &item.key {
            edit.set_import_key(blueprint, key);
        }
        let relations = self.write_copies(&mut edit, &item.copies, FieldErrors::new(), RequiredFieldRule::Nothing)?;
        Ok((edit, relations))
    }

    fn id_for_import(&mut self, item: &ImportItem) -> Result<ResourceId> {
        if let Some(id) = item.id {
            return Ok(id);
        }
        // An earlier item may have given the promised resource another key: then this item brings a new one.
        let promised = item.key.as_ref().and_then(|key| self.promised.get(key)).map(|promise| promise.id);
        if let Some(id) = promised
            && self.overlay.meta(self.blueprint.number, id)?.is_none()
        {
            return Ok(id);
        }
        self.new_resource_id()
    }
}

impl Edit {
    /// Makes a key the one under which imports know the resource.
    pub(super) fn set_import_key(&mut self, blueprint: u32, key: &str) {
        if self.after.key.as_deref() == Some(key) {
            return;
        }
        if let Some(old) = self.after.key.replace(key.to_owned()) {
            self.removes.push(Key::ImportKey { blueprint, key: old.into() });
        }
        self.puts.push((Key::ImportKey { blueprint, key: key.into() }, encode_id(self.id)));
    }
}

/// Returns the names by which relations may refer to the resource of an item.
fn names_of(item: &ImportItem, id: ResourceId) -> impl Iterator<Item = String> {
    std::iter::once(id.to_string()).chain(item.key.clone())
}
