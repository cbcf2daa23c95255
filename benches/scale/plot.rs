//! Draws figures of several sizes as SVG: cost against size, both on logarithmic axes, one small diagram for each kind
//! of request. Knows nothing but reports.

use std::fmt::Write as _;

use crate::report::{Report, Unit, shown, thousands};

/// The size of one diagram with its labels, and the number of diagrams in a row.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 210.0;
const COLUMNS: usize = 3;
/// The margins around the lines of a diagram.
const LEFT: f64 = 62.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 30.0;

/// A line of a diagram.
struct Line {
    label: String,
    color: &'static str,
    is_dashed: bool,
    points: Vec<(f64, f64)>,
}

/// A diagram. It is not drawn if it has no points.
struct Diagram {
    title: String,
    unit: Unit,
    lines: Vec<Line>,
}

const OURS: &str = "#1f6feb";
const OTHER: &str = "#d1741c";
const TAIL: &str = "#8ab4f8";

/// The test whether the figure with a key belongs to a file.
type IsIn<'a> = &'a dyn Fn(&str) -> bool;

/// Returns file names and the SVG of each. Reports must be sorted by size.
pub(crate) fn plots(reports: &[Report]) -> Vec<(&'static str, String)> {
    let groups: [(&str, &str, IsIn<'_>); 3] = [
        ("reads.svg", "Reads that were never requested before, 1 client", &|key| key.ends_with(".first.1")),
        ("repeated.svg", "Repeated reads, 16 clients", &|key| key.ends_with(".again.16")),
        ("writes-and-space.svg", "Import, disk, memory, start and writes", &|key| {
            let is_space =
                key.starts_with("disk.settled.") || key.starts_with("memory.") && key.ends_with(".anonymous");
            let is_rate = ["import", "import.last", "start", "memory.start.resident"].contains(&key);
            let is_write = ["create.", "bulk.", "readers.busy", "readers.creates", "mixed.", "sort."]
                .iter()
                .any(|part| key.starts_with(part));
            (is_space || is_rate || is_write) && !key.ends_with(".analytics")
        }),
    ];
    let draw = |(file, title, is_in): (&'static str, &str, IsIn<'_>)| {
        let diagrams = diagrams(reports, is_in);
        (file, svg(title, &diagrams))
    };
    groups.into_iter().map(draw).collect()
}

fn diagrams(reports: &[Report], is_in: IsIn<'_>) -> Vec<Diagram> {
    // The largest size has every figure that a smaller one has, in the order of the table.
    let Some(last) = reports.last() else { return Vec::new() };
    let mut diagrams = Vec::new();
    for figure in last.figures.iter().filter(|figure| is_in(figure.key.trim_end_matches(".meilisearch"))) {
        let points = |value: &dyn Fn(&Report) -> Option<f64>| -> Vec<(f64, f64)> {
            let points = reports.iter().filter_map(|report| Some((report.size as f64, value(report)?)));
            points.filter(|(_, value)| *value > 0.0).collect()
        };
        let ours = points(&|report| report.figure(&figure.key).map(|figure| figure.value));
        let tail = points(&|report| report.figure(&figure.key)?.p95);
        let other = points(&|report| Some(report.figure(&figure.key)?.beside.as_ref()?.value));
        let what = figure.beside.as_ref().map_or_else(String::new, |beside| beside.what.clone());
        let name = if tail.is_empty() { "Bindery" } else { "Bindery p50" };
        let line = |label: &str, color, is_dashed, points| Line { label: label.to_owned(), color, is_dashed, points };
        let lines =
            vec![line("p95", TAIL, false, tail), line(&what, OTHER, true, other), line(name, OURS, false, ours)];
        let title = figure.name.split(": first").next().unwrap_or_default().to_owned();
        diagrams.push(Diagram { title, unit: figure.unit, lines });
    }
    diagrams.retain(|diagram| diagram.lines.iter().any(|line| !line.points.is_empty()));
    diagrams
}

fn svg(title: &str, diagrams: &[Diagram]) -> String {
    let rows = diagrams.len().div_ceil(COLUMNS);
    let (width, height) = (COLUMNS as f64 * WIDTH, rows as f64 * HEIGHT + 40.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"10\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"14\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
        escape(title)
    );
    for (number, diagram) in diagrams.iter().enumerate() {
        let (x, y) = ((number % COLUMNS) as f64 * WIDTH, (number / COLUMNS) as f64 * HEIGHT + 36.0);
        let _ = writeln!(text, "<g transform=\"translate({x} {y})\">\n{}</g>", diagram.draw());
    }
    text.push_str("</svg>\n");
    text
}

impl Diagram {
    fn draw(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Axis::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Axis::over(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut text = format!("<text x=\"{LEFT}\" y=\"14\" font-weight=\"bold\">{}</text>\n", escape(&self.title));
        for value in y.decades() {
            let at = y.at(value);
            let label = shown(value, self.unit);
            let _ = writeln!(
                text,
                "<path d=\"M{LEFT} {at:.1}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 5.0,
                at + 3.0
            );
        }
        for value in x.decades() {
            let (at, label) = (x.at(value), thousands(value));
            let bottom = HEIGHT - BOTTOM + 14.0;
            let _ = writeln!(text, "<text x=\"{at:.1}\" y=\"{bottom}\" text-anchor=\"middle\">{label}</text>");
        }
        for (number, line) in self.lines.iter().filter(|line| !line.points.is_empty()).enumerate() {
            text.push_str(&line.draw(&x, &y, LEFT + 74.0 * number as f64));
        }
        text
    }
}

impl Line {
    fn draw(&self, x: &Axis, y: &Axis, legend: f64) -> String {
        let at = self.points.iter().map(|point| (x.at(point.0), y.at(point.1)));
        let path: Vec<String> = at.clone().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let dashes = if self.is_dashed { " stroke-dasharray=\"4 3\"" } else { "" };
        let color = self.color;
        let mut text =
            format!("<path d=\"M{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dashes}/>\n", path.join("L"));
        for (x, y) in at {
            let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{color}\"/>");
        }
        let _ = writeln!(text, "<text x=\"{legend}\" y=\"26\" fill=\"{color}\">{}</text>", escape(&self.label));
        text
    }
}

/// A logarithmic axis over whole decades.
struct Axis {
    low: i32,
    high: i32,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for value in values.map(f64::log10) {
            (low, high) = (low.min(value), high.max(value));
        }
        let low = low.floor() as i32;
        Axis { low, high: (high.ceil() as i32).max(low + 1), from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.from + (self.to - self.from) * part
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10f64.powi(power))
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
