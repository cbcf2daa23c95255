//! The facade: everything that the server does with content, whoever asks for it.
//!
//! Owns the one write path (a committer thread, fed by a queue) and the one read path (a published state). Knows no
//! HTTP. Handlers and the command line translate, and hold no rule of their own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::access::{Access, AdminToken, unauthenticated};
use crate::base;
use crate::content::change::{Changes, Queue};
use crate::content::checkpoint::{Checkpointer, Pins};
use crate::content::command::{Command, Outcome};
use crate::content::committer::{Committer, Job};
use crate::content::idempotency::Keeping;
use crate::content::state::{State, StateCell};
use crate::content::sweep::Sweeper;
use crate::log::LogReader;
use crate::model::error::{Code, Error, Result};
use crate::model::time::Millis;
use crate::sanitize::Sanitizer;
use crate::store::Store;

mod administer;
mod backup;
mod bulk;
mod change;
mod checkpoint;
mod command;
mod committer;
mod decide;
mod entry;
mod evolve;
mod export;
#[cfg(test)]
mod fixture;
mod idempotency;
mod import;
mod prepare;
mod read;
mod reading;
mod record;
mod recovery;
mod settle;
mod state;
mod sweep;
mod verify;
mod working;
mod writing;

pub use administer::{BlueprintBody, Replacing, Secret};
pub use bindery_index::Options as IndexOptions;

pub use backup::{reindex, restore_backup, verify_backup};
pub use bulk::{BulkAnswer, Operation};
pub use export::Export;
pub use idempotency::{Done, Fingerprint, Keep, Once, OnceKey};
pub use import::{Import, ImportLine};
pub use read::Answer;
pub use reading::{ListAnswer, Reading};
pub use recovery::StartError;
pub use verify::Findings;
pub use writing::{Created, Etags, Writing};

/// How many commands may wait for the committer; more are refused with `OVERLOADED`.
const QUEUE_COMMANDS: usize = 1024;

/// Names within the data folder.
const INDEX: &str = "index";
const LOCK: &str = "LOCK";

/// How a content is opened.
#[derive(Debug, Clone)]
pub struct ContentOptions {
    /// The data folder; made if it is not there.
    pub folder: PathBuf,
    /// The secret of the admin token, if there is one.
    pub admin_token: Option<String>,
    /// Hosts whose videos may be embedded in rich text.
    pub video_hosts: Vec<String>,
    /// How much memory the store may use as a cache.
    pub store_cache_bytes: u64,
    /// When indexes write to disk and what they keep; the default is right but for tests.
    pub index: bindery_index::Options,
}

/// The content of one data folder. Clones share it.
#[derive(Clone)]
pub struct Content {
    shared: Arc<Shared>,
}

struct Shared {
    cell: Arc<StateCell>,
    store: Store,
    queue: Queue,
    changes: Arc<Changes>,
    committer: Mutex<Option<JoinHandle<()>>>,
    broken: Arc<AtomicBool>,
    admin_token: Option<AdminToken>,
    sanitizer: Arc<Sanitizer>,
    was_empty: bool,
    folder: PathBuf,
    log: LogReader,
    /// What backups that are being written need of the log.
    pins: Arc<Mutex<Pins>>,
    /// Held until the process ends: one server a folder.
    _lock: File,
}

impl Content {
    /// Opens a data folder and brings store and index to the end of the log. Blocks until both are there.
    ///
    /// # Errors
    /// [`StartError`] if the folder is in use or cannot be read.
    pub fn open(options: &ContentOptions) -> Result<Content, StartError> {
        let folder = &options.folder;
        let lock = lock_folder(folder)?;
        let (log, store, recovered) =
            base::recover(folder, &options.recover_options()).map_err(|error| folder_error(folder, &error))?;
        let was_empty = log.last() == 0;
        recovery::remove_superseded(&store, log.last())?;
        let indexes = bindery_index::Indexes::open(&folder.join(INDEX), options.index.clone())
            .map_err(|error| folder_error(folder, &error))?;
        let blueprints = recovery::load_blueprints(&store)?;
        let checkpoint = indexes.number();
        let begun = recovery::load_changes(&store, &blueprints)?;
        let indexed = recovery::bring_up_indexes(&log, &store, &indexes, &blueprints, &begun)?;
        let state = recovery::load_state(&store, &indexes, &blueprints, &begun, log.last())?;
        let (last_id, last_time) = recovery::load_clock(&store)?;
        let base = base::newest(folder).map_err(|error| folder_error(folder, &error))?;
        tracing::info!(?recovered, blueprints = blueprints.len(), indexed, "content is open");

        let cell = Arc::new(StateCell::new(state));
        let broken = Arc::new(AtomicBool::new(false));
        let sanitizer = Arc::new(Sanitizer::new(options.video_hosts.clone()));
        backup::clear_unfinished(folder).map_err(|error| folder_error(folder, &error))?;
        let (log_reader, pins) = (log.reader(), Arc::default());
        let sweeper = Sweeper::new(recovery::lost(&store, &blueprints, &begun)?);
        let (sender, jobs) = sync_channel(QUEUE_COMMANDS);
        let queue: Queue = Arc::new(Mutex::new(Some(sender)));
        let changes = Changes::new(Arc::clone(&queue), store.clone(), Arc::clone(&cell), Arc::clone(&sanitizer));
        let changes = Arc::new(changes);
        let committer = Committer {
            checkpointer: Checkpointer::new(
                folder.clone(),
                store.clone(),
                checkpoint.min(log.last()),
                base,
                Arc::clone(&pins),
            ),
            log,
            store: store.clone(),
            indexes,
            cell: Arc::clone(&cell),
            sanitizer: Arc::clone(&sanitizer),
            changes: Arc::clone(&changes),
            last_id,
            last_time,
            sweeper,
            broken: Arc::clone(&broken),
        };
        let committer = std::thread::Builder::new()
            .name("committer".to_owned())
            .spawn(move || committer.run(&jobs))
            .map_err(|error| folder_error(folder, &error))?;
        let shared = Shared {
            cell,
            store,
            queue,
            changes,
            committer: Mutex::new(Some(committer)),
            broken,
            admin_token: options.admin_token.as_deref().map(AdminToken::new),
            sanitizer,
            was_empty,
            folder: folder.clone(),
            log: log_reader,
            pins,
            _lock: lock,
        };
        Ok(Content { shared: Arc::new(shared) })
    }

    /// Goes on with the changes of blueprints that were begun before the last end. For a server; who looks at a folder
    /// leaves them begun.
    pub fn resume_changes(&self) {
        for collection in self.state().blueprints.values() {
            if let Some(pending) = &collection.pending {
                self.shared.changes.start(Arc::clone(pending), None);
            }
        }
    }

    /// Has changes of blueprints that are under way end soon, their callers answered: they go on at the next start.
    pub fn leave_changes(&self) {
        self.shared.changes.begin_stop();
    }

    /// Whether the folder held nothing when it was opened.
    pub fn was_empty(&self) -> bool {
        self.shared.was_empty
    }

    /// Whether writes are taken: not after a fault of the disk, and not during a shutdown.
    pub fn is_writable(&self) -> bool {
        !self.shared.broken.load(Ordering::SeqCst) && self.shared.queue.lock().is_some()
    }

    /// Takes no more commands, finishes those that are queued, writes a checkpoint, and returns when all is on disk.
    pub fn close(&self) {
        self.shared.queue.lock().take();
        if let Some(committer) = self.shared.committer.lock().take()
            && committer.join().is_err()
        {
            tracing::error!("the committer ended with a panic; the next start replays the log");
        }
        self.shared.changes.stop();
    }

    /// What the bearer of a secret may do.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`.
    pub fn authenticate(&self, secret: Option<&str>) -> Result<Access> {
        let Some(secret) = secret else {
            return Err(unauthenticated("this needs a token: send the header `Authorization: Bearer <token>`"));
        };
        if let Some(access) = self.shared.admin_token.as_ref().and_then(|admin| admin.authenticate(secret)) {
            return Ok(access);
        }
        self.state().tokens.authenticate(secret, now())
    }

    /// Writes a checkpoint and waits for it.
    ///
    /// # Errors
    /// `OVERLOADED` if the server does not write, `INTERNAL` if the disk fails.
    pub async fn checkpoint(&self) -> Result<()> {
        self.submit(Command::Checkpoint).await.map(|_| ())
    }

    fn state(&self) -> Arc<State> {
        self.shared.cell.load()
    }

    /// Hands a command to the committer. The answer comes when it is durable and visible.
    async fn submit(&self, command: Command) -> Result<Outcome> {
        self.submit_keeping(command, None).await
    }

    /// The same for a command whose answer may be kept: then that is the outcome.
    async fn submit_keeping(&self, command: Command, keeping: Option<Keeping>) -> Result<Outcome> {
        let (reply, answer) = oneshot::channel();
        let sent = match &*self.shared.queue.lock() {
            Some(queue) => queue.try_send(Job { command, keeping, reply }),
            None => return Err(overloaded("the server is shutting down")),
        };
        match sent {
            Ok(()) => answer.await.map_err(|_| Error::internal("the committer went away"))?,
            Err(TrySendError::Full(_)) => Err(overloaded("too many writes are waiting")),
            Err(TrySendError::Disconnected(_)) => Err(Error::internal("the committer went away")),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Ends the committer, which has a hand on the queue itself, where nobody closed the content.
        self.queue.lock().take();
    }
}

impl ContentOptions {
    fn recover_options(&self) -> base::RecoverOptions {
        let store = crate::store::StoreOptions { cache_bytes: self.store_cache_bytes, ..Default::default() };
        base::RecoverOptions { store, ..Default::default() }
    }
}

/// The time by the clock, in milliseconds.
pub(crate) fn now() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis)
}

fn overloaded(why: &str) -> Error {
    Error::new(Code::Overloaded, format!("{why}; nothing was applied; try again in a moment"))
}

fn folder_error(folder: &Path, cause: &dyn std::fmt::Display) -> StartError {
    StartError::Folder { folder: folder.display().to_string(), cause: cause.to_string() }
}

/// Makes the folder and keeps other servers out of it.
fn lock_folder(folder: &Path) -> Result<File, StartError> {
    std::fs::create_dir_all(folder).map_err(|error| folder_error(folder, &error))?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(LOCK))
        .map_err(|error| folder_error(folder, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => Err(StartError::InUse(folder.display().to_string())),
        Err(std::fs::TryLockError::Error(error)) => Err(folder_error(folder, &error)),
    }
}

#[cfg(test)]
mod tests;
