//! The frame around the routes: gives every response the shape and the headers of `API.md` 1, including the responses
//! to panics and unknown routes. Must not know the routes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE,
    ETAG, IF_MATCH, IF_NONE_MATCH, LOCATION, RETRY_AFTER, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bindery_content::{answer_too_large, noting_number};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use futures_util::FutureExt as _;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, Any as AnyOrigin, CorsLayer};
use tower_service::Service;
use tracing::Instrument;

use crate::answer::encoding::Encoding;
use crate::answer::repeated;
use crate::answer::server_timing;
use crate::app::{App, Services};
use crate::cluster::forward::{Forwarding, forward};
use crate::cluster::numbers::{self, BINDERY_AFTER, BINDERY_LAG, BINDERY_NUMBER};
use crate::error::Failure;
use crate::handlers::changes::{LAST_EVENT_ID, X_LAST_CHANGE};
use crate::handlers::welcome;
use crate::request::head::is_by_session;
use crate::request::idempotency::IDEMPOTENCY_KEY;
use crate::request::request_id::{Exchange, X_REQUEST_ID};
use crate::transport::body::no_memory;
use crate::transport::connection::Connection;
use crate::transport::unread_body::drain;

/// The time for which a browser may cache the response to a preflight request.
const PREFLIGHT_AGE: Duration = Duration::from_secs(3_600);

/// The beginning of the API's paths.
const API: &str = "/v2/";

/// The routes of a server in their frame. Clones share them.
#[derive(Clone)]
pub struct HttpService(Arc<Frame>);

struct Frame {
    routes: Router,
    app: App,
    /// True if no layer changes the responses of handlers, so that cached answers may skip the router.
    is_plain: bool,
}

/// Puts the frame around the routes. `public` routes have their own CORS layer.
///
/// The frame is one function around the router. If its parts were layers of the router, they would be cloned and boxed
/// for every request, which takes longer than their work.
pub(super) fn frame(routes: Router<App>, public: Router<App>, app: App) -> HttpService {
    let mut routes = routes.fallback(no_route).method_not_allowed_fallback(no_method);
    let cors = cors(&app.config.cors_origins);
    let is_plain = cors.is_none();
    if let Some(cors) = cors {
        // Panics are caught inside the CORS layer, so that their responses get the CORS headers too.
        routes = routes.layer(CatchPanicLayer::custom(panicked)).layer(cors);
    }
    HttpService(Arc::new(Frame { routes: routes.merge(public).with_state(app.clone()), app, is_plain }))
}

impl HttpService {
    /// Answers a request. Dropping the future cancels the request.
    pub async fn answer(self, mut request: Request) -> Response {
        let exchange = Exchange::begin(&request);
        let Services { access_log, config, .. } = &*self.0.app;
        let entry = access_log.begin(&mut request, exchange.id(), config);
        let encoding = Encoding::accepted(request.headers());
        let is_read = answered_as(request.method()) == Method::GET;
        let is_of_api = request.uri().path().starts_with(API);
        let is_private = is_by_session(request.headers()) && is_of_api;
        let connection = connection_of(&request).cloned();
        let is_get = request.method() == Method::GET;
        let answering = noting_number(self.0.answer(request, exchange.route_name())).instrument(exchange.span());
        let (mut response, number) = answering.await;
        if is_of_api {
            numbers::add(&self.0.app, &mut response, number, is_read);
        }
        let made = Instant::now();
        if is_get && let Some(error) = connection.as_deref().and_then(|connection| no_room_for(connection, &response)) {
            response = Failure::from(error).into_response();
        }
        if is_read {
            self.0.add_cache_control(&mut response);
            if response.status() == StatusCode::NOT_MODIFIED {
                // The router notes the length of the empty body for `HEAD`.
                response.headers_mut().remove(CONTENT_LENGTH);
            }
        }
        let account = connection.as_ref().map(|connection| Arc::clone(&connection.account));
        response = self.0.app.encoded.encode(response, encoding, account).await;
        if server_timing::is_timed(&response) {
            server_timing::add(&mut response, "encode", made.elapsed());
        }
        if is_private || response.headers().contains_key(SET_COOKIE) {
            // No answer to a session may stay in the cache of a browser that somebody else uses later.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        // Browsers must not guess the media type of an answer.
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let admin = config.admin_token.as_ref().map(|token| token.secret());
        exchange.end(&mut response, &self.0.app.metrics, entry.is_some(), admin);
        match entry {
            Some(entry) => entry.attach(response),
            None => response,
        }
    }
}

impl Frame {
    /// Answers a request, once the server has the state that it asks for. While there is no memory for answers, only
    /// probes are accepted. A cached answer is returned directly.
    async fn answer(&self, mut request: Request, route: Option<&str>) -> Response {
        if !is_probe(request.uri().path())
            && let Err(refused) = numbers::wait_for(&self.app, request.headers()).await
        {
            return refused.into_response();
        }
        if connection_of(&request).is_some_and(|connection| connection.account.is_exhausted())
            && !is_probe(request.uri().path())
        {
            return Failure::from(no_memory()).into_response();
        }
        if self.is_plain {
            match catch_unwind(AssertUnwindSafe(|| repeated::answer(&self.app, &mut request, route))) {
                Ok(Some(response)) => return response,
                Ok(None) => {}
                Err(cause) => return panicked(cause),
            }
        }
        let routes = self.routes.clone();
        match forward(&self.app, request).await {
            Forwarding::Answered(response) => response,
            Forwarding::Here(request) => drain(request, |request| caught(routes, request)).await,
        }
    }

    /// Adds `Cache-Control` to answers that have an entity tag.
    fn add_cache_control(&self, response: &mut Response) {
        let headers = response.headers_mut();
        if headers.contains_key(ETAG)
            && !headers.contains_key(CACHE_CONTROL)
            && let Ok(value) = HeaderValue::from_str(&self.app.config.cache_control)
        {
            headers.insert(CACHE_CONTROL, value);
        }
    }
}

fn connection_of(request: &Request) -> Option<&Arc<Connection>> {
    request.extensions().get()
}

/// Returns the error for the answer to a read for which there is no memory, now or ever. Streams are charged piece by
/// piece.
fn no_room_for(connection: &Connection, response: &Response) -> Option<Error> {
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok())?;
    let (account, limit) = (&connection.account, connection.account.limit_for(bytes));
    match bytes > limit {
        true => Some(answer_too_large(limit)),
        false => (!account.has_room_for(bytes)).then(no_memory),
    }
}

/// Answers a request. A panic of its handler becomes an error response.
async fn caught(mut routes: Router, request: Request) -> Response {
    let answering = async move {
        let Ok(response) = routes.call(request).await;
        response
    };
    AssertUnwindSafe(answering).catch_unwind().await.unwrap_or_else(panicked)
}

/// Is true for the paths of health probes, which are answered even under overload.
fn is_probe(path: &str) -> bool {
    ["/healthz", "/readyz"].contains(&path)
}

async fn no_route(State(app): State<App>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if welcome::is_asked_for(&method, uri.path(), &headers) {
        return welcome::page(app.content.somebody_can_sign_in());
    }
    let route = quote(&format!("{} {}", answered_as(&method), uri.path()));
    let message = format!("there is no route {route}; API.md lists all routes");
    Failure::from(Error::new(Code::NotFound, message)).into_response()
}

/// Returns the response to a method that the route does not support. The router adds `Allow`.
pub(super) async fn no_method(method: Method, uri: Uri) -> Failure {
    let message = format!(
        "{} does not support {}; the header `Allow` lists the methods",
        quote(uri.path()),
        answered_as(&method)
    );
    Failure::from(Error::new(Code::MethodNotAllowed, message))
}

/// Returns the method whose handler answers: `GET` for `HEAD`, which gets the same headers.
fn answered_as(method: &Method) -> &Method {
    if method == Method::HEAD { &Method::GET } else { method }
}

fn panicked(cause: Box<dyn Any + Send>) -> Response {
    let text = cause.downcast_ref::<&str>().copied().or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    let error = Error::internal(format_args!("a handler panicked: {}", text.unwrap_or("without a message")));
    Failure::from(error).into_response()
}

/// Returns the CORS layer; `None` without configured origins, because the layer answers `OPTIONS` on every route.
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
    let sent = [
        ACCEPT,
        AUTHORIZATION,
        CONTENT_ENCODING,
        CONTENT_TYPE,
        IF_MATCH,
        IF_NONE_MATCH,
        LAST_EVENT_ID,
        IDEMPOTENCY_KEY,
        X_REQUEST_ID,
        BINDERY_AFTER,
    ];
    let read = [
        X_REQUEST_ID,
        ETAG,
        LOCATION,
        ALLOW,
        RETRY_AFTER,
        CONTENT_DISPOSITION,
        X_LAST_CHANGE,
        BINDERY_NUMBER,
        BINDERY_LAG,
    ];
    let layer = CorsLayer::new().allow_origin(allowed).allow_methods(methods).allow_headers(sent);
    Some(layer.expose_headers(read).max_age(PREFLIGHT_AGE))
}
