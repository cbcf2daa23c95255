//! `bindery backup FILE` and `bindery restore FILE`.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::remote::Remote;
use super::{CliError, blocking, close, failed, folder_options, open_existing, print};
use crate::config::{BackupArgs, RestoreArgs};
use crate::content::{restore_backup, verify_backup};

pub(super) async fn backup(args: BackupArgs) -> Result<(), CliError> {
    let file = args.file;
    match Remote::of(&args.server)? {
        Some(remote) => fetch(&remote, &file).await?,
        None => {
            let content = open_existing(&args.server).await?;
            let (writing, path) = (content.clone(), file.clone());
            let written = blocking("writing the backup", move || writing.backup(&path)).await;
            close(content).await?;
            written??;
        }
    }
    let path = file.clone();
    let header = blocking("checking the backup", move || verify_backup(&path)).await??;
    print(&format!("{} holds everything up to change {}: {} bytes", file.display(), header.number, header.bytes));
    Ok(())
}

/// Writes what the server sends to a file beside, which gets its name when it is whole.
async fn fetch(remote: &Remote, file: &Path) -> Result<(), CliError> {
    let unfinished = unfinished(file);
    let writing = |error: std::io::Error| failed(format!("writing {}", unfinished.display()), &error);
    let mut response = remote.get_stream("/v2/backup").await?;
    let mut out = File::create(&unfinished).map_err(writing)?;
    while let Some(piece) = response.chunk().await.map_err(|error| failed("reading the answer", &error))? {
        out.write_all(&piece).map_err(writing)?;
    }
    out.sync_all().map_err(writing)?;
    let path = unfinished.clone();
    blocking("checking the backup", move || verify_backup(&path)).await??;
    fs::rename(&unfinished, file).map_err(writing)
}

fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    PathBuf::from(name)
}

pub(super) async fn restore(args: RestoreArgs) -> Result<(), CliError> {
    let options = folder_options(&args.folder)?;
    let folder = options.folder.display().to_string();
    let header = blocking("restoring the backup", move || restore_backup(&args.file, &options)).await??;
    print(&format!("{folder} holds everything up to change {}", header.number));
    Ok(())
}
