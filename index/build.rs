//! Names the releases of the crates that fold, cut and collate texts, so that an index can be tied to their data.
//!
//! The data itself has no version that a program can ask for: Unicode and CLDR are compiled into these crates.

use std::path::Path;
use std::{env, fs};

const CRATES: [&str; 8] = [
    "icu_casemap",
    "icu_casemap_data",
    "icu_collator",
    "icu_collator_data",
    "icu_normalizer",
    "icu_normalizer_data",
    "icu_properties",
    "icu_properties_data",
];

fn main() {
    let manifest_dir = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    // The lock file is beside the package that is built, which may be this one or the workspace.
    let folders = Path::new(&manifest_dir).ancestors();
    let lock = folders.map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file());
    let lock = lock.expect("Cargo.lock names the releases of the crates that fold, cut and collate texts");
    println!("cargo:rerun-if-changed={}", lock.display());
    println!("cargo:rerun-if-changed=build.rs");
    let text = fs::read_to_string(&lock).expect("Cargo.lock can be read");
    let releases: Vec<String> = CRATES.iter().map(|name| release(&text, name)).collect();
    println!("cargo:rustc-env=BINDERY_TEXT_DATA={}", releases.join(", "));
}

/// The name and version of a crate, and the beginning of its checksum, which a patched crate does not have.
fn release(lock: &str, name: &str) -> String {
    let package = lock.split("[[package]]").find(|package| value(package, "name") == Some(name));
    let package = package.unwrap_or_else(|| panic!("{name} is not in Cargo.lock"));
    let version = value(package, "version").unwrap_or("unknown");
    let checksum = value(package, "checksum").and_then(|checksum| checksum.get(..8)).unwrap_or("patched");
    format!("{name} {version} {checksum}")
}

fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    Some(line.trim_matches('"'))
}
