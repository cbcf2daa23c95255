//! Files that a command reads on another thread, piece by piece, with a progress bar. Must not know the meaning of
//! items.

use std::io::{self, BufRead, Read as _};
use std::path::Path;

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;

use super::error::{CliError, failed};
use super::output::is_quiet;
use super::rows::{Item, Items, RowOptions, too_long};
use super::source::{STANDARD_INPUT, Source, decompress, explained, open};

/// The number of pieces that may wait between the reader of the file and the command.
const PIECES_IN_FLIGHT: usize = 2;
const PIECE_BYTES: usize = 256 << 10;

/// The pieces of a file, cut anywhere. The last one is an error if reading fails.
pub(super) type Pieces = mpsc::Receiver<io::Result<Bytes>>;

/// The items of a file. The last batch is an error if reading fails.
pub(super) type Batches = mpsc::Receiver<io::Result<Batch>>;

/// Items of a file, with the broken rows between them.
#[derive(Default)]
pub(super) struct Batch {
    /// A line of NDJSON for each item.
    pub(super) lines: Bytes,
    /// The origin of each item.
    pub(super) origins: Vec<Origin>,
    pub(super) broken: Vec<BrokenRow>,
}

/// The origin of an item.
pub(super) struct Origin {
    /// The number of its line in the file, or of its element in the array; from 1.
    pub(super) place: u64,
    /// The original row of a table.
    pub(super) row: Option<String>,
}

/// A row that cannot become an item.
pub(super) struct BrokenRow {
    pub(super) origin: Origin,
    /// The problem with the row.
    pub(super) message: String,
}

/// Returns a progress bar over the bytes of a file. `suffix` is added to its template.
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

/// Reads the bytes of a file: plain, gzip or zstd.
pub(super) fn read_pieces(path: &Path, progress: ProgressBar) -> Result<Pieces, CliError> {
    let file = open(path)?;
    let (sender, pieces) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || {
        let sent = decompress(progress.wrap_read(file)).and_then(|mut reader| send_bytes(&mut reader, &sender));
        if let Err(error) = sent {
            let _ = sender.blocking_send(Err(explained(error)));
        }
    });
    Ok(pieces)
}

/// Reads the items of a file.
pub(super) fn read_batches(mut source: Source, items: Items, options: RowOptions, progress: ProgressBar) -> Batches {
    let (sender, batches) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || {
        source.show(progress);
        let sent = source.reader().and_then(|reader| send_items(&items, &options, reader, &sender));
        if let Err(error) = sent {
            let _ = sender.blocking_send(Err(explained(error)));
        }
    });
    batches
}

// Sending fails if the command has ended and needs no more.

fn send_bytes(reader: &mut dyn BufRead, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
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

/// Sends the items, including those before an error.
fn send_items(
    items: &Items,
    options: &RowOptions,
    reader: Box<dyn BufRead + Send>,
    sender: &mpsc::Sender<io::Result<Batch>>,
) -> io::Result<()> {
    let max_bytes = options.table.max_bytes;
    let mut lines = Vec::with_capacity(PIECE_BYTES);
    let mut bytes = 0;
    let mut batch = Batch::default();
    let send = |batch: &mut Batch, lines: &mut Vec<u8>| {
        let batch = Batch { lines: Bytes::from(std::mem::take(lines)), ..std::mem::take(batch) };
        sender.blocking_send(Ok(batch)).is_ok()
    };
    let read = items.each(options, reader, &mut |Item { place, line, row }| {
        bytes += row.as_ref().map_or(0, String::len) + line.as_ref().map_or_else(String::len, Vec::len);
        let origin = Origin { place, row };
        match line {
            Ok(line) if line.len() <= max_bytes => {
                lines.extend_from_slice(&line);
                lines.push(b'\n');
                batch.origins.push(origin);
            }
            Ok(_) => batch.broken.push(BrokenRow { origin, message: too_long(max_bytes) }),
            Err(message) => batch.broken.push(BrokenRow { origin, message }),
        }
        if bytes < PIECE_BYTES {
            return true;
        }
        bytes = 0;
        send(&mut batch, &mut lines)
    });
    if (!batch.origins.is_empty() || !batch.broken.is_empty()) && !send(&mut batch, &mut lines) {
        return Ok(());
    }
    read
}
