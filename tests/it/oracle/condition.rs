//! The conditions of filters: the test of one resource or one value with an operator and a value.

use std::cmp::Ordering;

use super::answer::{DAY, Row};
use super::filter::Test;
use super::forms::{Cell, decimal, fold, list, micros};

/// Reads `true`, `1`, `false` and `0` as a boolean.
pub(crate) fn parse_bool(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Parses a timestamp of a filter. A space before `hh:mm` at the end stands for a `+` that was not encoded.
fn sent_micros(value: &str) -> Result<i64, &'static str> {
    let tail: Vec<char> = value.chars().rev().take(6).collect();
    let is_offset = matches!(tail[..], [d, c, ':', b, a, ' '] if [a, b, c, d].iter().all(char::is_ascii_digit));
    let value = if is_offset {
        format!("{}+{}", &value[..value.len() - 6], &value[value.len() - 5..])
    } else {
        value.to_owned()
    };
    micros(&value).ok_or("INVALID_FILTER")
}

fn pair(value: &str) -> Result<[String; 2], &'static str> {
    list(value).try_into().map_err(|_| "INVALID_FILTER")
}

/// Returns a filter on one of the three system dates.
pub(crate) fn date_condition(
    date: impl Fn(&Row) -> Option<i64> + 'static,
    operator: &str,
    value: &str,
) -> Result<Test, &'static str> {
    match operator {
        "null" => {
            let wanted = parse_bool(value).ok_or("INVALID_FILTER")?;
            Ok(Box::new(move |row, _| date(row).is_none() == wanted))
        }
        "between" => {
            let [from, to] = pair(value)?;
            let from = sent_micros(&from)?.div_euclid(1000);
            let to = sent_micros(&to)?.div_euclid(1000);
            Ok(Box::new(move |row, _| date(row).is_some_and(|date| from <= date && date <= to)))
        }
        "eq" | "ne" | "gt" | "gte" | "lt" | "lte" => {
            let wanted = sent_micros(value)?.div_euclid(DAY * 1000);
            let operator = operator.to_owned();
            Ok(Box::new(move |row, _| {
                let Some(day) = date(row).map(|date| date.div_euclid(DAY)) else { return operator == "ne" };
                match operator.as_str() {
                    "eq" => day == wanted,
                    "ne" => day != wanted,
                    "gt" => day > wanted,
                    "gte" => day >= wanted,
                    "lt" => day < wanted,
                    _ => day <= wanted,
                }
            }))
        }
        _ => Err("INVALID_FILTER"),
    }
}

/// The test of a value or null: whether it matches.
pub(crate) type CellTest = Box<dyn Fn(Option<&Cell>) -> bool>;

type ValueTest = Box<dyn Fn(&Cell) -> bool>;

/// Returns a filter on a column.
pub(crate) fn cell_condition(kind: &str, operator: &str, value: &str) -> Result<CellTest, &'static str> {
    let complement = match operator {
        "ne" => Some("eq"),
        "not_in" => Some("in"),
        "not_contains" => Some("contains"),
        "has_none" => Some("has_any"),
        _ => None,
    };
    if let Some(operator) = complement {
        let test = cell_condition(kind, operator, value)?;
        return Ok(Box::new(move |cell| !test(cell)));
    }
    if operator == "null" {
        let wanted = parse_bool(value).ok_or("INVALID_FILTER")?;
        return Ok(Box::new(move |cell| cell.is_none() == wanted));
    }
    let test = value_condition(kind, operator, value)?;
    Ok(Box::new(move |cell| cell.is_some_and(&test)))
}

/// Returns the test of an operator that looks for a text: whether a folded text matches a folded needle.
pub(crate) fn text_test(operator: &str) -> Option<fn(&str, &str) -> bool> {
    Some(match operator {
        "contains" => |text, needle| text.contains(needle),
        "starts_with" => |text, needle| text.starts_with(needle),
        "ends_with" => |text, needle| text.ends_with(needle),
        _ => return None,
    })
}

fn value_condition(kind: &str, operator: &str, value: &str) -> Result<ValueTest, &'static str> {
    let is_array = kind == "multi-enum" || kind == "references";
    if let Some(holds) = text_test(operator) {
        let needle = fold(value);
        return Ok(Box::new(move |cell| match &cell.elements {
            Some(elements) => elements.iter().any(|(_, folded)| holds(folded, &needle)),
            None => holds(&cell.folded, &needle),
        }));
    }
    let operator = operator.to_owned();
    match operator.as_str() {
        "eq" | "in" => {
            let listed = if operator == "eq" { vec![value.to_owned()] } else { list(value) };
            if operator == "in" && is_array {
                return Ok(Box::new(|_| false));
            }
            if kind == "datetime" {
                let listed = listed.iter().map(|one| sent_micros(one)).collect::<Result<Vec<_>, _>>()?;
                return Ok(Box::new(move |cell| listed.contains(&cell.instant.unwrap())));
            }
            let normalize = |one: String| match (kind, one.as_str()) {
                ("boolean", "1") => "true".to_owned(),
                ("boolean", "0") => "false".to_owned(),
                _ => one,
            };
            let listed: Vec<String> = listed.into_iter().map(normalize).collect();
            Ok(Box::new(move |cell| listed.contains(&cell.exact)))
        }
        "gt" | "gte" | "lt" | "lte" => {
            let passes = move |order: Ordering| match operator.as_str() {
                "gt" => order.is_gt(),
                "gte" => order.is_ge(),
                "lt" => order.is_lt(),
                _ => order.is_le(),
            };
            let value = value.to_owned();
            if kind == "datetime" {
                let wanted = sent_micros(&value)?;
                return Ok(Box::new(move |cell| passes(cell.instant.unwrap().cmp(&wanted))));
            }
            match decimal(&value) {
                Some(wanted) => Ok(Box::new(move |cell| {
                    cell.number.is_some_and(|number| passes(number.partial_cmp(&wanted).unwrap()))
                })),
                None => Ok(Box::new(move |cell| passes(cell.text.chars().cmp(value.chars())))),
            }
        }
        "between" => {
            let [from, to] = pair(value)?;
            if kind == "datetime" {
                let (from, to) = (sent_micros(&from)?, sent_micros(&to)?);
                return Ok(Box::new(move |cell| (from..=to).contains(&cell.instant.unwrap())));
            }
            match (decimal(&from), decimal(&to)) {
                (Some(from), Some(to)) => {
                    Ok(Box::new(move |cell| cell.number.is_some_and(|number| from <= number && number <= to)))
                }
                _ => Ok(Box::new(move |cell| cell.text.chars().ge(from.chars()) && cell.text.chars().le(to.chars()))),
            }
        }
        "has" if is_array => {
            let wanted = value.to_owned();
            Ok(Box::new(move |cell| cell.elements.as_ref().unwrap().iter().any(|(one, _)| *one == wanted)))
        }
        "has_any" | "has_all" if is_array => {
            let (wanted, is_any) = (list(value), operator == "has_any");
            Ok(Box::new(move |cell| {
                let has = |wanted: &String| cell.elements.as_ref().unwrap().iter().any(|(one, _)| one == wanted);
                if is_any { wanted.iter().any(has) } else { wanted.iter().all(has) }
            }))
        }
        _ => Err("INVALID_FILTER"),
    }
}
