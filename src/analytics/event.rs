//! Pageviews as they are sent: what a body takes, and what of an address is counted.

use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use crate::model::error::{Code, Error};
use crate::model::json;
use crate::model::sent::quote;

/// The longest path and host that are kept, in characters; what is longer is cut.
const MAX_NAME_CHARS: usize = 2_000;
/// Where a session without a referrer came from.
pub(super) const DIRECT: &str = "direct";

/// A pageview as a page sends it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    url: Url,
    referrer: Option<String>,
    screen_width: Option<u64>,
}

/// A pageview and what its request tells. It lives in memory alone.
pub struct Hit {
    /// What was sent.
    pub event: Event,
    /// The client's address.
    pub address: IpAddr,
    /// The header of that name.
    pub user_agent: String,
    /// The country that a trusted proxy names.
    pub country: Option<String>,
}

impl Event {
    /// Reads a body: `{"name": "pageview", "url", "referrer", "screen_width"}`.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `VALIDATION_FAILED` with all faults.
    pub fn parse(body: &[u8]) -> Result<Event, Error> {
        let Value::Object(object) = json::parse(body)? else {
            return Err(Error::new(
                Code::ValidationFailed,
                "the body is no object; send `{\"name\": \"pageview\", \"url\": …}`",
            ));
        };
        let mut faults = Vec::new();
        let mut fault = |field: &str, message: String| faults.push((field.to_owned(), vec![message]));
        if object.get("name").and_then(Value::as_str) != Some("pageview") {
            fault("name", format!("it is {}; it takes `pageview`", shown(object.get("name"))));
        }
        let url = object.get("url").and_then(Value::as_str).and_then(page_url);
        if url.is_none() {
            let shown = shown(object.get("url"));
            fault(
                "url",
                format!("it is {shown}; it takes the address of a page, such as `https://www.example.com/about`"),
            );
        }
        let referrer = match object.get("referrer") {
            None | Some(Value::Null) => None,
            Some(Value::String(referrer)) => Some(referrer.clone()),
            other => {
                fault("referrer", format!("it is {}; it takes a text or null", shown(other)));
                None
            }
        };
        let width = object.get("screen_width").filter(|width| !width.is_null());
        let screen_width = width.and_then(Value::as_f64).filter(|width| *width >= 0.0).map(|width| width as u64);
        if width.is_some() && screen_width.is_none() {
            fault("screen_width", format!("it is {}; it takes a number of pixels", shown(width)));
        }
        for key in object.keys().filter(|key| !["name", "url", "referrer", "screen_width"].contains(&key.as_str())) {
            fault(key, "it is unknown; an event has `name`, `url`, `referrer` and `screen_width`".to_owned());
        }
        match url {
            Some(url) if faults.is_empty() => Ok(Event { url, referrer, screen_width }),
            _ => Err(Error::validation(faults)),
        }
    }

    /// The host of the page: the site.
    pub(super) fn site(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The page's path.
    pub(super) fn path(&self) -> String {
        page_path(self.url.path())
    }

    /// The host that the page was reached from, or `direct`.
    pub(super) fn referrer(&self) -> String {
        self.referrer.as_deref().map_or_else(|| DIRECT.to_owned(), |referrer| referrer_host(referrer, self.site()))
    }

    /// The device by the width of its screen, where the user agent tells none.
    pub(super) fn device_by_width(&self) -> Option<&'static str> {
        self.screen_width.map(|width| match width {
            0..=767 => "mobile",
            768..=1023 => "tablet",
            _ => "desktop",
        })
    }
}

/// The address of a page on a host.
pub(super) fn page_url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
}

/// A page's path: that of its address, decoded, with one slash at its beginning and none at its end.
pub(super) fn page_path(encoded: &str) -> String {
    let decoded = percent_decode_str(encoded).decode_utf8();
    let decoded = decoded.unwrap_or_else(|_| encoded.into());
    let path = if decoded.starts_with('/') { decoded.into_owned() } else { format!("/{decoded}") };
    let path = match path.strip_suffix('/') {
        Some(shorter) if !shorter.is_empty() => shorter.to_owned(),
        _ => path,
    };
    cut(path)
}

/// The host of a referrer without `www.`; `direct` if it is the site itself, or no address of a page.
pub(super) fn referrer_host(referrer: &str, site: &str) -> String {
    let plain = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    let url = page_url(referrer);
    let host = url.as_ref().and_then(Url::host_str).map(plain).filter(|host| *host != plain(site));
    host.filter(|host| !host.is_empty()).map_or_else(|| DIRECT.to_owned(), cut)
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "missing".to_owned(),
        Some(Value::String(text)) => quote(text),
        Some(value) => quote(&value.to_string()),
    }
}
