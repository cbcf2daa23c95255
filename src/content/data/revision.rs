//! One revision of a history (`API.md` 4.22): its stored form. Knows nothing of the other revisions.

use bindery_access::Actor;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;

use crate::data::lookup::Lookup;
use crate::data::packing::{pack, take, unpack};
use crate::data::records::{Copy, Meta};
use crate::data::working::WorkingCopy;

const FORMAT: u8 = 1;

/// The time from the first write of a revision in which writes of the same actor to the same working copy join it.
const OPEN_FOR: Millis = 10 * 60 * 1_000;

/// Marks, in the byte of the operation, a revision that has a working copy.
const HAS_WORKING: u8 = 0x80;

/// The kind of write that made a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RevisionOp {
    Created,
    Updated,
    /// A write of the working copy.
    Edited,
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
    /// The number of the live copy's version after the write; 0 if the live copy was never written.
    pub(crate) copy: u64,
    /// The working copy after the write, if the write was one of the working copy.
    pub(crate) working: Option<FormerWorkingCopy>,
    /// The revision of the blueprint under which `fields` were written.
    pub(crate) blueprint: u64,
    /// The slugs of the changed fields.
    pub(crate) fields: Vec<String>,
}

/// The working copy of a revision. It stays with the revision, so nothing else has to be kept when the working copy is
/// changed, published or discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormerWorkingCopy {
    /// The time of the first write of the revision.
    pub(crate) begun: Millis,
    /// The stored form of the working copy, compressed with the stored form of the revision's live copy as the
    /// dictionary.
    packed: Vec<u8>,
}

impl FormerWorkingCopy {
    /// Keeps a working copy. `live` is the stored form of the live copy, empty if there is none.
    ///
    /// # Errors
    /// `INTERNAL`, which plain data cannot cause.
    pub(crate) fn new(begun: Millis, working: &WorkingCopy, blueprint: &Blueprint, live: &[u8]) -> Result<Self> {
        Ok(FormerWorkingCopy { begun, packed: pack(&working.encode(blueprint)?.encode(), Some(live))? })
    }

    /// Reads the working copy. `live` is the stored form of the revision's live copy, empty if there is none.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged.
    pub(crate) fn read(&self, live: &[u8]) -> Result<WorkingCopy> {
        WorkingCopy::decode(&self.stored(live)?)
    }

    /// Returns the stored form of the working copy. `live` is that of the revision's live copy, empty if there is none.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged.
    pub(crate) fn stored(&self, live: &[u8]) -> Result<Copy> {
        Copy::decode(&unpack(&self.packed, Some(live))?).map_err(Error::internal)
    }
}

impl RevisionOp {
    const ALL: [RevisionOp; 7] = [
        RevisionOp::Created,
        RevisionOp::Updated,
        RevisionOp::Edited,
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
            RevisionOp::Edited => "edited",
            RevisionOp::Published => "published",
            RevisionOp::Unpublished => "unpublished",
            RevisionOp::Restored => "restored",
            RevisionOp::Deleted => "deleted",
        }
    }

    /// The stored code.
    fn code(self) -> u8 {
        match self {
            RevisionOp::Created => 1,
            RevisionOp::Updated => 2,
            RevisionOp::Published => 3,
            RevisionOp::Unpublished => 4,
            RevisionOp::Restored => 5,
            RevisionOp::Deleted => 6,
            RevisionOp::Edited => 7,
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
            working: None,
            blueprint: blueprint.revision,
            fields,
        })
    }

    /// Returns whether another write of the same working copy may join the revision.
    pub(crate) fn is_open(&self, now: Millis) -> bool {
        let is_recent = |former: &FormerWorkingCopy| now.saturating_sub(former.begun) < OPEN_FOR;
        self.op == RevisionOp::Edited && self.working.as_ref().is_some_and(is_recent)
    }

    /// Returns the slugs of the changed fields that the blueprint still has.
    pub(crate) fn fields_of<'a>(&'a self, blueprint: &'a Blueprint) -> impl Iterator<Item = &'a str> {
        let is_same = |slug: &&String| blueprint.field(slug).is_some_and(|field| field.since <= self.blueprint);
        self.fields.iter().filter(is_same).map(String::as_str)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mark = if self.working.is_some() { HAS_WORKING } else { 0 };
        let mut out = vec![FORMAT, self.op.code() | mark];
        out.extend(self.at.to_le_bytes());
        out.push(u8::from(self.published.is_some()));
        out.extend(self.published.unwrap_or(0).to_le_bytes());
        out.extend(self.copy.to_le_bytes());
        out.extend(self.blueprint.to_le_bytes());
        out.push(u8::from(self.by.is_some()));
        if let Some(by) = &self.by {
            by.encode_to(&mut out);
        }
        if let Some(FormerWorkingCopy { begun, packed }) = &self.working {
            out.extend(begun.to_le_bytes());
            out.extend((packed.len() as u32).to_le_bytes());
            out.extend(packed);
        }
        for slug in &self.fields {
            // Slugs have at most 63 bytes.
            out.push(slug.len() as u8);
            out.extend(slug.as_bytes());
        }
        out
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Revision> {
        let [format, code] = take(&mut bytes)?;
        let is_known = |known: &RevisionOp| known.code() == code & !HAS_WORKING;
        let op = RevisionOp::ALL.into_iter().find(is_known).filter(|_| format == FORMAT)?;
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
        let working = match code & HAS_WORKING {
            0 => None,
            _ => {
                let begun = Millis::from_le_bytes(take(&mut bytes)?);
                let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
                let (packed, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Some(FormerWorkingCopy { begun, packed: packed.to_vec() })
            }
        };
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let [length] = take(&mut bytes)?;
            let (slug, rest) = bytes.split_at_checked(length.into())?;
            bytes = rest;
            fields.push(std::str::from_utf8(slug).ok()?.to_owned());
        }
        Some(Revision { at, by, op, published: is_published.then_some(published), copy, working, blueprint, fields })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn revisions_survive_a_round_trip_and_truncated_ones_are_rejected() {
        for op in RevisionOp::ALL {
            let revision = Revision {
                at: -1,
                by: (op != RevisionOp::Created).then_some(Actor::Member(3)),
                op,
                published: (op == RevisionOp::Published).then_some(5),
                copy: 9,
                working: (op == RevisionOp::Edited).then(|| FormerWorkingCopy { begun: -7, packed: vec![1, 2, 3] }),
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
