//! HTTP/1.1 as far as a client of object storage speaks it.

use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;

/// A request that has arrived completely.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path and the query as they came.
    pub(super) target: String,
    /// The bucket and the key, with a slash between them, decoded.
    pub(super) key: String,
    pub(super) query: BTreeMap<String, String>,
    /// The names are in lowercase.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// The seconds by which the date of the answer is ahead.
    pub(super) clock_error: i64,
}

fn decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl Request {
    /// Makes a request from its parts.
    pub(super) fn of(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            key: decode(path.trim_start_matches('/')),
            query: query.map(|(name, value)| (decode(name), decode(&value.replace('+', " ")))).collect(),
            headers: headers.iter().map(|(name, value)| (name.to_lowercase(), (*value).to_owned())).collect(),
            body: body.to_vec(),
        }
    }

    /// Reads the next request. `None` if the connection ends before its end.
    pub(super) fn read(reader: &mut impl BufRead) -> Option<Request> {
        let first = read_line(reader)?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = read_line(reader)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut request = Request::of(&method, &target, &headers, b"");
        let length = request.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        request.body = vec![0; length];
        reader.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// Returns the access key id of the signature.
    pub(super) fn access_key(&self) -> &str {
        let credential = self.header("authorization").and_then(|text| text.split("Credential=").nth(1));
        credential.and_then(|text| text.split('/').next()).unwrap_or("")
    }

    /// Returns whether this creates an object unless it exists.
    pub(super) fn is_conditional_put(&self) -> bool {
        self.method == "PUT" && self.header("if-none-match") == Some("*")
    }
}

fn read_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let bytes = reader.take(64 << 10).read_line(&mut line).ok()?;
    (bytes > 0).then(|| line.trim_end().to_owned())
}

impl Response {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Response {
        Response { status, headers: Vec::new(), body: body.into(), clock_error: 0 }
    }

    /// An error in the form of S3.
    pub(super) fn error(status: u16, code: &str) -> Response {
        Response::new(status, format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>"))
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Response {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn head(&self) -> String {
        let date = chrono::Utc::now() + chrono::TimeDelta::seconds(self.clock_error);
        let date = date.format("%a, %d %b %Y %H:%M:%S GMT");
        let mut head = format!("HTTP/1.1 {} X\r\nDate: {date}\r\nContent-Length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head + "\r\n"
    }

    /// Writes the answer. Returns whether that succeeded.
    pub(super) fn write(&self, mut stream: &TcpStream, request: &Request) -> bool {
        let mut bytes = self.head().into_bytes();
        if request.method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        stream.write_all(&bytes).is_ok()
    }

    /// Writes the answer with half of its body.
    pub(super) fn write_half(&self, mut stream: &TcpStream) {
        let mut bytes = self.head().into_bytes();
        bytes.extend_from_slice(&self.body[..self.body.len() / 2]);
        let _ = stream.write_all(&bytes);
    }
}
