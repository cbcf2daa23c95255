//! Figures, their table and their JSON. Knows nothing of the measurements.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The unit of a figure.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Milliseconds,
    PerSecond,
    Megabytes,
    Percent,
}

/// A figure of other software for the same work in the same run.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) what: String,
    pub(crate) value: f64,
}

/// One row of the table.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Figure {
    /// The name of the figure for plots. It never changes: `list.first.1`.
    pub(crate) key: String,
    pub(crate) name: String,
    /// The value. It is the median if the figure is a time of requests.
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) per_second: Option<f64>,
    pub(crate) n: Option<usize>,
    /// The number of requests that were answered with an error.
    #[serde(default)]
    pub(crate) failed: usize,
    pub(crate) beside: Option<Beside>,
}

/// The durations of the requests of a mixed load.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Pauses {
    pub(crate) seconds: u64,
    /// Lower bounds in milliseconds, each with the numbers of reads and of writes that took at least this long, but
    /// less than the next bound.
    pub(crate) counts: Vec<(f64, usize, usize)>,
    /// The longest requests: seconds since the beginning, duration in milliseconds, and a name.
    pub(crate) longest: Vec<(f64, f64, String)>,
}

/// All measurements of one run at one size.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Report {
    pub(crate) size: usize,
    pub(crate) machine: String,
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) articles: String,
    /// The measurements that were left out, with the reasons.
    pub(crate) notes: Vec<String>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) pauses: Option<Pauses>,
}

impl Figure {
    /// Makes a figure that has only a value.
    pub(crate) fn new(key: impl Into<String>, name: impl Into<String>, value: f64, unit: Unit) -> Self {
        let (key, name) = (key.into(), name.into());
        Figure { key, name, value, unit, p95: None, p99: None, per_second: None, n: None, failed: 0, beside: None }
    }

    /// Adds the figure of other software, if it was measured.
    pub(crate) fn beside(mut self, what: &str, value: Option<f64>) -> Self {
        self.beside = value.map(|value| Beside { what: what.to_owned(), value });
        self
    }

    /// Returns a further row with this value, beside that of Meilisearch.
    pub(crate) fn beside_meilisearch(&self, value: f64) -> Self {
        let (key, name) = (format!("{}.meilisearch", self.key), format!("{}, beside Meilisearch", self.name));
        Figure::new(key, name, self.value, self.unit).beside("Meilisearch", Some(value))
    }

    /// Returns how many times better this figure is than the figure beside it.
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
    /// Returns the figure with this key.
    pub(crate) fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// Returns the table in Markdown, with the machine and the run that it comes from.
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

/// Returns whether this is a part of the import, which has a separate line below the table.
fn is_tenth(figure: &Figure) -> bool {
    figure.key.starts_with("import.tenth.")
}

/// Returns a value with its unit.
pub(crate) fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Milliseconds => format!("{} ms", digits(value)),
        Unit::PerSecond => format!("{} /s", thousands(value)),
        Unit::Megabytes => format!("{} MB", thousands(value)),
        Unit::Percent => format!("{} %", digits(value)),
    }
}

/// Writes a number with about three digits.
fn digits(value: f64) -> String {
    match value.abs() {
        value if value >= 1000.0 => thousands(value),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// Returns a whole number with commas.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}
