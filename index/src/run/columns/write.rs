//! Writes a column file from any source of values. It does not read.

use std::io;

use super::columnar::{self, Element};
use super::format::{Encoding, FILE, MAGIC, NO_COLUMN, PACKED, SectionKind};
use super::stored_ordinals;
use crate::error::Error;
use crate::packing::{CompressionDictionary, Packer, for_texts, unpacked_length};
use crate::run::sections::{SectionName, SectionWriter};
use crate::run::sums::{FileSums, RunFolder};
use crate::schema::ColumnId;
use crate::text::{first_chars, with_lower_case};
use crate::value::{FoldedText, RawText, ValueRef};

/// The length in bytes above which texts are compressed.
const PLAIN_BYTES: usize = 1024;
/// The number of code points at the beginning of a compressed text that are also stored as they are.
const START: usize = 8;
/// The sections of exact values, and those of folded ones.
const RAW: [SectionKind; 2] = [SectionKind::RawOffsets, SectionKind::Raw];
const FOLDED: [SectionKind; 2] = [SectionKind::FoldedOffsets, SectionKind::Folded];

/// Writes the column file of the documents with these slots into `folder`. `columns` must ascend and name every
/// encoding that occurs; `value` returns the value of a document (its index in `slots`) in a column, and `known` the
/// stored dictionary with which long texts of a column were compressed before. The file is synced on return; the folder
/// is not. Returns the file's checksums.
pub(crate) fn write<'a>(
    folder: RunFolder<'_>,
    slots: &[u32],
    columns: &[(ColumnId, Encoding)],
    value: &dyn Fn(usize, ColumnId) -> ValueRef<'a>,
    known: &dyn Fn(ColumnId, Encoding) -> Option<&'a [u8]>,
) -> Result<FileSums, Error> {
    let write = || {
        let mut file = SectionWriter::create(folder, FILE, "run::columns", MAGIC)?;
        file.section(SectionKind::Slots.of(NO_COLUMN, 0), |out| {
            slots.iter().try_for_each(|slot| out.put(&slot.to_le_bytes()))
        })?;
        for &(id, encoding) in columns {
            // Values in other encodings are null in this column.
            let value = move |document| match value(document, id) {
                other if Encoding::of(&other) != Some(encoding) => ValueRef::Null,
                value => value,
            };
            let column = Column { id, encoding, documents: slots.len(), value: &value, known: known(id, encoding) };
            write_column(&mut file, column)?;
            let of_document = |document| value(document as usize);
            if let Some(ordinals) = stored_ordinals::worth_storing(encoding, slots.len() as u32, of_document) {
                stored_ordinals::write(&mut file, |kind| column.section(kind), &ordinals)?;
            }
        }
        file.finish(slots.len() as u32)
    };
    write().map_err(Error::io(&folder.path.join(FILE)))
}

/// The values of a column in one encoding.
#[derive(Clone, Copy)]
struct Column<'v, 'a> {
    id: ColumnId,
    encoding: Encoding,
    documents: usize,
    value: &'v dyn Fn(usize) -> ValueRef<'a>,
    /// The stored dictionary with which its long texts were compressed before.
    known: Option<&'a [u8]>,
}

impl<'v, 'a> Column<'v, 'a> {
    /// Returns the name of one of its sections.
    fn section(self, kind: SectionKind) -> SectionName {
        kind.of(self.id, self.encoding as u8)
    }

    fn iter(self) -> impl Iterator<Item = ValueRef<'a>> + 'v
    where
        'a: 'v,
    {
        (0..self.documents).map(self.value)
    }

    /// Returns a number for each document. A document without one repeats the previous number, which takes no space.
    fn numbers<T: Element>(self, number: impl Fn(ValueRef<'a>) -> Option<T>) -> Vec<T> {
        let first = self.iter().find_map(&number).unwrap_or_default();
        let repeated = |last: &mut T, value| {
            *last = number(value).unwrap_or(*last);
            Some(*last)
        };
        self.iter().scan(first, repeated).collect()
    }
}

fn write_column(file: &mut SectionWriter, column: Column<'_, '_>) -> io::Result<()> {
    write_bits(file, column, SectionKind::Presence, |value| !matches!(value, ValueRef::Null))?;
    let fixed = column.section(SectionKind::Fixed);
    match column.encoding {
        Encoding::Text => write_texts(file, column),
        Encoding::Markup => {
            file.section(fixed, |out| {
                column.iter().try_for_each(|value| match value {
                    ValueRef::Markup { exact, .. } => out.put(&exact),
                    _ => out.put(&[0; 16]),
                })
            })?;
            write_texts(file, column)
        }
        Encoding::Number => {
            let number = |value| if let ValueRef::Number(number) = value { Some(number) } else { None };
            columnar::write(file, fixed, &column.numbers(number))
        }
        Encoding::Bool => write_bits(file, column, SectionKind::Fixed, |value| matches!(value, ValueRef::Bool(true))),
        Encoding::Instant => {
            let micros = |value| if let ValueRef::Instant { micros, .. } = value { Some(micros) } else { None };
            columnar::write(file, fixed, &column.numbers(micros))?;
            write_strings(file, column, RAW, |value, out| match value {
                ValueRef::Instant { text, .. } => out.put(text.as_bytes()),
                _ => Ok(()),
            })
        }
        Encoding::List => {
            write_strings(file, column, RAW, |value, out| match value {
                ValueRef::List(list) => out.put(list.raw),
                _ => Ok(()),
            })?;
            write_strings(file, column, FOLDED, |value, out| match value {
                ValueRef::List(list) if list.folded != list.raw => out.put(list.folded),
                _ => Ok(()),
            })
        }
    }
}

fn write_texts(file: &mut SectionWriter, column: Column<'_, '_>) -> io::Result<()> {
    let dictionary = dictionary_for(column);
    file.section(column.section(SectionKind::Dictionary), |out| {
        dictionary.iter().try_for_each(|dictionary| out.put(dictionary))
    })?;
    let mut packer = Packer::new(dictionary.as_deref())?;
    write_strings(file, column, RAW, |value, out| {
        let Some(text) = value.text() else { return Ok(()) };
        let (start, difference) = match (text.raw, text.folded) {
            (RawText::Packed(packed), _) => (packed.start, packed.difference),
            (RawText::Plain(raw), FoldedText::Plain(folded)) if raw.len() > PLAIN_BYTES => {
                (first_chars(raw, START), &packer.pack_behind(folded, raw)?[..])
            }
            (RawText::Plain(raw), _) => return out.put(raw.as_bytes()),
        };
        out.put(&[PACKED, start.len() as u8])?;
        out.put(start.as_bytes())?;
        out.put(difference)
    })?;
    write_strings(file, column, FOLDED, |value, out| {
        let Some(text) = value.text() else { return Ok(()) };
        let packed = match (text.raw, text.folded) {
            (_, FoldedText::Packed(packed)) => {
                match packed.dictionary.map(CompressionDictionary::id) == packer.dictionary() {
                    true => packed.bytes,
                    false => &packer.pack(&text.folded.get())?[..],
                }
            }
            (RawText::Plain(raw), FoldedText::Plain(folded)) if raw.len() > PLAIN_BYTES => &packer.pack(folded)?[..],
            (RawText::Plain(raw), FoldedText::Plain(folded)) if is_lower_case(raw, folded) => return Ok(()),
            (_, FoldedText::Plain(folded)) => return out.put(folded.as_bytes()),
            (_, FoldedText::Capitals(_)) => return Ok(()),
        };
        out.put(&[PACKED])?;
        out.put(packed)
    })
}

/// Returns the dictionary with which the long texts of a column are compressed, if it has many.
fn dictionary_for(column: Column<'_, '_>) -> Option<Vec<u8>> {
    let lengths: Vec<usize> = column.iter().map(|value| packed_length(&value)).collect();
    let text = |document| (column.value)(document).text().map(|text| text.folded.get().into_owned());
    for_texts(&lengths, column.known, &|document| text(document).unwrap_or_default())
}

/// Returns the length of the folded text of a value if it is compressed; 0 for other values.
fn packed_length(value: &ValueRef<'_>) -> usize {
    match value.text().map(|text| (text.raw, text.folded)) {
        Some((_, FoldedText::Packed(packed))) => unpacked_length(packed.bytes).unwrap_or(0),
        Some((RawText::Plain(raw), FoldedText::Plain(folded))) if raw.len() > PLAIN_BYTES => folded.len(),
        _ => 0,
    }
}

/// Returns whether `folded` is the text in lower-case ASCII letters.
fn is_lower_case(text: &str, folded: &str) -> bool {
    with_lower_case(text.as_bytes(), |lower_case| lower_case == folded.as_bytes())
}

/// Writes a section with a bit for each document.
fn write_bits<'a>(
    file: &mut SectionWriter,
    column: Column<'_, 'a>,
    kind: SectionKind,
    bit: impl Fn(ValueRef<'a>) -> bool,
) -> io::Result<()> {
    let mut words = vec![0_u64; column.documents.div_ceil(64)];
    for (document, value) in column.iter().enumerate() {
        words[document / 64] |= u64::from(bit(value)) << (document % 64);
    }
    file.section(column.section(kind), |out| words.iter().try_for_each(|word| out.put(&word.to_le_bytes())))
}

/// Writes a section of strings and one of their offsets; neither if every string is empty.
fn write_strings<'a>(
    file: &mut SectionWriter,
    column: Column<'_, 'a>,
    [offsets_kind, bytes_kind]: [SectionKind; 2],
    mut put: impl FnMut(ValueRef<'a>, &mut SectionWriter) -> io::Result<()>,
) -> io::Result<()> {
    let start = file.position();
    let mut offsets = Vec::with_capacity(column.documents + 1);
    file.section(column.section(bytes_kind), |out| {
        for value in column.iter() {
            offsets.push(out.position() - start);
            put(value, out)?;
        }
        offsets.push(out.position() - start);
        Ok(())
    })?;
    let length = file.position() - start;
    if length == 0 {
        return Ok(());
    }
    file.section(column.section(offsets_kind), |out| {
        offsets.iter().try_for_each(|&offset| match u32::try_from(length) {
            Ok(_) => out.put(&(offset as u32).to_le_bytes()),
            Err(_) => out.put(&offset.to_le_bytes()),
        })
    })
}
