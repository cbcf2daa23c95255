//! A resource in the trash (`API.md` 4.23): its stored form, and the keys that belong to it.
//!
//! The resource's meta record moves here, and its copies stay where they are. So a deletion costs the same whatever the
//! resource holds, and everything that a meta record names comes back with it. Each resource has a second key that
//! orders the trash by time, and each blueprint has the number of its resources in the trash, so that pages and totals
//! need no sorting and no counting.

use bindery_access::Actor;
use bindery_index::variant_of_working;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Key, StoreWrite};

use crate::data::lookup::Lookup;
use crate::data::records::Meta;

const FORMAT: u8 = 1;
const MILLIS_PER_DAY: Millis = 24 * 60 * 60 * 1_000;

/// A resource in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrashedResource {
    /// The time of the deletion.
    pub(crate) at: Millis,
    /// The actor who deleted it; `None` for the server itself.
    pub(crate) by: Option<Actor>,
    /// The number of days that it was to wait when it was deleted.
    pub(crate) days: u16,
    /// The relations by which other resources referred to it when it was deleted.
    pub(crate) referrers: Vec<TrashedReferrers>,
    /// Its last meta record. It names the copies.
    pub(crate) meta: Meta,
}

/// The resources that referred to a deleted resource by one field, in any variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrashedReferrers {
    /// The number of their blueprint.
    pub(crate) blueprint: u32,
    /// The number of the field.
    pub(crate) field: u32,
    /// The number of resources; at least one.
    pub(crate) total: u64,
}

impl TrashedResource {
    /// Returns whether its time is up at `now`. `days` is the setting of the blueprint; without one, the resource waits
    /// as long as the setting said when it was deleted.
    pub(crate) fn is_expired(&self, days: Option<u16>, now: Millis) -> bool {
        now - self.at >= Millis::from(days.unwrap_or(self.days)) * MILLIS_PER_DAY
    }

    /// Returns the key of its place in the trash.
    pub(crate) fn order_key(&self, blueprint: u32, id: ResourceId) -> Key {
        Key::TrashOrder { blueprint, at: self.at.max(0).cast_unsigned(), id }
    }

    /// Returns the deletions of its record and its copies; the total of the blueprint is not changed.
    pub(crate) fn removals(&self, blueprint: u32, id: ResourceId) -> Vec<StoreWrite> {
        let copies = self.meta.copies.iter().map(|version| version.key(blueprint, id));
        let records = [Key::Trashed { blueprint, id }, self.order_key(blueprint, id)];
        records.into_iter().chain(copies).map(StoreWrite::delete).collect()
    }

    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        out.extend(self.at.to_le_bytes());
        out.extend(self.days.to_le_bytes());
        out.push(u8::from(self.by.is_some()));
        if let Some(by) = &self.by {
            by.encode_to(&mut out);
        }
        out.extend((self.referrers.len() as u32).to_le_bytes());
        for referrers in &self.referrers {
            out.extend(referrers.blueprint.to_le_bytes());
            out.extend(referrers.field.to_le_bytes());
            out.extend(referrers.total.to_le_bytes());
        }
        out.extend(self.meta.encode());
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged or of another format.
    pub(crate) fn decode(bytes: &[u8]) -> Result<TrashedResource> {
        let (head, meta) = decode_head(bytes)
            .ok_or_else(|| Error::internal("a resource in the trash that this version cannot read"))?;
        Ok(TrashedResource { meta: Meta::decode(meta).map_err(Error::internal)?, ..head })
    }
}

impl Meta {
    /// Returns the number of a copy that comes back from the trash in the transaction `number`. The copies keep the
    /// order in which they were written, since it says which translations are outdated: the last one gets `number`, and
    /// every other one gets the number of the copy that was written next. So each gets a greater number than it had,
    /// and one at which this resource had the id: no version of its variant has used it, not even one of another
    /// resource that an import created with the id meanwhile.
    pub(crate) fn restored_number(&self, variant: u16, number: u64) -> u64 {
        let Some(own) = self.copy(variant) else { return number };
        let live = self.copies.iter().filter(|copy| variant_of_working(copy.variant).is_none());
        live.map(|copy| copy.number).filter(|next| *next > own.number).min().unwrap_or(number)
    }
}

/// Reads everything but the meta record. Returns its bytes as well.
fn decode_head(mut bytes: &[u8]) -> Option<(TrashedResource, &[u8])> {
    fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (head, tail) = bytes.split_first_chunk::<N>()?;
        *bytes = tail;
        Some(*head)
    }
    if take(&mut bytes)? != [FORMAT] {
        return None;
    }
    let at = Millis::from_le_bytes(take(&mut bytes)?);
    let days = u16::from_le_bytes(take(&mut bytes)?);
    let by = match take(&mut bytes)? {
        [0] => None,
        _ => {
            let (actor, rest) = Actor::decode_from(bytes)?;
            bytes = rest;
            Some(actor)
        }
    };
    let n_referrers = u32::from_le_bytes(take(&mut bytes)?);
    let mut referrers = Vec::new();
    for _ in 0..n_referrers {
        let (blueprint, field) = (u32::from_le_bytes(take(&mut bytes)?), u32::from_le_bytes(take(&mut bytes)?));
        referrers.push(TrashedReferrers { blueprint, field, total: u64::from_le_bytes(take(&mut bytes)?) });
    }
    Some((TrashedResource { at, by, days, referrers, meta: Meta::new(0, 0, None) }, bytes))
}

/// Returns a resource in the trash of a blueprint.
///
/// # Errors
/// `INTERNAL` if the store fails or is damaged.
pub(crate) fn trashed(lookup: &dyn Lookup, blueprint: u32, id: ResourceId) -> Result<Option<TrashedResource>> {
    lookup.get(&Key::Trashed { blueprint, id })?.map(|bytes| TrashedResource::decode(&bytes)).transpose()
}

/// Returns the number of resources in the trash of a blueprint.
///
/// # Errors
/// `INTERNAL` if the store fails or is damaged.
pub(crate) fn trash_total(lookup: &dyn Lookup, blueprint: u32) -> Result<u64> {
    let Some(bytes) = lookup.get(&Key::TrashTotal(blueprint))? else { return Ok(0) };
    let bytes = bytes.try_into().map_err(|_| Error::internal("a total of the trash of the wrong length"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Returns the write that sets the number of resources in the trash of a blueprint. An empty trash has none.
pub(crate) fn set_trash_total(blueprint: u32, total: u64) -> StoreWrite {
    match total {
        0 => StoreWrite::delete(Key::TrashTotal(blueprint)),
        total => StoreWrite::put(Key::TrashTotal(blueprint), total.to_le_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::data::records::CopyVersion;

    #[test]
    fn a_trashed_resource_survives_a_round_trip_and_a_truncated_one_is_an_error() {
        let mut meta = Meta::new(7, 5, Some(6));
        meta.copies.push(CopyVersion { variant: 2, number: 7 });
        for (by, referrers) in
            [(None, vec![]), (Some(Actor::Member(3)), vec![TrashedReferrers { blueprint: 1, field: 2, total: 300 }])]
        {
            let trashed = TrashedResource { at: 1_000, by, days: 30, referrers, meta: meta.clone() };
            let bytes = trashed.encode();
            assert_eq!(TrashedResource::decode(&bytes).unwrap(), trashed);
            for cut in 0..bytes.len() {
                assert!(TrashedResource::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }

    #[test]
    fn copies_come_back_in_the_order_in_which_they_were_written_and_with_numbers_that_no_version_has_used() {
        for (numbers, expected) in [
            ([5, 3, 9], [9, 5, 20]),
            ([9, 9, 9], [20, 20, 20]),
            ([19, 18, 17], [20, 19, 18]),
            ([19, 19, 1], [20, 20, 19]),
        ] {
            let mut meta = Meta::new(19, 5, None);
            let copies = numbers.iter().zip(0..);
            meta.copies.extend(copies.map(|(number, variant)| CopyVersion { variant, number: *number }));
            // A working copy has no place in the order.
            meta.copies.push(CopyVersion { variant: bindery_index::working_variant(0), number: 10 });
            let restored = [0, 1, 2].map(|variant| meta.restored_number(variant, 20));
            assert_eq!(restored, expected, "{numbers:?}");
            assert!(numbers.iter().zip(restored).all(|(before, after)| *before < after), "{numbers:?}");
        }
    }

    #[test]
    fn the_setting_of_the_blueprint_says_how_long_it_waits() {
        let trashed =
            TrashedResource { at: 1_000, by: None, days: 2, referrers: Vec::new(), meta: Meta::new(1, 0, None) };
        for (days, waited, is_expired) in [
            (Some(1), MILLIS_PER_DAY - 1, false),
            (Some(1), MILLIS_PER_DAY, true),
            (Some(3), 2 * MILLIS_PER_DAY, false),
            (None, 2 * MILLIS_PER_DAY - 1, false),
            (None, 2 * MILLIS_PER_DAY, true),
        ] {
            assert_eq!(trashed.is_expired(days, 1_000 + waited), is_expired, "{days:?}, {waited}");
        }
    }
}
