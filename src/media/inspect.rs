//! Checks an uploaded file by its type, and removes the metadata of pictures and films.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::clean::{self, Cleaned, Container, InPlace};
use crate::decode::{self, MAX_FILE_BYTES, Raster};
use crate::error::{MediaError, io_error};
use crate::files::{Files, blocking};
use crate::hash::Hash;
use crate::pixels;
use crate::render;
use crate::size;
use crate::svg;
use crate::upload::{Picture, Received, TemporaryFile};
use crate::workers::{Class, Memory};

/// The metadata of AVIF and HEIC stands in front. Files beyond this length are stored as they are.
const MAX_HEIF_BYTES: u64 = 128 * 1024 * 1024;

/// A checked file, ready to be published.
pub(crate) struct Inspected {
    pub(crate) file: TemporaryFile,
    pub(crate) hash: Hash,
    pub(crate) bytes: u64,
    pub(crate) picture: Option<Picture>,
}

/// Checks a file. Pictures are cleaned, and decoded once, on a thread for pictures.
pub(crate) async fn inspect(files: &Files, received: Received, mime: &'static str) -> Result<Inspected, MediaError> {
    let folder = files.temporary().to_owned();
    let check: Check = match (mime, Raster::of(mime)) {
        (_, Some(kind)) => Box::new(move |memory, received| inspect_raster(memory, received, kind, folder)),
        ("image/svg+xml", _) => Box::new(inspect_svg),
        ("image/avif" | "image/heic" | "image/heif", _) => {
            Box::new(move |memory, received| inspect_heif(memory, received, folder))
        }
        ("image/x-canon-cr2", _) => Box::new(move |memory, received| inspect_raw(memory, received, folder)),
        ("video/mp4" | "video/quicktime" | "video/3gpp", _) => {
            return blocking(move || clean_in_place(received, Container::Video)).await;
        }
        ("audio/mp4", _) => return blocking(move || clean_in_place(received, Container::Audio)).await,
        ("image/bmp", _) => {
            let cut_off = || MediaError::broken("the file ends before the picture does");
            let (size, least) = size::of_bmp(&received.head).ok_or_else(cut_off)?;
            let picture = picture_of_pixels(Some(size))?;
            return if received.bytes < least { Err(cut_off()) } else { Ok(unchanged(received, picture)) };
        }
        ("image/x-icon", _) => {
            let picture = picture_of_pixels(size::of_icon(&received.head))?;
            return Ok(unchanged(received, picture));
        }
        _ => return Ok(unchanged(received, None)),
    };
    files.workers().run(Class::Upload, move |memory| check(memory, received)).await
}

type Check = Box<dyn FnOnce(&Memory, Received) -> Result<Inspected, MediaError> + Send>;

fn inspect_raster(memory: &Memory, received: Received, kind: Raster, folder: PathBuf) -> Result<Inspected, MediaError> {
    // Until the size is known, the file and its clean copy are all that is in memory.
    let reservation = memory.reserve(2 * received.bytes.min(MAX_FILE_BYTES))?;
    let source = read(&received, MAX_FILE_BYTES)?;
    let Cleaned { bytes, frames, scans, scratch } = clean(kind, &source)?;
    let is_unchanged = source == bytes;
    drop(source);
    let header = decode::header(kind, &bytes, scratch)?;
    decode::check_repetitions(&header, frames, scans)?;
    // Waiting for more memory while some is reserved could wait forever.
    drop(reservation);
    let (decoded, reservation) = decode::decode(kind, &bytes, &header, memory)?;
    let placeholder = Some(pixels::placeholder(&decoded)?);
    drop((decoded, reservation));
    if frames > 1 {
        render::check_animation(memory, kind, &bytes, &header, frames)?;
    }
    let (width, height) = header.shown();
    let picture = Some(Picture { width, height, placeholder, is_animated: frames > 1 });
    if is_unchanged { Ok(unchanged(received, picture)) } else { changed(&folder, &bytes, picture) }
}

fn clean(kind: Raster, source: &[u8]) -> Result<Cleaned, MediaError> {
    match kind {
        Raster::Jpeg => clean::clean_jpeg(source),
        Raster::Png => clean::clean_png(source),
        Raster::Gif => clean::clean_gif(source),
        Raster::Webp => clean::clean_webp(source),
        Raster::Tiff => clean::clean_tiff(source),
    }
}

fn inspect_svg(memory: &Memory, received: Received) -> Result<Inspected, MediaError> {
    let _reservation = memory.reserve(svg::MAX_BYTES)?;
    let source = read(&received, svg::MAX_BYTES)?;
    let size = svg::check(&source)?;
    Ok(unchanged(received, size.map(picture_of_size)))
}

fn inspect_heif(memory: &Memory, received: Received, folder: PathBuf) -> Result<Inspected, MediaError> {
    let _reservation = memory.reserve((2 * received.bytes).min(2 * MAX_HEIF_BYTES))?;
    let source = read(&received, MAX_HEIF_BYTES)?;
    let picture = picture_of_pixels(clean::size_of_heif(&source))?;
    let bytes = clean::clean_heif(&source)?;
    if bytes == source { Ok(unchanged(received, picture)) } else { changed(&folder, &bytes, picture) }
}

fn inspect_raw(memory: &Memory, received: Received, folder: PathBuf) -> Result<Inspected, MediaError> {
    let _reservation = memory.reserve(2 * received.bytes.min(MAX_FILE_BYTES))?;
    let source = read(&received, MAX_FILE_BYTES)?;
    let bytes = clean::clean_raw(&source);
    if bytes == source { Ok(unchanged(received, None)) } else { changed(&folder, &bytes, None) }
}

/// Cleans a file that may be too large for the memory.
fn clean_in_place(received: Received, container: Container) -> Result<Inspected, MediaError> {
    let mut file = received.file.file();
    let InPlace { is_changed, bytes, .. } =
        clean::clean_boxes(&mut file, container).map_err(io_error("clean", received.file.path()))?;
    if !is_changed {
        return Ok(unchanged(received, None));
    }
    let mut hasher = blake3::Hasher::new();
    let mut hash = || -> io::Result<()> {
        file.set_len(bytes)?;
        file.seek(SeekFrom::Start(0))?;
        hasher.update_reader(file).map(drop)
    };
    hash().map_err(io_error("clean", received.file.path()))?;
    Ok(Inspected { hash: hasher.finalize().into(), file: received.file, bytes, picture: None })
}

/// A picture that is not decoded, but has so many pixels that a browser would have to.
fn picture_of_pixels(size: Option<(u32, u32)>) -> Result<Option<Picture>, MediaError> {
    size.map(|(width, height)| decode::check_size(width, height)).transpose()?;
    Ok(size.map(picture_of_size))
}

/// A picture that is not decoded.
fn picture_of_size((width, height): (u32, u32)) -> Picture {
    Picture { width, height, placeholder: None, is_animated: false }
}

/// Reads a whole file, unless it is longer than a picture of its kind may be.
fn read(received: &Received, max_bytes: u64) -> Result<Vec<u8>, MediaError> {
    if received.bytes > max_bytes {
        let limit = max_bytes >> 20;
        return Err(MediaError::beyond(format!(
            "the file has {} bytes; at most {limit} MiB are allowed",
            received.bytes
        )));
    }
    let mut file = received.file.file();
    let mut bytes = Vec::with_capacity(received.bytes as usize);
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    read.map_err(io_error("read", received.file.path()))?;
    Ok(bytes)
}

fn unchanged(received: Received, picture: Option<Picture>) -> Inspected {
    let hash = received.hasher.finalize().into();
    Inspected { file: received.file, hash, bytes: received.bytes, picture }
}

/// Writes the cleaned file. The received file is removed when it is dropped.
fn changed(folder: &std::path::Path, bytes: &[u8], picture: Option<Picture>) -> Result<Inspected, MediaError> {
    let mut file = TemporaryFile::create(folder)?;
    let written = file.write_all(bytes);
    written.map_err(io_error("write", file.path()))?;
    Ok(Inspected { file, hash: Hash::of(bytes), bytes: bytes.len() as u64, picture })
}
