//! The upkeep of a cluster by a node, beside reading and writing: it says that it is there, and, if it leads, uploads
//! bases and removes what nobody needs any more.
//!
//! All of it may be late or missing without harm: something is slower then, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bindery_cluster::{ClusterError, ClusterInfo, NodeRecord, Position, Store};
use bindery_disk::failure;
use parking_lot::{Condvar, Mutex};

use crate::ends::Ends;
use crate::error::ReplicaError;
use crate::join::Node;
use crate::log::ReplicatedLog;
use crate::status::Status;

/// The time between two signs of life of a node.
const SIGN_EVERY: Duration = Duration::from_secs(30);
/// The time between two looks at the node's own newest base.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The time between two looks at the bases of the cluster, if the node has no new one.
const LIST_EVERY: Duration = Duration::from_secs(600);
/// The time between two looks whether all groups are there.
const LOOK_FOR_GAPS_EVERY: Duration = Duration::from_secs(3600);
/// The time for which groups and bases stay that only slow nodes need.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
/// Bases from the older of which the log is kept.
const BASES: usize = 2;

/// The regular work of a node. Clones are the same.
#[derive(Clone)]
pub struct Upkeep {
    shared: Arc<Shared>,
}

/// The facts about a node that the others read.
#[derive(Debug, Clone)]
pub struct NodeFacts {
    /// The address at which the others reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// The newest format of records that it reads.
    pub reads_format: u32,
    /// A hash of its settings that must be the same on all nodes.
    pub settings_hash: String,
}

/// The facts about a cluster.
#[derive(Debug, Clone)]
pub struct ClusterFacts {
    /// The id of the cluster.
    pub cluster: String,
    /// The id of its history.
    pub history: String,
    /// A hash of this node's settings that must be the same on all nodes.
    pub settings_hash: String,
}

struct Shared {
    store: Store,
    log: Arc<bindery_cluster::Log>,
    ends: Arc<Ends>,
    status: Status,
    folder: std::path::PathBuf,
    node: String,
    address: String,
    version: String,
    reads_format: u32,
    settings_hash: String,
    cluster: ClusterInfo,
    is_leader: AtomicBool,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

impl Upkeep {
    /// Prepares the work of a node.
    #[must_use]
    pub fn new(node: &Node, log: &ReplicatedLog, facts: NodeFacts) -> Upkeep {
        let NodeFacts { address, version, reads_format, settings_hash } = facts;
        let (shared_log, ends) = log.shared();
        Upkeep {
            shared: Arc::new(Shared {
                store: node.store.clone(),
                log: shared_log,
                ends,
                status: log.status(),
                folder: node.folder.clone(),
                node: node.membership.node.clone(),
                address,
                version,
                reads_format,
                settings_hash,
                cluster: node.membership.cluster,
                is_leader: AtomicBool::new(false),
                is_stopped: Mutex::new(false),
                stopped: Condvar::new(),
            }),
        }
    }

    /// Says whether this node leads. Only the leader looks for gaps in the log, so another node knows of none.
    pub fn lead(&self, is_leader: bool) {
        if !is_leader {
            self.shared.status.note_missing(&[]);
        }
        self.shared.is_leader.store(is_leader, Ordering::SeqCst);
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.shared.node
    }

    /// Returns the address at which the other nodes reach this one.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.shared.address
    }

    /// Returns the status of the node.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status.clone()
    }

    /// Says that a group with this sequence number exists.
    pub fn hint(&self, seq: u64) {
        self.shared.status.hint(seq);
    }

    /// Sets how often the storage is asked for new groups: rarely while hints come.
    pub fn poll_every(&self, poll: Duration) {
        self.shared.status.poll_every(poll);
    }

    /// Returns the id of the history that the node follows.
    #[must_use]
    pub fn history(&self) -> String {
        self.shared.cluster.history.id.to_string()
    }

    /// Returns the facts about the cluster.
    #[must_use]
    pub fn facts(&self) -> ClusterFacts {
        let Shared { cluster, settings_hash, .. } = &*self.shared;
        ClusterFacts { cluster: cluster.id.to_string(), history: self.history(), settings_hash: settings_hash.clone() }
    }

    /// Returns what the nodes of the cluster said of themselves last.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn nodes(&self) -> Result<Vec<NodeRecord>, ClusterError> {
        self.shared.store.nodes()
    }

    /// Returns the storage of the cluster.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Works until [`Upkeep::stop`].
    pub fn run(&self) {
        let mut signed: Option<Instant> = None;
        let mut cleaned: Option<(Instant, Option<u64>)> = None;
        let mut looked: Option<Instant> = None;
        loop {
            if signed.is_none_or(|at| at.elapsed() >= SIGN_EVERY) {
                signed = Some(Instant::now());
                if let Err(error) = self.shared.sign() {
                    tracing::warn!(%error, "this node could not say that it is there");
                }
            }
            if self.shared.status.awaits_next_history() && self.shared.has_next_history() {
                self.shared.status.next_history_began();
            }
            let own = bindery_base::newest(&self.shared.folder).ok().flatten().map(|(number, _)| number);
            let is_due = cleaned.is_none_or(|(at, base)| base != own || at.elapsed() >= LIST_EVERY);
            if is_due && self.shared.is_leader.load(Ordering::SeqCst) {
                match self.shared.clean() {
                    Ok(()) => cleaned = Some((Instant::now(), own)),
                    Err(error) => {
                        tracing::warn!(%error, "a base could not be uploaded, or old groups not be removed; this is tried again");
                    }
                }
            }
            if !self.shared.is_leader.load(Ordering::SeqCst) {
                looked = None;
            } else if looked.is_none_or(|at| at.elapsed() >= LOOK_FOR_GAPS_EVERY) {
                looked = Some(Instant::now());
                if let Err(error) = self.look_for_gaps() {
                    tracing::warn!(%error, "this node could not look whether the log is complete");
                }
            }
            let mut is_stopped = self.shared.is_stopped.lock();
            if !*is_stopped {
                self.shared.stopped.wait_for(&mut is_stopped, LOOK_EVERY);
            }
            if *is_stopped {
                return;
            }
        }
    }

    /// Looks whether the log has all groups behind the older of the newest bases. Nodes that begin from a base need
    /// them, and a name that is free again could be used twice.
    pub(crate) fn look_for_gaps(&self) -> Result<(), ClusterError> {
        let Shared { log, status, .. } = &*self.shared;
        if let Some(older) = log.newest_bases(BASES)?.last() {
            let missing = log.missing_names(older.position.seq + 1, status.get().position.seq)?;
            status.note_missing(&missing);
        }
        Ok(())
    }

    /// Ends the work.
    pub fn stop(&self) {
        *self.shared.is_stopped.lock() = true;
        self.shared.stopped.notify_all();
    }
}

impl Shared {
    fn sign(&self) -> Result<(), ClusterError> {
        self.store.put_node(&NodeRecord {
            node: self.node.clone(),
            address: self.address.clone(),
            version: self.version.clone(),
            reads_format: self.reads_format,
            settings_hash: self.settings_hash.clone(),
            position: self.status.get().position,
            at: self.now(),
            clock_error: self.store.error_of_clock(own_clock()),
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.store.hold(own_clock())).unwrap_or_default()
    }

    /// Uploads the node's newest base, if the cluster has none as new, and removes what the bases made superfluous.
    fn clean(&self) -> Result<(), ReplicaError> {
        let kept_for = failure::time("upkeep::kept_for", KEPT_FOR);
        let bases = self.log.newest_bases(BASES)?;
        let newest = bases.first().map_or(0, |base| base.position.number);
        if let Some((number, file)) = bindery_base::list(&self.folder)?.pop()
            && let Some(end) = self.end_at(number)
            && number > newest
        {
            let base = match self.log.upload_base(&file, &end, &|| !*self.is_stopped.lock()) {
                Err(ClusterError::NotWanted) => return Ok(()),
                base => base?,
            };
            tracing::info!(base = base.name, bytes = base.bytes, "base uploaded");
            self.log.remove_bases(kept_for)?;
        }
        if let Some(older) = bases.get(BASES - 1) {
            let groups = self.log.remove_before(older.position.seq + 1, kept_for)?;
            if groups > 0 {
                tracing::info!(groups, "groups removed that only nodes need which were away for long");
            }
        }
        self.forget_lost_nodes()?;
        Ok(())
    }

    /// Returns whether a later history than this node's has begun.
    fn has_next_history(&self) -> bool {
        self.store.cluster().is_ok_and(|cluster| cluster.history.number > self.cluster.history.number)
    }

    /// Removes the nodes from the list that have said nothing for long. One that returns says so by itself.
    fn forget_lost_nodes(&self) -> Result<(), ClusterError> {
        let kept_since = self.now().saturating_sub(u64::try_from(KEPT_FOR.as_millis()).unwrap_or(u64::MAX));
        for node in self.store.nodes()?.iter().filter(|node| node.at < kept_since) {
            tracing::info!(node = node.node, "a node that has said nothing for a day is not listed any more");
            self.store.remove_node(&node.node)?;
        }
        Ok(())
    }

    /// Returns the position behind a record; `None` if no group ends there, or its position is not known any more.
    fn end_at(&self, number: u64) -> Option<Position> {
        self.ends.of_group_with(number).filter(|end| end.number == number)
    }
}

/// Returns the time by the clock of this machine, in milliseconds since 1970.
#[must_use]
pub fn own_clock() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Tests have nodes whose clocks are wrong by some seconds.
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX).saturating_add(1_000 * failure::number("clock::ahead"))
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Upkeep").field("node", &self.shared.node).finish()
    }
}
