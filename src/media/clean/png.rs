//! Removes metadata of PNG.

use super::{Cleaned, Cursor, exif};
use crate::error::MediaError;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1A\n";

/// The chunks that change how the picture looks.
const KEPT: &[&[u8; 4]] = &[
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"bKGD", b"pHYs",
    b"cICP", b"mDCV", b"cLLI", b"acTL", b"fcTL", b"fdAT",
];

pub(crate) fn clean(source: &[u8]) -> Result<Cleaned, MediaError> {
    let mut cursor = Cursor::new(source);
    let mut bytes = cursor.take(SIGNATURE.len())?.to_vec();
    let mut rotation = None;
    let mut pixels = None;
    let mut frames = 0;
    loop {
        let start = cursor.position;
        let length = u32::from_be_bytes(cursor.array()?) as usize;
        let kind: [u8; 4] = cursor.array()?;
        let contents = cursor.take(length)?;
        cursor.take(4)?;
        if kind == *b"eXIf" {
            rotation = rotation.or_else(|| exif::rotation(contents));
        }
        if kind == *b"IDAT" {
            pixels.get_or_insert(bytes.len());
        }
        frames += u64::from(kind == *b"fcTL");
        if KEPT.contains(&&kind) {
            bytes.extend_from_slice(&source[start..cursor.position]);
        }
        if kind == *b"IEND" {
            // The rotation may have stood behind the pixels. Decoders expect it in front.
            if let (Some(rotation), Some(pixels)) = (rotation, pixels) {
                bytes.splice(pixels..pixels, chunk(b"eXIf", &exif::with_rotation(rotation)));
            }
            return Ok(Cleaned { frames: frames.max(1), ..Cleaned::still(bytes) });
        }
    }
}

/// Returns true if these first bytes of a file announce more than one frame.
pub(super) fn is_animated(head: &[u8]) -> Result<bool, MediaError> {
    let mut cursor = Cursor::new(head);
    cursor.take(SIGNATURE.len())?;
    loop {
        let length = u32::from_be_bytes(cursor.array()?) as usize;
        match &cursor.array()? {
            b"acTL" => return Ok(u32::from_be_bytes(cursor.array()?) > 1),
            // The announcement must stand in front of the pixels.
            b"IDAT" | b"IEND" => return Ok(false),
            _ => cursor.take(length)?,
        };
        cursor.take(4)?;
    }
}

fn chunk(kind: &[u8; 4], contents: &[u8]) -> Vec<u8> {
    let named = [kind.as_slice(), contents].concat();
    [&(contents.len() as u32).to_be_bytes()[..], &named, &crc(&named).to_be_bytes()].concat()
}

/// The checksum of chunks. It is computed for a few bytes only, so a table would not pay off.
fn crc(bytes: &[u8]) -> u32 {
    let sum = bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
    });
    !sum
}
