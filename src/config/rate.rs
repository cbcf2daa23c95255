//! A rate of requests, as a setting. Must not know who has to keep to it.

use std::fmt;
use std::num::NonZeroU32;

/// A number of requests in a period: a second, a minute or an hour. All requests of a period may arrive at the same
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The number of requests.
    pub requests: NonZeroU32,
    /// The length of the period, in seconds.
    pub seconds: NonZeroU32,
}

const PERIODS: [(&str, &str, u32); 3] = [("s", "second", 1), ("m", "minute", 60), ("h", "hour", 3_600)];

impl Rate {
    /// Reads `50/s`, `3000/m` or `10000/h`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Rate> {
        let (requests, period) = text.split_once('/')?;
        let (_, _, seconds) = PERIODS.into_iter().find(|(name, ..)| *name == period)?;
        Some(Rate { requests: requests.parse().ok()?, seconds: NonZeroU32::new(seconds)? })
    }

    /// Returns the rate of this many requests in a minute; `None` for 0.
    pub fn per_minute(requests: u32) -> Option<Rate> {
        Some(Rate { requests: NonZeroU32::new(requests)?, seconds: NonZeroU32::new(60)? })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = PERIODS.into_iter().find(|(.., seconds)| *seconds == self.seconds.get());
        let plural = if self.requests.get() == 1 { "" } else { "s" };
        write!(f, "{} request{plural} in one {}", self.requests, period.map_or("period", |(_, name, _)| name))
    }
}
