//! How a data folder becomes a node, and stops being one.
//!
//! A node with an empty folder begins from the newest base. So does one that is too far behind, or whose history ended:
//! its copy is removed first. A crash in between leaves `is_joining` in `node.json`, and the next start begins again.

use std::fs;
use std::path::{Path, PathBuf};

use bindery_cluster::{BaseInfo, ClusterError, ClusterInfo, Store};
use bindery_disk::failure;

use crate::error::{ReplicaError, at};
use crate::log::ReplicatedLog;
use crate::membership::{Membership, new_name, parts_of};

/// The file to which a base is downloaded.
const DOWNLOAD: &str = "joining.base";

/// A data folder that is a node of a cluster, before its log is open.
#[derive(Debug)]
pub struct Node {
    pub(crate) folder: PathBuf,
    pub(crate) address: String,
    pub(crate) store: Store,
    pub(crate) membership: Membership,
}

impl Node {
    /// Prepares the node in a data folder, which the caller has locked. Fills the folder from the newest base if it is
    /// empty or its copy of the log cannot be continued. `report` gets the bytes that were downloaded, and all.
    ///
    /// If the storage cannot be reached, a folder that was a node before is used as it is: it answers reads, and
    /// continues when the storage can be reached.
    ///
    /// # Errors
    /// [`ReplicaError`], which says what is wrong and what to do. Nothing was lost.
    pub fn prepare(folder: &Path, address: &str, report: &dyn Fn(u64, u64)) -> Result<Node, ReplicaError> {
        let store = Store::open(address)?;
        let known = Membership::load(folder)?;
        let has_content = parts_of(folder).iter().any(|part| part.exists());
        if known.is_none() && has_content {
            return Err(ReplicaError::NotANode { folder: folder.to_owned(), address: address.to_owned() });
        }
        let cluster = match (store.cluster(), &known) {
            (Ok(cluster), _) => cluster,
            (Err(error @ ClusterError::Unreachable { .. }), Some(known)) if !known.is_joining => {
                tracing::warn!(%error, "this node answers reads until the log of its cluster can be reached");
                known.cluster
            }
            (Err(error), _) => return Err(error.into()),
        };
        if let Some(known) = &known {
            known.require_cluster(&cluster, folder, address)?;
        }
        let usable = known.clone().filter(|known| !known.is_joining && known.cluster == cluster);
        let folder = folder.to_owned();
        match usable {
            Some(membership) => Ok(Node { folder, address: address.to_owned(), store, membership }),
            None => {
                if known.is_none() {
                    store.probe()?;
                }
                let node = known.map_or_else(new_name, |known| Ok(known.node))?;
                Node::join(folder, address, store, &cluster, node, report)
            }
        }
    }

    /// Fills the folder from the newest base.
    fn join(
        folder: PathBuf,
        address: &str,
        store: Store,
        cluster: &ClusterInfo,
        node: String,
        report: &dyn Fn(u64, u64),
    ) -> Result<Node, ReplicaError> {
        let log = store.log(&cluster.history, &node)?;
        let base = log.newest_bases(1)?.into_iter().next();
        let base = base.ok_or_else(|| ClusterError::NoBase { name: "with which this history begins".to_owned() })?;
        tracing::info!(node, base = base.name, bytes = base.bytes, "this node begins from a base");
        let mut membership = Membership::new(*cluster, node, base.position);
        membership.save(&folder)?;
        failure::point("join::marked").map_err(at("join", &folder))?;
        for part in parts_of(&folder) {
            if part.exists() {
                fs::remove_dir_all(&part).map_err(at("remove", &part))?;
            }
        }
        place_base(&log, &base, &folder, report)?;
        failure::point("join::placed").map_err(at("join", &folder))?;
        membership.is_joining = false;
        membership.save(&folder)?;
        Ok(Node { folder, address: address.to_owned(), store, membership })
    }

    /// Makes the node begin from the newest base: the log no longer has what it needs next.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn begin_anew(self, report: &dyn Fn(u64, u64)) -> Result<Node, ReplicaError> {
        let Node { folder, address, store, membership } = self;
        let cluster = store.cluster()?;
        Node::join(folder, &address, store, &cluster, membership.node, report)
    }

    /// Continues the node's copy of the log, which must be at its end, with the shared log.
    ///
    /// # Errors
    /// [`ReplicaError::TooFarBehind`], after which [`Node::begin_anew`] helps; [`ReplicaError::Ahead`],
    /// [`ReplicaError::Diverged`]. It is no error if the storage cannot be reached.
    pub fn attach(&self, copy: bindery_log::Log) -> Result<ReplicatedLog, ReplicaError> {
        ReplicatedLog::attach(self, copy)
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.membership.node
    }
}

fn place_base(
    log: &bindery_cluster::Log,
    base: &BaseInfo,
    folder: &Path,
    report: &dyn Fn(u64, u64),
) -> Result<(), ReplicaError> {
    let download = folder.join(DOWNLOAD);
    log.download_base(base, &download, report)?;
    bindery_base::place(&download, folder, base.position.number)?;
    fs::remove_file(&download).map_err(at("remove", &download))
}

/// Checks the address of a log, and what the environment says about its storage, as [`Node::prepare`] does first. Sends
/// nothing.
///
/// # Errors
/// [`ReplicaError::Cluster`] if one of them is invalid.
pub fn check_address(address: &str) -> Result<(), ReplicaError> {
    Store::open(address)?;
    Ok(())
}

/// A storage in which a cluster can be made.
#[derive(Debug)]
pub struct NewCluster {
    store: Store,
}

impl NewCluster {
    /// Checks that the storage at an address can hold a cluster, and holds none.
    ///
    /// # Errors
    /// [`ReplicaError::Cluster`].
    pub fn prepare(address: &str) -> Result<NewCluster, ReplicaError> {
        let store = Store::open(address)?;
        store.probe()?;
        store.require_no_cluster()?;
        Ok(NewCluster { store })
    }

    /// Makes the cluster, whose content begins with the file `base` of this record number, and makes the folder its
    /// first node. The caller has locked the folder, and nothing was written since the base. Returns the name of the
    /// node.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn create(self, folder: &Path, base: &Path, number: u64) -> Result<String, ReplicaError> {
        let cluster = self.store.create_cluster(base, number)?;
        let position = bindery_cluster::Position::start(cluster.history.id, number);
        let mut membership = Membership::new(cluster, new_name()?, position);
        membership.is_joining = false;
        membership.save(folder)?;
        Ok(membership.node)
    }
}

/// A node that is about to leave its cluster. Nothing changes before [`Leaving::finish`].
#[derive(Debug)]
pub struct Leaving {
    folder: PathBuf,
    membership: Membership,
    /// The storage of the cluster, once it was found.
    store: Option<Store>,
}

impl Leaving {
    /// Begins with the node in a folder, which the caller has locked.
    ///
    /// # Errors
    /// [`ReplicaError::NoNode`] if the folder is no node.
    pub fn begin(folder: &Path) -> Result<Leaving, ReplicaError> {
        let known = Membership::load(folder)?;
        let membership = known.ok_or_else(|| ReplicaError::NoNode { folder: folder.to_owned() })?;
        Ok(Leaving { folder: folder.to_owned(), membership, store: None })
    }

    /// Checks that the storage at an address holds the cluster of the node. Without this call, the node leaves without
    /// its storage, and stays in the list of nodes for a day.
    ///
    /// # Errors
    /// [`ReplicaError::OtherCluster`]; if there is no cluster, or its storage cannot be read.
    pub fn find_cluster(&mut self, address: &str) -> Result<(), ReplicaError> {
        let store = Store::open(address)?;
        self.membership.require_cluster(&store.cluster()?, &self.folder, address)?;
        self.store = Some(store);
        Ok(())
    }

    /// Makes a single server of the node. The content is what the node has; the shared log keeps what came later.
    ///
    /// # Errors
    /// If the disk fails. It can be tried again.
    pub fn finish(self) -> Result<(), ReplicaError> {
        if let Some(store) = &self.store
            && let Err(error) = store.remove_node(&self.membership.node)
        {
            tracing::warn!(%error, "the cluster still lists this node");
        }
        Membership::remove(&self.folder)
    }
}
