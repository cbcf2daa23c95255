//! The command line and the configuration, in two stages: what was said (flags, environment, file), and a [`Config`]
//! that is ready to use. Every setting is a flag, an environment variable and a key of `bindery.toml`; the first of
//! these that says something counts. Knows nothing of what the settings do.

mod analytics;
mod cli;
mod settings;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tracing_subscriber::EnvFilter;
use url::Url;

use crate::sanitize::DEFAULT_VIDEO_HOSTS;

pub use analytics::{AnalyticsConfig, Network};
pub use cli::{
    AnalyticsArgs, AnalyticsCommand, BackupArgs, Cli, Command, ExportArgs, FolderArgs, ImportArgs, RestoreArgs,
    ServeArgs, ServerArgs, TokenArgs, TokenCommand,
};
pub use settings::AnalyticsSettings;
pub use settings::Settings;

/// The file that is read where no other is named; it may be missing.
const DEFAULT_FILE: &str = "bindery.toml";
/// The token is nobody's to guess: shorter ones are refused.
const MIN_ADMIN_TOKEN_CHARS: usize = 32;

/// The settings of a server, checked and complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// The address that is listened on.
    pub listen: SocketAddr,
    /// Whether an empty data folder is filled with demonstration content.
    pub demo: bool,
    /// The address that links begin with, without a slash at its end.
    pub public_url: Option<String>,
    /// The origins whose pages may call the API from a browser; `*` stands for all. None when empty.
    pub cors_origins: Vec<String>,
    /// The largest body that is taken.
    pub max_body_bytes: usize,
    /// A token with every ability that is valid while the server runs.
    pub admin_token: Option<AdminToken>,
    /// What is logged, as `tracing_subscriber` filters are written.
    pub log: String,
    /// The hosts whose players rich text may embed.
    pub video_hosts: Vec<String>,
    /// The memory that the store's cache may take.
    pub store_cache_bytes: u64,
    /// The settings of the analytics.
    pub analytics: AnalyticsConfig,
}

/// The value of `BINDERY_ADMIN_TOKEN`. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct AdminToken(String);

/// A configuration that cannot be used: one sentence that names the setting and what it takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl AdminToken {
    /// The token itself.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdminToken(…)")
    }
}

impl Config {
    /// The configuration that the flags, this process' environment and the file say. `file` is what `--config` names.
    pub fn load(flags: Settings, file: Option<&Path>) -> Result<Config, ConfigError> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = file.map(Path::to_owned).or_else(|| env("BINDERY_CONFIG").map(PathBuf::from));
        let text = read_file(named.as_deref())?;
        Config::resolve(flags, env, text.as_deref())
    }

    /// The same of given texts: `env` answers with the value of a variable that is set and not empty, `file` is what
    /// `bindery.toml` holds.
    pub fn resolve(
        flags: Settings,
        env: impl Fn(&str) -> Option<String>,
        file: Option<&str>,
    ) -> Result<Config, ConfigError> {
        let file = file.map(Settings::from_toml).transpose()?.unwrap_or_default();
        let said = flags.or(Settings::from_env(&env)?).or(file);
        Ok(Config {
            data: said.data.unwrap_or_else(|| PathBuf::from("bindery-data")),
            listen: said.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 7700))),
            demo: said.demo.unwrap_or(false),
            public_url: said.public_url.as_deref().map(public_url).transpose()?,
            cors_origins: said
                .cors_origins
                .unwrap_or_default()
                .iter()
                .map(|origin| cors_origin(origin))
                .collect::<Result<_, _>>()?,
            max_body_bytes: at_least_one("max_body_bytes", said.max_body_bytes.unwrap_or(10 << 20))?,
            admin_token: env("BINDERY_ADMIN_TOKEN").map(admin_token).transpose()?,
            log: log_filter(said.log.unwrap_or_else(|| "info".to_owned()))?,
            video_hosts: said.video_hosts.unwrap_or_else(|| DEFAULT_VIDEO_HOSTS.map(String::from).to_vec()),
            store_cache_bytes: at_least_one("store_cache_mib", said.store_cache_mib.unwrap_or(256))? << 20,
            analytics: AnalyticsConfig::resolve(said.analytics)?,
        })
    }
}

fn read_file(named: Option<&Path>) -> Result<Option<String>, ConfigError> {
    let path = named.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError(format!("the configuration file `{}` cannot be read: {error}", path.display()))),
    }
}

fn public_url(sent: &str) -> Result<String, ConfigError> {
    let url = Url::parse(sent).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let plain = url.filter(|url| url.query().is_none() && url.fragment().is_none());
    plain.map(|url| url.as_str().trim_end_matches('/').to_owned()).ok_or_else(|| {
        ConfigError(format!("`public_url` is `{sent}`; it takes an address such as `https://cms.example.com`"))
    })
}

fn cors_origin(sent: &str) -> Result<String, ConfigError> {
    let origin = Url::parse(sent).ok().map(|url| url.origin().ascii_serialization());
    if sent == "*" || origin.as_deref() == Some(sent) {
        return Ok(sent.to_owned());
    }
    Err(ConfigError(format!(
        "`cors_origins` has `{sent}`; it takes `*` and origins such as `https://www.example.com` (no path, no slash at the end)"
    )))
}

fn at_least_one<T: PartialOrd + From<u8>>(name: &str, number: T) -> Result<T, ConfigError> {
    if number >= T::from(1) { Ok(number) } else { Err(ConfigError(format!("`{name}` is 0; it takes a number from 1"))) }
}

fn admin_token(sent: String) -> Result<AdminToken, ConfigError> {
    let count = sent.chars().count();
    if count >= MIN_ADMIN_TOKEN_CHARS {
        return Ok(AdminToken(sent));
    }
    let message = format!("`BINDERY_ADMIN_TOKEN` has {count} characters; it takes at least {MIN_ADMIN_TOKEN_CHARS}");
    Err(ConfigError(message))
}

fn log_filter(sent: String) -> Result<String, ConfigError> {
    match EnvFilter::try_new(&sent) {
        Ok(_) => Ok(sent),
        Err(error) => Err(ConfigError(format!(
            "`log` is `{sent}`, which is no filter ({error}); right are `info` and `warn,bindery=debug`"
        ))),
    }
}
