//! The commands of the committer and its answers: data only.
//!
//! A command is prepared on the caller's thread (parsed, checked, sanitized) against one revision of the blueprint. The
//! committer decides everything that depends on the state. It may decide a command more than once, because another
//! process may append to the log first, so a command is only read, never consumed.

mod account;

use std::sync::Arc;

use bindery_access::{Access, Invitation, Member, MemberPatch, NewMember, NewToken, Session, Token};
use bindery_model::blueprint::{Blueprint, Definition};
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_model::value::FieldRemovals;
use bindery_query::CopyKind;
use bindery_store::Key;
use serde_json::{Map, Value};

use crate::data::blueprint_change::{Backfill, BlueprintChange, ChangeId};
use crate::data::files::FileHash;
use crate::data::index_mapping::Columns;
use crate::data::kept_answer::IdempotentRequest;
use crate::data::leader::Leader;
use crate::data::lookup::Lookup;
use crate::data::records::Meta;
use crate::data::saved_view::{NewView, SavedView, ViewPatch};
use crate::data::version::IfMatch;
use crate::data::waiting_names::WaitingNames;
use crate::data::webhook::{Webhook, WebhookPatch};

pub(crate) use account::AccountCommand;

/// A command of a caller to the committer. Most commands become one transaction.
#[derive(Debug)]
pub(crate) enum Command {
    /// Writes resources of one blueprint.
    Write(Write),
    /// Creates a blueprint.
    CreateBlueprint(Definition),
    /// Changes a blueprint. Answered when the change is in force.
    ReplaceBlueprint {
        /// The blueprint's slug.
        slug: String,
        /// Its new definition.
        definition: Definition,
        /// True if variants that hold values may be removed.
        force: bool,
    },
    /// Stores the data of some resources that a blueprint change needs.
    Backfill {
        /// The change.
        change: ChangeId,
        /// The data of each resource.
        resources: Arc<Vec<Backfill>>,
    },
    /// Brings the change of a blueprint into force.
    FinishChange(ChangeId),
    /// Gives up the change of a blueprint.
    DropChange(ChangeId),
    /// Deletes a blueprint.
    DeleteBlueprint {
        /// The blueprint's slug.
        slug: String,
        /// True if it may have resources or be related to.
        force: bool,
    },
    /// Creates a token.
    CreateToken(NewToken),
    /// Revokes the token of that id.
    RevokeToken(String),
    /// Notes that the token of that id is used.
    NoteTokenUse(String),
    /// Creates a member.
    CreateMember(NewMember),
    /// Changes the member of that id.
    ChangeMember(u64, MemberPatch),
    /// Deletes the member of that id.
    DeleteMember(u64),
    /// Saves a view of the member of that id.
    CreateView(u64, NewView),
    /// Changes the view of that id.
    ChangeView(String, ViewPatch),
    /// Deletes the view of that id.
    DeleteView(String),
    /// Creates, changes or deletes synonyms or a rule of ranked search.
    Steer(SteeringCommand),
    /// Creates a webhook.
    CreateWebhook(WebhookPatch),
    /// Changes the webhook of that id.
    ChangeWebhook(String, WebhookPatch),
    /// Deletes the webhook of that id.
    DeleteWebhook(String),
    /// Stores the delivery progress of webhooks, by their ids.
    SaveWebhookProgress {
        /// The term under which the sender has read the progress before.
        term: u64,
        /// The id of a webhook, the number of a part, and its stored form.
        parts: Vec<(String, usize, Vec<u8>)>,
    },
    /// Changes the sign-in of a member.
    Account(AccountCommand),
    /// Makes a node the leader of the cluster.
    Lead(Leader),
    /// Marks those of some files as being removed that no resource and no revision names.
    CondemnFiles(Vec<FileHash>),
    /// Removes the marks of files that were removed.
    ForgetRemovals(Vec<FileHash>),
    /// Removes those of some notes of uses of media that are not true any more.
    ForgetUses(Vec<Key>),
    /// Changes nothing, but its answer may be kept. Answered when everything that was decided before is visible.
    Wait,
    /// Writes a checkpoint of store and index. Answered when it is on disk.
    Checkpoint,
}

/// The two things that steer ranked search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteeringKind {
    /// Synonyms.
    Synonym,
    /// Rules.
    Rule,
}

/// A command on synonyms or rules. The bodies are objects; what they hold is decided against the state.
#[derive(Debug)]
pub(crate) enum SteeringCommand {
    /// Creates one from a body.
    Create(SteeringKind, Map<String, Value>),
    /// Changes one.
    Change {
        /// The kind.
        kind: SteeringKind,
        /// The id.
        id: String,
        /// The body.
        body: Map<String, Value>,
        /// True if keys that the body does not have get their defaults.
        is_whole: bool,
    },
    /// Deletes the one of that id.
    Delete(SteeringKind, String),
}

/// Writes of resources of one blueprint, decided one after another and applied together.
#[derive(Debug)]
pub(crate) struct Write {
    /// The blueprint that the items were prepared against. If another revision is in force, the command comes back as
    /// [`Outcome::Stale`].
    pub(crate) blueprint: Arc<Blueprint>,
    /// The steps, in order.
    pub(crate) items: Arc<Vec<Item>>,
    /// The treatment of imported items that relate to resources that do not exist.
    pub(crate) missing_targets: MissingTargets,
    /// The access of the writer. It decides which resources the errors may name.
    pub(crate) access: Access,
}

/// The treatment of an imported item that relates to a resource that does not exist.
#[derive(Debug)]
pub(crate) enum MissingTargets {
    /// It comes back as [`ItemOutcome::Waiting`]: a later line may bring the resource. So do later lines about its own
    /// resource: they must not be written before it.
    Wait {
        /// The names of the resources of earlier lines of the import that wait, by command.
        earlier: Vec<WaitingNames>,
        /// The names of the resources of items of this command that wait. The committer sets them, each time that it
        /// decides the command.
        own: WaitingNames,
    },
    /// Another item of the same write may bring the resource; otherwise the item fails.
    Refuse,
}

/// One write of one resource.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// Creates a resource.
    Create {
        /// The only copy of the resource, with all fields.
        copy: CopyDraft,
        /// The publication date; `None` for a draft.
        published: Option<Millis>,
        /// The key under which imports know the resource; no other may have it.
        key: Option<String>,
    },
    /// Changes a resource.
    Update(Box<Update>),
    /// Deletes a resource.
    Delete {
        /// The resource.
        id: ResourceId,
        /// The versions that it may be at.
        if_match: IfMatch,
    },
    /// Discards the working copy of a variant of a resource.
    DiscardWorkingCopy {
        /// The resource.
        id: ResourceId,
        /// The number of the variant.
        variant: u16,
        /// The versions that it may be at.
        if_match: IfMatch,
    },
    /// Makes working copies live, plans that, or takes a plan back.
    PublishWorkingCopies(Box<WorkingPublication>),
    /// Notes that the first plan for a moment to publish working copies of a resource failed.
    NoteFailedPublication {
        /// The resource.
        id: ResourceId,
        /// The moment for which it was planned.
        at: Millis,
        /// The reason.
        error: Error,
    },
    /// Brings a resource back from the trash.
    Restore(Box<Restoration>),
    /// Removes the resource of that id from the trash for good.
    Purge(ResourceId),
    /// Removes the history of the resource of that id.
    DeleteHistory(ResourceId),
    /// Creates or updates a resource from a line of an import.
    Import(ImportItem),
    /// Failed during preparation. It keeps its position in the answer.
    Refused(Error),
}

impl Item {
    /// Returns the parts that sanitizing removed from its values.
    pub(crate) fn sanitized(&self) -> FieldRemovals {
        let copies = match self {
            Item::Create { copy, .. } => std::slice::from_ref(copy),
            Item::Update(update) => update.copy.as_slice(),
            Item::Import(item) => &item.copies,
            Item::Delete { .. }
            | Item::DiscardWorkingCopy { .. }
            | Item::PublishWorkingCopies(_)
            | Item::NoteFailedPublication { .. }
            | Item::Restore(_)
            | Item::Purge(_)
            | Item::DeleteHistory(_)
            | Item::Refused(_) => &[],
        };
        let mut sanitized = FieldRemovals::default();
        copies.iter().for_each(|copy| sanitized.add(&copy.sanitized));
        sanitized
    }
}

/// A change of a resource.
#[derive(Debug, Clone)]
pub(crate) struct Update {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The copy that is written, if one is.
    pub(crate) copy: Option<CopyDraft>,
    /// The change of the publication date.
    pub(crate) published: Publication,
    /// True if the token may change between draft and published.
    pub(crate) may_publish: bool,
    /// The versions at which the resource may be updated.
    pub(crate) if_match: IfMatch,
    /// True if it brings back values of a revision.
    pub(crate) restores: bool,
    /// The variant whose working copy is written; `None` for a write of live copies.
    pub(crate) working_variant: Option<u16>,
    /// The reason why the update as a whole is refused. It is reported only if the resource exists.
    pub(crate) refusal: Option<Error>,
    /// Errors of the body apart from those of `copy`.
    pub(crate) errors: FieldErrors,
}

/// A publication of working copies of one resource.
#[derive(Debug, Clone)]
pub(crate) struct WorkingPublication {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The numbers of the variants; `None` for all that have a working copy.
    pub(crate) variants: Option<Vec<u16>>,
    /// The moment of the publication.
    pub(crate) moment: PublicationMoment,
    /// The publication date that the resource gets; `None` keeps the present one, or sets it to the moment.
    pub(crate) published: Option<Millis>,
    /// True if values are overwritten that were changed in the live copy meanwhile.
    pub(crate) force: bool,
    /// The versions that the resource may be at.
    pub(crate) if_match: IfMatch,
    /// The reason why the publication as a whole is refused. It is reported only if the resource exists.
    pub(crate) refusal: Option<Error>,
}

/// The moment at which working copies become live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublicationMoment {
    /// Now.
    Now,
    /// At this moment, or now if it is over.
    At(Millis),
    /// At no moment: what was planned is taken back.
    Never,
    /// At this moment, which has come: the first plan for it is carried out.
    Planned(Millis),
}

impl PublicationMoment {
    /// Returns whether a request with this moment publishes at once.
    pub(crate) fn is_now(self, now: Millis) -> bool {
        match self {
            PublicationMoment::Now => true,
            PublicationMoment::At(at) => at <= now,
            PublicationMoment::Never | PublicationMoment::Planned(_) => false,
        }
    }
}

/// A resource that comes back from the trash.
#[derive(Debug, Clone)]
pub(crate) struct Restoration {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The version of the meta record in the trash that the copies come from.
    pub(crate) version: u64,
    /// Its copies of the variants that the blueprint has, each complete, checked against today's fields.
    pub(crate) copies: Vec<CopyDraft>,
    /// True if it becomes a draft; otherwise it keeps its publication date. An error of the body is reported only if
    /// there is no conflict.
    pub(crate) as_draft: Result<bool>,
}

/// Whole copies of a resource, under a key or an id.
#[derive(Debug, Clone)]
pub(crate) struct ImportItem {
    /// The key under which imports know the resource from now on.
    pub(crate) key: Option<String>,
    /// The resource's id.
    pub(crate) id: Option<ResourceId>,
    /// The copies that are written, each complete.
    pub(crate) copies: Vec<CopyDraft>,
    /// The change of the publication date.
    pub(crate) published: Publication,
    /// The creation date, if the line has one.
    pub(crate) created: Option<Millis>,
    /// The date of the last change, if the line has one.
    pub(crate) updated: Option<Millis>,
}

/// The values of a copy that is written, checked and sanitized.
#[derive(Debug, Clone)]
pub(crate) struct CopyDraft {
    /// The variant's number.
    pub(crate) variant: u16,
    /// The extent of the write: with `PUT`, fields that are not named become null.
    pub(crate) extent: Extent,
    /// The values of named fields.
    pub(crate) values: Vec<WrittenValue>,
    /// The index columns of `values`, computed on the caller's thread.
    pub(crate) columns: Columns,
    /// Errors of the attributes. Reported together with those that depend on the state.
    pub(crate) errors: FieldErrors,
    /// The parts that sanitizing removed from the attributes.
    pub(crate) sanitized: FieldRemovals,
    /// The treatment of values of system fields.
    pub(crate) system: SystemValues,
}

/// The treatment of values for the system fields of a media resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemValues {
    /// A client sent them: only the focal point may change.
    Sent,
    /// The resource keeps its file, and gets the focal point if that belongs to this file.
    KeepFile,
    /// They become those of the resource.
    Set,
    /// Like [`SystemValues::Set`], and the copy has no other values. So required fields are not checked.
    SetAlone,
}

/// A value for a field.
#[derive(Debug, Clone)]
pub(crate) struct WrittenValue {
    /// The field's position in the blueprint.
    pub(crate) position: usize,
    /// The value.
    pub(crate) value: Value,
}

/// The extent to which a copy is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All fields: those that are not named become null.
    Whole,
    /// The named fields; the others stay.
    Partial,
}

/// A change of a publication date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publication {
    /// The date stays.
    Keep,
    /// The date is removed: the resource becomes a draft.
    Draft,
    /// The date becomes this one.
    At(Millis),
    /// The date becomes the moment of the write, if there is none yet.
    Now,
}

impl Publication {
    /// Returns the date after a write at `now`.
    pub(crate) fn apply(self, current: Option<Millis>, now: Millis) -> Option<Millis> {
        match self {
            Publication::Keep => current,
            Publication::Draft => None,
            Publication::At(date) => Some(date),
            Publication::Now => current.or(Some(now)),
        }
    }
}

/// The answer of the committer to a command.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The answer to [`Command::Write`]: one outcome per item.
    Written(Vec<ItemOutcome>),
    /// The answer that is kept for a request with an `Idempotency-Key`, from this command or an earlier one.
    Kept(Vec<u8>),
    /// The command was prepared against a revision that is no longer in force. Prepare it again.
    Stale,
    /// The current blueprint.
    Blueprint(Arc<Blueprint>),
    /// The blueprint change has begun. Only the committer sees this; the caller is answered when the change is over.
    ChangeBegun(Arc<BlueprintChange>),
    /// The token with its secret.
    TokenCreated(Token, String),
    /// The current member.
    Member(Member),
    /// The current webhook.
    Webhook(Webhook),
    /// The current view.
    View(Arc<SavedView>),
    /// The current synonyms or rule, as they are answered.
    Steering(Value),
    /// The session with its secret.
    SignedIn(Session, String),
    /// The invitation with its secret.
    Invited(Invitation, String),
    /// The files that are being removed now.
    CondemnedFiles(Vec<FileHash>),
    /// The answer to a command without a result.
    Done,
}

/// The outcome of an item.
#[derive(Debug)]
pub(crate) enum ItemOutcome {
    /// The item was applied.
    Written(Box<WrittenResource>),
    /// The item failed and changed nothing.
    Failed(Error),
    /// The item relates to a resource that a later line may bring, or is about the resource of an earlier item that
    /// waits. It must be submitted again. Contains the names of its resource.
    Waiting(Vec<String>),
}

/// An item that was applied.
#[derive(Debug, Clone)]
pub(crate) struct WrittenResource {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The effect on the resource.
    pub(crate) effect: Effect,
    /// The resource's meta record afterwards; for a deleted resource, the last one.
    pub(crate) meta: Meta,
    /// The meta record of an updated resource before the update.
    pub(crate) before: Option<Meta>,
    /// The copy that was written.
    pub(crate) copy_kind: CopyKind,
    /// The problems that publishing the working copy would have at the moment; only after a write of one.
    pub(crate) not_ready: Map<String, Value>,
}

impl WrittenResource {
    /// Returns the result of a write of a live resource.
    pub(crate) fn live(id: ResourceId, effect: Effect, meta: Meta, before: Option<Meta>) -> WrittenResource {
        WrittenResource { id, effect, meta, before, copy_kind: CopyKind::Live, not_ready: Map::new() }
    }
}

/// The effect on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The resource was created.
    Created,
    /// The resource was updated, or already had the requested values.
    Updated,
    /// The resource was deleted.
    Deleted,
}

impl Effect {
    /// Returns the name in an import's answer.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Effect::Created => "created",
            Effect::Updated => "updated",
            Effect::Deleted => "deleted",
        }
    }
}

impl Outcome {
    /// Returns the outcomes of a write's items.
    ///
    /// # Errors
    /// `INTERNAL` for an outcome of another command.
    pub(crate) fn items(&self) -> Result<&[ItemOutcome]> {
        match self {
            Outcome::Written(items) => Ok(items),
            _ => Err(Error::internal("a write with the outcome of another command")),
        }
    }
}

impl ItemOutcome {
    /// Returns the resource that was written.
    ///
    /// # Errors
    /// That of the item; `INTERNAL` for an item that waits, which only imports handle.
    pub(crate) fn written(&self) -> Result<&WrittenResource> {
        match self {
            ItemOutcome::Written(written) => Ok(written),
            ItemOutcome::Failed(error) => Err(error.clone()),
            ItemOutcome::Waiting(_) => Err(Error::internal("an item that waits, but is not imported line by line")),
        }
    }
}

/// Encodes the answer to a command, if it is one that is kept. Reads what the command wrote through the lookup.
pub(crate) type EncodeAnswer = dyn Fn(&Result<Outcome>, &dyn Lookup) -> Option<Vec<u8>> + Send;

/// An idempotent request: the committer keeps the answer in the transaction of the command.
pub(crate) struct KeepAnswer {
    /// The request.
    pub(crate) request: IdempotentRequest,
    /// The function that encodes the answer.
    pub(crate) encode: Box<EncodeAnswer>,
}

impl std::fmt::Debug for KeepAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeepAnswer").field("request", &self.request).finish_non_exhaustive()
    }
}
