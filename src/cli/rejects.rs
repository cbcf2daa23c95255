//! The failed lines of an import, written to a file beside the imported one, in the same format and with their errors.
//! Must not know why they failed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use serde_json::{Map, Value};

use super::source::STANDARD_INPUT;
use super::survey::ERRORS;
use super::table::joined;

/// Returns an item of NDJSON with its errors, which an import of the corrected file ignores. A line that is not an
/// object becomes a text.
fn with_errors(line: &[u8], error: &Value) -> Value {
    let mut item = match serde_json::from_slice(line) {
        Ok(Value::Object(item)) => item,
        _ => Map::from_iter([("text".to_owned(), String::from_utf8_lossy(line).into())]),
    };
    item.insert("errors".to_owned(), error.clone());
    Value::Object(item)
}

/// The format in which failed lines are written.
pub(super) enum RejectsForm {
    /// Items of NDJSON.
    Ndjson,
    /// Rows of a table in the format of the imported one.
    Csv {
        /// The header without the column for errors.
        header: String,
        /// The byte order mark of the file, if it has one.
        mark: &'static str,
        delimiter: u8,
        /// The end of each line.
        line_end: &'static str,
        encoding: &'static Encoding,
    },
}

/// A file of rejects. It is created for the first line that fails.
pub(super) struct Rejects {
    form: RejectsForm,
    /// The path without the ending.
    stem: OsString,
    /// The path of the file.
    path: PathBuf,
    writer: Option<io::Result<BufWriter<File>>>,
}

impl Rejects {
    /// Returns the rejects of an import of `file`, whose file has a similar name with `kind` in it.
    pub(super) fn of(file: &Path, kind: &str, form: RejectsForm) -> Rejects {
        let mut stem = if file == Path::new(STANDARD_INPUT) { "stdin".into() } else { file.as_os_str().to_owned() };
        stem.push(format!(".{kind}"));
        Rejects { form, stem, path: PathBuf::new(), writer: None }
    }

    /// Creates the file. An existing one is kept, because somebody may be correcting it: `a.csv.rejected.csv` is
    /// followed by `a.csv.rejected.2.csv`.
    fn create(&mut self) -> io::Result<BufWriter<File>> {
        let ending = match self.form {
            RejectsForm::Ndjson => "ndjson",
            RejectsForm::Csv { .. } => "csv",
        };
        for number in 1.. {
            let mut path = self.stem.clone();
            path.push(if number == 1 { format!(".{ending}") } else { format!(".{number}.{ending}") });
            self.path = PathBuf::from(path);
            match File::create_new(&self.path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(BufWriter::new),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Writes an item, or its original row.
    pub(super) fn add(&mut self, line: &[u8], row: Option<&str>, error: &Value) {
        let text = match &self.form {
            RejectsForm::Ndjson => format!("{}\n", with_errors(line, error)).into_bytes(),
            RejectsForm::Csv { header, mark, delimiter, line_end, encoding } => {
                let with_cell = |row: &str, cell| {
                    let cell = joined(std::iter::once(cell), *delimiter);
                    format!("{row}{}{cell}{line_end}", char::from(*delimiter))
                };
                let begin = match self.writer {
                    None => with_cell(&format!("{mark}{header}"), ERRORS),
                    Some(_) => String::new(),
                };
                let message = error["message"].as_str().unwrap_or_default();
                let text = begin + &with_cell(row.unwrap_or_default(), message);
                encoding.encode(&text).0.into_owned()
            }
        };
        let written = match self.writer.take() {
            Some(writer) => writer,
            None => self.create(),
        };
        self.writer = Some(written.and_then(|mut writer| writer.write_all(&text).map(|()| writer)));
    }

    /// Returns the path, and whether everything is written.
    pub(super) fn finish(self) -> (PathBuf, bool) {
        let is_written = self.writer.is_some_and(|writer| writer.and_then(|mut writer| writer.flush()).is_ok());
        (self.path, is_written)
    }
}
