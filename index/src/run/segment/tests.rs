#![allow(clippy::unwrap_used)]

use super::*;

fn build(folder: &Path, documents: u32, terms: &[(&str, &[u32])]) -> Segment {
    std::fs::create_dir_all(folder).unwrap();
    Segment::write(folder, documents, |writer| {
        for (term, documents) in terms {
            writer.term(term.as_bytes(), documents)?;
        }
        Ok(())
    })
    .unwrap();
    Segment::open(folder, documents).unwrap()
}

fn all(segment: &Segment, term: &str) -> Vec<u32> {
    let mut found = Vec::new();
    if let Some(term) = segment.term(term.as_bytes()).unwrap() {
        segment.each_doc(&term, &mut |document| found.push(document)).unwrap();
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
    segment.verify().unwrap();
}

#[test]
fn intersections_of_posting_lists_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let multiples = |of: u32| (0..5000).filter(|n| n % of == 0).collect::<Vec<u32>>();
    let (two, three, seven) = (multiples(2), multiples(3), multiples(7));
    let segment = build(folder.path(), 5000, &[("2", &two), ("3", &three), ("7", &seven)]);
    let terms: Vec<Term> = ["7", "2", "3"].map(|term| segment.term(term.as_bytes()).unwrap().unwrap()).into();
    let mut found = Vec::new();
    segment.each_doc_with_all(&terms, &mut |document| found.push(document)).unwrap();
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
    Segment::merge(&target, 4, &inputs).unwrap();
    let merged = Segment::open(&target, 4).unwrap();
    assert_eq!(all(&merged, "a"), [0, 1, 3]);
    assert_eq!(all(&merged, "b"), [2, 3]);
    assert_eq!(all(&merged, "gone"), [0; 0]);
}

#[test]
fn a_segment_without_terms_opens() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(all(&build(folder.path(), 7, &[]), "a"), [0; 0]);
}

#[test]
fn truncated_and_changed_files_are_detected() {
    for extension in directory::ON_DISK {
        let folder = tempfile::tempdir().unwrap();
        let segment = build(folder.path(), 2, &[("a", &[0, 1])]);
        let path = folder.path().join(&paths(&segment.index)[0]).with_extension(extension);
        drop(segment);
        let bytes = std::fs::read(&path).unwrap();
        for length in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(Segment::open(folder.path(), 2).is_err(), "{extension} truncated to {length}");
        }
        let mut changed = bytes.clone();
        changed[0] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        if let Ok(segment) = Segment::open(folder.path(), 2) {
            assert!(segment.verify().is_err(), "{extension} changed");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Segment::open(folder.path(), 2).is_err(), "{extension} removed");
    }
}
