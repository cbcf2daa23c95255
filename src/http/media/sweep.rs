//! The sweep: removes files that no resource and no revision names any more (`API.md` 4.27.7). The content decides
//! which those are; must not know why. It also has the content complete media in variants that were added, if that was
//! interrupted.
//!
//! A file is removed in three steps: a transaction marks it, so that no resource can begin to name it; the file is
//! removed, unless it was uploaded again within the last hour; a transaction removes the mark. A kill between them
//! leaves a mark, with which the next start goes on. While a backup is sent, no files are removed: it names those that
//! its content had at first. From a bucket, only its owner removes files: a copy of the content with the same bucket
//! does not know the newer ones.

use std::sync::Once;
use std::time::{Duration, Instant, SystemTime};

use bindery_disk::failure;
use bindery_media::{Files, Hash, StoredFile};
use bindery_model::error::Error;
use futures_util::StreamExt;
use parking_lot::Mutex;

use super::{OpenedMedia, error_of};
use crate::app::App;

/// The pause between two sweeps. Each looks at every file.
const PAUSE: Duration = Duration::from_secs(3_600);
/// The pause after which a node that does no jobs yet looks again: it may begin to lead only later.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// The age from which a file is removed: an upload has long been answered by then.
const LEAST_AGE: Duration = Duration::from_secs(3_600);
/// The time without sweeps after each piece of a backup that was sent: the check of its content comes before the files.
const HOLD: Duration = Duration::from_secs(1_800);
/// The files that are looked up in the store together, on one thread.
const BATCH_FILES: usize = 1_000;
/// The most files that one transaction marks, so that writes do not wait long.
const STEP_FILES: usize = 16;

/// The end of the time in which no files are removed.
#[derive(Default)]
pub(crate) struct SweepHold(Mutex<Option<Instant>>);

impl SweepHold {
    /// Holds sweeps back, from now on.
    pub(crate) fn extend(&self) {
        *self.0.lock() = Some(Instant::now() + HOLD);
    }

    /// Returns the time that is left.
    fn left(&self) -> Option<Duration> {
        self.0.lock().and_then(|end| end.checked_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

/// Sweeps again and again, until the task is aborted.
pub(crate) async fn run(app: App) {
    // Tests cannot wait for an hour.
    let (pause, least_age) = match failure::is_asked_for("media::sweep") {
        true => (Duration::from_millis(100), Duration::ZERO),
        false => (PAUSE, LEAST_AGE),
    };
    // Nobody can upload what the last process marked, until that is done.
    let mut is_start = true;
    loop {
        if app.content.does_jobs() {
            if let Err(error) = sweep(&app, least_age, is_start).await {
                tracing::warn!(message = error.message, "files of media could not be swept");
            }
            if let Err(error) = app.content.complete_all_media().await {
                tracing::warn!(message = error.message, "media could not be completed in a variant that was added");
            }
            is_start = false;
        }
        tokio::time::sleep(if is_start { pause.min(FIRST_PAUSE) } else { pause }).await;
        while let Some(left) = app.media.sweep_hold.left() {
            tokio::time::sleep(left).await;
        }
    }
}

/// Removes the files that are marked, and unless the server has just started also those that nothing names.
async fn sweep(app: &App, least_age: Duration, is_start: bool) -> Result<(), Error> {
    let begun = app.content.files_being_removed()?;
    // A bucket gets its owner early, before there is a copy of the content.
    if is_start && begun.is_empty() && !app.media.is_in_bucket() {
        return Ok(());
    }
    let Some(media) = app.media.open_if_used() else { return Ok(()) };
    if !is_owner(app, &media.files).await? {
        return if begun.is_empty() { Ok(()) } else { app.content.forget_removals(begun).await };
    }
    remove(app, media, begun, least_age).await?;
    if is_start {
        return Ok(());
    }
    for unused in unused(app, &media.files, least_age).await?.chunks(STEP_FILES) {
        let condemned = app.content.condemn_files(unused.to_vec()).await?;
        failure::point("media::condemned").map_err(Error::internal)?;
        // A backup that began before the files were marked may name them, or the bucket may have another owner by now.
        if app.media.sweep_hold.left().is_some() || !is_owner(app, &media.files).await? {
            return app.content.forget_removals(condemned).await;
        }
        remove(app, media, condemned, least_age).await?;
    }
    Ok(())
}

/// Returns whether this server may remove files. If not, the log says so once.
async fn is_owner(app: &App, files: &Files) -> Result<bool, Error> {
    static WARNING: Once = Once::new();
    let Some(owner) = app.content.media_owner() else { return Ok(!app.media.is_in_bucket()) };
    let is_owner = files.claim(&owner).await.map_err(|error| error_of(&error))?;
    if !is_owner {
        WARNING.call_once(|| {
            tracing::warn!(
                "no files of media are removed: the bucket belongs to another server, such as the original of a \
                 restored backup; if that one is gone for good, stop this server and run `bindery media own`"
            );
        });
    }
    Ok(is_owner)
}

/// Returns old files that nothing names at the moment.
async fn unused(app: &App, files: &Files, least_age: Duration) -> Result<Vec<[u8; 32]>, Error> {
    let mut unused = Vec::new();
    let mut batches = std::pin::pin!(files.list().chunks(BATCH_FILES));
    while let Some(batch) = batches.next().await {
        let batch: Vec<StoredFile> = batch.into_iter().collect::<Result<_, _>>().map_err(|error| error_of(&error))?;
        let age_of = |file: &StoredFile| SystemTime::now().duration_since(file.modified).unwrap_or_default();
        let old = batch.iter().filter(|file| age_of(file) >= least_age).map(|file| *file.hash.as_bytes()).collect();
        let content = app.content.clone();
        let found = tokio::task::spawn_blocking(move || content.unnamed_files(old)).await.map_err(Error::internal)?;
        unused.extend(found?);
    }
    Ok(unused)
}

/// Removes marked files, and then their marks. If another server leads by now, it may have removed the mark of one of
/// them, and somebody may have uploaded the file again: so the marks are read again once it is certain that none are
/// newer.
async fn remove(app: &App, media: &OpenedMedia, marked: Vec<[u8; 32]>, least_age: Duration) -> Result<(), Error> {
    if marked.is_empty() {
        return Ok(());
    }
    app.content.confirm().await?;
    let still_marked = app.content.files_being_removed()?;
    for hash in marked.iter().filter(|hash| still_marked.contains(hash)) {
        let hash = Hash::from(*hash);
        if media.files.remove_unchanged(&hash, least_age).await.map_err(|error| error_of(&error))? {
            media.renditions.forget(&hash);
            tracing::info!(%hash, "a file was removed that nothing names any more");
        }
    }
    failure::point("media::removed").map_err(Error::internal)?;
    app.content.forget_removals(marked).await
}
