//! A disk whose power can be cut: a real ext4 or xfs on a loop device over a FUSE file that forgets writes that were
//! not flushed.
//!
//! The FUSE program comes with the shared material (`crash/crashdisk.c` beside the folder that `BINDERY_TEST_DATA`
//! names) and is compiled here. Needs root, loop devices, `/dev/fuse`, a C compiler and libfuse3.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MIB: &str = "1024";

/// The programs that the tests need, compiled into a folder of their own.
pub(super) struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    /// Builds the programs. `Err` names the missing part.
    pub(super) fn build() -> Result<Programs, String> {
        let data = std::env::var_os("BINDERY_TEST_DATA").ok_or("BINDERY_TEST_DATA is not set")?;
        let source = Path::new(&data).with_file_name("crash").join("crashdisk.c");
        if !source.exists() {
            return Err(format!("{} does not exist", source.display()));
        }
        if !Path::new("/dev/fuse").exists() || !Path::new("/dev/loop-control").exists() {
            return Err("this machine has no FUSE or no loop devices".to_owned());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let flags = output(Command::new("pkg-config").args(["--cflags", "--libs", "fuse3"]))?;
        output(
            Command::new("gcc")
                .args(["-O2", "-o"])
                .arg(folder.path().join("crashdisk"))
                .arg(&source)
                .args(flags.split_whitespace()),
        )?;
        let preload = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/power/no_sync.c");
        let library = folder.path().join("no_sync.so");
        output(Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(preload))?;
        let programs = Programs { folder };
        // This is a trial: some machines have the devices, but do not let them be used.
        drop(Disk::new(&programs, "ext4")?);
        Ok(programs)
    }

    /// Returns a library that makes every sync do nothing, for `LD_PRELOAD`.
    pub(super) fn no_sync(&self) -> PathBuf {
        self.folder.path().join("no_sync.so")
    }
}

/// A new disk with an empty file system. Unmounted when dropped.
pub(super) struct Disk {
    folder: tempfile::TempDir,
    process: Child,
    mounted: Option<Mounted>,
}

impl Disk {
    pub(super) fn new(programs: &Programs, system: &str) -> Result<Disk, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let fuse = folder.path().join("fuse");
        fs::create_dir(&fuse).map_err(|error| error.to_string())?;
        let process = Command::new(programs.folder.path().join("crashdisk"))
            .arg(folder.path().join("backing"))
            .arg(MIB)
            .arg(&fuse)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut disk = Disk { folder, process, mounted: None };
        let file = fuse.join("disk");
        let start = Instant::now();
        while !file.exists() {
            if start.elapsed() > Duration::from_secs(10) {
                return Err("the FUSE file system does not start".to_owned());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        disk.mounted = Some(Mounted::new(&file, system, true, disk.folder.path().join("mount"))?);
        Ok(disk)
    }

    /// Returns the path of its file system.
    pub(super) fn path(&self) -> &Path {
        &self.mounted.as_ref().expect("mounted by `new`").path
    }

    /// Writes the image that a power cut at this moment would leave. The policy says which of the writes that were not
    /// flushed have reached the disk: `none`, `all`, `prefix`, `blocks` or `sectors`.
    pub(super) fn cut(&self, image: &Path, policy: &str, seed: u64) {
        self.control(&format!("snap {} {policy} {seed} 0.5", image.display()));
    }

    /// Makes the next flush fail. As on a real disk, the system then treats lost writes as written.
    pub(super) fn fail_next_flush(&self) {
        self.control("fio 1");
    }

    fn control(&self, line: &str) {
        let file = fs::OpenOptions::new().write(true).open(self.folder.path().join("fuse/ctl"));
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.mounted = None;
        let _ = Command::new("fusermount3").arg("-u").arg(self.folder.path().join("fuse")).output();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A file system on a loop device over a file: a disk, or an image of one. Unmounted when dropped.
pub(super) struct Mounted {
    device: String,
    pub(super) path: PathBuf,
}

impl Mounted {
    /// Mounts the file system in an image.
    pub(super) fn image(image: &Path, system: &str) -> Result<Mounted, String> {
        Mounted::new(image, system, false, image.with_extension("mount"))
    }

    fn new(file: &Path, system: &str, format: bool, path: PathBuf) -> Result<Mounted, String> {
        fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        let device = output(Command::new("losetup").args(["-f", "--show"]).arg(file))?.trim().to_owned();
        let mounted = Mounted { device, path };
        if format {
            let quiet: &[&str] = match system {
                "ext4" => &["-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
                _ => &["-q", "-K"],
            };
            output(Command::new(format!("mkfs.{system}")).args(quiet).arg(&mounted.device))?;
        }
        output(Command::new("mount").args(["-t", system]).arg(&mounted.device).arg(&mounted.path))?;
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for _ in 0..100 {
            match Command::new("umount").arg(&self.path).output() {
                Ok(out) if !out.status.success() && String::from_utf8_lossy(&out.stderr).contains("busy") => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                _ => break,
            }
        }
        let _ = Command::new("losetup").arg("-d").arg(&self.device).output();
    }
}

/// Runs a command and returns its output. `Err` contains its error message.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|error| format!("{name}: {error}"))?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&out.stderr).trim())),
    }
}
