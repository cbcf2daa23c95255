//! Removes metadata of TIFF, by overwriting it with zeros, so that no offset changes.

use super::Cleaned;
use crate::error::MediaError;

/// Tags whose values are metadata: texts, times, XMP, IPTC, and the settings of Photoshop.
const PRIVATE: &[u16] =
    &[269, 270, 271, 272, 285, 305, 306, 315, 316, 333, 700, 33432, 33723, 34377, 37724, 42016, 50341];
/// Tags that point to directories of metadata: EXIF, GPS, interoperability.
const PRIVATE_DIRECTORIES: &[u16] = &[34665, 34853, 40965];

/// Bounds the directories that are visited, because a hostile file may link them in a circle.
const MAX_DIRECTORIES: usize = 64;

pub(crate) fn clean(source: &[u8]) -> Result<Cleaned, MediaError> {
    let mut tiff = Tiff { is_little: source.starts_with(b"II"), bytes: source.to_vec(), visited: 0, cleared: 0 };
    let mut next = tiff.number(4, 4).ok_or_else(super::cut_off)?;
    let mut frames = 0;
    while next != 0 && tiff.visited < MAX_DIRECTORIES {
        frames += 1;
        next =
            tiff.clean_directory(next, false).ok_or_else(|| MediaError::broken("a directory has no valid position"))?;
    }
    // Pages are no animation.
    Ok(Cleaned { scratch: 8, ..Cleaned::still(tiff.bytes) }).map(|cleaned| Cleaned { frames: frames.min(1), ..cleaned })
}

struct Tiff {
    bytes: Vec<u8>,
    is_little: bool,
    visited: usize,
    /// The number of bytes that were overwritten.
    cleared: usize,
}

impl Tiff {
    fn number(&self, at: usize, length: usize) -> Option<usize> {
        let slice = self.bytes.get(at..at.checked_add(length)?)?;
        let add = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
        Some(if self.is_little { slice.iter().rev().fold(0, add) } else { slice.iter().fold(0, add) })
    }

    /// Cleans a directory, of which all values are metadata if `is_private`. Returns the position of the next.
    fn clean_directory(&mut self, at: usize, is_private: bool) -> Option<usize> {
        self.visited += 1;
        let count = self.number(at, 2)?;
        for number in 0..count {
            let entry = at + 2 + 12 * number;
            let tag = self.number(entry, 2)? as u16;
            if PRIVATE_DIRECTORIES.contains(&tag) && self.visited < MAX_DIRECTORIES {
                let target = self.number(entry + 8, 4)?;
                // A pointer to nowhere harms no reader that this file did not harm already.
                let _ = self.clean_directory(target, true);
                if self.cleared > self.bytes.len() {
                    return None;
                }
            } else if is_private || PRIVATE.contains(&tag) {
                self.clear_value(entry)?;
            }
        }
        self.number(at + 2 + 12 * count, 4)
    }

    /// Overwrites the value of an entry with zeros.
    fn clear_value(&mut self, entry: usize) -> Option<()> {
        let size = match self.number(entry + 2, 2)? {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            5 | 10 | 12 => 8,
            _ => 4,
        };
        let length = size * self.number(entry + 4, 4)?;
        let start = if length <= 4 { entry + 8 } else { self.number(entry + 8, 4)? };
        let end = start.checked_add(length)?.min(self.bytes.len());
        // Values do not overlap in valid files. In others, clearing the same bytes many times would take long.
        self.cleared += end.saturating_sub(start);
        if self.cleared > self.bytes.len() {
            return None;
        }
        if let Some(value) = self.bytes.get_mut(start..end) {
            value.fill(0);
        }
        Some(())
    }
}
