//! The ordinals of a column in its file, so that the first facet after a start need not read every text. Only columns
//! with few different texts have them: for the titles of a million articles they would take megabytes that are never
//! used. It does not know counting.

use std::io;

use super::columnar::{self, ColumnarArray};
use super::format::{Encoding, SectionKind};
use crate::interrupt::Interrupt;
use crate::run::checked::CheckedBytes;
use crate::run::ordinals::Ordinals;
use crate::run::sections::{SectionName, SectionWriter};
use crate::text::head;
use crate::value::{RawText, ValueRef};

/// A column has them if each text occurs this often on the average.
const OCCURRENCES: usize = 8;

/// The ordinals of a column, not yet read.
pub(crate) struct StoredOrdinals {
    /// The start of each document's codes. Only lists have it.
    starts: Option<ColumnarArray<u64>>,
    codes: ColumnarArray<u64>,
    /// The document in the upper half, the index of the element in the lower half.
    places: ColumnarArray<u64>,
}

/// Returns the ordinals of these values, if they should be stored.
pub(super) fn worth_storing<'a>(
    encoding: Encoding,
    documents: u32,
    value: impl Fn(u32) -> ValueRef<'a>,
) -> Option<Ordinals> {
    let are_lists = match encoding {
        Encoding::Text => false,
        Encoding::List => true,
        _ => return None,
    };
    // Long texts are hardly ever equal, and comparing them would unpack each.
    let is_long = |value| match value {
        ValueRef::Text(text) => !matches!(text.raw, RawText::Plain(raw) if head(raw) == raw),
        _ => false,
    };
    if (0..documents).any(|document| is_long(value(document))) {
        return None;
    }
    let limit = documents as usize / OCCURRENCES;
    let never = Interrupt::never();
    Ordinals::of(documents, value, are_lists, limit, &never)
        .expect("invariant: nothing interrupts it, and no text is long")
}

/// Writes the ordinals as sections. Their names come from their kinds.
pub(super) fn write(
    file: &mut SectionWriter,
    name: impl Fn(SectionKind) -> SectionName,
    ordinals: &Ordinals,
) -> io::Result<()> {
    if let Some(starts) = ordinals.starts() {
        let starts: Vec<u64> = starts.iter().copied().map(u64::from).collect();
        columnar::write(file, name(SectionKind::OrdinalStarts), &starts)?;
    }
    let codes: Vec<u64> = ordinals.codes().map(u64::from).collect();
    columnar::write(file, name(SectionKind::OrdinalCodes), &codes)?;
    let place = |&(document, element): &(u32, u32)| u64::from(document) << 32 | u64::from(element);
    let places: Vec<u64> = ordinals.places().iter().map(place).collect();
    columnar::write(file, name(SectionKind::OrdinalPlaces), &places)
}

impl StoredOrdinals {
    /// Opens the ordinals. Returns `None` if the file does not have them.
    pub(super) fn open(
        section: impl Fn(SectionKind) -> Result<Option<CheckedBytes>, String>,
    ) -> Result<Option<StoredOrdinals>, String> {
        let array = |kind| Ok::<_, String>(section(kind)?.map(ColumnarArray::new));
        let starts = array(SectionKind::OrdinalStarts)?;
        Ok(match (array(SectionKind::OrdinalCodes)?, array(SectionKind::OrdinalPlaces)?) {
            (Some(codes), Some(places)) => Some(StoredOrdinals { starts, codes, places }),
            _ => None,
        })
    }

    /// Reads the ordinals. Returns `None` if the file is damaged, which is reported.
    pub(crate) fn read(&self) -> Option<Ordinals> {
        let integers =
            |array: &ColumnarArray<u64>| Some(array.to_vec()?.into_iter().map(|integer| integer as u32).collect());
        let starts = match &self.starts {
            Some(starts) => Some(integers(starts)?),
            None => None,
        };
        let place = |place: u64| ((place >> 32) as u32, place as u32);
        let places = self.places.to_vec()?.into_iter().map(place).collect();
        Some(Ordinals::new(starts, integers(&self.codes)?, places))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::run::checked::CheckedFile;
    use crate::run::columns::format::{FILE, MAGIC};
    use crate::run::columns::{self, ColumnFile};
    use crate::run::sections::SectionFile;
    use crate::run::sums::RunFolder;
    use crate::value::{FoldedText, TextRef};

    const KINDS: [SectionKind; 3] = [SectionKind::OrdinalStarts, SectionKind::OrdinalCodes, SectionKind::OrdinalPlaces];

    fn written(folder: &Path, texts: &[&'static str]) -> Arc<CheckedFile> {
        std::fs::create_dir(folder).unwrap();
        let text = |text| TextRef { raw: RawText::Plain(text), folded: FoldedText::Plain(text) };
        let slots: Vec<u32> = (0..texts.len() as u32).collect();
        let value = |document: usize, _| match texts[document] {
            "" => ValueRef::Null,
            some => ValueRef::Text(text(some)),
        };
        let known = |_, _| None;
        let sums = columns::write(RunFolder::to_end(folder), &slots, &[(1, Encoding::Text)], &value, &known);
        CheckedFile::open(folder, sums.unwrap(), &Arc::default()).unwrap()
    }

    /// Returns the file of `texts`, but with the ordinals of `others`.
    fn mixed(folder: &Path, texts: &Arc<CheckedFile>, others: &Arc<CheckedFile>) -> ColumnFile {
        std::fs::create_dir(folder).unwrap();
        let [texts, others] = [texts, others].map(|file| SectionFile::open(file, MAGIC).unwrap());
        let mut out = SectionWriter::create(RunFolder::to_end(folder), FILE, "test", MAGIC).unwrap();
        for name in texts.names() {
            let is_ordinals = KINDS.iter().any(|&kind| kind as u8 == name.kind);
            let section = if is_ordinals { others.section(name) } else { texts.section(name) };
            out.section(name, |out| section.unwrap().map_or(Ok(()), |bytes| out.put(bytes.all()))).unwrap();
        }
        let file = CheckedFile::open(folder, out.finish(texts.documents).unwrap(), &Arc::default()).unwrap();
        ColumnFile::open(&file).unwrap()
    }

    #[test]
    fn ordinals_of_other_texts_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // So often that they are worth storing.
        let written = |name: &str, texts: &[&'static str]| written(&path(name), &texts.repeat(OCCURRENCES));
        let texts = written("texts", &["a", "b", "", "a", "a", "b"]);
        assert!(ColumnFile::open(&texts).unwrap().has_ordinals_of_texts());
        let others: [&[&str]; 5] = [
            &["a", "b", "a", "a", "a", "b"],
            &["a", "b", "", "b", "a", "b"],
            &["a", "", "b", "a", "a", "b"],
            &["a", "a", "", "a", "a", "a"],
            &["a", "b", "c", "d", "e", "f"],
        ];
        for (index, others) in others.into_iter().enumerate() {
            let others = written(&format!("others{index}"), others);
            let mixed = mixed(&path(&format!("mixed{index}")), &texts, &others);
            assert!(!mixed.has_ordinals_of_texts(), "{index}");
        }
    }
}
