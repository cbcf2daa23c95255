//! Rules of ranked search and their stored form (`API.md` 4.25). Must not know how they change a list.

use bindery_model::id::ResourceId;
use bindery_model::time::{Millis, format_millis};
use bindery_query::Rule;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A rule: for which questions it holds, and what it changes in their lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SearchRule {
    /// The id of the rule.
    pub(crate) id: String,
    /// The words of the question; `None` for any question.
    pub(crate) query: Option<String>,
    /// The way in which the question is compared with them.
    #[serde(rename = "match")]
    pub(crate) matching: RuleMatch,
    /// The slug of the blueprint; `None` for all.
    pub(crate) blueprint: Option<String>,
    /// The slug of the variant; `None` for all.
    pub(crate) variant: Option<String>,
    /// The filters that a request must have, as a query string.
    pub(crate) filter: Option<String>,
    /// The moment at which the rule begins to hold.
    pub(crate) from: Option<Millis>,
    /// The moment at which it ends.
    pub(crate) until: Option<Millis>,
    /// The resources that get a place of their own.
    pub(crate) pin: Vec<Pin>,
    /// The ids of the resources that are left out.
    pub(crate) hide: Vec<String>,
    /// Filters that are added to those of the request, as a query string.
    pub(crate) filter_add: Option<String>,
    /// The time at which the rule was created.
    pub(crate) created_at: Millis,
    /// The time of its last change.
    pub(crate) updated_at: Millis,
}

/// The way in which a rule's words are compared with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuleMatch {
    /// The question consists of them.
    Is,
    /// The question has them one after the other.
    Contains,
}

/// A resource with its place in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pin {
    /// The id of the resource.
    pub(crate) id: String,
    /// Its place, from 1.
    pub(crate) position: u64,
}

impl SearchRule {
    /// Returns the rule as queries apply it.
    pub(crate) fn prepared(&self) -> Rule {
        let id = |text: &String| ResourceId::parse(text).map(ResourceId::as_u128);
        let pins = self.pin.iter().filter_map(|pin| Some((id(&pin.id)?, pin.position))).collect();
        let hidden = self.hide.iter().filter_map(id).collect();
        let rule = Rule::new(&self.id, self.query.as_deref(), self.matching == RuleMatch::Contains);
        rule.only(self.variant.clone(), self.filter.as_deref()).changing(pins, hidden, self.filter_add.as_deref())
    }

    /// Returns whether it holds at this moment.
    pub(crate) fn is_in_force(&self, now: Millis) -> bool {
        self.from.is_none_or(|from| from <= now) && self.until.is_none_or(|until| now < until)
    }

    /// Returns the form that is answered.
    pub(crate) fn to_json(&self) -> Value {
        let matching = match self.matching {
            RuleMatch::Is => "is",
            RuleMatch::Contains => "contains",
        };
        let pins: Vec<Value> =
            self.pin.iter().map(|Pin { id, position }| json!({ "id": id, "position": position })).collect();
        json!({
            "id": self.id,
            "type": "search_rule",
            "query": self.query,
            "match": matching,
            "blueprint": self.blueprint,
            "variant": self.variant,
            "filter": self.filter,
            "from": self.from.map(format_millis),
            "until": self.until.map(format_millis),
            "pin": pins,
            "hide": self.hide,
            "filter_add": self.filter_add,
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
    pub(crate) fn decode(bytes: &[u8]) -> Result<SearchRule, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("stored search rule: {error}"))
    }
}
