//! An entry in the table of operations, and shared lists of parameters. Must not know the entries.

/// The parameters of lists, exports and reports.
pub(crate) const LIST: &[&str] = &[
    "blueprint",
    "filter",
    "search",
    "q",
    "typos",
    "q_mode",
    "q_match",
    "highlight",
    "sort",
    "page",
    "per_page",
    "cursor",
    "fields",
    "exclude",
    "variant",
    "fallback",
    "fallback_mode",
    "copy",
    "facets",
    "facet_mode",
    "stats",
    "expand",
    "fields-of",
    "explain",
    "track",
    "if-none-match",
];
pub(crate) const EXPORT: &[&str] = &[
    "blueprint",
    "filter",
    "search",
    "q",
    "typos",
    "q_mode",
    "q_match",
    "highlight",
    "sort",
    "fields",
    "exclude",
    "variant",
    "fallback",
    "fallback_mode",
    "copy",
    "facets",
    "facet_mode",
    "stats",
    "expand",
    "fields-of",
    "explain",
    "format",
    "all_variants",
    "spreadsheet",
];
pub(crate) const NEIGHBORS: &[&str] = &[
    "blueprint",
    "id",
    "filter",
    "search",
    "q",
    "typos",
    "q_mode",
    "q_match",
    "sort",
    "fields",
    "exclude",
    "variant",
    "fallback",
    "fallback_mode",
    "copy",
    "explain",
];
pub(crate) const PERIOD: &[&str] = &["start", "end", "site", "visits"];
pub(crate) const LIMITED: &[&str] = &["start", "end", "limit", "site", "visits"];
pub(crate) const SEARCHES: &[&str] = &["start", "end", "limit", "site", "asked_blueprint"];
pub(crate) const SERIES: &[&str] = &["start", "end", "interval", "site", "visits"];

/// One method of one route.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// The ability that it needs; empty if it needs no token.
    pub(crate) ability: &'static str,
    /// The names of shared parameters.
    pub(crate) parameters: &'static [&'static str],
    pub(crate) request: Request,
    pub(crate) answers: &'static [(u16, Body)],
    /// Errors in addition to those that every operation of its kind may have.
    pub(crate) errors: &'static [u16],
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    None,
    /// JSON of this schema.
    Json(&'static str),
    /// A pageview.
    Event,
    /// A click on a result.
    Click,
    /// A text of this type.
    Text(&'static str),
    /// A form with a file.
    Form {
        /// True if it may have attributes as well.
        has_attributes: bool,
    },
}

/// The body of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    None,
    /// An envelope with one item of this schema.
    Data(&'static str),
    /// An envelope with several items of this schema.
    DataList(&'static str),
    /// JSON of this schema.
    Json(&'static str),
    /// An array of this schema.
    JsonList(&'static str),
    /// A text of this type.
    Text(&'static str),
    /// A file of any type.
    Binary,
}

/// Creates an operation with these values and defaults for the rest.
pub(crate) const fn operation(
    method: &'static str,
    path: &'static str,
    tag: &'static str,
    id: &'static str,
    summary: &'static str,
    ability: &'static str,
) -> Operation {
    Operation {
        method,
        path,
        tag,
        id,
        summary,
        ability,
        parameters: &[],
        request: Request::None,
        answers: &[],
        errors: &[],
    }
}

impl Operation {
    pub(crate) const fn with(mut self, parameters: &'static [&'static str]) -> Operation {
        self.parameters = parameters;
        self
    }

    pub(crate) const fn takes(mut self, request: Request) -> Operation {
        self.request = request;
        self
    }

    pub(crate) const fn answers(mut self, answers: &'static [(u16, Body)]) -> Operation {
        self.answers = answers;
        self
    }

    pub(crate) const fn or(mut self, errors: &'static [u16]) -> Operation {
        self.errors = errors;
        self
    }
}
