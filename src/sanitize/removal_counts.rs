//! A short summary of the removed parts, for the author of the text. Decides nothing: it uses the tables of what is
//! kept.

use std::collections::BTreeMap;

use html5ever::tokenizer::Tag;

use super::allowed::{LINK_REL, Profile, keeps_value};

/// The maximum number of distinct names, and of characters of a name. All others count under [`OTHER`].
const MAX_NAMES: usize = 50;
const MAX_NAME_BYTES: usize = 64;
const OTHER: &str = "(other)";

/// The counts of removed parts. Elements count under their names, attributes of kept elements under an `@` and their
/// names, and rules and declarations of a style sheet under `css`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovalCounts(BTreeMap<String, u64>);

impl RemovalCounts {
    /// Returns whether nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names with their counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Adds the counts of other removed parts.
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

    /// Counts the parts of a start tag that are not kept.
    pub(super) fn note_tag(&mut self, tag: &Tag, profile: &Profile, video_hosts: &[String]) {
        let name = &*tag.name;
        let Some(kept) = profile.tag(name) else { return self.note(name, 1) };
        let keeps = |attribute: &str, value: &str| match (name, attribute) {
            // Each link gets a `rel` that contains these words, so only other words are lost.
            ("a", "rel") => value.split_ascii_whitespace().all(|word| LINK_REL.contains(word)),
            _ => profile.keeps_attribute(kept, attribute) && keeps_value(name, attribute, value, video_hosts),
        };
        let mut attributes = tag.attrs.iter().map(|attribute| (&*attribute.name.local, &*attribute.value));
        // A frame without an allowed source is removed completely.
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
