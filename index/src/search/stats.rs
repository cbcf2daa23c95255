//! Statistics of numbers: count, minimum, maximum and sum. It knows no filters.

use std::collections::BTreeMap;

use super::documents::RunDocuments;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::Stats;
use crate::run::{Ordinals, Run, text_at};
use crate::schema::ColumnId;
use crate::sum::ExactSum;

/// Statistics that are being computed.
#[derive(Debug, Clone, Default)]
pub(super) struct StatsOf {
    count: u64,
    min: f64,
    max: f64,
    sum: ExactSum,
}

impl StatsOf {
    #[inline]
    pub(super) fn add(&mut self, number: f64) {
        (self.min, self.max) = match self.count {
            0 => (number, number),
            _ => (self.min.min(number), self.max.max(number)),
        };
        self.count += 1;
        self.sum.add(number);
    }

    fn merge(&mut self, other: &StatsOf) {
        if self.count == 0 {
            *self = other.clone();
        } else if other.count > 0 {
            (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
            self.count += other.count;
            self.sum.merge(&other.sum);
        }
    }

    /// Returns the statistics; `None` without numbers.
    pub(super) fn finish(&self) -> Option<Stats> {
        let StatsOf { count, min, max, .. } = *self;
        (count > 0).then(|| Stats { count, min, max, sum: self.sum.rounded() })
    }
}

/// Statistics for each text beside the numbers.
#[derive(Debug, Default)]
pub(super) struct StatsByText(BTreeMap<String, StatsOf>);

impl StatsByText {
    /// Adds the numbers of a run's documents. `ordinals` are the ordinals of the texts, if there are any.
    pub(super) fn add_run(
        &mut self,
        part: &RunDocuments<'_>,
        column: ColumnId,
        by: ColumnId,
        ordinals: Option<&Ordinals>,
        interrupt: &Interrupt<'_>,
    ) -> Result<(), Error> {
        let run = &part.numbered.run;
        let Some(ordinals) = ordinals else {
            return run.each_number(column, &part.documents, interrupt, |document, number| {
                let text = text_of(run, document, by);
                match self.0.get_mut(&*text) {
                    Some(stats) => stats.add(number),
                    None => self.0.entry(text).or_default().add(number),
                }
            });
        };
        let mut stats = vec![StatsOf::default(); ordinals.len()];
        run.each_number(column, &part.documents, interrupt, |document, number| {
            if let Some(ordinal) = ordinals.of_document(document) {
                stats[ordinal].add(number);
            }
        })?;
        for (ordinal, stats) in stats.iter().enumerate().filter(|(_, stats)| stats.count > 0) {
            let (document, _) = ordinals.place(ordinal);
            self.0.entry(text_of(run, document, by)).or_default().merge(stats);
        }
        Ok(())
    }

    /// Returns the statistics by text, ascending.
    pub(super) fn finish(self) -> Vec<(String, Stats)> {
        self.0.into_iter().filter_map(|(text, stats)| Some((text, stats.finish()?))).collect()
    }
}

fn text_of(run: &Run, document: u32, column: ColumnId) -> String {
    text_at(run.value_without_folded(document, column), 0).into_owned()
}
