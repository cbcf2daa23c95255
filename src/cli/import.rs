//! `bindery import BLUEPRINT FILE`: NDJSON, plain, gzip or zstd, into a running server or a data folder.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;

use super::remote::{Remote, root_cause};
use super::{CliError, close, failed, open_existing, print};
use crate::access::Access;
use crate::config::ImportArgs;
use crate::http::error::error_object;

/// How many batches of lines may wait between the reader of the file and the import.
const BATCHES_IN_FLIGHT: usize = 4;
const BATCH_BYTES: usize = 256 << 10;

/// How many faults are shown; all are written beside the file.
const SHOWN_FAULTS: usize = 5;

pub(super) async fn import(args: ImportArgs) -> Result<(), CliError> {
    let started = Instant::now();
    let mut tally = Tally::new(&args.file)?;
    let lines = read_lines(&args.file, tally.progress.clone())?;
    match Remote::of(&args.server)? {
        Some(remote) => import_to_server(&remote, &args.blueprint, lines, &mut tally).await?,
        None => {
            let content = open_existing(&args.server).await?;
            let result = import_to_folder(&content, &args.blueprint, lines, &mut tally).await;
            close(content).await?;
            result?;
        }
    }
    tally.finish(started.elapsed())
}

type Lines = mpsc::Receiver<Result<Bytes, std::io::Error>>;

/// Reads the file on a thread of its own, in batches of whole lines.
fn read_lines(path: &Path, progress: ProgressBar) -> Result<Lines, CliError> {
    let file = File::open(path).map_err(|error| failed(format!("opening {}", path.display()), &error))?;
    let (batches, lines) = mpsc::channel(BATCHES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = send_lines(file, &progress, &batches) {
            let _ = batches.blocking_send(Err(error));
        }
    });
    Ok(lines)
}

fn send_lines(
    file: File,
    progress: &ProgressBar,
    batches: &mpsc::Sender<Result<Bytes, std::io::Error>>,
) -> std::io::Result<()> {
    let mut reader = decompress(progress.wrap_read(file))?;
    loop {
        let mut batch = Vec::with_capacity(BATCH_BYTES);
        while batch.len() < BATCH_BYTES && reader.read_until(b'\n', &mut batch)? > 0 {}
        if batch.is_empty() || batches.blocking_send(Ok(Bytes::from(batch))).is_err() {
            return Ok(());
        }
    }
}

/// Tells plain, gzip and zstd apart by their first bytes.
pub(super) fn decompress(file: impl Read + Send + 'static) -> std::io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(file);
    let head = reader.fill_buf()?;
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(reader)))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
        // Files made with `--long` have windows of up to 2 GiB.
        decoder.window_log_max(31)?;
        Box::new(BufReader::new(decoder))
    } else {
        Box::new(reader)
    })
}

async fn import_to_folder(
    content: &crate::content::Content,
    blueprint: &str,
    mut lines: Lines,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let mut import = content.import(&Access::everything("cli"), blueprint, "")?;
    let note = |answers: Vec<crate::content::ImportLine>, tally: &mut Tally| {
        for answer in answers {
            match answer.result {
                Ok((_, op)) => tally.done(answer.index, op),
                Err(error) => tally.failed(answer.index, &error_object(&error)),
            }
        }
    };
    while let Some(batch) = lines.recv().await {
        let batch = batch.map_err(|error| failed("reading the file", &error))?;
        for line in batch.split(|byte| *byte == b'\n') {
            tally.keep(line);
            note(import.push(line).await?, tally);
        }
    }
    note(import.finish().await?, tally);
    Ok(())
}

async fn import_to_server(
    remote: &Remote,
    blueprint: &str,
    mut lines: Lines,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let (body, stream) = mpsc::channel(BATCHES_IN_FLIGHT);
    let path = format!("/v2/resources/{blueprint}/import");
    let answers = read_answers(remote, &path, stream);
    let (kept, mut keep) = mpsc::unbounded_channel::<Bytes>();
    let send = async move {
        while let Some(batch) = lines.recv().await {
            if let Ok(batch) = &batch {
                let _ = kept.send(batch.clone());
            }
            if body.send(batch).await.is_err() {
                return;
            }
        }
    };
    let receive = async {
        let mut answers = std::pin::pin!(answers);
        while let Some(line) = answers.next().await {
            while let Ok(batch) = keep.try_recv() {
                batch.split(|byte| *byte == b'\n').for_each(|line| tally.keep(line));
            }
            tally.answer(&line?)?;
        }
        Ok::<(), CliError>(())
    };
    let ((), received) = tokio::join!(send, receive);
    received
}

/// The answer's lines, as they come.
fn read_answers(remote: &Remote, path: &str, body: Lines) -> impl tokio_stream::Stream<Item = Result<Value, CliError>> {
    let (lines, received) = mpsc::channel(1024);
    let (remote, path) = (remote.clone(), path.to_owned());
    tokio::spawn(async move {
        let outcome = async {
            let mut response = remote.post_stream(&path, body).await?;
            let mut rest = Vec::new();
            while let Some(piece) = response.chunk().await.map_err(|error| cut_off(&error))? {
                rest.extend_from_slice(&piece);
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let value = serde_json::from_slice(&line).map_err(|error| failed("reading the answer", &error))?;
                    if lines.send(Ok(value)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Ok::<(), CliError>(())
        };
        if let Err(error) = outcome.await {
            let _ = lines.send(Err(error)).await;
        }
    });
    tokio_stream::wrappers::ReceiverStream::new(received)
}

fn cut_off(cause: &dyn std::error::Error) -> CliError {
    let what =
        "the server went away before the import ended; start it and import the file again, which doubles nothing";
    failed(what, &root_cause(cause))
}

/// What became of the lines.
struct Tally {
    progress: ProgressBar,
    created: u64,
    updated: u64,
    faults: u64,
    shown: Vec<String>,
    /// Lines that are not answered yet, by their place; what fails is written from here.
    open: std::collections::BTreeMap<u64, Vec<u8>>,
    next: u64,
    rejected: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl Tally {
    fn new(file: &Path) -> Result<Tally, CliError> {
        let size = std::fs::metadata(file).map_err(|error| failed(format!("opening {}", file.display()), &error))?;
        let progress = ProgressBar::new(size.len());
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} % {bytes_per_sec}, {eta} left  {msg}");
        progress.set_style(style.map_err(|error| failed("drawing the progress bar", &error))?);
        let mut rejected = file.as_os_str().to_owned();
        rejected.push(".rejected.ndjson");
        Ok(Tally {
            progress,
            created: 0,
            updated: 0,
            faults: 0,
            shown: Vec::new(),
            open: std::collections::BTreeMap::new(),
            next: 0,
            rejected: PathBuf::from(rejected),
            writer: None,
        })
    }

    /// Notes a line that was sent; blank ones are no items.
    fn keep(&mut self, line: &[u8]) {
        if !line.iter().all(u8::is_ascii_whitespace) {
            self.open.insert(self.next, line.to_vec());
            self.next += 1;
        }
    }

    fn answer(&mut self, line: &Value) -> Result<(), CliError> {
        let Some(index) = line["index"].as_u64() else {
            let message = line["errors"]["message"].as_str().unwrap_or("the import was cut off");
            return Err(CliError::Incomplete(message.to_owned()));
        };
        match line["op"].as_str() {
            Some(op) => self.done(index, op),
            None => self.failed(index, &line["errors"]),
        }
        Ok(())
    }

    fn done(&mut self, index: u64, op: &str) {
        self.open.remove(&index);
        match op {
            "created" => self.created += 1,
            _ => self.updated += 1,
        }
        self.progress.set_message(format!("{} done", self.created + self.updated));
    }

    fn failed(&mut self, index: u64, errors: &Value) {
        self.faults += 1;
        let message = errors["message"].as_str().unwrap_or_default();
        if self.shown.len() < SHOWN_FAULTS {
            self.shown.push(format!("item {index}: {message}"));
        }
        let line = self.open.remove(&index).unwrap_or_default();
        if self.writer.is_none() {
            self.writer = File::create(&self.rejected).ok().map(BufWriter::new);
        }
        if let Some(writer) = &mut self.writer {
            let _ = writer.write_all(&line).and_then(|()| writer.write_all(b"\n"));
        }
    }

    fn finish(mut self, elapsed: Duration) -> Result<(), CliError> {
        self.progress.finish_and_clear();
        for fault in &self.shown {
            print(fault);
        }
        let items = self.created + self.updated + self.faults;
        let seconds = elapsed.as_secs_f64();
        print(&format!(
            "{items} items in {seconds:.1} s: {} created, {} updated, {} failed",
            self.created, self.updated, self.faults
        ));
        if self.faults == 0 {
            return Ok(());
        }
        let flushed = self.writer.as_mut().map(BufWriter::flush);
        match flushed {
            Some(Ok(())) => Err(CliError::Incomplete(format!(
                "{} items failed; they are in {}: mend them there and import that file",
                self.faults,
                self.rejected.display()
            ))),
            _ => Err(CliError::Incomplete(format!(
                "{} items failed, and {} could not be written",
                self.faults,
                self.rejected.display()
            ))),
        }
    }
}
