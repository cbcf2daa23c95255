//! HTTP: the router on one screen, and the probes.
//!
//! Handlers are a translation table: extract, one call, respond. Must not hold a rule of content. No other module names
//! axum, statuses or headers.

mod administration;
pub mod analytics;
mod app;
mod backup;
mod body;
mod budget;
mod bulk;
mod connection;
mod connections;
mod drain;
mod error;
mod frame;
mod head;
mod idempotency;
mod import;
mod lines;
mod links;
mod refusal;
mod represent;
mod request_id;
mod resources;
mod respond;
mod serve;
mod socket;
mod stream;
mod transfer;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};

use self::administration as admin;
use self::error::Answer;
use crate::model::error::{Code, Error};

pub use self::app::App;
pub use self::connections::Limits;
pub use self::error::error_object;
pub(crate) use self::represent::{issued_token, token};
pub use self::serve::{serve, stop_signal};

/// Every route of the server inside the frame, which adds request ids, log lines, CORS, and responses to panics,
/// unknown routes and unsupported methods.
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/v2/resources/{blueprint}", get(resources::list).post(resources::create))
        .route("/v2/resources/{blueprint}/bulk", post(bulk::create).patch(bulk::update).delete(bulk::delete))
        .route("/v2/resources/{blueprint}/bulk-publish", post(bulk::publish))
        .route("/v2/resources/{blueprint}/bulk-unpublish", post(bulk::unpublish))
        .route("/v2/resources/{blueprint}/export", get(resources::export))
        .route("/v2/resources/{blueprint}/import", post(import::import))
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

/// Succeeds as long as the process responds.
async fn is_alive() -> StatusCode {
    StatusCode::OK
}

/// Succeeds if writes are accepted. Store and index are up to date then: the server does not listen before they are.
async fn is_ready(State(app): State<App>) -> Answer {
    if app.content.is_writable() {
        return Ok(StatusCode::OK.into_response());
    }
    Err(Error::new(Code::Overloaded, "the server accepts no writes; its log has the reason").into())
}
