//! The histories of a store as `verify` and `salvage` check them: every revision is read, with the version that it
//! names. Must not change anything.

use std::collections::BTreeMap;

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_store::{Key, Prefix, Store};

use crate::data::history::{HistoryOf, RevisionRange};
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, Meta};
use crate::data::revision::Revision;
use crate::data::trash::trashed;

/// The most revisions that a history has. A range with more is damaged.
const MAX_KEPT: u32 = 1_000;

/// The numbers of the revisions that are stored, by resource and variant.
pub(crate) type RevisionNumbers = BTreeMap<(ResourceId, u16), Vec<u32>>;

/// Returns the histories of a blueprint.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn histories(store: &Store, blueprint: u32) -> Result<RevisionNumbers> {
    let mut histories = RevisionNumbers::new();
    for prefix in [Prefix::Histories(blueprint), Prefix::Revisions(blueprint)] {
        for entry in store.scan(prefix) {
            match entry.map_err(Error::internal)?.0 {
                Key::History { id, variant, .. } => {
                    histories.entry((id, variant)).or_default();
                }
                Key::Revision { id, variant, number, .. } => {
                    histories.entry((id, variant)).or_default().push(number);
                }
                _ => {}
            }
        }
    }
    Ok(histories)
}

/// A history whose revisions were read.
pub(crate) struct CheckedHistory {
    pub(crate) of: HistoryOf,
    /// The numbers of the oldest and the newest revision; `None` if the record that names them is missing or damaged.
    pub(crate) range: Option<RevisionRange>,
    /// The number of the newest revision, as far as is known.
    pub(crate) last: u32,
    /// The numbers of the revisions that can be read, ascending.
    pub(crate) readable: Vec<u32>,
    /// The numbers of those that cannot, ascending.
    pub(crate) lost: Vec<u32>,
}

impl CheckedHistory {
    /// Reads a history. `numbers` are those of the revisions that are stored, ascending.
    pub(crate) fn read(store: &Store, blueprint: &Blueprint, of: HistoryOf, numbers: &[u32]) -> CheckedHistory {
        let range = of.range(store).ok().flatten();
        let range = range.filter(|range| range.last.saturating_sub(range.first) < MAX_KEPT);
        let stored = numbers.first().copied().unwrap_or(1)..=numbers.last().copied().unwrap_or(0);
        let numbers = range.map_or(stored, |range| range.first..=range.last);
        let last = *numbers.end();
        let (readable, lost) = numbers.partition(|number| read_revision(store, blueprint, of, *number).is_ok());
        CheckedHistory { of, range, last, readable, lost }
    }

    /// Returns whether the history was answered before anything of it was lost: its newest revision is the live version
    /// of the resource, or is lost.
    pub(crate) fn is_answered(&self, store: &Store, meta: &Meta) -> bool {
        let is_trusted = || self.of.trusted_range(store, meta).is_ok_and(|found| found.is_some_and(|(_, is)| is));
        self.lost.contains(&self.last) || is_trusted()
    }
}

/// Returns the meta record of a resource that exists or is in the trash.
///
/// # Errors
/// `INTERNAL` if the store fails or is damaged.
pub(crate) fn meta_of(store: &Store, blueprint: u32, id: ResourceId) -> Result<Option<Meta>> {
    match store.meta(blueprint, id)? {
        Some(meta) => Ok(Some(meta)),
        None => Ok(trashed(store, blueprint, id)?.map(|resource| resource.meta)),
    }
}

/// Reads a revision, and its values.
///
/// # Errors
/// `NOT_FOUND` or `INTERNAL` if one of the records that it needs is missing or damaged.
fn read_revision(store: &Store, blueprint: &Blueprint, of: HistoryOf, number: u32) -> Result<Revision> {
    let missing = || Error::new(Code::NotFound, "the revision is missing");
    let revision = of.revision(store, number)?.ok_or_else(missing)?;
    let live = match revision.copy {
        0 => Vec::new(),
        number => of.copy_bytes(store, number)?,
    };
    if !live.is_empty() {
        Copy::decode(&live).map_err(Error::internal)?.values(blueprint)?;
    }
    if let Some(former) = &revision.working {
        former.read(&live)?;
    }
    Ok(revision)
}

/// Returns the name of a history in reports.
pub(crate) fn name_of(blueprint: &Blueprint, of: HistoryOf) -> String {
    let variant = blueprint.variants.iter().find(|variant| variant.number == of.variant);
    match variant {
        Some(variant) => format!("`{}` {} ({})", blueprint.slug, of.id, variant.slug),
        None => format!("`{}` {}", blueprint.slug, of.id),
    }
}

/// Returns numbers of revisions as text: `revision 3`, `revisions 3, 4`.
pub(crate) fn revisions_text(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    format!("{} {}", if numbers.len() == 1 { "revision" } else { "revisions" }, texts.join(", "))
}
