#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const SLOW: Duration = Duration::from_secs(1);

fn scheduler(timeout: Duration) -> SearchScheduler {
    SearchScheduler::new(Arc::new(ThreadPool::new().unwrap()), timeout)
}

/// Returns a search that runs until it is interrupted. `running` counts such searches.
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

async fn quickly(searches: &SearchScheduler) -> Duration {
    let started = Instant::now();
    for estimate in [Duration::ZERO, Duration::from_millis(1)] {
        assert_eq!(searches.run(estimate, |_| Some(Ok(7))).await.unwrap(), 7);
    }
    started.elapsed()
}

#[tokio::test]
async fn a_search_ends_when_its_time_is_up_and_is_refused() {
    let searches = scheduler(Duration::from_millis(200));
    let running = Arc::default();
    for estimate in [Duration::ZERO, Duration::from_millis(1), SLOW] {
        let started = Instant::now();
        let error = searches.run(estimate, endless(&running)).await.unwrap_err();
        assert_eq!(error.code, Code::Overloaded);
        assert!(error.message.contains("query_timeout"), "{}", error.message);
        assert!(started.elapsed() >= Duration::from_millis(200));
        assert_eq!(running.load(Ordering::SeqCst), 0, "the work stops");
    }
}

#[tokio::test]
async fn slow_searches_do_not_hold_up_quick_ones_even_if_they_seemed_quick() {
    let searches = Arc::new(scheduler(Duration::from_secs(30)));
    let running = Arc::default();
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let (searches, search) = (Arc::clone(&searches), endless(&running));
            let estimate = if number % 4 == 0 { Duration::from_millis(1) } else { SLOW };
            tokio::spawn(async move { searches.run(estimate, search).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let took = quickly(&searches).await;
    assert!(took < Duration::from_millis(500), "{took:?}");
    // Their callers leave: all searches stop, running or not.
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let end = Instant::now() + Duration::from_secs(10);
    while running.load(Ordering::SeqCst) > 0 {
        assert!(Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(searches.run(SLOW, |_| Some(Ok(()))).await.is_ok());
}

#[tokio::test]
async fn a_search_beyond_the_waiting_line_is_refused_at_once() {
    let searches = Arc::new(scheduler(Duration::from_secs(30)));
    let running = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let (searches, search) = (Arc::clone(&searches), endless(&running));
        tasks.spawn(async move { searches.run(SLOW, search).await });
    }
    let error = tasks.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.code, Code::Overloaded);
    assert!(error.message.contains("too many searches are waiting"), "{}", error.message);
}

#[tokio::test]
async fn a_search_that_panics_is_an_error_and_the_pool_goes_on() {
    let searches = scheduler(Duration::from_secs(30));
    for estimate in [Duration::from_millis(1), SLOW] {
        for _ in 0..20 {
            let error = searches.run::<(), _>(estimate, |_| panic!("on purpose")).await.unwrap_err();
            assert_eq!(error.code, Code::Internal);
        }
    }
    assert!(quickly(&searches).await < SLOW);
}

#[tokio::test]
async fn searches_that_seemed_to_take_microseconds_leave_the_threads_of_their_callers() {
    let searches = Arc::new(scheduler(Duration::from_secs(30)));
    let running = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (searches, search) = (Arc::clone(&searches), endless(&running));
        tasks.spawn(async move { searches.run(Duration::ZERO, search).await });
    }
    // The runtime of this test has one thread, which has a millisecond or two for each of them.
    let started = Instant::now();
    tokio::task::yield_now().await;
    assert!(started.elapsed() < Duration::from_millis(64 * 20), "{:?}", started.elapsed());
    tasks.shutdown().await;
}
