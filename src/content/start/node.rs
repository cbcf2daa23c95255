//! Opens a data folder as a node of a cluster.

use std::fs::File;
use std::path::{Path, PathBuf};

use bindery_replica::{Leaving, NewCluster, Node, NodeFacts, ReplicaError, Upkeep, append_missing, is_node};

use crate::api::cluster::{ClusterNode, ClusterOptions};
use crate::data::format::FORMAT;
use crate::start::cluster_restore::{RestorePoint, RestoredCluster, restore_cluster};
use crate::start::error::StartError;
use crate::start::progress::Progress;
use crate::start::scratch::Scratch;
use crate::start::{epoch, folder};
use crate::{ContentOptions, Parts};

/// The file that is uploaded as the first base of a cluster.
const FIRST_BASE: &str = "cluster.base";

/// Opens the log and the store of a node. A node that is too far behind, or new, begins from a base.
///
/// # Errors
/// [`StartError`].
pub(crate) fn open(
    options: &ContentOptions,
    cluster: &ClusterOptions,
    progress: &Progress,
) -> Result<Parts, StartError> {
    let fail = |error: ReplicaError| StartError::folder(&options.folder, &error);
    let report = |_, _| ();
    let mut node = Node::prepare(&options.folder, &cluster.log, &report).map_err(fail)?;
    // The group that was missed before the node began anew.
    let mut missed = None;
    loop {
        let (log, store, recovered) = options.recover(progress)?;
        // A kill may have left the beginning of a transaction behind it. Its rest comes from the shared log, and means
        // nothing without that.
        let position = recovered.number;
        match node.attach(log) {
            Ok(log) => {
                let ClusterOptions { node_address: address, version, settings_hash, max_lag, .. } = cluster.clone();
                let upkeep =
                    Upkeep::new(&node, &log, NodeFacts { address, version, reads_format: FORMAT, settings_hash });
                let cluster = Some(ClusterNode { upkeep, max_lag });
                return Ok(Parts { log: Box::new(log), position, store, recovered, cluster });
            }
            // If it is missed again, the log has no base behind it.
            Err(ReplicaError::TooFarBehind { seq }) if missed != Some(seq) => {
                tracing::warn!(error = %ReplicaError::TooFarBehind { seq });
                missed = Some(seq);
                drop(store);
                node = node.begin_anew(&report).map_err(fail)?;
            }
            Err(error) => return Err(fail(error)),
        }
    }
}

/// # Errors
/// [`StartError`] if the folder is a node of a cluster: without the cluster's log it would go its own way.
pub(crate) fn refuse_node(folder: &Path) -> Result<(), StartError> {
    if !is_node(folder) {
        return Ok(());
    }
    let path = folder.display();
    let text = format!(
        "it is a node of a cluster: start it with `--log URL`, or make a single server of it with \
         `bindery cluster leave --data {path} --log URL`"
    );
    Err(StartError::folder(folder, &text))
}

/// Makes a cluster at an address from a data folder that no server has open, which becomes its first node. An empty
/// folder makes an empty cluster. Returns the name of the node.
///
/// # Errors
/// [`StartError`]. Nothing in the folder was changed by then.
pub fn create_cluster_from(options: &ContentOptions, address: &str) -> Result<String, StartError> {
    let path = &options.folder;
    let fail = |error: &dyn std::fmt::Display| StartError::folder(path, error);
    // Before the folder is opened: it has content then, and cannot join a cluster that exists already.
    let cluster = NewCluster::prepare(address).map_err(|error| fail(&error))?;
    let _lock = folder::lock(path)?;
    refuse_node(path)?;
    folder::require_restored(path)?;
    let (mut log, store, _) = options.recover(&Progress::default())?;
    epoch::begin_if_due(path, &mut log, &store)?;
    let base = path.join(FIRST_BASE);
    let written = bindery_base::write(&store, &log.reader(), &base).map_err(|error| fail(&error));
    let created = written.and_then(|header| cluster.create(path, &base, header.number).map_err(|error| fail(&error)));
    // It is not needed any more, whatever happened.
    let _ = std::fs::remove_file(&base);
    store.checkpoint().map_err(|error| fail(&error))?;
    created
}

/// Gives the log of a cluster back what it lost, from the folder of a node that is not running. Returns the number of
/// records that were appended.
///
/// # Errors
/// [`StartError`]. The folder is not changed.
pub fn repair_cluster(options: &ContentOptions, address: &str) -> Result<u64, StartError> {
    let path = &options.folder;
    let _lock = lock_node(path)?;
    let (log, ..) = options.recover(&Progress::default())?;
    append_missing(path, address, &log.reader(), log.last(), &bindery_store::ends_transaction)
        .map_err(|error| StartError::folder(path, &error))
}

/// Makes the content of a node that is not running that of the whole cluster: its history ends, and the next one begins
/// with what the node has. Temporary files are made within `temporary`.
///
/// # Errors
/// [`StartError`]. The folder is not changed.
pub fn begin_history_of(
    options: &ContentOptions,
    address: &str,
    temporary: &Path,
) -> Result<RestoredCluster, StartError> {
    let path = &options.folder;
    let fail = |error: &dyn std::fmt::Display| StartError::folder(path, error);
    let _lock = lock_node(path)?;
    let scratch = Scratch::create(temporary)?;
    let base = scratch.path(FIRST_BASE);
    let (log, store, _) = options.recover(&Progress::default())?;
    bindery_base::write(&store, &log.reader(), &base).map_err(|error| fail(&error))?;
    restore_cluster(options, address, &RestorePoint::Backup(base), temporary, true)
}

/// Keeps servers out of the folder of a node while the file is held. Makes neither a folder nor a file.
fn lock_node(path: &Path) -> Result<Option<File>, StartError> {
    let lock = folder::lock_existing(path)?;
    match is_node(path) {
        true => Ok(lock),
        false => Err(StartError::folder(path, &ReplicaError::NoNode { folder: path.to_owned() })),
    }
}

/// A node that is about to leave its cluster. No server starts on its folder meanwhile, and nothing changes before
/// [`LeavingNode::finish`].
#[derive(Debug)]
pub struct LeavingNode {
    folder: PathBuf,
    node: Leaving,
    _lock: Option<File>,
}

impl LeavingNode {
    /// Begins with the node in a folder.
    ///
    /// # Errors
    /// [`StartError`] if the folder is no node, or is in use.
    pub fn begin(folder: &Path) -> Result<LeavingNode, StartError> {
        let lock = folder::lock_existing(folder)?;
        let node = Leaving::begin(folder).map_err(|error| StartError::folder(folder, &error))?;
        Ok(LeavingNode { folder: folder.to_owned(), node, _lock: lock })
    }

    /// Checks that the storage at an address holds the cluster of the node. Must be called unless that storage is gone.
    ///
    /// # Errors
    /// [`StartError`] if it holds another cluster or none, or cannot be read.
    pub fn find_cluster(&mut self, address: &str) -> Result<(), StartError> {
        self.node.find_cluster(address).map_err(|error| StartError::folder(&self.folder, &error))
    }

    /// Makes a single server of the node.
    ///
    /// # Errors
    /// [`StartError`] if the disk fails. It can be tried again.
    pub fn finish(self) -> Result<(), StartError> {
        let LeavingNode { folder, node, _lock } = self;
        node.finish().map_err(|error| StartError::folder(&folder, &error))
    }
}
