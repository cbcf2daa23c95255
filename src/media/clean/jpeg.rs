//! Removes metadata of JPEG.

use super::{Cleaned, Cursor, cut_off, exif};
use crate::error::MediaError;

const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;

/// The length of a JFIF segment's contents without a thumbnail.
const JFIF_BYTES: usize = 14;

pub(crate) fn clean(source: &[u8]) -> Result<Cleaned, MediaError> {
    let mut cursor = Cursor::new(source);
    cursor.take(2)?;
    let mut picture = Jpeg::default();
    loop {
        let marker = next_marker(&mut cursor)?;
        match marker {
            EOI => return picture.finish(),
            0x01 | 0xD0..=0xD8 => continue,
            _ => {}
        }
        let length = usize::from(u16::from_be_bytes(cursor.array()?)).checked_sub(2);
        let contents = cursor.take(length.ok_or_else(|| MediaError::broken("a segment has an invalid length"))?)?;
        picture.add(marker, contents);
        if marker == SOS {
            let length = scan_length(cursor.rest())?;
            picture.body.extend_from_slice(cursor.take(length)?);
        }
    }
}

/// Returns the bytes for each pixel that a decoder needs beside its result.
pub(crate) fn scratch(source: &[u8]) -> u64 {
    let find = || -> Result<u64, MediaError> {
        let mut cursor = Cursor::new(source);
        cursor.take(2)?;
        loop {
            let marker = next_marker(&mut cursor)?;
            let length = usize::from(u16::from_be_bytes(cursor.array()?)).saturating_sub(2);
            let contents = cursor.take(length)?;
            match marker {
                SOS => return Ok(0),
                marker if is_progressive(marker) => return Ok(coefficient_bytes(contents)),
                _ => {}
            }
        }
    };
    find().unwrap_or_default()
}

/// The parts of a JPEG that stay.
#[derive(Default)]
struct Jpeg {
    /// The JFIF segment, which must be the first.
    jfif: Vec<u8>,
    rotation: Option<u8>,
    body: Vec<u8>,
    scans: u64,
    scratch: u64,
}

impl Jpeg {
    fn add(&mut self, marker: u8, contents: &[u8]) {
        match marker {
            0xE0 if contents.starts_with(b"JFIF\0") && contents.len() >= JFIF_BYTES => {
                let mut jfif = contents[..JFIF_BYTES].to_vec();
                jfif[JFIF_BYTES - 2..].fill(0);
                self.jfif.clear();
                push_segment(&mut self.jfif, marker, &jfif);
            }
            0xE1 => self.rotation = self.rotation.or_else(|| exif::rotation(contents)),
            0xE2 if contents.starts_with(b"ICC_PROFILE\0") => push_segment(&mut self.body, marker, contents),
            // Says how the colors are stored.
            0xEE if contents.starts_with(b"Adobe") => push_segment(&mut self.body, marker, contents),
            SOS => {
                self.scans += 1;
                push_segment(&mut self.body, marker, contents);
            }
            0xC0..=0xCF | 0xDB..=0xDF => {
                if is_progressive(marker) {
                    self.scratch = coefficient_bytes(contents);
                }
                push_segment(&mut self.body, marker, contents);
            }
            // Other segments hold metadata, comments, thumbnails and other pictures.
            _ => {}
        }
    }

    fn finish(self) -> Result<Cleaned, MediaError> {
        if self.scans == 0 {
            return Err(MediaError::broken("it has no pixels"));
        }
        let mut bytes = vec![0xFF, 0xD8];
        bytes.extend_from_slice(&self.jfif);
        if let Some(rotation) = self.rotation {
            push_segment(&mut bytes, 0xE1, &[b"Exif\0\0", exif::with_rotation(rotation).as_slice()].concat());
        }
        bytes.extend_from_slice(&self.body);
        bytes.extend_from_slice(&[0xFF, EOI]);
        Ok(Cleaned { bytes, frames: 1, scans: self.scans, scratch: self.scratch })
    }
}

/// Skips to the next marker. Stray bytes in front of it are dropped, as decoders do.
fn next_marker(cursor: &mut Cursor<'_>) -> Result<u8, MediaError> {
    loop {
        if cursor.byte()? != 0xFF {
            continue;
        }
        let mut marker = cursor.byte()?;
        while marker == 0xFF {
            marker = cursor.byte()?;
        }
        if marker != 0 {
            return Ok(marker);
        }
    }
}

/// Returns the length of the compressed pixels up to the next marker that ends them.
fn scan_length(bytes: &[u8]) -> Result<usize, MediaError> {
    let mut at = 0;
    loop {
        at += bytes[at..].iter().position(|&byte| byte == 0xFF).ok_or_else(cut_off)?;
        match bytes.get(at + 1).ok_or_else(cut_off)? {
            0x00 | 0xD0..=0xD7 => at += 2,
            0xFF => at += 1,
            _ => return Ok(at),
        }
    }
}

/// Returns true for the markers of frames with several scans.
fn is_progressive(marker: u8) -> bool {
    matches!(marker, 0xC2 | 0xC6 | 0xCA | 0xCE)
}

/// A progressive picture is kept as 16-bit coefficients until its last scan. Estimates their bytes for each pixel from
/// the resolutions of the components.
fn coefficient_bytes(frame: &[u8]) -> u64 {
    let components = frame.get(6..).unwrap_or_default().chunks_exact(3);
    let area = |component: &[u8]| u64::from(component[1] >> 4) * u64::from(component[1] & 15);
    let largest = components.clone().map(area).max().unwrap_or(1).max(1);
    let total: u64 = components.map(area).sum();
    (2 * total).div_ceil(largest)
}

fn push_segment(bytes: &mut Vec<u8>, marker: u8, contents: &[u8]) {
    // The contents come from a segment, so their length fits.
    let length = (contents.len() + 2) as u16;
    bytes.extend_from_slice(&[0xFF, marker]);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(contents);
}
