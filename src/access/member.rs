//! Members of the project, whom `user` fields name, and changes of them.

use serde::{Deserialize, Serialize};

/// A member of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Member {
    pub id: u64,
    pub name: String,
    pub email: String,
    pub role: Option<String>,
}

/// A member that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NewMember {
    pub name: String,
    pub email: String,
    pub role: Option<String>,
}

/// A change of a member. `None` keeps the name or the email.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MemberPatch {
    pub name: Option<String>,
    pub email: Option<String>,
    pub role: Patch<String>,
}

/// A change of a value that may be null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch<T> {
    /// The value stays.
    Keep,
    /// The value becomes null.
    Clear,
    /// The value becomes this.
    Set(T),
}

impl<T> Patch<T> {
    /// The value after the change.
    pub fn apply(self, current: Option<T>) -> Option<T> {
        match self {
            Patch::Keep => current,
            Patch::Clear => None,
            Patch::Set(value) => Some(value),
        }
    }
}

impl Member {
    /// Whether a `user` field may name the member. A field with a role only accepts members with that role.
    pub fn fits(&self, role: Option<&str>) -> bool {
        role.is_none() || self.role.as_deref() == role
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data can always be serialized")
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// What is wrong with the bytes, for the log.
    pub fn decode(bytes: &[u8]) -> Result<Member, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("stored member: {error}"))
    }
}
