//! What an entry in the table of operations says, and the parameters that several have. Must not know the entries.

/// The parameters of lists, exports and reports.
pub(super) const LIST: &[&str] = &[
    "blueprint",
    "filter",
    "search",
    "q",
    "typos",
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
    "facets",
    "facet_mode",
    "stats",
    "expand",
    "fields-of",
    "explain",
    "if-none-match",
];
pub(super) const EXPORT: &[&str] = &[
    "blueprint",
    "filter",
    "search",
    "q",
    "typos",
    "highlight",
    "sort",
    "fields",
    "exclude",
    "variant",
    "fallback",
    "fallback_mode",
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
pub(super) const NEIGHBORS: &[&str] = &[
    "blueprint",
    "id",
    "filter",
    "search",
    "q",
    "typos",
    "sort",
    "fields",
    "exclude",
    "variant",
    "fallback",
    "fallback_mode",
    "explain",
];
pub(super) const PERIOD: &[&str] = &["start", "end", "site", "visits"];
pub(super) const LIMITED: &[&str] = &["start", "end", "limit", "site", "visits"];
pub(super) const SERIES: &[&str] = &["start", "end", "interval", "site", "visits"];

/// One method of one route.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) tag: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// The ability that it needs; empty if it needs no token.
    pub(super) ability: &'static str,
    /// Names of shared parameters.
    pub(super) parameters: &'static [&'static str],
    pub(super) request: Request,
    pub(super) answers: &'static [(u16, Body)],
    /// Errors beside those that every operation of its kind may have.
    pub(super) errors: &'static [u16],
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(super) enum Request {
    None,
    /// JSON of this schema.
    Json(&'static str),
    /// A pageview.
    Event,
    /// A text of this type.
    Text(&'static str),
}

/// The body of an answer.
#[derive(Clone, Copy)]
pub(super) enum Body {
    None,
    /// An envelope with one thing of this schema.
    Data(&'static str),
    /// An envelope with several.
    DataList(&'static str),
    /// JSON of this schema.
    Json(&'static str),
    /// An array of it.
    JsonList(&'static str),
    /// A text of this type.
    Text(&'static str),
}

/// One with these facts and nothing else.
pub(super) const fn operation(
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
    pub(super) const fn with(mut self, parameters: &'static [&'static str]) -> Operation {
        self.parameters = parameters;
        self
    }

    pub(super) const fn takes(mut self, request: Request) -> Operation {
        self.request = request;
        self
    }

    pub(super) const fn answers(mut self, answers: &'static [(u16, Body)]) -> Operation {
        self.answers = answers;
        self
    }

    pub(super) const fn or(mut self, errors: &'static [u16]) -> Operation {
        self.errors = errors;
        self
    }
}
