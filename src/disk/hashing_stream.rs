//! Hashing of the bytes that are written to a file or read from it. Must not know their meaning.

use std::io::{self, Read, Write};

/// Hashes everything that is written to or read from `inner`.
pub struct HashingStream<T> {
    /// The target of the writes or the source of the reads.
    pub inner: T,
    /// The hash of all bytes so far.
    pub hasher: blake3::Hasher,
}

impl<T> HashingStream<T> {
    /// Makes a wrapper that hashes from the next byte on.
    pub fn new(inner: T) -> Self {
        HashingStream { inner, hasher: blake3::Hasher::new() }
    }
}

impl<T: Write> Write for HashingStream<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for HashingStream<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hasher.update(&bytes[..read]);
        Ok(read)
    }
}

impl<T: Read> HashingStream<T> {
    /// Reads the next `N` bytes.
    ///
    /// # Errors
    /// The errors of `inner`, and `UnexpectedEof` if there are fewer.
    pub fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads this many bytes. Reserves no memory for them: nothing has verified the length yet.
    ///
    /// # Errors
    /// The errors of `inner`, and `UnexpectedEof` if there are fewer.
    pub fn counted(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.take(length).read_to_end(&mut bytes)?;
        if read as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}
