//! The fuzz targets: for each kind of input from outside, a function that panics if the input is handled wrongly, and
//! the first inputs.
//!
//! `cargo fuzz` runs these functions for hours (`fuzz_targets`), `tests/it/fuzz/bounded.rs` for seconds on stable.
//! Inputs that are a folder of files are edits of a sound folder, because checksums refuse nearly everything else.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread::LocalKey;

use bindery_analytics::{Analytics, AnalyticsOptions};
use bindery_index as index;
use bindery_log::{CommitLog, FollowLog, Log, LogOptions, LogReader};
use bindery_model::blueprint::{self, Blueprint, Definition, FieldType};
use bindery_model::json;
use bindery_model::value::{Options, Relations, check, check_attributes};
use bindery_query::{ExportParams, GetParams, ListParams, NeighborsParams, RawParams, Steering, WriteParams};
use bindery_sanitize::{Sanitizer, style_sheet, text_content};
use bindery_store::{Key, Store, StoreOptions, decode_writes};
use serde_json::{Value, json};

/// One kind of input.
pub(crate) struct Target {
    /// The name of its file in `fuzz_targets`.
    pub(crate) name: &'static str,
    /// The function of the target. It panics if the input is handled wrongly.
    pub(crate) run: fn(&[u8]),
    /// The first inputs.
    pub(crate) seeds: &'static [&'static [u8]],
}

/// Every kind of input.
pub(crate) const TARGETS: [Target; 10] = [
    Target { name: "query", run: query, seeds: QUERIES },
    Target { name: "filter", run: filter, seeds: FILTERS },
    Target { name: "body", run: body, seeds: BODIES },
    Target { name: "blueprint", run: blueprint, seeds: BLUEPRINTS },
    Target { name: "log", run: log, seeds: EDITS },
    Target { name: "base", run: base, seeds: EDITS },
    Target { name: "index", run: index, seeds: EDITS },
    Target { name: "access_log", run: access_log, seeds: LINES },
    Target { name: "html", run: html, seeds: HTML },
    Target { name: "css", run: css, seeds: CSS },
];

/// Runs one target. For `fuzz_targets`, each of which has one.
pub(crate) fn run(name: &str, data: &[u8]) {
    TARGETS.iter().filter(|target| target.name == name).for_each(|target| (target.run)(data));
}

const QUERIES: &[&[u8]] = &[
    b"page=2&per_page=10&sort=-number,text&fields=id,attributes.text&variant=de&fallback=en",
    b"filter[number][between]=1,2&filter[text][contains]=a%20b&search=x&sort=created_at",
    b"format=csv&exclude=attributes.page&filter[published]=true&all_variants=true",
];
const FILTERS: &[&[u8]] =
    &[b"number][gte]=1.5e3", b"multi-enum][has]=a,b", b"date][between]=2026-01-01,2026-02-01", b"text][in]=a\\,b,c"];
const BODIES: &[&[u8]] = &[
    br##"{"text":"a","number":1.5,"boolean":true,"email":"a@b.example","color":"#fff","date":"2026-01-01"}"##,
    br#"{"rich-text":"<p onclick=x>a<b>c","html-page":{"html":"<p>x","css":"p{color:red}"},"slug":"a-b"}"#,
    br#"{"money":{"amount":1,"currency":"EUR"},"address":{"street":"x"},"multi-enum":["a","b"],"datetime":"2026-01-01T00:00:00Z"}"#,
    br#"{"reference":"0192b3c4-0000-7000-8000-000000000000","link":"https://x.example","duration":5}"#,
];
const BLUEPRINTS: &[&[u8]] = &[
    br#"{"name":"T","slug":"t","fields":[{"name":"a","slug":"a","type":"enum","required":true,"settings":{"values":["x"]}}]}"#,
    br#"{"name":"T","kind":"singular","fields":[{"name":"a","type":"text"}],"variants":[{"name":"E","slug":"en","default":true}]}"#,
];
const EDITS: &[&[u8]] = &[&[0, 0, 8, 1], &[1, 0, 40, 255, 0, 1, 0, 7], &[0, 2, 0, 128, 3, 0, 12, 3]];
const LINES: &[&[u8]] = &[
    b"203.0.113.7 - - [20/Nov/2026:09:12:01 +0000] \"GET /a?b HTTP/1.1\" 200 5120 \"https://x.example/\" \"Mozilla/5.0 Firefox/140.0\"\n",
    b"::1 - - [29/Feb/2024:23:59:60 -1200] \"GET http://x/ HTTP/1.0\" 304 - \"-\" \"-\"\r\n",
];
const HTML: &[&[u8]] = &[
    b"<p>a<b>b</p><table>c<tr><td>d<li>e</table><svg><style><a id=\"</style><img src=x>\">",
    b"<!--x--!><b a0><b a1><p>x</b><pre>\n\n<iframe src=https://vimeo.com/1></iframe><a href=\"java&#x0a;script:x\">",
    b"<math><mi><![CDATA[]]><template><select><option><ruby><rt>&nbsp;&am<plaintext>",
];
const CSS: &[&[u8]] = &[
    b"@media (min-width:1px){.a:hover{color:red;--x:{};&>b{margin:0 -1px}}}/* x */p{background:url(x)}",
    b"a:a{a:a{\\3c/style:expression(1);content:\"<\"}}@import 'x';@layer a,b;",
];

fn query(data: &[u8]) {
    let raw = String::from_utf8_lossy(data);
    let blueprint = &*EVERY_TYPE;
    let _ = ListParams::parse(&RawParams::parse(&raw), blueprint, &|_| None, 0, &Steering::default());
    let _ = GetParams::parse(&raw, blueprint, &|_| None);
    let _ = WriteParams::parse(&raw, blueprint);
    let _ = ExportParams::parse(&RawParams::parse(&raw), None, blueprint, &|_| None, 0, &Steering::default());
    let _ = NeighborsParams::parse(&RawParams::parse(&raw), blueprint, &|_| None, 0, &Steering::default());
}

fn filter(data: &[u8]) {
    let raw = format!("filter[{}", String::from_utf8_lossy(data));
    let _ = ListParams::parse(
        &RawParams::parse(&raw),
        &EVERY_TYPE,
        &|slug| (slug == EVERY_TYPE.slug).then_some(&EVERY_TYPE),
        1_700_000_000_000,
        &Steering::default(),
    );
}

/// Checks that a value that was accepted is accepted again, unchanged.
fn body(data: &[u8]) {
    let Ok(Value::Object(attributes)) = json::parse(data) else { return };
    let blueprint = &*EVERY_TYPE;
    for relations in [Relations::Ids, Relations::IdsOrKeys] {
        let options = Options { sanitizer: &SANITIZER, relations };
        for (field, value) in check_attributes(blueprint, attributes.clone(), options).values {
            let again = check(&blueprint.fields[field], value.clone(), options);
            assert_eq!(again, Ok(value), "{}", blueprint.fields[field].slug);
        }
    }
}

fn blueprint(data: &[u8]) {
    let _ = blueprint::render::decode(data);
    let Ok(value) = json::parse(data) else { return };
    if let Ok(definition) = Definition::parse(value) {
        let blueprint = Blueprint::create(definition, 1, 0);
        let stored = blueprint::render::encode(&blueprint);
        assert_eq!(blueprint::render::decode(&stored), Ok(blueprint));
    }
}

/// Checks that a damaged log yields the written records, up to some record or up to an error.
fn log(data: &[u8]) {
    let _ = decode_writes(data);
    if let Some(key) = Key::decode(data) {
        assert_eq!(key.encode(), data);
    }
    let records: Vec<Vec<u8>> = (0..20u8).map(|n| vec![n; usize::from(n) * 7]).collect();
    let options = || LogOptions { first_segment_bytes: 1 << 12, segment_bytes: 1 << 12, ..LogOptions::default() };
    let folder = damaged(&LOG, data, |folder| {
        let mut log = Log::open(folder, options()).unwrap();
        CommitLog::append(&mut log, 0, &records).unwrap();
    });
    let compare = || {
        let Ok(read) = LogReader::of_closed(folder.path()).read(1, 20) else { return };
        for (record, written) in read.map_while(Result::ok).zip(&records) {
            assert_eq!(&record.1, written, "record {}", record.0);
        }
    };
    compare();
    drop(Log::open(folder.path(), options()));
    compare();
}

/// Checks that a base is read as it was written, or refused.
fn base(data: &[u8]) {
    let folder = damaged(&BASE, data, |folder| {
        let work = tempfile::tempdir().unwrap();
        let store = Store::open(&work.path().join("store"), &StoreOptions::default()).unwrap();
        let log = Log::open(&work.path().join("log"), LogOptions::default()).unwrap();
        bindery_base::write(&store, &*log.follow(), &folder.join("x.base")).unwrap();
    });
    let _ = bindery_base::verify(&folder.path().join("x.base"));
}

/// Checks that a damaged index is refused, or gives the same answers as a test of every text.
fn index(data: &[u8]) {
    const DOCUMENTS: u128 = 100;
    let text = |id: u128| format!("t{id}");
    let schema = || index::Schema {
        columns: vec![index::Column { id: 1, kind: index::Kind::Text }],
        variants: vec![index::Variant { number: 1, locale: None }],
    };
    let folder = damaged(&INDEX, data, |folder| {
        let indexes = index::Indexes::open(folder, index::Options::default()).unwrap();
        let ops = (0..DOCUMENTS).map(|id| index::IndexOp::Put {
            id,
            stamps: index::Stamps { version: 1, created: 1, updated: 1, published: None },
            copies: vec![(1, Some(index::Copy { number: 1, values: vec![(1, index::Value::Text(text(id).into()))] }))],
        });
        indexes.create(1, schema()).apply(ops.collect());
        indexes.freeze(1).write().unwrap();
    });
    let found = index::Indexes::check(folder.path());
    let Ok(indexes) = index::Indexes::open(folder.path(), index::Options::default()) else { return };
    let Some(index) = indexes.get(1) else { return };
    let substring = |text: &str| index::Predicate::Substring(index::Anchor::Anywhere, text.into());
    type Matches = fn(&str) -> bool;
    let cases: [(index::Predicate, Matches); 3] = [
        (substring("7"), |text| text.contains('7')),
        (substring("t31"), |text| text.contains("t31")),
        (index::Predicate::Equals("t5".to_owned()), |text| text == "t5"),
    ];
    for (predicate, matches) in cases {
        let filter = index::Filter::Column(1, predicate.clone());
        let query = index::Query { variant: 1, filter, sort: Vec::new() };
        let Ok(hits) = index.snapshot().search(&query, 0, DOCUMENTS as usize) else {
            assert!(!found.problems.is_empty(), "an intact index fails");
            return;
        };
        let mut ids: Vec<u128> = hits.hits.iter().map(|hit| hit.id).collect();
        ids.sort_unstable();
        let expected: Vec<u128> = (0..DOCUMENTS).filter(|id| matches(&text(*id))).collect();
        assert_eq!((ids, hits.total), (expected, hits.hits.len() as u64), "{predicate:?}");
    }
}

fn access_log(data: &[u8]) {
    thread_local! {
        static ANALYTICS: OnceCell<(tempfile::TempDir, Analytics)> = const { OnceCell::new() };
    }
    ANALYTICS.with(|kept| {
        let (_, analytics) = kept.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let sites = vec!["x.example".to_owned()];
            let options = AnalyticsOptions { sites, ..AnalyticsOptions::in_folder(folder.path()) };
            (folder, Analytics::open(&options).unwrap())
        });
        let mut import = analytics.import("x.example").unwrap();
        for piece in data.chunks(50) {
            import.push(piece);
        }
        drop(import);
    });
}

/// Checks that sanitized HTML does not change when it is sanitized again.
fn html(data: &[u8]) {
    let html = String::from_utf8_lossy(data);
    for sanitize in [Sanitizer::rich_text, Sanitizer::page] {
        let Ok(once) = sanitize(&SANITIZER, &html) else { continue };
        assert_eq!(sanitize(&SANITIZER, &once).as_ref(), Ok(&once));
        let _ = text_content(&once);
        let lower = once.to_ascii_lowercase();
        assert!(!lower.contains("<script") && !lower.contains("<style") && !lower.contains("<!--"), "{once}");
    }
}

fn css(data: &[u8]) {
    let once = style_sheet(&String::from_utf8_lossy(data));
    assert_eq!(style_sheet(&once), once);
    let lower = once.to_ascii_lowercase();
    for never in ["</style", "url(", "expression(", "@import", "<!--"] {
        assert!(!lower.contains(never), "{once}");
    }
}

static EVERY_TYPE: LazyLock<Blueprint> = LazyLock::new(every_type);
static SANITIZER: LazyLock<Sanitizer> = LazyLock::new(Sanitizer::default);

/// Makes a blueprint with a field of every type, and variants.
fn every_type() -> Blueprint {
    let fields = FieldType::NAMES.map(|kind| {
        let settings = if kind.starts_with("reference") { json!({ "blueprint": "t" }) } else { json!({}) };
        json!({ "name": kind, "slug": kind, "type": kind, "settings": settings })
    });
    let variants = json!([{ "name": "E", "slug": "en", "default": true }, { "name": "D", "slug": "de" }]);
    let definition = json!({ "name": "T", "slug": "t", "fields": fields, "variants": variants });
    Blueprint::create(Definition::parse(definition).unwrap(), 1, 0)
}

type Kept = OnceCell<tempfile::TempDir>;

thread_local! {
    static LOG: Kept = const { OnceCell::new() };
    static BASE: Kept = const { OnceCell::new() };
    static INDEX: Kept = const { OnceCell::new() };
}

/// Copies a sound folder, which is made once, and applies edits: each has the number of a file, an offset (big-endian),
/// and the number to add to the byte there.
fn damaged(sound: &'static LocalKey<Kept>, edits: &[u8], make: impl FnOnce(&Path)) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    sound.with(|kept| {
        let sound = kept.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            folder
        });
        copy_folder(sound.path(), copy.path());
    });
    let files = files_of(copy.path());
    for edit in edits.chunks_exact(4) {
        let file = &files[usize::from(edit[0]) % files.len()];
        let mut bytes = fs::read(file).unwrap();
        let at = usize::from(u16::from_be_bytes([edit[1], edit[2]]));
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(at % length) {
            *byte = byte.wrapping_add(edit[3]);
        }
        fs::write(file, bytes).unwrap();
    }
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            // `fs::copy` fails when a signal interrupts it, and the fuzzer has a timer.
            false => fs::write(target, fs::read(entry.path()).unwrap()).unwrap(),
        }
    }
}

/// Returns all files of a folder, in the order of their names.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_of(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}
