//! The system fields among the fields of a definition (`API.md` 4.27.1).
//!
//! The server adds them itself. A body may leave them out, or contain them as they are answered.

use super::body::BodyReader;
use crate::blueprint::definition::FieldDefinition;
use crate::blueprint::system::SystemField;
use crate::blueprint::types::BlueprintKind;

/// Puts the system fields of the kind before the other fields, and reports fields that only the server may define.
pub(super) fn settle(kind: BlueprintKind, fields: &mut Vec<FieldDefinition>, reader: &mut BodyReader) {
    let definitions = match kind {
        BlueprintKind::Media => SystemField::definitions(),
        _ => Vec::new(),
    };
    for (position, field) in fields.iter().enumerate() {
        match definitions.iter().find(|known| known.slug == field.slug) {
            Some(known) if known == field => {}
            Some(known) => {
                let text = format!(
                    "`{}` is a field that the server adds to a blueprint of the kind `media`: leave it out, or send it as \
                     `GET` answers it",
                    known.slug
                );
                reader.error(&format!("fields.{position}.slug"), text);
            }
            None if field.is_system => {
                let text =
                    "must be left out: only fields that the server adds to a blueprint of the kind `media` have it";
                reader.error(&format!("fields.{position}.system"), text.to_owned());
            }
            None => {}
        }
    }
    fields.retain(|field| definitions.iter().all(|known| known.slug != field.slug));
    fields.splice(0..0, definitions);
}
