//! The form of a blueprint in a file, and the parser of the server's answer. Must not know commands.

use bindery_model::blueprint::{Blueprint, Definition};
use bindery_model::time::now_millis;
use serde_json::Value;

use super::error::CliError;

/// Keys of an answered blueprint that are derived from others, or that the server sets.
const LEFT_OUT: [&str; 6] = ["id", "type", "is_singular", "is_readonly", "created_at", "updated_at"];

/// Returns the form of a file: the server's answer without derived keys.
pub(super) fn as_file(mut answered: Value) -> Value {
    if let Some(object) = answered.as_object_mut() {
        object.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
    }
    answered
}

/// Reads a blueprint from the JSON of a file or an answer. Its field numbers are not those of the server.
pub(super) fn read_blueprint(json: Value) -> Result<Blueprint, CliError> {
    Ok(Blueprint::create(Definition::parse(json)?, 1, now_millis()))
}
