//! HTTP: the router on one screen, and the frame that every request goes through.
//!
//! Handlers are a translation table: extract, one call, respond. Only this module names axum, statuses and headers.

pub mod error;
pub mod extract;
mod frame;
pub mod request_id;
pub mod respond;
mod serve;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use crate::config::Config;

pub use serve::{serve, stop_signal};

/// What handlers can reach.
#[derive(Debug, Clone)]
pub struct App {
    /// The settings of the server.
    pub config: Arc<Config>,
}

/// Every route of the server, framed: ids and log lines of requests, CORS, panics, unknown routes and methods.
pub fn router(app: App) -> Router {
    let routes = Router::new().route("/healthz", get(alive));
    frame::frame(routes, &app.config.cors_origins).with_state(app)
}

async fn alive() -> StatusCode {
    StatusCode::OK
}
