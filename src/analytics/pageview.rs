//! A pageview as it is counted: without an address or a user agent, with its texts interned.

use super::names::Name;
use super::session::Visitor;
use crate::model::time::Millis;

/// What visitors are grouped by. The number of each is its index in the arrays by dimension, also on disk.
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
}

/// How many dimensions there are.
pub(super) const DIMENSIONS: usize = 4;

/// A pageview to be counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pageview {
    pub(super) at: Millis,
    pub(super) site: Name,
    pub(super) visitor: Visitor,
    pub(super) path: Name,
    /// By [`Dimension`].
    pub(super) dimensions: [Name; DIMENSIONS],
}
