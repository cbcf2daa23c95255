//! Two contents over one log: each applies the writes of the other, and both must answer the same.
//!
//! The test sends random histories of writes, bulks, imports and blueprint changes to either of them, injects
//! conflicts, unknown outcomes and delays, and reads from both meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bindery_base::RecoveryReport;
use bindery_log::{CommitLog, FollowLog};
use bindery_model::ability::Ability;
use bindery_model::blueprint::render;
use bindery_model::error::{Code, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::{format_millis, now_millis};
use bindery_store::{Counter, Key, Store, StoreOptions, StoreWrite, encode_transaction};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::memory_log::{MemoryLog, Mishaps, Outage, SharedRecords};
use super::random::Random;
use crate::command::Command;
use crate::data::format::{FORMAT, encode_format};
use crate::data::leader::Leader;
use crate::fixture::{access, options};
use crate::read::view::View;
use crate::start::folder;
use crate::{Content, ContentOptions, Export, IfMatch, Operation, Parts, Progress};

/// The number of histories.
const HISTORIES: u64 = 200;
/// The number of steps each has.
const STEPS: u64 = 24;

/// A content with its own folder over a shared log. It applies the records of the other content soon after they are
/// appended.
pub(super) struct Node {
    pub(super) content: Content,
    /// Set before the first resource of a history comes back from the trash, with an older number than the others have.
    restored: Arc<AtomicBool>,
    folder: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    follower: Option<std::thread::JoinHandle<()>>,
}

impl Node {
    fn start(log: &Arc<SharedRecords>, seed: u64, mishaps: &Arc<Mutex<Mishaps>>) -> Node {
        Node::start_with(log, seed, mishaps, Duration::from_secs(30))
    }

    pub(super) fn start_with(
        log: &Arc<SharedRecords>,
        seed: u64,
        mishaps: &Arc<Mutex<Mishaps>>,
        write_timeout: Duration,
    ) -> Node {
        let folder = tempfile::tempdir().unwrap();
        let options = ContentOptions { write_timeout, ..options(folder.path()) };
        let store_options = StoreOptions { cache_bytes: 1 << 20 };
        let store = Store::open(&folder.path().join("store"), &store_options).unwrap();
        let log_of_node: Box<dyn CommitLog> = Box::new(MemoryLog::new(log, seed, mishaps));
        let parts = Parts { log: log_of_node, position: 0, store, recovered: RecoveryReport::default(), cluster: None };
        let lock = folder::lock(folder.path()).unwrap();
        let content = Content::assemble(&options, lock, parts, &Progress::default()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let follower = {
            let (content, log, stop) = (content.clone(), Arc::clone(log), Arc::clone(&stop));
            std::thread::spawn(move || follow(&content, &log, &stop))
        };
        Node { content, restored: Arc::default(), folder, stop, follower: Some(follower) }
    }

    /// Ends the thread that looks for records of the other content.
    fn stop_following(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(follower) = self.follower.take() {
            follower.join().unwrap();
        }
    }

    pub(super) fn end(mut self) {
        self.stop_following();
        self.content.close();
        drop(self.folder);
    }
}

/// Has a content apply new records of the log until `stop` is set.
fn follow(content: &Content, log: &SharedRecords, stop: &AtomicBool) {
    let runtime = runtime();
    let mut position = 0;
    while !stop.load(Ordering::SeqCst) {
        let last = log.wait(position, Duration::from_millis(5));
        if last > position && runtime.block_on(content.submit(crate::command::Command::Wait)).is_ok() {
            position = last;
        }
    }
}

async fn catch_up(content: &Content) {
    content.submit(crate::command::Command::Wait).await.unwrap();
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns random fields of a blueprint, in forms that changes may turn into each other.
fn fields(random: &mut Random) -> Value {
    let mut fields = vec![json!({ "name": "round", "slug": "round", "type": "number" })];
    let title = *random.pick(&["text", "slug", "rich-text"]);
    let is_unique = title != "rich-text" && random.one_in(2);
    fields.push(json!({ "name": "title", "slug": "title", "type": title, "unique": is_unique }));
    if !random.one_in(3) {
        let settings = json!({ "blueprint": "notes" });
        fields.push(json!({ "name": "to", "slug": "to", "type": "reference", "settings": settings }));
    }
    if random.one_in(2) {
        let values = if random.one_in(2) { json!(["a", "b"]) } else { json!(["a", "b", "c"]) };
        fields.push(json!({ "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": values } }));
    }
    Value::Array(fields)
}

fn blueprint_body(random: &mut Random) -> Vec<u8> {
    let mut body = json!({ "name": "Notes", "slug": "notes", "fields": fields(random) });
    if random.one_in(2) {
        body["variants"] = json!([
            { "name": "English", "slug": "en", "default": true },
            { "name": "German", "slug": "de", "default": false },
        ]);
    }
    body["scheduled"] = json!(random.one_in(2));
    body["trash"] = if random.one_in(4) { Value::Null } else { json!({ "days": 30 }) };
    body.to_string().into_bytes()
}

/// The longest time until a publication becomes due.
const SOON: u64 = 40;

fn publication_date(random: &mut Random) -> Value {
    match random.below(4) {
        0 | 1 => Value::Null,
        2 => json!("2026-01-01"),
        _ => json!(format_millis(now_millis() + random.below(SOON).cast_signed())),
    }
}

fn attributes(random: &mut Random) -> Value {
    let title = format!("t{}", random.below(30));
    let large = if random.one_in(40) { "x".repeat(60_000) } else { title.clone() };
    let mut attributes = json!({ "title": if random.one_in(2) { title } else { large } });
    if random.one_in(3) {
        attributes["kind"] = json!(*random.pick(&["a", "b", "c"]));
    }
    attributes
}

fn ids(content: &Content) -> Vec<String> {
    let Ok(view) = content.view(&access(), "notes") else { return Vec::new() };
    let resources = view.list("per_page=100&fields=id").unwrap().resources;
    let resources: Vec<Value> = serde_json::from_str(&resources).unwrap();
    resources.iter().map(|resource| resource["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the ids in the trash.
async fn trashed(content: &Content) -> Vec<String> {
    let page = content.trash(&access(), "per_page=100").await.unwrap();
    page.entries.iter().map(|entry| entry.id.to_string()).collect()
}

/// Makes one random step. Refusals of the server are expected; any other error fails the test.
async fn step(node: &Node, random: &mut Random, round: u64) {
    let result = try_step(node, random, round).await;
    if let Err(error) = result {
        let refusals = [
            Code::NotFound,
            Code::ValidationFailed,
            Code::Conflict,
            Code::InvalidVariant,
            // The error of a bulk of all resources when there are none.
            Code::BulkLimitExceeded,
        ];
        assert!(refusals.contains(&error.code), "{error:?}");
    }
}

async fn try_step(node: &Node, random: &mut Random, round: u64) -> Result<()> {
    let (access, content) = (access(), &node.content);
    let variant = if random.one_in(3) { "variant=de" } else { "" };
    let known = ids(content);
    match random.below(12) {
        0..=2 => {
            let body = json!({ "attributes": attributes(random) }).to_string();
            content.write(&access, Ability::Create, "notes", variant)?.create(body.as_bytes(), None).await?;
        }
        3 | 4 if !known.is_empty() => {
            let writing = content.write(&access, Ability::Update, "notes", variant)?;
            let id = writing.target(random.pick::<String>(&known))?;
            let body =
                json!({ "attributes": attributes(random), "published_at": publication_date(random) }).to_string();
            writing.change(id, IfMatch::Any, body.as_bytes()).await?;
        }
        5 if round > STEPS / 2 && random.one_in(2) => {
            let waiting = trashed(content).await;
            node.restored.store(true, Ordering::SeqCst);
            if !waiting.is_empty() {
                let (writing, id) = content.trashed(&access, random.pick::<String>(&waiting), "")?;
                match random.one_in(4) {
                    true => writing.purge(id).await?,
                    false => drop(writing.restore(id, b"", None).await?),
                }
            }
        }
        5 if !known.is_empty() => {
            let writing = content.write(&access, Ability::Delete, "notes", "")?;
            let id = writing.target(random.pick::<String>(&known))?;
            writing.delete(id, IfMatch::Any).await?;
        }
        6 if !known.is_empty() => {
            // All resources of both contents get the same number in one transaction: readers must never see two numbers
            // in one answer.
            catch_up(content).await;
            let updates: Vec<Value> =
                ids(content).iter().map(|id| json!({ "id": id, "attributes": { "round": round } })).collect();
            let body = json!({ "updates": updates }).to_string();
            let writing = content.write(&access, Ability::Update, "notes", "")?;
            writing.bulk(Operation::Update, body.as_bytes(), None).await?;
        }
        7 | 8 => {
            let mut import = content.import(&access, "notes", "")?;
            for _ in 0..random.below(8) {
                let (key, to) = (random.below(10), random.below(10));
                let mut attributes = attributes(random);
                attributes["to"] = if random.one_in(2) { json!(format!("k{to}")) } else { Value::Null };
                let line = json!({ "key": format!("k{key}"), "attributes": attributes }).to_string();
                import.push(line.as_bytes()).await?;
            }
            import.finish().await?;
        }
        9 => {
            let body = blueprint_body(random);
            content.replace_blueprint(&access, "notes", "force=true")?.run(&body).await?;
        }
        10 if random.one_in(4) => content.delete_blueprint(&access, "notes", "force=true").await?,
        10 => {
            let body = blueprint_body(random);
            content.create_blueprint(&access, &body, None).await?;
        }
        _ => {
            let body = json!({ "name": "Ada", "email": format!("ada{}@example.org", random.below(5)) }).to_string();
            content.create_member(&access, body.as_bytes(), None).await?;
        }
    }
    Ok(())
}

/// Returns everything that a content answers, as text.
fn answers(content: &Content) -> Vec<String> {
    let access = access();
    let blueprints = content.list_blueprints(&access).unwrap();
    let mut answers: Vec<String> = blueprints.iter().map(|blueprint| render::to_json(blueprint).to_string()).collect();
    answers.push(format!("{:?} {:?}", content.list_members(&access).unwrap(), content.list_tokens(&access).unwrap()));
    answers.push(format!("{:?}", runtime().block_on(content.trash(&access, "per_page=100")).unwrap()));
    for blueprint in &blueprints {
        let view = || content.view(&access, &blueprint.slug).unwrap();
        let state = content.state();
        answers.push(format!("{:?}", state.collection(&blueprint.slug).unwrap().versions));
        for query in
            ["", "sort=title", "sort=-round,id", "search=t1", "filter[title][contains]=t2", "filter[to][null]=0"]
        {
            match view().list(&format!("{query}&per_page=100")) {
                Ok(page) => answers.push(format!("{query}: {} {}", page.total, page.resources)),
                Err(error) => answers.push(format!("{query}: {error}")),
            }
        }
        let mut export = Export::begin(view(), "format=ndjson&all_variants=true&sort=id", None).unwrap();
        while let Some(piece) = export.next_chunk().unwrap() {
            answers.push(String::from_utf8(piece).unwrap());
        }
        for id in ids(content) {
            let view = view();
            let found = read(&view, &id);
            let state = content.state();
            let collection = state.collection(&blueprint.slug).unwrap();
            let hit = collection.snapshot.get(ResourceId::parse(&id).unwrap().as_u128()).unwrap();
            answers.push(format!("{:?} {}", collection.version_of(&hit), found));
        }
    }
    answers
}

fn read(view: &View, id: &str) -> String {
    let (resource, params) = (view.locate(id).unwrap(), view.get_params("").unwrap());
    runtime().block_on(view.read(&resource, &params)).unwrap()
}

/// Reads a content until `stop` is set. No answer may show some resources with the number of the last bulk and others
/// with an older number, until one is restored. A resource created after a bulk has no number.
fn read_all_the_time(content: &Content, stop: &AtomicBool, restored: &AtomicBool) -> u64 {
    let mut n_reads = 0;
    while !stop.load(Ordering::SeqCst) {
        let Ok(view) = content.view(&access(), "notes") else { continue };
        let Ok(page) = view.list("filter[round][null]=false&per_page=100&fields=id,attributes.round") else { continue };
        let resources: Vec<Value> = serde_json::from_str(&page.resources).unwrap();
        let mut rounds: Vec<&Value> = resources.iter().map(|resource| &resource["attributes"]["round"]).collect();
        rounds.dedup();
        let is_whole = rounds.len() <= 1 || restored.load(Ordering::SeqCst);
        assert!(is_whole, "half of a bulk is visible: {}", page.resources);
        for resource in &resources {
            // Every listed resource must be readable in the same view.
            read(&view, resource["id"].as_str().unwrap());
        }
        n_reads += 1;
    }
    n_reads
}

fn run_history(seed: u64, mishaps: &Arc<Mutex<Mishaps>>) -> u64 {
    let log = Arc::new(SharedRecords::default());
    let mut nodes = [Node::start(&log, seed, mishaps), Node::start(&log, seed ^ 0xff, mishaps)];
    nodes[1].restored = Arc::clone(&nodes[0].restored);
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = nodes
        .iter()
        .map(|node| {
            let (content, stop, restored) = (node.content.clone(), Arc::clone(&stop), Arc::clone(&node.restored));
            std::thread::spawn(move || read_all_the_time(&content, &stop, &restored))
        })
        .collect();
    let mut random = Random::new(seed);
    let runtime = runtime();
    runtime.block_on(async {
        let body = blueprint_body(&mut random);
        nodes[0].content.create_blueprint(&access(), &body, None).await.unwrap();
        catch_up(&nodes[1].content).await;
        for round in 1..=STEPS {
            // Sometimes both contents write at once; mostly one of them.
            let first = random.below(2) as usize;
            let mut other = Random::new(random.below(u64::MAX));
            if random.one_in(3) {
                let both = (step(&nodes[0], &mut random, round), step(&nodes[1], &mut other, round));
                tokio::join!(both.0, both.1);
            } else {
                step(&nodes[first], &mut random, round).await;
            }
        }
        // Everything is due by then, and whoever saw it first has recorded it.
        tokio::time::sleep(Duration::from_millis(2 * SOON)).await;
        for node in [&nodes[0], &nodes[1], &nodes[0]] {
            catch_up(&node.content).await;
        }
    });
    stop.store(true, Ordering::SeqCst);
    let n_reads = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
    let [one, other] = [answers(&nodes[0].content), answers(&nodes[1].content)];
    assert_eq!(one, other, "history {seed}");
    assert!(log.times().is_sorted(), "history {seed}: the time goes back");
    for node in &nodes {
        // Verification must not run beside a checkpoint, which removes files that it does not know.
        runtime.block_on(node.content.checkpoint()).unwrap();
        let findings = node.content.verify();
        let issues: Vec<_> = findings.issues.iter().filter(|issue| !issue.contains("the log")).collect();
        assert!(issues.is_empty(), "history {seed}: {issues:?}");
    }
    nodes.into_iter().for_each(Node::end);
    n_reads
}

#[test]
fn two_contents_over_one_log_answer_the_same() {
    let mishaps = Arc::new(Mutex::new(Mishaps::default()));
    let next = std::sync::atomic::AtomicU64::new(0);
    let n_reads = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= HISTORIES {
                        return;
                    }
                    n_reads.fetch_add(run_history(seed, &mishaps), Ordering::SeqCst);
                }
            });
        }
    });
    let mishaps = *mishaps.lock();
    let Mishaps { conflicts, unknown, late, outdated, unreachable } = mishaps;
    let fired = [conflicts, unknown, late, outdated, unreachable];
    assert!(fired.iter().all(|count| *count > 50) && n_reads.into_inner() > 1000, "{mishaps:?}");
}

/// A write that waits too long is answered that nothing was applied, or that the outcome is not known. In the first
/// case it never is applied, in the second case at most once.
#[test]
fn a_log_that_does_not_answer_ends_the_wait_and_nothing_happens_twice() {
    let outages = [Outage::Unreachable, Outage::AnswersAreLost, Outage::RequestsAreDelayed];
    let mut n_applied = 0;
    for (seed, outage) in (1..).zip(outages.repeat(5)) {
        let (log, mishaps) = (Arc::new(SharedRecords::default()), Arc::default());
        let mut node = Node::start_with(&log, seed, &mishaps, Duration::from_millis(150));
        // A look of its own could occupy the committer when the outage begins.
        node.stop_following();
        let content = &node.content;
        runtime().block_on(async {
            let body = json!({ "name": "Notes", "slug": "notes", "fields": fields(&mut Random::new(3)) });
            content.create_blueprint(&access(), body.to_string().as_bytes(), None).await.unwrap();
            *log.outage.lock() = Some(outage);
            let create = || async {
                let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
                writing.create(br#"{"attributes":{}}"#, None).await.map(|_| ()).unwrap_err().code
            };
            // Decided, and then queued behind it.
            let (first, second) = tokio::join!(create(), async {
                tokio::time::sleep(Duration::from_millis(30)).await;
                create().await
            });
            let expected = if outage == Outage::Unreachable { Code::LogUnreachable } else { Code::OutcomeUnknown };
            assert_eq!((first, second), (expected, Code::LogUnreachable), "{outage:?}");
            // Refusals are not answered either: nobody knows whether the resource exists by now.
            let id = ResourceId::parse("0199a0b6-0000-7000-8000-000000000000").unwrap();
            let deletion = content.write(&access(), Ability::Delete, "notes", "").unwrap().delete(id, IfMatch::Any);
            assert_eq!(deletion.await.unwrap_err().code, Code::LogUnreachable, "{outage:?}");
            log.end_outage();
            while content.submit(crate::command::Command::Wait).await.is_err() {}
        });
        // A group whose outcome was not known is not decided again after somebody else's was appended before it.
        let at_most = if outage == Outage::Unreachable { 0 } else { 1 };
        assert!(ids(content).len() <= at_most, "{outage:?}");
        n_applied += ids(content).len();
        node.end();
    }
    assert!(n_applied > 0);
}

/// A write waits for the log also while a publication that became due has to be recorded before it.
#[test]
fn a_write_behind_a_due_publication_waits_until_the_log_answers() {
    for outage in [Outage::Unreachable, Outage::AnswersAreLost, Outage::RequestsAreDelayed] {
        let (log, mishaps) = (Arc::new(SharedRecords::default()), Arc::default());
        let mut node = Node::start_with(&log, 7, &mishaps, Duration::from_secs(2));
        node.stop_following();
        let content = &node.content;
        let create = |body: Value| async move {
            let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
            writing.create(body.to_string().as_bytes(), None).await.map(|_| ())
        };
        let due = || format_millis(now_millis() + 50);
        runtime().block_on(async {
            let fields = fields(&mut Random::new(3));
            let body = json!({ "name": "Notes", "slug": "notes", "fields": fields, "scheduled": true });
            content.create_blueprint(&access(), body.to_string().as_bytes(), None).await.unwrap();
            create(json!({ "attributes": {}, "published_at": due() })).await.unwrap();
            *log.outage.lock() = Some(outage);
            let (written, ()) = tokio::join!(
                async {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    create(json!({ "attributes": {} })).await
                },
                async {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    log.end_outage();
                }
            );
            assert_eq!(written, Ok(()), "{outage:?}");
            create(json!({ "attributes": {}, "published_at": due() })).await.unwrap();
            *log.outage.lock() = Some(outage);
            tokio::time::sleep(Duration::from_millis(100)).await;
            let refused = create(json!({ "attributes": {} })).await.unwrap_err();
            assert_eq!(refused.code, Code::LogUnreachable, "{outage:?}");
            log.end_outage();
            while content.submit(crate::command::Command::Wait).await.is_err() {}
        });
        assert_eq!(ids(content).len(), 3, "{outage:?}");
        node.end();
    }
}

/// The time of a transaction says through when publications are recorded, so after a lower one the next start would
/// record some again.
#[test]
fn a_write_that_another_process_outran_at_a_due_publication_is_not_before_it_in_time() {
    let (log, mishaps) = (Arc::new(SharedRecords::default()), Arc::default());
    let mut node = Node::start(&log, 17, &mishaps);
    node.stop_following();
    let content = &node.content;
    let create = |body: Value| async move {
        let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
        writing.create(body.to_string().as_bytes(), None).await.unwrap();
    };
    let later = now_millis() + 60_000;
    runtime().block_on(async {
        let fields = fields(&mut Random::new(3));
        let body = json!({ "name": "Notes", "slug": "notes", "fields": fields, "scheduled": true });
        content.create_blueprint(&access(), body.to_string().as_bytes(), None).await.unwrap();
        let due = format_millis(now_millis() + 50);
        create(json!({ "attributes": {}, "published_at": due })).await;
        *log.outage.lock() = Some(Outage::Unreachable);
        // The publication becomes due, and cannot be recorded before the other process has appended.
        tokio::join!(
            async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                create(json!({ "attributes": {} })).await;
            },
            async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                log.append_at(later);
                log.end_outage();
            }
        );
    });
    assert_eq!(log.times().last(), Some(&later));
    node.end();
}

/// A leader that was paused has older progress in memory than the next one has saved.
#[test]
fn progress_of_webhooks_that_was_read_under_another_term_is_not_saved() {
    let (log, mishaps) = (Arc::new(SharedRecords::default()), Arc::default());
    let nodes = [21, 22].map(|seed| Node::start(&log, seed, &mishaps));
    let lead = |term| Command::Lead(Leader { node: format!("node-{term}"), address: String::new(), term });
    runtime().block_on(async {
        let [one, other] = nodes.each_ref().map(|node| &node.content);
        one.submit(lead(1)).await.unwrap();
        let hook = br#"{"name":"hook","url":"https://a.example/","events":["created"]}"#;
        one.create_webhook(&access(), hook, None).await.unwrap();
        let id = one.webhooks()[0].id.clone();
        let save = |content: &Content, term: u64, text: &str| {
            let (content, parts) = (content.clone(), vec![(id.clone(), 0, text.as_bytes().to_vec())]);
            async move { content.save_webhook_progress(term, parts).await.map_err(|error| error.code) }
        };
        assert_eq!(save(one, 1, "first").await, Ok(()));
        other.submit(lead(2)).await.unwrap();
        assert_eq!(save(other, 2, "newer").await, Ok(()));
        assert_eq!(save(one, 1, "older").await, Err(Code::Conflict));
        catch_up(one).await;
        assert_eq!(one.webhook_progress(&id).unwrap()[0], b"newer");
    });
    nodes.into_iter().for_each(Node::end);
}

/// A node that is older than the others reads what it knows, writes nothing, and says why.
#[test]
fn a_content_stops_following_at_a_newer_format_and_answers_reads() {
    let (log, mishaps) = (Arc::new(SharedRecords::default()), Arc::default());
    let mut node = Node::start_with(&log, 11, &mishaps, Duration::from_secs(2));
    node.stop_following();
    let content = &node.content;
    let allow = |format: u32| {
        let write = StoreWrite::put(Key::Counter(Counter::Format), encode_format(format));
        let mut end = MemoryLog::new(&log, 11, &mishaps);
        while end.append(log.last(), &encode_transaction(1, std::slice::from_ref(&write))).is_err() {}
    };
    runtime().block_on(async {
        let body = json!({ "name": "Notes", "slug": "notes", "fields": fields(&mut Random::new(3)) });
        content.create_blueprint(&access(), body.to_string().as_bytes(), None).await.unwrap();
        let create = || async {
            let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
            writing.create(br#"{"attributes":{}}"#, None).await.map(|_| ())
        };
        allow(FORMAT);
        create().await.unwrap();
        allow(FORMAT + 1);
        assert!(create().await.is_err() && create().await.is_err());
    });
    assert_eq!(ids(content).len(), 1);
    node.end();
}
