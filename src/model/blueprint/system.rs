//! The system fields: what the server itself notes about the file of a media resource (`API.md` 4.27.1).
//!
//! Owns which fields there are, and their definitions. Must not know where their values come from.

use super::definition::FieldDefinition;
use super::field::{Field, FieldType};
use super::types::Blueprint;

/// A field that the server adds to each blueprint of the kind `media`, before all other fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemField {
    /// The name of the file.
    FileName,
    /// Its media type.
    Mime,
    /// Its size.
    Bytes,
    /// The width of the picture as it is shown, in pixels.
    Width,
    /// The height of the picture as it is shown, in pixels.
    Height,
    /// The hash of the file as it is served.
    Hash,
    /// The address of the file.
    Url,
    /// A thumbhash of the picture.
    Placeholder,
    /// The horizontal position of the focal point, from 0 (left) to 1.
    FocalX,
    /// The vertical position of the focal point, from 0 (top) to 1.
    FocalY,
}

impl SystemField {
    /// All system fields, in the order of `attributes`.
    pub const ALL: [SystemField; 10] = [
        SystemField::FileName,
        SystemField::Mime,
        SystemField::Bytes,
        SystemField::Width,
        SystemField::Height,
        SystemField::Hash,
        SystemField::Url,
        SystemField::Placeholder,
        SystemField::FocalX,
        SystemField::FocalY,
    ];

    /// Returns the key in `attributes`.
    pub fn slug(self) -> &'static str {
        match self {
            SystemField::FileName => "file_name",
            SystemField::Mime => "mime",
            SystemField::Bytes => "bytes",
            SystemField::Width => "width",
            SystemField::Height => "height",
            SystemField::Hash => "hash",
            SystemField::Url => "url",
            SystemField::Placeholder => "placeholder",
            SystemField::FocalX => "focal_x",
            SystemField::FocalY => "focal_y",
        }
    }

    /// Returns whether a client may change the value.
    pub fn is_writable(self) -> bool {
        SystemField::is_focal(self.slug())
    }

    /// Returns whether the slug is that of a coordinate of the focal point.
    pub fn is_focal(slug: &str) -> bool {
        [SystemField::FocalX, SystemField::FocalY].iter().any(|field| field.slug() == slug)
    }

    /// Returns the definitions of all system fields.
    pub(super) fn definitions() -> Vec<FieldDefinition> {
        SystemField::ALL.into_iter().map(SystemField::definition).collect()
    }

    fn definition(self) -> FieldDefinition {
        // Only the name is a text, which `search` and `q` look at. Nobody searches for a part of a hash.
        let (name, field_type) = match self {
            SystemField::FileName => ("File name", FieldType::Text),
            SystemField::Mime => ("Type", FieldType::Enum { values: None }),
            SystemField::Bytes => ("Bytes", FieldType::Number),
            SystemField::Width => ("Width", FieldType::Number),
            SystemField::Height => ("Height", FieldType::Number),
            SystemField::Hash => ("Hash", FieldType::Enum { values: None }),
            SystemField::Url => ("Address", FieldType::Link),
            SystemField::Placeholder => ("Placeholder", FieldType::Enum { values: None }),
            SystemField::FocalX => ("Focal point, horizontal", FieldType::Number),
            SystemField::FocalY => ("Focal point, vertical", FieldType::Number),
        };
        FieldDefinition {
            name: name.to_owned(),
            slug: self.slug().to_owned(),
            description: None,
            required: false,
            unique: false,
            field_type,
            is_system: true,
        }
    }
}

impl Field {
    /// Returns the system field that this field is.
    pub fn system(&self) -> Option<SystemField> {
        SystemField::ALL.into_iter().find(|system| self.is_system && system.slug() == self.slug)
    }
}

impl Blueprint {
    /// Returns the position of a system field among the fields.
    pub fn position_of(&self, field: SystemField) -> Option<usize> {
        self.fields.iter().position(|known| known.is_system && known.slug == field.slug())
    }
}
