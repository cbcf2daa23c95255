#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::bitmap::Bitmap;
use crate::collate::Collation;
use crate::damage::Damage;
use crate::error::Error;
use crate::ids::{IdSet, text_of};
use crate::interrupt::Interrupt;
use crate::predicate::PreparedPredicate;
use crate::query::{Anchor, Bound, Predicate, Range};
use crate::run::columns::{self, Encoding};
use crate::run::memory::Document;
use crate::run::orders::KeyKind;
use crate::run::sums::{self, RunFolder};
use crate::schema::{Column, ColumnId, Kind, Schema, Value, exact_hash};
use crate::value::{FoldedText, RawText, TextRef, ValueRef};

const KINDS: [Kind; 8] =
    [Kind::Text, Kind::Prose, Kind::Plain, Kind::Markup, Kind::Number, Kind::Bool, Kind::Instant, Kind::List];

fn columns() -> impl Iterator<Item = Column> {
    (0..).zip(KINDS).map(|(id, kind)| Column { id, kind })
}

/// Returns short and long texts, folded and not, numbers and not.
fn text() -> BoxedStrategy<String> {
    prop_oneof![
        8 => "[abAB\u{c4}\u{df}\u{1f600},]{0,6}",
        6 => "[abc ,.日本]{0,10}",
        4 => "(of|the|nel|日|)( |, |     |      |\\. )(the|of|kern|日|)( |-|     |)(of|x|)",
        1 => "[ab ]{0,2}a{63,66}[b ]{0,3}",
        2 => "-?[0-3]{1,2}(\\.5)?",
        1 => "[aB\u{e4}]{250,262}",
        3 => (0u128..6).prop_map(|id| String::from_utf8_lossy(&text_of(id)).into_owned()),
        1 => "[ab]{0,3}".prop_map(|end| "a Long one, ".repeat(120) + &end),
    ]
    .boxed()
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-0.0), Just(1.5), Just(-3.0), Just(1e21), (-5..5).prop_map(f64::from)]
}

fn value(kind: Kind) -> BoxedStrategy<Value> {
    let shared = |text: String| Arc::<str>::from(text);
    match kind {
        Kind::Text | Kind::Prose | Kind::Plain => text().prop_map(move |text| Value::Text(shared(text))).boxed(),
        Kind::Markup => (text(), text())
            .prop_map(move |(exact, text)| Value::Markup { exact: exact_hash(&exact), text: shared(text) })
            .boxed(),
        Kind::Number => number().prop_map(Value::Number).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Instant => (-3i64..3, "2026-0[1-3]T[01]Z")
            .prop_map(move |(micros, text)| Value::Instant { micros, text: shared(text) })
            .boxed(),
        Kind::List => prop::collection::vec(text(), 0..4)
            .prop_map(move |elements| Value::List(elements.into_iter().map(shared).collect()))
            .boxed(),
    }
}

fn document() -> impl Strategy<Value = Vec<(ColumnId, Value)>> {
    let one = |column: Column| {
        // Sometimes a value of another kind, as after a change of the column's kind.
        let other = value(KINDS[(column.id as usize + 1) % KINDS.len()]);
        prop_oneof![3 => Just(None), 9 => value(column.kind).prop_map(Some), 1 => other.prop_map(Some)]
            .prop_map(move |value| value.map(|value| (column.id, value)))
    };
    columns().map(one).collect::<Vec<_>>().prop_map(|values| values.into_iter().flatten().collect())
}

fn documents(first: u32, values: &[Vec<(ColumnId, Value)>]) -> Vec<Arc<Document>> {
    (first..).zip(values).map(|(slot, values)| Arc::new(Document::new(slot, values.clone()))).collect()
}

fn range<T: Clone + std::fmt::Debug + 'static>(value: BoxedStrategy<T>) -> impl Strategy<Value = Range<T>> {
    let bound = prop_oneof![
        Just(None),
        value.clone().prop_map(|value| Some(Bound::Included(value))),
        value.prop_map(|value| Some(Bound::Excluded(value)))
    ];
    (bound.clone(), bound).prop_map(|(from, to)| Range { from, to })
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let anchor = prop_oneof![Just(Anchor::Anywhere), Just(Anchor::Start), Just(Anchor::End)];
    let needle = prop_oneof![
        text(),
        "[abAB\u{e4}s]{0,5}",
        "(long|one, a l|e, a|T[01]|-0[12]|tru)",
        "[abc ,日本]{1,5}",
        "(f|of|el|日|)( |, |     )(t|the|k|日|)( |)",
        "[a ]{0,1}a{62,65}b?",
    ];
    let exact = prop_oneof![text(), "(true|false|1.5|0|-0|1e\\+21|a,b)"];
    prop_oneof![
        Just(Predicate::Null),
        exact.prop_map(Predicate::Equals),
        range(number().boxed()).prop_map(Predicate::Number),
        range(text()).prop_map(Predicate::Text),
        range((-3i64..3).boxed()).prop_map(Predicate::Instant),
        (anchor, needle).prop_map(|(anchor, needle)| Predicate::Substring(anchor, needle)),
        text().prop_map(Predicate::Has),
        (prop::collection::vec(0u128..6, 0..5), any::<bool>(), any::<bool>()).prop_map(
            |(ids, is_large, is_complement)| {
                let set = IdSet::of(ids.into_iter().chain((100..200).filter(|_| is_large)));
                Predicate::AnyId(if is_complement { set.complement() } else { set })
            }
        ),
    ]
}

fn build(folder: &Path, documents: &[Arc<Document>]) -> DiskRun {
    build_beside(None, folder, documents)
}

fn build_beside(neighbor: Option<&DiskRun>, folder: &Path, documents: &[Arc<Document>]) -> DiskRun {
    DiskRun::build(
        folder,
        documents,
        neighbor,
        &Schema { columns: columns().collect(), variants: Vec::new() },
        &Collation::of(None),
        &Arc::default(),
    )
    .unwrap()
}

/// Opens the files of a run again, so that nothing is checked yet.
fn open(run: &DiskRun) -> Result<DiskRun, Error> {
    DiskRun::open(&run.folder, run.sums_crc(), &Arc::default())
}

fn reopen(run: &DiskRun) -> DiskRun {
    open(run).unwrap()
}

fn evaluate(run: &DiskRun, column: Column, predicate: &PreparedPredicate) -> Vec<u32> {
    let mut found = Bitmap::default();
    run.evaluate(column, predicate, &Interrupt::never(), &mut found).unwrap();
    found.iter().collect()
}

/// Returns a value in a comparable form, regardless of whether a long text is compressed.
fn plain(value: ValueRef<'_>) -> String {
    let text = |text: TextRef<'_>| format!("{:?}", (text.head(), text.whole(), text.folded.get()));
    match value {
        ValueRef::Text(value) => text(value),
        ValueRef::Markup { exact, text: value } => format!("{exact:?}{}", text(value)),
        other => format!("{other:?}"),
    }
}

/// Checks that the run returns what its documents hold.
fn check(run: &DiskRun, documents: &[Arc<Document>], predicates: &[Predicate]) {
    assert_eq!(run.len() as usize, documents.len());
    run.verify().unwrap();
    for (number, document) in (0..).zip(documents) {
        assert_eq!(run.slot(number), document.slot);
    }
    for column in columns() {
        let values = || (0..).zip(documents.iter().map(|document| document.value(column.id)));
        for (number, value) in values() {
            assert_eq!(plain(run.value(number, column.id)), plain(value), "column {}", column.id);
        }
        let mut present = Bitmap::default();
        run.present(column.id, &Interrupt::never(), &mut present).unwrap();
        assert_eq!(
            Vec::from_iter(present.iter()),
            Vec::from_iter(values().filter(|(_, value)| !value.is_null()).map(|(number, _)| number))
        );
        for predicate in predicates {
            let prepared = PreparedPredicate::new(predicate);
            let expected = values().filter(|(_, value)| !value.is_null() && prepared.matches(column.kind, *value));
            let expected = Vec::from_iter(expected.map(|(number, _)| number));
            assert_eq!(evaluate(run, column, &prepared), expected, "{predicate:?} on {column:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_run_matches_the_same_documents_as_a_test_of_each(
        first in prop::collection::vec(document(), 0..20),
        second in prop::collection::vec(document(), 0..20),
        kept in prop::collection::vec(any::<bool>(), 40),
        mut predicates in prop::collection::vec(predicate(), 12),
    ) {
        // Uses values of documents, so that many predicates have matches.
        for value in first.iter().flatten().take(8) {
            match &value.1 {
                Value::Text(text) => predicates.push(Predicate::Equals(text.to_string())),
                Value::List(list) if !list.is_empty() => predicates.push(Predicate::Has(list[0].to_string())),
                _ => {}
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (documents(0, &first), documents(100, &second));
        let a = build(&folder.path().join("a"), &first);
        let b = build(&folder.path().join("b"), &second);
        check(&a, &first, &predicates);
        check(&b, &second, &predicates);

        let (in_a, in_b) = (&kept[..first.len()], &kept[20..20 + second.len()]);
        let marked = |kept: &[bool]| {
            Arc::new((0..).zip(kept).filter(|(_, kept)| **kept).map(|(number, _)| number).collect::<Bitmap>())
        };
        let inputs = [
            MergeInput { run: Arc::new(a), live_docs: marked(in_a) },
            MergeInput { run: Arc::new(b), live_docs: marked(in_b) },
        ];
        let merged = DiskRun::merge(RunFolder::to_end(&folder.path().join("c")), &inputs, &Collation::of(None), &Arc::default()).unwrap();
        let left = first.iter().zip(in_a).chain(second.iter().zip(in_b)).filter(|(_, kept)| **kept);
        let left = Vec::from_iter(left.map(|(document, _)| document.clone()));
        check(&merged, &left, &predicates);
        check(&reopen(&merged), &left, &predicates);
    }
}

#[test]
fn long_texts_are_compressed_and_short_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["x".repeat(256), "x".repeat(257), "x".repeat(1024), "x".repeat(1025)];
    let values: Vec<_> = texts.iter().map(|text| vec![(1, Value::Text(text.as_str().into()))]).collect();
    let run = build(&folder.path().join("a"), &documents(0, &values));
    let is_packed = |document| match run.value(document, 1) {
        ValueRef::Text(text) => matches!(text.raw, RawText::Packed(_)),
        other => panic!("{other:?}"),
    };
    assert_eq!([0, 1, 2, 3].map(is_packed), [false, false, false, true]);
}

/// So many documents that words are searched for those with the same end. Only documents in which other words fit the
/// joint of a needle are read.
#[test]
fn a_needle_of_two_words_is_found_where_they_stand_together() {
    let temp = tempfile::tempdir().unwrap();
    let lefts = ["this", "his", "xthis", "chassis", "is", "THIS"];
    let rights = ["device", "dev", "devices", "developer", "de", "it"];
    let gaps = [" ", " ", " ", ", ", "     ", "-日"];
    let long = "a".repeat(70);
    let text = |number: usize| {
        if number.is_multiple_of(3) {
            return "without any of them".to_owned();
        }
        let pair = |seed: usize| [lefts[seed % 6], gaps[seed / 6 % 6], rights[seed / 36 % 6]].concat();
        let end = if number.is_multiple_of(97) { [&long, "this device"].concat() } else { pair(number * 31 + 7) };
        [pair(number), ". ".to_owned(), pair(number * 7 + number / 5), "; ".to_owned(), end].concat()
    };
    let column = columns().find(|column| column.kind == Kind::Prose).unwrap();
    let values = |number| vec![(column.id, Value::Text(text(number).into()))];
    let documents = documents(0, &(0..1_500).map(values).collect::<Vec<_>>());
    let run = build(temp.path(), &documents);
    let needles = [
        "this device",
        "his device",
        "this dev",
        "s device",
        "this  devices",
        "this, devi",
        "xthis device",
        "this ",
        "this, ",
        " device",
        "  devel",
        "is de",
        "chassis-developer",
        "this device.",
        "that device",
        "athis device",
    ];
    let predicates: Vec<Predicate> = needles
        .iter()
        .flat_map(|needle| [Anchor::Anywhere, Anchor::Start, Anchor::End].map(|anchor| (anchor, *needle)))
        .map(|(anchor, needle)| Predicate::Substring(anchor, needle.to_owned()))
        .collect();
    check(&run, &documents, &predicates);
}

#[test]
fn many_long_texts_share_a_dictionary_which_neighbors_and_merged_runs_take_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let sentence = |number: usize| format!("The {} of Part {} is {}. ", number * 7919, number % 977, number * 31);
    let text = |number: usize| (0..60).map(|index| sentence((number * 17 + index * index) % 3001)).collect::<String>();
    let values = |numbers: std::ops::Range<usize>| {
        let text = |number| Value::Text(text(number).as_str().into());
        Vec::from_iter(numbers.map(|number| vec![(1, text(number))]))
    };
    let (many, others) = (documents(0, &values(0..4_000)), documents(10_000, &values(4_000..8_000)));
    let few = documents(20_000, &values(8_000..8_100));
    let large = build(&path("large"), &many);
    let dictionary = |run: &DiskRun| run.columns.dictionary(1, Encoding::Text).map(<[u8]>::to_vec);
    let made = dictionary(&large);
    assert!(made.is_some());
    assert_eq!(dictionary(&build_beside(Some(&large), &path("neighbor"), &others)), made);
    let small = build_beside(Some(&large), &path("small"), &few);
    assert_eq!(dictionary(&small), None, "few texts have none");
    let stranger = build(&path("stranger"), &others);
    assert!(dictionary(&stranger).is_some_and(|other| Some(other) != made));

    let all = |run: DiskRun| MergeInput { live_docs: Arc::new((0..run.len()).collect()), run: Arc::new(run) };
    let inputs = [large, small, stranger].map(all);
    let merge = |name: &str, inputs: &[MergeInput]| {
        DiskRun::merge(RunFolder::to_end(&path(name)), inputs, &Collation::of(None), &Arc::default()).unwrap()
    };
    let merged = merge("merged", &inputs);
    let documents = [many, few, others].concat();
    for run in [&merged, &reopen(&merged), &merge("again", &[all(reopen(&merged))])] {
        assert!(dictionary(run).is_some());
        run.verify().unwrap();
        let same = (0..).zip(&documents).all(|(number, document)| run.value(number, 1).is_same(&document.value(1)));
        assert!(same);
    }
    // Those of the small run are compressed with the dictionary now.
    let packed = |run: &DiskRun, number| match run.value(number, 1) {
        ValueRef::Text(TextRef { folded: FoldedText::Packed(packed), .. }) => packed.bytes.len(),
        other => panic!("{other:?}"),
    };
    assert!(
        (0..100).map(|number| packed(&inputs[1].run, number)).sum::<usize>()
            > 2 * (4_000..4_100).map(|number| packed(&merged, number)).sum::<usize>()
    );
    let fewer = merge("fewer", &[all(reopen(&inputs[1].run))]);
    assert_eq!(dictionary(&fewer), None);
}

#[test]
fn a_damaged_dictionary_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let value = |number: usize| vec![(1, Value::Text(format!("Number {number}. ").repeat(200).as_str().into()))];
    let run = build(&folder.path().join("a"), &documents(0, &Vec::from_iter((0..3_000).map(value))));
    let stored = run.columns.dictionary(1, Encoding::Text).unwrap().to_vec();
    let file = folder.path().join("a").join(columns::FILE);
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(stored.len()).position(|window| window == stored).unwrap();
    // The first block of the file is checked when it is opened.
    bytes[at + stored.len() - 100] ^= 1;
    fs::write(&file, bytes).unwrap();
    let damage = Arc::default();
    let run = DiskRun::open(&run.folder, run.sums_crc(), &damage).unwrap();
    assert!(matches!(run.value(0, 1), ValueRef::Text(text) if text.whole().is_empty() || damage.is_found()));
    assert!(damage.is_found());
}

#[test]
fn a_damaged_slot_is_damage_and_is_no_great_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let values: Vec<Vec<(ColumnId, Value)>> = vec![Vec::new(); 40_000];
    let run = build(&path, &documents(0, &values));
    let file = path.join(columns::FILE);
    let mut bytes = fs::read(&file).unwrap();
    // The file begins with its slots. Its first and its last block are checked when it is opened, this one is not.
    bytes[sums::BLOCK + 1_000] ^= 1;
    fs::write(&file, bytes).unwrap();
    let damage = Arc::default();
    let run = DiskRun::open(&run.folder, run.sums_crc(), &damage).unwrap();
    let slots: Vec<u32> = (0..run.len()).step_by(1_000).map(|document| run.slot(document)).collect();
    assert!(damage.is_found());
    assert!(slots.iter().all(|slot| *slot < run.len()), "{slots:?}");
}

#[test]
fn an_unlinked_run_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let documents = documents(3, &[vec![(0, Value::Text("Some text".into()))]]);
    let run = build(&folder.path().join("a"), &documents);
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    check(&run, &documents, &[Predicate::Substring(Anchor::Anywhere, "ME TE".to_owned())]);
}

#[test]
fn verify_detects_terms_that_do_not_match_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let text = |text: &str| Value::Text(text.into());
    let list = |element: &str| Value::List(vec!["x".into(), element.into()]);
    let right = vec![vec![(0, text("one"))], vec![(0, text("two")), (6, list("y"))]];
    let wrong = [
        vec![vec![(0, text("one"))], vec![(0, text("TWO")), (6, list("y"))]],
        vec![vec![(0, text("two"))], vec![(0, text("one")), (6, list("y"))]],
        vec![vec![(0, text("one"))], vec![(0, text("two")), (6, list("z"))]],
        vec![vec![(0, text("one"))], vec![(0, text("two"))]],
        vec![vec![(0, text("one")), (6, list("y"))], vec![(0, text("two")), (6, list("y"))]],
    ];
    for (index, wrong) in wrong.iter().enumerate() {
        let [a, b, both] = ["a", "b", "both"].map(|name| folder.path().join(format!("{name}{index}")));
        let (right, wrong) = (build(&a, &documents(0, &right)), build(&b, &documents(0, wrong)));
        right.verify().unwrap();
        // Combines the columns of one run with the terms of another, with valid checksums.
        fs::create_dir(&both).unwrap();
        for file in fs::read_dir(&a).unwrap().map(|entry| entry.unwrap().file_name()) {
            let from = if file == "columns" { &b } else { &a };
            fs::copy(from.join(&file), both.join(&file)).unwrap();
        }
        let mut files = sums::read(&a, right.sums_crc()).unwrap();
        files[0] = sums::read(&b, wrong.sums_crc()).unwrap().swap_remove(0);
        fs::remove_file(both.join("sums")).unwrap();
        let crc = sums::write(&both, &files).unwrap();
        let error = DiskRun::open(&both, crc, &Arc::default()).unwrap().verify().unwrap_err();
        assert!(error.to_string().ends_with("the inverted index does not match the columns"), "{error}");
    }
}

#[test]
fn verify_detects_orders_that_do_not_match_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (text, number) = (|text: &str| (0, Value::Text(text.into())), |number| (3, Value::Number(number)));
    let long = "a text with a long collation key, ";
    let values = |texts: [&str; 3], numbers: [f64; 3]| {
        texts
            .iter()
            .zip(numbers)
            .map(|(end, value)| vec![text(&format!("{long}{end}")), number(value)])
            .collect::<Vec<_>>()
    };
    let right = values(["a", "b", "b"], [1.0, 2.0, 2.0]);
    let wrong = [
        values(["b", "a", "b"], [1.0, 2.0, 2.0]),
        values(["a", "b", "c"], [1.0, 2.0, 2.0]),
        values(["b", "b", "b"], [1.0, 2.0, 2.0]),
        values(["a", "b", "b"], [1.0, 2.0, 3.0]),
        values(["a", "b", "b"], [2.0, 1.0, 2.0]),
        values(["a", "b", "b"], [1.0, 3.0, 3.0]),
        vec![
            vec![text(&format!("{long}a")), number(1.0)],
            vec![text(&format!("{long}b")), number(2.0)],
            vec![number(2.0)],
        ],
        right.iter().map(|values| values[1..].to_vec()).collect(),
        right[..2].to_vec(),
    ];
    for (index, wrong) in wrong.iter().enumerate() {
        let [a, b, both] = ["a", "b", "both"].map(|name| folder.path().join(format!("{name}{index}")));
        let (right, wrong) = (build(&a, &documents(0, &right)), build(&b, &documents(0, wrong)));
        fs::create_dir(&both).unwrap();
        for file in fs::read_dir(&a).unwrap().map(|entry| entry.unwrap().file_name()) {
            let from = if file == "orders" { &b } else { &a };
            fs::copy(from.join(&file), both.join(&file)).unwrap();
        }
        let orders = |folder: &Path, crc| {
            let files = sums::read(folder, crc).unwrap();
            (files.iter().position(|file| file.name == "orders").unwrap(), files)
        };
        let (at, mut files) = orders(&a, right.sums_crc());
        let (from, mut others) = orders(&b, wrong.sums_crc());
        files[at] = others.swap_remove(from);
        fs::remove_file(both.join("sums")).unwrap();
        let crc = sums::write(&both, &files).unwrap();
        let error = DiskRun::open(&both, crc, &Arc::default()).unwrap().verify().unwrap_err();
        assert!(error.to_string().ends_with("the orders do not match the columns"), "{index}: {error}");
    }
}

/// Damages each file of a run in many places and reads everything in it. Each answer must be the same as before, or
/// damage must be reported.
#[test]
fn whatever_a_damaged_run_answers_is_right_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let value = |number: u32| {
        vec![
            (0, Value::Text(noise(number, 3_000).into())),
            (3, Value::Number(f64::from(number / 2))),
            (6, Value::List(vec!["a".into()])),
        ]
    };
    let values: Vec<_> = (0..70).map(value).collect();
    let run = build(&path, &documents(0, &values));
    let expected = everything(&run);
    let mut reported = 0;
    for file in fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&file).unwrap();
        let places = (0..bytes.len()).step_by(1 + bytes.len() / 40);
        for at in places.clone().chain(bytes.len().saturating_sub(40)..bytes.len()) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x81;
            // A new file each time: file systems flush a file that is truncated and rewritten, which is slow.
            fs::remove_file(&file).unwrap();
            fs::write(&file, &changed).unwrap();
            let damage = Arc::new(Damage::default());
            let Ok(run) = DiskRun::open(&path, run.sums_crc(), &damage) else { continue };
            let found = everything(&run);
            assert!(damage.is_found() || found == expected, "byte {at} of {}", file.display());
            reported += usize::from(damage.is_found());
            assert!(run.verify().is_err(), "byte {at} of {}", file.display());
        }
        for length in places {
            fs::remove_file(&file).unwrap();
            fs::write(&file, &bytes[..length]).unwrap();
            assert!(open(&run).is_err(), "{} truncated to {length}", file.display());
        }
        fs::remove_file(&file).unwrap();
        assert!(open(&run).is_err(), "without {}", file.display());
        fs::write(&file, &bytes).unwrap();
    }
    assert!(reported > 40, "{reported}");
}

/// This many letters that hardly shrink when they are compressed, so that files have several blocks.
pub(crate) fn noise(seed: u32, letters: usize) -> String {
    let mut state = u64::from(seed);
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b" ABCDEFGHIJKLMNOPQRSTUVWXYZabcde"[(state >> 59) as usize])
    };
    (0..letters).map(letter).collect()
}

/// Returns everything that a run can answer: every value, and predicates for each way of evaluation.
fn everything(run: &DiskRun) -> Vec<String> {
    let mut all: Vec<String> = (0..run.len()).map(|document| run.slot(document).to_string()).collect();
    let predicates = [
        Predicate::Substring(Anchor::Start, "text".to_owned()),
        Predicate::Substring(Anchor::Anywhere, "ttext".to_owned()),
        Predicate::Text(Range { from: None, to: None }),
        Predicate::Equals("Text".repeat(400)),
        Predicate::Has("a".to_owned()),
        Predicate::Number(Range { from: Some(Bound::Included(4.0)), to: Some(Bound::Included(10.0)) }),
        Predicate::Number(Range { from: Some(Bound::Included(4.0)), to: None }),
    ];
    for column in columns() {
        for kind in [KeyKind::Rank, KeyKind::Text] {
            let orders = run.order(column.id, kind, &Collation::of(None)).into_iter().flatten();
            all.extend(orders.flat_map(|order| {
                (0..order.groups()).map(move |group| {
                    let documents: Vec<u32> = order.group(group).map(|index| order.document(index)).collect();
                    format!("{} {documents:?}", order.key(group))
                })
            }));
        }
        all.extend((0..run.len()).map(|document| plain(run.value(document, column.id))));
        all.push(format!("{:?}", run.ordinals(column.id, &Interrupt::never())));
        let documents = (0..run.len()).collect();
        let emit = |_, number: f64| all.push(number.to_string());
        run.each_number(column.id, &documents, &Interrupt::never(), emit).unwrap();
        for predicate in &predicates {
            let mut found = Bitmap::default();
            let prepared = PreparedPredicate::new(predicate);
            let result = run.evaluate(column, &prepared, &Interrupt::never(), &mut found);
            all.push(format!("{found:?} {}", result.is_ok()));
        }
    }
    all
}

#[test]
fn a_sector_that_cannot_be_read_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let values = vec![vec![(0, Value::Text("Some text".into()))]];
    let run = build(&folder.path().join("a"), &documents(0, &values));
    let damage = Arc::new(Damage::default());
    let run = DiskRun::open(&folder.path().join("a"), run.sums_crc(), &damage).unwrap();
    // The file shrinks under the memory map. Touching the map there would end the process.
    let file = fs::File::options().write(true).open(folder.path().join("a/columns")).unwrap();
    file.set_len(0).unwrap();
    for file in &run.files {
        assert_eq!(file.verify().is_err(), file.name() == "columns");
    }
    assert!(damage.check().unwrap_err().to_string().contains("cannot be read"));
}
