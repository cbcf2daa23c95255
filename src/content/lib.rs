//! Everything that the server does with content, for HTTP handlers and commands alike.
//!
//! Owns the only write path (a committer thread, fed by a queue) and the only read path (a published state). Knows no
//! HTTP. Handlers and the command line translate, and hold no rule of their own.
//!
//! Modules, from the top: `api` and `read` are the interface for callers (`search_scheduler` runs searches,
//! `thread_pool` their long-running parts); `prepare` turns bodies into commands; `queue` passes commands to `write`,
//! which decides them and appends transactions to the log; `apply` makes a transaction visible; `blueprint_change`
//! carries out blueprint changes, by the rules of `compatibility`; `maintain` writes checkpoints and removes obsolete
//! data; `start` opens a data folder; `data` holds the types that all of them share.

mod admission;
mod api;
mod apply;
mod blueprint_change;
mod clock;
mod command;
mod compatibility;
mod data;
#[cfg(test)]
mod fixture;
mod handle;
mod maintain;
mod password_hasher;
mod prepare;
mod queue;
mod read;

mod search_scheduler;
mod start;
mod thread_pool;
mod warm;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bindery_access::AdminToken;
use bindery_base::RecoveryReport;
use bindery_log::CommitLog;
use bindery_model::time::{Millis, now_millis};
use bindery_replica::own_clock;
use bindery_sanitize::Sanitizer;
use bindery_store::{Store, StoreOptions};
use parking_lot::Mutex;

use crate::admission::Admission;
use crate::api::cluster::ClusterNode;
use crate::blueprint_change::ChangeRunner;
use crate::clock::ContentClock;
use crate::data::counters::Counters;
use crate::data::stored_copies::StoredCopies;
use crate::handle::SharedContent;
use crate::maintain::checkpoint::Checkpointer;
use crate::password_hasher::PasswordHasher;
use crate::queue::Queue;
use crate::search_scheduler::SearchScheduler;
use crate::start::{epoch, folder, node, recovery};
use crate::thread_pool::ThreadPool;
use crate::write::append::Appender;
use crate::write::committer::Committer;
use crate::write::room::Room;

pub use api::accounts::{Credentials, FirstOwner, IssuedInvitation, NewPassword, NewSession, SignedInMember};
pub use api::blueprints::{BlueprintPlan, Replacement, ReplacementOutcome};
pub use api::bulk::{AppliedItem, BulkAnswer, FailedItem};
pub use api::cluster::{ClusterOptions, NodeStatus, noting_number};
pub use api::idempotency::{Idempotency, IdempotentAnswer};
pub use api::import::{Import, ImportLine, ImportedResource};
pub use api::media::DeliveredMedia;
pub use api::resources::{CreatedResource, ResourceWriter};
pub use api::tokens::IssuedToken;
pub use api::views::OwnedView;
pub use bindery_index::Options as IndexOptions;
pub use bindery_replica::{NodeRecord, Standing, Upkeep, check_address, is_node};
pub use command::SteeringKind;
pub use data::changes::ChangeOp;
pub use data::counters::{ContentFigures, ContentStatus};
pub use data::durations::{BOUNDS as DURATION_BOUNDS, DurationFigures};
pub use data::feed::FeedEnd;
pub use data::kept_answer::{IdempotencyKey, IdempotentRequest};
pub use data::leader::Leader;
pub use data::saved_view::SavedView;
pub use data::version::{AnswerVersion, EntityTag, IfMatch};
pub use data::webhook::{PROGRESS_PARTS, ProgressParts, Webhook};
pub use handle::Content;
pub use prepare::body::check_keys_of_create;
pub use prepare::bulk::Operation;
pub use prepare::import_line::{ImportCheck, import_key, parse_import_line};
pub use read::changes::{Change, Changes};
pub use read::everywhere::{BlueprintMatches, RankedMatch, did_you_mean, ignored_words, in_common_order};
pub use read::explain::Explanation;
pub use read::export::{Export, spreadsheet_cell};
pub use read::history::{HistoryPage, RevisionAnswer, RevisionEntry};
pub use read::kept_list::KeptList;
pub use read::list::{ListPage, ListRequest, PagePosition};
pub use read::neighbors::NeighborsAnswer;
pub use read::objects::answer_too_large;
pub use read::referrers::FieldReferrers;
pub use read::resource::ResourceAnswer;
pub use read::rule_preview::RulePreview;
pub use read::suggest::{SuggestedWord, Suggestions, common_words};
pub use read::trash::{TrashEntry, TrashPage, TrashReferrers};
pub use read::view::{LocatedResource, View, require_for_copy, require_for_explain};
pub use start::cluster_restore::{RestorePoint, RestoredCluster, restore_cluster};
pub use start::error::StartError;
pub use start::findings::Findings;
pub use start::folder::{RestoredBackup, backup_envelope, finish_restore, first_entry, rest_of_backup, verify_backup};
pub use start::node::{LeavingNode, begin_history_of, create_cluster_from, repair_cluster};
pub use start::progress::Progress;
pub use start::repair::SalvagedBlueprint;
pub use start::salvage::SalvageReport;
pub use start::upgrade::{UpgradeError, Upgraded, upgrade_cluster};
pub use start::verify::is_data_folder;

/// The options for opening a content.
#[derive(Debug, Clone)]
pub struct ContentOptions {
    /// The data folder; created if it is missing.
    pub folder: PathBuf,
    /// The secret of the admin token, if there is one.
    pub admin_token: Option<String>,
    /// Hosts whose videos may be embedded in rich text.
    pub video_hosts: Vec<String>,
    /// The public address of the server, with which addresses of its media may begin.
    pub public_url: Option<String>,
    /// The number of bytes of memory the store may use as a cache.
    pub store_cache_bytes: u64,
    /// The limits at which indexes write to disk, and of their memory. The default is right for everything but tests.
    pub index: bindery_index::Options,
    /// The longest time that a search of a request may take.
    pub query_timeout: Duration,
    /// The longest time that a write waits for a log that does not answer.
    pub write_timeout: Duration,
    /// The number of changes the change feed keeps.
    pub changes_kept: u64,
    /// The most bytes of resources that an answer may have, except for exports.
    pub max_answer_bytes: usize,
    /// The log that the server shares with others; `None` for a single server.
    pub cluster: Option<ClusterOptions>,
}

/// The ends of the steps of opening a folder, in thousandths. A rebuild of the index takes most of the time.
const REPLAYED: (u32, u32) = (0, 200);
const INDEXED: (u32, u32) = (200, 900);
const WARMED: (u32, u32) = (900, 1000);

/// The parts of a content.
struct Parts {
    log: Box<dyn CommitLog>,
    /// The number of the last record of the log that the store includes.
    position: u64,
    store: Store,
    recovered: RecoveryReport,
    cluster: Option<ClusterNode>,
}

impl Content {
    /// Opens a data folder and brings store and index to the end of the log. Blocks until they are.
    ///
    /// # Errors
    /// [`StartError`] if the folder is in use or cannot be read.
    pub fn open(options: &ContentOptions) -> Result<Content, StartError> {
        Content::open_reporting(options, &Progress::default())
    }

    /// Like [`Content::open`], and reports its progress.
    ///
    /// # Errors
    /// The errors of [`Content::open`].
    pub fn open_reporting(options: &ContentOptions, progress: &Progress) -> Result<Content, StartError> {
        let lock = folder::lock(&options.folder)?;
        folder::require_restored(&options.folder)?;
        let parts = match &options.cluster {
            Some(cluster) => node::open(options, cluster, progress)?,
            None => {
                node::refuse_node(&options.folder)?;
                let (mut log, store, recovered) = options.recover(progress)?;
                epoch::begin_if_due(&options.folder, &mut log, &store)?;
                Parts { position: log.last(), log: Box::new(log), store, recovered, cluster: None }
            }
        };
        Content::assemble(options, lock, parts, progress)
    }

    /// Puts a content together from a store and the log that it belongs to.
    fn assemble(
        options: &ContentOptions,
        lock: std::fs::File,
        parts: Parts,
        progress: &Progress,
    ) -> Result<Content, StartError> {
        let folder = &options.folder;
        let fail = |error: &dyn std::fmt::Display| StartError::folder(folder, error);
        let Parts { mut log, position, store, recovered, cluster } = parts;
        // A new folder holds no more than the record of its epoch.
        let was_empty = position == 0 || position == 1 && recovery::load_epoch(&store)?.is_some();
        let (applier, indexed) = recovery::open_applier(options, &*log, &store, progress)?;
        let base = bindery_base::newest(folder).map_err(|error| fail(&error))?;
        api::backup::clear_unfinished(folder).map_err(|error| fail(&error))?;
        let (cell, feed) = (Arc::clone(&applier.cell), Arc::clone(&applier.changes.feed));
        log_opening(&recovered, cell.load().blueprints.len(), indexed.resources);

        let broken = Arc::new(AtomicBool::new(false));
        let counters = Arc::new(Counters { merges: applier.indexes.merges(), ..Counters::default() });
        let clock = applier.clock;
        let time = Arc::new(clock_of(cluster.as_ref(), clock.last_time));
        let sanitizer = Arc::new(Sanitizer::new(options.video_hosts.clone()));
        let pins = Arc::default();
        let (queue, jobs) = Queue::new(Arc::clone(&counters), options.write_timeout);
        let queue_to_wake = queue.clone();
        log.wake_with(Box::new(move || queue_to_wake.wake()));
        let (cell_of_runner, sanitizer_of_runner) = (Arc::clone(&cell), Arc::clone(&sanitizer));
        let runner =
            ChangeRunner::new(queue.clone(), store.clone(), cell_of_runner, sanitizer_of_runner, Arc::clone(&broken));
        let runner = Arc::new(runner);
        let starter = Arc::clone(&runner);
        let follow = log.follow();
        let mut committer = Committer {
            appender: Appender::new(log, position).map_err(|error| fail(&error))?,
            applier,
            checkpointer: Checkpointer::new(folder.clone(), store.clone(), indexed.checkpoint, base, Arc::clone(&pins)),
            sanitizer: Arc::clone(&sanitizer),
            change_begun: Box::new(move |change, reply| starter.start(change, reply)),
            broken: Arc::clone(&broken),
            queue: jobs,
            node: cluster.as_ref().map(|cluster| cluster.upkeep.clone()),
            room: Room::default(),
            counters: Arc::clone(&counters),
            time: Arc::clone(&time),
            last_id: clock.last_id,
            passed_over: Default::default(),
        };
        // Readers see at once what became due while nothing ran.
        committer.release();
        let committer = std::thread::Builder::new()
            .name("committer".to_owned())
            .spawn(move || committer.run())
            .map_err(|error| fail(&error))?;
        let pool = Arc::new(ThreadPool::new().map_err(|error| fail(&error))?);
        let shared = SharedContent {
            was_empty,
            cell,
            stored: StoredCopies::new(store.clone()),
            store,
            feed,
            searches: Arc::new(SearchScheduler::new(Arc::clone(&pool), options.query_timeout)),
            queue,
            changes: runner,
            committer: Mutex::new(Some(committer)),
            broken,
            counters,
            time,
            admission: Admission::default(),
            max_answer_bytes: options.max_answer_bytes,
            passwords: PasswordHasher::new(Arc::clone(&pool)),
            pool,
            admin_token: options.admin_token.as_deref().map(AdminToken::new),
            sanitizer,
            folder: folder.clone(),
            log: follow,
            pins,
            cluster,
            _lock: lock,
        };
        Ok(Content { shared: Arc::new(shared) })
    }
}

/// Returns the clock of a server: its own, or in a cluster one that is close to that of the storage.
fn clock_of(cluster: Option<&ClusterNode>, last_time: Millis) -> ContentClock {
    let Some(cluster) = cluster else { return ContentClock::new(last_time, now_millis) };
    let store = cluster.upkeep.store().clone();
    ContentClock::new(last_time, move || store.hold(own_clock()))
}

/// Fills an empty data folder from a backup. Changes nothing if the folder holds anything, or the backup is incomplete.
/// Unless `keeps_webhooks`, all webhooks are switched off. No server starts on the folder before [`finish_restore`].
///
/// # Errors
/// [`StartError`].
pub fn restore_backup(
    file: &Path,
    options: &ContentOptions,
    keeps_webhooks: bool,
) -> Result<RestoredBackup, StartError> {
    folder::restore_backup(file, &options.folder, &options.recover_options(), keeps_webhooks)
}

/// Checks the content of a data folder and changes nothing in it. Copies of store and index are made in a folder within
/// `temporary`, and removed again.
///
/// # Errors
/// [`StartError`] if the folder does not exist, is in use, or cannot be read or copied. Damage is an issue among the
/// findings.
pub fn verify(options: &ContentOptions, temporary: &Path) -> Result<Findings, StartError> {
    start::verify::verify_folder(&options.folder, temporary, &options.index)
}

/// Keeps servers out of an existing data folder while the returned file is held, and changes nothing in it. `None` if
/// no server was ever started on it.
///
/// # Errors
/// [`StartError`] if the folder does not exist, or a server has it open.
pub fn lock_folder(folder: &std::path::Path) -> Result<Option<std::fs::File>, StartError> {
    start::folder::lock_existing(folder)
}

/// Creates a new data folder from the readable parts of a damaged one. The damaged folder is only read.
///
/// # Errors
/// [`StartError`] if the old folder is in use or no data folder, the new one is not empty, or the disk fails.
pub fn salvage(options: &ContentOptions, new: &Path) -> Result<SalvageReport, StartError> {
    start::salvage::salvage(&options.folder, new, &options.recover_options())
}

/// Removes the index and rebuilds it from the store.
///
/// # Errors
/// [`StartError`].
pub fn reindex(options: &ContentOptions) -> Result<Content, StartError> {
    folder::remove_index(&options.folder)?;
    Content::open(options)
}

impl ContentOptions {
    /// Opens log and store of the folder and brings the store to the end of the log.
    fn recover(&self, progress: &Progress) -> Result<(bindery_log::Log, Store, RecoveryReport), StartError> {
        let mut recover = self.recover_options();
        recover.log.synced_through = bindery_index::checkpointed(&folder::index_of(&self.folder));
        bindery_base::recover_reporting(&self.folder, &recover, &|done, all| progress.set(REPLAYED, done, all))
            .map_err(|error| StartError::folder(&self.folder, &error))
    }

    fn recover_options(&self) -> bindery_base::RecoverOptions {
        let store = StoreOptions { cache_bytes: self.store_cache_bytes };
        bindery_base::RecoverOptions { store, ..Default::default() }
    }
}

fn log_opening(recovered: &RecoveryReport, blueprints: usize, resources_indexed: u64) {
    let RecoveryReport { number, replayed, rebuilt, moved_to, base } = recovered;
    if let (Some(why), Some(folder)) = (rebuilt, moved_to) {
        let folder = folder.display();
        tracing::warn!(why, %folder, base, "the store was rebuilt; the unusable one was moved aside");
    }
    tracing::info!(last_record = number, records_replayed = replayed, blueprints, resources_indexed, "content is open");
}

#[cfg(test)]
mod tests;
