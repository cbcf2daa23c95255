//! The file `node.json`: which node of which cluster a data folder is, and a position from which the shared log
//! continues the node's copy.
//!
//! The position is that of an older group, not of the copy's end, so that it need not be written for each group. The
//! ends of the groups behind it are kept apart (`ends.rs`).

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use bindery_cluster::{ClusterInfo, Position};
use bindery_disk::sync;
use serde::{Deserialize, Serialize};

use crate::ends;
use crate::error::{ReplicaError, at};

/// The name of the file in a data folder.
pub const NODE_FILE: &str = "node.json";
const UNFINISHED: &str = "node.json.new";
const FORMAT: u64 = 1;

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Membership {
    format: u64,
    /// The cluster, and the history that the copy of the log belongs to.
    pub(crate) cluster: ClusterInfo,
    /// The name of this node.
    pub(crate) node: String,
    /// A position whose record is in the copy, or is the one before its first.
    pub(crate) position: Position,
    /// True from before the folder is emptied until the base is in place.
    pub(crate) is_joining: bool,
}

impl Membership {
    pub(crate) fn new(cluster: ClusterInfo, node: String, position: Position) -> Membership {
        Membership { format: FORMAT, cluster, node, position, is_joining: true }
    }

    /// Reads the file; `None` if there is none.
    pub(crate) fn load(folder: &Path) -> Result<Option<Membership>, ReplicaError> {
        let file = folder.join(NODE_FILE);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at("read", &file)(error)),
        };
        let damaged = |what: String| ReplicaError::Damaged { file: file.clone(), what };
        let read: Membership = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        match read.format {
            FORMAT => Ok(Some(read)),
            other => {
                Err(damaged(format!("it has format {other}, and this version of the server knows format {FORMAT}")))
            }
        }
    }

    /// Replaces the file. Durable on return.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), ReplicaError> {
        let unfinished = folder.join(UNFINISHED);
        let written = serde_json::to_vec_pretty(self).map_err(std::io::Error::other).and_then(|bytes| {
            let mut file = File::create(&unfinished)?;
            file.write_all(&bytes)?;
            sync::all(&file)
        });
        written.map_err(at("write", &unfinished))?;
        fs::rename(&unfinished, folder.join(NODE_FILE)).map_err(at("rename", &unfinished))?;
        sync_folder(folder)
    }

    /// Checks that the cluster at an address is that of the node in this folder.
    pub(crate) fn require_cluster(
        &self,
        found: &ClusterInfo,
        folder: &Path,
        address: &str,
    ) -> Result<(), ReplicaError> {
        let (own, found) = (self.cluster.id, found.id);
        if own == found {
            return Ok(());
        }
        Err(ReplicaError::OtherCluster { folder: folder.to_owned(), own, address: address.to_owned(), found })
    }

    /// Removes the file: the folder is a single server's from then on.
    pub(crate) fn remove(folder: &Path) -> Result<(), ReplicaError> {
        let file = folder.join(NODE_FILE);
        // Before the file, so that a call that fails can be repeated.
        let ends = ends::folder_in(folder);
        if ends.exists() {
            fs::remove_dir_all(&ends).map_err(at("remove", &ends))?;
        }
        fs::remove_file(&file).map_err(at("remove", &file))?;
        sync_folder(folder)
    }
}

/// Returns whether a data folder is a node of a cluster.
#[must_use]
pub fn is_node(folder: &Path) -> bool {
    folder.join(NODE_FILE).exists()
}

pub(crate) fn sync_folder(folder: &Path) -> Result<(), ReplicaError> {
    File::open(folder).and_then(|folder| sync::all(&folder)).map_err(at("sync", folder))
}

/// Draws the name of a new node.
pub(crate) fn new_name() -> Result<String, ReplicaError> {
    let random = getrandom::u32().map_err(|error| at("name", Path::new("a node"))(std::io::Error::other(error)))?;
    Ok(format!("node-{random:08x}"))
}

/// The parts of a data folder that a node makes anew when it joins.
pub(crate) fn parts_of(folder: &Path) -> [PathBuf; 5] {
    let [log, store, index, base] = ["log", "store", "index", "base"].map(|name| folder.join(name));
    [log, store, index, base, ends::folder_in(folder)]
}
