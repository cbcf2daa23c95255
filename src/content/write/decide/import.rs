//! Imported items: looked up by key or id and, if they relate to each other, decided together.

use std::collections::{BTreeMap, HashMap};

use bindery_model::blueprint::BlueprintKind;
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::value;
use bindery_store::Key;

use super::decider::{Decider, Edit, Promise, Relations, RequiredFieldRule, UpdatedAtSource};
use crate::command::{ImportItem, Item, ItemOutcome, MissingTargets, WrittenResource};
use crate::data::lookup::Lookup;
use crate::data::records::{Meta, decode_id, encode_id};
use crate::data::refusals::needs_upload;
use crate::prepare::import_order::{given_names, targets_of};
use crate::write::overlay::Savepoint;

/// The positions of the items that relate to a name.
type Users = HashMap<String, Vec<usize>>;

impl Decider<'_, '_> {
    /// Decides items that may relate to each other, forwards and in cycles.
    ///
    /// An item may fail only because it relates to another item that fails. So whenever some items pass, the failed
    /// ones are tried again, but not after a later item about the same resource has passed. Every other reported error
    /// holds in the final state.
    pub(super) fn decide_together(&mut self, items: &[Item]) -> Vec<ItemOutcome> {
        let mut users = Users::new();
        for (position, item) in items.iter().enumerate() {
            let Item::Import(item) = item else { continue };
            for target in targets_of(self.blueprint, item) {
                users.entry(target.to_owned()).or_default().push(position);
            }
        }
        let mut outcomes = BTreeMap::new();
        let mut open: Vec<usize> = (0..items.len()).collect();
        loop {
            let mut failed = self.try_together(items, &open, &users, &mut outcomes);
            if failed.len() == open.len() {
                // An item may block the item that it relates to, for example by a unique value. Without promises it
                // fails first, and the other one passes.
                let passed = self.try_without_promises(items, &open);
                failed.retain(|position, _| !passed.contains_key(position));
                outcomes.extend(passed);
            }
            if failed.is_empty() || failed.len() == open.len() {
                outcomes.extend(failed.into_iter().map(|(position, error)| (position, ItemOutcome::Failed(error))));
                return outcomes.into_values().collect();
            }
            self.fail_for_good(items, &mut failed, &mut outcomes);
            open.retain(|position| failed.contains_key(position));
        }
    }

    /// Moves the failed items to the outcomes that must not be tried again: a later item about the same resource has
    /// passed, and the later one wins.
    fn fail_for_good(
        &self,
        items: &[Item],
        failed: &mut HashMap<usize, Error>,
        outcomes: &mut BTreeMap<usize, ItemOutcome>,
    ) {
        let mut last_passed: HashMap<String, usize> = HashMap::new();
        for (position, outcome) in &*outcomes {
            let (Item::Import(item), ItemOutcome::Written(written)) = (&items[*position], outcome) else { continue };
            let names = given_names(self.blueprint, item).into_iter().chain([written.id.to_string()]);
            // The failed item may name a key that this one has replaced.
            let former_key = written.before.as_ref().and_then(|before| before.key.clone());
            let names = names.chain(written.meta.key.clone()).chain(former_key);
            last_passed.extend(names.map(|name| (name, *position)));
        }
        let is_overtaken = |position: &usize, _: &mut Error| {
            let Item::Import(item) = &items[*position] else { return false };
            let names = given_names(self.blueprint, item);
            names.iter().any(|name| last_passed.get(name).is_some_and(|last| last > position))
        };
        let overtaken = failed.extract_if(is_overtaken);
        outcomes.extend(overtaken.map(|(position, error)| (position, ItemOutcome::Failed(error))));
    }

    /// Decides the open items in order, with nothing promised. Returns those that pass.
    fn try_without_promises(&mut self, items: &[Item], open: &[usize]) -> BTreeMap<usize, ItemOutcome> {
        self.promised.clear();
        let decided = open.iter().map(|position| (*position, self.decide_imported(&items[*position])));
        decided.filter(|(_, outcome)| !matches!(outcome, ItemOutcome::Failed(_))).collect()
    }

    /// Decides the open items in order, with each promised to all the others. Adds the items that pass to the outcomes.
    /// Returns the failed ones, which left no trace.
    fn try_together(
        &mut self,
        items: &[Item],
        open: &[usize],
        users: &Users,
        outcomes: &mut BTreeMap<usize, ItemOutcome>,
    ) -> HashMap<usize, Error> {
        let before = self.overlay.savepoint();
        let mut failed = HashMap::new();
        loop {
            self.promised.clear();
            let hopeful: Vec<usize> = open.iter().copied().filter(|position| !failed.contains_key(position)).collect();
            let promises: HashMap<usize, ResourceId> =
                hopeful.iter().filter_map(|position| Some((*position, self.promise(&items[*position])?))).collect();
            let (mut passed, mut refused) = (Vec::with_capacity(hopeful.len()), Vec::new());
            for position in hopeful {
                match self.decide_imported(&items[position]) {
                    ItemOutcome::Failed(error) => refused.push((position, error)),
                    outcome => passed.push((position, outcome)),
                }
            }
            let broke_a_promise = refused.iter().any(|(position, _)| promises.contains_key(position));
            if !broke_a_promise {
                failed.extend(refused);
                outcomes.extend(passed);
                return failed;
            }
            self.overlay.roll_back_to(&before);
            // The others may have failed only because of an item that is invalid on its own, so they are tried again.
            let invalid_alone: Vec<(usize, Error)> = refused
                .iter()
                .filter_map(|(position, _)| Some((*position, self.error_alone(&items[*position], &before)?)))
                .collect();
            let mut gone = Vec::new();
            for (position, error) in if invalid_alone.is_empty() { refused } else { invalid_alone } {
                gone.extend(self.withdraw(&items[position], promises.get(&position)));
                failed.insert(position, error);
            }
            self.fail_users(items, users, &promises, gone, &mut failed);
        }
    }

    /// Decides an item alone and returns its error. Leaves no trace.
    fn error_alone(&mut self, item: &Item, before: &Savepoint) -> Option<Error> {
        let outcome = self.decide_imported(item);
        self.overlay.roll_back_to(before);
        match outcome {
            ItemOutcome::Failed(error) => Some(error),
            ItemOutcome::Written(_) | ItemOutcome::Waiting(_) => None,
        }
    }

    /// Fails the items that relate to names that no item brings any more, and then the items that relate to those.
    fn fail_users(
        &mut self,
        items: &[Item],
        users: &Users,
        promises: &HashMap<usize, ResourceId>,
        mut gone: Vec<String>,
        failed: &mut HashMap<usize, Error>,
    ) {
        let before = self.overlay.savepoint();
        while let Some(name) = gone.pop() {
            for position in users.get(&name).into_iter().flatten() {
                if failed.contains_key(position) || !promises.contains_key(position) {
                    continue;
                }
                if let Some(error) = self.error_alone(&items[*position], &before) {
                    failed.insert(*position, error);
                    gone.extend(self.withdraw(&items[*position], promises.get(position)));
                }
            }
        }
    }

    fn decide_imported(&mut self, item: &Item) -> ItemOutcome {
        match item {
            Item::Import(item) => self.import(item),
            Item::Refused(error) => ItemOutcome::Failed(error.clone()),
            _ => ItemOutcome::Failed(Error::internal("an import with an item of another kind")),
        }
    }

    /// Gives an id to the resource that an item brings, so that others may relate to it.
    fn promise(&mut self, item: &Item) -> Option<ResourceId> {
        let Item::Import(item) = item else { return None };
        let known = item.key.as_ref().and_then(|key| self.promised.get(key)).map(|promise| promise.id);
        let found = self.find_imported(item).ok()?.map(|(id, _)| id);
        let id = match found.or(known).or(item.id) {
            Some(id) => id,
            None => self.overlay.new_id().ok()?,
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
        let bytes = self.overlay.get(&Key::Singular(self.blueprint.number))?;
        decode_id(&bytes.ok_or_else(|| Error::internal("a singular blueprint without its resource"))?)
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
        if let Some(promise) = item.key.as_ref().and_then(|key| self.promised.get(key)) {
            return Ok(promise.id);
        }
        self.overlay.new_id()
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
