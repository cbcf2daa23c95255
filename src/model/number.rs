//! Numbers of attributes and settings: the accepted range, and the stored form.

use serde_json::{Number, Value};

use super::sent::describe;

/// Below this magnitude a double represents every integer.
const LIMIT: f64 = 9_007_199_254_740_992.0;

/// Returns the stored form of a number: an integer if it is one.
pub fn canonical(number: f64) -> Number {
    if number.fract() == 0.0 && number.abs() < LIMIT {
        // This also turns -0 into 0.
        return Number::from(number as i64);
    }
    Number::from_f64(number).unwrap_or_else(|| Number::from(0))
}

/// Reads a number whose magnitude is below 2^53.
///
/// # Errors
///
/// A clause that begins with `must`.
pub(super) fn read(value: &Value) -> Result<f64, String> {
    let Some(number) = value.as_f64() else {
        return Err(format!("must be a number, not {}", describe(value)));
    };
    if number.abs() < LIMIT {
        Ok(number)
    } else {
        Err(format!("must be a number of magnitude below 2^53, not `{value}`"))
    }
}
