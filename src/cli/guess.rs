//! Guesses the kind of a column's cells and their notation, for `bindery import` and `bindery blueprint infer`. All
//! cells are considered together, because `1.299` and `03/04/2025` have a meaning only beside others. Must not know
//! files.

pub(super) mod date;
mod list;
pub(super) mod number;

use bindery_model::blueprint::FieldType;
use bindery_model::sent::quote;
use bindery_model::value::accepts;
use serde_json::Value;

use self::date::{Order, has_time};
use self::list::Lists;
use self::number::{Decimal, NumberReading};

/// The kinds of columns, the most special first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Number,
    Money,
    Date,
    DateTime,
    Email,
    Link,
    Text,
}

/// The kinds that are counted. Text is missing, because every cell is a text.
const COUNTED: [Kind; 6] = [Kind::Boolean, Kind::Number, Kind::Money, Kind::Date, Kind::Email, Kind::Link];

/// A column of money or dates may have at most one in this many other texts, such as `on request`: no other columns
/// look like these. Columns of numbers may not, because sizes are `38`, `40` and `XL`.
const MOST_OTHERS: u64 = 4;

/// The share in tenths of the dates that an order must fit. If it fits fewer, the order is wrong; otherwise the rest
/// are typing errors.
const FITS_OF_TEN: u64 = 9;

/// The most digits of a whole number; longer ones would lose digits.
const MOST_DIGITS: usize = 15;

/// The number of characters of a cell that are kept for messages: more than a message shows.
const KEPT_CHARACTERS: usize = 200;

/// The notation by which ambiguous cells of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form {
    pub(super) decimal: Decimal,
    pub(super) order: Order,
    /// True if the table is an export, whose cells are the values as they are stored.
    pub(super) is_exported: bool,
}

/// A cell, and the line in which its row begins.
type Example = (u64, String);

/// Returns the beginning of a cell, because a cell may be as long as a whole row.
fn example(line: u64, cell: &str) -> Example {
    (line, cell.chars().take(KEPT_CHARACTERS).collect())
}

/// The number of cells of a kind, and the first cell that is of another kind.
#[derive(Debug, Default)]
struct Fit {
    count: u64,
    other: Option<Example>,
}

/// The facts known of the cells of a column.
#[derive(Debug, Default)]
pub(super) struct Column {
    /// The number of cells that are not empty.
    filled: u64,
    kinds: [Fit; COUNTED.len()],
    with_currency: u64,
    /// The first currency.
    currency: Option<&'static str>,
    /// The number of numbers and amounts that are only valid with this mark.
    with_point: u64,
    with_comma: u64,
    /// The first number whose meaning depends on the mark.
    either: Option<Example>,
    /// The number of dates that each order can read.
    orders: [Fit; Order::ALL.len()],
    /// The first dates that two orders read differently.
    differ: [Option<Example>; 3],
    with_time: u64,
    lists: Lists,
}

/// The pairs of orders that [`Column::differ`] compares.
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

impl Fit {
    fn note(&mut self, fits: bool, line: u64, cell: &str) {
        if fits {
            self.count += 1;
        } else if self.other.is_none() {
            self.other = Some(example(line, cell));
        }
    }
}

impl Column {
    /// Adds a cell. `line` is the line in which its row begins.
    pub(super) fn add(&mut self, line: u64, cell: &str) {
        let cell = cell.trim();
        if cell.is_empty() {
            return;
        }
        self.filled += 1;
        self.lists.add(cell);
        let number = number::number(cell);
        let money = number::number_or_money(cell);
        let read = Order::ALL.map(|order| date::date(cell, order));
        let is_date = read.iter().any(Option::is_some);
        let text = |field_type| accepts(field_type, &Value::from(cell));
        for (kind, fit) in COUNTED.into_iter().zip(&mut self.kinds) {
            let fits = match kind {
                Kind::Boolean => boolean(cell).is_some(),
                Kind::Number => number.is_some() && is_exact(cell),
                Kind::Money => money.is_some(),
                Kind::Date => is_date,
                Kind::Email => cell.contains('@') && text(FieldType::Email),
                Kind::Link => cell.starts_with("http") && text(FieldType::Link),
                Kind::DateTime | Kind::Text => true,
            };
            fit.note(fits, line, cell);
        }
        if let Some((reading, currency)) = money {
            self.with_currency += u64::from(currency.is_some());
            self.currency = self.currency.or(currency);
            match reading {
                NumberReading::Clear(_, Some(Decimal::Point)) => self.with_point += 1,
                NumberReading::Clear(_, Some(Decimal::Comma)) => self.with_comma += 1,
                NumberReading::Clear(_, None) => {}
                NumberReading::Either { .. } => {
                    self.either.get_or_insert_with(|| example(line, cell));
                }
            }
        }
        if is_date {
            self.add_date(line, cell, &read);
        }
    }

    fn add_date(&mut self, line: u64, cell: &str, read: &[Option<String>; 3]) {
        for (fit, date) in self.orders.iter_mut().zip(read) {
            fit.note(date.is_some(), line, cell);
        }
        self.with_time += u64::from(read.iter().flatten().any(|date| has_time(date)));
        for (differ, (one, other)) in self.differ.iter_mut().zip(PAIRS) {
            if differ.is_none() && read[one].is_some() && read[other].is_some() && read[one] != read[other] {
                *differ = Some(example(line, cell));
            }
        }
    }

    /// Returns the number of cells that are not empty.
    pub(super) fn filled(&self) -> u64 {
        self.filled
    }

    /// Returns the decimal mark that unambiguous cells have.
    pub(super) fn decimal(&self) -> Option<Decimal> {
        match self.with_point.cmp(&self.with_comma) {
            std::cmp::Ordering::Greater => Some(Decimal::Point),
            std::cmp::Ordering::Less => Some(Decimal::Comma),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// Returns the first currency of its amounts.
    pub(super) fn currency(&self) -> Option<&'static str> {
        self.currency
    }

    /// Is true if an amount has no currency.
    pub(super) fn lacks_currency(&self) -> bool {
        self.with_currency < self.count(Kind::Money)
    }

    /// Is true if most cells are numbers or amounts.
    pub(super) fn is_numeric(&self) -> bool {
        self.count(Kind::Money) * 2 > self.filled
    }

    /// Returns the separator in cells that look like lists, and the number of cells with several elements.
    pub(super) fn list_separator(&self) -> Option<(char, u64)> {
        self.lists.separator(self.filled)
    }

    /// Returns a number whose meaning depends on the decimal mark.
    pub(super) fn ambiguous_number(&self) -> Option<&str> {
        self.either.as_ref().map(|(_, cell)| cell.as_str())
    }

    /// Returns the order of the dates.
    ///
    /// # Errors
    /// If two orders fit the column, or none does: the message names the flag.
    pub(super) fn order(&self, name: &str) -> Result<Order, String> {
        let dates = self.count(Kind::Date);
        let fits_all: Vec<usize> = (0..3).filter(|order| self.orders[*order].count == dates).collect();
        let differing = PAIRS.into_iter().zip(&self.differ);
        let mut differing = differing.filter(|((one, other), _)| fits_all.contains(one) && fits_all.contains(other));
        if let Some(((one, other), Some((line, cell)))) = differing.find(|(_, example)| example.is_some()) {
            let [one, other] = [one, other].map(|order| Order::ALL[order].as_str());
            return Err(format!(
                "the dates of the column {} fit two orders, such as {} in line {line}; say which one is right with \
                 `--dates {one}` or `--dates {other}`",
                quote(name),
                quote(cell)
            ));
        }
        if let Some(order) = fits_all.first() {
            return Ok(Order::ALL[*order]);
        }
        let best = (0..3).max_by_key(|order| (self.orders[*order].count, 2 - order)).unwrap_or_default();
        if self.orders[best].count * 10 >= dates * FITS_OF_TEN {
            return Ok(Order::ALL[best]);
        }
        Err(format!(
            "no order fits the dates of the column {}; say which one is right with `--dates dmy`, `--dates mdy` or \
             `--dates ymd`, and correct the others",
            quote(name)
        ))
    }

    /// Returns the kind that a field for this column should have.
    pub(super) fn kind(&self) -> Kind {
        if self.filled == 0 {
            return Kind::Text;
        }
        let fits_all = |kind: &Kind| self.count(*kind) == self.filled;
        let fits_most = |kind: &Kind| self.count(*kind) * MOST_OTHERS >= self.filled * (MOST_OTHERS - 1);
        let is_special = |kind: &Kind| *kind != Kind::Money || self.with_currency > 0;
        let kind = COUNTED.into_iter().filter(is_special).find(fits_all);
        let kind = kind.or_else(|| [Kind::Money, Kind::Date].into_iter().filter(is_special).find(fits_most));
        match kind {
            Some(Kind::Date) if self.with_time > 0 => Kind::DateTime,
            kind => kind.unwrap_or(Kind::Text),
        }
    }

    /// Returns the kind of most cells, for a column that no kind fits.
    fn nearly(&self) -> Option<Kind> {
        let is_near = |kind: &Kind| self.count(*kind) * 2 >= self.filled && self.filled > 0;
        let is_special = |kind: &Kind| *kind != Kind::Money || self.with_currency > 0;
        COUNTED.into_iter().filter(|kind| is_near(kind) && is_special(kind)).max_by_key(|kind| self.count(*kind))
    }

    /// Returns the kind for the report on a column: that of the proposed field or, for text, the kind that most cells
    /// have.
    pub(super) fn nearest_kind(&self) -> Kind {
        match self.kind() {
            Kind::Text => self.nearly().unwrap_or(Kind::Text),
            kind => kind,
        }
    }

    /// Returns a line about the column: the number of cells that look like a kind, and the first one that does not.
    pub(super) fn report(&self, name: &str, kind: Kind, order: Order) -> String {
        if self.filled == 0 {
            return format!("{name}: empty");
        }
        let fit = match kind {
            Kind::Date | Kind::DateTime => self.dates_in(order),
            Kind::Text => (self.filled, None),
            kind => (self.count(kind), self.other(kind)),
        };
        let of = format!("{name}: {} of {} {}", grouped(fit.0), grouped(self.filled), kind.looks());
        match fit {
            (count, Some((line, cell))) if count < self.filled => format!("{of}; line {line} {}", quote(cell)),
            _ => of,
        }
    }

    /// Returns the number of dates that an order can read, and the first cell that it cannot.
    fn dates_in(&self, order: Order) -> (u64, Option<&Example>) {
        let fit = &self.orders[order as usize];
        let others = [fit.other.as_ref(), self.other(Kind::Date)];
        (fit.count, others.into_iter().flatten().min_by_key(|(line, _)| *line))
    }

    fn count(&self, kind: Kind) -> u64 {
        self.fit(kind).map_or(self.filled, |fit| fit.count)
    }

    fn other(&self, kind: Kind) -> Option<&Example> {
        self.fit(kind)?.other.as_ref()
    }

    fn fit(&self, kind: Kind) -> Option<&Fit> {
        let kind = if kind == Kind::DateTime { Kind::Date } else { kind };
        COUNTED.iter().position(|counted| *counted == kind).map(|position| &self.kinds[position])
    }
}

impl Kind {
    /// Returns the kind that the cells of a field have.
    pub(super) fn of(field_type: &FieldType) -> Kind {
        match field_type {
            FieldType::Boolean => Kind::Boolean,
            FieldType::Number | FieldType::Duration { .. } => Kind::Number,
            FieldType::Money { .. } => Kind::Money,
            FieldType::Date => Kind::Date,
            FieldType::DateTime => Kind::DateTime,
            FieldType::Email => Kind::Email,
            FieldType::Link => Kind::Link,
            _ => Kind::Text,
        }
    }

    /// Returns the type of a field for it; `None` for text.
    pub(super) fn type_name(self) -> Option<&'static str> {
        Some(match self {
            Kind::Boolean => "boolean",
            Kind::Number => "number",
            Kind::Money => "money",
            Kind::Date => "date",
            Kind::DateTime => "datetime",
            Kind::Email => "email",
            Kind::Link => "link",
            Kind::Text => return None,
        })
    }

    fn looks(self) -> &'static str {
        match self {
            Kind::Boolean => "look like yes or no",
            Kind::Number => "look like numbers",
            Kind::Money => "look like money",
            Kind::Date => "look like dates",
            Kind::DateTime => "look like dates with a time",
            Kind::Email => "look like email addresses",
            Kind::Link => "look like links",
            Kind::Text => "are texts",
        }
    }
}

/// Parses yes or no in English and German, and in the form of Excel.
pub(super) fn boolean(cell: &str) -> Option<bool> {
    match cell.to_lowercase().as_str() {
        "true" | "yes" | "wahr" | "ja" => Some(true),
        "false" | "no" | "falsch" | "nein" => Some(false),
        _ => None,
    }
}

/// Is true if a number keeps all its digits.
fn is_exact(cell: &str) -> bool {
    cell.contains(['e', 'E']) || cell.bytes().filter(u8::is_ascii_digit).count() <= MOST_DIGITS
}

/// Formats a count with commas between its thousands.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
