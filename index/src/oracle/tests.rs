//! Random histories and queries: compares the engine with the oracle after every step.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::ids::IdSet;
use crate::index::{Index, ReplacedRun};
use crate::interrupt::Interrupt;
use crate::language::Language;
use crate::options::Options;
use crate::query::SortKey;
use crate::run::{DiskRun, MemoryRun, MergeInput, NumberedRun, Run, RunFolder};
use crate::schema::{Column, Variant};
use crate::search::Snapshot;
use crate::text_query::{Expansion, Pin, SynonymEntry, Synonymous, Synonyms, TextField, TextQuery, Words};

mod aggregates;
mod relevance;
mod stored;

const KINDS: [Kind; 8] =
    [Kind::Text, Kind::Prose, Kind::Plain, Kind::Markup, Kind::Number, Kind::Bool, Kind::Instant, Kind::List];
const VARIANTS: [VariantNumber; 2] = [1, 2];
/// A column that does not exist. Columns 0 to 9 are of random kinds.
const UNKNOWN: ColumnId = 50;
const COLUMNS: usize = 10;

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Apply(Vec<IndexOp>),
    /// Keeps the first columns (a removed column never comes back). Keeps the second variant, with or without its
    /// locale, or removes it.
    Schema {
        columns: usize,
        second: bool,
        keeps_locale: bool,
    },
    /// Freezes the growing runs, then merges all runs of a variant into one.
    Merge(VariantNumber),
    /// Keeps a snapshot until the end.
    Hold,
}

fn texts() -> impl Strategy<Value = String> {
    let long = |end: &str, count| format!("{}{end}", "x".repeat(count));
    let corpus: Vec<String> = [
        "",
        "a",
        "A",
        "b",
        "B",
        "ab",
        "aB",
        "ß",
        "SS",
        "ss",
        "ẞ",
        "İ",
        "i",
        "ı",
        "I",
        "Σ",
        "σ",
        "ς",
        "ΌΣ",
        "ﬃ",
        "ffi",
        "e",
        "e\u{301}",
        "é",
        "É",
        "\u{301}",
        "\u{327}\u{301}",
        "ä",
        "z",
        "Z",
        "å",
        "👨‍👩‍👧",
        "👨",
        "\u{200d}",
        "漢字",
        "字",
        "한글",
        "%",
        "_",
        "a_b",
        "a%b",
        "\"",
        "'",
        ",",
        "a,b",
        ",,",
        "\\",
        "\\,",
        "\0",
        "a\0b",
        " ",
        "a b",
        "  ",
        "kernel",
        "getInt32",
        "DataView.getInt32 l'Int",
        "Ordnung Gewerbe",
        "Gewerbeordnungen, Gewerbeordnung",
        "U.S.A. HTMLElement",
        "Int.Collections.Generic.IReadOnlyKernel.TryGetInt32 a1b2c3d4e5 aB1cD2eF3gH",
        "get\u{ad}Int\u{200d}32 kern\u{ad}el\u{200f} a\u{200c}b",
        "int kernel ordnung",
        "Kernels",
        "a kenrel, b",
        "internationalization",
        "intrenatoinalization",
        "Ünïcödé",
        "日本語の",
        "サーバーの本",
        "日本",
        "\n",
        "0",
        "-0",
        "9",
        "10",
        "10.0",
        "1e1",
        "-3.5",
        "1e999",
        "01",
        "+1",
        ".5",
        "NaN",
        "true",
        "false",
        "null",
        "2026-01-01T00:00:00Z",
        "\u{10FFFF}",
        "\u{FFFD}",
        "\u{FEFF}",
        "<p>a</p>",
        "Ǆ",
        "ǅ",
        "ſ",
        "K",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([
        long("", 255),
        long("", 256),
        long("a", 256),
        long("B", 256),
        long("10", 300),
        "é".repeat(257),
        "e\u{301}".repeat(130),
    ])
    .chain(["Ab ".repeat(1_000)])
    .collect();
    let one = proptest::sample::select(corpus);
    let ids = (0u128..12).prop_map(|id| String::from_utf8_lossy(&crate::ids::text_of(id)).into_owned());
    prop_oneof![4 => one.clone(), 2 => vec(one, 2..4).prop_map(|texts| texts.concat()), 1 => "\\PC{0,6}", 2 => ids]
}

fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::sample::select(vec![0.0, -0.0, 1.0, -3.5, 9.0, 10.0, 1e21, 1e-7, 9007199254740991.0, 0.1]),
        (-5i32..12).prop_map(f64::from),
    ]
}

fn values(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Text | Kind::Prose | Kind::Plain => texts().prop_map(|text| Value::Text(text.into())).boxed(),
        Kind::Markup => (texts(), any::<bool>())
            .prop_map(|(text, tagged)| {
                let exact = if tagged { format!("<p>{text}</p>") } else { text.clone() };
                Value::Markup { exact: exact_hash(&exact), text: text.into() }
            })
            .boxed(),
        Kind::Number => numbers().prop_map(Value::Number).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Instant => (-3i64..4, "2026-0[1-3]-01T00:00:0[0-3][zZ]")
            .prop_map(|(micros, text)| Value::Instant { micros, text: text.into() })
            .boxed(),
        Kind::List => {
            vec(texts(), 0..4).prop_map(|elements| Value::List(elements.into_iter().map(Arc::from).collect())).boxed()
        }
    }
}

fn copies(kinds: Vec<Kind>) -> impl Strategy<Value = Copy> {
    let columns: Vec<_> = kinds.into_iter().map(|kind| proptest::option::weighted(0.7, values(kind))).collect();
    (0u64..1_000, columns).prop_map(|(number, values)| Copy {
        number,
        values: (0..).zip(values).filter_map(|(column, value)| Some((column, value?))).collect(),
    })
}

fn stamps() -> impl Strategy<Value = Stamps> {
    (any::<u64>(), 0i64..5, 0i64..5, proptest::option::of(0i64..5))
        .prop_map(|(version, created, updated, published)| Stamps { version, created, updated, published })
}

fn ops(kinds: Vec<Kind>) -> impl Strategy<Value = IndexOp> {
    let copy = (1u16..4, proptest::option::weighted(0.85, copies(kinds)));
    let put =
        (0u128..24, stamps(), vec(copy, 0..3)).prop_map(|(id, stamps, copies)| IndexOp::Put { id, stamps, copies });
    prop_oneof![4 => put, 1 => (0u128..24).prop_map(|id| IndexOp::Delete { id })]
}

fn steps(kinds: Vec<Kind>) -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => vec(ops(kinds.clone()), 0..4).prop_map(Step::Apply),
        2 => vec(ops(kinds), 5..20).prop_map(Step::Apply),
        1 => (3..=COLUMNS, proptest::bool::weighted(0.8), any::<bool>())
            .prop_map(|(columns, second, keeps_locale)| Step::Schema { columns, second, keeps_locale }),
        2 => proptest::sample::select(&VARIANTS[..]).prop_map(Step::Merge),
        1 => Just(Step::Hold),
    ]
}

fn ranges<T: Clone + std::fmt::Debug + 'static>(values: BoxedStrategy<T>) -> impl Strategy<Value = Range<T>> {
    let bound = (values, any::<bool>()).prop_map(|(value, included)| match included {
        true => Bound::Included(value),
        false => Bound::Excluded(value),
    });
    let bound = proptest::option::weighted(0.7, bound.boxed());
    (bound.clone(), bound).prop_map(|(from, to)| Range { from, to })
}

fn anchors() -> impl Strategy<Value = Anchor> {
    proptest::sample::select(vec![Anchor::Anywhere, Anchor::Start, Anchor::End])
}

fn predicates() -> impl Strategy<Value = Predicate> {
    prop_oneof![
        1 => Just(Predicate::Null),
        2 => texts().prop_map(Predicate::Equals),
        1 => numbers().prop_map(|number| Predicate::Equals(number_text(number))),
        2 => ranges(numbers().boxed()).prop_map(Predicate::Number),
        2 => ranges(texts().boxed()).prop_map(Predicate::Text),
        1 => ranges((-3i64..4).boxed()).prop_map(Predicate::Instant),
        5 => (anchors(), texts()).prop_map(|(anchor, needle)| Predicate::Substring(anchor, needle)),
        1 => texts().prop_map(Predicate::Has),
        3 => id_sets().prop_map(Predicate::AnyId),
    ]
}

/// Sets of few and many ids: those that values have (see [`texts`]), and others.
fn id_sets() -> impl Strategy<Value = IdSet> {
    (vec(0u128..12, 0..4), any::<bool>(), any::<bool>()).prop_map(|(ids, is_large, is_complement)| {
        let set = IdSet::of(ids.into_iter().chain((100..140).filter(|_| is_large)));
        if is_complement { set.complement() } else { set }
    })
}

fn date_columns() -> impl Strategy<Value = DateColumn> {
    proptest::sample::select(vec![DateColumn::Created, DateColumn::Updated, DateColumn::Published])
}

fn columns() -> impl Strategy<Value = ColumnId> {
    prop_oneof![12 => 0..COLUMNS as ColumnId, 1 => Just(UNKNOWN)]
}

fn filters() -> impl Strategy<Value = Filter> {
    let leaf = prop_oneof![
        1 => Just(Filter::All),
        1 => Just(Filter::Nothing),
        1 => Just(Filter::Draft),
        2 => vec(0u128..26, 0..12).prop_map(Filter::Ids),
        2 => (date_columns(), ranges((0i64..5).boxed())).prop_map(|(column, range)| Filter::Date(column, range)),
        3 => text_queries().prop_map(|query| Filter::Words(Arc::new(query))),
        12 => (columns(), predicates()).prop_map(|(column, predicate)| Filter::Column(column, predicate)),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Filter::And),
            vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

/// Generates query strings of words in the texts, and of similar words.
fn text_queries() -> impl Strategy<Value = TextQuery> {
    let word = prop_oneof![
        3 => texts(),
        3 => proptest::sample::select(vec![
            "kernel", "kern", "kernle", "krenel", "internationalisation", "intrnationalzation", "internatoinal", "unicode",
            "getInt32", "getint", "int32", "int_32", "d'int", "ordnung", "ordnungen", "gewerbe", "gewerbeordnung", "USA",
            "日", "本", "日本語", "語の", "バーの本", "ー", "a b", "b a", "ab",
        ])
        .prop_map(str::to_owned),
        1 => "[abk]{1,6}",
    ];
    let part = (word, 0..6).prop_map(|(word, form)| match form {
        0 => format!("-{word}"),
        1 => format!("\"{word}\""),
        2 => format!("-\"{word}\""),
        _ => word,
    });
    let field = (columns(), proptest::option::weighted(0.3, 1u16..4), 1u8..4);
    let field = field.prop_map(|(column, fallback, weight)| TextField { column, fallback, weight: f32::from(weight) });
    let asked = (vec(part, 0..4), any::<bool>(), any::<bool>());
    let pins = (proptest::sample::subsequence((0u128..26).collect::<Vec<_>>(), 0..3), vec(1u64..8, 3));
    let pins = pins.prop_map(|(ids, places)| ids.into_iter().zip(places).map(|(id, position)| Pin { id, position }));
    let pins = proptest::option::weighted(0.3, pins.prop_map(Iterator::collect::<Vec<Pin>>));
    (asked, vec(field, 0..4), expansions(), pins).prop_map(|((parts, ends, typos), fields, expansion, pins)| {
        let query = parts.join(" ") + if ends { " " } else { "" };
        let words = match expansion {
            None => Words::parse(&query, typos),
            Some(expansion) => Words::parse_expanded(&query, typos, &expansion),
        };
        TextQuery::new(words, fields).with_pins(pins.unwrap_or_default())
    })
}

fn expansions() -> impl Strategy<Value = Option<Expansion>> {
    let language = proptest::option::of(proptest::sample::select(vec!["de", "en", "ru"]));
    let asked = (language, any::<bool>(), any::<bool>(), proptest::option::weighted(0.6, synonyms()));
    let expansion = asked.prop_map(|(language, lets_go, has_stop_word, synonyms)| Expansion {
        language: language.and_then(Language::of_tag),
        lets_go,
        stop_words: has_stop_word.then(|| "Kernel".to_owned()).into_iter().collect(),
        synonyms,
    });
    proptest::option::weighted(0.7, expansion)
}

/// Generates synonyms of words and phrases in the texts.
fn synonyms() -> impl Strategy<Value = Synonymous> {
    let phrases = vec![
        "kernel",
        "Kernels",
        "a b",
        "ab",
        "ordnung Gewerbe",
        "getInt32",
        "get Int",
        "int",
        "日本",
        "日本語",
        "unicode a",
        "internationalization",
        "-3.5",
        "...",
        "本",
    ];
    let phrases = vec(proptest::sample::select(phrases), 1..5);
    let variant = proptest::sample::select(vec![None, Some("de"), Some("en")]);
    let entry = (variant, phrases, any::<bool>()).prop_map(|(variant, phrases, is_one_way)| {
        let phrases: Vec<String> = phrases.into_iter().map(str::to_owned).collect();
        (variant.map(str::to_owned), phrases, is_one_way)
    });
    (vec(entry, 0..4), proptest::option::of(Just("de".to_owned()))).prop_map(|(entries, variant)| {
        let mut synonyms = Synonyms::default();
        for (number, (variant, phrases, is_one_way)) in entries.into_iter().enumerate() {
            synonyms.insert(&Arc::new(SynonymEntry::new(&number.to_string(), variant, &phrases, is_one_way)));
        }
        Synonymous { synonyms: Arc::new(synonyms), variant }
    })
}

fn sorts() -> impl Strategy<Value = Vec<SortKey>> {
    let by = prop_oneof![
        1 => Just(SortBy::Id),
        2 => date_columns().prop_map(SortBy::Date),
        6 => columns().prop_map(SortBy::Column),
        2 => (columns(), columns(), 1u16..4)
            .prop_map(|(column, unless_null, variant)| FallbackColumn { column, unless_null, variant })
            .prop_map(SortBy::ColumnOr),
    ];
    vec((by, any::<bool>()).prop_map(|(by, descending)| SortKey { by, descending }), 0..4)
}

/// Queries for a range of the first sort key.
fn queries_of_ranges() -> BoxedStrategy<Query> {
    let range = prop_oneof![
        ranges(numbers().boxed()).prop_map(Predicate::Number),
        ranges((-3i64..4).boxed()).prop_map(Predicate::Instant),
    ];
    let other = prop_oneof![
        2 => Just(Filter::All),
        2 => Just(Filter::Not(Box::new(Filter::Draft))),
        3 => (date_columns(), ranges((0i64..5).boxed())).prop_map(|(column, range)| Filter::Date(column, range)),
        3 => filters(),
    ];
    (0..COLUMNS as ColumnId, vec(range, 1..3), other, sorts(), any::<bool>(), 1u16..3)
        .prop_map(|(column, ranges, other, mut sort, descending, variant)| {
            let ranges = ranges.into_iter().map(|range| Filter::Column(column, range));
            sort.insert(0, SortKey { by: SortBy::Column(column), descending });
            Query { variant, filter: Filter::And(ranges.chain([other]).collect()), sort }
        })
        .boxed()
}

fn queries() -> impl Strategy<Value = Query> {
    (1u16..4, prop_oneof![1 => Just(Filter::All), 4 => filters()], sorts()).prop_map(|(variant, filter, sort)| Query {
        variant,
        filter,
        sort,
    })
}

#[derive(Debug)]
struct Case {
    /// The kind of each column.
    kinds: Vec<Kind>,
    /// The locale of the second variant.
    locale: Option<String>,
    history: Vec<Step>,
    /// The queries that run after each step.
    queries: Vec<Query>,
    page: Page,
}

#[derive(Debug, Clone, Copy)]
struct Page {
    offset: u64,
    limit: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    cases_of(&KINDS, || queries().boxed())
}

/// Cases with columns of these kinds.
fn cases_of(kinds: &'static [Kind], queries: fn() -> BoxedStrategy<Query>) -> impl Strategy<Value = Case> {
    vec(proptest::sample::select(kinds), COLUMNS).prop_flat_map(move |kinds| {
        let locale = proptest::option::of(proptest::sample::select(vec!["sv", "de-AT", "zh-CN", "x", "th"]));
        let locale = locale.prop_map(|locale| locale.map(str::to_owned));
        let history = vec(steps(kinds.clone()), 1..14);
        let page = (0u64..12, 0usize..9).prop_map(|(offset, limit)| Page { offset, limit });
        (Just(kinds), locale, history, vec(queries(), 1..6), page)
            .prop_map(|(kinds, locale, history, queries, page)| Case { kinds, locale, history, queries, page })
    })
}

fn schema(kinds: &[Kind], columns: usize, locale: &Option<String>, second: bool) -> Schema {
    let columns = (0..).zip(kinds).map(|(id, &kind)| Column { id, kind }).take(columns).collect();
    let mut variants = vec![Variant { number: 1, locale: None }];
    variants.extend(second.then(|| Variant { number: 2, locale: locale.clone() }));
    Schema { columns, variants }
}

fn options() -> Options {
    Options { merge_fan_in: 8, ..Options::tiny() }
}

/// Merges all runs of a variant into one memory run, as a merge on disk would.
fn merge(index: &Index, variant: VariantNumber) {
    let version = index.freeze().version;
    let Some(copies) = version.copy_set(variant) else { return };
    let merged = MemoryRun::new(10_000, 4);
    let mut replaced = Vec::new();
    for NumberedRun { number, run, live, .. } in copies.runs.iter() {
        let live_docs = live.to_bitmap();
        let Run::Memory(memory) = run else { continue };
        for doc in live_docs.iter() {
            merged.append(Arc::clone(memory.document(doc))).unwrap();
        }
        replaced.push(ReplacedRun { number: *number, live_docs: Arc::new(live_docs) });
    }
    let number = index.take_run_number();
    assert!(index.replace(variant, &replaced, Some(NumberedRun::new(number, Run::Memory(Arc::new(merged))))));
}

/// Writes all memory runs to disk, then merges all runs of a variant into one.
fn write(index: &Index, variant: VariantNumber, dir: &Path) {
    let on_disk = |number, run| Some(NumberedRun::new(number, Run::Disk(Arc::new(run))));
    for frozen in index.freeze().runs {
        let number = index.take_run_number();
        let (path, documents) = (dir.join(number.to_string()), frozen.live_documents());
        let (schema, collation) = (index.schema(), collation(index, frozen.variant));
        let run = DiskRun::build(&path, &documents, None, &schema, &collation, index.damage()).unwrap();
        let replaced = ReplacedRun { number: frozen.number, live_docs: frozen.live_docs };
        assert!(index.replace(frozen.variant, &[replaced], on_disk(number, run)));
    }
    let version = index.version();
    let Some(copies) = version.copy_set(variant) else { return };
    let (mut inputs, mut replaced) = (Vec::new(), Vec::new());
    for NumberedRun { number, run, live, .. } in copies.runs.iter() {
        let Run::Disk(disk) = run else { panic!("all runs are on disk") };
        let live_docs = Arc::new(live.to_bitmap());
        inputs.push(MergeInput { run: Arc::clone(disk), live_docs: Arc::clone(&live_docs) });
        replaced.push(ReplacedRun { number: *number, live_docs });
    }
    if replaced.iter().all(|run| run.live_docs.count() == 0) {
        assert!(index.replace(variant, &replaced, None));
        return;
    }
    let number = index.take_run_number();
    let path = dir.join(number.to_string());
    let run = DiskRun::merge(RunFolder::to_end(&path), &inputs, &collation(index, variant), index.damage()).unwrap();
    run.verify().unwrap();
    assert!(index.replace(variant, &replaced, on_disk(number, run)));
}

fn collation(index: &Index, variant: VariantNumber) -> Collation {
    index.version().copy_set(variant).unwrap().collation.clone()
}

fn check(snapshot: &Snapshot, oracle: &Oracle, queries: &[Query], Page { offset, limit }: Page) {
    assert_eq!(snapshot.total(), oracle.resources().len() as u64);
    for (id, stamps) in oracle.resources() {
        let hit = snapshot.get(id).expect("every resource of the oracle is found");
        assert_eq!((hit.id, hit.stamps), (id, stamps));
        for variant in 1..4 {
            assert_eq!(snapshot.copy(hit.slot, variant), oracle.copy(id, variant));
        }
    }
    let present: Vec<u128> = oracle.resources().into_iter().map(|(id, _)| id).collect();
    for id in (0..24).filter(|id| !present.contains(id)) {
        assert_eq!(snapshot.get(id), None);
    }
    for query in queries {
        let expected = oracle.search(query);
        let ids = |hits: Vec<crate::query::Hit>| hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>();
        let all = snapshot.search(query, 0, usize::MAX).unwrap();
        assert_eq!(all.total, expected.len() as u64, "{query:?}");
        assert_eq!(ids(all.hits), expected, "{query:?}");
        let found = snapshot.find(query.variant, &query.filter, &Interrupt::never()).unwrap();
        assert_eq!(snapshot.ids(&found, &Interrupt::never()).unwrap(), IdSet::of(expected.clone()));
        let narrowed = Filter::And(vec![query.filter.clone(), Filter::Not(Box::new(Filter::Found(found)))]);
        let none = snapshot.search(&Query { filter: narrowed, ..query.clone() }, 0, 10).unwrap();
        assert_eq!(none.total, 0, "{query:?}");
        let page = snapshot.search(query, offset, limit).unwrap();
        assert_eq!(page.total, expected.len() as u64);
        let end = expected.len().min(offset as usize + limit);
        assert_eq!(ids(page.hits), expected.get(offset as usize..end).unwrap_or_default(), "{query:?}");
        let mut stream = snapshot.stream(query).unwrap();
        assert_eq!(stream.total(), expected.len() as u64);
        let mut streamed = Vec::new();
        loop {
            let hits = stream.next(3);
            if hits.is_empty() {
                break;
            }
            streamed.extend(ids(hits));
        }
        assert_eq!(streamed, expected, "{query:?}");
        aggregates::check(snapshot, oracle, query, &expected);
        aggregates::check_places(snapshot, query, &expected, limit);
        relevance::check(snapshot, oracle, query, &expected);
    }
}

fn run(Case { kinds, locale, history, queries, page }: Case, dir: Option<&Path>) {
    let mut columns = COLUMNS;
    let first = schema(&kinds, columns, &locale, true);
    let index = Index::in_memory(first.clone(), options());
    let mut oracle = Oracle::new(first);
    let mut held = Vec::new();
    for step in history {
        match step {
            Step::Apply(ops) => {
                oracle.apply(&ops);
                index.apply(ops);
            }
            Step::Schema { columns: wanted, second, keeps_locale } => {
                columns = columns.min(wanted);
                let locale = locale.clone().filter(|_| keeps_locale);
                let next = schema(&kinds, columns, &locale, second);
                oracle.set_schema(next.clone());
                index.set_schema(next);
            }
            Step::Merge(variant) => match dir {
                Some(dir) => write(&index, variant, dir),
                None => merge(&index, variant),
            },
            Step::Hold => held.push((index.snapshot(), oracle.clone())),
        }
        check(&index.snapshot(), &oracle, &queries, page);
        // Alternates between an old snapshot and the newest, so that cached results go back and forth between versions.
        if let Some((snapshot, oracle)) = held.first() {
            check(snapshot, oracle, &queries, page);
        }
    }
    for (snapshot, oracle) in &held {
        check(snapshot, oracle, &queries, page);
    }
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn the_engine_returns_the_same_results_as_the_oracle(case in cases()) {
        run(case, None);
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn the_engine_returns_the_same_results_as_the_oracle_from_disk(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        run(case, Some(dir.path()));
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn ranges_of_the_first_sort_key_are_the_same_as_the_oracles(
        case in cases_of(&[Kind::Number, Kind::Instant, Kind::Number, Kind::Text], queries_of_ranges),
    ) {
        let dir = tempfile::tempdir().unwrap();
        run(case, Some(dir.path()));
    }
}

#[test]
fn a_filter_that_is_asked_for_again_is_counted_in_the_order_also_after_writes() {
    let dir = tempfile::tempdir().unwrap();
    let first = schema(&[Kind::Number, Kind::Text, Kind::Bool], 3, &None, false);
    let index = Index::in_memory(first.clone(), Options { memory_run_entries: 1_000, ..options() });
    let mut oracle = Oracle::new(first);
    let put = |id: u128, price: u32| {
        let published = (!id.is_multiple_of(5)).then_some(1);
        let values = vec![
            (0, Value::Number(f64::from(price))),
            (1, Value::Text(format!("t{}", price % 7).into())),
            (2, Value::Bool(id.is_multiple_of(3))),
        ];
        let stamps = Stamps { version: id as u64, created: 0, updated: 0, published };
        IndexOp::Put { id, stamps, copies: vec![(1, Some(Copy { number: 1, values }))] }
    };
    let mut apply = |ops: Vec<IndexOp>| {
        oracle.apply(&ops);
        index.apply(ops);
        oracle.clone()
    };
    apply((0..300).map(|id| put(id, (id as u32 * 37) % 100)).collect());
    write(&index, 1, dir.path());
    let number =
        |from, to| Predicate::Number(Range { from: Some(Bound::Included(from)), to: Some(Bound::Excluded(to)) });
    let other =
        Filter::And(vec![Filter::Not(Box::new(Filter::Draft)), Filter::Column(2, Predicate::Equals("true".into()))]);
    let sort = |column| vec![SortKey { by: SortBy::Column(column), descending: column == 0 }];
    let range = |from| Query {
        variant: 1,
        filter: Filter::And(vec![other.clone(), Filter::Column(0, number(from, from + 50.0))]),
        sort: sort(0),
    };
    let of_kept = |query: &Query, oracle: &Oracle, offset: u64, from: &str| {
        let trace = crate::trace::Trace::default();
        let page =
            index.snapshot().search_with(query, offset, 7, &Interrupt::never().with_trace(Some(&trace))).unwrap();
        let expected = oracle.search(query);
        assert_eq!(page.total, expected.len() as u64);
        let ids: Vec<u128> = page.hits.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, expected[offset as usize..(offset as usize + 7).min(expected.len())]);
        trace.take().iter().any(|step| step.from == from)
    };
    let mut current = apply(Vec::new());
    assert!(!of_kept(&range(10.0), &current, 0, "bits of the index"));
    let by = |sort| Query { filter: other.clone(), sort, variant: 1 };
    let newest = [false, true].map(|descending| by(vec![SortKey { by: SortBy::Id, descending }]));
    for round in 0..30u32 {
        for offset in [0, 3, 17] {
            assert!(of_kept(&range(f64::from(round)), &current, offset, "bits of the index"), "{round}");
            of_kept(&by(sort(1)), &current, offset, "");
        }
        for (query, offset) in newest.iter().flat_map(|query| [(query, 30), (query, 41)]) {
            let is_counted = of_kept(query, &current, offset, "counts of the cache");
            assert!(is_counted || round == 0, "{round}");
        }
        // Some move in the order, some only become drafts or are deleted.
        let id = |part: u32| u128::from((round * 31 + part * 7) % 300);
        let unpublished = match put(id(1), (id(1) as u32 * 37) % 100) {
            IndexOp::Put { id, stamps, copies } => {
                IndexOp::Put { id, stamps: Stamps { published: None, ..stamps }, copies }
            }
            other => other,
        };
        current = apply(vec![put(id(0), round * 3 % 100), unpublished, IndexOp::Delete { id: id(2) }]);
        if round % 10 == 9 {
            write(&index, 1, dir.path());
        }
    }
}

/// Returns a configuration with this number of cases, or the number that `PROPTEST_CASES` says.
fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::with_cases(cases) }
}
