//! Decides whether a field that keeps its name may refuse values that it accepted before.

use bindery_model::blueprint::{Field, FieldType};

/// Returns whether values may have the wrong form for the changed field: another type, or fewer allowed values.
pub(super) fn may_refuse(before: &FieldType, after: &FieldType) -> bool {
    let lacks = |before: &[String], after: &[String]| before.iter().any(|value| !after.contains(value));
    match (before, after) {
        (FieldType::Enum { values: before }, FieldType::Enum { values: after })
        | (FieldType::MultiEnum { values: before }, FieldType::MultiEnum { values: after }) => match (before, after) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(after)) => before.values().iter().any(|value| !after.contains(value)),
        },
        (FieldType::Money { currencies: before, .. }, FieldType::Money { currencies: after, .. }) => {
            lacks(before, after)
        }
        (
            FieldType::Duration { min: min_before, max: max_before, .. },
            FieldType::Duration { min: min_after, max: max_after, .. },
        ) => {
            let is_raised = min_after.is_some_and(|after| min_before.is_none_or(|before| before < after));
            let is_lowered = max_after.is_some_and(|after| max_before.is_none_or(|before| before > after));
            is_raised || is_lowered
        }
        (before, after) => before.name() != after.name(),
    }
}

/// Returns whether the targets of values must be found elsewhere than before: in another blueprint, or in a role.
pub(super) fn is_redirected(before: &Field, after: &Field) -> bool {
    match &after.field_type {
        FieldType::User { role } => match &before.field_type {
            FieldType::User { role: known } => role.is_some() && role != known,
            _ => true,
        },
        FieldType::Reference { .. } | FieldType::References { .. } => {
            before.related_blueprint() != after.related_blueprint()
        }
        _ => false,
    }
}
