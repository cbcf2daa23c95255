//! The facts about the machine that a reader of figures must know.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::Result;

/// The number of times that a block is written and synced to measure the disk.
const SYNCS: u32 = 100;

/// Returns one line on processors, memory and disk.
pub(crate) fn machine(folder: &Path) -> Result<String> {
    let cores = thread::available_parallelism()?;
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processors.lines().find_map(|line| line.strip_prefix("model name"));
    let processor = processor.map_or("unknown", |name| name.trim_matches([' ', '\t', ':']));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory: Option<u64> = memory.split_whitespace().nth(1).and_then(|kib| kib.parse().ok());
    let gib = memory.unwrap_or(0) as f64 / 1024.0 / 1024.0;
    // Other work on the machine makes every figure worse, so it is shown.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");
    let sync = sync_millis(folder)?;
    Ok(format!(
        "{cores} cores ({processor}), {gib:.0} GiB of memory, {sync:.2} ms for a synced write, load average {load} at the \
         start"
    ))
}

/// Measures the time of a synced write, in milliseconds. A durable write cannot be faster.
fn sync_millis(folder: &Path) -> Result<f64> {
    let path = folder.join("sync");
    let mut file = File::create(&path)?;
    let started = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
    }
    let millis = started.elapsed().as_secs_f64() * 1e3 / f64::from(SYNCS);
    fs::remove_file(path)?;
    Ok(millis)
}
