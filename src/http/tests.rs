#![allow(clippy::unwrap_used)]

mod walk;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request};
use axum::response::Response;
use axum::routing::post;
use bindery_access::{Access, Member};
use bindery_analytics::{Analytics, AnalyticsOptions};
use bindery_config::{Config, Settings};
use bindery_content::{Content, ContentOptions};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Conflict, Error, FieldErrors};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::error::{Failure, wire};
use crate::request::head::{BaseUrl, Call, Path};
use crate::request::idempotency::{IDEMPOTENCY_KEY, KeyedRequest, RenderedResponse};
use crate::transport::body::JsonBody;
use crate::*;

/// A code, its status, its name, and the header that comes with it.
type Wire = (Code, u16, &'static str, Option<(&'static str, &'static str)>);

const MAX_BYTES: usize = 10;

fn config(settings: Settings) -> Config {
    Config::resolve(settings, |_| Ok(None), Settings::default()).unwrap()
}

/// Creates the services of a server on a temporary data folder, which is not removed.
fn app(settings: Settings) -> App {
    let options = ContentOptions {
        folder: tempfile::tempdir().unwrap().keep(),
        admin_token: None,
        video_hosts: Vec::new(),
        public_url: None,
        store_cache_bytes: 1 << 20,
        index: Default::default(),
        query_timeout: std::time::Duration::from_secs(10),
        write_timeout: std::time::Duration::from_secs(30),
        changes_kept: 1_000,
        max_answer_bytes: usize::MAX,
        cluster: None,
    };
    let analytics = Analytics::open(&AnalyticsOptions::in_folder(&options.folder)).unwrap();
    let config = config(settings);
    let media = Media::new(&config).unwrap();
    App::new(config, Content::open(&options).unwrap(), analytics, media)
}

/// Routes that use every layer of the frame.
fn framed_routes(settings: Settings) -> HttpService {
    let app = app(settings);
    let routes = Router::new()
        .route("/items/{id}", get(async |Path(id): Path<String>| id).delete(async || StatusCode::NO_CONTENT))
        .route(
            "/body",
            post(async |body: JsonBody| -> Answer {
                Ok(crate::answer::respond::json(StatusCode::OK, body.read(MAX_BYTES).await?))
            }),
        )
        .route("/base", get(async |BaseUrl(base): BaseUrl| base))
        .route("/panic", get(panics))
        .route("/slow", get(async || tokio::time::sleep(Duration::from_millis(300)).await))
        .route("/stuck", get(async || std::future::pending::<()>().await));
    frame::frame(routes, Router::new(), app)
}

async fn panics() -> StatusCode {
    panic!("a secret of ours")
}

async fn send(request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    send_to(framed_routes(Settings::default()), request).await
}

async fn send_to(router: HttpService, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    read(router.answer(request).await).await
}

async fn read(response: Response) -> (StatusCode, HeaderMap, String) {
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}

fn request(method: Method, uri: &str) -> Request<Body> {
    Request::builder().method(method).uri(uri).body(Body::empty()).unwrap()
}

fn code_of(body: &str) -> String {
    let object: Value = serde_json::from_str(body).unwrap();
    assert!(object["errors"]["message"].is_string(), "{body}");
    object["errors"]["code"].as_str().unwrap().to_owned()
}

/// `API.md` 4.13: of two requests with one key, the second one may fail because of what the first one did meanwhile.
#[tokio::test]
async fn a_request_that_fails_after_it_was_carried_out_gets_the_kept_response() {
    let access = Arc::new(Access::everything("test"));
    let call = Call { app: app(Settings::default()), access, path: (), query: String::new() };
    let mut sent = request(Method::POST, "/v2/members");
    sent.headers_mut().insert(IDEMPOTENCY_KEY, HeaderValue::from_static("k"));
    let keyed = KeyedRequest::of(&sent);
    let key = keyed.key(&call, Ability::Manage).unwrap();
    let body = br#"{"name":"Ada","email":"ada@example.org"}"#.as_slice();
    let parts = [body];
    let render =
        |member: &Member| RenderedResponse::new(StatusCode::CREATED, json!({ "name": member.name }).to_string());
    let missing = || Failure::from(Error::new(Code::NotFound, "it is no longer there"));
    let refused = keyed.answer(&call, key.as_ref(), &parts, render, async |_| Err(missing())).await;
    assert_eq!(refused.unwrap_err(), missing(), "no response is kept yet");
    let answered = keyed.answer(&call, key.as_ref(), &parts, render, async |idempotent| {
        call.app.content.create_member(&call.access, body, idempotent).await?;
        Err(missing())
    });
    let (status, _, text) = read(answered.await.unwrap()).await;
    assert_eq!((status, text.as_str()), (StatusCode::CREATED, r#"{"name":"Ada"}"#));
}

#[test]
fn the_error_object_has_the_keys_that_the_error_has() {
    let plain = Error::new(Code::NotFound, "no");
    assert_eq!(error_object(&plain).to_string(), r#"{"code":"NOT_FOUND","message":"no"}"#);

    let fields = [("z".into(), vec!["1".into(), "2".into()]), ("a".into(), vec!["3".into()])];
    let fields = Error::validation(FieldErrors::from_iter(fields));
    let expected = r#"{"code":"VALIDATION_FAILED","message":"2 fields are not valid: `z`, `a`","fields":{"z":["1","2"],"a":["3"]}}"#;
    assert_eq!(error_object(&fields).to_string(), expected);

    let conflict =
        Error { conflict: Some(Conflict { count: 3, ids: vec!["x".into()] }), ..Error::new(Code::Conflict, "m") };
    let expected = json!({"code": "CONFLICT", "message": "m", "count": 3, "ids": ["x"]});
    assert_eq!(error_object(&conflict), expected);
}

#[tokio::test]
async fn each_code_has_its_status_and_headers() {
    let table: [Wire; 23] = [
        (Code::MalformedJson, 400, "MALFORMED_JSON", None),
        (Code::Unauthenticated, 401, "UNAUTHENTICATED", Some(("www-authenticate", "Bearer"))),
        (Code::Forbidden, 403, "FORBIDDEN", None),
        (Code::NotFound, 404, "NOT_FOUND", None),
        (Code::MethodNotAllowed, 405, "METHOD_NOT_ALLOWED", None),
        (Code::SingularResource, 409, "SINGULAR_RESOURCE", None),
        (Code::Conflict, 409, "CONFLICT", None),
        (Code::Gone, 410, "GONE", None),
        (Code::PreconditionFailed, 412, "PRECONDITION_FAILED", None),
        (Code::PayloadTooLarge, 413, "PAYLOAD_TOO_LARGE", None),
        (Code::UnsupportedMediaType, 415, "UNSUPPORTED_MEDIA_TYPE", None),
        (Code::ValidationFailed, 422, "VALIDATION_FAILED", None),
        (Code::InvalidFilter, 422, "INVALID_FILTER", None),
        (Code::InvalidSort, 422, "INVALID_SORT", None),
        (Code::InvalidVariant, 422, "INVALID_VARIANT", None),
        (Code::InvalidParameter, 422, "INVALID_PARAMETER", None),
        (Code::BulkLimitExceeded, 422, "BULK_LIMIT_EXCEEDED", None),
        (Code::IdempotencyKeyReused, 422, "IDEMPOTENCY_KEY_REUSED", None),
        (Code::RateLimited, 429, "RATE_LIMITED", Some(("retry-after", "7"))),
        (Code::Internal, 500, "INTERNAL", None),
        (Code::Overloaded, 503, "OVERLOADED", Some(("retry-after", "7"))),
        (Code::LogUnreachable, 503, "LOG_UNREACHABLE", Some(("retry-after", "7"))),
        (Code::OutcomeUnknown, 503, "OUTCOME_UNKNOWN", Some(("retry-after", "7"))),
    ];
    for (code, status, name, header) in table {
        assert_eq!((wire(code).0.as_u16(), wire(code).1), (status, name));
        let failure = Failure::from(Error::new(code, "m")).retry_after(7);
        let (answered, headers, body) = read(axum::response::IntoResponse::into_response(failure)).await;
        assert_eq!(answered.as_u16(), status, "{name}");
        assert_eq!(code_of(&body), name);
        assert_eq!(headers["content-type"], "application/json");
        for special in ["www-authenticate", "retry-after"] {
            let expected = header.filter(|(name, _)| *name == special).map(|(_, value)| value);
            assert_eq!(headers.get(special).map(|value| value.to_str().unwrap()), expected, "{name}");
        }
    }
}

#[tokio::test]
async fn an_unknown_route_or_method_returns_the_error_object() {
    for (method, uri, route) in [
        (Method::GET, "/", "`GET /`"),
        (Method::POST, "/items", "`POST /items`"),
        (Method::GET, "/items/a/", "`GET /items/a/`"),
        (Method::OPTIONS, "/nope?x=1", "`OPTIONS /nope`"),
    ] {
        let (status, headers, body) = send(request(method, uri)).await;
        assert_eq!((status.as_u16(), code_of(&body).as_str()), (404, "NOT_FOUND"), "{uri}");
        assert!(body.contains(route), "{body}");
        assert!(headers.contains_key("x-request-id"));
    }
    for (method, uri, allow) in [
        (Method::POST, "/items/a", "GET,HEAD,DELETE"),
        (Method::OPTIONS, "/items/a", "GET,HEAD,DELETE"),
        (Method::GET, "/body", "POST"),
    ] {
        let (status, headers, body) = send(request(method, uri)).await;
        assert_eq!((status.as_u16(), code_of(&body).as_str()), (405, "METHOD_NOT_ALLOWED"), "{uri}");
        assert_eq!(headers["allow"], allow);
        assert!(headers.contains_key("x-request-id"));
    }
    let (status, _, body) = send(request(Method::GET, "/items/%ff")).await;
    assert_eq!((status.as_u16(), code_of(&body).as_str()), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn head_returns_what_get_returns_without_the_body() {
    let (status, headers, body) = send(request(Method::HEAD, "/items/abc")).await;
    assert_eq!((status.as_u16(), body.as_str()), (200, ""));
    assert_eq!(headers["content-length"], "3");
}

#[tokio::test]
async fn a_panic_becomes_an_internal_error_without_details() {
    let (status, headers, body) = send(request(Method::GET, "/panic")).await;
    assert_eq!((status.as_u16(), code_of(&body).as_str()), (500, "INTERNAL"));
    assert!(!body.contains("secret"), "{body}");
    assert!(headers.contains_key("x-request-id"));
}

#[tokio::test]
async fn a_request_id_that_is_safe_to_log_is_kept() {
    let long = "x".repeat(128);
    let too_long = "x".repeat(129);
    for (sent, kept) in [
        ("abc.DEF-0_9", true),
        (long.as_str(), true),
        (too_long.as_str(), false),
        ("", false),
        ("a b", false),
        ("a/b", false),
        ("ü", false),
    ] {
        let value = axum::http::HeaderValue::from_bytes(sent.as_bytes()).unwrap();
        let mut request = request(Method::GET, "/items/a");
        request.headers_mut().insert("x-request-id", value);
        let (_, headers, _) = send(request).await;
        let answered = headers["x-request-id"].to_str().unwrap();
        assert_eq!(answered == sent, kept, "{sent}");
        assert!(kept || uuid::Uuid::try_parse(answered).is_ok(), "{answered}");
    }
}

#[tokio::test]
async fn a_request_logs_one_line_without_secrets() {
    let router = framed_routes(Settings::default());
    let log = LogBuffer::default();
    let sink = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || sink.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    for path in ["/items/a?secret=b", "/items/bnd_b?secret=b"] {
        let mut request = request(Method::GET, path);
        request.headers_mut().insert("x-request-id", "id-7".parse().unwrap());
        send_to(router.clone(), request).await;
    }
    drop(guard);
    let logged = String::from_utf8(log.0.lock().clone()).unwrap();
    let lines: Vec<&str> = logged.lines().collect();
    assert_eq!(lines.len(), 2, "{logged}");
    for part in ["id=\"id-7\"", "method=GET", "path=\"/items/a\"", "status=200", "duration_us="] {
        assert!(lines[0].contains(part), "{part} in {logged}");
    }
    assert!(lines[1].contains("path=\"/items/[redacted]\""), "{logged}");
    assert!(!logged.contains("secret") && !logged.contains("bnd_"), "{logged}");
}

/// A writer that keeps the written bytes.
#[derive(Clone, Default)]
struct LogBuffer(Arc<parking_lot::Mutex<Vec<u8>>>);

impl std::io::Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_size_of_a_body_is_checked_before_its_type() {
    let json = Some("application/json");
    let table: [(&str, Option<&str>, u16, &str); 12] = [
        ("{}", json, 200, "{}"),
        ("not json", json, 200, "not json"),
        ("0123456789", Some("application/json; charset=utf-8"), 200, "0123456789"),
        ("{}", Some("Application/JSON ;x=y"), 200, "{}"),
        ("", None, 200, ""),
        ("", Some("text/plain"), 200, ""),
        ("01234567890", json, 413, "PAYLOAD_TOO_LARGE"),
        ("01234567890", None, 413, "PAYLOAD_TOO_LARGE"),
        ("{}", None, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("{}", Some(""), 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("{}", Some("text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("{}", Some("application/json5"), 415, "UNSUPPORTED_MEDIA_TYPE"),
    ];
    for (body, content_type, status, expected) in table {
        let in_two_chunks = |body: &str| {
            let (a, b) = body.split_at(body.len() / 2);
            let chunks = [a.to_owned(), b.to_owned()].map(|half| Ok::<_, std::io::Error>(Bytes::from(half)));
            Body::from_stream(tokio_stream::iter(chunks))
        };
        for sent in [Body::from(body.to_owned()), in_two_chunks(body)] {
            let mut request = Request::post("/body").body(sent).unwrap();
            if let Some(content_type) = content_type {
                request.headers_mut().insert("content-type", content_type.parse().unwrap());
            }
            let (answered, _, text) = send(request).await;
            assert_eq!(answered.as_u16(), status, "{body} {content_type:?}");
            assert_eq!(if status == 200 { text } else { code_of(&text) }, expected, "{body} {content_type:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_malformed() {
    let broken = tokio_stream::iter([Ok(Bytes::from("{")), Err(std::io::Error::other("gone"))]);
    let (status, _, body) = send(Request::post("/body").body(Body::from_stream(broken)).unwrap()).await;
    assert_eq!((status.as_u16(), code_of(&body).as_str()), (400, "MALFORMED_JSON"));
}

#[tokio::test]
async fn the_base_url_comes_from_the_configuration_or_the_host_header() {
    let public = Settings { public_url: Some("https://cms.example/".into()), ..Settings::default() };
    for (settings, host, expected) in [
        (Settings::default(), Some("a.example:81"), "http://a.example:81"),
        (Settings::default(), None, "http://127.0.0.1:7700"),
        (Settings::default(), Some("a b"), "http://127.0.0.1:7700"),
        (Settings::default(), Some("u@a.example"), "http://127.0.0.1:7700"),
        (public, Some("a.example"), "https://cms.example"),
    ] {
        let mut request = request(Method::GET, "/base");
        if let Some(host) = host {
            request.headers_mut().insert("host", host.parse().unwrap());
        }
        let (_, _, body) = send_to(framed_routes(settings), request).await;
        assert_eq!(body, expected, "{host:?}");
    }
}

#[tokio::test]
async fn only_configured_origins_get_cors_headers() {
    let with = |origins: &[&str]| Settings {
        cors_origins: Some(origins.iter().map(|origin| origin.to_string()).collect()),
        ..Settings::default()
    };
    for (origins, allowed) in [
        (&[][..], None),
        (&["https://a.example"], Some("https://a.example")),
        (&["https://b.example"], None),
        (&["https://b.example", "*"], Some("*")),
    ] {
        let mut request = request(Method::GET, "/nope");
        request.headers_mut().insert("origin", "https://a.example".parse().unwrap());
        let (status, headers, _) = send_to(framed_routes(with(origins)), request).await;
        assert_eq!(status.as_u16(), 404);
        let answered = headers.get("access-control-allow-origin").map(|value| value.to_str().unwrap());
        assert_eq!(answered, allowed, "{origins:?}");
        if allowed.is_some() {
            let exposed = "x-request-id,etag,location,allow,retry-after,content-disposition,x-last-change";
            assert_eq!(headers["access-control-expose-headers"], format!("{exposed},bindery-number,bindery-lag"));
        }
    }
    let mut preflight = request(Method::OPTIONS, "/items/a");
    preflight.headers_mut().insert("origin", "https://a.example".parse().unwrap());
    preflight.headers_mut().insert("access-control-request-method", "DELETE".parse().unwrap());
    let (status, headers, _) = send_to(framed_routes(with(&["https://a.example"])), preflight).await;
    assert_eq!(status.as_u16(), 200);
    assert_eq!(headers["access-control-allow-methods"], "GET,HEAD,POST,PUT,PATCH,DELETE");
    assert!(headers.contains_key("x-request-id"));
}

#[tokio::test]
async fn the_server_is_alive() {
    let router = service(app(Settings::default()));
    let (status, _, _) = send_to(router, request(Method::GET, "/healthz")).await;
    assert_eq!(status.as_u16(), 200);
}

fn limits(stop_timeout: Duration) -> Limits {
    let waiting = Duration::from_secs(30);
    Limits {
        max_connections: 10,
        max_buffer_bytes: 64 << 20,
        client_timeout: waiting,
        keepalive_timeout: waiting,
        stop_timeout,
    }
}

#[tokio::test]
async fn stopping_gives_running_requests_a_limited_time_to_finish() {
    for (path, grace, answered) in
        [("/slow", Duration::from_secs(30), true), ("/stuck", Duration::from_millis(50), false)]
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = tokio::sync::oneshot::channel::<()>();
        let stopped = async {
            let _ = stopping.await;
        };
        let server = tokio::spawn(serve(listener, framed_routes(Settings::default()), stopped, limits(grace)));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send(()).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(10), server).await;
        ended.expect("the server ends within its grace period").unwrap();
        assert!(TcpStream::connect(address).await.is_err(), "no more connections are accepted");
        let mut answer = String::new();
        let got = tokio::time::timeout(Duration::from_millis(500), client.read_to_string(&mut answer)).await;
        assert_eq!(got.is_ok_and(|read| read.is_ok()), answered, "{path}");
        assert_eq!(answer.starts_with("HTTP/1.1 200 OK"), answered, "{answer}");
    }
}

#[tokio::test]
async fn the_sender_of_a_body_that_is_too_large_receives_the_response() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve(listener, framed_routes(Settings::default()), std::future::pending(), limits(Duration::ZERO));
    let server = tokio::spawn(server);
    for head in ["Content-Length: 8000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n7a1200\r\n"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(format!("POST /body HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{head}").as_bytes())
            .await
            .unwrap();
        client.write_all(&vec![b' '; 8_000_000]).await.unwrap();
        if head.contains("chunked") {
            client.write_all(b"\r\n0\r\n\r\n").await.unwrap();
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
    server.abort();
}
