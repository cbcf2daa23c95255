//! The analytics of a node of a cluster: it counts while it leads, and collects for the leader otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bindery_analytics::{Analytics, AnalyticsOptions, AskedBefore, Batch, Countable, SharedSalts};
use bindery_cluster::Store;
use bindery_disk::unless_missing;
use bindery_model::error::{Code, Error, Result};
use bindery_model::time::Millis;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use crate::error::CountingError;
use crate::folder;
use crate::outbox::{Outbox, SentBatch};
use crate::salts::SaltKeeper;
use crate::shared_store::{self, Publisher};

/// The time between two entries in the storage.
const PUBLISH_EVERY: Duration = Duration::from_secs(10);

/// The options of the analytics of a node.
pub struct NodeOptions {
    /// Those of the analytics. While the node counts, they are in their folder.
    pub analytics: AnalyticsOptions,
    /// The storage of the cluster.
    pub store: Store,
    /// The key that all nodes have, and nobody else.
    pub secret: String,
    /// The name of the node.
    pub node: String,
}

/// The answer to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The last batch of the sender that this server has got and counted.
    pub counted: u64,
    /// The last one that is in the storage, too.
    pub confirmed: u64,
}

pub(crate) struct Node {
    options: AnalyticsOptions,
    store: Store,
    salts: SharedSalts,
    salt_keeper: SaltKeeper,
    outbox: Outbox,
    counter: RwLock<Option<Arc<Counter>>>,
    /// The lock that is held while the node begins or ends to count; with the time at which the next entry is due.
    changing: Mutex<Option<Instant>>,
    /// True once the node must not begin to count any more.
    is_stopping: AtomicBool,
    dropped: AtomicU64,
    /// The questions that the leader knows.
    asked_before: RwLock<Option<Arc<AskedBefore>>>,
    /// True if somebody asked for questions since they were last replaced.
    wants_questions: AtomicBool,
}

/// The analytics of a node that counts.
struct Counter {
    analytics: Analytics,
    folder: PathBuf,
    publisher: Mutex<Publisher>,
    /// The last batch of each sender that is in the storage.
    confirmed: Mutex<BTreeMap<String, u64>>,
}

impl Counter {
    /// Writes what was counted to the storage.
    fn publish(&self) -> Result<(), CountingError> {
        let mut publisher = self.publisher.lock();
        if let Some(batches) = publisher.publish(&self.analytics)? {
            *self.confirmed.lock() = batches;
            folder::mark(&self.folder, publisher.last())?;
        }
        Ok(())
    }
}

/// Writes what a server counted to the storage of the cluster that was made of it: whichever node leads goes on from
/// there. Does nothing if it counted nothing. `address` is that of the cluster's log, `secret` its key, `node` the name
/// of the server's node. Blocks.
///
/// # Errors
/// If the folder cannot be read, or the storage cannot be reached. Then the node brings them when it leads, if no other
/// one led before.
pub fn bring_along(
    address: &str,
    analytics: AnalyticsOptions,
    secret: String,
    node: String,
) -> Result<(), CountingError> {
    if !analytics.folder.exists() {
        return Ok(());
    }
    let node = Node::new(NodeOptions { analytics, store: Store::open(address)?, secret, node })?;
    node.begin()?;
    node.end()
}

impl Node {
    pub(crate) fn new(options: NodeOptions) -> Result<Node, CountingError> {
        let NodeOptions { mut analytics, store, secret, node } = options;
        let salts = SharedSalts::default();
        analytics.shared_salts = Some(salts.clone());
        // Without them, nobody can find out whether an address visited on an earlier day.
        if let Err(error) = folder::destroy_own_salts(&analytics.folder) {
            tracing::error!(%error, "a visitor salt of this server cannot be destroyed; the next start tries again");
        }
        let start = getrandom::u64().map_err(std::io::Error::other)?;
        Ok(Node {
            options: analytics,
            store,
            salt_keeper: SaltKeeper::new(salts.clone(), &secret),
            salts,
            outbox: Outbox::new(format!("{node}-{start:016x}")),
            counter: RwLock::new(None),
            changing: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            asked_before: RwLock::new(None),
            wants_questions: AtomicBool::new(false),
        })
    }

    pub(crate) fn now(&self) -> Millis {
        (self.options.clock)()
    }

    pub(crate) fn salts(&self) -> &SharedSalts {
        &self.salts
    }

    /// Returns the analytics if this node counts.
    pub(crate) fn counting(&self) -> Option<Analytics> {
        self.counter.read().as_ref().map(|counter| counter.analytics.clone())
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) + self.counting().map_or(0, |analytics| analytics.dropped())
    }

    /// Counts something, or keeps it for the node that counts.
    pub(crate) fn submit(&self, what: Countable) {
        // The lock is held so that nothing is handed to analytics that were closed meanwhile.
        match &*self.counter.read() {
            Some(counter) => counter.analytics.submit(what),
            None if self.outbox.push(self.now(), &what) => {}
            None => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Does what is due: gets salts, begins or ends to count, writes to the storage, removes an outdated copy. Blocks.
    pub(crate) fn tend(&self, leads: bool) {
        let now = self.now();
        let salts = self.salt_keeper.complete(&self.store, now);
        if let Err(error) = salts.and_then(|()| self.salt_keeper.forget(&self.store, now, leads)) {
            tracing::debug!(%error, "the salts of the analytics are not complete");
        }
        let mut due = self.changing.lock();
        let counts = leads && !self.is_stopping.load(Ordering::Acquire);
        let counter = self.counter.read().clone();
        // Only the end of counting is never put off. Reports that run at that moment still need the copy.
        if (counts || counter.is_none()) && due.is_some_and(|due| Instant::now() < due) {
            return;
        }
        let done = match counter {
            None if counts => self.begin(),
            None => match folder::remove_outdated(&self.store, &self.options.folder) {
                // Nothing is due then: the node may begin to lead at any moment.
                Ok(()) => return,
                failed => failed,
            },
            Some(counter) if counts => self.publish_with(&counter),
            Some(_) => self.end(),
        };
        // After an error, too: the storage may be away for long.
        *due = Some(Instant::now() + PUBLISH_EVERY);
        if let Err(error) = done {
            tracing::warn!(%error, "the analytics of the cluster wait");
        }
    }

    /// Writes what these analytics counted to the storage.
    ///
    /// Errors: [`CountingError::Superseded`] if this node does not count with them any more; those of the storage.
    pub(crate) fn publish(&self, analytics: &Analytics) -> Result<(), CountingError> {
        // Analytics that are found to be superseded are closed before the node makes their folder anew.
        let _one_at_a_time = self.changing.lock();
        let counter = self.counter.read().clone().filter(|counter| counter.analytics.is_clone_of(analytics));
        self.publish_with(&counter.ok_or(CountingError::Superseded)?)
    }

    fn publish_with(&self, counter: &Arc<Counter>) -> Result<(), CountingError> {
        let published = self.count_own(counter).and_then(|()| counter.publish());
        self.outbox.confirm(counter.confirmed.lock().get(self.outbox.sender()).copied().unwrap_or(0));
        if matches!(published, Err(CountingError::Superseded)) {
            let mut current = self.counter.write();
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, counter)) {
                *current = None;
            }
            drop(current);
            counter.analytics.close();
        }
        published
    }

    /// Ends to count for good: what comes now is kept for the next leader.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        let _one_at_a_time = self.changing.lock();
        if let Err(error) = self.end() {
            tracing::warn!(%error, "the last pageviews could not be written to the storage of the cluster");
        }
    }

    /// Begins to count: with the state in the storage, or with that of this server if there is none.
    fn begin(&self) -> Result<(), CountingError> {
        let folder = &self.options.folder;
        let last = folder::renew(&self.store, folder)?;
        let analytics = Analytics::open(&self.options)?;
        folder::mark(folder, last)?;
        let counter = Arc::new(Counter {
            folder: folder.clone(),
            publisher: Mutex::new(Publisher::after(self.store.clone(), last)),
            confirmed: Mutex::default(),
            analytics,
        });
        // Keeps a leader of before from counting on.
        if let Err(error) = counter.publish() {
            counter.analytics.close();
            return Err(error);
        }
        *self.counter.write() = Some(Arc::clone(&counter));
        tracing::info!("this node counts for the cluster");
        self.publish_with(&counter)
    }

    /// Counts what this node kept for the leader, which it is itself now.
    fn count_own(&self, counter: &Counter) -> Result<(), CountingError> {
        let mut counted = counter.analytics.last_batch(self.outbox.sender()).unwrap_or(0);
        while let Some((_, body)) = self.next_batch(counted) {
            counted = self.receive_with(counter, &body)?.counted;
        }
        Ok(())
    }

    /// Ends to count. What was counted is in the storage then.
    fn end(&self) -> Result<(), CountingError> {
        let Some(counter) = self.counter.write().take() else { return Ok(()) };
        // Searches of the last second, too: nobody else knows them.
        let settled = counter.analytics.settle_last().map_err(CountingError::from);
        let published = settled.and_then(|()| counter.publish());
        counter.analytics.close();
        published
    }

    /// Counts a batch of another node.
    pub(crate) fn receive(&self, body: &[u8]) -> Result<Received> {
        let counter = self.counter.read().clone().ok_or_else(not_counting)?;
        Ok(self.receive_with(&counter, body)?)
    }

    fn receive_with(&self, counter: &Counter, body: &[u8]) -> Result<Received, CountingError> {
        let batch: SentBatch = serde_json::from_slice(body)
            .map_err(|error| Error::new(Code::MalformedJson, format!("the batch cannot be read: {error}")))?;
        let (sender, number) = (batch.sender.clone(), batch.number);
        let counted = || counter.analytics.last_batch(&sender).unwrap_or(0);
        // A server that was restarted lacks batches that were not in the storage. They must come first: what is not
        // above the last number passes for counted.
        if number > 0 && !batch.has_gap_after(counted()) {
            let items = batch.into_local(self.now());
            counter.analytics.count_batch(Batch { sender: sender.clone(), number, items })?;
        }
        let confirmed = counter.confirmed.lock().get(&sender).copied().unwrap_or(0);
        Ok(Received { counted: counted(), confirmed })
    }

    /// Returns the first batch after `counted`, and its number.
    pub(crate) fn next_batch(&self, counted: u64) -> Option<(u64, Bytes)> {
        self.outbox.next_after(counted, self.now())
    }

    pub(crate) fn question(&self) -> Option<Bytes> {
        self.outbox.question(self.now())
    }

    pub(crate) fn confirm(&self, through: u64) {
        self.outbox.confirm(through);
    }

    pub(crate) fn asked_before(&self) -> Option<Arc<AskedBefore>> {
        self.wants_questions.store(true, Ordering::Relaxed);
        self.counting().map_or_else(|| self.asked_before.read().clone(), |analytics| analytics.asked_before())
    }

    pub(crate) fn wants_questions(&self) -> bool {
        self.wants_questions.load(Ordering::Relaxed)
    }

    pub(crate) fn set_asked_before(&self, list: AskedBefore) {
        self.wants_questions.store(false, Ordering::Relaxed);
        *self.asked_before.write() = Some(Arc::new(list));
    }

    /// Writes a backup of what is in the storage.
    pub(crate) fn backup_of_storage(&self, file: &Path) -> Result<(), CountingError> {
        let folder = self.options.folder.with_extension("fetched");
        let _one_at_a_time = self.changing.lock();
        unless_missing(fs::remove_dir_all(&folder))?;
        shared_store::load(&self.store, &folder, None)?;
        let analytics = Analytics::open(&AnalyticsOptions { folder: folder.clone(), ..self.options.clone() })?;
        let written = analytics.backup(file);
        analytics.close();
        unless_missing(fs::remove_dir_all(&folder))?;
        Ok(written?)
    }
}

/// Returns the error of a node that does not count.
pub(crate) fn not_counting() -> Error {
    let text = "the leader of the cluster makes reports and imports, and this server cannot reach it at the moment; try again in a moment";
    Error::new(Code::LogUnreachable, text)
}
