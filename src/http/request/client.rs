//! The client behind a request, taken from the connection or from trusted proxies.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::http::{Extensions, HeaderMap, HeaderName};
use bindery_config::AnalyticsConfig;

use crate::cluster::forward::ForwardedFor;
use crate::transport::connection::Connection;

const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The client that sent a request.
pub(crate) struct Client {
    pub(crate) address: IpAddr,
    /// True if a trusted proxy reports that the client uses TLS.
    pub(crate) has_tls: bool,
    /// The country reported by a trusted proxy.
    pub(crate) country: Option<String>,
}

impl Client {
    /// Returns the client of a request. Its headers count only if it arrived from a trusted proxy, at this node or at
    /// the one that forwarded it.
    pub(crate) fn of(extensions: &Extensions, headers: &HeaderMap, settings: &AnalyticsConfig) -> Client {
        if let Some(&ForwardedFor { address, has_tls }) = extensions.get() {
            return Client { address, has_tls, country: None };
        }
        Client::behind(peer(extensions), headers, settings)
    }

    fn behind(peer: IpAddr, headers: &HeaderMap, settings: &AnalyticsConfig) -> Client {
        let is_trusted = |address: IpAddr| settings.trusted_proxies.iter().any(|network| network.contains(address));
        let peer = peer.to_canonical();
        if !is_trusted(peer) {
            return Client { address: peer, has_tls: false, country: None };
        }
        let values = headers.get_all(&settings.forwarded_header).iter();
        let named: Vec<&str> =
            values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).collect();
        // Each proxy appends the address that it got the request from. So the last address that is not a trusted proxy
        // is the client.
        let mut address = peer;
        for named in named.into_iter().rev() {
            let Some(next) = parse_address(named.trim()) else { break };
            address = next;
            if !is_trusted(next) {
                break;
            }
        }
        let country =
            settings.country_header.as_ref().and_then(|name| headers.get(name)?.to_str().ok().map(str::to_owned));
        let protocols = headers.get_all(X_FORWARDED_PROTO).iter().filter_map(|value| value.to_str().ok());
        // The nearest proxy wrote the last value.
        let protocol = protocols.flat_map(|value| value.split(',')).last();
        let has_tls = protocol.is_some_and(|protocol| protocol.trim().eq_ignore_ascii_case("https"));
        Client { address, has_tls, country }
    }
}

/// Returns the other end of the connection; unspecified without a connection, as in tests.
fn peer(extensions: &Extensions) -> IpAddr {
    let connection = extensions.get::<Arc<Connection>>();
    connection.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |connection| connection.peer.ip())
}

/// Reads an address with or without brackets and port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let address = bare().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}
