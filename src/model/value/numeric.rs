//! Values that are a number, or contain one.

use serde_json::{Map, Value};

use super::object::{object, unknown_keys};
use crate::number::{canonical, read};
use crate::sent::{describe, quote};

const MONEY_KEYS: [&str; 2] = ["amount", "currency"];

pub(super) fn number(value: &Value) -> Result<Value, String> {
    read(value).map(|number| Value::Number(canonical(number)))
}

pub(super) fn duration(value: &Value, min: Option<f64>, max: Option<f64>) -> Result<Value, String> {
    let number = read(value)?;
    let is_within = min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max);
    let number = canonical(number);
    if is_within {
        return Ok(Value::Number(number));
    }
    let bounds = match (min.map(canonical), max.map(canonical)) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("{max} or less"),
        (None, None) => String::new(),
    };
    Err(format!("must be {bounds}, not `{number}`"))
}

pub(super) fn member_id(value: &Value) -> Result<Value, String> {
    match read(value) {
        Ok(number) if number.fract() == 0.0 && number >= 1.0 => Ok(Value::Number(canonical(number))),
        _ => Err(format!("must be the id of a member (a whole number, 1 or more), not {}", describe(value))),
    }
}

pub(super) fn money(value: Value, currencies: &[String]) -> Result<Value, Vec<String>> {
    let mut object = object(value, &MONEY_KEYS)?;
    let amount = match object.swap_remove("amount") {
        Some(amount) => number(&amount).map_err(|error| format!("`amount` {error}")),
        None => Err("`amount` must be given: a number".to_owned()),
    };
    let currency = currency(object.swap_remove("currency"), currencies);
    let mut errors = Vec::new();
    let mut money = Map::new();
    for (key, part) in MONEY_KEYS.into_iter().zip([amount, currency]) {
        match part {
            Ok(part) => {
                money.insert(key.to_owned(), part);
            }
            Err(error) => errors.push(error),
        }
    }
    errors.extend(unknown_keys(&object, &MONEY_KEYS));
    if errors.is_empty() { Ok(Value::Object(money)) } else { Err(errors) }
}

fn currency(value: Option<Value>, allowed: &[String]) -> Result<Value, String> {
    let found = match value {
        Some(Value::String(currency)) if allowed.contains(&currency) => return Ok(Value::String(currency)),
        Some(Value::String(currency)) => quote(&currency),
        Some(other) => describe(&other),
        None => return Err(format!("`currency` must be given: one of {}", allowed.join(", "))),
    };
    Err(format!("`currency` must be one of {}, not {found}", allowed.join(", ")))
}
