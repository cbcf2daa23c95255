//! The analytics as the rest of a server uses them, whoever counts.

use std::path::Path;
use std::sync::Arc;

use bindery_analytics::{Analytics, AskedBefore, Countable, SearchId};
use bindery_model::error::{Code, Error, Result};
use bytes::Bytes;

use crate::error::CountingError;
use crate::node::{Node, NodeOptions, Received, not_counting};

/// The analytics of a server. Clones are the same.
#[derive(Clone)]
pub struct ServerAnalytics(Counts);

#[derive(Clone)]
enum Counts {
    /// This server counts what it is sent.
    Itself(Analytics),
    /// One node of a cluster counts for all.
    Together(Arc<Node>),
}

impl From<Analytics> for ServerAnalytics {
    fn from(analytics: Analytics) -> ServerAnalytics {
        ServerAnalytics(Counts::Itself(analytics))
    }
}

impl ServerAnalytics {
    /// Returns the analytics of a node, which counts nothing until [`ServerAnalytics::tend`] says that it leads.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn of_node(options: NodeOptions) -> Result<ServerAnalytics, CountingError> {
        Ok(ServerAnalytics(Counts::Together(Arc::new(Node::new(options)?))))
    }

    fn node(&self) -> Option<&Arc<Node>> {
        match &self.0 {
            Counts::Together(node) => Some(node),
            Counts::Itself(_) => None,
        }
    }

    /// Returns whether one node of the cluster counts for all.
    pub fn is_shared(&self) -> bool {
        self.node().is_some()
    }

    /// Returns the analytics that have all figures.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE` if another node has them.
    pub fn counting(&self) -> Result<Analytics> {
        match &self.0 {
            Counts::Itself(analytics) => Ok(analytics.clone()),
            Counts::Together(node) => node.counting().ok_or_else(not_counting),
        }
    }

    /// Returns whether anything is counted. If not, the analytics could not be opened.
    pub fn is_open(&self) -> bool {
        match &self.0 {
            Counts::Itself(analytics) => analytics.is_open(),
            Counts::Together(_) => true,
        }
    }

    /// See [`Analytics::submit`]. In a cluster, figures include it about a second later.
    pub fn submit(&self, what: impl Into<Countable>) {
        match &self.0 {
            Counts::Itself(analytics) => analytics.submit(what),
            Counts::Together(node) => node.submit(what.into()),
        }
    }

    /// See [`Analytics::issue_search`].
    pub fn issue_search(&self) -> Option<SearchId> {
        match &self.0 {
            Counts::Itself(analytics) => analytics.issue_search(),
            Counts::Together(node) => node.salts().issue_search(node.now()),
        }
    }

    /// See [`Analytics::clickable_search`]. In a cluster, any node may have issued it.
    ///
    /// # Errors
    /// Those of [`Analytics::clickable_search`].
    pub fn clickable_search(&self, id: &str) -> Result<u64> {
        match &self.0 {
            Counts::Itself(analytics) => analytics.clickable_search(id),
            Counts::Together(node) => node.salts().clickable_search(id, node.now()),
        }
    }

    /// See [`Analytics::asked_before`].
    pub fn asked_before(&self) -> Option<Arc<AskedBefore>> {
        match &self.0 {
            Counts::Itself(analytics) => analytics.asked_before(),
            Counts::Together(node) => node.asked_before(),
        }
    }

    /// Returns the numbers of searches and of clicks that this server counted since it began to count.
    pub fn searches_and_clicks(&self) -> (u64, u64) {
        self.counting().map_or((0, 0), |analytics| analytics.searches_and_clicks())
    }

    /// Returns the number of pageviews, events, searches and clicks that this server dropped since its start.
    pub fn dropped(&self) -> u64 {
        match &self.0 {
            Counts::Itself(analytics) => analytics.dropped(),
            Counts::Together(node) => node.dropped(),
        }
    }

    /// Writes everything except the salts to a file, see [`Analytics::backup`]. A node that does not count writes what
    /// is in the storage of the cluster: all but the last ten seconds.
    ///
    /// # Errors
    /// Those of [`Analytics::backup`]; `LOG_UNREACHABLE` if the storage fails.
    pub fn backup(&self, file: &Path) -> Result<()> {
        match &self.0 {
            Counts::Itself(analytics) => analytics.backup(file),
            Counts::Together(node) => match node.counting() {
                Some(analytics) => analytics.backup(file),
                None => Ok(node.backup_of_storage(file)?),
            },
        }
    }

    /// Writes what these analytics counted to the storage of the cluster, if one node counts for all. On return it
    /// survives the loss of this server. Blocks.
    ///
    /// # Errors
    /// `OUTCOME_UNKNOWN` if the storage fails, which is tried again then, and if this node does not count with them any
    /// more: they may have been written when it ended.
    pub fn publish(&self, analytics: &Analytics) -> Result<()> {
        let Some(node) = self.node() else { return Ok(()) };
        node.publish(analytics).map_err(|error| match Error::from(error) {
            Error { code: Code::LogUnreachable | Code::Overloaded, message, .. } => {
                let what = "it is not known whether this was kept; send it again, nothing counts twice";
                Error::new(Code::OutcomeUnknown, format!("{what}: {message}"))
            }
            error => error,
        })
    }

    /// Does what is due on a node, which leads the cluster or not. Must be called about once a second. Blocks.
    pub fn tend(&self, leads: bool) {
        if let Some(node) = self.node() {
            node.tend(leads);
        }
    }

    /// Ends to count for a cluster for good. On return, everything that was counted is in the storage, unless that
    /// fails. Blocks.
    pub fn stop_counting(&self) {
        if let Some(node) = self.node() {
            node.stop();
        }
    }

    /// Counts a batch of another node, if it was not counted before. Blocks.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE` if this node does not count; `OVERLOADED` if too much waits to be counted; `MALFORMED_JSON`.
    pub fn receive(&self, body: &[u8]) -> Result<Received> {
        self.node().ok_or_else(not_counting)?.receive(body)
    }

    /// Returns the batch to send to the node that counts, which has counted those up to `counted`; with its number.
    /// `None` if there is none.
    pub fn next_batch(&self, counted: u64) -> Option<(u64, Bytes)> {
        self.node()?.next_batch(counted)
    }

    /// Returns a body without a batch, to ask which ones are confirmed. `None` if all are.
    pub fn question(&self) -> Option<Bytes> {
        self.node()?.question()
    }

    /// Forgets the batches up to this one: they are in the storage.
    pub fn confirm(&self, through: u64) {
        if let Some(node) = self.node() {
            node.confirm(through);
        }
    }

    /// Returns whether somebody asked this node for questions since they were last replaced.
    pub fn wants_questions(&self) -> bool {
        self.node().is_some_and(|node| node.wants_questions())
    }

    /// Replaces the questions that are suggested, which the node that counts has.
    pub fn set_asked_before(&self, list: AskedBefore) {
        if let Some(node) = self.node() {
            node.set_asked_before(list);
        }
    }

    /// Writes out everything. What comes afterwards is dropped. Blocks.
    pub fn close(&self) {
        match &self.0 {
            Counts::Itself(analytics) => analytics.close(),
            Counts::Together(node) => node.stop(),
        }
    }
}
