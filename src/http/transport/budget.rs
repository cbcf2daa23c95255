//! The memory that the bodies of requests and answers may hold together. Must not know connections or HTTP.
//!
//! A body is charged as it is read, and refused if it does not fit. A large answer to a read is charged and refused in
//! the same way before it is sent. Any other answer is charged once it is made, even if it does not fit: the change
//! that it reports has already happened. While the budget is exhausted, no request is begun. So answers exceed it only
//! by those of the requests that were running.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;

/// Bodies and answers up to this size may use the whole budget, larger ones three quarters of it. So clients that leave
/// large answers unread cannot block ordinary requests.
const SMALL_BYTES: usize = 64 << 10;

/// Returns the most bytes that a large body or answer may have in a budget of `limit` bytes.
pub fn max_large_bytes(limit: usize) -> usize {
    limit / 4 * 3
}

/// The budget of a server.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Budget {
        Budget { limit, used: AtomicUsize::new(0) }
    }

    /// Returns the number of bytes in use beyond half of the budget. From then on, clients that keep the server waiting
    /// are disconnected.
    pub(crate) fn over_half(&self) -> usize {
        self.used.load(Ordering::Relaxed).saturating_sub(self.limit / 2)
    }

    fn is_exhausted(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.limit
    }

    /// Returns how many bytes may be in use after adding something of this size.
    fn limit_for(&self, bytes: usize) -> usize {
        if bytes <= SMALL_BYTES { self.limit } else { max_large_bytes(self.limit) }
    }

    fn try_take(&self, bytes: usize, limit: usize) -> bool {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|after| *after <= limit)
        });
        taken.is_ok()
    }
}

/// The share of the budget that one connection holds.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Arc<Budget>,
    held: AtomicUsize,
}

impl Account {
    pub(crate) fn new(budget: Arc<Budget>) -> Arc<Account> {
        Arc::new(Account { budget, held: AtomicUsize::new(0) })
    }

    /// Returns the number of bytes held.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns whether an answer of this size fits. It is charged a moment later, so answers that are made at the same
    /// time may exceed the limit by one for each thread.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        self.budget.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.budget.limit_for(bytes)
    }

    /// Returns how many bytes an answer of this size may have, even if nothing else is in use.
    pub(crate) fn limit_for(&self, bytes: usize) -> usize {
        self.budget.limit_for(bytes)
    }

    /// Returns whether the budget of the server is used up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget.is_exhausted()
    }
}

/// Bytes that are charged until this is dropped. Without an account, as in tests without a server, nothing is charged.
#[derive(Debug, Default)]
pub(crate) struct Charge {
    account: Option<Arc<Account>>,
    bytes: usize,
}

impl Charge {
    /// Creates an empty charge.
    pub(crate) fn to(account: Option<Arc<Account>>) -> Charge {
        Charge { account, bytes: 0 }
    }

    /// Creates an empty charge to the same account.
    pub(crate) fn another(&self) -> Charge {
        Charge::to(self.account.clone())
    }

    /// Changes the charge to this many bytes. Returns whether they fit; if not, the charge is unchanged.
    #[must_use]
    pub(crate) fn try_set(&mut self, bytes: usize) -> bool {
        let Some(account) = &self.account else { return true };
        let Some(more) = bytes.checked_sub(self.bytes) else {
            self.release(self.bytes - bytes);
            return true;
        };
        let budget = &account.budget;
        if !budget.try_take(more, budget.limit_for(bytes)) {
            return false;
        }
        account.held.fetch_add(more, Ordering::Relaxed);
        self.bytes = bytes;
        true
    }

    /// Charges this many bytes more, even if they do not fit.
    pub(crate) fn add(&mut self, bytes: usize) {
        let Some(account) = &self.account else { return };
        account.budget.used.fetch_add(bytes, Ordering::Relaxed);
        account.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    /// Returns these bytes, charged until their last clone is dropped.
    pub(crate) fn attach<T: AsRef<[u8]> + Send + 'static>(self, bytes: T) -> Bytes {
        Bytes::from_owner(ChargedBytes { bytes, _charge: self })
    }

    fn release(&mut self, bytes: usize) {
        let Some(account) = &self.account else { return };
        account.budget.used.fetch_sub(bytes, Ordering::Relaxed);
        account.held.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

struct ChargedBytes<T> {
    bytes: T,
    _charge: Charge,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for ChargedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(budget: &Arc<Budget>) -> Charge {
        Charge::to(Some(Account::new(Arc::clone(budget))))
    }

    #[test]
    fn bodies_are_refused_and_answers_counted_when_the_budget_is_used_up() {
        let budget = Arc::new(Budget::new(1 << 20));
        let (mut large, mut more, mut small, mut answer) =
            (charge(&budget), charge(&budget), charge(&budget), charge(&budget));
        assert!(large.try_set(700 << 10));
        assert!(!more.try_set(100 << 10), "large bodies leave a quarter to small ones");
        assert!(small.try_set(64 << 10));
        assert!(!budget.is_exhausted());
        answer.add(1 << 20);
        assert!(budget.is_exhausted() && !more.try_set(1));
        assert!(large.try_set(1 << 10), "a charge can always become smaller");
        assert_eq!(budget.over_half(), (1 << 10) + (64 << 10) + (512 << 10));
        drop((large, small, answer));
        assert!(!budget.is_exhausted() && more.try_set(700 << 10));
    }

    #[test]
    fn large_answers_leave_room_for_small_ones() {
        let budget = Arc::new(Budget::new(1 << 20));
        let account = Account::new(Arc::clone(&budget));
        assert!(account.has_room_for(768 << 10) && !account.has_room_for(769 << 10));
        charge(&budget).add(700 << 10);
        assert!(account.has_room_for(768 << 10), "charges end with what they are for");
        let mut held = charge(&budget);
        held.add(700 << 10);
        assert!(!account.has_room_for(100 << 10) && account.has_room_for(64 << 10));
    }

    #[test]
    fn bytes_are_charged_until_their_last_clone_is_dropped() {
        let budget = Arc::new(Budget::new(8));
        let mut charge = charge(&budget);
        charge.add(8);
        let bytes = charge.attach(b"12345678".to_vec());
        let clone = bytes.slice(2..4);
        drop(bytes);
        assert!(budget.is_exhausted());
        assert_eq!(&clone[..], b"34");
        drop(clone);
        assert!(!budget.is_exhausted());
    }
}
