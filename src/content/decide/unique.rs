//! Unique fields: each value is a key of the store that names its owner, per variant.

use serde_json::Value;

use super::{Decider, Edit, decode_id};
use crate::content::command::Faults;
use crate::content::record::Meta;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::store::Key;

impl Decider<'_, '_> {
    /// Claims the unique values of a copy that is written and gives up those that it held before.
    pub(super) fn check_unique(
        &self,
        edit: &mut Edit,
        variant: u16,
        current: Option<&[Value]>,
        values: &[Value],
        faults: &mut Faults,
    ) -> Result<()> {
        let blueprint = self.blueprint.number;
        for (place, field) in self.blueprint.fields.iter().enumerate() {
            let Some(claims) = field.claims else { continue };
            let old = current.and_then(|values| unique_text(&values[place]));
            let new = unique_text(&values[place]);
            if old == new {
                continue;
            }
            let key = |value: String| Key::Unique { blueprint, claims, variant, value: value.into() };
            if let Some(value) = &new
                && let Some(owner) = self.owner(&key(value.clone()))?
                && owner != edit.id
            {
                let text = format!("must be unique: the resource `{owner}` holds this value already");
                faults.push((field.slug.clone(), vec![text]));
                continue;
            }
            self.move_claim(edit, old.map(key), new.map(key))?;
        }
        Ok(())
    }

    /// Gives up the claim of an old value, if it is this resource's, and makes that of a new one, which is free.
    pub(super) fn move_claim(&self, edit: &mut Edit, old: Option<Key>, new: Option<Key>) -> Result<()> {
        if let Some(old) = old
            && self.owner(&old)? == Some(edit.id)
        {
            edit.removes.push(old);
        }
        edit.puts.extend(new.map(|new| (new, edit.id.as_u128().to_be_bytes().to_vec())));
        Ok(())
    }

    /// The keys by which a resource holds its unique values, also those that become unique and are not claimed yet.
    pub(super) fn unique_keys_of(&self, id: ResourceId, meta: &Meta) -> Result<Vec<Key>> {
        let mut keys = Vec::new();
        let mut claimed = self.claimed();
        claimed.extend(self.pending.iter().flat_map(|pending| pending.claimed()));
        if claimed.is_empty() {
            return Ok(keys);
        }
        let blueprint = self.blueprint.number;
        for (variant, _) in &meta.copies {
            let Some(copy) = self.working.copy(blueprint, id, meta, *variant)? else { continue };
            let values = copy.values(self.blueprint).map_err(Error::internal)?;
            for (place, claims) in &claimed {
                let Some(value) = unique_text(&values[*place]) else { continue };
                let key = Key::Unique { blueprint, claims: *claims, variant: *variant, value: value.into() };
                if self.owner(&key)? == Some(id) {
                    keys.push(key);
                }
            }
        }
        Ok(keys)
    }

    /// Whose a claim is. While a field becomes unique, it may be nobody's yet.
    pub(super) fn owner(&self, claim: &Key) -> Result<Option<ResourceId>> {
        self.working.get(claim)?.map(|owner| decode_id(&owner)).transpose()
    }

    /// The places of the unique fields, and the numbers that their values are claimed under.
    fn claimed(&self) -> Vec<(usize, u32)> {
        let fields = self.blueprint.fields.iter().enumerate();
        fields.filter_map(|(place, field)| Some((place, field.claims?))).collect()
    }
}

/// What makes two values the same; `None` for null and `""`, which any number of resources may hold.
pub(crate) fn unique_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}
