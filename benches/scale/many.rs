//! Many blueprints of the same size in one server: memory and disk, which must not grow with the number of blueprints
//! more than with the number of articles.

use std::time::Duration;

use crate::client::get;
use crate::import::import;
use crate::load::{Measured, once, run_one};
use crate::options::Options;
use crate::queries;
use crate::query::Material;
use crate::reads::figure;
use crate::report::{Figure, Report, Unit};
use crate::run::{Limits, create_authors, create_blueprint, disk, empty, fresh_folder, memory};
use crate::sample::Sample;
use crate::server::Server;
use crate::{Result, articles, say};

/// The number of different requests of each kind for each blueprint.
const REQUESTS: usize = 10;

/// Imports the articles into each blueprint, then requests lists, orders and searches of all.
pub(crate) fn run(options: &Options, limits: &Limits, size: usize) -> Result<Report> {
    std::fs::create_dir_all(&options.work)?;
    let articles = articles::file(options, size)?;
    let sample = Sample::read(&articles, size)?;
    let folder = fresh_folder(options, "data", size)?;
    let mut report = empty(options, &articles, size)?;
    report.articles = format!("{} blueprints of them; {}", options.blueprints, report.articles);
    let slugs: Vec<String> = (0..options.blueprints).map(|number| format!("articles-{number}")).collect();

    let server = Server::start(&options.binary, &folder)?;
    let watch = server.watch();
    let authors = create_authors(&server)?;
    let mut ids = Vec::new();
    let mut rates = Vec::new();
    for slug in &slugs {
        say(&format!("importing {slug}"));
        create_blueprint(&server, slug)?;
        let imported = import(server.address, slug, &articles, &authors, size)?;
        rates.push(size as f64 / imported.seconds);
        ids = imported.ids;
    }
    for (key, name, rate) in [("first", "first", rates.first()), ("last", "last", rates.last())] {
        let name = format!("Import of the {name} blueprint");
        report.figures.extend(rate.map(|rate| Figure::new(format!("import.{key}"), name, *rate, Unit::PerSecond)));
    }
    report.figures.extend(memory("import", "while importing", watch.stop()));
    server.settle(limits.quiet)?;
    report.figures.extend(memory("settled", "settled after the imports", server.memory()?));
    report.figures.extend(disk(&server, "settled", "settled")?);
    server.kill()?;

    let server = Server::start(&options.binary, &folder)?;
    let ready = server.ready_after.as_secs_f64() * 1e3;
    report.figures.push(Figure::new("start", "Ready after a start that follows a kill", ready, Unit::Milliseconds));
    report.figures.extend(memory("start", "after a start", server.memory()?));
    let watch = server.watch();
    let material = Material { sample: &sample, ids: &ids, size, wanted: REQUESTS };
    // The ids are those of the last blueprint.
    let needs_ids = |key: &str| ["id", "neighbours"].contains(&key);
    for kind in queries::kinds(&material, options.seed).iter().filter(|kind| !needs_ids(kind.key)) {
        say(kind.name);
        let of_all = slugs.iter().flat_map(|slug| {
            let path = move |path: &str| get(&path.replace("/articles?", &format!("/{slug}?")), None);
            kind.queries.iter().map(move |query| path(&query.path))
        });
        let measured: Measured = run_one(server.address, 1, once(of_all.collect()), Duration::from_secs(600))?;
        report.figures.push(figure(
            format!("{}.first.1", kind.key),
            format!("{}, in all blueprints", kind.name),
            &measured,
        ));
    }
    report.figures.extend(memory("reads", "while reading", watch.stop()));
    report.figures.extend(memory("end", "after reading", server.memory()?));
    server.discard()?;
    Ok(report)
}
