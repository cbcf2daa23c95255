//! A store that holds a cluster: its id and its histories.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::address;
use crate::bases;
use crate::error::ClusterError;
use crate::http::StoreDate;
use crate::id::random_id;
use crate::log::Log;
use crate::nodes::check_name;
use crate::objects::{CLUSTER_FILE, MAX_JSON_BYTES, Objects, again, block};
use crate::position::Position;
use crate::probe;

/// The format of the objects in JSON. Their readers ignore members that they do not know.
const FORMAT: u64 = 1;

/// The storage at one address.
#[derive(Clone)]
pub struct Store {
    pub(crate) objects: Arc<Objects>,
}

/// A cluster, and the history that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// The id of the cluster, which stays the same for ever.
    #[serde(with = "crate::id")]
    pub id: Uuid,
    /// The newest history.
    pub history: History,
}

/// One log from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// 1, 2, 3. The highest one counts.
    pub number: u32,
    /// The id, which nothing else has.
    #[serde(with = "crate::id")]
    pub id: Uuid,
}

/// A history whose base is in the storage, and which does not exist yet.
#[derive(Debug)]
pub struct PreparedHistory {
    history: History,
    file: HistoryFile,
}

/// The object `cluster.json`.
#[derive(Debug, Serialize, Deserialize)]
struct ClusterFile {
    format: u64,
    #[serde(with = "crate::id")]
    id: Uuid,
}

/// An object in `histories/`.
#[derive(Debug, Serialize, Deserialize)]
struct HistoryFile {
    format: u64,
    #[serde(with = "crate::id")]
    id: Uuid,
    /// The name of the first base.
    base: String,
    /// The number of the last record in the first base.
    number: u64,
    /// The history that ended for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<u32>,
}

impl Store {
    /// Prepares requests to the storage at an address: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
    /// `az://CONTAINER/PREFIX`, `postgres://USER@HOST/DATABASE`, `file:///FOLDER`, or `memory://NAME`, which this
    /// process keeps and shares. Credentials and options come from the environment, by the variables that each provider
    /// has for them. Sends nothing.
    ///
    /// # Errors
    /// [`ClusterError::Address`] if the address, or a setting in the environment, is invalid.
    pub fn open(url: &str) -> Result<Store, ClusterError> {
        Ok(Store { objects: Arc::new(address::open(url)?) })
    }

    /// Uses a store that a test made.
    #[cfg(test)]
    pub(crate) fn of(store: Arc<dyn object_store::ObjectStore>) -> Store {
        let clients = address::Clients::same(store);
        let [ask, first, longest] = [1, 1, 100].map(std::time::Duration::from_millis);
        let pauses = crate::append::Pauses { ask, first, longest };
        Store { objects: Arc::new(Objects { pauses, ..Objects::new("test://store", clients, "prefix".into()) }) }
    }

    /// Checks that the storage does what the log depends on, by racing creators of the same names, and removes what
    /// that made. This is no proof: it finds stores that ignore the condition.
    ///
    /// # Errors
    /// [`ClusterError::Unsuitable`] says what the storage does instead. Other errors if the check could not be made.
    pub fn probe(&self) -> Result<(), ClusterError> {
        block(probe::probe(&self.objects))
    }

    /// Checks that the storage holds no cluster.
    ///
    /// # Errors
    /// [`ClusterError::Exists`] if it holds one; other errors if it cannot be read.
    pub fn require_no_cluster(&self) -> Result<(), ClusterError> {
        block(self.require_no_history())
    }

    async fn require_no_history(&self) -> Result<(), ClusterError> {
        match self.newest_history().await? {
            Some(_) => Err(self.exists()),
            None => Ok(()),
        }
    }

    fn exists(&self) -> ClusterError {
        ClusterError::Exists { address: self.objects.address().to_owned() }
    }

    /// Creates a cluster whose content begins with the file `base`, which ends with the record `number`. If an earlier
    /// creation was interrupted, completes it under the same id of the cluster.
    ///
    /// # Errors
    /// [`ClusterError::Exists`] if there is a cluster already.
    pub fn create_cluster(&self, base: &Path, number: u64) -> Result<ClusterInfo, ClusterError> {
        block(self.create_cluster_async(base, number))
    }

    async fn create_cluster_async(&self, base: &Path, number: u64) -> Result<ClusterInfo, ClusterError> {
        self.require_no_history().await?;
        let id = match self.cluster_id().await {
            Ok(id) => id,
            Err(ClusterError::NoCluster { .. } | ClusterError::NoBucket { .. }) => self.create_id().await?,
            Err(error) => return Err(error),
        };
        let prepared = self.prepare_history(1, None, base, number).await?;
        match self.create_history(prepared).await {
            Ok(history) => Ok(ClusterInfo { id, history }),
            Err(ClusterError::HistoryExists { .. }) => Err(self.exists()),
            Err(error) => Err(error),
        }
    }

    /// Creates `cluster.json`, or returns the id that another call wrote meanwhile.
    async fn create_id(&self) -> Result<Uuid, ClusterError> {
        let id = random_id()?;
        if self.objects.create_certainly(CLUSTER_FILE, &json(&ClusterFile { format: FORMAT, id })?).await? {
            return Ok(id);
        }
        self.cluster_id().await
    }

    /// Uploads the file `base`, which ends with the record `number`, as the beginning of the history after `after`.
    /// Until [`Store::begin_history`] that history does not exist, and nodes ignore what was uploaded.
    ///
    /// # Errors
    /// If the file cannot be read, or the storage fails.
    pub fn prepare_next_history(
        &self,
        after: &History,
        base: &Path,
        number: u64,
    ) -> Result<PreparedHistory, ClusterError> {
        block(self.prepare_history(after.number.saturating_add(1), Some(after.number), base, number))
    }

    /// Begins a history, to which all nodes move. The caller has made sure that nothing is appended to the one before
    /// it any more ([`Log::seal`]).
    ///
    /// # Errors
    /// [`ClusterError::HistoryExists`] if another call began it.
    pub fn begin_history(&self, prepared: PreparedHistory) -> Result<History, ClusterError> {
        block(self.create_history(prepared))
    }

    async fn prepare_history(
        &self,
        number: u32,
        previous: Option<u32>,
        base: &Path,
        record: u64,
    ) -> Result<PreparedHistory, ClusterError> {
        let history = History { number, id: random_id()? };
        let base = bases::upload(&self.objects, &history, base, &Position::start(history.id, record), &|| true).await?;
        let file = HistoryFile { format: FORMAT, id: history.id, base: base.name, number: record, previous };
        Ok(PreparedHistory { history, file })
    }

    /// Creates the name of the history. The base of a creation that did not get this far belongs to a history that
    /// never exists, so it is ignored.
    async fn create_history(&self, prepared: PreparedHistory) -> Result<History, ClusterError> {
        let PreparedHistory { history, file } = prepared;
        let was_created = self.objects.create_certainly(&history.file(), &json(&file)?).await?;
        if was_created {
            return Ok(history);
        }
        if let Err(error) = self.objects.remove(&bases::path(&history, &file.base)).await {
            tracing::warn!("a base that no history needs stays in the storage: {error}");
        }
        Err(ClusterError::HistoryExists { number: history.number })
    }

    /// Returns the cluster and its newest history.
    ///
    /// # Errors
    /// [`ClusterError::NoCluster`], [`ClusterError::Incomplete`], [`ClusterError::NoBucket`],
    /// [`ClusterError::Denied`], [`ClusterError::NewerVersion`] or [`ClusterError::Unreachable`].
    pub fn cluster(&self) -> Result<ClusterInfo, ClusterError> {
        block(async {
            let id = self.cluster_id().await?;
            let history = self.newest_history().await?;
            let incomplete = || ClusterError::Incomplete { address: self.objects.address().to_owned() };
            Ok(ClusterInfo { id, history: history.ok_or_else(incomplete)? })
        })
    }

    async fn cluster_id(&self) -> Result<Uuid, ClusterError> {
        let address = self.objects.address().to_owned();
        if let Some(bytes) = again(async || self.objects.get(CLUSTER_FILE, MAX_JSON_BYTES).await).await? {
            return Ok(parse::<ClusterFile>(CLUSTER_FILE, &bytes)?.id);
        }
        match &self.objects.folder {
            Some(folder) if !folder.is_dir() => {
                Err(ClusterError::NoBucket { address, reason: format!("{} is no folder", folder.display()) })
            }
            _ => Err(ClusterError::NoCluster { address }),
        }
    }

    async fn newest_history(&self) -> Result<Option<History>, ClusterError> {
        let objects = self.objects.list("histories", None).await?;
        let number = objects.iter().filter_map(|object| object.location.filename()?.parse::<u32>().ok()).max();
        let Some(number) = number else { return Ok(None) };
        let name = history_file(number);
        let Some(bytes) = again(async || self.objects.get(&name, MAX_JSON_BYTES).await).await? else {
            return Err(ClusterError::Damaged { name, what: "it is listed but cannot be read".to_owned() });
        };
        Ok(Some(History { number, id: parse::<HistoryFile>(&name, &bytes)?.id }))
    }

    /// Returns the log of a history for the node of this name, which becomes part of what it appends.
    ///
    /// # Errors
    /// [`ClusterError::NodeName`] if the name is invalid.
    pub fn log(&self, history: &History, node: &str) -> Result<Log, ClusterError> {
        check_name(node)?;
        Ok(Log::new(Arc::clone(&self.objects), *history, node))
    }

    /// Returns the time for a node whose clock shows `own`, in milliseconds since 1970: it differs by two seconds at
    /// most from that of the storage's last answer. A storage that is not reached by HTTP has no clock.
    #[must_use]
    pub fn hold(&self, own: i64) -> i64 {
        self.date().map_or(own, |date| date.hold(own))
    }

    /// Returns whether the storage has told the time, if it has a clock. Until it has answered, the clock of the node
    /// may be wrong.
    #[must_use]
    pub fn knows_time(&self) -> bool {
        self.objects.date.as_ref().is_none_or(|clock| clock.lock().has_answered)
    }

    /// Returns by how many seconds a clock that shows `own` is ahead of the storage's; 0 if it differs by two seconds
    /// at most.
    #[must_use]
    pub fn error_of_clock(&self, own: i64) -> i64 {
        self.date().map_or(0, |date| date.error_of(own))
    }

    pub(crate) fn date(&self) -> Option<StoreDate> {
        self.objects.date.as_ref()?.lock().date
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").field("address", &self.objects.address()).finish()
    }
}

impl History {
    fn file(&self) -> String {
        history_file(self.number)
    }

    /// Returns the name of the folder that has this history's objects.
    pub(crate) fn folder(&self) -> String {
        format!("{:04}", self.number)
    }
}

fn history_file(number: u32) -> String {
    format!("histories/{number:04}")
}

/// Returns the JSON of an object.
pub(crate) fn json(value: &impl Serialize) -> Result<bytes::Bytes, ClusterError> {
    let bytes = serde_json::to_vec_pretty(value).map_err(|error| ClusterError::System(error.to_string()))?;
    Ok(bytes.into())
}

/// Reads an object in JSON. Looks at the format first, because a newer one may have other members.
pub(crate) fn parse<T: for<'a> Deserialize<'a>>(name: &str, bytes: &[u8]) -> Result<T, ClusterError> {
    #[derive(Deserialize)]
    struct Format {
        format: u64,
    }
    let damaged = |error: serde_json::Error| ClusterError::Damaged { name: name.to_owned(), what: error.to_string() };
    let Format { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format > FORMAT {
        return Err(ClusterError::NewerVersion { name: name.to_owned(), version: format });
    }
    serde_json::from_slice(bytes).map_err(damaged)
}
