//! A run on disk: a folder with a column file, which is the source of truth, and a dictionary, which answers predicates
//! without testing every document.

pub(crate) use disk_run::{DiskRun, MergeInput};

mod access_path;
mod build;
mod cost;
mod dictionary;
mod disk_run;
mod evaluate;
mod grams;
mod ids;
mod inverter;
mod substring;
mod tally;
mod terms;
#[cfg(test)]
mod tests;
mod tokens;
mod wanted_tokens;
mod words;
