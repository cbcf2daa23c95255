//! HTTP: the router on one screen, and the frame that every request goes through.
//!
//! Handlers are a translation table: extract, one call, respond. Only this module names axum, statuses and headers.

mod administration;
pub mod analytics;
mod backup;
mod bulk;
mod drain;
pub mod error;
pub mod extract;
mod frame;
mod idempotency;
pub mod request_id;
mod resources;
pub mod respond;
mod serve;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};

use self::administration as admin;
use self::error::Answer;
use crate::analytics::Analytics;
use crate::config::Config;
use crate::content::Content;
use crate::model::error::{Code, Error};

pub use serve::{serve, stop_signal};

/// What handlers can reach.
#[derive(Clone)]
pub struct App {
    /// The settings of the server.
    pub config: Arc<Config>,
    /// What it serves.
    pub content: Content,
    /// What it counts.
    pub analytics: Analytics,
}

/// Every route of the server, framed: ids and log lines of requests, CORS, panics, unknown routes and methods.
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/v2/resources/{blueprint}", get(resources::list).post(resources::create))
        .route("/v2/resources/{blueprint}/bulk", post(bulk::create).patch(bulk::update).delete(bulk::delete))
        .route("/v2/resources/{blueprint}/bulk-publish", post(bulk::publish))
        .route("/v2/resources/{blueprint}/bulk-unpublish", post(bulk::unpublish))
        .route("/v2/resources/{blueprint}/export", get(resources::export))
        .route("/v2/resources/{blueprint}/import", post(resources::import))
        .route(
            "/v2/resources/{blueprint}/{id}",
            get(resources::find).put(resources::update).patch(resources::update).delete(resources::delete),
        )
        .route("/v2/blueprints", get(admin::list_blueprints).post(admin::create_blueprint))
        .route(
            "/v2/blueprints/{slug}",
            get(admin::find_blueprint).put(admin::replace_blueprint).delete(admin::delete_blueprint),
        )
        .route("/v2/tokens", get(admin::list_tokens).post(admin::create_token))
        .route("/v2/tokens/{id}", delete(admin::revoke_token))
        .route("/v2/members", get(admin::list_members).post(admin::create_member))
        .route("/v2/members/{id}", get(admin::find_member).patch(admin::change_member).delete(admin::delete_member))
        .route("/v2/backup", get(backup::backup))
        .route("/healthz", get(is_alive))
        .route("/readyz", get(is_ready))
        .merge(analytics::reports());
    frame::frame(routes, analytics::intake(&app.config), &app.config.cors_origins).with_state(app)
}

/// The process answers.
async fn is_alive() -> StatusCode {
    StatusCode::OK
}

/// Store and index are caught up (the server does not listen before they are), and writes are taken.
async fn is_ready(State(app): State<App>) -> Answer {
    if app.content.is_writable() {
        return Ok(StatusCode::OK.into_response());
    }
    Err(Error::new(Code::Overloaded, "the server does not take writes; its log says why").into())
}
