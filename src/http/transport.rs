//! Sockets, connections and their memory budgets: the parts of serving that hyper leaves out. Must not know routes or
//! content.

pub(crate) mod body;
pub(crate) mod budget;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod lines;
pub(crate) mod opening;
pub(crate) mod rate;
pub(crate) mod refusal;
pub(crate) mod serve;
pub(crate) mod slots;
pub(crate) mod socket;
pub(crate) mod stream;
pub(crate) mod transfer;
pub(crate) mod unread_body;
