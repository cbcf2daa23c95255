//! Values of attributes: the accepted values of each field type, and their stored form (`API.md` 2.4.3).
//!
//! Owns every rule about a value that does not depend on stored resources. The existence of the target of a relation,
//! the existence of a member and the claim of a unique value are checked elsewhere.

mod address;
mod attributes;
mod choice;
mod elements;
mod html;
mod numeric;
mod object;
mod relation;
mod rules;
mod text;
mod unique;
mod url;

pub use address::ADDRESS_PARTS;
pub use attributes::{CheckedAttributes, FieldRemovals, check_attributes, in_field_order, required_errors};
pub use relation::Relations;
pub use rules::{Options, accepts, check, has_form, stored_value_errors};
pub use text::is_email;
pub use unique::unique_text;

#[cfg(test)]
mod tests;
