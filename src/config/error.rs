//! The error for a configuration that cannot be used. Must not know the settings.

/// A configuration that cannot be used: one sentence that names the setting, its value and what would be valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(super) String);
