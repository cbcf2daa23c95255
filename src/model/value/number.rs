//! Values that are numbers or hold one.

use serde_json::{Map, Number, Value};

use super::describe;
use crate::model::sent::shorten;

/// Below this magnitude a double holds every integer.
const LIMIT: f64 = 9_007_199_254_740_992.0;

pub(super) fn number(value: &Value) -> Result<Value, String> {
    let number = double(value)?;
    Ok(Value::Number(canonical(number)))
}

pub(super) fn duration(value: &Value, min: Option<f64>, max: Option<f64>) -> Result<Value, String> {
    let number = double(value)?;
    if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
        let number = canonical(number);
        let told = |bound: Option<f64>| bound.map_or("any".to_owned(), |bound| canonical(bound).to_string());
        return Err(format!("must lie within the bounds {} to {}; `{number}` does not", told(min), told(max)));
    }
    Ok(Value::Number(canonical(number)))
}

pub(super) fn member(value: &Value) -> Result<Value, String> {
    match double(value) {
        Ok(number) if number.fract() == 0.0 && number >= 1.0 => Ok(Value::Number(canonical(number))),
        _ => Err(format!("must be the id of a member, a whole number from 1 on, not {}", describe(value))),
    }
}

pub(super) fn money(value: Value, currencies: &[String]) -> Result<Value, Vec<String>> {
    let Value::Object(mut object) = value else {
        return Err(vec![format!("must be an object `{{\"amount\": …, \"currency\": …}}`, not {}", describe(&value))]);
    };
    let mut faults = Vec::new();
    let amount = match object.swap_remove("amount") {
        Some(amount) => number(&amount).map_err(|fault| faults.push(format!("`amount` {fault}"))).ok(),
        None => {
            faults.push("must have an `amount`, a number".to_owned());
            None
        }
    };
    let currency = match object.swap_remove("currency") {
        Some(Value::String(currency)) if currencies.contains(&currency) => Some(currency),
        other => {
            let what = other.map_or("left out".to_owned(), |other| match other {
                Value::String(text) => format!("`{}`", shorten(&text)),
                other => describe(&other),
            });
            faults.push(format!("`currency` must be one of {}, not {what}", currencies.join(", ")));
            None
        }
    };
    for key in object.keys() {
        faults.push(format!("must have the keys `amount` and `currency` alone, not `{}`", shorten(key)));
    }
    match (amount, currency) {
        (Some(amount), Some(currency)) if faults.is_empty() => {
            let mut money = Map::new();
            money.insert("amount".to_owned(), amount);
            money.insert("currency".to_owned(), Value::String(currency));
            Ok(Value::Object(money))
        }
        _ => Err(faults),
    }
}

/// The number as it is kept: an integer where it is one.
pub(in crate::model) fn canonical(number: f64) -> Number {
    if number.fract() == 0.0 && number.abs() < LIMIT {
        // Also makes 0 of -0.
        return Number::from(number as i64);
    }
    Number::from_f64(number).unwrap_or_else(|| Number::from(0))
}

pub(in crate::model) fn double(value: &Value) -> Result<f64, String> {
    let Some(number) = value.as_f64() else {
        return Err(format!("must be a number, not {}", describe(value)));
    };
    if number.abs() < LIMIT {
        Ok(number)
    } else {
        Err(format!("must be a number of a magnitude below 2^53; `{value}` is not"))
    }
}
