//! The records in which the nodes of a cluster describe themselves.

use serde::{Deserialize, Serialize};

use crate::cluster::{Store, json, parse};
use crate::error::ClusterError;
use crate::objects::{MAX_JSON_BYTES, block};
use crate::position::Position;

const LONGEST_NAME: usize = 100;

/// What a node says about itself, every now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The name of the node, which no other node has.
    pub node: String,
    /// Where other nodes reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// The newest format of records that it reads.
    #[serde(default = "first_format")]
    pub reads_format: u32,
    /// The hash of the settings that must be the same on all nodes.
    pub settings_hash: String,
    /// The position that it has applied.
    pub position: Position,
    /// The time at which it said this, in milliseconds since 1970.
    pub at: u64,
    /// The seconds by which its clock is ahead of the storage's; 0 if it differs by two at most.
    #[serde(default)]
    pub clock_error: i64,
}

#[derive(Serialize, Deserialize)]
struct NodeFile {
    format: u64,
    #[serde(flatten)]
    record: NodeRecord,
}

fn first_format() -> u32 {
    1
}

impl Store {
    /// Replaces what the node has said about itself.
    ///
    /// # Errors
    /// [`ClusterError::NodeName`], or if the storage cannot be written.
    pub fn put_node(&self, record: &NodeRecord) -> Result<(), ClusterError> {
        check_name(&record.node)?;
        let bytes = json(&NodeFile { format: 1, record: record.clone() })?;
        block(async {
            // Over `file://`, a folder that was moved away would be made again.
            self.objects.check_folder(None).await?;
            self.objects.overwrite(&format!("nodes/{}.json", record.node), bytes).await
        })
    }

    /// Removes what a node has said, because it has left the cluster.
    ///
    /// # Errors
    /// [`ClusterError::NodeName`], or if the storage cannot be written.
    pub fn remove_node(&self, node: &str) -> Result<(), ClusterError> {
        check_name(node)?;
        block(self.objects.remove(&format!("nodes/{node}.json")))
    }

    /// Returns what all nodes say, ordered by name. Leaves out what cannot be read, and logs it.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn nodes(&self) -> Result<Vec<NodeRecord>, ClusterError> {
        block(async {
            let mut nodes = Vec::new();
            for object in self.objects.list("nodes", None).await? {
                let Some(name) = object.location.filename().map(|name| format!("nodes/{name}")) else { continue };
                let Some(bytes) = self.objects.get(&name, MAX_JSON_BYTES).await? else { continue };
                match parse::<NodeFile>(&name, &bytes) {
                    Ok(file) => nodes.push(file.record),
                    Err(error) => tracing::warn!("{error}"),
                }
            }
            nodes.sort_by(|a, b| a.node.cmp(&b.node));
            Ok(nodes)
        })
    }
}

/// Names of nodes are parts of names of objects and files.
pub(crate) fn check_name(name: &str) -> Result<(), ClusterError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_valid = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_allowed);
    if is_valid { Ok(()) } else { Err(ClusterError::NodeName { name: name.to_owned() }) }
}
