//! Limits failed sign-ins (`API.md` 5.8.2): five a minute from one address, and for one member. Must not know
//! passwords.

use std::net::IpAddr;

use bindery_config::Rate;
use bindery_model::error::{Code, Error};

use crate::error::Failure;
use crate::transport::rate::{RateLimit, Wait, network};

/// The number of failures that are allowed in a minute.
const FAILURES: u32 = 5;

/// A hash that identifies an email, known or not. Letter case is ignored, as in sign-ins.
type EmailHash = [u8; 32];

/// The failures that addresses and members have left.
#[derive(Debug)]
pub(crate) struct SignIns {
    addresses: RateLimit<IpAddr>,
    emails: RateLimit<EmailHash>,
}

/// An attempt. It counts as a failure from its beginning: otherwise many simultaneous attempts would be checked before
/// any is counted. If its client leaves, it stays counted.
pub(crate) struct Attempt<'a> {
    sign_ins: &'a SignIns,
    address: IpAddr,
    email: EmailHash,
}

impl SignIns {
    pub(crate) fn new() -> SignIns {
        let rate = Rate::per_minute(FAILURES).expect("the number is not zero");
        SignIns { addresses: RateLimit::new(rate), emails: RateLimit::new(rate) }
    }

    /// Begins an attempt.
    ///
    /// # Errors
    /// `RATE_LIMITED`, for unknown emails just as for known ones.
    pub(crate) fn begin(&self, address: IpAddr, email: &str) -> Result<Attempt<'_>, Failure> {
        let (address, email) =
            (network(address), *blake3::hash(email.trim().to_ascii_lowercase().as_bytes()).as_bytes());
        self.addresses.take(address).map_err(|wait| too_many(&wait))?;
        if let Err(wait) = self.emails.take(email) {
            // The address must not lose an attempt when the limit of the member refuses this one.
            self.addresses.give_back(address);
            return Err(too_many(&wait));
        }
        Ok(Attempt { sign_ins: self, address, email })
    }
}

impl Attempt<'_> {
    /// Takes the attempt back: the password was right, or was not checked.
    pub(crate) fn did_not_fail(self) {
        self.sign_ins.addresses.give_back(self.address);
        self.sign_ins.emails.give_back(self.email);
    }
}

fn too_many(wait: &Wait) -> Failure {
    let text = "too many attempts to sign in have failed; the header `Retry-After` says when to try again";
    Failure::from(Error::new(Code::RateLimited, text)).retry_after(wait.seconds)
}
