//! The rate limit of events: a token bucket for each address, which holds a minute's worth and refills evenly.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use parking_lot::Mutex;

/// From this many addresses on, those with a full bucket are forgotten.
const MAX_ADDRESSES: usize = 100_000;

/// The limit, and what each address has left of it. It is in memory only.
pub(super) struct RateLimit {
    per_minute: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

struct Bucket {
    left: f64,
    refilled: Instant,
}

/// How long to wait for the next event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) seconds: u64,
}

impl RateLimit {
    /// A limit of this many events a minute; 0 is no limit.
    pub(super) fn new(per_minute: u32) -> RateLimit {
        RateLimit { per_minute: f64::from(per_minute), buckets: Mutex::default() }
    }

    /// Counts an event of an address, or says how long to wait for the next one.
    pub(super) fn take(&self, address: IpAddr) -> Result<(), Wait> {
        self.take_at(address, Instant::now())
    }

    fn take_at(&self, address: IpAddr, now: Instant) -> Result<(), Wait> {
        if self.per_minute == 0.0 {
            return Ok(());
        }
        let per_second = self.per_minute / 60.0;
        let left = |bucket: &Bucket| {
            let refill = now.saturating_duration_since(bucket.refilled).as_secs_f64() * per_second;
            (bucket.left + refill).min(self.per_minute)
        };
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MAX_ADDRESSES {
            buckets.retain(|_, bucket| left(bucket) < self.per_minute);
        }
        let bucket = buckets.entry(network(address)).or_insert(Bucket { left: self.per_minute, refilled: now });
        bucket.left = left(bucket);
        bucket.refilled = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Wait { seconds: (((1.0 - bucket.left) / per_second).ceil() as u64).max(1) })
    }
}

/// The owner of an address: in IPv6, one owner has 2^64 addresses.
fn network(address: IpAddr) -> IpAddr {
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

    fn wait(seconds: u64) -> Result<(), Wait> {
        Err(Wait { seconds })
    }

    #[test]
    fn an_address_may_send_a_minutes_worth_which_refills_evenly() {
        let (limit, start) = (RateLimit::new(60), Instant::now());
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let at = |address, seconds| limit.take_at(address, start + Duration::from_secs(seconds));
        assert!((0..60).all(|_| at(one, 0) == Ok(())));
        assert_eq!((at(one, 0), at(other, 0)), (wait(1), Ok(())));
        assert_eq!((at(one, 2), at(one, 2), at(one, 2)), (Ok(()), Ok(()), wait(1)));
        assert!((0..60).all(|_| at(one, 600) == Ok(())));
        assert_eq!(at(one, 600), wait(1));
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_share_a_limit() {
        let (limit, now) = (RateLimit::new(1), Instant::now());
        let take = |address: &str| limit.take_at(address.parse().unwrap(), now);
        assert_eq!((take("2001:db8::1"), take("2001:db8::ffff:1")), (Ok(()), wait(60)));
        assert_eq!(take("2001:db8:0:1::1"), Ok(()));
        assert_eq!(RateLimit::new(0).take(IpAddr::V6(Ipv6Addr::LOCALHOST)), Ok(()));
    }
}
