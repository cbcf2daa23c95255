//! The settings `trash` and `history` of a blueprint: what is kept of deleted resources and earlier versions (`API.md`
//! 4.22, 4.23).

use serde_json::{Map, Value};

use super::body::BodyReader;
use crate::blueprint::types::{HistorySettings, TrashSettings};
use crate::sent::describe;

/// Reads `{"days": 30}`.
pub(super) fn trash(value: Option<Value>, reader: &mut BodyReader) -> Option<TrashSettings> {
    let mut object = settings(value, "trash", "`{\"days\": 30}`", reader)?;
    let days = number(&mut object, "trash", "days", TrashSettings::MAX_DAYS, reader);
    reader.unknown_keys("trash", &object, &["days"]);
    Some(TrashSettings { days: days? })
}

/// Reads `{"keep": 50, "days": 365}`.
pub(super) fn history(value: Option<Value>, reader: &mut BodyReader) -> Option<HistorySettings> {
    let mut object = settings(value, "history", "`{\"keep\": 50, \"days\": 365}`", reader)?;
    let keep = number(&mut object, "history", "keep", HistorySettings::MAX_KEEP, reader);
    let days = number(&mut object, "history", "days", HistorySettings::MAX_DAYS, reader);
    reader.unknown_keys("history", &object, &["keep", "days"]);
    Some(HistorySettings { keep: keep?, days: days? })
}

/// Reads settings that are off if they are null or left out.
fn settings(value: Option<Value>, path: &str, example: &str, reader: &mut BodyReader) -> Option<Map<String, Value>> {
    match value.filter(|value| !value.is_null())? {
        Value::Object(object) => Some(object),
        other => {
            reader.error(path, format!("must be null or an object such as {example}, not {}", describe(&other)));
            None
        }
    }
}

/// Reads an integer from 1 to `most`.
fn number(object: &mut Map<String, Value>, path: &str, key: &str, most: u16, reader: &mut BodyReader) -> Option<u16> {
    let value = object.shift_remove(key);
    let number = value.as_ref().and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok());
    let number = number.filter(|number| (1..=most).contains(number));
    if number.is_none() {
        let text = match value {
            Some(value) => format!("must be an integer from 1 to {most}, not {}", describe(&value)),
            None => format!("must be given: an integer from 1 to {most}"),
        };
        reader.error(&format!("{path}.{key}"), text);
    }
    number
}
