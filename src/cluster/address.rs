//! Addresses of clusters, and the clients of the stores that they name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use parking_lot::Mutex;
use url::Url;

use crate::error::ClusterError;
use crate::http::{DateCell, ObservedConnector};
use crate::objects::Objects;
use crate::postgres::Database;

/// A small put or look that takes longer has failed.
const QUICK_TIMEOUT: Duration = Duration::from_secs(30);
/// Bounds transfers of large objects. Reads are bounded by what arrives in 30 seconds, too.
const PATIENT_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const BULK_RETRIES: usize = 3;

/// The accepted forms, for messages.
const FORMS: &str = "use `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`, `postgres://USER@HOST/DATABASE` or \
                     `file:///FOLDER`";

/// The stores of `memory://` addresses, shared inside the process.
static MEMORIES: Mutex<Option<HashMap<String, Arc<InMemory>>>> = Mutex::new(None);

/// Three clients of one store, which differ in their patience.
pub(crate) struct Clients {
    /// No retries, 30 s: small conditional puts and looks.
    pub(crate) quick: Arc<dyn ObjectStore>,
    /// No retries, 10 min: large groups.
    pub(crate) patient: Arc<dyn ObjectStore>,
    /// A few retries, 10 min: bases, lists, and puts that may be repeated blindly.
    pub(crate) bulk: Arc<dyn ObjectStore>,
}

impl Clients {
    /// For stores without a network.
    pub(crate) fn same(store: Arc<dyn ObjectStore>) -> Clients {
        Clients { quick: Arc::clone(&store), patient: Arc::clone(&store), bulk: store }
    }
}

/// Makes the clients for an address. Nothing is sent yet.
pub(crate) fn open(address: &str) -> Result<Objects, ClusterError> {
    let invalid = |what: String| ClusterError::Address { address: address.to_owned(), what };
    if ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme)) {
        let setting = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        return open_database(address, &setting);
    }
    let url = Url::parse(address).map_err(|error| invalid(format!("{error}; {FORMS}")))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(format!("credentials and options belong into the environment; {FORMS}")));
    }
    let prefix = Path::from_url_path(url.path()).map_err(|error| invalid(format!("{error}; {FORMS}")))?;
    let name = url.host_str().unwrap_or_default();
    match url.scheme() {
        "file" => {
            let folder = url.to_file_path().map_err(|()| invalid(format!("it names no local folder; {FORMS}")))?;
            open_folder(address, &folder)
        }
        _ if name.is_empty() => Err(invalid(format!("it names no bucket; {FORMS}"))),
        "memory" => Ok(Objects::new(address, Clients::same(memory(name)), prefix)),
        "s3" | "gs" | "az" => {
            let date = DateCell::default();
            let clients = connect(url.scheme(), name, &date).map_err(|error| invalid(error.to_string()))?;
            Ok(Objects { date: Some(date), ..Objects::new(address, clients, prefix) })
        }
        scheme => Err(invalid(format!("`{scheme}` is not supported; {FORMS}"))),
    }
}

fn open_folder(address: &str, folder: &std::path::Path) -> Result<Objects, ClusterError> {
    let invalid = |what: String| ClusterError::Address { address: address.to_owned(), what };
    // The store itself does not require the folder to exist: `cluster create` may create it.
    let prefix = Path::from_absolute_path(folder).map_err(|error| invalid(error.to_string()))?;
    let store = Arc::new(LocalFileSystem::new().with_fsync(true));
    Ok(Objects { folder: Some(PathBuf::from(folder)), ..Objects::new(address, Clients::same(store), prefix) })
}

/// Prepares connections to a database. Its address is no URL if it names several hosts. `setting` returns variables of
/// the environment.
pub(crate) fn open_database(address: &str, setting: &dyn Fn(&str) -> Option<String>) -> Result<Objects, ClusterError> {
    let database = Database::open(address, setting).map_err(|what| ClusterError::Address {
        address: without_password(address),
        what: format!("{what}; {FORMS}"),
    })?;
    let clients = Clients::same(Arc::new(database.clone()));
    Ok(Objects { database: Some(database), ..Objects::new(address, clients, Path::default()) })
}

/// Returns an address without the places that may have a password.
fn without_password(address: &str) -> String {
    let address = address.split_once('?').map_or(address, |(before, _)| before);
    let hidden = || {
        let (before, rest) = address.split_once("://")?;
        let (user, host) = rest.rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{before}://{user}:…@{host}"))
    };
    hidden().unwrap_or_else(|| address.to_owned())
}

fn memory(name: &str) -> Arc<InMemory> {
    let mut memories = MEMORIES.lock();
    Arc::clone(memories.get_or_insert_default().entry(name.to_owned()).or_default())
}

fn connect(scheme: &str, bucket: &str, date: &DateCell) -> object_store::Result<Clients> {
    // Fails if a provider is installed already, which is fine too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match scheme {
        "s3" => connect_s3(&|| AmazonS3Builder::from_env().with_bucket_name(bucket), date),
        "gs" => connect_gcs(bucket, date),
        _ => connect_azure(bucket, date),
    }
}

fn retries(max_retries: usize) -> RetryConfig {
    RetryConfig { max_retries, retry_timeout: Duration::from_secs(60), ..RetryConfig::default() }
}

/// Times in the form in which the crate reads settings.
fn seconds(time: Duration) -> String {
    format!("{} seconds", time.as_secs())
}

/// Makes the clients of a store from a builder without times and retries. Is a macro because the builders of the stores
/// have no trait in common.
///
/// The settings of the environment stay (`AWS_ALLOW_HTTP`, proxies), except for times and retries, on which the
/// protocol depends. The credentials are those of the first client, so that they are fetched once, and with retries.
macro_rules! clients {
    ($settings:expr, $key:ident, $date:expr) => {{
        let builder = |timeout, max_retries| {
            $settings
                .with_config($key::Client(ClientConfigKey::Timeout), seconds(timeout))
                .with_config($key::Client(ClientConfigKey::ConnectTimeout), seconds(CONNECT_TIMEOUT))
                .with_retry(retries(max_retries))
                .with_http_connector(ObservedConnector { date: Arc::clone($date) })
        };
        let bulk = builder(PATIENT_TIMEOUT, BULK_RETRIES).build()?;
        let quick = builder(QUICK_TIMEOUT, 0).with_credentials(Arc::clone(bulk.credentials())).build()?;
        let patient = builder(PATIENT_TIMEOUT, 0).with_credentials(Arc::clone(bulk.credentials())).build()?;
        Ok(Clients { quick: Arc::new(quick), patient: Arc::new(patient), bulk: Arc::new(bulk) })
    }};
}

pub(crate) fn connect_s3(settings: &dyn Fn() -> AmazonS3Builder, date: &DateCell) -> object_store::Result<Clients> {
    clients!(settings().with_conditional_put(S3ConditionalPut::ETagMatch), AmazonS3ConfigKey, date)
}

fn connect_gcs(bucket: &str, date: &DateCell) -> object_store::Result<Clients> {
    clients!(GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket), GoogleConfigKey, date)
}

fn connect_azure(container: &str, date: &DateCell) -> object_store::Result<Clients> {
    clients!(MicrosoftAzureBuilder::from_env().with_container_name(container), AzureConfigKey, date)
}
