//! The part of a blueprint's resources that a token may see, and what it may learn of the others by writing (`API.md` 5.4, 5.7).

use bindery_access::Access;
use bindery_index::{Bound, DateColumn, Filter, Range};
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::time::Millis;

/// Which resources of a blueprint a token sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// None.
    Nothing,
    /// Published ones.
    Published,
    /// Those published at this moment or before: a publication to come is a draft until then (`API.md` 3.5).
    PublishedBy(Millis),
    /// Drafts too.
    Drafts,
}

impl Sight {
    /// The visibility for the token in a state whose last transaction has the time `now`.
    pub(crate) fn of(access: &Access, blueprint: &Blueprint, now: Millis) -> Sight {
        if !access.sees(&blueprint.slug) || !access.may(Ability::View) {
            Sight::Nothing
        } else if access.may(Ability::Preview) {
            Sight::Drafts
        } else {
            Sight::of_the_public(blueprint, now)
        }
    }

    /// The visibility for every reader of the blueprint in such a state.
    fn of_the_public(blueprint: &Blueprint, now: Millis) -> Sight {
        match blueprint.kind {
            // A singular resource is served to every reader, even as a draft (`API.md` 2.3).
            BlueprintKind::Singular => Sight::Drafts,
            _ if blueprint.scheduled => Sight::PublishedBy(now),
            _ => Sight::Published,
        }
    }

    /// The visibility that an answer to a write has. `manage` may read everything, in a backup.
    pub(crate) fn of_writer(access: &Access, blueprint: &Blueprint, now: Millis) -> Sight {
        if access.may(Ability::Manage) { Sight::Drafts } else { Sight::of(access, blueprint, now) }
    }

    /// Tests whether a resource with this publication date is among them.
    pub(crate) fn shows(self, published: Option<Millis>) -> bool {
        match self {
            Sight::Nothing => false,
            Sight::Published => published.is_some(),
            Sight::PublishedBy(now) => published.is_some_and(|published| published <= now),
            Sight::Drafts => true,
        }
    }

    /// The filter that holds for them.
    pub(crate) fn filter(self) -> Filter {
        match self {
            Sight::Nothing => Filter::Nothing,
            Sight::Published => Filter::Not(Box::new(Filter::Draft)),
            Sight::PublishedBy(now) => {
                Filter::Date(DateColumn::Published, Range { from: None, to: Some(Bound::Included(now)) })
            }
            Sight::Drafts => Filter::All,
        }
    }

    /// The filter that holds for those of them that another filter holds for.
    pub(crate) fn restrict(self, filter: Filter) -> Filter {
        match (self.filter(), filter) {
            (Filter::All, filter) | (filter, Filter::All) => filter,
            (seen, filter) => Filter::And(vec![seen, filter]),
        }
    }
}

/// Tests whether readers without `preview` see a resource with this publication date at that moment.
pub(crate) fn is_public(blueprint: &Blueprint, published: Option<Millis>, now: Millis) -> bool {
    Sight::of_the_public(blueprint, now).shows(published)
}

/// Tests whether a relation may name a resource with this publication date. If it may not, the answer is that of a resource
/// that does not exist. A token that may write to drafts can find out which exist anyway, and may relate to them.
pub(crate) fn may_relate_to(access: &Access, blueprint: &Blueprint, published: Option<Millis>, now: Millis) -> bool {
    let writes = [Ability::Update, Ability::Delete, Ability::Publish];
    let is_public = Sight::of_the_public(blueprint, now).shows(published);
    let may_address = is_public || writes.into_iter().any(|ability| access.may(ability));
    Sight::of_writer(access, blueprint, now).shows(published) || access.sees(&blueprint.slug) && may_address
}
