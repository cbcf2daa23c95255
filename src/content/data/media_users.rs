//! Uses of media by address (`API.md` 4.27.6): the fields of a copy that contain the address of a media resource.
//!
//! Each write of a copy notes the media that it names, under [`Key::MediaUser`]. A note stays when the address goes, so
//! a reader of notes compares them with the copies as they are.

use bindery_index::variant_of_working;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_model::media::fields_with_address_of;
use serde_json::Value;

use crate::data::lookup::Lookup;
use crate::data::records::CopyVersion;

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
