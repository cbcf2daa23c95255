//! Whole answers to reads, so that a repeated request costs one look-up instead of a search and a page of documents.
//!
//! An answer is kept under everything that its request asks for ([`RequestKey`]), and is valid for one version
//! (`content::AnswerVersion`), which stands for everything else that it depends on. Which other blueprints that are is kept with
//! the answer, since it is known only once the request's parameters were read. So nothing has to be told to this
//! cache: after a write, requests arrive with another version, and the answer of the old one is replaced. Requests that ask
//! the same while the answer is being made wait for it.
//!
//! Bounded in bytes for all blueprints together; answers that were not asked for again leave first. Must not know what an answer
//! holds. An encoded form of an answer (`Content-Encoding`) belongs here too, as an entry of its own whose key ends with
//! the encoding: its bytes are counted then, and it leaves like all others.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use bindery_content::AnswerVersion;
use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::watch;

use crate::answer::bounded::bounded;
use crate::answer::respond::{cacheable, not_modified};
use crate::error::Failure;

/// How many bytes of answers are kept.
const MAX_BYTES: u64 = 64 << 20;

/// Larger answers are not kept: each would push out thousands of small ones.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What an answer takes beside its key and its body: the entries of tables, the counts of references.
const ENTRY_BYTES: u64 = 256;

/// So many that requests on several cores rarely meet, and so few that the largest answers fit into one.
const PARTS: usize = 16;

/// What a read asks for, as the client sent it.
pub(crate) struct RequestKey {
    host: Option<HeaderValue>,
    uri: Uri,
}

/// A key of the cache. Two requests that ask for different things never have the same.
pub(crate) type Key = Vec<u8>;

/// An answer with what its headers say.
#[derive(Debug, Clone)]
pub(crate) struct CachedAnswer {
    pub(crate) version: AnswerVersion,
    /// The slugs of the other blueprints that its version is made from.
    pub(crate) depends_on: Arc<[String]>,
    pub(crate) etag: HeaderValue,
    /// The headers that the body depends on.
    pub(crate) vary: &'static str,
    pub(crate) body: Bytes,
}

/// The answers that are kept.
pub(crate) struct AnswerCache {
    answers: Cache<Arc<[u8]>, CachedAnswer, Weight>,
    /// Answers that are being made. The receiver gets the answer, or nothing if its maker was dropped. The cache's own
    /// placeholders do not do this: they have no version, and hand on no errors.
    making: Mutex<HashMap<ExactKey, AnswerReceiver>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Arc<[u8]>, CachedAnswer> for Weight {
    fn weight(&self, key: &Arc<[u8]>, answer: &CachedAnswer) -> u64 {
        (key.len() + answer.body.len()) as u64 + ENTRY_BYTES
    }
}

/// Tells an answer from those of other versions, too.
type ExactKey = (Arc<[u8]>, AnswerVersion);

type AnswerResult = Result<CachedAnswer, Failure>;
type AnswerReceiver = watch::Receiver<Option<AnswerResult>>;

/// What a request for an answer is to do.
enum NextAction<'a> {
    Use(CachedAnswer),
    Make(Turn<'a>),
    WaitFor(AnswerReceiver),
}

/// The turn to make an answer that others may wait for.
struct Turn<'a> {
    cache: &'a AnswerCache,
    key: ExactKey,
    made: watch::Sender<Option<AnswerResult>>,
}

impl<S: Send + Sync> FromRequestParts<S> for RequestKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestKey, Infallible> {
        Ok(RequestKey::of(&parts.headers, &parts.uri))
    }
}

impl RequestKey {
    /// What a request with this head asks for.
    pub(crate) fn of(headers: &HeaderMap, uri: &Uri) -> RequestKey {
        RequestKey { host: headers.get(HOST).cloned(), uri: uri.clone() }
    }

    /// The key of a list. If its links follow the address that the client used, that is part of it. So is whether drafts are
    /// seen: it is part of the version too, but lists with and without drafts are asked for in turn.
    pub(crate) fn list(&self, follows_host: bool, sees_drafts: bool) -> Key {
        let (mut host, mut authority): (&[u8], &[u8]) = (b"", b"");
        if follows_host {
            host = self.host.as_ref().map_or(b"", HeaderValue::as_bytes);
            authority = self.uri.authority().map_or(b"", |authority| authority.as_str().as_bytes());
        }
        self.key([host, authority, if sees_drafts { b"drafts" } else { b"published" }])
    }

    /// The key of a resource.
    pub(crate) fn resource(&self) -> Key {
        self.key([b"", b"", b"resource"])
    }

    /// None of the parts can hold a line break.
    fn key(&self, parts: [&[u8]; 3]) -> Key {
        let target = self.uri.path_and_query().map_or("", |target| target.as_str()).as_bytes();
        let [host, authority, kind] = parts;
        [host, authority, target, kind].join(&b'\n')
    }
}

impl CachedAnswer {
    /// The answer as it is sent: 304 if the client has it already.
    pub(crate) fn respond(self, is_known: bool) -> Response {
        match is_known {
            true => not_modified(self.etag, self.vary),
            false => cacheable(self.etag, self.vary, self.body),
        }
    }
}

impl Default for AnswerCache {
    fn default() -> AnswerCache {
        AnswerCache::with_limit(MAX_BYTES)
    }
}

impl AnswerCache {
    /// How many answers are kept, and their size in bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.answers.len(), self.answers.weight() as usize)
    }

    fn with_limit(max_bytes: u64) -> AnswerCache {
        AnswerCache {
            answers: bounded(max_bytes, PARTS, Weight),
            making: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The answer to what `key` asks for, if it is kept and valid for the version that is made from the blueprints that it
    /// depends on.
    pub(crate) fn get(&self, key: &[u8], version: impl FnOnce(&[String]) -> AnswerVersion) -> Option<CachedAnswer> {
        // Not counted if there is none: it is asked for once more, to be made.
        let answer = self.kept(key, version)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(answer)
    }

    /// How many requests were answered with what was kept or made for another one, and how many were not.
    pub(crate) fn uses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// Keeps the answer to what `key` asks for, which was made because none was kept.
    pub(crate) fn keep(&self, key: &[u8], answer: &CachedAnswer) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        if answer.body.len() <= MAX_ANSWER_BYTES {
            self.answers.insert(Arc::from(key), answer.clone());
        }
    }

    /// The answer to what `key` asks for: the one that is kept, or the one that another request makes at the moment, or
    /// the one that `make` makes, which is then kept.
    ///
    /// # Errors
    /// Those of `make`, also if another request called its own.
    pub(crate) async fn get_or_make<F: Future<Output = AnswerResult>>(
        &self,
        key: &[u8],
        version: AnswerVersion,
        make: impl FnOnce() -> F,
    ) -> Result<CachedAnswer, Failure> {
        loop {
            match self.next(key, version) {
                NextAction::Use(answer) => {
                    self.hits.fetch_add(1, Ordering::Relaxed);
                    return Ok(answer);
                }
                NextAction::Make(turn) => {
                    let made = make().await;
                    turn.end(&made);
                    return made;
                }
                NextAction::WaitFor(mut making) => {
                    // An error means that the client of the request that made it has left: somebody else has to.
                    if let Ok(made) = making.wait_for(Option::is_some).await
                        && let Some(made) = made.clone()
                    {
                        self.hits.fetch_add(1, Ordering::Relaxed);
                        return made;
                    }
                }
            }
        }
    }

    fn next(&self, key: &[u8], version: AnswerVersion) -> NextAction<'_> {
        // An answer is kept before its turn ends, so under this lock it is either kept or being made.
        let mut all = self.making.lock();
        if let Some(answer) = self.kept(key, |_| version) {
            return NextAction::Use(answer);
        }
        let key = (Arc::from(key), version);
        if let Some(making) = all.get(&key) {
            return NextAction::WaitFor(making.clone());
        }
        let (made, making) = watch::channel(None);
        all.insert(key.clone(), making);
        NextAction::Make(Turn { cache: self, key, made })
    }

    fn kept(&self, key: &[u8], version: impl FnOnce(&[String]) -> AnswerVersion) -> Option<CachedAnswer> {
        let answer = self.answers.get(key)?;
        if answer.version == version(&answer.depends_on) {
            return Some(answer);
        }
        // Nobody asks for it again, except a request that took its view before the last write.
        self.answers.remove_if(key, |kept| kept.version == answer.version);
        None
    }
}

impl Turn<'_> {
    /// Keeps the answer and hands it to those that wait, and also an error: the same request would fail again.
    fn end(self, made: &AnswerResult) {
        if let Ok(answer) = made {
            self.cache.keep(&self.key.0, answer);
        }
        self.made.send_replace(Some(made.clone()));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.cache.making.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests;
