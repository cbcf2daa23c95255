//! One run at one size, from the empty folder to the report. The order matters: nothing is warmed up before its figure
//! is taken.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::articles::{self, AUTHORS_BLUEPRINT, BLUEPRINT};
use crate::bare::Bare;
use crate::client::{Client, get, post};
use crate::import::{Imported, import};
use crate::load::{once, run_one};
use crate::machine::machine;
use crate::meilisearch::Meilisearch;
use crate::options::Options;
use crate::postgres::Postgres;
use crate::queries;
use crate::query::Material;
use crate::reads::Reads;
use crate::report::{Figure, Report, Unit};
use crate::sample::Sample;
use crate::server::{Memory, Server};
use crate::site_queries::AUTHORS;
use crate::writes::Writes;
use crate::wrk::Wrk;
use crate::{Result, say};

/// The limits of a run: the times and numbers of the measurements.
pub(crate) struct Limits {
    pub(crate) repeat: Duration,
    pub(crate) first: Duration,
    pub(crate) mixed: Duration,
    /// The number of different requests of a kind: a quarter for one client, the others for 16.
    pub(crate) wanted: usize,
    pub(crate) creates: usize,
    pub(crate) bulks: usize,
    pub(crate) starts: usize,
    /// The number of seconds for which a settled server does nothing.
    pub(crate) quiet: usize,
    /// The time for which the server is idle after that: after two minutes without a write, it may write a base.
    pub(crate) idle: Duration,
}

impl Limits {
    pub(crate) fn of(options: &Options) -> Self {
        Limits {
            repeat: Duration::from_secs(options.seconds),
            first: Duration::from_secs(options.first_seconds),
            mixed: Duration::from_secs(options.mixed_seconds),
            wanted: 1_000,
            creates: 200,
            bulks: 20,
            starts: 3,
            quiet: 5,
            idle: Duration::from_secs(125),
        }
    }
}

/// Measures everything at one size.
pub(crate) fn run(options: &Options, limits: &Limits, size: usize) -> Result<Report> {
    fs::create_dir_all(&options.work)?;
    let articles = articles::file(options, size)?;
    say("reading a sample of the articles");
    let sample = Sample::read(&articles, size)?;
    let folder = fresh_folder(options, "data", size)?;
    let mut report = empty(options, &articles, size)?;

    let server = Server::start(&options.binary, &folder)?;
    let authors = create_authors(&server)?;
    create_blueprint(&server, "articles")?;
    let (imported, figures) = imported(&server, &articles, &authors, size, limits)?;
    report.figures.extend(figures);
    server.kill()?;
    let (server, figures) = starts(options, &folder, limits)?;
    report.figures.extend(figures);

    let postgres = postgres(options, &articles, size, &mut report)?;
    let compared = meilisearch(options, &articles, size, &mut report)?;
    let wrk = Wrk::find(&options.work, limits.repeat.as_secs() / 3)?.filter(|_| limits.repeat.as_secs() > 0);
    if wrk.is_none() {
        report.notes.push("Throughput with 16 clients was skipped, because `wrk` is not installed.".to_owned());
    }
    let bare = Bare::start()?;
    let material = Material { sample: &sample, ids: &imported.ids, size, wanted: limits.wanted };
    let kinds = queries::kinds(&material, options.seed);
    let (address, postgres, meilisearch) = (server.address, postgres.as_ref(), compared.as_ref());
    let (repeat, first) = (limits.repeat, limits.first);
    let reads = Reads { address, bare: &bare, postgres, meilisearch, wrk: wrk.as_ref(), repeat, first };
    let watch = server.watch();
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for kind in kinds.iter().filter(|kind| is_wanted(kind.name)) {
        report.figures.extend(reads.kind(kind)?);
        if kind.queries.is_empty() {
            report.notes.push(format!("\"{}\" was skipped, because the articles have nothing of the kind.", kind.name));
        }
    }
    if is_wanted("A walk with cursors") {
        report.figures.push(reads.walk("/v2/resources/articles?sort=title&cursor=")?);
    }
    if is_wanted("One page") {
        report.figures.extend(reads.one_page("/v2/resources/articles?page=3")?);
    }
    report.figures.extend(memory("reads", "while reading", watch.stop()));
    if options.only.is_none() {
        let watch = server.watch();
        let (creates, bulks, mixed) = (limits.creates, limits.bulks, limits.mixed);
        let (sample, kinds) = (&sample, kinds.as_slice());
        let writes = Writes { address, sample, kinds, postgres, meilisearch, repeat, creates, bulks, mixed };
        let (figures, pauses) = writes.measure()?;
        report.figures.extend(figures);
        report.pauses = pauses;
        report.figures.extend(memory("writes", "while writing", watch.stop()));
    }
    server.discard()?;
    if let Some(meilisearch) = compared {
        meilisearch.discard()?;
    }
    Ok(report)
}

/// Returns a report without figures.
pub(crate) fn empty(options: &Options, articles: &Path, size: usize) -> Result<Report> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let megabytes = fs::metadata(articles)?.len() / 1_000_000;
    let name = articles.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Report {
        size,
        machine: machine(&options.work)?,
        date: chrono::Utc::now().format("%Y-%m-%d %H:%M UTC").to_string(),
        command: format!("cargo bench --bench scale -- {}", arguments.join(" ")),
        articles: format!("{name}, {megabytes} MB of NDJSON"),
        notes: Vec::new(),
        figures: Vec::new(),
        pauses: None,
    })
}

/// Returns the path of a folder that does not exist. The rest of an interrupted run is removed there.
pub(crate) fn fresh_folder(options: &Options, kind: &str, size: usize) -> Result<PathBuf> {
    let folder = options.work.join(format!("{kind}-{}-{size}", options.name));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

/// Creates the blueprint of the articles under this slug.
pub(crate) fn create_blueprint(server: &Server, slug: &str) -> Result<()> {
    let body = BLUEPRINT.replace("NAME", slug).replace("SLUG", slug);
    create(server, "/v2/blueprints", &body).map(drop)
}

/// Creates the authors, and returns their ids.
pub(crate) fn create_authors(server: &Server) -> Result<Vec<String>> {
    create(server, "/v2/blueprints", AUTHORS_BLUEPRINT)?;
    let cities = ["Porto", "Lyon", "Graz", "Turku", "Kyoto"];
    let author =
        |number: usize| json!({"attributes": {"name": format!("Author {number}"), "city": cities[number % 5]}});
    let mut ids = Vec::new();
    for from in (0..AUTHORS).step_by(100) {
        let resources: Vec<Value> = (from..from + 100).map(author).collect();
        let answer = create(server, "/v2/resources/authors/bulk", &json!({"resources": resources}).to_string())?;
        let created = answer["data"]["created"].as_array().into_iter().flatten();
        ids.extend(created.filter_map(|item| item["id"].as_str().map(str::to_owned)));
    }
    match ids.len() {
        AUTHORS => Ok(ids),
        created => Err(format!("{created} authors were created").into()),
    }
}

fn create(server: &Server, path: &str, body: &str) -> Result<Value> {
    Client::open(server.address)?.json(&post(path, body))
}

fn imported(
    server: &Server,
    articles: &Path,
    authors: &[String],
    size: usize,
    limits: &Limits,
) -> Result<(Imported, Vec<Figure>)> {
    say("importing");
    let watch = server.watch();
    let imported = import(server.address, "articles", articles, authors, size)?;
    let peak = watch.stop();
    let mut figures = vec![Figure::new("import", "Import", size as f64 / imported.seconds, Unit::PerSecond)];
    for (number, rate) in imported.rates.iter().enumerate() {
        let name = format!("Import, from {} to {} %", number * 10, number * 10 + 10);
        figures.push(Figure::new(format!("import.tenth.{number}"), name, *rate, Unit::PerSecond));
    }
    if let (Some(first), Some(last)) = (imported.rates.first(), imported.rates.last()) {
        let share = last / first * 100.0;
        figures.push(Figure::new("import.last", "Import: rate of the last tenth to the first", share, Unit::Percent));
    }
    figures.extend(memory("import", "while importing", peak));
    figures.extend(disk(server, "end", "at the end of the import")?);
    let settled = server.settle(limits.quiet)?;
    let name = "Time to settle after the import";
    figures.push(Figure::new("settle", name, settled.as_secs_f64() * 1e3, Unit::Milliseconds));
    thread::sleep(limits.idle);
    server.settle(limits.quiet)?;
    figures.extend(memory("settled", "settled after the import", server.memory()?));
    figures.extend(disk(server, "settled", "settled")?);
    Ok((imported, figures))
}

/// Returns figures of the memory, total and anonymous. For a peak, both are the greatest values.
pub(crate) fn memory(key: &str, name: &str, memory: Memory) -> [Figure; 2] {
    let figure = |kind: &str, label: &str, bytes: u64| {
        Figure::new(format!("memory.{key}.{kind}"), format!("{label} {name}"), bytes as f64 / 1e6, Unit::Megabytes)
    };
    [figure("anonymous", "Anonymous memory", memory.anonymous), figure("resident", "Resident memory", memory.resident)]
}

/// Returns the size of the data folder, in total and by its parts.
pub(crate) fn disk(server: &Server, key: &str, name: &str) -> Result<Vec<Figure>> {
    let parts = server.disk()?;
    let figure = |part: &str, label: &str, bytes: u64| {
        Figure::new(format!("disk.{key}.{part}"), format!("Disk {name}{label}"), bytes as f64 / 1e6, Unit::Megabytes)
    };
    let mut figures = vec![figure("all", "", parts.iter().map(|(_, bytes)| bytes).sum())];
    let large = parts.iter().filter(|(_, bytes)| *bytes > 500_000);
    figures.extend(large.map(|(part, bytes)| figure(part, &format!(": {part}"), *bytes)));
    Ok(figures)
}

/// Measures starts after a kill, each with the first sorts by a text, which have to read or build an order. Returns the
/// server of the last start.
fn starts(options: &Options, folder: &Path, limits: &Limits) -> Result<(Server, Vec<Figure>)> {
    say("starting after a kill");
    let sorts = [("title", "First sort by title after a start"), ("summary", "First sort by summary after a start")];
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); 2 + sorts.len()];
    let mut number = 0;
    let server = loop {
        let server = Server::start(&options.binary, folder)?;
        rows[0].push(server.ready_after.as_secs_f64() * 1e3);
        rows[1].push(server.memory()?.resident as f64 / 1e6);
        for (at, (field, _)) in sorts.iter().enumerate() {
            let request = get(&format!("/v2/resources/articles?sort={field}"), None);
            let began = Instant::now();
            let measured = run_one(server.address, 1, once(vec![request]), Duration::from_secs(600))?;
            let took =
                if measured.failed == 0 { measured.percentile(0.5) } else { began.elapsed().as_secs_f64() * 1e3 };
            rows[2 + at].push(took);
        }
        number += 1;
        if number == limits.starts {
            break server;
        }
        server.kill()?;
    };
    let first = rows[0].first().copied().unwrap_or(0.0);
    let mut median = rows.into_iter().map(|mut row| {
        row.sort_by(f64::total_cmp);
        row.get(row.len() / 2).copied().unwrap_or(0.0)
    });
    let mut figure = |key: &str, name: &str, unit| {
        let n = Some(limits.starts);
        Figure { n, ..Figure::new(key, name, median.next().unwrap_or(0.0), unit) }
    };
    let mut figures = vec![
        Figure::new("start.first", "Ready after the first of these starts", first, Unit::Milliseconds),
        figure("start", "Ready after a start that follows a kill", Unit::Milliseconds),
        figure("memory.start.resident", "Resident memory after a start", Unit::Megabytes),
    ];
    for (field, name) in sorts {
        figures.push(figure(&format!("sort.{field}.start"), name, Unit::Milliseconds));
    }
    Ok((server, figures))
}

/// Starts PostgreSQL with the same articles. Its import and its disk are put beside those of the server.
fn postgres(options: &Options, articles: &Path, size: usize, report: &mut Report) -> Result<Option<Postgres>> {
    if options.no_postgres {
        report.notes.push("The comparison with PostgreSQL was skipped, as was asked for.".to_owned());
        return Ok(None);
    }
    let Some(postgres) = Postgres::start(&options.postgres(), articles, size)? else {
        report
            .notes
            .push("The comparison with PostgreSQL was skipped, because PostgreSQL 15 is not installed.".to_owned());
        return Ok(None);
    };
    let rate = postgres.load_seconds().map(|seconds| size as f64 / seconds.max(1e-3));
    let disk = postgres.disk()? as f64 / 1e6;
    for figure in &mut report.figures {
        let beside = match figure.key.as_str() {
            "import" => rate,
            "disk.settled.all" => Some(disk),
            _ => continue,
        };
        *figure = figure.clone().beside("PostgreSQL", beside);
    }
    Ok(Some(postgres))
}

/// Starts Meilisearch with the same articles, if its binary is named. Its import and its disk get rows of their own.
fn meilisearch(options: &Options, articles: &Path, size: usize, report: &mut Report) -> Result<Option<Meilisearch>> {
    let Some(binary) = &options.meilisearch else { return Ok(None) };
    let folder = fresh_folder(options, "meilisearch", size)?;
    let meilisearch = Meilisearch::start(binary, &folder, articles, size)?;
    let rate = size as f64 / meilisearch.load_seconds.max(1e-3);
    let values = [("import", rate), ("disk.settled.all", meilisearch.disk as f64 / 1e6)];
    let row = |(key, value)| Some(report.figure(key)?.beside_meilisearch(value));
    let rows: Vec<Figure> = values.into_iter().filter_map(row).collect();
    report.figures.extend(rows);
    Ok(Some(meilisearch))
}
