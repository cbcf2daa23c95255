//! The history of a resource's copies (`API.md` 4.22): its stored form, and reading superseded versions.
//!
//! The newest revision of a copy is the live version, which is stored once, where it always is. A superseded version is
//! stored compressed with the version that superseded it as a dictionary, so it takes little where little changed.
//! Every sixteenth version is stored without one, which bounds the number of versions that must be read to read one.
//!
//! A copy has no history until it is changed for the first time: its only revision follows from the meta record. So
//! imports and creations write nothing here.
//!
//! The records of a history are trusted only if its newest revision is the live version. Otherwise the history was
//! switched off for a while, or another resource had the id, and it begins anew.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::value;
use bindery_sanitize::Sanitizer;
use bindery_store::Key;
use serde_json::Value;

use crate::data::lookup::Lookup;
use crate::data::packing::{pack, take, unpack};
use crate::data::records::{Copy, CopyVersion, Meta, render_attributes};
use crate::data::revision::Revision;
use crate::data::working::{WorkingCopy, values_of};

const FORMAT: u8 = 1;
/// A version is stored without a dictionary if this many versions before it were stored with one.
const KEYFRAME_EVERY: u8 = 15;

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
        let mut out = vec![FORMAT, u8::from(successor.is_some())];
        out.extend(next.to_le_bytes());
        out.extend(pack(bytes, successor)?);
        Ok((self.former_key(old.number), out))
    }

    /// Returns the key and the value of a superseded version whose dictionary is the version `next`, with `successor`
    /// as the bytes of that: for a version that is written again. `None` if it has no dictionary, or another one.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged.
    pub(crate) fn packed_again(
        self,
        lookup: &dyn Lookup,
        number: u64,
        next: u64,
        successor: &[u8],
    ) -> Result<Option<(Key, Vec<u8>)>> {
        let Some(stored) = lookup.get(&self.former_key(number))? else { return Ok(None) };
        let former = FormerCopy::decode(&stored).ok_or_else(damaged)?;
        if !former.has_dictionary || former.next != next {
            return Ok(None);
        }
        let bytes = self.copy_bytes(lookup, number)?;
        self.former_copy(CopyVersion { variant: self.variant, number }, &bytes, next, Some(successor)).map(Some)
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
                break unpack(former.packed, None)?;
            }
            at = former.next;
            frames.push(stored);
            if frames.len() > usize::from(u8::MAX) {
                return Err(damaged());
            }
        };
        for stored in frames.iter().rev() {
            base = unpack(FormerCopy::decode(stored).ok_or_else(damaged)?.packed, Some(&base))?;
        }
        Ok(base)
    }

    /// Returns the removals of the revisions before `end` that are still stored, with the versions that only they name:
    /// at most `most` revisions. Moves `swept` in the range.
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
    packed: &'a [u8],
}

impl<'a> FormerCopy<'a> {
    fn decode(mut bytes: &'a [u8]) -> Option<FormerCopy<'a>> {
        let [format, has_dictionary] = take(&mut bytes)?;
        let next = u64::from_le_bytes(take(&mut bytes)?);
        (format == FORMAT).then_some(FormerCopy { has_dictionary: has_dictionary != 0, next, packed: bytes })
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

/// Reads superseded versions like live ones, for one history. A value whose field has another type since is null,
/// unless it has the form of that type too. A value that the settings of its field do not permit any more is still what
/// the revision had.
pub(crate) struct FormerLookup<'a> {
    pub(crate) lookup: &'a dyn Lookup,
    pub(crate) of: HistoryOf,
    /// The working copy whose values stand in the place of those that are read.
    pub(crate) working: Option<WorkingCopy>,
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) sanitizer: &'a Sanitizer,
}

impl FormerLookup<'_> {
    /// Returns the values of a version that differs from the present form of the blueprint or of the copy.
    fn revised(&self, copy: Option<Copy>) -> Result<Vec<Value>> {
        let mut values = values_of(copy, self.blueprint)?;
        if let Some(working) = &self.working {
            working.apply_to(self.blueprint, &mut values);
        }
        let options = value::Options { sanitizer: self.sanitizer, relations: value::Relations::Ids };
        for (field, value) in self.blueprint.fields.iter().zip(&mut values) {
            if !value::has_form(field, value, options) {
                *value = Value::Null;
            }
        }
        Ok(values)
    }
}

impl Lookup for FormerLookup<'_> {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.lookup.get(key)
    }

    /// Returns a version of the copy; the version 0 is that of a copy that was never written.
    fn copy(&self, _: u32, _: ResourceId, version: CopyVersion) -> Result<Copy> {
        let copy = match version.number {
            0 => None,
            number => Some(Copy::decode(&self.of.copy_bytes(self.lookup, number)?).map_err(Error::internal)?),
        };
        match copy {
            Some(copy) if copy.revision >= self.blueprint.shape && self.working.is_none() => Ok(copy),
            copy => {
                let attributes = render_attributes(self.blueprint, &self.revised(copy)?).into();
                Ok(Copy { revision: self.blueprint.revision, attributes })
            }
        }
    }
}

/// Returns `NOT_FOUND` for a version that was removed while it was read.
fn no_longer_kept() -> Error {
    Error::new(Code::NotFound, "this revision is no longer kept")
}

fn damaged() -> Error {
    Error::internal("a record of a history that this version cannot read")
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
            plain += pack(&pair[0], None).unwrap().len();
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
    fn ranges_survive_a_round_trip() {
        let range = RevisionRange { first: 2, last: 300, swept: 1, deltas: 4 };
        assert_eq!(RevisionRange::decode(&range.encode()), Some(range));
    }
}
