//! Access logs in the combined format, as they are imported.
//!
//! A file is known by a hash of its beginning. What an import adds are parts of its own; when the file has grown, it is
//! counted anew as a whole and takes the place of what it was, so that sessions and visitors are those of the whole
//! file. Visitors are told apart under a key that is made for the import and forgotten with it.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::agent::Agents;
use super::counting::Traffic;
use super::event::{page_path, page_url, referrer_host};
use super::names::{Name, Names};
use super::part::Part;
use super::parts::{Parts, Source};
use super::rollup::{Day, View};
use super::salts;
use super::session::Visitor;
use super::{Analytics, Shared};
use crate::model::error::Error;
use crate::model::time::{Millis, day_number, parse_instant};

mod known;
mod line;

pub(super) use known::{forget, listed, next, of_site};

use known::{HEAD_BYTES, Known, Manifest};
use line::Line;

/// A line that is longer is no line of an access log.
const MAX_LINE_BYTES: usize = 64 << 10;
/// How many bad lines are shown.
const SHOWN: usize = 5;
const SHOWN_CHARS: usize = 200;

/// What became of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportOutcome {
    /// How many lines it has.
    pub lines: u64,
    /// How many of them are pageviews.
    pub pageviews: u64,
    /// How many pageviews were not there before.
    pub added: u64,
    /// How many would be pageviews, but are a robot's.
    pub robots: u64,
    /// How many are requests for other things than pages, or that failed.
    pub others: u64,
    /// How many are no lines of the combined format.
    pub bad: u64,
    /// The first of these: the number of the line, and what it says.
    pub first_bad: Vec<(u64, String)>,
}

/// A file that is being imported.
pub struct Import {
    analytics: Analytics,
    site: String,
    key: [u8; 32],
    agents: Agents,
    head: Vec<u8>,
    bytes: u64,
    /// The line that has not ended yet.
    rest: Vec<u8>,
    found: Vec<Found>,
    outcome: ImportOutcome,
}

/// A pageview of the file.
struct Found {
    at: Millis,
    visitor: Visitor,
    path: Name,
    traits: [Name; 4],
}

impl Import {
    pub(super) fn new(analytics: Analytics, site: &str) -> Import {
        let mut key = [0; 32];
        // Without randomness visitors are still told apart; nothing of the key or of what is hashed is kept.
        let _ = getrandom::fill(&mut key);
        Import {
            analytics,
            site: site.to_owned(),
            key,
            agents: Agents::new(),
            head: Vec::new(),
            bytes: 0,
            rest: Vec::new(),
            found: Vec::new(),
            outcome: ImportOutcome::default(),
        }
    }

    /// Takes the next piece of the file; lines may go on in the next one.
    pub fn push(&mut self, mut piece: &[u8]) {
        let missing = HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&piece[..missing.min(piece.len())]);
        self.bytes += piece.len() as u64;
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            if self.rest.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.line(&whole);
            }
            piece = rest;
        }
        let room = (MAX_LINE_BYTES + 1).saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&piece[..room.min(piece.len())]);
    }

    /// Counts what was found, and makes it durable and visible, if it is not there already.
    ///
    /// # Errors
    /// `INTERNAL` if the disk fails; then nothing is counted.
    pub fn finish(mut self) -> Result<ImportOutcome, Error> {
        let last = std::mem::take(&mut self.rest);
        if !last.is_empty() {
            self.line(&last);
        }
        let shared = std::sync::Arc::clone(&self.analytics.handle.shared);
        let _one_at_a_time = shared.importing.lock();
        self.place(&shared).map_err(Error::internal)
    }

    fn line(&mut self, bytes: &[u8]) {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.is_empty() {
            return;
        }
        self.outcome.lines += 1;
        let text = String::from_utf8_lossy(bytes);
        match Line::parse(&text).filter(|_| bytes.len() <= MAX_LINE_BYTES) {
            Some(line) => self.request(&line),
            None => {
                self.outcome.bad += 1;
                if self.outcome.first_bad.len() < SHOWN {
                    self.outcome.first_bad.push((self.outcome.lines, text.chars().take(SHOWN_CHARS).collect()));
                }
            }
        }
    }

    fn request(&mut self, line: &Line) {
        let Some(path) = line.page().and_then(|target| self.path(target)) else {
            self.outcome.others += 1;
            return;
        };
        let Some(agent) = self.agents.read(&line.user_agent) else {
            self.outcome.robots += 1;
            return;
        };
        let shared = &self.analytics.handle.shared;
        let country = shared.countries.find(line.address.parse::<IpAddr>().ok(), None);
        let referrer = referrer_host(&line.referrer, &self.site);
        let traits = [referrer.as_str(), agent.device, agent.browser, &country].map(|text| shared.names.number(text));
        self.found.push(Found {
            at: line.at,
            visitor: salts::hash(&self.key, line.address, &line.user_agent, &self.site),
            path: shared.names.number(&path),
            traits,
        });
    }

    /// The page's path of a request's target.
    fn path(&self, target: &str) -> Option<String> {
        let address = if target.starts_with('/') { format!("http://{}{target}", self.site) } else { target.to_owned() };
        page_url(&address).map(|url| page_path(url.path()))
    }

    /// Puts the parts of the file in place of what it was, if it is new or has grown.
    fn place(mut self, shared: &Shared) -> io::Result<ImportOutcome> {
        let mut manifest = Manifest::read(&shared.folder)?;
        let found = manifest.files.iter().position(|known| known.site == self.site && known.begins(&self.head));
        self.outcome.pageviews = self.found.len() as u64;
        let known = found.map(|place| manifest.files.remove(place));
        if known.as_ref().is_some_and(|known| self.bytes <= known.bytes) {
            return Ok(self.outcome);
        }
        self.outcome.added = self.outcome.pageviews.saturating_sub(known.as_ref().map_or(0, |known| known.pageviews));
        let import = manifest.next;
        manifest.next += 1;
        manifest.files.push(Known::new(import, &self.site, &self.head, self.bytes, self.outcome.pageviews));
        let outcome = std::mem::take(&mut self.outcome);
        let parts = self.count(shared);
        let source = Source::Import(import);
        let mut state = shared.state.write();
        for (day, part) in &parts {
            part.write(&state.parts.unfinished((*day, source)), &shared.names)?;
        }
        for day in parts.keys() {
            state.parts.place((*day, source), 0)?;
        }
        let written = state.parts.sync().and_then(|()| manifest.write(&shared.folder));
        if let Err(error) = written {
            state.parts.remove(|key| key.1 == source)?;
            return Err(error);
        }
        if let Some(known) = known {
            state.parts.remove(|key| key.1 == Source::Import(known.import))?;
        }
        Ok(outcome)
    }

    /// What the pageviews add up to, by day.
    fn count(mut self, shared: &Shared) -> BTreeMap<Day, Part> {
        let site = shared.names.number(&self.site);
        // Stable: of one second, the line that stands first is the first.
        self.found.sort_by_key(|found| found.at);
        let mut traffic = Traffic::default();
        let mut today = Day::MIN;
        for Found { at, visitor, path, traits } in self.found {
            if day_number(at) > today {
                traffic.forget_visitors(at);
                today = day_number(at);
            }
            traffic.add(&View { at, site, visitor, before: None, path, traits }, |_| true);
        }
        let days = traffic.days.into_iter();
        days.map(|(day, counting)| (day, Part { number: 0, sites: counting.sites })).collect()
    }
}
