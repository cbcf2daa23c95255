//! Counts how often each value occurs. It knows no runs.

use std::borrow::Cow;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::error::Error;
use crate::period::{day_of_micros, parse_day};
use crate::query::Period;
use crate::value::ValueRef;

/// A value in the form in which it is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CountedValue<'a> {
    Text(Cow<'a, str>),
    /// A number by its bits. Both zeros are the positive one.
    Number(u64),
    Bool(bool),
    /// The first day of a period.
    Period(i64),
}

/// The most bytes of different texts that are unpacked to be counted. Texts up to 1 KiB are not packed, so they take
/// none.
const MAX_UNPACKED: usize = 64 << 20;

/// The memory of texts that were unpacked to be counted.
#[derive(Debug, Default)]
pub(crate) struct Unpacked(usize);

impl Unpacked {
    /// Adds a text that is kept, unless it is read in place.
    pub(crate) fn add(&mut self, text: &str, is_unpacked: bool) {
        if is_unpacked {
            self.0 += text.len();
        }
    }

    /// # Errors
    /// [`Error::TooMuchText`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.0 > MAX_UNPACKED { Err(Error::TooMuchText { limit: MAX_UNPACKED }) } else { Ok(()) }
    }
}

/// The number of times that each value occurs.
#[derive(Debug, Default)]
pub(crate) struct Tally<'a> {
    pub(crate) counts: HashMap<CountedValue<'a>, u64>,
    /// The memory of the texts in `counts`.
    pub(crate) unpacked: Unpacked,
    /// The number of documents that have a value.
    pub(crate) valued: u64,
}

impl<'a> Tally<'a> {
    /// Counts a value, or the period that contains it. In a list, each different element counts once.
    pub(crate) fn add_value(&mut self, value: ValueRef<'a>, period: Option<Period>) {
        let counted = match value {
            ValueRef::Null => return,
            ValueRef::List(list) => return self.add_elements(list.elements(), period),
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => CountedValue::of_text(text.whole(), period),
            ValueRef::Number(number) => Some(CountedValue::of_number(number)),
            ValueRef::Bool(value) => Some(CountedValue::Bool(value)),
            ValueRef::Instant { micros, text } => Some(match period {
                Some(period) => CountedValue::Period(period.start(day_of_micros(micros))),
                None => CountedValue::Text(Cow::Borrowed(text)),
            }),
        };
        if let Some(counted) = counted {
            self.valued += 1;
            self.add(counted, 1);
        }
    }

    /// Counts a value `count` times.
    pub(crate) fn add(&mut self, value: CountedValue<'a>, count: u64) {
        match self.counts.entry(value) {
            Entry::Occupied(mut entry) => *entry.get_mut() += count,
            Entry::Vacant(entry) => {
                if let CountedValue::Text(text) = entry.key() {
                    self.unpacked.add(text, matches!(text, Cow::Owned(_)));
                }
                entry.insert(count);
            }
        }
    }

    fn add_elements(&mut self, elements: impl Iterator<Item = &'a str>, period: Option<Period>) {
        let mut seen: Vec<&str> = elements.collect();
        self.valued += u64::from(!seen.is_empty());
        // Sorting is cheaper than a set: most lists are short.
        seen.sort_unstable();
        seen.dedup();
        for element in seen {
            if let Some(counted) = CountedValue::of_text(Cow::Borrowed(element), period) {
                self.add(counted, 1);
            }
        }
    }
}

impl<'a> CountedValue<'a> {
    /// Returns the text or, if `period` is given, the period of the day in the text.
    pub(crate) fn of_text(text: Cow<'a, str>, period: Option<Period>) -> Option<CountedValue<'a>> {
        match period {
            None => Some(CountedValue::Text(text)),
            Some(period) => parse_day(&text).map(|day| CountedValue::Period(period.start(day))),
        }
    }

    pub(crate) fn of_number(number: f64) -> CountedValue<'a> {
        CountedValue::Number((number + 0.0).to_bits())
    }
}
