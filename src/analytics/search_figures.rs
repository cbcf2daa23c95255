//! The figures of searches (`API.md` 4.8.13). Like `figures`, it leaves percentages and rounding to its callers.

use std::collections::HashMap;
use std::sync::Arc;

use bindery_model::error::Result;

use super::figures::Figures;
use super::names::{NONE, Name};
use super::period::Period;
use super::rollup::{SearchKey, SearchRow};

/// A question with fewer visitors is not reported: it may tell who asked it.
pub(super) const MIN_VISITORS: u64 = 5;

/// The searches that a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchReport {
    /// All.
    All,
    /// Those that found nothing.
    WithoutResults,
    /// Those that found something, and no result was clicked.
    WithoutClicks,
}

/// The searches for one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchCount {
    /// The question.
    pub question: Arc<str>,
    /// The searches.
    pub searches: u64,
    /// The visitors of each day who asked it, added up.
    pub visitors: u64,
    /// The searches that found nothing.
    pub without_results: u64,
    /// The searches with a click on a result.
    pub clicked: u64,
    /// The clicks on results.
    pub clicks: u64,
    /// The positions of the clicked results, added up.
    pub positions: u64,
}

impl SearchCount {
    /// Returns the number of searches that found something, and no result was clicked.
    pub fn without_clicks(&self) -> u64 {
        without_clicks(self.searches, self.without_results, self.clicked)
    }
}

impl Figures<'_> {
    /// Returns the first `limit` questions of a period with five visitors or more: those with the most searches that
    /// the report is about first, equal ones by name. With a blueprint, only searches count that found something there
    /// or looked nowhere else.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn searches(
        &self,
        period: Period,
        report: SearchReport,
        blueprint: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SearchCount>> {
        let mut counts: HashMap<Name, SearchRow> = HashMap::new();
        self.each_rollup(period, |_, rollup| {
            // Looked up each time, since reading a day file may intern the name.
            let Some(blueprint) = blueprint.map_or(Some(NONE), |blueprint| self.name(blueprint)) else { return };
            for row in rollup.searches.iter().filter(|row| row.key.blueprint == blueprint) {
                let SearchKey { question, .. } = row.key;
                counts.entry(question).or_insert_with(|| SearchRow::new(row.key)).add(row);
            }
        })?;
        let rank = |row: &SearchRow| match report {
            SearchReport::All => row.searches,
            SearchReport::WithoutResults => row.without_results,
            SearchReport::WithoutClicks => without_clicks(row.searches, row.without_results, row.clicked_searches),
        };
        let rows = counts.into_iter().filter(|(_, row)| row.visitors >= MIN_VISITORS && rank(row) > 0).collect();
        let rows = self.top(rows, limit, rank).into_iter().map(|(question, row)| SearchCount {
            question,
            searches: row.searches,
            visitors: row.visitors,
            without_results: row.without_results,
            clicked: row.clicked_searches,
            clicks: row.clicks,
            positions: row.positions,
        });
        Ok(rows.collect())
    }

    /// Returns the questions of a period by blueprint, with the number of visitors who found something there that
    /// readers without drafts see, where these are five or more.
    pub(super) fn found_questions(&self, period: Period) -> Result<HashMap<SearchKey, u64>> {
        let mut finders: HashMap<SearchKey, u64> = HashMap::new();
        self.each_rollup(period, |_, rollup| {
            for row in rollup.searches.iter().filter(|row| row.key.blueprint != NONE && row.finders > 0) {
                *finders.entry(row.key).or_default() += row.finders;
            }
        })?;
        finders.retain(|_, visitors| *visitors >= MIN_VISITORS);
        Ok(finders)
    }
}

fn without_clicks(searches: u64, without_results: u64, clicked: u64) -> u64 {
    searches.saturating_sub(without_results).saturating_sub(clicked)
}
