//! A change of a blueprint on its way: begun, compared with what is stored, carried through, in force.
//!
//! Beginning and ending it are records of the log; so is every claim of a value that becomes unique. What lies between
//! runs on a thread of its own while reads and writes go on: first every stored resource is looked at, then what the
//! changed blueprint needs of each is handed to the committer in small pieces. From the beginning to the end, a write
//! that the changed blueprint would refuse is refused (`decide/successor.rs`), so what was looked at once stays right.
//! A server that stops in the middle starts the comparison over.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::content::command::{Command, Outcome};
use crate::content::committer::Job;
use crate::content::decide::unique_text;
use crate::content::entry::Shape;
use crate::content::evolve::{self, Demands, Scope};
use crate::content::read;
use crate::content::record::Meta;
use crate::content::state::{State, StateCell};
use crate::model::blueprint::{Blueprint, render};
use crate::model::error::{Code, Conflict, Error, Result};
use crate::model::id::ResourceId;
use crate::sanitize::Sanitizer;
use crate::store::{Key, Store};

const FORMAT: u8 = 1;

/// How many resources are carried through in one piece, and about how many bytes of them: writes wait for a piece.
const PIECE_RESOURCES: usize = 256;
const PIECE_BYTES: usize = 1 << 20;
/// What a claim counts for, about.
const CLAIM_BYTES: usize = 100;

/// How often a long change tells how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// How long a full queue is left alone.
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// A blueprint that is being changed.
#[derive(Debug)]
pub(crate) struct Pending {
    /// What is in force until the change is.
    pub(crate) current: Arc<Blueprint>,
    /// What will be.
    pub(crate) next: Arc<Blueprint>,
    /// Whether variants that hold values may go.
    pub(crate) force: bool,
}

/// What the changed blueprint needs of one resource.
#[derive(Debug)]
pub(crate) struct Carried {
    /// Which.
    pub(crate) id: ResourceId,
    /// The version that the rest was made from.
    pub(crate) version: u64,
    /// Its values that become unique.
    pub(crate) claims: Vec<Key>,
    /// What its index has to hold, where a field is re-typed.
    pub(crate) entry: Option<bindery_index::IndexOp>,
}

impl Pending {
    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT, u8::from(self.force)];
        out.extend(render::encode(&self.next));
        out
    }

    /// Reads the stored form of a change of this blueprint.
    pub(crate) fn decode(current: Arc<Blueprint>, bytes: &[u8]) -> Result<Pending, String> {
        match bytes {
            [FORMAT, force, next @ ..] => {
                Ok(Pending { current, next: Arc::new(render::decode(next)?), force: *force != 0 })
            }
            _ => Err("a begun change of a format that this version does not know".to_owned()),
        }
    }

    /// The columns of now and of then.
    pub(crate) fn shape(&self) -> Shape<'_> {
        Shape { blueprint: &self.current, next: Some(&self.next) }
    }

    /// What is asked of values beyond what the blueprint in force asks.
    pub(crate) fn demands<'a>(&'a self, sanitizer: &'a Sanitizer) -> Demands<'a> {
        Demands::new(sanitizer, &self.current, &self.next, self.force)
    }

    /// Whether it has to look at the stored resources; else it can come into force at once.
    pub(crate) fn takes_time(&self, sanitizer: &Sanitizer) -> bool {
        self.demands(sanitizer).concern_copies()
    }

    /// Whether a field is re-typed.
    pub(crate) fn retypes(&self) -> bool {
        self.current.retyped(&self.next).next().is_some()
    }

    /// The fields that become unique: their places, and the numbers that their values are claimed under.
    pub(crate) fn claimed(&self) -> Vec<(usize, u32)> {
        self.current.newly_unique(&self.next)
    }

    /// What is to be carried through for a resource with this meta record.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn carry(&self, store: &Store, id: ResourceId, meta: &Meta) -> Result<Carried> {
        let claims = self.claims(store, id, meta)?;
        let entry = if self.retypes() { Some(self.shape().change(store, id, meta)?) } else { None };
        Ok(Carried { id, version: meta.version, claims, entry })
    }

    fn claims(&self, store: &Store, id: ResourceId, meta: &Meta) -> Result<Vec<Key>> {
        let claimed = self.claimed();
        let mut keys = Vec::new();
        if claimed.is_empty() {
            return Ok(keys);
        }
        let blueprint = self.current.number;
        let kept = self.next.variant_numbers();
        for (variant, number) in meta.copies.iter().copied().filter(|(variant, _)| kept.contains(variant)) {
            let values = read::copy_values(store, &self.current, id, variant, number)?;
            for (place, claims) in &claimed {
                if let Some(text) = unique_text(&values[*place]) {
                    keys.push(Key::Unique { blueprint, claims: *claims, variant, value: text.into() });
                }
            }
        }
        Ok(keys)
    }
}

/// The queue of the committer, until it is closed.
pub(crate) type Queue = Arc<Mutex<Option<SyncSender<Job>>>>;

/// Where the caller of a change waits.
pub(crate) type Caller = oneshot::Sender<Result<Outcome>>;

/// The threads that carry changes through.
pub(crate) struct Changes {
    queue: Queue,
    store: Store,
    cell: Arc<StateCell>,
    sanitizer: Arc<Sanitizer>,
    is_stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Changes {
    /// None yet.
    pub(crate) fn new(queue: Queue, store: Store, cell: Arc<StateCell>, sanitizer: Arc<Sanitizer>) -> Changes {
        Changes { queue, store, cell, sanitizer, is_stopping: AtomicBool::new(false), threads: Mutex::default() }
    }

    /// Starts a thread for a change that is begun. The caller, if there is one, is answered when it is in force or
    /// refused.
    pub(crate) fn start(self: &Arc<Self>, pending: Arc<Pending>, caller: Option<Caller>) {
        let changes = Arc::clone(self);
        let slug = pending.current.slug.clone();
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        let run = move || {
            let outcome = changes.run(&pending);
            if let Err(error) = &outcome {
                tracing::info!(blueprint = pending.current.slug, %error, "a change of a blueprint did not come into force");
            }
            if let Some(caller) = caller {
                // A caller that went away has no use for the answer.
                let _ = caller.send(outcome);
            }
        };
        match std::thread::Builder::new().name("change".to_owned()).spawn(run) {
            Ok(thread) => threads.push(thread),
            Err(error) => tracing::error!(blueprint = slug, %error, "a change of a blueprint waits for the next start"),
        }
    }

    /// Has all threads end soon. What they were at is started over at the next start.
    pub(crate) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Ends all threads.
    pub(crate) fn stop(&self) {
        self.begin_stop();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a change of a blueprint ended with a panic; the next start takes it up again");
            }
        }
    }

    fn run(&self, pending: &Pending) -> Result<Outcome> {
        let slug = pending.current.slug.as_str();
        let started = Instant::now();
        tracing::info!(blueprint = slug, "a change of the blueprint begins");
        let look = || {
            self.compare(pending).and_then(|conflicts| match conflicts.count {
                0 => self.carry_through(pending).map(|()| None),
                _ => Ok(Some(conflicts)),
            })
        };
        let verdict = catch_unwind(AssertUnwindSafe(look))
            .unwrap_or_else(|_| Err(Error::internal(format!("the change of the blueprint `{slug}` panicked"))));
        let number = pending.current.number;
        match verdict {
            Ok(None) => {
                let outcome = self.submit(Command::FinishChange { blueprint: number })?;
                tracing::info!(blueprint = slug, elapsed = ?started.elapsed(), "the changed blueprint is in force");
                Ok(outcome)
            }
            Ok(Some(conflicts)) => {
                self.submit(Command::DropChange { blueprint: number })?;
                Err(evolve::conflict(conflicts))
            }
            Err(error) => {
                if !self.is_stopping.load(Ordering::SeqCst) {
                    self.submit(Command::DropChange { blueprint: number })?;
                }
                Err(error)
            }
        }
    }

    /// Looks at all that is stored.
    fn compare(&self, pending: &Pending) -> Result<Conflict> {
        let state = self.cell.load();
        let mut progress = Progress::new(self, pending, "compared", &state);
        let demands = pending.demands(&self.sanitizer);
        let survey = demands.survey(&state, &self.store, Scope::Conflicts, |seen| progress.tell(seen))?;
        Ok(survey.conflicts())
    }

    /// Has everything claimed and indexed that the changed blueprint needs.
    fn carry_through(&self, pending: &Pending) -> Result<()> {
        if pending.claimed().is_empty() && !pending.retypes() {
            return Ok(());
        }
        // Held, so that the versions that are read stay in the store.
        let state = self.cell.load();
        let mut progress = Progress::new(self, pending, "carried through", &state);
        let mut piece = Vec::new();
        let mut piece_bytes = 0;
        for (seen, resource) in read::resources(&self.store, pending.current.number).enumerate() {
            let (id, meta) = resource?;
            progress.tell(seen as u64)?;
            let carried = pending.carry(&self.store, id, &meta)?;
            piece_bytes += carried.entry.as_ref().map_or(0, text_bytes) + carried.claims.len() * CLAIM_BYTES;
            piece.push(carried);
            if piece.len() == PIECE_RESOURCES || piece_bytes > PIECE_BYTES {
                self.submit_piece(pending, std::mem::take(&mut piece))?;
                piece_bytes = 0;
            }
        }
        self.submit_piece(pending, piece)
    }

    fn submit_piece(&self, pending: &Pending, piece: Vec<Carried>) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        // Waited for here, not by the committer: writes go on meanwhile.
        if let Some(collection) = self.cell.load().numbered(pending.current.number) {
            collection.index.wait_for_room();
        }
        self.submit(Command::CarryChange { blueprint: pending.current.number, carried: piece }).map(|_| ())
    }

    /// Hands a command to the committer and waits for it; a full queue is waited for.
    fn submit(&self, command: Command) -> Result<Outcome> {
        let (reply, answer) = oneshot::channel();
        let mut job = Job { command, keeping: None, reply };
        loop {
            let sent = match &*self.queue.lock() {
                Some(queue) => queue.try_send(job),
                None => return Err(stopping()),
            };
            match sent {
                Ok(()) => return answer.blocking_recv().map_err(|_| stopping())?,
                Err(TrySendError::Full(back)) => job = back,
                Err(TrySendError::Disconnected(_)) => return Err(stopping()),
            }
            std::thread::sleep(QUEUE_PAUSE);
        }
    }
}

/// About how much text an entry has.
fn text_bytes(change: &bindery_index::IndexOp) -> usize {
    let bindery_index::IndexOp::Put { copies, .. } = change else { return 0 };
    let values = copies.iter().flat_map(|(_, copy)| copy.iter().flat_map(|copy| &copy.values));
    values
        .map(|(_, value)| match value {
            bindery_index::Value::Text(text) | bindery_index::Value::Markup { text, .. } => text.len(),
            bindery_index::Value::List(elements) => elements.iter().map(|element| element.len() + 8).sum(),
            _ => 8,
        })
        .sum()
}

fn stopping() -> Error {
    Error::new(Code::Overloaded, "the server is shutting down; a change of a blueprint goes on when it is back")
}

/// Tells in the log how far a change is, and ends it when the server stops.
struct Progress<'a> {
    changes: &'a Changes,
    slug: &'a str,
    step: &'static str,
    total: u64,
    told: Instant,
}

impl<'a> Progress<'a> {
    fn new(changes: &'a Changes, pending: &'a Pending, step: &'static str, state: &State) -> Self {
        let slug = pending.current.slug.as_str();
        let total = state.blueprints.get(slug).map_or(0, |collection| collection.snapshot.total());
        Progress { changes, slug, step, total, told: Instant::now() }
    }

    fn tell(&mut self, seen: u64) -> Result<()> {
        if self.changes.is_stopping.load(Ordering::SeqCst) {
            return Err(stopping());
        }
        if self.told.elapsed() > PROGRESS_INTERVAL {
            self.told = Instant::now();
            let (blueprint, step, of) = (self.slug, self.step, self.total);
            tracing::info!(blueprint, step, resources = seen, of, "a change of the blueprint goes on");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
