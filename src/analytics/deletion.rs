//! Deletions: the figures that a deletion covers, and the changes to day files and imports.
//!
//! A deletion is committed once the log holds a record of it, which also contains the rest of the open counts. Older
//! records are removed then. Day files of events are rewritten without the site, and those of imports are removed.
//! After a crash in between, the next start finds the record and finishes the deletion.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use bindery_disk::failure;

use super::checked_file::is_damage;
use super::day_file::DayFile;
use super::day_files::{DayFiles, DayKey, Source};
use super::import_list::ImportList;
use super::names::{Name, Names};
use super::period::{Day, Period};
use super::visit_codec;

/// The days and the site that are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deletion {
    pub(super) site: Name,
    pub(super) period: Period,
    /// The first number of imports that are not deleted: only imports with lower numbers are.
    pub(super) imports_below: u64,
}

/// A deletion whose rewritten day files are on disk but not in use yet.
pub(super) struct PreparedDeletion {
    rewritten: Vec<RewrittenDay>,
    removed_imports: HashSet<DayKey>,
    /// The number of pageviews that are deleted.
    pub(super) pageviews: u64,
}

struct RewrittenDay {
    day: Day,
    counted_through: u64,
}

impl Deletion {
    /// Rewrites the affected day files as unfinished files. `number` is that of the deletion's record in the log: later
    /// pageviews stay. Damaged files are left unchanged, with a warning: no report shows them.
    pub(super) fn prepare(
        self,
        number: u64,
        day_files: &DayFiles,
        names: &Names,
        folder: &Path,
    ) -> io::Result<PreparedDeletion> {
        let imports = match ImportList::read(folder) {
            Err(error) if is_damage(&error) => ImportList::default(),
            imports => imports?,
        };
        let imports = imports.numbers_of_site(&names.text(self.site), self.imports_below);
        let mut prepared = PreparedDeletion { rewritten: Vec::new(), removed_imports: HashSet::new(), pageviews: 0 };
        for key @ DayKey { day, source } in day_files.in_period(self.period) {
            match source {
                Source::Import(import) if !imports.contains(&import) => continue,
                Source::Events if day_files.counted_through(day) > number => continue,
                _ => {}
            }
            let path = day_files.path(key);
            let read = day_files.read(key, names).and_then(|file| Ok((file, DayFile::read_visits(&path)?.1)));
            let (file, visits) = match read {
                Err(error) if is_damage(&error) => {
                    tracing::warn!(%error, "nothing can be deleted from a damaged file");
                    continue;
                }
                read => read?,
            };
            let Some(rollup) = file.sites.get(&self.site) else { continue };
            prepared.pageviews += rollup.pageviews();
            if source == Source::Events {
                let mut rest = (*file).clone();
                rest.sites.remove(&self.site);
                let visits = visit_codec::without_site(&visits, &names.text(self.site)).map_err(io::Error::other)?;
                rest.write(&path.with_extension("unfinished"), names, &visits)?;
                prepared.rewritten.push(RewrittenDay { day, counted_through: file.counted_through });
            } else {
                prepared.removed_imports.insert(key);
            }
        }
        Ok(prepared)
    }
}

impl PreparedDeletion {
    /// Puts the rewritten files in use and removes those of imports. On return both are durable.
    pub(super) fn finish(self, day_files: &mut DayFiles, names: &Names, folder: &Path) -> io::Result<()> {
        for RewrittenDay { day, counted_through } in self.rewritten {
            day_files.replace(DayKey::events(day), counted_through)?;
            failure::point("deletion::replace")?;
        }
        if !self.removed_imports.is_empty() {
            let mut imports = ImportList::read(folder)?;
            imports.forget(&self.removed_imports, day_files, names)?;
            failure::point("deletion::list")?;
            imports.write(folder)?;
            day_files.remove(|key| self.removed_imports.contains(&key))?;
        }
        day_files.sync()
    }
}
