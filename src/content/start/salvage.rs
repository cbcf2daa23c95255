//! Creates a new data folder from the readable parts of a damaged one, and reports the losses. Only reads the old
//! folder.

use std::fs;
use std::path::Path;

use bindery_base::{BaseError, FolderRemains, RecoverOptions, restoring};
use bindery_log::LogReader;

use crate::data::files;
use crate::start::error::StartError;
use crate::start::repair::{RepairReport, SalvagedBlueprint, repair};
use crate::start::scratch::{Scratch, copy_folder, link_folder};
use crate::start::{epoch, folder, verify};

/// The analytics folder, which is copied unchanged.
const ANALYTICS: &str = "analytics";
/// The folder with the files of media, each under its hash. Files never change, so the new folder may share them.
const MEDIA: &str = "media";

/// The result of a salvage.
#[derive(Debug)]
pub struct SalvageReport {
    /// The sources that were used, and those that were damaged.
    pub notes: Vec<String>,
    /// The resources of each blueprint that were kept.
    pub blueprints: Vec<SalvagedBlueprint>,
    /// The losses.
    pub losses: Vec<String>,
}

/// Salvages the folder `old` into `new`, which must be empty or not exist.
///
/// # Errors
/// [`StartError`] if the old folder is in use or no data folder, the new one is not empty, or the disk fails.
pub(crate) fn salvage(old: &Path, new: &Path, options: &RecoverOptions) -> Result<SalvageReport, StartError> {
    if !verify::is_data_folder(old) {
        return Err(StartError::folder(old, &"it does not exist, or holds nothing of a server's"));
    }
    let _old_lock = folder::lock_existing(old)?;
    if new.exists() {
        folder::require_empty(new)?;
    }
    let new_lock = folder::lock(new)?;
    let fail = |error: BaseError| StartError::folder(old, &error);
    restoring::begin(new, true).map_err(fail)?;
    let scratch = Scratch::create(new)?;
    let copy = scratch.copy_of(&old.join(bindery_base::STORE), "old-store")?;
    let remains = bindery_base::collect_remains(old, copy.as_deref(), &scratch.path("new-store"), &options.store);
    let FolderRemains { store, number, lost, mut notes } = remains.map_err(fail)?;
    let RepairReport { blueprints, mut losses } = repair(&store, number)?;
    for records in &lost {
        let (from, through) = (records.start(), records.end());
        losses.push(format!(
            "records {from} to {through} of the log ({} writes at most), except for what is kept above",
            through - from + 1
        ));
    }
    let file = scratch.path("base");
    fs::create_dir_all(scratch.path("no-log")).map_err(|error| StartError::folder(new, &error))?;
    let header = bindery_base::write(&store, &LogReader::of_closed(&scratch.path("no-log")), &file).map_err(fail)?;
    drop(store);
    bindery_base::place(&file, new, header.number).map_err(fail)?;
    drop(scratch);
    let (mut log, store, _) = bindery_base::recover(new, options).map_err(fail)?;
    epoch::begin_if_due(new, &mut log, &store)?;
    store.checkpoint().map_err(|error| StartError::folder(new, &error))?;
    if old.join(ANALYTICS).is_dir() {
        copy_folder(&old.join(ANALYTICS), &new.join(ANALYTICS))?;
        notes.push("the analytics were copied as they are".to_owned());
    }
    let named = files::named(&store).map_err(|error| StartError::folder(new, &error.message))?;
    if old.join(MEDIA).is_dir() {
        link_folder(&old.join(MEDIA), &new.join(MEDIA))?;
        notes.push(
            "the files of media were taken over as they are; `bindery verify` compares them with their hashes"
                .to_owned(),
        );
        let is_missing = |hash: &&files::FileHash| {
            let name = blake3::Hash::from_bytes(**hash).to_hex();
            !new.join(MEDIA).join(&name[..2]).join(name.as_str()).is_file()
        };
        let missing = named.iter().filter(is_missing).count();
        if missing > 0 {
            losses.push(format!(
                "{missing} of the {} files of media that resources name are not in the folder",
                named.len()
            ));
        }
    } else if !named.is_empty() {
        notes.push(format!(
            "{} files of media are not in the folder; with `media_store` they are in the bucket",
            named.len()
        ));
    }
    folder::finish_restore(new)?;
    drop(new_lock);
    Ok(SalvageReport { notes, blueprints, losses })
}
