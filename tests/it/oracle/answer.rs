//! The naive answer to a query: every resource is tested. `API.md` 4.2, 4.6 and 4.7 are implemented word by word. Slow
//! on purpose.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use icu_collator::options::{AlternateHandling, CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use serde_json::Value;

use super::filter::{Ask, Reading, Test};
use super::forms::{Cell, Column, cell, columns, fold, micros};
use super::words::Words;

/// The milliseconds of a day.
pub(crate) const DAY: i64 = 86_400_000;

/// A snapshot of a blueprint's resources, with all forms of their values.
pub(crate) struct Table {
    pub(crate) blueprint: Value,
    pub(crate) columns: Vec<(String, Column)>,
    pub(crate) rows: Vec<Row>,
    /// The tables of the related resources, by the slug of their blueprint.
    pub(crate) related: HashMap<String, Rc<Table>>,
    /// The index of each row.
    pub(crate) by_id: HashMap<String, usize>,
    /// For each column, the index of the column of the whole attribute. It is another column if the column is a part.
    pub(crate) whole: Vec<usize>,
    collators: HashMap<String, CollatorBorrowed<'static>>,
    /// The ranks by copies and column, once they are computed.
    ranks: RefCell<HashMap<(Reading, String), Ranks>>,
}

/// A resource.
pub(crate) struct Row {
    pub(crate) id: String,
    /// Milliseconds since 1970.
    pub(crate) published: Option<i64>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    /// True if a future publication is hidden.
    is_scheduled: bool,
    /// Attributes by variant. The key is `""` if the blueprint has no variants.
    pub(crate) copies: HashMap<String, Value>,
    /// The cells, by variant, then by column.
    cells: Vec<Vec<Option<Cell>>>,
}

/// An answer: the indexes of the rows in order, or an error code.
pub(crate) type Answer = Result<Vec<usize>, &'static str>;

/// The rank of each row in a sort order. Equal ranks are ties; a null has no rank.
type Ranks = Rc<Vec<Option<i64>>>;

impl Table {
    /// Makes a table of the lines of an NDJSON export with `all_variants=true`.
    pub(crate) fn new(blueprint: Value, lines: &[Value]) -> Table {
        let columns = columns(&blueprint);
        let variants = variants(&blueprint);
        let empty = blueprint["fields"].as_array().unwrap().iter();
        let empty: Value = empty
            .map(|field| (field["slug"].as_str().unwrap().to_owned(), Value::Null))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let mut rows: Vec<Row> = lines.iter().map(|line| Row::new(line, &columns, &variants, &empty)).collect();
        rows.iter_mut().for_each(|row| row.is_scheduled = blueprint["scheduled"] == true);
        let collators = variants.iter().map(|variant| (variant.clone(), collator(variant))).collect();
        let by_id = rows.iter().enumerate().map(|(index, row)| (row.id.clone(), index)).collect();
        let is_whole = |slug: &str, other: &Column| other.slug == slug && other.part.is_none();
        let whole =
            columns.iter().map(|(_, of)| columns.iter().position(|(_, other)| is_whole(&of.slug, other)).unwrap());
        let whole = whole.collect();
        Table { whole, blueprint, columns, rows, collators, by_id, related: HashMap::new(), ranks: RefCell::default() }
    }

    /// Returns the slugs of the variants; a single `""` if the blueprint has none.
    pub(crate) fn variants(&self) -> Vec<String> {
        variants(&self.blueprint)
    }

    pub(crate) fn default_variant(&self) -> String {
        let variants = self.blueprint["variants"].as_array().unwrap();
        let default = variants.iter().find(|variant| variant["default"] == true);
        default.map_or_else(String::new, |variant| variant["slug"].as_str().unwrap().to_owned())
    }

    /// Returns the variant that the parameters request.
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

    /// Returns the rows that match the parameters, in order, for all pages together. `today` is the number of days
    /// since 1970.
    pub(crate) fn answer(&self, pairs: &[(String, String)], sees_drafts: bool, today: i64) -> Answer {
        let ask =
            Ask { sees_drafts, today, variant: Some(self.variant(pairs)?), fallback: self.counting_fallback(pairs) };
        let mut tests: Vec<Test> = vec![Box::new(move |row, _| row.is_seen(sees_drafts))];
        let mut filters = Vec::new();
        for (name, value) in pairs {
            if let Some(inside) = name.strip_prefix("filter[") {
                let inside = inside.strip_suffix(']').ok_or("INVALID_FILTER")?;
                filters.push((inside.split("][").collect(), value.as_str()));
            } else if name == "search" && !value.is_empty() {
                tests.extend(self.search(value));
            } else if name == "q" {
                let typos = !pairs.iter().any(|(name, value)| name == "typos" && value == "false");
                tests.extend(self.words(Words::of(value, typos)));
            }
        }
        tests.extend(self.conditions(&filters, &ask, 0, 0)?);
        let keys = self.sort_keys(pairs)?;
        let reading = self.reading(&ask);
        let mut found: Vec<usize> = (0..self.rows.len()).collect();
        found.retain(|index| tests.iter().all(|test| test(&self.rows[*index], reading)));
        let keys: Vec<(Ranks, bool)> =
            keys.into_iter().map(|(name, descending)| (self.ranks(reading, &name), descending)).collect();
        let ids = self.ranks(reading, "id");
        found.sort_by(|left, right| compare(*left, *right, &keys, &ids));
        Ok(found)
    }

    /// Returns the fallback, if filters and order read its values.
    pub(crate) fn counting_fallback(&self, pairs: &[(String, String)]) -> Option<String> {
        let value = |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        value("fallback_mode").and_then(|_| value("fallback")).filter(|_| self.default_variant() != "")
    }

    pub(crate) fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(other, _)| other == name)
    }

    /// Returns the columns that `search` and `q` search.
    fn searched(&self) -> Vec<usize> {
        let is_searched =
            |column: &Column| column.part.is_none() && ["text", "rich-text"].contains(&column.kind.as_str());
        (0..self.columns.len()).filter(|index| is_searched(&self.columns[*index].1)).collect()
    }

    fn words(&self, words: Words) -> Option<Test> {
        let columns = self.searched();
        let is_none = columns.is_empty() || words.is_empty();
        let holds = move |row: &Row, reading| {
            words.are_in(
                columns.iter().filter_map(|column| row.seen(reading, *column, *column)).map(|cell| cell.text.as_str()),
            )
        };
        (!is_none).then(|| Box::new(holds) as Test)
    }

    fn search(&self, text: &str) -> Option<Test> {
        let columns = self.searched();
        let needle = fold(text);
        let is_none = columns.is_empty();
        let holds = move |row: &Row, reading| {
            let cells = columns.iter().filter_map(|column| row.seen(reading, *column, *column));
            cells.into_iter().any(|cell| cell.folded.contains(&needle))
        };
        (!is_none).then(|| Box::new(holds) as Test)
    }

    fn sort_keys(&self, pairs: &[(String, String)]) -> Result<Vec<(String, bool)>, &'static str> {
        let sort = pairs.iter().find(|(name, _)| name == "sort").map_or("-created_at", |(_, value)| value.as_str());
        let mut keys: Vec<(String, bool)> = Vec::new();
        for entry in sort.split(',') {
            let (name, descending) = entry.strip_prefix('-').map_or((entry, false), |name| (name, true));
            if !["id", "created_at", "updated_at", "published_at"].contains(&name) && self.column_index(name).is_none()
            {
                return Err("INVALID_SORT");
            }
            if keys.len() == 8 || keys.iter().any(|(before, _)| before == name) {
                return Err("INVALID_SORT");
            }
            keys.push((name.to_owned(), descending));
        }
        Ok(keys)
    }

    fn ranks(&self, reading: Reading, name: &str) -> Ranks {
        let known = self.ranks.borrow().get(&(reading, name.to_owned())).cloned();
        known.unwrap_or_else(|| {
            let ranks = Rc::new(self.ranked(reading, name));
            self.ranks.borrow_mut().insert((reading, name.to_owned()), Rc::clone(&ranks));
            ranks
        })
    }

    fn ranked(&self, reading: Reading, name: &str) -> Vec<Option<i64>> {
        let rows = self.rows.iter();
        match name {
            "created_at" => return rows.map(|row| Some(row.created)).collect(),
            "updated_at" => return rows.map(|row| Some(row.updated)).collect(),
            "published_at" => return rows.map(|row| row.published).collect(),
            _ => {}
        }
        let collator = &self.collators[&self.variants()[reading.variant]];
        let seen = |row: usize, column: usize| self.rows[row].seen(reading, column, self.whole[column]);
        let compare: Box<dyn Fn(usize, usize) -> Ordering> = match self.column_index(name) {
            None => Box::new(|left, right| self.rows[left].id.cmp(&self.rows[right].id)),
            Some(column) => Box::new(move |left, right| {
                let cell = |row: usize| seen(row, column).unwrap();
                compare_cells(&self.columns[column].1.kind, cell(left), cell(right), collator)
            }),
        };
        let is_null = |row: usize| self.column_index(name).is_some_and(|column| seen(row, column).is_none());
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|row| !is_null(*row)).collect();
        order.sort_by(|left, right| compare(*left, *right));
        let mut ranks = vec![None; self.rows.len()];
        let mut rank = 0;
        for (index, row) in order.iter().enumerate() {
            rank += i64::from(index > 0 && compare(order[index - 1], *row).is_ne());
            ranks[*row] = Some(rank);
        }
        ranks
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
            is_scheduled: false,
            cells: cells.collect(),
            copies,
        }
    }

    pub(crate) fn cell(&self, variant: usize, column: usize) -> Option<&Cell> {
        self.cells[variant][column].as_ref()
    }

    /// Returns the cell that is used: the cell of the fallback if the whole attribute is null in the variant.
    pub(crate) fn seen(&self, reading: Reading, column: usize, whole: usize) -> Option<&Cell> {
        match reading.fallback {
            Some(fallback) if self.cell(reading.variant, whole).is_none() => self.cell(fallback, column),
            _ => self.cell(reading.variant, column),
        }
    }

    pub(crate) fn is_seen(&self, sees_drafts: bool) -> bool {
        let is_due = |at: i64| !self.is_scheduled || at <= chrono::Utc::now().timestamp_millis();
        sees_drafts || self.published.is_some_and(is_due)
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

fn compare(left: usize, right: usize, keys: &[(Ranks, bool)], ids: &Ranks) -> Ordering {
    let directed = |order: Ordering, descending: bool| if descending { order.reverse() } else { order };
    for (ranks, descending) in keys {
        let order = match (ranks[left], ranks[right]) {
            (Some(left), Some(right)) => directed(left.cmp(&right), *descending),
            // Nulls come last in both directions.
            (left, right) => left.is_none().cmp(&right.is_none()),
        };
        if order.is_ne() {
            return order;
        }
    }
    directed(ids[left].cmp(&ids[right]), keys.last().is_some_and(|(_, descending)| *descending))
}

fn compare_cells(kind: &str, left: &Cell, right: &Cell, collator: &CollatorBorrowed<'_>) -> Ordering {
    match kind {
        "number" | "money" | "duration" | "user" => left.number.unwrap().partial_cmp(&right.number.unwrap()).unwrap(),
        "boolean" => (left.text == "true").cmp(&(right.text == "true")),
        "datetime" => left.instant.cmp(&right.instant),
        "date" => left.text.cmp(&right.text),
        _ => collator.compare(left.head(), right.head()),
    }
}
