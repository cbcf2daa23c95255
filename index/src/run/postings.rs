//! Posting lists: for a term, the documents that have it, ascending, and, in a list with counts, how often each has it.
//! Encodes lists while a file is written, and reads them. It does not know strings, columns or terms.
//!
//! A list begins with its number of documents. A list of one continues with that document; others continue with their
//! length in bytes. Lists of fewer than 128 documents are differences between document numbers, of 7 bits a byte. Most
//! lists are that short, and encoding them is a simple loop. Longer ones are written and read by Tantivy, which packs
//! them in blocks and can skip blocks.

pub(crate) use encode::PostingEncoder;
pub(crate) use list::{Posting, PostingList};
pub(crate) use read::{PostingLists, ReusedBlocks};

mod encode;
mod list;
mod packed;
mod read;
#[cfg(test)]
mod tests;
