//! Measures throughput with `wrk`, which needs less of the processors than any client here would.
//!
//! `wrk` corrects its percentiles for what it would have sent while it waited, so its p95 and p99 are above those that
//! `load.rs` measures. Compare them only with each other.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::Result;
use crate::client::TOKEN;

const SCRIPT: &str = include_str!("wrk.lua");

/// An installed `wrk`.
pub(crate) struct Wrk {
    script: PathBuf,
    urls: PathBuf,
    seconds: u64,
}

/// The output of `wrk`; times in milliseconds.
#[derive(Deserialize, Debug, Clone, Copy)]
pub(crate) struct Throughput {
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) per_second: f64,
    pub(crate) n: usize,
    pub(crate) failed: usize,
    /// The number of received bytes, including heads.
    bytes: u64,
}

/// The number of bytes that a head without a body never reaches.
const MAX_HEAD: u64 = 2_000;

/// Returns the round with the median rate.
pub(crate) fn middle(mut rounds: Vec<Throughput>) -> Option<Throughput> {
    rounds.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
    rounds.get(rounds.len() / 2).copied()
}

impl Wrk {
    /// Finds `wrk`. Each of its runs takes this many seconds. Returns `None` if `wrk` is not installed.
    pub(crate) fn find(work: &Path, seconds: u64) -> Result<Option<Self>> {
        if Command::new("wrk").arg("-v").output().is_err() {
            return Ok(None);
        }
        let script = work.join("wrk.lua");
        fs::write(&script, SCRIPT)?;
        Ok(Some(Wrk { script, urls: work.join("wrk-urls"), seconds: seconds.max(1) }))
    }

    /// Requests these paths repeatedly from 16 connections. With a tag, all answers must be 304.
    pub(crate) fn run(&self, address: SocketAddr, paths: &[String], etag: Option<&str>) -> Result<Throughput> {
        fs::write(&self.urls, paths.join("\n"))?;
        let mut command = Command::new("wrk");
        command.args(["-t1", "-c16", "--timeout", "30s", &format!("-d{}s", self.seconds), "-s"]).arg(&self.script);
        command.arg(format!("http://{address}")).env("URLS", &self.urls).env("TOKEN", TOKEN);
        command.env("ETAG", etag.unwrap_or_default());
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("RESULT "));
        let line = line.ok_or_else(|| format!("wrk failed: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
        let throughput: Throughput = serde_json::from_str(line)?;
        if etag.is_some() && throughput.bytes > throughput.n as u64 * MAX_HEAD {
            return Err("answers to a known tag have bodies".into());
        }
        Ok(throughput)
    }
}
