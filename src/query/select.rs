//! `fields` and `exclude`: the selected parts of a resource (`API.md` 4.2.3). Must not know resources.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::message::quoted_list;
use super::raw::RawParams;

/// The keys of a resource object, in the order in which they are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // They are the keys of API.md 2.1.
pub enum ResourceKey {
    Id,
    Type,
    PublishedAt,
    CreatedAt,
    UpdatedAt,
    Attributes,
    Relationships,
}

/// The selected parts of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The keys, in the order of [`ResourceKey::ALL`].
    keys: Vec<ResourceKey>,
    attributes: Attributes,
}

/// The attributes in the key `attributes`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Attributes {
    All,
    /// The attributes of the fields with these numbers.
    Only(Vec<u32>),
}

impl ResourceKey {
    /// All keys, in the order in which they are returned.
    pub const ALL: [ResourceKey; 7] = [
        ResourceKey::Id,
        ResourceKey::Type,
        ResourceKey::PublishedAt,
        ResourceKey::CreatedAt,
        ResourceKey::UpdatedAt,
        ResourceKey::Attributes,
        ResourceKey::Relationships,
    ];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ResourceKey::Id => "id",
            ResourceKey::Type => "type",
            ResourceKey::PublishedAt => "published_at",
            ResourceKey::CreatedAt => "created_at",
            ResourceKey::UpdatedAt => "updated_at",
            ResourceKey::Attributes => "attributes",
            ResourceKey::Relationships => "relationships",
        }
    }
}

impl Selection {
    /// Returns the whole resource.
    pub fn all() -> Selection {
        Selection { keys: ResourceKey::ALL.to_vec(), attributes: Attributes::All }
    }

    /// Returns whether it is the whole resource.
    pub fn is_all(&self) -> bool {
        self.keys.len() == ResourceKey::ALL.len() && self.attributes == Attributes::All
    }

    /// Returns the keys that are returned, in order.
    pub fn keys(&self) -> &[ResourceKey] {
        &self.keys
    }

    /// Returns whether the key is returned.
    pub fn has(&self, key: ResourceKey) -> bool {
        self.keys.contains(&key)
    }

    /// Returns the selected keys that are columns of a CSV export.
    pub fn column_keys(&self) -> impl Iterator<Item = ResourceKey> {
        self.keys.iter().copied().filter(|key| !matches!(key, ResourceKey::Attributes | ResourceKey::Relationships))
    }

    /// Returns whether a CSV export has at least one column, which RFC 4180 demands.
    pub(super) fn has_column(&self, blueprint: &Blueprint) -> bool {
        self.column_keys().next().is_some() || blueprint.fields.iter().any(|field| self.has_attribute(field.number))
    }

    /// Returns whether every attribute is returned.
    pub fn has_all_attributes(&self) -> bool {
        self.has(ResourceKey::Attributes) && self.attributes == Attributes::All
    }

    /// Returns whether the attribute of the field with this number is returned.
    pub fn has_attribute(&self, field: u32) -> bool {
        let is_listed = match &self.attributes {
            Attributes::All => true,
            Attributes::Only(fields) => fields.contains(&field),
        };
        is_listed && self.has(ResourceKey::Attributes)
    }

    /// Reads the two parameters: `fields` selects, then `exclude` removes.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub(super) fn parse(params: &RawParams, blueprint: &Blueprint) -> Result<Selection, Error> {
        let named = names(params, "fields", blueprint)?;
        let mut selection = named.map_or_else(Selection::all, |named| Selection::of(&named));
        if let Some(named) = names(params, "exclude", blueprint)? {
            selection.remove(&named, blueprint);
        }
        Ok(selection)
    }

    /// Reads `fields[…]` of a related blueprint. Returns `None` if it is missing.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub(super) fn parse_related(params: &RawParams, blueprint: &Blueprint) -> Result<Option<Selection>, Error> {
        let named = names(params, &format!("fields[{}]", blueprint.slug), blueprint)?;
        Ok(named.map(|named| Selection::of(&named)))
    }

    fn of(named: &[NamedPart]) -> Selection {
        let keys = ResourceKey::ALL.into_iter().filter(|key| named.iter().any(|name| name.key() == *key));
        let mut fields: Vec<u32> = named.iter().filter_map(|name| name.field()).collect();
        // The list is searched for each attribute of each resource, so a field that is named a thousand times must be
        // in it only once.
        fields.sort_unstable();
        fields.dedup();
        let is_whole = fields.is_empty() || named.contains(&NamedPart::ResourceKey(ResourceKey::Attributes));
        let attributes = if is_whole { Attributes::All } else { Attributes::Only(fields) };
        Selection { keys: keys.collect(), attributes }
    }

    fn remove(&mut self, named: &[NamedPart], blueprint: &Blueprint) {
        self.keys.retain(|key| !named.contains(&NamedPart::ResourceKey(*key)));
        let removed: Vec<u32> = named.iter().filter_map(|name| name.field()).collect();
        if removed.is_empty() {
            return;
        }
        let mut left = match std::mem::replace(&mut self.attributes, Attributes::All) {
            Attributes::All => blueprint.fields.iter().map(|field| field.number).collect(),
            Attributes::Only(fields) => fields,
        };
        left.retain(|field| !removed.contains(field));
        self.attributes = Attributes::Only(left);
    }
}

/// The part of a resource that an entry of `fields` or `exclude` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedPart {
    ResourceKey(ResourceKey),
    /// An attribute (`attributes.<slug>`), by the field's number.
    Attribute(u32),
}

impl NamedPart {
    fn key(self) -> ResourceKey {
        match self {
            NamedPart::ResourceKey(key) => key,
            NamedPart::Attribute(_) => ResourceKey::Attributes,
        }
    }

    fn field(self) -> Option<u32> {
        match self {
            NamedPart::ResourceKey(_) => None,
            NamedPart::Attribute(field) => Some(field),
        }
    }
}

fn names(params: &RawParams, parameter: &str, blueprint: &Blueprint) -> Result<Option<Vec<NamedPart>>, Error> {
    let Some(sent) = params.single(parameter)? else { return Ok(None) };
    let entries = sent.split(',').map(|entry| {
        named(entry, blueprint)
            .ok_or_else(|| Error::new(Code::InvalidParameter, message(parameter, entry, sent, blueprint)))
    });
    entries.collect::<Result<Vec<NamedPart>, Error>>().map(Some)
}

fn named(entry: &str, blueprint: &Blueprint) -> Option<NamedPart> {
    match entry.strip_prefix("attributes.") {
        Some(slug) => blueprint.field(slug).map(|field| NamedPart::Attribute(field.number)),
        None => ResourceKey::ALL.into_iter().find(|key| key.as_str() == entry).map(NamedPart::ResourceKey),
    }
}

fn message(parameter: &str, entry: &str, sent: &str, blueprint: &Blueprint) -> String {
    let keys = quoted_list(ResourceKey::ALL.iter().map(|key| key.as_str()));
    if entry.is_empty() {
        return format!(
            "`{parameter}` is {}, which has an empty entry; it must be a comma-separated list of {keys} and `attributes.<field>`",
            quote(sent)
        );
    }
    match entry.strip_prefix("attributes.") {
        Some(slug) => format!(
            "`{parameter}` names the attribute {}, which does not exist; the attributes of `{}` are {}",
            quote(slug),
            blueprint.slug,
            quoted_list(blueprint.fields.iter().map(|field| &field.slug))
        ),
        None => format!(
            "`{parameter}` names {}, which does not exist; the names are {keys} and `attributes.<field>`",
            quote(entry)
        ),
    }
}
