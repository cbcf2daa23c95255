//! What is made of the answers, and the silence, of a store that is reached by HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::aws::AmazonS3Builder;
use uuid::Uuid;

use crate::address::connect_s3;
use crate::http::DateCell;
use crate::objects::Objects;
use crate::{AppendError, ClusterError, History, Position, Store};

/// A store at this port.
fn store(port: u16) -> Store {
    store_at(port, ["bucket", "prefix"], ["id", "secret"])
}

/// A store of S3 at this port, with its bucket and prefix, and an access key with its secret.
pub(super) fn store_at(port: u16, [bucket, prefix]: [&str; 2], [key, secret]: [&str; 2]) -> Store {
    // As `address::open` does it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = || {
        AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_endpoint(format!("http://127.0.0.1:{port}"))
            .with_allow_http(true)
            .with_access_key_id(key)
            .with_secret_access_key(secret)
    };
    let date = DateCell::default();
    let clients = connect_s3(&settings, &date).unwrap();
    let address = format!("s3://{bucket}/{prefix}");
    let objects = Objects { date: Some(date), ..Objects::new(&address, clients, prefix.into()) };
    Store { objects: Arc::new(objects) }
}

/// Answers every request alike. Returns the port.
fn serve(status: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let _ = stream.read_exact(&mut vec![0; length]);
            let headers = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close";
            let length = body.len();
            let answer = format!("HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}");
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    port
}

fn append(store: &Store, limit: Duration) -> (Result<Position, AppendError>, bool) {
    let log = store.log(&History { number: 1, id: Uuid::nil() }, "a").unwrap();
    let mut may_be_appended = false;
    let outcome = log.append(&Position::start(Uuid::nil(), 1), &[b"x".to_vec()], 1, &mut |wait| {
        may_be_appended |= wait.may_be_appended;
        if wait.elapsed > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (outcome, may_be_appended)
}

#[test]
fn nothing_is_appended_where_nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = store(port);
    let (outcome, _) = append(&store, Duration::from_millis(300));
    let Err(AppendError::Unreachable(error)) = outcome else { panic!("{outcome:?}") };
    assert!(error.to_string().to_lowercase().contains("refused"), "{error}");
    assert!(store.date().is_none() && !store.knows_time());
}

#[test]
fn a_refusal_is_final() {
    let denied = store(serve("403 Forbidden", "<Error><Code>InvalidAccessKeyId</Code></Error>"));
    let (outcome, _) = append(&denied, Duration::from_secs(10));
    let Err(AppendError::Unreachable(error)) = outcome else { panic!("{outcome:?}") };
    assert!(
        matches!(*error, ClusterError::Denied { .. }) && error.to_string().contains("InvalidAccessKeyId"),
        "{error}"
    );
    assert!(matches!(denied.cluster(), Err(ClusterError::Denied { .. })));
    assert_eq!(denied.date().unwrap().date.to_rfc3339(), "1994-11-06T08:49:37+00:00");
    assert!(denied.knows_time());

    let missing = store(serve("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>"));
    let (outcome, _) = append(&missing, Duration::from_secs(10));
    let Err(AppendError::Unreachable(error)) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(*error, ClusterError::NoBucket { .. }), "{error}");
    // A missing bucket is not an empty log.
    assert!(matches!(missing.cluster(), Err(ClusterError::NoBucket { .. })));
    let log = missing.log(&History { number: 1, id: Uuid::nil() }, "a").unwrap();
    assert!(log.confirm(&Position::start(Uuid::nil(), 1)).is_err());

    let empty = store(serve("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>"));
    assert!(matches!(empty.cluster(), Err(ClusterError::NoCluster { .. })));
}

#[test]
fn a_look_at_the_end_of_the_log_waits_only_seconds_for_a_store_that_does_not_answer() {
    // The system accepts the connection, and nobody reads the request.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = store(listener.local_addr().unwrap().port());
    let log = store.log(&History { number: 1, id: Uuid::nil() }, "a").unwrap();
    let began = Instant::now();
    let error = log.confirm(&Position::start(Uuid::nil(), 1)).unwrap_err();
    let took = began.elapsed();
    assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn an_error_of_the_server_leaves_the_outcome_unknown() {
    for status in ["500 Internal Server Error", "503 Slow Down", "429 Too Many Requests", "409 Conflict"] {
        let (outcome, may_be_appended) = append(&store(serve(status, "")), Duration::from_millis(120));
        assert!(matches!(outcome, Err(AppendError::Unknown(_))) && may_be_appended, "{status}: {outcome:?}");
    }
}
