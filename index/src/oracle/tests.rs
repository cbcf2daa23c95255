//! Random histories and queries: the engine against the oracle, after every step.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::disk::DiskRun;
use crate::exchange::Source;
use crate::index::Index;
use crate::memory::MemoryRun;
use crate::options::Options;
use crate::query::SortKey;
use crate::run::Run;
use crate::schema::{Column, Variant};
use crate::snapshot::Snapshot;

mod stored;

const KINDS: [Kind; 7] = [Kind::Text, Kind::Plain, Kind::Markup, Kind::Number, Kind::Bool, Kind::Instant, Kind::List];
const VARIANTS: [VariantNumber; 2] = [1, 2];
/// Columns 0 to 9 are of random kinds; this one is never there.
const UNKNOWN: ColumnId = 50;
const COLUMNS: usize = 10;

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Apply(Vec<IndexOp>),
    /// Columns that are there from now on (only ever fewer of the first, never one that went), and whether the second
    /// variant is.
    Schema {
        columns: usize,
        second: bool,
    },
    /// Full memory runs are made of what grows; then all runs of a variant become one.
    Merge(VariantNumber),
    /// A snapshot is kept to the end.
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
    prop_oneof![4 => one.clone(), 2 => vec(one, 2..4).prop_map(|texts| texts.concat()), 1 => "\\PC{0,6}"]
}

fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::sample::select(vec![0.0, -0.0, 1.0, -3.5, 9.0, 10.0, 1e21, 1e-7, 9007199254740991.0, 0.1]),
        (-5i32..12).prop_map(f64::from),
    ]
}

fn values(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Text | Kind::Plain => texts().prop_map(|text| Value::Text(text.into())).boxed(),
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

fn changes(kinds: Vec<Kind>) -> impl Strategy<Value = IndexOp> {
    let copy = (1u16..4, proptest::option::weighted(0.85, copies(kinds)));
    let put =
        (0u128..24, stamps(), vec(copy, 0..3)).prop_map(|(id, stamps, copies)| IndexOp::Put { id, stamps, copies });
    prop_oneof![4 => put, 1 => (0u128..24).prop_map(|id| IndexOp::Delete { id })]
}

fn steps(kinds: Vec<Kind>) -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => vec(changes(kinds.clone()), 0..4).prop_map(Step::Apply),
        2 => vec(changes(kinds), 5..20).prop_map(Step::Apply),
        1 => (3..=COLUMNS, proptest::bool::weighted(0.8)).prop_map(|(columns, second)| Step::Schema { columns, second }),
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

fn places() -> impl Strategy<Value = Anchor> {
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
        5 => (places(), texts()).prop_map(|(place, needle)| Predicate::Substring(place, needle)),
        1 => texts().prop_map(Predicate::Has),
    ]
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

fn sorts() -> impl Strategy<Value = Vec<SortKey>> {
    let by = prop_oneof![
        1 => Just(SortBy::Id),
        2 => date_columns().prop_map(SortBy::Date),
        6 => columns().prop_map(SortBy::Column),
    ];
    vec((by, any::<bool>()).prop_map(|(by, descending)| SortKey { by, descending }), 0..4)
}

fn queries() -> impl Strategy<Value = Query> {
    (1u16..4, prop_oneof![1 => Just(Filter::All), 4 => filters()], sorts()).prop_map(|(variant, filter, sort)| Query {
        variant,
        filter,
        sort,
    })
}

/// A kind for each column, a locale for the second variant, a history, what is asked after each step, a page.
type Case = (Vec<Kind>, Option<String>, Vec<Step>, Vec<Query>, (u64, usize));

fn cases() -> impl Strategy<Value = Case> {
    vec(proptest::sample::select(&KINDS[..]), COLUMNS).prop_flat_map(|kinds| {
        let locale = proptest::option::of(proptest::sample::select(vec!["sv", "de-AT", "zh-CN", "x", "th"]));
        let locale = locale.prop_map(|locale| locale.map(str::to_owned));
        let history = vec(steps(kinds.clone()), 1..14);
        (Just(kinds), locale, history, vec(queries(), 1..6), (0u64..12, 0usize..9))
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

/// Makes one memory run of all runs of a variant, as a merge on disk would.
fn merge(index: &Index, variant: VariantNumber) {
    let (state, _) = index.freeze();
    let Some(part) = state.part(variant) else { return };
    let merged = MemoryRun::new(10_000);
    let mut sources = Vec::new();
    for (number, run) in part.runs.iter() {
        let alive = part.alive(*number, run);
        let Run::Memory(memory) = run else { continue };
        for doc in alive.iter() {
            merged.append(Arc::clone(memory.document(doc))).unwrap();
        }
        sources.push(Source { run: *number, alive: Arc::new(alive) });
    }
    let number = index.take_run_number();
    assert!(index.replace(variant, &sources, Some((number, Run::Memory(Arc::new(merged))))));
}

/// Writes all memory runs to disk; then all runs of a variant become one.
fn write(index: &Index, variant: VariantNumber, dir: &Path) {
    for frozen in index.freeze().1 {
        let number = index.take_run_number();
        let documents: Vec<_> = frozen.alive.iter().map(|doc| Arc::clone(frozen.memory.document(doc))).collect();
        let run = DiskRun::build(&dir.join(number.to_string()), &documents).unwrap();
        let source = Source { run: frozen.run, alive: frozen.alive };
        assert!(index.install(frozen.variant, &[source], Some((number, Arc::new(run)))));
    }
    let state = index.snapshot().state;
    let Some(part) = state.part(variant) else { return };
    let (mut inputs, mut sources) = (Vec::new(), Vec::new());
    for (number, run) in part.runs.iter() {
        let Run::Disk(disk) = run else { panic!("all runs are on disk") };
        let alive = Arc::new(part.alive(*number, run));
        inputs.push((Arc::clone(disk), Arc::clone(&alive)));
        sources.push(Source { run: *number, alive });
    }
    if sources.iter().all(|source| source.alive.count() == 0) {
        assert!(index.install(variant, &sources, None));
        return;
    }
    let number = index.take_run_number();
    let run = DiskRun::merge(&dir.join(number.to_string()), &inputs).unwrap();
    assert!(index.install(variant, &sources, Some((number, Arc::new(run)))));
}

fn check(snapshot: &Snapshot, oracle: &Oracle, queries: &[Query], (offset, limit): (u64, usize)) {
    assert_eq!(snapshot.total(), oracle.resources().len() as u64);
    for (id, stamps) in oracle.resources() {
        let hit = snapshot.get(id).expect("what is there is found");
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
    }
}

fn run((kinds, locale, history, queries, page): Case, dir: Option<&Path>) {
    let mut columns = COLUMNS;
    let first = schema(&kinds, columns, &locale, true);
    let index = Index::in_memory(first.clone(), options());
    let mut oracle = Oracle::new(first);
    let mut held = Vec::new();
    for step in history {
        match step {
            Step::Apply(changes) => {
                oracle.apply(&changes);
                index.apply(changes);
            }
            Step::Schema { columns: wanted, second } => {
                columns = columns.min(wanted);
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
        // Older snapshots take turns with the newest, so that kept answers go back and forth between versions.
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
    fn the_engine_answers_as_the_oracle_does(case in cases()) {
        run(case, None);
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn the_engine_answers_as_the_oracle_does_from_disk(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        run(case, Some(dir.path()));
    }
}

/// So many cases, or more of them by `PROPTEST_CASES`.
fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::with_cases(cases) }
}
