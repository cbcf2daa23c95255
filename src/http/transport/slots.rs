//! Limits the number of requests of a kind that take long, such as those that wait for changes, so that neither one
//! client nor all together take every slot. Must not know what they do.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bindery_access::Actor;
use bindery_model::error::{Code, Error};
use parking_lot::Mutex;

use crate::transport::rate::network;

/// The slots for requests of one kind.
#[derive(Debug)]
pub(crate) struct RequestSlots {
    limits: SlotLimits,
    counts: Mutex<HashMap<Owner, usize>>,
}

/// The limits of a kind of requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotLimits {
    /// The most requests at once.
    pub(crate) of_all: usize,
    /// The most requests at once of one owner.
    pub(crate) of_one: usize,
    /// Returns the message when that many requests of an owner, such as `this token`, are the limit.
    pub(crate) message: fn(usize, &str) -> String,
}

/// The owners to which a request is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Everybody,
    Address(IpAddr),
    Sender(Actor),
}

/// The slot of a request. It is taken until this is dropped.
pub(crate) struct RequestSlot {
    slots: Arc<RequestSlots>,
    owners: Vec<Owner>,
}

impl Owner {
    /// Returns the owner for a client at this address.
    pub(crate) fn at(address: IpAddr) -> Owner {
        Owner::Address(network(address))
    }

    fn name(&self) -> &'static str {
        match self {
            Owner::Everybody => "all clients together",
            Owner::Address(_) => "this address",
            Owner::Sender(Actor::Member(_)) => "this member",
            Owner::Sender(Actor::Token(_)) => "this token",
        }
    }
}

impl RequestSlots {
    /// Creates slots with these limits.
    pub(crate) fn new(limits: SlotLimits) -> Arc<RequestSlots> {
        Arc::new(RequestSlots { limits, counts: Mutex::default() })
    }

    /// Takes a slot for a request of these owners, and of everybody.
    ///
    /// # Errors
    /// `OVERLOADED` if one of them has no slot left.
    pub(crate) fn take(self: &Arc<Self>, owners: impl IntoIterator<Item = Owner>) -> Result<RequestSlot, Error> {
        let owners: Vec<Owner> = std::iter::once(Owner::Everybody).chain(owners).collect();
        let mut counts = self.counts.lock();
        for owner in &owners {
            let most = if *owner == Owner::Everybody { self.limits.of_all } else { self.limits.of_one };
            if counts.get(owner).is_some_and(|count| *count >= most) {
                return Err(Error::new(Code::Overloaded, (self.limits.message)(most, owner.name())));
            }
        }
        for owner in &owners {
            *counts.entry(owner.clone()).or_default() += 1;
        }
        Ok(RequestSlot { slots: Arc::clone(self), owners })
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts.lock();
        for owner in &self.owners {
            if let Some(count) = counts.get_mut(owner) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(owner);
                }
            }
        }
    }
}
