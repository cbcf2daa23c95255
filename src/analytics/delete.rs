//! Deletions: a site's figures of some days are taken out of all that counts them, on disk too.
//!
//! A deletion is done once the events' log has a record of it that says what is left of what was being counted; older
//! records are removed then. Parts are written anew without the site, those of imports removed. A crash in between
//! leaves the record, by which the next start does the rest.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::import;
use super::names::{Name, Names};
use super::parts::{Parts, Source};
use super::period::Period;
use super::report;
use super::rollup::Day;
use crate::model::error::{Code, Error};
use crate::query::RawParams;

/// What is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deletion {
    pub(super) site: Name,
    pub(super) period: Period,
    /// Of imports, those with a lower number: what is imported later counts.
    pub(super) imports: u64,
}

/// A deletion whose new parts are written and not in place yet.
pub(super) struct Prepared {
    rewritten: Vec<(Day, u64)>,
    imported: HashSet<(Day, Source)>,
    /// How many pageviews the old parts count and the new ones do not.
    pub(super) pageviews: u64,
}

/// The site and the days that a query string names.
///
/// Errors: `INVALID_PARAMETER`.
pub(super) fn read(raw_query: &str) -> Result<(String, Period), Error> {
    let params = RawParams::parse(raw_query);
    let site = report::site(&params)?.ok_or_else(|| {
        let message = "`site` is missing; it takes the host whose figures are to be deleted, such as `www.example.com`";
        Error::new(Code::InvalidParameter, message)
    })?;
    Ok((site, Period::parse_open(&params)?))
}

impl Deletion {
    /// Writes the parts anew that count what is deleted, unfinished as yet. `number` is that of the deletion's record in
    /// the log: what is counted after it stays.
    pub(super) fn prepare(self, number: u64, parts: &Parts, names: &Names, folder: &Path) -> io::Result<Prepared> {
        let of_site = import::of_site(folder, &names.text(self.site), self.imports)?;
        let mut prepared = Prepared { rewritten: Vec::new(), imported: HashSet::new(), pageviews: 0 };
        for key @ (day, source) in parts.of(self.period.start..=self.period.end) {
            match source {
                Source::Import(import) if !of_site.contains(&import) => continue,
                Source::Sent if parts.counted_through(day) > number => continue,
                _ => {}
            }
            let part = parts.read(key, names)?;
            let Some(rollup) = part.sites.get(&self.site) else { continue };
            prepared.pageviews += rollup.pageviews();
            if source == Source::Sent {
                let mut rest = (*part).clone();
                rest.sites.remove(&self.site);
                rest.write(&parts.unfinished(key), names)?;
                prepared.rewritten.push((day, part.number));
            } else {
                prepared.imported.insert(key);
            }
        }
        Ok(prepared)
    }
}

impl Prepared {
    /// Puts the new parts in place and removes the old ones.
    pub(super) fn finish(self, parts: &mut Parts, names: &Names, folder: &Path) -> io::Result<()> {
        for (day, number) in self.rewritten {
            parts.place((day, Source::Sent), number)?;
        }
        import::forget(folder, parts, names, &self.imported)?;
        parts.remove(|key| self.imported.contains(&key))?;
        parts.sync()
    }
}
