//! The bytes of a day's rollups by site, as day files and log records hold them.

use super::codec::{Damaged, Input, put, put_signed, put_text};
use super::names::Names;
use super::rollup::{Hour, Page, Rollup, Share, SiteRollups};

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
        // Paths that sort next to each other are alike, which compresses well.
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
    }
    out
}

/// Decodes rollups and interns their names.
pub(super) fn decode_sites(content: &[u8], names: &Names) -> Result<SiteRollups, Damaged> {
    let mut input = Input(content);
    let mut sites = SiteRollups::new();
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
        sites.insert(site, rollup);
    }
    Ok(sites)
}
