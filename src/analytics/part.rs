//! A part: what one source (the pageviews that were sent, or an imported file) adds to one day. It owns the bytes of the
//! file. Parts are written once and replaced whole.
//!
//! ```text
//! header   magic (8)  number of the log (8)  length of the content, unpacked (8)  CRC32 of these and of what follows (4)
//! content  zstd: sites, each with its hours, totals, pages by path and shares by name
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;

use super::codec::{Damaged, Input, put, put_signed, put_text};
use super::names::{Name, Names};
use super::rollup::{Hour, Page, Rollup, Share};

const MAGIC: &[u8; 8] = b"bndrytr1";
const HEADER_BYTES: usize = 28;
const ZSTD_LEVEL: i32 = 6;
/// More than a day's part of any site can have; a damaged length is not believed.
const MAX_BYTES: u64 = 4 << 30;

/// The figures of a day by site.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Part {
    /// The number of the events' log through which it counts; 0 of an import.
    pub(super) number: u64,
    pub(super) sites: BTreeMap<Name, Rollup>,
}

impl Part {
    /// Roughly how many rows it holds in memory.
    pub(super) fn rows(&self) -> usize {
        let rows = |rollup: &Rollup| 40 + rollup.pages.len() + rollup.shares.iter().map(Vec::len).sum::<usize>();
        self.sites.values().map(rows).sum()
    }

    /// How many pageviews it counts.
    pub(super) fn pageviews(&self) -> u64 {
        self.sites.values().map(Rollup::pageviews).sum()
    }

    /// Writes it to a file, synced. The folder is the caller's to sync.
    pub(super) fn write(&self, path: &Path, names: &Names) -> io::Result<()> {
        let content = encode_sites(&self.sites, names);
        let packed = zstd::bulk::compress(&content, ZSTD_LEVEL)?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + packed.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&checksum(&bytes, &packed).to_le_bytes());
        bytes.extend_from_slice(&packed);
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    }

    /// Reads a file whole.
    pub(super) fn read(path: &Path, names: &Names) -> io::Result<Part> {
        let damaged = |_| io::Error::other(format!("{}: {Damaged}", path.display()));
        let bytes = fs::read(path)?;
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or_else(|| damaged(Damaged))?;
        let (number, length) = read_header(header).map_err(damaged)?;
        let packed = &bytes[HEADER_BYTES..];
        if header[24..] != checksum(&header[..24], packed).to_le_bytes() || length > MAX_BYTES {
            return Err(damaged(Damaged));
        }
        let content = zstd::bulk::decompress(packed, length as usize)?;
        decode_sites(&content, names).map(|sites| Part { number, sites }).map_err(damaged)
    }

    /// The number in a file's header.
    pub(super) fn read_number(path: &Path) -> io::Result<u64> {
        let mut header = [0; HEADER_BYTES];
        File::open(path)?.read_exact(&mut header)?;
        read_header(&header)
            .map(|(number, _)| number)
            .map_err(|_| io::Error::other(format!("{}: {Damaged}", path.display())))
    }
}

/// The content of a part.
pub(super) fn encode_sites(sites: &BTreeMap<Name, Rollup>, names: &Names) -> Vec<u8> {
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
        // Neighbors in the order of names are alike, which packs well.
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

/// What the content of a part says.
pub(super) fn decode_sites(content: &[u8], names: &Names) -> Result<BTreeMap<Name, Rollup>, Damaged> {
    let mut input = Input(content);
    let mut sites = BTreeMap::new();
    for _ in 0..input.count()? {
        let site = names.number(input.text()?);
        let mut rollup = Rollup::default();
        for hour in &mut rollup.hours {
            *hour = Hour { pageviews: input.number()?, visitors: input.number()?, sessions: input.number()? };
        }
        rollup.visitors = input.number()?;
        rollup.bounces = input.signed()?;
        rollup.duration = input.signed()?;
        for _ in 0..input.count()? {
            rollup.pages.push(Page { path: names.number(input.text()?), views: 0, visitors: 0 });
        }
        for page in &mut rollup.pages {
            page.views = input.small()?;
        }
        for page in &mut rollup.pages {
            page.visitors = input.small()?;
        }
        for shares in &mut rollup.shares {
            for _ in 0..input.count()? {
                shares.push(Share { name: names.number(input.text()?), visitors: input.small()? });
            }
        }
        sites.insert(site, rollup);
    }
    Ok(sites)
}

fn read_header(header: &[u8; HEADER_BYTES]) -> Result<(u64, u64), Damaged> {
    let mut input = Input(header);
    if input.take(8)? != MAGIC {
        return Err(Damaged);
    }
    let mut number = || input.take(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    Ok((number()?, number()?))
}

fn checksum(header: &[u8], packed: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(packed);
    hasher.finalize()
}
