//! Searches that have not rested yet: while somebody types, each keystroke is a search, and only the last one counts
//! (`API.md` 4.8.13). So a keystroke is neither logged nor interned.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use bindery_model::time::Millis;

use super::event::{HitKind, QueuedHit};
use super::search::QueuedSearch;
use super::session::VisitorHash;

/// The time for which no other search of the visitor may follow.
const REST: Millis = 1_000;
/// The most searches that wait. Each is at most 4 KiB.
const MAX_WAITING: usize = 16_384;

/// The searches of the last second, in the order of their arrival.
#[derive(Default)]
pub(super) struct PendingSearches {
    waiting: VecDeque<Waiting>,
    /// The newest question of each visitor who has one that waits.
    newest: HashMap<VisitorHash, Newest>,
    /// The number of searches that were added since the start.
    added: u64,
}

struct Waiting {
    at: Millis,
    visitor: VisitorHash,
    number: u64,
    /// The number of the first search with the same question in a row.
    first: u64,
    /// Its place in the order of arrival, from 1.
    place: u64,
    hit: Box<QueuedHit>,
}

/// One question in a row, perhaps in several blueprints at once.
struct Newest {
    first: u64,
    question: String,
    waiting: usize,
}

impl PendingSearches {
    /// Adds a search of a visitor, in place of those with another question that wait. Searches must come in the order
    /// of their times. Returns whether there was room.
    pub(super) fn add(&mut self, at: Millis, visitor: VisitorHash, hit: Box<QueuedHit>) -> bool {
        let HitKind::Search(QueuedSearch { number, question, .. }) = &hit.what else { return false };
        if self.waiting.len() >= MAX_WAITING {
            return false;
        }
        let number = *number;
        let newest = self.newest.entry(visitor);
        let newest = newest.and_modify(|newest| {
            if newest.question != *question {
                *newest = Newest { first: number, question: question.clone(), waiting: 0 };
            }
        });
        let newest = newest.or_insert_with(|| Newest { first: number, question: question.clone(), waiting: 0 });
        newest.waiting += 1;
        let first = newest.first;
        self.added += 1;
        self.waiting.push_back(Waiting { at, visitor, number, first, place: self.added, hit });
        true
    }

    /// Returns the number of searches that were added since the start.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Returns whether one of the first `count` searches that were added still waits.
    pub(super) fn has_one_of_first(&self, count: u64) -> bool {
        self.waiting.front().is_some_and(|first| first.place <= count)
    }

    /// Takes the first search that has rested at a time, with the moment from which on it had.
    pub(super) fn take_rested(&mut self, now: Millis) -> Option<(Millis, Box<QueuedHit>)> {
        while self.waiting.front().is_some_and(|first| now - first.at >= REST) {
            let waiting = self.waiting.pop_front()?;
            if self.is_counted(&waiting) {
                return Some((waiting.at + REST, waiting.hit));
            }
        }
        None
    }

    /// Takes a search before it has rested, because one of its results was clicked. `None` if it does not wait, or
    /// another question of the visitor followed.
    pub(super) fn take(&mut self, number: u64) -> Option<Box<QueuedHit>> {
        let place = self.waiting.iter().position(|waiting| waiting.number == number)?;
        let waiting = self.waiting.remove(place)?;
        self.is_counted(&waiting).then_some(waiting.hit)
    }

    /// Returns whether a search that no longer waits counts, and notes that it does not wait.
    fn is_counted(&mut self, waiting: &Waiting) -> bool {
        let Entry::Occupied(mut newest) = self.newest.entry(waiting.visitor) else { return false };
        if newest.get().first != waiting.first {
            return false;
        }
        newest.get_mut().waiting -= 1;
        if newest.get().waiting == 0 {
            newest.remove();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn hit(number: u64, question: &str) -> Box<QueuedHit> {
        let (site, user_agent, country) = ("a.example".to_owned(), String::new(), None);
        let (question, blueprints) = (question.to_owned(), Vec::new());
        let what = HitKind::Search(QueuedSearch { number, question, found: true, blueprints, is_public: true });
        Box::new(QueuedHit { site, what, address: IpAddr::V4(Ipv4Addr::LOCALHOST), user_agent, country })
    }

    fn number(hit: &QueuedHit) -> u64 {
        let HitKind::Search(search) = &hit.what else { panic!("it is no search") };
        search.number
    }

    fn rested(pending: &mut PendingSearches, now: Millis) -> Vec<(Millis, u64)> {
        std::iter::from_fn(|| pending.take_rested(now)).map(|(at, hit)| (at, number(&hit))).collect()
    }

    #[test]
    fn the_last_keystroke_counts_once_it_has_rested() {
        let mut pending = PendingSearches::default();
        for (number, (at, question)) in
            (1..).zip([(0, "r"), (300, "ru"), (1_299, "rus"), (2_298, "rust"), (2_400, "rust")])
        {
            assert!(pending.add(at, 7, hit(number, question)));
        }
        assert!(pending.add(2_500, 8, hit(9, "glue")));
        assert_eq!(rested(&mut pending, 3_297), []);
        assert_eq!(rested(&mut pending, 3_400), [(3_298, 4), (3_400, 5)]);
        assert_eq!(rested(&mut pending, 9_999), [(3_500, 9)]);
        assert!(pending.newest.is_empty() && pending.waiting.is_empty());
    }

    #[test]
    fn a_clicked_search_counts_at_once_unless_another_question_followed() {
        let mut pending = PendingSearches::default();
        for (number, (visitor, question)) in (1..).zip([(7, "r"), (7, "rust"), (8, "glue"), (7, "rust")]) {
            assert!(pending.add(0, visitor, hit(number, question)));
        }
        assert!(pending.take(1).is_none());
        assert!(pending.has_one_of_first(2) && !pending.has_one_of_first(1));
        assert_eq!(pending.take(2).map(|hit| number(&hit)), Some(2));
        assert!(pending.take(2).is_none());
        assert_eq!(rested(&mut pending, 1_000), [(1_000, 3), (1_000, 4)]);
        assert!(pending.newest.is_empty() && pending.waiting.is_empty());
    }
}
