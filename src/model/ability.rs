//! Abilities: the rights of a token.

use std::fmt;

/// One ability of a token (`API.md` 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// Read published resources.
    View,
    /// Read drafts too. Includes `view`.
    Preview,
    /// Create resources.
    Create,
    /// Replace and change resources.
    Update,
    /// Delete resources.
    Delete,
    /// Publish and unpublish resources.
    Publish,
    /// Read the analytics.
    AnalyticsView,
    /// Manage blueprints, tokens and members, and import.
    Manage,
}

impl Ability {
    /// All abilities, in their documented order.
    pub const ALL: [Ability; 8] = [
        Ability::View,
        Ability::Preview,
        Ability::Create,
        Ability::Update,
        Ability::Delete,
        Ability::Publish,
        Ability::AnalyticsView,
        Ability::Manage,
    ];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Ability::View => "view",
            Ability::Preview => "preview",
            Ability::Create => "create",
            Ability::Update => "update",
            Ability::Delete => "delete",
            Ability::Publish => "publish",
            Ability::AnalyticsView => "analytics:view",
            Ability::Manage => "manage",
        }
    }

    /// Reads the ability with this name.
    pub fn parse(name: &str) -> Option<Ability> {
        Ability::ALL.into_iter().find(|ability| ability.as_str() == name)
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
