//! The dictionary of a disk run: sorted lists of strings for each column, a posting list for each string, and the
//! lengths of each document's texts. It does not know the meaning of the strings.

pub(super) use file::Dictionary;
pub(super) use format::{FILE, StringsOf};
pub(super) use merge::{DROPPED, DictionaryInput, merge};
pub(super) use strings::{AFTER_ALL, PickResult, Place};
pub(super) use write::{DictionaryWriter, StringSink};

mod file;
mod format;
mod merge;
mod string_buffer;
mod strings;
#[cfg(test)]
mod tests;
mod write;
