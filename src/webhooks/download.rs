//! Files from the web that a client asks the server to fetch. Follows the rule of webhooks for addresses: none of the
//! server's own network, also not after a redirect. Must not know what a file is.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::LOCATION;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::address::{build, client_builder, is_private_address, refused};
use super::sender::cause;

/// The longest time for a file.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time in which nothing arrives.
const SILENCE: Duration = Duration::from_secs(15);
const MAX_REDIRECTS: usize = 5;
/// The longest address.
const MAX_URL_BYTES: usize = 2_048;

/// A file that is being fetched.
pub struct Download {
    response: reqwest::Response,
    name: String,
    until: Instant,
}

impl Download {
    /// Begins to fetch a file.
    ///
    /// # Errors
    /// The reason why it cannot be fetched.
    pub async fn begin(url: &str, private_addresses: bool) -> Result<Download, String> {
        let until = Instant::now() + TIMEOUT;
        let builder = client_builder().read_timeout(SILENCE).pool_max_idle_per_host(0);
        let client = build(builder, private_addresses).map_err(|error| cause(&error))?;
        let mut url = parse(url)?;
        for _ in 0..=MAX_REDIRECTS {
            // A name is checked when it is resolved. An address is never resolved, so it is checked here.
            if !private_addresses && is_private_address(url.as_str()) {
                return Err(refused().to_owned());
            }
            let response = timeout_at(until, client.get(url.clone()).send()).await.map_err(|_| late())?;
            let response = response.map_err(|error| cause(&error))?;
            if response.status().is_redirection() {
                url = target(&url, &response)?;
                continue;
            }
            if !response.status().is_success() {
                return Err(format!("the server answered {}", response.status()));
            }
            return Ok(Download { response, name: name_of(&url), until });
        }
        Err(format!("there are more than {MAX_REDIRECTS} redirects"))
    }

    /// Returns the name of the file: the end of the address's path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    /// The reason why it broke off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        let piece = timeout_at(self.until, self.response.chunk()).await.map_err(|_| late())?;
        piece.map_err(|error| cause(&error))
    }
}

fn parse(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).ok().filter(|_| url.len() <= MAX_URL_BYTES);
    let parsed = parsed.filter(|url| {
        ["http", "https"].contains(&url.scheme()) && url.username().is_empty() && url.password().is_none()
    });
    parsed.ok_or_else(|| {
        format!("the address must begin with `http://` or `https://`, have no user, and at most {MAX_URL_BYTES} bytes")
    })
}

/// Returns the address that a redirect names.
fn target(url: &Url, response: &reqwest::Response) -> Result<Url, String> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let joined = location.and_then(|location| url.join(location).ok());
    let joined = joined.ok_or_else(|| "a redirect has no valid `Location`".to_owned())?;
    parse(joined.as_str())
}

fn name_of(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    percent_encoding::percent_decode_str(last).decode_utf8_lossy().into_owned()
}

fn late() -> String {
    format!("it took longer than {} seconds", TIMEOUT.as_secs())
}
