//! The records of the analytics log: pageviews in the order of arrival, at each midnight the sessions that cross it,
//! and for a deletion all that is left. No record holds an address or a user agent.

use std::collections::HashMap;

use super::codec::{Damaged, Input, put, put_signed, put_text};
use super::deletion::Deletion;
use super::names::{Name, Names};
use super::open_day::OpenDay;
use super::pageview::Pageview;
use super::period::Period;
use super::session::{OpenSession, Session, Visitor};
use super::traffic::Traffic;
use crate::model::time::Millis;

const PAGEVIEWS: u8 = 1;
const MIDNIGHT: u8 = 2;
const DELETION: u8 = 3;

/// A record of the log.
#[derive(Debug, PartialEq)]
pub(super) enum LogRecord {
    /// Pageviews, in order.
    Pageviews(Vec<Pageview>),
    /// A day began. These sessions are open, and no others.
    Midnight { at: Millis, sessions: Vec<OpenSession> },
    /// Figures were deleted. `traffic` is what is left of everything that earlier records hold and no day file does.
    Deletion { at: Millis, traffic: Traffic, deletion: Deletion },
}

/// The texts of one record. Each is written once, in the order of first use, and referred to by its index.
#[derive(Default)]
struct Texts {
    indexes: HashMap<Name, u64>,
    out: Vec<u8>,
}

impl Texts {
    fn index(&mut self, name: Name, names: &Names) -> u64 {
        let next = self.indexes.len() as u64;
        *self.indexes.entry(name).or_insert_with(|| {
            put_text(&mut self.out, &names.text(name));
            next
        })
    }

    /// The bytes of a record: its kind, the texts, and its content.
    fn record(self, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut record = vec![kind];
        put(&mut record, self.indexes.len() as u64);
        record.extend_from_slice(&self.out);
        record.extend_from_slice(content);
        record
    }
}

/// Encodes [`LogRecord::Pageviews`].
pub(super) fn encode_pageviews(views: &[Pageview], names: &Names) -> Vec<u8> {
    let (mut texts, mut content) = (Texts::default(), Vec::new());
    put(&mut content, views.len() as u64);
    let mut last = 0;
    for view in views {
        put_signed(&mut content, view.at - last);
        last = view.at;
        content.extend_from_slice(&view.visitor.today.to_le_bytes());
        put(&mut content, u64::from(view.visitor.yesterday.is_some()));
        if let Some(yesterday) = view.visitor.yesterday {
            content.extend_from_slice(&yesterday.to_le_bytes());
        }
        for name in [view.site, view.path].iter().chain(&view.dimensions) {
            put(&mut content, texts.index(*name, names));
        }
    }
    texts.record(PAGEVIEWS, &content)
}

/// Encodes [`LogRecord::Midnight`].
pub(super) fn encode_midnight(
    at: Millis,
    sessions: impl ExactSizeIterator<Item = OpenSession>,
    names: &Names,
) -> Vec<u8> {
    let (mut texts, mut content) = (Texts::default(), Vec::new());
    put_signed(&mut content, at);
    put_sessions(&mut content, sessions, |name| texts.index(name, names));
    texts.record(MIDNIGHT, &content)
}

/// Encodes [`LogRecord::Deletion`].
pub(super) fn encode_deletion(at: Millis, traffic: &Traffic, deletion: &Deletion, names: &Names) -> Vec<u8> {
    let (mut texts, mut content) = (Texts::default(), Vec::new());
    put_signed(&mut content, at);
    put(&mut content, texts.index(deletion.site, names));
    put_signed(&mut content, deletion.period.start());
    put_signed(&mut content, deletion.period.end());
    put(&mut content, deletion.imports_below);
    put_sessions(&mut content, traffic.sessions.iter(), |name| texts.index(name, names));
    put(&mut content, traffic.days.len() as u64);
    for (number, day) in &traffic.days {
        put_signed(&mut content, *number);
        day.encode(&mut content, names, |name| texts.index(name, names));
    }
    texts.record(DELETION, &content)
}

/// Decodes a record and interns its names.
pub(super) fn decode(record: &[u8], names: &Names) -> Result<LogRecord, Damaged> {
    let mut input = Input(record);
    let kind = input.bytes(1)?[0];
    let texts: Vec<Name> =
        (0..input.count()?).map(|_| Ok(names.intern(input.text()?))).collect::<Result<_, Damaged>>()?;
    let name = |input: &mut Input| texts.get(input.number()? as usize).copied().ok_or(Damaged);
    match kind {
        PAGEVIEWS => {
            let mut at = 0;
            let views = (0..input.count()?).map(|_| {
                at += input.signed()?;
                let today = input.wide()?;
                let yesterday = if input.number()? == 1 { Some(input.wide()?) } else { None };
                let (site, path) = (name(&mut input)?, name(&mut input)?);
                let dimensions = [name(&mut input)?, name(&mut input)?, name(&mut input)?, name(&mut input)?];
                Ok(Pageview { at, site, visitor: Visitor { today, yesterday }, path, dimensions })
            });
            Ok(LogRecord::Pageviews(views.collect::<Result<_, Damaged>>()?))
        }
        MIDNIGHT => Ok(LogRecord::Midnight { at: input.signed()?, sessions: read_sessions(&mut input, name)? }),
        DELETION => {
            let (at, site) = (input.signed()?, name(&mut input)?);
            let period = Period::new(input.signed()?, input.signed()?).ok_or(Damaged)?;
            let deletion = Deletion { site, period, imports_below: input.number()? };
            let mut traffic = Traffic::default();
            traffic.sessions.replace(read_sessions(&mut input, name)?);
            for _ in 0..input.count()? {
                let day = input.signed()?;
                traffic.days.insert(day, OpenDay::decode(&mut input, names, name)?);
            }
            Ok(LogRecord::Deletion { at, traffic, deletion })
        }
        _ => Err(Damaged),
    }
}

fn put_sessions(
    out: &mut Vec<u8>,
    sessions: impl ExactSizeIterator<Item = OpenSession>,
    mut text: impl FnMut(Name) -> u64,
) {
    put(out, sessions.len() as u64);
    for OpenSession { visitor, session } in sessions {
        out.extend_from_slice(&visitor.to_le_bytes());
        put(out, text(session.site));
        put_signed(out, session.began);
        put_signed(out, session.last);
        put(out, u64::from(session.is_bounce));
    }
}

fn read_sessions(
    input: &mut Input,
    name: impl Fn(&mut Input) -> Result<Name, Damaged>,
) -> Result<Vec<OpenSession>, Damaged> {
    let sessions = (0..input.count()?).map(|_| {
        let (visitor, site) = (input.wide()?, name(input)?);
        let (began, last) = (input.signed()?, input.signed()?);
        Ok(OpenSession { visitor, session: Session { site, began, last, is_bounce: input.number()? == 1 } })
    });
    sessions.collect()
}
