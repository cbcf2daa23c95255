//! `bindery export BLUEPRINT [FILE]`, from a running server or a data folder. Must not know the formats.

mod table;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use self::table::{Style, Table};
use super::blueprint_file::read_blueprint;
use super::error::{CliError, failed};
use super::folder::{blocking, configure_existing, with_content};
use super::remote::Remote;
use crate::access::Access;
use crate::config::ExportArgs;
use crate::content::{Content, Export};
use crate::model::blueprint::Blueprint;

type Out = Box<dyn Write + Send>;

/// How many pieces of the response may wait to be written.
const PIECES_IN_FLIGHT: usize = 2;

pub(super) async fn export(args: ExportArgs) -> Result<(), CliError> {
    if args.spreadsheet && args.format != "csv" {
        return Err(CliError::Incomplete("`--spreadsheet` is about tables; use it with `--format csv`".to_owned()));
    }
    let out: Out = match &args.file {
        Some(path) => {
            let file = File::create(path).map_err(|error| failed(format!("creating {}", path.display()), &error))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(std::io::stdout()),
    };
    let query = query(&args);
    match Remote::of(&args.server)? {
        Some(remote) => {
            let path = format!("/v2/resources/{}/export?{query}", args.blueprint);
            let table = match args.format.as_str() {
                "csv" => {
                    let blueprint = remote.get(&format!("/v2/blueprints/{}", args.blueprint)).await?;
                    Some(style(&args, &read_blueprint(blueprint)?))
                }
                _ => None,
            };
            export_from_server(&remote, &path, table, out).await
        }
        None => {
            let config = configure_existing(&args.server.folder)?;
            let export = async |content: Content| {
                blocking("exporting", move || export_from_folder(&content, &args, &query, out)).await
            };
            with_content(&config, export).await
        }
    }
}

/// The query string: whole resources, with all variants if the format can hold them.
fn query(args: &ExportArgs) -> String {
    let mut query = format!("format={}", args.format);
    if args.format != "csv" {
        query.push_str("&all_variants=true");
    }
    if !args.query.is_empty() {
        query.push('&');
        query.push_str(&args.query);
    }
    query
}

fn style(args: &ExportArgs, blueprint: &Blueprint) -> Style {
    Style::new(blueprint, args.list_separator.clone(), args.spreadsheet)
}

async fn export_from_server(remote: &Remote, path: &str, table: Option<Style>, out: Out) -> Result<(), CliError> {
    let mut response = remote.get_stream(path).await?;
    let (sender, mut pieces) = mpsc::channel::<Bytes>(PIECES_IN_FLIGHT);
    let written = tokio::task::spawn_blocking(move || write_pieces(|| Ok(pieces.blocking_recv()), table, out));
    let receive = async move {
        while let Some(piece) = response.chunk().await.map_err(|error| failed("reading the response", &error))? {
            // The writer ends early if nobody reads on.
            if sender.send(piece).await.is_err() {
                break;
            }
        }
        Ok::<(), CliError>(())
    };
    let received = receive.await;
    received.and(written.await.map_err(|error| failed("exporting", &error))?)
}

fn export_from_folder(content: &Content, args: &ExportArgs, query: &str, out: Out) -> Result<(), CliError> {
    let access = Access::everything("cli");
    let table = match args.format.as_str() {
        "csv" => {
            let blueprint = content.find_blueprint(&access, &args.blueprint)?;
            Some(style(args, &blueprint))
        }
        _ => None,
    };
    let mut export = Export::begin(content.view(&Arc::new(access), &args.blueprint)?, query, None)?;
    write_pieces(|| Ok(export.next_chunk()?.map(Bytes::from)), table, out)
}

/// Writes all pieces, those of a table in its style.
fn write_pieces(
    mut next: impl FnMut() -> Result<Option<Bytes>, CliError>,
    table: Option<Style>,
    mut out: Out,
) -> Result<(), CliError> {
    let mut table = table.map(Table::new);
    while let Some(piece) = next()? {
        let piece = match &mut table {
            Some(table) => Bytes::from(table.push(&piece)),
            None => piece,
        };
        if !write(&mut out, &piece)? {
            return Ok(());
        }
    }
    out.flush().map_err(|error| failed("writing the export", &error))
}

/// Writes a piece. Returns whether anybody reads on: `export | head` is done when `head` is.
fn write(out: &mut Out, piece: &[u8]) -> Result<bool, CliError> {
    match out.write_all(piece) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(failed("writing the export", &error)),
    }
}
