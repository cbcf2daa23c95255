//! Files that a command reads: decompressed, piece by piece, with a progress bar. Must not know what a file holds.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;

use super::error::{CliError, failed};

/// How many pieces may wait between the reader of the file and the command.
const PIECES_IN_FLIGHT: usize = 2;
const PIECE_BYTES: usize = 256 << 10;

/// How much of what it has written a decompressor may need to remember, as a power of two: 64 MiB. A small file may ask
/// for 2 GiB.
const WINDOW_LOG: u32 = 26;

/// The pieces of a file. The last one is the error if the file cannot be read to its end.
pub(super) type Pieces = mpsc::Receiver<io::Result<Bytes>>;

/// Where a file is cut into pieces.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// Anywhere.
    Anywhere,
    /// Only after a line. Reading ends with an error at a line that is longer than this: the file may be a small one that
    /// decompresses to terabytes.
    AfterLines(usize),
}

/// A progress bar over the bytes of a file. `suffix` is added to its template.
pub(super) fn progress(file: &Path, suffix: &str) -> Result<ProgressBar, CliError> {
    let size = std::fs::metadata(file).map_err(|error| failed(format!("opening {}", file.display()), &error))?;
    let progress = ProgressBar::new(size.len());
    let style =
        ProgressStyle::with_template(&format!("{{bar:40}} {{percent:>3}} % {{bytes_per_sec}}, {{eta}} left{suffix}"));
    progress.set_style(style.map_err(|error| failed("drawing the progress bar", &error))?);
    Ok(progress)
}

/// Reads a file on a thread of its own: plain, gzip or zstd.
pub(super) fn read_pieces(path: &Path, cut: Cut, progress: ProgressBar) -> Result<Pieces, CliError> {
    let file = File::open(path).map_err(|error| failed(format!("opening {}", path.display()), &error))?;
    let (sender, pieces) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = send_pieces(file, cut, &progress, &sender) {
            let _ = sender.blocking_send(Err(explained(error)));
        }
    });
    Ok(pieces)
}

fn send_pieces(
    file: File,
    cut: Cut,
    progress: &ProgressBar,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let mut reader = decompress(progress.wrap_read(file))?;
    let mut lines = 0;
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let read = match cut {
            Cut::Anywhere => (&mut reader).take(PIECE_BYTES as u64).read_to_end(&mut piece).map(|_| ()),
            Cut::AfterLines(max_bytes) => read_lines(&mut reader, max_bytes, &mut lines, &mut piece),
        };
        // Sending fails once the command has ended and needs no more.
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

/// Reads whole lines until there is enough for a piece. After an error the piece has the lines before it.
fn read_lines(reader: &mut impl BufRead, max_bytes: usize, lines: &mut u64, piece: &mut Vec<u8>) -> io::Result<()> {
    while piece.len() < PIECE_BYTES {
        let start = piece.len();
        *lines += 1;
        let read = reader.by_ref().take(max_bytes as u64 + 1).read_until(b'\n', piece).and_then(|read| {
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
