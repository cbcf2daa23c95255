#![allow(clippy::unwrap_used)]

use super::*;

fn build(folder: &Path, documents: u32, terms: &[(&str, &[u32])]) -> Segment {
    std::fs::create_dir_all(folder).unwrap();
    let sums = Segment::write(folder, documents, |sink| {
        for (term, documents) in terms {
            sink(term.as_bytes(), documents)?;
        }
        Ok(())
    })
    .unwrap();
    open(folder, documents, sums)
}

fn open(folder: &Path, documents: u32, sums: Vec<FileSums>) -> Segment {
    let open = |sums| CheckedFile::open(folder, sums, &Arc::default()).unwrap();
    Segment::new(folder, documents, &sums.into_iter().map(open).collect::<Vec<_>>())
}

fn all(segment: &Segment, term: &str) -> Vec<u32> {
    let mut found = Vec::new();
    if let Some(term) = segment.term(term.as_bytes()).unwrap() {
        let emit = |document| {
            found.push(document);
            Ok(())
        };
        segment.each_doc(&term, &Interrupt::never(), emit).unwrap();
        assert_eq!(found.len(), term.doc_count() as usize);
    }
    found
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
fn intersections_of_posting_lists_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let multiples = |of: u32| (0..5000).filter(|n| n % of == 0).collect::<Vec<u32>>();
    let (two, three, seven) = (multiples(2), multiples(3), multiples(7));
    let segment = build(folder.path(), 5000, &[("2", &two), ("3", &three), ("7", &seven)]);
    let terms: Vec<Term> = ["7", "2", "3"].map(|term| segment.term(term.as_bytes()).unwrap().unwrap()).into();
    let mut found = Vec::new();
    let emit = |document| {
        found.push(document);
        Ok(())
    };
    segment.each_doc_with_all(&terms, &Interrupt::never(), emit).unwrap();
    assert_eq!(found, multiples(42));
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
}

#[test]
fn a_segment_without_terms_opens() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(all(&build(folder.path(), 7, &[]), "a"), [0; 0]);
}
