#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::bitmap::Bitmap;
use crate::interrupt::Interrupt;
use crate::run::checked::CheckedFile;
use crate::run::sums::{RunFolder, SummedFile};

/// Writes a file with these lists, with and without counts, after some other bytes. The count of a document is its
/// number modulo 5, plus one.
fn write(folder: &Path, lists: &[Vec<u32>]) -> (PostingLists, Vec<[PostingList; 2]>) {
    let mut bytes = vec![7; 100];
    let mut encoder = PostingEncoder::default();
    for documents in lists {
        for counts in [Vec::new(), counts(documents)] {
            encoder.put(Posting { documents, counts: &counts }, &mut bytes).unwrap();
        }
    }
    let mut file = SummedFile::create(RunFolder::to_end(folder), "lists", "test").unwrap();
    file.write_all(&bytes).unwrap();
    let sums = file.finish().unwrap();
    let reader = PostingLists::new(&CheckedFile::open(folder, sums, &Arc::default()).unwrap(), 10_000);
    let mut at = 100;
    let mut next = |has_counts| {
        let (list, next) = reader.list_at(at, has_counts).unwrap();
        at = next;
        list
    };
    let found = lists.iter().map(|_| [next(false), next(true)]).collect();
    assert_eq!(at, bytes.len());
    (reader, found)
}

fn counts(documents: &[u32]) -> Vec<u32> {
    documents.iter().map(|document| document % 5 + 1).collect()
}

fn multiples(of: u32) -> Vec<u32> {
    (0..5_000).filter(|n| n % of == 0).collect()
}

fn lists() -> Vec<Vec<u32>> {
    let first = |count: usize| multiples(3).into_iter().take(count).collect::<Vec<_>>();
    vec![vec![0], vec![9_999], vec![5, 999], first(127), first(128), first(129), first(256), multiples(3), multiples(7)]
}

#[test]
fn a_list_returns_what_was_written_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, found) = write(folder.path(), &lists());
    let mut reused = ReusedBlocks::default();
    for (documents, [plain, counted]) in lists().iter().zip(found) {
        for (list, counts) in [(plain, vec![1; documents.len()]), (counted, counts(documents))] {
            let mut read = Vec::new();
            reader.each(list, &mut reused, |document, count| read.push((document, count))).unwrap();
            assert_eq!(read, Vec::from_iter(documents.iter().copied().zip(counts)));
            let mut union = Bitmap::default();
            reader.union(&[list], &Interrupt::never(), &mut union).unwrap();
            assert_eq!(
                (union.iter().collect::<Vec<_>>(), list.doc_count()),
                (documents.clone(), documents.len() as u32)
            );
        }
    }
}

#[test]
fn candidates_that_a_list_lacks_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, found) = write(folder.path(), &lists());
    for (documents, lists) in lists().iter().zip(found) {
        for list in lists {
            let mut candidates: Bitmap = multiples(2).into_iter().collect();
            reader.retain(list, &Interrupt::never(), &mut candidates).unwrap();
            let expected = documents.iter().copied().filter(|document| document % 2 == 0 && *document < 5_000);
            assert_eq!(candidates.iter().collect::<Vec<_>>(), Vec::from_iter(expected));
        }
    }
}

#[test]
fn counts_are_kept_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, found) = write(folder.path(), &[vec![1, 4, 4_003], multiples(3)]);
    let has = |list, documents: &[u32], counts: &[u32]| reader.has_all(list, Posting { documents, counts }).unwrap();
    let [[short_plain, short], [_, long]] = found[..] else { panic!() };
    assert!(has(short, &[1, 4_003], &[2, 4]));
    assert!(!has(short, &[1, 4_003], &[2, 3]));
    assert!(!has(short, &[1, 2], &[2, 3]));
    assert!(!has(short, &[4_004], &[5]));
    assert!(has(short_plain, &[1, 4_003], &[]));
    assert!(!has(short_plain, &[1, 4_002], &[]));
    assert!(!has(short_plain, &[1], &[2]));
    assert!(has(long, &[3, 4_500], &[4, 1]));
    assert!(!has(long, &[3, 4_500], &[4, 2]));
    assert!(!has(long, &[3, 4_501], &[4, 2]));
}
