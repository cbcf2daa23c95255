//! Sorts the writes of a transaction by their kinds. Reads keys and records, changes nothing.

use std::collections::{BTreeMap, HashMap};

use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Counter, Key, KeyText, StoreWrite, WriteOp};

use crate::data::changes::ChangeGroup;
use crate::data::format::check_format;
use crate::data::leader::Leader;
use crate::data::records::{Meta, decode_id};
use crate::data::version::{decode_epoch, decode_first_change, decode_list_version, decode_time};

/// The effects of the writes of one transaction, by kind.
#[derive(Default)]
pub(super) struct Effects<'a> {
    /// The blueprints, by number.
    pub(super) blueprints: BTreeMap<u32, BlueprintEffect<'a>>,
    /// The resources in the order of the writes, with the number of their blueprint.
    pub(super) resources: Vec<(u32, ResourceId, ResourceEffect)>,
    /// The new versions of lists: the blueprint, whether those of the public are meant, and the version.
    pub(super) list_versions: Vec<(u32, bool, u64)>,
    /// The new versions of the working copies of blueprints.
    pub(super) working_versions: Vec<(u32, u64)>,
    /// The keys of moments at which working copies are to be published, each with whether it is added or removed.
    pub(super) working_due: Vec<(Key, bool)>,
    /// The tokens, by id; `None` for a revoked token.
    pub(super) tokens: Vec<(String, Option<&'a [u8]>)>,
    /// The members, by id; `None` for a deleted member.
    pub(super) members: Vec<(u64, Option<&'a [u8]>)>,
    /// The webhooks, by id; `None` for a deleted webhook.
    pub(super) webhooks: Vec<(String, Option<&'a [u8]>)>,
    /// The synonyms, by id; `None` for deleted ones.
    pub(super) synonyms: Vec<(String, Option<&'a [u8]>)>,
    /// The rules of ranked search, by id; `None` for a deleted rule.
    pub(super) search_rules: Vec<(String, Option<&'a [u8]>)>,
    /// The views, by id; `None` for a deleted view.
    pub(super) views: Vec<(String, Option<&'a [u8]>)>,
    /// The effects on the sign-in of members, in order.
    pub(super) accounts: Vec<AccountEffect<'a>>,
    /// The id that was given last, if one was given.
    pub(super) last_id: Option<ResourceId>,
    /// The time of the transaction.
    pub(super) last_time: Millis,
    /// The node that begins to lead.
    pub(super) leader: Option<Leader>,
    /// The epoch that begins.
    pub(super) epoch: Option<u64>,
    /// The number that the changes of the epoch begin with.
    pub(super) first_change: Option<u64>,
    /// The changes for the feed.
    pub(super) changes: Vec<ChangeGroup>,
    copies: HashMap<(u32, ResourceId), Vec<WrittenCopy<'a>>>,
}

struct WrittenCopy<'a> {
    variant: u16,
    number: u64,
    bytes: &'a [u8],
}

/// An effect on a password, an invitation or a session; `None` is removed.
pub(super) enum AccountEffect<'a> {
    Password(u64, Option<&'a [u8]>),
    Invitation(u64, Option<&'a [u8]>),
    /// The session, by its id.
    Session(&'a str, Option<&'a [u8]>),
}

/// An effect on a blueprint and on the record of its change.
#[derive(Default)]
pub(super) struct BlueprintEffect<'a> {
    pub(super) blueprint: RecordEffect<'a>,
    pub(super) change: RecordEffect<'a>,
}

/// An effect on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RecordEffect<'a> {
    /// The record stays.
    #[default]
    Untouched,
    /// The record is deleted.
    Deleted,
    /// The record gets this value.
    Put(&'a [u8]),
}

/// An effect on a resource.
pub(super) enum ResourceEffect {
    /// The resource is created or changed.
    Put(Meta),
    /// The resource is deleted.
    Deleted,
    /// Its index columns are filled; the resource stays the same.
    Reindex,
}

impl<'a> RecordEffect<'a> {
    fn of(value: Option<&'a [u8]>) -> RecordEffect<'a> {
        value.map_or(RecordEffect::Deleted, RecordEffect::Put)
    }
}

impl BlueprintEffect<'_> {
    pub(super) fn is_deleted(&self) -> bool {
        self.blueprint == RecordEffect::Deleted
    }
}

impl<'a> Effects<'a> {
    /// Sorts out writes.
    ///
    /// # Errors
    /// `INTERNAL` for malformed records.
    pub(super) fn of(writes: &'a [StoreWrite]) -> Result<Effects<'a>> {
        let mut effects = Effects::default();
        for write in writes {
            let value = match &write.op {
                WriteOp::Put(value) => Some(value.as_slice()),
                WriteOp::Delete | WriteOp::Reindex => None,
            };
            match (&write.key, value) {
                (Key::Blueprint(number), value) => {
                    effects.blueprints.entry(*number).or_default().blueprint = RecordEffect::of(value);
                }
                (Key::BlueprintChange(number), value) => {
                    effects.blueprints.entry(*number).or_default().change = RecordEffect::of(value);
                }
                (Key::ListVersion { blueprint, is_public }, Some(version)) => {
                    effects.list_versions.push((*blueprint, *is_public, decode_list_version(version)?));
                }
                (Key::WorkingVersion(blueprint), Some(version)) => {
                    effects.working_versions.push((*blueprint, decode_list_version(version)?));
                }
                (Key::WorkingDue { .. }, value) => effects.working_due.push((write.key.clone(), value.is_some())),
                (Key::Resource { blueprint, id }, _) => {
                    effects.resources.push((*blueprint, *id, resource_effect(&write.op)?));
                }
                (Key::Copy { blueprint, id, variant, number }, Some(bytes)) => {
                    let copy = WrittenCopy { variant: *variant, number: *number, bytes };
                    effects.copies.entry((*blueprint, *id)).or_default().push(copy);
                }
                (Key::Token(id), value) => effects.tokens.push((plain(id, "a token")?.to_owned(), value)),
                (Key::Webhook(id), value) => effects.webhooks.push((plain(id, "a webhook")?.to_owned(), value)),
                (Key::View(id), value) => effects.views.push((plain(id, "a view")?.to_owned(), value)),
                (Key::Synonym(id), value) => effects.synonyms.push((plain(id, "synonyms")?.to_owned(), value)),
                (Key::SearchRule(id), value) => {
                    effects.search_rules.push((plain(id, "a search rule")?.to_owned(), value));
                }
                (Key::Member(id), value) => effects.members.push((*id, value)),
                (Key::Password(member), value) => effects.accounts.push(AccountEffect::Password(*member, value)),
                (Key::Invitation(member), value) => effects.accounts.push(AccountEffect::Invitation(*member, value)),
                (Key::Session(id), value) => {
                    effects.accounts.push(AccountEffect::Session(plain(id, "a session")?, value));
                }
                (Key::Counter(Counter::Resource), Some(id)) => effects.last_id = Some(decode_id(id)?),
                (Key::Counter(Counter::Time), Some(time)) => effects.last_time = decode_time(time)?,
                (Key::Counter(Counter::Epoch), Some(epoch)) => effects.epoch = Some(decode_epoch(epoch)?),
                (Key::Counter(Counter::Leader), Some(leader)) => effects.leader = Some(Leader::decode(leader)?),
                (Key::Counter(Counter::Format), Some(format)) => check_format(format)?,
                (Key::Counter(Counter::FirstChange), Some(number)) => {
                    effects.first_change = Some(decode_first_change(number)?);
                }
                (Key::Changes(_), Some(group)) => effects.changes.push(ChangeGroup::decode(group)?),
                // These keys concern only the store.
                (
                    Key::Counter(_)
                    | Key::Copy { .. }
                    | Key::Trashed { .. }
                    | Key::TrashOrder { .. }
                    | Key::TrashTotal(_)
                    | Key::History { .. }
                    | Key::Revision { .. }
                    | Key::FormerCopy { .. }
                    | Key::Superseded(_)
                    | Key::ListVersion { .. }
                    | Key::WorkingVersion(_)
                    | Key::Singular(_)
                    | Key::ImportKey { .. }
                    | Key::FormerImportKey { .. }
                    | Key::Unique { .. }
                    | Key::Idempotency { .. }
                    | Key::Changes(_)
                    | Key::WebhookProgress(_)
                    | Key::MediaUser { .. }
                    | Key::FileOwner { .. }
                    | Key::FileRemoval(_),
                    _,
                ) => {}
            }
        }
        Ok(effects)
    }

    /// Returns the copies of a resource that are written: variant, number and record.
    pub(super) fn copies_of(&self, blueprint: u32, id: ResourceId) -> impl Iterator<Item = (u16, u64, &'a [u8])> {
        let copies = self.copies.get(&(blueprint, id)).into_iter().flatten();
        copies.map(|copy| (copy.variant, copy.number, copy.bytes))
    }
}

/// Returns the id in a key of `what`.
///
/// # Errors
/// `INTERNAL` for an id that is too long.
fn plain<'a>(id: &'a KeyText, what: &str) -> Result<&'a str> {
    id.plain().ok_or_else(|| Error::internal(format!("{what} with an id that is too long")))
}

/// Returns the effect of a write of a resource's meta record.
///
/// # Errors
/// `INTERNAL` for a malformed record.
pub(super) fn resource_effect(op: &WriteOp) -> Result<ResourceEffect> {
    match op {
        WriteOp::Put(meta) => Ok(ResourceEffect::Put(Meta::decode(meta).map_err(Error::internal)?)),
        WriteOp::Delete => Ok(ResourceEffect::Deleted),
        WriteOp::Reindex => Ok(ResourceEffect::Reindex),
    }
}

/// Returns whether a write deletes a version of a copy that older snapshots may need.
pub(super) fn supersedes(write: &StoreWrite) -> bool {
    matches!(write.key, Key::Copy { .. }) && write.op == WriteOp::Delete
}

/// Returns whether a write may change the import key of a resource. Most transactions have no such write, so the search
/// for replaced keys is skipped.
pub(super) fn may_change_import_keys(write: &StoreWrite) -> bool {
    match write.key {
        Key::ImportKey { .. } => true,
        Key::Resource { .. } => write.op == WriteOp::Delete,
        _ => false,
    }
}
