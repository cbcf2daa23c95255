//! The lines of an import that failed, in a file beside the one that is imported, in its form and with what was wrong. Must
//! not know why they failed.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use serde_json::{Map, Value};

use super::survey::ERRORS;
use super::table::joined;

/// An item of NDJSON with what is wrong with it, which an import of the corrected file ignores. What is no object becomes a
/// text.
fn with_errors(line: &[u8], error: &Value) -> Value {
    let mut item = match serde_json::from_slice(line) {
        Ok(Value::Object(item)) => item,
        _ => Map::from_iter([("text".to_owned(), String::from_utf8_lossy(line).into())]),
    };
    item.insert("errors".to_owned(), error.clone());
    Value::Object(item)
}

/// How lines that failed are written out.
pub(super) enum RejectsForm {
    /// Items of NDJSON.
    Ndjson,
    /// Rows of a table in the form of the one that is imported.
    Csv {
        /// The header without the column for errors.
        header: String,
        /// What the file begins with, if it marks its encoding.
        mark: &'static str,
        delimiter: u8,
        encoding: &'static Encoding,
    },
}

/// A file of rejects. It appears with the first line that fails.
pub(super) struct Rejects {
    form: RejectsForm,
    path: PathBuf,
    writer: Option<io::Result<BufWriter<File>>>,
}

impl Rejects {
    /// The rejects of an import of `file`, in a file of a similar name.
    pub(super) fn of(file: &Path, form: RejectsForm) -> Rejects {
        let mut path = if file == Path::new("-") { "stdin".into() } else { file.as_os_str().to_owned() };
        path.push(match form {
            RejectsForm::Ndjson => ".rejected.ndjson",
            RejectsForm::Csv { .. } => ".rejected.csv",
        });
        Rejects { form, path: PathBuf::from(path), writer: None }
    }

    /// Writes an item, or the row that it was.
    pub(super) fn add(&mut self, line: &[u8], row: Option<&str>, error: &Value) {
        let text = match &self.form {
            RejectsForm::Ndjson => format!("{}\n", with_errors(line, error)).into_bytes(),
            RejectsForm::Csv { header, mark, delimiter, encoding } => {
                let begin = if self.writer.is_none() {
                    with_cell(&format!("{mark}{header}"), ERRORS, *delimiter)
                } else {
                    String::new()
                };
                let message = error["message"].as_str().unwrap_or_default();
                let text = begin + &with_cell(row.unwrap_or_default(), message, *delimiter);
                encoding.encode(&text).0.into_owned()
            }
        };
        let path = &self.path;
        let writer = self.writer.get_or_insert_with(|| File::create(path).map(BufWriter::new));
        if let Ok(open) = writer
            && let Err(error) = open.write_all(&text)
        {
            *writer = Err(error);
        }
    }

    /// Returns the path, and whether everything is written.
    pub(super) fn finish(self) -> (PathBuf, bool) {
        let is_written = self.writer.is_some_and(|writer| writer.and_then(|mut writer| writer.flush()).is_ok());
        (self.path, is_written)
    }
}

/// A row with another cell.
fn with_cell(row: &str, cell: &str, delimiter: u8) -> String {
    format!("{row}{}{}\n", char::from(delimiter), joined(std::iter::once(cell), delimiter))
}
