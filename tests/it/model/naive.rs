//! The naive model of the contract: the answer and the stored data of each write. It knows nothing of HTTP.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The fields of the blueprint, in its order.
pub(super) const FIELDS: [&str; 5] = ["title", "code", "count", "tags", "related"];

/// The outcome of an item: the id if it succeeds, otherwise the error code and the fields with errors.
pub(super) type Verdict = Result<String, (&'static str, BTreeSet<String>)>;

/// A resource as the contract describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thing {
    pub(super) published: Option<String>,
    pub(super) copies: BTreeMap<&'static str, Map<String, Value>>,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) things: BTreeMap<String, Thing>,
}

/// The parts of a call besides its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) variant: &'static str,
    pub(super) may_publish: bool,
    /// True if the attributes of the body replace all stored ones; missing ones become null.
    pub(super) is_whole: bool,
}

/// Returns a copy in which every field is null.
pub(super) fn empty() -> Map<String, Value> {
    FIELDS.iter().map(|field| ((*field).to_owned(), Value::Null)).collect()
}

impl Model {
    /// Returns the resulting copy, or the invalid fields.
    fn write(
        &self,
        id: Option<&str>,
        call: Call,
        sent: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BTreeSet<String>> {
        let stored = id.and_then(|id| self.things.get(id));
        let current = stored.and_then(|thing| thing.copies.get(call.variant)).cloned().unwrap_or_else(empty);
        let mut copy = if call.is_whole { empty() } else { current.clone() };
        let mut invalid = BTreeSet::new();
        for (field, value) in sent {
            let is_valid = match field.as_str() {
                _ if value.is_null() => true,
                "title" | "code" => value.is_string(),
                "count" => value.is_number(),
                "tags" => value.as_array().is_some_and(|tags| {
                    let distinct: BTreeSet<String> = tags.iter().map(Value::to_string).collect();
                    distinct.len() == tags.len()
                        && tags.iter().all(|tag| ["a", "b", "c"].map(Value::from).contains(tag))
                }),
                "related" => value.as_str().is_some_and(|target| {
                    let is_stored = |thing: &Thing| thing.copies.values().any(|copy| copy["related"] == *target);
                    self.things.contains_key(target) || stored.is_some_and(is_stored)
                }),
                _ => false,
            };
            if is_valid {
                copy.insert(field.clone(), value.clone());
            } else {
                invalid.insert(field.clone());
            }
        }
        if matches!(&copy["title"], title if title.is_null() || title == "") {
            invalid.insert("title".to_owned());
        }
        let code = &copy["code"];
        let is_duplicate = |(other, thing): (&String, &Thing)| {
            Some(other.as_str()) != id && thing.copies.get(call.variant).is_some_and(|copy| copy["code"] == *code)
        };
        if !code.is_null() && code != "" && self.things.iter().any(is_duplicate) {
            invalid.insert("code".to_owned());
        }
        if invalid.is_empty() { Ok(copy) } else { Err(invalid) }
    }

    /// Creates a resource with the id that the server answered.
    pub(super) fn create(&mut self, call: Call, body: &Value, id: &str) -> Verdict {
        let (published, mut invalid) = read_date(body);
        let copy = match body.get("attributes") {
            Some(Value::Object(sent)) => self.write(None, Call { is_whole: true, ..call }, sent),
            _ => Err(BTreeSet::from(["attributes".to_owned()])),
        };
        match copy {
            Ok(copy) if invalid.is_empty() => {
                let copies = BTreeMap::from([(call.variant, copy)]);
                self.things.insert(id.to_owned(), Thing { published: published.flatten(), copies });
                Ok(id.to_owned())
            }
            copy => {
                invalid.extend(copy.err().unwrap_or_default());
                Err(("VALIDATION_FAILED", invalid))
            }
        }
    }

    pub(super) fn update(&mut self, call: Call, id: &str, body: &Value, is_match: bool) -> Verdict {
        let Some(before) = self.things.get(id).cloned() else { return Err(("NOT_FOUND", BTreeSet::new())) };
        if !call.is_whole && !call.may_publish && body.get("published_at").is_some() {
            return Err(("FORBIDDEN", BTreeSet::new()));
        }
        if !is_match {
            return Err(("PRECONDITION_FAILED", BTreeSet::new()));
        }
        let (published, mut invalid) = read_date(body);
        let mut after = before.clone();
        match body.get("attributes") {
            Some(Value::Object(sent)) => match self.write(Some(id), call, sent) {
                Ok(copy) => {
                    after.copies.insert(call.variant, copy);
                }
                Err(others) => invalid.extend(others),
            },
            None if !call.is_whole => {}
            None | Some(_) => {
                invalid.insert("attributes".to_owned());
            }
        }
        if !invalid.is_empty() {
            return Err(("VALIDATION_FAILED", invalid));
        }
        if let Some(published) = published {
            after.published = published;
        }
        if after.published.is_some() != before.published.is_some() && !call.may_publish {
            return Err(("FORBIDDEN", BTreeSet::new()));
        }
        self.things.insert(id.to_owned(), after);
        Ok(id.to_owned())
    }

    pub(super) fn delete(&mut self, id: &str) -> Verdict {
        self.things.remove(id).map(|_| id.to_owned()).ok_or(("NOT_FOUND", BTreeSet::new()))
    }

    /// Publishes a resource. `None` publishes without a date. The server's date replaces the placeholder `now`
    /// afterwards.
    pub(super) fn publish(&mut self, id: &str, date: Option<&str>) -> Verdict {
        let Some(thing) = self.things.get_mut(id) else { return Err(("NOT_FOUND", BTreeSet::new())) };
        match (date, &thing.published) {
            (Some(date), _) => thing.published = Some(date.to_owned()),
            (None, Some(_)) => {}
            (None, None) => thing.published = Some("now".to_owned()),
        }
        Ok(id.to_owned())
    }

    pub(super) fn unpublish(&mut self, id: &str) -> Verdict {
        let Some(thing) = self.things.get_mut(id) else { return Err(("NOT_FOUND", BTreeSet::new())) };
        thing.published = None;
        Ok(id.to_owned())
    }
}

/// Reads the `published_at` of a body (absent, null or a date), and the invalid keys.
fn read_date(body: &Value) -> (Option<Option<String>>, BTreeSet<String>) {
    match body.get("published_at") {
        None => (None, BTreeSet::new()),
        Some(Value::Null) => (Some(None), BTreeSet::new()),
        Some(Value::String(date)) if date.ends_with("+00:00") => (Some(Some(date.clone())), BTreeSet::new()),
        Some(_) => (None, BTreeSet::from(["published_at".to_owned()])),
    }
}
