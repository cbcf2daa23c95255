//! Damage: findings for the server's log and `bindery verify`, and the error of a report that needs damaged data.

use std::fmt;
use std::path::Path;

use bindery_model::error::{Code, Error};
use bindery_model::time::format_date;

use super::checked_file::is_damage;
use super::period::Day;

/// A file of the analytics that is damaged or missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, within the data folder.
    pub file: String,
    /// The problem with it.
    pub what: String,
}

impl Finding {
    /// Returns a finding about a file in the folder of the analytics.
    pub(super) fn of(folder: &Path, file: &Path, what: String) -> Finding {
        Finding { file: name(folder, file), what }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

/// Returns the name of a file for the user, such as `analytics/days/2026-11-20.part`.
fn name(folder: &Path, file: &Path) -> String {
    format!("analytics/{}", file.strip_prefix(folder).unwrap_or(file).display())
}

/// Returns the error of a report that includes a day whose file cannot be read.
pub(super) fn unreadable(day: Day, folder: &Path, file: &Path, error: &std::io::Error) -> Error {
    match is_damage(error) {
        true => incomplete(day, &format!("{} is damaged or missing", name(folder, file))),
        false => Error::internal(error),
    }
}

/// Returns the error of a report that includes a day with lost figures.
pub(super) fn incomplete(day: Day, what: &str) -> Error {
    let message = format!(
        "the figures of {} are not complete: {what}; ask for other days, or have the operator run `bindery analytics repair`",
        format_date(day)
    );
    tracing::error!("{message}");
    Error::new(Code::Internal, message)
}
