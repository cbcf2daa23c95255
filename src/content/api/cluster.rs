//! A content as a node of a cluster: who leads, how far behind the node is, and the confirmation of what it has.

use std::sync::Arc;
use std::time::Duration;

use bindery_model::error::Result;
use bindery_replica::{Standing, Upkeep};

use crate::command::Command;
use crate::data::leader::Leader;
use crate::handle::Content;

/// The options of a content that shares its log with others.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The address of the log, such as `s3://bucket/prefix`.
    pub log: String,
    /// The address at which the other nodes reach this one.
    pub node_address: String,
    /// The version of the program.
    pub version: String,
    /// A hash of the settings that must be the same on all nodes.
    pub settings_hash: String,
    /// The time without the log after which the node is not ready.
    pub max_lag: Duration,
}

/// The membership of a running content in a cluster.
pub(crate) struct ClusterNode {
    pub(crate) upkeep: Upkeep,
    pub(crate) max_lag: Duration,
}

/// A node of a cluster, as it sees itself.
#[derive(Debug, Clone)]
pub struct NodeStatus {
    /// The name of the node.
    pub node: String,
    /// The address at which the other nodes reach it.
    pub address: String,
    /// How far it is.
    pub standing: Standing,
    /// The time without the log after which it is not ready.
    pub max_lag: Duration,
    /// The leader; `None` before the first one.
    pub leader: Option<Arc<Leader>>,
    /// True if this node leads.
    pub leads: bool,
}

impl Content {
    /// Returns the status as a node; `None` for a single server.
    pub fn node(&self) -> Option<NodeStatus> {
        let cluster = self.shared.cluster.as_ref()?;
        let leader = self.state().leader.clone();
        let node = cluster.upkeep.node().to_owned();
        let leads = leader.as_ref().is_some_and(|leader| leader.node == node);
        let (address, standing) = (cluster.upkeep.address().to_owned(), cluster.upkeep.status().get());
        Some(NodeStatus { node, address, standing, max_lag: cluster.max_lag, leader, leads })
    }

    /// Returns the regular work of the node; `None` for a single server.
    pub fn upkeep(&self) -> Option<&Upkeep> {
        self.shared.cluster.as_ref().map(|cluster| &cluster.upkeep)
    }

    /// Returns whether this server does the regular jobs, such as webhooks: a single server does, and the leader of a
    /// cluster.
    pub fn does_jobs(&self) -> bool {
        self.node().is_none_or(|node| node.leads)
    }

    /// Makes this node the leader, with the term after the present one. Durable on return.
    ///
    /// # Errors
    /// `CONFLICT` if another node has taken the term meanwhile; those of a write.
    pub async fn take_the_lead(&self) -> Result<()> {
        let Some(node) = self.node() else { return Ok(()) };
        let term = node.leader.map_or(1, |leader| leader.term + 1);
        let leader = Leader { node: node.node, address: node.address, term };
        self.submit(Command::Lead(leader)).await.map(|_| ())
    }

    /// Returns the number of the last log record of the state that readers see.
    pub fn number(&self) -> u64 {
        self.state().number
    }

    /// Confirms that this server has everything that was acknowledged by any server before the call. Returns the number of
    /// the state that includes it.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE`, `OVERLOADED`.
    pub async fn confirm(&self) -> Result<u64> {
        if self.shared.cluster.is_some() {
            self.submit(Command::Wait).await?;
        }
        Ok(self.number())
    }
}
