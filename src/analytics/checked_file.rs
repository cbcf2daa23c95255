//! Small files that are replaced as a whole: a value as JSON after a line with its format and checksum. Also classifies
//! errors as damage or not. It does not know the values.

use bindery_disk::sync;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

/// The format of all these files, which every later version reads. The previous format, which was never released, had
/// no first line.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    blake3: String,
}

/// Replaces a file. On return it is on disk.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(value)?;
    let head = Head { version: VERSION, blake3: blake3::hash(&body).to_hex().to_string() };
    let unfinished = path.with_extension("unfinished");
    let mut file = File::create(&unfinished)?;
    file.write_all(&[serde_json::to_vec(&head)?, body].join(&b'\n'))?;
    sync::all(&file)?;
    fs::rename(&unfinished, path)?;
    sync_folder_of(path)
}

/// Reads a file; `None` if there is none.
///
/// Errors: use [`is_damage`] to recognize damage.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let head = match serde_json::from_slice::<Head>(&bytes[..end]) {
        Ok(head) if head.version != VERSION => return Err(of_another_version(path, head.version)),
        Ok(head) => head,
        Err(_) if serde_json::from_slice::<IgnoredAny>(&bytes).is_ok() => return Err(of_another_version(path, 1)),
        Err(error) => return Err(damaged(path, &error.to_string())),
    };
    let body = bytes.get(end + 1..).unwrap_or_default();
    if blake3::hash(body).to_hex().as_str() != head.blake3 {
        return Err(damaged(path, "its checksum is wrong"));
    }
    serde_json::from_slice(body).map(Some).map_err(|error| damaged(path, &error.to_string()))
}

/// Makes a created, renamed or removed file durable.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| sync::all(&File::open(folder)?))
}

/// Returns the error for a file in the format of another version of the server. It is not damage: such a file must not
/// be moved aside or replaced.
pub(super) fn of_another_version(path: &Path, format: u32) -> io::Error {
    let what = format!("{} has format {format}, which this version of the server cannot read", path.display());
    io::Error::new(ErrorKind::Unsupported, what)
}

/// Returns the error for a file that does not have the contents that were written.
pub(super) fn damaged(path: &Path, what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

/// Returns whether an error means that written data is lost, and not only that it cannot be read at the moment.
pub(super) fn is_damage(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound | ErrorKind::UnexpectedEof)
        || error.raw_os_error() == Some(EIO)
}
