//! Rate limits: a token bucket for each client, which refills evenly. In memory only, and bounded.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use bindery_config::Rate;
use parking_lot::Mutex;

/// The number of most recent clients that are remembered. Up to twice as many may be.
const MIN_CLIENTS: usize = 50_000;

/// A rate limit, with the remaining requests of each client.
#[derive(Debug)]
pub(crate) struct RateLimit<C> {
    /// The number of requests that may come at once: the size of a bucket.
    burst: f64,
    per_second: f64,
    buckets: Mutex<Buckets<C>>,
}

/// The buckets of the clients seen last, in two generations. When the young one is full, it becomes the old one, and
/// the former old one is dropped, as if its buckets were full. So no request has to look through all clients.
#[derive(Debug)]
struct Buckets<C> {
    young: HashMap<C, Bucket>,
    old: HashMap<C, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    refilled: Instant,
}

/// The time to wait for the next request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) seconds: u64,
}

impl<C: Eq + Hash> RateLimit<C> {
    /// Creates a limit that applies to each client.
    pub(crate) fn new(rate: Rate) -> RateLimit<C> {
        let Rate { requests, seconds } = rate;
        let burst = f64::from(requests.get());
        let buckets = Mutex::new(Buckets { young: HashMap::new(), old: HashMap::new() });
        RateLimit { burst, per_second: burst / f64::from(seconds.get()), buckets }
    }

    /// Counts a request of a client; the error is the time to wait for the next one.
    pub(crate) fn take(&self, client: C) -> Result<(), Wait> {
        self.take_at(client, Instant::now())
    }

    /// Undoes the counting of one request.
    pub(crate) fn give_back(&self, client: C) {
        let mut buckets = self.buckets.lock();
        if let Some(mut bucket) = buckets.remove(&client) {
            bucket.left = (bucket.left + 1.0).min(self.burst);
            buckets.insert(client, bucket);
        }
    }

    fn take_at(&self, client: C, now: Instant) -> Result<(), Wait> {
        let mut buckets = self.buckets.lock();
        let mut bucket = buckets.remove(&client).unwrap_or(Bucket { left: self.burst, refilled: now });
        let refill = now.saturating_duration_since(bucket.refilled).as_secs_f64() * self.per_second;
        bucket = Bucket { left: (bucket.left + refill).min(self.burst), refilled: now };
        let taken = if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            Ok(())
        } else {
            Err(Wait { seconds: (((1.0 - bucket.left) / self.per_second).ceil() as u64).max(1) })
        };
        buckets.insert(client, bucket);
        taken
    }
}

impl<C: Eq + Hash> Buckets<C> {
    fn remove(&mut self, client: &C) -> Option<Bucket> {
        self.young.remove(client).or_else(|| self.old.remove(client))
    }

    fn insert(&mut self, client: C, bucket: Bucket) {
        if self.young.len() >= MIN_CLIENTS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(client, bucket);
    }
}

/// Returns the address that is counted. In IPv6 it is a /64 network, because one client usually has that many
/// addresses.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    fn limit<C: Eq + Hash>(rate: &str) -> RateLimit<C> {
        RateLimit::new(Rate::parse(rate).unwrap())
    }

    fn wait(seconds: u64) -> Result<(), Wait> {
        Err(Wait { seconds })
    }

    #[test]
    fn a_client_may_send_a_periods_worth_at_once_which_refills_evenly() {
        let (limit, start) = (limit("60/m"), Instant::now());
        let at = |client: u8, seconds| limit.take_at(client, start + Duration::from_secs(seconds));
        assert!((0..60).all(|_| at(1, 0) == Ok(())));
        assert_eq!((at(1, 0), at(2, 0)), (wait(1), Ok(())));
        assert_eq!((at(1, 2), at(1, 2), at(1, 2)), (Ok(()), Ok(()), wait(1)));
        assert!((0..60).all(|_| at(1, 600) == Ok(())));
        assert_eq!(at(1, 600), wait(1));
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_and_is_never_more_than_a_periods_worth() {
        let (limit, now) = (limit("2/m"), Instant::now());
        let take = || limit.take_at(1, now);
        assert_eq!((take(), take(), take()), (Ok(()), Ok(()), wait(30)));
        limit.give_back(1);
        assert_eq!((take(), take()), (Ok(()), wait(30)));
        (0..9).for_each(|_| limit.give_back(1));
        assert_eq!((take(), take(), take()), (Ok(()), Ok(()), wait(30)));
        limit.give_back(2);
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_have_one_owner() {
        let owner = |address: &str| network(address.parse().unwrap());
        assert_eq!(owner("2001:db8::1"), owner("2001:db8::ffff:1"));
        assert_ne!(owner("2001:db8::1"), owner("2001:db8:0:1::1"));
        assert_ne!(owner("192.0.2.1"), owner("192.0.2.2"));
    }

    #[test]
    fn the_clients_that_are_remembered_are_bounded_and_the_latest_are_among_them() {
        let (limit, now) = (limit("1/m"), Instant::now());
        for client in 0..5 * MIN_CLIENTS {
            assert_eq!(limit.take_at(client, now), Ok(()));
        }
        let buckets = limit.buckets.lock();
        assert!(buckets.young.len() + buckets.old.len() <= 2 * MIN_CLIENTS);
        drop(buckets);
        for client in 4 * MIN_CLIENTS..5 * MIN_CLIENTS {
            assert_eq!(limit.take_at(client, now), wait(60), "{client}");
        }
        assert_eq!(limit.take_at(0, now), Ok(()), "the first ones are forgotten");
    }
}
