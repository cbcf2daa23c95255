//! Removing old groups from a log. Their names stay.
//!
//! A removed object is overwritten with an empty one and never deleted, so that no name is free twice: a put that comes
//! a year late, from a virtual machine that was paused, still finds its name in use.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};

use crate::cluster::{json, parse};
use crate::error::ClusterError;
use crate::log::{Log, LogShared};
use crate::objects::{MAX_JSON_BYTES, block};

/// Objects that are overwritten at a time.
const CONCURRENT_PUTS: usize = 8;

/// The object `removed.json`. Only spares the next leader a list of all names, so it may be old or missing.
#[derive(Serialize, Deserialize)]
struct RemovedFile {
    format: u64,
    /// Every object with a lower sequence number is empty.
    before: u64,
}

impl Log {
    /// Removes the groups with sequence numbers below `seq` that are older than `older_than`, by the storage's clock.
    /// Returns their number. The caller has two bases that are not older than `seq`.
    ///
    /// # Errors
    /// If the storage fails. Some groups may have been removed; a later call goes on.
    pub fn remove_before(&self, seq: u64, older_than: Duration) -> Result<u64, ClusterError> {
        block(async {
            let start = match self.removed_before.load(Ordering::Relaxed) {
                0 => self.shared.read_removed().await?,
                before => before,
            };
            let (end, removed) = self.shared.remove(start, seq, older_than).await?;
            if end > start {
                let file = RemovedFile { format: 1, before: end };
                self.shared.objects.overwrite(&self.shared.removed_file(), json(&file)?).await?;
            }
            self.removed_before.store(end, Ordering::Relaxed);
            Ok(removed)
        })
    }
}

impl LogShared {
    fn removed_file(&self) -> String {
        format!("{}/removed.json", self.history.folder())
    }

    /// Returns the sequence number below which everything is removed, as far as it was noted.
    async fn read_removed(&self) -> Result<u64, ClusterError> {
        let name = self.removed_file();
        let Some(bytes) = self.objects.get(&name, MAX_JSON_BYTES).await? else { return Ok(1) };
        match parse::<RemovedFile>(&name, &bytes) {
            Ok(file) => Ok(file.before.max(1)),
            Err(error) => {
                tracing::warn!("{error}; looking at all names instead");
                Ok(1)
            }
        }
    }

    /// Removes the groups from `start` to below `end`. Returns where the next call begins, and the number of groups.
    async fn remove(&self, start: u64, end: u64, older_than: Duration) -> Result<(u64, u64), ClusterError> {
        let listed = self.list_after(start.saturating_sub(1)).await?;
        let now = self.objects.now();
        let mut next = start;
        let mut names = Vec::new();
        for (seq, object) in listed.into_iter().take_while(|&(seq, _)| seq < end) {
            let is_old = (now - object.last_modified).to_std().is_ok_and(|age| age >= older_than);
            // Later groups are younger, except by clocks that are wrong.
            if object.size > 0 && !is_old {
                break;
            }
            if object.size > 0 {
                names.push(self.name(seq));
            }
            next = seq + 1;
        }
        let removed = names.len() as u64;
        futures_util::stream::iter(names)
            .map(|name| async move { self.objects.overwrite(&name, Bytes::new()).await })
            .buffer_unordered(CONCURRENT_PUTS)
            .try_collect::<()>()
            .await?;
        Ok((next, removed))
    }
}
