//! The salts of a cluster: each is the keyed hash of a random object in the storage. The key is known to the nodes
//! only, so that the storage alone, with all its old versions, identifies nobody.

use std::collections::BTreeSet;

use bindery_analytics::SharedSalts;
use bindery_cluster::{ClusterError, Store};
use bindery_model::time::{Millis, day_number, format_date, parse_date};
use bytes::Bytes;
use parking_lot::Mutex;

const FOLDER: &str = "analytics/salts";
const RANDOM_BYTES: usize = 32;

/// Keeps the salts that a node needs.
pub(crate) struct SaltKeeper {
    salts: SharedSalts,
    key: [u8; 32],
    /// The days that are over and have no object. Nobody makes one for them any more.
    absent: Mutex<BTreeSet<i64>>,
    /// The last day whose object is known to be removed.
    removed_through: Mutex<Option<i64>>,
}

impl SaltKeeper {
    pub(crate) fn new(salts: SharedSalts, secret: &str) -> SaltKeeper {
        let key = blake3::derive_key("bindery 2026 salts of a cluster", secret.as_bytes());
        SaltKeeper { salts, key, absent: Mutex::default(), removed_through: Mutex::new(None) }
    }

    /// Gets the salts that are needed at this time, or soon. Makes those of today and tomorrow if nobody did.
    pub(crate) fn complete(&self, store: &Store, now: Millis) -> Result<(), ClusterError> {
        let mut absent = self.absent.lock();
        for day in self.salts.missing(now) {
            if absent.contains(&day) {
                continue;
            }
            let name = format!("{FOLDER}/{}", format_date(day));
            let mut found = store.object(&name, RANDOM_BYTES as u64)?;
            if found.is_none() && day >= day_number(now) {
                let mut random = [0; RANDOM_BYTES];
                getrandom::fill(&mut random)?;
                let made = Bytes::copy_from_slice(&random);
                found = match store.create_object(&name, &made)? {
                    true => Some(made),
                    false => store.object(&name, RANDOM_BYTES as u64)?,
                };
            }
            match found {
                Some(random) => self.salts.insert(day, *blake3::keyed_hash(&self.key, &random).as_bytes()),
                None => drop(absent.insert(day)),
            }
        }
        Ok(())
    }

    /// Forgets the salts of days that are over, and destroys what they were made of, if this node does that.
    pub(crate) fn forget(&self, store: &Store, now: Millis, destroys: bool) -> Result<(), ClusterError> {
        let last = self.salts.forget_expired(now);
        self.absent.lock().retain(|day| *day > last);
        let mut removed_through = self.removed_through.lock();
        if !destroys || removed_through.is_some_and(|day| day >= last) {
            return Ok(());
        }
        for name in store.object_names(FOLDER)? {
            if parse_date(&name).is_some_and(|day| day <= last) {
                store.remove_object(&format!("{FOLDER}/{name}"))?;
            }
        }
        *removed_through = Some(last);
        Ok(())
    }
}
