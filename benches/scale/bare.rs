//! The bare handler: an axum server that answers with bodies of a given size and does nothing else. It shows the limits
//! of this machine, axum and the load generators.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::routing::get;
use bytes::Bytes;
use tokio::runtime::Runtime;

use crate::Result;

/// A running bare handler. It stops when it is dropped.
pub(crate) struct Bare {
    pub(crate) address: SocketAddr,
    _runtime: Runtime,
}

/// Returns the path of a body of this size, and of a 304 for 0.
pub(crate) fn path(bytes: usize) -> String {
    if bytes == 0 { "/not-modified".to_owned() } else { format!("/body/{bytes}") }
}

impl Bare {
    pub(crate) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        // Bodies are slices of one buffer, so that nothing is copied before the socket.
        let buffer = Bytes::from(vec![b'x'; 4 << 20]);
        let body = move |Path(bytes): Path<usize>| {
            let body = buffer.slice(..bytes.min(buffer.len()));
            async move { ([(header::CONTENT_TYPE, "application/json")], body) }
        };
        let router = Router::new()
            .route("/body/{bytes}", get(body))
            .route("/not-modified", get(async || (StatusCode::NOT_MODIFIED, [(header::ETAG, "\"0\"")])));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Bare { address, _runtime: runtime })
    }
}
