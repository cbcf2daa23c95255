#![allow(clippy::unwrap_used)]

use super::*;

fn build(folder: &Path, documents: u32, terms: &[(&str, &[u32])]) -> Segment {
    std::fs::create_dir_all(folder).unwrap();
    let fill = &mut |list, sink: &mut TermSink<'_>| {
        for (term, documents) in terms {
            // In the list with counts, the documents have the term once more than their number says.
            let counts: Vec<u32> = documents.iter().map(|document| document + 1).collect();
            let counts = if list == TermList::Counted { counts } else { vec![1; documents.len()] };
            sink(term.as_bytes(), Posting { documents, counts: &counts })?;
        }
        Ok(())
    };
    let sums = Segment::write(folder, documents, fill).unwrap();
    open(folder, documents, sums)
}

fn open(folder: &Path, documents: u32, sums: Vec<FileSums>) -> Segment {
    let open = |sums| CheckedFile::open(folder, sums, &Arc::default()).unwrap();
    Segment::new(folder, documents, &sums.into_iter().map(open).collect::<Vec<_>>())
}

/// The documents of a term, which are the same in both lists.
fn all(segment: &Segment, term: &str) -> Vec<u32> {
    let found = [TermList::Plain, TermList::Counted].map(|list| {
        let Some(term) = segment.term(list, term.as_bytes()).unwrap() else { return Vec::new() };
        let mut documents = Bitmap::default();
        segment.union(std::slice::from_ref(&term), &Interrupt::never(), &mut documents).unwrap();
        assert_eq!(documents.count(), term.doc_count() as usize);
        documents.iter().collect()
    });
    assert_eq!(found[0], found[1]);
    found[0].clone()
}

/// Whether the term has these documents as often as [`build`] writes.
fn has(segment: &Segment, term: &str, documents: &[u32], counts: &[u32]) -> bool {
    let term = segment.term(TermList::Counted, term.as_bytes()).unwrap().unwrap();
    segment.has_all(&term, Posting { documents, counts }).unwrap()
}

#[test]
fn a_term_returns_the_documents_written_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<u32> = (0..1000).filter(|n| n % 3 == 0).collect();
    let segment = build(folder.path(), 1000, &[("a", &[0]), ("ab", &many), ("b", &[5, 999]), ("c", &[])]);
    assert_eq!(all(&segment, "a"), [0]);
    assert_eq!(all(&segment, "ab"), many);
    assert_eq!(all(&segment, "b"), [5, 999]);
    assert_eq!(all(&segment, "c"), [0; 0]);
    assert_eq!(all(&segment, "x"), [0; 0]);
}

#[test]
fn candidates_that_lack_a_term_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let multiples = |of: u32| (0..5000).filter(|n| n % of == 0).collect::<Vec<u32>>();
    let segment = build(folder.path(), 5000, &[("3", &multiples(3)), ("7", &multiples(7))]);
    let mut candidates: Bitmap = multiples(2).into_iter().collect();
    for term in ["7", "3"] {
        let term = segment.term(TermList::Plain, term.as_bytes()).unwrap().unwrap();
        segment.retain(&term, &Interrupt::never(), &mut candidates).unwrap();
    }
    assert_eq!(candidates.iter().collect::<Vec<_>>(), multiples(42));
}

#[test]
fn counts_are_kept_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let segment = build(folder.path(), 5000, &[("a", &[1, 4, 4_000])]);
    assert!(has(&segment, "a", &[1, 4_000], &[2, 4_001]));
    assert!(!has(&segment, "a", &[1, 4_000], &[2, 4_000]));
    assert!(!has(&segment, "a", &[1, 2], &[2, 3]));
    assert!(!has(&segment, "a", &[4_001], &[4_002]));
}

#[test]
fn merging_renumbers_documents_and_drops_those_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let first = build(&folder.path().join("1"), 3, &[("a", &[0, 2]), ("gone", &[1])]);
    let second = build(&folder.path().join("2"), 2, &[("a", &[1]), ("b", &[0, 1])]);
    let target = folder.path().join("3");
    std::fs::create_dir(&target).unwrap();
    let inputs = [
        SegmentInput { segment: &first, new_numbers: vec![Some(0), None, Some(1)] },
        SegmentInput { segment: &second, new_numbers: vec![Some(2), Some(3)] },
    ];
    let sums = Segment::merge(&target, 4, &inputs).unwrap();
    let merged = open(&target, 4, sums);
    assert_eq!(all(&merged, "a"), [0, 1, 3]);
    assert_eq!(all(&merged, "b"), [2, 3]);
    assert_eq!(all(&merged, "gone"), [0; 0]);
    assert!(has(&merged, "a", &[0, 1, 3], &[1, 3, 2]));
}

#[test]
fn a_segment_without_terms_opens() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(all(&build(folder.path(), 7, &[]), "a"), [0; 0]);
}
