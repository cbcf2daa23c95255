//! The answer to a query, by asking every resource: what 4.2, 4.6 and 4.7 of the interface and part 4 of its decisions
//! say, read word by word. Fast it is not.

use std::cmp::Ordering;
use std::collections::HashMap;

use icu_collator::options::{AlternateHandling, CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use serde_json::Value;

use super::forms::{Cell, Column, cell, columns, decimal, fold, list, micros};

const DAY: i64 = 86_400_000;

/// A blueprint's resources at one moment, in every form.
pub(crate) struct Table {
    pub(crate) blueprint: Value,
    pub(crate) columns: Vec<(String, Column)>,
    pub(crate) rows: Vec<Row>,
    collators: HashMap<String, CollatorBorrowed<'static>>,
}

/// A resource.
pub(crate) struct Row {
    pub(crate) id: String,
    /// Milliseconds since 1970.
    pub(crate) published: Option<i64>,
    created: i64,
    updated: i64,
    /// Attributes by variant; of a blueprint without variants by `""`.
    pub(crate) copies: HashMap<String, Value>,
    /// By variant, then by column.
    cells: Vec<Vec<Option<Cell>>>,
}

/// One answer: the places of the rows, in order.
pub(crate) type Answer = Result<Vec<usize>, &'static str>;

type Test = Box<dyn Fn(&Row, usize) -> bool>;

impl Table {
    /// From what `export?all_variants=true` gives as NDJSON.
    pub(crate) fn new(blueprint: Value, lines: &[Value]) -> Table {
        let columns = columns(&blueprint);
        let variants = variants(&blueprint);
        let empty = blueprint["fields"].as_array().unwrap().iter();
        let empty: Value = empty
            .map(|field| (field["slug"].as_str().unwrap().to_owned(), Value::Null))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let rows = lines.iter().map(|line| Row::new(line, &columns, &variants, &empty)).collect();
        let collators = variants.iter().map(|variant| (variant.clone(), collator(variant))).collect();
        Table { blueprint, columns, rows, collators }
    }

    /// The variants; `""` alone where the blueprint has none.
    pub(crate) fn variants(&self) -> Vec<String> {
        variants(&self.blueprint)
    }

    pub(crate) fn default_variant(&self) -> String {
        let variants = self.blueprint["variants"].as_array().unwrap();
        let default = variants.iter().find(|variant| variant["default"] == true);
        default.map_or_else(String::new, |variant| variant["slug"].as_str().unwrap().to_owned())
    }

    /// The variant that the parameters ask for.
    pub(crate) fn variant(&self, pairs: &[(String, String)]) -> Result<String, &'static str> {
        let sent = pairs.iter().find(|(name, _)| name == "variant").map(|(_, value)| value.clone());
        match sent {
            Some(slug) if self.default_variant() != "" => {
                if self.variants().contains(&slug) {
                    Ok(slug)
                } else {
                    Err("INVALID_VARIANT")
                }
            }
            _ => Ok(self.default_variant()),
        }
    }

    /// The rows that the parameters ask for, in order, all pages. `today` is the day of now since 1970.
    pub(crate) fn answer(&self, pairs: &[(String, String)], sees_drafts: bool, today: i64) -> Answer {
        let variant = self.variant(pairs)?;
        let mut tests: Vec<Test> = Vec::new();
        if !sees_drafts {
            tests.push(Box::new(|row, _| row.published.is_some()));
        }
        for (name, value) in pairs {
            if let Some(inside) = name.strip_prefix("filter[") {
                let inside = inside.strip_suffix(']').ok_or("INVALID_FILTER")?;
                let (field, operator) = inside.split_once("][").unwrap_or((inside, "eq"));
                tests.push(self.condition(field, operator, value, today)?);
            } else if name == "search" && !value.is_empty() {
                tests.extend(self.search(value));
            }
        }
        let keys = self.sort_keys(pairs)?;
        let collator = &self.collators[&variant];
        let variant = self.variants().iter().position(|other| *other == variant).unwrap();
        let mut found: Vec<usize> = (0..self.rows.len()).collect();
        found.retain(|place| tests.iter().all(|test| test(&self.rows[*place], variant)));
        found.sort_by(|left, right| compare(&self.rows[*left], &self.rows[*right], &keys, variant, collator));
        Ok(found)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(other, _)| other == name)
    }

    fn search(&self, text: &str) -> Option<Test> {
        let looked_at =
            |column: &Column| column.part.is_none() && ["text", "rich-text"].contains(&column.kind.as_str());
        let columns: Vec<usize> = (0..self.columns.len()).filter(|place| looked_at(&self.columns[*place].1)).collect();
        let needle = fold(text);
        let is_none = columns.is_empty();
        let holds = move |row: &Row, variant| {
            columns.iter().any(|column| row.cell(variant, *column).is_some_and(|cell| cell.folded.contains(&needle)))
        };
        (!is_none).then(|| Box::new(holds) as Test)
    }

    fn condition(&self, field: &str, operator: &str, value: &str, today: i64) -> Result<Test, &'static str> {
        let operator = match operator {
            "equals" => "eq",
            "not_equals" => "ne",
            operator => operator,
        };
        let value = value.to_owned();
        match field {
            "id" => {
                let listed = match operator {
                    "eq" | "ne" => vec![value],
                    "in" | "not_in" => list(&value),
                    _ => return Err("INVALID_FILTER"),
                };
                let wanted = !operator.starts_with('n');
                Ok(Box::new(move |row, _| listed.contains(&row.id) == wanted))
            }
            "published" => {
                if !["eq", "ne"].contains(&operator) {
                    return Err("INVALID_FILTER");
                }
                let Some(said) = switch(&value) else { return Ok(Box::new(|_, _| true)) };
                let wanted = said == (operator == "eq");
                Ok(Box::new(move |row, _| row.published.is_some_and(|at| at.div_euclid(DAY) <= today) == wanted))
            }
            "published_at" => date_condition(|row| row.published, operator, &value),
            "created_at" => date_condition(|row| Some(row.created), operator, &value),
            "updated_at" => date_condition(|row| Some(row.updated), operator, &value),
            _ => {
                let column = self.place(field).ok_or("INVALID_FILTER")?;
                let test = cell_condition(&self.columns[column].1.kind, operator, &value)?;
                Ok(Box::new(move |row, variant| test(row.cell(variant, column))))
            }
        }
    }

    fn sort_keys(&self, pairs: &[(String, String)]) -> Result<Vec<SortKey>, &'static str> {
        let sort = pairs.iter().find(|(name, _)| name == "sort").map_or("-created_at", |(_, value)| value.as_str());
        let mut keys = Vec::new();
        for entry in sort.split(',') {
            let (name, descending) = entry.strip_prefix('-').map_or((entry, false), |name| (name, true));
            let (kind, column) = match name {
                "id" | "created_at" | "updated_at" | "published_at" => (name.to_owned(), 0),
                _ => {
                    let place = self.place(name).ok_or("INVALID_SORT")?;
                    (self.columns[place].1.kind.clone(), place)
                }
            };
            keys.push(SortKey { kind, column, descending });
        }
        Ok(keys)
    }
}

impl Row {
    fn new(line: &Value, columns: &[(String, Column)], variants: &[String], empty: &Value) -> Row {
        let date = |key: &str| line[key].as_str().map(|text| micros(text).unwrap() / 1000);
        let copies: HashMap<String, Value> = variants
            .iter()
            .map(|variant| {
                let copy = if variant.is_empty() { &line["attributes"] } else { &line["variants"][variant] };
                (variant.clone(), if copy.is_null() { empty.clone() } else { copy.clone() })
            })
            .collect();
        let cells = variants.iter().map(|variant| {
            let copy = &copies[variant];
            columns.iter().map(|(_, column)| cell(column, copy)).collect()
        });
        Row {
            id: line["id"].as_str().unwrap().to_owned(),
            published: line["published_at"].as_str().map(|text| micros(text).unwrap().div_euclid(1000)),
            created: date("created_at").unwrap(),
            updated: date("updated_at").unwrap(),
            cells: cells.collect(),
            copies,
        }
    }

    pub(crate) fn cell(&self, variant: usize, column: usize) -> Option<&Cell> {
        self.cells[variant][column].as_ref()
    }
}

fn variants(blueprint: &Value) -> Vec<String> {
    let variants: Vec<String> = blueprint["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["slug"].as_str().unwrap().to_owned())
        .collect();
    if variants.is_empty() { vec![String::new()] } else { variants }
}

fn collator(variant: &str) -> CollatorBorrowed<'static> {
    let mut options = CollatorOptions::default();
    options.strength = Some(Strength::Tertiary);
    options.alternate_handling = Some(AlternateHandling::NonIgnorable);
    let locale = variant.parse::<icu_locale_core::Locale>();
    let preferences = locale.map(|locale| CollatorPreferences::from(&locale)).unwrap_or_default();
    Collator::try_new(preferences, options).unwrap()
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// A timestamp of a filter: a blank before `hh:mm` at its end was a `+`.
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

fn date_condition(
    date: impl Fn(&Row) -> Option<i64> + 'static,
    operator: &str,
    value: &str,
) -> Result<Test, &'static str> {
    match operator {
        "null" => {
            let wanted = switch(value).ok_or("INVALID_FILTER")?;
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

struct SortKey {
    /// The column's type, or the name of what belongs to the resource.
    kind: String,
    column: usize,
    descending: bool,
}

type CellTest = Box<dyn Fn(Option<&Cell>) -> bool>;

fn cell_condition(kind: &str, operator: &str, value: &str) -> Result<CellTest, &'static str> {
    let complement = match operator {
        "ne" => Some("eq"),
        "not_in" => Some("in"),
        "not_contains" => Some("contains"),
        _ => None,
    };
    if let Some(operator) = complement {
        let test = cell_condition(kind, operator, value)?;
        return Ok(Box::new(move |cell| !test(cell)));
    }
    if operator == "null" {
        let wanted = switch(value).ok_or("INVALID_FILTER")?;
        return Ok(Box::new(move |cell| cell.is_none() == wanted));
    }
    let test = value_condition(kind, operator, value)?;
    Ok(Box::new(move |cell| cell.is_some_and(&test)))
}

/// Whether a value passes.
type Condition = Box<dyn Fn(&Cell) -> bool>;

fn value_condition(kind: &str, operator: &str, value: &str) -> Result<Condition, &'static str> {
    let is_array = kind == "multi-enum" || kind == "references";
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
            let meant = |one: String| match (kind, one.as_str()) {
                ("boolean", "1") => "true".to_owned(),
                ("boolean", "0") => "false".to_owned(),
                _ => one,
            };
            let listed: Vec<String> = listed.into_iter().map(meant).collect();
            Ok(Box::new(move |cell| listed.contains(&cell.exact)))
        }
        "contains" | "starts_with" | "ends_with" => {
            let needle = fold(value);
            let holds = move |text: &str| match operator.as_str() {
                "contains" => text.contains(&needle),
                "starts_with" => text.starts_with(&needle),
                _ => text.ends_with(&needle),
            };
            Ok(Box::new(move |cell| match &cell.elements {
                Some(elements) => elements.iter().any(|(_, folded)| holds(folded)),
                None => holds(&cell.folded),
            }))
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
        _ => Err("INVALID_FILTER"),
    }
}

fn compare(left: &Row, right: &Row, keys: &[SortKey], variant: usize, collator: &CollatorBorrowed<'_>) -> Ordering {
    for SortKey { kind, column, descending } in keys {
        let date = |row: &Row| match kind.as_str() {
            "created_at" => Some(row.created),
            "updated_at" => Some(row.updated),
            _ => row.published,
        };
        let order = match kind.as_str() {
            "id" => Ok(left.id.cmp(&right.id)),
            "created_at" | "updated_at" | "published_at" => both(date(left), date(right)).map(|(a, b)| a.cmp(&b)),
            kind => both(left.cell(variant, *column), right.cell(variant, *column))
                .map(|(a, b)| in_order(kind, a, b, collator)),
        };
        // Nulls come last whatever the direction is.
        let order = match (order, descending) {
            (Ok(order), true) => order.reverse(),
            (Ok(order) | Err(order), _) => order,
        };
        if order.is_ne() {
            return order;
        }
    }
    let order = left.id.cmp(&right.id);
    if keys.last().is_some_and(|key| key.descending) { order.reverse() } else { order }
}

/// Both values, or the order of what is null.
fn both<T>(left: Option<T>, right: Option<T>) -> Result<(T, T), Ordering> {
    match (left, right) {
        (Some(left), Some(right)) => Ok((left, right)),
        (left, right) => Err(left.is_none().cmp(&right.is_none())),
    }
}

fn in_order(kind: &str, left: &Cell, right: &Cell, collator: &CollatorBorrowed<'_>) -> Ordering {
    match kind {
        "number" | "money" | "duration" | "user" => left.number.unwrap().partial_cmp(&right.number.unwrap()).unwrap(),
        "boolean" => (left.text == "true").cmp(&(right.text == "true")),
        "datetime" => left.instant.cmp(&right.instant),
        "date" => left.text.cmp(&right.text),
        _ => collator.compare(left.head(), right.head()),
    }
}
