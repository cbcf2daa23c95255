//! Writes a dictionary, list by list. Posting lists are written to the file as they come. The strings of a list wait
//! for its end in memory, compressed if there are many.

use std::io;
use std::path::PathBuf;

use super::format::{FILE, FRAME, GROUP, MAGIC, SectionKind, StringsOf};
use super::string_buffer::StringBuffer;
use crate::error::Error;
use crate::run::postings::{Posting, PostingEncoder};
use crate::run::sections::SectionWriter;
use crate::run::sums::{FileSums, RunFolder};
use crate::schema::ColumnId;

/// A dictionary that is being written.
pub(in crate::run::disk) struct DictionaryWriter {
    path: PathBuf,
    file: SectionWriter,
    encoder: PostingEncoder,
}

/// Receives the strings of a list, ascending, each with its documents. A string without documents is ignored.
pub(in crate::run::disk) type StringSink<'a> = dyn FnMut(&[u8], Posting<'_>) -> io::Result<()> + 'a;

impl DictionaryWriter {
    /// Creates the file in `folder`, where it must not exist.
    pub(in crate::run::disk) fn create(folder: RunFolder<'_>) -> Result<DictionaryWriter, Error> {
        let path = folder.path.join(FILE);
        let file = SectionWriter::create(folder, FILE, "run::dictionary", MAGIC).map_err(Error::io(&path))?;
        Ok(DictionaryWriter { path, file, encoder: PostingEncoder::default() })
    }

    /// Writes a list of a column with the strings that `fill` passes to the sink.
    pub(in crate::run::disk) fn list(
        &mut self,
        column: ColumnId,
        of: StringsOf,
        fill: impl FnOnce(&mut StringSink<'_>) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.write_list(column, of, fill).map_err(Error::io(&self.path))
    }

    fn write_list(
        &mut self,
        column: ColumnId,
        of: StringsOf,
        fill: impl FnOnce(&mut StringSink<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let DictionaryWriter { file, encoder, .. } = self;
        let (mut strings, mut groups, mut count) = (StringBuffer::default(), Vec::new(), 0);
        strings.put(&[FRAME])?;
        let mut coded = Vec::new();
        let start = file.position();
        fill(&mut |string, posting| {
            if posting.documents.is_empty() {
                return Ok(());
            }
            if count % GROUP == 0 {
                let at = u32::try_from(strings.len()).map_err(|_| io::Error::other("too many distinct words"))?;
                groups.extend_from_slice(&at.to_le_bytes());
                groups.extend_from_slice(&file.position().to_le_bytes());
            }
            count += 1;
            strings.put(string)?;
            strings.put(&[FRAME])?;
            coded.clear();
            encoder.put(posting, &mut coded)?;
            file.put(&coded)
        })?;
        if count == 0 {
            return Ok(());
        }
        file.end_section(SectionKind::Postings.of(column, of), start);
        file.section(SectionKind::Strings.of(column, of), |out| strings.drain(|bytes| out.put(bytes)))?;
        file.section(SectionKind::Groups.of(column, of), |out| out.put(&groups))
    }

    /// Writes the lengths of a column's texts: a step for each document of the run.
    pub(in crate::run::disk) fn lengths(&mut self, column: ColumnId, steps: &[u8]) -> Result<(), Error> {
        let written = self.file.section(SectionKind::lengths(column), |out| out.put(steps));
        written.map_err(Error::io(&self.path))
    }

    /// Syncs the file, but not its folder. Returns its checksums.
    pub(in crate::run::disk) fn finish(self, documents: u32) -> Result<FileSums, Error> {
        self.file.finish(documents).map_err(Error::io(&self.path))
    }
}
