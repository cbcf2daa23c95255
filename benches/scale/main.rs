//! Measures a real server over HTTP at several sizes, beside a bare axum handler, PostgreSQL and Meilisearch, and
//! prints one table.
//!
//! `cargo bench --bench scale -- --size 10000` does everything; `--help` after `--` lists the options. Without
//! `--bench`, which cargo passes, a small self-check runs instead: `cargo test` includes it.
//!
//! `options` is the command line, `run` the order of a run. `articles`, `generate` and `sample` make the content,
//! `queries` and `site_queries` the requests. `server`, `bare`, `postgres` and `meilisearch` are measured. `import`,
//! `reads`, `writes` and `many` measure them, with the clients in `load`, `client` and `wrk`. `report` and `plot` show
//! the figures, `machine` the facts about the machine.

#![allow(clippy::print_stdout)]

mod articles;
mod bare;
mod client;
mod generate;
mod import;
mod load;
mod machine;
mod many;
mod meilisearch;
mod options;
mod plot;
mod postgres;
mod queries;
mod query;
mod random;
mod reads;
mod report;
mod run;
mod sample;
mod selfcheck;
mod server;
mod site_queries;
mod writes;
mod wrk;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use crate::options::Options;
use crate::report::Report;
use crate::run::Limits;

/// Any error ends the run: half a table would be misread.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    // `cargo test -- --list` asks for names of tests. There are none here.
    if has_argument("--list") {
        return ExitCode::SUCCESS;
    }
    let result = if has_argument("--bench") { measure(&Options::parse()) } else { selfcheck::check() };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn has_argument(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

fn measure(options: &Options) -> Result<()> {
    if let Some(folder) = &options.plot {
        return draw(folder);
    }
    let (limits, out) = (Limits::of(options), options.out());
    fs::create_dir_all(&out)?;
    for size in &options.size {
        let is_many = options.blueprints > 1;
        let report = if is_many { many::run(options, &limits, *size)? } else { run::run(options, &limits, *size)? };
        let kind = if is_many { "blueprints-" } else { "" };
        let file = out.join(format!("{}-{kind}{size}", options.name));
        fs::write(file.with_extension("json"), serde_json::to_string_pretty(&report)?)?;
        fs::write(file.with_extension("md"), report.table())?;
        println!("{}", report.table());
    }
    draw(&out)
}

/// Draws plots of every name that has figures in the folder, `scale-10000.json` and `scale-100000.json` together.
fn draw(folder: &Path) -> Result<()> {
    let mut names: Vec<(String, Vec<Report>)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((name, size)) = stem.rsplit_once('-') else { continue };
        let is_figures = path.extension().is_some_and(|extension| extension == "json") && size.parse::<usize>().is_ok();
        if !is_figures || name.ends_with("-blueprints") {
            continue;
        }
        let report: Report = serde_json::from_str(&fs::read_to_string(&path)?)?;
        match names.iter_mut().find(|(other, _)| other == name) {
            Some((_, reports)) => reports.push(report),
            None => names.push((name.to_owned(), vec![report])),
        }
    }
    for (name, mut reports) in names {
        reports.sort_by_key(|report| report.size);
        for (file, svg) in plot::plots(&reports) {
            fs::write(folder.join(format!("{name}-{file}")), svg)?;
        }
    }
    Ok(())
}

/// Prints progress, which is not part of the table. The self-check prints nothing.
fn say(text: &str) {
    if has_argument("--bench") {
        eprintln!("[{}] {text}", chrono::Utc::now().format("%H:%M:%S"));
    }
}
