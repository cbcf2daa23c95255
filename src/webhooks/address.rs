//! The addresses that webhooks and downloads must not reach: those of the server's own machine or network. They are
//! checked when a connection is made, so that a name cannot be resolved to another address after the check.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use url::{Host, Url};

/// The time limit for the acceptance of a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The resolver that returns only allowed addresses, from the answers of another resolver.
pub(super) struct PublicResolver<R = SystemResolver>(pub(super) R);

/// The resolver of the system.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl<R: Resolve> Resolve for PublicResolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let resolving = self.0.resolve(name);
        Box::pin(async move {
            let found: Vec<SocketAddr> = resolving.await?.collect();
            let public: Vec<SocketAddr> = found.iter().copied().filter(|address| is_public(address.ip())).collect();
            if public.is_empty() && !found.is_empty() {
                return Err(refused().into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// Begins a client for addresses that others chose. It follows no redirects and asks no proxy: both would reach
/// addresses that were not checked.
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    // The call fails if a provider is installed already. That provider is equally good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("Bindery/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .redirect(Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
}

/// Builds the client. Unless `private_addresses` is set, it refuses names of the server's own network.
pub(super) fn build(builder: reqwest::ClientBuilder, private_addresses: bool) -> reqwest::Result<reqwest::Client> {
    match private_addresses {
        true => builder.build(),
        false => builder.dns_resolver(PublicResolver(SystemResolver)).build(),
    }
}

/// Returns the reason why an address is refused.
pub(super) fn refused() -> &'static str {
    "the address is loopback, private or link-local; `webhook_private_addresses` allows those"
}

/// Returns whether the host of a URL is an address that must not be reached. (A name is resolved first, and then
/// checked.)
pub(super) fn is_private_address(url: &str) -> bool {
    let url = Url::parse(url).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(_)) | None => false,
    }
}

/// Returns whether an address is one of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        (0 | 10 | 127 | 224..=255, _, _) => true,
        // The range is shared by customers of a provider.
        (100, 64..=127, _) => true,
        (169, 254, _) | (192, 168, _) | (172, 16..=31, _) => true,
        // The ranges are for protocols, documentation, relays and measurements.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // The ranges are for Teredo and documentation.
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] => false,
        // The range is assigned to the public internet.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_may_be_reached() {
        for address in ["1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "223.255.255.255"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
            "2001:db8::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]:80/",
            "http://127.1/",
            "http://0/",
        ] {
            assert!(is_private_address(url), "{url}");
        }
        assert!(!is_private_address("http://example.com/") && !is_private_address("https://1.1.1.1/"));
    }
}
