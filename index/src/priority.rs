//! The priority of threads that nobody waits for. It knows nothing of what they do.

/// Lets threads that answer requests go first where processors are scarce. Applies to the calling thread, to its end. Does nothing
/// where a system has no priorities for single threads.
///
/// A lower priority could hold up whoever waits for a lock of this thread. So it is not much lower: beside two busy threads, it
/// still has a quarter of the time that it would have as one of three.
pub fn lower() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

/// As `nice` counts: a thread with 5 has a third of the weight of others.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;
