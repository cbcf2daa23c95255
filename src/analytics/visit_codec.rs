//! The bytes of a day's visits in day files and log records: a block for each site, with each text of the site once and
//! the visits in order. A block can be left out or skipped without decoding it.

use std::collections::{BTreeMap, HashMap};

use super::codec::{DecodeError, Input, put, put_signed, put_text};
use super::names::{NONE, Name, Names};
use super::pageview::Property;
use super::visits::{SiteVisits, Visit, VisitStep};

const BEGINS: u8 = 1;
const IS_BOUNCE: u8 = 2;

/// The lowest bits of a step's first byte. The bits above are the hour of a pageview.
const SAME_CLIENT: u8 = 0;
const OTHER_CLIENT: u8 = 1;
const EVENT: u8 = 2;

/// The block of one site.
pub(super) struct Block<'a> {
    pub(super) site: &'a str,
    content: &'a [u8],
}

/// Encodes the visits of a day by site.
pub(super) fn encode(sites: &BTreeMap<Name, SiteVisits>, names: &Names) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, sites.len() as u64);
    for (site, visits) in sites {
        put_text(&mut out, &names.text(*site));
        let block = encode_block(visits, names);
        put(&mut out, block.len() as u64);
        out.extend_from_slice(&block);
    }
    out
}

/// Returns the blocks of a day.
pub(super) fn blocks(content: &[u8]) -> Result<Vec<Block<'_>>, DecodeError> {
    let mut input = Input(content);
    let blocks = (0..input.count()?).map(|_| {
        let (site, bytes) = (input.text()?, input.count()?);
        Ok(Block { site, content: input.bytes(bytes)? })
    });
    blocks.collect()
}

/// Returns the bytes without a site's block.
pub(super) fn without_site(content: &[u8], site: &str) -> Result<Vec<u8>, DecodeError> {
    let kept: Vec<Block> = blocks(content)?.into_iter().filter(|block| block.site != site).collect();
    let mut out = Vec::new();
    put(&mut out, kept.len() as u64);
    for block in kept {
        put_text(&mut out, block.site);
        put(&mut out, block.content.len() as u64);
        out.extend_from_slice(block.content);
    }
    Ok(out)
}

/// Decodes the visits of a day by site.
pub(super) fn decode(content: &[u8], names: &Names) -> Result<BTreeMap<Name, SiteVisits>, DecodeError> {
    let mut sites = BTreeMap::new();
    for block in blocks(content)? {
        let mut known = SiteVisits::default();
        let mut reader = BlockReader::new(&block, names)?;
        while let Some(visit) = reader.next()? {
            known.steps += visit.steps.len();
            known.visits.push(visit.clone());
        }
        known.left_out = reader.left_out;
        sites.insert(names.intern(block.site), known);
    }
    Ok(sites)
}

/// The texts of a block, each once. [`NONE`] is 0.
struct Texts<'a> {
    names: &'a Names,
    numbers: HashMap<Name, u64>,
    out: Vec<u8>,
}

impl Texts<'_> {
    fn put(&mut self, content: &mut Vec<u8>, name: Name) {
        let next = 1 + self.numbers.len() as u64;
        let number = match name {
            NONE => 0,
            name => *self.numbers.entry(name).or_insert_with(|| {
                put_text(&mut self.out, &self.names.text(name));
                next
            }),
        };
        put(content, number);
    }
}

fn encode_block(known: &SiteVisits, names: &Names) -> Vec<u8> {
    let mut texts = Texts { names, numbers: HashMap::new(), out: Vec::new() };
    let (mut content, mut last) = (Vec::new(), 0);
    for visit in &known.visits {
        put_signed(&mut content, i64::from(visit.visitor) - last);
        last = visit.visitor.into();
        content.push(if visit.begins { BEGINS } else { 0 } | if visit.is_bounce { IS_BOUNCE } else { 0 });
        put_signed(&mut content, visit.duration);
        visit.entry.iter().chain([&visit.exit]).for_each(|name| texts.put(&mut content, *name));
        put(&mut content, visit.steps.len() as u64);
        let mut before = [NONE; 3];
        for step in &visit.steps {
            match step {
                VisitStep::View { hour, path, client } => {
                    let is_same = *client == before;
                    content.push(hour << 2 | if is_same { SAME_CLIENT } else { OTHER_CLIENT });
                    texts.put(&mut content, *path);
                    if !is_same {
                        client.iter().for_each(|name| texts.put(&mut content, *name));
                    }
                    before = *client;
                }
                VisitStep::Event { name, properties } => {
                    content.push(EVENT);
                    texts.put(&mut content, *name);
                    put(&mut content, properties.len() as u64);
                    for property in properties {
                        texts.put(&mut content, property.name);
                        texts.put(&mut content, property.value);
                    }
                }
            }
        }
    }
    let mut out = Vec::new();
    put(&mut out, known.left_out);
    put(&mut out, texts.numbers.len() as u64);
    out.extend_from_slice(&texts.out);
    put(&mut out, known.visits.len() as u64);
    out.extend_from_slice(&content);
    out
}

/// Reads the visits of a block one after the other, reusing the same memory.
pub(super) struct BlockReader<'a> {
    input: Input<'a>,
    texts: Vec<Name>,
    left: usize,
    visit: Visit,
    /// The number of pageviews and events of the day that are in no visit.
    pub(super) left_out: u64,
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(block: &Block<'a>, names: &Names) -> Result<BlockReader<'a>, DecodeError> {
        let mut input = Input(block.content);
        let left_out = input.number()?;
        let mut texts = vec![NONE];
        for _ in 0..input.count()? {
            texts.push(names.intern(input.text()?));
        }
        let left = input.count()?;
        Ok(BlockReader { input, texts, left, visit: Visit::default(), left_out })
    }

    /// Returns the next visit.
    pub(super) fn next(&mut self) -> Result<Option<&mut Visit>, DecodeError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let visitor = i64::from(self.visit.visitor) + self.input.signed()?;
        self.visit.visitor = u32::try_from(visitor).map_err(|_| DecodeError)?;
        let flags = self.input.bytes(1)?[0];
        self.visit.begins = flags & BEGINS != 0;
        self.visit.is_bounce = flags & IS_BOUNCE != 0;
        self.visit.duration = self.input.signed()?;
        for index in 0..self.visit.entry.len() {
            self.visit.entry[index] = self.name()?;
        }
        self.visit.exit = self.name()?;
        self.visit.steps.clear();
        let mut client = [NONE; 3];
        for _ in 0..self.input.count()? {
            let step = self.step(&mut client)?;
            self.visit.steps.push(step);
        }
        Ok(Some(&mut self.visit))
    }

    fn step(&mut self, client: &mut [Name; 3]) -> Result<VisitStep, DecodeError> {
        let head = self.input.bytes(1)?[0];
        let name = self.name()?;
        match head & 3 {
            SAME_CLIENT => {}
            OTHER_CLIENT => *client = [self.name()?, self.name()?, self.name()?],
            EVENT => {
                let count = self.input.count()?;
                let properties = (0..count).map(|_| Ok(Property { name: self.name()?, value: self.name()? }));
                let properties = properties.collect::<Result<Box<[Property]>, DecodeError>>()?;
                return Ok(VisitStep::Event { name, properties });
            }
            _ => return Err(DecodeError),
        }
        match head >> 2 {
            hour @ 0..24 => Ok(VisitStep::View { hour, path: name, client: *client }),
            _ => Err(DecodeError),
        }
    }

    fn name(&mut self) -> Result<Name, DecodeError> {
        self.texts.get(self.input.number()? as usize).copied().ok_or(DecodeError)
    }
}
