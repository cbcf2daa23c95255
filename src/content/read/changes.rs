//! The change feed as a token sees it (`API.md` 6.1).

use std::cmp::Ordering;
use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Key, Prefix, Store};
use tokio::sync::{Semaphore, watch};

use crate::data::changes::{ChangeGroup, ChangeOp, RecordedChange};
use crate::data::feed::{Feed, FeedEnd};
use crate::handle::Content;

/// The number of readers that may look for changes in the store at once. Others wait their turn.
static READING: Semaphore = Semaphore::const_new(2);

/// One change as a token sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number. The changes after it have greater ones.
    pub number: u64,
    /// When it happened.
    pub at: Millis,
    /// The kind of change.
    pub op: ChangeOp,
    /// The blueprint's slug.
    pub blueprint: Arc<str>,
    /// The resource.
    pub id: ResourceId,
}

/// Changes after a number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Those that the token sees, in order.
    pub found: Vec<Change>,
    /// The number to go on from: everything up to it was looked at.
    pub through: u64,
}

impl Content {
    /// Where the change feed ends, and notice when that changes.
    pub fn watch_changes(&self) -> watch::Receiver<FeedEnd> {
        self.shared.feed.watch()
    }

    /// The first changes after `since` that the token sees, at most `limit`.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`. `GONE` if changes after `since` are no longer kept, or it is no number of this
    /// content's history.
    pub async fn changes(&self, access: &Arc<Access>, since: u64, limit: usize) -> Result<Changes> {
        access.require(&[Ability::View])?;
        let mut reader = Reader { access: Arc::clone(access), limit, changes: Changes::default() };
        reader.changes.through = since;
        let feed = &self.shared.feed;
        match since.cmp(&feed.end().last) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(reader.changes),
            Ordering::Greater => return Err(gone()),
        }
        if let Some(groups) = feed.recent_after(since) {
            for group in groups {
                if reader.read(&group)? {
                    break;
                }
            }
            return Ok(reader.changes);
        }
        let _permit = READING.acquire().await.map_err(Error::internal)?;
        let (feed, store) = (Arc::clone(feed), self.shared.store.clone());
        let reading = tokio::task::spawn_blocking(move || reader.read_stored(&feed, &store));
        reading.await.map_err(Error::internal)?
    }

    /// After `GONE` for the changes behind `since`: the number to go on from, behind which are the oldest changes that are kept.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub async fn oldest_kept_after(&self, since: u64) -> Result<u64> {
        let _permit = READING.acquire().await.map_err(Error::internal)?;
        let (last, store) = (self.shared.feed.end().last, self.shared.store.clone());
        let reading = tokio::task::spawn_blocking(move || end_of_gap(&store, since, last));
        reading.await.map_err(Error::internal)?
    }
}

/// The number in front of the first group that does not follow on what is kept behind `since`; the last one if there is none.
fn end_of_gap(store: &Store, since: u64, last: u64) -> Result<u64> {
    let mut through = since;
    for entry in store.scan_after(Prefix::Changes, &Key::Changes(since)) {
        let (_, bytes) = entry.map_err(Error::internal)?;
        let group = ChangeGroup::decode(&bytes)?;
        if through != group.previous && through < group.first() {
            return Ok(group.previous);
        }
        through = group.last;
    }
    Ok(last)
}

/// Collects the changes that a token sees.
struct Reader {
    access: Arc<Access>,
    limit: usize,
    changes: Changes,
}

impl Reader {
    fn read_stored(mut self, feed: &Feed, store: &Store) -> Result<Changes> {
        let last = feed.end().last;
        for entry in store.scan_after(Prefix::Changes, &Key::Changes(self.changes.through)) {
            let (key, bytes) = entry.map_err(Error::internal)?;
            if key > Key::Changes(last) || self.read(&ChangeGroup::decode(&bytes)?)? {
                break;
            }
        }
        // If nothing at all was found behind the number, everything behind it was removed.
        match self.changes.through < last && self.changes.found.len() < self.limit {
            true => Err(gone()),
            false => Ok(self.changes),
        }
    }

    /// Reads a group that ends behind what was read before. Returns whether the limit is reached.
    fn read(&mut self, group: &ChangeGroup) -> Result<bool> {
        let (first, through) = (group.first(), self.changes.through);
        // Between that and the group, numbers are missing, or belong to another history.
        if through != group.previous && through < first {
            return Err(gone());
        }
        for (number, change) in (first..).zip(&group.changes) {
            if number <= through {
                continue;
            }
            let slug = &group.slugs[usize::from(change.slug)];
            if self.sees(slug, change) {
                let (op, blueprint) = (change.op, Arc::clone(slug));
                self.changes.found.push(Change { number, at: group.at, op, blueprint, id: change.id });
            }
            self.changes.through = number;
            if self.changes.found.len() >= self.limit {
                return Ok(true);
            }
        }
        self.changes.through = group.last;
        Ok(false)
    }

    /// Tests whether the token sees a change: with `preview` all of its blueprints, otherwise what a site sees.
    fn sees(&self, slug: &str, change: &RecordedChange) -> bool {
        self.access.sees(slug) && (self.access.may(Ability::Preview) || change.was_public || change.is_public)
    }
}

fn gone() -> Error {
    Error::new(
        Code::Gone,
        "changes after this number are no longer kept, or it belongs to another history of the content: \
         read everything again, then go on from the number in the header `X-Last-Change` of this answer",
    )
}
