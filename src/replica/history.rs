//! The log of a cluster for a command that is not one of its nodes: reading it up to some moment, beginning a new
//! history that continues it from there, and appending to it.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use bindery_cluster::{
    AppendError, BaseInfo, ClusterError, ClusterInfo, Found, Log, NodeRecord, Position, Store, Wait,
};
use bindery_disk::failure;

use crate::error::{ReplicaError, at};
use crate::log::at_most;
use crate::upkeep::own_clock;

/// The node that groups name as their writer.
const WRITER: &str = "command";
/// The longest time of an append.
const APPENDING: Duration = Duration::from_secs(60);
/// The bases that are looked at. Older ones are removed soon.
const BASES: usize = 16;

/// The newest history of a cluster, for somebody who is not one of its nodes.
#[derive(Debug)]
pub struct NewestHistory {
    store: Store,
    cluster: ClusterInfo,
    log: Log,
}

impl NewestHistory {
    /// Looks up the newest history at an address.
    ///
    /// # Errors
    /// [`ReplicaError::Cluster`] if there is no cluster, or its storage cannot be read.
    pub fn open(address: &str) -> Result<NewestHistory, ReplicaError> {
        let store = Store::open(address)?;
        let cluster = store.cluster()?;
        let log = store.log(&cluster.history, WRITER)?;
        Ok(NewestHistory { store, cluster, log })
    }

    /// Returns its number: 1, unless the cluster was restored.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.cluster.history.number
    }

    /// Returns the bases of the history, newest first.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn bases(&self) -> Result<Vec<BaseInfo>, ReplicaError> {
        Ok(self.log.newest_bases(BASES)?)
    }

    /// Downloads a base into a file.
    ///
    /// # Errors
    /// If the storage or the disk fails.
    pub fn download(&self, base: &BaseInfo, to: &Path) -> Result<(), ReplicaError> {
        Ok(self.log.download_base(base, to, &|_, _| ())?)
    }

    /// Calls `each` with the number and the bytes of every record behind a position, until it breaks or the log ends.
    /// Returns the position behind the last group that was read.
    ///
    /// # Errors
    /// [`ReplicaError::TooFarBehind`] if a group was removed, [`ClusterError::Gap`] if one is lost; the errors of
    /// `each`; that the storage cannot be read.
    pub fn read<E: From<ReplicaError>>(
        &self,
        from: Position,
        mut each: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, E>,
    ) -> Result<Position, E> {
        let mut position = from;
        let mut groups = self.log.read_ahead(from).map_err(ReplicaError::from)?;
        loop {
            let seq = position.seq + 1;
            let (group, end) = match groups.read() {
                Ok(Found::Group(group, end)) => (group, end),
                Ok(Found::Removed) => return Err(ReplicaError::TooFarBehind { seq }.into()),
                // An earlier attempt to restore may have sealed it.
                Ok(Found::Missing) | Err(ClusterError::Sealed { .. }) => return Ok(position),
                Err(error) => return Err(ReplicaError::from(error).into()),
            };
            for (number, record) in (group.first..).zip(&group.records) {
                if each(number, record)?.is_break() {
                    return Ok(end);
                }
            }
            position = end;
        }
    }

    /// Ends the history, and begins the next one with the file `base`, whose last record has this number. Nothing that
    /// was written after that is in the new history. Whoever writes meanwhile is refused, and everything that was
    /// acknowledged stays in the old history. Returns the number of the new history.
    ///
    /// # Errors
    /// [`ReplicaError`]. If the history was ended and the next one did not begin, nobody can write until a repeated
    /// call succeeds.
    pub fn continue_from(self, base: &Path, number: u64) -> Result<u32, ReplicaError> {
        let point = |name: &'static str| failure::point(name).map_err(at("restore from", base));
        point("history::replayed")?;
        // The new base is uploaded first: writes go on until the seal.
        let prepared = self.store.prepare_next_history(&self.cluster.history, base, number)?;
        point("history::prepared")?;
        self.seal()?;
        point("history::sealed")?;
        let history = self.store.begin_history(prepared)?;
        point("history::begun")?;
        Ok(history.number)
    }

    /// Appends a transaction behind everything that the nodes wrote, while they run. Durable on return. Returns the
    /// number of its last record.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn append(&self, records: &[Vec<u8>]) -> Result<u64, ReplicaError> {
        let appended = self.at_end(|position, waiting| self.log.append(position, records, 0, waiting))?;
        Ok(appended.number)
    }

    /// Returns the time by which the nodes go, in milliseconds since 1970: that of this machine, held near that of the
    /// storage.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.store.hold(own_clock())
    }

    /// Returns what the nodes of the cluster said of themselves last.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn nodes(&self) -> Result<Vec<NodeRecord>, ReplicaError> {
        Ok(self.store.nodes()?)
    }

    fn seal(&self) -> Result<(), ReplicaError> {
        match self.at_end(|position, waiting| self.log.seal(position, waiting)) {
            // An earlier attempt may have done it.
            Ok(_) | Err(ReplicaError::Cluster(ClusterError::Sealed { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Appends something at the end of the log, wherever that is by then.
    fn at_end(
        &self,
        append: impl Fn(&Position, &mut dyn FnMut(Wait) -> ControlFlow<()>) -> Result<Position, AppendError>,
    ) -> Result<Position, ReplicaError> {
        let mut waiting = at_most(APPENDING);
        let newest = self.bases()?.into_iter().next();
        let newest =
            newest.ok_or_else(|| ClusterError::NoBase { name: "with which this history begins".to_owned() })?;
        let mut position = newest.position;
        loop {
            position = self.read(position, |_, _| Ok::<_, ReplicaError>(ControlFlow::Continue(())))?;
            if let Err(error @ ClusterError::Sealed { .. }) = self.log.read(&position) {
                return Err(error.into());
            }
            match append(&position, &mut waiting) {
                Ok(end) => return Ok(end),
                Err(AppendError::Conflict { .. }) => {}
                Err(AppendError::Removed { seq }) => return Err(ReplicaError::TooFarBehind { seq }),
                Err(error) => return Err(ReplicaError::NotAppended { reason: error.to_string() }),
            }
        }
    }
}
