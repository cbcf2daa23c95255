//! Limits of an index: the amounts of memory, and the sizes at which one way to evaluate or sort is chosen over
//! another.

use std::time::Duration;

/// Limits of an index. They never change a result, only its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// A memory run with this many entries is frozen and written to disk.
    pub memory_run_entries: usize,
    /// A memory run with this many bytes of text is frozen and written to disk.
    pub memory_run_bytes: usize,
    /// [`Index::apply`](crate::Index::apply) blocks while this many frozen runs wait to be written.
    pub frozen_runs: usize,
    /// The number of disk runs of similar size that are merged into one.
    pub merge_fan_in: usize,
    /// Once no run was written for this long, more runs are merged than those of similar size.
    pub quiet_after: Duration,
    /// Once a conjunction has at most this many candidates left, the remaining conditions are tested on each of them.
    pub candidate_limit: usize,
    /// Results of at most this size are sorted, unless filtering a cached order of all resources is cheaper.
    pub sort_limit: usize,
    /// Results of at most this size are always sorted.
    pub always_sort_limit: usize,
    /// A walk along the orders of runs may always take this many steps to find a page.
    pub always_walk_limit: usize,
    /// A walk may also take one step for this many resources. If it would need more than both limits, even after
    /// skipping the part before the page by counting, an order of all resources is made and cached.
    pub walk_share: usize,
    /// Memory for cached bitmaps, of all indexes of a data folder.
    pub bitmap_cache_bytes: usize,
    /// Memory for cached orders, of all indexes of a data folder.
    pub order_cache_bytes: usize,
    /// When one of two ways to a result is chosen over the other.
    pub thresholds: Thresholds,
}

/// The sizes at which one of two ways to the same result becomes faster than the other. Tests lower them, so that a
/// handful of resources takes both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// A run in memory with this many documents finds ranges in an order; a smaller one tests each document.
    pub sorted_from: u32,
    /// The documents of this many equally close tokens are kept once they are joined: `d`, as the beginning of a word,
    /// has thousands of tokens.
    pub joined_from: usize,
    /// Testing a candidate of a conjunction takes about this many nanoseconds.
    pub test_nanoseconds: u64,
    /// A cached order is always brought up to date if no more slots than this have changed.
    pub always_moved: usize,
    /// A page of a cached order that is expected within this many steps is walked to. For one further back, the matches
    /// are counted by chunk, or a slice of matches is looked for, among this many slots at both ends.
    pub walked_steps: usize,
    /// Counting matches ends once no order of a run has more groups than this between what comes before the page and
    /// what does not: merging them is faster.
    pub few_groups: usize,
    /// Of at least this many equally close matches, those that cannot be among the first are not scored to the end.
    pub compared_from: usize,
    /// The like only if no more than all divided by this are wanted.
    pub compared_share: usize,
    /// Periods are counted along an order if at least the resources divided by this are counted.
    pub walked_share: usize,
    /// Values are read one by one if fewer documents than the run's divided by this are counted.
    pub read_share: usize,
    /// The documents of posting lists are looked at one by one if they are fewer than the run's divided by this.
    pub listed_share: usize,
    /// The like for texts whose ordinals the file of the run has.
    pub stored_ordinals_share: usize,
    /// The like for texts whose ordinals must be made from all texts of the run.
    pub computed_ordinals_share: usize,
    /// Slots are looked up one by one if there are fewer than all divided by this. A look-up takes about 100 ns among a
    /// million resources, since its memory is in no cache; comparing the slots of all documents of a run takes about 1
    /// ns each.
    pub looked_up_share: usize,
}

impl Thresholds {
    /// So low that a handful of resources is on either side of each. For tests.
    pub fn tiny() -> Thresholds {
        Thresholds {
            sorted_from: 4,
            joined_from: 2,
            test_nanoseconds: 0,
            always_moved: 5,
            walked_steps: 2,
            few_groups: 1,
            compared_from: 3,
            compared_share: 1,
            walked_share: 2,
            read_share: 2,
            listed_share: 2,
            stored_ordinals_share: 4,
            computed_ordinals_share: 3,
            looked_up_share: 2,
        }
    }
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            sorted_from: 1_024,
            joined_from: 64,
            test_nanoseconds: 50,
            always_moved: 256,
            walked_steps: 1_000,
            few_groups: 64,
            compared_from: 4_096,
            compared_share: 4,
            walked_share: 16,
            read_share: 16,
            listed_share: 64,
            stored_ordinals_share: 64,
            computed_ordinals_share: 8,
            looked_up_share: 128,
        }
    }
}

impl Options {
    /// Limits so low that a handful of resources exercises every code path. For tests.
    pub fn tiny() -> Options {
        Options {
            memory_run_entries: 7,
            merge_fan_in: 2,
            quiet_after: Duration::from_millis(5),
            candidate_limit: 4,
            sort_limit: 8,
            always_sort_limit: 2,
            always_walk_limit: 3,
            walk_share: 2,
            bitmap_cache_bytes: 4_000,
            order_cache_bytes: 4_000,
            thresholds: Thresholds::tiny(),
            ..Options::default()
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_run_entries: 32_768,
            // Writing takes several times this: the run that grows, those that wait, and the tables of the one that is
            // built. With 16 MiB, each document would be merged a third of a time less, since eight runs become one.
            memory_run_bytes: 8 << 20,
            frozen_runs: 3,
            merge_fan_in: 8,
            // Shorter than the time between two checkpoints, which write runs while anything changes at all.
            quiet_after: Duration::from_secs(20),
            candidate_limit: 2_000,
            sort_limit: 5_000,
            always_sort_limit: 64,
            always_walk_limit: 2_000,
            walk_share: 16,
            bitmap_cache_bytes: 64 << 20,
            order_cache_bytes: 64 << 20,
            thresholds: Thresholds::default(),
        }
    }
}
