//! The session cookie, and the other requirements for a browser's request (`API.md` 5.8.3): the CSRF value, an `Origin`
//! that is this server's, and `Sec-Fetch-…` of its scripts and links. Must not know who is signed in.

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method};
use bindery_access::is_csrf_of;
use bindery_config::Config;
use bindery_model::error::{Code, Error};
use bindery_model::time::Millis;
use url::Url;

use crate::app::App;
use crate::request::client::Client;

/// The header with the CSRF value.
const X_CSRF_TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");

/// The header in which a browser says whether a page of this server, of its site or of another site sent the request.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The header in which a browser says what the answer is for.
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The values of [`SEC_FETCH_SITE`] for a page of this server, and for an address that somebody typed.
const OWN_SITES: [&str; 2] = ["same-origin", "none"];

/// The values of [`SEC_FETCH_DEST`] for a script or a download, and for a link that was followed.
const OWN_DESTINATIONS: [&str; 2] = ["empty", "document"];

const NAME: &str = "bindery_session";

/// The name behind TLS. The prefix `__Host-` makes browsers refuse this cookie from other hosts and over unencrypted
/// connections.
const NAME_WITH_TLS: &str = "__Host-bindery_session";

/// The number of cookies of this name that are checked. There may be several, because servers on other ports of the
/// same host share its cookies.
const MAX_CANDIDATES: usize = 4;

/// The kind of cookie that a request uses, which determines its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CookieKind {
    has_tls: bool,
}

impl CookieKind {
    /// Returns the kind for a request. TLS is in use if the public address says so, or a trusted proxy does.
    pub(crate) fn of(app: &App, extensions: &Extensions, headers: &HeaderMap) -> CookieKind {
        let has_tls = app.config.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
            || Client::of(extensions, headers, &app.config.analytics).has_tls;
        CookieKind { has_tls }
    }

    fn name(self) -> &'static str {
        if self.has_tls { NAME_WITH_TLS } else { NAME }
    }

    /// Returns the secrets in the request's cookies of this name, at most [`MAX_CANDIDATES`].
    pub(crate) fn secrets(self, headers: &HeaderMap) -> impl Iterator<Item = &str> {
        cookies(headers).filter(move |(name, _)| *name == self.name()).map(|(_, secret)| secret).take(MAX_CANDIDATES)
    }

    /// Returns the `Set-Cookie` that stores a secret for `lasts` milliseconds.
    pub(crate) fn keep(self, secret: &str, lasts: Millis) -> Result<HeaderValue, Error> {
        self.set(secret, (lasts + 999) / 1000)
    }

    /// Returns the `Set-Cookie` that removes the cookie.
    pub(crate) fn clear(self) -> Result<HeaderValue, Error> {
        self.set("", 0)
    }

    fn set(self, secret: &str, seconds: i64) -> Result<HeaderValue, Error> {
        let secure = if self.has_tls { "; Secure" } else { "" };
        let cookie = format!("{}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}", self.name());
        HeaderValue::try_from(cookie).map_err(Error::internal)
    }
}

/// Returns whether the request has a session cookie of either name.
pub(crate) fn has_session_cookie(headers: &HeaderMap) -> bool {
    cookies(headers).any(|(name, _)| [NAME, NAME_WITH_TLS].contains(&name))
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='))
}

/// Checks that a page of this server sent the request, not a page of another site (CSRF). Also checks that a script or
/// a link sent it, not markup: content in the dashboard may have pictures with any address of this server.
///
/// # Errors
/// `FORBIDDEN`.
pub(crate) fn check_sender(config: &Config, method: &Method, headers: &HeaderMap, secret: &str) -> Result<(), Error> {
    check_origin(config, headers)?;
    if !has_only(headers, SEC_FETCH_SITE, &OWN_SITES) {
        return Err(foreign_page());
    }
    if !has_only(headers, SEC_FETCH_DEST, &OWN_DESTINATIONS) {
        let text =
            "the markup of a page sent this request, as for a picture; with a session, only scripts and links can";
        return Err(Error::new(Code::Forbidden, text));
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) {
        return Ok(());
    }
    let sent = headers.get(X_CSRF_TOKEN).and_then(|value| value.to_str().ok());
    if sent.is_some_and(|sent| is_csrf_of(secret, sent)) {
        return Ok(());
    }
    let text = "with a session, this needs the header `X-CSRF-Token` with the value `csrf` of `GET /v2/session`";
    Err(Error::new(Code::Forbidden, text))
}

/// Checks that the `Origin` of the request, if the browser sent one, is this server.
///
/// # Errors
/// `FORBIDDEN`.
pub(crate) fn check_origin(config: &Config, headers: &HeaderMap) -> Result<(), Error> {
    let mut origins = headers.get_all(ORIGIN).iter();
    if origins.all(|origin| is_own(config, headers, origin)) {
        return Ok(());
    }
    Err(foreign_page())
}

fn foreign_page() -> Error {
    let text = "a page of another address sent this request; sessions are for the dashboard of this server only";
    Error::new(Code::Forbidden, text)
}

/// Returns whether all values of a header are among these. Older browsers, and browsers without TLS, send none.
fn has_only(headers: &HeaderMap, name: HeaderName, values: &[&str]) -> bool {
    headers.get_all(name).iter().all(|sent| sent.to_str().is_ok_and(|sent| values.contains(&sent)))
}

/// Returns the headers of a request for a file, which the markup of any page may show.
pub(crate) fn headers_for_markup(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(SEC_FETCH_SITE);
    headers.remove(SEC_FETCH_DEST);
    headers
}

/// Returns whether an origin is the public address of this server, or the host that the request was sent to.
fn is_own(config: &Config, headers: &HeaderMap, origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let public = config.public_url.as_deref().and_then(|url| Url::parse(url).ok());
    if public.is_some_and(|url| url.origin().ascii_serialization() == origin) {
        return true;
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let of_origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.zip(of_origin).is_some_and(|(host, of_origin)| host.eq_ignore_ascii_case(of_origin))
}
