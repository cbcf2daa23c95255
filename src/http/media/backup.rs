//! The files of media in one stream, for a backup (`API.md` 4.14).
//!
//! ```text
//! "BNDMEDIA"  version (4 bytes)
//! for each file: 1  its hash (32 bytes)  its length (8 bytes)  its bytes
//! 0  the number of files (8 bytes)
//! ```
//!
//! Numbers are little-endian. A stream without its end is incomplete. The bytes of a file need no other checksum than
//! its hash.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_media::{Files, Hash, MediaError};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};

const MAGIC: &[u8; 8] = b"BNDMEDIA";
const VERSION: u32 = 1;
const FILE: u8 = 1;
const END: u8 = 0;
/// The size of the pieces in which files are read.
const PIECE_BYTES: usize = 256 << 10;

/// Returns all files as a stream. A file that was removed meanwhile is left out: nothing names it any more.
pub fn media_backup(files: Files) -> BoxStream<'static, Result<Bytes, MediaError>> {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let head = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
    let entries = files.list().then(move |listed| {
        let files = files.clone();
        async move {
            let hash = listed?.hash;
            Ok::<_, MediaError>(files.read(&hash, None).await?.map(|file| (hash, file)))
        }
    });
    let entries = entries.flat_map(move |found| match found {
        Ok(None) => stream::empty().boxed(),
        Ok(Some((hash, file))) => {
            counted.fetch_add(1, Ordering::Relaxed);
            let head = [&[FILE][..], hash.as_bytes(), &file.bytes.to_le_bytes()].concat();
            stream::iter([Ok(Bytes::from(head))]).chain(file.body).boxed()
        }
        Err(error) => stream::iter([Err(error)]).boxed(),
    });
    let end = async move {
        let count = count.load(Ordering::Relaxed);
        Ok(Bytes::from([&[END][..], &count.to_le_bytes()].concat()))
    };
    stream::iter([Ok(Bytes::from(head))]).chain(entries).chain(end.into_stream()).boxed()
}

/// Reads such a stream. Without `files` it only checks that it is complete. Returns the number of files.
///
/// # Errors
/// A text that says what is wrong with it, or with the place of the files.
pub async fn restore_media(input: &mut (dyn Read + Send), files: Option<&Files>) -> Result<u64, String> {
    let cut_off = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "the part with the media is cut off".to_owned(),
        _ => format!("the part with the media cannot be read: {error}"),
    };
    let mut head = [0; 12];
    input.read_exact(&mut head).map_err(cut_off)?;
    if head[..8] != *MAGIC || head[8..] != VERSION.to_le_bytes() {
        return Err("the part with the media has a form that this version cannot read".to_owned());
    }
    let mut count = 0;
    loop {
        let mut kind = [0; 1];
        input.read_exact(&mut kind).map_err(cut_off)?;
        match kind {
            [FILE] => {}
            [END] => break,
            _ => return Err("the part with the media is damaged".to_owned()),
        }
        let (mut hash, mut length) = ([0; 32], [0; 8]);
        input.read_exact(&mut hash).map_err(cut_off)?;
        input.read_exact(&mut length).map_err(cut_off)?;
        let (hash, mut left) = (Hash::from(hash), u64::from_le_bytes(length));
        let mut hasher = blake3::Hasher::new();
        let mut failed = None;
        let pieces = std::iter::from_fn(|| {
            let bytes = left.min(PIECE_BYTES as u64) as usize;
            if bytes == 0 {
                return None;
            }
            let mut piece = vec![0; bytes];
            if let Err(error) = input.read_exact(&mut piece) {
                failed = Some(error);
                return None;
            }
            left -= bytes as u64;
            hasher.update(&piece);
            Some(Ok(Bytes::from(piece)))
        });
        let stored = match files {
            Some(files) => files.put_stream(&hash, stream::iter(pieces)).await.map_err(|error| error.to_string()),
            None => {
                pieces.for_each(drop);
                Ok(())
            }
        };
        if let Some(error) = failed {
            return Err(cut_off(error));
        }
        stored?;
        if Hash::from(hasher.finalize()) != hash {
            return Err(format!("the file {hash} in the part with the media is damaged"));
        }
        count += 1;
    }
    let mut expected = [0; 8];
    input.read_exact(&mut expected).map_err(cut_off)?;
    match u64::from_le_bytes(expected) == count {
        true => Ok(count),
        false => Err("the part with the media is damaged".to_owned()),
    }
}
