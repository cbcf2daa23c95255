//! The arguments that handlers extract from the head of a request: path, query string, base URL, token or session. Must
//! not read bodies.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderMap, Method, Uri};
use bindery_access::{Access, KnownSession, unauthenticated};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use bindery_query::{RawParams, strict};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::Failure;
use crate::observe::access_log::Sender;
use crate::request::client::Client;
use crate::request::session_cookie::{CookieKind, check_sender, has_session_cookie};

/// The variable segments of the path. A segment that is not valid UTF-8 cannot name anything: 404.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Failure> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(segments)) => Ok(Path(segments)),
            Err(_) => {
                let path = quote(parts.uri.path());
                let message = format!("nothing exists at {path}: its `%` escapes do not decode to valid UTF-8");
                Err(Error::new(Code::NotFound, message).into())
            }
        }
    }
}

/// The absolute URL of the server without a path: the configured one, otherwise from the `Host` header.
#[derive(Debug)]
pub(crate) struct BaseUrl(pub(crate) String);

impl FromRequestParts<App> for BaseUrl {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<BaseUrl, Infallible> {
        let config = &app.config;
        let base = config.public_url.clone().unwrap_or_else(|| match host(&parts.headers, &parts.uri) {
            Some(host) => format!("http://{host}"),
            None => format!("http://{}", config.listen),
        });
        Ok(BaseUrl(base))
    }
}

/// Returns the host that the client addressed, if it is valid and has no user information.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<Authority> {
    let header = headers.get(HOST).and_then(|value| Authority::try_from(value.as_bytes()).ok());
    header.or_else(|| uri.authority().cloned()).filter(|authority| !authority.as_str().contains('@'))
}

/// The access of a request's sender, stored in the request after it was checked.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizedAccess(pub(crate) Arc<Access>);

/// The access of the request's sender. Without a valid token or session: 401.
#[derive(Debug)]
pub(crate) struct Bearer(pub(crate) Arc<Access>);

impl FromRequestParts<App> for Bearer {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Bearer, Failure> {
        let access = match parts.extensions.remove() {
            Some(AuthorizedAccess(access)) => access,
            None => authorize(app, &parts.method, &parts.extensions, &parts.headers)?,
        };
        Ok(Bearer(access))
    }
}

/// Returns the access of a request's sender: its token, or, without the header `Authorization`, the member of its
/// session. Counts the request against the rate limit of its address before the token is checked, and then against that
/// of its sender (`API.md` 8.1). So it must be called only once for a request.
///
/// # Errors
/// `RATE_LIMITED`, `UNAUTHENTICATED`; for a session also `FORBIDDEN`.
pub(crate) fn authorize(
    app: &App,
    method: &Method,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Result<Arc<Access>, Failure> {
    app.limits.take_address(Client::of(extensions, headers, &app.config.analytics).address)?;
    let access = access_of_sender(app, method, extensions, headers)?;
    if let Some(sender) = extensions.get::<Sender>() {
        sender.note(&access.actor);
    }
    app.limits.take_sender(&access.actor)?;
    Ok(access)
}

/// Like [`authorize`], but does not count the request. Also used while a long request runs, to look up the sender's
/// current access.
///
/// # Errors
/// `UNAUTHENTICATED`; for a session also `FORBIDDEN`.
pub(crate) fn access_of_sender(
    app: &App,
    method: &Method,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Result<Arc<Access>, Failure> {
    if is_by_session(headers) {
        let (known, _) = known_session(app, method, extensions, headers)?;
        let access = app.content.access_of(&known)?;
        app.content.check_rights_are_known(&access)?;
        return Ok(access);
    }
    Ok(app.content.authenticate(secret(headers))?)
}

/// The head of a request that lasts long: its sender may lose its access meanwhile.
pub(crate) struct Credentials {
    method: Method,
    extensions: Extensions,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for Credentials {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Credentials, Infallible> {
        let Parts { method, extensions, headers, .. } = parts;
        Ok(Credentials { method: method.clone(), extensions: extensions.clone(), headers: headers.clone() })
    }
}

impl Credentials {
    /// Returns the access that the sender has now.
    ///
    /// # Errors
    /// As [`access_of_sender`].
    pub(crate) fn access(&self, app: &App) -> Result<Arc<Access>, Failure> {
        access_of_sender(app, &self.method, &self.extensions, &self.headers)
    }
}

/// Returns whether a request has a session and no token. If it has a token, valid or not, the session is ignored.
pub(crate) fn is_by_session(headers: &HeaderMap) -> bool {
    !headers.contains_key(AUTHORIZATION) && has_session_cookie(headers)
}

/// Returns the session of a request, with its secret. Counts the request against the rate limit of its address.
///
/// # Errors
/// `RATE_LIMITED`, `UNAUTHENTICATED`, `FORBIDDEN` for a request that a foreign page may have sent.
pub(crate) fn session_of(
    app: &App,
    method: &Method,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Result<(Arc<KnownSession>, String), Failure> {
    app.limits.take_address(Client::of(extensions, headers, &app.config.analytics).address)?;
    known_session(app, method, extensions, headers)
}

/// Like [`session_of`], but does not count the request.
///
/// # Errors
/// `UNAUTHENTICATED`, `FORBIDDEN`.
pub(crate) fn known_session(
    app: &App,
    method: &Method,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Result<(Arc<KnownSession>, String), Failure> {
    if headers.contains_key(AUTHORIZATION) {
        return Err(
            unauthenticated("this needs a session, which a request with the header `Authorization` has not").into()
        );
    }
    for secret in CookieKind::of(app, extensions, headers).secrets(headers) {
        if let Ok(known) = app.content.session(secret) {
            check_sender(&app.config, method, headers, secret)?;
            return Ok((known, secret.to_owned()));
        }
    }
    Err(unauthenticated("nobody is signed in, or the session has ended; sign in with `POST /v2/session`").into())
}

/// Returns the secret of the request's token.
pub(crate) fn secret(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, secret) = header?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// # Errors
/// `INVALID_PARAMETER` if a query string has parameters and is strict, which makes ignored parameters errors.
pub(crate) fn takes_no_parameters(raw_query: &str) -> Result<(), Error> {
    strict::check(&RawParams::parse(raw_query), &[]).map(|_| ())
}

/// The arguments of nearly every handler: the services, the sender's access, the path's variable segments and the query
/// string.
///
/// An invalid token is reported before an invalid path.
pub(crate) struct Call<P = ()> {
    pub(crate) app: App,
    pub(crate) access: Arc<Access>,
    pub(crate) path: P,
    /// The query string as it was sent, without `?`; empty if there is none.
    pub(crate) query: String,
}

impl<P: DeserializeOwned + Send> FromRequestParts<App> for Call<P> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Call<P>, Failure> {
        let Bearer(access) = Bearer::from_request_parts(parts, app).await?;
        let Path(path) = Path::from_request_parts(parts, app).await?;
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Call { app: app.clone(), access, path, query })
    }
}

impl<P> Call<P> {
    /// Checks that a read that takes no parameters got none.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if the request is strict and has some.
    pub(crate) fn takes_no_parameters(&self) -> Result<(), Error> {
        takes_no_parameters(&self.query)
    }

    /// Returns the largest body that the server accepts.
    pub(crate) fn max_body_bytes(&self) -> usize {
        self.app.config.max_body_bytes
    }
}
