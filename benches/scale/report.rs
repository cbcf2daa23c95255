//! Figures, their table and their JSON. Knows nothing of how they are measured.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What a figure counts.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Milliseconds,
    PerSecond,
    Megabytes,
    Percent,
}

/// The same work done by something else in the same run.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) what: String,
    pub(crate) value: f64,
}

/// One row of the table.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Figure {
    /// Names the figure for plots, and never changes: `list.first.1`.
    pub(crate) key: String,
    pub(crate) name: String,
    /// The median, if it is a time of requests.
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) per_second: Option<f64>,
    pub(crate) n: Option<usize>,
    /// Requests that were answered with an error.
    #[serde(default)]
    pub(crate) failed: usize,
    pub(crate) beside: Option<Beside>,
}

/// How long the requests of a mixed load took.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Pauses {
    pub(crate) seconds: u64,
    /// Lower bounds in milliseconds, with the number of reads and of writes that took as long, but less than the next.
    pub(crate) counts: Vec<(f64, usize, usize)>,
    /// The longest requests: seconds since the beginning, milliseconds, and what it was.
    pub(crate) longest: Vec<(f64, f64, String)>,
}

/// Everything that one run measured at one size.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Report {
    pub(crate) size: usize,
    pub(crate) machine: String,
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) articles: String,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) pauses: Option<Pauses>,
}

impl Figure {
    /// A figure that has nothing but a value.
    pub(crate) fn new(key: impl Into<String>, name: impl Into<String>, value: f64, unit: Unit) -> Self {
        let (key, name) = (key.into(), name.into());
        Figure { key, name, value, unit, p95: None, p99: None, per_second: None, n: None, failed: 0, beside: None }
    }

    /// With the figure of something else, if that was measured.
    pub(crate) fn beside(mut self, what: &str, value: Option<f64>) -> Self {
        self.beside = value.map(|value| Beside { what: what.to_owned(), value });
        self
    }

    /// How many times better this is than what is beside it.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let beside = self.beside.as_ref()?.value;
        let (better, worse) = if self.unit == Unit::PerSecond { (self.value, beside) } else { (beside, self.value) };
        (worse > 0.0).then(|| better / worse)
    }

    fn row(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(String::new, digits);
        let beside = self.beside.as_ref();
        let beside =
            beside.map_or_else(String::new, |beside| format!("{} {}", beside.what, shown(beside.value, self.unit)));
        let failed = if self.failed > 0 { format!(" ({} failed)", self.failed) } else { String::new() };
        format!(
            "| {} | {} | {} | {} | {} | {}{failed} | {beside} | {} |",
            self.name,
            shown(self.value, self.unit),
            number(self.p95),
            number(self.p99),
            self.per_second.map_or_else(String::new, thousands),
            self.n.map_or_else(String::new, |n| thousands(n as f64)),
            number(self.ratio()),
        )
    }
}

impl Report {
    /// The figure with this key.
    pub(crate) fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// The table in Markdown, with where it comes from.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("{} articles; {}\n", thousands(self.size as f64), self.articles);
        let _ = writeln!(text, "{}; {}\n`{}`\n", self.machine, self.date, self.command);
        text.push_str("| Figure | p50 or value | p95 | p99 | Requests/s | n | Beside it | Ratio |\n");
        text.push_str("|---|---|---|---|---|---|---|---|\n");
        for figure in self.figures.iter().filter(|figure| !is_tenth(figure)) {
            text.push_str(&figure.row());
            text.push('\n');
        }
        text.push_str("\nTimes in ms. The ratio says how many times better the server is than what is beside it.\n");
        let tenths = self.figures.iter().filter(|figure| is_tenth(figure)).map(|figure| thousands(figure.value));
        let tenths: Vec<String> = tenths.collect();
        if !tenths.is_empty() {
            let _ = writeln!(text, "Imported per second, for each tenth of the file: {}.", tenths.join("; "));
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        if let Some(pauses) = &self.pauses {
            text.push_str(&pauses.table());
        }
        text
    }
}

impl Pauses {
    fn table(&self) -> String {
        let mut text = format!("\nRequests of {} s of mixed load by how long they took:\n\n", self.seconds);
        text.push_str("| At least | Reads | Writes |\n|---|---|---|\n");
        for (bound, reads, writes) in &self.counts {
            let _ = writeln!(text, "| {bound} ms | {} | {} |", thousands(*reads as f64), thousands(*writes as f64));
        }
        let longest = self.longest.iter().map(|(at, took, what)| format!("{what} {took:.0} ms at {at:.1} s"));
        let _ = writeln!(text, "\nThe longest: {}.", longest.collect::<Vec<_>>().join(", "));
        text
    }
}

/// Whether this is a part of the import, which has a line of its own below the table.
fn is_tenth(figure: &Figure) -> bool {
    figure.key.starts_with("import.tenth.")
}

/// A value with its unit.
pub(crate) fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Milliseconds => format!("{} ms", digits(value)),
        Unit::PerSecond => format!("{} /s", thousands(value)),
        Unit::Megabytes => format!("{} MB", thousands(value)),
        Unit::Percent => format!("{} %", digits(value)),
    }
}

/// About three digits.
fn digits(value: f64) -> String {
    match value.abs() {
        value if value >= 1000.0 => thousands(value),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// A whole number with commas.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}
