//! The settings of the analytics, checked and complete. Must not know what they do.

use std::net::IpAddr;
use std::path::PathBuf;

use bindery_model::site::site_host;

use super::error::ConfigError;
use super::settings::AnalyticsSettings;

/// The settings of the analytics.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyticsConfig {
    /// The hosts whose pageviews are counted.
    pub sites: Vec<String>,
    /// The proxies whose headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// The header in which those proxies send the client's address.
    pub forwarded_header: String,
    /// The header in which those proxies send the client's country.
    pub country_header: Option<String>,
    /// A file in MaxMind's format that maps addresses to countries.
    pub country_file: Option<PathBuf>,
    /// The number of days that figures are kept; `None` for ever.
    pub retention_days: Option<u32>,
    /// The number of pageviews a minute that are accepted from one address; 0 for no limit.
    pub events_per_minute: u32,
    /// True if pageviews are ignored when the browser asks not to be tracked.
    pub do_not_track: bool,
}

/// An address, or all addresses with the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Parses `192.0.2.1`, `10.0.0.0/8` or `2001:db8::/32`; `None` if the text is no such network.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let max_bits = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(max_bits), |bits| bits.parse().ok().filter(|bits| *bits <= max_bits))?;
        Some(Network { address, bits })
    }

    /// Returns whether the network contains the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let common_bits = match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            _ => return false,
        };
        common_bits >= u32::from(self.bits)
    }
}

impl AnalyticsConfig {
    pub(super) fn resolve(settings: AnalyticsSettings) -> Result<AnalyticsConfig, ConfigError> {
        let sites = settings.sites.unwrap_or_default();
        let proxies = settings.trusted_proxies.unwrap_or_default();
        Ok(AnalyticsConfig {
            sites: sites
                .iter()
                .filter(|site| !site.trim().is_empty())
                .map(|site| host(site.trim()))
                .collect::<Result<_, _>>()?,
            trusted_proxies: proxies.iter().map(|proxy| network(proxy.trim())).collect::<Result<_, _>>()?,
            forwarded_header: header("forwarded_header", settings.forwarded_header.unwrap_or_default())?,
            country_header: settings.country_header.map(|name| header("country_header", name)).transpose()?,
            country_file: settings.country_file,
            retention_days: match settings.retention_days {
                Some(0) => {
                    return Err(ConfigError("`analytics.retention_days` is 0; it must be 1 or more".to_owned()));
                }
                days => days,
            },
            events_per_minute: settings.events_per_minute.unwrap_or_default(),
            do_not_track: settings.do_not_track.unwrap_or_default(),
        })
    }
}

fn host(sent: &str) -> Result<String, ConfigError> {
    site_host(sent).ok_or_else(|| {
        ConfigError(format!(
            "`analytics.sites` has `{sent}`; it must be hosts such as `www.example.com`, without `https://`"
        ))
    })
}

fn network(sent: &str) -> Result<Network, ConfigError> {
    Network::parse(sent).ok_or_else(|| {
        ConfigError(format!(
            "`analytics.trusted_proxies` has `{sent}`; it must be addresses or networks such as `10.0.0.0/8`"
        ))
    })
}

fn header(name: &str, sent: String) -> Result<String, ConfigError> {
    let is_name = !sent.is_empty() && sent.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_name {
        return Ok(sent.to_ascii_lowercase());
    }
    Err(ConfigError(format!(
        "`analytics.{name}` is `{sent}`; it must be the name of a header, such as `X-Forwarded-For`"
    )))
}
