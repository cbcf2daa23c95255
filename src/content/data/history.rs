//! The history of a resource's copies (`API.md` 4.22): its stored form, and reading superseded versions.
//!
//! The newest revision of a copy is the live version, which is stored once, where it always is. A superseded version is
//! stored compressed with the version that superseded it as a dictionary, so it takes little where little changed. Every
//! sixteenth version is stored without one, which bounds the number of versions that must be read to read one.
//!
//! A copy has no history until it is changed for the first time: its only revision follows from the meta record. So imports and
//! creations write nothing here.
//!
//! The records of a history are trusted only if its newest revision is the live version. Otherwise the history was switched off
//! for a while, or another resource had the id, and it begins anew.

use bindery_access::Actor;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_model::value;
use bindery_sanitize::Sanitizer;
use bindery_store::Key;
use serde_json::Value;
use zstd::bulk::{Compressor, Decompressor};

use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta, render_attributes};

const FORMAT: u8 = 1;
/// A version is stored without a dictionary if this many versions before it were stored with one.
const KEYFRAME_EVERY: u8 = 15;
/// The level of compression. It takes a tenth of a millisecond for an article.
const LEVEL: i32 = 3;
/// The largest copy that is read back. A damaged length must not reserve more.
const MAX_COPY_BYTES: usize = 256 << 20;

/// One variant of a resource, whose history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HistoryOf {
    /// The number of the blueprint.
    pub(crate) blueprint: u32,
    /// The resource.
    pub(crate) id: ResourceId,
    /// The number of the variant.
    pub(crate) variant: u16,
}

/// The range of a history. Its revisions are `first..=last`; those of `swept..first` are still to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RevisionRange {
    /// The number of the oldest revision.
    pub(crate) first: u32,
    /// The number of the newest revision.
    pub(crate) last: u32,
    /// The number before which all records are removed.
    pub(crate) swept: u32,
    /// The number of versions that were stored with a dictionary since one was stored without.
    pub(crate) deltas: u8,
}

/// The kind of write that made a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RevisionOp {
    Created,
    Updated,
    Published,
    Unpublished,
    Restored,
    Deleted,
}

/// One revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    /// The time of the write.
    pub(crate) at: Millis,
    /// The actor who wrote; `None` if it is unknown.
    pub(crate) by: Option<Actor>,
    pub(crate) op: RevisionOp,
    /// The publication date after the write.
    pub(crate) published: Option<Millis>,
    /// The number of the copy's version after the write; 0 if the copy was never written.
    pub(crate) copy: u64,
    /// The revision of the blueprint under which `fields` were written.
    pub(crate) blueprint: u64,
    /// The slugs of the changed fields.
    pub(crate) fields: Vec<String>,
}

impl HistoryOf {
    pub(crate) fn key(self) -> Key {
        let HistoryOf { blueprint, id, variant } = self;
        Key::History { blueprint, id, variant }
    }

    pub(crate) fn revision_key(self, number: u32) -> Key {
        let HistoryOf { blueprint, id, variant } = self;
        Key::Revision { blueprint, id, variant, number }
    }

    fn former_key(self, number: u64) -> Key {
        let HistoryOf { blueprint, id, variant } = self;
        Key::FormerCopy { blueprint, id, variant, number }
    }

    /// Returns the range of the history, if it has one.
    pub(crate) fn range(self, lookup: &dyn Lookup) -> Result<Option<RevisionRange>> {
        lookup.get(&self.key())?.map(|bytes| RevisionRange::decode(&bytes).ok_or_else(damaged)).transpose()
    }

    /// Returns a stored revision.
    pub(crate) fn revision(self, lookup: &dyn Lookup, number: u32) -> Result<Option<Revision>> {
        let bytes = lookup.get(&self.revision_key(number))?;
        bytes.map(|bytes| Revision::decode(&bytes).ok_or_else(damaged)).transpose()
    }

    /// Returns the range of the history, and false if its newest revision is not the live version.
    pub(crate) fn trusted_range(self, lookup: &dyn Lookup, meta: &Meta) -> Result<Option<(RevisionRange, bool)>> {
        let Some(range) = self.range(lookup)? else { return Ok(None) };
        let newest = match range.first <= range.last {
            true => self.revision(lookup, range.last)?,
            false => None,
        };
        let live = meta.copy(self.variant).map_or(0, |copy| copy.number);
        let is_live = |revision: &Revision| revision.copy == live && revision.published == meta.published;
        Ok(Some((range, newest.as_ref().is_some_and(is_live))))
    }

    /// Returns the key and the value of a superseded version.
    pub(crate) fn former_copy(
        self,
        old: CopyVersion,
        bytes: &[u8],
        next: u64,
        successor: Option<&[u8]>,
    ) -> Result<(Key, Vec<u8>)> {
        let mut compressor = match successor {
            Some(successor) => Compressor::with_dictionary(LEVEL, successor),
            None => Compressor::new(LEVEL),
        }
        .map_err(Error::internal)?;
        let frame = compressor.compress(bytes).map_err(Error::internal)?;
        let mut out = vec![FORMAT, u8::from(successor.is_some())];
        out.extend(next.to_le_bytes());
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(frame);
        Ok((self.former_key(old.number), out))
    }

    /// Returns the stored bytes of a version, superseded or live.
    ///
    /// # Errors
    /// `NOT_FOUND` if it is no longer kept, `INTERNAL` if it is damaged.
    pub(crate) fn copy_bytes(self, lookup: &dyn Lookup, number: u64) -> Result<Vec<u8>> {
        // From the version that was asked for to the first one that needs no other.
        let mut frames = Vec::new();
        let mut at = number;
        let mut base = loop {
            let Some(stored) = lookup.get(&self.former_key(at))? else {
                let version = CopyVersion { variant: self.variant, number: at };
                break lookup.get(&version.key(self.blueprint, self.id))?.ok_or_else(no_longer_kept)?;
            };
            let former = FormerCopy::decode(&stored).ok_or_else(damaged)?;
            if !former.has_dictionary {
                break former.unpack(None)?;
            }
            at = former.next;
            frames.push(stored);
            if frames.len() > usize::from(u8::MAX) {
                return Err(damaged());
            }
        };
        for stored in frames.iter().rev() {
            base = FormerCopy::decode(stored).ok_or_else(damaged)?.unpack(Some(&base))?;
        }
        Ok(base)
    }

    /// Returns the removals of the revisions before `end` that are still stored, with the versions that only they name: at most
    /// `most` revisions. Moves `swept` in the range.
    pub(crate) fn removals(
        self,
        lookup: &dyn Lookup,
        range: &mut RevisionRange,
        end: u32,
        most: u32,
    ) -> Result<Vec<Key>> {
        let mut keys = Vec::new();
        let end = end.min(range.swept.saturating_add(most));
        while range.swept < end {
            let number = range.swept;
            if let Some(revision) = self.revision(lookup, number)? {
                let next = self.revision(lookup, number + 1)?;
                if revision.copy > 0 && next.is_none_or(|next| next.copy != revision.copy) {
                    keys.push(self.former_key(revision.copy));
                }
                keys.push(self.revision_key(number));
            }
            range.swept += 1;
        }
        Ok(keys)
    }
}

/// A stored superseded version.
struct FormerCopy<'a> {
    has_dictionary: bool,
    next: u64,
    length: usize,
    frame: &'a [u8],
}

impl<'a> FormerCopy<'a> {
    fn decode(mut bytes: &'a [u8]) -> Option<FormerCopy<'a>> {
        let [format, has_dictionary] = take(&mut bytes)?;
        let next = u64::from_le_bytes(take(&mut bytes)?);
        let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
        let former = FormerCopy { has_dictionary: has_dictionary != 0, next, length, frame: bytes };
        (format == FORMAT && length <= MAX_COPY_BYTES).then_some(former)
    }

    fn unpack(&self, successor: Option<&[u8]>) -> Result<Vec<u8>> {
        let mut decompressor = match successor {
            Some(successor) => Decompressor::with_dictionary(successor),
            None => Decompressor::new(),
        }
        .map_err(Error::internal)?;
        decompressor.decompress(self.frame, self.length).map_err(Error::internal)
    }
}

impl RevisionRange {
    /// Returns whether the next superseded version is stored with a dictionary, and counts it.
    pub(crate) fn next_is_delta(&mut self) -> bool {
        let is_delta = self.deltas < KEYFRAME_EVERY;
        self.deltas = if is_delta { self.deltas + 1 } else { 0 };
        is_delta
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        [self.first, self.last, self.swept].iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.push(self.deltas);
        out
    }

    fn decode(mut bytes: &[u8]) -> Option<RevisionRange> {
        let [format] = take(&mut bytes)?;
        let mut number = || take(&mut bytes).map(u32::from_le_bytes);
        let (first, last, swept) = (number()?, number()?, number()?);
        let [deltas] = take(&mut bytes)?;
        (format == FORMAT && bytes.is_empty()).then_some(RevisionRange { first, last, swept, deltas })
    }
}

impl RevisionOp {
    const ALL: [RevisionOp; 6] = [
        RevisionOp::Created,
        RevisionOp::Updated,
        RevisionOp::Published,
        RevisionOp::Unpublished,
        RevisionOp::Restored,
        RevisionOp::Deleted,
    ];

    /// Returns its name in answers.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            RevisionOp::Created => "created",
            RevisionOp::Updated => "updated",
            RevisionOp::Published => "published",
            RevisionOp::Unpublished => "unpublished",
            RevisionOp::Restored => "restored",
            RevisionOp::Deleted => "deleted",
        }
    }

    /// The stored code; 7 is left for `edited`.
    fn code(self) -> u8 {
        match self {
            RevisionOp::Created => 1,
            RevisionOp::Updated => 2,
            RevisionOp::Published => 3,
            RevisionOp::Unpublished => 4,
            RevisionOp::Restored => 5,
            RevisionOp::Deleted => 6,
        }
    }
}

impl Revision {
    /// Returns the only revision of a copy that has no history: its live version.
    pub(crate) fn of_live(
        lookup: &dyn Lookup,
        blueprint: &Blueprint,
        id: ResourceId,
        meta: &Meta,
        variant: u16,
    ) -> Result<Revision> {
        let op = if meta.updated == meta.created { RevisionOp::Created } else { RevisionOp::Updated };
        let copy = meta.copy(variant);
        let mut fields = Vec::new();
        if let Some(version) = copy {
            let values = lookup.values(blueprint, id, version)?;
            let filled = blueprint.fields.iter().zip(values).filter(|(_, value)| !value.is_null());
            fields.extend(filled.map(|(field, _)| field.slug.clone()));
        }
        Ok(Revision {
            at: meta.updated,
            by: meta.authors.updated_by.clone(),
            op,
            published: meta.published,
            copy: copy.map_or(0, |copy| copy.number),
            blueprint: blueprint.revision,
            fields,
        })
    }

    /// Returns the slugs of the changed fields that the blueprint still has.
    pub(crate) fn fields_of<'a>(&'a self, blueprint: &'a Blueprint) -> impl Iterator<Item = &'a str> {
        let is_same = |slug: &&String| blueprint.field(slug).is_some_and(|field| field.since <= self.blueprint);
        self.fields.iter().filter(is_same).map(String::as_str)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT, self.op.code()];
        out.extend(self.at.to_le_bytes());
        out.push(u8::from(self.published.is_some()));
        out.extend(self.published.unwrap_or(0).to_le_bytes());
        out.extend(self.copy.to_le_bytes());
        out.extend(self.blueprint.to_le_bytes());
        out.push(u8::from(self.by.is_some()));
        if let Some(by) = &self.by {
            by.encode_to(&mut out);
        }
        for slug in &self.fields {
            // Slugs have at most 63 bytes.
            out.push(slug.len() as u8);
            out.extend(slug.as_bytes());
        }
        out
    }

    fn decode(mut bytes: &[u8]) -> Option<Revision> {
        let [format, op] = take(&mut bytes)?;
        let op = RevisionOp::ALL.into_iter().find(|known| known.code() == op).filter(|_| format == FORMAT)?;
        let at = Millis::from_le_bytes(take(&mut bytes)?);
        let is_published = take(&mut bytes)? != [0];
        let published = Millis::from_le_bytes(take(&mut bytes)?);
        let (copy, blueprint) = (u64::from_le_bytes(take(&mut bytes)?), u64::from_le_bytes(take(&mut bytes)?));
        let by = match take(&mut bytes)? {
            [0] => None,
            _ => {
                let (actor, rest) = Actor::decode_from(bytes)?;
                bytes = rest;
                Some(actor)
            }
        };
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let [length] = take(&mut bytes)?;
            let (slug, rest) = bytes.split_at_checked(length.into())?;
            bytes = rest;
            fields.push(std::str::from_utf8(slug).ok()?.to_owned());
        }
        Some(Revision { at, by, op, published: is_published.then_some(published), copy, blueprint, fields })
    }
}

/// Reads superseded versions like live ones, for one history. A value that its field does not accept any more, because the field
/// has another type since, is null.
pub(crate) struct FormerLookup<'a> {
    pub(crate) lookup: &'a dyn Lookup,
    pub(crate) of: HistoryOf,
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) sanitizer: &'a Sanitizer,
}

impl Lookup for FormerLookup<'_> {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.lookup.get(key)
    }

    fn copy(&self, _: u32, _: ResourceId, version: CopyVersion) -> Result<Copy> {
        let copy = Copy::decode(&self.of.copy_bytes(self.lookup, version.number)?).map_err(Error::internal)?;
        if copy.revision >= self.blueprint.shape {
            return Ok(copy);
        }
        let options = value::Options { sanitizer: self.sanitizer, relations: value::Relations::Ids };
        let mut values = copy.values(self.blueprint)?;
        for (field, value) in self.blueprint.fields.iter().zip(&mut values) {
            if value::check(field, value.clone(), options).is_err() {
                *value = Value::Null;
            }
        }
        let attributes = render_attributes(self.blueprint, &values).into();
        Ok(Copy { revision: self.blueprint.revision, attributes })
    }
}

/// Returns `NOT_FOUND` for a version that was removed while it was read.
fn no_longer_kept() -> Error {
    Error::new(Code::NotFound, "this revision is no longer kept")
}

fn damaged() -> Error {
    Error::internal("a record of a history that this version cannot read")
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashMap;

    use super::*;

    struct Map(HashMap<Key, Vec<u8>>);

    impl Lookup for Map {
        fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
            Ok(self.0.get(key).cloned())
        }
    }

    /// Returns an article of about 10 KB with words that do not repeat.
    fn article(changed: usize) -> Vec<u8> {
        let word = |n: usize| blake3::hash(&n.to_le_bytes()).to_hex()[..7].to_string();
        let paragraph = |n: usize, seed: usize| {
            let words: Vec<String> = (0..60).map(|at| word(seed * 1_000_000 + n * 100 + at)).collect();
            format!("<p>{}</p>", words.join(" "))
        };
        let text: Vec<String> = (0..20).map(|n| paragraph(n, if n == changed % 20 { changed } else { 0 })).collect();
        text.concat().into_bytes()
    }

    #[test]
    fn a_version_with_one_changed_paragraph_takes_less_than_a_third_of_a_copy_and_all_of_them_are_read_back() {
        let of = HistoryOf { blueprint: 1, id: ResourceId::from_u128(7), variant: 0 };
        let (mut range, mut store) = (RevisionRange::default(), Map(HashMap::new()));
        let versions: Vec<Vec<u8>> = (1..=40).map(article).collect();
        let (mut kept, mut plain) = (0, 0);
        for (number, pair) in (1..).zip(versions.windows(2)) {
            let successor = range.next_is_delta().then_some(pair[1].as_slice());
            let old = CopyVersion { variant: 0, number };
            let (key, value) = of.former_copy(old, &pair[0], number + 1, successor).unwrap();
            kept += value.len();
            plain += zstd::bulk::compress(&pair[0], LEVEL).unwrap().len();
            store.0.insert(key, value);
        }
        let live = CopyVersion { variant: 0, number: 40 };
        store.0.insert(live.key(1, of.id), versions[39].clone());
        assert!(kept * 100 <= plain * 30, "{kept} of {plain} bytes");
        for (number, version) in (1..).zip(&versions) {
            assert_eq!(&of.copy_bytes(&store, number).unwrap(), version, "{number}");
        }
        assert!(of.copy_bytes(&store, 41).is_err());
    }

    #[test]
    fn records_survive_a_round_trip_and_truncated_ones_are_rejected() {
        let range = RevisionRange { first: 2, last: 300, swept: 1, deltas: 4 };
        assert_eq!(RevisionRange::decode(&range.encode()), Some(range));
        for op in RevisionOp::ALL {
            let revision = Revision {
                at: -1,
                by: (op != RevisionOp::Created).then_some(Actor::Member(3)),
                op,
                published: (op == RevisionOp::Published).then_some(5),
                copy: 9,
                blueprint: 2,
                fields: vec!["title".to_owned(), "body".to_owned()],
            };
            let bytes = revision.encode();
            assert_eq!(Revision::decode(&bytes), Some(revision));
            for cut in 0..bytes.len() - 11 {
                assert_eq!(Revision::decode(&bytes[..cut]), None, "cut at {cut}");
            }
        }
    }
}
