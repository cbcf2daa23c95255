//! The command line and the configuration, in two stages: [`Settings`] from each source (flags, environment, file), and
//! one [`Config`] that is checked and complete. Every setting is a flag, an environment variable and a key of
//! `bindery.toml`; the first one that is set wins. Must not know what a setting does.

mod analytics;
mod arguments;
mod error;
mod generated;
mod log_format;
mod rate;
mod secret;
mod settings;
mod show;

#[cfg(test)]
mod tests;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use url::Url;

pub use analytics::{AnalyticsConfig, Network};
pub use arguments::{
    AnalyticsArgs, AnalyticsCommand, BackupArgs, BlueprintArgs, BlueprintCommand, Cli, ClusterArgs, ClusterCommand,
    ClusterLeaveArgs, ClusterRepairArgs, ClusterRestoreArgs, ClusterUpgradeArgs, Command, ConfigArgs, ConfigCommand,
    ExportArgs, FolderArgs, ImportArgs, MediaArgs, MediaCommand, MemberArgs, MemberCommand, NodeArgs, RestoreArgs,
    SalvageArgs, ServeArgs, ServerArgs, TableArgs, TokenArgs, TokenCommand, TypesArgs, VerifyArgs,
};
pub use error::ConfigError;
pub use generated::{completions, manual};
pub use log_format::LogFormat;
pub use rate::Rate;
pub use secret::Secret;
pub use settings::{AnalyticsSettings, Settings};
pub use show::SourcedSetting;

use settings::{flag_names, variable_of};
use show::Sources;

/// The file that is read unless another is named. It may be missing.
const DEFAULT_FILE: &str = "bindery.toml";
/// The variables with the prefix of the server that are not settings of it.
const OTHER_VARIABLES: [&str; 4] = ["BINDERY_CONFIG", "BINDERY_ADMIN_TOKEN", "BINDERY_URL", "BINDERY_TOKEN"];
/// The memory for bodies, in MiB, if it is not set and no larger bodies are allowed.
const DEFAULT_BUFFER_MIB: usize = 256;
/// The minimum length of the admin token, in characters. A shorter token could be guessed.
const MIN_ADMIN_TOKEN_CHARS: usize = 32;
/// The minimum length of the token for metrics, in characters. It may be shorter than the admin token because it gives
/// access to metrics only.
const MIN_METRICS_TOKEN_CHARS: usize = 16;

/// The minimum length of the key of a cluster, in characters.
const MIN_CLUSTER_KEY_CHARS: usize = 32;
/// The beginnings of the addresses of logs that several servers can share.
const LOG_SCHEMES: [&str; 6] = ["s3://", "gs://", "az://", "postgres://", "postgresql://", "file:///"];
/// The largest width or height of pictures that are made. WebP allows no larger one.
const MAX_MEDIA_SIZE: u32 = 16_383;
/// The most widths and heights. Each makes more variants of a picture possible.
const MAX_MEDIA_SIZES: usize = 32;

/// The settings of a server, checked and complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// True to fill an empty data folder with demonstration content.
    pub demo: bool,
    /// The URL that links begin with, without a trailing slash; `None` to use the `Host` header.
    pub public_url: Option<String>,
    /// The origins whose pages may call the API from a browser; `*` stands for all.
    pub cors_origins: Vec<String>,
    /// The largest request body, and the longest line of an import, in bytes.
    pub max_body_bytes: usize,
    /// The longest time that a search of a request may take, waiting included.
    pub query_timeout: Duration,
    /// The number of connections that may be open; `None` for the default, which depends on the limit on open files.
    pub max_connections: Option<usize>,
    /// The memory that the bodies of requests and answers may use together, in bytes.
    pub max_buffer_bytes: usize,
    /// The time to wait for a client that sends or reads nothing.
    pub client_timeout: Duration,
    /// The time to keep a connection open for the next request.
    pub keepalive_timeout: Duration,
    /// A token with every ability. It is valid while the server runs, and never stored.
    pub admin_token: Option<Secret>,
    /// The token that a request for `/metrics` must have; `None` to answer loopback addresses only.
    pub metrics_token: Option<Secret>,
    /// The cluster that the server belongs to; `None` for a single server.
    pub cluster: Option<ClusterConfig>,
    /// The longest time that a write waits for the log of a cluster.
    pub write_timeout: Duration,
    /// The filter of what is logged, in the syntax of `tracing_subscriber` filters.
    pub log_filter: String,
    /// The format of the line that is written for each request.
    pub log_format: LogFormat,
    /// The hosts whose players rich text may embed.
    pub video_hosts: Vec<String>,
    /// The size of the store's cache.
    pub store_cache_bytes: u64,
    /// The number of requests with one token that are accepted; `None` for no limit.
    pub rate_limit_per_token: Option<Rate>,
    /// The number of requests of one address that are accepted; `None` for no limit.
    pub rate_limit_per_address: Option<Rate>,
    /// The number of changes the change feed keeps.
    pub changes_kept: u64,
    /// True if webhooks may send to loopback, private and link-local addresses.
    pub webhook_private_addresses: bool,
    /// The `Cache-Control` of answers that have an entity tag.
    pub cache_control: String,
    /// True if answers and messages of webhooks have the tags by which a cache in front of the server forgets answers.
    pub cache_tags: bool,
    /// The settings of media.
    pub media: MediaConfig,
    /// The settings of the analytics.
    pub analytics: AnalyticsConfig,
}

/// The settings of media.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaConfig {
    /// The address of the bucket that the files are in; `None` for the data folder.
    pub store: Option<String>,
    /// The largest file that can be uploaded, in bytes.
    pub max_bytes: u64,
    /// The types that can be uploaded, such as `image/*`; `None` for the default list.
    pub types: Option<Vec<String>>,
    /// The widths and heights in which pictures are made, in ascending order; at least one.
    pub sizes: Vec<u32>,
    /// The disk space for pictures in other sizes.
    pub cache_bytes: u64,
}

/// The settings of a server that shares its log with others.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterConfig {
    /// The address of the log, such as `s3://bucket/prefix` or `postgres://USER@HOST/DATABASE`.
    pub log: String,
    /// The key that all servers of the cluster share; `None` if none is set: then no write is forwarded.
    pub key: Option<Secret>,
    /// The address at which the others reach this server; `None` for the one that it listens on.
    pub node_address: Option<String>,
    /// The time without the log after which the server is not ready.
    pub max_lag: Duration,
}

impl Config {
    /// Returns the configuration from the flags, the environment of this process and the file. `file` is the value of
    /// `--config`.
    ///
    /// # Errors
    /// A file that cannot be read, or the first setting that is invalid.
    pub fn load(flags: Settings, file: Option<&Path>) -> Result<Config, ConfigError> {
        Config::resolve(flags, variable, read_file(named_file(file)?.as_deref())?)
    }

    /// Returns a hash of the settings that change answers, and so should be the same on all servers of a cluster.
    pub fn hash_of_shared_settings(&self) -> String {
        let Config { video_hosts, changes_kept, public_url, max_body_bytes, cache_control, cache_tags, .. } = self;
        let MediaConfig { store, max_bytes, types, sizes, cache_bytes: _ } = &self.media;
        let shared = (
            (video_hosts, changes_kept, public_url, max_body_bytes, cache_control, cache_tags),
            (store, max_bytes, types, sizes),
            (&self.analytics.sites, self.analytics.retention_days),
        );
        // A tuple of texts, numbers and lists is always JSON. The same on all builds, unlike a hash of the standard
        // library.
        let hash = blake3::hash(&serde_json::to_vec(&shared).unwrap_or_default()).to_hex();
        hash[..16].to_owned()
    }

    /// Returns all settings and the source of each value. The values are not checked.
    ///
    /// # Errors
    /// A file or a variable that cannot be read.
    pub fn sources(flags: &Settings, file: Option<&Path>) -> Result<Vec<SourcedSetting>, ConfigError> {
        let named = named_file(file)?;
        let sources = Sources {
            flags,
            environment: &Settings::from_env(variable)?,
            file: &read_file(named.as_deref())?,
            file_name: named.map_or_else(|| DEFAULT_FILE.to_owned(), |path| path.display().to_string()),
        };
        Ok(sources.settings())
    }

    /// Returns the variables of the environment that look like settings, but are none.
    pub fn unknown_variables() -> Vec<String> {
        let known: Vec<String> = flag_names().iter().map(|flag| variable_of(flag)).collect();
        let is_known = |name: &str| OTHER_VARIABLES.contains(&name) || known.iter().any(|known| known == name);
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let mut unknown: Vec<String> = names.filter(|name| name.starts_with("BINDERY_") && !is_known(name)).collect();
        unknown.sort();
        unknown
    }

    /// Returns the configuration from given sources. `env` returns the value of a variable that is set and not empty.
    /// `file` holds the settings of `bindery.toml`.
    ///
    /// # Errors
    /// The first setting that is invalid, and the errors of `env`.
    pub fn resolve(
        flags: Settings,
        env: impl Fn(&str) -> Result<Option<String>, ConfigError>,
        file: Settings,
    ) -> Result<Config, ConfigError> {
        // Defaults come last, so every setting with a default has a value in `settings`.
        let settings = flags.or(Settings::from_env(&env)?).or(file).or(Settings::defaults());
        let max_body_bytes =
            usize::try_from(settings.max_body_bytes.unwrap_or_default().as_u64()).unwrap_or(usize::MAX);
        let max_body_bytes = at_least_one("max_body_bytes", max_body_bytes)?;
        Ok(Config {
            data: data_folder(settings.data.unwrap_or_default())?,
            listen: listen(settings.listen.as_deref().unwrap_or_default())?,
            demo: settings.demo.unwrap_or_default(),
            public_url: settings.public_url.as_deref().map(public_url).transpose()?,
            cors_origins: settings
                .cors_origins
                .unwrap_or_default()
                .iter()
                .map(|origin| cors_origin(origin))
                .collect::<Result<_, _>>()?,
            max_body_bytes,
            max_connections: settings.max_connections.map(|most| at_least_one("max_connections", most)).transpose()?,
            max_buffer_bytes: max_buffer_bytes(settings.max_buffer_mib, max_body_bytes)?,
            client_timeout: seconds("client_timeout", settings.client_timeout.unwrap_or_default())?,
            keepalive_timeout: seconds("keepalive_timeout", settings.keepalive_timeout.unwrap_or_default())?,
            query_timeout: seconds("query_timeout", settings.query_timeout.unwrap_or_default())?,
            admin_token: env("BINDERY_ADMIN_TOKEN")?.map(admin_token).transpose()?,
            metrics_token: settings.metrics_token.map(metrics_token).transpose()?,
            cluster: cluster(
                settings.log,
                settings.cluster_key,
                settings.node_address.map(node_address).transpose()?,
                settings.max_lag,
                settings.listen.as_deref().unwrap_or_default(),
            )?,
            write_timeout: seconds("write_timeout", settings.write_timeout.unwrap_or_default())?,
            log_filter: log_filter(settings.log_filter.unwrap_or_default())?,
            log_format: settings.log_format.unwrap_or_default(),
            video_hosts: settings.video_hosts.unwrap_or_default(),
            store_cache_bytes: at_least_one("store_cache_mib", settings.store_cache_mib.unwrap_or_default())? << 20,
            rate_limit_per_token: rate("rate_limit_per_token", settings.rate_limit_per_token)?,
            rate_limit_per_address: rate("rate_limit_per_address", settings.rate_limit_per_address)?,
            changes_kept: settings.changes_kept.unwrap_or_default(),
            webhook_private_addresses: settings.webhook_private_addresses.unwrap_or_default(),
            cache_control: cache_control(settings.cache_control.unwrap_or_default())?,
            cache_tags: settings.cache_tags.unwrap_or_default(),
            media: MediaConfig {
                store: media_store(settings.media_store)?,
                max_bytes: at_least_one("media_max_bytes", settings.media_max_bytes.unwrap_or_default().as_u64())?,
                types: media_types(settings.media_types)?,
                sizes: media_sizes(settings.media_sizes.unwrap_or_default())?,
                cache_bytes: settings.media_cache_mib.unwrap_or_default() << 20,
            },
            analytics: AnalyticsConfig::resolve(settings.analytics)?,
        })
    }
}

/// Returns the value of a variable of this process, if it is set and not empty.
fn variable(name: &str) -> Result<Option<String>, ConfigError> {
    let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.into_string().map_err(|_| ConfigError(format!("`{name}` is not valid UTF-8")))?;
    Ok(Some(text))
}

/// Returns the path of the file that the flag or the environment names.
fn named_file(flag: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
    match flag {
        Some(path) => Ok(Some(path.to_owned())),
        None => Ok(variable("BINDERY_CONFIG")?.map(PathBuf::from)),
    }
}

fn data_folder(sent: PathBuf) -> Result<PathBuf, ConfigError> {
    match sent.as_os_str().is_empty() {
        true => Err(ConfigError("`data` is empty; it must be the path of a folder".to_owned())),
        false => Ok(sent),
    }
}

/// Reads an address with a port, or a name of this machine with a port.
fn listen(sent: &str) -> Result<SocketAddr, ConfigError> {
    let found = sent.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| {
        ConfigError(format!(
            "`listen` is `{sent}`; it must be an address and a port, such as `127.0.0.1:7700` or `localhost:7700`"
        ))
    })
}

fn read_file(named: Option<&Path>) -> Result<Settings, ConfigError> {
    let path = named.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Settings::from_toml(path, &text),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(ConfigError(format!("the configuration file `{}` cannot be read: {error}", path.display()))),
    }
}

fn public_url(sent: &str) -> Result<String, ConfigError> {
    let url = Url::parse(sent).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let plain = url.filter(|url| url.query().is_none() && url.fragment().is_none());
    plain.map(|url| url.as_str().trim_end_matches('/').to_owned()).ok_or_else(|| {
        ConfigError(format!("`public_url` is `{sent}`; it must be a URL such as `https://cms.example.com`"))
    })
}

fn cors_origin(sent: &str) -> Result<String, ConfigError> {
    let origin = Url::parse(sent).ok().map(|url| url.origin().ascii_serialization());
    if sent == "*" || origin.as_deref() == Some(sent) {
        return Ok(sent.to_owned());
    }
    Err(ConfigError(format!(
        "`cors_origins` has `{sent}`; it must be `*` or origins such as `https://www.example.com` (no path, no trailing slash)"
    )))
}

fn cache_control(sent: String) -> Result<String, ConfigError> {
    let is_header = !sent.is_empty() && sent.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_header {
        Ok(sent)
    } else {
        Err(ConfigError(format!("`cache_control` is `{sent}`; it must be like `private, no-cache`")))
    }
}

fn media_store(sent: Option<String>) -> Result<Option<String>, ConfigError> {
    let Some(sent) = sent else { return Ok(None) };
    if LOG_SCHEMES.iter().any(|scheme| sent.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())) {
        return Ok(Some(sent));
    }
    Err(ConfigError(format!(
        "`media_store` is `{sent}`; it must be the address of a bucket, such as `s3://bucket/prefix`, `gs://…`, `az://…`, or \
         `file:///DIR`; leave it out to keep files in the data folder"
    )))
}

fn media_types(sent: Option<Vec<String>>) -> Result<Option<Vec<String>>, ConfigError> {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.*".contains(&byte))
    };
    let is_type = |entry: &String| entry.split_once('/').is_some_and(|(group, rest)| is_word(group) && is_word(rest));
    match sent.iter().flatten().find(|entry| !is_type(entry)) {
        Some(entry) => Err(ConfigError(format!(
            "`media_types` has `{entry}`; it must be a list of types such as `image/*` and `application/pdf`"
        ))),
        None => Ok(sent),
    }
}

fn media_sizes(mut sizes: Vec<u32>) -> Result<Vec<u32>, ConfigError> {
    sizes.sort_unstable();
    sizes.dedup();
    let is_size = |size: &u32| (1..=MAX_MEDIA_SIZE).contains(size);
    if !sizes.is_empty() && sizes.iter().all(is_size) && sizes.len() <= MAX_MEDIA_SIZES {
        return Ok(sizes);
    }
    Err(ConfigError(format!(
        "`media_sizes` must have 1 to {MAX_MEDIA_SIZES} numbers of pixels, each from 1 to {MAX_MEDIA_SIZE}"
    )))
}

fn at_least_one<T: PartialOrd + From<u8>>(name: &str, number: T) -> Result<T, ConfigError> {
    if number >= T::from(1) { Ok(number) } else { Err(ConfigError(format!("`{name}` is 0; it must be 1 or more"))) }
}

fn rate(name: &str, sent: Option<String>) -> Result<Option<Rate>, ConfigError> {
    let Some(sent) = sent else { return Ok(None) };
    Rate::parse(&sent).map(Some).ok_or_else(|| {
        ConfigError(format!(
            "`{name}` is `{sent}`; it must be 1 or more in a second, minute or hour, such as `50/s`, `3000/m` or `9000/h`"
        ))
    })
}

/// Returns the memory for bodies, in bytes. It must be at least twice the largest body: only three quarters are for
/// large bodies, and a body must fit there together with the memory for reading it.
fn max_buffer_bytes(mib: Option<u32>, max_body_bytes: usize) -> Result<usize, ConfigError> {
    let least = max_body_bytes.div_ceil(1 << 20).saturating_mul(2);
    let mib = mib.map_or(least.max(DEFAULT_BUFFER_MIB), |mib| mib as usize);
    if mib >= least {
        return Ok(mib.saturating_mul(1 << 20));
    }
    Err(ConfigError(format!("`max_buffer_mib` is {mib}; with this `max_body_bytes` it must be {least} or more")))
}

fn seconds(name: &str, number: u64) -> Result<Duration, ConfigError> {
    Ok(Duration::from_secs(at_least_one(name, number)?))
}

fn admin_token(sent: String) -> Result<Secret, ConfigError> {
    let count = sent.chars().count();
    if count < MIN_ADMIN_TOKEN_CHARS {
        let message =
            format!("`BINDERY_ADMIN_TOKEN` has {count} characters; it must have at least {MIN_ADMIN_TOKEN_CHARS}");
        return Err(ConfigError(message));
    }
    // Clients cannot send others in a header.
    let is_sendable = sent.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) && sent.trim() == sent;
    if !is_sendable {
        let message = "`BINDERY_ADMIN_TOKEN` must be ASCII letters, digits and signs, without a line break or spaces \
                       around it";
        return Err(ConfigError(message.to_owned()));
    }
    Ok(Secret::from(sent))
}

fn metrics_token(sent: Secret) -> Result<Secret, ConfigError> {
    let count = sent.secret().chars().count();
    if !sent.secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = "`metrics_token` must be ASCII letters, digits and signs, without spaces";
        return Err(ConfigError(message.to_owned()));
    }
    if count < MIN_METRICS_TOKEN_CHARS {
        return Err(ConfigError(format!(
            "`metrics_token` has {count} characters; it must have at least {MIN_METRICS_TOKEN_CHARS}, for example from \
             `openssl rand -hex 16`"
        )));
    }
    Ok(sent)
}

fn cluster(
    log: Option<String>,
    key: Option<Secret>,
    node_address: Option<String>,
    max_lag: Option<u64>,
    listen: &str,
) -> Result<Option<ClusterConfig>, ConfigError> {
    let max_lag = seconds("max_lag", max_lag.unwrap_or_default())?;
    let Some(log) = log else { return Ok(None) };
    if !LOG_SCHEMES.iter().any(|scheme| log.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())) {
        let text = format!(
            "`log` is `{log}`; it must be the address of a log that several servers share, such as `s3://bucket/prefix`, `gs://…`, \
             `az://…`, `postgres://USER@HOST/DATABASE` or `file:///DIR`; what is logged is set by `log_filter`"
        );
        return Err(ConfigError(text));
    }
    let count = key.as_ref().map_or(usize::MAX, |key| key.secret().chars().count());
    if count < MIN_CLUSTER_KEY_CHARS {
        return Err(ConfigError(format!(
            "`cluster_key` has {count} characters; it must have at least {MIN_CLUSTER_KEY_CHARS}, for example from \
             `openssl rand -hex 32`"
        )));
    }
    if node_address.is_none() && (listen.starts_with("0.0.0.0:") || listen.starts_with("[::]:")) {
        return Err(ConfigError(format!(
            "`listen` is `{listen}`, which says nothing to the other servers of the cluster; set `node_address` to where they reach \
             this one, such as `10.0.0.5:7700`"
        )));
    }
    Ok(Some(ClusterConfig { log, key, node_address, max_lag }))
}

/// Checks that other servers can connect to an address: to a name or an IP address, and a port.
fn node_address(sent: String) -> Result<String, ConfigError> {
    let is_host = |host: &str| !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if sent.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && is_port(port)) {
        return Ok(sent);
    }
    Err(ConfigError(format!(
        "`node_address` is `{sent}`; it must be a name or an IP address and a port, with no spaces and nothing behind it, such as \
         `10.0.0.5:7700`"
    )))
}

fn log_filter(sent: String) -> Result<String, ConfigError> {
    // A single word that is no level would be read as a target, and nothing else would be logged.
    let is_word = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let unknown = sent.split(',').map(str::trim).find(|part| is_word(part) && part.parse::<LevelFilter>().is_err());
    if let Some(word) = unknown {
        return Err(ConfigError(format!(
            "`log_filter` has `{word}`, which is no level; levels are `off`, `error`, `warn`, `info`, `debug`, and `bindery=debug` \
             is one for a part of the server"
        )));
    }
    match EnvFilter::try_new(&sent) {
        Ok(_) => Ok(sent),
        Err(error) => Err(ConfigError(format!(
            "`log_filter` is `{sent}`, which is not a valid filter ({error}); examples are `info` and `warn,bindery=debug`"
        ))),
    }
}
