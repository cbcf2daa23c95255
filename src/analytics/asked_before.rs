//! Questions that were asked before, for suggestions while somebody types (`API.md` 4.26). They are kept in memory,
//! sorted, and made anew in the background: a suggestion waits for no figures.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bindery_model::error::{Error, Result};
use bindery_model::time::day_number;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::bounds::OTHER;
use super::figures::Figures;
use super::handle::WorkerHandle;
use super::period::{Day, Period};
use super::search::normalized_question;

/// The days whose questions are suggested.
const DAYS: Day = 30;
/// The most questions that are kept: those that the most visitors asked.
const MAX_QUESTIONS: usize = 50_000;
/// The shortest time between two lists.
const MIN_AGE: Duration = Duration::from_secs(1);
/// How much more time passes between two lists than one of them takes.
const IDLE_FACTOR: u32 = 100;

/// The newest list, if there is one.
#[derive(Default)]
pub(super) struct AskedBeforeCache {
    newest: Mutex<Newest>,
    /// True while a list is being made.
    is_busy: AtomicBool,
}

#[derive(Default)]
struct Newest {
    made: Option<Made>,
    /// Changes when figures are deleted, so that no list of before is put in use.
    generation: u64,
}

/// Questions that were asked before, sorted.
#[derive(Debug, Serialize, Deserialize)]
pub struct AskedBefore {
    questions: Vec<AskedQuestion>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AskedQuestion {
    text: String,
    /// The blueprints in which it found something, with the number of visitors.
    blueprints: Vec<(String, u64)>,
}

/// A list, and the time that it took to make.
struct Made {
    list: Arc<AskedBefore>,
    at: Instant,
    took: Duration,
}

impl AskedBefore {
    /// Returns at most `limit` questions that begin so and found something in a blueprint that `sees` selects, each
    /// with the number of visitors, most first; not the beginning itself.
    pub fn find(&self, beginning: &str, limit: usize, sees: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
        let mut start = normalized_question(beginning);
        if beginning.ends_with(char::is_whitespace) {
            // The last word is complete.
            start.push(' ');
        }
        let beginning = start.as_str();
        let first = self.questions.partition_point(|question| *question.text < *beginning);
        let like = self.questions[first..].iter().take_while(|question| question.text.starts_with(beginning));
        let others = like.filter(|question| *question.text != *beginning);
        let visible = others.filter_map(|question| {
            let seen = question.blueprints.iter().filter(|(blueprint, _)| sees(blueprint));
            Some((&question.text, seen.map(|(_, visitors)| *visitors).max()?))
        });
        let mut found: Vec<(&String, u64)> = visible.collect();
        found.sort_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
        found.truncate(limit);
        found.into_iter().map(|(text, visitors)| (text.clone(), visitors)).collect()
    }
}

impl AskedBeforeCache {
    /// Drops the list: figures were deleted.
    pub(super) fn forget(&self) {
        let mut newest = self.newest.lock();
        *newest = Newest { made: None, generation: newest.generation + 1 };
    }
}

/// Returns the newest list, if there is one. Has a new one made if it is old.
pub(super) fn newest(worker: &Arc<WorkerHandle>) -> Option<Arc<AskedBefore>> {
    let (list, is_old) = {
        let newest = worker.data.asked_before.newest.lock();
        let is_old = newest.made.as_ref().is_none_or(|made| made.at.elapsed() >= MIN_AGE.max(made.took * IDLE_FACTOR));
        (newest.made.as_ref().map(|made| Arc::clone(&made.list)), is_old)
    };
    if is_old {
        make_in_background(worker);
    }
    list
}

fn make_in_background(worker: &Arc<WorkerHandle>) {
    if worker.data.asked_before.is_busy.swap(true, Ordering::AcqRel) {
        return;
    }
    let worker = Arc::clone(worker);
    let make = move || {
        let cache = &worker.data.asked_before;
        let generation = cache.newest.lock().generation;
        match make(&worker) {
            Ok(made) => {
                let mut newest = cache.newest.lock();
                if newest.generation == generation {
                    newest.made = Some(made);
                }
            }
            Err(error) => tracing::warn!(%error, "questions that were asked before cannot be suggested"),
        }
        cache.is_busy.store(false, Ordering::Release);
    };
    if let Err(error) = std::thread::Builder::new().name("analytics-asked".to_owned()).spawn(make) {
        tracing::warn!(%error, "questions that were asked before cannot be suggested");
    }
}

fn make(worker: &WorkerHandle) -> Result<Made> {
    let began = Instant::now();
    worker.settle()?;
    let now = (worker.data.clock)();
    let today = day_number(now);
    let period = Period::new(today - DAYS + 1, today).ok_or_else(|| Error::internal("there is no such period"))?;
    worker.data.preload(period);
    let figures = Figures::new(&worker.data, None, now);
    let found = figures.found_questions(period)?;
    drop(figures);
    let mut questions: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for (key, visitors) in found {
        let [question, blueprint] = [key.question, key.blueprint].map(|name| worker.data.names.text(name).to_string());
        questions.entry(question).or_default().push((blueprint, visitors));
    }
    questions.remove(OTHER);
    let mut questions: Vec<AskedQuestion> =
        questions.into_iter().map(|(text, blueprints)| AskedQuestion { text, blueprints }).collect();
    if questions.len() > MAX_QUESTIONS {
        let visitors = |question: &AskedQuestion| question.blueprints.iter().map(|(_, visitors)| *visitors).max();
        questions.sort_by_key(|question| std::cmp::Reverse(visitors(question)));
        questions.truncate(MAX_QUESTIONS);
        questions.sort_by(|one, other| one.text.cmp(&other.text));
    }
    let list = Arc::new(AskedBefore { questions });
    Ok(Made { list, at: Instant::now(), took: began.elapsed() })
}
