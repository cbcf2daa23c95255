//! `facets`, `facet_mode` and `stats`: the counts and sums over all matches (`API.md` 4.2.7). Must not know how they
//! are computed.

use bindery_index::{ColumnId, DateColumn, FacetBy, FallbackColumn, Period};
use bindery_model::blueprint::{Blueprint, FieldType};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::filter::{self, Copies, Filter, Scope};
use super::message::quoted_list;
use super::name::{self, Target};
use super::nearest::with_nearest;
use super::raw::RawParams;
use super::strict::ignored;
use crate::projection::{self, ColumnRef};

/// The most facets, and the most statistics, of a request.
const MAX_NAMED: usize = 10;
/// The number of values that a facet lists by default.
const DEFAULT_VALUES: usize = 10;
/// The most values that a facet may list.
const MAX_VALUES: usize = 1_000;

/// The requested facets and statistics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Aggregation {
    /// The facets, in the order of the request.
    pub facets: Vec<Facet>,
    /// The statistics, in the order of the request.
    pub stats: Vec<Stats>,
}

/// A facet.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// The facet as it was requested, which is its key in the answer.
    pub key: String,
    /// The values that are counted.
    pub by: FacetBy,
    /// The fallback for resources without a value.
    pub fallback: Option<FallbackColumn>,
    /// The number of values that are listed.
    pub limit: usize,
    /// The filter of the facet, if it differs from that of the list.
    pub filter: Option<Filter>,
}

/// Statistics of a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// The field's slug.
    pub key: String,
    /// The column of the numbers.
    pub column: ColumnId,
    /// The column whose values separate the statistics: the currency of money.
    pub by: Option<ColumnId>,
    /// The fallback for resources without a value.
    pub fallback: Option<FallbackColumn>,
}

impl Aggregation {
    /// Returns whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.facets.is_empty() && self.stats.is_empty()
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub(super) fn parse(params: &RawParams, scope: &Scope<'_>, copies: Copies) -> Result<Aggregation, Error> {
        let is_disjunctive = match params.single("facet_mode")? {
            None => false,
            Some("disjunctive") => true,
            Some(other) => {
                return Err(invalid(format!(
                    "`facet_mode` is {}; it must be `disjunctive`, or left out",
                    quote(other)
                )));
            }
        };
        if is_disjunctive && scope.is_strict && params.single("facets")?.is_none() {
            return Err(ignored("facet_mode", "there are no `facets`"));
        }
        let mut facets = Vec::new();
        for entry in entries(params, "facets")? {
            facets.push(facet(entry, params, scope, copies, is_disjunctive)?);
        }
        let stats = entries(params, "stats")?.into_iter().map(|entry| stats(entry, scope.blueprint, copies));
        Ok(Aggregation { facets, stats: stats.collect::<Result<_, _>>()? })
    }

    /// Adds a condition to the facets that have their own filter.
    pub(super) fn restrict(&mut self, also: &Filter) {
        for facet in &mut self.facets {
            facet.filter = facet.filter.take().map(|filter| Filter::all(vec![filter, also.clone()]));
        }
    }
}

/// Returns the entries of a comma-separated list without repetitions.
fn entries<'a>(params: &'a RawParams, parameter: &str) -> Result<Vec<&'a str>, Error> {
    let Some(sent) = params.single(parameter)? else { return Ok(Vec::new()) };
    let entries: Vec<&str> = sent.split(',').collect();
    if entries.len() > MAX_NAMED {
        let count = entries.len();
        return Err(invalid(format!("`{parameter}` has {count} entries; it must have at most {MAX_NAMED}")));
    }
    for (at, entry) in entries.iter().enumerate() {
        if entries[..at].contains(entry) {
            return Err(invalid(format!("`{parameter}` names {} more than once", quote(entry))));
        }
    }
    Ok(entries)
}

fn facet(
    entry: &str,
    params: &RawParams,
    scope: &Scope<'_>,
    copies: Copies,
    is_disjunctive: bool,
) -> Result<Facet, Error> {
    let blueprint = scope.blueprint;
    let (name, suffix) = entry.split_once(':').map_or((entry, None), |(name, suffix)| (name, Some(suffix)));
    let target = name::resolve(blueprint, name);
    let counted = target.as_ref().and_then(FacetSource::of).ok_or_else(|| unknown_facet(entry, name, blueprint))?;
    let (by, limit) = match (counted, suffix) {
        (FacetSource::Values(column), None) => (FacetBy::Column(column), DEFAULT_VALUES),
        (FacetSource::Values(column), Some(suffix)) => (FacetBy::Column(column), number_of_values(entry, suffix)?),
        (FacetSource::Days(column), unit) => (FacetBy::Period(column, period(name, unit)?), usize::MAX),
        (FacetSource::Dates(date), unit) => (FacetBy::Date(date, period(name, unit)?), usize::MAX),
    };
    let fallback = match &target {
        Some(Target::Column(column)) => fallback(column, copies),
        _ => None,
    };
    let filter = if is_disjunctive { filter::parse_without(params, scope, name)? } else { None };
    Ok(Facet { key: entry.to_owned(), by, fallback, limit, filter })
}

/// The values that a facet of a field counts.
enum FacetSource {
    Values(ColumnId),
    Days(ColumnId),
    Dates(DateColumn),
}

impl FacetSource {
    /// Returns `None` if the target has no facet.
    fn of(target: &Target<'_>) -> Option<FacetSource> {
        let column = match target {
            Target::Date(date) => return Some(FacetSource::Dates(*date)),
            Target::Column(column) => column,
            Target::Id | Target::Published | Target::WorkingCopy => return None,
        };
        let is_part = column.id != projection::column_of(column.field);
        match (&column.field.field_type, is_part) {
            (FieldType::Money { .. }, true) => Some(FacetSource::Values(column.id)),
            (FieldType::Address, true) => {
                let is_counted = ["city", "country"].iter().any(|part| column.id == part_of(column, part));
                is_counted.then_some(FacetSource::Values(column.id))
            }
            (FieldType::Date | FieldType::DateTime, _) => Some(FacetSource::Days(column.id)),
            (
                FieldType::Enum { .. }
                | FieldType::MultiEnum { .. }
                | FieldType::Boolean
                | FieldType::Reference(_)
                | FieldType::References(_)
                | FieldType::User { .. }
                | FieldType::Number
                | FieldType::Duration { .. }
                | FieldType::Text
                | FieldType::Slug
                | FieldType::Email
                | FieldType::Color,
                _,
            ) => Some(FacetSource::Values(column.id)),
            _ => None,
        }
    }
}

fn part_of(column: &ColumnRef<'_>, part: &str) -> ColumnId {
    projection::part_column(column.field, part).unwrap_or(ColumnId::MAX)
}

fn fallback(column: &ColumnRef<'_>, copies: Copies) -> Option<FallbackColumn> {
    let unless_null = projection::column_of(column.field);
    copies.fallback.map(|variant| FallbackColumn { column: column.id, unless_null, variant })
}

fn number_of_values(entry: &str, suffix: &str) -> Result<usize, Error> {
    let is_number = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { suffix.parse().ok() } else { None };
    number.filter(|number| (1..=MAX_VALUES).contains(number)).ok_or_else(|| {
        let problem =
            format!("the facet {} must have a number of values from 1 to {MAX_VALUES} after its colon", quote(entry));
        match suffix {
            "day" | "month" | "year" => {
                invalid(format!("{problem}; only dates are counted by `day`, `month` or `year`"))
            }
            _ => invalid(problem),
        }
    })
}

fn period(name: &str, unit: Option<&str>) -> Result<Period, Error> {
    match unit {
        Some("day") => Ok(Period::Day),
        Some("month") => Ok(Period::Month),
        Some("year") => Ok(Period::Year),
        _ => {
            let sent = unit.map_or_else(String::new, |unit| format!(", not {}", quote(unit)));
            Err(invalid(format!("a facet of `{name}` is by `{name}:day`, `{name}:month` or `{name}:year`{sent}")))
        }
    }
}

fn stats(entry: &str, blueprint: &Blueprint, copies: Copies) -> Result<Stats, Error> {
    let target = name::resolve(blueprint, entry);
    if let Some(Target::Column(column)) = &target
        && column.field.slug == entry
    {
        let by = match column.field.field_type {
            FieldType::Number | FieldType::Duration { .. } => Some(None),
            FieldType::Money { .. } => Some(projection::part_column(column.field, "currency")),
            _ => None,
        };
        if let Some(by) = by {
            let fallback = fallback(column, copies);
            return Ok(Stats { key: entry.to_owned(), column: column.id, by, fallback });
        }
    }
    let is_field = |field_type: &FieldType| {
        matches!(field_type, FieldType::Number | FieldType::Duration { .. } | FieldType::Money { .. })
    };
    let known = blueprint.fields.iter().filter(|field| is_field(&field.field_type)).map(|field| field.slug.clone());
    Err(unknown(
        "stats",
        "there are no statistics of",
        entry,
        "Fields with statistics",
        known.collect(),
        target.is_some(),
    ))
}

fn unknown_facet(entry: &str, name: &str, blueprint: &Blueprint) -> Error {
    let is_field = name::resolve(blueprint, name).is_some();
    let known = name::filterable(blueprint).into_iter().filter_map(|known| {
        let unit = match FacetSource::of(&name::resolve(blueprint, &known)?)? {
            FacetSource::Values(_) => "",
            FacetSource::Days(_) | FacetSource::Dates(_) => ":day",
        };
        Some(format!("{known}{unit}"))
    });
    unknown(
        "facets",
        "there is no facet of",
        if name.is_empty() { entry } else { name },
        "Fields with facets",
        known.collect(),
        is_field,
    )
}

/// Returns the error for a name that cannot be counted or summed up. Lists the names that can.
fn unknown(parameter: &str, problem: &str, name: &str, title: &str, known: Vec<String>, is_field: bool) -> Error {
    let names = if known.is_empty() { "none".to_owned() } else { quoted_list(&known) };
    let problem = match (name, is_field) {
        ("", _) => format!("`{parameter}` has an empty entry."),
        (_, true) => format!("{problem} {}: it has another type.", quote(name)),
        (_, false) => {
            let bare = known.iter().map(|name| name.split(':').next().unwrap_or_default());
            with_nearest(&format!("{problem} {}, which is no field", quote(name)), name, bare)
        }
    };
    invalid(format!("{problem} {title}: {names}"))
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidParameter, message)
}
