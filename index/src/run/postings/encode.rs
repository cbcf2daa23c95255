//! Encodes posting lists while a file is written.

use std::io;

use super::list::{PACKED_FROM, Posting};
use super::packed::pack;
use crate::varint::put_varint;

/// An encoder of posting lists.
#[derive(Default)]
pub(crate) struct PostingEncoder {
    body: Vec<u8>,
}

impl PostingEncoder {
    /// Appends a list, which must not be empty, to `out`.
    pub(crate) fn put(&mut self, posting: Posting<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let documents = posting.documents.len() as u32;
        put_varint(out, u64::from(documents));
        if documents == 1 {
            put_differences(posting, out);
            return Ok(());
        }
        self.body.clear();
        match documents < PACKED_FROM {
            true => put_differences(posting, &mut self.body),
            false => pack(posting, &mut self.body)?,
        }
        put_varint(out, self.body.len() as u64);
        out.extend_from_slice(&self.body);
        Ok(())
    }
}

/// Appends the differences. In a list with counts, the lowest bit of a difference is set if a count greater than one
/// follows.
fn put_differences(posting: Posting<'_>, out: &mut Vec<u8>) {
    let mut before = 0;
    if posting.counts.is_empty() {
        for &document in posting.documents {
            put_varint(out, u64::from(document - before));
            before = document;
        }
        return;
    }
    for (&document, &count) in posting.documents.iter().zip(posting.counts) {
        put_varint(out, u64::from(document - before) << 1 | u64::from(count > 1));
        if count > 1 {
            put_varint(out, u64::from(count));
        }
        before = document;
    }
}
