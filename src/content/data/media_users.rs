//! Uses of media by address (`API.md` 4.27.6): the fields of a copy that contain the address of a media resource.
//!
//! Each write of a copy notes the media that it names, under [`Key::MediaUser`]. A note stays when the address goes, so
//! a reader of notes compares them with the copies as they are.

use bindery_index::variant_of_working;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_model::media::{fields_with_address_of, media_ids_in};
use bindery_store::Key;
use serde_json::Value;

use crate::data::lookup::Lookup;
use crate::data::records::CopyVersion;
use crate::data::state::State;

/// The most notes that the committer compares with what is stored, for one deletion. Beyond them a note counts as a
/// use.
pub(crate) const MAX_COMPARED: usize = 1_000;

/// A copy that a note names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotedCopy {
    /// The number of the blueprint.
    pub(crate) blueprint: u32,
    /// The resource.
    pub(crate) id: ResourceId,
    /// The number of the variant, or of its working copy.
    pub(crate) variant: u16,
}

impl NotedCopy {
    /// Returns the copy that a note names.
    pub(crate) fn of(note: &Key) -> Option<NotedCopy> {
        match *note {
            Key::MediaUser { blueprint, id, variant, .. } => Some(NotedCopy { blueprint, id, variant }),
            _ => None,
        }
    }

    /// Returns the notes of the media whose addresses the copy contains. `attributes` is its JSON text.
    pub(crate) fn notes(self, attributes: &str) -> impl Iterator<Item = Key> + use<> {
        let NotedCopy { blueprint, id, variant } = self;
        let others = media_ids_in(attributes).into_iter().filter(move |media| *media != id);
        others.map(move |media| Key::MediaUser { media, blueprint, id, variant })
    }

    /// Returns whether the copy, as it is now, contains an address of the media resource.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn uses(&self, lookup: &dyn Lookup, state: &State, media: ResourceId) -> Result<bool> {
        let Some(collection) = state.numbered(self.blueprint) else { return Ok(false) };
        let Some(meta) = lookup.meta(self.blueprint, self.id)? else { return Ok(false) };
        let Some(version) = meta.copy(self.variant) else { return Ok(false) };
        let public_url = state.public_url.as_deref();
        let fields = self.fields_using(lookup, &collection.blueprint, version.number, media, public_url)?;
        Ok(!fields.is_empty())
    }

    /// Returns the slugs of the fields that contain an address of the media resource in a version of the copy; none if
    /// the blueprint has not its variant any more.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn fields_using(
        &self,
        lookup: &dyn Lookup,
        blueprint: &Blueprint,
        number: u64,
        media: ResourceId,
        public_url: Option<&str>,
    ) -> Result<Vec<String>> {
        let live = variant_of_working(self.variant);
        if !blueprint.variant_numbers().contains(&live.unwrap_or(self.variant)) {
            return Ok(Vec::new());
        }
        let version = CopyVersion { variant: self.variant, number };
        let values = match live {
            None => lookup.values(blueprint, self.id, version)?,
            Some(_) => {
                let mut values = vec![Value::Null; blueprint.fields.len()];
                lookup.working(blueprint, self.id, version)?.apply_to(blueprint, &mut values);
                values
            }
        };
        Ok(fields_with_address_of(blueprint, &values, media, public_url).map(str::to_owned).collect())
    }
}
