//! A store that misbehaves as stores behind networks do, and counts how often.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;

/// How often each fault happens, in percent of the requests that can have it.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    /// A put is done, but its answer is lost.
    pub(super) lost_answers: u64,
    /// A put is done later, and is answered with a time-out at once.
    pub(super) late_puts: u64,
    /// A put is not done, and is answered 409.
    pub(super) conflicts: u64,
    /// A put or a read is not done, and is answered 429, 500 or 503.
    pub(super) errors: u64,
    /// A read ends early.
    pub(super) cut_reads: u64,
    /// `PutMode::Create` overwrites.
    pub(super) ignores_condition: bool,
    /// No list is answered.
    pub(super) refuses_lists: bool,
}

/// The store. Dies at a given change, and then refuses everything.
#[derive(Debug)]
pub(super) struct FaultyStore {
    inner: Arc<InMemory>,
    faults: Faults,
    random: Mutex<u64>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
    /// Late puts that are not done yet.
    late: Arc<AtomicUsize>,
    changes: AtomicUsize,
    reads: AtomicUsize,
    dies: Option<Death>,
}

/// When a store dies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Death {
    /// At which change: 0 is the first one.
    pub(super) at: usize,
    /// Whether that change is still made.
    pub(super) is_made: bool,
}

impl FaultyStore {
    pub(super) fn new(inner: Arc<InMemory>, faults: Faults, seed: u64) -> FaultyStore {
        FaultyStore {
            inner,
            faults,
            random: Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            counts: Mutex::default(),
            late: Arc::default(),
            changes: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            dies: None,
        }
    }

    pub(super) fn dying(inner: Arc<InMemory>, death: Death) -> FaultyStore {
        FaultyStore { dies: Some(death), ..FaultyStore::new(inner, Faults::default(), 0) }
    }

    /// How often each fault happened.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.counts.lock().clone()
    }

    /// The number of puts that are still to be done.
    pub(super) fn late(&self) -> usize {
        self.late.load(Ordering::SeqCst)
    }

    /// The number of reads.
    pub(super) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    fn percent(&self) -> u64 {
        self.random() % 100
    }

    fn random(&self) -> u64 {
        let mut random = self.random.lock();
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random >> 16
    }

    fn fault(&self, name: &'static str) -> Error {
        *self.counts.lock().entry(name).or_default() += 1;
        let status = ["429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"];
        let text = if name == "error" { status[(self.random() % 3) as usize] } else { name };
        Error::Generic { store: "faulty", source: text.into() }
    }

    /// Fails if the store is dead, or dies now. `Ok(true)`: it dies after this change.
    fn die(&self) -> Result<bool> {
        let Some(death) = self.dies else { return Ok(false) };
        let change = self.changes.fetch_add(1, Ordering::SeqCst);
        if change > death.at || (change == death.at && !death.is_made) {
            return Err(dead());
        }
        Ok(change == death.at)
    }

    fn is_dead(&self) -> bool {
        self.dies.is_some_and(|death| self.changes.load(Ordering::SeqCst) > death.at)
    }
}

fn dead() -> Error {
    Error::PermissionDenied { path: String::new(), source: "the store is dead".into() }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let mode = if self.faults.ignores_condition { PutMode::Overwrite } else { options.mode.clone() };
        let options = PutOptions { mode, ..options };
        let dies = self.die()?;
        let percent = self.percent();
        let Faults { lost_answers, late_puts, conflicts, errors, .. } = self.faults;
        let mut below = lost_answers;
        if percent < below || dies {
            let _ = self.inner.put_opts(location, payload, options).await;
            return Err(self.fault("lost answer"));
        }
        below += late_puts;
        if percent < below {
            let (inner, location, late) = (Arc::clone(&self.inner), location.clone(), Arc::clone(&self.late));
            let delay = Duration::from_millis(if self.percent() < 90 { self.random() % 100 } else { 3000 });
            late.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = inner.put_opts(&location, payload, options).await;
                late.fetch_sub(1, Ordering::SeqCst);
            });
            return Err(self.fault("late put"));
        }
        below += conflicts;
        if percent < below {
            let source = self.fault("conflict").into();
            return Err(Error::AlreadyExists { path: location.to_string(), source });
        }
        if percent < below + errors {
            return Err(self.fault("error"));
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        if self.die()? {
            return Err(self.fault("lost answer"));
        }
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.is_dead() {
            return Err(dead());
        }
        let percent = self.percent();
        if percent < self.faults.errors {
            return Err(self.fault("error"));
        }
        let mut result = self.inner.get_opts(location, options).await?;
        if percent < self.faults.errors + self.faults.cut_reads && result.meta.size > 1 {
            let _ = self.fault("cut read");
            let half = result.meta.size as usize / 2;
            let whole = result.bytes().await?;
            result = self.inner.get_opts(location, GetOptions::default()).await?;
            let cut = futures_util::stream::once(std::future::ready(Ok(whole.slice(..half.min(whole.len())))));
            result.payload = GetResultPayload::Stream(cut.boxed());
        }
        Ok(result)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        if self.is_dead() {
            return locations.map(|_| Err(dead())).boxed();
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if self.is_dead() {
            return futures_util::stream::once(std::future::ready(Err(dead()))).boxed();
        }
        if self.faults.refuses_lists {
            return futures_util::stream::once(std::future::ready(Err(self.fault("error")))).boxed();
        }
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

impl Display for FaultyStore {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a store that misbehaves")
    }
}
