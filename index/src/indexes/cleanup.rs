//! Removes files that neither the manifest nor anything in memory needs. It writes nothing.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use bindery_disk::failure;

use super::index_folder::{IndexFolder, index_path, run_number};
use super::manifest::{IndexManifest, Manifest};
use super::registry::Registry;
use crate::run::RunNumber;

/// Removes unneeded files of all indexes. Files that cannot be removed are tried again next time.
pub(super) fn remove_unneeded(registry: &Registry, manifest: &Manifest) {
    // Listed before the needed files are determined, so that files created meanwhile are not in the list.
    let listed = list(&registry.dir);
    let folders: HashMap<String, Arc<IndexFolder>> =
        registry.folders_in_use().into_iter().map(|folder| (file_name(&folder.path), folder)).collect();
    let named: HashMap<String, &IndexManifest> = manifest
        .indexes
        .iter()
        .map(|index| (file_name(&index_path(&registry.dir, index.name, index.generation)), index))
        .collect();
    for name in listed {
        let path = registry.dir.join(&name);
        match (folders.get(&name), named.get(&name)) {
            _ if Manifest::is_file(&name) => {}
            (None, None) => remove(&path),
            (folder, index) => remove_unneeded_of(&path, folder.map(Arc::as_ref), index.copied()),
        }
    }
}

/// Removes unneeded files of an index that exists, that the manifest names, or both.
fn remove_unneeded_of(path: &Path, folder: Option<&IndexFolder>, index: Option<&IndexManifest>) {
    let listed = list(path);
    let in_use = folder.map(IndexFolder::runs_in_use).unwrap_or_default();
    for name in listed {
        let is_needed = match run_number(&name) {
            Some(run) => {
                let is_named = index.is_some_and(|index| is_named(index, run));
                let is_needed = is_named || in_use.contains(&run);
                if !is_needed && let Some(folder) = folder {
                    folder.forget_run(run);
                }
                is_needed
            }
            None => index.is_some_and(|index| index.slot_files.iter().any(|file| file.name == name)),
        };
        if !is_needed {
            remove(&path.join(&name));
        }
    }
}

fn is_named(index: &IndexManifest, run: RunNumber) -> bool {
    index.runs.iter().flat_map(|(_, runs)| runs).any(|named| named.number == run)
}

fn list(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn remove(path: &Path) {
    let removed = failure::point("index::remove");
    let removed = removed.and_then(|()| if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) });
    if let Err(error) = removed {
        tracing::warn!("cannot remove {}: {error}", path.display());
    }
}
