//! Removes metadata of GIF.

use super::{Cleaned, Cursor, cut_off};
use crate::error::MediaError;

/// Blocks of applications that stay: the number of repetitions, and the color profile.
const KEPT: &[&[u8]] = &[b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012"];

pub(crate) fn clean(source: &[u8]) -> Result<Cleaned, MediaError> {
    let mut cursor = Cursor::new(source);
    let header = cursor.take(13)?;
    cursor.take(table_bytes(header[10]))?;
    let mut bytes = source[..cursor.position].to_vec();
    let area = |size: &[u8]| {
        u64::from(u16::from_le_bytes([size[0], size[1]])) * u64::from(u16::from_le_bytes([size[2], size[3]]))
    };
    let canvas = area(&header[6..10]).max(1);
    let (mut frames, mut largest) = (0, 0);
    loop {
        let start = cursor.position;
        // Some writers leave out the end mark.
        let is_kept = match cursor.byte().unwrap_or(0x3B) {
            0x21 => skip_extension(&mut cursor)?,
            0x2C => {
                frames += 1;
                largest = area(skip_frame(&mut cursor)?).max(largest);
                true
            }
            0x3B if frames > 0 => {
                bytes.push(0x3B);
                // The decoder has memory for a whole frame, which may be larger than the picture.
                let scratch = 4 * largest.div_ceil(canvas).max(1);
                return Ok(Cleaned { frames, scratch, ..Cleaned::still(bytes) });
            }
            0x3B => return Err(cut_off()),
            _ => return Err(MediaError::broken("a block has an unknown type")),
        };
        if is_kept {
            bytes.extend_from_slice(&source[start..cursor.position]);
        }
    }
}

/// Returns true if a second frame begins in these first bytes of a file, and false if there is none.
pub(super) fn is_animated(head: &[u8]) -> Result<bool, MediaError> {
    let mut cursor = Cursor::new(head);
    let header = cursor.take(13)?;
    cursor.take(table_bytes(header[10]))?;
    let mut has_frame = false;
    loop {
        match cursor.byte()? {
            0x21 => {
                skip_extension(&mut cursor)?;
            }
            0x2C if has_frame => return Ok(true),
            0x2C => {
                skip_frame(&mut cursor)?;
                has_frame = true;
            }
            _ => return Ok(false),
        }
    }
}

/// Skips a frame behind its mark. Returns the bytes of its size.
fn skip_frame<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], MediaError> {
    let descriptor = cursor.take(9)?;
    cursor.take(table_bytes(descriptor[8]))?;
    cursor.take(1)?;
    skip_blocks(cursor)?;
    Ok(&descriptor[4..8])
}

/// The length of a color table, which the flags of its owner define.
fn table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Skips an extension. Returns true if it is not metadata.
fn skip_extension(cursor: &mut Cursor<'_>) -> Result<bool, MediaError> {
    let label = cursor.byte()?;
    let rest = cursor.rest();
    let is_kept = match label {
        0xF9 => true,
        0xFF => KEPT.iter().any(|name| rest.get(1..).is_some_and(|rest| rest.starts_with(name))),
        _ => false,
    };
    skip_blocks(cursor)?;
    Ok(is_kept)
}

fn skip_blocks(cursor: &mut Cursor<'_>) -> Result<(), MediaError> {
    loop {
        let length = cursor.byte()?;
        if length == 0 {
            return Ok(());
        }
        cursor.take(usize::from(length))?;
    }
}
