//! How many pageviews one address may send: a bucket that fills evenly and holds a minute's worth.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use parking_lot::Mutex;

/// How many addresses are remembered before those whose bucket is full again are forgotten.
const REMEMBERED: usize = 100_000;

/// The limit, and what each address has left of it. It is kept in memory alone.
pub(super) struct RateLimit {
    per_minute: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

struct Bucket {
    left: f64,
    filled: Instant,
}

impl RateLimit {
    /// 0 is no limit.
    pub(super) fn new(per_minute: u32) -> RateLimit {
        RateLimit { per_minute: f64::from(per_minute), buckets: Mutex::default() }
    }

    /// Takes one; or says after how many seconds there is one again.
    pub(super) fn take(&self, address: IpAddr) -> Result<(), u64> {
        self.take_at(address, Instant::now())
    }

    pub(super) fn take_at(&self, address: IpAddr, now: Instant) -> Result<(), u64> {
        if self.per_minute == 0.0 {
            return Ok(());
        }
        let per_second = self.per_minute / 60.0;
        let left = |bucket: &Bucket| {
            let filled = now.saturating_duration_since(bucket.filled).as_secs_f64() * per_second;
            (bucket.left + filled).min(self.per_minute)
        };
        let mut buckets = self.buckets.lock();
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, bucket| left(bucket) < self.per_minute);
        }
        let bucket = buckets.entry(network(address)).or_insert(Bucket { left: self.per_minute, filled: now });
        bucket.left = left(bucket);
        bucket.filled = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err((((1.0 - bucket.left) / per_second).ceil() as u64).max(1))
    }
}

/// Whom an address belongs to: of IPv6, everybody has 2^64.
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

    #[test]
    fn an_address_has_a_minutes_worth_and_gets_it_back_evenly() {
        let (limit, start) = (RateLimit::new(60), Instant::now());
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let at = |address, seconds| limit.take_at(address, start + Duration::from_secs(seconds));
        assert!((0..60).all(|_| at(one, 0) == Ok(())));
        assert_eq!((at(one, 0), at(other, 0)), (Err(1), Ok(())));
        assert_eq!((at(one, 2), at(one, 2), at(one, 2)), (Ok(()), Ok(()), Err(1)));
        assert!((0..60).all(|_| at(one, 600) == Ok(())));
        assert_eq!(at(one, 600), Err(1));
    }

    #[test]
    fn who_has_a_network_of_addresses_is_one() {
        let (limit, now) = (RateLimit::new(1), Instant::now());
        let take = |address: &str| limit.take_at(address.parse().unwrap(), now);
        assert_eq!((take("2001:db8::1"), take("2001:db8::ffff:1")), (Ok(()), Err(60)));
        assert_eq!(take("2001:db8:0:1::1"), Ok(()));
        assert_eq!(RateLimit::new(0).take(IpAddr::V6(Ipv6Addr::LOCALHOST)), Ok(()));
    }
}
