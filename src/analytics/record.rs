//! The records of the events' log: pageviews in the order in which they were taken, at each midnight the sessions that
//! are carried into the new day, and at a deletion all that is left. No address and no user agent is in them.

use std::collections::HashMap;

use super::codec::{Damaged, Input, put, put_signed, put_text};
use super::counting::{Counting, Traffic};
use super::delete::Deletion;
use super::names::{Name, Names};
use super::period::Period;
use super::rollup::View;
use super::session::{Session, Visitor};
use crate::model::time::Millis;

const VIEWS: u8 = 1;
const CARRY: u8 = 2;
const LEFT: u8 = 3;

/// What a record says.
#[derive(Debug, PartialEq)]
pub(super) enum Record {
    /// Pageviews, in order.
    Views(Vec<View>),
    /// A day began: these sessions are open, and no others.
    Carry { at: Millis, sessions: Vec<(Visitor, Session)> },
    /// Something was deleted: of all that came before, this is what is left and in no part.
    Left { at: Millis, traffic: Traffic, deletion: Deletion },
}

/// Texts of one record, each written once, in the order of their first use.
#[derive(Default)]
struct Texts {
    places: HashMap<Name, u64>,
    out: Vec<u8>,
}

impl Texts {
    fn place(&mut self, name: Name, names: &Names) -> u64 {
        let next = self.places.len() as u64;
        *self.places.entry(name).or_insert_with(|| {
            put_text(&mut self.out, &names.text(name));
            next
        })
    }

    /// The record: its kind, the texts, and the rest.
    fn before(self, kind: u8, rest: &[u8]) -> Vec<u8> {
        let mut record = vec![kind];
        put(&mut record, self.places.len() as u64);
        record.extend_from_slice(&self.out);
        record.extend_from_slice(rest);
        record
    }
}

/// A record of pageviews.
pub(super) fn encode_views(views: &[View], names: &Names) -> Vec<u8> {
    let (mut texts, mut rest) = (Texts::default(), Vec::new());
    put(&mut rest, views.len() as u64);
    let mut last = 0;
    for view in views {
        put_signed(&mut rest, view.at - last);
        last = view.at;
        rest.extend_from_slice(&view.visitor.to_le_bytes());
        put(&mut rest, u64::from(view.before.is_some()));
        if let Some(before) = view.before {
            rest.extend_from_slice(&before.to_le_bytes());
        }
        for name in [view.site, view.path].iter().chain(&view.traits) {
            put(&mut rest, texts.place(*name, names));
        }
    }
    texts.before(VIEWS, &rest)
}

/// A record of the sessions that are open at `at`.
pub(super) fn encode_carry(
    at: Millis,
    sessions: impl ExactSizeIterator<Item = (Visitor, Session)>,
    names: &Names,
) -> Vec<u8> {
    let (mut texts, mut rest) = (Texts::default(), Vec::new());
    put_signed(&mut rest, at);
    put_sessions(&mut rest, sessions, |name| texts.place(name, names));
    texts.before(CARRY, &rest)
}

/// A record of what a deletion leaves of what is counted at `at`.
pub(super) fn encode_left(at: Millis, traffic: &Traffic, deletion: &Deletion, names: &Names) -> Vec<u8> {
    let (mut texts, mut rest) = (Texts::default(), Vec::new());
    put_signed(&mut rest, at);
    put(&mut rest, texts.place(deletion.site, names));
    put_signed(&mut rest, deletion.period.start);
    put_signed(&mut rest, deletion.period.end);
    put(&mut rest, deletion.imports);
    put_sessions(&mut rest, traffic.sessions.iter(), |name| texts.place(name, names));
    put(&mut rest, traffic.days.len() as u64);
    for (day, counting) in &traffic.days {
        put_signed(&mut rest, *day);
        counting.encode(&mut rest, names, |name| texts.place(name, names));
    }
    texts.before(LEFT, &rest)
}

/// What a record says.
pub(super) fn decode(record: &[u8], names: &Names) -> Result<Record, Damaged> {
    let mut input = Input(record);
    let kind = input.take(1)?[0];
    let texts: Vec<Name> =
        (0..input.count()?).map(|_| Ok(names.number(input.text()?))).collect::<Result<_, Damaged>>()?;
    let name = |input: &mut Input| texts.get(input.number()? as usize).copied().ok_or(Damaged);
    match kind {
        VIEWS => {
            let mut at = 0;
            let views = (0..input.count()?).map(|_| {
                at += input.signed()?;
                let visitor = input.wide()?;
                let before = if input.number()? == 1 { Some(input.wide()?) } else { None };
                let (site, path) = (name(&mut input)?, name(&mut input)?);
                let traits = [name(&mut input)?, name(&mut input)?, name(&mut input)?, name(&mut input)?];
                Ok(View { at, site, visitor, before, path, traits })
            });
            Ok(Record::Views(views.collect::<Result<_, Damaged>>()?))
        }
        CARRY => Ok(Record::Carry { at: input.signed()?, sessions: sessions(&mut input, name)? }),
        LEFT => {
            let (at, site) = (input.signed()?, name(&mut input)?);
            let period = Period { start: input.signed()?, end: input.signed()? };
            let deletion = Deletion { site, period, imports: input.number()? };
            let mut traffic = Traffic::default();
            traffic.sessions.replace(sessions(&mut input, name)?);
            for _ in 0..input.count()? {
                let day = input.signed()?;
                traffic.days.insert(day, Counting::decode(&mut input, names, name)?);
            }
            Ok(Record::Left { at, traffic, deletion })
        }
        _ => Err(Damaged),
    }
}

fn put_sessions(
    out: &mut Vec<u8>,
    sessions: impl ExactSizeIterator<Item = (Visitor, Session)>,
    mut place: impl FnMut(Name) -> u64,
) {
    put(out, sessions.len() as u64);
    for (visitor, session) in sessions {
        out.extend_from_slice(&visitor.to_le_bytes());
        put(out, place(session.site));
        put_signed(out, session.began);
        put_signed(out, session.last);
        put(out, u64::from(session.is_bounce));
    }
}

fn sessions(
    input: &mut Input,
    name: impl Fn(&mut Input) -> Result<Name, Damaged>,
) -> Result<Vec<(Visitor, Session)>, Damaged> {
    let sessions = (0..input.count()?).map(|_| {
        let (visitor, site) = (input.wide()?, name(input)?);
        let (began, last) = (input.signed()?, input.signed()?);
        Ok((visitor, Session { site, began, last, is_bounce: input.number()? == 1 }))
    });
    sessions.collect()
}
