//! Background maintenance: checkpoints, and the removal of obsolete data.

pub(crate) mod checkpoint;
mod due;
pub(crate) mod sweep;
