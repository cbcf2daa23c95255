//! Makes dictionaries of what is written. It knows neither keys nor how a dictionary is stored.
//!
//! The first one is made of the first values, since most stores remain small. When a store has grown to sixteen times that
//! size, what is written may have changed, and the next one is made, of values that came in between.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::compress::{Compressor, Dictionary};

/// A dictionary is made of so many bytes of values. Twice as much makes no better one, and takes twice as long: 0.3 s.
const SAMPLE_BYTES: usize = 4 << 20;
/// The part of one value that is used.
const VALUE_BYTES: usize = 32 << 10;
/// The size that zstd recommends.
const DICTIONARY_BYTES: usize = 112 << 10;
/// So much more is written before each next dictionary.
const GROWTH: u64 = 16;

/// Watches what is written.
pub(super) struct DictionaryTrainer {
    sample: Sample,
    /// The bytes of values since the last dictionary.
    written: u64,
    /// A dictionary is made after this many.
    due: u64,
    /// Values to pass over until the next one goes into the sample.
    skipped: u64,
    running: Option<JoinHandle<Option<Vec<u8>>>>,
}

#[derive(Default)]
struct Sample {
    /// One value after another.
    values: Vec<u8>,
    lengths: Vec<usize>,
}

impl DictionaryTrainer {
    /// For a store with so many dictionaries.
    pub(super) fn new(dictionaries: usize) -> DictionaryTrainer {
        let due = u32::try_from(dictionaries).ok().and_then(|exponent| GROWTH.checked_pow(exponent));
        let due = due.map_or(u64::MAX, |growth| growth.saturating_mul(SAMPLE_BYTES as u64));
        DictionaryTrainer { sample: Sample::default(), written: 0, due, skipped: 0, running: None }
    }

    /// Notes a value that is worth compressing. Returns a new dictionary once one is made that is better than `current`. It
    /// is made on a thread of its own, while values are written.
    pub(super) fn note(&mut self, value: &[u8], current: Option<&Arc<Dictionary>>) -> Option<Vec<u8>> {
        if let Some(running) = self.running.take_if(|running| running.is_finished()) {
            // A panic costs the dictionary only.
            return running.join().ok().flatten();
        }
        if self.running.is_some() {
            return None;
        }
        self.written = self.written.saturating_add(value.len() as u64);
        self.skipped += 1;
        if self.skipped >= self.due / SAMPLE_BYTES as u64 {
            self.skipped = 0;
            self.sample.add(value);
        }
        if self.written >= self.due && self.sample.values.len() >= SAMPLE_BYTES / 2 {
            let (sample, current) = (std::mem::take(&mut self.sample), current.cloned());
            (self.written, self.due) = (0, self.due.saturating_mul(GROWTH));
            let train = move || sample.dictionary(current.as_deref());
            self.running = Builder::new().name("dictionary".to_owned()).spawn(train).ok();
        }
        None
    }
}

impl Sample {
    fn add(&mut self, value: &[u8]) {
        let used = &value[..value.len().min(VALUE_BYTES)];
        self.values.extend_from_slice(used);
        self.lengths.push(used.len());
    }

    /// `None` if none can be made, or none that saves a sixteenth of what the current one leaves.
    fn dictionary(&self, current: Option<&Dictionary>) -> Option<Vec<u8>> {
        let bytes = zstd::dict::from_continuous(&self.values, &self.lengths, DICTIONARY_BYTES).ok()?;
        let made = Dictionary::new(&bytes)?;
        let (before, after) = (self.compressed(current)?, self.compressed(Some(&made))?);
        (after + before / 16 <= before).then_some(bytes)
    }

    /// The number of bytes its values take.
    fn compressed(&self, dictionary: Option<&Dictionary>) -> Option<usize> {
        let mut compressor = Compressor::new().ok()?;
        let mut rest = &self.values[..];
        let mut sum = 0;
        for &length in &self.lengths {
            let (value, after) = rest.split_at(length);
            rest = after;
            sum += compressor.compress(value, dictionary).map_or(length, |body| body.len());
        }
        Some(sum)
    }
}
