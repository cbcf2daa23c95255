//! How large the data folder and the process are. Must not know who asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long sizes of folders stand: finding them out reads every name in the data folder, and needs no token.
const SIZES_KEPT: Duration = Duration::from_secs(10);

/// The parts of the data folder whose sizes are told.
pub(crate) const FOLDERS: [&str; 5] = ["log", "store", "base", "index", "analytics"];

/// The sizes that were found last, of which data folder, and when.
static SIZES: Mutex<Option<(PathBuf, Instant, Arc<Sizes>)>> = Mutex::new(None);

/// What the data folder holds.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// In the order of [`FOLDERS`].
    pub(crate) bytes: [u64; FOLDERS.len()],
    /// Parts of indexes on disk.
    pub(crate) runs: u64,
}

/// What Linux says of this process; zeros elsewhere.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) resident_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) threads: u64,
}

impl Sizes {
    /// The sizes, at most [`SIZES_KEPT`] old.
    pub(crate) fn kept(data: &Path) -> Arc<Sizes> {
        let mut kept = SIZES.lock();
        match &*kept {
            Some((of, at, sizes)) if of == data && at.elapsed() < SIZES_KEPT => Arc::clone(sizes),
            _ => {
                let sizes = Arc::new(Sizes::of(data));
                *kept = Some((data.to_owned(), Instant::now(), Arc::clone(&sizes)));
                sizes
            }
        }
    }

    fn of(data: &Path) -> Sizes {
        let folders = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
        };
        // One folder for each index, and in it one for each run.
        let runs = folders(&data.join("index")).iter().map(|index| folders(index).len() as u64).sum();
        Sizes { bytes: FOLDERS.map(|folder| bytes_in(&data.join(folder))), runs }
    }
}

/// The size of all files in a folder. Files that go away meanwhile are not counted.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

impl Process {
    pub(crate) fn of_this() -> Process {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return Process::default() };
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        let open_files = std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
        Process { resident_bytes: number("VmRSS:") * 1024, open_files, threads: number("Threads:") }
    }
}
