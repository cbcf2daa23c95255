//! The settings from one source: flags, environment or file. A setting that the source does not have is `None`. Must
//! not know defaults.

use std::path::{Path, PathBuf};

use bindery_sanitize::DEFAULT_VIDEO_HOSTS;
use bytesize::ByteSize;
use clap::builder::BoolishValueParser;
use clap::{Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize, Serializer};

use super::error::ConfigError;
use super::log_format::LogFormat;
use super::secret::Secret;

/// The widths and heights in which pictures are made by default: from a thumbnail to a screen of twice the usual
/// density.
const DEFAULT_MEDIA_SIZES: [u32; 10] = [160, 320, 480, 640, 960, 1280, 1600, 1920, 2560, 3840];

/// The settings from one source. Each field is the flag `--name`, the variable `BINDERY_NAME` and the key `name`.
#[derive(Debug, Clone, PartialEq, Default, Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The data folder [default: bindery-data] [env: BINDERY_DATA]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The address to listen on [default: 127.0.0.1:7700] [env: BINDERY_LISTEN]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,

    /// Fill an empty data folder with demonstration content [env: BINDERY_DEMO]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub demo: Option<bool>,

    /// The public URL of the server, which links begin with [default: from the Host header] [env: BINDERY_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// Origins whose pages may call the API from a browser, or `*` [default: none] [env: BINDERY_CORS_ORIGINS]
    #[arg(long, value_name = "ORIGIN,…", value_delimiter = ',')]
    pub cors_origins: Option<Vec<String>>,

    /// The largest request body, and line of an import, such as `10MiB` [default: 10MiB] [env: BINDERY_MAX_BODY_BYTES]
    #[arg(long, value_name = "SIZE")]
    #[serde(serialize_with = "in_bytes")]
    pub max_body_bytes: Option<ByteSize>,

    /// The longest time that a search of a request may take, in seconds [default: 10] [env: BINDERY_QUERY_TIMEOUT]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=3_600))]
    pub query_timeout: Option<u64>,

    /// The number of connections that may be open [default: 4096, or fewer where open files are limited]
    /// [env: BINDERY_MAX_CONNECTIONS]
    #[arg(long, value_name = "NUMBER")]
    pub max_connections: Option<usize>,

    /// The memory for the bodies of requests and answers, in MiB [default: 256] [env: BINDERY_MAX_BUFFER_MIB]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    pub max_buffer_mib: Option<u32>,

    /// The time to wait for a client that sends or reads nothing, in seconds [default: 30]
    /// [env: BINDERY_CLIENT_TIMEOUT]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub client_timeout: Option<u64>,

    /// The time to keep a connection open for the next request, in seconds [default: 75]
    /// [env: BINDERY_KEEPALIVE_TIMEOUT]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub keepalive_timeout: Option<u64>,

    /// The address of the log that several servers share, such as `s3://bucket/prefix` [default: none, one server]
    /// [env: BINDERY_LOG]
    #[arg(long, value_name = "URL")]
    pub log: Option<String>,

    /// The key that all servers of a cluster share, 32 characters or more [default: none] [env: BINDERY_CLUSTER_KEY]
    #[arg(long, value_name = "KEY")]
    pub cluster_key: Option<Secret>,

    /// The address at which the other servers of the cluster reach this one
    /// [default: listen] [env: BINDERY_NODE_ADDRESS]
    #[arg(long, value_name = "ADDR")]
    pub node_address: Option<String>,

    /// The longest time that a write waits for the log of a cluster, in seconds
    /// [default: 30] [env: BINDERY_WRITE_TIMEOUT]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=3_600))]
    pub write_timeout: Option<u64>,

    /// The time without the log of its cluster after which a server is not ready, in seconds [default: 60]
    /// [env: BINDERY_MAX_LAG]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub max_lag: Option<u64>,

    /// What to log to standard error, such as `warn,bindery=debug` [default: info] [env: BINDERY_LOG_FILTER]
    #[arg(long, value_name = "FILTER")]
    pub log_filter: Option<String>,

    /// The form of the access log on standard output: `off`, `text` or `json` [default: off] [env: BINDERY_LOG_FORMAT]
    #[arg(long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub log_format: Option<LogFormat>,

    /// The token that requests for `/metrics` must have, 16 characters or more [default: none, loopback addresses only]
    /// [env: BINDERY_METRICS_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub metrics_token: Option<Secret>,

    /// Hosts whose players rich text may embed [default: YouTube's and Vimeo's] [env: BINDERY_VIDEO_HOSTS]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub video_hosts: Option<Vec<String>>,

    /// The size of the store's cache, in MiB [default: 32] [env: BINDERY_STORE_CACHE_MIB]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub store_cache_mib: Option<u64>,

    /// The number of requests with one token to accept, such as `50/s` or `3000/m` [default: no limit]
    /// [env: BINDERY_RATE_LIMIT_PER_TOKEN]
    #[arg(long, value_name = "RATE")]
    pub rate_limit_per_token: Option<String>,

    /// The number of requests of one address to accept, such as `50/s` or `3000/m` [default: no limit]
    /// [env: BINDERY_RATE_LIMIT_PER_ADDRESS]
    #[arg(long, value_name = "RATE")]
    pub rate_limit_per_address: Option<String>,

    /// The number of changes of resources the change feed keeps [default: 1000000] [env: BINDERY_CHANGES_KEPT]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub changes_kept: Option<u64>,

    /// Let webhooks send to loopback, private and link-local addresses [env: BINDERY_WEBHOOK_PRIVATE_ADDRESSES]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub webhook_private_addresses: Option<bool>,

    /// The `Cache-Control` of answers that have an entity tag [default: private, no-cache] [env: BINDERY_CACHE_CONTROL]
    #[arg(long, value_name = "TEXT")]
    pub cache_control: Option<String>,

    /// Name what an answer depends on in `Surrogate-Key` and `Cache-Tag`, for a cache in front of the server
    /// [env: BINDERY_CACHE_TAGS]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub cache_tags: Option<bool>,

    /// The place of the files of media, such as `s3://bucket/prefix` [default: the folder media of the data folder]
    /// [env: BINDERY_MEDIA_STORE]
    #[arg(long, value_name = "URL")]
    pub media_store: Option<String>,

    /// The largest file that can be uploaded, such as `100MiB` [default: 100MiB] [env: BINDERY_MEDIA_MAX_BYTES]
    #[arg(long, value_name = "SIZE")]
    #[serde(serialize_with = "in_bytes")]
    pub media_max_bytes: Option<ByteSize>,

    /// The types of files that can be uploaded, such as `image/*` [default: pictures, video, audio, fonts, PDF, office
    /// documents, zip, plain text, CSV] [env: BINDERY_MEDIA_TYPES]
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    pub media_types: Option<Vec<String>>,

    /// The widths and heights in which pictures are made, in pixels
    /// [default: 160,320,480,640,960,1280,1600,1920,2560,3840] [env: BINDERY_MEDIA_SIZES]
    #[arg(long, value_name = "PIXELS,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=16_383))]
    pub media_sizes: Option<Vec<u32>>,

    /// The disk space for pictures that were made in other sizes, in MiB [default: 2048] [env: BINDERY_MEDIA_CACHE_MIB]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 24))]
    pub media_cache_mib: Option<u64>,

    /// The settings of the analytics: the table `analytics` of the file.
    #[command(flatten)]
    #[serde(default)]
    pub analytics: AnalyticsSettings,
}

/// The settings of the analytics from one source. Each field is the flag `--analytics-name`, the variable
/// `BINDERY_ANALYTICS_NAME` and the key `name` of the table `analytics`.
#[derive(Debug, Clone, PartialEq, Default, Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "Analytics")]
pub struct AnalyticsSettings {
    /// Hosts whose pageviews to count [default: none] [env: BINDERY_ANALYTICS_SITES]
    #[arg(id = "analytics_sites", long = "analytics-sites", value_name = "HOST,…", value_delimiter = ',')]
    pub sites: Option<Vec<String>>,

    /// Proxies whose headers to trust: addresses or networks [default: none] [env: BINDERY_ANALYTICS_TRUSTED_PROXIES]
    #[arg(
        id = "analytics_trusted_proxies",
        long = "analytics-trusted-proxies",
        value_name = "NETWORK,…",
        value_delimiter = ','
    )]
    pub trusted_proxies: Option<Vec<String>>,

    /// The header in which those proxies send the client's address [default: X-Forwarded-For]
    /// [env: BINDERY_ANALYTICS_FORWARDED_HEADER]
    #[arg(id = "analytics_forwarded_header", long = "analytics-forwarded-header", value_name = "HEADER")]
    pub forwarded_header: Option<String>,

    /// The header in which those proxies send the client's country [default: none]
    /// [env: BINDERY_ANALYTICS_COUNTRY_HEADER]
    #[arg(id = "analytics_country_header", long = "analytics-country-header", value_name = "HEADER")]
    pub country_header: Option<String>,

    /// A file in MaxMind's format that maps addresses to countries [default: none]
    /// [env: BINDERY_ANALYTICS_COUNTRY_FILE]
    #[arg(id = "analytics_country_file", long = "analytics-country-file", value_name = "FILE")]
    pub country_file: Option<PathBuf>,

    /// The number of days to keep figures [default: for ever] [env: BINDERY_ANALYTICS_RETENTION_DAYS]
    #[arg(id = "analytics_retention_days", long = "analytics-retention-days", value_name = "DAYS")]
    pub retention_days: Option<u32>,

    /// The number of pageviews, searches and clicks a minute to accept from one address; 0 for no limit [default: 3000]
    /// [env: BINDERY_ANALYTICS_EVENTS_PER_MINUTE]
    #[arg(id = "analytics_events_per_minute", long = "analytics-events-per-minute", value_name = "NUMBER")]
    pub events_per_minute: Option<u32>,

    /// Ignore pageviews if the browser asks not to be tracked [env: BINDERY_ANALYTICS_DO_NOT_TRACK]
    #[arg(id = "analytics_do_not_track", long = "analytics-do-not-track", value_name = "BOOL", num_args = 0..=1,
        require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub do_not_track: Option<bool>,
}

/// Writes the exact number of bytes. The text form of a size is rounded for people.
fn in_bytes<S: Serializer>(size: &Option<ByteSize>, serializer: S) -> Result<S::Ok, S::Error> {
    size.map(|size| size.as_u64()).serialize(serializer)
}

impl Settings {
    /// Returns the settings in the text of the file of that path.
    ///
    /// # Errors
    /// An invalid value, or an unknown key; the message names the file and lists the known keys.
    pub(super) fn from_toml(path: &Path, text: &str) -> Result<Settings, ConfigError> {
        let describe = |error: toml::de::Error| format!("{}: {}", path.display(), error.to_string().trim_end());
        toml::from_str(text).map_err(|error| ConfigError(describe(error)))
    }

    /// Returns the settings in the environment. Each variable is parsed like the flag of the same name.
    ///
    /// # Errors
    /// A value that the flag does not accept, and the errors of `env`.
    pub(super) fn from_env(env: impl Fn(&str) -> Result<Option<String>, ConfigError>) -> Result<Settings, ConfigError> {
        let command = Settings::augment_args(Command::new("environment").no_binary_name(true));
        let mut settings = Settings::default();
        for flag in flag_names() {
            let variable = variable_of(&flag);
            let Some(value) = env(&variable)? else { continue };
            let matches = command.clone().try_get_matches_from([format!("--{flag}={value}")]);
            let set = matches.and_then(|matches| Settings::from_arg_matches(&matches)).map_err(|_| {
                ConfigError(format!(
                    "`{variable}` is `{value}`, which `--{flag}` does not accept; see `bindery serve --help`"
                ))
            })?;
            settings = settings.or(set);
        }
        Ok(settings)
    }

    /// Returns the default values of the settings that have one.
    pub(super) fn defaults() -> Settings {
        Settings {
            data: Some(PathBuf::from("bindery-data")),
            listen: Some("127.0.0.1:7700".to_owned()),
            demo: Some(false),
            cors_origins: Some(Vec::new()),
            max_body_bytes: Some(ByteSize::mib(10)),
            query_timeout: Some(10),
            client_timeout: Some(30),
            keepalive_timeout: Some(75),
            write_timeout: Some(30),
            max_lag: Some(60),
            log_filter: Some("info".to_owned()),
            log_format: Some(LogFormat::Off),
            video_hosts: Some(DEFAULT_VIDEO_HOSTS.map(String::from).to_vec()),
            store_cache_mib: Some(32),
            changes_kept: Some(1_000_000),
            cache_control: Some("private, no-cache".to_owned()),
            cache_tags: Some(false),
            webhook_private_addresses: Some(false),
            media_max_bytes: Some(ByteSize::mib(100)),
            media_sizes: Some(DEFAULT_MEDIA_SIZES.to_vec()),
            media_cache_mib: Some(2_048),
            analytics: AnalyticsSettings {
                sites: Some(Vec::new()),
                trusted_proxies: Some(Vec::new()),
                forwarded_header: Some("X-Forwarded-For".to_owned()),
                events_per_minute: Some(3_000),
                do_not_track: Some(false),
                ..AnalyticsSettings::default()
            },
            ..Settings::default()
        }
    }

    /// Returns the settings of this source. Settings that it lacks are taken from the weaker source.
    pub(super) fn or(self, weaker: Settings) -> Settings {
        Settings {
            data: self.data.or(weaker.data),
            listen: self.listen.or(weaker.listen),
            demo: self.demo.or(weaker.demo),
            public_url: self.public_url.or(weaker.public_url),
            cors_origins: self.cors_origins.or(weaker.cors_origins),
            max_body_bytes: self.max_body_bytes.or(weaker.max_body_bytes),
            query_timeout: self.query_timeout.or(weaker.query_timeout),
            max_connections: self.max_connections.or(weaker.max_connections),
            max_buffer_mib: self.max_buffer_mib.or(weaker.max_buffer_mib),
            client_timeout: self.client_timeout.or(weaker.client_timeout),
            keepalive_timeout: self.keepalive_timeout.or(weaker.keepalive_timeout),
            log: self.log.or(weaker.log),
            cluster_key: self.cluster_key.or(weaker.cluster_key),
            node_address: self.node_address.or(weaker.node_address),
            write_timeout: self.write_timeout.or(weaker.write_timeout),
            max_lag: self.max_lag.or(weaker.max_lag),
            log_filter: self.log_filter.or(weaker.log_filter),
            log_format: self.log_format.or(weaker.log_format),
            metrics_token: self.metrics_token.or(weaker.metrics_token),
            video_hosts: self.video_hosts.or(weaker.video_hosts),
            store_cache_mib: self.store_cache_mib.or(weaker.store_cache_mib),
            rate_limit_per_token: self.rate_limit_per_token.or(weaker.rate_limit_per_token),
            rate_limit_per_address: self.rate_limit_per_address.or(weaker.rate_limit_per_address),
            changes_kept: self.changes_kept.or(weaker.changes_kept),
            webhook_private_addresses: self.webhook_private_addresses.or(weaker.webhook_private_addresses),
            cache_control: self.cache_control.or(weaker.cache_control),
            cache_tags: self.cache_tags.or(weaker.cache_tags),
            media_store: self.media_store.or(weaker.media_store),
            media_max_bytes: self.media_max_bytes.or(weaker.media_max_bytes),
            media_types: self.media_types.or(weaker.media_types),
            media_sizes: self.media_sizes.or(weaker.media_sizes),
            media_cache_mib: self.media_cache_mib.or(weaker.media_cache_mib),
            analytics: self.analytics.or(weaker.analytics),
        }
    }
}

impl AnalyticsSettings {
    fn or(self, weaker: AnalyticsSettings) -> AnalyticsSettings {
        AnalyticsSettings {
            sites: self.sites.or(weaker.sites),
            trusted_proxies: self.trusted_proxies.or(weaker.trusted_proxies),
            forwarded_header: self.forwarded_header.or(weaker.forwarded_header),
            country_header: self.country_header.or(weaker.country_header),
            country_file: self.country_file.or(weaker.country_file),
            retention_days: self.retention_days.or(weaker.retention_days),
            events_per_minute: self.events_per_minute.or(weaker.events_per_minute),
            do_not_track: self.do_not_track.or(weaker.do_not_track),
        }
    }
}

/// Returns the variable of a setting with this flag.
pub(super) fn variable_of(flag: &str) -> String {
    format!("BINDERY_{}", flag.replace('-', "_").to_uppercase())
}

/// Returns the flags of all settings, in the order of the help.
pub(super) fn flag_names() -> Vec<String> {
    let command = Settings::augment_args(Command::new("settings"));
    command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned).collect()
}
