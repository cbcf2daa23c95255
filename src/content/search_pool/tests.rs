#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const SLOW: Duration = Duration::from_secs(1);

/// Searches for ever, and counts how many searches are at it.
fn endless(running: &Arc<AtomicUsize>) -> impl FnMut(&Interrupt<'_>) -> Option<Result<()>> + Send + 'static {
    let running = Arc::clone(running);
    move |interrupt| {
        running.fetch_add(1, Ordering::SeqCst);
        while !interrupt.is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        running.fetch_sub(1, Ordering::SeqCst);
        None
    }
}

async fn quickly(pool: &SearchPool) -> Duration {
    let started = Instant::now();
    for estimate in [Duration::ZERO, Duration::from_millis(1)] {
        assert_eq!(pool.run(estimate, |_| Some(Ok(7))).await.unwrap(), 7);
    }
    started.elapsed()
}

#[tokio::test]
async fn a_search_ends_when_its_time_is_up_and_is_refused() {
    let pool = SearchPool::new(Duration::from_millis(200)).unwrap();
    let running = Arc::default();
    for estimate in [Duration::ZERO, Duration::from_millis(1), SLOW] {
        let started = Instant::now();
        let error = pool.run(estimate, endless(&running)).await.unwrap_err();
        assert_eq!(error.code, Code::Overloaded);
        assert!(error.message.contains("query_timeout"), "{}", error.message);
        assert!(started.elapsed() >= Duration::from_millis(200));
        assert_eq!(running.load(Ordering::SeqCst), 0, "the work stops");
    }
}

#[tokio::test]
async fn slow_searches_do_not_hold_up_quick_ones_even_if_they_seemed_quick() {
    let pool = Arc::new(SearchPool::new(Duration::from_secs(30)).unwrap());
    let running = Arc::default();
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let (pool, search) = (Arc::clone(&pool), endless(&running));
            let estimate = if number % 4 == 0 { Duration::from_millis(1) } else { SLOW };
            tokio::spawn(async move { pool.run(estimate, search).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let took = quickly(&pool).await;
    assert!(took < Duration::from_millis(500), "{took:?}");
    // Their callers leave: the work stops, whether it has begun or not.
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let end = Instant::now() + Duration::from_secs(10);
    while running.load(Ordering::SeqCst) > 0 {
        assert!(Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(pool.run(SLOW, |_| Some(Ok(()))).await.is_ok());
}

#[tokio::test]
async fn a_search_beyond_the_waiting_line_is_refused_at_once() {
    let pool = Arc::new(SearchPool::new(Duration::from_secs(30)).unwrap());
    let running = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..LINE * 2 {
        let (pool, search) = (Arc::clone(&pool), endless(&running));
        tasks.spawn(async move { pool.run(SLOW, search).await });
    }
    let error = tasks.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.code, Code::Overloaded);
    assert!(error.message.contains("too many searches are waiting"), "{}", error.message);
}

#[tokio::test]
async fn a_search_that_panics_is_an_error_and_the_pool_goes_on() {
    let pool = SearchPool::new(Duration::from_secs(30)).unwrap();
    for estimate in [Duration::from_millis(1), SLOW] {
        for _ in 0..20 {
            let error = pool.run::<(), _>(estimate, |_| panic!("on purpose")).await.unwrap_err();
            assert_eq!(error.code, Code::Internal);
        }
    }
    assert!(quickly(&pool).await < SLOW);
}
