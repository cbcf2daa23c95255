//! Reads the size of AVIF and HEIC, and removes their metadata by overwriting it with zeros.

use std::io::Cursor;
use std::ops::Range;

use super::video::{self, Container};
use crate::error::MediaError;

/// Bounds the items that are looked at.
const MAX_ITEMS: usize = 4096;
/// Bounds the parts of all items, which may take no byte in the file.
const MAX_EXTENTS: usize = 65_536;

/// A box: its type and the range of its contents.
struct Part {
    kind: [u8; 4],
    range: Range<usize>,
}

/// EXIF data without entries, behind the position at which it begins.
const EMPTY_EXIF: &[u8] = b"\0\0\0\0MM\0\x2A\0\0\0\x08\0\0\0\0\0\0";
/// XMP that says nothing.
const EMPTY_XMP: &[u8] = b"<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>";

/// Overwrites the items with EXIF and XMP, and what stands around the picture. Readers refuse a file with invalid
/// items, so empty ones stay. A file that this does not understand stays as it is: nothing here decodes it.
///
/// # Errors
/// `BrokenPicture` if the file is cut off.
pub(crate) fn clean(source: &[u8]) -> Result<Vec<u8>, MediaError> {
    let mut bytes = source.to_vec();
    let mut cleared = 0;
    for extent in private_extents(source).unwrap_or_default() {
        cleared += extent.range.len();
        // Items do not overlap in valid files. In others, clearing the same bytes many times would take long.
        if cleared > source.len() {
            break;
        }
        if let Some(bytes) = bytes.get_mut(extent.range) {
            extent.kind.empty(extent.offset, bytes);
        }
    }
    let mut file = Cursor::new(bytes);
    let cleaned = video::clean(&mut file, Container::Picture).map_err(|error| MediaError::broken(error.to_string()))?;
    if cleaned.is_cut_off {
        return Err(super::cut_off());
    }
    let mut bytes = file.into_inner();
    bytes.truncate(cleaned.bytes as usize);
    Ok(bytes)
}

/// The content of a private item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Private {
    Exif,
    /// XMP, as a rule.
    Mime,
}

/// A part of a private item: the part of the item with this offset is stored in this range of the file.
struct Extent {
    kind: Private,
    offset: usize,
    range: Range<usize>,
}

impl Private {
    /// Overwrites the part of an item that begins at an offset with that of an empty item, filled up to its length.
    fn empty(self, offset: usize, part: &mut [u8]) {
        let (empty, filling) = match self {
            Private::Exif => (EMPTY_EXIF, 0),
            Private::Mime => (EMPTY_XMP, b' '),
        };
        part.fill(filling);
        for (byte, empty) in part.iter_mut().zip(empty.get(offset..).unwrap_or_default()) {
            *byte = *empty;
        }
    }
}

/// Returns the size of the picture as it is shown.
pub(crate) fn size(source: &[u8]) -> Option<(u32, u32)> {
    let meta = meta(source)?;
    let properties = find(source, meta.clone(), b"iprp")?;
    let all: Vec<Part> = parts(source, find(source, properties.clone(), b"ipco")?).take(MAX_ITEMS).collect();
    let own = properties_of_primary(source, meta, properties).unwrap_or_default();
    let own = own.into_iter().filter_map(|number| all.get(number.checked_sub(1)?));
    // Without a primary item, the largest size is that of the whole picture, which may be stored in tiles.
    size_of(source, own).or_else(|| size_of(source, all.iter().filter(|part| part.kind != *b"clap")))
}

/// Returns the size in some properties: the largest, cut off as they say, and turned if the picture is rotated by 90
/// degrees.
fn size_of<'a>(source: &[u8], properties: impl Iterator<Item = &'a Part>) -> Option<(u32, u32)> {
    let mut size = None;
    let mut cut = None;
    let mut is_turned = false;
    for part in properties {
        let value = |at: usize| number(source, part.range.start + at, 4).map(|value| value as u32);
        match &part.kind {
            b"ispe" => {
                let found = (value(4)?, value(8)?);
                let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
                size = size.filter(|&other| area(other) >= area(found)).or(Some(found));
            }
            // Encoders store whole blocks of pixels. Each side is a fraction.
            b"clap" => cut = value(0)?.checked_div(value(4)?).zip(value(8)?.checked_div(value(12)?)),
            b"irot" => is_turned = number(source, part.range.start, 1)? % 2 == 1,
            _ => {}
        }
    }
    let (width, height) = size?;
    let (width, height) = cut.map_or((width, height), |(w, h): (u32, u32)| (w.min(width), h.min(height)));
    let shown = if is_turned { (height, width) } else { (width, height) };
    (width > 0 && height > 0).then_some(shown)
}

/// Returns the numbers of the properties that the primary item has, counted from 1.
fn properties_of_primary(source: &[u8], meta: Range<usize>, properties: Range<usize>) -> Option<Vec<usize>> {
    let primary = find(source, meta, b"pitm")?;
    let wide = number(source, primary.start, 1)?;
    let primary = number(source, primary.start + 4, if wide == 0 { 2 } else { 4 })?;
    let table = find(source, properties, b"ipma")?;
    let mut reader = Reader { source, at: table.start, end: table.end };
    let (version, flags) = (reader.number(1)?, reader.number(3)?);
    let number_bytes = 1 + (flags & 1);
    let mask = if number_bytes == 1 { 0x7F } else { 0x7FFF };
    for _ in 0..reader.number(4)?.min(MAX_ITEMS) {
        let item = reader.number(if version == 0 { 2 } else { 4 })?;
        let count = reader.number(1)?;
        let numbers: Option<Vec<usize>> = (0..count).map(|_| Some(reader.number(number_bytes)? & mask)).collect();
        if item == primary {
            return numbers;
        }
        numbers?;
    }
    None
}

/// Returns where the items with metadata are stored.
fn private_extents(source: &[u8]) -> Option<Vec<Extent>> {
    let meta = meta(source)?;
    let infos = find(source, meta.clone(), b"iinf")?;
    let locations = find(source, meta.clone(), b"iloc")?;
    let data = find(source, meta, b"idat");
    let private = private_items(source, infos)?;
    Some(extents(source, &locations, data, &private).unwrap_or_default())
}

/// Returns the numbers of the items that hold EXIF or XMP.
fn private_items(source: &[u8], infos: Range<usize>) -> Option<Vec<(usize, Private)>> {
    let version = number(source, infos.start, 1)?;
    let entries = infos.start + 4 + if version == 0 { 2 } else { 4 };
    let mut items = Vec::new();
    for part in parts(source, entries..infos.end).take(MAX_ITEMS).filter(|part| part.kind == *b"infe") {
        let start = part.range.start;
        let id_bytes = match number(source, start, 1)? {
            2 => 2,
            3 => 4,
            _ => continue,
        };
        let id = number(source, start + 4, id_bytes)?;
        let kind = source.get(start + 6 + id_bytes..start + 10 + id_bytes)?;
        match kind {
            b"Exif" => items.push((id, Private::Exif)),
            b"mime" => items.push((id, Private::Mime)),
            _ => {}
        }
    }
    Some(items)
}

/// Reads the positions of items from the box `iloc`.
fn extents(
    source: &[u8],
    locations: &Range<usize>,
    data: Option<Range<usize>>,
    wanted: &[(usize, Private)],
) -> Option<Vec<Extent>> {
    let mut reader = Reader { source, at: locations.start, end: locations.end };
    let version = reader.number(1)?;
    reader.number(3)?;
    let (sizes, more) = (reader.number(1)?, reader.number(1)?);
    let (offset_bytes, length_bytes, base_bytes) = (sizes >> 4, sizes & 15, more >> 4);
    let index_bytes = if version == 0 { 0 } else { more & 15 };
    let wide = if version < 2 { 2 } else { 4 };
    let mut found = Vec::new();
    let mut count = 0;
    for _ in 0..reader.number(wide)?.min(MAX_ITEMS) {
        let id = reader.number(wide)?;
        let method = if version == 0 { 0 } else { reader.number(2)? & 15 };
        reader.number(2)?;
        let base = reader.number(base_bytes)?;
        let kind = wanted.iter().find(|(item, _)| *item == id).map(|(_, kind)| *kind);
        let mut in_item = 0;
        for _ in 0..reader.number(2)? {
            count += 1;
            if count > MAX_EXTENTS {
                return Some(found);
            }
            reader.number(index_bytes)?;
            let (offset, length) = (reader.number(offset_bytes)?, reader.number(length_bytes)?);
            let origin = match (method, &data) {
                (0, _) => 0,
                (1, Some(data)) => data.start,
                _ => continue,
            };
            let start = origin.checked_add(base)?.checked_add(offset)?;
            if let Some(kind) = kind {
                found.push(Extent { kind, offset: in_item, range: start..start.checked_add(length)? });
                in_item = in_item.saturating_add(length);
            }
        }
    }
    Some(found)
}

struct Reader<'a> {
    source: &'a [u8],
    at: usize,
    end: usize,
}

impl Reader<'_> {
    fn number(&mut self, length: usize) -> Option<usize> {
        let at = self.at;
        self.at = at.checked_add(length).filter(|&next| next <= self.end)?;
        number(self.source, at, length)
    }
}

fn number(source: &[u8], at: usize, length: usize) -> Option<usize> {
    let slice = source.get(at..at.checked_add(length)?).filter(|slice| slice.len() <= 8)?;
    Some(slice.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

/// Returns the contents of the box `meta` behind its version and flags.
fn meta(source: &[u8]) -> Option<Range<usize>> {
    let meta = find(source, 0..source.len(), b"meta")?;
    Some(meta.start.checked_add(4)?..meta.end)
}

fn find(source: &[u8], range: Range<usize>, kind: &[u8; 4]) -> Option<Range<usize>> {
    parts(source, range).take(MAX_ITEMS).find(|part| part.kind == *kind).map(|part| part.range)
}

/// Returns the boxes in a range, up to the first with an invalid length.
fn parts(source: &[u8], range: Range<usize>) -> impl Iterator<Item = Part> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let length = number(source, at, 4)?;
        let kind = source.get(at + 4..at + 8)?.try_into().ok()?;
        let (header, length) = match length {
            0 => (8, range.end.checked_sub(at)?),
            1 => (16, number(source, at + 8, 8)?),
            length => (8, length),
        };
        let end = at.checked_add(length).filter(|&end| end <= range.end && length >= header)?;
        let part = Part { kind, range: at + header..end };
        at = end;
        Some(part)
    })
}
