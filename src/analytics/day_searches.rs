//! The searches of a day that is being counted: which visitors asked what, and which searches can still be clicked. It
//! does not know files; its bytes are part of a log record.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use bindery_model::time::Millis;

use super::codec::{DecodeError, Input, put, put_signed};
use super::names::Name;
use super::rollup::{Rollup, SearchKey, SearchRow};
use super::search::{Click, Search};
use super::search_id::CLICKABLE_FOR;
use super::session::SESSION_GAP;

/// The most clicks on different results of one search that count.
const MAX_CLICKS: usize = 10;
/// The most rows in which one search counts.
const MAX_KEYS: usize = 64;
/// The most searches that can be clicked. Beyond it, the oldest ones no longer can.
const MAX_RECENT: usize = 200_000;

/// The number of a visitor within the day.
type VisitorNumber = u32;

/// The searches of a day.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DaySearches {
    /// The searches that can be clicked, by the number in their id.
    recent: HashMap<u64, RecentSearch>,
    /// The number in each id, with the number of the search that it continues, or with itself.
    numbers: HashMap<u64, u64>,
    /// These numbers and their times, in order.
    order: VecDeque<(Millis, u64)>,
    /// The number of each visitor's last search.
    last: HashMap<VisitorNumber, u64>,
    /// True for those who found something that readers without drafts see.
    askers: HashMap<Asker, bool>,
    /// The rows by site and key, as places in the rollup of the site.
    indexes: HashMap<(Name, SearchKey), usize>,
}

/// A search that can be clicked or continued.
#[derive(Debug, Clone, PartialEq)]
struct RecentSearch {
    site: Name,
    visitor: VisitorNumber,
    began: Millis,
    /// The time when it was asked for last: pages and filters continue it.
    at: Millis,
    keys: Vec<SearchKey>,
    found: bool,
    has_own_row: bool,
    /// The clicked resources.
    clicked: Vec<u128>,
    /// The positions of these clicks, added up.
    positions: u64,
}

/// A visitor who asked a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Asker {
    key: SearchKey,
    visitor: VisitorNumber,
}

impl DaySearches {
    /// Counts a search in the rollup of its site. If the visitor's last search has the same question, the search
    /// continues that one: it is another page of it, has other filters, or looks in another blueprint.
    pub(super) fn add(&mut self, search: &Search, visitor: VisitorNumber, rollup: &mut Rollup) {
        self.forget_old(search.at);
        let number = self.continued(search, visitor).unwrap_or(search.number);
        self.order.push_back((search.at, search.number));
        self.numbers.insert(search.number, number);
        self.last.insert(visitor, number);
        let known = self.recent.entry(number).or_insert_with(|| RecentSearch {
            site: search.site,
            visitor,
            began: search.at,
            at: search.at,
            keys: Vec::new(),
            found: search.found,
            has_own_row: search.has_own_row,
            clicked: Vec::new(),
            positions: 0,
        });
        known.at = search.at;
        if search.found && !known.found {
            known.found = true;
            for key in &known.keys {
                let row = row(rollup, &mut self.indexes, search.site, *key);
                row.without_results = row.without_results.saturating_sub(1);
            }
        }
        for key in &search.keys {
            let is_new = !known.keys.contains(key);
            if is_new && known.keys.len() == MAX_KEYS {
                continue;
            }
            let row = row(rollup, &mut self.indexes, search.site, *key);
            if is_new {
                known.keys.push(*key);
                row.searches += 1;
                row.without_results += u64::from(!known.found);
                row.clicked_searches += u64::from(!known.clicked.is_empty());
                row.clicks += known.clicked.len() as u64;
                row.positions += known.positions;
            }
            let asker = self.askers.entry(Asker { key: *key, visitor });
            row.visitors += u64::from(matches!(asker, Entry::Vacant(_)));
            let finds = asker.or_insert(false);
            row.finders += u64::from(search.is_public && !*finds);
            *finds |= search.is_public;
        }
    }

    /// Returns the number of the search that a search continues.
    fn continued(&self, search: &Search, visitor: VisitorNumber) -> Option<u64> {
        let number = self.last.get(&visitor)?;
        let last = self.recent.get(number)?;
        let is_same = search.has_own_row && last.has_own_row && last.keys.first() == search.keys.first();
        (is_same && search.at - last.at <= SESSION_GAP).then_some(*number)
    }

    /// Returns whether a search is counted that can still be clicked.
    pub(super) fn has(&self, number: u64) -> bool {
        self.numbers.contains_key(&number)
    }

    /// Returns whether a click counts: its search can be clicked, found something, and the result was not clicked
    /// before.
    pub(super) fn accepts(&self, Click { at, click }: &Click) -> bool {
        let search = self.numbers.get(&click.number).and_then(|number| self.recent.get(number));
        search.is_some_and(|search| {
            let is_new = !search.clicked.contains(&click.resource) && search.clicked.len() < MAX_CLICKS;
            search.found && at - search.began <= CLICKABLE_FOR && is_new
        })
    }

    /// Counts a click in the rollup that `rollup_of` returns for the site of its search.
    pub(super) fn add_click<'a>(&mut self, click: &Click, rollup_of: impl FnOnce(Name) -> Option<&'a mut Rollup>) {
        if !self.accepts(click) {
            return;
        }
        let Click { click, .. } = click;
        let number = self.numbers.get(&click.number);
        let Some(search) = number.and_then(|number| self.recent.get_mut(number)) else { return };
        let Some(rollup) = rollup_of(search.site) else { return };
        let is_first = search.clicked.is_empty();
        search.clicked.push(click.resource);
        search.positions += u64::from(click.position);
        for key in &search.keys {
            let row = row(rollup, &mut self.indexes, search.site, *key);
            row.clicked_searches += u64::from(is_first);
            row.clicks += 1;
            row.positions += u64::from(click.position);
        }
    }

    /// Removes a site, and the visitors who are `removed`.
    pub(super) fn remove(&mut self, site: Name, removed: &HashSet<VisitorNumber>) {
        self.recent.retain(|_, search| search.site != site);
        self.numbers.retain(|_, number| self.recent.contains_key(number));
        self.order.retain(|(_, number)| self.numbers.contains_key(number));
        self.last.retain(|visitor, _| !removed.contains(visitor));
        self.askers.retain(|asker, _| !removed.contains(&asker.visitor));
        self.indexes.retain(|(of_site, _), _| *of_site != site);
    }

    /// Notes where the rows of a site are.
    pub(super) fn index(&mut self, site: Name, rows: &[SearchRow]) {
        self.indexes.extend(rows.iter().map(|row| (site, row.key)).zip(0..));
    }

    fn forget_old(&mut self, now: Millis) {
        while let Some((at, number)) = self.order.front().copied()
            && (now - at > CLICKABLE_FOR || self.order.len() >= MAX_RECENT)
        {
            self.order.pop_front();
            self.numbers.remove(&number);
            if let Some(search) = self.recent.remove(&number)
                && self.last.get(&search.visitor) == Some(&number)
            {
                self.last.remove(&search.visitor);
            }
        }
    }

    /// Appends everything but the places of the rows; `text` returns a name's number in the record.
    pub(super) fn encode(&self, out: &mut Vec<u8>, mut text: impl FnMut(Name) -> u64) {
        let mut put_names = |out: &mut Vec<u8>, names: &[Name]| names.iter().for_each(|name| put(out, text(*name)));
        put(out, self.order.len() as u64);
        for (at, number) in &self.order {
            put_signed(out, *at);
            put(out, *number);
            put(out, self.numbers.get(number).copied().unwrap_or(*number));
        }
        put(out, self.askers.len() as u64);
        for (asker, finds) in &self.askers {
            put_names(out, &[asker.key.question, asker.key.blueprint]);
            put(out, asker.visitor.into());
            put(out, u64::from(*finds));
        }
        put(out, self.last.len() as u64);
        for (visitor, number) in &self.last {
            put(out, (*visitor).into());
            put(out, *number);
        }
        put(out, self.recent.len() as u64);
        for (number, search) in &self.recent {
            put(out, *number);
            put_names(out, &[search.site]);
            put(out, search.visitor.into());
            put_signed(out, search.began);
            put_signed(out, search.at);
            put(out, u64::from(search.found) | u64::from(search.has_own_row) << 1);
            put(out, search.keys.len() as u64);
            search.keys.iter().for_each(|key| put_names(out, &[key.question, key.blueprint]));
            put(out, search.clicked.len() as u64);
            search.clicked.iter().for_each(|resource| out.extend_from_slice(&resource.to_le_bytes()));
            put(out, search.positions);
        }
    }

    /// Reads what [`DaySearches::encode`] appended; `name` reads a name.
    pub(super) fn decode(
        input: &mut Input,
        name: impl Fn(&mut Input) -> Result<Name, DecodeError>,
    ) -> Result<DaySearches, DecodeError> {
        let key =
            |input: &mut Input| Ok::<_, DecodeError>(SearchKey { question: name(input)?, blueprint: name(input)? });
        let mut searches = DaySearches::default();
        for _ in 0..input.count()? {
            let (at, number) = (input.signed()?, input.number()?);
            searches.order.push_back((at, number));
            searches.numbers.insert(number, input.number()?);
        }
        for _ in 0..input.count()? {
            let asker = Asker { key: key(input)?, visitor: input.small()? };
            searches.askers.insert(asker, input.number()? == 1);
        }
        for _ in 0..input.count()? {
            let (visitor, number) = (input.small()?, input.number()?);
            searches.last.insert(visitor, number);
        }
        for _ in 0..input.count()? {
            let (number, site, visitor) = (input.number()?, name(input)?, input.small()?);
            let (began, at, flags) = (input.signed()?, input.signed()?, input.number()?);
            let keys = (0..input.count()?).map(|_| key(input)).collect::<Result<_, _>>()?;
            let clicked = (0..input.count()?).map(|_| input.wide()).collect::<Result<_, _>>()?;
            let (found, has_own_row, positions) = (flags & 1 == 1, flags & 2 == 2, input.number()?);
            let search = RecentSearch { site, visitor, began, at, keys, found, has_own_row, clicked, positions };
            searches.recent.insert(number, search);
        }
        Ok(searches)
    }
}

/// Returns the row with a key in the rollup of a site.
fn row<'a>(
    rollup: &'a mut Rollup,
    indexes: &mut HashMap<(Name, SearchKey), usize>,
    site: Name,
    key: SearchKey,
) -> &'a mut SearchRow {
    let index = *indexes.entry((site, key)).or_insert_with(|| {
        rollup.searches.push(SearchRow::new(key));
        rollup.searches.len() - 1
    });
    &mut rollup.searches[index]
}
