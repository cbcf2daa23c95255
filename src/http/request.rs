//! What a request says: its client and token, its parameters, whether it was sent before.

pub(crate) mod client;
pub(crate) mod head;
pub(crate) mod idempotency;
pub(crate) mod limits;
pub(crate) mod request_id;
pub(crate) mod session_cookie;
pub(crate) mod sign_ins;
