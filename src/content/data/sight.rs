//! What a token may see of a blueprint's resources, and what it may learn of the others by writing (`API.md` 5.4, 5.7).

use crate::access::Access;
use crate::model::ability::Ability;
use crate::model::blueprint::{Blueprint, BlueprintKind};
use crate::model::time::Millis;

/// Which resources of a blueprint a token sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sight {
    /// None.
    Nothing,
    /// Published ones.
    Published,
    /// Drafts too.
    Drafts,
}

impl Sight {
    /// What the token may read.
    pub(crate) fn of(access: &Access, blueprint: &Blueprint) -> Sight {
        // A singular resource is served to every reader, even as a draft (`API.md` 2.3).
        let is_singular = blueprint.kind == BlueprintKind::Singular;
        if !access.sees(&blueprint.slug) || !access.may(Ability::View) {
            Sight::Nothing
        } else if access.may(Ability::Preview) || is_singular {
            Sight::Drafts
        } else {
            Sight::Published
        }
    }

    /// Whether a resource with this publication date is among them.
    pub(crate) fn shows(self, published: Option<Millis>) -> bool {
        match self {
            Sight::Nothing => false,
            Sight::Published => published.is_some(),
            Sight::Drafts => true,
        }
    }
}

/// Whether an answer to a write may name or show a resource with this publication date. `manage` may read everything, in
/// a backup.
pub(crate) fn may_learn_of(access: &Access, blueprint: &Blueprint, published: Option<Millis>) -> bool {
    access.may(Ability::Manage) || Sight::of(access, blueprint).shows(published)
}

/// Whether a relation may name a resource with this publication date. If it may not, the answer is that of a resource
/// that does not exist. A token that may write to drafts can find out which exist anyway, and may relate to them.
pub(crate) fn may_relate_to(access: &Access, blueprint: &Blueprint, published: Option<Millis>) -> bool {
    let writes = [Ability::Update, Ability::Delete, Ability::Publish];
    let is_public = published.is_some() || blueprint.kind == BlueprintKind::Singular;
    let may_address = is_public || writes.into_iter().any(|ability| access.may(ability));
    may_learn_of(access, blueprint, published) || access.sees(&blueprint.slug) && may_address
}
