//! Recognizes office documents, which are zip files or OLE containers with certain entries.

use std::fs::File;
use std::io;

use super::read_at;

const ZIP: &[u8] = b"PK\x03\x04";
const OLE: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// The size of the part at the end of a zip file that is searched for names: its directory.
const DIRECTORY_BYTES: usize = 256 * 1024;

const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const PPTX: &str = "application/vnd.openxmlformats-officedocument.presentationml.presentation";

/// Types that a zip file declares in its first entry, which is named `mimetype`.
const DECLARED: &[&str] = &[
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
    "application/vnd.oasis.opendocument.graphics",
    "application/epub+zip",
];

/// The main parts of documents, by their names in the directory of a zip file.
const PARTS: &[(&[u8], &str)] =
    &[(b"word/document.xml", DOCX), (b"xl/workbook.", XLSX), (b"ppt/presentation.xml", PPTX)];

/// Streams of OLE containers, by their names. The names are stored in UTF-16.
const STREAMS: &[(&str, &str)] = &[
    ("WordDocument", "application/msword"),
    ("Workbook", "application/vnd.ms-excel"),
    ("Book", "application/vnd.ms-excel"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint"),
];

/// Returns the type of a zip file or an OLE container, and `None` for other files.
pub(super) fn detect(head: &[u8], file: &mut File) -> io::Result<Option<&'static str>> {
    if head.starts_with(ZIP) {
        return of_zip(head, file).map(Some);
    }
    if head.starts_with(OLE) {
        return of_ole(head, file).map(Some);
    }
    Ok(None)
}

fn of_zip(head: &[u8], file: &mut File) -> io::Result<&'static str> {
    if let Some(declared) = declared(head) {
        return Ok(declared);
    }
    let length = file.metadata()?.len();
    let directory = read_at(file, length.saturating_sub(DIRECTORY_BYTES as u64), DIRECTORY_BYTES)?;
    let mut entries = directory_names(&directory);
    let part = entries.find_map(|name| PARTS.iter().find(|(part, _)| name.starts_with(part)));
    Ok(part.map_or("application/zip", |(_, kind)| kind))
}

/// Reads the contents of a first entry with the name `mimetype`, which must be stored without compression.
fn declared(head: &[u8]) -> Option<&'static str> {
    if head.get(30..38)? != b"mimetype" {
        return None;
    }
    let extra = u16::from_le_bytes([*head.get(28)?, *head.get(29)?]) as usize;
    let contents = head.get(38 + extra..)?;
    DECLARED
        .iter()
        .find(|kind| {
            let rest = contents.strip_prefix(kind.as_bytes());
            // `…text` must not match `…text-template`.
            rest.is_some_and(|rest| !rest.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'-'))
        })
        .copied()
}

/// Returns the names in the directory of a zip file.
fn directory_names(directory: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = directory;
    std::iter::from_fn(move || {
        let start = rest.windows(4).position(|bytes| bytes == b"PK\x01\x02")?;
        let entry = &rest[start..];
        let length = u16::from_le_bytes([*entry.get(28)?, *entry.get(29)?]) as usize;
        let name = entry.get(46..46 + length)?;
        rest = &entry[46 + length..];
        Some(name)
    })
}

/// Reads the first part of the directory of an OLE container, which begins with the root and the main streams.
fn of_ole(head: &[u8], file: &mut File) -> io::Result<&'static str> {
    const UNKNOWN_OLE: &str = "application/x-ole-storage";
    let number = |at: usize, bytes: usize| {
        head.get(at..at + bytes).map(|slice| slice.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    let (Some(shift @ 7..=16), Some(sector)) = (number(30, 2), number(48, 4)) else { return Ok(UNKNOWN_OLE) };
    let directory = read_at(file, (sector + 1) << shift, 8 * 1024)?;
    for entry in directory.chunks_exact(128) {
        let length = usize::from(entry[64]).saturating_sub(2).min(64);
        let units = entry[..length].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let name: String = char::decode_utf16(units).map(|unit| unit.unwrap_or('?')).collect();
        if let Some((_, kind)) = STREAMS.iter().find(|(stream, _)| *stream == name) {
            return Ok(kind);
        }
    }
    Ok(UNKNOWN_OLE)
}
