//! The version of a resource, as entity tags name it and `If-Match` asks for it.
//!
//! A tag begins with the epoch of the content: a restore goes back to an earlier number, from where numbers are given
//! to other versions than before. A tag from before the restore must not match one of those.

use crate::content::data::records::Meta;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};

/// The version of a resource as an entity tag names it: that of the resource and that of its blueprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceVersion {
    /// The number of the transaction that changed the resource last.
    pub resource: u64,
    /// The revision of its blueprint.
    pub blueprint: u64,
}

impl ResourceVersion {
    /// The entity tag, with its quotes.
    pub fn tag(self, epoch: u64) -> String {
        let ResourceVersion { resource, blueprint } = self;
        format!("\"{epoch:x}-{resource}-{blueprint}\"")
    }

    /// The version that an entity tag names in this epoch. `None` for a tag of another epoch, a weak one, or anything
    /// else.
    pub fn of_tag(tag: &str, epoch: u64) -> Option<ResourceVersion> {
        let mut parts = tag.strip_prefix('"')?.strip_suffix('"')?.split('-');
        let (of_epoch, resource, blueprint) = (parts.next()?, parts.next()?, parts.next()?);
        let version = ResourceVersion { resource: resource.parse().ok()?, blueprint: blueprint.parse().ok()? };
        (parts.next().is_none() && of_epoch == format!("{epoch:x}")).then_some(version)
    }
}

/// The stored form of an epoch.
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

/// What `If-Match` asks of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// There is no such header, or it is `*`: every version will do.
    Any,
    /// The resource must be at one of these versions.
    OneOf(Vec<ResourceVersion>),
}

impl IfMatch {
    /// # Errors
    /// `PRECONDITION_FAILED` unless the resource is at one of the versions.
    pub(crate) fn check(&self, version: ResourceVersion) -> Result<()> {
        match self {
            IfMatch::OneOf(versions) if !versions.contains(&version) => Err(Error::new(
                Code::PreconditionFailed,
                "the resource is no longer at the version that `If-Match` names; read it again and repeat the change",
            )),
            _ => Ok(()),
        }
    }
}

impl Meta {
    /// What the entity tag of the resource is made from.
    pub(crate) fn resource_version(&self, blueprint: &Blueprint) -> ResourceVersion {
        ResourceVersion { resource: self.version, blueprint: blueprint.revision }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_tag_names_a_version_in_its_own_epoch_only() {
        let version = ResourceVersion { resource: 12, blueprint: 3 };
        let tag = version.tag(0xabc);
        assert_eq!(tag, "\"abc-12-3\"");
        assert_eq!(ResourceVersion::of_tag(&tag, 0xabc), Some(version));
        for (tag, epoch) in [
            (tag.as_str(), 0xabd),
            ("\"12-3\"", 0xabc),
            ("\"0abc-12-3\"", 0xabc),
            ("\"abc-12-3-4\"", 0xabc),
            ("W/\"abc-12-3\"", 0xabc),
            ("abc-12-3", 0xabc),
            ("\"abc-12-\"", 0xabc),
        ] {
            assert_eq!(ResourceVersion::of_tag(tag, epoch), None, "{tag}");
        }
    }
}
