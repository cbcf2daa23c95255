//! Tests many numbers one by one, on several threads if there are very many. It does not know what the numbers stand
//! for.

use std::num::NonZero;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;

/// So many numbers are tested by several threads. With fewer, starting a thread takes longer than it saves.
const SHARED_FROM: usize = 4_096;
/// The number of words of a bitmap that a thread takes at once.
const WORDS_AT_ONCE: usize = 16;

/// The number of threads of this process that help now.
static HELPING: AtomicUsize = AtomicUsize::new(0);
/// The greatest number of them: half of the processors, which leaves the others to other requests.
static MOST_HELPERS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, NonZero::get) / 2);

/// The numbers to be tested, and how far their test has come.
struct SharedTest<'a, F> {
    words: &'a [u64],
    test: F,
    /// The first word that no thread has taken.
    next: AtomicUsize,
    is_over: AtomicBool,
}

/// A thread that helps, counted while it does.
struct Helper;

/// Returns the numbers for which `test` holds, which should take microseconds: reading a text, for example.
pub(crate) fn those_that(
    numbers: &Bitmap,
    interrupt: &Interrupt<'_>,
    test: impl Fn(u32) -> bool + Sync,
) -> Result<Bitmap, Error> {
    those_that_if_many(SHARED_FROM, numbers, interrupt, test)
}

fn those_that_if_many(
    shared_from: usize,
    numbers: &Bitmap,
    interrupt: &Interrupt<'_>,
    test: impl Fn(u32) -> bool + Sync,
) -> Result<Bitmap, Error> {
    let shared =
        &SharedTest { words: numbers.words(), test, next: AtomicUsize::new(0), is_over: AtomicBool::new(false) };
    let is_over = || if shared.is_over.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) };
    let are_many = numbers.count() >= shared_from;
    scope(|scope| {
        let mut threads = Vec::new();
        while are_many && let Some(helper) = Helper::begin() {
            let help = move || {
                let _counted = helper;
                shared.run(is_over)
            };
            // This thread does what a thread that could not be started would have done.
            let Ok(thread) = Builder::new().name("search-helper".to_owned()).spawn_scoped(scope, help) else { break };
            threads.push(thread);
        }
        let found = shared.run(|| interrupt.check());
        shared.is_over.store(found.is_err(), Ordering::Relaxed);
        let mut found = found?;
        for thread in threads {
            found.union(&thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(found)
    })
}

impl<F: Fn(u32) -> bool> SharedTest<'_, F> {
    /// Tests numbers until no word is left. Returns those for which the test holds. `step` ends it if it fails.
    fn run(&self, step: impl Fn() -> Result<(), Error>) -> Result<Bitmap, Error> {
        let mut found = Bitmap::default();
        loop {
            let start = self.next.fetch_add(WORDS_AT_ONCE, Ordering::Relaxed);
            let words = self.words.get(start..).unwrap_or_default();
            if words.is_empty() {
                return Ok(found);
            }
            let taken: Vec<u64> = words.iter().copied().take(WORDS_AT_ONCE).collect();
            let first = start as u32 * 64;
            for number in Bitmap::from(taken).iter() {
                step()?;
                if (self.test)(first + number) {
                    found.insert(first + number);
                }
            }
        }
    }
}

impl Helper {
    /// Returns `None` if as many help as may.
    fn begin() -> Option<Helper> {
        let one_more = |helping| (helping < *MOST_HELPERS).then_some(helping + 1);
        HELPING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Helper)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        HELPING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;
    use std::thread::ThreadId;
    use std::time::Duration;

    use parking_lot::Mutex;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn those_are_found_for_which_the_test_holds(numbers in prop::collection::btree_set(0..5_000u32, 0..300)) {
            let all: Bitmap = numbers.iter().copied().collect();
            for shared_from in [0, usize::MAX] {
                let found = those_that_if_many(shared_from, &all, &Interrupt::never(), |number| number % 3 == 0).unwrap();
                let expected: Vec<u32> = numbers.iter().copied().filter(|number| number % 3 == 0).collect();
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn many_numbers_are_tested_by_several_threads_and_few_by_one() {
        let threads = |count: u32| {
            let threads = Mutex::new(BTreeSet::new());
            let test = |_| {
                std::thread::sleep(Duration::from_micros(10));
                threads.lock().insert(format!("{:?}", std::thread::current().id()));
                true
            };
            let found = those_that(&(0..count).collect(), &Interrupt::never(), test).unwrap();
            assert_eq!(found.count(), count as usize);
            threads.into_inner().len()
        };
        assert_eq!(threads(SHARED_FROM as u32 - 1), 1);
        assert_eq!(threads(SHARED_FROM as u32) > 1, *MOST_HELPERS > 0);
        assert_eq!(HELPING.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_interrupt_ends_all_threads() {
        let here: ThreadId = std::thread::current().id();
        let is_over = || true;
        let tested = AtomicUsize::new(0);
        let test = |_| {
            // Helpers have time to begin.
            if std::thread::current().id() == here {
                std::thread::sleep(Duration::from_micros(100));
            }
            tested.fetch_add(1, Ordering::Relaxed);
            false
        };
        let result = those_that(&(0..10_000_000).collect(), &Interrupt::when(&is_over), test);
        assert!(matches!(result, Err(Error::Interrupted)));
        assert!(tested.load(Ordering::Relaxed) < 10_000_000);
    }
}
