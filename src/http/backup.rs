//! `GET /v2/backup`: the whole content as one file. Writes go on meanwhile.

use std::fs::File;
use std::io::{self, Read};

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::error::Answer;
use super::head::Call;
use super::stream;
use crate::model::ability::Ability;
use crate::model::error::Error;

const PIECE_BYTES: u64 = 256 << 10;

pub(super) async fn backup(call: Call) -> Answer {
    call.access.require(&[Ability::Manage])?;
    let content = call.app.content;
    let written = tokio::task::spawn_blocking(move || content.backup_to_send()).await;
    let (mut file, head) = written.map_err(Error::internal)??;
    let body = stream::produced(move || next_piece(&mut file));
    let name = format!("attachment; filename=\"bindery-{}.backup\"", head.number);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(head.bytes)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(Error::internal)?),
    ];
    Ok((headers, Response::new(body)).into_response())
}

fn next_piece(file: &mut File) -> io::Result<Option<Bytes>> {
    let mut piece = Vec::new();
    let count = file.take(PIECE_BYTES).read_to_end(&mut piece)?;
    Ok((count > 0).then(|| Bytes::from(piece)))
}
