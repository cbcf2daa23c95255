//! One version of an index: what a snapshot holds. Immutable once published. It knows no queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::bitmap::Bitmap;
use crate::collate::Collation;
use crate::query::{DateColumn, Hit};
use crate::run::Run;
use crate::schema::{Column, ColumnId, Schema, Stamps, Variant, VariantNumber};
use crate::table::Table;
use crate::value::ValueRef;

/// The date of what has none.
pub(crate) const NEVER: i64 = i64::MIN;

/// What belongs to a resource and not to a copy. A vacant row keeps the id of the resource that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u128,
    pub(crate) version: u64,
    /// [`NEVER`] in a vacant row.
    pub(crate) created: i64,
    pub(crate) updated: i64,
    /// [`NEVER`] is a draft.
    pub(crate) published: i64,
}

/// Where the copy of a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    /// The number of the run; `u32::MAX` if there is no copy.
    pub(crate) run: u32,
    pub(crate) doc: u32,
    /// The number of the stored version.
    pub(crate) number: u64,
}

/// The copies of one variant.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) variant: Variant,
    pub(crate) collation: Collation,
    pub(crate) locations: Table<Location>,
    /// By number, ascending.
    pub(crate) runs: Arc<Vec<(u32, Run)>>,
}

/// One version of everything.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// Counts what was applied. Two states of one version hold the same, in runs that may differ.
    pub(crate) version: u64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) rows: Table<Row>,
    /// The slots of resources.
    pub(crate) live: Arc<Bitmap>,
    pub(crate) total: usize,
    /// Slots below this may be in use.
    pub(crate) slots: u32,
    pub(crate) parts: Vec<Part>,
    pub(crate) pin: Pin,
}

impl Default for Row {
    fn default() -> Row {
        Row { id: 0, version: 0, created: NEVER, updated: NEVER, published: NEVER }
    }
}

impl Row {
    pub(crate) fn new(id: u128, stamps: Stamps) -> Row {
        let Stamps { version, created, updated, published } = stamps;
        Row { id, version, created, updated, published: published.unwrap_or(NEVER) }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.created != NEVER
    }

    /// A date; none of a draft's publication, and of a vacant row.
    pub(crate) fn date(&self, column: DateColumn) -> Option<i64> {
        let date = match column {
            DateColumn::Created => self.created,
            DateColumn::Updated => self.updated,
            DateColumn::Published => self.published,
        };
        (date != NEVER).then_some(date)
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

impl Part {
    pub(crate) fn new(variant: Variant) -> Part {
        let collation = Collation::of(variant.locale.as_deref());
        Part { variant, collation, locations: Table::new(), runs: Arc::new(Vec::new()) }
    }

    /// The value of the copy in a slot; null if there is no copy.
    pub(crate) fn value(&self, slot: u32, column: ColumnId) -> ValueRef<'_> {
        let location = self.locations.get(slot);
        match self.run(location.run) {
            Some(run) => run.value(location.doc, column),
            None => ValueRef::Null,
        }
    }

    /// The same for what does not look at folded text, which is then left out where reading it costs.
    pub(crate) fn unfolded(&self, slot: u32, column: ColumnId) -> ValueRef<'_> {
        let location = self.locations.get(slot);
        match self.run(location.run) {
            Some(run) => run.unfolded(location.doc, column),
            None => ValueRef::Null,
        }
    }

    pub(crate) fn run(&self, number: u32) -> Option<&Run> {
        let place = self.runs.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&self.runs[place].1)
    }

    /// Whether the document is the current copy of that slot.
    pub(crate) fn is_alive(&self, slot: u32, run: u32, doc: u32) -> bool {
        let location = self.locations.get(slot);
        location.run == run && location.doc == doc
    }

    /// The documents of a run that are current.
    pub(crate) fn alive(&self, number: u32, run: &Run) -> Bitmap {
        let mut alive = Bitmap::with_room(run.len() as usize);
        for doc in (0..run.len()).filter(|&doc| self.is_alive(run.slot(doc), number, doc)) {
            alive.insert(doc);
        }
        alive
    }
}

impl State {
    /// Nothing yet.
    pub(crate) fn new(schema: Schema, pins: &Arc<Pins>) -> State {
        State {
            version: 0,
            parts: schema.variants.iter().cloned().map(Part::new).collect(),
            schema: Arc::new(schema),
            rows: Table::new(),
            live: Arc::new(Bitmap::default()),
            total: 0,
            slots: 0,
            pin: Pins::pin(pins, 0),
        }
    }

    pub(crate) fn part(&self, variant: VariantNumber) -> Option<&Part> {
        self.parts.iter().find(|part| part.variant.number == variant)
    }

    pub(crate) fn column(&self, id: ColumnId) -> Option<Column> {
        self.schema.columns.iter().copied().find(|column| column.id == id)
    }

    /// The resource in a slot that is in use.
    pub(crate) fn hit(&self, slot: u32) -> Hit {
        let row = self.rows.get(slot);
        let Row { version, created, updated, .. } = row;
        let stamps = Stamps { version, created, updated, published: row.date(DateColumn::Published) };
        Hit { slot, id: row.id, stamps }
    }
}

/// Which versions are still looked at.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    versions: Mutex<BTreeMap<u64, usize>>,
}

/// Says that a version is looked at, as long as it lives.
#[derive(Debug)]
pub(crate) struct Pin {
    version: u64,
    pins: Arc<Pins>,
}

impl Pins {
    pub(crate) fn pin(pins: &Arc<Pins>, version: u64) -> Pin {
        *pins.versions.lock().entry(version).or_default() += 1;
        Pin { version, pins: Arc::clone(pins) }
    }

    /// The oldest version that is looked at.
    pub(crate) fn oldest(&self) -> u64 {
        self.versions.lock().first_key_value().map_or(u64::MAX, |(&version, _)| version)
    }
}

impl Pin {
    pub(crate) fn pins(&self) -> Arc<Pins> {
        Arc::clone(&self.pins)
    }
}

impl Clone for Pin {
    fn clone(&self) -> Pin {
        Pins::pin(&self.pins, self.version)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut versions = self.pins.versions.lock();
        if let Some(count) = versions.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                versions.remove(&self.version);
            }
        }
    }
}
