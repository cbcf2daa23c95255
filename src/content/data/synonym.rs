//! Synonyms of ranked search and their stored form (`API.md` 4.25). Must not know how they are found in a question.

use bindery_model::time::{Millis, format_millis};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Words and phrases that stand for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Synonym {
    /// The id of the entry.
    pub(crate) id: String,
    /// The slug of the variant in which they do; `None` for all.
    pub(crate) variant: Option<String>,
    /// The words and phrases.
    pub(crate) words: Vec<String>,
    /// True if the first one finds the others, but not the others the first.
    pub(crate) one_way: bool,
    /// The time at which the entry was created.
    pub(crate) created_at: Millis,
    /// The time of its last change.
    pub(crate) updated_at: Millis,
}

impl Synonym {
    /// Returns the form that is answered.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "type": "synonym",
            "variant": self.variant,
            "words": self.words,
            "one_way": self.one_way,
            "created_at": format_millis(self.created_at),
            "updated_at": format_millis(self.updated_at),
        })
    }

    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data can always be serialized")
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Synonym, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("stored synonym: {error}"))
    }
}
