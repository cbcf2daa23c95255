//! The errors of a body, collected by field and limited: a body with a million unknown keys must not become a million
//! messages, neither in memory nor in a response.
//!
//! The cost of adding an error, looking a field up and copying the errors depends only on the limits, not on the body.

use std::collections::HashMap;

/// The maximum number of fields that an error lists. One more entry says how many fields are left out.
pub const LISTED_FIELDS: usize = 100;

/// The maximum number of messages that an error lists for one field. One more says how many messages are left out.
const LISTED_TEXTS: usize = 20;

/// The maximum number of fields that are kept while errors are collected. It is more than a blueprint may have, so that
/// sorting can still bring each field of the blueprint to the front.
const KEPT_FIELDS: usize = 1_000;

/// The key of the entry that says how many fields are left out.
const MORE_FIELDS: &str = "…";

/// A field's slug or a path in the body, and the messages for it.
pub type FieldError = (String, Vec<String>);

/// The errors found so far, one entry for each field, in the order in which the fields were found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldErrors {
    entries: Vec<FieldEntry>,
    /// The position of each field in `entries`.
    positions: HashMap<String, usize>,
    /// The number of invalid fields beside the fields in `entries`.
    left_out: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct FieldEntry {
    field: String,
    /// The distinct messages.
    texts: Vec<String>,
    /// The number of further messages.
    left_out: usize,
}

impl FieldErrors {
    /// Makes an empty collection.
    pub fn new() -> FieldErrors {
        FieldErrors::default()
    }

    /// Returns whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the number of invalid fields. A field beyond the kept ones is counted each time it is added.
    pub fn count(&self) -> usize {
        self.entries.len() + self.left_out
    }

    /// Returns whether the field has an error. This is not known of fields that are only counted.
    pub fn has(&self, field: &str) -> bool {
        self.positions.contains_key(field)
    }

    /// Adds errors of a field. Messages that the field already has are dropped.
    pub fn push(&mut self, (field, texts): FieldError) {
        self.add(FieldEntry { field, texts, left_out: 0 });
    }

    /// Counts invalid fields without keeping their names.
    pub fn leave_out(&mut self, count: usize) {
        self.left_out += count;
    }

    /// Adds all errors of `other`.
    pub fn append(&mut self, other: FieldErrors) {
        self.left_out += other.left_out;
        other.entries.into_iter().for_each(|entry| self.add(entry));
    }

    /// Adds the errors of `other` for fields that are valid so far.
    pub fn append_new(&mut self, other: FieldErrors) {
        self.left_out += other.left_out;
        for entry in other.entries {
            if !self.has(&entry.field) {
                self.add(entry);
            }
        }
    }

    /// Replaces the messages of the fields for which `is_hidden` is true by `text`.
    pub fn hide(&mut self, text: &str, is_hidden: impl Fn(&str) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| is_hidden(&entry.field)) {
            (entry.texts, entry.left_out) = (vec![text.to_owned()], 0);
        }
    }

    /// Sorts the fields by a key. Fields with equal keys keep their order.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&str) -> K) {
        self.entries.sort_by_key(|entry| key(&entry.field));
        self.positions = (0..).zip(&self.entries).map(|(position, entry)| (entry.field.clone(), position)).collect();
    }

    /// Returns the fields that an error lists: the first [`LISTED_FIELDS`] fields, and the number of fields that are
    /// left out.
    pub fn into_listed(self) -> Vec<FieldError> {
        let left_out = self.count().saturating_sub(LISTED_FIELDS);
        let mut listed: Vec<FieldError> =
            self.entries.into_iter().take(LISTED_FIELDS).map(FieldEntry::listed).collect();
        if left_out > 0 {
            listed.push((MORE_FIELDS.to_owned(), vec![format!("{left_out} more fields are not valid")]));
        }
        listed
    }

    fn add(&mut self, added: FieldEntry) {
        if let Some(&position) = self.positions.get(&added.field) {
            self.entries[position].add(added.texts, added.left_out);
        } else if self.entries.len() == KEPT_FIELDS {
            self.left_out += 1;
        } else {
            self.positions.insert(added.field.clone(), self.entries.len());
            let mut entry = FieldEntry { field: added.field, texts: Vec::new(), left_out: 0 };
            entry.add(added.texts, added.left_out);
            self.entries.push(entry);
        }
    }
}

impl FieldEntry {
    fn add(&mut self, texts: Vec<String>, left_out: usize) {
        self.left_out += left_out;
        for text in texts {
            if self.texts.contains(&text) {
                continue;
            }
            match self.texts.len() {
                LISTED_TEXTS => self.left_out += 1,
                _ => self.texts.push(text),
            }
        }
    }

    fn listed(mut self) -> FieldError {
        if self.left_out > 0 {
            self.texts.push(format!("{} more errors are not listed", self.left_out));
        }
        (self.field, self.texts)
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<T: IntoIterator<Item = FieldError>>(&mut self, errors: T) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<T: IntoIterator<Item = FieldError>>(errors: T) -> FieldErrors {
        let mut collected = FieldErrors::new();
        collected.extend(errors);
        collected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn collected<'a>(found: impl IntoIterator<Item = (&'a str, &'a str)>) -> FieldErrors {
        found.into_iter().map(|(field, text)| (field.to_owned(), vec![text.to_owned()])).collect()
    }

    #[test]
    fn entries_of_one_field_are_merged_and_repeated_texts_are_dropped() {
        let error = Error::validation(collected([("z", "1"), ("a", "3"), ("z", "2"), ("z", "1")]));
        assert_eq!(error.message, "2 fields are not valid: `z`, `a`");
        let expected = [("z", vec!["1", "2"]), ("a", vec!["3"])];
        let expected =
            expected.map(|(field, texts)| (field.to_owned(), texts.into_iter().map(str::to_owned).collect()));
        assert_eq!(error.fields, expected);
    }

    #[test]
    fn at_most_100_fields_are_listed_and_one_entry_counts_the_others() {
        let found = |count: usize| (0..count).map(|n| (format!("f{n}"), vec!["must be a number".to_owned()])).collect();
        assert_eq!(Error::validation(found(LISTED_FIELDS)).fields.len(), LISTED_FIELDS);
        let error = Error::validation(found(200_000));
        assert!(
            error.message.starts_with("200000 fields are not valid: `f0`, ") && error.message.ends_with("` and more")
        );
        assert_eq!(error.fields.len(), LISTED_FIELDS + 1);
        let (key, texts) = &error.fields[LISTED_FIELDS];
        assert_eq!((key.as_str(), texts.concat()), ("…", "199900 more fields are not valid".to_owned()));
    }

    #[test]
    fn at_most_20_texts_of_a_field_are_listed_and_one_counts_the_others() {
        let mut found: FieldErrors = (0..30).map(|n| ("f".to_owned(), vec![n.to_string()])).collect();
        found.append((20..100_000).map(|n| ("f".to_owned(), vec![n.to_string()])).collect());
        let error = Error::validation(found);
        let (_, texts) = &error.fields[0];
        assert_eq!((texts.len(), texts[19].as_str()), (21, "19"));
        assert_eq!(texts[20], format!("{} more errors are not listed", 10 + 99_980));
    }

    #[test]
    fn what_is_sorted_to_the_front_is_listed_and_found() {
        let mut found: FieldErrors = (0..500).map(|n| (format!("f{n}"), vec!["x".to_owned()])).collect();
        found.push(("known".to_owned(), vec!["y".to_owned()]));
        found.sort_by_key(|field| field != "known");
        found.push(("known".to_owned(), vec!["z".to_owned()]));
        assert!(found.has("known") && found.has("f0") && !found.has("f500"));
        let error = Error::validation(found);
        assert_eq!(error.fields[0], ("known".to_owned(), vec!["y".to_owned(), "z".to_owned()]));
    }
}
