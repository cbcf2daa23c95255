//! Removes metadata of WebP.

use super::{Cleaned, Cursor, exif};
use crate::decode::check_size;
use crate::error::MediaError;

const KEPT: &[&[u8; 4]] = &[b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ICCP", b"ANIM", b"ANMF"];

/// Flags of the chunk `VP8X`: the file has EXIF data, or XMP.
const HAS_EXIF: u8 = 0x08;
const HAS_XMP: u8 = 0x04;

pub(crate) fn clean(source: &[u8]) -> Result<Cleaned, MediaError> {
    let mut cursor = Cursor::new(source);
    let header: [u8; 12] = cursor.array()?;
    let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
    // The length counts the four letters `WEBP` too.
    let contents = cursor.take(length.saturating_sub(4))?;
    let mut bytes = header.to_vec();
    let mut rotation = None;
    let mut frames = 0;
    let mut chunks = Cursor::new(contents);
    while chunks.rest().len() >= 8 {
        let start = chunks.position;
        let kind: [u8; 4] = chunks.array()?;
        let length = u32::from_le_bytes(chunks.array()?) as usize;
        let data = chunks.take(length)?;
        // Chunks of an odd length are followed by a byte, which some writers leave out at the end of the file.
        let padding = usize::from(length % 2 == 1).min(chunks.rest().len());
        chunks.take(padding)?;
        // The decoder refuses large sizes too, but without naming the limits.
        if let (b"VP8X", Some(size)) = (&kind, data.get(4..10)) {
            let side = |at: usize| u32::from_le_bytes([size[at], size[at + 1], size[at + 2], 0]) + 1;
            check_size(side(0), side(3))?;
        }
        if kind == *b"EXIF" {
            rotation = rotation.or_else(|| exif::rotation(data));
        }
        frames += u64::from(kind == *b"ANMF");
        if KEPT.contains(&&kind) {
            bytes.extend_from_slice(&contents[start..chunks.position]);
            bytes.resize(bytes.len().next_multiple_of(2), 0);
        }
    }
    finish(&mut bytes, rotation);
    Ok(Cleaned { frames: frames.max(1), scratch: 4, ..Cleaned::still(bytes) })
}

/// Appends the rotation, and corrects the flags and the length.
fn finish(bytes: &mut Vec<u8>, rotation: Option<u8>) {
    // The chunk `VP8X` is the first if it exists. Without it, a file has no metadata.
    let is_extended = bytes.get(12..16) == Some(b"VP8X") && bytes.len() > 20;
    if is_extended {
        bytes[20] &= !(HAS_EXIF | HAS_XMP);
    }
    if let (true, Some(rotation)) = (is_extended, rotation) {
        bytes[20] |= HAS_EXIF;
        let exif = exif::with_rotation(rotation);
        let length = exif.len() as u32;
        bytes.extend_from_slice(b"EXIF");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&exif);
    }
    let length = (bytes.len() - 8) as u32;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
}
