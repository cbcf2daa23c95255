//! Repairs damaged analytics: damaged files are moved aside, and the rest counts. Nothing is removed.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bindery_model::time::{day_number, now_millis};

use super::check::files;
use super::checked_file::{is_damage, sync_folder_of};
use super::data::DAYS_FOLDER;
use super::day_file::DayFile;
use super::day_files::{DayKey, Source};
use super::import_list::{IMPORTS_FILE, ImportList};
use super::names::Names;
use super::period::Day;
use super::recovery::{aside, name_days};
use super::start::{self, OpenError};
use super::state::State;

/// Repairs the analytics in `folder` (that of [`super::AnalyticsOptions`]), which no process may have open. Returns the
/// actions taken, as sentences; none if nothing is damaged. Afterwards reports show the remaining figures.
///
/// # Errors
/// [`OpenError`] if another process has it open, or a file cannot be read, moved or written.
pub fn repair(folder: &Path) -> Result<Vec<String>, OpenError> {
    let fail = |error: &dyn std::fmt::Display| OpenError::of(folder, error);
    let lock = start::lock(folder).map_err(|error| fail(&error))?;
    let mut repair = Repair { folder, aside: None, done: Vec::new() };
    repair.run().map_err(|error| fail(&error))?;
    drop(lock);
    Ok(repair.done)
}

struct Repair<'a> {
    folder: &'a Path,
    /// The folder for damaged files, once there is one.
    aside: Option<PathBuf>,
    done: Vec<String>,
}

impl Repair<'_> {
    fn run(&mut self) -> io::Result<()> {
        let mut state = match State::read(self.folder) {
            Err(error) if is_damage(&error) => State::default(),
            state => state?,
        };
        let days = self.folder.join(DAYS_FOLDER);
        // Done first, because nothing may be moved if a file is of another version.
        let mut broken = self.damaged_files(&days)?;
        if let Err(error) = ImportList::read(self.folder)
            && !is_damage(&error)
        {
            return Err(error);
        }
        self.repair_log(&mut state)?;
        let imports = self.repair_imports(&state, &days, &mut broken)?;
        for key in &broken {
            self.move_aside(&key.path(&days))?;
        }
        // Done last, because a start removes the files of imports that are not on the list.
        imports.map_or(Ok(()), |imports| imports.write(self.folder))?;
        let lost: BTreeSet<Day> = broken.iter().map(|key| key.day).collect();
        if !lost.is_empty() {
            self.done.push(format!("the damaged files of these days no longer count: {}", name_days(lost.into_iter())));
        }
        let kept: BTreeSet<Day> =
            files(&days)?.iter().filter(|key| key.source == Source::Events).map(|key| key.day).collect();
        let missing: Vec<Day> = state.days.difference(&kept).copied().collect();
        if !missing.is_empty() {
            let names = name_days(missing.into_iter());
            self.done.push(format!("the files of these days are missing, which count as nothing: {names}"));
        }
        if !state.incomplete.is_empty() {
            let names = name_days(std::mem::take(&mut state.incomplete).into_keys());
            self.done.push(format!("these days are reported again, with what is left of their figures: {names}"));
        }
        state.days = kept;
        state.write(self.folder)
    }

    fn repair_log(&mut self, state: &mut State) -> io::Result<()> {
        let counted = files(&self.folder.join(DAYS_FOLDER))?.into_iter().map(|key| {
            let path = key.path(&self.folder.join(DAYS_FOLDER));
            DayFile::read(&path, &Names::default()).map_or(0, |file| file.counted_through)
        });
        let synced = counted.max().unwrap_or_default().max(state.synced_through);
        let today = day_number(now_millis());
        let opened = super::recovery::open_log(self.folder, state, synced, today);
        let (log, findings) = opened.map_err(io::Error::other)?;
        state.synced_through = log.last();
        self.done.extend(findings.iter().map(|finding| format!("{finding}; the damaged log was moved aside")));
        Ok(())
    }

    fn damaged_files(&self, days: &Path) -> io::Result<BTreeSet<DayKey>> {
        let (mut broken, names) = (BTreeSet::new(), Names::default());
        for key in files(days)? {
            match DayFile::read_all(&key.path(days), &names) {
                Err(error) if is_damage(&error) => drop(broken.insert(key)),
                file => drop(file?),
            }
        }
        Ok(broken)
    }

    /// Repairs the list of imports. Without the list, no import counts. An import with a missing file does not count
    /// either: its access log can be imported again. Returns the new list, if it changed.
    fn repair_imports(
        &mut self,
        state: &State,
        days: &Path,
        broken: &mut BTreeSet<DayKey>,
    ) -> io::Result<Option<ImportList>> {
        let present: BTreeSet<DayKey> = files(days)?.into_iter().filter(|key| key.source != Source::Events).collect();
        let path = self.folder.join(IMPORTS_FILE);
        let list = match ImportList::read(self.folder) {
            Err(error) if is_damage(&error) => None,
            Ok(_) if !path.exists() && !present.is_empty() => None,
            list => Some(list?),
        };
        let Some(mut list) = list else {
            if path.exists() {
                self.move_aside(&path)?;
            }
            let number = |key: &DayKey| if let Source::Import(import) = key.source { import + 1 } else { 0 };
            let next = present.iter().map(number).max().unwrap_or(0);
            broken.extend(present);
            self.done.push("the list of imports was lost: import the access logs again".to_owned());
            return Ok(Some(ImportList { next, ..ImportList::default() }));
        };
        let expected = super::start::expected(state, Some(&list));
        let is_bad = |key: &DayKey| key.source != Source::Events && (broken.contains(key) || !present.contains(key));
        let bad: HashSet<Source> = expected.iter().filter(|key| is_bad(key)).map(|key| key.source).collect();
        if bad.is_empty() {
            return Ok(None);
        }
        for file in list.files.iter().filter(|file| bad.contains(&Source::Import(file.import))) {
            self.done.push(format!("an import of {} no longer counts: import its access log again", file.site));
        }
        broken.extend(present.into_iter().filter(|key| bad.contains(&key.source)));
        list.files.retain(|file| !bad.contains(&Source::Import(file.import)));
        Ok(Some(list))
    }

    fn move_aside(&mut self, path: &Path) -> io::Result<()> {
        let folder = match &self.aside {
            Some(folder) => folder.clone(),
            None => self.aside.insert(aside(self.folder)?).clone(),
        };
        let Some(name) = path.file_name() else { return Ok(()) };
        fs::rename(path, folder.join(name))?;
        sync_folder_of(path)
    }
}
