//! Base files: writes, verifies, lists and restores them.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bindery_disk::{KEPT_FREE_BYTES, PacedFile, failure, require_room, sync};
use bindery_log::FollowLog;
use bindery_store::{Assembler, Prefix, Store};

use super::error::{BaseError, at};
use super::format::{Header, Item, Part, Reader, Writer};

/// The folder of the bases, within the data folder.
const FOLDER: &str = "base";
const SUFFIX: &str = ".base";
/// The number of bytes of entries and records after which the room on the disk is checked again.
const CHECKED_BYTES: usize = 8 << 20;
/// The most bytes that an entry takes beside its key and value.
const ENTRY_BYTES: usize = 16;

/// Writes a base to a temporary file, syncs it, and renames it to `path`. Other threads may apply transactions
/// meanwhile, but records applied after this call began must not be removed from the log before it returns.
pub fn write(store: &Store, log: &dyn FollowLog, path: &Path) -> Result<Header, BaseError> {
    write_while(store, log, path, &|| true)
}

/// Like [`write()`]. `is_wanted` is asked often. Once it is false, the call ends with [`BaseError::NotWanted`], and there
/// is no file.
pub fn write_while(
    store: &Store,
    log: &dyn FollowLog,
    path: &Path,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Header, BaseError> {
    let unfinished = path.with_extension("unfinished");
    let written = write_unfinished(store, log, &unfinished, is_wanted);
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    let header = written?;
    rename("base::rename", &unfinished, path)?;
    Ok(header)
}

/// Reads and verifies a complete base.
pub fn verify(path: &Path) -> Result<Header, BaseError> {
    verify_while(path, &|| true)
}

fn verify_while(path: &Path, is_wanted: &dyn Fn() -> bool) -> Result<Header, BaseError> {
    let mut reader = Reader::open(path)?;
    while reader.next()?.is_some() {
        require(is_wanted)?;
    }
    reader.finish()
}

fn require(is_wanted: &dyn Fn() -> bool) -> Result<(), BaseError> {
    if is_wanted() { Ok(()) } else { Err(BaseError::NotWanted) }
}

/// Returns the position of the part of a backup behind the base. Returns `None` if the file contains only a base.
pub fn rest_of(path: &Path) -> Result<Option<u64>, BaseError> {
    let part = Part::find(&mut File::open(path).map_err(at("open", path))?, path)?;
    let end = part.start + part.bytes;
    Ok((part.start > 0 && end < part.file_bytes).then_some(end))
}

/// Restores a base into an empty store. On an error, the store is incomplete and must be discarded.
pub fn restore(path: &Path, store: &Store) -> Result<Header, BaseError> {
    let mut reader = Reader::open(path)?;
    let mut assembler = Assembler::default();
    while let Some(item) = reader.next()? {
        failure::point("base::restore").map_err(at("restore", path))?;
        match item {
            Item::Entry(entry) => store.restore_entry(&entry)?,
            Item::Record { number, payload } => replay(store, &mut assembler, number, &payload)?,
        }
    }
    let header = reader.finish()?;
    store.set_applied(header.number)?;
    Ok(header)
}

/// Writes the next base of a data folder, verifies it, and removes older bases. Afterwards, only the log records after
/// the number of the returned header are needed.
///
/// `is_wanted` is asked often. Once it is false, the call ends with [`BaseError::NotWanted`], and the older bases stay.
pub fn write_next(
    data_folder: &Path,
    store: &Store,
    log: &dyn FollowLog,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Header, BaseError> {
    let folder = data_folder.join(FOLDER);
    fs::create_dir_all(&folder).map_err(at("create", &folder))?;
    sync_folder_of(&folder)?;
    let written = folder.join("next");
    // It is about as large as the base before, or larger.
    let expected = newest(data_folder)?.map_or(0, |(_, bytes)| bytes);
    require_room(&folder, KEPT_FREE_BYTES + expected).map_err(at("write a base in", &folder))?;
    let header = write_while(store, log, &written, is_wanted)?;
    failure::point("base::verify").map_err(at("verify", &written))?;
    if let Err(error) = verify_while(&written, is_wanted) {
        let _ = fs::remove_file(&written);
        return Err(error);
    }
    let path = folder.join(format!("{:020}{SUFFIX}", header.number));
    rename("base::rename_next", &written, &path)?;
    for (number, older) in list(data_folder)? {
        if number < header.number {
            fs::remove_file(&older).map_err(at("remove", &older))?;
        }
    }
    Ok(header)
}

/// Copies a verified base into a data folder and syncs it. If the folder is otherwise empty, the next `recover`
/// starts from that base.
pub fn place(file: &Path, data_folder: &Path, number: u64) -> Result<(), BaseError> {
    let folder = data_folder.join(FOLDER);
    fs::create_dir_all(&folder).map_err(at("create", &folder))?;
    sync_folder_of(&folder)?;
    let unfinished = folder.join("next");
    let mut from = File::open(file).map_err(at("open", file))?;
    let part = Part::find(&mut from, file)?;
    let mut to = PacedFile::new(File::create(&unfinished).map_err(at("create", &unfinished))?);
    failure::point("base::place").map_err(at("copy", file))?;
    io::copy(&mut from.take(part.bytes), &mut to).map_err(at("copy", file))?;
    to.finish().map_err(at("sync", &unfinished))?;
    let path = folder.join(format!("{number:020}{SUFFIX}"));
    rename("base::rename_placed", &unfinished, &path)
}

/// Renames a file; durable on return.
fn rename(step: &'static str, from: &Path, to: &Path) -> Result<(), BaseError> {
    failure::point(step).and_then(|()| fs::rename(from, to)).map_err(at("rename", from))?;
    sync_folder_of(to)
}

/// Replays the transaction that a log record completes, if it completes one.
pub(super) fn replay(store: &Store, assembler: &mut Assembler, number: u64, record: &[u8]) -> Result<(), BaseError> {
    let transaction = assembler.push(number, record).map_err(|source| BaseError::Record { number, source })?;
    if let Some(transaction) = transaction {
        store.replay(transaction.last, &transaction.writes)?;
    }
    Ok(())
}

/// Returns the number and the size of the newest base of a data folder. They decide when the next base is due. The base
/// is not verified.
pub fn newest(data_folder: &Path) -> Result<Option<(u64, u64)>, BaseError> {
    let Some((number, path)) = list(data_folder)?.pop() else { return Ok(None) };
    let bytes = fs::metadata(&path).map_err(at("read", &path))?.len();
    Ok(Some((number, bytes)))
}

/// Returns the numbers and paths of a data folder's bases, oldest first. The next base may be written meanwhile, so
/// whoever needs the number and the file of one takes both from the same list.
pub fn list(data_folder: &Path) -> Result<Vec<(u64, PathBuf)>, BaseError> {
    let folder = data_folder.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(at("read", &folder))?,
    };
    let mut bases = Vec::new();
    for entry in entries {
        let path = entry.map_err(at("read", &folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(number) = name.and_then(|name| name.strip_suffix(SUFFIX)).and_then(|number| number.parse().ok()) {
            bases.push((number, path));
        }
    }
    bases.sort();
    Ok(bases)
}

fn write_unfinished(
    store: &Store,
    log: &dyn FollowLog,
    path: &Path,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Header, BaseError> {
    let started = store.applied();
    let mut room = Room::of(store, path);
    room.take(0)?;
    let mut writer = Writer::create(path)?;
    for entry in store.entries(Prefix::All, None) {
        require(is_wanted)?;
        failure::point("base::write").map_err(at("write", path))?;
        let entry = entry?;
        room.take(entry.key.len() + entry.value.len() + ENTRY_BYTES)?;
        writer.entry(&entry)?;
    }
    // The walk may have seen a part of a transaction: the records must include the whole of it.
    let number = log.end_of_group(store.applied_in_full());
    for record in log.read(started + 1, number)? {
        let (number, payload) = record?;
        room.take(payload.len())?;
        writer.record(number, &payload)?;
    }
    writer.finish(number)
}

/// The room for a file that may be on the disk of the store. Writes are refused with less than what is kept free, so
/// the file is given up when twice as much is left.
struct Room<'a> {
    path: &'a Path,
    /// The folder of the store; `None` if the file is on another disk.
    folder: Option<&'a Path>,
    unchecked: usize,
}

impl<'a> Room<'a> {
    fn of(store: &'a Store, path: &'a Path) -> Room<'a> {
        let disk = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
        let is_same = disk(folder_of(path)) == disk(store.folder());
        // The first bytes are checked at once.
        Room { path, folder: is_same.then(|| store.folder()), unchecked: CHECKED_BYTES }
    }

    /// Fails if too little is left for these and further bytes.
    fn take(&mut self, bytes: usize) -> Result<(), BaseError> {
        self.unchecked += bytes;
        if self.unchecked < CHECKED_BYTES {
            return Ok(());
        }
        self.unchecked = 0;
        self.folder.map_or(Ok(()), |folder| require_room(folder, KEPT_FREE_BYTES)).map_err(at("write", self.path))
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub(super) fn sync_folder_of(path: &Path) -> Result<(), BaseError> {
    let folder = folder_of(path);
    File::open(folder).and_then(|folder| sync::all(&folder)).map_err(at("sync", folder))
}
