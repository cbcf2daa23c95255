//! One index and its folder: loading it, writing its frozen runs, merging its disk runs. It knows no other index and
//! no manifest; what is not needed any more is removed by `checkpoint.rs`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::slots::{SLOTS, SlotFile};
use crate::apply::Frozen;
use crate::bitmap::Bitmap;
use crate::disk::DiskRun;
use crate::error::Error;
use crate::exchange::{Source, StoredPart};
use crate::index::{Index, Wake};
use crate::manifest::Entry;
use crate::options::Options;
use crate::run::Run;
use crate::schema::{Schema, VariantNumber};
use crate::state::{Location, Part, Row, State};
use crate::table::Table;

/// One index and its folder.
pub(super) struct Store {
    pub(super) index: Index,
    pub(super) generation: u64,
    pub(super) folder: PathBuf,
    /// Runs that are on disk as a whole. Locked while frozen runs are written.
    written: Mutex<HashSet<u32>>,
    /// Runs that are being merged into.
    merging: Mutex<HashSet<u32>>,
    /// The states of checkpoints that are not written yet.
    pending: Mutex<Vec<Weak<State>>>,
    /// The slots as the manifest names them.
    pub(super) last: Mutex<Stored>,
}

/// Slots as files have them.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) rows: Table<Row>,
    pub(super) parts: Vec<(VariantNumber, Table<Location>)>,
    pub(super) slots: u32,
    pub(super) files: Vec<String>,
}

/// Runs that are to be merged into one, or to be taken away since all of their documents are dead.
struct Plan {
    variant: VariantNumber,
    sources: Vec<(u32, Arc<DiskRun>, Arc<Bitmap>)>,
}

/// Runs below this size are of one tier.
const SMALLEST_TIER_BYTES: u64 = 64 << 10;

impl Store {
    pub(super) fn create(
        dir: &Path,
        name: u32,
        generation: u64,
        schema: Schema,
        options: Options,
        wake: Wake,
    ) -> Store {
        Store::new(Index::new(schema, options, Some(wake)), folder(dir, name, generation), generation)
    }

    /// Loads an index as it was stored. Fails if anything is missing or does not fit together.
    pub(super) fn load(dir: &Path, entry: &Entry, options: Options, wake: Wake) -> Result<Store, Error> {
        let folder = folder(dir, entry.name, entry.generation);
        let SlotFile { rows, parts: mut locations } = read_slots(&folder, entry)?;
        let mut stored = Vec::new();
        let mut written = HashSet::new();
        for (variant, numbers) in &entry.runs {
            let place = locations.iter().position(|(of, _)| of == variant);
            let locations = place.map(|place| locations.swap_remove(place).1).unwrap_or_default();
            let mut runs = Vec::new();
            for &number in numbers {
                runs.push((number, Arc::new(DiskRun::open(&run_folder(&folder, number))?)));
                written.insert(number);
            }
            check_locations(&folder, &locations, &runs)?;
            stored.push(StoredPart { variant: *variant, locations: Table::of(&locations), runs });
        }
        let rows = Table::of(&rows);
        let last = Stored {
            rows: rows.clone(),
            parts: stored.iter().map(|part| (part.variant, part.locations.clone())).collect(),
            slots: entry.slots,
            files: entry.slot_files.clone(),
        };
        let index = Index::load(entry.schema(), rows, stored, options, Some(wake));
        let store = Store::new(index, folder, entry.generation);
        *store.written.lock() = written;
        *store.last.lock() = last;
        Ok(store)
    }

    fn new(index: Index, folder: PathBuf, generation: u64) -> Store {
        Store {
            index,
            generation,
            folder,
            written: Mutex::default(),
            merging: Mutex::default(),
            pending: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Freezes everything; the runs that the state names are kept on disk as long as it lives.
    pub(super) fn freeze(&self) -> (Arc<State>, Vec<Frozen>) {
        let (state, frozen) = self.index.freeze();
        let mut pending = self.pending.lock();
        pending.retain(|state| state.strong_count() > 0);
        pending.push(Arc::downgrade(&state));
        (state, frozen)
    }

    /// Writes the frozen runs that wait, and installs them. How many there were.
    pub(super) fn write_waiting(&self) -> Result<usize, Error> {
        let waiting = self.index.frozen();
        self.write(&waiting)?;
        Ok(waiting.len())
    }

    /// Writes those of the frozen runs that are not on disk yet, and installs them. A disk run takes the number of the
    /// frozen run in whose place it stands.
    pub(super) fn write(&self, frozen: &[Frozen]) -> Result<(), Error> {
        for frozen in frozen {
            let mut written = self.written.lock();
            if written.contains(&frozen.run) {
                continue;
            }
            let documents: Vec<_> = frozen.alive.iter().map(|doc| Arc::clone(frozen.memory.document(doc))).collect();
            let run = DiskRun::build(&run_folder(&self.folder, frozen.run), &documents)?;
            written.insert(frozen.run);
            let source = Source { run: frozen.run, alive: Arc::clone(&frozen.alive) };
            // Not there any more if its variant was removed: then only a checkpoint from before that needs it.
            self.index.install(frozen.variant, &[source], Some((frozen.run, Arc::new(run))));
        }
        Ok(())
    }

    /// Makes one merger, if one is due.
    pub(super) fn merge_one(&self) -> Result<bool, Error> {
        let Some(plan) = self.plan() else { return Ok(false) };
        let sources: Vec<Source> =
            plan.sources.iter().map(|(run, _, alive)| Source { run: *run, alive: Arc::clone(alive) }).collect();
        if plan.sources.iter().all(|(_, _, alive)| alive.count() == 0) {
            return Ok(self.index.install(plan.variant, &sources, None));
        }
        let number = self.index.take_run_number();
        self.merging.lock().insert(number);
        let inputs: Vec<_> = plan.sources.into_iter().map(|(_, run, alive)| (run, alive)).collect();
        let merged = DiskRun::merge(&run_folder(&self.folder, number), &inputs);
        let installed = merged.map(|run| self.index.install(plan.variant, &sources, Some((number, Arc::new(run)))));
        if matches!(installed, Ok(true)) {
            self.written.lock().insert(number);
        }
        self.merging.lock().remove(&number);
        installed
    }

    /// Runs whose folders are in use now, by whatever there is but the manifest.
    pub(super) fn runs_in_use(&self) -> HashSet<u32> {
        let mut runs: HashSet<u32> = self.merging.lock().clone();
        let mut states: Vec<Arc<State>> = self.pending.lock().iter().filter_map(Weak::upgrade).collect();
        states.push(self.index.shared.current());
        let numbers = |state: &Arc<State>| -> Vec<u32> {
            state.parts.iter().flat_map(|part| part.runs.iter().map(|(number, _)| *number)).collect()
        };
        runs.extend(states.iter().flat_map(numbers));
        runs
    }

    /// A run's folder was removed.
    pub(super) fn forget(&self, run: u32) {
        self.written.lock().remove(&run);
    }

    fn plan(&self) -> Option<Plan> {
        // Not held while merging: a slot is not taken again while a state can see who had it.
        let state = self.index.shared.current();
        let fan_in = self.index.shared.options.merge_fan_in.max(2);
        state.parts.iter().find_map(|part| plan(part, fan_in))
    }
}

/// The folder of an index.
pub(super) fn folder(dir: &Path, name: u32, generation: u64) -> PathBuf {
    dir.join(format!("{name}.{generation}"))
}

/// The folder of a run.
pub(super) fn run_folder(folder: &Path, run: u32) -> PathBuf {
    folder.join(format!("{RUN}{run}"))
}

/// Run folders are named by this and their number.
pub(super) const RUN: &str = "run-";

fn plan(part: &Part, fan_in: usize) -> Option<Plan> {
    let mut runs = Vec::new();
    for (number, run) in part.runs.iter() {
        if let Run::Disk(disk) = run {
            runs.push((*number, Arc::clone(disk), Arc::new(part.alive(*number, run))));
        }
    }
    let variant = part.variant.number;
    let (dead, living): (Vec<_>, Vec<_>) = runs.into_iter().partition(|(_, _, alive)| alive.count() == 0);
    if !dead.is_empty() {
        return Some(Plan { variant, sources: dead });
    }
    if let Some(sparse) = living.iter().find(|(_, run, alive)| alive.count() * 2 < run.len() as usize) {
        return Some(Plan { variant, sources: vec![sparse.clone()] });
    }
    let tier = |run: &DiskRun| (run.bytes().max(SMALLEST_TIER_BYTES) / SMALLEST_TIER_BYTES).ilog(fan_in as u64);
    (0..=u64::BITS).find_map(|level| {
        let of_level = living.iter().filter(|(_, run, _)| tier(run) == level);
        let sources: Vec<_> = of_level.take(fan_in).cloned().collect();
        (sources.len() == fan_in).then_some(Plan { variant, sources })
    })
}

/// The slots of all files as if they were one.
fn read_slots(folder: &Path, entry: &Entry) -> Result<SlotFile, Error> {
    let mut rows = Vec::new();
    let mut parts: Vec<_> = entry.runs.iter().map(|(variant, _)| (*variant, Vec::new())).collect();
    for name in &entry.slot_files {
        let path = folder.join(name);
        let mut file = SlotFile::read(&path)?;
        let is_last = rows.len() + file.rows.len() == entry.slots as usize;
        if file.rows.len() != SLOTS && !is_last {
            return Err(Error::corrupt(&path, "it has another number of slots"));
        }
        rows.append(&mut file.rows);
        for (variant, locations) in &mut parts {
            match file.parts.iter_mut().find(|(of, _)| of == variant) {
                Some((_, more)) => locations.append(more),
                None => return Err(Error::corrupt(&path, format!("variant {variant} is not in it"))),
            }
        }
    }
    match rows.len() == entry.slots as usize {
        true => Ok(SlotFile { rows, parts }),
        false => Err(Error::corrupt(folder, "it has another number of slots than the manifest says")),
    }
}

fn check_locations(folder: &Path, locations: &[Location], runs: &[(u32, Arc<DiskRun>)]) -> Result<(), Error> {
    for (slot, location) in (0..).zip(locations).filter(|(_, location)| location.is_copy()) {
        let run = runs.iter().find(|(number, _)| *number == location.run);
        if !run.is_some_and(|(_, run)| location.doc < run.len() && run.slot(location.doc) == slot) {
            return Err(Error::corrupt(folder, format!("the copy in slot {slot} is not where it should be")));
        }
    }
    Ok(())
}
