//! The roles of members that carry rights (`API.md` 5.8). All other roles are words for `user` fields, and carry none.

use bindery_model::ability::Ability;

/// A role that carries rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// May do everything.
    Owner,
    /// Writes and publishes content, and reads the analytics.
    Editor,
    /// Writes drafts.
    Author,
    /// Reads content, drafts included, and the analytics.
    Viewer,
}

impl Role {
    /// All roles, the most powerful first.
    pub const ALL: [Role; 4] = [Role::Owner, Role::Editor, Role::Author, Role::Viewer];

    /// Reads the role of that name, if it carries rights.
    pub fn parse(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Returns the name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Editor => "editor",
            Role::Author => "author",
            Role::Viewer => "viewer",
        }
    }

    /// Returns the abilities of its members.
    pub fn abilities(self) -> &'static [Ability] {
        use Ability::{AnalyticsView, Create, Delete, Preview, Publish, Update, View};
        match self {
            Role::Owner => &Ability::ALL,
            Role::Editor => &[View, Preview, Create, Update, Delete, Publish, AnalyticsView],
            Role::Author => &[View, Preview, Create, Update, Delete],
            Role::Viewer => &[View, Preview, AnalyticsView],
        }
    }

    /// Returns whether its members may write only drafts.
    pub fn writes_only_drafts(self) -> bool {
        self == Role::Author
    }
}
