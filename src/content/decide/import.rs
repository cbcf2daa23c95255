//! What an import brings: found by key or id, and, where its lines relate to each other, decided together.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{Decider, Edit, Requires, Unresolved, decode_id, related_blueprint};
use crate::content::command::{Faults, ImportItem, Item, ItemOutcome, Missing};
use crate::content::record::Meta;
use crate::content::working::Mark;
use crate::model::blueprint::{Blueprint, BlueprintKind};
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::store::Key;

/// The id that a name will have, and how many items bring it.
pub(super) struct Promise {
    pub(super) id: ResourceId,
    items: usize,
}

/// The items that relate to a name.
type Users = HashMap<String, Vec<usize>>;

/// Whether an item is the last try of an import's line: what no item of the same command brings is its fault.
pub(super) fn is_last_try(item: &Item) -> bool {
    matches!(item, Item::Import(item) if item.missing == Missing::Refuse)
}

/// The ids and keys of the blueprint's own resources that an item relates to.
pub(crate) fn targets_of<'a>(blueprint: &Blueprint, item: &'a ImportItem) -> impl Iterator<Item = &'a str> {
    let values = item.copies.iter().flat_map(|copy| &copy.values);
    let related = values
        .filter(|(place, _)| related_blueprint(&blueprint.fields[*place]).is_some_and(|slug| slug == blueprint.slug));
    related.flat_map(|(_, value)| match value {
        Value::Array(targets) => targets.iter().filter_map(Value::as_str).collect(),
        target => Vec::from_iter(target.as_str()),
    })
}

impl Decider<'_, '_> {
    /// Decides items that may relate to each other, forwards and in circles.
    ///
    /// What failed may have failed for the sake of an item that failed in the end as well, so it is tried again as long
    /// as any of it passes then: every fault that is told stands against what was done.
    pub(super) fn decide_together(&mut self, items: &[Item]) -> Vec<ItemOutcome> {
        let mut users = Users::new();
        for (place, item) in items.iter().enumerate() {
            let Item::Import(item) = item else { continue };
            for target in targets_of(self.blueprint, item) {
                users.entry(target.to_owned()).or_default().push(place);
            }
        }
        let mut outcomes = BTreeMap::new();
        let mut open: Vec<usize> = (0..items.len()).collect();
        loop {
            let mut failed = self.try_together(items, &open, &users, &mut outcomes);
            if failed.len() == open.len() {
                // One may stand in the way of another that it relates to.
                let done = self.try_alone(items, &open);
                failed.retain(|place, _| !done.contains_key(place));
                outcomes.extend(done);
            }
            if failed.is_empty() || failed.len() == open.len() {
                outcomes.extend(failed.into_iter().map(|(place, error)| (place, ItemOutcome::Failed(error))));
                return outcomes.into_values().collect();
            }
            open.retain(|place| failed.contains_key(place));
        }
    }

    /// Decides the open items in their order with nothing promised. Returns those that pass.
    fn try_alone(&mut self, items: &[Item], open: &[usize]) -> BTreeMap<usize, ItemOutcome> {
        self.promised.clear();
        let decided = open.iter().map(|place| (*place, self.decide(items[*place].clone())));
        decided.filter(|(_, outcome)| !matches!(outcome, ItemOutcome::Failed(_))).collect()
    }

    /// Decides the open items in their order, each promised to all the others. Puts those that pass among the outcomes
    /// and returns the others, which left no trace.
    fn try_together(
        &mut self,
        items: &[Item],
        open: &[usize],
        users: &Users,
        outcomes: &mut BTreeMap<usize, ItemOutcome>,
    ) -> HashMap<usize, Error> {
        let before = self.mark();
        let mut failed = HashMap::new();
        loop {
            self.promised.clear();
            let hopeful: Vec<usize> = open.iter().copied().filter(|place| !failed.contains_key(place)).collect();
            let promises: HashMap<usize, ResourceId> =
                hopeful.iter().filter_map(|place| Some((*place, self.promise(&items[*place])?))).collect();
            let (mut done, mut refused) = (Vec::with_capacity(hopeful.len()), Vec::new());
            for place in hopeful {
                match self.decide(items[place].clone()) {
                    ItemOutcome::Failed(error) => refused.push((place, error)),
                    outcome => done.push((place, outcome)),
                }
            }
            let was_trusted = refused.iter().any(|(place, _)| promises.contains_key(place));
            if !was_trusted {
                failed.extend(refused);
                outcomes.extend(done);
                return failed;
            }
            self.go_back(&before);
            // The others may have failed for the sake of one that fails by itself: they get another round.
            let by_themselves: Vec<(usize, Error)> =
                refused.iter().filter_map(|(place, _)| Some((*place, self.fault_of(&items[*place])?))).collect();
            let mut gone = Vec::new();
            for (place, error) in if by_themselves.is_empty() { refused } else { by_themselves } {
                gone.extend(self.withdraw(&items[place], promises.get(&place)));
                failed.insert(place, error);
            }
            self.fail_users(items, users, &promises, gone, &mut failed);
        }
    }

    /// What stands against an item if it were the only one. Leaves no trace.
    fn fault_of(&mut self, item: &Item) -> Option<Error> {
        let before = self.mark();
        let outcome = self.decide(item.clone());
        self.go_back(&before);
        match outcome {
            ItemOutcome::Failed(error) => Some(error),
            ItemOutcome::Done(_) | ItemOutcome::Waiting(_) => None,
        }
    }

    /// Fails the items that relate to names that nothing brings any more, and what relates to those in turn.
    fn fail_users(
        &mut self,
        items: &[Item],
        users: &Users,
        promises: &HashMap<usize, ResourceId>,
        mut gone: Vec<String>,
        failed: &mut HashMap<usize, Error>,
    ) {
        while let Some(name) = gone.pop() {
            for place in users.get(&name).into_iter().flatten() {
                if failed.contains_key(place) || !promises.contains_key(place) {
                    continue;
                }
                if let Some(error) = self.fault_of(&items[*place]) {
                    failed.insert(*place, error);
                    gone.extend(self.withdraw(&items[*place], promises.get(place)));
                }
            }
        }
    }

    fn mark(&self) -> (Mark, usize) {
        (self.working.mark(), self.index.len())
    }

    fn go_back(&mut self, (working, index): &(Mark, usize)) {
        self.working.go_back(working);
        self.index.truncate(*index);
    }

    /// Gives an id to the resource that an item brings, so that others may relate to it.
    fn promise(&mut self, item: &Item) -> Option<ResourceId> {
        let Item::Import(item) = item else { return None };
        let known = item.key.as_ref().and_then(|key| self.promised.get(key)).map(|promise| promise.id);
        let found = self.find_imported(item).ok()?.map(|(id, _)| id);
        let id = match found.or(known).or(item.id) {
            Some(id) => id,
            None => self.working.new_id().ok()?,
        };
        for name in names_of(item, id) {
            self.promised.entry(name).or_insert(Promise { id, items: 0 }).items += 1;
        }
        Some(id)
    }

    /// Takes back the promise of an item that failed. Returns the names that no other item brings.
    fn withdraw(&mut self, item: &Item, id: Option<&ResourceId>) -> Vec<String> {
        let (Item::Import(item), Some(id)) = (item, id) else { return Vec::new() };
        let mut gone = Vec::new();
        for name in names_of(item, *id) {
            let Some(promise) = self.promised.get_mut(&name) else { continue };
            promise.items -= 1;
            if promise.items == 0 {
                self.promised.remove(&name);
                gone.push(name);
            }
        }
        gone
    }

    /// The resource that an import's key or id names, or the one of a singular blueprint.
    fn find_imported(&self, item: &ImportItem) -> Result<Option<(ResourceId, Meta)>> {
        let blueprint = self.blueprint.number;
        let mut named = item.id;
        if let Some(key) = &item.key
            && let Some(bytes) = self.working.get(&Key::ImportKey { blueprint, key: key.as_str().into() })?
        {
            named = Some(decode_id(&bytes)?);
        }
        if self.blueprint.kind == BlueprintKind::Singular {
            named = Some(self.singular_id()?);
        }
        let Some(id) = named else { return Ok(None) };
        Ok(self.working.meta(blueprint, id)?.map(|meta| (id, meta)))
    }

    fn singular_id(&self) -> Result<ResourceId> {
        let bytes = self.working.get(&Key::Singular(self.blueprint.number))?;
        let bytes = bytes.ok_or_else(|| Error::internal("a singular blueprint without its resource"))?;
        decode_id(&bytes)
    }

    pub(super) fn import(&mut self, item: ImportItem) -> ItemOutcome {
        let names = given_names(self.blueprint, &item);
        // What is said of a resource later stands: it must not be said before.
        if item.missing == Missing::Wait && names.iter().any(|name| self.waiting.contains(name)) {
            self.waiting.extend(names);
            return ItemOutcome::Waiting(Box::new(item));
        }
        match self.edit_for_import(&item) {
            Ok((edit, Some(Unresolved))) if edit.may_wait => {
                self.waiting.extend(names);
                ItemOutcome::Waiting(Box::new(item))
            }
            Ok((edit, _)) => ItemOutcome::Done(self.commit(edit)),
            Err(error) => ItemOutcome::Failed(error),
        }
    }

    fn edit_for_import(&mut self, item: &ImportItem) -> Result<(Edit, Option<Unresolved>)> {
        let blueprint = self.blueprint.number;
        let (id, before) = match self.find_imported(item)? {
            Some((id, meta)) => (id, Some(meta)),
            None => (self.id_for_import(item)?, None),
        };
        let mut after = before.clone().unwrap_or_else(|| self.new_meta(None));
        after.published = item.published.apply(after.published, self.working.now);
        after.created = item.created.unwrap_or(after.created);
        after.updated = item.updated.unwrap_or(after.updated);
        let mut edit = Edit::new(id, before, after);
        edit.may_wait = item.missing == Missing::Wait;
        edit.keeps_updated = item.updated.is_some();
        if let Some(key) = &item.key {
            self.set_import_key(&mut edit, blueprint, key);
        }
        let unresolved = self.write_copies(&mut edit, item.copies.clone(), Faults::new(), Requires::Nothing)?;
        Ok((edit, unresolved))
    }

    fn id_for_import(&mut self, item: &ImportItem) -> Result<ResourceId> {
        if let Some(id) = item.id {
            return Ok(id);
        }
        if let Some(promise) = item.key.as_ref().and_then(|key| self.promised.get(key)) {
            return Ok(promise.id);
        }
        self.working.new_id()
    }

    fn set_import_key(&self, edit: &mut Edit, blueprint: u32, key: &str) {
        if edit.after.key.as_deref() == Some(key) {
            return;
        }
        if let Some(old) = edit.after.key.replace(key.to_owned()) {
            edit.removes.push(Key::ImportKey { blueprint, key: old.into() });
        }
        let id = edit.id.as_u128().to_be_bytes().to_vec();
        edit.puts.push((Key::ImportKey { blueprint, key: key.into() }, id));
    }
}

/// The names that an item gives its resource: items that share one are about the same.
pub(crate) fn given_names(blueprint: &Blueprint, item: &ImportItem) -> Vec<String> {
    if blueprint.kind == BlueprintKind::Singular {
        return vec![String::new()];
    }
    item.key.clone().into_iter().chain(item.id.map(|id| id.to_string())).collect()
}

/// What relations may call the resource of an import by.
fn names_of(item: &ImportItem, id: ResourceId) -> impl Iterator<Item = String> {
    std::iter::once(id.to_string()).chain(item.key.clone())
}
