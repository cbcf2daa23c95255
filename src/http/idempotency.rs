//! `POST` requests, which may carry an `Idempotency-Key` (`API.md` 4.13).
//!
//! Reads the header, asks for a kept answer at the place that the order of faults gives it, and words answers so that
//! they can be kept. Whether a request was done before is decided in `content`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::App;
use super::error::{Answer, Failure, error_object, wire};
use super::extract::JsonBody;
use super::respond;
use crate::access::Access;
use crate::content::{Done, Fingerprint, Keep, Once, OnceKey};
use crate::model::ability::Ability;
use crate::model::error::{Error, Result};

/// The header that a client's key comes in.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The headers that are kept with an answer; its type, where it is not JSON.
const KEPT_HEADERS: [HeaderName; 3] = [CONTENT_TYPE, ETAG, LOCATION];

/// A `POST` of JSON whose body is still to be read.
#[derive(Debug)]
pub(super) struct Post {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: JsonBody,
}

impl<S: Send + Sync> FromRequest<S> for Post {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> std::result::Result<Post, Infallible> {
        let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
        Ok(Post { method, uri, headers, body: JsonBody::from_request(request, state).await? })
    }
}

/// What is to be done about a `POST`.
pub(super) enum Begun {
    /// It is new.
    New {
        /// Its body.
        body: JsonBody,
        /// Set if it has a key.
        once: Option<Once>,
    },
    /// It was done before.
    Kept(Response),
}

impl Post {
    /// Begins the request: the ability first, then its key. To be called before anything else is looked at.
    ///
    /// # Errors
    /// `FORBIDDEN`, `INVALID_PARAMETER` for a key that is none, `IDEMPOTENCY_KEY_REUSED`.
    pub(super) async fn begin(
        self,
        app: &App,
        access: &Access,
        ability: Ability,
    ) -> std::result::Result<Begun, Failure> {
        access.require(&[ability])?;
        let Some(key) = sent_key(&self.headers) else { return Ok(Begun::New { body: self.body, once: None }) };
        let key = OnceKey::parse(access, &key)?;
        let body = self.body.hold(app.config.max_body_bytes).await;
        let request = body.held().map(|bytes| {
            let (path, query) = (self.uri.path(), self.uri.query().unwrap_or_default());
            Fingerprint::of(&[self.method.as_str().as_bytes(), path.as_bytes(), query.as_bytes(), bytes])
        });
        Ok(match app.content.kept(&key, request).await? {
            Some(answer) => Begun::Kept(Plain::decode(&answer)?.into_response()),
            None => Begun::New { body, once: request.map(|request| Once { key, request }) },
        })
    }
}

/// The key, if one was sent. Two of them are one that is malformed.
fn sent_key(headers: &HeaderMap) -> Option<Vec<u8>> {
    let keys: Vec<&[u8]> = headers.get_all(IDEMPOTENCY_KEY).iter().map(HeaderValue::as_bytes).collect();
    (!keys.is_empty()).then(|| keys.join(&b", "[..]))
}

/// How an endpoint answers.
pub(super) type Wording<T> = Arc<dyn Fn(&T) -> Plain + Send + Sync>;

/// What the committer needs to keep the answer to a request that has a key.
pub(super) fn keep<T: 'static>(once: Option<Once>, wording: &Wording<T>) -> Option<Keep<T>> {
    once.map(|once| keeping(once, wording))
}

/// The same for a request that has one.
pub(super) fn keeping<T: 'static>(once: Once, wording: &Wording<T>) -> Keep<T> {
    let wording = Arc::clone(wording);
    Keep::new(once, move |result| word(result, &wording))
}

/// The answer to a request that is done.
pub(super) fn answer<T>(done: Done<T>, wording: &Wording<T>) -> Answer {
    Ok(match done {
        Done::Now(value) => wording(&value).into_response(),
        Done::Kept(answer) => Plain::decode(&answer)?.into_response(),
    })
}

/// Kept are successes and conflicts: of other faults nothing came.
fn word<T>(result: &Result<T>, wording: &Wording<T>) -> Option<Vec<u8>> {
    match result {
        Ok(value) => Some(wording(value).encode()),
        Err(error) => {
            let (status, _) = wire(error.code);
            let body = json!({ "errors": error_object(error) }).to_string();
            (status == StatusCode::CONFLICT).then(|| Plain::new(status, body).encode())
        }
    }
}

/// An answer that can be kept: status, some headers, and a JSON text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plain {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: String,
}

impl Plain {
    /// An answer with this JSON text.
    pub(super) fn new(status: StatusCode, body: String) -> Plain {
        Plain { status, headers: Vec::new(), body }
    }

    /// The same with a header; one that is no header value is left out.
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Plain {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// The kept form: a line with the status, one a header, an empty one, the body.
    fn encode(&self) -> Vec<u8> {
        let mut out = format!("{}\n", self.status.as_u16()).into_bytes();
        for (name, value) in &self.headers {
            out.extend(name.as_str().as_bytes());
            out.extend(b":");
            out.extend(value.as_bytes());
            out.extend(b"\n");
        }
        out.extend(b"\n");
        out.extend(self.body.as_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<Plain> {
        read_plain(bytes).ok_or_else(|| Error::internal("a kept answer that cannot be read"))
    }
}

fn read_plain(bytes: &[u8]) -> Option<Plain> {
    let (head, body) = std::str::from_utf8(bytes).ok()?.split_once("\n\n")?;
    let mut lines = head.split('\n');
    let status = StatusCode::from_bytes(lines.next()?.as_bytes()).ok()?;
    let mut plain = Plain::new(status, body.to_owned());
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name = KEPT_HEADERS.into_iter().find(|known| known.as_str() == name)?;
        plain = plain.with(name, value);
    }
    Some(plain)
}

impl IntoResponse for Plain {
    fn into_response(self) -> Response {
        let mut response = respond::json(self.status, self.body);
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_answer_survives_being_kept() {
        let plain = Plain::new(StatusCode::CREATED, "{\"data\":\"a\\n\\nb\"}\n\n".to_owned());
        for plain in [plain.clone(), plain.with(ETAG, "\"1-2\"").with(LOCATION, "http://localhost:7700/v2/x")] {
            assert_eq!(Plain::decode(&plain.encode()).unwrap(), plain);
        }
        for damaged in ["", "201", "201\n", "x\n\n", "201\nfoo:bar\n\n"] {
            assert!(Plain::decode(damaged.as_bytes()).is_err(), "{damaged:?}");
        }
    }
}
