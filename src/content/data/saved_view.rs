//! Views of lists that members saved, and their stored form (`API.md` 4.19). Must not know the meaning of a query.

use bindery_model::time::Millis;
use serde::{Deserialize, Serialize};

/// A view of a blueprint's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    /// The id of the view.
    pub id: String,
    /// The slug of the blueprint.
    pub blueprint: String,
    /// The label.
    pub name: String,
    /// The query of the list, in the form that its client keeps.
    pub query: String,
    /// True if all members who see the blueprint see the view.
    pub shared: bool,
    /// The id of the member who saved it.
    pub owner: u64,
    /// The time at which the view was saved.
    pub created_at: Millis,
    /// The time of its last change.
    pub updated_at: Millis,
}

/// A view that is to be saved.
#[derive(Debug, Clone)]
pub(crate) struct NewView {
    pub(crate) blueprint: String,
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) shared: bool,
}

/// A change of a view. `None` keeps a value.
#[derive(Debug, Clone)]
pub(crate) struct ViewPatch {
    pub(crate) name: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) shared: Option<bool>,
}

impl SavedView {
    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data can always be serialized")
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub(crate) fn decode(bytes: &[u8]) -> Result<SavedView, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("stored view: {error}"))
    }
}
