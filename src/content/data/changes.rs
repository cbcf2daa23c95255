//! The changes of resources in the change feed (`API.md` 6.1): the recorded data, the numbers, and the stored form.
//!
//! The changes of a transaction are one group, stored by that transaction under the number of its last change. Each
//! group names the number before its first change. So a reader notices missing groups, and positions that belong to
//! another history of the content.

use std::sync::Arc;

use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;

const FORMAT: u8 = 1;
const IS_PUBLIC: u8 = 0x40;
const WAS_PUBLIC: u8 = 0x80;

/// The effect on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOp {
    /// The resource was created, as a draft or published.
    Created,
    /// The resource changed, and is a draft or published as before.
    Updated,
    /// The resource became published.
    Published,
    /// The resource became a draft.
    Unpublished,
    /// The resource was deleted.
    Deleted,
    /// A working copy of the resource changed, or its planned publication. Only readers with `preview` see it.
    Edited,
    /// The planned publication of a working copy failed. Only readers with `preview` see it.
    PublishFailed,
}

impl ChangeOp {
    /// All operations.
    pub const ALL: [ChangeOp; 7] = [
        ChangeOp::Created,
        ChangeOp::Updated,
        ChangeOp::Published,
        ChangeOp::Unpublished,
        ChangeOp::Deleted,
        ChangeOp::Edited,
        ChangeOp::PublishFailed,
    ];

    /// Returns whether the change is one of a working copy, which leaves the live resource as it is.
    pub(crate) fn is_of_working_copy(self) -> bool {
        matches!(self, ChangeOp::Edited | ChangeOp::PublishFailed)
    }

    /// Returns its name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeOp::Created => "created",
            ChangeOp::Updated => "updated",
            ChangeOp::Published => "published",
            ChangeOp::Unpublished => "unpublished",
            ChangeOp::Deleted => "deleted",
            ChangeOp::Edited => "edited",
            ChangeOp::PublishFailed => "publish_failed",
        }
    }

    fn code(self) -> u8 {
        match self {
            ChangeOp::Created => 1,
            ChangeOp::Updated => 2,
            ChangeOp::Published => 3,
            ChangeOp::Unpublished => 4,
            ChangeOp::Deleted => 5,
            ChangeOp::Edited => 6,
            ChangeOp::PublishFailed => 7,
        }
    }
}

/// One change of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedChange {
    /// The position of the blueprint's slug in the group's `slugs`.
    pub(crate) slug: u16,
    pub(crate) id: ResourceId,
    pub(crate) op: ChangeOp,
    /// True if readers without `preview` saw the resource before.
    pub(crate) was_public: bool,
    /// True if readers without `preview` see the resource afterwards.
    pub(crate) is_public: bool,
}

/// The changes of one transaction. A group without changes marks that the feed begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChangeGroup {
    /// The number of the last change before the first one of this group.
    pub(crate) previous: u64,
    /// The number of its last change.
    pub(crate) last: u64,
    /// The number of changes recorded up to the end of this group. Unlike change numbers, it never skips.
    pub(crate) recorded: u64,
    /// The time of the changes.
    pub(crate) at: Millis,
    /// The slugs of the blueprints.
    pub(crate) slugs: Vec<Arc<str>>,
    pub(crate) changes: Vec<RecordedChange>,
}

impl ChangeGroup {
    /// Returns the number of its first change.
    pub(crate) fn first(&self) -> u64 {
        self.last + 1 - self.n_numbers()
    }

    /// Returns how many numbers the group takes. The mark of a new beginning takes one.
    fn n_numbers(&self) -> u64 {
        self.changes.len().max(1) as u64
    }

    /// Notes a change.
    pub(crate) fn note(&mut self, slug: &str, id: ResourceId, op: ChangeOp, was_public: bool, is_public: bool) {
        let known = self.slugs.iter().position(|known| **known == *slug);
        let position = known.unwrap_or_else(|| {
            self.slugs.push(slug.into());
            self.slugs.len() - 1
        });
        // There are far fewer blueprints than `u16::MAX`.
        let slug = u16::try_from(position).unwrap_or(u16::MAX);
        self.changes.push(RecordedChange { slug, id, op, was_public, is_public });
    }

    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        for number in [self.previous, self.last, self.recorded, self.at.cast_unsigned()] {
            out.extend(number.to_le_bytes());
        }
        // The format has a text here that no version uses.
        encode_text(&mut out, "");
        out.extend((self.slugs.len() as u16).to_le_bytes());
        self.slugs.iter().for_each(|slug| encode_text(&mut out, slug));
        for change in &self.changes {
            let flags = (u8::from(change.was_public) * WAS_PUBLIC) | (u8::from(change.is_public) * IS_PUBLIC);
            out.extend(change.slug.to_le_bytes());
            out.extend(change.id.as_u128().to_be_bytes());
            out.push(change.op.code() | flags);
        }
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged or of another format.
    pub(crate) fn decode(bytes: &[u8]) -> Result<ChangeGroup> {
        decode(bytes).ok_or_else(|| Error::internal("recorded changes that this version cannot read"))
    }
}

fn decode(mut bytes: &[u8]) -> Option<ChangeGroup> {
    if take::<1>(&mut bytes)? != [FORMAT] {
        return None;
    }
    let mut number = || take(&mut bytes).map(u64::from_le_bytes);
    let (previous, last, recorded, at) = (number()?, number()?, number()?, number()?.cast_signed());
    take_text(&mut bytes)?;
    let n_slugs = u16::from_le_bytes(take(&mut bytes)?);
    let slugs = (0..n_slugs).map(|_| take_text(&mut bytes).map(Arc::from)).collect::<Option<_>>()?;
    let mut changes = Vec::with_capacity(bytes.len() / 19);
    while !bytes.is_empty() {
        let slug = u16::from_le_bytes(take(&mut bytes)?);
        let id = ResourceId::from_u128(u128::from_be_bytes(take(&mut bytes)?));
        let [code] = take(&mut bytes)?;
        let op = ChangeOp::ALL.into_iter().find(|op| op.code() == code & !(WAS_PUBLIC | IS_PUBLIC))?;
        let (was_public, is_public) = (code & WAS_PUBLIC != 0, code & IS_PUBLIC != 0);
        (slug < n_slugs).then_some(())?;
        changes.push(RecordedChange { slug, id, op, was_public, is_public });
    }
    let group = ChangeGroup { previous, last, recorded, at, slugs, changes };
    (last >= group.n_numbers()).then_some(group)
}

fn encode_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = u16::from_le_bytes(take(bytes)?);
    let (text, rest) = bytes.split_at_checked(length.into())?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

/// The numbers that were given to changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangeNumbers {
    /// The last number.
    pub(crate) last: u64,
    /// The number of changes that were ever recorded.
    pub(crate) recorded: u64,
    /// The number that the changes of this epoch begin with. Greater than all numbers of other histories.
    pub(crate) first_of_epoch: u64,
}

impl ChangeNumbers {
    /// Gives a group of changes its numbers.
    pub(crate) fn give(&mut self, group: &mut ChangeGroup) {
        group.previous = self.last;
        group.recorded = self.recorded + group.changes.len() as u64;
        group.last = self.first_of_epoch.max(self.last + 1) + group.n_numbers() - 1;
        self.note(group);
    }

    /// Numbers a group that marks a new beginning: readers before it must read everything again.
    pub(crate) fn give_beginning(&mut self, group: &mut ChangeGroup) {
        group.changes.clear();
        // No reader was given the number before it.
        self.last = self.first_of_epoch.max(self.last + 1);
        self.give(group);
    }

    /// Notes the numbers that a group was given.
    pub(crate) fn note(&mut self, group: &ChangeGroup) {
        self.last = group.last;
        self.recorded = group.recorded;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn group(n_changes: u128) -> ChangeGroup {
        let mut group = ChangeGroup { at: -5, ..ChangeGroup::default() };
        for n in 0..n_changes {
            let op = ChangeOp::ALL[n as usize % 7];
            group.note(["news", "авторы"][n as usize % 2], ResourceId::from_u128(n << 100), op, n % 2 == 0, n % 3 == 0);
        }
        group
    }

    #[test]
    fn a_group_survives_a_round_trip_and_a_truncated_one_is_an_error() {
        let mut numbers = ChangeNumbers { last: 0, recorded: 0, first_of_epoch: 1 };
        for n_changes in [1, 2, 7, 0] {
            let mut group = group(n_changes);
            numbers.give(&mut group);
            let bytes = group.encode();
            assert_eq!(ChangeGroup::decode(&bytes).unwrap(), group);
            for cut in (0..bytes.len()).filter(|cut| !(bytes.len() - cut).is_multiple_of(19)) {
                assert!(ChangeGroup::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }

    #[test]
    fn numbers_go_up_by_one_and_skip_where_a_history_begins() {
        let mut numbers = ChangeNumbers { last: 0, recorded: 0, first_of_epoch: 1 };
        let mut given = |first_of_epoch, n_changes, is_beginning| {
            let mut group = group(n_changes);
            numbers.first_of_epoch = first_of_epoch;
            match is_beginning {
                true => numbers.give_beginning(&mut group),
                false => numbers.give(&mut group),
            }
            (group.previous, group.first(), group.last, group.recorded)
        };
        assert_eq!(given(1, 3, false), (0, 1, 3, 3));
        assert_eq!(given(1, 1, false), (3, 4, 4, 4));
        assert_eq!(given(1, 9, true), (5, 6, 6, 4));
        assert_eq!(given(1, 2, false), (6, 7, 8, 6));
        // After a restore.
        assert_eq!(given(1000, 2, false), (8, 1000, 1001, 8));
        assert_eq!(given(1000, 1, false), (1001, 1002, 1002, 9));
    }
}
