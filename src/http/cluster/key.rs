//! The key that the nodes of a cluster share: it proves that a request comes from another node.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use bindery_model::error::{Code, Error};
use bindery_model::time::Millis;

use crate::app::App;
use crate::error::Failure;

/// The proof that a request comes from a node: the time in seconds, the client, and a code over both and the request
/// line.
pub(crate) const BINDERY_NODE: HeaderName = HeaderName::from_static("bindery-node");

/// The age from which a proof is not accepted. Clocks of nodes may differ by less.
const MAX_AGE: Duration = Duration::from_secs(300);

/// The reason why a request is not proven to come from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unproven {
    /// There is no proof, or it is not made with the key.
    Forged,
    /// A node made it, but its time is too far from this server's.
    OtherTime,
}

/// The sender of a request, if it has proven that it is a node of this server's cluster. Others are `FORBIDDEN`.
pub(crate) struct FromNode;

impl FromRequestParts<App> for FromNode {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<FromNode, Failure> {
        let Parts { headers, method, uri, .. } = parts;
        match app.cluster_key.as_ref().map(|key| key.check(headers, method, uri)) {
            Some(Ok(_)) => Ok(FromNode),
            _ => Err(Error::new(Code::Forbidden, "only the nodes of this server's cluster may send this").into()),
        }
    }
}

/// The shared key.
#[derive(Clone)]
pub(crate) struct ClusterKey {
    key: [u8; 32],
    /// The time of the cluster.
    clock: Arc<dyn Fn() -> Millis + Send + Sync>,
}

impl ClusterKey {
    pub(crate) fn new(secret: &str, clock: impl Fn() -> Millis + Send + Sync + 'static) -> ClusterKey {
        let key = blake3::derive_key("bindery cluster requests", secret.as_bytes());
        ClusterKey { key, clock: Arc::new(clock) }
    }

    /// Returns the header that proves a request. `client` is the client that it is forwarded for, without spaces.
    pub(crate) fn prove(&self, method: &Method, uri: &Uri, client: &str) -> Option<HeaderValue> {
        let now = self.seconds();
        let code = self.code(now, client, method, uri);
        HeaderValue::from_str(&format!("{now} {client} {}", code.to_hex())).ok()
    }

    /// Returns the client of a request that a node sent.
    pub(crate) fn check(&self, headers: &HeaderMap, method: &Method, uri: &Uri) -> Result<String, Unproven> {
        let (at, client) = self.check_code(headers, method, uri).ok_or(Unproven::Forged)?;
        if at.abs_diff(self.seconds()) > MAX_AGE.as_secs() {
            return Err(Unproven::OtherTime);
        }
        Ok(client)
    }

    /// Returns the time of a proof, and the client; `None` if it is missing or wrong.
    fn check_code(&self, headers: &HeaderMap, method: &Method, uri: &Uri) -> Option<(u64, String)> {
        let proof = headers.get(BINDERY_NODE)?.to_str().ok()?;
        let mut parts = proof.split(' ');
        let (at, client, code) = (parts.next()?.parse::<u64>().ok()?, parts.next()?, parts.next()?);
        let sent = blake3::Hash::from_hex(code).ok()?;
        // The comparison of hashes takes the same time wherever they differ.
        (sent == self.code(at, client, method, uri)).then(|| (at, client.to_owned()))
    }

    fn seconds(&self) -> u64 {
        u64::try_from((self.clock)() / 1_000).unwrap_or_default()
    }

    fn code(&self, at: u64, client: &str, method: &Method, uri: &Uri) -> blake3::Hash {
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        blake3::keyed_hash(&self.key, format!("{at}\n{client}\n{method}\n{target}").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_request_and_its_key_only() {
        let [key, other, late] = [("k", 1_000_000_000), ("l", 1_000_000_000), ("k", 1_000_301_000)]
            .map(|(secret, now)| ClusterKey::new(&secret.repeat(32), move || now));
        let uri = |text: &'static str| Uri::from_static(text);
        let proof = key.prove(&Method::POST, &uri("/v2/a?b=1"), "10.0.0.9");
        let headers: HeaderMap = proof.into_iter().map(|proof| (BINDERY_NODE, proof)).collect();
        let checked = |key: &ClusterKey, method, target| key.check(&headers, &method, &uri(target));
        assert_eq!(checked(&key, Method::POST, "/v2/a?b=1").as_deref(), Ok("10.0.0.9"));
        assert_eq!(checked(&other, Method::POST, "/v2/a?b=1"), Err(Unproven::Forged));
        assert_eq!(checked(&late, Method::POST, "/v2/a?b=1"), Err(Unproven::OtherTime));
        assert_eq!(checked(&key, Method::PUT, "/v2/a?b=1"), Err(Unproven::Forged));
        assert_eq!(checked(&key, Method::POST, "/v2/a?b=2"), Err(Unproven::Forged));
        for broken in ["", "1", "1 a", "1 a b", "x 10.0.0.9 00", "99999999999999999999 a b"] {
            let headers = HeaderMap::from_iter([(BINDERY_NODE, HeaderValue::from_static(broken))]);
            assert_eq!(key.check(&headers, &Method::GET, &uri("/")), Err(Unproven::Forged), "{broken}");
        }
    }
}
