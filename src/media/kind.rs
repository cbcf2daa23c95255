//! Finds the type of a file from its bytes. The name decides only between types of text, whose bytes look alike.

mod office;
mod text;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The number of bytes at the beginning of a file that its type is found from.
pub(crate) const HEAD_BYTES: usize = 64 * 1024;

/// The type of files that no rule recognizes.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// Types that `infer` names in an older form, with the form that browsers and IANA use.
const RENAMED: &[(&str, &str)] = &[
    ("image/vnd.microsoft.icon", "image/x-icon"),
    ("audio/x-flac", "audio/flac"),
    ("audio/x-wav", "audio/wav"),
    ("audio/m4a", "audio/mp4"),
    ("video/x-m4v", "video/mp4"),
];

/// Returns the type of a file. `head` holds its first `HEAD_BYTES` bytes, or all if there are fewer.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn detect(head: &[u8], file: &mut File, name: &str) -> io::Result<&'static str> {
    if let Some(kind) = office::detect(head, file)? {
        return Ok(kind);
    }
    if let Some(kind) = text::detect(head, name) {
        return Ok(kind);
    }
    Ok(binary(head))
}

fn binary(head: &[u8]) -> &'static str {
    if let Some(kind) = of_brand(head).or_else(|| of_signature(head)) {
        return kind;
    }
    // `infer` recognizes texts by a few of their first bytes only; `text` has decided about them already.
    match infer::get(head) {
        Some(kind) if kind.matcher_type() == infer::MatcherType::Text => UNKNOWN,
        Some(kind) => {
            let mime = kind.mime_type();
            RENAMED.iter().find(|(old, _)| *old == mime).map_or(mime, |(_, new)| new)
        }
        None => UNKNOWN,
    }
}

/// Recognizes fonts, which `infer` names in forms that are out of use, BigTIFF, MP3 of all versions of MPEG, and Ogg
/// with video.
fn of_signature(head: &[u8]) -> Option<&'static str> {
    match head.get(..4)? {
        b"wOFF" => Some("font/woff"),
        b"wOF2" => Some("font/woff2"),
        b"OTTO" => Some("font/otf"),
        b"ttcf" => Some("font/collection"),
        [0, 1, 0, 0] if is_font(head) => Some("font/ttf"),
        b"II\x2B\0" | b"MM\0\x2B" => Some("image/tiff"),
        [0xFF, second, ..] if second & 0xE6 == 0xE2 => Some("audio/mpeg"),
        b"OggS" if head.get(29..35) == Some(b"theora") => Some("video/ogg"),
        _ => None,
    }
}

/// Checks the table count and the first table's tag, because the signature is too short to prove a font.
fn is_font(head: &[u8]) -> bool {
    let tables = head.get(4..6).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    (1..=256).contains(&tables) && head.get(12..16).is_some_and(|tag| tag.iter().all(|byte| (32..127).contains(byte)))
}

/// Recognizes pictures in ISO base media files by all their brands, and videos of phones. `infer` misses some of them.
fn of_brand(head: &[u8]) -> Option<&'static str> {
    if head.get(4..8)? != b"ftyp" {
        return None;
    }
    let length = u32::from_be_bytes(head[..4].try_into().ok()?) as usize;
    let brands = || head.get(8..length.min(head.len()).min(512)).unwrap_or_default().chunks_exact(4);
    // The second group of four is a version.
    let has = |names: &[&[u8; 4]]| brands().enumerate().any(|(i, brand)| i != 1 && names.iter().any(|n| *n == brand));
    let major = brands().next()?;
    if has(&[b"avif", b"avis"]) {
        return Some("image/avif");
    }
    if has(&[b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx"]) {
        return Some("image/heic");
    }
    match major {
        b"mif1" | b"msf1" => Some("image/heif"),
        [b'3', b'g', ..] => Some("video/3gpp"),
        b"M4A " | b"M4B " | b"M4P " => Some("audio/mp4"),
        // Raw pictures name `isom`, too.
        b"qt  " | b"crx " => None,
        // Makers of cameras have brands of their own.
        _ => has(&[b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"cmfc"])
            .then_some("video/mp4"),
    }
}

/// Reads at most `length` bytes at a position.
fn read_at(file: &mut File, position: u64, length: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(position))?;
    let mut bytes = Vec::new();
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
