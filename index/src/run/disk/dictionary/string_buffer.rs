//! The strings of a list until its posting lists are written, which come before them in the file. It does not know
//! where one string ends.
//!
//! The longest list of a million articles has tens of megabytes. So full pieces are compressed: neighbors begin alike,
//! so most pieces take a third of the space.

use std::io;

/// Bytes that wait to be written.
#[derive(Default)]
pub(super) struct StringBuffer {
    /// The full pieces, in order.
    full: Vec<PackedPiece>,
    /// The piece that is being filled.
    last: Vec<u8>,
    length: usize,
}

struct PackedPiece {
    packed: Box<[u8]>,
    unpacked_length: usize,
}

/// A piece is full at this length.
const PIECE: usize = 1 << 20;
/// The level of zstd: the fastest one.
const COMPRESSION_LEVEL: i32 = 1;

impl StringBuffer {
    /// Appends bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.last.extend_from_slice(bytes);
        self.length += bytes.len();
        if self.last.len() >= PIECE {
            let packed = zstd::bulk::compress(&self.last, COMPRESSION_LEVEL)?.into_boxed_slice();
            self.full.push(PackedPiece { packed, unpacked_length: self.last.len() });
            self.last.clear();
        }
        Ok(())
    }

    /// Returns the number of bytes that were appended.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Passes all bytes on, in order.
    pub(super) fn drain(self, mut out: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        for PackedPiece { packed, unpacked_length } in self.full {
            out(&zstd::bulk::decompress(&packed, unpacked_length)?)?;
        }
        out(&self.last)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn bytes_come_back_in_order_however_many_there_are() {
        for count in [0, 1, 1_000, 400_000] {
            let mut buffer = StringBuffer::default();
            let mut expected = Vec::new();
            for number in 0..count {
                let string = format!("string {number:07}");
                buffer.put(string.as_bytes()).unwrap();
                expected.extend_from_slice(string.as_bytes());
            }
            let held = buffer.last.len() + buffer.full.iter().map(|piece| piece.packed.len()).sum::<usize>();
            assert_eq!((buffer.len(), buffer.full.len()), (expected.len(), expected.len() / PIECE));
            assert!(held <= PIECE + expected.len() / 3, "{held} of {}", expected.len());
            let mut found = Vec::new();
            buffer
                .drain(|bytes| {
                    found.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            assert!(found == expected, "{count}");
        }
    }
}
