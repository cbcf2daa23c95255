//! A blueprint in force, without the types of its fields.

use std::collections::HashMap;

use super::field::Field;
use crate::time::Millis;

/// One revision of a blueprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// Internal number, never reused: storage keys and index folders are named by it.
    pub number: u32,
    /// Increases with every change of the blueprint. A stored copy carries the revision it was written under.
    pub revision: u64,
    /// The last revision that changed which fields exist, their types or their order. Copies of older revisions are
    /// reshaped when they are read.
    pub shape: u64,
    /// The next field number. Numbers are never reused.
    pub next_field: u32,
    /// The next variant number. Numbers are never reused.
    pub next_variant: u16,
    /// The number of the copy that resources have while the blueprint has no variants.
    pub plain_variant: u16,
    /// Identifier in API paths.
    pub slug: String,
    /// The label.
    pub name: String,
    /// Resource, singular, read-only or media.
    pub kind: BlueprintKind,
    /// True if readers see a publication only once its date has come.
    pub scheduled: bool,
    /// The label in the dashboard.
    pub icon: Option<String>,
    /// The slug of the field that labels a resource.
    pub record_title: Option<String>,
    /// Per-language copies. Empty, or exactly one of them is the default.
    pub variants: Vec<Variant>,
    /// The fields that the dashboard's SEO checks read.
    pub seo: Option<Seo>,
    /// The settings of ranked search. `None` for the defaults.
    pub search: Option<SearchSettings>,
    /// True if a published resource can be changed in a working copy.
    pub working_copy: bool,
    /// The trash, in which deleted resources wait. `None` if a deletion is final.
    pub trash: Option<TrashSettings>,
    /// The history. `None` if no earlier versions are kept.
    pub history: Option<HistorySettings>,
    /// The fields, in the order in which `attributes` lists them.
    pub fields: Vec<Field>,
    /// The log number at which the last retyped field came into force. An index on disk with a smaller number may lack
    /// that field's values.
    pub filled: u64,
    /// The time of its creation.
    pub created_at: Millis,
    /// The time of its last change.
    pub updated_at: Millis,
}

/// The kinds of blueprints (`API.md` 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlueprintKind {
    /// A blueprint with any number of resources.
    Resource,
    /// A blueprint with exactly one resource, which is created with it.
    Singular,
    /// A blueprint with any number of resources, which the dashboard does not edit.
    Readonly,
    /// A blueprint whose resources are files (`API.md` 4.27).
    Media,
}

/// One variant of a blueprint (`API.md` 2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Internal number, never reused within the blueprint.
    pub number: u16,
    /// The label.
    pub name: String,
    /// The value of `?variant=` that selects it.
    pub slug: String,
    /// True if it is used when a request names no variant.
    pub default: bool,
}

/// The slugs of the fields that the dashboard's SEO checks read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Seo {
    pub content: Option<String>,
    pub focus_keyword: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub slug: Option<String>,
}

/// The settings of ranked search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSettings {
    /// Slugs of fields of the types `text` and `rich-text`, each once, with their weights, which are greater than 0.
    /// Empty for the default fields.
    pub fields: Vec<(String, f64)>,
    /// The language of the texts.
    pub language: SearchLanguage,
    /// Words that a resource need not have.
    pub stop_words: Vec<String>,
    /// True if synonyms are found.
    pub synonyms: bool,
    /// Dates and numbers that count into the order.
    pub boost: Vec<BoostSetting>,
}

/// A date or number that counts into the order.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostSetting {
    /// The slug of a field, or `published_at`, `created_at` or `updated_at`.
    pub field: String,
    /// The weight, greater than 0.
    pub weight: f64,
    /// For a date, the number of days after which it counts half.
    pub half_life_days: Option<f64>,
    /// For a number, the one that counts nothing.
    pub from: Option<f64>,
    /// For a number, the one that counts fully; `None` to count its logarithm.
    pub to: Option<f64>,
}

impl Default for SearchSettings {
    fn default() -> SearchSettings {
        let language = SearchLanguage::default();
        SearchSettings { fields: Vec::new(), language, stop_words: Vec::new(), synonyms: true, boost: Vec::new() }
    }
}

/// The language of a blueprint's texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SearchLanguage {
    /// That of each variant, if its slug is a language.
    #[default]
    OfVariant,
    /// No language: words have no forms.
    None,
    /// This one, in every variant.
    Code(String),
}

impl SearchLanguage {
    /// The codes of the languages whose words have forms.
    pub const CODES: [&str; 28] = [
        "ar", "ca", "cs", "da", "de", "el", "en", "es", "et", "eu", "fi", "fr", "ga", "hu", "hy", "id", "it", "lt",
        "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sv", "tr",
    ];
}

/// The trash of a blueprint (`API.md` 4.23).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrashSettings {
    /// The number of days that a deleted resource waits.
    pub days: u16,
}

/// The history of a blueprint's resources (`API.md` 4.22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySettings {
    /// The number of revisions of each copy that are kept.
    pub keep: u16,
    /// The number of days that they are kept.
    pub days: u16,
}

impl TrashSettings {
    /// The largest `days`.
    pub const MAX_DAYS: u16 = 365;
}

impl HistorySettings {
    /// The largest `keep`.
    pub const MAX_KEEP: u16 = 1_000;
    /// The largest `days`.
    pub const MAX_DAYS: u16 = 3_650;
}

impl BlueprintKind {
    /// All kinds.
    pub const ALL: [BlueprintKind; 4] =
        [BlueprintKind::Resource, BlueprintKind::Singular, BlueprintKind::Readonly, BlueprintKind::Media];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            BlueprintKind::Resource => "resource",
            BlueprintKind::Singular => "singular_resource",
            BlueprintKind::Readonly => "readonly_resource",
            BlueprintKind::Media => "media",
        }
    }

    /// Reads the kind with this name.
    pub fn parse(name: &str) -> Option<BlueprintKind> {
        BlueprintKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Blueprint {
    /// Returns the field with this slug.
    pub fn field(&self, slug: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.slug == slug)
    }

    /// Returns all fields by slug, for many look-ups.
    pub fn fields_by_slug(&self) -> HashMap<&str, &Field> {
        self.fields.iter().map(|field| (field.slug.as_str(), field)).collect()
    }

    /// Returns the variant with this slug.
    pub fn variant(&self, slug: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.slug == slug)
    }

    /// Returns the number of the copy that is used when a request names no variant.
    pub fn default_variant(&self) -> u16 {
        self.variants.iter().find(|variant| variant.default).map_or(self.plain_variant, |variant| variant.number)
    }

    /// Returns the fields of the changed blueprint `next` that take over the values of a field with another type, each
    /// with the position of that field here.
    pub fn retyped<'a>(&'a self, next: &'a Blueprint) -> impl Iterator<Item = (usize, &'a Field)> {
        let after = next.fields_by_slug();
        self.fields.iter().enumerate().filter_map(move |(position, field)| {
            let after = *after.get(field.slug.as_str())?;
            (after.number != field.number).then_some((position, after))
        })
    }

    /// Returns the fields that become unique in the changed blueprint `next`: their positions here, and the numbers
    /// under which their values are claimed there.
    pub fn newly_unique(&self, next: &Blueprint) -> Vec<(usize, u32)> {
        let after = next.fields_by_slug();
        let claimed = self.fields.iter().enumerate().filter_map(|(position, field)| {
            let claims = after.get(field.slug.as_str())?.claims?;
            (field.claims != Some(claims)).then_some((position, claims))
        });
        claimed.collect()
    }

    /// Returns the numbers of all copies that a resource may have.
    pub fn variant_numbers(&self) -> Vec<u16> {
        if self.variants.is_empty() {
            vec![self.plain_variant]
        } else {
            self.variants.iter().map(|variant| variant.number).collect()
        }
    }
}
