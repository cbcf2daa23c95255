//! Imports of access logs in the combined format.
//!
//! A file is recognized by the hash of its beginning. An import adds its own day files. When the file has grown, it is
//! counted again as a whole and replaces its former import. So its sessions and visitors are those of the whole file.
//! Visitors are hashed with a key that is made for the import and never stored.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bindery_disk::failure;
use bindery_model::error::Error;
use bindery_model::time::{Millis, day_number};

use super::access_log::LoggedRequest;
use super::agent::Agents;
use super::bounds::Bounds;
use super::checked_file::sync_folder_of;
use super::data::AnalyticsData;
use super::day_file::DayFile;
use super::day_files::{DayKey, Source, remove_if_there};
use super::event::{PageUrl, referrer_host};
use super::handle::WorkerHandle;
use super::import_list::{self, HEAD_BYTES, ImportList, ImportedFile};
use super::names::{NONE, Name, Names};
use super::pageview::Pageview;
use super::period::Day;
use super::salts;
use super::session::{Visitor, VisitorHash};
use super::traffic::Traffic;
use super::visit_codec;

/// The greatest length of a line; longer ones are malformed.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The number of malformed lines that are reported, and the number of characters shown of each.
const REPORTED_LINES: usize = 5;
const REPORTED_CHARS: usize = 200;

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    /// The lines of the file.
    pub lines: u64,
    /// The lines that are pageviews.
    pub pageviews: u64,
    /// The pageviews that earlier imports of the file did not have.
    pub added: u64,
    /// The lines that would be pageviews, but were requested by robots.
    pub robots: u64,
    /// The requests that failed or were not for pages.
    pub others: u64,
    /// The lines that are not in the combined format.
    pub bad: u64,
    /// The first few malformed lines.
    pub first_bad: Vec<BadLine>,
}

/// A line that is not in the combined format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The number of the line in the file, from 1.
    pub number: u64,
    /// The first characters of the line.
    pub text: String,
}

/// A file that is being imported. Its pageviews do not count before [`Import::finish`].
pub struct Import {
    /// Keeps the folder open.
    worker: Arc<WorkerHandle>,
    site: String,
    key: [u8; 32],
    agents: Agents,
    /// The names in the file. Only counted names are kept after the import.
    names: Names,
    head: Vec<u8>,
    bytes: u64,
    /// The beginning of the current line, which has not ended yet.
    rest: Vec<u8>,
    found: Vec<FoundPageview>,
    outcome: ImportOutcome,
}

/// A pageview of the file.
struct FoundPageview {
    at: Millis,
    visitor: VisitorHash,
    path: Name,
    referrer: Name,
    device: Name,
    browser: Name,
    country: Name,
    utm: [Name; 5],
}

impl Import {
    pub(super) fn new(worker: Arc<WorkerHandle>, site: &str) -> Import {
        let mut key = [0; 32];
        // If this fails, the key is all zeros. That still separates visitors, and neither the key nor a hash is stored.
        let _ = getrandom::fill(&mut key);
        Import {
            worker,
            site: site.to_owned(),
            key,
            agents: Agents::new(),
            names: Names::default(),
            head: Vec::new(),
            bytes: 0,
            rest: Vec::new(),
            found: Vec::new(),
            outcome: ImportOutcome::default(),
        }
    }

    /// Reads the next piece of the file, which may end within a line.
    pub fn push(&mut self, mut piece: &[u8]) {
        let missing = HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&piece[..missing.min(piece.len())]);
        self.bytes += piece.len() as u64;
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            if self.rest.is_empty() {
                self.read_line(line);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.read_line(&whole);
            }
            piece = rest;
        }
        let room = (MAX_LINE_BYTES + 1).saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&piece[..room.min(piece.len())]);
    }

    /// Counts the pageviews, unless an earlier import already has all of them. On return they are durable and in every
    /// report.
    ///
    /// # Errors
    /// `INTERNAL` if the disk fails, and `OVERLOADED` after [`super::Analytics::close`]; then none of them counts.
    pub fn finish(mut self) -> Result<ImportOutcome, Error> {
        let last = std::mem::take(&mut self.rest);
        if !last.is_empty() {
            self.read_line(&last);
        }
        // A handle must outlive the lock: the last one takes it when it is dropped.
        let worker = Arc::clone(&self.worker);
        let _one_at_a_time = worker.data.import_lock.lock();
        worker.require_open()?;
        self.save(&worker.data).map_err(|error| import_list::unusable(&error))
    }

    fn read_line(&mut self, bytes: &[u8]) {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.is_empty() {
            return;
        }
        self.outcome.lines += 1;
        let text = String::from_utf8_lossy(bytes);
        match LoggedRequest::parse(&text).filter(|_| bytes.len() <= MAX_LINE_BYTES) {
            Some(request) => self.read_request(&request),
            None => {
                self.outcome.bad += 1;
                if self.outcome.first_bad.len() < REPORTED_LINES {
                    let text = text.chars().take(REPORTED_CHARS).collect();
                    self.outcome.first_bad.push(BadLine { number: self.outcome.lines, text });
                }
            }
        }
    }

    fn read_request(&mut self, request: &LoggedRequest) {
        let Some(page) = request.page_target().and_then(|target| self.page(target)) else {
            self.outcome.others += 1;
            return;
        };
        let Some(agent) = self.agents.read(&request.user_agent) else {
            self.outcome.robots += 1;
            return;
        };
        let country = self.worker.data.countries.find(request.address.parse::<IpAddr>().ok(), None);
        let referrer = referrer_host(&request.referrer, &self.site);
        self.found.push(FoundPageview {
            at: request.at,
            visitor: salts::hash(&self.key, request.address, &request.user_agent, &self.site),
            path: self.names.intern(&page.page_path()),
            referrer: self.names.intern(&referrer),
            device: self.names.intern(agent.device),
            browser: self.names.intern(agent.browser),
            country: self.names.intern(&country),
            utm: page.utm().map(|text| text.map_or(NONE, |text| self.names.intern(&text))),
        });
    }

    /// Returns the page of a request target, which is a path or a URL.
    fn page(&self, target: &str) -> Option<PageUrl> {
        let url = if target.starts_with('/') { format!("http://{}{target}", self.site) } else { target.to_owned() };
        PageUrl::parse(&url)
    }

    /// Writes the day files and puts them in use, if the file is new or has grown.
    fn save(mut self, data: &AnalyticsData) -> io::Result<ImportOutcome> {
        let mut imports = ImportList::read(&data.folder)?;
        let former = imports.take(&self.site, &self.head);
        self.outcome.pageviews = self.found.len() as u64;
        // Days that are not kept any more do not come back.
        let last_expired = data.last_expired();
        self.found.retain(|found| last_expired.is_none_or(|day| day_number(found.at) > day));
        let kept = self.found.len() as u64;
        if former.as_ref().is_some_and(|former| self.bytes <= former.bytes) {
            return Ok(self.outcome);
        }
        let counted = former.as_ref().map_or(0, |former| former.pageviews);
        // After a deletion, those that were counted are all of kept days.
        let is_rest = former.as_ref().is_some_and(|former| former.bytes == 0);
        let seen = if is_rest { kept } else { self.outcome.pageviews };
        self.outcome.added = seen.saturating_sub(counted).min(kept);
        let import = imports.next;
        if former.is_none() && imports.files.is_empty() {
            // Written before the first import, so that a list that is missing later is recognized as lost.
            imports.write(&data.folder)?;
        }
        imports.next += 1;
        let mut imported = ImportedFile::new(import, &self.site, &self.head, self.bytes, self.outcome.pageviews);
        let outcome = std::mem::take(&mut self.outcome);
        let day_files = self.count(data);
        imported.days = day_files.keys().copied().collect();
        imports.files.push(imported);
        let source = Source::Import(import);
        let keys: Vec<DayKey> = day_files.keys().map(|day| DayKey { day: *day, source }).collect();
        if let Err(error) = write_files(data, day_files, source).and_then(|()| imports.write(&data.folder)) {
            let folder = data.days_folder();
            let _ = keys.iter().try_for_each(|key| remove_if_there(&key.path(&folder)));
            return Err(error);
        }
        // The files are durable already, so no input or output happens under the lock, which counting and reports need.
        let replaced = {
            let mut counts = data.counts.write();
            keys.iter().for_each(|key| counts.day_files.insert(*key, 0));
            let former = former.map(|former| Source::Import(former.import));
            counts.day_files.take(|key| Some(key.source) == former)
        };
        replaced.iter().try_for_each(|path| remove_if_there(path))?;
        Ok(outcome)
    }

    /// Counts the pageviews by day.
    fn count(mut self, data: &AnalyticsData) -> BTreeMap<Day, CountedDay> {
        let site = data.names.intern(&self.site);
        // The sort is stable, so the order of the lines is kept within a second.
        self.found.sort_by_key(|found| found.at);
        let (mut traffic, mut bounds) = (Traffic::default(), Bounds::default());
        let mut today = Day::MIN;
        for found in self.found {
            let (at, text) = (found.at, |name: Name| self.names.text(name));
            if day_number(at) > today {
                traffic.forget_visitors(at);
                today = day_number(at);
            }
            let path = bounds.path(today, site, &text(found.path), &data.names);
            let referrer = bounds.referrer(today, site, &text(found.referrer), &data.names);
            let utm = found.utm.map(|name| (name != NONE).then(|| text(name).to_string()));
            let [source, medium, campaign, content, term] = bounds.utm(today, site, &utm, &data.names);
            let [device, browser, country] =
                [found.device, found.browser, found.country].map(|name| data.names.intern(&text(name)));
            let dimensions = [referrer, device, browser, country, source, medium, campaign, content, term];
            let visitor = Visitor { today: found.visitor, yesterday: None };
            traffic.add_view(&Pageview { at, site, visitor, path, dimensions }, |_| true);
        }
        let days = traffic.days.into_iter().map(|(day, open_day)| {
            let (sites, visits) = open_day.into_parts();
            let visits = visit_codec::encode(&visits.sites, &data.names);
            (day, CountedDay { file: DayFile { counted_through: 0, sites }, visits })
        });
        days.collect()
    }
}

/// The figures that an import adds to a day.
struct CountedDay {
    file: DayFile,
    /// The encoded visits.
    visits: Vec<u8>,
}

/// Writes the files of an import and puts them in place. They do not count before the list contains the import.
fn write_files(data: &AnalyticsData, day_files: BTreeMap<Day, CountedDay>, source: Source) -> io::Result<()> {
    let folder = data.days_folder();
    for (day, CountedDay { file, visits }) in &day_files {
        let key = DayKey { day: *day, source };
        failure::point("import::write")?;
        file.write(&key.unfinished(&folder), &data.names, visits)?;
        fs::rename(key.unfinished(&folder), key.path(&folder))?;
    }
    failure::point("import::sync")?;
    sync_folder_of(&folder.join("files"))
}
