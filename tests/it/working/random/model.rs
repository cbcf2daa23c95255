//! The naive model of a resource with working copies and a history: plain lists and maps. Must not know the server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The values of a copy: title, rank, tags, and the id of a resource of the other blueprint.
pub(super) type Values = [Value; 4];

pub(super) const FIELDS: [&str; 4] = ["title", "rank", "tags", "see"];
/// The position of the relation.
pub(super) const SEE: usize = 3;
pub(super) const NULLS: Values = [const { Value::Null }; 4];
pub(super) const VARIANTS: [&str; 2] = ["en", "de"];
pub(super) const BLUEPRINTS: [&str; 2] = ["notes", "people"];

/// A resource.
#[derive(Clone)]
pub(super) struct Note {
    /// The position of its blueprint.
    pub(super) kind: usize,
    pub(super) id: String,
    pub(super) is_published: bool,
    pub(super) copies: [Variant; 2],
    /// The number of working copies so far, which tells them apart.
    n_working: usize,
}

/// A resource in the trash.
pub(super) struct Trashed {
    pub(super) note: Note,
    /// The number of resources that referred to it.
    pub(super) referrers: usize,
}

/// The effect on a resource of the deletion of another one.
pub(super) enum Release {
    Nothing,
    /// Only readers of working copies see it.
    Edited,
    Updated,
}

/// One variant of a resource.
#[derive(Clone, Default)]
pub(super) struct Variant {
    pub(super) live: Values,
    /// The changed fields of the working copy: the value, and the live value when it was changed first.
    pub(super) working: BTreeMap<usize, (Value, Value)>,
    /// Everything that the variant ever was, oldest first.
    pub(super) revisions: Vec<Revision>,
    /// Tells the present working copy apart from others.
    working_number: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Revision {
    pub(super) op: &'static str,
    pub(super) fields: BTreeSet<usize>,
    pub(super) values: Values,
    pub(super) is_published: bool,
    pub(super) actor: usize,
    /// The working copy that was edited, if its next edit may belong to this revision.
    edited: Option<usize>,
}

impl Variant {
    /// Returns the values that a reader sees.
    pub(super) fn shown(&self, is_working: bool) -> Values {
        let mut values = self.live.clone();
        for (field, (value, _)) in self.working.iter().filter(|_| is_working) {
            values[*field] = value.clone();
        }
        values
    }

    pub(super) fn conflicts(&self) -> Vec<&'static str> {
        let is_conflict = |(field, (value, base)): &(&usize, &(Value, Value))| {
            let live = &self.live[**field];
            live != base && live != value
        };
        self.working.iter().filter(is_conflict).map(|(field, _)| FIELDS[*field]).collect()
    }

    fn push(&mut self, op: &'static str, before: &Values, is_published: bool, actor: usize) {
        let (fields, values) = (differences(before, &self.live), self.live.clone());
        self.revisions.push(Revision { op, fields, values, is_published, actor, edited: None });
    }
}

impl Note {
    pub(super) fn new(kind: usize, id: String, is_published: bool, values: Values, actor: usize) -> Note {
        let mut note = Note { kind, id, is_published, copies: Default::default(), n_working: 0 };
        note.copies[0].live = values;
        note.copies[0].push("created", &NULLS, is_published, actor);
        note
    }

    pub(super) fn path(&self) -> String {
        format!("/v2/resources/{}/{}", BLUEPRINTS[self.kind], self.id)
    }

    /// Returns whether a live copy refers to a resource.
    pub(super) fn refers_to(&self, id: &str) -> bool {
        self.copies.iter().any(|copy| copy.live[SEE] == id)
    }

    /// Removes a deleted resource from all copies.
    pub(super) fn release(&mut self, id: &str, actor: usize) -> Release {
        let (mut is_updated, mut is_edited) = (false, false);
        for variant in 0..VARIANTS.len() {
            let before = self.copies[variant].live.clone();
            if before[SEE] == id {
                let mut values = before.clone();
                values[SEE] = Value::Null;
                is_updated |= self.write_live(variant, values, "updated", actor);
            }
            is_edited |= self.follow(variant, &before, |value| value == id, Some(actor));
        }
        match (is_updated, is_edited) {
            (true, _) => Release::Updated,
            (false, true) => Release::Edited,
            (false, false) => Release::Nothing,
        }
    }

    /// Brings a resource back from the trash, without what was deleted meanwhile.
    pub(super) fn restore(&mut self, is_missing: impl Fn(&Value) -> bool, actor: usize) {
        for variant in 0..VARIANTS.len() {
            let copy = &mut self.copies[variant];
            let before = copy.live.clone();
            if is_missing(&copy.live[SEE]) {
                copy.live[SEE] = Value::Null;
            }
            if !copy.revisions.is_empty() {
                copy.push("restored", &before, self.is_published, actor);
            }
            self.follow(variant, &before, &is_missing, None);
        }
    }

    /// Removes targets from the relation in a working copy whose live copy was `before`. Returns whether that shows.
    /// With an actor it is a revision.
    fn follow(
        &mut self,
        variant: usize,
        before: &Values,
        is_gone: impl Fn(&Value) -> bool,
        actor: Option<usize>,
    ) -> bool {
        let (is_published, copy) = (self.is_published, &mut self.copies[variant]);
        let shown = copy.shown(true);
        let Some((value, base)) = copy.working.get_mut(&SEE) else { return false };
        if !is_gone(value) && before[SEE] == copy.live[SEE] {
            return false;
        }
        if is_gone(value) {
            *value = Value::Null;
        }
        if *base == before[SEE] {
            *base = copy.live[SEE].clone();
        }
        if *value == copy.live[SEE] {
            copy.working.remove(&SEE);
        }
        let values = copy.shown(true);
        let fields = differences(&shown, &values);
        let is_shown = !fields.is_empty();
        if let Some(actor) = actor.filter(|_| is_shown) {
            let edited = Some(copy.working_number);
            copy.revisions.push(Revision { op: "edited", fields, values, is_published, actor, edited });
        }
        is_shown
    }

    /// Returns whether a write of the working copy goes into one.
    pub(super) fn keeps_working(&self, variant: usize) -> bool {
        self.is_published || !self.copies[variant].working.is_empty()
    }

    /// Writes some values of the live copy. Returns whether that changes something.
    pub(super) fn write_live(&mut self, variant: usize, values: Values, op: &'static str, actor: usize) -> bool {
        let (is_published, copy) = (self.is_published, &mut self.copies[variant]);
        let before = std::mem::replace(&mut copy.live, values);
        let is_change = before != copy.live;
        if is_change {
            copy.push(op, &before, is_published, actor);
        }
        is_change
    }

    /// Writes some values of the working copy. Returns whether that changes something.
    pub(super) fn write_working(
        &mut self,
        variant: usize,
        values: &[(usize, Value)],
        op: &'static str,
        actor: usize,
    ) -> bool {
        let copy = &mut self.copies[variant];
        let (shown, working) = (copy.shown(true), copy.working.clone());
        if working.is_empty() {
            self.n_working += 1;
            copy.working_number = self.n_working;
        }
        for (field, value) in values {
            let live = copy.live[*field].clone();
            if *value == live {
                copy.working.remove(field);
            } else {
                copy.working.entry(*field).or_insert((Value::Null, live)).0 = value.clone();
            }
        }
        // Restored values are a revision of their own.
        let edited = (op == "edited").then_some(copy.working_number);
        let (is_published, values) = (self.is_published, copy.shown(true));
        let fields = differences(&shown, &values);
        if !fields.is_empty() {
            let continues =
                |newest: &&mut Revision| edited.is_some() && newest.edited == edited && newest.actor == actor;
            match copy.revisions.last_mut().filter(continues) {
                Some(newest) => {
                    newest.fields.extend(fields);
                    (newest.values, newest.is_published) = (values, is_published);
                }
                None => {
                    copy.revisions.push(Revision { op, fields, values, is_published, actor, edited });
                }
            }
        }
        copy.working != working
    }

    /// Notes a change of the blueprint, after which a write begins a new revision.
    pub(super) fn end_revisions(&mut self) {
        self.copies.iter_mut().filter_map(|copy| copy.revisions.last_mut()).for_each(|newest| newest.edited = None);
    }

    pub(super) fn discard(&mut self, variant: usize) {
        self.copies[variant].working.clear();
    }

    /// Publishes the working copies of some variants.
    pub(super) fn publish(&mut self, variants: &[usize], actor: usize) {
        let was_published = std::mem::replace(&mut self.is_published, true);
        for (number, copy) in self.copies.iter_mut().enumerate() {
            let before = copy.live.clone();
            if variants.contains(&number) {
                copy.live = copy.shown(true);
                copy.working.clear();
            }
            let is_change = copy.live != before;
            match was_published {
                false if !copy.revisions.is_empty() || is_change => copy.push("published", &before, true, actor),
                true if is_change => copy.push("updated", &before, true, actor),
                _ => {}
            }
        }
    }

    pub(super) fn unpublish(&mut self, actor: usize) -> bool {
        let was_published = std::mem::replace(&mut self.is_published, false);
        if was_published {
            self.push_to_all("unpublished", actor);
        }
        was_published
    }

    /// Adds a revision without changes to all variants that have revisions.
    pub(super) fn push_to_all(&mut self, op: &'static str, actor: usize) {
        for copy in self.copies.iter_mut().filter(|copy| !copy.revisions.is_empty()) {
            let before = copy.live.clone();
            copy.push(op, &before, self.is_published, actor);
        }
    }
}

fn differences(before: &Values, after: &Values) -> BTreeSet<usize> {
    (0..FIELDS.len()).filter(|field| before[*field] != after[*field]).collect()
}
