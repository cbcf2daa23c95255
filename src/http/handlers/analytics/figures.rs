//! The form of figures in JSON: rounded percentages, changes, trends and durations (`API.md` 4.8).

use bindery_analytics::{Comparison, Totals};
use serde_json::{Value, json};

/// Returns the change in percent, to one decimal. From zero it is 100, or 0 if the new figure is zero too.
pub(super) fn change(figure: Comparison) -> Value {
    tenths(change_tenths(figure))
}

/// Returns `up`, `down`, or `stable` for a change that rounds to 0.
pub(super) fn trend(figure: Comparison) -> &'static str {
    match change_tenths(figure) {
        0 => "stable",
        change if change > 0 => "up",
        _ => "down",
    }
}

/// Returns a part in percent of the whole, to one decimal; 0 if the whole is 0.
pub(super) fn percentage(part: u64, whole: u64) -> Value {
    tenths(if whole == 0 { 0 } else { divide(1_000 * i128::from(part), i128::from(whole)) })
}

/// Returns the mean of `count` numbers, to one decimal; null without any.
pub(super) fn mean(sum: u64, count: u64) -> Value {
    if count == 0 { Value::Null } else { tenths(divide(10 * i128::from(sum), i128::from(count))) }
}

/// Returns the average duration of a session as `HH:MM:SS`.
pub(super) fn average_duration(totals: &Totals) -> String {
    let seconds = match totals.sessions {
        0 => 0,
        sessions => divide(i128::from(totals.duration), i128::from(sessions) * 1_000),
    };
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn change_tenths(Comparison { current, previous }: Comparison) -> i128 {
    match (current, previous) {
        (0, 0) => 0,
        (_, 0) => 1_000,
        _ => divide(1_000 * (i128::from(current) - i128::from(previous)), i128::from(previous)),
    }
}

/// Tenths as a number: `33.3`, `50`.
fn tenths(tenths: i128) -> Value {
    if tenths % 10 == 0 { json!((tenths / 10) as i64) } else { json!(tenths as f64 / 10.0) }
}

/// Returns a quotient rounded half away from zero. `by` must be positive.
fn divide(number: i128, by: i128) -> i128 {
    (2 * number.abs() + by) / (2 * by) * number.signum()
}
