//! `GET /v2/backup`: everything as one file, while the server goes on.

use std::fs::File;
use std::io::Read;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::App;
use super::error::Answer;
use super::extract::Bearer;
use crate::model::ability::Ability;
use crate::model::error::Error;

const PIECE_BYTES: usize = 256 << 10;
const PIECES_IN_FLIGHT: usize = 4;

pub(super) async fn backup(State(app): State<App>, Bearer(access): Bearer) -> Answer {
    access.require(&[Ability::Manage])?;
    let content = app.content.clone();
    let written = tokio::task::spawn_blocking(move || content.backup_to_send()).await;
    let (file, head) = written.map_err(Error::internal)??;
    let (pieces, body) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || send(file, &pieces));
    let name = format!("attachment; filename=\"bindery-{}.backup\"", head.number);
    let mut response = Body::from_stream(ReceiverStream::new(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(head.bytes));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(Error::internal)?);
    Ok(response)
}

/// Sends a file piece by piece; a client that goes away ends it, a fault cuts the answer off.
fn send(mut file: File, pieces: &mpsc::Sender<std::io::Result<Bytes>>) {
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let read = (&mut file).take(PIECE_BYTES as u64).read_to_end(&mut piece);
        let is_last = !matches!(read, Ok(1..));
        if matches!(read, Ok(0)) || pieces.blocking_send(read.map(|_| Bytes::from(piece))).is_err() || is_last {
            return;
        }
    }
}
