//! Files that a command reads, or standard input: decompressed, piece by piece, with a progress bar. Must not know what the
//! items of a file mean.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;

use super::error::{CliError, failed};
use super::output::is_quiet;
use super::rows::{RowOptions, Rows, each_item};

/// How many pieces may wait between the reader of the file and the command.
const PIECES_IN_FLIGHT: usize = 2;
const PIECE_BYTES: usize = 256 << 10;

/// How much of what it has written a decompressor may need to remember, as a power of two: 64 MiB. A small file may ask
/// for 2 GiB.
const WINDOW_LOG: u32 = 26;

/// The pieces of a file. The last one is the error if the file cannot be read to its end.
pub(super) type Pieces = mpsc::Receiver<io::Result<Bytes>>;

/// What is made of a file.
pub(super) enum Reading {
    /// Its bytes, cut anywhere.
    Bytes,
    /// Its items, as whole lines of NDJSON. Reading ends with an error at one that is longer than `max_bytes`: the file may
    /// be a small one that decompresses to terabytes.
    Items {
        /// What the file holds; `None` for what its name or its beginning says.
        rows: Option<Rows>,
        options: Box<RowOptions>,
        max_bytes: usize,
    },
}

type Sender = mpsc::Sender<io::Result<Bytes>>;

/// The name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A progress bar over the bytes of a file. `suffix` is added to its template.
pub(super) fn progress(path: &Path, suffix: &str) -> Result<ProgressBar, CliError> {
    let (progress, template) = if path == Path::new(STANDARD_INPUT) {
        (ProgressBar::no_length(), "{bytes} {bytes_per_sec}")
    } else {
        let found = std::fs::metadata(path).map_err(|error| failed(format!("opening {}", path.display()), &error))?;
        if found.is_dir() {
            return Err(CliError::Incomplete(format!("{} is a folder; name a file", path.display())));
        }
        (ProgressBar::new(found.len()), "{bar:40} {percent:>3} % {bytes_per_sec}, {eta} left")
    };
    if is_quiet() {
        return Ok(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template(&format!("{template}{suffix}"));
    progress.set_style(style.map_err(|error| failed("drawing the progress bar", &error))?);
    Ok(progress)
}

/// Reads a file on a thread of its own: plain, gzip or zstd.
pub(super) fn read_pieces(path: &Path, reading: Reading, progress: ProgressBar) -> Result<Pieces, CliError> {
    let file = open(path)?;
    let (sender, pieces) = mpsc::channel(PIECES_IN_FLIGHT);
    let name = path.to_string_lossy().into_owned();
    tokio::task::spawn_blocking(move || {
        let sent = decompress(progress.wrap_read(file)).and_then(|mut reader| match reading {
            Reading::Bytes => send_bytes(&mut reader, &sender),
            Reading::Items { rows, options, max_bytes } => {
                let rows = match rows.or(Rows::of_name(&name)) {
                    Some(rows) => rows,
                    None => Rows::of_beginning(reader.fill_buf()?),
                };
                match rows {
                    Rows::Ndjson if options.key.is_none() => send_lines(&mut reader, max_bytes, &sender),
                    _ => send_items(rows, &options, reader, max_bytes, &sender),
                }
            }
        });
        if let Err(error) = sent {
            let _ = sender.blocking_send(Err(explained(error)));
        }
    });
    Ok(pieces)
}

/// Reads a whole file, decompressed, with what it holds.
pub(super) fn read_rows(path: &Path, rows: Option<Rows>) -> Result<(Rows, Box<dyn BufRead>), CliError> {
    let read = |error: io::Error| failed(format!("reading {}", path.display()), &explained(error));
    let mut reader = decompress(open(path)?).map_err(read)?;
    let rows = match rows.or(Rows::of_name(&path.to_string_lossy())) {
        Some(rows) => rows,
        None => Rows::of_beginning(reader.fill_buf().map_err(read)?),
    };
    Ok((rows, reader))
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>, CliError> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|error| failed(format!("opening {}", path.display()), &error))?;
    Ok(Box::new(file))
}

// Sending fails once the command has ended and needs no more.

fn send_bytes(reader: &mut dyn BufRead, sender: &Sender) -> io::Result<()> {
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let read = reader.take(PIECE_BYTES as u64).read_to_end(&mut piece);
        let is_over = piece.is_empty();
        if !is_over && sender.blocking_send(Ok(Bytes::from(piece))).is_err() {
            return Ok(());
        }
        read?;
        if is_over {
            return Ok(());
        }
    }
}

fn send_lines(reader: &mut dyn BufRead, max_bytes: usize, sender: &Sender) -> io::Result<()> {
    let mut lines = 0;
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let read = read_lines(reader, max_bytes, &mut lines, &mut piece);
        let is_over = piece.is_empty();
        if !is_over && sender.blocking_send(Ok(Bytes::from(piece))).is_err() {
            return Ok(());
        }
        read?;
        if is_over {
            return Ok(());
        }
    }
}

/// Sends the items that rows become. Those before an error are sent.
fn send_items(
    rows: Rows,
    options: &RowOptions,
    reader: impl Read,
    max_bytes: usize,
    sender: &Sender,
) -> io::Result<()> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut items = 0;
    let mut is_too_long = false;
    let mut emit = |item: Vec<u8>| {
        items += 1;
        is_too_long = item.len() > max_bytes;
        if is_too_long {
            return false;
        }
        piece.extend_from_slice(&item);
        piece.push(b'\n');
        piece.len() < PIECE_BYTES || sender.blocking_send(Ok(Bytes::from(std::mem::take(&mut piece)))).is_ok()
    };
    let read = each_item(rows, options, reader, &mut emit);
    if !piece.is_empty() && sender.blocking_send(Ok(Bytes::from(piece))).is_err() {
        return Ok(());
    }
    if is_too_long { Err(too_long(items, max_bytes)) } else { read }
}

/// Reads whole lines until there is enough for a piece. After an error the piece has the lines before it.
fn read_lines(reader: &mut dyn BufRead, max_bytes: usize, lines: &mut u64, piece: &mut Vec<u8>) -> io::Result<()> {
    while piece.len() < PIECE_BYTES {
        let start = piece.len();
        *lines += 1;
        let read = (&mut *reader).take(max_bytes as u64 + 1).read_until(b'\n', piece).and_then(|read| {
            let is_whole = read <= max_bytes || piece.ends_with(b"\n");
            if is_whole { Ok(read) } else { Err(too_long(*lines, max_bytes)) }
        });
        if read.is_err() {
            piece.truncate(start);
        }
        if read? == 0 {
            break;
        }
    }
    Ok(())
}

/// The error of a file whose window is too large says what to do.
fn explained(error: io::Error) -> io::Error {
    if !error.to_string().contains("too much memory") {
        return error;
    }
    let text = "it needs more than 64 MiB of memory to decompress; decompress it first: `zstd -d --long=31 FILE`";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn too_long(line: u64, max_bytes: usize) -> io::Error {
    let text = format!("line {line} is longer than {max_bytes} bytes, which is the limit (`max_body_bytes`)");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Tells plain, gzip and zstd apart by their first bytes.
fn decompress(file: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(file);
    let head = reader.fill_buf()?;
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(reader)))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
        decoder.window_log_max(WINDOW_LOG)?;
        Box::new(BufReader::new(decoder))
    } else {
        Box::new(reader)
    })
}
