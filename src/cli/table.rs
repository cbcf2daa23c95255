//! Tables of delimited text, as written by spreadsheets: in several encodings, with several delimiters, with cells of
//! several lines, and with broken rows. A row takes bounded memory. Must not know the meaning of a cell.
//!
//! The `csv` crate reads rows of any length, and a quote that is never closed consumes the rest of the file. Here such
//! a quote breaks only its own line.

pub(super) mod split;

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};

use encoding_rs::{Encoding, UTF_8};
use encoding_rs_io::DecodeReaderBytesBuilder;

use self::split::Splitter;

/// The delimiters that are considered. If several fit, the first one wins.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The part of a file, and the number of its rows, from which the delimiter is guessed.
const GUESS_BYTES: usize = 64 << 10;
const GUESS_ROWS: usize = 20;

/// The most columns of a table, so that a header takes bounded memory. It is far more than the fields of a blueprint.
const MAX_COLUMNS: usize = 4_096;

/// The number of bytes that may be read again after quotes that are never closed. Beyond this limit, cells may not have
/// several lines; otherwise a malicious file would be read over and over.
const MAX_REREAD: usize = 256 << 20;

/// The number of bytes that are kept of a line that is too long.
const KEPT_OF_LONG: usize = 1_000;

/// A row that is not empty.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// The line in which it begins, as editors number them.
    pub(super) line: u64,
    /// The cells. For a broken row, its text cut at each delimiter.
    pub(super) cells: Vec<String>,
    /// The reason why it cannot be read.
    pub(super) broken: Option<String>,
}

/// A table that is being read.
pub(super) struct Table<R> {
    reader: R,
    delimiter: u8,
    encoding: &'static Encoding,
    max_bytes: usize,
    /// Lines that are read again, because their row is broken.
    unread: VecDeque<Vec<u8>>,
    reread: usize,
    /// The number of the next line.
    line: u64,
    /// The end of the last row that was read.
    line_end: &'static str,
    /// False once a cell was not valid in UTF-8.
    is_valid: bool,
}

/// Decodes a file in UTF-8, Windows-1252 or, if its first bytes say so, UTF-16 to UTF-8. Windows-1252 is not converted
/// yet, because it is only recognized by bytes that are not valid UTF-8. Also returns the file's mark of its encoding.
pub(super) fn decoded(mut reader: Box<dyn BufRead + Send>) -> io::Result<(Box<dyn BufRead + Send>, Mark)> {
    let head = reader.fill_buf()?;
    let mark = match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Mark::Utf16,
        [0xef, 0xbb, 0xbf, ..] => Mark::Utf8,
        _ => Mark::None,
    };
    let mut reader = DecodeReaderBytesBuilder::new().utf8_passthru(true).strip_bom(true).build(reader);
    // The first read of the decoder returns only a few bytes, which are too few for guessing the delimiter.
    let mut head = Vec::new();
    reader.by_ref().take(GUESS_BYTES as u64).read_to_end(&mut head)?;
    Ok((Box::new(BufReader::with_capacity(GUESS_BYTES, Cursor::new(head).chain(reader))), mark))
}

/// The mark with which a Unicode text may begin, to identify its encoding.
pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The mark of a file's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Utf8,
    Utf16,
}

/// Guesses the delimiter of a table that begins like this: the one that cuts most rows into as many cells as the
/// header.
pub(super) fn guess_delimiter(head: &[u8]) -> u8 {
    let score = |delimiter: u8| {
        let mut rows = Vec::new();
        let mut splitter = Splitter::new(delimiter, MAX_COLUMNS);
        for line in head.split_inclusive(|byte| *byte == b'\n').take(GUESS_ROWS) {
            match splitter.feed(line) {
                Ok(true) => rows.push(splitter.take().len()),
                Ok(false) => {}
                Err(()) => drop(splitter.take()),
            }
        }
        let columns = rows.first().copied().unwrap_or_default();
        match columns {
            0 | 1 => (0, 0),
            columns => (rows.iter().filter(|cells| **cells == columns).count(), columns),
        }
    };
    // Among equal ones, `max_by_key` returns the last.
    DELIMITERS.into_iter().rev().max_by_key(|delimiter| score(*delimiter)).unwrap_or(b',')
}

impl<R: BufRead> Table<R> {
    /// Creates a table. Without `delimiter`, it is guessed.
    pub(super) fn new(
        mut reader: R,
        delimiter: Option<u8>,
        encoding: &'static Encoding,
        max_bytes: usize,
    ) -> io::Result<Table<R>> {
        let head = reader.fill_buf()?;
        // In Excel, a first line such as `sep=;` defines the delimiter.
        let first = head.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let named = first.strip_prefix(b"sep=").filter(|rest| rest.len() == 1).map(|rest| rest[0]);
        let delimiter = delimiter.or(named).unwrap_or_else(|| guess_delimiter(head));
        let (unread, reread, is_valid) = (VecDeque::new(), 0, true);
        let mut table =
            Table { reader, delimiter, encoding, max_bytes, unread, reread, line: 1, line_end: "\n", is_valid };
        if named.is_some() {
            table.read_line()?;
            table.line += 1;
        }
        Ok(table)
    }

    /// Returns the delimiter.
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Returns the end of the last row that was read.
    pub(super) fn line_end(&self) -> &'static str {
        self.line_end
    }

    /// Is true if all cells so far were valid UTF-8.
    pub(super) fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// Returns the next row that is not empty.
    pub(super) fn next(&mut self) -> io::Result<Option<Row>> {
        loop {
            let Some(row) = self.next_row()? else { return Ok(None) };
            if row.broken.is_some() || row.cells.iter().any(|cell| !cell.trim().is_empty()) {
                return Ok(Some(row));
            }
        }
    }

    fn next_row(&mut self) -> io::Result<Option<Row>> {
        let start = self.line;
        let mut splitter = Splitter::new(self.delimiter, MAX_COLUMNS);
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut bytes = 0;
        let text = loop {
            let Some(line) = self.read_line()? else {
                if lines.is_empty() {
                    return Ok(None);
                }
                break "a quote opens a cell and is never closed".to_owned();
            };
            bytes += line.len();
            let is_too_long = bytes > self.max_bytes;
            let fed = if is_too_long { Ok(false) } else { splitter.feed(&line) };
            self.line_end = line_end_of(&line);
            lines.push(line);
            match fed {
                _ if is_too_long && lines.len() == 1 => {
                    break format!(
                        "the row is longer than {} bytes, which is the limit (`max_body_bytes`)",
                        self.max_bytes
                    );
                }
                _ if is_too_long => {
                    break format!(
                        "a quote opens a cell and is not closed within {} bytes (`max_body_bytes`)",
                        self.max_bytes
                    );
                }
                Ok(true) if splitter.is_too_wide() => break format!("the row has more than {MAX_COLUMNS} cells"),
                Ok(true) => {
                    self.line += lines.len() as u64;
                    let cells = splitter.take().into_iter().map(|cell| self.decode(cell)).collect();
                    return Ok(Some(Row { line: start, cells, broken: None }));
                }
                Ok(false) if self.reread > MAX_REREAD => break "a quote opens a cell and is not closed".to_owned(),
                Ok(false) => {}
                Err(()) => break "a quote within a quoted cell is not doubled, or a quote is not closed".to_owned(),
            }
        };
        // Only the first line is certainly broken.
        let delimiter = self.delimiter;
        let first = lines.remove(0);
        self.line += 1;
        self.reread += bytes - first.len().min(bytes);
        lines.into_iter().rev().for_each(|line| self.unread.push_front(line));
        let kept = &first[..first.len().min(if first.len() > self.max_bytes { KEPT_OF_LONG } else { first.len() })];
        let cells = kept.trim_ascii_end().split(|byte| *byte == delimiter).take(MAX_COLUMNS);
        let cells = cells.map(|cell| self.decode(cell.to_vec())).collect();
        Ok(Some(Row { line: start, cells, broken: Some(text) }))
    }

    /// Returns a line with its end: a line feed, a carriage return, or both. Of a line that is too long only the
    /// beginning is kept.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(line) = self.unread.pop_front() {
            return Ok(Some(line));
        }
        let mut line = Vec::new();
        let mut is_long = false;
        loop {
            let read = self.reader.fill_buf()?;
            if read.is_empty() {
                return Ok(if line.is_empty() { None } else { Some(line) });
            }
            let end = read.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let used = end.map_or(read.len(), |end| end + 1);
            let is_return = end.is_some_and(|end| read[end] == b'\r');
            if !is_long {
                line.extend_from_slice(&read[..used]);
                is_long = line.len() > self.max_bytes;
                line.truncate(self.max_bytes + 1);
            }
            self.reader.consume(used);
            if is_return && self.reader.fill_buf()?.first() == Some(&b'\n') {
                self.reader.consume(1);
                if !is_long {
                    line.push(b'\n');
                }
            }
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }

    fn decode(&mut self, cell: Vec<u8>) -> String {
        if self.encoding != UTF_8 {
            return self.encoding.decode_without_bom_handling(&cell).0.into_owned();
        }
        String::from_utf8(cell).unwrap_or_else(|error| {
            self.is_valid = false;
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    }
}

fn line_end_of(line: &[u8]) -> &'static str {
    match line {
        [.., b'\r', b'\n'] => "\r\n",
        [.., b'\r'] => "\r",
        _ => "\n",
    }
}

/// Joins cells into a row of a table, without an end of line.
pub(super) fn joined<'a>(cells: impl Iterator<Item = &'a str>, delimiter: u8) -> String {
    let delimiter = char::from(delimiter);
    let mut row = String::new();
    for (position, cell) in cells.enumerate() {
        if position > 0 {
            row.push(delimiter);
        }
        if cell.contains([delimiter, '"', '\n', '\r']) {
            row.push('"');
            row.push_str(&cell.replace('"', "\"\""));
            row.push('"');
        } else {
            row.push_str(cell);
        }
    }
    row
}

#[cfg(test)]
mod tests;
