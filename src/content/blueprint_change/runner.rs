//! The threads that carry out blueprint changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Conflict, Error, Result};
use bindery_sanitize::Sanitizer;
use bindery_store::Store;
use parking_lot::Mutex;

use super::progress::{StepProgress, stopping};
use crate::command::{Command, Outcome};
use crate::compatibility::demands::Demands;
use crate::compatibility::survey::{Scope, Survey};
use crate::data::blueprint_change::{Backfill, BlueprintChange, ChangeId};
use crate::data::lookup::resources;
use crate::data::refusals::change_conflict;
use crate::data::state::StateCell;
use crate::queue::{Queue, Reply};

/// The most resources of one piece, and about the most bytes: other writes wait for a piece.
const PIECE_RESOURCES: usize = 256;
const PIECE_BYTES: usize = 1 << 20;
/// The approximate number of bytes of a claim.
const CLAIM_BYTES: usize = 100;
/// The pause before a step is submitted again that the disk had no room for.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// Runs one thread for each blueprint change that is under way.
pub(crate) struct ChangeRunner {
    queue: Queue,
    store: Store,
    cell: Arc<StateCell>,
    sanitizer: Arc<Sanitizer>,
    /// True if a failure of the disk has ended all writing.
    broken: Arc<AtomicBool>,
    is_stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The changes that have a thread, each with the caller who waits for it.
    running: Mutex<HashMap<ChangeId, Option<Reply>>>,
}

impl ChangeRunner {
    pub(crate) fn new(
        queue: Queue,
        store: Store,
        cell: Arc<StateCell>,
        sanitizer: Arc<Sanitizer>,
        broken: Arc<AtomicBool>,
    ) -> ChangeRunner {
        let (is_stopping, threads, running) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        ChangeRunner { queue, store, cell, sanitizer, broken, is_stopping, threads, running }
    }

    /// Starts a thread for a change that has begun, unless it has one. It answers the caller, if there is one, when the
    /// change is in force or refused.
    pub(crate) fn start(self: &Arc<Self>, change: Arc<BlueprintChange>, caller: Option<Reply>) {
        if !self.add(change.id(), caller) {
            return;
        }
        let runner = Arc::clone(self);
        let (id, slug) = (change.id(), change.current.slug.clone());
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        let run = move || {
            let outcome = runner.run(&change);
            if let Err(error) = &outcome {
                tracing::info!(blueprint = change.current.slug, %error, "blueprint change did not come into force");
            }
            if let Some(caller) = runner.remove(id) {
                // The caller may have left; the change goes on without it.
                let _ = caller.send(outcome);
            }
        };
        match std::thread::Builder::new().name("blueprint-change".to_owned()).spawn(run) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                self.remove(id);
                tracing::error!(blueprint = slug, %error, "no thread for a blueprint change; the next start runs it");
            }
        }
    }

    /// Adds a change to those that run. Returns false if it does already: the change may be found before its caller is
    /// handed over, who then waits for the thread that runs.
    fn add(&self, id: ChangeId, caller: Option<Reply>) -> bool {
        match self.running.lock().entry(id) {
            Entry::Vacant(entry) => {
                entry.insert(caller);
                true
            }
            Entry::Occupied(mut entry) => {
                if caller.is_some() {
                    entry.insert(caller);
                }
                false
            }
        }
    }

    /// Removes a change from those that run. Returns its caller.
    fn remove(&self, id: ChangeId) -> Option<Reply> {
        self.running.lock().remove(&id).flatten()
    }

    /// Tells all threads to end soon. The next start begins their changes again.
    pub(crate) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Ends all threads.
    pub(crate) fn stop(&self) {
        self.begin_stop();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("the thread of a blueprint change panicked; the next start runs the change again");
            }
        }
    }

    fn run(&self, change: &BlueprintChange) -> Result<Outcome> {
        let slug = change.current.slug.as_str();
        let started = Instant::now();
        tracing::info!(blueprint = slug, "blueprint change begins");
        let id = change.id();
        let carry_out = || {
            let conflicts = self.compare(change)?;
            if conflicts.count > 0 {
                return Err(change_conflict(conflicts));
            }
            self.backfill(change)?;
            self.submit(|| Command::FinishChange(id))
        };
        // A panic drops the change as an error does, and the caller is answered.
        let outcome = catch_unwind(AssertUnwindSafe(carry_out))
            .unwrap_or_else(|_| Err(Error::internal(format!("the change of the blueprint `{slug}` panicked"))));
        // Another node may have carried the change through meanwhile.
        let outcome = outcome.or_else(|error| self.in_force(change).map(Outcome::Blueprint).ok_or(error));
        match &outcome {
            Ok(_) => {
                tracing::info!(blueprint = slug, elapsed = ?started.elapsed(), "the changed blueprint is in force");
            }
            // The next start would only find the same conflict.
            Err(error) if error.code == Code::Conflict || !self.is_stopping.load(Ordering::SeqCst) => {
                match self.submit(|| Command::DropChange(id)) {
                    // Another node has dropped it, or has brought it into force since this one looked.
                    Err(refused) if refused.code == Code::Conflict => {
                        if let Some(blueprint) = self.in_force(change) {
                            return Ok(Outcome::Blueprint(blueprint));
                        }
                    }
                    dropped => drop(dropped?),
                }
            }
            Err(_) => {}
        }
        outcome
    }

    /// Returns the blueprint if a change has come into force.
    fn in_force(&self, change: &BlueprintChange) -> Option<Arc<Blueprint>> {
        let blueprint = Arc::clone(&self.cell.load().numbered(change.current.number)?.blueprint);
        change.has_led_to(&blueprint).then_some(blueprint)
    }

    /// Compares all stored resources with the changed blueprint.
    fn compare(&self, change: &BlueprintChange) -> Result<Conflict> {
        let state = self.cell.load();
        let mut progress = StepProgress::new(&self.is_stopping, change, "compare", &state);
        let demands = Demands::new(&self.sanitizer, change);
        let survey = Survey::run(&demands, &state, &self.store, Scope::Conflicts, |n_read| progress.report(n_read))?;
        Ok(survey.conflicts())
    }

    /// Submits all claims and index operations that the changed blueprint needs.
    fn backfill(&self, change: &BlueprintChange) -> Result<()> {
        if change.becoming_unique().is_empty() && !change.retypes() {
            return Ok(());
        }
        // Held so that the versions that are read are not removed from the store.
        let state = self.cell.load();
        let mut progress = StepProgress::new(&self.is_stopping, change, "backfill", &state);
        let mut piece = Vec::new();
        let mut piece_bytes = 0;
        for (n_read, resource) in resources(&self.store, change.current.number).enumerate() {
            let (id, meta) = resource?;
            progress.report(n_read as u64)?;
            let backfill = change.backfill(&self.store, id, &meta)?;
            piece_bytes += bytes_of(&backfill);
            piece.push(backfill);
            if piece.len() == PIECE_RESOURCES || piece_bytes > PIECE_BYTES {
                self.submit_piece(change, std::mem::take(&mut piece))?;
                piece_bytes = 0;
            }
        }
        self.submit_piece(change, piece)
    }

    fn submit_piece(&self, change: &BlueprintChange, resources: Vec<Backfill>) -> Result<()> {
        if resources.is_empty() {
            return Ok(());
        }
        // The thread waits here for room in the index. Otherwise the committer would wait, and delay other writes.
        if let Some(collection) = self.cell.load().numbered(change.current.number) {
            collection.index.wait_for_room();
        }
        let resources = Arc::new(resources);
        self.submit(|| Command::Backfill { change: change.id(), resources: Arc::clone(&resources) }).map(|_| ())
    }

    /// Submits a step of a change. Waits while the disk has no room for it: a change that is neither finished nor
    /// dropped keeps its blueprint from every other change until the next start.
    fn submit(&self, command: impl Fn() -> Command) -> Result<Outcome> {
        loop {
            if !self.queue.is_open() {
                return Err(stopping());
            }
            match self.queue.submit_blocking(command()) {
                Err(error) if error.code == Code::Overloaded && !self.has_ended() => std::thread::sleep(ROOM_PAUSE),
                outcome => return outcome,
            }
        }
    }

    /// Returns whether no step can succeed before a restart.
    fn has_ended(&self) -> bool {
        let is_closing = self.is_stopping.load(Ordering::SeqCst) || !self.queue.is_open();
        is_closing || self.broken.load(Ordering::SeqCst)
    }
}

/// Returns the approximate number of bytes that the committer handles for a resource.
fn bytes_of(backfill: &Backfill) -> usize {
    let text_bytes = match &backfill.index_op {
        Some(bindery_index::IndexOp::Put { copies, .. }) => {
            let values = copies.iter().flat_map(|(_, copy)| copy.iter().flat_map(|copy| &copy.values));
            values.map(|(_, value)| text_bytes(value)).sum()
        }
        _ => 0,
    };
    text_bytes + backfill.claims.len() * CLAIM_BYTES
}

fn text_bytes(value: &bindery_index::Value) -> usize {
    match value {
        bindery_index::Value::Text(text) | bindery_index::Value::Markup { text, .. } => text.len(),
        bindery_index::Value::List(elements) => elements.iter().map(|element| element.len() + 8).sum(),
        _ => 8,
    }
}
