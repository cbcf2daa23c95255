//! A content as a node of a cluster: who leads, how far behind the node is, and the confirmation of what it has.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bindery_access::Access;
use bindery_model::error::{Code, Error, Result};
use bindery_model::time::Millis;
use bindery_replica::{Standing, Upkeep};

use crate::command::Command;
use crate::data::leader::Leader;
use crate::handle::Content;

/// The time without a look at the end of the log after which a leader pauses its jobs.
const JOBS_PAUSE_AFTER: Duration = Duration::from_secs(10);

tokio::task_local! {
    /// The number of the newest state that the request of this task has used.
    static USED_NUMBER: Cell<Option<u64>>;
}

/// Runs the handler of a request. Also returns the number of the last log record of the state that it used; of several,
/// the newest. `None` if it used none.
pub async fn noting_number<T>(handler: impl Future<Output = T>) -> (T, Option<u64>) {
    USED_NUMBER
        .scope(Cell::new(None), async {
            let output = handler.await;
            (output, USED_NUMBER.with(Cell::get))
        })
        .await
}

/// Notes that the request of this task uses a state.
pub(crate) fn note_used(number: u64) {
    // Outside a request, nobody asks for it.
    let _ = USED_NUMBER.try_with(|used| used.set(used.get().max(Some(number))));
}

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
    /// The id of the history of the cluster that it follows.
    pub history: String,
    /// How far it is.
    pub standing: Standing,
    /// The time for which it has worked at one group of writes without a sign of life, such as at a disk that does not
    /// answer.
    pub stuck_for: Duration,
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
        let (address, history) = (cluster.upkeep.address().to_owned(), cluster.upkeep.history());
        let standing = self.standing(cluster);
        // A node that led before it was stopped may not know yet that another one leads now.
        let leads = standing.has_caught_up && leader.as_ref().is_some_and(|leader| leader.node == node);
        let (stuck_for, max_lag) = (self.shared.counters.stuck_for(), cluster.max_lag);
        Some(NodeStatus { node, address, history, standing, stuck_for, max_lag, leader, leads })
    }

    /// Returns the state of the node. Until it has had everything since it was started, it is as far behind as the
    /// newest transaction that it has is old.
    fn standing(&self, cluster: &ClusterNode) -> Standing {
        let mut standing = cluster.upkeep.status().get();
        if !standing.has_caught_up {
            let age = self.clock_time().saturating_sub(self.state().released).max(0);
            standing.lag = standing.lag.max(Duration::from_millis(age.cast_unsigned()));
        }
        standing
    }

    /// Returns the regular work of the node; `None` for a single server.
    pub fn upkeep(&self) -> Option<&Upkeep> {
        self.shared.cluster.as_ref().map(|cluster| &cluster.upkeep)
    }

    /// Checks that the node follows the log of its cluster closely enough for readers. A single server does.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE`, whose message is the reason.
    pub fn check_follows(&self) -> Result<()> {
        let Some(cluster) = self.shared.cluster.as_ref() else { return Ok(()) };
        let (standing, stuck_for) = (cluster.upkeep.status().get(), self.shared.counters.stuck_for());
        let why = match standing.fault {
            Some(fault) => format!("it has stopped following the log of its cluster: {fault}"),
            None if !standing.has_caught_up => "it is catching up with the log of its cluster".to_owned(),
            None if standing.lag > cluster.max_lag => {
                format!("it has not reached the log of its cluster for {} seconds", standing.lag.as_secs())
            }
            None if stuck_for > cluster.max_lag => {
                format!("it has worked at one write for {} seconds, so its disk may hang", stuck_for.as_secs())
            }
            None => return Ok(()),
        };
        Err(Error::new(Code::LogUnreachable, format!("this server is not ready: {why}")))
    }

    /// Checks that the stored rights of a sender can still be relied on: a node that has not reached the log for long
    /// does not know whether they were revoked. Those that may only view are accepted.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE`.
    pub fn check_rights_are_known(&self, access: &Access) -> Result<()> {
        let Some(cluster) = self.shared.cluster.as_ref().filter(|_| !access.only_views()) else { return Ok(()) };
        let lag = self.standing(cluster).lag;
        if lag <= cluster.max_lag {
            return Ok(());
        }
        let text = format!(
            "this server has not reached the log of its cluster for {} seconds, so it does not know whether this token is still valid; \
             until then it accepts only tokens that have no ability but `view`",
            lag.as_secs()
        );
        Err(Error::new(Code::LogUnreachable, text))
    }

    /// Returns the term under which this server does the regular jobs, such as webhooks; `None` if it does none. A
    /// single server does them, and the leader of a cluster, unless it has not been at the end of the log for long:
    /// then another node may lead.
    pub fn job_term(&self) -> Option<u64> {
        let Some(node) = self.node() else { return Some(self.state().term()) };
        let does_jobs = node.leads && node.standing.lag < JOBS_PAUSE_AFTER;
        node.leader.filter(|_| does_jobs).map(|leader| leader.term)
    }

    /// Returns whether this server does the regular jobs, such as the removal of files.
    pub fn does_jobs(&self) -> bool {
        self.job_term().is_some()
    }

    /// Makes this node the leader, with the term after the present one. Durable on return.
    ///
    /// # Errors
    /// `CONFLICT` if another node has taken the term meanwhile; those of a write.
    pub async fn take_the_lead(&self) -> Result<()> {
        match self.node() {
            Some(own) => self.lead_next(&own, own.node.clone(), own.address.clone()).await,
            None => Ok(()),
        }
    }

    /// Makes another node the leader, if this one leads. Durable on return.
    ///
    /// # Errors
    /// Those of [`Content::take_the_lead`].
    pub async fn hand_over_to(&self, node: String, address: String) -> Result<()> {
        match self.node().filter(|own| own.leads) {
            Some(own) => self.lead_next(&own, node, address).await,
            None => Ok(()),
        }
    }

    async fn lead_next(&self, seen: &NodeStatus, node: String, address: String) -> Result<()> {
        let term = seen.leader.as_ref().map_or(1, |leader| leader.term + 1);
        self.submit(Command::Lead(Leader { node, address, term })).await.map(|_| ())
    }

    /// Returns the time by which this server decides, in milliseconds since 1970. That of a node differs by two seconds
    /// at most from the clock of its cluster's storage, if that has one.
    pub fn now(&self) -> Millis {
        self.shared.time.now()
    }

    /// Like [`Content::now`], but goes back with the clock: nodes agree on it again as soon as their clocks do, also
    /// after a transaction that was decided by a clock that was ahead.
    pub fn clock_time(&self) -> Millis {
        self.shared.time.shown()
    }

    /// Returns how far the node is behind; `None` for a single server.
    pub fn node_lag(&self) -> Option<Duration> {
        self.shared.cluster.as_ref().map(|cluster| self.standing(cluster).lag)
    }

    /// Returns the number of the last log record of the state that readers see.
    pub fn number(&self) -> u64 {
        self.state().number
    }

    /// Runs a check that may refuse a write before it reaches the committer. On a node, a refusal counts only if it was
    /// decided against a state that was confirmed after the call: another node may have written long ago what is
    /// missing here.
    ///
    /// # Errors
    /// Those of the check; `LOG_UNREACHABLE` if its refusal cannot be confirmed.
    pub async fn checked<T>(&self, check: impl Fn() -> Result<T>) -> Result<T> {
        match check() {
            Err(_) if self.shared.cluster.is_some() => {
                self.confirm().await?;
                check()
            }
            checked => checked,
        }
    }

    /// Confirms that this server has everything that was acknowledged by any server before the call. Returns the number
    /// of the state that includes it.
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
