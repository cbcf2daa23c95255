//! The parameters of the change feed (`API.md` 6.1). Must not know what a change is.

use std::time::Duration;

use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::raw::RawParams;
use super::strict;

const DEFAULT_LIMIT: u64 = 1_000;
const MAX_LIMIT: u64 = 10_000;
const MAX_WAIT_SECONDS: u64 = 60;

/// The parameters of a read of the change feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeParams {
    /// The number of the last change that the client knows; `None` stands for the newest change.
    pub since: Option<u64>,
    /// The most changes to answer.
    pub limit: usize,
    /// The time to wait for the first one.
    pub wait: Duration,
}

impl ChangeParams {
    /// Reads a query string. `last_event_id` is the number from which a client of server-sent events continues.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub fn parse(raw_query: &str, last_event_id: Option<&str>) -> Result<ChangeParams, Error> {
        let params = RawParams::parse(raw_query);
        strict::check(&params, &["since", "limit", "wait"])?;
        let sent = params.single("since")?;
        let (name, since) = match last_event_id {
            Some(id) => ("Last-Event-ID", Some(id)),
            None => ("since", sent),
        };
        let since = match since {
            Some("now") => None,
            since => Some(number(name, since, 0, 0..=u64::MAX, "the number of a change, or `now`")?),
        };
        let limit = number("limit", params.single("limit")?, DEFAULT_LIMIT, 1..=MAX_LIMIT, "from 1 to 10000")?;
        let wait = number("wait", params.single("wait")?, 0, 0..=MAX_WAIT_SECONDS, "seconds, from 0 to 60")?;
        Ok(ChangeParams { since, limit: limit as usize, wait: Duration::from_secs(wait) })
    }
}

/// Returns a number in digits only. One beyond `u64` is read as the largest.
fn number(
    name: &str,
    sent: Option<&str>,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
    expected: &str,
) -> Result<u64, Error> {
    let Some(sent) = sent else { return Ok(default) };
    let is_digits = !sent.is_empty() && sent.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| sent.parse().unwrap_or(u64::MAX)).filter(|number| range.contains(number));
    number.ok_or_else(|| {
        Error::new(Code::InvalidParameter, format!("`{name}` is {}; it must be {expected}", quote(sent)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn parameters_have_defaults_and_bounds() {
        let parse = |query: &str| ChangeParams::parse(query, None).map_err(|error| error.message);
        let params = |since, limit, wait| Ok(ChangeParams { since, limit, wait: Duration::from_secs(wait) });
        assert_eq!(parse(""), params(Some(0), 1_000, 0));
        assert_eq!(parse("since=7&limit=10000&wait=60"), params(Some(7), 10_000, 60));
        assert_eq!(parse("since=now"), params(None, 1_000, 0));
        assert_eq!(parse("since=99999999999999999999999"), params(Some(u64::MAX), 1_000, 0));
        for query in
            ["since=", "since=-1", "since=+1", "limit=0", "limit=10001", "wait=61", "wait=1.5", "since=1&since=2"]
        {
            assert!(parse(query).unwrap_err().contains(query.split('=').next().unwrap()), "{query}");
        }
        assert!(parse("strict=true&sinc=1").unwrap_err().contains("`since`"));
        assert_eq!(ChangeParams::parse("since=1", Some("8")).unwrap().since, Some(8));
        assert!(ChangeParams::parse("", Some("x")).unwrap_err().message.contains("Last-Event-ID"));
    }
}
