//! The plan for turning a table into items: the meaning of its columns, and the notation of their cells. Must not know
//! values.

use std::io;

use bindery_model::sent::quote;

use super::options::{RowOptions, Target, invalid};
use crate::guess::{Column, Form, Kind, grouped};
use crate::rejects::RejectsForm;
use crate::survey::{ERRORS, Survey, is_export};
use crate::table::joined;

/// The plan for turning a table into items.
pub(crate) struct Plan {
    pub(super) survey: Survey,
    /// The meaning of each column.
    pub(super) targets: Vec<Target>,
    /// The notation of the cells of each column.
    pub(super) forms: Vec<Form>,
    /// The column with the keys.
    pub(super) key: Option<usize>,
}

/// Returns a note about a column of lists whose elements are separated by another separator than the expected one.
fn note_on_lists(column: &Column, expected: &str) -> Option<String> {
    let (separator, several) = column.list_separator().filter(|(separator, _)| separator.to_string() != expected)?;
    Some(format!(
        "; {} have `{separator}` between short words, but lists are cut at `{expected}`: `--list-separator '{separator}'` cuts them \
         there",
        grouped(several)
    ))
}

impl Plan {
    /// # Errors
    /// An unknown column, two columns with the same meaning, dates that fit two orders.
    pub(super) fn of(options: &RowOptions, survey: Survey) -> io::Result<Plan> {
        let header = &survey.header;
        let last = header.len().saturating_sub(1);
        let target = |(position, column): (usize, &String)| match options.target(column) {
            // In an export, the second column is `type`, which says that each row is a resource. A field may have that
            // name.
            Some(field @ Target::Field(_))
                if position == 1
                    && is_export(header)
                    && header[2..].iter().any(|other| options.target(other).as_ref() == Some(&field)) =>
            {
                Ok(Target::Ignored)
            }
            Some(Target::Field(_)) if position == last && column == ERRORS && header[..last].contains(column) => {
                Ok(Target::Ignored)
            }
            target => target.ok_or_else(|| options.unknown(column)),
        };
        let targets: Vec<Target> = header.iter().enumerate().map(target).collect::<io::Result<_>>()?;
        for (position, target) in targets.iter().enumerate() {
            if *target != Target::Ignored
                && let Some(other) = targets[..position].iter().position(|other| other == target)
            {
                let [one, other] = [&header[other], &header[position]];
                return Err(invalid(format!(
                    "the columns {} and {} mean the same; leave one out with `--map '{other}='`",
                    quote(one),
                    quote(other)
                )));
            }
        }
        let key = options.key_column(header)?;
        let forms = targets.iter().enumerate().map(|(position, target)| {
            let has_dates = matches!(options.kind(target), Some(Kind::Date | Kind::DateTime));
            survey.form(position, has_dates)
        });
        let forms = forms.collect::<io::Result<_>>()?;
        Ok(Plan { survey, targets, forms, key })
    }

    /// Returns a report on the cells of each column.
    pub(super) fn reports(&self, options: &RowOptions) -> Vec<String> {
        let columns = self.survey.header.iter().zip(&self.survey.columns).zip(self.targets.iter().zip(&self.forms));
        let reports = columns.enumerate().filter_map(|(position, ((name, column), (target, form)))| {
            if name.is_empty() && column.filled() > 0 {
                return Some(format!("column {} has no name, and is left out", position + 1));
            }
            let kind = options.kind(target)?;
            let note = match kind {
                Kind::Number | Kind::Money => self.survey.note_on_numbers(position, *form),
                _ if options.is_list(target) => note_on_lists(column, &options.list_separator),
                _ => None,
            };
            Some(column.report(name, kind, form.order) + &note.unwrap_or_default())
        });
        reports.collect()
    }

    /// Returns a row for the file of rejects, with as many cells as the header. The errors of an earlier import are
    /// left out, because the new ones replace them.
    pub(super) fn rejected(&self, cells: &[String]) -> String {
        let width = self.own_columns();
        let is_longer = cells.len() > self.survey.header.len();
        let shown = if is_longer { cells } else { &cells[..cells.len().min(width)] };
        let missing = std::iter::repeat_n("", width.saturating_sub(cells.len()));
        joined(shown.iter().map(String::as_str).chain(missing), self.survey.delimiter())
    }

    /// Returns the format of the rejects. It equals that of the imported table, so that a spreadsheet opens both in the
    /// same way.
    pub(super) fn rejects(&self) -> RejectsForm {
        let header = self.survey.header[..self.own_columns()].iter().map(String::as_str);
        let delimiter = self.survey.delimiter();
        let (mark, encoding) = (self.survey.byte_order_mark(), self.survey.encoding());
        let line_end = self.survey.line_end();
        RejectsForm::Csv { header: joined(header, delimiter), mark, delimiter, line_end, encoding }
    }

    /// Returns the error of a row without the key that identifies its resource.
    pub(super) fn missing_key(&self, cells: &[String]) -> Option<String> {
        let key = self.key?;
        let is_empty = |position: usize| cells.get(position).is_none_or(|cell| cell.trim().is_empty());
        let has_id =
            self.targets.iter().position(|target| *target == Target::Item("id")).is_some_and(|id| !is_empty(id));
        let column = quote(&self.survey.header[key]);
        (is_empty(key) && !has_id).then(|| format!("the row has no key: its cell of {column} is empty"))
    }

    fn own_columns(&self) -> usize {
        let has_errors = self.survey.header.last().is_some_and(|name| name == ERRORS);
        self.survey.header.len() - usize::from(has_errors && self.targets.last() == Some(&Target::Ignored))
    }
}
