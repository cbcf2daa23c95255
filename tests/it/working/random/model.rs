//! The naive model of a resource with working copies and a history: plain lists and maps. Must not know the server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The values of a copy: title, rank, tags.
pub(super) type Values = [Value; 3];

pub(super) const FIELDS: [&str; 3] = ["title", "rank", "tags"];
pub(super) const NULLS: Values = [Value::Null, Value::Null, Value::Null];
pub(super) const VARIANTS: [&str; 2] = ["en", "de"];

/// A resource.
pub(super) struct Note {
    pub(super) id: String,
    pub(super) is_published: bool,
    pub(super) copies: [Variant; 2],
    /// The number of working copies so far, which tells them apart.
    n_working: usize,
}

/// One variant of a resource.
#[derive(Default)]
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
    pub(super) fn new(id: String, is_published: bool, values: Values, actor: usize) -> Note {
        let mut note = Note { id, is_published, copies: Default::default(), n_working: 0 };
        note.copies[0].live = values;
        note.copies[0].push("created", &NULLS, is_published, actor);
        note
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
        let (is_published, edited, values) = (self.is_published, copy.working_number, copy.shown(true));
        let fields = differences(&shown, &values);
        if !fields.is_empty() {
            let continues = |newest: &&mut Revision| {
                op == "edited" && newest.op == op && newest.edited == Some(edited) && newest.actor == actor
            };
            match copy.revisions.last_mut().filter(continues) {
                Some(newest) => {
                    newest.fields.extend(fields);
                    (newest.values, newest.is_published) = (values, is_published);
                }
                None => {
                    let edited = Some(edited);
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
