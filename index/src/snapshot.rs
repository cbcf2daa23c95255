//! Reading one version: pages, streams, single resources. It knows no changes.

use std::fmt;
use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::index::Shared;
use crate::memory::Document;
use crate::order::Sorter;
use crate::query::{Filter, Hit, Hits, Query};
use crate::schema::{ColumnId, Value, VariantNumber};
use crate::state::State;

/// One version of an index, unchanging as long as it is held. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<State>,
}

/// All resources of an answer in their order, a few at a time. Memory does not grow with what was read.
#[derive(Debug)]
pub struct Stream {
    snapshot: Snapshot,
    total: usize,
    answer: Answer,
    place: usize,
}

/// Slots in the order they are answered in.
#[derive(Debug)]
enum Answer {
    /// Exactly these.
    Slots(Arc<Vec<u32>>),
    /// Those of the order that are in the bitmap.
    Filtered(Arc<Vec<u32>>, Arc<Bitmap>),
}

impl Snapshot {
    /// How many resources there are.
    pub fn total(&self) -> u64 {
        self.state.total as u64
    }

    /// The page of at most `limit` resources that begins at `offset`, and how many there are in all.
    ///
    /// What the schema does not name is null everywhere: a column, or each column of a variant. Fails only if files of
    /// the index cannot be read.
    pub fn search(&self, query: &Query, offset: u64, limit: usize) -> Result<Hits, Error> {
        let bits = self.evaluator(query).select(&query.filter)?;
        let total = bits.count();
        let hits = match usize::try_from(offset) {
            Ok(offset) if offset < total && limit > 0 => {
                let end = offset.saturating_add(limit).min(total);
                let answer = self.sorted(query, bits, total, Some((offset, end)));
                answer.page(total, offset, end).into_iter().map(|slot| self.state.hit(slot)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Hits { total: total as u64, hits })
    }

    /// All resources that match, in their order.
    pub fn stream(&self, query: &Query) -> Result<Stream, Error> {
        let bits = self.evaluator(query).select(&query.filter)?;
        let total = bits.count();
        let answer = self.sorted(query, bits, total, None);
        Ok(Stream { snapshot: self.clone(), total, answer, place: 0 })
    }

    /// The resource of that id.
    pub fn get(&self, id: u128) -> Option<Hit> {
        let slot = self.shared.slots.read().get(&id).copied()?;
        // The map is ahead of this version; the row is of it.
        let hit = self.state.hit(slot);
        (hit.id == id && self.state.live.contains(slot)).then_some(hit)
    }

    /// The number of the stored version of a copy; none if the resource has no copy in that variant.
    pub fn copy(&self, slot: u32, variant: VariantNumber) -> Option<u64> {
        let location = self.state.part(variant)?.locations.get(slot);
        location.is_copy().then_some(location.number)
    }

    /// A resource that the filter holds for and that is accepted. What the filter finds is not kept for others who ask.
    pub fn find_once(
        &self,
        variant: VariantNumber,
        filter: &Filter,
        mut accept: impl FnMut(u128) -> bool,
    ) -> Result<Option<u128>, Error> {
        let found = Evaluator::new(&self.shared, &self.state, variant).select_once(filter)?;
        let id = found.iter().map(|slot| self.state.rows.get(slot).id).find(|id| accept(*id));
        Ok(id)
    }

    /// The columns in which a copy has other values than these; all others are null. For verification: what the runs
    /// hold is compared, value by value, and folded text too.
    pub fn differing(&self, slot: u32, variant: VariantNumber, values: Vec<(ColumnId, Value)>) -> Vec<ColumnId> {
        let Some(part) = self.state.part(variant) else { return Vec::new() };
        let expected = Document::new(slot, values);
        let columns = self.state.schema.columns.iter().map(|column| column.id);
        columns.filter(|id| !part.value(slot, *id).is_same(&expected.value(*id))).collect()
    }

    fn evaluator(&self, query: &Query) -> Evaluator<'_> {
        Evaluator::new(&self.shared, &self.state, query.variant)
    }

    /// Chooses between sorting the result alone and picking it from an order of all slots.
    fn sorted(&self, query: &Query, bits: Arc<Bitmap>, total: usize, page: Option<(usize, usize)>) -> Answer {
        let options = &self.shared.options;
        let sorter = Sorter::new(&self.shared, &self.state, query.variant, &query.sort);
        let alone = || Answer::Slots(Arc::new(sorter.sort(bits.iter().collect())));
        if total <= options.always_alone {
            return alone();
        }
        let order = match total <= options.sorted_alone {
            false => sorter.order(),
            true => match sorter.known() {
                Some(order) if steps(order.len(), total, page) <= total * 256 => order,
                _ => return alone(),
            },
        };
        match total == order.len() {
            true => Answer::Slots(order),
            false => Answer::Filtered(order, bits),
        }
    }
}

impl Stream {
    /// How many resources there are in all.
    pub fn total(&self) -> u64 {
        self.total as u64
    }

    /// The snapshot that is read.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The next resources, at most so many; none at the end.
    pub fn next(&mut self, count: usize) -> Vec<Hit> {
        let slots = match &self.answer {
            Answer::Slots(slots) => {
                let end = self.place.saturating_add(count).min(slots.len());
                let slots = slots[self.place..end].to_vec();
                self.place = end;
                slots
            }
            Answer::Filtered(order, bits) => {
                let mut slots = Vec::new();
                while let (true, Some(&slot)) = (slots.len() < count, order.get(self.place)) {
                    self.place += 1;
                    if bits.contains(slot) {
                        slots.push(slot);
                    }
                }
                slots
            }
        };
        slots.into_iter().map(|slot| self.snapshot.state.hit(slot)).collect()
    }
}

impl Answer {
    /// The slots from `offset` up to `end`, counted from whichever side is nearer.
    fn page(&self, total: usize, offset: usize, end: usize) -> Vec<u32> {
        match self {
            Answer::Slots(slots) => slots[offset..end].to_vec(),
            Answer::Filtered(order, bits) => {
                let is_in = |slot: &u32| bits.contains(*slot);
                if offset <= total - end {
                    return order.iter().copied().filter(is_in).skip(offset).take(end - offset).collect();
                }
                let from_end = order.iter().rev().copied().filter(is_in);
                let mut slots: Vec<u32> = from_end.skip(total - end).take(end - offset).collect();
                slots.reverse();
                slots
            }
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").field("version", &self.state.version).field("total", &self.total()).finish()
    }
}

/// How far a page is reached in an order of so many slots, of which `total` are in the result, evenly.
fn steps(slots: usize, total: usize, page: Option<(usize, usize)>) -> usize {
    let (offset, end) = page.unwrap_or((0, total));
    let within = end.min(total - offset);
    slots / total * within
}
