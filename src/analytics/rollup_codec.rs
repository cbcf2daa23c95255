//! The bytes of a day's rollups by site, as day files and log records hold them.

use super::codec::{DecodeError, Input, put, put_signed, put_text};
use super::names::{NONE, Name, Names};
use super::rollup::{EventKey, EventRow, Hour, Page, PageSessions, Rollup, SearchKey, SearchRow, Share, SiteRollups};

/// Encodes rollups.
pub(super) fn encode_sites(sites: &SiteRollups, names: &Names) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, sites.len() as u64);
    for (site, rollup) in sites {
        put_text(&mut out, &names.text(*site));
        for hour in &rollup.hours {
            [hour.pageviews, hour.visitors, hour.sessions].iter().for_each(|figure| put(&mut out, *figure));
        }
        put(&mut out, rollup.visitors);
        put_signed(&mut out, rollup.bounces);
        put_signed(&mut out, rollup.duration);
        // Neighbors in sorted paths are similar, which compresses well.
        let mut pages: Vec<_> = rollup.pages.iter().map(|page| (names.text(page.path), page)).collect();
        pages.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        put(&mut out, pages.len() as u64);
        pages.iter().for_each(|(path, _)| put_text(&mut out, path));
        pages.iter().for_each(|(_, page)| put(&mut out, page.views.into()));
        pages.iter().for_each(|(_, page)| put(&mut out, page.visitors.into()));
        for shares in &rollup.shares {
            put(&mut out, shares.len() as u64);
            for share in shares {
                put_text(&mut out, &names.text(share.name));
                put(&mut out, share.visitors.into());
            }
        }
        for rows in [&rollup.entries, &rollup.exits] {
            put(&mut out, rows.len() as u64);
            for row in rows {
                put_text(&mut out, &names.text(row.path));
                put_signed(&mut out, row.sessions);
            }
        }
        put(&mut out, rollup.events.len() as u64);
        for EventRow { key, count, visitors } in &rollup.events {
            for name in [key.event, key.property, key.value] {
                put_text(&mut out, &if name == NONE { "".into() } else { names.text(name) });
            }
            put(&mut out, *count);
            put(&mut out, *visitors);
        }
    }
    // Files of earlier versions end here.
    for rollup in sites.values() {
        put(&mut out, rollup.searches.len() as u64);
        for row in &rollup.searches {
            for name in [row.key.question, row.key.blueprint] {
                put_text(&mut out, &if name == NONE { "".into() } else { names.text(name) });
            }
            figures_of(row).iter().for_each(|figure| put(&mut out, *figure));
        }
    }
    out
}

fn figures_of(row: &SearchRow) -> [u64; 7] {
    let SearchRow { key: _, searches, visitors, finders, without_results, clicked_searches, clicks, positions } = row;
    [searches, visitors, finders, without_results, clicked_searches, clicks, positions].map(|figure| *figure)
}

/// Decodes rollups and interns their names.
pub(super) fn decode_sites(content: &[u8], names: &Names) -> Result<SiteRollups, DecodeError> {
    let mut input = Input(content);
    let (mut sites, mut order) = (SiteRollups::new(), Vec::new());
    for _ in 0..input.count()? {
        let site = names.intern(input.text()?);
        let mut rollup = Rollup::default();
        for hour in &mut rollup.hours {
            *hour = Hour { pageviews: input.number()?, visitors: input.number()?, sessions: input.number()? };
        }
        rollup.visitors = input.number()?;
        rollup.bounces = input.signed()?;
        rollup.duration = input.signed()?;
        for _ in 0..input.count()? {
            rollup.pages.push(Page { path: names.intern(input.text()?), views: 0, visitors: 0 });
        }
        for page in &mut rollup.pages {
            page.views = input.small()?;
        }
        for page in &mut rollup.pages {
            page.visitors = input.small()?;
        }
        for shares in &mut rollup.shares {
            for _ in 0..input.count()? {
                shares.push(Share { name: names.intern(input.text()?), visitors: input.small()? });
            }
        }
        for rows in [&mut rollup.entries, &mut rollup.exits] {
            for _ in 0..input.count()? {
                rows.push(PageSessions { path: names.intern(input.text()?), sessions: input.signed()? });
            }
        }
        for _ in 0..input.count()? {
            let key = read_key(&mut input, names)?;
            rollup.events.push(EventRow { key, count: input.number()?, visitors: input.number()? });
        }
        order.push(site);
        sites.insert(site, rollup);
    }
    if input.0.is_empty() {
        return Ok(sites);
    }
    for site in order {
        for _ in 0..input.count()? {
            let row = read_search(&mut input, names)?;
            sites.entry(site).or_default().searches.push(row);
        }
    }
    Ok(sites)
}

/// Reads a row of searches. No blueprint has an empty slug.
fn read_search(input: &mut Input, names: &Names) -> Result<SearchRow, DecodeError> {
    let (question, blueprint) = (names.intern(input.text()?), input.text()?);
    let blueprint = if blueprint.is_empty() { NONE } else { names.intern(blueprint) };
    Ok(SearchRow {
        key: SearchKey { question, blueprint },
        searches: input.number()?,
        visitors: input.number()?,
        finders: input.number()?,
        without_results: input.number()?,
        clicked_searches: input.number()?,
        clicks: input.number()?,
        positions: input.number()?,
    })
}

/// Reads a key. One without a property belongs to the event itself, because no property has an empty name.
fn read_key(input: &mut Input, names: &Names) -> Result<EventKey, DecodeError> {
    let event = names.intern(input.text()?);
    let (property, value) = (input.text()?, input.text()?);
    let name = |text: &str| -> Name { if property.is_empty() { NONE } else { names.intern(text) } };
    Ok(EventKey { event, property: name(property), value: name(value) })
}
