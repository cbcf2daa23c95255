//! `bindery export BLUEPRINT [FILE]`, from a running server or a data folder. Must not know the formats.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use super::error::{CliError, failed};
use super::folder::{blocking, configure_existing, with_content};
use super::remote::Remote;
use crate::access::Access;
use crate::config::ExportArgs;
use crate::content::{Content, Export};

type Out = Box<dyn Write + Send>;

pub(super) async fn export(args: ExportArgs) -> Result<(), CliError> {
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
            export_from_server(&remote, &path, out).await
        }
        None => {
            let config = configure_existing(&args.server.folder)?;
            let export = async |content: Content| {
                blocking("exporting", move || export_from_folder(&content, &args.blueprint, &query, out)).await
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

async fn export_from_server(remote: &Remote, path: &str, mut out: Out) -> Result<(), CliError> {
    let mut response = remote.get_stream(path).await?;
    while let Some(piece) = response.chunk().await.map_err(|error| failed("reading the response", &error))? {
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

fn export_from_folder(content: &Content, blueprint: &str, query: &str, mut out: Out) -> Result<(), CliError> {
    let mut export = Export::begin(content.view(&Arc::new(Access::everything("cli")), blueprint)?, query, None)?;
    while let Some(piece) = export.next_chunk()? {
        if !write(&mut out, piece.as_ref())? {
            return Ok(());
        }
    }
    out.flush().map_err(|error| failed("writing the export", &error))
}
