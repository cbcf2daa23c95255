//! Work that waits for a thread. Clients take turns, so that one who asks for much does not keep the others waiting.
//! Must not know what the work is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// The most clients whose last turns are remembered.
const REMEMBERED: usize = 10_000;

/// The clients who wait for the same work: the one who asked for it, and those who joined. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Clients(Arc<Mutex<Vec<IpAddr>>>);

impl Clients {
    pub(crate) fn of(first: IpAddr) -> Clients {
        Clients(Arc::new(Mutex::new(vec![first])))
    }

    /// Adds a client, who waits for the same from now on.
    pub(crate) fn join(&self, client: IpAddr) {
        let mut clients = self.0.lock();
        if !clients.contains(&client) {
            clients.push(client);
        }
    }

    /// Returns the client who asked first, to whom the work is counted.
    fn first(&self) -> Option<IpAddr> {
        self.0.lock().first().copied()
    }
}

/// The waiting work, in the order in which it was asked for.
#[derive(Debug)]
pub(crate) struct Turns<W> {
    waiting: Vec<(Clients, W)>,
    /// The number of each client's last turn since work began to wait.
    last: HashMap<IpAddr, u64>,
    turn: u64,
}

impl<W> Default for Turns<W> {
    fn default() -> Turns<W> {
        Turns { waiting: Vec::new(), last: HashMap::new(), turn: 0 }
    }
}

impl<W> Turns<W> {
    /// Adds work. If more than `most` waits then, returns the work that must give way: the last of the client with the
    /// most waiting, which may be the added one.
    pub(crate) fn push(&mut self, clients: Clients, work: W, most: usize) -> Option<W> {
        self.waiting.push((clients, work));
        if self.waiting.len() <= most {
            return None;
        }
        let firsts: Vec<Option<IpAddr>> = self.waiting.iter().map(|(clients, _)| clients.first()).collect();
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        firsts.iter().for_each(|first| *counts.entry(*first).or_default() += 1);
        let greatest = counts.values().max();
        let last = firsts.iter().rposition(|first| counts.get(first) == greatest)?;
        Some(self.waiting.remove(last).1)
    }

    /// Takes the first work of the client whose last turn is longest ago.
    pub(crate) fn pop(&mut self) -> Option<W> {
        let last_of = |client: &IpAddr| self.last.get(client).copied().unwrap_or_default();
        let next_of = |clients: &Clients| clients.0.lock().iter().map(|client| (last_of(client), *client)).min();
        let next = self.waiting.iter().enumerate().filter_map(|(at, (clients, _))| Some((next_of(clients)?, at)));
        let ((_, client), at) = next.min_by_key(|((last, _), at)| (*last, *at))?;
        let (_, work) = self.waiting.remove(at);
        if self.waiting.is_empty() || self.last.len() >= REMEMBERED {
            self.last.clear();
        }
        self.turn += 1;
        self.last.insert(client, self.turn);
        Some(work)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::Ipv4Addr;

    use super::*;

    fn client(number: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, number))
    }

    fn filled(work: &[(u8, u8)]) -> Turns<u8> {
        let mut turns = Turns::default();
        for (number, work) in work {
            assert_eq!(turns.push(Clients::of(client(*number)), *work, usize::MAX), None);
        }
        turns
    }

    fn rest(turns: &mut Turns<u8>) -> Vec<u8> {
        std::iter::from_fn(|| turns.pop()).collect()
    }

    #[test]
    fn clients_take_turns() {
        let mut turns = filled(&[(1, 10), (1, 11), (1, 12), (2, 20), (2, 21), (3, 30)]);
        assert_eq!(rest(&mut turns), [10, 20, 30, 11, 21, 12]);
    }

    #[test]
    fn clients_who_always_ask_again_do_not_displace_another() {
        let mut turns = filled(&[(1, 10), (1, 11), (1, 12), (2, 20), (3, 30)]);
        let mut order = Vec::new();
        while order.len() < 8 {
            let work = turns.pop().unwrap();
            order.push(work);
            if work >= 20 {
                turns.push(Clients::of(client(work / 10)), work, usize::MAX);
            }
        }
        assert_eq!(order, [10, 20, 30, 11, 20, 30, 12, 20]);
    }

    #[test]
    fn who_joins_brings_work_forward() {
        let mut turns = filled(&[(1, 10), (1, 11), (1, 12)]);
        let joined = Clients::of(client(1));
        turns.push(joined.clone(), 13, usize::MAX);
        assert_eq!(turns.pop(), Some(10));
        joined.join(client(2));
        assert_eq!(rest(&mut turns), [13, 11, 12]);
    }

    #[test]
    fn the_client_with_the_most_waiting_gives_way() {
        let mut turns = filled(&[(1, 10), (1, 11), (1, 12), (2, 20)]);
        assert_eq!(turns.push(Clients::of(client(3)), 30, 4), Some(12));
        assert_eq!(turns.push(Clients::of(client(1)), 13, 4), Some(13));
        assert_eq!(turns.push(Clients::of(client(2)), 21, 4), Some(21), "of equals, the last to ask");
        assert_eq!(rest(&mut turns), [10, 20, 30, 11]);
    }
}
