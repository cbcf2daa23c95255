//! The listener: serving connections and stopping gracefully. Must not know what is served.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves until `stop` completes. Then it accepts no more connections and gives running requests `grace` to finish.
///
/// # Errors
/// Those of the listener.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    let (stopping, stopped) = oneshot::channel();
    let signaled = async move {
        stop.await;
        tracing::info!("stopping: waiting for running requests");
        let _ = stopping.send(());
    };
    // Responses are small and clients wait for them: none may be held back to be sent with the next one.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    });
    let server = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(signaled);
    tokio::select! {
        result = server.into_future() => result,
        () = overdue(stopped, grace) => {
            tracing::warn!(?grace, "dropping requests that are still running");
            Ok(())
        }
    }
}

/// Completes at `SIGTERM` or `SIGINT`.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Completes when `grace` has passed since the stop.
async fn overdue(stopped: oneshot::Receiver<()>, grace: Duration) {
    if stopped.await.is_err() {
        // The server ended without a stop; its own result says why.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(grace).await;
}
