#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::{format_millis, now_millis};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::blueprint_change::ChangeRunner;
use crate::command::{Command, Outcome};
use crate::data::blueprint_change::BlueprintChange;
use crate::data::lookup::resources;
use crate::fixture::{access, copy_folder, open};
use crate::queue::{ImportRoom, Jobs, Queue};
use crate::{Content, IfMatch, ReplacementOutcome};

fn field(slug: &str, kind: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind })
}

fn with(mut field: Value, key: &str, value: Value) -> Value {
    field[key] = value;
    field
}

fn body(fields: &[Value]) -> Vec<u8> {
    json!({ "name": "Notes", "slug": "notes", "fields": fields }).to_string().into_bytes()
}

async fn create(content: &Content, attributes: Value) -> Result<String> {
    let body = json!({ "attributes": attributes }).to_string();
    let done = content.write(&access(), Ability::Create, "notes", "").unwrap().create(body.as_bytes(), None).await?;
    match done {
        crate::IdempotentAnswer::Fresh(created) => Ok(created.id.to_string()),
        crate::IdempotentAnswer::Kept(_) => unreachable!("an answer is kept only with a key"),
    }
}

async fn write(content: &Content, id: &str, is_put: bool, attributes: Value) -> Result<()> {
    let writing = content.write(&access(), Ability::Update, "notes", "").unwrap();
    let id = writing.target(id).unwrap();
    let body = json!({ "attributes": attributes }).to_string();
    match is_put {
        true => writing.replace(id, IfMatch::Any, body.as_bytes()).await.map(|_| ()),
        false => writing.change(id, IfMatch::Any, body.as_bytes()).await.map(|_| ()),
    }
}

async fn put(content: &Content, fields: &[Value]) -> Result<Arc<Blueprint>> {
    replace(content, &body(fields)).await
}

async fn replace(content: &Content, body: &[u8]) -> Result<Arc<Blueprint>> {
    match content.replace_blueprint(&access(), "notes", "").unwrap().run(body).await? {
        ReplacementOutcome::Applied(blueprint) => Ok(blueprint),
        ReplacementOutcome::Planned(plan) => panic!("the change was planned but not applied: {plan:?}"),
    }
}

fn total(content: &Content, query: &str) -> u64 {
    let list = content.view(&access(), "notes").unwrap().list(query).unwrap();
    list.total
}

/// Returns the slugs of the fields with which a write conflicts.
fn conflicting_fields(result: Result<impl Sized>) -> Vec<String> {
    let error = result.err().unwrap();
    assert_eq!(error.code, Code::Conflict, "{error}");
    error.fields.into_iter().map(|(field, _)| field).collect()
}

/// Waits until no change is in progress. Returns the blueprint.
async fn wait_for_change(content: &Content) -> Arc<Blueprint> {
    let started = Instant::now();
    loop {
        let state = content.state();
        let collection = state.collection("notes").unwrap();
        if collection.change.is_none() {
            return Arc::clone(&collection.blueprint);
        }
        assert!(started.elapsed() < Duration::from_secs(20), "the change is still in progress");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Begins a change that is not carried through until the content is reopened.
async fn begin(content: &Content, fields: &[Value]) {
    begin_with(content, &body(fields)).await;
}

async fn begin_with(content: &Content, body: &[u8]) {
    content.shared.changes.stop();
    assert_eq!(replace(content, body).await.err().unwrap().code, Code::Overloaded);
    assert!(content.state().collection("notes").unwrap().change.is_some());
}

#[tokio::test]
async fn during_a_change_only_writes_that_both_blueprints_accept_succeed() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let values = |values: &[&str]| json!({ "values": values });
    let before = [
        field("t", "text"),
        with(field("e", "enum"), "settings", values(&["a", "b"])),
        field("code", "slug"),
        field("gone", "text"),
        field("bare", "text"),
    ];
    content.create_blueprint(&access(), &body(&before), None).await.unwrap();
    let old = create(&content, json!({ "t": "1", "e": "a", "code": "x", "gone": "1", "bare": "1" })).await.unwrap();
    let after = [
        field("t", "rich-text"),
        with(field("e", "enum"), "settings", values(&["a"])),
        with(field("code", "slug"), "unique", json!(true)),
        with(field("bare", "text"), "required", json!(true)),
    ];
    begin(&content, &after).await;

    // Reads use the old blueprint, and so do writes that both blueprints accept.
    assert_eq!(total(&content, "filter[gone]=1&filter[t]=1"), 1);
    let new = create(&content, json!({ "t": "2", "e": "a", "code": "y", "bare": "1" })).await.unwrap();
    write(&content, &old, false, json!({ "t": "<p>3</p>" })).await.unwrap();
    write(&content, &new, false, json!({ "code": "y" })).await.unwrap();
    let other = create(&content, json!({ "code": "w", "bare": "1" })).await.unwrap();
    let cases = [
        (json!({ "t": "<script>1</script>", "bare": "1" }), vec!["t"]),
        (json!({ "e": "b", "bare": "1" }), vec!["e"]),
        (json!({ "code": "x", "bare": "1" }), vec!["code"]),
        (json!({ "code": "y", "bare": "1" }), vec!["code"]),
        (json!({ "gone": "1", "bare": "1" }), vec!["gone"]),
        (json!({ "t": "1" }), vec!["bare"]),
        (json!({ "e": "b", "code": "x", "gone": null }), vec!["e", "code", "gone", "bare"]),
    ];
    for (attributes, fields) in cases {
        assert_eq!(conflicting_fields(create(&content, attributes.clone()).await), fields, "{attributes}");
        assert_eq!(conflicting_fields(write(&content, &other, true, attributes.clone()).await), fields, "{attributes}");
    }
    // The old blueprint's rules still apply.
    let unknown = create(&content, json!({ "e": "c", "nothing": 1 })).await.err().unwrap();
    assert_eq!(unknown.code, Code::ValidationFailed);
    // A unique value can be claimed again once its resource no longer has it.
    write(&content, &old, false, json!({ "code": "z" })).await.unwrap();
    let third = create(&content, json!({ "code": "x", "bare": "1" })).await.unwrap();
    assert_eq!(conflicting_fields(write(&content, &third, false, json!({ "code": "z" })).await), ["code"]);

    // The blueprint accepts no other change meanwhile, and cannot be deleted.
    assert_eq!(put(&content, &before).await.err().unwrap().code, Code::Conflict);
    assert_eq!(content.delete_blueprint(&access(), "notes", "force=true").await.err().unwrap().code, Code::Conflict);
    content.close();
    drop(content);

    // The change continues after a restart.
    let content = open(temp.path());
    content.resume_changes();
    let blueprint = wait_for_change(&content).await;
    assert_eq!(blueprint.fields.len(), 4);
    assert_eq!(total(&content, "filter[t][contains]=3"), 1);
    assert_eq!(total(&content, "search=3"), 1);
    assert_eq!(total(&content, "filter[t]=2"), 1);
    let duplicate = create(&content, json!({ "code": "z", "bare": "1" })).await.err().unwrap();
    assert_eq!(duplicate.code, Code::ValidationFailed);
    let findings = content.verify();
    assert_eq!(findings.issue_count, 0, "{:?}", findings.issues);
}

#[tokio::test]
async fn a_change_that_conflicts_with_stored_resources_has_no_effect() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    content.create_blueprint(&access(), &body(&[field("code", "text"), field("n", "number")]), None).await.unwrap();
    for n in 0..700 {
        create(&content, json!({ "code": format!("c{}", n / 2), "n": n })).await.unwrap();
    }
    let unique = [with(field("code", "text"), "unique", json!(true)), field("n", "duration")];
    let error = put(&content, &unique).await.err().unwrap();
    assert_eq!((error.code, error.conflict.unwrap().count), (Code::Conflict, 700));
    assert_eq!(total(&content, "filter[n][gte]=350"), 350);
    create(&content, json!({ "code": "c1", "n": 1 })).await.unwrap();
    assert_eq!(content.verify().issue_count, 0);

    // Once the conflicting resources are deleted, the change succeeds. Claims of the failed attempt do not interfere.
    let ids: Vec<ResourceId> = resources(&content.shared.store, 1).map(|found| found.unwrap().0).collect();
    for id in ids.iter().skip(1).step_by(2).chain(&ids[700..]) {
        content.write(&access(), Ability::Delete, "notes", "").unwrap().delete(*id, IfMatch::Any).await.unwrap();
    }
    let changed = put(&content, &unique).await.unwrap();
    assert!(changed.fields[0].claims.is_some());
    assert_eq!(total(&content, "filter[n][gte]=350"), 175);
    assert_eq!(create(&content, json!({ "code": "c7" })).await.err().unwrap().code, Code::ValidationFailed);
    // Undo the change and make it again: claims of the first time have no effect.
    put(&content, &[field("code", "text"), field("n", "duration")]).await.unwrap();
    let duplicate = create(&content, json!({ "code": "c7" })).await.unwrap();
    assert_eq!(put(&content, &unique).await.err().unwrap().conflict.unwrap().count, 2);
    write(&content, &duplicate, false, json!({ "code": "c-7" })).await.unwrap();
    put(&content, &unique).await.unwrap();
    assert_eq!(create(&content, json!({ "code": "c-7" })).await.err().unwrap().code, Code::ValidationFailed);
    assert_eq!(content.verify().issue_count, 0);
    content.close();
}

#[tokio::test]
async fn a_re_typed_field_is_searchable_after_a_start_with_an_older_index() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    content.create_blueprint(&access(), &body(&[field("a", "text"), field("n", "text")]), None).await.unwrap();
    let mut import = content.import(&access(), "notes", "").unwrap();
    for n in 0..2000 {
        let line =
            json!({ "key": format!("k{n}"), "attributes": { "a": format!("<p>{n}</p>"), "n": "x" } }).to_string();
        import.push(line.as_bytes()).await.unwrap();
    }
    import.finish().await.unwrap();
    content.checkpoint().await.unwrap();
    // Keep the index from before the change for the next start.
    let kept = temp.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    copy_folder(&temp.path().join("index"), &kept.join("index"));
    put(&content, &[field("a", "rich-text"), field("n", "slug")]).await.unwrap();
    assert_eq!(total(&content, "filter[a]=<p>7</p>&filter[n][starts_with]=X"), 1);
    content.close();
    drop(content);
    std::fs::remove_dir_all(temp.path().join("index")).unwrap();
    std::fs::rename(kept.join("index"), temp.path().join("index")).unwrap();
    let content = open(temp.path());
    assert_eq!(total(&content, "filter[a]=<p>7</p>&filter[n][starts_with]=X"), 1);
    assert_eq!(total(&content, "search=1999"), 1);
    let findings = content.verify();
    assert_eq!(findings.issue_count, 0, "{:?}", findings.issues);
    content.close();
}

#[tokio::test]
async fn during_a_change_a_duplicate_of_a_stored_value_is_rejected_before_it_is_claimed() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let unique = |slug: &str, kind: &str| with(field(slug, kind), "unique", json!(true));
    let before = [field("at", "datetime"), field("n", "number"), field("day", "date"), field("t", "text")];
    content.create_blueprint(&access(), &body(&before), None).await.unwrap();
    let held = json!({ "at": "2026-01-01T10:00:00+02:00", "n": 0.000002, "day": "2026-01-01", "t": "x" });
    let first = create(&content, held.clone()).await.unwrap();
    begin(&content, &[unique("at", "text"), unique("n", "number"), unique("day", "slug"), unique("t", "link")]).await;
    for (slug, value) in held.as_object().unwrap() {
        let attributes = json!({ slug.as_str(): value });
        assert_eq!(conflicting_fields(create(&content, attributes).await), [slug.as_str()], "{slug}");
    }
    // `at` becomes a text, so the same instant in another notation is a different value.
    create(&content, json!({ "at": "2026-01-01T08:00:00Z" })).await.unwrap();
    let id = content.write(&access(), Ability::Delete, "notes", "").unwrap().target(&first).unwrap();
    content.write(&access(), Ability::Delete, "notes", "").unwrap().delete(id, IfMatch::Any).await.unwrap();
    create(&content, json!({ "n": 0.000002 })).await.unwrap();
    content.close();
}

#[tokio::test]
async fn a_blueprint_that_a_change_will_reference_is_deleted_only_by_force() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let other = json!({ "name": "Other", "slug": "other", "fields": [] }).to_string();
    content.create_blueprint(&access(), other.as_bytes(), None).await.unwrap();
    content.create_blueprint(&access(), &body(&[field("t", "text")]), None).await.unwrap();
    create(&content, json!({ "t": "x" })).await.unwrap();
    let relation = with(field("to", "reference"), "settings", json!({ "blueprint": "other" }));
    begin(&content, &[field("t", "rich-text"), relation]).await;
    assert_eq!(content.delete_blueprint(&access(), "other", "").await.err().unwrap().code, Code::Conflict);
    content.delete_blueprint(&access(), "other", "force=true").await.unwrap();
    content.close();
}

#[tokio::test]
async fn an_import_continues_while_its_blueprint_is_changed() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let related = |slug: &str| with(field(slug, "reference"), "settings", json!({ "blueprint": "notes" }));
    content
        .create_blueprint(&access(), &body(&[field("gone", "text"), related("to"), field("n", "text")]), None)
        .await
        .unwrap();
    let mut import = content.import(&access(), "notes", "").unwrap();
    let mut answers = Vec::new();
    // Some lines wait for the last one. The change comes into force between two groups of lines.
    for n in 0..2000 {
        if n == 1000 {
            put(&content, &[related("to"), field("n", "slug")]).await.unwrap();
        }
        let mut attributes =
            json!({ "n": format!("n{n}"), "to": if n % 100 == 0 { json!("k1999") } else { Value::Null } });
        if n == 300 {
            attributes["gone"] = json!("a value of a removed field");
        }
        let line = json!({ "key": format!("k{n}"), "attributes": attributes }).to_string();
        answers.extend(import.push(line.as_bytes()).await.unwrap());
    }
    answers.extend(import.finish().await.unwrap());
    answers.sort_by_key(|answer| answer.index);
    assert_eq!(answers.iter().map(|answer| answer.index).collect::<Vec<_>>(), (0..2000).collect::<Vec<_>>());
    // Line 300 waited for the last line and was therefore checked against the new blueprint, which has no field `gone`.
    let failed: Vec<u64> = answers.iter().filter(|answer| answer.result.is_err()).map(|answer| answer.index).collect();
    assert_eq!(failed, [300]);
    assert_eq!(total(&content, ""), 1999);
    assert_eq!(total(&content, "filter[to][null]=false"), 19);
    assert_eq!(total(&content, "filter[n][starts_with]=n1"), 1111);
    content.close();
}

/// Creates a resource from a whole body.
async fn create_in(content: &Content, slug: &str, body: &Value) -> ResourceId {
    let writing = content.write(&access(), Ability::Create, slug, "").unwrap();
    match writing.create(body.to_string().as_bytes(), None).await.unwrap() {
        crate::IdempotentAnswer::Fresh(created) => created.id,
        crate::IdempotentAnswer::Kept(_) => unreachable!("an answer is kept only with a key"),
    }
}

#[tokio::test]
async fn what_a_change_will_restrict_or_nullify_cannot_be_deleted_meanwhile() {
    for on_delete in ["restrict", "nullify"] {
        let temp = tempfile::tempdir().unwrap();
        let content = open(temp.path());
        let other = json!({ "name": "Other", "slug": "other", "fields": [] }).to_string();
        content.create_blueprint(&access(), other.as_bytes(), None).await.unwrap();
        let other = create_in(&content, "other", &json!({ "attributes": {} })).await;
        content.create_blueprint(&access(), &body(&[field("to", "text")]), None).await.unwrap();
        create(&content, json!({ "to": other.to_string() })).await.unwrap();
        let settings = json!({ "blueprint": "other", "on_delete": on_delete });
        begin(&content, &[with(field("to", "reference"), "settings", settings)]).await;
        let writing = content.write(&access(), Ability::Delete, "other", "").unwrap();
        let refused = writing.delete(other, IfMatch::Any).await.unwrap_err();
        assert_eq!(refused.code, Code::Conflict, "{on_delete}: {refused}");
        assert!(refused.message.contains("is being changed"), "{on_delete}: {refused}");
        content.close();
    }
}

/// Returns the body of notes in these languages, with working copies or without.
fn notes(has_working_copies: bool, languages: &[&str], fields: &[Value]) -> Vec<u8> {
    let variants: Vec<Value> = languages
        .iter()
        .map(|language| json!({ "name": language, "slug": language, "default": *language == "en" }))
        .collect();
    let mut body = json!({ "name": "Notes", "slug": "notes", "variants": variants, "fields": fields });
    body["working_copy"] = json!(has_working_copies);
    body.to_string().into_bytes()
}

/// Creates a published resource with the same value in some fields.
async fn create_published(content: &Content, fields: &[&str]) -> ResourceId {
    let attributes: Value = fields.iter().map(|slug| ((*slug).to_owned(), json!("old"))).collect();
    create_in(content, "notes", &json!({ "published_at": "2026-01-01T00:00:00Z", "attributes": attributes })).await
}

/// Changes the working copy of a variant.
async fn edit(content: &Content, id: ResourceId, variant: &str, attributes: Value) -> Result<()> {
    let query = format!("copy=working&variant={variant}");
    let writing = content.write(&access(), Ability::Update, "notes", &query).unwrap();
    let body = json!({ "attributes": attributes }).to_string();
    writing.change(id, IfMatch::Any, body.as_bytes()).await.map(drop)
}

async fn publish(content: &Content, id: ResourceId, body: Value) -> Result<()> {
    let writing = content.write(&access(), Ability::Publish, "notes", "").unwrap();
    writing.publish(id, IfMatch::Any, body.to_string().as_bytes(), None).await.map(drop)
}

#[tokio::test]
async fn during_a_change_a_working_copy_takes_only_what_the_changed_blueprint_keeps() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let before = [field("t", "text"), field("gone", "text"), field("n", "text")];
    content.create_blueprint(&access(), &notes(true, &["en", "de"], &before), None).await.unwrap();
    let id = create_published(&content, &["t", "gone", "n"]).await;
    edit(&content, id, "de", json!({ "t": "zwei" })).await.unwrap();
    begin_with(&content, &notes(true, &["en"], &[field("t", "text"), field("n", "slug")])).await;

    let refused = edit(&content, id, "en", json!({ "t": "new", "gone": "new", "n": "new" })).await;
    assert_eq!(conflicting_fields(refused), ["gone", "n"]);
    edit(&content, id, "en", json!({ "t": "new", "n": "old" })).await.unwrap();
    assert_eq!(edit(&content, id, "de", json!({ "t": "drei" })).await.err().unwrap().code, Code::Conflict);
    let plan = |variant: &str| json!({ "variants": [variant], "at": "2126-01-01T00:00:00Z" });
    assert_eq!(publish(&content, id, plan("de")).await.err().unwrap().code, Code::Conflict);
    publish(&content, id, plan("en")).await.unwrap();
    content.close();
}

#[tokio::test]
async fn no_working_copy_begins_while_they_are_being_switched_off() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let before = [field("t", "text"), field("n", "text")];
    content.create_blueprint(&access(), &notes(true, &["en"], &before), None).await.unwrap();
    let id = create_published(&content, &["t", "n"]).await;
    begin_with(&content, &notes(false, &["en"], &[field("t", "text"), field("n", "slug")])).await;
    assert_eq!(edit(&content, id, "en", json!({ "t": "new" })).await.err().unwrap().code, Code::Conflict);
    content.close();
    drop(content);
    let content = open(temp.path());
    content.resume_changes();
    assert!(!wait_for_change(&content).await.working_copy);
    content.close();
}

#[tokio::test]
async fn a_planned_publication_waits_for_the_end_of_a_change() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    let before = [field("t", "text"), field("gone", "text"), field("n", "text")];
    content.create_blueprint(&access(), &notes(true, &["en"], &before), None).await.unwrap();
    let id = create_published(&content, &["t", "gone", "n"]).await;
    edit(&content, id, "en", json!({ "t": "new", "gone": "new" })).await.unwrap();
    publish(&content, id, json!({ "at": format_millis(now_millis() + 3_000) })).await.unwrap();
    begin_with(&content, &notes(true, &["en"], &[field("t", "text"), field("n", "slug")])).await;
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!(total(&content, "filter[t]=new"), 0);
    content.close();
    drop(content);

    let content = open(temp.path());
    content.resume_changes();
    wait_for_change(&content).await;
    let started = Instant::now();
    while total(&content, "filter[t]=new") == 0 {
        assert!(started.elapsed() < Duration::from_secs(20), "it was not published");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    content.close();
}

/// Makes a runner of changes whose steps a test decides.
fn runner(content: &Content) -> (Arc<ChangeRunner>, Jobs) {
    let shared = &content.shared;
    let (queue, jobs) = Queue::new(Arc::default(), Duration::from_secs(30));
    let (store, cell, sanitizer) = (shared.store.clone(), Arc::clone(&shared.cell), Arc::clone(&shared.sanitizer));
    (Arc::new(ChangeRunner::new(queue, store, cell, sanitizer, Arc::default())), jobs)
}

/// Decides the next step, which must be that a change comes into force.
fn answer_finish(jobs: &mut Jobs, answer: Result<Outcome>) {
    let room = ImportRoom { is_open: true, bytes: 0, bytes_beside_others: 0, pause: Duration::ZERO };
    let mut group = jobs.next_group(Duration::from_secs(20), || room).unwrap();
    assert!(matches!(group[0].command, Command::FinishChange(_)));
    group[0].answer(answer);
}

#[tokio::test]
async fn a_change_has_one_thread_which_also_answers_a_caller_who_comes_later() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    content.create_blueprint(&access(), &body(&[field("t", "text")]), None).await.unwrap();
    let (runner, mut jobs) = runner(&content);
    let current = content.find_blueprint(&access(), "notes").unwrap();
    let change = Arc::new(BlueprintChange { current: Arc::clone(&current), next: current, force: false, number: 1 });
    let (reply, outcome) = oneshot::channel();
    runner.start(Arc::clone(&change), None);
    runner.start(Arc::clone(&change), Some(reply));
    runner.start(change, None);
    answer_finish(&mut jobs, Ok(Outcome::Done));
    drop(jobs);
    assert!(outcome.await.unwrap().is_ok());
    runner.stop();
    content.close();
}

#[tokio::test]
async fn a_change_that_another_node_carried_through_is_in_force_for_its_caller() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    content.create_blueprint(&access(), &body(&[field("t", "text")]), None).await.unwrap();
    let current = content.find_blueprint(&access(), "notes").unwrap();
    let in_force = put(&content, &[field("t", "rich-text")]).await.unwrap();
    let next = Arc::new(Blueprint { updated_at: 0, filled: 0, ..Blueprint::clone(&in_force) });
    let (runner, mut jobs) = runner(&content);
    let (reply, outcome) = oneshot::channel();
    runner.start(Arc::new(BlueprintChange { current, next, force: false, number: 1 }), Some(reply));
    answer_finish(&mut jobs, Err(Error::new(Code::Conflict, "this change is over")));
    drop(jobs);
    let Ok(Outcome::Blueprint(answered)) = outcome.await.unwrap() else { panic!("the change is refused") };
    assert_eq!(answered, in_force);
    runner.stop();
    content.close();
}

#[tokio::test]
async fn a_step_that_has_no_room_on_the_disk_is_tried_again() {
    let temp = tempfile::tempdir().unwrap();
    let content = open(temp.path());
    content.create_blueprint(&access(), &body(&[field("t", "text")]), None).await.unwrap();
    let (runner, mut jobs) = runner(&content);
    let current = content.find_blueprint(&access(), "notes").unwrap();
    let change = BlueprintChange { current: Arc::clone(&current), next: current, force: false, number: 1 };
    let (reply, outcome) = oneshot::channel();
    runner.start(Arc::new(change), Some(reply));
    for answer in [Err(Error::new(Code::Overloaded, "the disk is full")), Ok(Outcome::Done)] {
        answer_finish(&mut jobs, answer);
    }
    assert!(outcome.await.unwrap().is_ok());
    runner.stop();
    content.close();
}
