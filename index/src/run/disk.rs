//! A run on disk: a folder with a column file, which is the source of truth, and an inverted index, which answers
//! predicates without testing every document.

pub(crate) use disk_run::{DiskRun, MergeInput};

mod disk_run;
mod evaluate;
mod grams;
mod terms;
#[cfg(test)]
mod tests;
