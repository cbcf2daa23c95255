//! Finds a page of the resources with a value of the first sort key in a range, from the order of that key: without a
//! bitmap of the range. It is tried first, and leaves the rest to the other ways.

use super::page::{range_of, without_range};
use super::snapshot::Snapshot;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Hits, Query};
use crate::trace::StepKind;

impl Snapshot {
    /// Returns the page. `None` if the filter has no range of the first key, if the range has so few resources that
    /// testing them is as fast, or if what else the filter demands was not asked for before in this order.
    pub(super) fn page_in_range(
        &self,
        query: &Query,
        offset: u64,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Hits>, Error> {
        let sorter = self.sorter(query, interrupt);
        let Some(range) = range_of(&sorter, &query.filter) else { return Ok(None) };
        let Some(walk) = sorter.walk(Some(range))? else { return Ok(None) };
        if walk.len() <= self.context.options.always_walk_limit {
            return Ok(None);
        }
        let rest = without_range(&sorter, &query.filter);
        let Some(key) = sorter.key_if_asked_before(&walk, &rest) else { return Ok(None) };
        let matches = self.evaluator(query.variant, interrupt).select(&rest)?;
        if matches.count(&self.version) <= self.context.options.candidate_limit {
            return Ok(None);
        }
        let Some(ordered) = sorter.ordered_matches(&key, &walk, &matches)? else { return Ok(None) };
        let counted = walk.counted(&matches, Some(&ordered), interrupt)?;
        let mut total = 0;
        for order in &counted {
            total += order.total(interrupt)?;
        }
        let page = match usize::try_from(offset) {
            Ok(offset) if offset < total => offset..offset.saturating_add(limit).min(total),
            _ => return Ok(Some(Hits { total: total as u64, hits: Vec::new(), words: None })),
        };
        let few_groups = self.context.options.thresholds.few_groups;
        let find = || {
            let start = walk.start_behind(page.start, &counted, few_groups, interrupt)?;
            sorter.listed(&walk, &start, &matches, page.end, sorter.max_walked())
        };
        let step = |_: &_| Some((StepKind::Ordered, "bits of the index", total as u64));
        let Some(listed) = interrupt.traced(find, step)? else { return Ok(None) };
        let hits = listed.get(&page).iter().map(|&slot| self.version.hit(slot)).collect();
        Ok(Some(Hits { total: total as u64, hits, words: None }))
    }
}
