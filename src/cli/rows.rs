//! Tables and lists of plain objects as items of an import: CSV with a header row, a JSON array, NDJSON. Columns become
//! fields of a blueprint. Must not know where the items go; the receiver validates values.

mod cell;
mod item;
mod json;
mod lines;
mod options;
mod plan;

use std::io::{self, BufRead};

use serde_json::{Map, Value};

use self::cell::value_of_cell;
use self::item::Emit;
use self::options::Target;
use self::plan::Plan;
use super::format::Rows;
use super::rejects::RejectsForm;
use super::source::Source;
use super::survey::Survey;

pub(super) use self::item::Item;
pub(super) use self::json::each_element;
pub(super) use self::lines::{each_line, too_long};
pub(super) use self::options::RowOptions;

/// A file that was inspected, and can be read as items.
pub(super) enum Items {
    Ndjson,
    /// An array. `are_items` is true if its elements are items, and false if they are plain objects.
    Json {
        are_items: bool,
    },
    Csv(Box<Plan>),
}

impl Items {
    /// Inspects a file.
    ///
    /// # Errors
    /// The errors of reading; a file of another format; an unknown column.
    pub(super) fn of(rows: Rows, options: &RowOptions, source: &mut Source) -> io::Result<Items> {
        match rows {
            Rows::Ndjson => Ok(Items::Ndjson),
            Rows::Json => {
                let are_items = json::are_items(options, source.reader()?)?;
                Ok(Items::Json { are_items })
            }
            Rows::Csv => Ok(Items::Csv(Box::new(Plan::of(options, Survey::of(source, options.table)?)?))),
        }
    }

    /// Returns the format in which failed lines are written.
    pub(super) fn rejects(&self) -> RejectsForm {
        match self {
            Items::Csv(plan) => plan.rejects(),
            _ => RejectsForm::Ndjson,
        }
    }

    /// Returns a line about the cells of each column.
    pub(super) fn reports(&self, options: &RowOptions) -> Vec<String> {
        match self {
            Items::Csv(plan) => plan.reports(options),
            _ => Vec::new(),
        }
    }

    /// Calls `emit` with each item, until it returns false.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn each(&self, options: &RowOptions, reader: Box<dyn BufRead + Send>, emit: Emit<'_>) -> io::Result<()> {
        match self {
            Items::Ndjson => each_line_item(options, reader, emit),
            Items::Json { are_items } => json::each_item(options, *are_items, reader, emit),
            Items::Csv(plan) => each_csv_item(options, plan, reader, emit),
        }
    }
}

/// Emits the items of NDJSON.
fn each_line_item(options: &RowOptions, reader: Box<dyn BufRead + Send>, emit: Emit<'_>) -> io::Result<()> {
    let changes = options.key.is_some() || options.publish.is_some();
    each_line(reader, options.table.max_bytes, |place, line| {
        let line = line.map(|line| if changes { options.changed(line) } else { line });
        emit(Item { place, line, row: None })
    })
}

fn each_csv_item(options: &RowOptions, plan: &Plan, reader: Box<dyn BufRead + Send>, emit: Emit<'_>) -> io::Result<()> {
    plan.survey.each_row(reader, |row| {
        let line = match row.broken.or_else(|| plan.missing_key(&row.cells)) {
            Some(broken) => Err(broken),
            None => Ok(item_of_row(options, plan, &row.cells).to_string().into_bytes()),
        };
        emit(Item { place: row.line, line, row: Some(plan.rejected(&row.cells)) })
    })
}

fn item_of_row(options: &RowOptions, plan: &Plan, cells: &[String]) -> Value {
    let mut item = Map::new();
    let mut attributes = Map::new();
    for ((cell, target), form) in cells.iter().zip(&plan.targets).zip(&plan.forms) {
        match target {
            Target::Ignored => {}
            Target::Item(name) => drop(item.insert((*name).to_owned(), cell::of_item(name, cell, *form))),
            Target::Field(position) => {
                let field = &options.blueprint.fields[*position];
                attributes.insert(field.slug.clone(), value_of_cell(field, cell, &options.list_separator, *form));
            }
            Target::Part(position, part) => {
                cell::add_part(
                    &options.blueprint.fields[*position],
                    &mut attributes,
                    part,
                    &cell.as_str().into(),
                    *form,
                );
            }
        }
    }
    if let Some(key) = plan.key.and_then(|index| cells.get(index)).filter(|key| !key.is_empty()) {
        item.insert("key".to_owned(), key.as_str().into());
    }
    // An export has the ids of its resources; other tables have none.
    item.retain(|name, value| name != "id" || !value.is_null());
    item.insert("attributes".to_owned(), attributes.into());
    options.published(item)
}

#[cfg(test)]
mod tests;
