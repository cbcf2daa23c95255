//! One version of an index: the tables and runs that a snapshot reads. Immutable once published. It knows no queries.

use std::sync::Arc;

use crate::collate::Collation;
use crate::live_set::LiveSet;
use crate::pins::{Pin, Pins};
use crate::query::{DateColumn, Hit};
use crate::run::{NumberedRun, Run, RunNumber};
use crate::schema::{Column, ColumnId, Schema, Stamps, Variant, VariantNumber};
use crate::slot_table::SlotTable;
use crate::value::ValueRef;
use crate::working::WorkingVersions;

/// The number that stands for a missing date.
const NO_DATE: i64 = i64::MIN;

/// The contents of an index after some number of writes.
///
/// Cloning is cheap, and a clone does not see later changes: everything large is shared until it is written to.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    /// The number of writes before it. Two versions with the same number hold the same values, possibly in different
    /// runs.
    pub(crate) number: u64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) rows: SlotTable<Row>,
    /// The slots that have a resource.
    pub(crate) live_slots: LiveSet,
    /// The number of slots that are live.
    pub(crate) total: usize,
    /// Every live slot is below this.
    pub(crate) slot_count: u32,
    /// One for each variant of the schema.
    pub(crate) copy_sets: Vec<CopySet>,
    pub(crate) pin: Pin,
    /// The same contents with working copies in the place of live ones, made when they are first asked for.
    pub(crate) working: Arc<WorkingVersions>,
}

/// The part of a resource that all its copies share. A vacant row keeps the id of the resource that was in the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u128,
    /// The resource's version, as in [`Stamps`].
    pub(crate) version: u64,
    /// [`NO_DATE`] in a vacant row.
    pub(crate) created: i64,
    pub(crate) updated: i64,
    /// [`NO_DATE`] for a draft.
    pub(crate) published: i64,
}

/// The copies of one variant: the runs that hold them, and the location of each resource's current copy.
#[derive(Debug, Clone)]
pub(crate) struct CopySet {
    pub(crate) variant: Variant,
    pub(crate) collation: Collation,
    pub(crate) locations: SlotTable<Location>,
    /// The runs, by number, ascending.
    pub(crate) runs: Arc<Vec<NumberedRun>>,
}

/// The location of a resource's current copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    /// `u32::MAX` if there is no copy.
    pub(crate) run: RunNumber,
    pub(crate) doc: u32,
    /// The copy's number, as in [`Copy::number`](crate::Copy::number).
    pub(crate) number: u64,
}

impl Version {
    /// Returns a version without resources.
    pub(crate) fn empty(schema: Schema, pins: &Arc<Pins>) -> Version {
        Version {
            number: 0,
            copy_sets: schema.variants.iter().cloned().map(CopySet::empty).collect(),
            schema: Arc::new(schema),
            rows: SlotTable::new(),
            live_slots: LiveSet::default(),
            total: 0,
            slot_count: 0,
            pin: Pins::pin(pins, 0),
            working: Arc::default(),
        }
    }

    pub(crate) fn copy_set(&self, variant: VariantNumber) -> Option<&CopySet> {
        self.copy_sets.iter().find(|copies| copies.variant.number == variant)
    }

    pub(crate) fn copy_set_mut(&mut self, variant: VariantNumber) -> Option<&mut CopySet> {
        self.copy_sets.iter_mut().find(|copies| copies.variant.number == variant)
    }

    pub(crate) fn column(&self, id: ColumnId) -> Option<Column> {
        self.schema.columns.iter().copied().find(|column| column.id == id)
    }

    /// Returns whether the slot holds the resource of this id.
    pub(crate) fn is_in_slot(&self, id: u128, slot: u32) -> bool {
        self.live_slots.contains(slot) && self.rows.get(slot).id == id
    }

    /// Returns the resource in a live slot.
    pub(crate) fn hit(&self, slot: u32) -> Hit {
        let row = self.rows.get(slot);
        let Row { version, created, updated, .. } = row;
        let stamps = Stamps { version, created, updated, published: row.date(DateColumn::Published) };
        Hit { slot, id: row.id, stamps }
    }
}

impl Default for Row {
    fn default() -> Row {
        Row { id: 0, version: 0, created: NO_DATE, updated: NO_DATE, published: NO_DATE }
    }
}

impl Row {
    pub(crate) fn new(id: u128, stamps: Stamps) -> Row {
        let Stamps { version, created, updated, published } = stamps;
        Row { id, version, created, updated, published: published.unwrap_or(NO_DATE) }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.created != NO_DATE
    }

    /// `None` for the publication of a draft, and for every date of a vacant row.
    pub(crate) fn date(&self, column: DateColumn) -> Option<i64> {
        let date = match column {
            DateColumn::Created => self.created,
            DateColumn::Updated => self.updated,
            DateColumn::Published => self.published,
        };
        (date != NO_DATE).then_some(date)
    }
}

impl Default for Location {
    fn default() -> Location {
        Location { run: u32::MAX, doc: 0, number: 0 }
    }
}

impl Location {
    pub(crate) fn is_copy(&self) -> bool {
        self.run != u32::MAX
    }
}

impl CopySet {
    pub(crate) fn empty(variant: Variant) -> CopySet {
        let collation = Collation::of(variant.locale.as_deref());
        CopySet { variant, collation, locations: SlotTable::new(), runs: Arc::new(Vec::new()) }
    }

    /// Returns the value of the copy in a slot; null if there is no copy.
    pub(crate) fn value(&self, slot: u32, column: ColumnId) -> ValueRef<'_> {
        let location = self.locations.get(slot);
        self.run(location.run).map_or(ValueRef::Null, |run| run.value(location.doc, column))
    }

    /// Like [`CopySet::value`], but the folded text may be missing: it is not read from disk runs.
    pub(crate) fn value_without_folded(&self, slot: u32, column: ColumnId) -> ValueRef<'_> {
        let location = self.locations.get(slot);
        self.run(location.run).map_or(ValueRef::Null, |run| run.value_without_folded(location.doc, column))
    }

    /// Returns the length of a text of a slot; see [`Run::length_steps`].
    pub(crate) fn length_step(&self, slot: u32, column: ColumnId) -> u8 {
        let location = self.locations.get(slot);
        self.run(location.run).map_or(0, |run| run.length_steps(column).get(location.doc))
    }

    pub(crate) fn numbered(&self, number: RunNumber) -> Option<&NumberedRun> {
        let index = self.runs.binary_search_by_key(&number, |run| run.number).ok()?;
        Some(&self.runs[index])
    }

    pub(crate) fn run(&self, number: RunNumber) -> Option<&Run> {
        self.numbered(number).map(|numbered| &numbered.run)
    }

    /// Makes a document the current copy in a slot, or none if the location has none.
    ///
    /// Copies the chunks that it writes to, and the list of runs, if another version shares them.
    pub(crate) fn relocate(&mut self, slot: u32, location: Location) {
        let before = self.locations.get(slot);
        if before.is_copy() {
            self.edit_live(before.run, |live| live.remove(before.doc));
        }
        if location.is_copy() {
            self.edit_live(location.run, |live| live.insert(location.doc));
        }
        self.locations.set(slot, location);
    }

    fn edit_live(&mut self, number: RunNumber, edit: impl FnOnce(&mut LiveSet)) {
        if let Ok(index) = self.runs.binary_search_by_key(&number, |run| run.number) {
            edit(&mut Arc::make_mut(&mut self.runs)[index].live);
        }
    }
}
