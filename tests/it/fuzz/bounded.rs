//! The targets of `cargo fuzz`, run on stable: each for a second or a number of inputs. The inputs are changes of the
//! first inputs, and the same in every run. `BINDERY_FUZZ_SECONDS` makes a run longer and starts with other inputs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

// `run` is for the targets of `cargo fuzz`.
#[allow(dead_code)]
#[path = "../../fuzz/targets.rs"]
mod targets;

pub(super) use targets::TARGETS;
use targets::Target;

/// The number of inputs of one target, unless the time is over before.
const INPUTS: usize = 20_000;

/// The maximum length of an input, except for the bytes that a change adds.
const MAX_LENGTH: usize = 4_000;

/// Bytes that have a meaning for some parser.
const MARKS: &[u8] = b"<>\"'&/=-!{}[](),.:;\\%0 \n\0\xff";

#[test]
fn targets_handle_changed_inputs() {
    let asked = std::env::var("BINDERY_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let (time, inputs) =
        asked.map_or((Duration::from_secs(1), INPUTS), |seconds| (Duration::from_secs(seconds), usize::MAX));
    for target in &TARGETS {
        let seed = asked.map_or([7; 32], |_| rand_seed());
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        run(target, &mut random, time, inputs);
    }
}

fn rand_seed() -> [u8; 32] {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(&now.to_le_bytes());
    seed
}

fn run(target: &Target, random: &mut TestRng, time: Duration, inputs: usize) {
    let mut kept: Vec<Vec<u8>> = target.seeds.iter().map(|seed| seed.to_vec()).collect();
    let started = Instant::now();
    let mut count = 0;
    while count < inputs && started.elapsed() < time {
        let input = if count < kept.len() { kept[count].clone() } else { changed(&kept, random) };
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        assert!(outcome.is_ok(), "{} fails with {:?}", target.name, input.escape_ascii().to_string());
        // Some changed inputs are kept, so that later inputs differ more and more from the first ones.
        if kept.len() < 200 && input.len() < MAX_LENGTH && random.next_u32().is_multiple_of(16) {
            kept.push(input);
        }
        count += 1;
    }
    assert!(count >= target.seeds.len(), "{}: only {count} inputs", target.name);
    eprintln!("{}: {count} inputs in {:?}", target.name, started.elapsed());
}

/// Returns an input with a few changes: bytes changed, removed, doubled, or taken from another input.
pub(super) fn changed(kept: &[Vec<u8>], random: &mut TestRng) -> Vec<u8> {
    let mut below = |bound: usize| random.next_u32() as usize % bound.max(1);
    let mut input = kept[below(kept.len())].clone();
    for _ in 0..1 + below(4) {
        let at = below(input.len() + 1);
        let end = (at + 1 + below(16)).min(input.len()).max(at);
        match below(6) {
            0 if at < input.len() => input[at] ^= 1 << below(8),
            1 => drop(input.drain(at..end)),
            2 => {
                let piece = input[at..end].repeat(1 + below(20));
                input.splice(at..at, piece);
            }
            3 => {
                let other = &kept[below(kept.len())];
                let from = below(other.len() + 1);
                let piece = other[from..(from + 1 + below(40)).min(other.len()).max(from)].to_vec();
                input.splice(at..at, piece);
            }
            4 => input.insert(at, MARKS[below(MARKS.len())]),
            _ => input.insert(at, below(256) as u8),
        }
    }
    input.truncate(MAX_LENGTH);
    input
}
