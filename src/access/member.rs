//! Members of the project, and changes of members. Fields of the type `user` refer to members.

use bindery_model::sent::quote;
use bindery_model::time::Millis;
use serde::{Deserialize, Serialize};

use super::role::Role;

/// A member of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Member {
    pub id: u64,
    pub name: String,
    pub email: String,
    pub role: Option<String>,
    /// The slugs of the blueprints that the member is limited to; `None` for all blueprints.
    pub blueprints: Option<Vec<String>>,
    /// The time when the member last used a session. It may be up to an hour too early.
    pub seen_at: Option<Millis>,
}

/// A member that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NewMember {
    pub name: String,
    pub email: String,
    pub role: Option<String>,
    pub blueprints: Option<Vec<String>>,
}

/// A change of a member. `None` keeps the name or the email.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MemberPatch {
    pub name: Option<String>,
    pub email: Option<String>,
    pub role: Patch<String>,
    pub blueprints: Patch<Vec<String>>,
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
    /// Returns the value after the change.
    pub fn apply(self, current: Option<T>) -> Option<T> {
        match self {
            Patch::Keep => current,
            Patch::Clear => None,
            Patch::Set(value) => Some(value),
        }
    }
}

impl Member {
    /// Returns whether a `user` field may refer to the member. A field with a role accepts only members with that role.
    pub fn fits(&self, role: Option<&str>) -> bool {
        role.is_none() || self.role.as_deref() == role
    }

    /// Returns the role, if it carries rights.
    pub fn rights(&self) -> Option<Role> {
        self.role.as_deref().and_then(Role::parse)
    }

    /// Returns the warnings for the answer to a write of the member, if the member may be different from what the
    /// sender meant.
    pub fn warnings(&self) -> Vec<String> {
        let role = self.role.as_deref().filter(|_| self.rights().is_none());
        let warning = |role| {
            let text = "carries no rights: nobody can sign in with it; roles that do are `owner`, `editor`, `author` and `viewer`";
            format!("the role {} {text}", quote(role))
        };
        role.map(warning).into_iter().collect()
    }

    /// Returns the stored form.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data can always be serialized")
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub fn decode(bytes: &[u8]) -> Result<Member, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("stored member: {error}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_member_of_an_earlier_version_has_no_limit() {
        let stored = br#"{"id":1,"name":"Ada","email":"ada@example.org","role":"editor"}"#;
        let member = Member::decode(stored).unwrap();
        assert_eq!((&member.blueprints, member.seen_at), (&None, None));
        assert_eq!(Member::decode(&member.encode()).unwrap(), member);
    }
}
