//! The keys of the store: typed values for callers, short ordered bytes on disk.
//!
//! No key is a prefix of another one, so that each [`Prefix`] selects exactly one table or a part of it. Numbers are
//! big-endian, so the resources of a blueprint are ordered by id, and the copies of a resource are adjacent.

mod part;

use bindery_model::id::ResourceId;

pub use part::KeyText;
use part::{Parts, Rest};

use super::counter::Counter;

/// The key of one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// One of the server's counters.
    Counter(Counter),
    /// Versions that the transaction with that number superseded and readers may still need.
    Superseded(u64),
    /// A blueprint by number.
    Blueprint(u32),
    /// A blueprint change in progress, by the blueprint's number.
    BlueprintChange(u32),
    /// The number of the transaction that last changed the lists of a blueprint.
    ListVersion {
        /// The blueprint's number.
        blueprint: u32,
        /// True for the lists of readers without `preview`, false for those of all others.
        is_public: bool,
    },
    /// The number of the transaction that last changed a working copy of a blueprint.
    WorkingVersion(u32),
    /// The id of the only resource of a singular blueprint.
    Singular(u32),
    /// The meta record of a resource.
    Resource {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
    },
    /// One version of one variant of a resource.
    Copy {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
        /// The variant's number.
        variant: u16,
        /// The version's number.
        number: u64,
    },
    /// A resource that waits in the trash. Its copies stay under their keys.
    Trashed {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
    },
    /// The place of a resource in the trash, which is ordered by the time of the deletion.
    TrashOrder {
        /// The blueprint's number.
        blueprint: u32,
        /// The time of the deletion in milliseconds since 1970.
        at: u64,
        /// The resource.
        id: ResourceId,
    },
    /// The number of resources in the trash of a blueprint.
    TrashTotal(u32),
    /// The extent of the history of one variant of a resource.
    History {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
        /// The variant's number.
        variant: u16,
    },
    /// One revision in the history of a variant of a resource.
    Revision {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
        /// The variant's number.
        variant: u16,
        /// The revision's number.
        number: u32,
    },
    /// A superseded version of a copy, which the history keeps.
    FormerCopy {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
        /// The variant's number.
        variant: u16,
        /// The version's number.
        number: u64,
    },
    /// A moment at which working copies of a resource are to be published. Ordered by the moment.
    WorkingDue {
        /// The moment in milliseconds since 1970.
        at: u64,
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
    },
    /// The id of the resource with an import key.
    ImportKey {
        /// The blueprint's number.
        blueprint: u32,
        /// The item's key.
        key: KeyText,
    },
    /// The import key that a resource had before the transaction with that number. Older snapshots still show it.
    FormerImportKey {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
        /// The transaction that changed or removed the key.
        number: u64,
    },
    /// A token.
    Token(KeyText),
    /// A member, by id.
    Member(u64),
    /// The hash of a member's password.
    Password(u64),
    /// The invitation of a member; 0 is the first owner's link.
    Invitation(u64),
    /// A session, by its public id.
    Session(KeyText),
    /// A view that a member saved.
    View(KeyText),
    /// Synonyms of ranked search.
    Synonym(KeyText),
    /// A rule of ranked search.
    SearchRule(KeyText),
    /// The resource that has claimed a value of a unique field.
    Unique {
        /// The blueprint's number.
        blueprint: u32,
        /// The number that the field's values are claimed under.
        claims: u32,
        /// The variant's number.
        variant: u16,
        /// The value.
        value: KeyText,
    },
    /// An answer kept for an idempotency key.
    Idempotency {
        /// The token that the request was made with.
        token: KeyText,
        /// The request's key.
        key: KeyText,
    },
    /// The changes of one transaction for the change feed, by the number of the last one.
    Changes(u64),
    /// A webhook.
    Webhook(KeyText),
    /// The progress of a webhook.
    WebhookProgress(KeyText),
    /// Notes that a copy of a resource contained the address of a media resource when it was written.
    MediaUser {
        /// The media resource.
        media: ResourceId,
        /// The number of the blueprint of the resource.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
        /// The number of the copy's variant.
        variant: u16,
    },
    /// Notes that a resource named a file when it was written.
    FileOwner {
        /// The hash of the file.
        hash: [u8; 32],
        /// The number of the blueprint of the resource.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
    },
    /// A file that is being removed, by its hash. No resource can begin to name it.
    FileRemoval([u8; 32]),
}

/// A table of the store, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// Everything.
    All,
    /// All counters.
    Counters,
    /// The lists of superseded versions, by number.
    Superseded,
    /// All blueprints, by number.
    Blueprints,
    /// All blueprint changes in progress.
    BlueprintChanges,
    /// The resources of a blueprint, by id.
    Resources(u32),
    /// All copies of a blueprint, by id, variant and number.
    Copies(u32),
    /// The copies of one resource, by variant and number.
    CopiesOf {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
    },
    /// The trash of a blueprint, by id.
    Trash(u32),
    /// The trash of a blueprint in the order of the deletions.
    TrashOrder(u32),
    /// The number of resources in the trash of a blueprint.
    TrashTotal(u32),
    /// The extents of the histories of a blueprint, by id and variant.
    Histories(u32),
    /// The revisions of a blueprint.
    Revisions(u32),
    /// The superseded versions that the histories of a blueprint keep.
    FormerCopies(u32),
    /// The moments at which working copies are to be published, in order.
    WorkingDue,
    /// The import keys of a blueprint.
    ImportKeys(u32),
    /// The former import keys of one resource, by number.
    FormerImportKeys {
        /// The blueprint's number.
        blueprint: u32,
        /// The resource.
        id: ResourceId,
    },
    /// All tokens.
    Tokens,
    /// All members, by id.
    Members,
    /// All passwords, by member.
    Passwords,
    /// All invitations, by member.
    Invitations,
    /// All sessions.
    Sessions,
    /// All views.
    Views,
    /// All synonyms.
    Synonyms,
    /// All rules of ranked search.
    SearchRules,
    /// The values of all unique fields of a blueprint.
    Uniques(u32),
    /// The values of one unique field.
    UniquesOf {
        /// The blueprint's number.
        blueprint: u32,
        /// The number that the field's values are claimed under.
        claims: u32,
    },
    /// All answers kept for idempotency keys.
    Idempotency,
    /// All changes of the change feed, by number.
    Changes,
    /// All webhooks.
    Webhooks,
    /// The copies that contained an address of a media resource.
    MediaUsers(ResourceId),
    /// The resources that named a file.
    FileOwners([u8; 32]),
    /// All notes of resources that named files, by hash.
    AllFileOwners,
    /// All files that are being removed.
    FileRemovals,
}

/// The first byte of a key.
mod table {
    pub(super) const COUNTER: u8 = 0x08;
    pub(super) const SUPERSEDED: u8 = 0x0c;
    pub(super) const BLUEPRINT: u8 = 0x10;
    pub(super) const BLUEPRINT_CHANGE: u8 = 0x14;
    pub(super) const LIST_VERSION: u8 = 0x16;
    pub(super) const WORKING_VERSION: u8 = 0x17;
    pub(super) const SINGULAR: u8 = 0x18;
    pub(super) const RESOURCE: u8 = 0x20;
    pub(super) const COPY: u8 = 0x30;
    pub(super) const TRASHED: u8 = 0x38;
    pub(super) const TRASH_ORDER: u8 = 0x39;
    pub(super) const TRASH_TOTAL: u8 = 0x3a;
    pub(super) const HISTORY: u8 = 0x3b;
    pub(super) const REVISION: u8 = 0x3c;
    pub(super) const FORMER_COPY: u8 = 0x3d;
    pub(super) const WORKING_DUE: u8 = 0x3e;
    pub(super) const IMPORT_KEY: u8 = 0x40;
    pub(super) const FORMER_IMPORT_KEY: u8 = 0x48;
    pub(super) const TOKEN: u8 = 0x50;
    pub(super) const MEMBER: u8 = 0x58;
    pub(super) const PASSWORD: u8 = 0x5a;
    pub(super) const INVITATION: u8 = 0x5b;
    pub(super) const SESSION: u8 = 0x5c;
    pub(super) const VIEW: u8 = 0x5e;
    pub(super) const SYNONYM: u8 = 0x5f;
    pub(super) const UNIQUE: u8 = 0x60;
    pub(super) const IDEMPOTENCY: u8 = 0x70;
    pub(super) const CHANGES: u8 = 0x78;
    pub(super) const WEBHOOK: u8 = 0x80;
    pub(super) const WEBHOOK_PROGRESS: u8 = 0x84;
    pub(super) const SEARCH_RULE: u8 = 0x88;
    pub(super) const MEDIA_USER: u8 = 0x8c;
    pub(super) const FILE_OWNER: u8 = 0x8d;
    pub(super) const FILE_REMOVAL: u8 = 0x8e;
}

/// The key of the number of the last applied record. It comes before all other keys.
pub(super) const APPLIED: &[u8] = &[0x00];
/// The first byte of the key of a dictionary. The number of the dictionary follows. Dictionaries come before all
/// values.
pub(super) const DICTIONARY: u8 = 0x02;
/// The first byte of a chunk's key. Chunks come after all other keys.
pub(super) const CHUNK: u8 = 0xf0;

/// The tables whose keys arrive in no order, because they contain texts of users. In the order of the tables.
pub(super) const SCATTERED: [u8; 3] = [table::IMPORT_KEY, table::UNIQUE, table::IDEMPOTENCY];

/// Returns whether a value is a copy, by its encoded key.
pub(super) fn is_copy(key: &[u8]) -> bool {
    key.first() == Some(&table::COPY)
}

impl Key {
    /// Encodes the key. Keys are ordered by table, then by the numbers they contain.
    pub fn encode(&self) -> Vec<u8> {
        let parts = match self {
            Key::Counter(counter) => Parts::of(table::COUNTER).u8(counter.code()),
            Key::Superseded(number) => Parts::of(table::SUPERSEDED).u64(*number),
            Key::Blueprint(blueprint) => Parts::of(table::BLUEPRINT).u32(*blueprint),
            Key::BlueprintChange(blueprint) => Parts::of(table::BLUEPRINT_CHANGE).u32(*blueprint),
            Key::ListVersion { blueprint, is_public } => {
                Parts::of(table::LIST_VERSION).u32(*blueprint).u8((*is_public).into())
            }
            Key::WorkingVersion(blueprint) => Parts::of(table::WORKING_VERSION).u32(*blueprint),
            Key::Singular(blueprint) => Parts::of(table::SINGULAR).u32(*blueprint),
            Key::Resource { blueprint, id } => Parts::of(table::RESOURCE).u32(*blueprint).id(*id),
            Key::Copy { blueprint, id, variant, number } => {
                Parts::of(table::COPY).u32(*blueprint).id(*id).u16(*variant).u64(*number)
            }
            Key::Trashed { blueprint, id } => Parts::of(table::TRASHED).u32(*blueprint).id(*id),
            Key::TrashOrder { blueprint, at, id } => Parts::of(table::TRASH_ORDER).u32(*blueprint).u64(*at).id(*id),
            Key::TrashTotal(blueprint) => Parts::of(table::TRASH_TOTAL).u32(*blueprint),
            Key::History { blueprint, id, variant } => Parts::of(table::HISTORY).u32(*blueprint).id(*id).u16(*variant),
            Key::Revision { blueprint, id, variant, number } => {
                Parts::of(table::REVISION).u32(*blueprint).id(*id).u16(*variant).u32(*number)
            }
            Key::FormerCopy { blueprint, id, variant, number } => {
                Parts::of(table::FORMER_COPY).u32(*blueprint).id(*id).u16(*variant).u64(*number)
            }
            Key::WorkingDue { at, blueprint, id } => Parts::of(table::WORKING_DUE).u64(*at).u32(*blueprint).id(*id),
            Key::ImportKey { blueprint, key } => Parts::of(table::IMPORT_KEY).u32(*blueprint).text(key),
            Key::FormerImportKey { blueprint, id, number } => {
                Parts::of(table::FORMER_IMPORT_KEY).u32(*blueprint).id(*id).u64(*number)
            }
            Key::Token(token) => Parts::of(table::TOKEN).text(token),
            Key::Member(id) => Parts::of(table::MEMBER).u64(*id),
            Key::Password(id) => Parts::of(table::PASSWORD).u64(*id),
            Key::Invitation(id) => Parts::of(table::INVITATION).u64(*id),
            Key::Session(session) => Parts::of(table::SESSION).text(session),
            Key::View(view) => Parts::of(table::VIEW).text(view),
            Key::Synonym(synonym) => Parts::of(table::SYNONYM).text(synonym),
            Key::SearchRule(rule) => Parts::of(table::SEARCH_RULE).text(rule),
            Key::Unique { blueprint, claims, variant, value } => {
                Parts::of(table::UNIQUE).u32(*blueprint).u32(*claims).u16(*variant).text(value)
            }
            Key::Idempotency { token, key } => Parts::of(table::IDEMPOTENCY).text(token).text(key),
            Key::Changes(number) => Parts::of(table::CHANGES).u64(*number),
            Key::Webhook(webhook) => Parts::of(table::WEBHOOK).text(webhook),
            Key::WebhookProgress(webhook) => Parts::of(table::WEBHOOK_PROGRESS).text(webhook),
            Key::MediaUser { media, blueprint, id, variant } => {
                Parts::of(table::MEDIA_USER).id(*media).u32(*blueprint).id(*id).u16(*variant)
            }
            Key::FileOwner { hash, blueprint, id } => Parts::of(table::FILE_OWNER).bytes(hash).u32(*blueprint).id(*id),
            Key::FileRemoval(hash) => Parts::of(table::FILE_REMOVAL).bytes(hash),
        };
        parts.finish()
    }

    /// Decodes a key. `None` if [`Key::encode`] cannot have written these bytes.
    pub fn decode(bytes: &[u8]) -> Option<Key> {
        let mut rest = Rest::new(bytes);
        let [tag] = rest.take()?;
        let key = match tag {
            table::COUNTER => Key::Counter(Counter::of_code(u8::from_be_bytes(rest.take()?))?),
            table::SUPERSEDED => Key::Superseded(rest.u64()?),
            table::BLUEPRINT => Key::Blueprint(rest.u32()?),
            table::BLUEPRINT_CHANGE => Key::BlueprintChange(rest.u32()?),
            table::LIST_VERSION => Key::ListVersion { blueprint: rest.u32()?, is_public: rest.bool()? },
            table::WORKING_VERSION => Key::WorkingVersion(rest.u32()?),
            table::SINGULAR => Key::Singular(rest.u32()?),
            table::RESOURCE => Key::Resource { blueprint: rest.u32()?, id: rest.id()? },
            table::COPY => {
                Key::Copy { blueprint: rest.u32()?, id: rest.id()?, variant: rest.u16()?, number: rest.u64()? }
            }
            table::TRASHED => Key::Trashed { blueprint: rest.u32()?, id: rest.id()? },
            table::TRASH_ORDER => Key::TrashOrder { blueprint: rest.u32()?, at: rest.u64()?, id: rest.id()? },
            table::TRASH_TOTAL => Key::TrashTotal(rest.u32()?),
            table::HISTORY => Key::History { blueprint: rest.u32()?, id: rest.id()?, variant: rest.u16()? },
            table::REVISION => {
                Key::Revision { blueprint: rest.u32()?, id: rest.id()?, variant: rest.u16()?, number: rest.u32()? }
            }
            table::FORMER_COPY => {
                Key::FormerCopy { blueprint: rest.u32()?, id: rest.id()?, variant: rest.u16()?, number: rest.u64()? }
            }
            table::WORKING_DUE => Key::WorkingDue { at: rest.u64()?, blueprint: rest.u32()?, id: rest.id()? },
            table::IMPORT_KEY => Key::ImportKey { blueprint: rest.u32()?, key: rest.text()? },
            table::FORMER_IMPORT_KEY => {
                Key::FormerImportKey { blueprint: rest.u32()?, id: rest.id()?, number: rest.u64()? }
            }
            table::TOKEN => Key::Token(rest.text()?),
            table::MEMBER => Key::Member(rest.u64()?),
            table::PASSWORD => Key::Password(rest.u64()?),
            table::INVITATION => Key::Invitation(rest.u64()?),
            table::SESSION => Key::Session(rest.text()?),
            table::VIEW => Key::View(rest.text()?),
            table::SYNONYM => Key::Synonym(rest.text()?),
            table::SEARCH_RULE => Key::SearchRule(rest.text()?),
            table::UNIQUE => {
                Key::Unique { blueprint: rest.u32()?, claims: rest.u32()?, variant: rest.u16()?, value: rest.text()? }
            }
            table::IDEMPOTENCY => Key::Idempotency { token: rest.text()?, key: rest.text()? },
            table::CHANGES => Key::Changes(rest.u64()?),
            table::WEBHOOK => Key::Webhook(rest.text()?),
            table::WEBHOOK_PROGRESS => Key::WebhookProgress(rest.text()?),
            table::MEDIA_USER => {
                Key::MediaUser { media: rest.id()?, blueprint: rest.u32()?, id: rest.id()?, variant: rest.u16()? }
            }
            table::FILE_OWNER => Key::FileOwner { hash: rest.take()?, blueprint: rest.u32()?, id: rest.id()? },
            table::FILE_REMOVAL => Key::FileRemoval(rest.take()?),
            _ => return None,
        };
        rest.is_empty().then_some(key)
    }
}

impl Prefix {
    /// Returns the bytes that all keys of this part begin with.
    pub(super) fn encode(self) -> Vec<u8> {
        let parts = match self {
            Prefix::All => return Vec::new(),
            Prefix::Counters => Parts::of(table::COUNTER),
            Prefix::Superseded => Parts::of(table::SUPERSEDED),
            Prefix::Blueprints => Parts::of(table::BLUEPRINT),
            Prefix::BlueprintChanges => Parts::of(table::BLUEPRINT_CHANGE),
            Prefix::Resources(blueprint) => Parts::of(table::RESOURCE).u32(blueprint),
            Prefix::Copies(blueprint) => Parts::of(table::COPY).u32(blueprint),
            Prefix::CopiesOf { blueprint, id } => Parts::of(table::COPY).u32(blueprint).id(id),
            Prefix::Trash(blueprint) => Parts::of(table::TRASHED).u32(blueprint),
            Prefix::TrashOrder(blueprint) => Parts::of(table::TRASH_ORDER).u32(blueprint),
            Prefix::TrashTotal(blueprint) => Parts::of(table::TRASH_TOTAL).u32(blueprint),
            Prefix::Histories(blueprint) => Parts::of(table::HISTORY).u32(blueprint),
            Prefix::Revisions(blueprint) => Parts::of(table::REVISION).u32(blueprint),
            Prefix::FormerCopies(blueprint) => Parts::of(table::FORMER_COPY).u32(blueprint),
            Prefix::WorkingDue => Parts::of(table::WORKING_DUE),
            Prefix::ImportKeys(blueprint) => Parts::of(table::IMPORT_KEY).u32(blueprint),
            Prefix::FormerImportKeys { blueprint, id } => Parts::of(table::FORMER_IMPORT_KEY).u32(blueprint).id(id),
            Prefix::Tokens => Parts::of(table::TOKEN),
            Prefix::Members => Parts::of(table::MEMBER),
            Prefix::Passwords => Parts::of(table::PASSWORD),
            Prefix::Invitations => Parts::of(table::INVITATION),
            Prefix::Sessions => Parts::of(table::SESSION),
            Prefix::Views => Parts::of(table::VIEW),
            Prefix::Synonyms => Parts::of(table::SYNONYM),
            Prefix::SearchRules => Parts::of(table::SEARCH_RULE),
            Prefix::Uniques(blueprint) => Parts::of(table::UNIQUE).u32(blueprint),
            Prefix::UniquesOf { blueprint, claims } => Parts::of(table::UNIQUE).u32(blueprint).u32(claims),
            Prefix::Idempotency => Parts::of(table::IDEMPOTENCY),
            Prefix::Changes => Parts::of(table::CHANGES),
            Prefix::Webhooks => Parts::of(table::WEBHOOK),
            Prefix::MediaUsers(media) => Parts::of(table::MEDIA_USER).id(media),
            Prefix::FileOwners(hash) => Parts::of(table::FILE_OWNER).bytes(&hash),
            Prefix::AllFileOwners => Parts::of(table::FILE_OWNER),
            Prefix::FileRemovals => Parts::of(table::FILE_REMOVAL),
        };
        parts.finish()
    }
}
