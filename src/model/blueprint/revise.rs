//! The creation of a blueprint from a definition, and the next revision of an existing blueprint (`API.md` 4.9.3).
//!
//! Owns the numbers: a field keeps its number as long as it keeps its slug and type, and a variant as long as it keeps
//! its slug.

use super::definition::{Definition, FieldDefinition, FieldNumbers, VariantDefinition};
use super::difference::{Difference, differences};
use super::field::Field;
use super::types::{Blueprint, BlueprintKind};
use crate::time::Millis;

/// The greatest number of a variant. Those above it name working copies in the index and in the store.
const MAX_VARIANT: u16 = 0x7ffe;

impl Blueprint {
    /// Makes the first revision of a blueprint.
    pub fn create(definition: Definition, number: u32, now: Millis) -> Blueprint {
        let empty = Blueprint {
            number,
            revision: 0,
            shape: 0,
            next_field: 1,
            next_variant: 1,
            plain_variant: 0,
            filled: 0,
            slug: definition.slug.clone(),
            name: String::new(),
            kind: BlueprintKind::Resource,
            scheduled: false,
            icon: None,
            record_title: None,
            search: None,
            working_copy: false,
            trash: None,
            history: None,
            variants: Vec::new(),
            seo: None,
            fields: Vec::new(),
            created_at: now,
            updated_at: now,
        };
        let mut blueprint = empty.next(definition, now);
        blueprint.updated_at = now;
        blueprint
    }

    /// Returns the next revision and the differences. Without differences, only the revision number and `updated_at`
    /// are new.
    pub fn revise(&self, definition: Definition, now: Millis) -> (Blueprint, Vec<Difference>) {
        let next = self.next(definition, now);
        let differences = differences(self, &next);
        (next, differences)
    }

    /// Returns whether enough numbers are left for the new parts of a definition. Numbers are never used again, so a
    /// blueprint that was changed very often has none left at some time.
    pub fn has_numbers_for(&self, definition: &Definition) -> bool {
        let is_new = |variant: &&VariantDefinition| self.variants.iter().all(|known| known.slug != variant.slug);
        let n_variants = definition.variants.iter().filter(is_new).count();
        // A field takes one number for its values, and another one for its claims.
        let n_fields = definition.fields.len().saturating_mul(2);
        n_variants <= usize::from(MAX_VARIANT.saturating_sub(self.next_variant))
            && n_fields <= (u32::MAX - self.next_field) as usize
    }

    fn next(&self, definition: Definition, now: Millis) -> Blueprint {
        let mut next = self.clone();
        next.revision += 1;
        next.updated_at = now.max(self.updated_at + 1);
        next.slug = definition.slug;
        next.name = definition.name;
        next.kind = definition.kind.unwrap_or(self.kind);
        next.scheduled = definition.scheduled;
        next.icon = definition.icon;
        next.record_title = definition.record_title;
        next.seo = definition.seo;
        next.search = definition.search;
        next.working_copy = definition.working_copy;
        next.trash = definition.trash;
        next.history = definition.history;
        let known = self.fields_by_slug();
        next.fields = definition
            .fields
            .into_iter()
            .map(|field| number_field(known.get(field.slug.as_str()).copied(), field, &mut next.next_field))
            .collect();
        // A new field exists since this revision. A retyped field keeps its values, so it exists since it was added.
        for field in &mut next.fields {
            if !known.contains_key(field.slug.as_str()) {
                field.since = next.revision;
            }
        }
        let numbers = |fields: &[Field]| fields.iter().map(|field| field.number).collect::<Vec<_>>();
        if numbers(&next.fields) != numbers(&self.fields) {
            next.shape = next.revision;
        }
        self.number_variants(definition.variants, &mut next);
        next
    }

    /// Numbers the variants. When the first variants are added, the existing copy becomes the copy of the default
    /// variant. When the last variants are removed, the copy of the default variant is kept.
    fn number_variants(&self, variants: Vec<VariantDefinition>, next: &mut Blueprint) {
        if variants.is_empty() {
            next.plain_variant = self.default_variant();
        }
        let had_variants = !self.variants.is_empty();
        next.variants.clear();
        for variant in variants {
            let number = match self.variants.iter().find(|known| known.slug == variant.slug) {
                Some(known) => known.number,
                None if variant.default && !had_variants => self.plain_variant,
                None => {
                    next.next_variant += 1;
                    next.next_variant - 1
                }
            };
            next.variants.push(variant.numbered(number));
        }
    }
}

/// Returns a field of the next revision. `named` is the field with the same slug in the revision before.
fn number_field(named: Option<&Field>, field: FieldDefinition, next_field: &mut u32) -> Field {
    let mut next_number = || {
        *next_field += 1;
        *next_field - 1
    };
    let same_type = named.filter(|known| known.field_type.name() == field.field_type.name());
    let numbers = FieldNumbers {
        number: same_type.map_or_else(&mut next_number, |known| known.number),
        since: named.map_or(0, |named| named.since),
        claims: field.unique.then(|| same_type.and_then(|known| known.claims).unwrap_or_else(next_number)),
    };
    field.numbered(numbers)
}

#[cfg(test)]
mod tests;
