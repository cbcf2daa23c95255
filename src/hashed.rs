//! Hashes what is written to a file or read from one. Must not know what it is.

use std::io::{self, Read, Write};

/// Hashes everything that is written to or read from `inner`.
pub(crate) struct Hashed<T> {
    pub(crate) inner: T,
    pub(crate) hasher: blake3::Hasher,
}

impl<T> Hashed<T> {
    pub(crate) fn new(inner: T) -> Self {
        Hashed { inner, hasher: blake3::Hasher::new() }
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hasher.update(&bytes[..read]);
        Ok(read)
    }
}
