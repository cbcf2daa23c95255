//! `GET /v2/backup`: content and analytics as one file. Writes go on meanwhile.

use std::fs::File;
use std::io::{self, Cursor, Read};

use axum::body::{Body, Bytes};
use axum::http::{Extensions, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bindery_content::backup_envelope;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};
use futures_util::StreamExt;
use tokio::sync::oneshot;

use crate::app::App;
use crate::error::Answer;
use crate::media::backup::media_backup;
use crate::request::head::Call;
use crate::transport::connection::Connection;
use crate::transport::stream;

const PIECE_BYTES: u64 = 256 << 10;

/// A backup that is ready to be sent. Its files have no names, so they are deleted when they are closed.
struct PreparedBackup {
    parts: Box<dyn Read + Send>,
    bytes: u64,
    number: u64,
}

pub(crate) async fn backup(call: Call, extensions: Extensions) -> Answer {
    call.access.require(&[Ability::Manage])?;
    call.takes_no_parameters()?;
    let slot = call.app.backups.begin()?;
    let PreparedBackup { mut parts, bytes, number } = in_turn(&call.app).await?;
    let body = stream::produced(Connection::account_of(&extensions), move || {
        // The copy is closed with this function.
        let _slot = &slot;
        call.app.media.sweep_hold.extend();
        next_piece(&mut *parts)
    });
    let name = format!("attachment; filename=\"bindery-{number}.backup\"");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(bytes)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(Error::internal)?),
    ];
    Ok((headers, Response::new(body)).into_response())
}

/// Answers the files of the data folder: all of them, since the content of a backup may name files that nothing names
/// any more. A bucket has its own backups: then there are none.
pub(crate) async fn media(call: Call) -> Answer {
    call.access.require(&[Ability::Manage])?;
    call.takes_no_parameters()?;
    call.app.media.sweep_hold.extend();
    let body = match call.app.media.local_files()? {
        Some(files) => {
            let pieces = media_backup(files.clone());
            Body::from_stream(pieces.inspect(move |_| call.app.media.sweep_hold.extend()))
        }
        None => Body::empty(),
    };
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], Response::new(body)).into_response())
}

/// Prepares a backup once no other is being prepared. If the client leaves, the backup is given up: this future is
/// dropped, and with it the receiver, whose sender then is closed.
async fn in_turn(app: &App) -> Result<PreparedBackup> {
    let turn = app.backups.turn().await?;
    // The files that the content names are asked for afterwards.
    app.media.sweep_hold.extend();
    let app = app.clone();
    let (sender, _client) = oneshot::channel::<()>();
    let preparing = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        prepare(&app, &|| !sender.is_closed())
    });
    preparing.await.map_err(Error::internal)?
}

fn prepare(app: &App, is_wanted: &dyn Fn() -> bool) -> Result<PreparedBackup> {
    let (content, head) = app.content.backup_to_send(is_wanted)?;
    if !app.analytics.is_open() {
        // The client (`bindery backup`) reports that the analytics are missing.
        return Ok(PreparedBackup { parts: Box::new(content), bytes: head.bytes, number: head.number });
    }
    if !is_wanted() {
        return Err(Error::new(Code::Overloaded, "the client left before its backup was ready"));
    }
    let analytics = app.content.unnamed_file(|path| app.analytics.backup(path))?;
    let envelope = backup_envelope(head.bytes);
    let bytes = envelope.len() as u64 + head.bytes + length(&analytics)?;
    let parts = Box::new(Cursor::new(envelope).chain(content).chain(analytics));
    Ok(PreparedBackup { parts, bytes, number: head.number })
}

fn length(file: &File) -> Result<u64> {
    Ok(file.metadata().map_err(Error::internal)?.len())
}

fn next_piece(parts: &mut dyn Read) -> io::Result<Option<Bytes>> {
    let mut piece = Vec::new();
    let count = parts.take(PIECE_BYTES).read_to_end(&mut piece)?;
    Ok((count > 0).then(|| Bytes::from(piece)))
}
