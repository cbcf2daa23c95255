//! The output of an export: standard output, or a file that is compressed if its name says so. Must not know what is
//! written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use flate2::write::GzEncoder;

use super::super::error::{CliError, failed};
use super::super::format::Compression;

/// The place that an export is written to.
pub(super) enum ExportOutput {
    Plain(Box<dyn Write + Send>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl ExportOutput {
    /// Creates the file; without one, returns standard output.
    pub(super) fn open(file: Option<PathBuf>) -> Result<ExportOutput, CliError> {
        let Some(path) = file else { return Ok(ExportOutput::Plain(Box::new(io::stdout()))) };
        let open = || {
            let file = BufWriter::new(File::create(&path)?);
            Ok(match Compression::of_name(&path.to_string_lossy()) {
                Compression::Plain => ExportOutput::Plain(Box::new(file)),
                Compression::Gzip => ExportOutput::Gzip(GzEncoder::new(file, flate2::Compression::default())),
                Compression::Zstd => ExportOutput::Zstd(zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?),
            })
        };
        open().map_err(|error: io::Error| failed(format!("creating {}", path.display()), &error))
    }

    /// Writes a piece. Returns false if the output is closed: `export | head` ends when `head` does.
    pub(super) fn write(&mut self, piece: &[u8]) -> Result<bool, CliError> {
        let writer: &mut dyn Write = match self {
            ExportOutput::Plain(out) => out,
            ExportOutput::Gzip(out) => out,
            ExportOutput::Zstd(out) => out,
        };
        match writer.write_all(piece) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(failed(WRITING, &error)),
        }
    }

    /// Writes the end of the compressed data, and everything that is still buffered.
    pub(super) fn finish(self) -> Result<(), CliError> {
        let finished = match self {
            ExportOutput::Plain(mut out) => out.flush(),
            ExportOutput::Gzip(out) => out.finish().and_then(|mut file| file.flush()),
            ExportOutput::Zstd(out) => out.finish().and_then(|mut file| file.flush()),
        };
        finished.map_err(|error| failed(WRITING, &error))
    }
}

/// The action that errors of writing name.
const WRITING: &str = "writing the export";

/// The level of zstd. It is the default of the program `zstd`.
const ZSTD_LEVEL: i32 = 3;
