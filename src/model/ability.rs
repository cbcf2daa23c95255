//! What a token may do.

use std::fmt;

/// One right of a token (`API.md` 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// Read published resources.
    View,
    /// Read drafts too; includes `view`.
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
    /// Define blueprints, tokens and members; import.
    Manage,
}

impl Ability {
    /// All of them, in the order in which they are documented.
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

    /// The name on the wire.
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

    /// The ability of that name.
    pub fn parse(name: &str) -> Option<Ability> {
        Ability::ALL.into_iter().find(|ability| ability.as_str() == name)
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
