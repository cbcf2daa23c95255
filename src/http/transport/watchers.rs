//! Limits the number of requests that wait for changes. Each holds a connection for a long time, so neither one client
//! nor all together may take every place. Must not know what they wait for.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bindery_access::Actor;
use bindery_model::error::{Code, Error};
use parking_lot::Mutex;

use crate::transport::rate::network;

/// The waiting requests.
#[derive(Debug)]
pub(crate) struct Watchers {
    max_connections: usize,
    counts: Mutex<HashMap<Owner, usize>>,
}

/// The owners to which a waiting request is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    Everybody,
    Address(IpAddr),
    Sender(Actor),
}

/// A waiting request. It counts until this is dropped.
pub(crate) struct Watch {
    watchers: Arc<Watchers>,
    owners: [Owner; 3],
}

impl Watchers {
    /// Creates the limits of a server that may have this many connections.
    pub(crate) fn new(max_connections: usize) -> Arc<Watchers> {
        Arc::new(Watchers { max_connections, counts: Mutex::default() })
    }

    /// Counts a request of this address and sender.
    ///
    /// # Errors
    /// `OVERLOADED` if the waiting requests of one of them would take more than half of the connections, or all together
    /// more than three quarters.
    pub(crate) fn begin(self: &Arc<Self>, address: IpAddr, sender: &Actor) -> Result<Watch, Error> {
        let owners = [Owner::Everybody, Owner::Address(network(address)), Owner::Sender(sender.clone())];
        let mut counts = self.counts.lock();
        for owner in &owners {
            let most = self.most(owner);
            if counts.get(owner).is_some_and(|count| *count >= most) {
                let whose = match owner {
                    Owner::Everybody => "all clients together",
                    Owner::Address(_) => "this address",
                    Owner::Sender(Actor::Member(_)) => "this member",
                    Owner::Sender(Actor::Token(_)) => "this token",
                };
                let text = format!(
                    "{most} requests of {whose} wait for changes, which is the limit; end some, or try again in a moment"
                );
                return Err(Error::new(Code::Overloaded, text));
            }
        }
        for owner in &owners {
            *counts.entry(owner.clone()).or_default() += 1;
        }
        Ok(Watch { watchers: Arc::clone(self), owners })
    }

    fn most(&self, owner: &Owner) -> usize {
        let quarters = if *owner == Owner::Everybody { 3 } else { 2 };
        (self.max_connections * quarters / 4).max(1)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut counts = self.watchers.counts.lock();
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
