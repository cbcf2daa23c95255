//! Values of attributes: what each field type accepts, and the form in which a value is stored (`API.md` 2.4.3).
//!
//! Owns everything about a value that does not depend on stored resources. Whether a relation's target or a member
//! exists, and whether a unique value is free, is checked elsewhere.

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
pub use rules::{Options, accepts, check, stored_value_errors};
pub use text::is_email;
pub use unique::unique_text;

#[cfg(test)]
mod tests;
