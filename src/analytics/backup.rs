//! The analytics in a backup: day files, imports, state and the records of the log, as of one moment. A backup never
//! contains salts. Owns the bytes of this part of a backup.
//!
//! ```text
//! part  magic (8)  format version (4)  items  BLAKE3 of all before (32)
//! item  1 (1)  length of the name (1)  name  length (8)  bytes     a file
//!       2 (1)  number (8)  length (4)  payload                     a log record
//!       0 (1)  files (8)  records (8)                              the end
//! ```
//!
//! All numbers are little-endian. First, the worker links the files into a separate folder, which takes milliseconds
//! and lets nothing change meanwhile. Then they are copied from there: a link keeps the contents of a file that is
//! replaced.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bindery_disk::HashingStream;
use bindery_disk::sync;
use bindery_log::{FollowLog as _, LogReader};
use bindery_model::error::{Error, Result};

use super::checked_file::damaged;
use super::handle::WorkerHandle;
use super::links::{self, RecordRange};
use super::recovery::LOG;
use super::sharing::{Assembly, is_file};
use super::storage_error::StorageError;

const MAGIC: &[u8; 8] = b"bndryana";
const VERSION: u32 = 1;
const HASH_BYTES: u64 = 32;
const END: u8 = 0;
const FILE: u8 = 1;
const RECORD: u8 = 2;

/// The reason why the analytics of a backup cannot be read or restored.
#[derive(Debug, thiserror::Error)]
#[error("the analytics of the backup cannot be restored: {0}")]
pub struct BackupError(String);

/// Writes a backup to a file. Imports and deletions wait only until the files are linked.
pub(super) fn write(worker: &WorkerHandle, file: &Path) -> Result<()> {
    worker.settle()?;
    let links = links::folder(&worker.data.folder).map_err(Error::internal)?;
    let written = worker.link(&links).and_then(|through| {
        let written = write_part(&links, through, file);
        written.map_err(|error| Error::writing(file, &error))
    });
    let _ = fs::remove_dir_all(&links);
    written
}

fn write_part(links: &Path, through: RecordRange, path: &Path) -> Result<(), StorageError> {
    let mut out = HashingStream::new(BufWriter::new(File::create(path)?));
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let (mut count, mut records) = (0u64, 0u64);
    for (name, path) in links::list(links)? {
        let mut file = File::open(&path)?;
        let bytes = file.metadata()?.len();
        out.write_all(&[FILE, name.len() as u8])?;
        out.write_all(name.as_bytes())?;
        out.write_all(&bytes.to_le_bytes())?;
        io::copy(&mut file, &mut out)?;
        count += 1;
    }
    for record in LogReader::of_closed(&links.join(LOG)).read(through.first, through.last)? {
        let (number, payload) = record?;
        out.write_all(&[RECORD])?;
        out.write_all(&number.to_le_bytes())?;
        out.write_all(&(payload.len() as u32).to_le_bytes())?;
        out.write_all(&payload)?;
        records += 1;
    }
    out.write_all(&[END])?;
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&records.to_le_bytes())?;
    let hash = out.hasher.finalize();
    out.inner.write_all(hash.as_bytes())?;
    sync::all(&out.inner.into_inner().map_err(io::IntoInnerError::into_error)?)?;
    Ok(())
}

/// Checks the analytics in a backup, which begin at byte `start`, and restores them into `folder` (that of
/// [`super::AnalyticsOptions`]) if one is given. It must not exist.
///
/// # Errors
/// [`BackupError`]; then nothing is restored.
pub fn restore(backup: &Path, start: u64, folder: Option<&Path>) -> Result<(), BackupError> {
    let fail = |error: StorageError| match error {
        StorageError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            BackupError(format!("{} is cut off", backup.display()))
        }
        error => BackupError(error.to_string()),
    };
    read(backup, start, None).map_err(fail)?;
    let Some(folder) = folder else { return Ok(()) };
    fill(backup, start, folder).map_err(fail)
}

fn fill(backup: &Path, start: u64, folder: &Path) -> Result<(), StorageError> {
    let mut assembly = Assembly::begin(folder)?;
    read(backup, start, Some(&mut assembly))?;
    Ok(assembly.finish()?)
}

/// Reads the whole part, and writes its contents to `to`, if given.
fn read(backup: &Path, start: u64, mut to: Option<&mut Assembly>) -> Result<(), StorageError> {
    let bad = |what: &str| damaged(backup, what);
    let mut file = File::open(backup)?;
    let bytes = file.metadata()?.len();
    let length = bytes.checked_sub(start + HASH_BYTES).ok_or_else(|| bad("its analytics are too short"))?;
    file.seek(SeekFrom::Start(start))?;
    let mut input = HashingStream::new(BufReader::new(file).take(length));
    if input.array::<8>()? != *MAGIC {
        return Err(bad("its analytics do not begin with their signature").into());
    }
    let version = u32::from_le_bytes(input.array()?);
    if version != VERSION {
        return Err(
            bad(&format!("its analytics have format {version}, which this version of the server cannot read")).into()
        );
    }
    let (mut files, mut records) = (0, 0);
    loop {
        match input.array::<1>()?[0] {
            FILE => {
                let [length] = input.array()?;
                let name = String::from_utf8(input.counted(length.into())?).map_err(|_| bad("a name is not text"))?;
                if !is_file(&name) {
                    return Err(bad("it has a file of an unknown kind").into());
                }
                let length = u64::from_le_bytes(input.array()?);
                copy(&mut input, length, to.as_ref().and_then(|to| to.file(&name)))?;
                files += 1;
            }
            RECORD => {
                let number = u64::from_le_bytes(input.array()?);
                let length = u32::from_le_bytes(input.array()?);
                let payload = input.counted(length.into())?;
                if let Some(to) = &mut to {
                    to.record(number, &payload)?;
                }
                records += 1;
            }
            END => break,
            _ => return Err(bad("it has an item of an unknown kind").into()),
        }
    }
    let counts = (u64::from_le_bytes(input.array()?), u64::from_le_bytes(input.array()?));
    if counts != (files, records) || input.inner.limit() > 0 {
        return Err(bad("parts of its analytics are missing").into());
    }
    let mut expected = [0; HASH_BYTES as usize];
    let hash = input.hasher.finalize();
    input.inner.into_inner().read_exact(&mut expected)?;
    if hash != expected { Err(bad("the checksum of its analytics is wrong").into()) } else { Ok(()) }
}

/// Copies this many bytes to a file; without one, only reads them.
fn copy(input: &mut impl Read, length: u64, to: Option<PathBuf>) -> io::Result<()> {
    let mut bytes = input.take(length);
    let copied = match to {
        None => io::copy(&mut bytes, &mut io::sink())?,
        Some(path) => {
            let mut file = File::create(path)?;
            let copied = io::copy(&mut bytes, &mut file)?;
            sync::all(&file)?;
            copied
        }
    };
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
