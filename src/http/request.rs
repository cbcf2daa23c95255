//! The parts of a request: its client, token and parameters, and whether it is a repetition.

pub(crate) mod backups;
pub(crate) mod client;
pub(crate) mod head;
pub(crate) mod idempotency;
pub(crate) mod rate_limits;
pub(crate) mod request_id;
pub(crate) mod session_cookie;
pub(crate) mod sign_ins;
