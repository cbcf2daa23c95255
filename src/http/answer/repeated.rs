//! Answers reads whose answer is kept, before the router: finding the handler and what the handler extracts takes
//! several times as long as the look-up. On a cache miss the request goes to the router, which decides everything else.
//! Must not make an answer. A reader must not be able to tell a kept answer from one that was made, since other writes
//! than those that it may see decide which it is: so the headers are those of the router, in its order.

use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use bindery_access::Access;

use crate::answer::answer_cache::{CachedAnswer, RequestKey};
use crate::answer::respond::is_unmodified;
use crate::app::App;
use crate::request::head::{AuthorizedAccess, authorize};

/// The routes whose answers are kept, as `observe/operations.rs` has them.
const LIST_ROUTE: &str = "/v2/resources/{blueprint}";
const RESOURCE_ROUTE: &str = "/v2/resources/{blueprint}/{id}";

/// The answer to a request of this route, if it is a read whose answer is kept, or one that its token or a rate limit
/// forbids. If there is none, the request remembers what its token may do, so that it is counted once, and the view, so
/// that its handler need not make it again.
pub(crate) fn answer(app: &App, request: &mut Request, route: Option<&str>) -> Option<Response> {
    if request.method() != Method::GET || !request.body().is_end_stream() {
        return None;
    }
    let is_kept = route.is_some_and(|route| [LIST_ROUTE, RESOURCE_ROUTE].contains(&route));
    // The router decodes escapes.
    if !is_kept || request.uri().path().contains('%') {
        return None;
    }
    let access = match authorize(app, request.method(), request.extensions(), request.headers()) {
        Ok(access) => access,
        Err(failure) => return Some(with_length(failure.into_response())),
    };
    // Answers to members contain authors, and are not cached.
    let answer = if access.is_session() { None } else { kept(app, &access, request) };
    if answer.is_none() {
        request.extensions_mut().insert(AuthorizedAccess(access));
    }
    answer.map(with_length)
}

/// Adds the length of the body where the router adds it.
fn with_length(mut response: Response) -> Response {
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    response
}

/// Returns the cached answer. The parameters need no check: an earlier request with the same ones and the same
/// blueprint was valid.
fn kept(app: &App, access: &Arc<Access>, request: &mut Request) -> Option<Response> {
    let mut segments = request.uri().path().split('/').skip(3);
    let (blueprint, id) = (segments.next()?, segments.next());
    let view = app.content.view_of(access, blueprint, request.uri().query().unwrap_or_default()).ok()?;
    let mut asked = RequestKey::of(request.headers(), request.uri());
    let answer = match id {
        None => {
            let key = asked.list(app.config.public_url.is_none(), view.sees_drafts());
            app.answers.get(&key, |kept| kept.is_list_of(&view))
        }
        Some(id) => view.locate(id).ok().and_then(|resource| {
            let version = |kept: &CachedAnswer| view.resource_version(&resource, &kept.depends_on);
            app.answers.get(&asked.resource(), |kept| kept.has_version(version(kept)))
        }),
    };
    let Some(answer) = answer else {
        asked.view = Some(Arc::new(view));
        request.extensions_mut().insert(asked);
        return None;
    };
    let is_known = is_unmodified(request.headers(), &answer.etag);
    Some(answer.respond(is_known))
}
