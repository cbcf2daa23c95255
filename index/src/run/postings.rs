//! Posting lists: the documents that have something, ascending, and how often each of them has it, which only a list with
//! counts keeps. Coding lists while a file is written, and reading them. It knows nothing of strings, columns or terms.
//!
//! A list begins with how many documents it has. A list of one goes on with its document; others with their length in bytes.
//! Lists of fewer than 128 documents are differences between their numbers, of 7 bits a byte. Most lists are that
//! short, and writing and reading them is a loop. Longer ones are written and read by Tantivy, which packs blocks of them and
//! can skip blocks.

pub(crate) use encode::PostingEncoder;
pub(crate) use list::{Posting, PostingList};
pub(crate) use read::{PostingLists, ReusedBlocks};

mod encode;
mod list;
mod packed;
mod read;
#[cfg(test)]
mod tests;
mod varint;
