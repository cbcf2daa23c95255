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
        // The rotation must stand in front of the pixels.
        if kind == *b"IDAT"
            && let Some(rotation) = rotation.take()
        {
            push_chunk(&mut bytes, b"eXIf", &exif::with_rotation(rotation));
        }
        frames += u64::from(kind == *b"fcTL");
        if KEPT.contains(&&kind) {
            bytes.extend_from_slice(&source[start..cursor.position]);
        }
        if kind == *b"IEND" {
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

fn push_chunk(bytes: &mut Vec<u8>, kind: &[u8; 4], contents: &[u8]) {
    let length = contents.len() as u32;
    bytes.extend_from_slice(&length.to_be_bytes());
    let start = bytes.len();
    bytes.extend_from_slice(kind);
    bytes.extend_from_slice(contents);
    let checksum = crc(&bytes[start..]);
    bytes.extend_from_slice(&checksum.to_be_bytes());
}

/// The checksum of chunks. It is computed for a few bytes only, so a table would not pay off.
fn crc(bytes: &[u8]) -> u32 {
    let sum = bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
    });
    !sum
}
