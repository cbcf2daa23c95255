//! The layers around the routes: they give every response, also to a panic or an unknown route, the shape and the
//! headers of `API.md` 1. Must not know the routes.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LOCATION, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, Any as AnyOrigin, CorsLayer};

use super::body::no_memory;
use super::budget::Account;
use super::drain::drain;
use super::error::Failure;
use super::idempotency::IDEMPOTENCY_KEY;
use super::request_id::{self, X_REQUEST_ID};
use crate::model::error::{Code, Error};
use crate::model::sent::quote;

/// How long a browser may cache the response to a preflight request.
const PREFLIGHT_AGE: Duration = Duration::from_secs(3_600);

/// Puts the frame around the routes. `public` routes have their own CORS layer. Routes that are added later are outside
/// the frame.
pub(super) fn frame<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    public: Router<S>,
    cors_origins: &[String],
) -> Router<S> {
    let mut framed =
        routes.fallback(no_route).method_not_allowed_fallback(no_method).layer(CatchPanicLayer::custom(panicked));
    if let Some(cors) = cors(cors_origins) {
        framed = framed.layer(cors);
    }
    let public = public.layer(CatchPanicLayer::custom(panicked));
    let framed = framed.merge(public).layer(middleware::from_fn(drain));
    framed.layer(middleware::from_fn(protect)).layer(middleware::from_fn(request_id::carry))
}

/// Begins no request while there is no memory for its answer, and refuses the large answer to a read for which there is
/// none. The probes are always answered. Browsers may not guess the type of any answer.
async fn protect(request: Request, next: Next) -> Response {
    let account = request.extensions().get::<Arc<Account>>().cloned();
    let is_read = request.method() == Method::GET;
    let is_refused = account.as_ref().is_some_and(|account| account.is_exhausted()) && !is_probe(request.uri().path());
    let mut response = if is_refused { Failure::from(no_memory()).into_response() } else { next.run(request).await };
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    if let (Some(account), Some(bytes), true) = (account, bytes, is_read)
        && !account.has_room_for(bytes)
    {
        response = Failure::from(no_memory()).into_response();
    }
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn is_probe(path: &str) -> bool {
    ["/healthz", "/readyz"].contains(&path)
}

async fn no_route(method: Method, uri: Uri) -> Failure {
    let route = quote(&format!("{} {}", answered_as(&method), uri.path()));
    Failure::from(Error::new(Code::NotFound, format!("there is no route {route}; API.md lists all routes")))
}

/// The response to a method that the route does not support. The router adds `Allow`.
pub(super) async fn no_method(method: Method, uri: Uri) -> Failure {
    let message = format!(
        "{} does not support {}; the header `Allow` lists the methods",
        quote(uri.path()),
        answered_as(&method)
    );
    Failure::from(Error::new(Code::MethodNotAllowed, message))
}

/// `HEAD` is answered like `GET`, including `Content-Length`.
fn answered_as(method: &Method) -> &Method {
    if method == Method::HEAD { &Method::GET } else { method }
}

fn panicked(cause: Box<dyn Any + Send>) -> Response {
    let text = cause.downcast_ref::<&str>().copied().or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    let error = Error::internal(format_args!("a handler panicked: {}", text.unwrap_or("without a message")));
    Failure::from(error).into_response()
}

/// The CORS layer; `None` without configured origins, since it would answer `OPTIONS` on every route.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::from(AnyOrigin)
    } else {
        let values: Vec<HeaderValue> = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
        if values.is_empty() {
            return None;
        }
        AllowOrigin::list(values)
    };
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let headers = [ACCEPT, AUTHORIZATION, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, IDEMPOTENCY_KEY, X_REQUEST_ID];
    let layer = CorsLayer::new().allow_origin(allowed).allow_methods(methods).allow_headers(headers);
    Some(layer.expose_headers([X_REQUEST_ID, ETAG, LOCATION, ALLOW, RETRY_AFTER]).max_age(PREFLIGHT_AGE))
}
