//! `POST` requests, which may carry an `Idempotency-Key` (`API.md` 4.13).
//!
//! Reads the header, looks for a kept response at the right place in the order of errors, and renders responses so that
//! they can be kept. Must not decide whether a request was made before: `content` does.

use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bindery_content::{Idempotency, IdempotencyKey, IdempotentAnswer, IdempotentRequest};
use bindery_model::ability::Ability;
use bindery_model::error::{Error, Result};
use bindery_query::decode_name;
use serde_json::{Value, json};

use crate::answer::respond;
use crate::error::{Answer, Failure, error_object, wire};
use crate::request::head::Call;
use crate::transport::body::JsonBody;

/// The header that holds a client's key.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The headers that a kept response may have; its type only if it is not JSON.
const KEPT_HEADERS: [HeaderName; 3] = [CONTENT_TYPE, ETAG, LOCATION];

/// A `POST` whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Post {
    head: KeyedRequest,
    body: JsonBody,
}

impl<S: Send + Sync> FromRequest<S> for Post {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> std::result::Result<Post, Infallible> {
        let head = KeyedRequest::of(&request);
        Ok(Post { head, body: JsonBody::from_request(request, state).await? })
    }
}

/// Returns the key, if one was sent. Several keys are joined, which makes an invalid one.
fn sent_key(headers: &HeaderMap) -> Option<Vec<u8>> {
    let keys: Vec<&[u8]> = headers.get_all(IDEMPOTENCY_KEY).iter().map(HeaderValue::as_bytes).collect();
    (!keys.is_empty()).then(|| keys.join(&b", "[..]))
}

impl Post {
    /// Returns whether the request has a key, valid or not.
    pub(crate) fn has_key(&self) -> bool {
        self.head.key.is_some()
    }

    /// Returns the body, for a handler that ignores the key.
    pub(crate) fn into_body(self) -> JsonBody {
        self.body
    }

    /// Checks the key and returns the body, for a handler that stores nothing, so that its response need not be kept.
    /// Must be called before anything else in the request is checked.
    ///
    /// # Errors
    /// `FORBIDDEN` without the ability, `INVALID_PARAMETER` for an invalid key.
    pub(crate) fn checked_body<P>(self, call: &Call<P>, ability: Ability) -> Result<JsonBody> {
        self.head.key(call, ability)?;
        Ok(self.body)
    }

    /// Answers the request: with the kept response if it was made before, otherwise with the result of `run`. Must be
    /// called before anything else in the request is checked.
    ///
    /// `run` gets the body and, for a request with a key, the data that the committer needs to keep the response with
    /// the change. `render` makes the response; the committer calls it if the response is to be kept.
    ///
    /// # Errors
    /// `FORBIDDEN` without the ability, `INVALID_PARAMETER` for an invalid key, `IDEMPOTENCY_KEY_REUSED`, those of
    /// `run`.
    pub(crate) async fn answer<P, T: 'static>(
        self,
        call: &Call<P>,
        ability: Ability,
        render: impl Fn(&T) -> RenderedResponse + Clone + Send + Sync + 'static,
        run: impl AsyncFnOnce(JsonBody, Option<Idempotency<T>>) -> std::result::Result<IdempotentAnswer<T>, Failure>,
    ) -> Answer {
        let Some(key) = self.head.key(call, ability)? else {
            return respond_to(run(self.body, None).await?, render);
        };
        let body = self.body.read_ahead(call.max_body_bytes()).await;
        let request = body.bytes().map(|bytes| self.head.request(&key, &[bytes]));
        if let Some(kept) = self.head.kept(call, Some(&key), request.as_ref()).await? {
            return Ok(kept);
        }
        let idempotent = request.as_ref().map(|request| idempotency(request, &render));
        let result = run(body, idempotent).await;
        self.head.answer_to(call, request.as_ref(), result, render).await
    }
}

/// The head of a `POST`, with its key. If its body is not JSON, the caller says which parts of it the key stands for.
#[derive(Debug)]
pub(crate) struct KeyedRequest {
    method: Method,
    uri: Uri,
    key: Option<Vec<u8>>,
}

impl KeyedRequest {
    /// Reads the head of a request, before its body is read.
    pub(crate) fn of(request: &Request) -> KeyedRequest {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        KeyedRequest { method, uri, key: sent_key(request.headers()) }
    }

    /// Returns the key, if one was sent.
    ///
    /// # Errors
    /// `FORBIDDEN` without the ability, `INVALID_PARAMETER` for an invalid key.
    pub(crate) fn key<P>(&self, call: &Call<P>, ability: Ability) -> Result<Option<IdempotencyKey>> {
        call.access.require(&[ability])?;
        self.key.as_ref().map(|key| IdempotencyKey::parse(&call.access, key)).transpose()
    }

    /// Returns the request as its key stands for it. `parts` are those of the body.
    pub(crate) fn request(&self, key: &IdempotencyKey, parts: &[&[u8]]) -> IdempotentRequest {
        let (path, query) = (self.uri.path(), self.uri.query().unwrap_or_default());
        let head = [self.method.as_str().as_bytes(), path.as_bytes(), query.as_bytes()];
        key.clone().request(&[&head[..], parts].concat())
    }

    /// Returns the kept response, if the request was made before. `request` is `None` if its body could not be read.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED`.
    pub(crate) async fn kept<P>(
        &self,
        call: &Call<P>,
        key: Option<&IdempotencyKey>,
        request: Option<&IdempotentRequest>,
    ) -> Result<Option<Response>> {
        let Some(key) = key else { return Ok(None) };
        let kept = call.app.content.kept_answer(key, request).await?;
        self.visible(call, kept)
    }

    /// Returns a kept response, unless the token no longer sees the blueprint that it is about.
    fn visible<P>(&self, call: &Call<P>, kept: Option<Vec<u8>>) -> Result<Option<Response>> {
        let kept = kept.map(|kept| RenderedResponse::decode(&kept)).transpose()?;
        // The member may have been limited to other blueprints since then. In that case the request is checked like a
        // new one. So is one whose path and answer name no blueprint, such as the conflict of a resource in the trash:
        // the committer sends the kept answer if the checks before it pass. The blueprints of a token never change.
        let is_seen = |kept: &RenderedResponse| match blueprint_of(&self.uri) {
            _ if !call.access.is_session() => true,
            Some(slug) => call.access.sees(&decode_name(slug)),
            None => kept.blueprint().map_or(call.access.sees_all(), |slug| call.access.sees(&slug)),
        };
        Ok(kept.filter(is_seen).map(IntoResponse::into_response))
    }

    /// Like [`Post::answer`], for a request whose body was received already.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED`, those of `run`.
    pub(crate) async fn answer<P, T: 'static>(
        &self,
        call: &Call<P>,
        key: Option<&IdempotencyKey>,
        parts: &[&[u8]],
        render: impl Fn(&T) -> RenderedResponse + Clone + Send + Sync + 'static,
        run: impl AsyncFnOnce(Option<Idempotency<T>>) -> std::result::Result<IdempotentAnswer<T>, Failure>,
    ) -> Answer {
        let request = key.map(|key| self.request(key, parts));
        if let Some(kept) = self.kept(call, key, request.as_ref()).await? {
            return Ok(kept);
        }
        let idempotent = request.as_ref().map(|request| idempotency(request, &render));
        let result = run(idempotent).await;
        self.answer_to(call, request.as_ref(), result, render).await
    }

    /// Returns the response to a request that ended with `result`. The reason for an error may be that the same request
    /// was carried out since its kept response was looked for: a resource that it restored is no longer in the trash.
    /// Then that response is kept by now.
    async fn answer_to<P, T>(
        &self,
        call: &Call<P>,
        request: Option<&IdempotentRequest>,
        result: std::result::Result<IdempotentAnswer<T>, Failure>,
        render: impl Fn(&T) -> RenderedResponse,
    ) -> Answer {
        let (failure, request) = match (result, request) {
            (Ok(answered), _) => return respond_to(answered, render),
            // Errors of the server, such as `OVERLOADED`, have another reason, and must be quick.
            (Err(failure), Some(request)) if wire(failure.code()).0.is_client_error() => (failure, request),
            (Err(failure), _) => return Err(failure),
        };
        let kept = call.app.content.kept_answer_to_refused(request).await?;
        self.visible(call, kept)?.ok_or(failure)
    }
}

/// Returns the blueprint's slug in the path of a request for resources or media, as it was sent.
fn blueprint_of(uri: &Uri) -> Option<&str> {
    let mut prefixes = ["/v2/resources/", "/v2/media/"].into_iter();
    prefixes.find_map(|prefix| uri.path().strip_prefix(prefix))?.split('/').next()
}

/// Returns what the committer needs to keep the response to a request.
fn idempotency<T: 'static>(
    request: &IdempotentRequest,
    render: &(impl Fn(&T) -> RenderedResponse + Clone + Send + Sync + 'static),
) -> Idempotency<T> {
    let render = render.clone();
    Idempotency::new(request.clone(), move |result| render_to_keep(result, &render))
}

/// Returns the response to a completed request.
pub(crate) fn respond_to<T>(answered: IdempotentAnswer<T>, render: impl Fn(&T) -> RenderedResponse) -> Answer {
    Ok(match answered {
        IdempotentAnswer::Fresh(value) => render(&value).into_response(),
        IdempotentAnswer::Kept(kept) => RenderedResponse::decode(&kept)?.into_response(),
    })
}

/// Returns the bytes of a response that is to be kept: a success or a conflict. Other errors changed nothing, so the
/// client may repeat the request with the same key.
fn render_to_keep<T>(result: &Result<T>, render: impl Fn(&T) -> RenderedResponse) -> Option<Vec<u8>> {
    match result {
        Ok(value) => Some(render(value).encode()),
        Err(error) => {
            let (status, _) = wire(error.code);
            let body = json!({ "errors": error_object(error) }).to_string();
            (status == StatusCode::CONFLICT).then(|| RenderedResponse::new(status, body).encode())
        }
    }
}

/// A response that can be kept: a status, some headers, and a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RenderedResponse {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: String,
}

impl RenderedResponse {
    /// Creates a response with this text, which is JSON unless a header says otherwise.
    pub(crate) fn new(status: StatusCode, body: String) -> RenderedResponse {
        RenderedResponse { status, headers: Vec::new(), body }
    }

    /// Adds a header of [`KEPT_HEADERS`]. A value that HTTP does not allow is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> RenderedResponse {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Returns the slug of the blueprint that the answer is about, if it is about a resource or a view.
    fn blueprint(&self) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        let of_resource = body.pointer("/data/relationships/blueprint/data/id");
        of_resource.or_else(|| body.pointer("/data/blueprint"))?.as_str().map(str::to_owned)
    }

    /// Encodes the response: a line with the status, a line for each header, an empty line, the body.
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

    fn decode(bytes: &[u8]) -> Result<RenderedResponse> {
        RenderedResponse::read(bytes)
            .ok_or_else(|| Error::internal("a kept response is not in a format that this version reads"))
    }

    fn read(bytes: &[u8]) -> Option<RenderedResponse> {
        let (head, body) = std::str::from_utf8(bytes).ok()?.split_once("\n\n")?;
        let mut lines = head.split('\n');
        let status = StatusCode::from_bytes(lines.next()?.as_bytes()).ok()?;
        let mut rendered = RenderedResponse::new(status, body.to_owned());
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let name = KEPT_HEADERS.into_iter().find(|known| known.as_str() == name)?;
            rendered = rendered.with(name, value);
        }
        Some(rendered)
    }
}

impl IntoResponse for RenderedResponse {
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
    fn a_response_is_the_same_after_it_was_kept() {
        let plain = RenderedResponse::new(StatusCode::CREATED, "{\"data\":\"a\\n\\nb\"}\n\n".to_owned());
        for rendered in [plain.clone(), plain.with(ETAG, "\"1-2\"").with(LOCATION, "http://localhost:7700/v2/x")] {
            assert_eq!(RenderedResponse::decode(&rendered.encode()).unwrap(), rendered);
        }
        for damaged in ["", "201", "201\n", "x\n\n", "201\nfoo:bar\n\n"] {
            assert!(RenderedResponse::decode(damaged.as_bytes()).is_err(), "{damaged:?}");
        }
    }
}
