//! Files in a bucket, each under its hash. Must not know what the files hold.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    ClientConfigKey, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, WriteMultipart,
};
use url::Url;

use crate::error::{MediaError, bucket_error, io_error};
use crate::files::StoredFile;
use crate::hash::Hash;

/// The accepted forms, for messages.
const FORMS: &str = "use `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or `file:///FOLDER`";

/// Bounds one request, which sends at most one part of a file. Reads are bounded by the time between their pieces.
const TIMEOUT: &str = "600 seconds";
const CONNECT_TIMEOUT: &str = "5 seconds";

/// The size of the parts of large files. S3 requires at least 5 MiB, and at most 10,000 parts.
const PART_BYTES: usize = 5 * 1024 * 1024;

/// A file of the same content that was stored this long ago is stored again, so that a sweep, which removes files by
/// their age, leaves it.
const FRESH: Duration = Duration::from_secs(15 * 60);

/// The name of the object that says to whom the bucket belongs. It is no hash, so it is not listed.
const OWNER: &str = "owner";

/// A bucket with files.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    store: Arc<dyn ObjectStore>,
}

impl Bucket {
    /// Makes the client for an address. Nothing is sent yet.
    pub(crate) fn open(address: &str) -> Result<Bucket, MediaError> {
        let invalid = |reason: String| MediaError::Address { address: address.to_owned(), reason };
        let url = Url::parse(address).map_err(|error| invalid(format!("{error}; {FORMS}")))?;
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid(format!("credentials and options belong into the environment; {FORMS}")));
        }
        let name = url.host_str().unwrap_or_default();
        let store = match url.scheme() {
            "file" => {
                let folder = url.to_file_path().map_err(|()| invalid(format!("it names no local folder; {FORMS}")))?;
                return open_folder(&folder);
            }
            "s3" | "gs" | "az" if name.is_empty() => return Err(invalid(format!("it names no bucket; {FORMS}"))),
            "s3" | "gs" | "az" => connect(url.scheme(), name).map_err(|error| invalid(error.to_string()))?,
            scheme => return Err(invalid(format!("`{scheme}` is not supported; {FORMS}"))),
        };
        let prefix = Path::from_url_path(url.path()).map_err(|error| invalid(format!("{error}; {FORMS}")))?;
        Ok(Bucket { store: Arc::new(PrefixStore::new(store, prefix)) })
    }

    /// Stores a file, unless it was stored a short time ago. Returns when the bucket has acknowledged it.
    pub(crate) async fn publish(&self, hash: &Hash, temporary: &FilePath, bytes: u64) -> Result<(), MediaError> {
        let path = path_of(hash);
        let found = self.meta(hash).await?;
        let is_fresh = |meta: &ObjectMeta| {
            let age = SystemTime::now().duration_since(SystemTime::from(meta.last_modified));
            age.is_ok_and(|age| age < FRESH)
        };
        if found.is_some_and(|meta| meta.size == bytes && is_fresh(&meta)) {
            return Ok(());
        }
        let mut pieces = Pieces::open(temporary).await?;
        let first = pieces.next().await?;
        if first.len() as u64 == bytes {
            self.store.put(&path, first.into()).await.map_err(bucket_error("write"))?;
            return Ok(());
        }
        let upload = self.store.put_multipart(&path).await.map_err(bucket_error("write"))?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let sent = send(&mut upload, &mut pieces, first).await;
        match sent {
            Ok(()) => upload.finish().await.map(drop).map_err(bucket_error("write")),
            Err(error) => {
                // The bucket keeps the parts of an upload that is not aborted, and charges for them.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    }

    pub(crate) async fn length(&self, hash: &Hash) -> Result<Option<u64>, MediaError> {
        Ok(self.meta(hash).await?.map(|meta| meta.size))
    }

    async fn meta(&self, hash: &Hash) -> Result<Option<ObjectMeta>, MediaError> {
        found(self.store.head(&path_of(hash)).await, "look for a file")
    }

    /// Returns the length of the file and a stream of the bytes in the range.
    pub(crate) async fn read(
        &self,
        hash: &Hash,
        range: Option<std::ops::Range<u64>>,
    ) -> Result<Option<(u64, BoxStream<'static, Result<Bytes, MediaError>>)>, MediaError> {
        let options = GetOptions::new().with_range(range.map(GetRange::Bounded));
        let Some(result) = found(self.store.get_opts(&path_of(hash), options).await, "read")? else { return Ok(None) };
        let bytes = result.meta.size;
        let stream = result.into_stream().map(|piece| piece.map_err(bucket_error("read")));
        Ok(Some((bytes, stream.boxed())))
    }

    pub(crate) async fn remove(&self, hash: &Hash, unchanged_for: Duration) -> Result<bool, MediaError> {
        let Some(meta) = self.meta(hash).await? else { return Ok(true) };
        let age = SystemTime::now().duration_since(SystemTime::from(meta.last_modified)).unwrap_or_default();
        if age < unchanged_for {
            return Ok(false);
        }
        found(self.store.delete(&path_of(hash)).await, "remove").map(|_| true)
    }

    /// Returns whether the bucket belongs to `owner`, who gets it if it belongs to nobody.
    pub(crate) async fn claim(&self, owner: &str) -> Result<bool, MediaError> {
        if let Some(present) = self.owner().await? {
            return Ok(present == owner.as_bytes());
        }
        let options = PutMode::Create.into();
        match self.store.put_opts(&Path::from(OWNER), owner.to_owned().into(), options).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {}
            // Some stores do not support this condition: they answer with different errors. If several servers claim
            // the bucket of such a store at the same moment, the last one gets it.
            Err(_) if self.owner().await?.is_none() => self.own(owner).await?,
            // The write was applied although its answer got lost, or another server was faster.
            Err(_) => {}
        }
        Ok(self.owner().await?.is_some_and(|present| present == owner.as_bytes()))
    }

    /// Gives the bucket to `owner`, also if it belongs to another one.
    pub(crate) async fn own(&self, owner: &str) -> Result<(), MediaError> {
        let written = self.store.put(&Path::from(OWNER), owner.to_owned().into()).await;
        written.map(drop).map_err(bucket_error("write"))
    }

    async fn owner(&self) -> Result<Option<Bytes>, MediaError> {
        let Some(result) = found(self.store.get(&Path::from(OWNER)).await, "read")? else { return Ok(None) };
        result.bytes().await.map(Some).map_err(bucket_error("read"))
    }

    /// Returns all files. Objects with other names are left out.
    pub(crate) fn list(&self) -> BoxStream<'static, Result<StoredFile, MediaError>> {
        let listed = self.store.list(None).filter_map(async |meta| {
            let meta = match meta.map_err(bucket_error("list")) {
                Ok(meta) => meta,
                Err(error) => return Some(Err(error)),
            };
            let hash = meta.location.filename()?.parse::<Hash>().ok().filter(|hash| path_of(hash) == meta.location)?;
            Some(Ok(StoredFile { hash, bytes: meta.size, modified: meta.last_modified.into() }))
        });
        listed.boxed()
    }
}

fn open_folder(folder: &FilePath) -> Result<Bucket, MediaError> {
    std::fs::create_dir_all(folder).map_err(io_error("create the folder", folder))?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(bucket_error("open the folder"))?.with_fsync(true);
    Ok(Bucket { store: Arc::new(store) })
}

fn path_of(hash: &Hash) -> Path {
    Path::from_iter([hash.folder(), hash.to_string()])
}

/// Turns the error of an object that does not exist into `None`.
fn found<T>(result: object_store::Result<T>, action: &'static str) -> Result<Option<T>, MediaError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(bucket_error(action)(error)),
    }
}

/// Sends a file in parts, of which one is in flight while the next is read.
async fn send(upload: &mut WriteMultipart, pieces: &mut Pieces, first: Bytes) -> Result<(), MediaError> {
    let mut piece = first;
    while !piece.is_empty() {
        upload.wait_for_capacity(1).await.map_err(bucket_error("write"))?;
        upload.put(piece);
        piece = pieces.next().await?;
    }
    Ok(())
}

/// The contents of a file in pieces of the size of a part.
struct Pieces {
    file: Arc<parking_lot::Mutex<std::fs::File>>,
    path: std::path::PathBuf,
}

impl Pieces {
    async fn open(path: &FilePath) -> Result<Pieces, MediaError> {
        let file = std::fs::File::open(path).map_err(io_error("open", path))?;
        Ok(Pieces { file: Arc::new(parking_lot::Mutex::new(file)), path: path.to_owned() })
    }

    /// Returns the next piece. It is empty at the end of the file.
    async fn next(&mut self) -> Result<Bytes, MediaError> {
        let file = Arc::clone(&self.file);
        let read = crate::files::blocking(move || {
            use std::io::Read;
            let mut bytes = Vec::new();
            let read = (&mut *file.lock()).take(PART_BYTES as u64).read_to_end(&mut bytes);
            Ok(read.map(|_| Bytes::from(bytes)))
        });
        read.await?.map_err(io_error("read", &self.path))
    }
}

// The settings of the environment stay (`AWS_ALLOW_HTTP`, proxies), except for the times.
fn connect(scheme: &str, bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
    // Fails if a provider is installed already, which is fine too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (timeout, connect_timeout) = (ClientConfigKey::Timeout, ClientConfigKey::ConnectTimeout);
    Ok(match scheme {
        "s3" => Arc::new(
            AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_config(AmazonS3ConfigKey::Client(timeout), TIMEOUT)
                .with_config(AmazonS3ConfigKey::Client(connect_timeout), CONNECT_TIMEOUT)
                .build()?,
        ),
        "gs" => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_config(GoogleConfigKey::Client(timeout), TIMEOUT)
                .with_config(GoogleConfigKey::Client(connect_timeout), CONNECT_TIMEOUT)
                .build()?,
        ),
        _ => Arc::new(
            MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_config(AzureConfigKey::Client(timeout), TIMEOUT)
                .with_config(AzureConfigKey::Client(connect_timeout), CONNECT_TIMEOUT)
                .build()?,
        ),
    })
}
