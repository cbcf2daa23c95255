//! `bindery media`, and the files of media in backups and in a verification. Must not know how files are stored.

use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::path::Path;

use bindery_config::{Config, MediaCommand, ServerArgs};
use bindery_content::{Content, Findings};
use bindery_http::{media_backup, place_of_media, restore_media};
use bindery_media::{Files, Hash, Place, Verdict};
use futures_util::StreamExt;

use super::error::{CliError, failed};
use super::folder::{configure_existing, with_content};
use super::output::{counted, note};
use super::remote::Remote;

pub(super) async fn media(command: MediaCommand) -> Result<(), CliError> {
    match command {
        MediaCommand::Move { to, folder } => move_files(&configure_existing(&folder)?, &to).await,
        MediaCommand::Own { folder } => own(&configure_existing(&folder)?).await,
    }
}

/// Makes the content of a folder the owner of its bucket.
async fn own(config: &Config) -> Result<(), CliError> {
    let Some(place @ Place::Bucket(_)) = place_of_media(config) else {
        return Err(CliError::Incomplete("`media_store` names no bucket; a folder needs no owner".to_owned()));
    };
    let owner = with_content(config, async |content: Content| Ok(content.media_owner())).await?;
    let owner = owner.ok_or_else(|| CliError::Incomplete("start the server once, with some free space".to_owned()))?;
    open(config, &place)?.own(&owner).await.map_err(|error| failed("writing to the bucket", &error))?;
    note("This server owns the bucket now; start it, and it removes files that nothing names");
    Ok(())
}

async fn move_files(config: &Config, to: &str) -> Result<(), CliError> {
    let from = place_of_media(config);
    let from =
        from.ok_or_else(|| CliError::Incomplete("a server of a cluster has files only in `media_store`".to_owned()))?;
    let to = match to {
        "folder" => Place::Folder(config.data.join("media")),
        address => Place::Bucket(address.to_owned()),
    };
    if from == to {
        return Err(CliError::Incomplete("the files are there already".to_owned()));
    }
    // A running server would store files in the old place meanwhile.
    let _lock =
        bindery_content::lock_folder(&config.data).map_err(|error| failed("opening the data folder", &error))?;
    let (source, target) = (open(config, &from)?, open(config, &to)?);
    let mut moved = 0;
    let mut stored = std::pin::pin!(source.list());
    while let Some(file) = stored.next().await {
        let file = file.map_err(|error| failed("listing the files", &error))?;
        let copying = |error| failed(format!("copying the file {}", file.hash), &error);
        if target.length(&file.hash).await.map_err(copying)? == Some(file.bytes) {
            continue;
        }
        let Some(found) = source.read(&file.hash, None).await.map_err(copying)? else { continue };
        target.put_stream(&file.hash, found.body).await.map_err(copying)?;
        moved += 1;
    }
    let setting = match &to {
        Place::Folder(_) => "remove the setting `media_store`".to_owned(),
        Place::Bucket(address) => format!("set `media_store` to `{address}`"),
    };
    note(&format!("{} copied; {setting}, and start the server", counted(moved, "file")));
    Ok(())
}

fn open(config: &Config, place: &Place) -> Result<Files, CliError> {
    let temporary = config.data.join("media-cache").join("uploads");
    Files::open(place, &temporary).map_err(|error| failed("opening the place of the files", &error))
}

/// Returns whether the files of a server are in its data folder, and so not in a bucket.
pub(super) fn are_in_folder(config: &Config) -> bool {
    matches!(place_of_media(config), Some(Place::Folder(_)))
}

/// Returns the files in the data folder; `None` if there are none, or they are in a bucket.
fn local_files(config: &Config) -> Result<Option<Files>, CliError> {
    match place_of_media(config) {
        Some(place @ Place::Folder(_)) if config.data.join("media").is_dir() => open(config, &place).map(Some),
        _ => Ok(None),
    }
}

/// Writes the files of media of a server or a data folder to a file, and returns how many there are. Without any, there
/// is no file.
pub(super) async fn back_up(server: &ServerArgs, file: &Path) -> Result<u64, CliError> {
    let writing = |error: std::io::Error| failed(format!("writing {}", file.display()), &error);
    match Remote::of(server)? {
        Some(remote) => remote.download("/v2/backup/media", file).await?,
        None => {
            let mut out = File::create(file).map_err(writing)?;
            if let Some(files) = local_files(&configure_existing(&server.folder)?)? {
                let mut parts = media_backup(files);
                while let Some(piece) = parts.next().await {
                    let piece = piece.map_err(|error| failed("reading the files of media", &error))?;
                    out.write_all(&piece).map_err(writing)?;
                }
            }
            out.sync_all().map_err(writing)?;
        }
    }
    let count = read(file, None).await?;
    if count == 0 {
        fs::remove_file(file).map_err(writing)?;
    }
    Ok(count)
}

/// Checks the part of a backup with the files of media, if there is one, before anything is restored.
pub(super) async fn check_part(file: &Path) -> Result<(), CliError> {
    if file.is_file() { read(file, None).await.map(drop) } else { Ok(()) }
}

/// Restores the files of media of a backup, if it has any, and returns how many there are.
pub(super) async fn restore(config: &Config, file: &Path) -> Result<u64, CliError> {
    let Some(place) = place_of_media(config).filter(|_| file.is_file()) else { return Ok(0) };
    read(file, Some(&open(config, &place)?)).await
}

/// Checks the files of media: each one that is named must be there, with its hash.
pub(super) async fn verify(config: &Config, findings: &mut Findings) -> Result<(), CliError> {
    let place = place_of_media(config).filter(|place| !matches!(place, Place::Folder(folder) if !folder.is_dir()));
    let Some(place) = place else {
        let missing = findings.named_files.len() as u64;
        if missing > 0 {
            findings.report(format!("{} of media missing: their place does not exist", counted(missing, "file")));
        }
        return Ok(());
    };
    // Nothing is written to the folder that is checked.
    let temporary = tempfile::tempdir().map_err(|error| failed("making a temporary folder", &error))?;
    let files =
        Files::open(&place, temporary.path()).map_err(|error| failed("opening the place of the files", &error))?;
    for hash in findings.named_files.clone() {
        let hash = Hash::from(hash);
        match files.verify(&hash).await {
            Ok(Verdict::Whole) => {}
            Ok(Verdict::Missing) => findings.report(format!("the file {hash} of media is missing")),
            Ok(Verdict::Damaged) => {
                findings.report(format!("the file {hash} of media is damaged: its bytes have another hash"))
            }
            Err(error) => findings.report(format!("the file {hash} of media cannot be read: {error}")),
        }
    }
    let mut unnamed = 0;
    let mut stored = std::pin::pin!(files.list());
    while let Some(file) = stored.next().await {
        let file = file.map_err(|error| failed("listing the files of media", &error))?;
        unnamed += u64::from(findings.named_files.binary_search(file.hash.as_bytes()).is_err());
    }
    if unnamed > 0 {
        findings.note(format!("{} of media that nothing names; the server removes them", counted(unnamed, "file")));
    }
    Ok(())
}

/// Reads the part of a backup with the files of media. A server whose files are in a bucket answers an empty one.
async fn read(file: &Path, files: Option<&Files>) -> Result<u64, CliError> {
    let failing = |error: std::io::Error| failed(format!("reading {}", file.display()), &error);
    let opened = File::open(file).map_err(failing)?;
    if opened.metadata().map_err(failing)?.len() == 0 {
        return Ok(0);
    }
    let read = restore_media(&mut BufReader::new(opened), files).await;
    read.map_err(|text| CliError::Incomplete(format!("{}: {text}", file.display())))
}
