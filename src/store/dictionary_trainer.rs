//! The making of dictionaries from the written values. It knows neither keys nor the storage of a dictionary.
//!
//! The first dictionary is made of the first values, since most stores remain small. After a store has grown to sixteen
//! times that size, its values may have changed. Then the next dictionary is made, of values that were written in
//! between.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::compress::{Compressor, Dictionary};

/// The number of bytes of values of which a dictionary is made. Twice as many make no better one, and take twice as
/// long: 0.3 s.
const SAMPLE_BYTES: usize = 4 << 20;
/// The maximum number of bytes of one value that are used.
const VALUE_BYTES: usize = 32 << 10;
/// The size of a dictionary that zstd recommends.
const DICTIONARY_BYTES: usize = 112 << 10;
/// The factor by which the number of written bytes before the next dictionary grows.
const GROWTH: u64 = 16;

/// The observer of written values. It decides when the next dictionary is made.
pub(super) struct DictionaryTrainer {
    sample: Sample,
    /// The number of bytes of values since the last dictionary.
    written: u64,
    /// The number of written bytes after which the next dictionary is made.
    due: u64,
    /// The number of values to skip before the next one is put into the sample.
    skipped: u64,
    running: Option<JoinHandle<Option<Vec<u8>>>>,
}

#[derive(Default)]
struct Sample {
    /// The sampled values, one after another.
    values: Vec<u8>,
    lengths: Vec<usize>,
}

impl DictionaryTrainer {
    /// Makes the observer for a store with this many dictionaries.
    pub(super) fn new(dictionaries: usize) -> DictionaryTrainer {
        let due = u32::try_from(dictionaries).ok().and_then(|exponent| GROWTH.checked_pow(exponent));
        let due = due.map_or(u64::MAX, |growth| growth.saturating_mul(SAMPLE_BYTES as u64));
        DictionaryTrainer { sample: Sample::default(), written: 0, due, skipped: 0, running: None }
    }

    /// Adds a value that is worth compressing. Returns a new dictionary once one was made that is better than
    /// `current`. A separate thread makes it while values are written.
    pub(super) fn note(&mut self, value: &[u8], current: Option<&Arc<Dictionary>>) -> Option<Vec<u8>> {
        if let Some(running) = self.running.take_if(|running| running.is_finished()) {
            // A panic of the thread costs only the dictionary.
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

    /// Makes a dictionary. Returns `None` if none can be made, or if it would save less than a sixteenth of the size
    /// that is left with the current one.
    fn dictionary(&self, current: Option<&Dictionary>) -> Option<Vec<u8>> {
        let bytes = zstd::dict::from_continuous(&self.values, &self.lengths, DICTIONARY_BYTES).ok()?;
        let made = Dictionary::new(&bytes)?;
        let (before, after) = (self.compressed(current)?, self.compressed(Some(&made))?);
        (after + before / 16 <= before).then_some(bytes)
    }

    /// Returns the number of bytes that the sampled values take when they are compressed.
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
