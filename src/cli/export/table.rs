//! Rewrites the API's CSV into a form that people and `bindery import` can read: lists as `a,b`, money as `485.90 EUR`,
//! with the delimiter and the decimal mark of their spreadsheet. Must not know where it comes from.

use std::borrow::Cow;
use std::collections::HashMap;

use bindery_config::ExportArgs;
use bindery_content::spreadsheet_cell;
use bindery_model::blueprint::{Blueprint, FieldType};
use serde_json::Value;

use crate::table::split::Splitter;
use crate::table::{BYTE_ORDER_MARK, joined};

/// The currencies without decimals, by ISO 4217. All others in a blueprint's list have two.
const WITHOUT_DECIMALS: [&str; 3] = ["CLP", "JPY", "KRW"];

/// The notation of a table's cells.
pub(super) struct Style {
    /// The columns of fields whose cells are rewritten, by slug.
    cells: HashMap<String, CellKind>,
    list_separator: String,
    delimiter: u8,
    decimal_comma: bool,
    spreadsheet: bool,
}

#[derive(Clone, Copy)]
enum CellKind {
    List,
    Money,
    Number,
}

/// A table that is being rewritten: rows are written as soon as they are complete.
pub(super) struct Table {
    style: Style,
    splitter: Splitter,
    /// The beginning of a line that has not ended yet.
    line: Vec<u8>,
    /// The kinds of the rewritten columns, by position; `None` before the header.
    columns: Option<Vec<Option<CellKind>>>,
}

impl Style {
    pub(super) fn new(args: &ExportArgs, blueprint: &Blueprint) -> Style {
        let kinds = blueprint.fields.iter().filter_map(|field| {
            let kind = match field.field_type {
                FieldType::MultiEnum { .. } | FieldType::References(_) => CellKind::List,
                FieldType::Money { .. } => CellKind::Money,
                FieldType::Number | FieldType::Duration { .. } => CellKind::Number,
                _ => return None,
            };
            Some((field.slug.clone(), kind))
        });
        Style {
            cells: kinds.collect(),
            list_separator: args.list_separator.clone(),
            delimiter: args.delimiter.unwrap_or(b','),
            decimal_comma: args.decimal_comma,
            spreadsheet: args.spreadsheet,
        }
    }

    fn write<'a>(&self, cell: &'a str, kind: Option<CellKind>) -> Cow<'a, str> {
        let cell = match kind {
            Some(CellKind::List) => list(cell, &self.list_separator),
            Some(CellKind::Money) => money(cell),
            Some(CellKind::Number) | None => None,
        }
        .map_or(Cow::Borrowed(cell), Cow::Owned);
        let cell = if self.spreadsheet { spreadsheet_cell(cell) } else { cell };
        match kind {
            Some(CellKind::Number | CellKind::Money) if self.decimal_comma => Cow::Owned(cell.replace('.', ",")),
            _ => cell,
        }
    }
}

impl Table {
    pub(super) fn new(style: Style) -> Table {
        Table { style, splitter: Splitter::new(b',', usize::MAX), line: Vec::new(), columns: None }
    }

    /// Accepts a piece of the API's CSV. Returns the rows that end in it.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut rows = String::new();
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                continue;
            }
            let is_whole = self.splitter.feed(&self.line).unwrap_or(true);
            self.line.clear();
            if is_whole {
                let cells = self.splitter.take().into_iter().map(|cell| String::from_utf8_lossy(&cell).into_owned());
                rows.push_str(&self.row(&cells.collect::<Vec<_>>()));
                rows.push_str("\r\n");
            }
        }
        rows.into_bytes()
    }

    fn row(&mut self, cells: &[String]) -> String {
        let Some(columns) = &self.columns else {
            self.columns = Some(cells.iter().map(|name| self.style.cells.get(name).copied()).collect());
            // Without the mark, Excel assumes the encoding of its machine.
            let mark = if self.style.spreadsheet { BYTE_ORDER_MARK } else { "" };
            return mark.to_owned() + &joined(cells.iter().map(String::as_str), self.style.delimiter);
        };
        let cells: Vec<Cow<'_, str>> =
            cells.iter().zip(columns).map(|(cell, kind)| self.style.write(cell, *kind)).collect();
        joined(cells.iter().map(|cell| &**cell), self.style.delimiter)
    }
}

/// Returns a list as its elements; `None` if an element contains the separator, so that the cell stays JSON.
fn list(cell: &str, separator: &str) -> Option<String> {
    let elements: Vec<String> = serde_json::from_str(cell).ok()?;
    let is_plain = |element: &String| !element.is_empty() && element.trim() == element && !element.contains(separator);
    let is_readable = !elements.is_empty() && !elements[0].starts_with('[') && elements.iter().all(is_plain);
    (is_readable && !separator.is_empty()).then(|| elements.join(separator))
}

/// Returns an amount with the decimals of its currency, or more if it has more.
fn money(cell: &str) -> Option<String> {
    let money: Value = serde_json::from_str(cell).ok()?;
    let (amount, currency) = (money["amount"].as_f64()?, money["currency"].as_str()?);
    let decimals = if WITHOUT_DECIMALS.contains(&currency) { 0 } else { 2 };
    let rounded = format!("{amount:.decimals$}");
    let is_exact = rounded.parse::<f64>().is_ok_and(|rounded| rounded == amount);
    let amount = if is_exact { rounded } else { ryu_js::Buffer::new().format(amount).to_owned() };
    Some(format!("{amount} {currency}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_decimals_of_their_currency() {
        for (amount, currency, expected) in [
            ("485.9", "EUR", "485.90 EUR"),
            ("1200", "JPY", "1200 JPY"),
            ("-3", "USD", "-3.00 USD"),
            ("0.125", "EUR", "0.125 EUR"),
            ("12.5", "JPY", "12.5 JPY"),
            ("1e-7", "EUR", "1e-7 EUR"),
        ] {
            let cell = format!("{{\"amount\":{amount},\"currency\":\"{currency}\"}}");
            assert_eq!(money(&cell).as_deref(), Some(expected));
        }
    }

    #[test]
    fn lists_are_joined_if_they_can_be_split_again() {
        for (cell, expected) in [
            (r#"["a","b c"]"#, Some("a,b c")),
            (r#"["a,b","c"]"#, None),
            (r#"["","c"]"#, None),
            (r#"["[x","c"]"#, None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(list(cell, ",").as_deref(), expected, "{cell}");
        }
    }
}
