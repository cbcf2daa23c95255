use std::path::Path;

use super::*;
use crate::damage::Damage;
use crate::packing::Packer;

#[test]
fn compressed_texts_compare_like_plain_ones() {
    let long = "päckt ".repeat(400);
    let folded = long.replace('p', "q");
    let mut packer = Packer::new(None).expect("memory");
    let whole = packer.pack_behind(&folded, &long).expect("memory");
    let packed = packer.pack(&folded).expect("memory");
    let damage = Damage::default();
    let file = FileDamage { path: Path::new("file"), damage: &damage };
    let folded_packed = PackedFolded { bytes: &packed, dictionary: None, file };
    let raw = |difference| RawText::Packed(PackedText { start: "päck", difference, folded: folded_packed });
    let text = TextRef { raw: raw(&whole), folded: FoldedText::Packed(folded_packed) };
    assert_eq!(text.whole(), long);
    assert_eq!(text.head(), head(&long));
    assert_eq!(text.folded.get(), folded);
    for other in [long.clone(), format!("{long}x"), long[..long.len() - 1].to_owned(), "q".into(), "pä".into()] {
        assert_eq!(text.compare(&other), long.as_str().cmp(&other), "{other:?}");
    }
    assert!(!damage.is_found());
    let text = TextRef { raw: raw(&whole[..whole.len() - 1]), ..text };
    assert_eq!(text.whole(), "päck");
    assert!(damage.is_found());
}

#[test]
fn a_folded_text_that_cannot_be_decompressed_is_damage() {
    let damage = Damage::default();
    let file = FileDamage { path: Path::new("file"), damage: &damage };
    let text = FoldedText::Packed(PackedFolded { bytes: b"other", dictionary: None, file });
    assert_eq!(text.get(), "");
    assert!(damage.is_found());
}

#[test]
fn ranks_sort_as_their_numbers_do() {
    let numbers = [f64::NEG_INFINITY, -1e300, -2.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 2.0, f64::INFINITY];
    assert!(numbers.map(rank_of_number).is_sorted());
    assert_eq!(rank_of_number(-0.0), rank_of_number(0.0));
    assert!([i64::MIN, -1, 0, 1, i64::MAX].map(rank_of_integer).is_sorted());
    assert_eq!(numbers.map(|number| number_of_rank(rank_of_number(number))), numbers);
    assert_eq!([i64::MIN, -1, 0, 7].map(|integer| integer_of_rank(rank_of_integer(integer))), [i64::MIN, -1, 0, 7]);
}

#[test]
fn framing_is_reversible() {
    for elements in [&[][..], &[""], &["", ""], &["a", "", "b,c"]] {
        assert_eq!(unframed(&framed(elements)).collect::<Vec<_>>(), elements);
    }
}
