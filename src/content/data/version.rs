//! Entity tags: the versions that they are made from, and the `If-Match` condition on them.
//!
//! The tag of a page of a list is a hash of the page, so that it outlives the writes that do not change the page. All
//! other tags are made from versions: such a tag is a hash, so that it reveals neither the number of writes nor
//! anything about resources that its reader may not see. It includes the epoch of the content, which is random: without
//! it, a reader could guess the few numbers in a tag and try them.

use std::fmt;

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;

use crate::data::records::{CopyVersion, Meta};

const TAG_BYTES: usize = 16;

/// An entity tag, without its quotes: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityTag([u8; TAG_BYTES]);

/// Everything that the answer to a read depends on, beside the request itself and the base URL of its links: equal
/// versions have equal answers. Anything new that an answer depends on must be added here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnswerVersion {
    epoch: u64,
    answered: AnsweredVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum AnsweredVersion {
    Resource(ResourceVersion, Option<RelatedHash>),
    List(ListVersion),
}

/// The source of the entity tag of a resource: its version and that of its blueprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ResourceVersion {
    pub(crate) id: ResourceId,
    /// The number of the transaction that changed the resource last.
    pub(crate) resource: u64,
    /// The revision of its blueprint.
    pub(crate) blueprint: u64,
    /// The versions of its working copies, for a reader of working copies.
    pub(crate) working: Option<WorkingHash>,
}

/// A hash of the versions of a resource's working copies, in all variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WorkingHash(u64);

impl WorkingHash {
    /// Returns the hash of these versions, in any order.
    pub(crate) fn of(versions: impl Iterator<Item = CopyVersion>) -> WorkingHash {
        let mut versions: Vec<(u16, u64)> = versions.map(|version| (version.variant, version.number)).collect();
        versions.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        for (variant, number) in versions {
            hasher.update(&variant.to_le_bytes());
            hasher.update(&number.to_le_bytes());
        }
        let mut hash = [0; 8];
        hasher.finalize_xof().fill(&mut hash);
        WorkingHash(u64::from_le_bytes(hash))
    }
}

/// Everything that a list depends on, beside its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ListVersion {
    own: SeenVersion,
    /// The day that filters use as "today".
    day: i64,
    /// The version of the synonyms and rules of ranked search, if there are any.
    steering: Option<u64>,
    /// The hour since 1970, if the order depends on it.
    hour: Option<i64>,
    related: Option<RelatedHash>,
}

/// A hash of the versions of the related blueprints that an answer depends on, if there are any.
type RelatedHash = [u8; TAG_BYTES];

/// The version of a blueprint's resources, as a token sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SeenVersion {
    /// The blueprint's number.
    pub(crate) blueprint: u32,
    /// The number of the transaction that last changed what the token may see of the blueprint.
    pub(crate) changed: u64,
    pub(crate) seen: VersionVisibility,
}

/// The visibility of a blueprint's resources, as part of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum VersionVisibility {
    Nothing,
    Published,
    Drafts,
    /// All resources, with working copies in the place of live ones.
    Working,
}

impl AnswerVersion {
    /// Returns a version that differs from those of other numbers, for tests of caches.
    pub fn numbered(epoch: u64) -> AnswerVersion {
        let version = ResourceVersion { id: ResourceId::from_u128(1), resource: 1, blueprint: 1, working: None };
        AnswerVersion::of_resource(epoch, version, [].into_iter())
    }

    /// Returns the version of a list whose blueprint this transaction changed last, for tests of caches.
    pub fn of_list_after(changed: u64) -> AnswerVersion {
        let own = SeenVersion { blueprint: 1, changed, seen: VersionVisibility::Published };
        AnswerVersion::of_list(1, ListVersion::new(own, 1, [].into_iter()))
    }

    /// Returns the version of a resource in this epoch. The answer also depends on the `related` blueprints, see
    /// [`ListVersion::new`].
    pub(crate) fn of_resource(
        epoch: u64,
        version: ResourceVersion,
        related: impl ExactSizeIterator<Item = Option<SeenVersion>>,
    ) -> AnswerVersion {
        AnswerVersion { epoch, answered: AnsweredVersion::Resource(version, hash_of(related)) }
    }

    /// Returns whether both are versions of one list, between which only resources of its own blueprint were written.
    pub(crate) fn differs_by_writes(self, other: AnswerVersion) -> bool {
        let (AnsweredVersion::List(one), AnsweredVersion::List(two)) = (self.answered, other.answered) else {
            return false;
        };
        let unwritten = |list: ListVersion| ListVersion { own: SeenVersion { changed: 0, ..list.own }, ..list };
        self.epoch == other.epoch && unwritten(one) == unwritten(two)
    }

    /// Returns whether both are versions of lists of one blueprint that show the same resources to a token, this one as
    /// they were before. If both are by relevance or neither is, no later view has this version: the numbers of
    /// transactions ascend.
    pub fn is_older_list_than(self, other: AnswerVersion) -> bool {
        let (AnsweredVersion::List(one), AnsweredVersion::List(two)) = (self.answered, other.answered) else {
            return false;
        };
        self.epoch == other.epoch
            && (one.own.blueprint, one.own.seen) == (two.own.blueprint, two.own.seen)
            && one.own.changed < two.own.changed
    }

    /// Returns the version of a list in this epoch.
    pub(crate) fn of_list(epoch: u64, version: ListVersion) -> AnswerVersion {
        AnswerVersion { epoch, answered: AnsweredVersion::List(version) }
    }
}

impl EntityTag {
    /// Reads a tag without its quotes. `None` for one that the server did not make.
    pub fn parse(text: &str) -> Option<EntityTag> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let tag = text.bytes().all(is_digit).then(|| u128::from_str_radix(text, 16).ok())??;
        (text.len() == 2 * TAG_BYTES).then(|| EntityTag(tag.to_be_bytes()))
    }

    /// Returns the tag of a page of a list in this epoch: a hash of everything in it, and of what its reader sees. It
    /// stays the same through all writes that do not change the page.
    pub(crate) fn of_page(epoch: u64, sees: VersionVisibility, numbers: [u64; 3], texts: &[&str]) -> EntityTag {
        let [first, second, third] = numbers;
        EntityTag::of(epoch, "page", &[sees.number(), first, second, third], texts)
    }

    fn of(epoch: u64, what: &str, numbers: &[u64], texts: &[&str]) -> EntityTag {
        let mut hasher = blake3::Hasher::new_derive_key("Bindery entity tag");
        hasher.update(&epoch.to_le_bytes());
        hasher.update(what.as_bytes());
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        for text in texts {
            // The length tells where one text ends and the next one begins.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let mut tag = [0; TAG_BYTES];
        hasher.finalize_xof().fill(&mut tag);
        EntityTag(tag)
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl ResourceVersion {
    /// Returns the entity tag in this epoch. The addresses of media that the resource has begin with `public_url`.
    pub(crate) fn tag(self, epoch: u64, public_url: Option<&str>) -> EntityTag {
        let ResourceVersion { id, resource, blueprint, working } = self;
        match working {
            None => tag_of(epoch, "resource", &[resource, blueprint], id, public_url),
            Some(WorkingHash(working)) => {
                tag_of(epoch, "working resource", &[resource, blueprint, working], id, public_url)
            }
        }
    }

    /// Returns the entity tag of an answer that also depends on the `related` blueprints, see [`ListVersion::new`].
    pub(crate) fn tag_with(
        self,
        epoch: u64,
        public_url: Option<&str>,
        related: impl ExactSizeIterator<Item = Option<SeenVersion>>,
    ) -> EntityTag {
        let Some(related) = hash_of(related) else { return self.tag(epoch, public_url) };
        let ResourceVersion { id, resource, blueprint, working } = self;
        let [low, high] = halves(related);
        let mut numbers = vec![resource, blueprint, low, high];
        numbers.extend(working.map(|WorkingHash(working)| working));
        tag_of(epoch, "expanded resource", &numbers, id, public_url)
    }
}

fn tag_of(epoch: u64, what: &str, numbers: &[u64], id: ResourceId, public_url: Option<&str>) -> EntityTag {
    let id = id.to_string();
    let texts: Vec<&str> = std::iter::once(id.as_str()).chain(public_url).collect();
    EntityTag::of(epoch, what, numbers, &texts)
}

impl VersionVisibility {
    fn number(self) -> u64 {
        match self {
            VersionVisibility::Published => 0,
            VersionVisibility::Drafts => 1,
            VersionVisibility::Nothing => 2,
            VersionVisibility::Working => 3,
        }
    }
}

impl SeenVersion {
    fn numbers(self) -> [u64; 3] {
        [self.blueprint.into(), self.changed, self.seen.number()]
    }
}

impl ListVersion {
    /// Returns the version of lists of a blueprint on a day. They also depend on the `related` blueprints, in this
    /// order; `None` stands for one that the token does not have.
    pub(crate) fn new(
        own: SeenVersion,
        day: i64,
        related: impl ExactSizeIterator<Item = Option<SeenVersion>>,
    ) -> ListVersion {
        ListVersion { own, day, steering: None, hour: None, related: hash_of(related) }
    }

    /// Returns the version of lists that are steered by synonyms and rules of this version, and whose order depends on
    /// the hour.
    pub(crate) fn steered(self, steering: Option<u64>, hour: Option<i64>) -> ListVersion {
        ListVersion { steering, hour, ..self }
    }
}

/// Returns a hash of the versions; `None` if there are none.
fn hash_of(related: impl ExactSizeIterator<Item = Option<SeenVersion>>) -> Option<RelatedHash> {
    (related.len() > 0).then(|| {
        let mut hasher = blake3::Hasher::new();
        for version in related {
            // `u64::MAX` is the number of no blueprint, so it stands for one that the token does not have.
            for number in version.map_or([u64::MAX; 3], SeenVersion::numbers) {
                hasher.update(&number.to_le_bytes());
            }
        }
        let mut hash = [0; TAG_BYTES];
        hasher.finalize_xof().fill(&mut hash);
        hash
    })
}

fn halves(hash: RelatedHash) -> [u64; 2] {
    let hash = u128::from_le_bytes(hash);
    [hash as u64, (hash >> 64) as u64]
}

/// Returns the stored form of an epoch.
pub(crate) fn encode_epoch(epoch: u64) -> Vec<u8> {
    epoch.to_le_bytes().to_vec()
}

/// Reads the stored form of an epoch.
///
/// # Errors
/// `INTERNAL` if it is damaged.
pub(crate) fn decode_epoch(bytes: &[u8]) -> Result<u64> {
    let bytes = bytes.try_into().map_err(|_| Error::internal("a stored epoch of the wrong length"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Returns the stored form of the time of a transaction.
pub(crate) fn encode_time(time: Millis) -> Vec<u8> {
    time.to_le_bytes().to_vec()
}

/// Reads the stored form of the time of a transaction.
///
/// # Errors
/// `INTERNAL` if it is damaged.
pub(crate) fn decode_time(bytes: &[u8]) -> Result<Millis> {
    let bytes = bytes.try_into().map_err(|_| Error::internal("a stored time of the wrong length"))?;
    Ok(Millis::from_le_bytes(bytes))
}

/// The stored form of the version of a blueprint's lists: the number of the transaction that changed them last.
pub(crate) fn encode_list_version(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// Reads the stored form of the version of a blueprint's lists.
///
/// # Errors
/// `INTERNAL` if it is damaged.
pub(crate) fn decode_list_version(bytes: &[u8]) -> Result<u64> {
    let bytes = bytes.try_into().map_err(|_| Error::internal("a stored version of lists of the wrong length"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads the stored form of the number that the changes of an epoch begin with.
///
/// # Errors
/// `INTERNAL` if it is damaged.
pub(crate) fn decode_first_change(bytes: &[u8]) -> Result<u64> {
    let bytes = bytes.try_into().map_err(|_| Error::internal("a stored number of a change of the wrong length"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// The condition of `If-Match` on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// There is no such header, or it is `*`: every version will do.
    Any,
    /// The resource must have one of these tags.
    OneOf(Vec<EntityTag>),
}

impl IfMatch {
    /// # Errors
    /// `PRECONDITION_FAILED` unless the resource has one of the tags.
    pub(crate) fn check(&self, tag: EntityTag) -> Result<()> {
        match self {
            IfMatch::OneOf(tags) if !tags.contains(&tag) => Err(Error::new(
                Code::PreconditionFailed,
                "the resource is no longer at the version that `If-Match` names; read it again and repeat the change",
            )),
            _ => Ok(()),
        }
    }
}

impl Meta {
    /// Returns the source of the entity tag of the resource.
    pub(crate) fn resource_version(&self, id: ResourceId, blueprint: &Blueprint) -> ResourceVersion {
        ResourceVersion { id, resource: self.version, blueprint: blueprint.revision, working: None }
    }

    /// Returns the source of the entity tag of the resource for a reader of working copies.
    pub(crate) fn working_version(&self, id: ResourceId, blueprint: &Blueprint) -> ResourceVersion {
        let variants = self.working_variants(blueprint).into_iter();
        let working = WorkingHash::of(variants.filter_map(|variant| self.working_copy(variant)));
        ResourceVersion { working: Some(working), ..self.resource_version(id, blueprint) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn everything_that_a_tag_is_made_from_changes_it() {
        let id = ResourceId::from_u128;
        let resource = |epoch, n, resource, blueprint| {
            ResourceVersion { id: id(n), resource, blueprint, working: None }.tag(epoch, None)
        };
        let working = |numbers: &[(u16, u64)]| {
            let versions = numbers.iter().map(|&(variant, number)| CopyVersion { variant, number });
            let working = Some(WorkingHash::of(versions));
            ResourceVersion { id: id(1), resource: 1, blueprint: 1, working }.tag(1, None)
        };
        let page = |epoch, sees, numbers, texts: &[&str]| EntityTag::of_page(epoch, sees, numbers, texts);
        let expanded = |related: &[Option<(u32, u64, VersionVisibility)>]| {
            let seen = |(blueprint, changed, seen)| SeenVersion { blueprint, changed, seen };
            let version = ResourceVersion { id: id(1), resource: 1, blueprint: 1, working: None };
            let related: Vec<_> = related.iter().map(|version| version.map(seen)).collect();
            version.tag_with(1, None, related.into_iter())
        };
        let at = |public_url| {
            let version = ResourceVersion { id: id(1), resource: 1, blueprint: 1, working: None };
            [version.tag(1, Some(public_url)), version.tag_with(1, Some(public_url), [None].into_iter())]
        };
        let (drafts, published) = (VersionVisibility::Drafts, VersionVisibility::Published);
        let tags = [
            resource(1, 1, 1, 1),
            resource(2, 1, 1, 1),
            resource(1, 2, 1, 1),
            resource(1, 1, 2, 1),
            resource(1, 1, 1, 2),
            working(&[]),
            working(&[(1, 5)]),
            working(&[(1, 6)]),
            working(&[(2, 5)]),
            working(&[(1, 5), (2, 5)]),
            page(1, drafts, [1, 2, 3], &["a", "b"]),
            page(2, drafts, [1, 2, 3], &["a", "b"]),
            page(1, published, [1, 2, 3], &["a", "b"]),
            page(1, drafts, [2, 2, 3], &["a", "b"]),
            page(1, drafts, [1, 2, 3], &["ab", ""]),
            page(1, drafts, [1, 2, 3], &["", "ab"]),
            page(1, VersionVisibility::Nothing, [1, 2, 3], &["a", "b"]),
            page(1, VersionVisibility::Working, [1, 2, 3], &["a", "b"]),
            expanded(&[None]),
            expanded(&[Some((2, 1, drafts))]),
            expanded(&[Some((2, 2, drafts))]),
            at("https://a.example")[0],
            at("https://a.example")[1],
            at("https://b.example")[0],
            at("https://b.example")[1],
        ];
        for (position, tag) in tags.iter().enumerate() {
            assert!(!tags[..position].contains(tag), "{position}");
            assert_eq!(EntityTag::parse(&tag.to_string()), Some(*tag));
        }
        assert_eq!(resource(1, 1, 1, 1), tags[0]);
        assert_eq!(page(1, drafts, [1, 2, 3], &["a", "b"]), page(1, drafts, [1, 2, 3], &["a", "b"]));
        let text = tags[0].to_string();
        for other in ["", &text[1..], &text.to_uppercase(), &format!("0{text}"), &format!("+{}", &text[1..])] {
            assert_eq!(EntityTag::parse(other), None, "{other}");
        }
    }

    #[test]
    fn everything_that_a_list_depends_on_makes_another_version() {
        let seen = |(blueprint, changed, seen)| SeenVersion { blueprint, changed, seen };
        let (drafts, published) = (VersionVisibility::Drafts, VersionVisibility::Published);
        let list = |own, day, related: &[Option<(u32, u64, VersionVisibility)>]| {
            let related: Vec<_> = related.iter().map(|version| version.map(seen)).collect();
            ListVersion::new(seen(own), day, related.into_iter())
        };
        let own = (1, 1, drafts);
        let versions = [
            list(own, 1, &[]),
            list((2, 1, drafts), 1, &[]),
            list((1, 2, drafts), 1, &[]),
            list((1, 1, published), 1, &[]),
            list(own, 2, &[]),
            list(own, 1, &[None]),
            list(own, 1, &[Some((2, 1, drafts))]),
            list(own, 1, &[Some((3, 1, drafts))]),
            list(own, 1, &[Some((2, 2, drafts))]),
            list(own, 1, &[Some((2, 1, published))]),
            list(own, 1, &[Some((2, 1, drafts)), Some((3, 1, drafts))]),
            list(own, 1, &[None, Some((3, 1, drafts))]),
            list(own, 1, &[]).steered(Some(1), None),
            list(own, 1, &[]).steered(Some(2), None),
            list(own, 1, &[]).steered(None, Some(1)),
        ];
        for (position, version) in versions.iter().enumerate() {
            assert!(!versions[..position].contains(version), "{position}");
        }
        assert_ne!(AnswerVersion::of_list(1, versions[0]), AnswerVersion::of_list(2, versions[0]));
    }
}
