#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bindery_model::error::{Code, Error};

use super::*;

fn version(number: u64) -> AnswerVersion {
    AnswerVersion::numbered(number)
}

fn answer(number: u64, body: impl AsRef<[u8]>) -> CachedAnswer {
    let body = Bytes::copy_from_slice(body.as_ref());
    CachedAnswer {
        version: version(number),
        kept: None,
        depends_on: Arc::default(),
        is_ranked: false,
        etag: HeaderValue::from_static("\"x\""),
        total: 0,
        vary: "Authorization",
        tags: None,
        body,
    }
}

fn body(found: Option<CachedAnswer>) -> Option<Bytes> {
    found.map(|answer| answer.body)
}

#[test]
fn an_answer_is_found_under_its_key_as_long_as_its_version_is_that_of_the_request() {
    let cache = AnswerCache::default();
    cache.keep(b"a", &answer(1, b"one"));
    cache.keep(b"b", &answer(1, b"other"));
    assert_eq!(body(cache.get(b"a", |kept| kept.has_version(version(1)))).unwrap(), "one");
    assert_eq!(body(cache.get(b"b", |kept| kept.has_version(version(1)))).unwrap(), "other");
    assert!(cache.get(b"c", |kept| kept.has_version(version(1))).is_none());
    cache.keep(b"a", &answer(2, b"two"));
    assert_eq!(body(cache.get(b"a", |kept| kept.has_version(version(2)))).unwrap(), "two");
    assert!(
        cache.get(b"a", |kept| kept.has_version(version(1))).is_none(),
        "a later answer replaces the one before it"
    );
}

#[test]
fn what_is_kept_is_bounded_and_answers_that_are_used_stay() {
    let keys: Vec<Key> = (0..4_000).map(|number| format!("key {number}").into_bytes()).collect();
    let cache = AnswerCache::with_limit(PARTS as u64 * 100 * (ENTRY_BYTES + 1_000));
    let used = &keys[0];
    for key in &keys {
        cache.keep(key, &answer(1, [0; 1_000]));
        assert!(cache.get(used, |kept| kept.has_version(version(1))).is_some(), "an answer that is in use stays");
    }
    let kept = keys.iter().filter(|key| cache.get(key, |kept| kept.has_version(version(1))).is_some()).count();
    assert!((PARTS * 90..=PARTS * 100).contains(&kept), "{kept}");
    assert!(cache.get(&keys[3_999], |kept| kept.has_version(version(1))).is_some(), "the latest is kept");
    let (answers, stored) = cache.size();
    let of_kept =
        |key: &Key| Some(Weight.weight(&Arc::from(&key[..]), &cache.get(key, |kept| kept.has_version(version(1)))?));
    let expected: u64 = keys.iter().filter_map(of_kept).sum();
    assert_eq!(answers, kept);
    assert_eq!(stored as u64, expected, "what leaves or is replaced is not counted any more");
}

#[test]
fn lists_of_before_a_write_are_dropped_while_later_ones_are_made() {
    let cache = AnswerCache::default();
    let list = |changed| CachedAnswer { version: AnswerVersion::of_list_after(changed), ..answer(1, "list") };
    cache.keep(b"early", &list(1));
    cache.keep(b"resource", &answer(1, "resource"));
    for number in 0..MADE_PER_SWEEP - 3 {
        cache.keep(format!("late {number}").as_bytes(), &list(2));
    }
    let kept = || cache.size().0 as u64;
    assert_eq!(kept(), MADE_PER_SWEEP - 1);
    cache.keep(b"last", &list(2));
    assert_eq!(kept(), MADE_PER_SWEEP - 1);
    assert!(cache.get(b"early", |_| Validity::Valid).is_none());
    assert!(cache.get(b"resource", |_| Validity::Valid).is_some());
}

#[test]
fn an_answer_that_is_too_large_is_not_kept() {
    let cache = AnswerCache::default();
    cache.keep(b"a", &answer(1, vec![0; MAX_ANSWER_BYTES]));
    cache.keep(b"b", &answer(1, vec![0; MAX_ANSWER_BYTES + 1]));
    assert!(
        cache.get(b"a", |kept| kept.has_version(version(1))).is_some()
            && cache.get(b"b", |kept| kept.has_version(version(1))).is_none()
    );
}

/// Asks 20 times at once. Returns the number of times the answer was made. `make` gets the number of the call.
async fn ask_at_once<F>(cache: &Arc<AnswerCache>, make: fn(usize) -> F, expected: &Result<&'static str, Code>) -> usize
where
    F: Future<Output = AnswerResult> + Send + 'static,
{
    let calls = Arc::new(AtomicUsize::new(0));
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let (cache, calls) = (Arc::clone(cache), Arc::clone(&calls));
            tokio::spawn(async move {
                cache.get_or_make(b"key", version(1), || make(calls.fetch_add(1, Ordering::SeqCst))).await
            })
        })
        .collect();
    for asked in asked {
        match (asked.await.unwrap(), expected) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer.body, expected),
            (Err(failure), Err(code)) => assert_eq!(failure, Failure::from(Error::new(*code, "no"))),
            (got, _) => panic!("{got:?} instead of {expected:?}"),
        }
    }
    calls.load(Ordering::SeqCst)
}

#[tokio::test]
async fn requests_that_ask_the_same_at_once_share_one_search() {
    let cache = Arc::new(AnswerCache::default());
    async fn slow(_: usize) -> AnswerResult {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(answer(1, "made"))
    }
    assert_eq!(ask_at_once(&cache, slow, &Ok("made")).await, 1);
    assert_eq!(ask_at_once(&cache, slow, &Ok("made")).await, 0, "it is kept");
}

#[tokio::test]
async fn an_error_is_shared_with_those_that_wait_and_is_not_kept() {
    let cache = Arc::new(AnswerCache::default());
    async fn fail(_: usize) -> AnswerResult {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err(Error::new(Code::Overloaded, "no").into())
    }
    assert_eq!(ask_at_once(&cache, fail, &Err(Code::Overloaded)).await, 1);
    assert_eq!(ask_at_once(&cache, fail, &Err(Code::Overloaded)).await, 1);
}

#[tokio::test]
async fn if_the_request_that_makes_an_answer_ends_another_one_makes_it() {
    let cache = Arc::new(AnswerCache::default());
    let stuck = {
        let cache = Arc::clone(&cache);
        tokio::spawn(async move { cache.get_or_make(b"key", version(1), std::future::pending).await.map(|_| ()) })
    };
    tokio::task::yield_now().await;
    let waiting = {
        let cache = Arc::clone(&cache);
        tokio::spawn(async move { ask_at_once(&cache, |_| async { Ok(answer(1, "made")) }, &Ok("made")).await })
    };
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "it waits for the one that makes the answer");
    // Another version must not get this answer.
    let other = cache.get_or_make(b"key", version(2), || async { Ok(answer(2, "other")) }).await.unwrap();
    assert_eq!(other.body, "other");
    stuck.abort();
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap().unwrap(), 1);
    assert!(cache.making.lock().is_empty());
}

#[test]
fn what_is_asked_for_differs_by_host_target_and_what_is_seen_but_not_by_more_than_the_answer_needs() {
    let asked = |host: Option<&'static str>, uri: &'static str| RequestKey {
        host: host.map(HeaderValue::from_static),
        uri: Uri::from_static(uri),
        view: None,
    };
    let (a, b) = (asked(Some("a"), "/v2/resources/notes?page=1"), asked(Some("b"), "/v2/resources/notes?page=1"));
    let lists = [
        a.list(true, true),
        a.list(true, false),
        a.list(false, true),
        b.list(true, true),
        asked(None, "/v2/resources/notes?page=1").list(true, true),
        asked(None, "http://a/v2/resources/notes?page=1").list(true, true),
        asked(Some("a"), "/v2/resources/notes?page=2").list(true, true),
        asked(Some("a"), "/v2/resources/notes").list(true, true),
        a.resource(),
    ];
    for (position, key) in lists.iter().enumerate() {
        // Only the list without the address in its links may have the key of the list with an empty address.
        assert!(position == 4 || !lists[..position].contains(key), "{position}");
    }
    assert_eq!((a.list(false, true), a.resource()), (b.list(false, true), b.resource()));
}
