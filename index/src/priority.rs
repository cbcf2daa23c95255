//! The priority of background threads. It does not know what they do.

/// Lowers the priority of the calling thread, for the rest of its life, so that threads that answer requests run first
/// when processors are scarce. Does nothing on systems without priorities for single threads.
///
/// The priority is only a little lower, because other threads may wait for a lock of this one. Beside two busy threads,
/// it still gets a quarter of its equal share.
pub fn lower() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

/// The `nice` value: a thread with 5 has a third of the weight of others.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;
