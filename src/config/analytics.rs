//! The settings of the analytics, checked and complete.

use std::net::IpAddr;
use std::path::PathBuf;

use super::ConfigError;
use super::settings::AnalyticsSettings;
use crate::model::site::site_host;

/// The settings of the analytics.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyticsConfig {
    /// The hosts whose pageviews are counted.
    pub sites: Vec<String>,
    /// The proxies whose headers are believed.
    pub trusted_proxies: Vec<Network>,
    /// The header in which they name the client's address.
    pub forwarded_header: String,
    /// The header in which they name the client's country.
    pub country_header: Option<String>,
    /// A file in MaxMind's format.
    pub country_file: Option<PathBuf>,
    /// For how many days figures are kept.
    pub retention_days: Option<u32>,
    /// How many pageviews a minute are taken from one address; 0 is no limit.
    pub events_per_minute: u32,
    /// Whether visitors whose browser asks not to be tracked are left out.
    pub do_not_track: bool,
}

/// Addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok().filter(|bits| *bits <= most))?;
        Some(Network { address, bits })
    }

    /// Whether the address is one of it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
            _ => return false,
        };
        differing >= u32::from(self.bits)
    }
}

impl AnalyticsConfig {
    pub(super) fn resolve(said: AnalyticsSettings) -> Result<AnalyticsConfig, ConfigError> {
        let sites = said.sites.unwrap_or_default();
        let proxies = said.trusted_proxies.unwrap_or_default();
        Ok(AnalyticsConfig {
            sites: sites
                .iter()
                .filter(|site| !site.trim().is_empty())
                .map(|site| host(site.trim()))
                .collect::<Result<_, _>>()?,
            trusted_proxies: proxies.iter().map(|proxy| network(proxy.trim())).collect::<Result<_, _>>()?,
            forwarded_header: header(
                "forwarded_header",
                said.forwarded_header.unwrap_or_else(|| "X-Forwarded-For".to_owned()),
            )?,
            country_header: said.country_header.map(|name| header("country_header", name)).transpose()?,
            country_file: said.country_file,
            retention_days: match said.retention_days {
                Some(0) => {
                    return Err(ConfigError("`analytics.retention_days` is 0; it takes a number from 1".to_owned()));
                }
                days => days,
            },
            events_per_minute: said.events_per_minute.unwrap_or(3_000),
            do_not_track: said.do_not_track.unwrap_or(false),
        })
    }
}

fn host(sent: &str) -> Result<String, ConfigError> {
    site_host(sent).ok_or_else(|| {
        ConfigError(format!(
            "`analytics.sites` has `{sent}`; it takes hosts such as `www.example.com`, without `https://`"
        ))
    })
}

fn network(sent: &str) -> Result<Network, ConfigError> {
    Network::parse(sent).ok_or_else(|| {
        ConfigError(format!(
            "`analytics.trusted_proxies` has `{sent}`; it takes addresses and networks such as `10.0.0.0/8`"
        ))
    })
}

fn header(name: &str, sent: String) -> Result<String, ConfigError> {
    let is_name = !sent.is_empty() && sent.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_name {
        return Ok(sent.to_ascii_lowercase());
    }
    Err(ConfigError(format!(
        "`analytics.{name}` is `{sent}`; it takes the name of a header, such as `X-Forwarded-For`"
    )))
}
