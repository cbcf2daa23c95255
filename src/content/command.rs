//! What the committer is asked to do, and what it answers.
//!
//! A command is prepared on the caller's thread (parsed, checked, sanitised) against a blueprint revision; what it
//! leaves open depends on the state and is decided by the committer.

use std::sync::Arc;

use serde_json::Value;

use crate::access::{NewToken, Token};
use crate::content::change::Carried;
use crate::content::record::Meta;
use crate::model::blueprint::{Blueprint, Definition};
use crate::model::error::Error;
use crate::model::id::ResourceId;
use crate::model::time::Millis;

/// One transaction.
#[derive(Debug)]
pub(crate) enum Command {
    /// Changes of resources of one blueprint.
    Write(Write),
    /// A new blueprint.
    CreateBlueprint(Definition),
    /// A changed blueprint. Answered when it is in force.
    ReplaceBlueprint {
        /// Which.
        slug: String,
        /// What it shall be.
        draft: Definition,
        /// Whether variants that hold values may go.
        force: bool,
    },
    /// What the change of a blueprint needs of some of its resources.
    CarryChange {
        /// The blueprint's number.
        blueprint: u32,
        /// The resources.
        carried: Vec<Carried>,
    },
    /// The change of a blueprint comes into force.
    FinishChange {
        /// The blueprint's number.
        blueprint: u32,
    },
    /// The change of a blueprint does not come into force.
    DropChange {
        /// The blueprint's number.
        blueprint: u32,
    },
    /// A blueprint's end.
    DeleteBlueprint {
        /// Which.
        slug: String,
        /// Whether resources and relations stand against it.
        force: bool,
    },
    /// A new token.
    CreateToken(NewToken),
    /// A token's end.
    RevokeToken(String),
    /// A new member.
    CreateMember(crate::access::NewMember),
    /// A changed member.
    ChangeMember(u64, crate::access::MemberPatch),
    /// A member's end.
    DeleteMember(u64),
    /// Changes nothing: its answer says that what was decided before it is visible.
    Wait,
    /// Writes a checkpoint of store and index; answered when the index is frozen.
    Checkpoint,
}

/// Changes of resources of one blueprint, decided one after another and applied together.
#[derive(Debug)]
pub(crate) struct Write {
    /// The blueprint that the items were prepared against. At another revision the command comes back.
    pub(crate) blueprint: Arc<Blueprint>,
    /// What to do, in order.
    pub(crate) items: Vec<Item>,
}

/// One change of one resource.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// A new resource.
    Create {
        /// Its one copy, complete.
        copy: CopyDraft,
        /// `None` makes a draft.
        published: Option<Millis>,
    },
    /// A changed resource.
    Update {
        /// Which.
        id: ResourceId,
        /// The copy that is written, if one is.
        copy: Option<CopyDraft>,
        /// What becomes of the publication date.
        published: Publication,
        /// Whether a change between draft and published is allowed.
        may_publish: bool,
        /// The versions of which the resource must have one.
        if_match: Option<IfMatch>,
        /// What stands against the item as a whole, told where the resource is there.
        refusal: Option<Error>,
        /// Faults of the body beside those of `copy`.
        faults: Faults,
    },
    /// A resource's end.
    Delete {
        /// Which.
        id: ResourceId,
        /// The versions of which the resource must have one.
        if_match: Option<IfMatch>,
    },
    /// What an import brings.
    Import(ImportItem),
    /// Did not pass preparation: it keeps its place in the answer.
    Refused(Error),
}

/// Whole copies of a resource, under a key or an id.
#[derive(Debug, Clone)]
pub(crate) struct ImportItem {
    /// The key that names the resource from now on.
    pub(crate) key: Option<String>,
    /// The id that names it.
    pub(crate) id: Option<ResourceId>,
    /// The copies that are written, each complete.
    pub(crate) copies: Vec<CopyDraft>,
    /// What becomes of the publication date.
    pub(crate) published: Publication,
    /// When it was created, where the import says so.
    pub(crate) created: Option<Millis>,
    /// When it was last changed, where the import says so.
    pub(crate) updated: Option<Millis>,
    /// What becomes of a relation to a resource that is not there.
    pub(crate) missing: Missing,
}

/// What becomes of an import's relation to a resource that is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The item comes back: a later line may bring it.
    Wait,
    /// Another item of the same command may bring it; else it is a fault.
    Refuse,
}

/// The faults of named fields.
pub(crate) type Faults = crate::model::error::FieldErrors;

/// The entity tags of an `If-Match`, as pairs of resource version and blueprint revision.
pub(crate) type IfMatch = Vec<(u64, u64)>;

/// The values of a copy that is written, checked and sanitised.
#[derive(Debug, Clone)]
pub(crate) struct CopyDraft {
    /// The variant's number.
    pub(crate) variant: u16,
    /// Whether fields that are not named become null.
    pub(crate) extent: Extent,
    /// Values by the field's place in the blueprint.
    pub(crate) values: Vec<(usize, Value)>,
    /// What the index takes of `values`; made on the caller's thread.
    pub(crate) entry: Vec<(bindery_index::ColumnId, bindery_index::Value)>,
    /// What is wrong with the attributes; told together with what the state shows.
    pub(crate) faults: Faults,
}

/// How much of a copy is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it: what is not named becomes null.
    Whole,
    /// What is named; the rest stays.
    Partial,
}

/// What becomes of a publication date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publication {
    /// It stays.
    Keep,
    /// It goes: the resource is a draft.
    Draft,
    /// It is this.
    At(Millis),
    /// It is the moment of the change, if there is none.
    Now,
}

impl Publication {
    /// The date after a change at `now`.
    pub(crate) fn apply(self, current: Option<Millis>, now: Millis) -> Option<Millis> {
        match self {
            Publication::Keep => current,
            Publication::Draft => None,
            Publication::At(date) => Some(date),
            Publication::Now => current.or(Some(now)),
        }
    }
}

/// What the committer answers to a command.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// For [`Command::Write`]: one result an item.
    Written(Vec<ItemOutcome>),
    /// The answer that was worded and kept for a request with a key, now or before.
    Kept(Vec<u8>),
    /// The command was prepared against a revision that is no longer in force: prepare it again.
    Stale,
    /// The blueprint as it is now.
    Blueprint(Arc<Blueprint>),
    /// The token with its secret.
    TokenCreated(Token, String),
    /// The member as it is now.
    Member(crate::access::Member),
    /// Nothing more to say.
    Done,
}

/// What a blueprint's replacement would do.
#[derive(Debug)]
pub(crate) struct BlueprintPlan {
    /// The changes, in order.
    pub(crate) changes: Vec<crate::model::blueprint::Difference>,
    /// How many resources lose a value, by field.
    pub(crate) loses: Vec<(String, u64)>,
    /// The resources that stand against it.
    pub(crate) conflicts: crate::model::error::Conflict,
}

/// What became of an item.
#[derive(Debug)]
pub(crate) enum ItemOutcome {
    /// It is done.
    Done(Written),
    /// It left no trace.
    Failed(Error),
    /// It waits for what a later line may bring, and comes back for another try.
    Waiting(Box<ImportItem>),
}

/// A change that is done.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// The resource.
    pub(crate) id: ResourceId,
    /// What happened.
    pub(crate) effect: Effect,
    /// The resource after it; of a deleted one, before it.
    pub(crate) meta: Meta,
}

/// What happened to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It is new.
    Created,
    /// It was changed, or stayed as it was.
    Updated,
    /// It is gone.
    Deleted,
}
