//! The first reading of a table: its delimiter, encoding and header, and the kinds of cells in each column. Both
//! `bindery import` and `bindery blueprint infer` begin with it. Must not know blueprints.

use std::io::{self, BufRead};

use bindery_config::TableArgs;
use bindery_model::sent::quote;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::guess::date::Order;
use super::guess::number::Decimal;
use super::guess::{Column, Form};
use super::output::report;
use super::source::Source;
use super::table::{BYTE_ORDER_MARK, Mark, Row, Table, decoded};

/// The options of the command line for a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableOptions {
    /// The delimiter; `None` to guess it.
    pub(super) delimiter: Option<u8>,
    /// The order of dates; `None` to guess it, column by column.
    pub(super) order: Option<Order>,
    /// The greatest length of a row.
    pub(super) max_bytes: usize,
}

/// The facts known of a table.
pub(super) struct Survey {
    options: TableOptions,
    delimiter: u8,
    line_end: &'static str,
    encoding: &'static Encoding,
    mark: Mark,
    /// The names of the columns.
    pub(super) header: Vec<String>,
    /// The facts about their cells.
    pub(super) columns: Vec<Column>,
}

/// The name of the last column of a file of rejects, which contains the errors.
pub(super) const ERRORS: &str = "errors";

impl TableOptions {
    /// Returns the options from the arguments for a table.
    pub(super) fn of(args: &TableArgs, max_bytes: usize) -> TableOptions {
        TableOptions { delimiter: args.delimiter, order: args.dates.as_deref().and_then(Order::parse), max_bytes }
    }
}

impl Survey {
    /// Reads a table to its end.
    pub(super) fn of(source: &mut Source, options: TableOptions) -> io::Result<Survey> {
        match Survey::read(source, options, UTF_8)? {
            Some(survey) => Ok(survey),
            None => {
                let survey = Survey::read(source, options, WINDOWS_1252)?;
                report("the file is not UTF-8, and is read as Windows-1252");
                survey.ok_or_else(|| invalid("the file is neither UTF-8 nor Windows-1252".to_owned()))
            }
        }
    }

    /// Reads the table; returns `None` if the text is not in that encoding.
    fn read(source: &mut Source, options: TableOptions, encoding: &'static Encoding) -> io::Result<Option<Survey>> {
        let (reader, mark) = decoded(source.reader()?)?;
        let mut table = Table::new(reader, options.delimiter, encoding, options.max_bytes)?;
        let header = table.next()?;
        if !table.is_valid() {
            return Ok(None);
        }
        let (header, line_end) = (header_of(header)?, table.line_end());
        let columns = header.iter().map(|_| Column::default()).collect();
        let delimiter = table.delimiter();
        let mut survey = Survey { options, delimiter, line_end, encoding, mark, header, columns };
        while let Some(row) = table.next()? {
            if !table.is_valid() {
                return Ok(None);
            }
            let row = survey.fitted(row);
            if row.broken.is_none() {
                survey.columns.iter_mut().zip(&row.cells).for_each(|(column, cell)| column.add(row.line, cell));
            }
        }
        Ok(if table.is_valid() { Some(survey) } else { None })
    }

    /// Calls `each` with every row, until it returns false. A row with a different number of cells than the header is
    /// broken.
    pub(super) fn each_row(
        &self,
        reader: Box<dyn BufRead + Send>,
        mut each: impl FnMut(Row) -> bool,
    ) -> io::Result<()> {
        let mut table = Table::new(decoded(reader)?.0, Some(self.delimiter), self.encoding, self.options.max_bytes)?;
        table.next()?;
        while let Some(row) = table.next()? {
            if !each(self.fitted(row)) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the row with as many cells as the header. Further empty cells are removed; other differences make it
    /// broken.
    fn fitted(&self, mut row: Row) -> Row {
        let (width, cells) = (self.header.len(), row.cells.len());
        if row.broken.is_some() || cells == width {
            return row;
        }
        if cells > width && row.cells[width..].iter().all(|cell| cell.trim().is_empty()) {
            row.cells.truncate(width);
            return row;
        }
        row.broken = Some(format!("the row has {cells} cells, but the header row has {width}"));
        row
    }

    /// Returns the delimiter.
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Returns the end of the header row.
    pub(super) fn line_end(&self) -> &'static str {
        self.line_end
    }

    /// Returns the encoding of the file; UTF-8 for UTF-16.
    pub(super) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Returns the byte order mark of the file, if there is one.
    pub(super) fn byte_order_mark(&self) -> &'static str {
        if self.mark == Mark::None { "" } else { BYTE_ORDER_MARK }
    }

    /// Returns the notation of numbers in a column, and of dates if it `has_dates`.
    ///
    /// # Errors
    /// If two orders fit its dates, or none does.
    pub(super) fn form(&self, position: usize, has_dates: bool) -> io::Result<Form> {
        let order = match self.options.order {
            Some(order) => order,
            None if has_dates => self.columns[position].order(&self.header[position]).map_err(invalid)?,
            None => Order::default(),
        };
        Ok(Form { decimal: self.decimal(position), order, is_exported: is_export(&self.header) })
    }

    /// Returns the decimal mark: that of unambiguous numbers in the column, or else in the other columns, or else
    /// according to the delimiter, which is a semicolon where the comma is the decimal mark.
    fn decimal(&self, position: usize) -> Decimal {
        // An export has no separators between thousands, so the mark of `1.299` or `1,299` is the decimal one.
        if is_export(&self.header) {
            let ambiguous = self.columns[position].ambiguous_number().unwrap_or_default();
            return if ambiguous.contains(',') { Decimal::Comma } else { Decimal::Point };
        }
        let others = || {
            let marks = self.columns.iter().filter(|column| column.is_numeric()).filter_map(Column::decimal);
            let mut marks = marks.collect::<Vec<Decimal>>().into_iter();
            marks.next().filter(|first| marks.all(|mark| mark == *first))
        };
        let by_delimiter = if self.delimiter == b';' { Decimal::Comma } else { Decimal::Point };
        self.columns[position].decimal().or_else(others).unwrap_or(by_delimiter)
    }

    /// Returns a note on numbers of a column whose meaning depends on the decimal mark.
    pub(super) fn note_on_numbers(&self, position: usize, form: Form) -> Option<String> {
        let cell = self.columns[position].ambiguous_number()?;
        let mark = match form.decimal {
            Decimal::Point => "point",
            Decimal::Comma => "comma",
        };
        Some(format!("; {} is read with a decimal {mark}", quote(cell)))
    }
}

/// Is true if a table with these columns is an export of resources.
pub(super) fn is_export(header: &[String]) -> bool {
    matches!(header, [id, kind, ..] if id == "id" && kind == "type")
}

/// Returns the names of the columns. Each name must be unique, because otherwise the cells of one column would be lost.
fn header_of(row: Option<Row>) -> io::Result<Vec<String>> {
    let Some(Row { line, cells, broken }) = row else { return Ok(Vec::new()) };
    if let Some(broken) = broken {
        return Err(invalid(format!("the header row in line {line} cannot be read: {broken}")));
    }
    let names: Vec<String> = cells.iter().map(|name| name.trim().to_owned()).collect();
    let mut seen = std::collections::HashSet::new();
    let last = names.len() - 1;
    for (position, name) in names.iter().enumerate() {
        // The column of a file of rejects is ignored, so it does not clash with a column of that name.
        let is_of_rejects = position == last && name == ERRORS;
        // An export of resources that have a field `type`.
        let is_of_export = position > 1 && name == "type" && is_export(&names);
        if !name.is_empty() && !is_of_rejects && !is_of_export && !seen.insert(name) {
            return Err(invalid(format!("two columns have the name {}; rename one of them", quote(name))));
        }
    }
    Ok(names)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
