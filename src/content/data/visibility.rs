//! Visibility: the resources of a blueprint that a token may see, and the facts about the others that it may learn by
//! writing (`API.md` 5.4, 5.7).

use bindery_access::Access;
use bindery_index::{Bound, DateColumn, Filter, Range};
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::time::Millis;

/// The error of a field whose value the writer must not learn.
pub(crate) const HIDDEN_ERROR: &str = "its value is not accepted at the moment; only tokens with `preview` see why";

/// The visibility of a blueprint's resources for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// No resources.
    Nothing,
    /// The published resources.
    Published,
    /// The resources published at this moment or before. A future publication is a draft until its date (`API.md` 3.5).
    PublishedBy(Millis),
    /// All resources, including drafts.
    Drafts,
}

impl Visibility {
    /// The visibility for the token in a state whose last transaction has the time `now`.
    pub(crate) fn of(access: &Access, blueprint: &Blueprint, now: Millis) -> Visibility {
        if !access.sees(&blueprint.slug) || !access.may(Ability::View) {
            Visibility::Nothing
        } else if access.may(Ability::Preview) {
            Visibility::Drafts
        } else {
            Visibility::of_the_public(blueprint, now)
        }
    }

    /// The visibility for every reader of the blueprint in such a state.
    fn of_the_public(blueprint: &Blueprint, now: Millis) -> Visibility {
        match blueprint.kind {
            // A singular resource is served to every reader, even as a draft (`API.md` 2.3).
            BlueprintKind::Singular => Visibility::Drafts,
            _ if blueprint.scheduled => Visibility::PublishedBy(now),
            _ => Visibility::Published,
        }
    }

    /// Returns the visibility that decides which other resources the answer to a write names. `manage` may read
    /// everything, as it may download a backup.
    pub(crate) fn of_writer(access: &Access, blueprint: &Blueprint, now: Millis) -> Visibility {
        if access.may(Ability::Manage) { Visibility::Drafts } else { Visibility::of(access, blueprint, now) }
    }

    /// Returns whether a resource with this publication date is visible.
    pub(crate) fn shows(self, published: Option<Millis>) -> bool {
        match self {
            Visibility::Nothing => false,
            Visibility::Published => published.is_some(),
            Visibility::PublishedBy(now) => published.is_some_and(|published| published <= now),
            Visibility::Drafts => true,
        }
    }

    /// Returns the filter that matches the visible resources.
    pub(crate) fn filter(self) -> Filter {
        match self {
            Visibility::Nothing => Filter::Nothing,
            Visibility::Published => Filter::Not(Box::new(Filter::Draft)),
            Visibility::PublishedBy(now) => {
                Filter::Date(DateColumn::Published, Range { from: None, to: Some(Bound::Included(now)) })
            }
            Visibility::Drafts => Filter::All,
        }
    }

    /// Returns a filter that was restricted to the visible resources, restricted to what another visibility shows.
    /// `None` if it was not restricted.
    pub(crate) fn exchange(self, other: Visibility, restricted: &Filter) -> Option<Filter> {
        let seen = self.filter();
        match restricted {
            filter if *filter == seen => Some(other.filter()),
            Filter::And(filters) => match &filters[..] {
                [first, rest @ ..] if *first == seen => {
                    Some(Filter::And([other.filter()].into_iter().chain(rest.iter().cloned()).collect()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Restricts a filter to the visible resources.
    pub(crate) fn restrict(self, filter: Filter) -> Filter {
        match (self.filter(), filter) {
            (Filter::All, filter) | (filter, Filter::All) => filter,
            (seen, filter) => Filter::And(vec![seen, filter]),
        }
    }
}

/// Returns whether a token may learn values that no reader without `preview` sees: those of working copies, revisions
/// and the trash.
pub(crate) fn may_learn_values(access: &Access) -> bool {
    [Ability::Preview, Ability::Manage].into_iter().any(|ability| access.may(ability))
}

/// Returns whether readers without `preview` see a resource with this publication date at that moment.
pub(crate) fn is_public(blueprint: &Blueprint, published: Option<Millis>, now: Millis) -> bool {
    Visibility::of_the_public(blueprint, now).shows(published)
}

/// Returns whether a relation may name a resource with this publication date. If not, the answer is the same as for a
/// resource that does not exist. A token that may write to drafts can find out anyway which drafts exist, so it may
/// relate to them.
pub(crate) fn may_relate_to(access: &Access, blueprint: &Blueprint, published: Option<Millis>, now: Millis) -> bool {
    let writes = [Ability::Update, Ability::Delete, Ability::Publish];
    let is_public = Visibility::of_the_public(blueprint, now).shows(published);
    let may_address = is_public || writes.into_iter().any(|ability| access.may(ability));
    Visibility::of_writer(access, blueprint, now).shows(published) || access.sees(&blueprint.slug) && may_address
}
