//! The common setup of the tests of this module's parts.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use bindery_access::Access;

use crate::start::compare::Comparison;
use crate::start::findings::Findings;
use crate::{Content, ContentOptions, IndexOptions};

/// Returns the options of a small content in a folder.
pub(super) fn options(folder: &Path) -> ContentOptions {
    ContentOptions {
        folder: folder.to_owned(),
        admin_token: None,
        video_hosts: Vec::new(),
        public_url: None,
        store_cache_bytes: 1 << 20,
        index: IndexOptions::default(),
        query_timeout: std::time::Duration::from_secs(10),
        write_timeout: std::time::Duration::from_secs(30),
        changes_kept: 1_000,
        max_answer_bytes: usize::MAX,
        cluster: None,
    }
}

pub(super) fn open(folder: &Path) -> Content {
    Content::open(&options(folder)).unwrap()
}

pub(super) fn access() -> Arc<Access> {
    Arc::new(Access::everything("test"))
}

/// Copies a folder as a crash at this moment would leave it.
pub(super) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

impl Content {
    /// Compares the index with the store. Nothing may be written meanwhile.
    pub(crate) fn verify(&self) -> Findings {
        let mut findings = Findings::default();
        Comparison { store: &self.shared.store, state: &self.state() }.run(&mut findings);
        findings
    }
}
