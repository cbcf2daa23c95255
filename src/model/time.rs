//! Instants: how they are read, kept and answered (`API.md` 1.2).

/// Milliseconds since 1970-01-01T00:00:00Z: the three system dates.
pub type Millis = i64;
