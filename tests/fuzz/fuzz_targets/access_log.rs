//! Runs the target `access_log` of `targets.rs`.

#![no_main]

#[path = "../targets.rs"]
#[allow(clippy::unwrap_used, dead_code)]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("access_log", data));
