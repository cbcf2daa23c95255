//! Answers reads whose answer is kept, before the router: finding the route, its handler and what the handler extracts takes
//! several times as long as the look-up. Whatever is not kept goes through the router, which decides everything else.
//! Must not make an answer.

use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use bindery_access::Access;
use bindery_model::id::ResourceId;

use crate::answer::answer_cache::RequestKey;
use crate::answer::respond::is_unmodified;
use crate::app::App;
use crate::request::head::{AuthorizedAccess, authorize};

/// The answer to a request, if it is a read whose answer is kept, or one that its token or a rate limit forbids. If there is
/// none, the request remembers what its token may do, so that it is counted once.
pub(crate) fn answer(app: &App, request: &mut Request) -> Option<Response> {
    if request.method() != Method::GET || !request.body().is_end_stream() {
        return None;
    }
    read_of(request.uri().path())?;
    let access = match authorize(app, request.method(), request.extensions(), request.headers()) {
        Ok(access) => access,
        Err(failure) => return Some(failure.into_response()),
    };
    // Answers to members say who wrote what, and are not kept.
    let answer = if access.is_session() { None } else { kept(app, &access, request) };
    if answer.is_none() {
        request.extensions_mut().insert(AuthorizedAccess(access));
    }
    answer
}

/// The blueprint and the id of a path that names a list or a resource. Not of one with escapes, which the router decodes,
/// nor of one whose last part is no id: `bulk` has other methods.
fn read_of(path: &str) -> Option<(&str, Option<&str>)> {
    let read = path.strip_prefix("/v2/resources/").filter(|read| !read.contains('%'))?;
    let (blueprint, id) = read.split_once('/').map_or((read, None), |(blueprint, id)| (blueprint, Some(id)));
    let is_read = !blueprint.is_empty() && id.is_none_or(|id| ResourceId::parse(id).is_some());
    is_read.then_some((blueprint, id))
}

/// The answer that is kept. It was made for the same parameters and the same blueprint, so they are valid.
fn kept(app: &App, access: &Arc<Access>, request: &Request) -> Option<Response> {
    let (blueprint, id) = read_of(request.uri().path())?;
    let view = app.content.view(access, blueprint).ok()?;
    let asked = RequestKey::of(request.headers(), request.uri());
    let answer = match id {
        None => {
            let key = asked.list(app.config.public_url.is_none(), view.sees_drafts());
            app.answers.get(&key, |depends_on| view.list_version(depends_on))?
        }
        Some(id) => {
            let resource = view.locate(id).ok()?;
            app.answers.get(&asked.resource(), |depends_on| view.resource_version(&resource, depends_on))?
        }
    };
    let is_known = is_unmodified(request.headers(), &answer.etag);
    Some(answer.respond(is_known))
}
