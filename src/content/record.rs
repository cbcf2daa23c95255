//! How a resource is kept in the store: one meta record and one copy per variant that was written.
//!
//! Knows nothing of the store itself; the envelope with version and checksum is the store's. The formats here begin
//! with a byte of their own, so that a later one can be told from these.

use serde_json::{Map, Value};

use crate::model::blueprint::Blueprint;
use crate::model::time::Millis;

const META_FORMAT: u8 = 1;
const COPY_FORMAT: u8 = 1;

/// What belongs to a resource and not to one of its copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The log number of its last change: what its `ETag` stands for.
    pub(crate) version: u64,
    /// When it was created.
    pub(crate) created: Millis,
    /// When it was last changed.
    pub(crate) updated: Millis,
    /// `None` is a draft.
    pub(crate) published: Option<Millis>,
    /// The number of each copy's current version, by variant number.
    pub(crate) copies: Vec<(u16, u64)>,
    /// The key that an import knows it by.
    pub(crate) key: Option<String>,
}

impl Meta {
    /// The number of the current version of a variant's copy.
    pub(crate) fn copy(&self, variant: u16) -> Option<u64> {
        self.copies.iter().find(|(number, _)| *number == variant).map(|(_, number)| *number)
    }

    /// Notes a new version of a variant's copy and returns the number of the one that it supersedes.
    pub(crate) fn set_copy(&mut self, variant: u16, number: u64) -> Option<u64> {
        match self.copies.iter_mut().find(|(other, _)| *other == variant) {
            Some((_, current)) => Some(std::mem::replace(current, number)),
            None => {
                self.copies.push((variant, number));
                None
            }
        }
    }

    /// What the index holds of it.
    pub(crate) fn stamps(&self) -> bindery_index::Stamps {
        let Meta { version, created, updated, published, .. } = *self;
        bindery_index::Stamps { version, created, updated, published }
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![META_FORMAT];
        out.extend(self.version.to_le_bytes());
        out.extend(self.created.to_le_bytes());
        out.extend(self.updated.to_le_bytes());
        out.push(u8::from(self.published.is_some()));
        out.extend(self.published.unwrap_or(0).to_le_bytes());
        out.extend((self.copies.len() as u16).to_le_bytes());
        for (variant, number) in &self.copies {
            out.extend(variant.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        if let Some(key) = &self.key {
            out.extend(key.as_bytes());
        }
        out
    }

    /// Reads the stored form.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Meta, String> {
        let mut reader = Reader { bytes };
        let format = reader.take::<1>()?[0];
        if format != META_FORMAT {
            return Err(format!("a meta record of format {format}, which this version does not know"));
        }
        let version = u64::from_le_bytes(reader.take()?);
        let created = i64::from_le_bytes(reader.take()?);
        let updated = i64::from_le_bytes(reader.take()?);
        let is_published = reader.take::<1>()?[0] != 0;
        let published = i64::from_le_bytes(reader.take()?);
        let n_copies = u16::from_le_bytes(reader.take()?);
        let mut copies = Vec::with_capacity(usize::from(n_copies));
        for _ in 0..n_copies {
            copies.push((u16::from_le_bytes(reader.take()?), u64::from_le_bytes(reader.take()?)));
        }
        let key = std::str::from_utf8(reader.bytes).map_err(|_| "a meta record with a broken key".to_owned())?;
        Ok(Meta {
            version,
            created,
            updated,
            published: is_published.then_some(published),
            copies,
            // A key is never empty: the empty tail is "no key".
            key: (!key.is_empty()).then(|| key.to_owned()),
        })
    }
}

/// One version of one copy: its `attributes` as they are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    /// The blueprint revision that the attributes were written under.
    pub(crate) revision: u64,
    /// A JSON object with every field of that revision, in its order.
    pub(crate) attributes: String,
}

impl Copy {
    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.attributes.len());
        out.push(COPY_FORMAT);
        out.extend(self.revision.to_le_bytes());
        out.extend(self.attributes.as_bytes());
        out
    }

    /// Reads the stored form.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Copy, String> {
        let mut reader = Reader { bytes };
        let format = reader.take::<1>()?[0];
        if format != COPY_FORMAT {
            return Err(format!("a copy of format {format}, which this version does not know"));
        }
        let revision = u64::from_le_bytes(reader.take()?);
        let attributes = String::from_utf8(reader.bytes.to_vec()).map_err(|_| "a copy that is no text".to_owned())?;
        Ok(Copy { revision, attributes })
    }

    /// The attributes as the blueprint has them now: its fields, in its order. A field that is younger than this copy
    /// is null, also where an older field of that slug left a value.
    pub(crate) fn values(&self, blueprint: &Blueprint) -> Result<Vec<Value>, String> {
        let mut stored: Map<String, Value> =
            serde_json::from_str(&self.attributes).map_err(|error| format!("a copy that is no JSON: {error}"))?;
        let values = blueprint.fields.iter().map(|field| {
            let is_of_this_field = field.since <= self.revision;
            stored.get_mut(&field.slug).filter(|_| is_of_this_field).map_or(Value::Null, Value::take)
        });
        Ok(values.collect())
    }

    /// The attributes as text, as the blueprint has them now.
    pub(crate) fn served(self, blueprint: &Blueprint) -> Result<String, String> {
        if self.revision >= blueprint.shape {
            return Ok(self.attributes);
        }
        Ok(render_attributes(blueprint, &self.values(blueprint)?))
    }
}

/// The `attributes` object of values that stand in the order of the blueprint's fields.
pub(crate) fn render_attributes(blueprint: &Blueprint, values: &[Value]) -> String {
    let mut out = String::from("{");
    for (field, value) in blueprint.fields.iter().zip(values) {
        if out.len() > 1 {
            out.push(',');
        }
        // Slugs are plain ASCII without quotes or backslashes.
        out.push('"');
        out.push_str(&field.slug);
        out.push_str("\":");
        out.push_str(&value.to_string());
    }
    out.push('}');
    out
}

/// The `attributes` object of a copy that was never written.
pub(crate) fn empty_attributes(blueprint: &Blueprint) -> String {
    render_attributes(blueprint, &vec![Value::Null; blueprint.fields.len()])
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (head, tail) = self.bytes.split_first_chunk::<N>().ok_or("a record that is cut short")?;
        self.bytes = tail;
        Ok(*head)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn meta_records_survive_a_round_trip_and_cuts_are_noticed() {
        for (published, key, copies) in [
            (None, None, vec![]),
            (Some(-5), Some("a/ключ".to_owned()), vec![(0, 7), (3, u64::MAX)]),
            (Some(i64::MAX), None, vec![(1, 1)]),
        ] {
            let meta = Meta { version: 9, created: 1, updated: i64::MIN, published, copies, key };
            let bytes = meta.encode();
            assert_eq!(Meta::decode(&bytes).unwrap(), meta);
            let shortest = 36 + 10 * meta.copies.len();
            for cut in 0..shortest {
                assert!(Meta::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
        assert!(Meta::decode(&[META_FORMAT + 1]).is_err());
    }
}
