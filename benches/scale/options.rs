//! The command line of the benchmark. Knows nothing of the measurements.

use std::path::PathBuf;

use clap::Parser;

/// Imports generated articles into a real server and measures it over HTTP.
///
/// Prints one table, and writes it to the output folder together with the raw figures and plots of all sizes that were
/// measured there. `wrk` is used for throughput, and PostgreSQL 15 for comparison, if they are installed.
#[derive(Parser, Debug, Clone)]
#[command(name = "scale")]
pub(crate) struct Options {
    /// The number of articles; several sizes are measured one after the other
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10000")]
    pub(crate) size: Vec<usize>,

    /// NDJSON with the articles, instead of generated ones (only with one size)
    #[arg(long, value_name = "FILE", env = "BINDERY_BENCH_ARTICLES")]
    pub(crate) articles: Option<PathBuf>,

    /// A folder with `gen_articles.py` and `corpus.ndjson` or `corpus.ndjson.zst`, which generate the articles
    #[arg(long, value_name = "DIR", env = "BINDERY_BENCH_GENERATOR")]
    pub(crate) generator: Option<PathBuf>,

    /// The seed of the articles and of all parameters
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The server to measure, instead of the one that cargo has just built
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_bindery"))]
    pub(crate) binary: PathBuf,

    /// A folder for generated articles, which are kept, and for data folders, which are removed
    #[arg(long, value_name = "DIR", default_value = "target/scale")]
    pub(crate) work: PathBuf,

    /// Where to write the table, the raw figures and the plots [default: the folder of `--work`]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// A name for this run, which becomes part of its file names
    #[arg(long, value_name = "NAME", default_value = "scale")]
    pub(crate) name: String,

    /// A folder for the data of PostgreSQL; what was loaded is kept and used again
    #[arg(long, value_name = "DIR")]
    pub(crate) postgres: Option<PathBuf>,

    /// Do not compare with PostgreSQL
    #[arg(long)]
    pub(crate) no_postgres: bool,

    /// The binary of Meilisearch 1.3 or later, to compare with it; its data is removed afterwards
    #[arg(long, value_name = "FILE")]
    pub(crate) meilisearch: Option<PathBuf>,

    /// For how long to repeat each request, in three rounds that take turns with the bare handler
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub(crate) seconds: u64,

    /// The longest time for the first pass of a kind of request, and for those of PostgreSQL and Meilisearch
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    pub(crate) first_seconds: u64,

    /// For how long to mix reads and writes
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) mixed_seconds: u64,

    /// Measure only requests whose name contains this text, and skip writes
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,

    /// Measure memory with this number of blueprints that have so many articles each, and nothing else
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) blueprints: usize,

    /// Draw plots from the JSON files in this folder, and measure nothing
    #[arg(long, value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,

    /// Cargo passes this to benchmarks.
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
}

impl Options {
    /// Returns the folder for the results.
    pub(crate) fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| self.work.clone())
    }

    /// Returns the folder of PostgreSQL.
    pub(crate) fn postgres(&self) -> PathBuf {
        self.postgres.clone().unwrap_or_else(|| self.work.join("postgres"))
    }
}
