//! Runs the target `base` of `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
#[allow(clippy::unwrap_used, dead_code)]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("base", data));
