//! A summary of what sanitizing took out, in a few words for whoever wrote it. Decides nothing: it asks the tables what is kept.

use std::collections::BTreeMap;

use html5ever::tokenizer::Tag;

use super::allowed::{LINK_REL, Profile, keeps_value};

/// At most this many names are told apart, and none that is longer; the others count under [`OTHER`].
const MAX_NAMES: usize = 50;
const MAX_NAME_BYTES: usize = 64;
const OTHER: &str = "(other)";

/// Counts of what sanitizing removed: elements under their names, attributes of elements that stayed under their names after
/// an `@`, rules and declarations of a style sheet under `css`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovalCounts(BTreeMap<String, u64>);

impl RemovalCounts {
    /// Tests whether nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names with how often, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Adds what was removed elsewhere.
    pub fn add(&mut self, other: &RemovalCounts) {
        other.iter().for_each(|(name, count)| self.note(name, count));
    }

    pub(super) fn note(&mut self, name: &str, count: u64) {
        let names = self.0.len() - usize::from(self.0.contains_key(OTHER));
        let is_told_apart = self.0.contains_key(name) || names < MAX_NAMES && name.len() <= MAX_NAME_BYTES;
        let name = if is_told_apart { name } else { OTHER };
        match self.0.get_mut(name) {
            Some(before) => *before += count,
            None => drop(self.0.insert(name.to_owned(), count)),
        }
    }

    /// Notes what of a start tag is not kept.
    pub(super) fn note_tag(&mut self, tag: &Tag, profile: &Profile, video_hosts: &[String]) {
        let name = &*tag.name;
        let Some(kept) = profile.tag(name) else { return self.note(name, 1) };
        let keeps = |attribute: &str, value: &str| match (name, attribute) {
            // Each link gets one that says more than most.
            ("a", "rel") => value.split_ascii_whitespace().all(|word| LINK_REL.contains(word)),
            _ => profile.keeps_attribute(kept, attribute) && keeps_value(name, attribute, value, video_hosts),
        };
        let mut attributes = tag.attrs.iter().map(|attribute| (&*attribute.name.local, &*attribute.value));
        // A frame without a source that is allowed goes as a whole.
        if name == "iframe"
            && !attributes.clone().any(|(attribute, value)| attribute == "src" && keeps(attribute, value))
        {
            return self.note(name, 1);
        }
        while let Some((attribute, _)) = attributes.by_ref().find(|(attribute, value)| !keeps(attribute, value)) {
            self.note(&format!("@{attribute}"), 1);
        }
    }
}
