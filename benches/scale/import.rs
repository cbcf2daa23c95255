//! An import of articles over HTTP whose answers are read meanwhile. Measures its rate for each tenth of the file.

use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::Result;
use crate::articles::{import_line, lines};
use crate::client::TOKEN;

/// The number of ids that are kept.
const IDS: usize = 20_000;

/// Tenths whose answers arrived within so many seconds have one rate.
const TOGETHER: f64 = 0.5;

/// An import that ended without an error.
pub(crate) struct Imported {
    pub(crate) seconds: f64,
    /// Articles a second in each tenth of the file.
    pub(crate) rates: Vec<f64>,
    /// Some of the ids, spread over the file.
    pub(crate) ids: Vec<String>,
}

/// Imports the first `size` articles of a file into the blueprint. The authors take turns.
pub(crate) fn import(
    address: SocketAddr,
    blueprint: &str,
    articles: &Path,
    authors: &[String],
    size: usize,
) -> Result<Imported> {
    let stream = TcpStream::connect(address)?;
    let (sender, path, slug) = (stream.try_clone()?, articles.to_owned(), blueprint.to_owned());
    let authors = authors.to_vec();
    let started = Instant::now();
    let writer = thread::spawn(move || send(&sender, &slug, path, &authors, size).map_err(|error| error.to_string()));
    let imported = receive(&stream, size, started);
    let sent = writer.join().map_err(|_| "the thread that sends the articles panicked")?;
    let imported = imported.map_err(|error| format!("{error}; sending: {sent:?}"))?;
    sent?;
    Ok(imported)
}

fn send(stream: &TcpStream, blueprint: &str, path: PathBuf, authors: &[String], size: usize) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    write!(
        out,
        "POST /v2/resources/{blueprint}/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )?;
    let mut chunk = String::new();
    for (line, author) in lines(&path)?.take(size).zip(authors.iter().cycle()) {
        chunk.push_str(&import_line(&line?, author)?);
        if chunk.len() > 1 << 16 {
            write!(out, "{:x}\r\n{chunk}\r\n", chunk.len())?;
            chunk.clear();
        }
    }
    if !chunk.is_empty() {
        write!(out, "{:x}\r\n{chunk}\r\n", chunk.len())?;
    }
    out.write_all(b"0\r\n\r\n")?;
    out.flush()?;
    Ok(())
}

fn receive(stream: &TcpStream, size: usize, started: Instant) -> Result<Imported> {
    let mut answer = BufReader::with_capacity(1 << 16, stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if answer.read_line(&mut head)? == 0 {
            return Err("the server closed the connection".into());
        }
    }
    if !head.starts_with("HTTP/1.1 200") {
        return Err(format!("the import was answered with {head}").into());
    }
    let mut progress = Progress { size, done: 0, times: Vec::new(), ids: Vec::new(), started };
    let mut rest = Vec::new();
    loop {
        let mut length = String::new();
        answer.read_line(&mut length)?;
        let length = usize::from_str_radix(length.trim(), 16)?;
        let begin = rest.len();
        rest.resize(begin + length + 2, 0);
        answer.read_exact(&mut rest[begin..])?;
        rest.truncate(begin + length);
        let end = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in rest[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            progress.line(std::str::from_utf8(line)?)?;
        }
        rest.drain(..end);
        if length == 0 {
            return progress.end();
        }
    }
}

struct Progress {
    size: usize,
    done: usize,
    /// The times at which each tenth was complete, in seconds.
    times: Vec<f64>,
    ids: Vec<String>,
    started: Instant,
}

impl Progress {
    fn line(&mut self, line: &str) -> Result<()> {
        let id = line.split_once("\"id\":\"").and_then(|(_, rest)| rest.split('"').next());
        let id = id.ok_or_else(|| format!("an article was not imported: {line}"))?;
        if self.done.is_multiple_of(self.size.div_ceil(IDS).max(1)) {
            self.ids.push(id.to_owned());
        }
        self.done += 1;
        while self.done * 10 >= self.size * (self.times.len() + 1) && self.times.len() < 10 {
            self.times.push(self.started.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn end(self) -> Result<Imported> {
        if self.done != self.size {
            return Err(format!("{} of {} articles were imported", self.done, self.size).into());
        }
        // The server keeps answers until there are many, so those of the first tenths arrive together.
        let together = self.times.partition_point(|time| *time < self.times[0] + TOGETHER);
        let tenth = self.size as f64 / 10.0;
        let first = tenth * together as f64 / self.times[together - 1];
        let later = self.times[together - 1..].windows(2).map(|pair| tenth / (pair[1] - pair[0]).max(1e-6));
        let rates = std::iter::repeat_n(first, together).chain(later).collect();
        Ok(Imported { seconds: self.started.elapsed().as_secs_f64(), rates, ids: self.ids })
    }
}
