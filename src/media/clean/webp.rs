//! Removes metadata of WebP.

mod codes;

use super::{Cleaned, Cursor, exif};
use crate::decode::{Stopwatch, check_size};
use crate::error::MediaError;

const KEPT: &[&[u8; 4]] = &[b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ICCP", b"ANIM", b"ANMF"];

/// Flags of the chunk `VP8X`: the file is an animation, or has EXIF data, or XMP.
const IS_ANIMATION: u8 = 0x02;
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
    let (mut canvas, mut is_animation) = (None, false);
    let (mut frames, mut codes) = (0, 0);
    let mut chunks = Cursor::new(contents);
    // Few bytes can stand for millions of blocks, in each of very many chunks.
    let stopwatch = Stopwatch::start();
    while chunks.rest().len() >= 8 {
        stopwatch.check()?;
        let start = chunks.position;
        let (kind, data) = next_chunk(&mut chunks)?;
        match &kind {
            // The decoder goes by the first size.
            b"VP8X" if canvas.is_none() => {
                canvas = Some(size_at(data, 4)?);
                is_animation = data[0] & IS_ANIMATION != 0;
            }
            b"VP8X" => {}
            b"EXIF" => rotation = rotation.or_else(|| exif::rotation(data)),
            // The decoder would take the transparency of a frame for that of the picture, which has another size.
            b"ANMF" if !is_animation => return Err(MediaError::broken("it has frames, but is no animation")),
            b"ANMF" => {
                frames += 1;
                codes = check_frame(data, stopwatch)?.max(codes);
            }
            _ => {
                canvas = check_pixels(&kind, data, canvas)?;
                codes = memory_of_codes(&kind, data, canvas)?.max(codes);
            }
        }
        if KEPT.contains(&&kind) {
            bytes.extend_from_slice(&contents[start..chunks.position]);
            bytes.resize(bytes.len().next_multiple_of(2), 0);
        }
    }
    finish(&mut bytes, rotation);
    let pixels = canvas.map_or(1, |(width, height)| u64::from(width) * u64::from(height));
    Ok(Cleaned { frames: frames.max(1), scratch: 4 + codes / pixels, ..Cleaned::still(bytes) })
}

/// Returns true if a second frame begins in these first bytes of a file, and false if there is none.
pub(super) fn is_animated(head: &[u8]) -> Result<bool, MediaError> {
    let mut cursor = Cursor::new(head);
    let header: [u8; 12] = cursor.array()?;
    let end = 8 + u64::from(u32::from_le_bytes([header[4], header[5], header[6], header[7]]));
    let mut has_frame = false;
    while cursor.position as u64 + 8 <= end {
        let kind: [u8; 4] = cursor.array()?;
        let length = u32::from_le_bytes(cursor.array()?) as usize;
        match &kind {
            b"VP8 " | b"VP8L" => return Ok(false),
            b"ANMF" if has_frame => return Ok(true),
            _ => has_frame |= kind == *b"ANMF",
        }
        cursor.take(length + length % 2)?;
    }
    Ok(false)
}

fn next_chunk<'a>(chunks: &mut Cursor<'a>) -> Result<([u8; 4], &'a [u8]), MediaError> {
    let kind: [u8; 4] = chunks.array()?;
    let length = u32::from_le_bytes(chunks.array()?) as usize;
    let data = chunks.take(length)?;
    // Chunks of an odd length are followed by a byte, which some writers leave out at the end of the file.
    let padding = usize::from(length % 2 == 1).min(chunks.rest().len());
    chunks.take(padding)?;
    Ok((kind, data))
}

/// Reads a width and a height of 24 bits each, and checks their bounds. The decoder refuses large sizes too, but
/// without naming the limits.
fn size_at(data: &[u8], at: usize) -> Result<(u32, u32), MediaError> {
    let size = data.get(at..at + 6).ok_or_else(super::cut_off)?;
    let side = |at: usize| u32::from_le_bytes([size[at], size[at + 1], size[at + 2], 0]) + 1;
    check_size(side(0), side(3))?;
    Ok((side(0), side(3)))
}

/// Returns the bytes that the decoder takes for the codes of a frame.
fn check_frame(data: &[u8], stopwatch: Stopwatch) -> Result<u64, MediaError> {
    let size = Some(size_at(data, 6)?);
    let (mut codes, mut was_transparency) = (0, false);
    let mut chunks = Cursor::new(data.get(16..).unwrap_or_default());
    while chunks.rest().len() >= 8 {
        stopwatch.check()?;
        let (kind, data) = next_chunk(&mut chunks)?;
        // The decoder reads the chunk behind the transparency as `VP8 `, whatever its name is.
        if was_transparency && kind != *b"VP8 " {
            return Err(MediaError::broken("no pixels follow the transparency of a frame"));
        }
        was_transparency = kind == *b"ALPH";
        check_pixels(&kind, data, size)?;
        codes = memory_of_codes(&kind, data, size)?.max(codes);
    }
    Ok(codes)
}

/// Compares the size of pixels with the size that the file claims, because the decoder does so only after decoding
/// them. Returns the size, if it is known by then.
fn check_pixels(kind: &[u8; 4], data: &[u8], claimed: Option<(u32, u32)>) -> Result<Option<(u32, u32)>, MediaError> {
    let number =
        |at: usize| data.get(at..at + 4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let size = match kind {
        b"VP8 " => number(6).map(|sides| (sides & 0x3FFF, sides >> 16 & 0x3FFF)),
        b"VP8L" => number(1).map(|sides| ((sides & 0x3FFF) + 1, (sides >> 14 & 0x3FFF) + 1)),
        _ => return Ok(claimed),
    };
    let (width, height) = size.ok_or_else(super::cut_off)?;
    check_size(width, height)?;
    if claimed.is_some_and(|claimed| claimed != (width, height)) {
        return Err(MediaError::broken("its pixels have another size than it claims"));
    }
    Ok(Some((width, height)))
}

/// Returns the bytes that the decoder takes for the codes of lossless pixels, or of lossless transparency.
fn memory_of_codes(kind: &[u8; 4], data: &[u8], size: Option<(u32, u32)>) -> Result<u64, MediaError> {
    let stream = match kind {
        b"VP8L" => data.get(5..),
        b"ALPH" if data.first().is_some_and(|flags| flags & 3 == 1) => data.get(1..),
        _ => return Ok(0),
    };
    // Transparency without a size is not decoded.
    let Some((width, height)) = size else { return Ok(0) };
    let memory = stream.and_then(|stream| codes::memory(stream, width as usize, height as usize));
    memory.ok_or_else(|| MediaError::broken("the codes of its pixels are invalid"))
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
