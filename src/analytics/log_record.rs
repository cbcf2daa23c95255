//! The records of the analytics log: pageviews, events, searches and clicks in the order of arrival, the open sessions
//! at each midnight, for a deletion all remaining figures, and the batches of other nodes that were counted. No record
//! holds an address or a user agent.

use std::collections::HashMap;

use bindery_model::time::Millis;

use super::codec::{DecodeError, Input, put, put_signed, put_text};
use super::deletion::Deletion;
use super::names::{NONE, Name, Names};
use super::open_day::OpenDay;
use super::pageview::{Activity, CustomEvent, DIMENSIONS, Pageview, Property};
use super::period::Period;
use super::rollup::SearchKey;
use super::search::{Click, ResultClick, Search};
use super::session::{ENTRY_NAMES, OpenSession, Session, VisitPlace, Visitor};
use super::sharing::{CountedBatches, LastBatch};
use super::traffic::Traffic;

/// The kinds of records. The kinds 1 to 3 belonged to a format that was never released.
const ACTIVITIES: u8 = 4;
const MIDNIGHT: u8 = 5;
const DELETION: u8 = 6;
const BATCHES: u8 = 7;

const PAGEVIEW: u8 = 0;
const EVENT: u8 = 1;
const SEARCH: u8 = 2;
const CLICK: u8 = 3;

/// The bits of a search.
const FOUND: u64 = 1;
const PUBLIC: u64 = 2;
const OWN_ROW: u64 = 4;

/// A record of the log.
#[derive(Debug, PartialEq)]
pub(super) enum LogRecord {
    /// Pageviews, events, searches and clicks, in order.
    Activities(Vec<Activity>),
    /// A day began. `sessions` are all open sessions.
    Midnight { at: Millis, sessions: Vec<OpenSession> },
    /// Figures were deleted. `traffic` is the rest of the figures from earlier records that are in no day file.
    Deletion { at: Millis, traffic: Traffic, deletion: Deletion },
    /// The last batch of each other node that the records before it count.
    Batches(CountedBatches),
}

/// The texts of one record. Each is written once, in the order of first use, and referred to by its index.
#[derive(Default)]
struct Texts {
    indexes: HashMap<Name, u64>,
    out: Vec<u8>,
}

impl Texts {
    /// Returns the number of a name in the record; 0 for [`NONE`].
    fn number(&mut self, name: Name, names: &Names) -> u64 {
        if name == NONE {
            return 0;
        }
        let next = 1 + self.indexes.len() as u64;
        *self.indexes.entry(name).or_insert_with(|| {
            put_text(&mut self.out, &names.text(name));
            next
        })
    }

    /// Returns the bytes of a record: its kind, the texts, and its content.
    fn record(self, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut record = vec![kind];
        put(&mut record, self.indexes.len() as u64);
        record.extend_from_slice(&self.out);
        record.extend_from_slice(content);
        record
    }
}

/// Encodes [`LogRecord::Activities`].
pub(super) fn encode_activities(activities: &[Activity], names: &Names) -> Vec<u8> {
    let (mut texts, mut content) = (Texts::default(), Vec::new());
    put(&mut content, activities.len() as u64);
    let mut last = 0;
    for activity in activities {
        put_signed(&mut content, activity.at() - last);
        last = activity.at();
        let mut put_names = |content: &mut Vec<u8>, of: &[Name]| {
            of.iter().for_each(|name| put(content, texts.number(*name, names)));
        };
        match activity {
            Activity::Pageview(view) => {
                content.push(PAGEVIEW);
                put_visitor(&mut content, view.visitor);
                put_names(&mut content, &[view.site, view.path]);
                put_names(&mut content, &view.dimensions);
            }
            Activity::Event(event) => {
                content.push(EVENT);
                put_visitor(&mut content, event.visitor);
                put_names(&mut content, &[event.site, event.name]);
                put(&mut content, event.properties.len() as u64);
                event.properties.iter().for_each(|property| put_names(&mut content, &[property.name, property.value]));
            }
            Activity::Search(search) => {
                content.push(SEARCH);
                put_visitor(&mut content, search.visitor);
                put_names(&mut content, &[search.site]);
                put(&mut content, search.number);
                let bits = [(search.found, FOUND), (search.is_public, PUBLIC), (search.has_own_row, OWN_ROW)];
                put(&mut content, bits.iter().map(|(is_set, bit)| if *is_set { *bit } else { 0 }).sum());
                put(&mut content, search.keys.len() as u64);
                search.keys.iter().for_each(|key| put_names(&mut content, &[key.question, key.blueprint]));
            }
            Activity::Click(Click { click, .. }) => {
                content.push(CLICK);
                put(&mut content, click.number);
                content.extend_from_slice(&click.resource.to_le_bytes());
                put(&mut content, click.position.into());
            }
        }
    }
    texts.record(ACTIVITIES, &content)
}

fn put_visitor(out: &mut Vec<u8>, visitor: Visitor) {
    out.extend_from_slice(&visitor.today.to_le_bytes());
    put(out, u64::from(visitor.yesterday.is_some()));
    if let Some(yesterday) = visitor.yesterday {
        out.extend_from_slice(&yesterday.to_le_bytes());
    }
}

fn read_visitor(input: &mut Input) -> Result<Visitor, DecodeError> {
    let today = input.wide()?;
    Ok(Visitor { today, yesterday: if input.number()? == 1 { Some(input.wide()?) } else { None } })
}

/// Encodes [`LogRecord::Midnight`].
pub(super) fn encode_midnight(
    at: Millis,
    sessions: impl ExactSizeIterator<Item = OpenSession>,
    names: &Names,
) -> Vec<u8> {
    let (mut texts, mut content) = (Texts::default(), Vec::new());
    put_signed(&mut content, at);
    put_sessions(&mut content, sessions, |name| texts.number(name, names));
    texts.record(MIDNIGHT, &content)
}

/// Encodes [`LogRecord::Deletion`].
pub(super) fn encode_deletion(at: Millis, traffic: &Traffic, deletion: &Deletion, names: &Names) -> Vec<u8> {
    let (mut texts, mut content) = (Texts::default(), Vec::new());
    put_signed(&mut content, at);
    put(&mut content, texts.number(deletion.site, names));
    put_signed(&mut content, deletion.period.start());
    put_signed(&mut content, deletion.period.end());
    put(&mut content, deletion.imports_below);
    put_sessions(&mut content, traffic.sessions.iter(), |name| texts.number(name, names));
    put(&mut content, traffic.days.len() as u64);
    for (number, day) in &traffic.days {
        put_signed(&mut content, *number);
        day.encode(&mut content, names, |name| texts.number(name, names));
    }
    // Records of earlier versions end here.
    traffic.days.values().for_each(|day| day.encode_searches(&mut content, |name| texts.number(name, names)));
    texts.record(DELETION, &content)
}

/// Encodes [`LogRecord::Batches`].
pub(super) fn encode_batches(batches: &CountedBatches) -> Vec<u8> {
    let mut content = Vec::new();
    put(&mut content, batches.len() as u64);
    for (sender, LastBatch { number, at }) in batches {
        put_text(&mut content, sender);
        put(&mut content, *number);
        put_signed(&mut content, *at);
    }
    Texts::default().record(BATCHES, &content)
}

/// Decodes a record and interns its names.
pub(super) fn decode(record: &[u8], names: &Names) -> Result<LogRecord, DecodeError> {
    let mut input = Input(record);
    let kind = input.bytes(1)?[0];
    let texts: Vec<Name> =
        (0..input.count()?).map(|_| Ok(names.intern(input.text()?))).collect::<Result<_, DecodeError>>()?;
    let name = |input: &mut Input| match input.number()? as usize {
        0 => Ok(NONE),
        number => texts.get(number - 1).copied().ok_or(DecodeError),
    };
    match kind {
        ACTIVITIES => {
            let mut at = 0;
            let activities = (0..input.count()?).map(|_| {
                at += input.signed()?;
                read_activity(&mut input, at, name)
            });
            Ok(LogRecord::Activities(activities.collect::<Result<_, DecodeError>>()?))
        }
        MIDNIGHT => Ok(LogRecord::Midnight { at: input.signed()?, sessions: read_sessions(&mut input, name)? }),
        DELETION => {
            let (at, site) = (input.signed()?, name(&mut input)?);
            let period = Period::new(input.signed()?, input.signed()?).ok_or(DecodeError)?;
            let deletion = Deletion { site, period, imports_below: input.number()? };
            let mut traffic = Traffic::default();
            traffic.sessions.replace(read_sessions(&mut input, name)?);
            for _ in 0..input.count()? {
                let day = input.signed()?;
                traffic.days.insert(day, OpenDay::decode(&mut input, names, name)?);
            }
            if !input.0.is_empty() {
                traffic.days.values_mut().try_for_each(|day| day.decode_searches(&mut input, name))?;
            }
            Ok(LogRecord::Deletion { at, traffic, deletion })
        }
        BATCHES => {
            let batches = (0..input.count()?)
                .map(|_| Ok((input.text()?.to_owned(), LastBatch { number: input.number()?, at: input.signed()? })));
            Ok(LogRecord::Batches(batches.collect::<Result<_, DecodeError>>()?))
        }
        _ => Err(DecodeError),
    }
}

fn read_activity(
    input: &mut Input,
    at: Millis,
    name: impl Fn(&mut Input) -> Result<Name, DecodeError>,
) -> Result<Activity, DecodeError> {
    let kind = input.bytes(1)?[0];
    if kind == CLICK {
        let (number, resource, position) = (input.number()?, input.wide()?, input.small()?);
        return Ok(Activity::Click(Click { at, click: ResultClick { number, resource, position } }));
    }
    let visitor = read_visitor(input)?;
    let site = name(input)?;
    match kind {
        PAGEVIEW => {
            let path = name(input)?;
            let mut dimensions = [NONE; DIMENSIONS];
            for dimension in &mut dimensions {
                *dimension = name(input)?;
            }
            Ok(Activity::Pageview(Pageview { at, site, visitor, path, dimensions }))
        }
        EVENT => {
            let event = name(input)?;
            let properties = (0..input.count()?).map(|_| Ok(Property { name: name(input)?, value: name(input)? }));
            let properties = properties.collect::<Result<_, DecodeError>>()?;
            Ok(Activity::Event(CustomEvent { at, site, visitor, name: event, properties }))
        }
        SEARCH => {
            let (number, bits) = (input.number()?, input.number()?);
            let keys = (0..input.count()?).map(|_| Ok(SearchKey { question: name(input)?, blueprint: name(input)? }));
            let keys = keys.collect::<Result<_, DecodeError>>()?;
            let [found, is_public, has_own_row] = [FOUND, PUBLIC, OWN_ROW].map(|bit| bits & bit != 0);
            Ok(Activity::Search(Search { at, site, visitor, number, keys, found, is_public, has_own_row }))
        }
        _ => Err(DecodeError),
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
        session.entry.iter().chain([&session.exit]).for_each(|name| put(out, text(*name)));
        put(out, session.first_visit.map_or(0, |number| 1 + u64::from(number)));
        put(out, session.visit.map_or(0, |visit| 1 + u64::from(visit.number)));
        put_signed(out, session.visit.map_or(0, |visit| visit.day));
    }
}

fn read_sessions(
    input: &mut Input,
    name: impl Fn(&mut Input) -> Result<Name, DecodeError>,
) -> Result<Vec<OpenSession>, DecodeError> {
    let sessions = (0..input.count()?).map(|_| {
        let (visitor, site) = (input.wide()?, name(input)?);
        let (began, last) = (input.signed()?, input.signed()?);
        let is_bounce = input.number()? == 1;
        let mut entry = [NONE; ENTRY_NAMES];
        for of_entry in &mut entry {
            *of_entry = name(input)?;
        }
        let exit = name(input)?;
        let first_visit = input.small()?.checked_sub(1);
        let number = input.small()?.checked_sub(1);
        let day = input.signed()?;
        let visit = number.map(|number| VisitPlace { day, number });
        let session = Session { site, began, last, is_bounce, exit, entry, first_visit, visit };
        Ok(OpenSession { visitor, session })
    });
    sessions.collect()
}
