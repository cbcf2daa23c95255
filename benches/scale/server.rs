//! A measured server: a process of the real binary, its memory and its data folder. Knows nothing of requests except
//! those of readiness.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Result;
use crate::client::TOKEN;

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The time from the start of the process until it was ready.
    pub(crate) ready_after: Duration,
    folder: PathBuf,
    process: Child,
}

impl Server {
    /// Starts Bindery and waits until it is ready.
    pub(crate) fn start(binary: &Path, folder: &Path) -> Result<Self> {
        Self::launch(binary, folder, "BINDERY_", "/readyz", |command, address| {
            command.arg("serve").arg("--data").arg(folder).args(["--listen", address, "--log-filter", "warn"]);
            command.env("BINDERY_ADMIN_TOKEN", TOKEN);
        })
    }

    /// Starts a server on a free port and waits until it answers the path `ready` with 200. Variables of the
    /// environment with the prefix are kept from it, because they would be settings.
    pub(crate) fn launch(
        binary: &Path,
        folder: &Path,
        prefix: &str,
        ready: &str,
        arguments: impl FnOnce(&mut Command, &str),
    ) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let log = File::options().create(true).append(true).open(folder.with_extension("log"))?;
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
        arguments(&mut command, &address.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let started = Instant::now();
        let process = command.spawn().map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut server = Server { address, ready_after: Duration::ZERO, folder: folder.to_owned(), process };
        while !is_ready(address, ready) {
            if server.process.try_wait()?.is_some() || started.elapsed() > Duration::from_secs(900) {
                let log = fs::read_to_string(folder.with_extension("log"))?;
                return Err(format!("{} did not become ready: {log}", binary.display()).into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        server.ready_after = started.elapsed();
        Ok(server)
    }

    /// Kills the process without warning.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Kills the process and removes its data folder.
    pub(crate) fn discard(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        fs::remove_dir_all(&self.folder)?;
        Ok(())
    }

    /// Waits until the server has been idle for some seconds: it neither used the processor nor changed its folder.
    /// Returns the duration of the wait.
    pub(crate) fn settle(&self, seconds: usize) -> Result<Duration> {
        let started = Instant::now();
        let mut before = (self.ticks()?, self.disk()?);
        let mut quiet = 0;
        while quiet < seconds && started.elapsed() < Duration::from_secs(300) {
            thread::sleep(Duration::from_secs(1));
            let now = (self.ticks()?, self.disk()?);
            // Two ticks are a fiftieth of a second.
            quiet = if now.0 <= before.0 + 2 && now.1 == before.1 { quiet + 1 } else { 0 };
            before = now;
        }
        Ok(started.elapsed())
    }

    /// Returns the processor time that was used, in hundredths of a second.
    fn ticks(&self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // The name of the process, in parentheses, may contain spaces.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Ok(field(11) + field(12))
    }

    /// Returns the size of each file and folder in the data folder on disk, in bytes, by name.
    pub(crate) fn disk(&self) -> Result<Vec<(String, u64)>> {
        let mut parts = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            parts.push((entry.file_name().to_string_lossy().into_owned(), bytes_below(&entry.path())));
        }
        parts.sort();
        parts.retain(|(_, bytes)| *bytes > 0);
        Ok(parts)
    }

    /// Returns the memory of the process now.
    pub(crate) fn memory(&self) -> Result<Memory> {
        let process = self.process.id();
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        let anonymous = field(&rollup, "Anonymous:").or_else(|| field(&status, "RssAnon:"));
        Ok(Memory { resident: field(&status, "VmRSS:").unwrap_or(0), anonymous: anonymous.unwrap_or(0) })
    }

    /// Watches the memory until the watch is stopped.
    pub(crate) fn watch(&self) -> Watch {
        let peaks = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let stop = Arc::new(AtomicBool::new(false));
        let (path, seen, stopped) = (format!("/proc/{}/status", self.process.id()), peaks.clone(), stop.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let status = fs::read_to_string(&path).unwrap_or_default();
                seen.0.fetch_max(field(&status, "VmRSS:").unwrap_or(0), Ordering::Relaxed);
                seen.1.fetch_max(field(&status, "RssAnon:").unwrap_or(0), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(50));
            }
        });
        Watch { peaks, stop, thread }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Memory in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) anonymous: u64,
}

/// The watch that reads the memory of the server many times a second.
pub(crate) struct Watch {
    peaks: Arc<(AtomicU64, AtomicU64)>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Stops the watch. Returns the greatest values.
    pub(crate) fn stop(self) -> Memory {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        let (resident, anonymous) = (self.peaks.0.load(Ordering::Relaxed), self.peaks.1.load(Ordering::Relaxed));
        Memory { resident, anonymous }
    }
}

/// Returns a field of a file in `/proc`, converted from KiB to bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Returns the size of all files below a folder. Files may disappear while they are counted.
fn bytes_below(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.blocks() * 512;
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes_below(&entry.path())).sum()
}

fn is_ready(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer.ends_with(b"200"))
    };
    ask().unwrap_or(false)
}
