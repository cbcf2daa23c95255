//! Filters as a tree: groups, and conditions on related resources (`API.md` 4.6.13 and 4.6.14), word by word.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::answer::{DAY, Row, Table};
use super::condition::{cell_condition, date_condition, parse_bool};
use super::forms::{Cell, list};

/// The parts of a request beside its filters.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) sees_drafts: bool,
    /// The current day, in days since 1970.
    pub(crate) today: i64,
    /// The slugs of the variant, and of the fallback if filters read it.
    pub(crate) variant: Option<String>,
    pub(crate) fallback: Option<String>,
}

/// The copies of a row that are read, by the index of their variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Reading {
    pub(crate) variant: usize,
    pub(crate) fallback: Option<usize>,
}

/// The test of a row: whether it matches.
pub(crate) type Test = Box<dyn Fn(&Row, Reading) -> bool>;

/// The keys between brackets, and the value.
pub(crate) type Sent<'a> = (Vec<&'a str>, &'a str);

/// Makes the condition on a related table. The number says how many relations lead there.
type RelatedCondition<'a> = dyn Fn(&Table, usize) -> Result<Option<Test>, &'static str> + 'a;

const INVALID: &str = "INVALID_FILTER";

impl Table {
    /// Returns the copies that a request reads of this table.
    pub(crate) fn reading(&self, ask: &Ask) -> Reading {
        let variants = self.variants();
        let of = |slug: &str| variants.iter().position(|variant| variant == slug);
        let default = of(&self.default_variant()).unwrap();
        let copy = |slug: &Option<String>| slug.as_ref().map(|slug| of(slug).unwrap_or(default));
        Reading { variant: copy(&ask.variant).unwrap_or(default), fallback: copy(&ask.fallback) }
    }

    /// Returns the slug of the blueprint that a field relates to.
    pub(crate) fn related_blueprint(&self, slug: &str) -> Option<&str> {
        let field = self.blueprint["fields"].as_array().unwrap().iter().find(|field| field["slug"] == slug)?;
        field["settings"]["blueprint"].as_str()
    }

    /// Returns the conditions of all these filters; `None` if each is ignored.
    pub(crate) fn conditions(
        &self,
        filters: &[Sent<'_>],
        ask: &Ask,
        levels: usize,
        relations: usize,
    ) -> Result<Option<Test>, &'static str> {
        let mut all: Vec<Test> = Vec::new();
        let mut groups: BTreeMap<(&str, &str), Vec<Sent<'_>>> = BTreeMap::new();
        for (keys, value) in filters {
            let (group, rest) = match keys[..] {
                [key @ ("$or" | "$and"), number, ref rest @ ..] => {
                    let is_number = (0..100).any(|known| known.to_string() == number);
                    if !is_number {
                        return Err(INVALID);
                    }
                    ((key, number), rest)
                }
                ["$not", ref rest @ ..] => (("$not", ""), rest),
                [relation, "$some", ref rest @ ..] => (("$some", relation), rest),
                [field] => {
                    all.extend(self.filter(field, "eq", value, ask, relations)?);
                    continue;
                }
                [field, operator] => {
                    all.extend(self.filter(field, operator, value, ask, relations)?);
                    continue;
                }
                _ => return Err(INVALID),
            };
            groups.entry(group).or_default().push((rest.to_vec(), value));
        }
        let mut any: Vec<Test> = Vec::new();
        for ((group, of), filters) in groups {
            if group != "$some" && levels == 4 {
                return Err(INVALID);
            }
            match group {
                "$or" => any.extend(self.conditions(&filters, ask, levels + 1, relations)?),
                "$and" => all.extend(self.conditions(&filters, ask, levels + 1, relations)?),
                "$not" => {
                    if let Some(test) = self.conditions(&filters, ask, levels + 1, relations)? {
                        all.push(Box::new(move |row, reading| !test(row, reading)));
                    }
                }
                _ => all.extend(self.follow(of, ask, relations, &|related, relations| {
                    related.conditions(&filters, ask, levels, relations)
                })?),
            }
        }
        if !any.is_empty() {
            all.push(Box::new(move |row, reading| any.iter().any(|test| test(row, reading))));
        }
        let is_none = all.is_empty();
        Ok((!is_none).then(|| Box::new(move |row: &Row, reading| all.iter().all(|test| test(row, reading))) as Test))
    }

    /// Returns the condition that a related resource meets a condition. `path` is one relation, or several with dots
    /// between them.
    fn follow(
        &self,
        path: &str,
        ask: &Ask,
        relations: usize,
        condition: &RelatedCondition<'_>,
    ) -> Result<Option<Test>, &'static str> {
        let (slug, rest) = path.split_once('.').map_or((path, None), |(slug, rest)| (slug, Some(rest)));
        let related = self.related_blueprint(slug).and_then(|related| self.related.get(related)).ok_or(INVALID)?;
        if relations == 2 {
            return Err(INVALID);
        }
        let test = match rest {
            None => condition(related, relations + 1)?,
            Some(rest) => related.follow(rest, ask, relations + 1, condition)?,
        };
        let Some(test) = test else { return Ok(None) };
        let (column, related, sees_drafts) = (self.column_index(slug).unwrap(), Rc::clone(related), ask.sees_drafts);
        let of_related = related.reading(ask);
        Ok(Some(Box::new(move |row, reading| {
            ids(row.seen(reading, column, column))
                .iter()
                .any(|id| related.seen(id, sees_drafts).is_some_and(|row| test(row, of_related)))
        })))
    }

    pub(crate) fn seen(&self, id: &str, sees_drafts: bool) -> Option<&Row> {
        self.by_id.get(id).map(|index| &self.rows[*index]).filter(|row| row.is_seen(sees_drafts))
    }

    fn filter(
        &self,
        field: &str,
        operator: &str,
        value: &str,
        ask: &Ask,
        relations: usize,
    ) -> Result<Option<Test>, &'static str> {
        let is_own = self.column_index(field).is_some() || !field.contains('.');
        match field.rsplit_once('.').filter(|_| !is_own) {
            None => self.condition(field, operator, value, ask),
            // `a.b.c` may be the part `b.c` of the resource that `a` refers to, or the field `c` of the resource that
            // `a.b` refers to.
            Some(_) => {
                let (relation, rest) = field.split_once('.').unwrap();
                self.follow(relation, ask, relations, &|related, relations| {
                    related.filter(rest, operator, value, ask, relations)
                })
            }
        }
    }

    fn condition(&self, field: &str, operator: &str, value: &str, ask: &Ask) -> Result<Option<Test>, &'static str> {
        let operator = match operator {
            "equals" => "eq",
            "not_equals" => "ne",
            operator => operator,
        };
        let value = value.to_owned();
        let test: Test = match field {
            "id" => {
                let listed = match operator {
                    "eq" | "ne" => vec![value],
                    "in" | "not_in" => list(&value),
                    _ => return Err(INVALID),
                };
                let wanted = !operator.starts_with('n');
                Box::new(move |row, _| listed.contains(&row.id) == wanted)
            }
            "published" => {
                if !["eq", "ne"].contains(&operator) {
                    return Err(INVALID);
                }
                let Some(value) = parse_bool(&value) else { return Ok(None) };
                let (wanted, today) = (value == (operator == "eq"), ask.today);
                Box::new(move |row, _| row.published.is_some_and(|at| at.div_euclid(DAY) <= today) == wanted)
            }
            "published_at" => date_condition(|row| row.published, operator, &value)?,
            "created_at" => date_condition(|row| Some(row.created), operator, &value)?,
            "updated_at" => date_condition(|row| Some(row.updated), operator, &value)?,
            _ => {
                let column = self.column_index(field).ok_or(INVALID)?;
                if operator == "dangling" {
                    return self.dangling(field, column, &value, ask).map(Some);
                }
                let whole = self.whole[column];
                let test = cell_condition(&self.columns[column].1.kind, operator, &value)?;
                Box::new(move |row, reading| test(row.seen(reading, column, whole)))
            }
        };
        Ok(Some(test))
    }

    fn dangling(&self, field: &str, column: usize, value: &str, ask: &Ask) -> Result<Test, &'static str> {
        let related = self.related_blueprint(field).ok_or(INVALID)?;
        let (related, sees_drafts) = (self.related.get(related).cloned(), ask.sees_drafts);
        let wanted = parse_bool(value).ok_or(INVALID)?;
        Ok(Box::new(move |row, reading| {
            let is_seen = |id: &String| related.as_ref().is_some_and(|related| related.seen(id, sees_drafts).is_some());
            ids(row.seen(reading, column, column)).iter().any(|id| !is_seen(id)) == wanted
        }))
    }
}

/// Returns the ids that a relation has.
pub(crate) fn ids(cell: Option<&Cell>) -> Vec<String> {
    match cell {
        None => Vec::new(),
        Some(Cell { elements: Some(elements), .. }) => elements.iter().map(|(id, _)| id.clone()).collect(),
        Some(cell) => vec![cell.text.clone()],
    }
}
