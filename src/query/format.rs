//! The format of an export (`API.md` 4.5.7). Must not know how it is written.

use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::raw::RawParams;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One object, `{"data": […]}`.
    Json,
    /// One resource per line.
    Ndjson,
    /// A header line, then one resource per line.
    Csv,
}

impl Format {
    /// Returns the value of `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Ndjson => "application/x-ndjson",
            Format::Csv => "text/csv; charset=utf-8",
        }
    }

    /// Returns the ending of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
        }
    }

    /// Reads the format that `format` names, otherwise the one that the `Accept` header prefers, otherwise JSON.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for another format, and for CSV of all variants.
    pub(super) fn parse(params: &RawParams, accept: Option<&str>, all_variants: bool) -> Result<Format, Error> {
        let format = match params.single("format")? {
            Some("json") => Format::Json,
            Some("ndjson") => Format::Ndjson,
            Some("csv") => Format::Csv,
            Some(other) => {
                let message = format!("`format` is {}; it must be `json`, `ndjson` or `csv`", quote(other));
                return Err(Error::new(Code::InvalidParameter, message));
            }
            None => accept.map_or(Format::Json, accepted),
        };
        if format == Format::Csv && all_variants {
            let message = "a CSV export holds one variant; use `all_variants` with `format=json` or `format=ndjson`";
            return Err(Error::new(Code::InvalidParameter, message));
        }
        Ok(format)
    }
}

/// Returns the format that an `Accept` header prefers; of equal preferences, the first.
fn accepted(header: &str) -> Format {
    let mut best = (Format::Json, 0.0);
    for entry in header.split(',') {
        let mut parts = entry.split(';').map(str::trim);
        let format = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "application/json" | "application/*" | "*/*" => Format::Json,
            "application/x-ndjson" => Format::Ndjson,
            "text/csv" => Format::Csv,
            _ => continue,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0_f32);
        if weight > best.1 {
            best = (format, weight);
        }
    }
    best.0
}
