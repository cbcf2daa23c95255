//! PostgreSQL 15 on the same articles: typed columns, B-trees, trigrams, and a total and a page for each list. `psql`
//! measures the times, one client after another. Knows nothing of Bindery.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Result, say};

const PORT: &str = "55432";
const CONFIGURATION: &str = include_str!("postgres/postgresql.conf");
const SCHEMA: &str = include_str!("postgres/schema.sql");
const FILL: &str = include_str!("postgres/fill.sql");
const INDEXES: &str = include_str!("postgres/indexes.sql");
const BODIES: &str = include_str!("postgres/bodies.sql");

/// A running PostgreSQL with the articles. It is stopped when this is dropped, if it was started here.
pub(crate) struct Postgres {
    programs: PathBuf,
    data: PathBuf,
    port: String,
    database: String,
    was_running: bool,
    size: usize,
}

/// Times of statements in milliseconds, sorted.
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn median(&self) -> Option<f64> {
        self.0.get(self.0.len().checked_sub(1)? / 2).copied()
    }
}

impl Postgres {
    /// Starts PostgreSQL and loads the first `size` articles of the file, unless that was done before. Returns `None`
    /// if PostgreSQL is not installed.
    pub(crate) fn start(folder: &Path, articles: &Path, size: usize) -> Result<Option<Self>> {
        let programs = PathBuf::from("/usr/lib/postgresql/15/bin");
        if !programs.join("postgres").exists() {
            return Ok(None);
        }
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let stem = articles.file_stem().map(|stem| stem.to_string_lossy().replace('-', "_")).unwrap_or_default();
        let data = folder.join("pg/data");
        let (port, database) = (PORT.to_owned(), stem);
        let mut postgres = Postgres { programs, data, port, database, was_running: false, size };
        postgres.up(&folder)?;
        postgres.load(articles)?;
        Ok(Some(postgres))
    }

    /// Returns a command that runs a program of PostgreSQL. Root uses another user, because PostgreSQL refuses to run
    /// as root.
    fn server_command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let mut command = if is_root { Command::new("runuser") } else { Command::new(&program) };
        if is_root {
            command.args(["-u", "postgres", "--"]).arg(program);
        }
        command.env("LC_ALL", "C.UTF-8").stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        command
    }

    fn up(&mut self, folder: &Path) -> Result<()> {
        let home = folder.join("pg");
        if !self.data.exists() {
            fs::create_dir_all(&home)?;
            // The call fails unless this is root, and is needed only then.
            let _ = Command::new("chown").arg("postgres").arg(&home).stderr(Stdio::null()).status();
            let mut initdb = self.server_command("initdb");
            initdb.arg("-D").arg(&self.data).args(["-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-U", "postgres"]);
            succeed(initdb.status()?.success(), "initdb")?;
            File::options()
                .append(true)
                .open(self.data.join("postgresql.conf"))?
                .write_all(CONFIGURATION.as_bytes())?;
        }
        self.was_running = self.server_command("pg_ctl").arg("-D").arg(&self.data).arg("status").status()?.success();
        if !self.was_running {
            let options = format!("-p {PORT} -k {}", home.display());
            let mut start = self.server_command("pg_ctl");
            start.arg("-D").arg(&self.data).arg("-l").arg(home.join("log")).args(["-w", "-t", "300", "-o", &options]);
            succeed(start.arg("start").status()?.success(), "pg_ctl start")?;
        }
        let state = fs::read_to_string(self.data.join("postmaster.pid"))?;
        self.port = state.lines().nth(3).unwrap_or(PORT).to_owned();
        Ok(())
    }

    /// Runs a script in a database and returns what `psql` prints.
    fn psql(&self, database: &str, script: &str) -> Result<String> {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]);
        command.args(["-p", &self.port, "-d", database]).env("PGOPTIONS", "-c plan_cache_mode=force_custom_plan");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let mut input = process.stdin.take().ok_or("psql has no input")?;
        let script = script.to_owned();
        let writer = thread::spawn(move || input.write_all(script.as_bytes()));
        let output = process.wait_with_output()?;
        let _ = writer.join();
        if !output.status.success() {
            return Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn load(&self, articles: &Path) -> Result<()> {
        let count = self.psql(&self.database, "select count(*) from articles;").unwrap_or_default();
        // Without the time, the last load was interrupted.
        if count.trim() == self.size.to_string() && self.load_seconds().is_some() {
            return Ok(());
        }
        say(&format!("loading {} articles into PostgreSQL", self.size));
        let database = &self.database;
        self.psql("postgres", &format!("drop database if exists {database};\ncreate database {database};"))?;
        let started = Instant::now();
        self.psql(database, SCHEMA)?;
        // The quotes and delimiters do not occur in the text, so a line is one value.
        let form = "with (format csv, quote e'\\x01', delimiter e'\\x02')";
        let source = format!("head -n {} {}", self.size, articles.display());
        self.psql(database, &format!("\\copy staging(d) from program '{source}' {form}\n{FILL}"))?;
        thread::scope(|scope| {
            let bodies = scope.spawn(|| self.psql(database, BODIES).map_err(|error| error.to_string()));
            self.psql(database, INDEXES)?;
            bodies.join().map_err(|_| "the thread that indexes panicked")??;
            Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
        })?;
        self.psql(database, "vacuum analyze articles; checkpoint;")?;
        // The comment keeps the time for later runs, which load nothing.
        let seconds = started.elapsed().as_secs_f64();
        self.psql(database, &format!("comment on database {database} is '{seconds:.1}';"))?;
        Ok(())
    }

    /// Returns the time that it took to load and index the articles, in seconds.
    pub(crate) fn load_seconds(&self) -> Option<f64> {
        let comment =
            "select shobj_description(oid, 'pg_database') from pg_database where datname = current_database();";
        self.psql(&self.database, comment).ok()?.trim().parse().ok()
    }

    /// Returns the size of the articles and their indexes on disk, in bytes.
    pub(crate) fn disk(&self) -> Result<u64> {
        Ok(self.psql(&self.database, "select pg_total_relation_size('articles');")?.trim().parse()?)
    }

    /// Runs queries for about as long as the budget allows. Each query consists of some statements. The first one warms
    /// up.
    pub(crate) fn measure(&self, queries: &[Vec<String>], budget: Duration) -> Result<Times> {
        let started = Instant::now();
        let mut times = Vec::new();
        let mut next = 0;
        let mut count = 2;
        while next < queries.len() && started.elapsed() < budget {
            // Each call of psql is a new connection, so its first query is not counted.
            let batch = &queries[next..(next + count).min(queries.len())];
            let began = Instant::now();
            times.extend(self.batch(batch)?.split_off(usize::from(batch.len() > 1)));
            next += batch.len();
            let each = began.elapsed().as_secs_f64() / batch.len() as f64;
            let left = budget.saturating_sub(started.elapsed()).as_secs_f64();
            count = ((left / each.max(1e-4)) as usize).clamp(2, 200);
        }
        times.sort_by(f64::total_cmp);
        Ok(Times(times))
    }

    fn batch(&self, queries: &[Vec<String>]) -> Result<Vec<f64>> {
        let statements: Vec<String> = queries.iter().flatten().map(|statement| format!("{statement};\n")).collect();
        // Rows go to /dev/null, times to the output.
        let script = format!("set statement_timeout = '60s';\n\\o /dev/null\n\\timing on\n{}", statements.concat());
        let output = self.psql(&self.database, &script)?;
        let lines = output.lines().filter_map(|line| line.strip_prefix("Time: "));
        let mut times = lines.filter_map(|line| line.split(' ').next()?.parse::<f64>().ok());
        Ok(queries.iter().map(|query| times.by_ref().take(query.len()).sum()).collect())
    }

    /// Inserts these rows, `rows` in each statement, and removes them again. A row is the JSON of an article.
    pub(crate) fn insert(&self, articles: &[String], rows: usize) -> Result<Times> {
        let statement = |rows: &[String]| {
            let values = rows.iter().map(|row| format!("('{}'::jsonb, now())", row.replace('\'', "''")));
            vec![format!(
                "insert into articles(attributes, published_at) values {}",
                values.collect::<Vec<_>>().join(", ")
            )]
        };
        let statements: Vec<Vec<String>> = articles.chunks(rows).map(statement).collect();
        let clean = format!("delete from articles where id > {};", self.size);
        // An interrupted run may have left some rows, whose slugs would conflict.
        self.psql(&self.database, &clean)?;
        let times = self.measure(&statements, Duration::from_secs(60))?;
        self.psql(&self.database, &clean)?;
        Ok(times)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if !self.was_running {
            let mut stop = self.server_command("pg_ctl");
            let _ = stop.arg("-D").arg(&self.data).args(["-m", "fast", "-w", "stop"]).status();
        }
    }
}

fn succeed(is_success: bool, what: &str) -> Result<()> {
    if is_success { Ok(()) } else { Err(format!("{what} failed").into()) }
}
