//! Files that a command reads: decompressed, piece by piece, with a progress bar. Must not know what a file holds.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;

use super::error::{CliError, failed};

/// How many pieces may wait between the reader of the file and the command.
const PIECES_IN_FLIGHT: usize = 4;
const PIECE_BYTES: usize = 256 << 10;

/// The pieces of a file. The last one is the error if the file cannot be read to its end.
pub(super) type Pieces = mpsc::Receiver<io::Result<Bytes>>;

/// Where a file is cut into pieces.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// Anywhere.
    Anywhere,
    /// Only after a line.
    AfterLines,
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
            let _ = sender.blocking_send(Err(error));
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
    loop {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        match cut {
            Cut::Anywhere => {
                (&mut reader).take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
            }
            Cut::AfterLines => while piece.len() < PIECE_BYTES && reader.read_until(b'\n', &mut piece)? > 0 {},
        }
        // Sending fails once the command has ended and needs no more.
        if piece.is_empty() || sender.blocking_send(Ok(Bytes::from(piece))).is_err() {
            return Ok(());
        }
    }
}

/// Tells plain, gzip and zstd apart by their first bytes.
fn decompress(file: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(file);
    let head = reader.fill_buf()?;
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(reader)))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
        // `zstd --long` makes files with windows of up to 2 GiB.
        decoder.window_log_max(31)?;
        Box::new(BufReader::new(decoder))
    } else {
        Box::new(reader)
    })
}
