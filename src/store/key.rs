//! Keys of the store: typed outside, short and ordered bytes inside.
//!
//! No key is the beginning of another one, so that a prefix names exactly one table or a part of it. Numbers are
//! big-endian: resources of a blueprint are in the order of their ids, copies of a resource are side by side.

use crate::model::id::ResourceId;

/// The longest text that stands in a key as it is; longer ones are replaced by their hash.
const PLAIN_TEXT_BYTES: usize = 64;
/// In the place of a length: a hash follows.
const HASHED: u8 = 0xff;

/// Names one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// One of the server's counters.
    Counter(Counter),
    /// What the transaction of that number superseded and readers may still need.
    Superseded(u64),
    /// A blueprint by number.
    Blueprint(u32),
    /// The change of a blueprint that is under way, by the blueprint's number.
    BlueprintChange(u32),
    /// The id of a singular blueprint's one resource.
    Singular(u32),
    /// What belongs to a resource as a whole.
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
    /// What an import remembers of an item.
    ImportKey {
        /// The blueprint's number.
        blueprint: u32,
        /// The item's key.
        key: KeyText,
    },
    /// The import key that a resource had until the transaction of that number: older snapshots still show it.
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
    /// A member by its id.
    Member(u64),
    /// Who holds a value of a unique field.
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
    /// A kept answer.
    Idempotency {
        /// The token that the request was made with.
        token: KeyText,
        /// The request's key.
        key: KeyText,
    },
}

/// The counters whose numbers are never given out twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Numbers of blueprints.
    Blueprint,
    /// Ids of members.
    Member,
    /// The last id that a resource was given.
    Resource,
    /// The time of the last change, in milliseconds.
    Time,
}

/// A text in a key. A long one is known by its hash alone: keep the text in the value where it is needed again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyText(Text);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Text {
    Plain(String),
    Hashed([u8; 32]),
}

impl KeyText {
    /// The text, if it is short enough to stand in the key.
    pub fn plain(&self) -> Option<&str> {
        match &self.0 {
            Text::Plain(text) => Some(text),
            Text::Hashed(_) => None,
        }
    }
}

impl From<&str> for KeyText {
    fn from(text: &str) -> Self {
        KeyText(match text.len() {
            0..=PLAIN_TEXT_BYTES => Text::Plain(text.to_owned()),
            _ => Text::Hashed(*blake3::hash(text.as_bytes()).as_bytes()),
        })
    }
}

impl From<String> for KeyText {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
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
    /// All changes of blueprints that are under way.
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
    /// The values of all unique fields of a blueprint.
    Uniques(u32),
    /// The values of one unique field.
    UniquesOf {
        /// The blueprint's number.
        blueprint: u32,
        /// The number that the field's values are claimed under.
        claims: u32,
    },
    /// All kept answers.
    Idempotency,
}

/// The first byte of a key.
mod table {
    pub(super) const COUNTER: u8 = 0x08;
    pub(super) const SUPERSEDED: u8 = 0x0c;
    pub(super) const BLUEPRINT: u8 = 0x10;
    pub(super) const BLUEPRINT_CHANGE: u8 = 0x14;
    pub(super) const SINGULAR: u8 = 0x18;
    pub(super) const RESOURCE: u8 = 0x20;
    pub(super) const COPY: u8 = 0x30;
    pub(super) const IMPORT_KEY: u8 = 0x40;
    pub(super) const FORMER_IMPORT_KEY: u8 = 0x48;
    pub(super) const TOKEN: u8 = 0x50;
    pub(super) const MEMBER: u8 = 0x58;
    pub(super) const UNIQUE: u8 = 0x60;
    pub(super) const IDEMPOTENCY: u8 = 0x70;
}

/// Where the number of the last applied record is kept: before all keys.
pub(super) const APPLIED: &[u8] = &[0x00];
/// The first byte of a chunk's key: behind all keys.
pub(super) const CHUNK: u8 = 0xf0;

impl Key {
    /// The key's bytes. Their order is that of the tables and of the numbers within.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32);
        match self {
            Key::Counter(counter) => bytes.extend([table::COUNTER, counter.code()]),
            Key::Superseded(number) => {
                bytes.push(table::SUPERSEDED);
                bytes.extend(number.to_be_bytes());
            }
            Key::Blueprint(blueprint) => numbered(&mut bytes, table::BLUEPRINT, *blueprint),
            Key::BlueprintChange(blueprint) => numbered(&mut bytes, table::BLUEPRINT_CHANGE, *blueprint),
            Key::Singular(blueprint) => numbered(&mut bytes, table::SINGULAR, *blueprint),
            Key::Resource { blueprint, id } => {
                numbered(&mut bytes, table::RESOURCE, *blueprint);
                bytes.extend(id.as_u128().to_be_bytes());
            }
            Key::Copy { blueprint, id, variant, number } => {
                numbered(&mut bytes, table::COPY, *blueprint);
                bytes.extend(id.as_u128().to_be_bytes());
                bytes.extend(variant.to_be_bytes());
                bytes.extend(number.to_be_bytes());
            }
            Key::ImportKey { blueprint, key } => {
                numbered(&mut bytes, table::IMPORT_KEY, *blueprint);
                key.encode(&mut bytes);
            }
            Key::FormerImportKey { blueprint, id, number } => {
                numbered(&mut bytes, table::FORMER_IMPORT_KEY, *blueprint);
                bytes.extend(id.as_u128().to_be_bytes());
                bytes.extend(number.to_be_bytes());
            }
            Key::Token(token) => {
                bytes.push(table::TOKEN);
                token.encode(&mut bytes);
            }
            Key::Member(id) => {
                bytes.push(table::MEMBER);
                bytes.extend(id.to_be_bytes());
            }
            Key::Unique { blueprint, claims, variant, value } => {
                numbered(&mut bytes, table::UNIQUE, *blueprint);
                bytes.extend(claims.to_be_bytes());
                bytes.extend(variant.to_be_bytes());
                value.encode(&mut bytes);
            }
            Key::Idempotency { token, key } => {
                bytes.push(table::IDEMPOTENCY);
                token.encode(&mut bytes);
                key.encode(&mut bytes);
            }
        }
        bytes
    }

    /// The key of these bytes; nothing if they are not what [`Key::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Option<Key> {
        let mut rest = Rest(bytes);
        let [tag] = rest.take()?;
        let key = match tag {
            table::COUNTER => Key::Counter(Counter::of_code(u8::from_be_bytes(rest.take()?))?),
            table::SUPERSEDED => Key::Superseded(rest.u64()?),
            table::BLUEPRINT => Key::Blueprint(rest.u32()?),
            table::BLUEPRINT_CHANGE => Key::BlueprintChange(rest.u32()?),
            table::SINGULAR => Key::Singular(rest.u32()?),
            table::RESOURCE => Key::Resource { blueprint: rest.u32()?, id: rest.id()? },
            table::COPY => {
                Key::Copy { blueprint: rest.u32()?, id: rest.id()?, variant: rest.u16()?, number: rest.u64()? }
            }
            table::IMPORT_KEY => Key::ImportKey { blueprint: rest.u32()?, key: rest.text()? },
            table::FORMER_IMPORT_KEY => {
                Key::FormerImportKey { blueprint: rest.u32()?, id: rest.id()?, number: rest.u64()? }
            }
            table::TOKEN => Key::Token(rest.text()?),
            table::MEMBER => Key::Member(rest.u64()?),
            table::UNIQUE => {
                Key::Unique { blueprint: rest.u32()?, claims: rest.u32()?, variant: rest.u16()?, value: rest.text()? }
            }
            table::IDEMPOTENCY => Key::Idempotency { token: rest.text()?, key: rest.text()? },
            _ => return None,
        };
        rest.0.is_empty().then_some(key)
    }
}

impl Prefix {
    /// What the keys of this part begin with.
    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24);
        match self {
            Prefix::All => {}
            Prefix::Counters => bytes.push(table::COUNTER),
            Prefix::Superseded => bytes.push(table::SUPERSEDED),
            Prefix::Blueprints => bytes.push(table::BLUEPRINT),
            Prefix::BlueprintChanges => bytes.push(table::BLUEPRINT_CHANGE),
            Prefix::Resources(blueprint) => numbered(&mut bytes, table::RESOURCE, blueprint),
            Prefix::Copies(blueprint) => numbered(&mut bytes, table::COPY, blueprint),
            Prefix::CopiesOf { blueprint, id } => {
                numbered(&mut bytes, table::COPY, blueprint);
                bytes.extend(id.as_u128().to_be_bytes());
            }
            Prefix::ImportKeys(blueprint) => numbered(&mut bytes, table::IMPORT_KEY, blueprint),
            Prefix::FormerImportKeys { blueprint, id } => {
                numbered(&mut bytes, table::FORMER_IMPORT_KEY, blueprint);
                bytes.extend(id.as_u128().to_be_bytes());
            }
            Prefix::Tokens => bytes.push(table::TOKEN),
            Prefix::Members => bytes.push(table::MEMBER),
            Prefix::Uniques(blueprint) => numbered(&mut bytes, table::UNIQUE, blueprint),
            Prefix::UniquesOf { blueprint, claims } => {
                numbered(&mut bytes, table::UNIQUE, blueprint);
                bytes.extend(claims.to_be_bytes());
            }
            Prefix::Idempotency => bytes.push(table::IDEMPOTENCY),
        }
        bytes
    }
}

fn numbered(bytes: &mut Vec<u8>, table: u8, blueprint: u32) {
    bytes.push(table);
    bytes.extend(blueprint.to_be_bytes());
}

impl Counter {
    fn code(self) -> u8 {
        match self {
            Counter::Blueprint => 1,
            Counter::Member => 2,
            Counter::Resource => 3,
            Counter::Time => 4,
        }
    }

    fn of_code(code: u8) -> Option<Counter> {
        [Counter::Blueprint, Counter::Member, Counter::Resource, Counter::Time]
            .into_iter()
            .find(|counter| counter.code() == code)
    }
}

impl KeyText {
    /// The length first, so that no text is the beginning of another one.
    fn encode(&self, bytes: &mut Vec<u8>) {
        match &self.0 {
            Text::Plain(text) => {
                bytes.push(text.len() as u8);
                bytes.extend(text.as_bytes());
            }
            Text::Hashed(hash) => {
                bytes.push(HASHED);
                bytes.extend(hash);
            }
        }
    }
}

/// What is left to be decoded.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn id(&mut self) -> Option<ResourceId> {
        self.take().map(|bytes| ResourceId::from_u128(u128::from_be_bytes(bytes)))
    }

    fn text(&mut self) -> Option<KeyText> {
        let [length] = self.take()?;
        if length == HASHED {
            return Some(KeyText(Text::Hashed(self.take()?)));
        }
        let length = usize::from(length);
        if length > PLAIN_TEXT_BYTES {
            return None;
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(KeyText(Text::Plain(std::str::from_utf8(text).ok()?.to_owned())))
    }
}
