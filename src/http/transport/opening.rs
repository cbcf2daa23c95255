//! Answers requests while the data folder is being opened: `/healthz` with 200, all others with 503, `/readyz` with the
//! progress. Must not know how a folder is opened.
//!
//! There is no router and no content yet, so each connection gets one answer and is closed.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::transport::refusal;

/// The number of connections at once. More wait in the system's queue.
const PLACES: usize = 256;

/// The time in which a client must send its head and read the answer.
const TIME: Duration = Duration::from_secs(2);

/// The pause after the system has refused a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers on the listener until `opening` completes. `progress` is from 0 to 1.
pub async fn serve_while<T>(
    listener: &TcpListener,
    progress: impl Fn() -> f64 + Clone + Send + Sync + 'static,
    opening: impl Future<Output = T>,
) -> T {
    let places = Arc::new(Semaphore::new(PLACES));
    let mut opening = pin!(opening);
    let accept = async || match Arc::clone(&places).acquire_owned().await {
        Ok(place) => listener.accept().await.map(|(stream, _)| (stream, place)),
        Err(closed) => Err(io::Error::other(closed)),
    };
    loop {
        tokio::select! {
            biased;
            opened = &mut opening => return opened,
            accepted = accept() => match accepted {
                Ok((stream, place)) => {
                    let progress = progress.clone();
                    tokio::spawn(async move {
                        let _ = tokio::time::timeout(TIME, answer(stream, &progress)).await;
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

/// Answers the first request of a connection, and reads the rest of its bytes: closing a socket with unread bytes
/// resets it.
async fn answer(mut stream: TcpStream, progress: &(impl Fn() -> f64 + Sync)) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") && head.len() <= refusal::MAX_HEAD_BYTES {
        if stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut parts = line.split(|byte| *byte == b' ');
    let (method, target) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let response = match (method, path) {
        (b"GET" | b"HEAD", b"/healthz") => refusal::alive(),
        (_, b"/readyz") => refusal::opening(Some(progress()), method == b"HEAD"),
        _ => refusal::opening(None, method == b"HEAD"),
    };
    stream.write_all(&response).await?;
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}
