//! How often somebody may fail to sign in (`API.md` 5.8.2): five times a minute from one address, and as one member. Must not
//! know passwords.

use std::net::IpAddr;

use bindery_config::Rate;
use bindery_model::error::{Code, Error};

use crate::error::Failure;
use crate::transport::rate::{RateLimit, Wait, network};

/// How many failures a minute.
const FAILURES: u32 = 5;

/// Tells emails apart, known or not. Letter case does not matter when members sign in, either.
type EmailHash = [u8; 32];

/// What addresses and members have left.
#[derive(Debug)]
pub(crate) struct SignIns {
    addresses: RateLimit<IpAddr>,
    emails: RateLimit<EmailHash>,
}

/// An attempt, which is counted as a failure from its beginning on: many at once are not checked before they are counted,
/// and one whose client leaves has failed.
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
    /// `RATE_LIMITED`, for unknown emails as for known ones.
    pub(crate) fn begin(&self, address: IpAddr, email: &str) -> Result<Attempt<'_>, Failure> {
        let (address, email) =
            (network(address), *blake3::hash(email.trim().to_ascii_lowercase().as_bytes()).as_bytes());
        self.addresses.take(address).map_err(|wait| too_many(&wait))?;
        if let Err(wait) = self.emails.take(email) {
            // Nothing was tried from this address.
            self.addresses.give_back(address);
            return Err(too_many(&wait));
        }
        Ok(Attempt { sign_ins: self, address, email })
    }
}

impl Attempt<'_> {
    /// Takes the attempt back: the password was right, or was not looked at.
    pub(crate) fn did_not_fail(self) {
        self.sign_ins.addresses.give_back(self.address);
        self.sign_ins.emails.give_back(self.email);
    }
}

fn too_many(wait: &Wait) -> Failure {
    let text = "too many attempts to sign in have failed; the header `Retry-After` says when to try again";
    Failure::from(Error::new(Code::RateLimited, text)).retry_after(wait.seconds)
}
