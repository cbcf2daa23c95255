//! `bindery backup FILE` and `bindery restore FILE`. Must not know the format of a backup.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bindery_analytics::{AnalyticsOptions, restore as restore_analytics};
use bindery_config::{BackupArgs, Config, RestoreArgs};
use bindery_content::{Content, backup_envelope, finish_restore, rest_of_backup, restore_backup, verify_backup};

use super::error::{CliError, failed};
use super::folder::{
    blocking, close_analytics, configure, configure_existing, content_options, open_server_analytics, with_content,
};
use super::media;
use super::output::{counted, note};
use super::remote::Remote;

pub(super) async fn backup(args: BackupArgs) -> Result<(), CliError> {
    let file = args.file;
    match Remote::of(&args.server)? {
        Some(remote) => remote.download("/v2/backup", &unfinished(&file)).await?,
        None => write(&configure_existing(&args.server.folder)?, &file).await?,
    }
    let path = unfinished(&file);
    let found = blocking("checking the backup", move || check(&path)).await?;
    let n_files = match args.without_media {
        true => 0,
        false => media::back_up(&args.server, &unfinished(&media_part(&file))).await?,
    };
    publish(&file, n_files > 0, args.without_media).map_err(|error| failed("writing the backup", &error))?;
    if n_files > 0 {
        note(&format!("{} holds {}", media_part(&file).display(), counted(n_files, "file")));
    }
    note(&format!("{} holds {found}, in {} bytes", file.display(), found.bytes));
    Ok(())
}

/// Gives the complete parts of a backup their names, in the place of an earlier backup. If no media are wanted, the
/// part of the earlier one is removed: its files belong to other content. If only none were found, it stays, and the
/// call fails: the place of the files may be missing for the moment.
fn publish(file: &Path, has_media: bool, without_media: bool) -> io::Result<()> {
    let part = media_part(file);
    if has_media {
        fs::rename(unfinished(&part), &part)?;
    } else if !without_media && part.exists() {
        return Err(io::Error::other(format!(
            "the server has no files of media, but {} is there from an earlier backup; look whether the files are missing, and \
             remove it or use --without-media if there are none any more",
            part.display()
        )));
    }
    fs::rename(unfinished(file), file)?;
    if without_media && part.exists() { fs::remove_file(&part) } else { Ok(()) }
}

/// The contents of a backup.
struct BackupContents {
    number: u64,
    has_analytics: bool,
    bytes: u64,
}

impl fmt::Display for BackupContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let analytics = if self.has_analytics { "and the analytics" } else { "but no analytics" };
        write!(f, "all content up to change {}, {analytics}", self.number)
    }
}

/// Checks every byte of a backup.
fn check(path: &Path) -> Result<BackupContents, CliError> {
    let header = verify_backup(path)?;
    let analytics = rest_of_backup(path)?;
    if let Some(start) = analytics {
        restore_analytics(path, start, None)?;
    }
    let bytes = fs::metadata(path).map_err(|error| failed("reading the backup", &error))?.len();
    Ok(BackupContents { number: header.number, has_analytics: analytics.is_some(), bytes })
}

/// Writes a backup of a folder under its temporary name: first the content and then the analytics, each to its own
/// file, then both as one file.
async fn write(config: &Config, file: &Path) -> Result<(), CliError> {
    let [content_part, analytics_part] = ["content", "analytics"].map(|part| with_suffix(file, part));
    let (path, analytics_path) = (content_part.clone(), analytics_part.clone());
    let write = async |content: Content| {
        let writing = content.clone();
        let header = blocking("writing the backup", move || writing.backup(&path)).await?;
        Ok::<_, CliError>((header.bytes, write_analytics(config, &content, analytics_path).await?))
    };
    let (content_bytes, has_analytics) = with_content(config, write).await?;
    let (unfinished, parts) = (unfinished(file), [content_part, analytics_part]);
    let joined =
        if has_analytics { join(&parts, content_bytes, &unfinished) } else { fs::rename(&parts[0], &unfinished) };
    parts.iter().for_each(|part| drop(fs::remove_file(part)));
    joined.map_err(|error| failed("writing the backup", &error))
}

/// Writes the analytics to a file. Returns false if they cannot be opened. Those of a node are in the storage of its
/// cluster.
async fn write_analytics(config: &Config, content: &Content, file: PathBuf) -> Result<bool, CliError> {
    let analytics = open_server_analytics(config, content).await?;
    let (is_open, writing) = (analytics.is_open(), analytics.clone());
    let written = match is_open {
        true => blocking("writing the backup", move || writing.backup(&file)).await,
        false => Ok(()),
    };
    close_analytics(analytics).await?;
    written.map(|()| is_open)
}

/// Joins the parts into one file, and syncs it.
fn join(parts: &[PathBuf; 2], content_bytes: u64, file: &Path) -> io::Result<()> {
    let mut out = File::create(file)?;
    out.write_all(&backup_envelope(content_bytes))?;
    for part in parts {
        io::copy(&mut File::open(part)?, &mut out)?;
    }
    out.sync_all()
}

/// Returns the path of the part of a backup with the files of media.
fn media_part(file: &Path) -> PathBuf {
    with_suffix(file, "media")
}

fn unfinished(file: &Path) -> PathBuf {
    with_suffix(file, "unfinished")
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) async fn restore(args: RestoreArgs) -> Result<(), CliError> {
    let config = configure(&args.folder)?;
    let options = content_options(&config);
    let folder = options.folder.clone();
    let media_part = media_part(&args.file);
    media::check_part(&media_part).await?;
    let restore = move || {
        let found = check(&args.file)?;
        let restored = restore_backup(&args.file, &options, args.keep_webhooks)?;
        if let Some(start) = rest_of_backup(&args.file)? {
            let analytics = AnalyticsOptions::in_folder(&options.folder).folder;
            restore_analytics(&args.file, start, Some(&analytics))?;
        }
        Ok::<_, CliError>((found, restored))
    };
    let (found, restored) = blocking("restoring the backup", restore).await?;
    let n_files = media::restore(&config, &media_part).await?;
    finish_restore(&folder)?;
    note(&format!("{} holds {found}", folder.display()));
    if n_files > 0 {
        note(&format!("and {} of media", counted(n_files, "file")));
    }
    // Files that nothing names are restored too, so this finds only some of what is missing.
    let missing = (restored.named_files as u64).saturating_sub(n_files);
    if missing > 0 && media::are_in_folder(&config) {
        note(&format!(
            "{} of media not restored: {} is missing or lacks them; if the server uses `media_store`, they are in its bucket",
            counted(missing, "file"),
            media_part.display()
        ));
    }
    note_switched_off(restored.switched_off);
    Ok(())
}

/// Says how many webhooks a restore has switched off, if it has.
pub(super) fn note_switched_off(switched_off: usize) {
    if switched_off > 0 {
        note(&format!(
            "webhooks switched off: {switched_off}, so that this copy sends nothing to their receivers; \
             `PATCH /v2/webhooks/{{id}}` with `\"active\": true` switches one on, and `--keep-webhooks` keeps all as they are"
        ));
    }
}
