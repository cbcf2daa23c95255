//! HTTP: the router, readable on one screen, and the probes.
//!
//! Handlers only translate: they extract their arguments, make one call, and respond. Must not hold a rule of content.
//! No other crate names axum, statuses or headers.

mod answer;
mod app;
mod cluster;
mod error;
mod frame;
mod handlers;
mod media;
mod observe;
mod request;
mod route;
mod transport;

#[cfg(test)]
mod tests;

use axum::extract::{RawQuery, State};
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{delete, get, patch, post, put};

use self::error::Answer;
use self::handlers::steering::{Rules, Synonyms};
use self::handlers::{
    administration as admin, backup, bulk, changes, dashboard, docs, history, import, media as files, openapi,
    resources, scrape, search, sessions, status, steering, suggest, trash, views, webhooks,
};
use self::request::head::takes_no_parameters;
use self::route::{Route, into_router};

pub use self::answer::represent::{issued_token, replaced, token};
pub use self::app::App;
pub use self::error::{error_object, error_status};
pub use self::frame::HttpService;
pub use self::handlers::analytics;
pub use self::handlers::openapi::general_schemas;
pub use self::handlers::sessions::invitation_url;
pub use self::media::backup::{media_backup, restore_media};
pub use self::media::fetch::fetch_media;
pub use self::media::{Media, place_of as place_of_media};
pub use self::transport::budget::max_large_bytes;
pub use self::transport::connections::Limits;
pub use self::transport::opening::serve_while;
pub use self::transport::serve::{listen, serve, stop_signal};

/// Returns every route of the server inside the frame, which adds request ids, log lines, CORS, and responses to
/// panics, unknown routes and unsupported methods.
pub fn service(app: App) -> HttpService {
    let intake = analytics::intake_router(&app.config);
    frame::frame(into_router(routes()), intake, app)
}

/// Removes files of media that nothing names any more, until the task is aborted.
pub async fn sweep_media(app: App) {
    media::sweep::run(app).await;
}

/// Takes part in the cluster until the task is aborted; ends at once on a single server.
pub async fn watch_cluster(app: App) {
    cluster::watch::run(app).await;
}

/// Counts for the cluster, or sends what this server collected to the node that does, until the task is aborted; ends
/// at once on a single server.
pub async fn count_for_cluster(app: App) {
    cluster::counting::run(app).await;
}

/// Makes another node the leader of the cluster, if this one leads: it is about to stop. Takes a few seconds at most.
pub async fn hand_over(app: &App) {
    cluster::watch::hand_over(app).await;
}

/// Returns the routes of the server, without the intake of analytics.
fn routes() -> Vec<Route> {
    let resource = get(resources::find).put(resources::update).patch(resources::update).delete(resources::delete);
    let blueprint = get(admin::find_blueprint).put(admin::replace_blueprint).delete(admin::delete_blueprint);
    let member = get(admin::find_member).patch(admin::change_member).delete(admin::delete_member);
    let webhook = get(webhooks::find).patch(webhooks::change).delete(webhooks::delete);
    let session = get(sessions::find).post(sessions::sign_in).delete(sessions::sign_out);
    let invitation = get(sessions::find_invitation).post(sessions::accept_invitation);
    let synonyms = get(steering::find::<Synonyms>)
        .put(steering::replace::<Synonyms>)
        .patch(steering::change::<Synonyms>)
        .delete(steering::delete::<Synonyms>);
    let rules = get(steering::find::<Rules>)
        .put(steering::replace::<Rules>)
        .patch(steering::change::<Rules>)
        .delete(steering::delete::<Rules>);
    let probe = [Method::GET, Method::HEAD];
    let mut routes = vec![
        Route::new("/v2/resources/{blueprint}", get(resources::list).post(resources::create)),
        Route::new("/v2/resources/{blueprint}/bulk", post(bulk::create).patch(bulk::update).delete(bulk::delete)),
        Route::new("/v2/resources/{blueprint}/bulk-publish", post(bulk::publish)),
        Route::new("/v2/resources/{blueprint}/bulk-unpublish", post(bulk::unpublish)),
        Route::new("/v2/resources/{blueprint}/export", get(resources::export)),
        Route::new("/v2/resources/{blueprint}/import", post(import::import)),
        Route::new("/v2/resources/{blueprint}/{id}", resource),
        Route::new("/v2/resources/{blueprint}/{id}/publish", post(resources::publish)),
        Route::new("/v2/resources/{blueprint}/{id}/neighbors", get(resources::neighbors)),
        Route::new("/v2/resources/{blueprint}/{id}/referrers", get(resources::referrers)),
        Route::new("/v2/resources/{blueprint}/{id}/history", get(history::list).delete(history::delete)),
        Route::new("/v2/resources/{blueprint}/{id}/history/{number}", get(history::find)),
        Route::new("/v2/resources/{blueprint}/{id}/history/{number}/restore", post(history::restore)),
        Route::new("/v2/media/{blueprint}", post(files::create)),
        Route::new("/v2/media/{blueprint}/fetch", post(files::fetch)),
        Route::new("/v2/media/{blueprint}/{id}/content", put(files::replace)),
        Route::new("/media/{id}/{file_name}", get(files::deliver)).open_to_all(&probe),
        Route::new("/v2/trash", get(trash::list)),
        Route::new("/v2/trash/{id}", delete(trash::purge)),
        Route::new("/v2/trash/{id}/restore", post(trash::restore)),
        Route::new("/v2/changes", get(changes::changes)),
        Route::new("/v2/blueprints", get(admin::list_blueprints).post(admin::create_blueprint)),
        Route::new("/v2/blueprints/{slug}", blueprint),
        Route::new("/v2/tokens", get(admin::list_tokens).post(admin::create_token)),
        Route::new("/v2/tokens/{id}", delete(admin::revoke_token)),
        Route::new("/v2/members", get(admin::list_members).post(admin::create_member)),
        Route::new("/v2/members/{id}", member),
        Route::new("/v2/webhooks", get(webhooks::list).post(webhooks::create)),
        Route::new("/v2/webhooks/{id}", webhook),
        Route::new("/v2/webhooks/{id}/deliveries", get(webhooks::deliveries)),
        Route::new("/v2/webhooks/{id}/test", post(webhooks::test)),
        Route::new("/v2/backup", get(backup::backup)),
        Route::new("/v2/backup/media", get(backup::media)),
        Route::new("/metrics", get(scrape::serve)).open_to_all(&probe),
        Route::new("/v2/openapi.json", get(openapi::describe)).open_to_all(&probe),
        Route::new("/docs", get(docs::index)).open_to_all(&probe),
        Route::new("/docs/{file}", get(docs::asset)).open_to_all(&probe),
        Route::new("/v2/members/{id}/invitations", post(sessions::invite)),
        Route::new("/v2/session", session).open_to_all(&[Method::POST]),
        Route::new("/v2/session/password", put(sessions::change_password)),
        Route::new("/v2/sessions", get(sessions::list)),
        Route::new("/v2/sessions/{id}", delete(sessions::end)),
        Route::new("/v2/invitation", invitation).open_to_all(&[Method::GET, Method::HEAD, Method::POST]),
        Route::new("/v2/views", get(views::list).post(views::create)),
        Route::new("/v2/views/{id}", patch(views::change).delete(views::delete)),
        Route::new("/v2/search", get(search::search)),
        Route::new("/v2/search/suggest", get(suggest::suggest)),
        Route::new("/v2/search/synonyms", get(steering::list::<Synonyms>).post(steering::create::<Synonyms>)),
        Route::new("/v2/search/synonyms/{id}", synonyms),
        Route::new("/v2/search/rules", get(steering::list::<Rules>).post(steering::create::<Rules>)),
        Route::new("/v2/search/rules/preview", post(steering::preview)),
        Route::new("/v2/search/rules/{id}", rules),
        Route::new("/v2/status", get(status::find)),
        Route::new("/v2/cluster", get(status::cluster)),
        Route::new(cluster::hints::PATH, post(cluster::hints::receive)).open_to_all(&[Method::POST]),
        Route::new(cluster::counting::BATCHES, post(cluster::counting::receive)).open_to_all(&[Method::POST]),
        Route::new(cluster::counting::QUESTIONS, get(cluster::counting::questions)).open_to_all(&probe),
        Route::new("/admin", get(dashboard::serve)).open_to_all(&probe),
        Route::new("/admin/", get(dashboard::serve)).open_to_all(&probe),
        Route::new("/admin/{*path}", get(dashboard::serve)).open_to_all(&probe),
        Route::new("/healthz", get(is_alive)).open_to_all(&probe),
        Route::new("/readyz", get(is_ready)).open_to_all(&probe),
    ];
    routes.extend(analytics::reports());
    routes
}

/// Succeeds while the process responds.
async fn is_alive(RawQuery(query): RawQuery) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    Ok(StatusCode::OK.into_response())
}

/// Succeeds if writes are accepted. Store and index are up to date then: before that, [`opening`] answers instead.
async fn is_ready(State(app): State<App>, RawQuery(query): RawQuery) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    // First: a node that cannot apply the log accepts no writes either.
    app.content.check_follows()?;
    app.content.check_writable()?;
    Ok(StatusCode::OK.into_response())
}
