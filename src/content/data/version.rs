//! The version of a resource, as entity tags name it and `If-Match` asks for it.

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
