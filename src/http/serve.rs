//! Serving until told to stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves until `stop` is done; then no connection is taken any more, and what runs has `grace` to finish.
///
/// Errors: those of the listener.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    let (stopping, stopped) = oneshot::channel();
    let announced = async move {
        stop.await;
        tracing::info!("stopping: what runs is finished first");
        let _ = stopping.send(());
    };
    // Answers are small and waited for: none is held back to be sent together with the next.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
    });
    let server = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(announced);
    tokio::select! {
        result = server.into_future() => result,
        () = overdue(stopped, grace) => {
            tracing::warn!(?grace, "requests that still run are dropped");
            Ok(())
        }
    }
}

/// Done at `SIGTERM` or `SIGINT`.
///
/// Errors: where the signals cannot be listened for.
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

async fn overdue(stopped: oneshot::Receiver<()>, grace: Duration) {
    if stopped.await.is_err() {
        // The server ended without being told to stop, and says so itself.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(grace).await;
}
