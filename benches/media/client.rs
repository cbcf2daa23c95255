//! A client that costs little: one connection, and answers with `Content-Length`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::Result;

/// The token of the server.
pub(crate) const TOKEN: &str = "a-token-for-benchmarks-that-is-long-enough";

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client { stream: BufReader::with_capacity(64 << 10, stream), body: Vec::new() })
    }

    /// Returns the body of an answer with 200.
    pub(crate) fn get(&mut self, path: &str) -> Result<&[u8]> {
        let head = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
        self.stream.get_mut().write_all(head.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let is_right = line.starts_with("HTTP/1.1 200");
        let (status, mut length) = (line.trim().to_owned(), 0);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        if is_right {
            Ok(&self.body)
        } else {
            Err(format!("{path}: {status}: {}", String::from_utf8_lossy(&self.body)).into())
        }
    }
}
