//! Sessions: a visitor's pageviews with at most 30 minutes between two. Knows neither days nor sites' figures.

use std::collections::HashMap;

use super::names::Name;
use crate::model::time::Millis;

/// The longest time between two pageviews of one session.
pub(super) const SESSION_GAP: Millis = 30 * 60 * 1000;
/// How long after its last pageview a session's user counts as live.
const LIVE_TIME: Millis = 5 * 60 * 1000;

/// A visitor of one site: a keyed hash, or in an import a number.
pub(super) type Visitor = u128;

/// A session that a further pageview may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) site: Name,
    pub(super) began: Millis,
    pub(super) last: Millis,
    /// Whether it has one pageview so far.
    pub(super) is_bounce: bool,
}

/// What a pageview did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It began a session.
    Began,
    /// It made the session that began then longer by `gap`.
    Continued { began: Millis, gap: Millis, was_bounce: bool },
}

/// The open sessions, by visitor.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sessions {
    open: HashMap<Visitor, Session>,
}

impl Sessions {
    /// Notes a pageview. Pageviews come in the order of their times. `before` is who the visitor was under the salt of
    /// the day before, as long as that one lives.
    pub(super) fn track(&mut self, site: Name, visitor: Visitor, before: Option<Visitor>, at: Millis) -> Step {
        let lasts = |session: &Session| at - session.last <= SESSION_GAP;
        if !self.open.get(&visitor).is_some_and(lasts) {
            let earlier = before.and_then(|before| self.open.remove(&before)).filter(lasts);
            let Some(earlier) = earlier else {
                self.open.insert(visitor, Session { site, began: at, last: at, is_bounce: true });
                return Step::Began;
            };
            self.open.insert(visitor, earlier);
        }
        let session = self.open.get_mut(&visitor).expect("it was found or put there");
        let step = Step::Continued { began: session.began, gap: at - session.last, was_bounce: session.is_bounce };
        session.last = at;
        session.is_bounce = false;
        step
    }

    /// How many sessions had a pageview in the last five minutes.
    pub(super) fn live(&self, site: Option<Name>, now: Millis) -> u64 {
        let of_site = self.open.values().filter(|session| site.is_none_or(|site| site == session.site));
        of_site.filter(|session| now - session.last <= LIVE_TIME).count() as u64
    }

    /// Forgets the sessions that nothing can continue any more.
    pub(super) fn prune(&mut self, now: Millis) {
        self.open.retain(|_, session| now - session.last <= SESSION_GAP);
    }

    /// Forgets those sessions.
    pub(super) fn remove(&mut self, which: impl Fn(&Session) -> bool) {
        self.open.retain(|_, session| !which(session));
    }

    /// All that are open.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (Visitor, Session)> {
        self.open.iter().map(|(visitor, session)| (*visitor, *session))
    }

    /// These sessions and no others.
    pub(super) fn replace(&mut self, sessions: impl IntoIterator<Item = (Visitor, Session)>) {
        self.open = sessions.into_iter().collect();
    }
}
