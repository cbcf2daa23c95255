//! The dictionary of a disk run: for each column lists of strings, sorted, each with a posting list; and how long the texts of
//! each document are. It knows not what the strings stand for.

pub(super) use file::Dictionary;
pub(super) use format::{FILE, StringsOf};
pub(super) use merge::{DROPPED, DictionaryInput, merge};
pub(super) use strings::{PickResult, Place};
pub(super) use write::{DictionaryWriter, StringSink};

mod file;
mod format;
mod merge;
mod strings;
#[cfg(test)]
mod tests;
mod write;
