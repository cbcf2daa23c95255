//! Pageviews, events, searches and clicks that a node was sent and does not count itself: in numbered batches, which it
//! keeps until they are confirmed.
//!
//! Everything is kept as JSON from the beginning, so that its size is known.

use std::collections::VecDeque;

use bindery_analytics::Countable;
use bindery_model::time::Millis;
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The most bytes that wait; what comes then is dropped.
const MAX_BYTES: usize = 32 << 20;
/// The size from which on a batch is complete.
const BATCH_BYTES: usize = 1 << 20;
/// The longest time that something may have waited, in milliseconds: times before that are not believed.
const LONGEST_WAIT: Millis = 60 * 60 * 1_000;

/// The batches of a node.
pub(crate) struct Outbox {
    sender: String,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    /// The items of the next batch, separated by commas.
    open: Vec<u8>,
    complete: VecDeque<(u64, Bytes)>,
    /// The number of the last complete batch.
    last: u64,
    bytes: usize,
}

/// A batch as it travels.
#[derive(Serialize, Deserialize)]
pub(crate) struct SentBatch {
    pub(crate) sender: String,
    /// The number of the batch; 0 for a question without one.
    pub(crate) number: u64,
    /// The number of the first batch that the sender keeps: those before it are confirmed. Older versions omit it.
    pub(crate) first: Option<u64>,
    /// The time at which it was sent, by the clock of the sender.
    pub(crate) now: Millis,
    /// The items, each with its time by the same clock.
    pub(crate) items: Vec<(Millis, Countable)>,
}

impl SentBatch {
    /// Returns whether a server that has counted the batches of the sender up to `counted` lacks some before this one.
    pub(crate) fn has_gap_after(&self, counted: u64) -> bool {
        self.first.is_some_and(|first| self.number > first.max(counted.saturating_add(1)))
    }

    /// Returns the items with their times by the clock of this server, in order.
    pub(crate) fn into_local(self, now: Millis) -> Vec<(Millis, Countable)> {
        let local = |at: Millis| now - self.now.saturating_sub(at).clamp(0, LONGEST_WAIT);
        self.items.into_iter().map(|(at, what)| (local(at), what)).collect()
    }
}

impl Outbox {
    /// `sender` is the name of the node, and something that is different after each start.
    pub(crate) fn new(sender: String) -> Outbox {
        Outbox { sender, contents: Mutex::default() }
    }

    pub(crate) fn sender(&self) -> &str {
        &self.sender
    }

    /// Adds something. Returns false if there is no room.
    pub(crate) fn push(&self, at: Millis, what: &Countable) -> bool {
        let Ok(item) = serde_json::to_vec(&(at, what)) else { return false };
        let mut contents = self.contents.lock();
        if contents.bytes + item.len() >= MAX_BYTES {
            return false;
        }
        contents.bytes += item.len() + 1;
        if !contents.open.is_empty() {
            contents.open.push(b',');
        }
        contents.open.extend_from_slice(&item);
        if contents.open.len() >= BATCH_BYTES {
            contents.complete_batch();
        }
        true
    }

    /// Returns the number and the body of the first batch after `counted`. `None` if there is none.
    pub(crate) fn next_after(&self, counted: u64, now: Millis) -> Option<(u64, Bytes)> {
        let (first, (number, items)) = {
            let mut contents = self.contents.lock();
            // The caller may not know yet that earlier batches were confirmed and removed.
            if contents.complete.back().is_none_or(|(number, _)| *number <= counted) {
                contents.complete_batch();
            }
            let (first, _) = contents.complete.front()?;
            (*first, contents.complete.iter().find(|(number, _)| *number > counted).cloned()?)
        };
        Some((number, self.body(number, first, &items, now)))
    }

    /// Returns the body that asks which batches are confirmed. `None` if all of them are.
    pub(crate) fn question(&self, now: Millis) -> Option<Bytes> {
        let has_unconfirmed = !self.contents.lock().complete.is_empty();
        has_unconfirmed.then(|| self.body(0, 0, &[], now))
    }

    /// Forgets the batches up to this one.
    pub(crate) fn confirm(&self, through: u64) {
        let mut contents = self.contents.lock();
        while let Some((number, items)) = contents.complete.front()
            && *number <= through
        {
            contents.bytes = contents.bytes.saturating_sub(items.len() + 1);
            contents.complete.pop_front();
        }
    }

    fn body(&self, number: u64, first: u64, items: &[u8], now: Millis) -> Bytes {
        let sender = &self.sender;
        // The name is made of letters, digits and hyphens.
        let head = format!(r#"{{"sender":"{sender}","number":{number},"first":{first},"now":{now},"items":["#);
        let mut body = head.into_bytes();
        body.extend_from_slice(items);
        body.extend_from_slice(b"]}");
        body.into()
    }
}

impl Contents {
    fn complete_batch(&mut self) {
        if !self.open.is_empty() {
            self.last += 1;
            let items = std::mem::take(&mut self.open);
            self.complete.push_back((self.last, items.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::{IpAddr, Ipv4Addr};

    use bindery_analytics::{Event, Hit, PageUrl, ResultClick};

    use super::*;

    fn hit(page: &str) -> Countable {
        let event = Event { url: PageUrl::parse(page).unwrap(), referrer: None, screen_width: Some(400), custom: None };
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Hit { event, address, user_agent: "Firefox \"1\"".to_owned(), country: None }.into()
    }

    fn sent((number, body): (u64, Bytes)) -> (u64, SentBatch) {
        (number, serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn batches_stay_until_they_are_confirmed() {
        let outbox = Outbox::new("node-1".to_owned());
        assert!(outbox.next_after(0, 0).is_none() && outbox.question(0).is_none());
        assert!(outbox.push(1_000, &hit("https://a.example/é?utm_source=x")));
        let click = ResultClick { number: u64::MAX, resource: u128::MAX, position: 3 };
        assert!(outbox.push(1_500, &click.into()));
        let (number, batch) = sent(outbox.next_after(0, 2_000).unwrap());
        assert_eq!((number, batch.number, batch.items.len(), batch.sender.as_str()), (1, 1, 2, "node-1"));
        let times: Vec<Millis> = batch.into_local(90_000).into_iter().map(|(at, _)| at).collect();
        assert_eq!(times, [89_000, 89_500]);
        assert!(outbox.push(3_000, &hit("https://a.example/2")));
        assert_eq!(sent(outbox.next_after(0, 0).unwrap()).0, 1, "a new leader gets it again");
        let (number, batch) = sent(outbox.next_after(1, 0).unwrap());
        assert_eq!((number, batch.first), (2, Some(1)));
        outbox.confirm(1);
        assert_eq!(sent(outbox.next_after(0, 0).unwrap()).0, 2);
        assert!(outbox.question(0).is_some());
        outbox.confirm(2);
        assert!(outbox.next_after(0, 0).is_none() && outbox.question(0).is_none());
        assert_eq!(outbox.contents.lock().bytes, 0);
        assert!(outbox.push(4_000, &hit("https://a.example/3")));
        assert_eq!(sent(outbox.next_after(0, 0).unwrap()).0, 3, "a new leader knows nothing of what was confirmed");
    }

    #[test]
    fn a_full_outbox_takes_no_more_and_has_room_again() {
        let outbox = Outbox::new("n".to_owned());
        let page = format!("https://a.example/{}", "x".repeat(400));
        let mut taken = 0;
        while outbox.push(0, &hit(&page)) {
            taken += 1;
            assert!(taken < MAX_BYTES / 400, "it takes more than 32 MiB");
        }
        assert!(taken > MAX_BYTES / 1_000, "{taken}");
        let mut counted = 0;
        let mut seen = 0;
        while let Some(batch) = outbox.next_after(counted, 0) {
            assert!(batch.1.len() < BATCH_BYTES + 4_096);
            let (number, batch) = sent(batch);
            seen += batch.items.len();
            counted = number;
        }
        assert_eq!(seen, taken);
        outbox.confirm(counted);
        assert!(outbox.push(0, &hit(&page)));
    }
}
