//! Removes metadata of TIFF, and positions from raw pictures, by overwriting them with zeros, so that no offset
//! changes. Checks the numbers by which the decoder of TIFF takes memory.

use std::borrow::Cow;
use std::iter::StepBy;
use std::ops::Range;

use super::Cleaned;
use crate::error::MediaError;

/// Ranges of tags that say where the pixels are, how they are stored, and how they look. All others are metadata:
/// texts, times, positions also of maps, XMP, IPTC, and what makers of cameras add.
const KEPT: &[(u16, u16)] = &[
    (254, 259),
    (262, 266),
    (273, 284),
    (290, 293),
    (296, 297),
    (300, 301),
    (317, 325),
    (332, 332),
    (334, 334),
    (336, 336),
    (338, 347),
    (512, 521),
    (529, 532),
    (559, 559),
    (32995, 32998),
    (33421, 33422),
    (34675, 34675),
    (37439, 37439),
    (50674, 50674),
    // The way in which the pixels of a digital negative (DNG) become colors.
    (50706, 50734),
    (50736, 50739),
    (50778, 50781),
    (50829, 50832),
    (50879, 50879),
    (50931, 50942),
    (50964, 50975),
    (50981, 50982),
    (51008, 51009),
    (51022, 51022),
    (51041, 51041),
    (51107, 51125),
    (52525, 52552),
];
/// The tag that points to directories of further pictures, which may have metadata as well.
const SUB_DIRECTORIES: u16 = 330;
/// The tag that points to the directory of a position.
const GPS: u16 = 34853;
/// Tags that point to directories of metadata: EXIF, GPS, interoperability.
const PRIVATE_DIRECTORIES: &[u16] = &[34665, GPS, 40965];
/// Tags of raw pictures that can be removed without harm: XMP, IPTC. What makers of cameras add stays, because it says
/// what the pixels mean.
const PRIVATE_OF_RAW: &[u16] = &[700, 33723];

/// Bounds the directories that are visited, because a hostile file may link them in a circle.
const MAX_DIRECTORIES: usize = 64;
/// The entries of a directory. Only BigTIFF could have more, and no picture does.
const MAX_ENTRIES: usize = 65_535;
/// The values of a list that the decoder reads. It takes some 50 bytes for each. A picture that fits into the memory
/// has fewer strips and tiles.
const MAX_VALUES: usize = 1 << 20;
/// The bytes of one row of a strip or tile, for which the decoder has a buffer.
const MAX_ROW_BYTES: usize = 16 << 20;

const IMAGE_WIDTH: u16 = 256;
const BITS_PER_SAMPLE: u16 = 258;
const COMPRESSION: u16 = 259;
const SAMPLES_PER_PIXEL: u16 = 277;
const TILE_WIDTH: u16 = 322;
/// The compression of strips and tiles that are JPEG files.
const JPEG: usize = 7;

pub(crate) fn clean(source: &[u8]) -> Result<Cleaned, MediaError> {
    let (bytes, frames) = cleaned(source, Scope::Picture)?;
    // Pages are no animation.
    Ok(Cleaned { scratch: 8, frames: frames.min(1), ..Cleaned::still(bytes) })
}

/// Removes the position from a raw picture that is built like a TIFF. A file that this does not understand stays as it
/// is: nothing here decodes it.
pub(crate) fn clean_raw(source: &[u8]) -> Vec<u8> {
    cleaned(source, Scope::Raw).map_or_else(|_| source.to_vec(), |(bytes, _)| bytes)
}

/// The content of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// A picture, of which only the pixels stay.
    Picture,
    /// A raw picture, or its EXIF data.
    Raw,
    /// Nothing but metadata.
    Private,
}

impl Scope {
    fn keeps(self, tag: u16) -> bool {
        match self {
            Scope::Picture => KEPT.iter().any(|(first, last)| (*first..=*last).contains(&tag)),
            Scope::Raw => !PRIVATE_OF_RAW.contains(&tag),
            Scope::Private => false,
        }
    }

    /// Returns what the directories hold that a tag points to.
    fn of_directories(self, tag: u16) -> Option<Scope> {
        match tag {
            SUB_DIRECTORIES => Some(self),
            GPS => Some(Scope::Private),
            tag if !PRIVATE_DIRECTORIES.contains(&tag) => None,
            _ if self == Scope::Raw => Some(Scope::Raw),
            _ => Some(Scope::Private),
        }
    }
}

/// Checks the numbers of the first directory by which the decoder takes memory without asking for its limits. A JPEG in
/// a strip or tile takes as much as its own header says, so none is read.
///
/// # Errors
/// `PictureTooLarge` beyond the bounds; `BrokenPicture` if there is no valid directory, for an entry that the decoder
/// reads in another way, and for JPEG.
pub(crate) fn check(source: &[u8]) -> Result<(), MediaError> {
    let tiff = Tiff::open(source);
    let (entries, _) = tiff.first().and_then(|at| tiff.entries(at)).ok_or_else(no_position)?;
    let (mut width, mut bits, mut samples) = (1, 1, 1);
    // A tag may be repeated. The largest value counts, so it does not matter which one the decoder uses.
    for at in entries {
        let entry = tiff.entry(at).filter(|entry| tiff.is_read_alike(entry)).ok_or_else(no_position)?;
        if is_read_at_once(entry.tag) && entry.count > MAX_VALUES {
            let count = entry.count;
            return Err(MediaError::beyond(format!(
                "a list in it has {count} values; at most {MAX_VALUES} are allowed"
            )));
        }
        let value = tiff.number(entry.start, entry.size).unwrap_or(0);
        match entry.tag {
            IMAGE_WIDTH | TILE_WIDTH => width = value.max(width),
            BITS_PER_SAMPLE => bits = value.max(bits),
            SAMPLES_PER_PIXEL => samples = value.max(samples),
            COMPRESSION if value == JPEG => {
                return Err(MediaError::broken("its pixels are compressed as JPEG, which is not read in a TIFF"));
            }
            _ => {}
        }
    }
    let row = width.saturating_mul(bits).saturating_mul(samples).div_ceil(8);
    if row > MAX_ROW_BYTES {
        let limit = MAX_ROW_BYTES >> 20;
        return Err(MediaError::beyond(format!(
            "a row of its pixels takes {row} bytes; at most {limit} MiB are allowed"
        )));
    }
    Ok(())
}

/// Returns true for tags whose values the decoder reads before the memory of the picture is reserved.
fn is_read_at_once(tag: u16) -> bool {
    matches!(tag, 256..=259 | 262 | 273 | 274 | 277..=279 | 284 | 317 | 322..=325 | 338 | 339 | 530)
}

fn no_position() -> MediaError {
    MediaError::broken("a directory has no valid position")
}

/// Returns the cleaned bytes, and the number of pictures.
fn cleaned(source: &[u8], scope: Scope) -> Result<(Vec<u8>, u64), MediaError> {
    let mut tiff = Tiff::open(source);
    let mut next = tiff.first().ok_or_else(super::cut_off)?;
    let mut frames = 0;
    while next != 0 && tiff.visited < MAX_DIRECTORIES {
        frames += 1;
        next = tiff.clean_directory(next, scope).ok_or_else(no_position)?;
    }
    Ok((tiff.bytes.into_owned(), frames))
}

struct Tiff<'a> {
    bytes: Cow<'a, [u8]>,
    is_little: bool,
    /// The length of the number of entries in a directory.
    count_bytes: usize,
    /// The length of an offset, and of the number of values in an entry.
    offset_bytes: usize,
    visited: usize,
    /// The number of bytes that were overwritten.
    cleared: usize,
}

/// An entry of a directory: where its values are.
struct Entry {
    tag: u16,
    /// The type of the values.
    kind: usize,
    /// The number of values.
    count: usize,
    /// The length of a value.
    size: usize,
    start: usize,
    end: usize,
}

impl<'a> Tiff<'a> {
    fn open(source: &'a [u8]) -> Tiff<'a> {
        let is_little = source.starts_with(b"II");
        let bytes = Cow::Borrowed(source);
        let mut tiff = Tiff { is_little, bytes, count_bytes: 2, offset_bytes: 4, visited: 0, cleared: 0 };
        if tiff.number(2, 2) == Some(43) {
            // BigTIFF has longer numbers, and says so.
            (tiff.count_bytes, tiff.offset_bytes) = (8, 8);
        }
        tiff
    }

    fn number(&self, at: usize, length: usize) -> Option<usize> {
        let slice = self.bytes.get(at..at.checked_add(length)?)?;
        let add = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
        Some(if self.is_little { slice.iter().rev().fold(0, add) } else { slice.iter().fold(0, add) })
    }

    /// Returns the position of the first directory. It stands behind the mark of the format, which is as long as an
    /// offset.
    fn first(&self) -> Option<usize> {
        self.number(self.offset_bytes, self.offset_bytes)
    }

    /// Returns the positions of the entries of a directory, and the position behind them.
    fn entries(&self, at: usize) -> Option<(StepBy<Range<usize>>, usize)> {
        let count = self.number(at, self.count_bytes).filter(|count| *count <= MAX_ENTRIES)?;
        let start = at.checked_add(self.count_bytes)?;
        let length = 4 + 2 * self.offset_bytes;
        let end = start.checked_add(length * count)?;
        Some(((start..end).step_by(length), end))
    }

    /// Cleans a directory. Returns the position of the next.
    fn clean_directory(&mut self, at: usize, scope: Scope) -> Option<usize> {
        self.visited += 1;
        let (entries, end) = self.entries(at)?;
        for at in entries {
            let entry = self.entry(at)?;
            match scope.of_directories(entry.tag) {
                Some(inner) => self.clean_directories(&entry, inner)?,
                None if scope.keeps(entry.tag) => {}
                None => self.clear(entry.start, entry.end)?,
            }
        }
        self.number(end, self.offset_bytes)
    }

    /// Cleans the directories that an entry points to.
    fn clean_directories(&mut self, entry: &Entry, scope: Scope) -> Option<()> {
        for at in (entry.start..entry.end).step_by(self.offset_bytes) {
            if self.visited >= MAX_DIRECTORIES {
                break;
            }
            if let Some(target) = self.number(at, self.offset_bytes) {
                // A pointer to nowhere harms no reader that this file did not harm already.
                let _ = self.clean_directory(target, scope);
            }
        }
        (self.cleared <= self.bytes.len()).then_some(())
    }

    /// Reads the entry at a position.
    fn entry(&self, at: usize) -> Option<Entry> {
        let tag = self.number(at, 2)? as u16;
        let kind = self.number(at + 2, 2)?;
        let count = self.number(at + 4, self.offset_bytes)?;
        let size = match kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            5 | 10 | 12 | 16..=18 => 8,
            _ => 4,
        };
        let length = count.checked_mul(size)?;
        let value = at + 4 + self.offset_bytes;
        let start = if length <= self.offset_bytes { value } else { self.number(value, self.offset_bytes)? };
        Some(Entry { tag, kind, count, size, start, end: start.checked_add(length)?.min(self.bytes.len()) })
    }

    /// Returns false for an entry of BigTIFF with an unknown type: the decoder skips fewer bytes than it has, and finds
    /// other entries behind it than this.
    fn is_read_alike(&self, entry: &Entry) -> bool {
        self.offset_bytes == 4 || matches!(entry.kind, 1..=13 | 16..=18)
    }

    /// Overwrites bytes with zeros.
    fn clear(&mut self, start: usize, end: usize) -> Option<()> {
        // Values do not overlap in valid files. In others, clearing the same bytes many times would take long.
        self.cleared += end.saturating_sub(start);
        if self.cleared > self.bytes.len() {
            return None;
        }
        if let Some(value) = self.bytes.to_mut().get_mut(start..end) {
            value.fill(0);
        }
        Some(())
    }
}
