//! A client of HTTP/1.1 over one connection that is kept open. It does as little as possible, because it shares the
//! processors with the server that it measures. Knows nothing of the contents of requests.

use std::net::SocketAddr;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use crate::Result;

/// A token of the server that has every ability.
pub(crate) const TOKEN: &str = "scale-scale-scale-scale-scale-scale-scale";

/// Returns the bytes of a `GET`.
pub(crate) fn get(path: &str, etag: Option<&str>) -> Bytes {
    let condition = etag.map_or_else(String::new, |etag| format!("If-None-Match: {etag}\r\n"));
    Bytes::from(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n{condition}\r\n"))
}

/// Returns the bytes of a `POST` of JSON.
pub(crate) fn post(path: &str, body: &str) -> Bytes {
    with_body("POST", path, "application/json", body)
}

/// Returns the bytes of a request with a body of this type.
pub(crate) fn with_body(method: &str, path: &str, kind: &str, body: &str) -> Bytes {
    let length = body.len();
    Bytes::from(format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

/// Returns the method and the path of a request and the beginning of its body, for messages.
pub(crate) fn beginning(request: &[u8]) -> String {
    let text = String::from_utf8_lossy(&request[..request.len().min(500)]);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&*text, ""));
    let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
    format!("{line} {body}").trim_end().to_owned()
}

/// The measured values of an answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The size of the head and the body, in bytes.
    pub(crate) bytes: usize,
}

/// A connection. The last answer stays readable until the next request.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
    head: usize,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: vec![0; 1 << 17], filled: 0, head: 0 })
    }

    /// Sends a request and reads its answer, which must have a `Content-Length` if it has a body.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Answer> {
        self.stream.write_all(request).await?;
        self.filled = 0;
        self.head = loop {
            self.fill().await?;
            if let Some(end) = find(&self.buffer[..self.filled], b"\r\n\r\n") {
                break end + 4;
            }
        };
        let status = self.buffer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let status: u16 = status.ok_or("an answer without a status")?;
        let length: usize = match self.header("content-length") {
            Some(length) => length.parse()?,
            None if matches!(status, 204 | 304) => 0,
            None => return Err("an answer without a length".into()),
        };
        let bytes = self.head + length;
        while self.filled < bytes {
            self.fill().await?;
        }
        Ok(Answer { status, bytes })
    }

    async fn fill(&mut self) -> Result<()> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        let read = self.stream.read(&mut self.buffer[self.filled..]).await?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        self.filled += read;
        Ok(())
    }

    /// Returns a header of the last answer. Servers send names in lowercase.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.buffer[..self.head]).ok()?;
        let line = head.split("\r\n").find(|line| line.starts_with(name) && line[name.len()..].starts_with(": "))?;
        Some(&line[name.len() + 2..])
    }

    /// Returns the body of the last answer.
    pub(crate) fn body(&self) -> &[u8] {
        &self.buffer[self.head..self.filled]
    }
}

/// A client that waits for each answer. An answer other than 2xx is an error.
pub(crate) struct Client {
    connection: Connection,
    runtime: Runtime,
}

impl Client {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(Connection::open(address))?;
        Ok(Client { connection, runtime })
    }

    /// Sends a request and returns the body of its answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<&[u8]> {
        let answer = self.runtime.block_on(self.connection.send(request));
        let status = answer.map_err(|error| format!("{}: {error}", beginning(request)))?.status;
        let body = self.connection.body();
        if !(200..300).contains(&status) {
            let body = String::from_utf8_lossy(body);
            return Err(format!("{} was answered with {status}: {body}", beginning(request)).into());
        }
        Ok(body)
    }

    /// Sends a request and reads the body of its answer as JSON.
    pub(crate) fn json(&mut self, request: &[u8]) -> Result<Value> {
        Ok(serde_json::from_slice(self.send(request)?)?)
    }
}

/// Returns the position of `needle`.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}
