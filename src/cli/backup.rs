//! `bindery backup FILE` and `bindery restore FILE`. Must not know the format of a backup.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::{CliError, failed};
use super::folder::{blocking, configure, configure_existing, content_options, with_content};
use super::output::print;
use super::remote::Remote;
use crate::config::{BackupArgs, RestoreArgs};
use crate::content::{Content, restore_backup, verify_backup};

pub(super) async fn backup(args: BackupArgs) -> Result<(), CliError> {
    let file = args.file;
    match Remote::of(&args.server)? {
        Some(remote) => download(&remote, &file).await?,
        None => {
            let config = configure_existing(&args.server.folder)?;
            let path = file.clone();
            let write = async |content: Content| blocking("writing the backup", move || content.backup(&path)).await;
            with_content(&config, write).await?;
        }
    }
    let path = file.clone();
    let header = blocking("checking the backup", move || verify_backup(&path)).await?;
    print(&format!("{} holds all content up to change {}, in {} bytes", file.display(), header.number, header.bytes));
    Ok(())
}

/// Writes what the server sends to a temporary file, which is renamed once it is complete and valid.
async fn download(remote: &Remote, file: &Path) -> Result<(), CliError> {
    let unfinished = unfinished(file);
    let writing = |error: std::io::Error| failed(format!("writing {}", unfinished.display()), &error);
    let mut response = remote.get_stream("/v2/backup").await?;
    let mut out = File::create(&unfinished).map_err(writing)?;
    while let Some(piece) = response.chunk().await.map_err(|error| failed("reading the response", &error))? {
        out.write_all(&piece).map_err(writing)?;
    }
    out.sync_all().map_err(writing)?;
    let path = unfinished.clone();
    blocking("checking the backup", move || verify_backup(&path)).await?;
    fs::rename(&unfinished, file).map_err(writing)
}

fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    PathBuf::from(name)
}

pub(super) async fn restore(args: RestoreArgs) -> Result<(), CliError> {
    let options = content_options(&configure(&args.folder)?);
    let folder = options.folder.display().to_string();
    let header = blocking("restoring the backup", move || restore_backup(&args.file, &options)).await?;
    print(&format!("{folder} holds all content up to change {}", header.number));
    Ok(())
}
