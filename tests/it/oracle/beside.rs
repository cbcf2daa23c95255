//! The parts of a list's answer beside its resources, and the positions of resources in lists (`API.md` 4.2.7 to 4.2.9,
//! 4.3.1, 4.3.2). They are compared with counts one by one.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Datelike as _, NaiveDate};
use serde_json::{Map, Value, json};

use super::answer::{Row, Table};
use super::ask::{Pairs, encode};
use super::filter::{Ask, Reading, ids as ids_of};
use super::forms::Cell;
use super::random::Random;
use super::world::SLUG;
use super::{View, ids};

const COUNTED: [&str; 11] = [
    "enum",
    "multi-enum",
    "boolean",
    "reference",
    "references",
    "user",
    "number",
    "duration",
    "slug",
    "email",
    "color",
];

/// A facet that a request can name.
struct Entry {
    key: String,
    /// The name before the colon.
    name: String,
    unit: Option<&'static str>,
    limit: usize,
}

/// The value as which one resource is counted: the text form and the value.
type Counted = (String, Value);

impl View<'_> {
    /// Compares random facets and statistics of the results of a query.
    pub(super) fn aggregates(&self, random: &mut Random, pairs: &Pairs) -> Result<(), String> {
        let entries = self.entries(random);
        let stats: Vec<&str> = self.numbers();
        let is_disjunctive = random.chance(30);
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let mut query = format!("{}&fields=id&facets={}", encode(pairs), keys.join(","));
        if is_disjunctive {
            query.push_str("&facet_mode=disjunctive");
        }
        if !stats.is_empty() {
            query.push_str(&format!("&stats={}", stats.join(",")));
        }
        let path = match random.chance(20) {
            true => format!("/v2/resources/{SLUG}/export?{query}"),
            false => format!("/v2/resources/{SLUG}?per_page=1&{query}"),
        };
        let reply = self.world.driver.read(&path, self.sees_drafts);
        let Ok(found) = self.rows(pairs) else {
            return if reply.status == 422 { Ok(()) } else { Err(format!("{path}: {}", reply.text)) };
        };
        let meta = reply.expect(200).json()["meta"].take();
        for entry in &entries {
            let without = |name: &str| {
                let rest = name.strip_prefix(&format!("filter[{}]", entry.name));
                rest.is_some_and(|rest| !rest.starts_with("[$"))
            };
            let others: Pairs = pairs.iter().filter(|(name, _)| !without(name)).cloned().collect();
            let counted = if is_disjunctive { self.rows(&others)? } else { found.clone() };
            let expected = self.facet(entry, &counted, self.reading(pairs));
            if meta["facets"][&entry.key] != expected {
                let got = &meta["facets"][&entry.key];
                return Err(format!("{path}\n{pairs:?}\n{}: {got}\nexpected {expected}", entry.key));
            }
        }
        for name in stats {
            let (got, expected) = (&meta["stats"][name], self.stats(name, &found, self.reading(pairs)));
            if !is_near(got, &expected) {
                return Err(format!("{path}\n{pairs:?}\n{name}: {got}\nexpected {expected}"));
            }
        }
        Ok(())
    }

    fn rows(&self, pairs: &Pairs) -> Result<Vec<&Row>, String> {
        let found = self.answer(pairs).map_err(str::to_owned)?;
        Ok(found.into_iter().map(|id| &self.table.rows[self.table.by_id[id]]).collect())
    }

    fn reading(&self, pairs: &Pairs) -> Reading {
        let variant = self.table.variant(pairs).ok();
        self.table.reading(&Ask {
            sees_drafts: self.sees_drafts,
            today: 0,
            variant,
            fallback: self.table.counting_fallback(pairs),
        })
    }

    /// Returns random facets, at least one.
    fn entries(&self, random: &mut Random) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..random.within(1, 6) {
            let mut names: Vec<(&str, bool)> =
                ["created_at", "updated_at", "published_at"].into_iter().map(|name| (name, true)).collect();
            names.extend(self.table.columns.iter().filter_map(|(name, column)| {
                let is_counted = match column.part.as_deref() {
                    None => COUNTED.contains(&column.kind.as_str()) || column.kind == "text",
                    Some(part) => ["currency", "city", "country"].contains(&part),
                };
                let is_date = column.kind == "date" || column.kind == "datetime";
                (is_counted || is_date).then_some((name.as_str(), is_date))
            }));
            let (name, is_date) = *random.pick(&names);
            let unit = is_date.then(|| *random.pick(&["day", "month", "year"]));
            let number = (!is_date && random.chance(50)).then(|| *random.pick(&[1, 2, 5, 1_000]));
            let suffix = unit.map(str::to_owned).or(number.map(|number: usize| number.to_string()));
            let key = suffix.map_or_else(|| name.to_owned(), |suffix| format!("{name}:{suffix}"));
            if entries.iter().all(|entry| entry.key != key) {
                let limit = if is_date { usize::MAX } else { number.unwrap_or(10) };
                entries.push(Entry { key, name: name.to_owned(), unit, limit });
            }
        }
        entries
    }

    /// Returns the fields that have statistics, at most ten.
    fn numbers(&self) -> Vec<&str> {
        let columns = self.table.columns.iter().filter(|(_, column)| column.part.is_none());
        let numbers = columns.filter(|(_, column)| ["number", "duration", "money"].contains(&column.kind.as_str()));
        numbers.map(|(name, _)| name.as_str()).take(10).collect()
    }

    fn facet(&self, entry: &Entry, rows: &[&Row], reading: Reading) -> Value {
        let mut counts: BTreeMap<String, (Value, u64)> = BTreeMap::new();
        let mut nulls = 0;
        for row in rows {
            let counted = self.counted(entry, row, reading);
            nulls += u64::from(counted.is_empty());
            for (text, value) in counted {
                counts.entry(text).or_insert((value, 0)).1 += 1;
            }
        }
        let distinct = counts.len();
        // The sort is stable: equally frequent values stay in the order of their texts.
        let mut values: Vec<(Value, u64)> = counts.into_values().collect();
        if entry.unit.is_none() {
            values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        }
        values.truncate(entry.limit);
        let values = values.into_iter().map(|(value, count)| json!({ "value": value, "count": count }));
        json!({ "values": values.collect::<Vec<_>>(), "distinct": distinct, "null": nulls })
    }

    fn counted(&self, entry: &Entry, row: &Row, reading: Reading) -> Vec<Counted> {
        let text = |text: &str| (text.to_owned(), Value::from(text));
        // In UTC, some instants are in the years 0 and 10000.
        let period = |date: NaiveDate| {
            let (year, month, day) = (date.year(), date.month(), date.day());
            let name = match entry.unit {
                Some("year") => format!("{year:04}"),
                Some("month") => format!("{year:04}-{month:02}"),
                _ => format!("{year:04}-{month:02}-{day:02}"),
            };
            // Names of equal length have the order of their times.
            (format!("{name:>11}"), Value::from(name))
        };
        let day = |millis: i64| period(DateTime::from_timestamp_millis(millis).unwrap().date_naive());
        let date = match entry.name.as_str() {
            "created_at" => Some(row.created),
            "updated_at" => Some(row.updated),
            "published_at" => row.published,
            _ => {
                let column = self.table.column_index(&entry.name).unwrap();
                let Some(cell) = row.seen(reading, column, self.table.whole[column]) else { return Vec::new() };
                return match (self.table.columns[column].1.kind.as_str(), &cell.elements) {
                    (_, Some(elements)) => elements.iter().map(|(element, _)| text(element)).collect(),
                    ("date", _) => vec![period(NaiveDate::parse_from_str(&cell.text, "%Y-%m-%d").unwrap())],
                    ("datetime", _) => vec![day(cell.instant.unwrap().div_euclid(1_000))],
                    ("boolean", _) => vec![(cell.text.clone(), Value::from(cell.text == "true"))],
                    ("number" | "duration" | "user", _) => vec![(cell.text.clone(), number(cell))],
                    _ => vec![text(&cell.text)],
                };
            }
        };
        date.map(day).into_iter().collect()
    }

    fn stats(&self, name: &str, rows: &[&Row], reading: Reading) -> Value {
        let column = self.table.column_index(name).unwrap();
        let cells: Vec<(&Row, &Cell)> =
            rows.iter().filter_map(|row| Some((*row, row.seen(reading, column, column)?))).collect();
        let nulls = rows.len() - cells.len();
        let figures = |numbers: &[f64]| {
            let (count, sum) = (numbers.len(), compensated_sum(numbers));
            let min = numbers.iter().copied().reduce(f64::min);
            let max = numbers.iter().copied().reduce(f64::max);
            json!({ "count": count, "min": min, "max": max, "sum": sum, "avg": min.map(|_| sum / count as f64) })
        };
        if self.table.columns[column].1.kind != "money" {
            let mut stats = figures(&cells.iter().map(|(_, cell)| cell.number.unwrap()).collect::<Vec<_>>());
            stats["null"] = nulls.into();
            return stats;
        }
        let currency = self.table.column_index(&format!("{name}.currency")).unwrap();
        let mut by_currency: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (row, cell) in cells {
            let currency = &row.seen(reading, currency, column).unwrap().text;
            by_currency.entry(currency).or_default().push(cell.number.unwrap());
        }
        let currencies: Map<String, Value> =
            by_currency.into_iter().map(|(currency, numbers)| (currency.to_owned(), figures(&numbers))).collect();
        json!({ "null": nulls, "currencies": currencies })
    }

    /// Compares the neighbors of a resource of the list, and of one that may not be in it.
    pub(super) fn neighbors(&self, random: &mut Random, pairs: &Pairs) -> Result<(), String> {
        let Ok(expected) = self.answer(pairs) else { return Ok(()) };
        let mut asked: Vec<&str> = Vec::new();
        if !expected.is_empty() {
            asked.push(expected[random.below(expected.len())]);
        }
        if !self.table.rows.is_empty() {
            asked.push(&random.pick(&self.table.rows).id);
        }
        for id in asked {
            let path = format!("/v2/resources/{SLUG}/{id}/neighbors?{}&fields=id", encode(pairs));
            let reply = self.world.driver.read(&path, self.sees_drafts);
            let Some(at) = expected.iter().position(|other| *other == id) else {
                if reply.outcome() != "404 NOT_FOUND" {
                    return Err(format!("{path}\n{pairs:?}\n{}", reply.text));
                }
                continue;
            };
            let shown = |id: Option<&&str>| id.map_or(Value::Null, |id| json!({ "id": id }));
            let previous = shown(at.checked_sub(1).map(|before| &expected[before]));
            let wanted = json!({
                "data": { "previous": previous, "next": shown(expected.get(at + 1)) },
                "meta": { "position": at + 1, "total": expected.len() },
            });
            if reply.status != 200 || reply.json() != wanted {
                return Err(format!("{path}\n{pairs:?}\n{}\nexpected {wanted}", reply.text));
            }
        }
        Ok(())
    }

    /// Checks that following `links.next` of a walk leads to each match exactly once.
    pub(super) fn walk_with_cursors(&self, pairs: &Pairs, per_page: usize) -> Result<(), String> {
        let Ok(expected) = self.answer(pairs) else { return Ok(()) };
        let mut path = format!("/v2/resources/{SLUG}?{}&fields=id&per_page={per_page}&cursor=", encode(pairs));
        let mut found = Vec::new();
        loop {
            let body = self.world.driver.read(&path, self.sees_drafts).expect(200).json();
            found.extend(ids(&body["data"]));
            let links = &body["links"];
            let is_right = body["meta"] == json!({ "per_page": per_page, "total": expected.len() })
                && (&links["prev"], &links["last"]) == (&Value::Null, &Value::Null);
            if !is_right || found.len() > expected.len() {
                return Err(format!("{path}\n{pairs:?}\n{body}"));
            }
            let Some(next) = links["next"].as_str() else { break };
            path = next[next.find("/v2/").unwrap()..].to_owned();
        }
        if found == expected { Ok(()) } else { Err(format!("walking {path}\nfound {found:?}\nexpected {expected:?}")) }
    }

    /// Compares the resources that a list includes.
    pub(super) fn expansion(&self, random: &mut Random, pairs: &Pairs) -> Result<(), String> {
        let mut paths: Vec<String> = Vec::new();
        for (name, _) in self.table.columns.iter().filter(|(_, column)| column.kind.starts_with("reference")) {
            paths.extend([name.clone(), format!("{name}.owner")]);
        }
        let chosen: Vec<&str> = paths.iter().filter(|_| random.chance(50)).map(String::as_str).take(10).collect();
        let Ok(found) = self.rows(pairs) else { return Ok(()) };
        if chosen.is_empty() || found.len() > 300 {
            return Ok(());
        }
        let is_export = random.chance(30);
        let query = format!("{}&fields=id&expand={}&fields[owners]=id,attributes", encode(pairs), chosen.join(","));
        let path = match is_export {
            true => format!("/v2/resources/{SLUG}/export?{query}"),
            false => format!("/v2/resources/{SLUG}?per_page=100&{query}"),
        };
        let fallback = pairs.iter().find(|(name, _)| name == "fallback").map(|(_, value)| value.clone());
        let fallback = fallback.filter(|_| self.table.default_variant() != "");
        let ask = Ask { sees_drafts: self.sees_drafts, today: 0, variant: self.table.variant(pairs).ok(), fallback };
        let mut expected = Expected { ask: &ask, known: HashSet::new(), included: Vec::new() };
        for row in found.iter().take(if is_export { usize::MAX } else { 100 }) {
            chosen.iter().for_each(|path| expected.follow(self.table, row, path));
        }
        let included = self.world.driver.read(&path, self.sees_drafts).expect(200).json()["included"].take();
        let shown = included
            .as_array()
            .unwrap()
            .iter()
            .map(|item| json!({ "id": item["id"], "attributes": item["attributes"] }));
        let shown: Vec<Value> = shown.collect();
        match shown == expected.included {
            true => Ok(()),
            false => Err(format!("{path}\n{pairs:?}\nincluded {shown:?}\nexpected {:?}", expected.included)),
        }
    }

    /// Compares the list of the resources that refer to a resource.
    pub(super) fn referrers(&self, random: &mut Random) -> Result<(), String> {
        let Some(targets) = self.table.related.get("targets").filter(|targets| !targets.rows.is_empty()) else {
            return Ok(());
        };
        let target = random.pick(&targets.rows);
        let path = format!("/v2/resources/targets/{}/referrers", target.id);
        let reply = self.world.driver.read(&path, self.sees_drafts);
        if !target.is_seen(self.sees_drafts) {
            return if reply.status == 404 { Ok(()) } else { Err(format!("{path}: {}", reply.text)) };
        }
        let mut expected = Vec::new();
        for field in self.table.blueprint["fields"].as_array().unwrap() {
            let slug = field["slug"].as_str().unwrap();
            if self.table.related_blueprint(slug) != Some("targets") {
                continue;
            }
            let names = |row: &&Row| {
                row.copies.values().any(|copy| match &copy[slug] {
                    Value::Array(ids) => ids.iter().any(|id| *id == *target.id),
                    id => *id == *target.id,
                })
            };
            let rows = self.table.rows.iter().filter(|row| row.is_seen(self.sees_drafts));
            let mut ids: Vec<&str> = rows.filter(names).map(|row| row.id.as_str()).collect();
            ids.sort_unstable();
            if !ids.is_empty() {
                let total = ids.len();
                ids.truncate(10);
                expected.push(json!({ "blueprint": SLUG, "field": slug, "total": total, "ids": ids }));
            }
        }
        match reply.expect(200).data() == Value::Array(expected.clone()) {
            true => Ok(()),
            false => Err(format!("{path}: expected {expected:?}")),
        }
    }
}

/// The resources that a list includes, in the order of their first mention.
struct Expected<'a> {
    ask: &'a Ask,
    known: HashSet<String>,
    included: Vec<Value>,
}

impl Expected<'_> {
    fn follow(&mut self, table: &Table, row: &Row, path: &str) {
        let (slug, rest) = path.split_once('.').map_or((path, None), |(slug, rest)| (slug, Some(rest)));
        let Some(related) = table.related_blueprint(slug).and_then(|slug| table.related.get(slug)) else { return };
        let column = table.column_index(slug).unwrap();
        for id in ids_of(row.seen(table.reading(self.ask), column, column)) {
            let Some(found) = related.seen(&id, self.ask.sees_drafts) else { continue };
            if self.known.insert(id.clone()) {
                let Reading { variant, fallback } = related.reading(self.ask);
                let copy = |index: usize| &found.copies[&related.variants()[index]];
                let mut attributes = copy(variant).clone();
                for (slug, value) in attributes.as_object_mut().unwrap() {
                    if let Some(fallback) = fallback.filter(|_| value.is_null()) {
                        *value = copy(fallback)[slug].clone();
                    }
                }
                self.included.push(json!({ "id": id, "attributes": attributes }));
            }
            if let Some(rest) = rest {
                self.follow(related, found, rest);
            }
        }
    }
}

/// Returns a number as it is answered.
fn number(cell: &Cell) -> Value {
    let number = cell.number.unwrap();
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}

/// Returns Neumaier's sum, which adds the rounding error of each addition.
fn compensated_sum(numbers: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for &number in numbers {
        let next = sum + number;
        lost += if sum.abs() >= number.abs() { (sum - next) + number } else { (number - next) + sum };
        sum = next;
    }
    sum + lost
}

/// Returns whether both have the same keys and numbers, except for the last digit of numbers.
fn is_near(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            got.len() == expected.len()
                && expected.iter().all(|(key, value)| got.get(key).is_some_and(|got| is_near(got, value)))
        }
        (Value::Number(got), Value::Number(expected)) => {
            let (got, expected) = (got.as_f64().unwrap(), expected.as_f64().unwrap());
            (got - expected).abs() <= 1e-12 * expected.abs() + 1e-6
        }
        (got, expected) => got == expected,
    }
}
