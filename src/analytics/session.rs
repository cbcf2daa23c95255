//! Sessions: a visitor's pageviews with at most 30 minutes between two. It does not know days or a site's figures.

use std::collections::HashMap;

use bindery_model::time::Millis;

use super::names::Name;
use super::period::{Day, Period};

/// The longest time between two pageviews of one session.
pub(super) const SESSION_GAP: Millis = 30 * 60 * 1000;
/// The time after its last pageview for which a session counts as live.
const LIVE_TIME: Millis = 5 * 60 * 1000;

/// A visitor of one site, as a keyed hash.
pub(super) type VisitorHash = u128;

/// A visitor under the current salts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visitor {
    /// The hash under today's salt.
    pub(super) today: VisitorHash,
    /// The hash with yesterday's salt, while that salt exists: a session may cross midnight.
    pub(super) yesterday: Option<VisitorHash>,
}

/// The number of names [`SessionEntry`] has.
pub(super) const ENTRY_NAMES: usize = 7;

/// The beginning of a session: the first page, and the dimensions that the first pageview decides, in their order.
pub(super) type SessionEntry = [Name; ENTRY_NAMES];

/// The number of a visit (the part of a session on one day) within its site and day.
pub(super) type VisitNumber = u32;

/// A session that another pageview may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) site: Name,
    pub(super) began: Millis,
    pub(super) last: Millis,
    /// True if it has only one pageview so far.
    pub(super) is_bounce: bool,
    /// The page of its last pageview.
    pub(super) exit: Name,
    /// The beginning of the session.
    pub(super) entry: SessionEntry,
    /// Its visits on the day on which it began and on the day of its last pageview; `None` if there were too many.
    pub(super) first_visit: Option<VisitNumber>,
    pub(super) visit: Option<VisitPlace>,
}

/// The location of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VisitPlace {
    pub(super) day: Day,
    pub(super) number: VisitNumber,
}

/// An open session and its visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenSession {
    pub(super) visitor: VisitorHash,
    pub(super) session: Session,
}

/// The effect of a pageview on its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionStep {
    /// The pageview began a session.
    Began,
    /// It lengthened the session that began at `began` by `gap`. The previous last page was `left`.
    Continued { began: Millis, gap: Millis, was_bounce: bool, left: Name },
}

/// The open sessions by visitor.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sessions {
    open: HashMap<VisitorHash, Session>,
}

impl Sessions {
    /// Notes a pageview. Pageviews must come in the order of their times. `entry` is used if a session begins with it;
    /// its first name is the page.
    pub(super) fn track(&mut self, site: Name, visitor: Visitor, at: Millis, entry: SessionEntry) -> SessionStep {
        let path = entry[0];
        let goes_on = |session: &Session| at - session.last <= SESSION_GAP;
        let today = self.open.get(&visitor.today).copied().filter(goes_on);
        let open =
            today.or_else(|| visitor.yesterday.and_then(|yesterday| self.open.remove(&yesterday)).filter(goes_on));
        let (session, step) = match open {
            None => {
                let (first_visit, visit) = (None, None);
                let session =
                    Session { site, began: at, last: at, is_bounce: true, exit: path, entry, first_visit, visit };
                (session, SessionStep::Began)
            }
            Some(session) => {
                let (began, gap, was_bounce) = (session.began, at - session.last, session.is_bounce);
                let left = session.exit;
                let session = Session { last: at, is_bounce: false, exit: path, ..session };
                (session, SessionStep::Continued { began, gap, was_bounce, left })
            }
        };
        self.open.insert(visitor.today, session);
        step
    }

    /// Returns the session of a visitor, if it is still open at a time of the same day as its last pageview.
    pub(super) fn at(&mut self, visitor: VisitorHash, at: Millis) -> Option<&mut Session> {
        self.open.get_mut(&visitor).filter(|session| at - session.last <= SESSION_GAP)
    }

    /// Returns the sessions with a pageview in the last five minutes: of one site, or of all without one.
    pub(super) fn live(&self, site: Option<Name>, now: Millis) -> impl Iterator<Item = &Session> {
        let of_site = self.open.values().filter(move |session| site.is_none_or(|site| site == session.site));
        of_site.filter(move |session| now - session.last <= LIVE_TIME)
    }

    /// Forgets the visits of a site's sessions on the days of a period, because those visits are removed.
    pub(super) fn forget_visits(&mut self, site: Name, period: Period) {
        for session in self.open.values_mut().filter(|session| session.site == site) {
            session.visit = session.visit.filter(|visit| !period.contains(visit.day));
        }
    }

    /// Drops the sessions that can no longer be continued.
    pub(super) fn drop_ended(&mut self, now: Millis) {
        self.open.retain(|_, session| now - session.last <= SESSION_GAP);
    }

    /// Drops the sessions that `which` selects.
    pub(super) fn remove(&mut self, which: impl Fn(&Session) -> bool) {
        self.open.retain(|_, session| !which(session));
    }

    /// Returns all open sessions.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = OpenSession> {
        self.open.iter().map(|(visitor, session)| OpenSession { visitor: *visitor, session: *session })
    }

    /// Replaces all sessions.
    pub(super) fn replace(&mut self, sessions: impl IntoIterator<Item = OpenSession>) {
        self.open = sessions.into_iter().map(|open| (open.visitor, open.session)).collect();
    }
}
