//! The handle that callers hold, and the data that all its parts share: the published state, the store, and the queue
//! of the committer.
//!
//! The requests of callers are in `api` and `read`, opening and closing in `lib.rs`.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bindery_access::{Access, Actor, AdminToken, unauthenticated};
use bindery_log::FollowLog;
use bindery_model::error::{Code, Error, Result};
use bindery_model::json;
use bindery_sanitize::Sanitizer;
use bindery_store::{Store, StoreError, has_failed_write};
use bytes::Bytes;
use parking_lot::Mutex;

use crate::admission::{Admission, LARGE_BODY_BYTES, MemoryPermit};
use crate::api::cluster::{ClusterNode, note_used};
use crate::blueprint_change::ChangeRunner;
use crate::clock::ContentClock;
use crate::command::{Command, KeepAnswer, Outcome};
use crate::data::counters::{ContentFigures, ContentStatus, Counters};
use crate::data::feed::Feed;
use crate::data::state::{State, StateCell};
use crate::data::stored_copies::StoredCopies;
use crate::maintain::checkpoint::Pins;
use crate::password_hasher::PasswordHasher;
use crate::queue::{PendingOutcome, Queue};
use crate::search_scheduler::SearchScheduler;
use crate::thread_pool::ThreadPool;

/// The content of one data folder. Clones share it.
#[derive(Clone)]
pub struct Content {
    pub(crate) shared: Arc<SharedContent>,
}

/// The data that all clones share.
pub(crate) struct SharedContent {
    pub(crate) cell: Arc<StateCell>,
    pub(crate) store: Store,
    pub(crate) stored: StoredCopies,
    pub(crate) pool: Arc<ThreadPool>,
    /// The end of the change feed.
    pub(crate) feed: Arc<Feed>,
    pub(crate) searches: Arc<SearchScheduler>,
    pub(crate) queue: Queue,
    pub(crate) admission: Admission,
    pub(crate) max_answer_bytes: usize,
    pub(crate) passwords: PasswordHasher,
    pub(crate) changes: Arc<ChangeRunner>,
    pub(crate) committer: Mutex<Option<JoinHandle<()>>>,
    pub(crate) broken: Arc<AtomicBool>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) time: Arc<ContentClock>,
    pub(crate) admin_token: Option<AdminToken>,
    pub(crate) sanitizer: Arc<Sanitizer>,
    pub(crate) was_empty: bool,
    pub(crate) folder: PathBuf,
    pub(crate) log: Arc<dyn FollowLog>,
    /// The parts of the log that running backups need.
    pub(crate) pins: Arc<Mutex<Pins>>,
    /// The membership in a cluster; `None` on a single server.
    pub(crate) cluster: Option<ClusterNode>,
    /// The lock of the data folder, held until the process ends: a folder has only one server.
    pub(crate) _lock: File,
}

impl Content {
    /// Continues the blueprint changes that were under way when this server stopped, or another node. For a server: a
    /// command that opens a folder leaves them as they are.
    pub fn resume_changes(&self) {
        for collection in self.state().blueprints.values() {
            if let Some(change) = &collection.change {
                self.shared.changes.start(Arc::clone(change), None);
            }
        }
    }

    /// Ends long waits because the server is stopping. Callers that wait for a blueprint change get an error, and the
    /// next start continues the change. Waiting readers of the change feed are woken.
    pub fn begin_stop(&self) {
        self.shared.feed.stop();
        self.shared.changes.begin_stop();
    }

    /// Returns whether the folder held nothing when it was opened.
    pub fn was_empty(&self) -> bool {
        self.shared.was_empty
    }

    /// Is true if writes are accepted.
    pub fn is_writable(&self) -> bool {
        self.check_writable().is_ok()
    }

    /// Checks that writes are accepted: not after a failure of the disk, not during a shutdown, and not while the disk
    /// has less free space than the smallest write needs.
    ///
    /// # Errors
    /// `OVERLOADED`, whose message is the reason.
    pub fn check_writable(&self) -> Result<()> {
        let why = if self.shared.broken.load(Ordering::SeqCst) || has_failed_write() {
            "it has stopped writing after a failure of its disk until it is restarted; its log has the reason"
                .to_owned()
        } else if !self.shared.queue.is_open() {
            "it is shutting down".to_owned()
        } else {
            // The message of a write names the folder. This one needs no token.
            match self.shared.store.check_room(0) {
                Ok(()) => return Ok(()),
                Err(StoreError::NoRoom { needed, .. }) => {
                    let free = self.disk_free_bytes().unwrap_or(0);
                    format!("its disk is full: {free} bytes are free, and {needed} must stay free for the store")
                }
                Err(_) => "the free space of its disk cannot be measured".to_owned(),
            }
        };
        Err(Error::new(Code::Overloaded, format!("the server accepts no writes: {why}")))
    }

    /// Returns the free space of the disk of the data folder; `None` if it cannot be measured.
    pub fn disk_free_bytes(&self) -> Option<u64> {
        self.shared.store.free_bytes().ok()
    }

    /// Returns the sizes, and the amounts written since the start.
    pub fn figures(&self) -> ContentFigures {
        let state = self.state();
        let snapshots = || state.blueprints.values().map(|collection| &collection.snapshot);
        let (resources, held) =
            (snapshots().map(|one| one.total()).sum(), snapshots().map(|one| one.versions_held()).sum());
        self.shared.counters.figures(state.blueprints.len() as u64, resources, held)
    }

    /// Returns the size of the cached copies, in bytes.
    pub fn kept_document_bytes(&self) -> u64 {
        self.shared.stored.kept_bytes()
    }

    /// Returns the numbers of copies read from the cache and from the store since the start.
    pub fn kept_document_reads(&self) -> (u64, u64) {
        self.shared.stored.reads()
    }

    /// Returns the current status.
    pub fn status(&self) -> ContentStatus {
        let state = self.state();
        let blueprints =
            state.blueprints.iter().map(|(slug, collection)| (slug.clone(), collection.snapshot.total())).collect();
        let (tokens, members) = (state.tokens.list().len(), state.members.len());
        ContentStatus { number: state.number, blueprints, tokens, members }
    }

    /// Accepts no more commands, finishes those that are queued, writes a checkpoint, and returns when everything is on
    /// disk.
    pub fn close(&self) {
        self.shared.queue.close();
        if let Some(committer) = self.shared.committer.lock().take()
            && committer.join().is_err()
        {
            tracing::error!("the committer panicked; the next start replays the log");
        }
        self.shared.changes.stop();
    }

    /// Returns the access of the bearer of a secret.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`.
    pub fn authenticate(&self, secret: Option<&str>) -> Result<Arc<Access>> {
        let Some(secret) = secret else {
            return Err(unauthenticated("this needs a token: send the header `Authorization: Bearer <token>`"));
        };
        if let Some(access) = self.shared.admin_token.as_ref().and_then(|admin| admin.authenticate(secret)) {
            return Ok(access);
        }
        let (state, now) = (self.state(), self.now());
        let known = state.tokens.authenticate(secret, now)?;
        if let Some(id) = known.begins_note(now) {
            self.note_use(Command::NoteTokenUse(id.to_owned()));
        }
        let access = known.access();
        self.check_rights_are_known(&access)?;
        Ok(access)
    }

    /// Has the committer note that something is used, while the request goes on. If it fails, a later use is noted.
    pub(crate) fn note_use(&self, command: Command) {
        let content = self.clone();
        tokio::spawn(async move {
            let _ = content.submit(command).await;
        });
    }

    /// Writes a checkpoint and waits for it.
    ///
    /// # Errors
    /// `OVERLOADED` if the server does not write, `INTERNAL` if the disk fails.
    pub async fn checkpoint(&self) -> Result<()> {
        self.submit(Command::Checkpoint).await.map(|_| ())
    }

    /// Runs `read` once there is memory for the body; on a thread that may block if the body is large. The memory is
    /// reserved until the caller drops the [`Admitted`] in the result.
    ///
    /// # Errors
    /// The errors of `read`; `OVERLOADED` if there is no memory for a while.
    pub(crate) async fn read_body<T: Send + 'static>(
        &self,
        body: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
    ) -> Result<(T, MemoryPermit)> {
        let admission = &self.shared.admission;
        if body.len() <= LARGE_BODY_BYTES {
            let admitted = admission.admit(json::expansion(body)).await?;
            return Ok((read(body)?, admitted));
        }
        let body = Bytes::copy_from_slice(body);
        let weighed = body.clone();
        let bytes = tokio::task::spawn_blocking(move || json::expansion(&weighed)).await.map_err(Error::internal)?;
        let admitted = admission.admit(bytes).await?;
        let read = tokio::task::spawn_blocking(move || read(&body)).await.map_err(Error::internal)?;
        Ok((read?, admitted))
    }

    /// Returns the state as of now.
    pub(crate) fn state(&self) -> Arc<State> {
        let state = self.shared.cell.load();
        note_used(state.number);
        state
    }

    /// Hands a command of the server itself to the committer. Its outcome is durable and visible on return.
    pub(crate) async fn submit(&self, command: Command) -> Result<Outcome> {
        self.submit_for(None, command, None).await
    }

    /// Like [`Content::submit`], for a command that `access` asked for. Its changes are stored with that author.
    pub(crate) async fn submit_as(&self, access: &Access, command: Command) -> Result<Outcome> {
        self.submit_keeping(access, command, None).await
    }

    /// Like [`Content::submit_as`], for a command whose answer may be kept. If an earlier request's answer is kept, the
    /// outcome is that answer.
    pub(crate) async fn submit_keeping(
        &self,
        access: &Access,
        command: Command,
        keep: Option<KeepAnswer>,
    ) -> Result<Outcome> {
        self.submit_for(Some(access.actor.clone()), command, keep).await
    }

    /// Like [`Content::submit_keeping`], for an actor.
    pub(crate) async fn submit_for(
        &self,
        actor: Option<Actor>,
        command: Command,
        keep: Option<KeepAnswer>,
    ) -> Result<Outcome> {
        let pending = self.shared.queue.submit(actor, command, keep, None)?;
        self.outcome_of(pending).await
    }

    /// Waits for the outcome of a command that was handed to the committer.
    pub(crate) async fn outcome_of(&self, pending: PendingOutcome) -> Result<Outcome> {
        let outcome = pending.wait().await;
        // The state now includes what was written, and what a refusal was decided against.
        note_used(self.shared.cell.load().number);
        outcome
    }
}

impl Drop for SharedContent {
    fn drop(&mut self) {
        // Without this the committer would never end if nobody called `close`: threads of blueprint changes hold the
        // queue as well.
        self.queue.close();
    }
}
