//! Checks a data folder and changes nothing in it: every checksum of log, bases and store, their consistency, and the
//! index against the store.
//!
//! Neither sled nor the index can be opened without writing. So both are copied to a temporary folder, brought to the
//! end of the log there as at a start, and compared.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bindery_base::{BaseError, restoring};
use bindery_index::{FolderCheck, FolderProblem, Indexes};
use bindery_log::{AppendError, CommitLog, FollowLog, Inspection, LogError, LogReader};
use bindery_model::blueprint::Blueprint;
use bindery_store::{Assembler, Key, Store, StoreError, StoreOptions, checkpointed, condemned};

use crate::data::files;
use crate::start::compare::Comparison;
use crate::start::error::StartError;
use crate::start::findings::Findings;
use crate::start::scratch::Scratch;
use crate::start::{folder, recovery};

/// The store's cache while it is read once from end to end.
const CACHE_BYTES: u64 = 16 << 20;

/// Checks a folder. Copies of store and index are made in `temporary` and removed again.
///
/// # Errors
/// [`StartError`] if the folder does not exist or is in use, or the copies cannot be made. Damage is no error but an
/// issue among the findings.
pub(crate) fn verify_folder(
    folder: &Path,
    temporary: &Path,
    index: &bindery_index::Options,
) -> Result<Findings, StartError> {
    let _lock = folder::lock_existing(folder)?;
    let mut findings = Findings::default();
    folder::name_unknown_files(folder, &mut findings).map_err(|error| StartError::folder(folder, &error))?;
    if restoring::is_incomplete(folder) {
        findings.report(BaseError::NotRestored.to_string());
    } else if restoring::is_restoring(folder) {
        findings.report("a restore into this folder did not finish; the next start finishes it if it can");
    }
    let log = verify_log(folder, &mut findings)?;
    verify_bases(folder, &log, &mut findings)?;
    let scratch = Scratch::create(temporary)?;
    if let Some(store) = verify_store(folder, &log, &scratch, &mut findings)? {
        match files::named(&store) {
            Ok(named) => findings.named_files = named,
            Err(error) => findings.report(format!("the files of media cannot be listed: {}", error.message)),
        }
        verify_index(folder, &log, &store, &scratch, index, &mut findings)?;
    }
    Ok(findings)
}

fn verify_log(folder: &Path, findings: &mut Findings) -> Result<Inspection, StartError> {
    let mut assembler = Assembler::default();
    let visit = |number: u64, record: Vec<u8>| {
        if let Err(error) = assembler.push(number, &record) {
            findings.report(format!("record {number} of the log: {error}"));
        }
    };
    let checkpoint = checkpointed(&folder.join(bindery_base::STORE)).ok().flatten().unwrap_or(0);
    let synced = checkpoint.max(bindery_index::checkpointed(&folder::index_of(folder)));
    let log = bindery_log::inspect(&folder.join(bindery_base::LOG), synced, visit);
    let log = log.map_err(|error| StartError::folder(folder, &error))?;
    findings.log_records = log.count();
    log.damage.iter().for_each(|damage| findings.report(damage.to_string()));
    if log.torn_bytes > 0 {
        findings.note("the log ends in an incomplete record, as a kill leaves it; the next start cuts it");
    }
    Ok(log)
}

/// Checks the bases, and that every record that is no longer in the log is in one of them.
fn verify_bases(folder: &Path, log: &Inspection, findings: &mut Findings) -> Result<(), StartError> {
    let mut newest = 0;
    for (_, path) in bindery_base::list(folder).map_err(|error| StartError::folder(folder, &error))? {
        findings.bases += 1;
        match bindery_base::verify(&path) {
            Ok(header) => newest = newest.max(header.number),
            Err(error) => findings.report(error.to_string()),
        }
    }
    if log.first > newest + 1 {
        findings.report(format!(
            "the log begins at record {}, but no intact base holds what was before: a damaged store could not be rebuilt",
            log.first
        ));
    }
    Ok(())
}

/// Checks a copy of the store. Returns the copy, at the end of the log, if it is usable.
fn verify_store(
    folder: &Path,
    log: &Inspection,
    scratch: &Scratch,
    findings: &mut Findings,
) -> Result<Option<Store>, StartError> {
    let original = folder.join(bindery_base::STORE);
    let issues_before = findings.issue_count;
    let fail = |error: &dyn std::fmt::Display| StartError::folder(folder, error);
    if let Some(reason) = condemned(&original).map_err(|error| fail(&error))? {
        findings.report(format!("the store is marked as damaged, the next start rebuilds it: {reason}"));
    }
    let checkpoint = match checkpointed(&original) {
        Ok(checkpoint) => checkpoint,
        Err(error) if matches!(error, StoreError::Version { .. }) => {
            findings.report(error.to_string());
            return Ok(None);
        }
        Err(error) => return Err(fail(&error)),
    };
    let Some(copy) = scratch.copy_of(&original, bindery_base::STORE)? else {
        findings.report("the store is missing; the next start rebuilds it from base and log");
        return Ok(None);
    };
    let Some(checkpoint) = checkpoint else {
        findings.report("the store has no valid checkpoint; the next start rebuilds it from base and log");
        return Ok(None);
    };
    let options = StoreOptions { cache_bytes: CACHE_BYTES };
    let store = match Store::open(&copy, &options) {
        Ok(store) => store,
        Err(error) if error.is_damage() => {
            findings.report(format!("the store does not open: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(fail(&error)),
    };
    compare_numbers(&store, checkpoint, log, findings);
    let orphans = store.read_all(|entry| {
        match entry {
            Ok(_) => findings.values += 1,
            Err(error) => findings.report(error.to_string()),
        }
        Ok::<(), StartError>(())
    })?;
    if orphans > 0 {
        findings.note(format!("{orphans} pieces of large values are unreferenced"));
    }
    if findings.issue_count > issues_before {
        return Ok(None);
    }
    let replayed = replay(&store, checkpoint, log, folder);
    Ok(replayed.map(|()| store).map_err(|error| findings.report(error)).ok())
}

/// Compares the numbers of store, checkpoint and log.
fn compare_numbers(store: &Store, checkpoint: u64, log: &Inspection, findings: &mut Findings) {
    let applied = store.applied();
    if applied < checkpoint {
        findings.report(format!("the store is at record {applied}, before its checkpoint at record {checkpoint}"));
    }
    let known = applied.max(checkpoint);
    let first = log.first;
    if first > checkpoint + 1 {
        findings
            .report(format!("the store's checkpoint is at record {checkpoint}, but the log begins at record {first}"));
    }
    // A new segment after a restore or a base holds no records yet.
    let last = log.last_valid().unwrap_or(first.saturating_sub(1));
    if last < known {
        findings.report(format!("the store is at record {known}, but the log ends at record {last}"));
    }
}

/// Brings the copy of the store to the end of the log.
fn replay(store: &Store, checkpoint: u64, log: &Inspection, folder: &Path) -> Result<(), String> {
    let Some(last) = log.last_valid().filter(|last| *last > checkpoint) else { return Ok(()) };
    let mut assembler = Assembler::default();
    let records = LogReader::of_closed(&folder.join(bindery_base::LOG)).read(checkpoint + 1, last);
    for record in records.map_err(|error| error.to_string())? {
        let (number, record) = record.map_err(|error| error.to_string())?;
        if let Some(transaction) = assembler.push(number, &record).map_err(|error| error.to_string())? {
            store.replay(transaction.last, &transaction.writes).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Checks the files of the index, then compares a copy of it with the copy of the store.
fn verify_index(
    folder: &Path,
    log: &Inspection,
    store: &Store,
    scratch: &Scratch,
    options: &bindery_index::Options,
    findings: &mut Findings,
) -> Result<(), StartError> {
    let original = folder::index_of(folder);
    let FolderCheck { problems, outdated, .. } = Indexes::check(&original);
    if let Some(why) = outdated {
        findings.note(format!("the next start rebuilds every index from the store: {why}"));
    }
    let Some(copy) = scratch.copy_of(&original, "index")? else {
        findings.note("there is no index; the next start builds it from the store");
        return Ok(());
    };
    let indexes = Indexes::open(&copy, options.clone()).map_err(|error| StartError::folder(folder, &error))?;
    // Damaged indexes are removed from the copy, so that they are rebuilt as at the next start.
    problems.iter().filter_map(|problem| problem.index).for_each(|name| indexes.remove(name));
    let compare = |findings: &mut Findings| -> Result<(), StartError> {
        let blueprints = recovery::load_blueprints(store)?;
        let changes = recovery::load_changes(store, &blueprints)?;
        report_index_problems(&problems, &blueprints, findings);
        report_missing_indexes(store, &indexes, &problems, &blueprints, findings)?;
        let log = ClosedLog::new(folder, log, store.applied());
        recovery::bring_up_indexes(&log, store, &indexes, &blueprints, &changes, &|_, _| ())?;
        let state = recovery::load_state(store, &indexes, &blueprints, &changes, store.applied())?;
        Comparison { store, state: &state }.run(findings);
        Ok(())
    };
    if let Err(error) = compare(findings) {
        findings.report(error.to_string());
    }
    Ok(())
}

fn report_index_problems(problems: &[FolderProblem], blueprints: &[Arc<Blueprint>], findings: &mut Findings) {
    for FolderProblem { index, text } in problems {
        let of = blueprints.iter().find(|blueprint| Some(blueprint.number) == *index);
        let what = match (of, index) {
            (Some(blueprint), _) => format!("the index of `{}` is damaged", blueprint.slug),
            (None, Some(name)) => format!("the index {name} is damaged"),
            (None, None) => "every index is unusable".to_owned(),
        };
        findings.report(format!("{what}; the next start rebuilds it from the store: {text}"));
    }
}

/// Reports the blueprints that should have an index on disk but have none, unless it is known to be damaged.
fn report_missing_indexes(
    store: &Store,
    indexes: &Indexes,
    problems: &[FolderProblem],
    blueprints: &[Arc<Blueprint>],
    findings: &mut Findings,
) -> Result<(), StartError> {
    let (at, names) = (indexes.number(), indexes.names());
    let is_reported = |name: u32| problems.iter().any(|problem| problem.index.is_none_or(|index| index == name));
    for blueprint in blueprints.iter().filter(|blueprint| !is_reported(blueprint.number)) {
        // A blueprint that is newer than the index on disk is not in it.
        let written = store.written_at(&Key::Blueprint(blueprint.number).encode()).map_err(StartError::content)?;
        if at > 0 && written.is_some_and(|written| written <= at) && !names.contains(&blueprint.number) {
            let slug = &blueprint.slug;
            findings.report(format!("the index of `{slug}` is missing; the next start rebuilds it from the store"));
        }
    }
    Ok(())
}

/// A log that no process has open, for reading.
struct ClosedLog {
    first: u64,
    last: u64,
    reader: Arc<LogReader>,
}

impl ClosedLog {
    fn new(folder: &Path, log: &Inspection, applied: u64) -> ClosedLog {
        let reader = Arc::new(LogReader::of_closed(&folder.join(bindery_base::LOG)));
        let first = log.valid.first().map_or(applied + 1, |records| *records.start());
        ClosedLog { first, last: log.last_valid().unwrap_or(applied), reader }
    }
}

impl CommitLog for ClosedLog {
    fn append(&mut self, _: u64, _: &[Vec<u8>]) -> Result<u64, AppendError> {
        Err(AppendError::Closed(LogError::Stopped))
    }

    fn confirm(&mut self, _: u64) -> Result<(), AppendError> {
        Ok(())
    }

    fn last(&self) -> u64 {
        self.last
    }

    fn first(&self) -> u64 {
        self.first
    }

    fn bytes_since(&self, _: u64) -> u64 {
        0
    }

    fn trim(&mut self, _: u64) -> Result<u64, LogError> {
        Ok(0)
    }

    fn follow(&self) -> Arc<dyn FollowLog> {
        Arc::clone(&self.reader) as Arc<dyn FollowLog>
    }
}

/// Returns whether a folder holds anything of a server's.
pub fn is_data_folder(folder: &Path) -> bool {
    [bindery_base::LOG, bindery_base::STORE, "base", "analytics"]
        .iter()
        .any(|name| fs::metadata(folder.join(name)).is_ok())
}
