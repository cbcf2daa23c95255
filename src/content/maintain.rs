//! Background maintenance: checkpoints, and the removal of obsolete data.

pub(crate) mod checkpoint;
pub(crate) mod sweep;
