//! Facets and statistics of the results of a search: the number of times that each value of a column occurs, and the
//! sums of numbers. It knows no filters and no orders of pages.
//!
//! The slots of the results become documents of runs. Each run counts in its own way: by the orders of its columns, by
//! the [`Ordinals`] of its texts, which are cached for the next request, or value by value if there are few documents.

use std::sync::Arc;
use std::time::Duration;

use super::documents::{RunDocuments, documents};
use super::facet::{facet_of, tally_dates};
use super::query_cache::OrderResult;
use super::snapshot::Snapshot;
use super::stats::{StatsByText, StatsOf};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Facet, FacetBy, FallbackColumn, Filter, MatchSet, Period, Predicate, Stats};
use crate::run::{NumberedRun, Ordinals, Run, Tally};
use crate::schema::{ColumnId, VariantNumber};

/// The time to wait for ordinals that another thread computes before the interrupt is checked.
const CLAIM_PATIENCE: Duration = Duration::from_millis(20);

/// The matches whose values are counted and added up.
pub struct Aggregates<'a> {
    snapshot: &'a Snapshot,
    found: &'a MatchSet,
    variant: VariantNumber,
    interrupt: &'a Interrupt<'a>,
    /// The documents of all matches in the variant.
    all: Option<Vec<RunDocuments<'a>>>,
}

impl Snapshot {
    /// Returns aggregates of a search's results in this snapshot, by the values of a variant.
    pub fn aggregates<'a>(
        &'a self,
        found: &'a MatchSet,
        variant: VariantNumber,
        interrupt: &'a Interrupt<'a>,
    ) -> Aggregates<'a> {
        Aggregates { snapshot: self, found, variant, interrupt, all: None }
    }
}

impl<'a> Aggregates<'a> {
    /// Counts each value. Lists the `limit` most frequent ones; periods are all listed. If `fallback` names the column,
    /// the values of its variant count where there are none.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn facet(&mut self, by: FacetBy, fallback: Option<FallbackColumn>, limit: usize) -> Result<Facet, Error> {
        let snapshot = self.snapshot;
        let (result, period) = match by {
            FacetBy::Column(column) => (self.tally(column, None, fallback), None),
            FacetBy::Period(column, period) => (self.tally(column, Some(period), fallback), Some(period)),
            FacetBy::Date(date, period) => {
                (tally_dates(snapshot, &self.found.0, date, period, self.interrupt), Some(period))
            }
        };
        let facet =
            result.and_then(|tally| facet_of(tally, self.found.0.count() as u64, period, limit, self.interrupt));
        snapshot.sound(facet)
    }

    /// Adds up the numbers of a column; `None` if there are none. See [`Aggregates::facet`] for `fallback`.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn stats(&mut self, column: ColumnId, fallback: Option<FallbackColumn>) -> Result<Option<Stats>, Error> {
        let snapshot = self.snapshot;
        let mut stats = StatsOf::default();
        let interrupt = self.interrupt;
        let is_known = snapshot.version.column(column).is_some();
        let result = self.each_part(fallback.filter(|_| is_known), |_, part| {
            if !is_known {
                return Ok(());
            }
            part.numbered.run.each_number(column, &part.documents, interrupt, |_, number| stats.add(number))
        });
        snapshot.sound(result.map(|()| stats.finish()))
    }

    /// Like [`Aggregates::stats`], separately for each text that the column `by` has beside the numbers, ascending.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn stats_by(
        &mut self,
        column: ColumnId,
        by: ColumnId,
        fallback: Option<FallbackColumn>,
    ) -> Result<Vec<(String, Stats)>, Error> {
        let (snapshot, interrupt) = (self.snapshot, self.interrupt);
        let mut stats = StatsByText::default();
        let result = self.each_part(fallback, |snapshot, part| {
            let ordinals = snapshot.ordinals(part, by, interrupt)?;
            stats.add_run(part, column, by, ordinals.as_deref(), interrupt)
        });
        snapshot.sound(result.map(|()| stats.finish()))
    }

    fn tally(
        &mut self,
        column: ColumnId,
        period: Option<Period>,
        fallback: Option<FallbackColumn>,
    ) -> Result<Tally<'a>, Error> {
        let interrupt = self.interrupt;
        let mut tally = Tally::default();
        self.each_part(fallback, |snapshot, part| tally_run(snapshot, part, column, period, interrupt, &mut tally))?;
        Ok(tally)
    }

    /// Calls `add` with the matching documents of each run.
    fn each_part(
        &mut self,
        fallback: Option<FallbackColumn>,
        mut add: impl FnMut(&'a Snapshot, &RunDocuments<'a>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(FallbackColumn { unless_null, variant, .. }) = fallback else {
            if self.all.is_none() {
                self.all = Some(documents(self.snapshot, &self.found.0, self.variant, self.interrupt)?);
            }
            return self.all.iter().flatten().try_for_each(|part| add(self.snapshot, part));
        };
        let is_null = Filter::Column(unless_null, Predicate::Null);
        let nulls = self.snapshot.find(self.variant, &is_null, self.interrupt)?;
        let (mut own, mut others) = (Bitmap::clone(&self.found.0), Bitmap::clone(&self.found.0));
        own.subtract(&nulls.0);
        others.intersect(&nulls.0);
        for (slots, variant) in [(own, self.variant), (others, variant)] {
            for part in documents(self.snapshot, &slots, variant, self.interrupt)? {
                add(self.snapshot, &part)?;
            }
        }
        Ok(())
    }
}

fn tally_run<'a>(
    snapshot: &'a Snapshot,
    part: &RunDocuments<'a>,
    column: ColumnId,
    period: Option<Period>,
    interrupt: &Interrupt<'_>,
    tally: &mut Tally<'a>,
) -> Result<(), Error> {
    let RunDocuments { numbered: NumberedRun { run, .. }, documents, count } = part;
    if snapshot.version.column(column).is_none() {
        return Ok(());
    }
    if let Run::Disk(disk) = run {
        let is_large = *count >= run.len() as usize / snapshot.context.options.thresholds.read_share;
        if is_large && disk.tally_ranks(column, period, documents, interrupt, tally)? {
            return Ok(());
        }
        if let Some(ordinals) = snapshot.ordinals(part, column, interrupt)? {
            return disk.tally_texts(column, &ordinals, period, documents, interrupt, tally);
        }
    }
    for document in documents.iter() {
        interrupt.step()?;
        tally.add_value(run.value_without_folded(document, column), period);
        tally.unpacked.check()?;
    }
    Ok(())
}

impl OrderResult for Ordinals {
    const NAME: u8 = b'o';

    fn bytes(&self) -> usize {
        Ordinals::bytes(self)
    }
}

impl Snapshot {
    /// Returns the ordinals of a column of texts or lists in a disk run, if computing them is worth it. They are
    /// cached.
    fn ordinals(
        &self,
        part: &RunDocuments<'_>,
        column: ColumnId,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Arc<Ordinals>>, Error> {
        let NumberedRun { number, run, .. } = part.numbered;
        let Run::Disk(disk) = run else { return Ok(None) };
        let cache = &self.context.cache;
        let key = cache.key_of_run::<Ordinals>(*number, column, &[]);
        let _claim = loop {
            if let Some(ordinals) = cache.of_run(&key) {
                return Ok(Some(ordinals));
            }
            let share = match disk.has_ordinals(column) {
                true => self.context.options.thresholds.stored_ordinals_share,
                false => self.context.options.thresholds.computed_ordinals_share,
            };
            if part.count < run.len() as usize / share {
                return Ok(None);
            }
            if let Some(claim) = cache.claim_order(&key, CLAIM_PATIENCE) {
                break claim;
            }
            interrupt.check()?;
        };
        let ordinals = match disk.ordinals(column, interrupt) {
            // The run has too many long texts. Those that are counted may be fewer.
            Err(Error::TooMuchText { .. }) | Ok(None) => return Ok(None),
            Ok(Some(ordinals)) => Arc::new(ordinals),
            Err(error) => return Err(error),
        };
        cache.put_of_run(&key, *number, &ordinals);
        Ok(Some(ordinals))
    }
}
