//! Filters: select the visits that a report counts. They do not know files or query strings.

use super::names::{Name, Names};
use super::pageview::Dimension;
use super::visits::{Visit, VisitStep};

/// The part of a visit that a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterField {
    /// The pages that were viewed.
    Page,
    /// The first page of the session.
    EntryPage,
    /// The last page of the session.
    ExitPage,
    /// The names of events that were sent.
    Event,
    /// The values in a dimension.
    Dimension(Dimension),
}

/// Selects the visits with one of some values, or those without any of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitFilter {
    /// The part that must have the value.
    pub field: FilterField,
    /// The values.
    pub values: Vec<String>,
    /// True if the visits without these values are selected.
    pub is_negated: bool,
}

/// Filters for visits with interned names. A value that is not interned is in no visit.
pub(super) struct NamedFilters {
    filters: Vec<NamedFilter>,
}

struct NamedFilter {
    field: FilterField,
    values: Vec<Name>,
    is_negated: bool,
}

impl NamedFilters {
    pub(super) fn new(filters: &[VisitFilter], names: &Names) -> NamedFilters {
        let filters = filters.iter().map(|filter| NamedFilter {
            field: filter.field,
            values: filter.values.iter().filter_map(|value| names.find(value)).collect(),
            is_negated: filter.is_negated,
        });
        NamedFilters { filters: filters.collect() }
    }

    /// Returns whether all filters select a visit.
    pub(super) fn select(&self, visit: &Visit) -> bool {
        self.filters.iter().all(|filter| filter.finds(visit) != filter.is_negated)
    }
}

impl NamedFilter {
    fn finds(&self, visit: &Visit) -> bool {
        let wanted = |name: &Name| self.values.contains(name);
        let client = |which: usize| {
            visit.steps.iter().any(|step| matches!(step, VisitStep::View { client, .. } if wanted(&client[which])))
        };
        match self.field {
            FilterField::Page => {
                visit.steps.iter().any(|step| matches!(step, VisitStep::View { path, .. } if wanted(path)))
            }
            FilterField::Event => {
                visit.steps.iter().any(|step| matches!(step, VisitStep::Event { name, .. } if wanted(name)))
            }
            FilterField::EntryPage => wanted(&visit.entry[0]),
            FilterField::ExitPage => wanted(&visit.exit),
            FilterField::Dimension(Dimension::Device) => client(0),
            FilterField::Dimension(Dimension::Browser) => client(1),
            FilterField::Dimension(Dimension::Country) => client(2),
            FilterField::Dimension(dimension) => {
                let of_session = Dimension::ALL.into_iter().filter(|known| known.is_of_session());
                let index = 1 + of_session.take_while(|known| *known != dimension).count();
                visit.entry.get(index).is_some_and(wanted)
            }
        }
    }
}
