//! A file or standard input that can be read more than once, decompressed. Must not know its contents.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use super::error::{CliError, failed};
use super::format::Rows;

/// The limit of a decompressor's window, as a power of two: 64 MiB. A small malicious file may ask for 2 GiB.
const WINDOW_LOG: u32 = 26;

/// The name that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The input of a command.
pub(super) struct Source {
    from: Input,
    progress: ProgressBar,
}

enum Input {
    /// A file, which is opened again for each reading.
    File(PathBuf),
    /// The input from a pipe, copied to an unnamed file.
    Kept(File),
    /// A pipe that is read once.
    Once(Option<Box<dyn Read + Send>>),
}

impl Source {
    /// Opens a source, and returns its format: `rows`, or the format found by its name or its beginning. A pipe is
    /// copied to a temporary file if it must be read twice, which NDJSON need not be.
    pub(super) fn open(path: &Path, rows: Option<Rows>) -> Result<(Rows, Source), CliError> {
        let read = |error: io::Error| failed(format!("reading {}", path.display()), &explained(error));
        let rows = rows.or(Rows::of_name(&path.to_string_lossy()));
        let is_file = path != Path::new(STANDARD_INPUT) && std::fs::metadata(path).is_ok_and(|found| found.is_file());
        let from = if is_file {
            Input::File(path.to_owned())
        } else {
            let mut pipe = BufReader::new(open(path)?);
            let head = pipe.fill_buf().map_err(read)?.to_vec();
            let is_compressed = is_gzip(&head) || is_zstd(&head);
            let is_read_once = rows.unwrap_or_else(|| Rows::of_beginning(&head)) == Rows::Ndjson;
            match is_read_once && (rows.is_some() || !is_compressed) {
                true => Input::Once(Some(Box::new(pipe))),
                false => {
                    let mut kept = tempfile::tempfile().map_err(read)?;
                    io::copy(&mut pipe, &mut kept).map_err(read)?;
                    Input::Kept(kept)
                }
            }
        };
        let mut source = Source { from, progress: ProgressBar::hidden() };
        let is_read_once = matches!(source.from, Input::Once(_));
        let rows = match rows {
            Some(rows) => rows,
            None if is_read_once => Rows::Ndjson,
            None => Rows::of_beginning(source.reader().map_err(read)?.fill_buf().map_err(read)?),
        };
        Ok((rows, source))
    }

    /// Makes later readings advance a progress bar.
    pub(super) fn show(&mut self, progress: ProgressBar) {
        self.progress = progress;
    }

    /// Returns the text from its beginning.
    pub(super) fn reader(&mut self) -> io::Result<Box<dyn BufRead + Send>> {
        let file: Box<dyn Read + Send> = match &mut self.from {
            Input::File(path) => Box::new(File::open(path)?),
            Input::Kept(file) => {
                file.seek(SeekFrom::Start(0))?;
                Box::new(file.try_clone()?)
            }
            Input::Once(pipe) => pipe.take().unwrap_or_else(|| Box::new(Cursor::new(Vec::new()))),
        };
        decompress(self.progress.wrap_read(file)).map_err(explained)
    }
}

/// Opens a file or standard input.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, CliError> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|error| failed(format!("opening {}", path.display()), &error))?;
    Ok(Box::new(file))
}

/// Adds advice to the error of a file whose window is too large.
pub(super) fn explained(error: io::Error) -> io::Error {
    if !error.to_string().contains("too much memory") {
        return error;
    }
    let text = "it needs more than 64 MiB of memory to decompress; decompress it first: `zstd -d --long=31 FILE`";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Decompresses plain, gzip and zstd input, which are distinguished by their first bytes.
pub(super) fn decompress(file: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut reader = BufReader::new(file);
    let head = reader.fill_buf()?;
    Ok(if is_gzip(head) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(reader)))
    } else if is_zstd(head) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
        decoder.window_log_max(WINDOW_LOG)?;
        Box::new(BufReader::new(decoder))
    } else {
        Box::new(reader)
    })
}

fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b])
}

fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}
