//! The cache of whole answers to reads: a repeated request costs one look-up instead of a search and a page of
//! documents.
//!
//! An answer is kept under everything that its request asks for ([`RequestKey`]), and is valid for one version
//! (`content::AnswerVersion`), which stands for everything else that it depends on. Which other blueprints these are,
//! and whether drafts count in its order, is kept with the answer, since it is known only once the request's parameters
//! were read. So nothing has to be told to this cache: after a write, requests arrive with another version. Then the
//! answer stays if the writes since do not show in it (`content::KeptList`), and otherwise another one replaces it.
//! Requests that ask the same while the answer is being made wait for it.
//!
//! The cache is bounded in bytes for all blueprints together. Answers that were not requested again are evicted first.
//! Lists that writes made invalid are dropped now and then, since they may never be asked for again. Must not know what
//! an answer holds. Compressed forms have their own cache, see `encoding`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use bindery_content::{AnswerVersion, KeptList, View};
use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::OnceCell;

use crate::answer::bounded::bounded;
use crate::answer::cache_tags::CacheTags;
use crate::answer::respond::{cacheable, not_modified};
use crate::error::Failure;

/// The greatest number of bytes of cached answers.
const MAX_BYTES: u64 = 64 << 20;

/// Larger answers are not cached: each would push out thousands of small ones.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The memory of an answer in addition to its key and body: table entries and reference counts.
const ENTRY_BYTES: u64 = 256;

/// The number of parts, each with its own lock: enough that cores rarely wait for each other, few enough that the
/// largest answer fits into one part.
const PARTS: usize = 16;

/// Each time that this many answers were made, outdated lists of the blueprint of the last one are dropped. A prime
/// number: if requests repeat in turns, the last one is not of the same blueprint each time.
const MADE_PER_SWEEP: u64 = 1_021;

/// The request of a read, as the client sent it. Stored in the request once no kept answer was found for it.
#[derive(Clone)]
pub(crate) struct RequestKey {
    host: Option<HeaderValue>,
    uri: Uri,
    /// The view for which no kept answer was found, so that the answer is made from it.
    pub(crate) view: Option<Arc<View>>,
}

/// A key of the cache. Requests that ask for different things have different keys.
pub(crate) type Key = Vec<u8>;

/// An answer with the values of its headers.
#[derive(Debug, Clone)]
pub(crate) struct CachedAnswer {
    pub(crate) version: AnswerVersion,
    /// Decides whether it outlives writes; `None` for an answer that does not.
    pub(crate) kept: Option<Arc<KeptList>>,
    /// The slugs of the other blueprints that its version is made from.
    pub(crate) depends_on: Arc<[String]>,
    /// True for a list by relevance, which has another version than other lists.
    pub(crate) is_ranked: bool,
    pub(crate) etag: HeaderValue,
    /// The number of matches of a list.
    pub(crate) total: u64,
    /// The headers that the body depends on.
    pub(crate) vary: &'static str,
    /// The tags for a cache in front of the server; `None` unless the setting `cache_tags` is on.
    pub(crate) tags: Option<CacheTags>,
    pub(crate) body: Bytes,
}

/// Whether a cached answer is that of a request.
pub(crate) enum Validity {
    /// It has the version of the request.
    Valid,
    /// It has another version, and is the same in this one.
    Outlived(AnswerVersion, KeptList),
    Outdated,
}

/// The cache of answers.
pub(crate) struct AnswerCache {
    answers: Cache<Arc<[u8]>, CachedAnswer, Weight>,
    /// The answers that are being made. (The placeholders of the cache library cannot do this: they have no version,
    /// and do not pass on errors.)
    making: Mutex<HashMap<ExactKey, Arc<OnceCell<AnswerResult>>>>,
    hits: AtomicU64,
    misses: AtomicU64,
    outlived: AtomicU64,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Arc<[u8]>, CachedAnswer> for Weight {
    fn weight(&self, key: &Arc<[u8]>, answer: &CachedAnswer) -> u64 {
        let kept = answer.kept.as_ref().map_or(0, |kept| kept.bytes());
        (key.len() + answer.body.len() + kept) as u64 + ENTRY_BYTES
    }
}

/// A key that also contains the version.
type ExactKey = (Arc<[u8]>, AnswerVersion);

type AnswerResult = Result<CachedAnswer, Failure>;

/// A request that makes an answer, or waits for another one that makes it.
struct Turn<'a> {
    cache: &'a AnswerCache,
    key: ExactKey,
    answer: Arc<OnceCell<AnswerResult>>,
}

impl<S: Send + Sync> FromRequestParts<S> for RequestKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestKey, Infallible> {
        Ok(parts.extensions.remove().unwrap_or_else(|| RequestKey::of(&parts.headers, &parts.uri)))
    }
}

impl RequestKey {
    /// Returns the part of a request's head that determines its answer.
    pub(crate) fn of(headers: &HeaderMap, uri: &Uri) -> RequestKey {
        RequestKey { host: headers.get(HOST).cloned(), uri: uri.clone(), view: None }
    }

    /// Returns the key of a list. It includes the host if the links of the list use the client's host. It also includes
    /// whether drafts are visible. That is part of the version too, but otherwise readers with and without drafts would
    /// replace each other's answers.
    pub(crate) fn list(&self, follows_host: bool, sees_drafts: bool) -> Key {
        let (mut host, mut authority): (&[u8], &[u8]) = (b"", b"");
        if follows_host {
            host = self.host.as_ref().map_or(b"", HeaderValue::as_bytes);
            authority = self.uri.authority().map_or(b"", |authority| authority.as_str().as_bytes());
        }
        self.key([host, authority, if sees_drafts { b"drafts" } else { b"published" }])
    }

    /// Returns the key of a list whose answers are made around the kept one: it is not answered as it is kept.
    pub(crate) fn inner_list(&self, follows_host: bool, sees_drafts: bool) -> Key {
        [&self.list(follows_host, sees_drafts)[..], b"\ninner"].concat()
    }

    /// Returns the key of a resource.
    pub(crate) fn resource(&self) -> Key {
        self.key([b"", b"", b"resource"])
    }

    /// Joins the parts by line breaks, which none of them can contain.
    fn key(&self, parts: [&[u8]; 3]) -> Key {
        let target = self.uri.path_and_query().map_or("", |target| target.as_str()).as_bytes();
        let [host, authority, kind] = parts;
        [host, authority, target, kind].join(&b'\n')
    }
}

impl CachedAnswer {
    /// Returns whether it has this version.
    pub(crate) fn has_version(&self, version: AnswerVersion) -> Validity {
        if self.version == version { Validity::Valid } else { Validity::Outdated }
    }

    /// Returns whether it is the list of this version of a view.
    pub(crate) fn is_list_of(&self, view: &View) -> Validity {
        let version = view.list_version(&self.depends_on, self.is_ranked);
        match &self.kept {
            Some(kept) if self.version != version => {
                let kept = view.has_list(kept, self.version, version);
                kept.map_or(Validity::Outdated, |kept| Validity::Outlived(version, kept))
            }
            _ => self.has_version(version),
        }
    }

    /// Returns the response; 304 if the client has the answer already.
    pub(crate) fn respond(self, is_known: bool) -> Response {
        let mut response = match is_known {
            true => not_modified(self.etag, self.vary),
            false => cacheable(self.etag, self.vary, self.body),
        };
        if let Some(tags) = self.tags {
            tags.add_to(&mut response);
        }
        response
    }
}

impl Default for AnswerCache {
    fn default() -> AnswerCache {
        AnswerCache::with_limit(MAX_BYTES)
    }
}

impl AnswerCache {
    /// Returns the number of cached answers and their size in bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.answers.len(), self.answers.weight() as usize)
    }

    fn with_limit(max_bytes: u64) -> AnswerCache {
        AnswerCache {
            answers: bounded(max_bytes, PARTS, Weight),
            making: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            outlived: AtomicU64::new(0),
        }
    }

    /// Returns the cached answer for `key` if it is valid. Does not count a miss: [`AnswerCache::keep`] does.
    pub(crate) fn get(&self, key: &[u8], validity: impl FnOnce(&CachedAnswer) -> Validity) -> Option<CachedAnswer> {
        let mut answer = self.answers.get(key)?;
        match validity(&answer) {
            Validity::Valid => {}
            Validity::Outlived(version, kept) => {
                answer = CachedAnswer { version, kept: Some(Arc::new(kept)), ..answer };
                self.outlived.fetch_add(1, Ordering::Relaxed);
                self.answers.insert(Arc::from(key), answer.clone());
            }
            Validity::Outdated => {
                // Only a request that took its view before the last write could still ask for it.
                self.answers.remove_if(key, |kept| kept.version == answer.version);
                return None;
            }
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(answer)
    }

    /// Returns the number of requests answered from the cache or by another request's answer, and of all others.
    pub(crate) fn uses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// Returns how often a cached answer stayed valid although its blueprint was written to.
    pub(crate) fn outlived(&self) -> u64 {
        self.outlived.load(Ordering::Relaxed)
    }

    /// Caches the answer for `key`, which was made because none was cached.
    pub(crate) fn keep(&self, key: &[u8], answer: &CachedAnswer) {
        let made = self.misses.fetch_add(1, Ordering::Relaxed) + 1;
        if answer.body.len() <= MAX_ANSWER_BYTES {
            self.answers.insert(Arc::from(key), answer.clone());
        }
        if made.is_multiple_of(MADE_PER_SWEEP) {
            self.drop_lists_before(answer);
        }
    }

    /// Drops older lists of the blueprint of `latest` that cannot outlive the writes since. Drops nothing if `latest`
    /// is no list. Lists by relevance have other versions than the others, so only lists of one kind are compared.
    fn drop_lists_before(&self, latest: &CachedAnswer) {
        self.answers.retain(|_, answer| {
            let may_outlive = || answer.kept.as_ref().is_some_and(|kept| kept.may_outlive_writes());
            let is_older = answer.is_ranked == latest.is_ranked && answer.version.is_older_list_than(latest.version);
            !is_older || may_outlive()
        });
    }

    /// Returns the answer for `key`: from the cache, or from another request that is making it, or by calling `make`
    /// and caching the result.
    ///
    /// # Errors
    /// The errors of `make`, even if another request called it: the same request would fail again.
    pub(crate) async fn get_or_make<F: Future<Output = AnswerResult>>(
        &self,
        key: &[u8],
        version: AnswerVersion,
        make: impl FnOnce() -> F,
    ) -> AnswerResult {
        let turn = {
            // An answer is cached before its turn ends. So under this lock it is cached or being made.
            let mut all = self.making.lock();
            if let Some(answer) = self.get(key, |kept| kept.has_version(version)) {
                return Ok(answer);
            }
            let key: ExactKey = (Arc::from(key), version);
            let answer = Arc::clone(all.entry(key.clone()).or_default());
            Turn { cache: self, key, answer }
        };
        let mut is_made_here = false;
        let making = async {
            is_made_here = true;
            let made = make().await;
            if let Ok(answer) = &made {
                self.keep(&turn.key.0, answer);
            }
            made
        };
        // If the request that makes it is cancelled, one of those that wait makes it.
        let made = turn.answer.get_or_init(|| making).await.clone();
        if !is_made_here {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        made
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut all = self.cache.making.lock();
        // Given up under the lock, so that the last of several requests that end at once knows that it is the last.
        let answer = mem::take(&mut self.answer);
        // The map and this request hold it. If others do, too, one of them goes on with it.
        let is_over = answer.initialized() || Arc::strong_count(&answer) == 2;
        if is_over && all.get(&self.key).is_some_and(|kept| Arc::ptr_eq(kept, &answer)) {
            all.remove(&self.key);
        }
        drop(answer);
    }
}

#[cfg(test)]
mod tests;
