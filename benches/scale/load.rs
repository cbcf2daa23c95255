//! Sends requests from a number of clients and keeps every latency. One thread serves all clients, so that the server
//! has the other processors. Knows nothing of the contents of requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::Result;
use crate::client::Connection;

/// The source of requests: returns request number n, or nothing when there are no more.
pub(crate) type Source = Arc<dyn Fn(usize) -> Option<Bytes> + Send + Sync>;

/// Returns a source that gives each request once.
pub(crate) fn once(requests: Vec<Bytes>) -> Source {
    Arc::new(move |number| requests.get(number).cloned())
}

/// Returns a source that repeats the requests without end.
pub(crate) fn cycle(requests: Vec<Bytes>) -> Source {
    Arc::new(move |number| requests.get(number % requests.len().max(1)).cloned())
}

/// Clients that share a source of requests.
pub(crate) struct Group {
    pub(crate) clients: usize,
    pub(crate) source: Source,
}

/// One request: the time of its answer since the beginning, and its duration.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) took: Duration,
}

/// The measurements of a group.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) samples: Vec<Sample>,
    pub(crate) seconds: f64,
    pub(crate) bytes: usize,
    /// The number of answers with a status of 400 or more.
    pub(crate) failed: usize,
}

impl Measured {
    /// Returns the latency, in milliseconds, that this part of all requests did not exceed.
    pub(crate) fn percentile(&self, part: f64) -> f64 {
        let mut times: Vec<Duration> = self.samples.iter().map(|sample| sample.took).collect();
        if times.is_empty() {
            return 0.0;
        }
        let at = ((times.len() as f64 * part).ceil() as usize).clamp(1, times.len()) - 1;
        times.select_nth_unstable(at).1.as_secs_f64() * 1e3
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.samples.len() as f64 / self.seconds.max(1e-9)
    }

    /// Returns the mean size of an answer.
    pub(crate) fn answer_bytes(&self) -> usize {
        self.bytes / self.samples.len().max(1)
    }

    /// Adds later measurements.
    pub(crate) fn append(&mut self, later: Measured) {
        let seconds = self.seconds + later.seconds;
        self.join(later);
        self.seconds = seconds;
    }

    /// Adds measurements of the same time.
    fn join(&mut self, other: Measured) {
        self.samples.extend(other.samples);
        self.bytes += other.bytes;
        self.failed += other.failed;
        self.seconds = self.seconds.max(other.seconds);
    }
}

/// Runs all groups at the same time until their sources end, or until `longest` has passed.
pub(crate) fn run(address: SocketAddr, groups: Vec<Group>, longest: Duration) -> Result<Vec<Measured>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let begin = Instant::now();
        let mut tasks = Vec::new();
        for group in groups {
            let next = Arc::new(AtomicUsize::new(0));
            let client = || tokio::spawn(client(address, group.source.clone(), next.clone(), begin, longest));
            tasks.push((0..group.clients).map(|_| client()).collect::<Vec<_>>());
        }
        let mut all = Vec::new();
        for group in tasks {
            let mut measured = Measured::default();
            for task in group {
                measured.join(task.await??);
            }
            all.push(measured);
        }
        Ok(all)
    })
}

/// Runs one group. See [`run`].
pub(crate) fn run_one(address: SocketAddr, clients: usize, source: Source, longest: Duration) -> Result<Measured> {
    let groups = run(address, vec![Group { clients, source }], longest)?;
    groups.into_iter().next().ok_or_else(|| "nothing was measured".into())
}

/// Measures steps one after another, until there are no more or until `longest` has passed. A step returns how long it
/// took.
pub(crate) fn steps(
    count: usize,
    longest: Duration,
    mut step: impl FnMut(usize) -> Result<Duration>,
) -> Result<Measured> {
    let (mut measured, begin) = (Measured::default(), Instant::now());
    for number in (0..count).take_while(|_| begin.elapsed() < longest) {
        let took = step(number)?;
        measured.samples.push(Sample { at: begin.elapsed(), took });
    }
    measured.seconds = begin.elapsed().as_secs_f64();
    Ok(measured)
}

async fn client(
    address: SocketAddr,
    source: Source,
    next: Arc<AtomicUsize>,
    begin: Instant,
    longest: Duration,
) -> Result<Measured> {
    let mut connection = Connection::open(address).await?;
    let mut measured = Measured::default();
    while begin.elapsed() < longest {
        let Some(request) = source(next.fetch_add(1, Ordering::Relaxed)) else { break };
        let sent = Instant::now();
        let answer = connection.send(&request).await?;
        measured.samples.push(Sample { at: begin.elapsed(), took: sent.elapsed() });
        measured.bytes += answer.bytes;
        measured.failed += usize::from(answer.status >= 400);
    }
    measured.seconds = begin.elapsed().as_secs_f64();
    Ok(measured)
}
