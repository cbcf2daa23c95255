//! `bindery blueprint infer FILE`: proposes a blueprint for data, as a starting point. Reads the whole file, and
//! reports the kinds of cells of each column on standard error. Must not know what the proposal is used for.

mod columns;

use std::io;
use std::path::Path;

use bindery_model::blueprint::render;
use serde_json::{Map, Value, json};

use self::columns::{Columns, capitalized};
use super::blueprint_file::{as_file, read_blueprint};
use super::error::{CliError, failed};
use super::format::Rows;
use super::guess::{Column, Form, Kind, boolean, date, grouped, number};
use super::output::{placed, print, report};
use super::rows::{each_element, each_line};
use super::source::{Source, explained};
use super::survey::{Survey, TableOptions};

/// The greatest length of a row: the default limit of a body, because a row has to become one.
pub(super) const MAX_BYTES: usize = 10 << 20;

/// The number of broken rows that are shown.
const MAX_SHOWN: u64 = 5;

/// Prints the proposal. `list_separator` separates the elements of lists in cells, if there are any.
pub(super) fn infer(
    file: &Path,
    format: Option<&str>,
    name: Option<&str>,
    list_separator: Option<&str>,
    table: TableOptions,
) -> Result<(), CliError> {
    let (rows, mut source) = Source::open(file, format.and_then(Rows::named))?;
    let mut columns = Columns::new(list_separator);
    let read = |error: io::Error| failed(format!("reading {}", file.display()), &explained(error));
    let mut broken = BrokenRows::default();
    read_columns(&mut columns, rows, &mut source, table, &mut broken).map_err(read)?;
    if broken.0 > 0 {
        let rows = broken.0 + columns.rows;
        report(&format!("{} of {} rows are broken and left out", grouped(broken.0), grouped(rows)));
    }
    if let Some(left_out) = columns.left_out() {
        report(&format!(
            "left out: {left_out}, which are names of an item's own keys; rename a column to get a field for it"
        ));
    }
    let name = match (name, file.file_stem()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(stem)) if stem != "-" => {
            let stem = stem.to_string_lossy();
            stem.split('.').next().unwrap_or_default().replace(['_', '-'], " ")
        }
        (None, _) => "Items".to_owned(),
    };
    let blueprint = read_blueprint(columns.proposal(&capitalized(&name)).map_err(CliError::Incomplete)?)?;
    print(&format!("{:#}", as_file(render::to_json(&blueprint))));
    Ok(())
}

/// The number of broken rows. The first ones are reported.
#[derive(Default)]
struct BrokenRows(u64);

impl BrokenRows {
    fn add(&mut self, unit: &str, place: u64, message: &str) {
        self.0 += 1;
        if self.0 <= MAX_SHOWN {
            report(&placed(unit, place, message));
        }
    }
}

fn read_columns(
    columns: &mut Columns,
    rows: Rows,
    source: &mut Source,
    table: TableOptions,
    broken: &mut BrokenRows,
) -> io::Result<()> {
    match rows {
        Rows::Ndjson => each_line(source.reader()?, table.max_bytes, |line, text| {
            let object = text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
            match object {
                Ok(object) => columns.add(object),
                Err(message) => broken.add("line", line, &message),
            }
            true
        }),
        Rows::Json => {
            let mut position = 0;
            each_element(source.reader()?, table.max_bytes, |element| {
                position += 1;
                match serde_json::from_str(element.get()) {
                    Ok(object) => columns.add(object),
                    Err(error) => broken.add("item", position, &error.to_string()),
                }
                true
            })
        }
        Rows::Csv => read_table(columns, source, table, broken),
    }
}

/// The rules by which the cells of a column become values.
struct ColumnReading {
    kind: Kind,
    form: Form,
    /// The currency of amounts without one.
    currency: Option<&'static str>,
}

fn read_table(
    columns: &mut Columns,
    source: &mut Source,
    table: TableOptions,
    broken: &mut BrokenRows,
) -> io::Result<()> {
    let survey = Survey::of(source, table)?;
    let mut readings = Vec::new();
    for (position, column) in survey.columns.iter().enumerate() {
        let kind = column.kind();
        let form = survey.form(position, matches!(kind, Kind::Date | Kind::DateTime))?;
        let name = &survey.header[position];
        if name.is_empty() {
            if column.filled() > 0 {
                report(&format!("column {} has no name, and is left out", position + 1));
            }
        } else {
            let note = match kind {
                Kind::Number | Kind::Money => survey.note_on_numbers(position, form),
                Kind::Text => note_on_text(column, columns.has_list_separator()),
                _ => None,
            };
            report(&(column.report(name, column.nearest_kind(), form.order) + &note.unwrap_or_default()));
        }
        readings.push(ColumnReading { kind, form, currency: column.currency() });
    }
    survey.each_row(source.reader()?, |row| {
        if let Some(message) = &row.broken {
            broken.add("line", row.line, message);
            return true;
        }
        let cells = survey.header.iter().zip(row.cells.iter().zip(&readings)).filter(|(name, _)| !name.is_empty());
        columns.add(cells.map(|(name, (cell, reading))| (name.clone(), reading.value(cell))).collect::<Map<_, _>>());
        true
    })?;
    for ((name, column), reading) in survey.header.iter().zip(&survey.columns).zip(&readings) {
        if let Some(currency) = reading.currency.filter(|_| reading.kind == Kind::Money && column.lacks_currency()) {
            columns.default_currency(name, currency);
        }
    }
    Ok(())
}

/// Returns a note about a column that stays text, although most of it looks like numbers, dates or lists.
fn note_on_text(column: &Column, has_list_separator: bool) -> Option<String> {
    if let Some(name) = column.nearest_kind().type_name() {
        return Some(format!(", so the proposed type is not `{name}`"));
    }
    let (separator, several) = column.list_separator().filter(|_| !has_list_separator)?;
    Some(format!(
        "; {} have several short words with `{separator}` between them: `--list-separator '{separator}'` proposes lists",
        grouped(several)
    ))
}

impl ColumnReading {
    /// Returns the value of a cell. A cell that does not fit the column is left out here; an import would reject it.
    fn value(&self, cell: &str) -> Value {
        let trimmed = cell.trim();
        if trimmed.is_empty() {
            return Value::Null;
        }
        let value = match self.kind {
            Kind::Boolean => boolean(trimmed).map(Value::Bool),
            Kind::Number => number::number(trimmed).map(|number| number.with(self.form.decimal).into()),
            Kind::Money => number::number_or_money(trimmed).and_then(|(amount, currency)| {
                let (amount, currency) = (amount.with(self.form.decimal), currency.or(self.currency)?);
                Some(json!({ "amount": amount, "currency": currency }))
            }),
            Kind::Date | Kind::DateTime => date::date(trimmed, self.form.order).map(Value::from),
            Kind::Email | Kind::Link => Some(trimmed.into()),
            Kind::Text => match serde_json::from_str(trimmed) {
                Ok(value @ (Value::Array(_) | Value::Object(_))) => Some(value),
                _ => Some(cell.into()),
            },
        };
        value.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bindery_model::blueprint::Definition;

    use super::*;

    fn proposed(rows: Rows, text: &'static str) -> Value {
        let mut columns = Columns::new(Some(";"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let (rows, mut source) = Source::open(file.path(), Some(rows)).unwrap();
        let table = TableOptions { delimiter: None, order: None, max_bytes: MAX_BYTES };
        read_columns(&mut columns, rows, &mut source, table, &mut BrokenRows::default()).unwrap();
        let proposal = columns.proposal("Things").unwrap();
        Definition::parse(proposal.clone()).unwrap();
        proposal
    }

    fn types(proposal: &Value) -> Vec<(String, String)> {
        let field =
            |field: &Value| (field["name"].as_str().unwrap().to_owned(), field["type"].as_str().unwrap().to_owned());
        proposal["fields"].as_array().unwrap().iter().map(field).collect()
    }

    #[test]
    fn cells_with_the_separator_are_lists_and_yes_and_no_are_booleans() {
        let csv = "tags,stock,note\nred; dry,yes,a;\nwhite,No,b\n,,c\n";
        let expected = [("Tags", "multi-enum"), ("Stock", "boolean"), ("Note", "text")];
        let proposal = proposed(Rows::Csv, csv);
        assert_eq!(types(&proposal), expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    }

    #[test]
    fn a_table_gets_the_types_that_all_its_values_fit() {
        let csv = "id,Title,price,Zip,kind,day,site,photo,mail,stock,notes\n\
            1,A,1.5,01067,x,2026-01-01,https://a.example,https://a.example/1.png,a@b.example,true,\n\
            2,B,2,20095,x,2026-01-02,https://b.example,https://a.example/2.jpg,c@d.example,false,a<br>b\n\
            3,C,-3,80331,x,2026-01-03,https://c.example,https://a.example/3.png,e@f.example,true,\n\
            4,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            5,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            6,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            7,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            8,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n";
        let proposal = proposed(Rows::Csv, csv);
        let expected = [
            ("Title", "text"),
            ("Price", "number"),
            ("Zip", "text"),
            ("Kind", "enum"),
            ("Day", "date"),
            ("Site", "link"),
            ("Photo", "image"),
            ("Mail", "email"),
            ("Stock", "boolean"),
            ("Notes", "rich-text"),
        ];
        assert_eq!(types(&proposal), expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
        assert_eq!(proposal["fields"][3]["settings"], json!({ "values": ["x", "y"] }));
        assert_eq!(
            (&proposal["fields"][1]["required"], &proposal["fields"][9]["required"]),
            (&json!(true), &json!(false))
        );
    }

    #[test]
    fn objects_and_lists_have_types_too() {
        let json = r##"[{"slug": "a", "tags": ["x"], "cost": {"amount": 1, "currency": "EUR"}, "at": {"city": "Porto"}, "hue": "#fff"},
            {"slug": "b", "tags": [], "cost": null, "at": {"country": "PT", "street": null}, "when": "2026-01-01T10:00:00Z"}]"##;
        let proposal = proposed(Rows::Json, json);
        let kinds: Vec<String> = types(&proposal).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, ["slug", "multi-enum", "money", "address", "color", "datetime"]);
        assert_eq!(proposal["fields"][0]["unique"], json!(true));
        let items = "{\"key\":\"k\",\"attributes\":{\"title\":\"t\",\"n\":1}}\n\n{\"attributes\":{\"title\":\"u\",\"n\":null}}\n";
        let proposal = proposed(Rows::Ndjson, items);
        assert_eq!(proposal["record_title"], json!("title"));
        assert_eq!(types(&proposal)[1], ("N".to_owned(), "number".to_owned()));
    }
}
