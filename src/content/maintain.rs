//! What goes on beside requests: checkpoints, and the removal of what nobody needs any more.

pub(crate) mod checkpoint;
pub(crate) mod sweep;
