//! One index and its folder: loading it, writing its frozen runs, merging its disk runs. It knows no other index.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bindery_disk::failure;
use parking_lot::Mutex;

use super::manifest::{IndexManifest, NamedRun, NamedSlotFile};
use super::slot_file::{SLOTS, SlotFile};
use crate::collate::Collation;
use crate::damage::Damage;
use crate::error::Error;
use crate::index::{FrozenVersion, Index, IndexContext, LoadedCopies, LoadedRun, ReplacedRun, Wake};
use crate::interrupt::StopSign;
use crate::live_set::LiveSet;
use crate::options::Options;
use crate::run::{DiskRun, FrozenRun, MergeInput, NumberedRun, Run, RunFolder, RunNumber};
use crate::schema::{Schema, VariantNumber};
use crate::search::Caches;
use crate::slot_table::SlotTable;
use crate::version::{CopySet, Location, Row, Version};

/// One index and its folder.
pub(super) struct IndexFolder {
    pub(super) index: Index,
    pub(super) name: u32,
    /// Distinguishes indexes that had the same name at different times.
    pub(super) generation: u64,
    pub(super) path: PathBuf,
    /// True if checkpoints include it.
    pub(super) is_finished: AtomicBool,
    /// Runs that are completely on disk, with their checksums. Locked while a frozen run is written.
    written: Mutex<HashMap<RunNumber, u32>>,
    /// New runs that merges are writing.
    merging: Mutex<HashSet<RunNumber>>,
    /// The tables of unwritten checkpoints.
    frozen: Mutex<Vec<Weak<FrozenTables>>>,
    /// The slots and locations in the slot files that the manifest lists.
    pub(super) written_slots: Mutex<WrittenSlots>,
}

/// Slots and locations in the form of slot files.
#[derive(Default)]
pub(super) struct WrittenSlots {
    pub(super) rows: SlotTable<Row>,
    pub(super) locations: Vec<VariantLocations>,
    pub(super) slot_count: u32,
    pub(super) files: Vec<NamedSlotFile>,
}

/// The locations of one variant.
pub(super) struct VariantLocations {
    pub(super) variant: VariantNumber,
    pub(super) locations: SlotTable<Location>,
}

/// The tables of a version that a checkpoint writes. They hold no run: a run in memory is freed as soon as it is on
/// disk, and the files of one on disk are kept by its number.
pub(super) struct FrozenTables {
    pub(super) schema: Arc<Schema>,
    pub(super) rows: SlotTable<Row>,
    pub(super) slot_count: u32,
    pub(super) copy_sets: Vec<FrozenCopies>,
}

/// The copies of one variant in frozen tables.
pub(super) struct FrozenCopies {
    pub(super) variant: VariantNumber,
    pub(super) locations: SlotTable<Location>,
    /// The runs, by number, ascending.
    pub(super) runs: Vec<NamedFrozenRun>,
}

/// A run that frozen tables refer to.
pub(super) struct NamedFrozenRun {
    pub(super) number: RunNumber,
    /// True if the run was in memory when the tables were frozen.
    pub(super) was_in_memory: bool,
}

impl FrozenTables {
    fn of(version: &Version) -> FrozenTables {
        let named =
            |run: &NumberedRun| NamedFrozenRun { number: run.number, was_in_memory: matches!(run.run, Run::Memory(_)) };
        let copies = |copies: &CopySet| FrozenCopies {
            variant: copies.variant.number,
            locations: copies.locations.clone(),
            runs: copies.runs.iter().map(named).collect(),
        };
        FrozenTables {
            schema: Arc::clone(&version.schema),
            rows: version.rows.clone(),
            slot_count: version.slot_count,
            copy_sets: version.copy_sets.iter().map(copies).collect(),
        }
    }
}

/// Runs to merge into one, or to remove if none of their documents is current.
struct MergePlan {
    variant: VariantNumber,
    inputs: Vec<PlannedRun>,
}

#[derive(Clone)]
struct PlannedRun {
    number: RunNumber,
    run: Arc<DiskRun>,
    live: LiveSet,
}

impl PlannedRun {
    /// Returns about how many bytes its live documents take.
    fn live_bytes(&self) -> u64 {
        let share = self.live.count() as u128 * u128::from(self.run.bytes());
        (share / u128::from(self.run.len().max(1))) as u64
    }
}

/// The merges that are worth their writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MergePace {
    /// Runs are being written: only what keeps their number small.
    Busy,
    /// Nothing was written for a while: also what makes searches faster, although it writes more.
    Quiet,
}

/// The outcome of an attempt to merge.
pub(super) enum MergeOutcome {
    Merged,
    NothingToDo,
    /// The merge ended before it was done, because all threads are to stop.
    Stopped,
}

/// Runs of up to this size are in the same tier.
const SMALLEST_TIER_BYTES: u64 = 64 << 10;

/// A run takes at most about this many bytes for each byte in memory.
const WRITTEN_PER_BYTE: u64 = 2;

/// The name of a run's folder is this and the run's number.
const RUN_PREFIX: &str = "run-";

impl IndexFolder {
    /// Creates the folder of a new index. Nothing is written before the first run or checkpoint.
    pub(super) fn create(dir: &Path, name: u32, generation: u64, index: Index) -> IndexFolder {
        IndexFolder {
            index,
            name,
            generation,
            path: index_path(dir, name, generation),
            is_finished: AtomicBool::new(false),
            written: Mutex::default(),
            merging: Mutex::default(),
            frozen: Mutex::default(),
            written_slots: Mutex::default(),
        }
    }

    /// Loads an index from its files. Fails if any is missing or inconsistent with the others. Data that is read only
    /// when it is used is checked then.
    pub(super) fn load(
        dir: &Path,
        index: &IndexManifest,
        caches: &Arc<Caches>,
        options: Options,
        wake: Wake,
    ) -> Result<IndexFolder, Error> {
        let damage = Arc::new(Damage::default());
        let ReadIndex { rows, copy_sets } = ReadIndex::read(dir, index, &damage)?;
        let named = index.runs.iter().flat_map(|(_, runs)| runs);
        let written = named.map(|run| (run.number, run.crc)).collect();
        let rows = SlotTable::of(&rows);
        let variant_locations =
            |copies: &LoadedCopies| VariantLocations { variant: copies.variant, locations: copies.locations.clone() };
        let written_slots = WrittenSlots {
            rows: rows.clone(),
            locations: copy_sets.iter().map(variant_locations).collect(),
            slot_count: index.slots,
            files: index.slot_files.clone(),
        };
        let shared = IndexContext { caches: Arc::clone(caches), damage, options, wake: Some(wake) };
        let loaded = Index::load(index.schema(), rows, copy_sets, shared);
        let folder = IndexFolder::create(dir, index.name, index.generation, loaded);
        *folder.written.lock() = written;
        *folder.written_slots.lock() = written_slots;
        folder.is_finished.store(true, Ordering::Release);
        Ok(folder)
    }

    /// Freezes the index. Returns its tables, and its runs in memory, oldest first. The files of its runs stay on disk
    /// as long as the tables are held.
    pub(super) fn freeze(&self) -> (Arc<FrozenTables>, Vec<FrozenRun>) {
        let FrozenVersion { version, runs } = self.index.freeze();
        let tables = Arc::new(FrozenTables::of(&version));
        let mut frozen = self.frozen.lock();
        frozen.retain(|tables| tables.strong_count() > 0);
        frozen.push(Arc::downgrade(&tables));
        (tables, runs)
    }

    /// Writes all frozen runs to disk and replaces them. Returns their number.
    pub(super) fn write_all_frozen(&self) -> Result<usize, Error> {
        let frozen = self.index.frozen();
        let count = frozen.len();
        self.write_frozen(frozen)?;
        Ok(count)
    }

    /// Writes those frozen runs that are not on disk yet, and replaces them. A disk run has the number of the frozen
    /// run that it replaces. Without room, nothing is written of a run: the store needs the last bytes of the disk.
    ///
    /// Takes the runs, so that the memory of each is freed before the next one is written.
    pub(super) fn write_frozen(&self, frozen: Vec<FrozenRun>) -> Result<(), Error> {
        for frozen in frozen {
            let number = frozen.number;
            let mut written = self.written.lock();
            if written.contains_key(&number) {
                continue;
            }
            failure::point("index::run").map_err(Error::io(&self.path))?;
            let (path, collation) = (run_path(&self.path, number), self.collation(frozen.variant));
            let (schema, neighbor) = (self.index.schema(), self.largest_run(frozen.variant));
            self.require_room(frozen.memory.bytes() as u64 * WRITTEN_PER_BYTE)?;
            let documents = frozen.live_documents();
            let run = DiskRun::build(&path, &documents, neighbor.as_deref(), &schema, &collation, self.index.damage());
            let run = run.inspect_err(|_| remove_unfinished(&path))?;
            written.insert(number, run.sums_crc());
            let replaced = ReplacedRun { number, live_docs: Arc::clone(&frozen.live_docs) };
            // If the variant was removed, this replaces nothing, and only an earlier checkpoint needs the disk run.
            let new = NumberedRun::new(number, Run::Disk(Arc::new(run)));
            self.index.replace(frozen.variant, &[replaced], Some(new));
        }
        Ok(())
    }

    /// Performs one merge, if one is due, until `stop` is set.
    pub(super) fn merge_once(&self, pace: MergePace, stop: &StopSign) -> Result<MergeOutcome, Error> {
        // A damaged index is about to be replaced, so merging would be wasted.
        if self.index.damage().is_found() {
            return Ok(MergeOutcome::NothingToDo);
        }
        let Some(MergePlan { variant, inputs }) = self.plan_merge(pace) else { return Ok(MergeOutcome::NothingToDo) };
        let replaced: Vec<ReplacedRun> = inputs
            .iter()
            .map(|input| ReplacedRun { number: input.number, live_docs: Arc::new(input.live.to_bitmap()) })
            .collect();
        if replaced.iter().all(|replaced| replaced.live_docs.count() == 0) {
            return Ok(merge_outcome(self.index.replace(variant, &replaced, None)));
        }
        let number = self.index.take_run_number();
        self.merging.lock().insert(number);
        let input = |(planned, replaced): (PlannedRun, &ReplacedRun)| MergeInput {
            run: planned.run,
            live_docs: Arc::clone(&replaced.live_docs),
        };
        let inputs: Vec<MergeInput> = inputs.into_iter().zip(&replaced).map(input).collect();
        let replace = |run: DiskRun| {
            // Must come before another thread can freeze a version that uses it.
            self.written.lock().insert(number, run.sums_crc());
            let new = NumberedRun::new(number, Run::Disk(Arc::new(run)));
            let is_replaced = self.index.replace(variant, &replaced, Some(new));
            if !is_replaced {
                self.forget_run(number);
            }
            is_replaced
        };
        let merge = || {
            failure::point("index::merge").map_err(Error::io(&self.path))?;
            let path = run_path(&self.path, number);
            let folder = RunFolder { path: &path, stop: Some(stop) };
            let run = DiskRun::merge(folder, &inputs, &self.collation(variant), self.index.damage());
            run.inspect_err(|_| remove_unfinished(&path))
        };
        let is_replaced = merge().map(replace);
        self.merging.lock().remove(&number);
        match is_replaced {
            Err(_) if stop.is_set() => Ok(MergeOutcome::Stopped),
            other => other.map(merge_outcome),
        }
    }

    /// Returns the runs whose folders are needed in addition to those in the manifest: by the current version, by
    /// unwritten checkpoints, or by a merge.
    pub(super) fn runs_in_use(&self) -> HashSet<RunNumber> {
        let mut runs: HashSet<RunNumber> = self.merging.lock().clone();
        let mut frozen: Vec<Arc<FrozenTables>> = self.frozen.lock().iter().filter_map(Weak::upgrade).collect();
        frozen.push(Arc::new(FrozenTables::of(&self.index.version())));
        for copies in frozen.iter().flat_map(|tables| &tables.copy_sets) {
            runs.extend(copies.runs.iter().map(|run| run.number));
        }
        runs
    }

    /// Returns a run in the form of the manifest; `None` if it is not completely on disk.
    pub(super) fn named_run(&self, number: RunNumber) -> Option<NamedRun> {
        self.written.lock().get(&number).map(|&crc| NamedRun { number, crc })
    }

    /// Records that a run's folder was removed.
    pub(super) fn forget_run(&self, run: RunNumber) {
        self.written.lock().remove(&run);
    }

    /// Checks that the disk has room for this many bytes. The folder of the index may not exist yet.
    fn require_room(&self, bytes: u64) -> Result<(), Error> {
        let folder = self.path.parent().unwrap_or(&self.path);
        bindery_disk::require_room(folder, bytes).map_err(Error::io(&self.path))
    }

    /// Returns the collation of a variant, by which its new runs are sorted.
    fn collation(&self, variant: VariantNumber) -> Collation {
        // If the variant was removed, any collation will do: nobody reads its runs.
        self.index.version().copy_set(variant).map_or_else(|| Collation::of(None), |copies| copies.collation.clone())
    }

    /// Returns the largest run on disk of a variant.
    fn largest_run(&self, variant: VariantNumber) -> Option<Arc<DiskRun>> {
        let version = self.index.version();
        let on_disk = version.copy_set(variant)?.runs.iter().filter_map(|numbered| match &numbered.run {
            Run::Disk(run) => Some(run),
            Run::Memory(_) => None,
        });
        on_disk.max_by_key(|run| run.len()).cloned()
    }

    fn plan_merge(&self, pace: MergePace) -> Option<MergePlan> {
        // The version is not held during the merge, since a version in use keeps vacated slots from being reused.
        let version = self.index.version();
        let fan_in = self.index.options().merge_fan_in.max(2);
        let free = bindery_disk::free_bytes(&self.path).unwrap_or(0).saturating_sub(bindery_disk::KEPT_FREE_BYTES);
        version.copy_sets.iter().find_map(|copies| plan_merge(copies, fan_in, free, pace))
    }
}

/// The contents of the files of an index.
pub(super) struct ReadIndex {
    rows: Vec<Row>,
    copy_sets: Vec<LoadedCopies>,
}

impl ReadIndex {
    /// Reads the slot files and opens the runs. Damage that is found in the runs later is reported to `damage`.
    pub(super) fn read(dir: &Path, index: &IndexManifest, damage: &Arc<Damage>) -> Result<ReadIndex, Error> {
        let path = index_path(dir, index.name, index.generation);
        let SlotFile { rows, locations: mut all_locations } = read_slots(&path, index)?;
        let mut copy_sets = Vec::new();
        for (variant, named) in &index.runs {
            let position = all_locations.iter().position(|(of, _)| of == variant);
            let locations = position.map(|position| all_locations.swap_remove(position).1).unwrap_or_default();
            let mut runs = Vec::new();
            for &NamedRun { number, crc } in named {
                let run = Arc::new(DiskRun::open(&run_path(&path, number), crc, damage)?);
                runs.push(LoadedRun { number, run });
            }
            check_locations(&path, &locations, &runs)?;
            damage.check()?;
            copy_sets.push(LoadedCopies { variant: *variant, locations: SlotTable::of(&locations), runs });
        }
        Ok(ReadIndex { rows, copy_sets })
    }

    /// Returns its runs.
    pub(super) fn runs(&self) -> impl Iterator<Item = &DiskRun> {
        self.copy_sets.iter().flat_map(|copies| &copies.runs).map(|run| &*run.run)
    }
}

/// Returns the folder of an index.
pub(super) fn index_path(dir: &Path, name: u32, generation: u64) -> PathBuf {
    dir.join(format!("{name}.{generation}"))
}

/// Returns the number of the run whose folder has this name.
pub(super) fn run_number(folder_name: &str) -> Option<RunNumber> {
    folder_name.strip_prefix(RUN_PREFIX)?.parse().ok()
}

/// Removes the rest of a run that could not be written: it would keep a full disk full.
fn remove_unfinished(run: &Path) {
    let _ = fs::remove_dir_all(run);
}

fn run_path(index_path: &Path, run: RunNumber) -> PathBuf {
    index_path.join(format!("{RUN_PREFIX}{run}"))
}

/// Returns the outcome of a merge. If nothing was replaced, the runs are gone, for example because their variant was
/// removed.
fn merge_outcome(is_replaced: bool) -> MergeOutcome {
    match is_replaced {
        true => MergeOutcome::Merged,
        false => MergeOutcome::NothingToDo,
    }
}

/// Plans the next merge: removes runs without live documents first, then rewrites a run of which more than half is
/// outdated, then merges `fan_in` runs of the same tier, and while nothing is written the smallest runs. `free` are the
/// bytes of the disk that a merge may take. One without room is passed over, so that it does not keep others waiting.
fn plan_merge(copies: &CopySet, fan_in: usize, free: u64, pace: MergePace) -> Option<MergePlan> {
    let mut runs = Vec::new();
    for NumberedRun { number, run, live, .. } in copies.runs.iter() {
        if let Run::Disk(disk) = run {
            runs.push(PlannedRun { number: *number, run: Arc::clone(disk), live: live.clone() });
        }
    }
    let variant = copies.variant.number;
    let (dead, live): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.live.count() == 0);
    if !dead.is_empty() {
        return Some(MergePlan { variant, inputs: dead });
    }
    let fits = |inputs: &[PlannedRun]| inputs.iter().map(PlannedRun::live_bytes).sum::<u64>() <= free;
    let is_sparse = |run: &PlannedRun| run.live.count() * 2 < run.run.len() as usize;
    if let Some(sparse) = live.iter().find(|run| is_sparse(run) && fits(std::slice::from_ref(run))) {
        return Some(MergePlan { variant, inputs: vec![sparse.clone()] });
    }
    let tier = |run: &DiskRun| (run.bytes().max(SMALLEST_TIER_BYTES) / SMALLEST_TIER_BYTES).ilog(fan_in as u64);
    let of_a_tier = (0..=u64::BITS).find_map(|level| {
        let of_level = live.iter().filter(|run| tier(&run.run) == level);
        let inputs: Vec<_> = of_level.take(fan_in).cloned().collect();
        (inputs.len() == fan_in && fits(&inputs)).then_some(MergePlan { variant, inputs })
    });
    let room = if pace == MergePace::Quiet { free } else { 0 };
    of_a_tier.or_else(|| Some(MergePlan { variant, inputs: smallest_runs(live, room)? }))
}

/// Returns the runs to merge while nothing is written, in their order: all up to a size.
fn smallest_runs(runs: Vec<PlannedRun>, room: u64) -> Option<Vec<PlannedRun>> {
    let largest = largest_to_merge(runs.iter().map(|run| run.run.bytes()).collect(), room)?;
    Some(runs.into_iter().filter(|run| run.run.bytes() <= largest).collect())
}

/// Returns the size of the largest run to merge while nothing is written: with all smaller ones, which together are not
/// smaller. So the run of a document at least doubles each time the document is written again, and afterwards each run
/// is larger than all smaller ones together.
///
/// `room` is the free space of the disk. Half of it is left, since these merges are not necessary.
pub(super) fn largest_to_merge(mut sizes: Vec<u64>, room: u64) -> Option<u64> {
    sizes.sort_unstable();
    let mut smaller = 0;
    let mut largest = None;
    for size in sizes {
        if size <= smaller && smaller + size <= room / 2 {
            largest = Some(size);
        }
        smaller += size;
    }
    largest
}

/// Reads all slot files of an index as if they were one.
fn read_slots(folder: &Path, index: &IndexManifest) -> Result<SlotFile, Error> {
    let mut rows = Vec::new();
    let mut all_locations: Vec<_> = index.runs.iter().map(|(variant, _)| (*variant, Vec::new())).collect();
    for name in &index.slot_files {
        let path = folder.join(&name.name);
        let mut file = SlotFile::read(&path, name.crc)?;
        let is_last = rows.len() + file.rows.len() == index.slots as usize;
        if file.rows.len() != SLOTS && !is_last {
            return Err(Error::corrupt(&path, format!("the file has {} slots, expected {SLOTS}", file.rows.len())));
        }
        rows.append(&mut file.rows);
        for (variant, locations) in &mut all_locations {
            match file.locations.iter_mut().find(|(of, _)| of == variant) {
                Some((_, more)) => locations.append(more),
                None => return Err(Error::corrupt(&path, format!("variant {variant} is missing"))),
            }
        }
    }
    match rows.len() == index.slots as usize {
        true => Ok(SlotFile { rows, locations: all_locations }),
        false => {
            let what = format!("the slot files have {} slots, the manifest says {}", rows.len(), index.slots);
            Err(Error::corrupt(folder, what))
        }
    }
}

fn check_locations(folder: &Path, locations: &[Location], runs: &[LoadedRun]) -> Result<(), Error> {
    for (slot, location) in (0..).zip(locations).filter(|(_, location)| location.is_copy()) {
        let run = runs.iter().find(|run| run.number == location.run).map(|run| &run.run);
        if !run.is_some_and(|run| location.doc < run.len() && run.slot(location.doc) == slot) {
            let Location { run, doc, .. } = location;
            let what = format!("slot {slot} should have its copy in document {doc} of run {run}, but it is not there");
            return Err(Error::corrupt(folder, what));
        }
    }
    Ok(())
}
