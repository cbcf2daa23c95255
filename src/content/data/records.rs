//! The stored form of a resource: one meta record, and one copy for each variant that was written.
//!
//! Knows nothing of the store itself, which adds a version and a checksum to each value. The formats here begin with a
//! byte of their own, so that later formats can be told apart.

use std::borrow::Borrow;
use std::sync::Arc;

use bindery_access::Actor;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::Error;
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::Key;
use serde_json::{Map, Value};

/// The format of a meta record without authors. Such a resource was written by the server itself, as far as is known.
const META_FORMAT: u8 = 1;
/// The format of a meta record with authors, which come before the key.
const META_FORMAT_WITH_ACTORS: u8 = 2;
const COPY_FORMAT: u8 = 1;

/// The data of a resource that belongs to no copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The number of the first log record of the transaction that changed it last. Its `ETag` is made from this.
    pub(crate) version: u64,
    /// The time of its creation.
    pub(crate) created: Millis,
    /// The time of its last change.
    pub(crate) updated: Millis,
    /// The publication date; `None` for a draft.
    pub(crate) published: Option<Millis>,
    /// The current version of each copy that was ever written.
    pub(crate) copies: Vec<CopyVersion>,
    /// The key under which imports know the resource.
    pub(crate) key: Option<String>,
    /// The authors of the resource, as far as they are known.
    pub(crate) authors: Authors,
}

/// The authors of a resource. They are unknown for resources that the server itself wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Authors {
    /// The actor who created the resource.
    pub(crate) created_by: Option<Actor>,
    /// The actor who changed the resource last.
    pub(crate) updated_by: Option<Actor>,
}

/// Names one stored version of one copy of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyVersion {
    /// The variant's number.
    pub(crate) variant: u16,
    /// The number of the first log record of the transaction that wrote it.
    pub(crate) number: u64,
}

impl CopyVersion {
    /// Returns the key under which the version is stored.
    pub(crate) fn key(self, blueprint: u32, id: ResourceId) -> Key {
        Key::Copy { blueprint, id, variant: self.variant, number: self.number }
    }
}

impl Meta {
    /// Makes a resource that has no copies yet. Its first version is that of transaction `number`.
    pub(crate) fn new(number: u64, created: Millis, published: Option<Millis>) -> Meta {
        Meta {
            version: number,
            created,
            updated: created,
            published,
            copies: Vec::new(),
            key: None,
            authors: Authors::default(),
        }
    }

    /// Returns the current version of a variant's copy.
    pub(crate) fn copy(&self, variant: u16) -> Option<CopyVersion> {
        self.copies.iter().copied().find(|copy| copy.variant == variant)
    }

    /// Makes `version` the current one of its variant. Returns the version that it supersedes, if that is another one.
    pub(crate) fn set_copy(&mut self, version: CopyVersion) -> Option<CopyVersion> {
        match self.copies.iter_mut().find(|copy| copy.variant == version.variant) {
            Some(current) => Some(std::mem::replace(current, version)).filter(|old| *old != version),
            None => {
                self.copies.push(version);
                None
            }
        }
    }

    /// Returns the current versions of the variants that the blueprint still has.
    pub(crate) fn known_copies(&self, blueprint: &Blueprint) -> Vec<CopyVersion> {
        let variants = blueprint.variant_numbers();
        self.copies.iter().copied().filter(|copy| variants.contains(&copy.variant)).collect()
    }

    /// Returns the part of the record that the index holds.
    pub(crate) fn stamps(&self) -> bindery_index::Stamps {
        let Meta { version, created, updated, published, .. } = *self;
        bindery_index::Stamps { version, created, updated, published }
    }

    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let has_authors = self.authors != Authors::default();
        let mut out = vec![if has_authors { META_FORMAT_WITH_ACTORS } else { META_FORMAT }];
        out.extend(self.version.to_le_bytes());
        out.extend(self.created.to_le_bytes());
        out.extend(self.updated.to_le_bytes());
        out.push(u8::from(self.published.is_some()));
        out.extend(self.published.unwrap_or(0).to_le_bytes());
        out.extend((self.copies.len() as u16).to_le_bytes());
        for copy in &self.copies {
            out.extend(copy.variant.to_le_bytes());
            out.extend(copy.number.to_le_bytes());
        }
        if has_authors {
            self.authors.encode_to(&mut out);
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
        if ![META_FORMAT, META_FORMAT_WITH_ACTORS].contains(&format) {
            return Err(format!("a meta record of format {format}, which this version cannot read"));
        }
        let version = u64::from_le_bytes(reader.take()?);
        let created = i64::from_le_bytes(reader.take()?);
        let updated = i64::from_le_bytes(reader.take()?);
        let is_published = reader.take::<1>()?[0] != 0;
        let published = i64::from_le_bytes(reader.take()?);
        let n_copies = u16::from_le_bytes(reader.take()?);
        let mut copies = Vec::with_capacity(usize::from(n_copies));
        for _ in 0..n_copies {
            let variant = u16::from_le_bytes(reader.take()?);
            copies.push(CopyVersion { variant, number: u64::from_le_bytes(reader.take()?) });
        }
        let authors = match format {
            META_FORMAT_WITH_ACTORS => Authors::decode(&mut reader)?,
            _ => Authors::default(),
        };
        let key = std::str::from_utf8(reader.bytes).map_err(|_| "a meta record with a broken key".to_owned())?;
        Ok(Meta {
            version,
            created,
            updated,
            published: is_published.then_some(published),
            copies,
            // A key is never empty, so an empty tail means that there is none.
            key: (!key.is_empty()).then(|| key.to_owned()),
            authors,
        })
    }
}

/// The byte before an actor.
mod author {
    pub(super) const UNKNOWN: u8 = 0;
    pub(super) const KNOWN: u8 = 1;
    /// Stands for the actor before it, since most resources are written by one actor.
    pub(super) const SAME: u8 = 2;
}

impl Authors {
    fn encode_to(&self, out: &mut Vec<u8>) {
        let mut put = |actor: &Option<Actor>| match actor {
            None => out.push(author::UNKNOWN),
            Some(actor) => {
                out.push(author::KNOWN);
                actor.encode_to(out);
            }
        };
        put(&self.created_by);
        if self.created_by == self.updated_by { out.push(author::SAME) } else { put(&self.updated_by) }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Authors, String> {
        let created_by = Authors::decode_one(reader, None)?;
        let updated_by = Authors::decode_one(reader, created_by.as_ref())?;
        Ok(Authors { created_by, updated_by })
    }

    fn decode_one(reader: &mut Reader<'_>, before: Option<&Actor>) -> Result<Option<Actor>, String> {
        match reader.take::<1>()?[0] {
            author::UNKNOWN => Ok(None),
            author::SAME => Ok(before.cloned()),
            author::KNOWN => {
                let (actor, rest) = Actor::decode_from(reader.bytes).ok_or("a meta record with a damaged author")?;
                reader.bytes = rest;
                Ok(Some(actor))
            }
            other => Err(format!("a meta record with an author of kind {other}, which this version cannot read")),
        }
    }
}

/// One version of one copy: its `attributes` in the form in which they are answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    /// The blueprint revision that the attributes were written under.
    pub(crate) revision: u64,
    /// A JSON object with every field of that revision, in its order.
    pub(crate) attributes: Arc<str>,
}

impl Copy {
    /// Returns the stored form.
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
            return Err(format!("a copy of format {format}, which this version cannot read"));
        }
        let revision = u64::from_le_bytes(reader.take()?);
        let attributes = std::str::from_utf8(reader.bytes).map_err(|_| "a copy that is no text".to_owned())?;
        Ok(Copy { revision, attributes: attributes.into() })
    }

    /// Returns the values in the order of the blueprint's fields. A field that was added after this copy was written is
    /// null, even if an older field of the same slug left a value here.
    ///
    /// # Errors
    /// `INTERNAL` if the copy is damaged.
    pub(crate) fn values(&self, blueprint: &Blueprint) -> Result<Vec<Value>, Error> {
        let mut stored: Map<String, Value> = serde_json::from_str(&self.attributes)
            .map_err(|error| Error::internal(format!("a stored copy: {error}")))?;
        let values = blueprint.fields.iter().map(|field| {
            let existed = field.since <= self.revision;
            stored.get_mut(&field.slug).filter(|_| existed).map_or(Value::Null, Value::take)
        });
        Ok(values.collect())
    }

    /// Returns the `attributes` object as the blueprint has it now.
    ///
    /// # Errors
    /// `INTERNAL` if the copy is damaged.
    pub(crate) fn into_attributes(self, blueprint: &Blueprint) -> Result<Arc<str>, Error> {
        if self.revision >= blueprint.shape {
            return Ok(self.attributes);
        }
        Ok(render_attributes(blueprint, &self.values(blueprint)?).into())
    }
}

/// Returns the `attributes` object of values in the order of the blueprint's fields.
pub(crate) fn render_attributes(blueprint: &Blueprint, values: &[impl Borrow<Value>]) -> String {
    let mut out = String::from("{");
    for (field, value) in blueprint.fields.iter().zip(values) {
        if out.len() > 1 {
            out.push(',');
        }
        // Slugs are plain ASCII without quotes or backslashes.
        out.push('"');
        out.push_str(&field.slug);
        out.push_str("\":");
        out.push_str(&value.borrow().to_string());
    }
    out.push('}');
    out
}

/// Returns the `attributes` object of a copy that was never written.
pub(crate) fn empty_attributes(blueprint: &Blueprint) -> String {
    render_attributes(blueprint, &vec![Value::Null; blueprint.fields.len()])
}

/// Returns the stored form of an id.
pub(crate) fn encode_id(id: ResourceId) -> Vec<u8> {
    id.as_u128().to_be_bytes().to_vec()
}

/// Reads the stored form of an id.
///
/// # Errors
/// `INTERNAL` if it is damaged.
pub(crate) fn decode_id(bytes: &[u8]) -> Result<ResourceId, Error> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| Error::internal("a stored id of the wrong length"))?;
    Ok(ResourceId::from_u128(u128::from_be_bytes(bytes)))
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
    fn a_meta_record_survives_a_round_trip_and_a_truncated_one_is_an_error() {
        let copy = |variant, number| CopyVersion { variant, number };
        let (member, token) = (Actor::Member(7), Actor::Token("admin".to_owned()));
        let by = |created_by: Option<&Actor>, updated_by: Option<&Actor>| Authors {
            created_by: created_by.cloned(),
            updated_by: updated_by.cloned(),
        };
        for (published, key, copies, authors, author_bytes) in [
            (None, None, vec![], by(None, None), 0),
            (Some(-5), Some("a/ключ".to_owned()), vec![copy(0, 7), copy(3, u64::MAX)], by(None, Some(&token)), 9),
            (Some(i64::MAX), None, vec![copy(1, 1)], by(Some(&member), Some(&member)), 11),
            (None, Some("k".to_owned()), vec![], by(Some(&member), Some(&token)), 18),
        ] {
            let meta = Meta { version: 9, created: 1, updated: i64::MIN, published, copies, key, authors };
            let bytes = meta.encode();
            assert_eq!(Meta::decode(&bytes).unwrap(), meta);
            let shortest = 36 + 10 * meta.copies.len() + author_bytes;
            for cut in 0..shortest {
                assert!(Meta::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
        assert!(Meta::decode(&[META_FORMAT_WITH_ACTORS + 1]).is_err());
    }
}
