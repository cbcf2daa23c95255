//! The check of a store.
use crate::error::ClusterError;
use crate::objects::Objects;

pub(crate) async fn probe(_objects: &Objects) -> Result<(), ClusterError> {
    Ok(())
}
