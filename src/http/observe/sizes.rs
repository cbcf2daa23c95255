//! The sizes of the data folder and the process. Must not know who asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time for which folder sizes are cached: measuring reads every name in the data folder, and requests for it need
/// no token.
const SIZES_KEPT: Duration = Duration::from_secs(10);

/// The parts of the data folder whose sizes are reported.
pub(crate) const FOLDERS: [&str; 5] = ["log", "store", "base", "index", "analytics"];

/// The last measured sizes, with their data folder and time.
static SIZES: Mutex<Option<(PathBuf, Instant, Arc<Sizes>)>> = Mutex::new(None);

/// The sizes of the data folder.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// The bytes of each folder, in the order of [`FOLDERS`].
    pub(crate) bytes: [u64; FOLDERS.len()],
    /// The number of index runs on disk.
    pub(crate) runs: u64,
    /// The bytes of files of media in the data folder.
    pub(crate) media: u64,
    /// The bytes of pictures in other sizes, and of uploads that are under way.
    pub(crate) media_cache: u64,
}

/// The process figures of Linux; zeros on other systems.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) resident_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) threads: u64,
}

impl Sizes {
    /// Returns the sizes, at most [`SIZES_KEPT`] old.
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
        // Each index has a folder, which has a folder for each run.
        let runs = folders(&data.join("index")).iter().map(|index| folders(index).len() as u64).sum();
        let of = |folder: &str| bytes_in(&data.join(folder));
        Sizes {
            bytes: FOLDERS.map(of),
            runs,
            media: of(crate::media::FOLDER),
            media_cache: of(crate::media::CACHE_FOLDER),
        }
    }
}

/// Returns the size of all files in a folder. Files that are deleted meanwhile are not counted.
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
