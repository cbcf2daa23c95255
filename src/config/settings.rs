//! The settings as one source says them: flags, environment or file. What a source does not say is `None`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Command, FromArgMatches};
use serde::Deserialize;

use super::ConfigError;

/// What one source says. Each field is the flag `--name`, the variable `BINDERY_NAME` and the key `name`.
#[derive(Debug, Clone, PartialEq, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The data folder [default: bindery-data] [env: BINDERY_DATA]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The address to listen on [default: 127.0.0.1:7700] [env: BINDERY_LISTEN]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,

    /// Fill an empty data folder with demonstration content [env: BINDERY_DEMO]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub demo: Option<bool>,

    /// The public address, which links begin with [default: from the Host header] [env: BINDERY_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// Origins whose pages may call the API from a browser, or `*` [default: none] [env: BINDERY_CORS_ORIGINS]
    #[arg(long, value_name = "ORIGIN,…", value_delimiter = ',')]
    pub cors_origins: Option<Vec<String>>,

    /// The largest body that is taken, in bytes [default: 10485760] [env: BINDERY_MAX_BODY_BYTES]
    #[arg(long, value_name = "BYTES")]
    pub max_body_bytes: Option<usize>,

    /// What is logged, such as `warn,bindery=debug` [default: info] [env: BINDERY_LOG]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,

    /// Hosts whose players rich text may embed [default: YouTube's and Vimeo's] [env: BINDERY_VIDEO_HOSTS]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub video_hosts: Option<Vec<String>>,

    /// Memory for the store's cache, in MiB [default: 256] [env: BINDERY_STORE_CACHE_MIB]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub store_cache_mib: Option<u64>,
}

impl Settings {
    /// What `bindery.toml` says. An unknown key is an error that names the known ones.
    pub(super) fn from_toml(text: &str) -> Result<Settings, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError(format!("bindery.toml: {}", error.to_string().trim_end())))
    }

    /// What the environment says: each variable is read as the flag of its name is.
    pub(super) fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Settings, ConfigError> {
        let command = Settings::augment_args(Command::new("environment").no_binary_name(true));
        let mut settings = Settings::default();
        for flag in command.get_arguments().filter_map(|argument| argument.get_long()) {
            let variable = format!("BINDERY_{}", flag.replace('-', "_").to_uppercase());
            let Some(value) = env(&variable) else { continue };
            let matches = command.clone().try_get_matches_from([format!("--{flag}={value}")]);
            let said = matches.and_then(|matches| Settings::from_arg_matches(&matches)).map_err(|_| {
                ConfigError(format!(
                    "`{variable}` is `{value}`, which `--{flag}` does not take; see `bindery serve --help`"
                ))
            })?;
            settings = settings.or(said);
        }
        Ok(settings)
    }

    /// What this source says, else what the weaker one does.
    pub(super) fn or(self, weaker: Settings) -> Settings {
        Settings {
            data: self.data.or(weaker.data),
            listen: self.listen.or(weaker.listen),
            demo: self.demo.or(weaker.demo),
            public_url: self.public_url.or(weaker.public_url),
            cors_origins: self.cors_origins.or(weaker.cors_origins),
            max_body_bytes: self.max_body_bytes.or(weaker.max_body_bytes),
            log: self.log.or(weaker.log),
            video_hosts: self.video_hosts.or(weaker.video_hosts),
            store_cache_mib: self.store_cache_mib.or(weaker.store_cache_mib),
        }
    }
}
