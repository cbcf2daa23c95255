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

/// The number of readers that may read changes from the store at once. Others wait.
static READING: Semaphore = Semaphore::const_new(2);

/// One change as a token sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number. The changes after it have greater ones.
    pub number: u64,
    /// The time of the change.
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
    /// The changes that the token sees, in order.
    pub found: Vec<Change>,
    /// The number to continue from: all changes up to it were checked.
    pub through: u64,
}

impl Content {
    /// Returns a receiver of the end of the change feed and of every later one.
    pub fn watch_changes(&self) -> watch::Receiver<FeedEnd> {
        self.shared.feed.watch()
    }

    /// Returns the first changes after `since` that the token sees, at most `limit`.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`. `GONE` if changes after `since` are no longer kept, or it is no number of this
    /// content's history; on a node, that is known only once its state is confirmed, so those of `confirm` too.
    pub async fn changes(&self, access: &Arc<Access>, since: u64, limit: usize) -> Result<Changes> {
        access.require(&[Ability::View])?;
        let mut reader = Reader { access: Arc::clone(access), limit, changes: Changes::default() };
        reader.changes.through = since;
        let feed = &self.shared.feed;
        if since > feed.end().last {
            // Another node may have given this number, and this one may not be as far yet.
            self.confirm().await?;
        }
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

    /// Returns the number from which the oldest changes after a gap can be read, for a reader that got `GONE` at
    /// `since`.
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

/// Returns the number before the first group after a gap behind `since`; `last` if there is no gap.
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
        // If the loop found no group behind the number, all of them were removed.
        match self.changes.through < last && self.changes.found.len() < self.limit {
            true => Err(gone()),
            false => Ok(self.changes),
        }
    }

    /// Reads the next group. Returns whether the limit is reached.
    fn read(&mut self, group: &ChangeGroup) -> Result<bool> {
        let (first, through) = (group.first(), self.changes.through);
        // The numbers between `through` and the group are missing or belong to another history.
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

    /// Returns whether the token sees a change: with `preview` every change of its blueprints, otherwise those that the
    /// public sees.
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
