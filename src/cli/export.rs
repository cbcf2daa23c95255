//! `bindery export BLUEPRINT [FILE]`, from a running server or a data folder. Must not know the formats.

mod output;
mod table;

use std::path::PathBuf;
use std::sync::Arc;

use bindery_access::Access;
use bindery_config::ExportArgs;
use bindery_content::{Content, Export};
use bytes::Bytes;
use tokio::sync::mpsc;

use self::output::ExportOutput;
use self::table::{Style, Table};
use super::blueprint_file::read_blueprint;
use super::error::{CliError, failed};
use super::folder::{blocking, configure_existing, with_content};
use super::format::Rows;
use super::remote::Remote;

/// The number of pieces of the response that may wait to be written.
const PIECES_IN_FLIGHT: usize = 2;

pub(super) async fn export(args: ExportArgs) -> Result<(), CliError> {
    let rows = rows(&args)?;
    let file = args.file.clone();
    let query = query(&args, rows);
    match Remote::of(&args.server)? {
        Some(remote) => {
            let path = format!("/v2/resources/{}/export?{query}", args.blueprint);
            let table = match rows {
                Rows::Csv => {
                    let blueprint = remote.get(&format!("/v2/blueprints/{}", args.blueprint)).await?;
                    Some(Style::new(&args, &read_blueprint(blueprint)?))
                }
                _ => None,
            };
            export_from_server(&remote, &path, table, file).await
        }
        None => {
            let config = configure_existing(&args.server.folder)?;
            let export = async |content: Content| {
                blocking("exporting", move || export_from_folder(&content, &args, rows, &query, file)).await
            };
            with_content(&config, export).await
        }
    }
}

/// Returns the format that is given, or that of the file's name.
///
/// # Errors
/// If a flag for tables is given, and the format is not CSV.
fn rows(args: &ExportArgs) -> Result<Rows, CliError> {
    let by_name = || args.file.as_ref().and_then(|file| Rows::of_name(&file.to_string_lossy()));
    let rows = args.format.as_deref().and_then(Rows::named).or_else(by_name).unwrap_or(Rows::Ndjson);
    let flags = [
        ("--spreadsheet", args.spreadsheet),
        ("--delimiter", args.delimiter.is_some()),
        ("--decimal-comma", args.decimal_comma),
    ];
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) if rows != Rows::Csv => {
            Err(CliError::Incomplete(format!("`{flag}` is about tables; use it with `--format csv`")))
        }
        _ => Ok(rows),
    }
}

/// Returns the query string: whole resources, with all variants if the format can hold them.
fn query(args: &ExportArgs, rows: Rows) -> String {
    let mut query = format!("format={}", rows.name());
    if rows != Rows::Csv {
        query.push_str("&all_variants=true");
    }
    if !args.query.is_empty() {
        query.push('&');
        query.push_str(&args.query);
    }
    query
}

async fn export_from_server(
    remote: &Remote,
    path: &str,
    table: Option<Style>,
    file: Option<PathBuf>,
) -> Result<(), CliError> {
    let mut response = remote.get_stream(path).await?;
    let (sender, mut pieces) = mpsc::channel::<Bytes>(PIECES_IN_FLIGHT);
    let written = tokio::task::spawn_blocking(move || write_pieces(|| Ok(pieces.blocking_recv()), table, file));
    let receive = async move {
        while let Some(piece) = response.chunk().await.map_err(|error| failed("reading the response", &error))? {
            // The writer ends early if its output is closed.
            if sender.send(piece).await.is_err() {
                break;
            }
        }
        Ok::<(), CliError>(())
    };
    let received = receive.await;
    received.and(written.await.map_err(|error| failed("exporting", &error))?)
}

fn export_from_folder(
    content: &Content,
    args: &ExportArgs,
    rows: Rows,
    query: &str,
    file: Option<PathBuf>,
) -> Result<(), CliError> {
    let access = Access::everything("cli");
    let table = match rows {
        Rows::Csv => Some(Style::new(args, &*content.find_blueprint(&access, &args.blueprint)?)),
        _ => None,
    };
    let mut export = Export::begin(content.view(&Arc::new(access), &args.blueprint)?, query, None)?;
    write_pieces(|| Ok(export.next_chunk()?.map(Bytes::from)), table, file)
}

/// Writes all pieces; those of a table in its style. The file is created when the first piece arrives, so an export
/// that cannot begin replaces no file.
fn write_pieces(
    mut next: impl FnMut() -> Result<Option<Bytes>, CliError>,
    table: Option<Style>,
    file: Option<PathBuf>,
) -> Result<(), CliError> {
    let mut table = table.map(Table::new);
    let mut next_piece = next()?;
    let mut out = ExportOutput::open(file)?;
    while let Some(piece) = next_piece {
        let piece = match &mut table {
            Some(table) => Bytes::from(table.push(&piece)),
            None => piece,
        };
        if !out.write(&piece)? {
            return Ok(());
        }
        next_piece = next()?;
    }
    out.finish()
}
