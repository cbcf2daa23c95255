//! Named objects below one address: put, get, list, remove, with the errors that callers understand.
//!
//! Owns the runtime of all requests, the reading of the store's errors, and the rule that a folder which was moved away
//! is not an empty log. Must not know what an object means.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::address::Clients;
use crate::append::Pauses;
use crate::error::ClusterError;
use crate::http::DateCell;
use crate::postgres::{Database, NO_DATABASE, SetBack};

/// A read fails if nothing arrives for this long, and a small request without an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The attempts of a read whose caller cannot repeat it soon, and the time after which there is no other one.
const ATTEMPTS: u32 = 4;
const REPEATED_WITHIN: Duration = Duration::from_secs(1);
const PAUSE_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(30);
/// Larger puts are not held to 30 seconds.
const SMALL_PUT_BYTES: usize = 4 << 20;
/// Bounds what is read of objects that hold JSON.
pub(crate) const MAX_JSON_BYTES: u64 = 64 << 10;
/// The object that every cluster has.
pub(crate) const CLUSTER_FILE: &str = "cluster.json";

/// The objects below one address.
pub(crate) struct Objects {
    pub(crate) address: String,
    pub(crate) clients: Clients,
    pub(crate) prefix: Path,
    /// The folder of a `file://` address.
    pub(crate) folder: Option<PathBuf>,
    /// The database of a `postgres://` address.
    pub(crate) database: Option<Database>,
    /// Where the last `Date` of the store is kept. Only stores with HTTP have one.
    pub(crate) date: Option<DateCell>,
    pub(crate) pauses: Pauses,
}

/// Why a put failed, in what follows from it.
#[derive(Debug)]
pub(crate) enum PutError {
    /// The store could not be asked. Nothing was stored and nothing will be.
    NotSent(ClusterError),
    /// The store refused before it did anything: missing permission, a missing bucket or folder.
    Refused(ClusterError),
    /// The store says that an object of this name exists, or that others create it now. It may be this one.
    Exists(ClusterError),
    /// The object may have been stored, or may be stored later.
    Unknown(ClusterError),
}

impl PutError {
    pub(crate) fn into_inner(self) -> ClusterError {
        match self {
            PutError::NotSent(error)
            | PutError::Refused(error)
            | PutError::Exists(error)
            | PutError::Unknown(error) => error,
        }
    }
}

impl Objects {
    pub(crate) fn new(address: &str, clients: Clients, prefix: Path) -> Objects {
        let (folder, database, date, pauses) = (None, None, None, Pauses::default());
        Objects { address: address.to_owned(), clients, prefix, folder, database, date, pauses }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the client for transfers of bases.
    pub(crate) fn bulk(&self) -> &Arc<dyn ObjectStore> {
        &self.clients.bulk
    }

    /// Returns the full path of a name, which consists of parts separated by slashes.
    pub(crate) fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }

    /// Creates an object unless one of this name exists. Sends one request.
    pub(crate) async fn create(&self, name: &str, bytes: Bytes) -> Result<(), PutError> {
        let client = if bytes.len() <= SMALL_PUT_BYTES { &self.clients.quick } else { &self.clients.patient };
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let sent = crate::http::Sent::default();
        let path = self.path(name);
        let put = client.put_opts(&path, bytes.into(), options);
        let Err(error) = crate::http::SENT.scope(sent.clone(), put).await else { return Ok(()) };
        let notes_sent = self.date.is_some() || self.database.is_some();
        let was_sent = !notes_sent || sent.get();
        let exists =
            matches!(error, object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. });
        let error = self.error("create", name, &error);
        Err(match error {
            error if exists => PutError::Exists(error),
            ClusterError::Denied { .. }
            | ClusterError::NoBucket { .. }
            | ClusterError::SetBack { .. }
            | ClusterError::Unsuitable { .. } => PutError::Refused(error),
            error if was_sent => PutError::Unknown(error),
            error => PutError::NotSent(error),
        })
    }

    /// Creates an object, and reads it if that is not certain. Returns false if another object has the name. The bytes
    /// must contain something random, by which they are recognized.
    pub(crate) async fn create_certainly(&self, name: &str, bytes: &Bytes) -> Result<bool, ClusterError> {
        let mut pause = Duration::from_millis(50);
        let mut attempts = 6;
        loop {
            let error = match self.create(name, bytes.clone()).await {
                Ok(()) => return Ok(true),
                Err(PutError::Refused(error)) => return Err(error),
                Err(error) => error.into_inner(),
            };
            match self.get(name, bytes.len() as u64 + MAX_JSON_BYTES).await {
                Ok(Some(found)) => return Ok(found == bytes),
                Err(error @ (ClusterError::Denied { .. } | ClusterError::NoBucket { .. })) => return Err(error),
                Ok(None) if attempts > 0 => {}
                Err(_) if attempts > 0 => {}
                Ok(None) | Err(_) => return Err(error),
            }
            attempts -= 1;
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Puts a small object, whether or not one of this name exists.
    pub(crate) async fn overwrite(&self, name: &str, bytes: Bytes) -> Result<(), ClusterError> {
        let path = self.path(name);
        let put = self.answer("write", name, self.clients.bulk.put(&path, bytes.into())).await?;
        put.map(drop).map_err(|error| self.error("write", name, &error))
    }

    /// Removes an object. It is no error if it does not exist.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), ClusterError> {
        match self.answer("remove", name, self.clients.bulk.delete(&self.path(name))).await? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.error("remove", name, &error)),
        }
    }

    /// Returns an object. `None` if there is none of this name.
    ///
    /// # Errors
    /// [`ClusterError::Damaged`] if it is larger than `limit` bytes.
    pub(crate) async fn get(&self, name: &str, limit: u64) -> Result<Option<Bytes>, ClusterError> {
        let path = self.path(name);
        let result = match self.answer("read", name, self.clients.patient.get(&path)).await? {
            Err(error) => return self.none_if_missing("read", name, &error),
            Ok(result) => result,
        };
        let bytes = result.meta.size;
        if bytes > limit {
            let what = format!("it has {bytes} bytes, and {limit} are the most");
            return Err(ClusterError::Damaged { name: name.to_owned(), what });
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
        let mut stream = result.into_stream();
        loop {
            match timeout(READ_TIMEOUT, stream.try_next()).await {
                Err(_) => return Err(self.unreachable("read", name, "its content stopped arriving")),
                Ok(Err(error)) => return Err(self.error("read", name, &error)),
                Ok(Ok(Some(piece))) => content.extend_from_slice(&piece),
                Ok(Ok(None)) => break,
            }
            if content.len() as u64 > bytes {
                break;
            }
        }
        if content.len() as u64 != bytes {
            return Err(self.unreachable("read", name, "its content was cut off"));
        }
        Ok(Some(content.into()))
    }

    /// Returns the size of an object. `None` if there is none of this name. Reads none of its content.
    pub(crate) async fn size(&self, name: &str) -> Result<Option<u64>, ClusterError> {
        let path = self.path(name);
        // A `GET`, because the answer to `HEAD` has no text that tells a missing bucket from a missing object.
        match self.answer("read", name, self.clients.quick.get(&path)).await? {
            Err(error) => self.none_if_missing("read", name, &error),
            Ok(result) => Ok(Some(result.meta.size)),
        }
    }

    /// Lists the objects of a folder, or those whose names are after `after`. In no particular order.
    pub(crate) async fn list(&self, folder: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>, ClusterError> {
        let path = self.path(folder);
        let mut objects = match after {
            Some(after) => self.clients.bulk.list_with_offset(Some(&path), &path.clone().join(after)),
            None => self.clients.bulk.list(Some(&path)),
        };
        let mut listed = Vec::new();
        loop {
            match self.answer("list", folder, objects.try_next()).await? {
                Err(error) => return Err(self.error("list", folder, &error)),
                Ok(Some(object)) => listed.push(object),
                Ok(None) => return Ok(listed),
            }
        }
    }

    /// Returns the time by the store's clock, as far as it is known: the ages of objects are by that clock.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        let date = self.date.as_ref().and_then(|clock| clock.lock().date);
        date.map_or_else(Utc::now, |date| date.date + date.arrived.elapsed())
    }

    /// Waits until everything that can be read is durable. In object storage it is.
    pub(crate) async fn wait_until_durable(&self) -> Result<(), ClusterError> {
        let Some(database) = &self.database else { return Ok(()) };
        database.wait_until_durable().await.map_err(|error| self.error("confirm", "the last group", &error))
    }

    /// Over `file://`, checks that the folder still holds this cluster and the object `before`.
    pub(crate) async fn check_folder(&self, before: Option<&str>) -> Result<(), ClusterError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let names: Vec<_> = [Some(CLUSTER_FILE), before].into_iter().flatten().map(|name| folder.join(name)).collect();
        let missing = tokio::task::spawn_blocking(move || {
            names.into_iter().find_map(|name| std::fs::metadata(&name).err().map(|error| (name, error)))
        });
        match missing.await.unwrap_or_default() {
            None => Ok(()),
            Some((file, error)) => Err(ClusterError::Unreachable {
                address: self.address.clone(),
                reason: format!("{} cannot be found: {error}", file.display()),
            }),
        }
    }

    /// Waits for an answer of the store. Fails if none arrives in time.
    async fn answer<T>(&self, action: &str, name: &str, request: impl Future<Output = T>) -> Result<T, ClusterError> {
        self.answer_within(READ_TIMEOUT, action, name, request).await
    }

    /// Waits so long for an answer of the store.
    pub(crate) async fn answer_within<T>(
        &self,
        time: Duration,
        action: &str,
        name: &str,
        request: impl Future<Output = T>,
    ) -> Result<T, ClusterError> {
        timeout(time, request).await.map_err(|_| self.unreachable(action, name, "no answer arrived in time"))
    }

    fn none_if_missing<T>(
        &self,
        action: &str,
        name: &str,
        error: &object_store::Error,
    ) -> Result<Option<T>, ClusterError> {
        match error {
            object_store::Error::NotFound { .. } if !is_missing_bucket(&error.to_string()) => Ok(None),
            error => Err(self.error(action, name, error)),
        }
    }

    pub(crate) fn unreachable(&self, action: &str, name: &str, reason: &str) -> ClusterError {
        ClusterError::Unreachable { address: self.address.clone(), reason: format!("cannot {action} {name}: {reason}") }
    }

    /// Returns what an error of the store means. A missing object becomes [`ClusterError::NoBucket`]: a put finds none
    /// missing, and reads look at it first.
    pub(crate) fn error(&self, action: &str, name: &str, error: &object_store::Error) -> ClusterError {
        use object_store::Error;
        let text = with_cause(error);
        let address = self.address.clone();
        let reason = format!("cannot {action} {name}: {text}");
        match error {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ClusterError::Denied { address, reason },
            Error::NotFound { .. } => ClusterError::NoBucket { address, reason },
            Error::NotSupported { source } if source.is::<SetBack>() => {
                ClusterError::SetBack { address, what: source.to_string() }
            }
            Error::NotSupported { source } => ClusterError::Unsuitable { address, what: source.to_string() },
            _ if is_missing_bucket(&text) => ClusterError::NoBucket { address, reason },
            _ => ClusterError::Unreachable { address, reason },
        }
    }
}

/// Returns whether the store's answer says that the bucket itself is missing. The codes are those of S3, GCS, Azure and
/// PostgreSQL.
fn is_missing_bucket(text: &str) -> bool {
    ["NoSuchBucket", "ContainerNotFound", "bucket does not exist", NO_DATABASE].iter().any(|code| text.contains(code))
}

/// Returns the text of an error, with that of its first cause if it does not contain it: `error sending request` says
/// little without `connection refused`.
fn with_cause(error: &object_store::Error) -> String {
    let text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    match cause.map(ToString::to_string) {
        Some(cause) if !text.contains(&cause) => format!("{text}: {cause}"),
        _ => text,
    }
}

/// Returns the runtime that all requests of the process run in.
pub(crate) fn runtime() -> Result<&'static Runtime, ClusterError> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("cluster")
        .enable_all()
        .build()
        .map_err(|error| ClusterError::System(format!("no threads: {error}")))?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

/// Repeats a read that failed because of one lost answer, which stores give now and then. An outage ends in its error
/// soon.
///
/// # Errors
/// The last error of the read.
pub(crate) async fn again<T>(read: impl AsyncFn() -> Result<T, ClusterError>) -> Result<T, ClusterError> {
    let began = Instant::now();
    let mut attempts = 1;
    loop {
        match read().await {
            Err(ClusterError::Unreachable { .. }) if attempts < ATTEMPTS && began.elapsed() < REPEATED_WITHIN => {
                tokio::time::sleep(PAUSE_BETWEEN_ATTEMPTS * attempts).await;
            }
            result => return result,
        }
        attempts += 1;
    }
}

/// Runs requests and waits for their end.
pub(crate) fn block<T>(future: impl Future<Output = Result<T, ClusterError>>) -> Result<T, ClusterError> {
    // Boxed: the futures of nested requests are large, and stacks of callers may be small.
    runtime()?.block_on(Box::pin(future))
}
