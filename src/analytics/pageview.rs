//! Pageviews and events in countable form: without an address or a user agent, with interned texts.

use bindery_model::time::Millis;

use super::names::Name;
use super::search::{Click, Search};
use super::session::Visitor;

/// The property by which visitors are grouped. Its number is its index in arrays by dimension, including those on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// The host that the session came from.
    Referrer,
    /// `desktop`, `mobile`, `tablet` or `unknown`.
    Device,
    /// The browser's name.
    Browser,
    /// The ISO code of the country.
    Country,
    /// `utm_source` of the address that the session began at.
    Source,
    /// `utm_medium` of it.
    Medium,
    /// `utm_campaign` of it.
    Campaign,
    /// `utm_content` of it.
    Content,
    /// `utm_term` of it.
    Term,
}

impl Dimension {
    /// All dimensions, by their numbers.
    pub(super) const ALL: [Dimension; DIMENSIONS] = [
        Dimension::Referrer,
        Dimension::Device,
        Dimension::Browser,
        Dimension::Country,
        Dimension::Source,
        Dimension::Medium,
        Dimension::Campaign,
        Dimension::Content,
        Dimension::Term,
    ];

    /// Returns whether it is decided by the first pageview of a session. The others are decided by each pageview.
    pub(super) fn is_of_session(self) -> bool {
        !matches!(self, Dimension::Device | Dimension::Browser | Dimension::Country)
    }
}

/// The number of dimensions.
pub(super) const DIMENSIONS: usize = 9;

/// A pageview to be counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pageview {
    pub(super) at: Millis,
    pub(super) site: Name,
    pub(super) visitor: Visitor,
    pub(super) path: Name,
    /// The values by [`Dimension`]; [`super::names::NONE`] for missing ones.
    pub(super) dimensions: [Name; DIMENSIONS],
}

/// An event with a name of its own, to be counted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CustomEvent {
    pub(super) at: Millis,
    pub(super) site: Name,
    pub(super) visitor: Visitor,
    pub(super) name: Name,
    pub(super) properties: Vec<Property>,
}

/// A property of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: Name,
    pub(super) value: Name,
}

/// An action of a visitor.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Activity {
    Pageview(Pageview),
    Event(CustomEvent),
    Search(Search),
    Click(Click),
}

impl Activity {
    pub(super) fn at(&self) -> Millis {
        match self {
            Activity::Pageview(view) => view.at,
            Activity::Event(event) => event.at,
            Activity::Search(search) => search.at,
            Activity::Click(click) => click.at,
        }
    }
}
