//! The rate limits of requests that need a token (`API.md` 8.1), and of what the visitors of sites send (4.8.1). Must
//! not know what the requests ask for.

use std::net::IpAddr;

use bindery_access::Actor;
use bindery_config::{Config, Rate};
use bindery_model::error::{Code, Error};

use crate::error::Failure;
use crate::transport::rate::{RateLimit, Wait, network};

/// The limits that are configured.
#[derive(Debug)]
pub(crate) struct RateLimits {
    addresses: Option<(Rate, RateLimit<IpAddr>)>,
    senders: Option<(Rate, RateLimit<Actor>)>,
    visitors: Option<RateLimit<IpAddr>>,
}

impl RateLimits {
    /// Creates the configured limits. A limit that is not configured counts nothing.
    pub(crate) fn of(config: &Config) -> RateLimits {
        RateLimits {
            addresses: config.rate_limit_per_address.map(|rate| (rate, RateLimit::new(rate))),
            senders: config.rate_limit_per_token.map(|rate| (rate, RateLimit::new(rate))),
            visitors: Rate::per_minute(config.analytics.events_per_minute).map(RateLimit::new),
        }
    }

    /// Counts a request of an address.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub(crate) fn take_address(&self, address: IpAddr) -> Result<(), Failure> {
        let Some((rate, limit)) = &self.addresses else { return Ok(()) };
        limit.take(network(address)).map_err(|wait| limited("one address", rate, &wait))
    }

    /// Counts what an address sends for the analytics; the error is the time to wait.
    pub(crate) fn take_visitor(&self, address: IpAddr) -> Result<(), Wait> {
        self.visitors.as_ref().map_or(Ok(()), |limit| limit.take(network(address)))
    }

    /// Counts a request of a token or a member.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub(crate) fn take_sender(&self, sender: &Actor) -> Result<(), Failure> {
        let Some((rate, limit)) = &self.senders else { return Ok(()) };
        let who = if matches!(sender, Actor::Member(_)) { "this member" } else { "this token" };
        limit.take(sender.clone()).map_err(|wait| limited(who, rate, &wait))
    }
}

fn limited(client: &str, rate: &Rate, wait: &Wait) -> Failure {
    let message = format!("{client} sent more than {rate}; the header `Retry-After` says when to go on");
    Failure::from(Error::new(Code::RateLimited, message)).retry_after(wait.seconds)
}
