//! The self-check of the benchmark in `cargo test`: a small run against the server of the tests, and its table and
//! plots. Its times have no meaning.

use std::time::Duration;

use clap::Parser as _;

use crate::bare::Bare;
use crate::client::{Client, get};
use crate::options::Options;
use crate::query::Material;
use crate::report::{Report, Unit, shown};
use crate::run::{self, Limits};
use crate::sample::Sample;
use crate::{Result, articles, meilisearch, queries};

const SIZE: usize = 300;

/// Fails if a stage fails, or if a table or a plot lacks something.
pub(crate) fn check() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut options = Options::parse_from(["scale", "--no-postgres", "--size", "300"]);
    options.work = folder.path().to_owned();
    options.articles = None;
    options.generator = None;
    let limits = Limits {
        repeat: Duration::from_millis(30),
        first: Duration::from_millis(100),
        mixed: Duration::from_millis(300),
        wanted: 8,
        creates: 5,
        bulks: 1,
        starts: 1,
        quiet: 0,
        idle: Duration::ZERO,
    };
    let report = run::run(&options, &limits, SIZE)?;
    check_table(&report)?;
    check_plots(&report)?;
    check_meilisearch(&options)?;
    expect(folder.path().join("data-scale-300").exists(), false, "the data folder is removed")?;
    println!("the self-check of the benchmark passed");
    Ok(())
}

fn check_table(report: &Report) -> Result<()> {
    let failed: usize = report.figures.iter().map(|figure| figure.failed).sum();
    expect(failed, 0, "requests that failed")?;
    for key in ["import", "disk.settled.all", "start", "list.first.1", "id.again.1", "readers.creates", "mixed.reads"] {
        let figure = report.figure(key).ok_or_else(|| format!("no figure `{key}`"))?;
        expect(figure.value > 0.0, true, &format!("`{key}` has a value"))?;
    }
    let table = report.table();
    let is_row = |line: &&str| line.starts_with("| ") && line.matches('|').count() == 9;
    // The ten tenths of the import share a line below the table, and the table has a head.
    expect(table.lines().filter(is_row).count(), report.figures.len() - 10 + 1, "rows of the table")?;
    expect(table.contains("each tenth of the file"), true, "the table shows the tenths of the import")?;
    let read: Report = serde_json::from_str(&serde_json::to_string(report)?)?;
    expect(read.table(), table, "the table of the figures read again")?;
    let figure = report.figure("import").ok_or("no import")?.clone();
    let ratio = figure.clone().beside("half", Some(figure.value / 2.0)).ratio();
    expect(ratio, Some(2.0), "twice the rate is twice as good")?;
    let figure = report.figure("start").ok_or("no start")?.clone();
    let ratio = figure.clone().beside("half", Some(figure.value / 2.0)).ratio();
    expect(ratio, Some(0.5), "twice the time is half as good")?;
    expect(shown(12_345.6, Unit::Megabytes), "12,346 MB".to_owned(), "a number with commas")
}

fn check_plots(report: &Report) -> Result<()> {
    let mut larger = report.clone();
    larger.size *= 10;
    for (file, svg) in crate::plot::plots(&[report.clone(), larger]) {
        let has_lines = svg.contains("<circle") || file == "repeated.svg";
        expect(has_lines && svg.ends_with("</svg>\n") && !svg.contains("NaN"), true, &format!("{file} has lines"))?;
    }
    Ok(())
}

/// Checks what is sent to Meilisearch, and that an answer other than 2xx is an error.
fn check_meilisearch(options: &Options) -> Result<()> {
    let article = r#"{"title":"a","published_at":null,"created_at":"1970-01-01T00:00:01.500Z"}"#;
    let document = "{\"id\":7,\"title\":\"a\",\"published_at\":null,\"created_at\":1500}\n".to_owned();
    expect(meilisearch::document(article, 7)?, document, "a document of Meilisearch")?;
    let sample = Sample::read(&articles::file(options, SIZE)?, SIZE)?;
    let material = Material { sample: &sample, ids: &[], size: SIZE, wanted: 8 };
    let compared = ["list", "deep", "published", "range", "facets", "ranked", "typed", "typo"];
    for kind in queries::kinds(&material, options.seed) {
        let is_compared = compared.contains(&kind.key);
        let agree = kind.queries.iter().all(|query| query.meilisearch.is_some() == is_compared);
        expect(agree, true, &format!("whether `{}` has searches of Meilisearch", kind.key))?;
    }
    let bare = Bare::start()?;
    let error = Client::open(bare.address)?.json(&get("/not-modified", None)).err().map(|error| error.to_string());
    expect(error, Some("GET /not-modified was answered with 304: ".to_owned()), "an answer other than 2xx")
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T, what: &str) -> Result<()> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}").into()) }
}
