#![allow(clippy::unwrap_used)]

use bindery_model::blueprint::Definition;

use super::*;

fn blueprint(fields: &[(&str, &str)]) -> Blueprint {
    let fields: Vec<Value> =
        fields.iter().map(|(slug, of)| json!({ "name": slug, "slug": slug, "type": of })).collect();
    let body = json!({ "name": "Notes", "working_copy": true, "fields": fields });
    Blueprint::create(Definition::parse(body).unwrap(), 1, 0)
}

fn fields() -> Blueprint {
    blueprint(&[("title", "text"), ("body", "text"), ("rank", "number")])
}

fn set(working: &mut WorkingCopy, blueprint: &Blueprint, position: usize, value: Value, live: &[Value]) {
    working.set(&blueprint.fields[position], value, &live[position]);
}

#[test]
fn only_changed_fields_are_held_and_the_others_follow_the_live_copy() {
    let blueprint = fields();
    let live = [json!("a"), json!("b"), json!(1)];
    let mut working = WorkingCopy::begin(5);
    set(&mut working, &blueprint, 0, json!("A"), &live);
    set(&mut working, &blueprint, 1, json!("b"), &live);
    assert_eq!(working.changed(&blueprint).collect::<Vec<_>>(), [(0, &json!("A"))]);
    let mut later = [json!("a"), json!("c"), json!(2)];
    working.apply_to(&blueprint, &mut later);
    assert_eq!(later, [json!("A"), json!("c"), json!(2)]);
    set(&mut working, &blueprint, 0, json!("a"), &live);
    assert!(working.is_empty());
}

#[test]
fn a_conflict_is_a_field_that_both_changed_to_different_values() {
    let blueprint = fields();
    let live = [json!("a"), json!("b"), Value::Null];
    let mut working = WorkingCopy::begin(5);
    set(&mut working, &blueprint, 0, json!("A"), &live);
    set(&mut working, &blueprint, 2, json!(3), &live);
    let conflicts = |live: &[Value]| working.conflicts(&blueprint, live).map(str::to_owned).collect::<Vec<_>>();
    assert!(conflicts(&live).is_empty());
    assert!(conflicts(&[json!("a"), json!("x"), Value::Null]).is_empty());
    assert_eq!(conflicts(&[json!("x"), json!("x"), json!(4)]), ["title", "rank"]);
    assert_eq!(conflicts(&[json!("A"), json!("x"), json!(4)]), ["rank"]);
}

#[test]
fn a_field_that_was_removed_or_retyped_does_not_count_any_more() {
    let blueprint = fields();
    let live = [json!("a"), json!("b"), json!(1)];
    let mut working = WorkingCopy::begin(5);
    set(&mut working, &blueprint, 0, json!("A"), &live);
    set(&mut working, &blueprint, 2, json!(9), &live);
    let body = json!({ "name": "Notes", "working_copy": true, "fields": [
        { "name": "rank", "slug": "rank", "type": "text" }, { "name": "body", "slug": "body", "type": "text" },
    ]});
    let (next, _) = blueprint.revise(Definition::parse(body).unwrap(), 1);
    assert_eq!(working.changed(&next).count(), 0);
    working.retain_known(&next);
    assert!(working.is_empty());
}

#[test]
fn a_revision_of_a_working_copy_finds_a_retyped_field_but_not_one_that_was_removed_and_added_again() {
    let first = fields();
    let live = [json!("a"), json!("b"), json!(1)];
    let mut working = WorkingCopy::begin(5);
    set(&mut working, &first, 0, json!("A"), &live);
    set(&mut working, &first, 2, json!(9), &live);
    let revise = |blueprint: &Blueprint, fields: &[(&str, &str)]| {
        let fields: Vec<Value> =
            fields.iter().map(|(slug, of)| json!({ "name": slug, "slug": slug, "type": of })).collect();
        let body = json!({ "name": "Notes", "working_copy": true, "fields": fields });
        blueprint.revise(Definition::parse(body).unwrap(), 1).0
    };
    let without_title = revise(&first, &[("body", "text"), ("rank", "duration")]);
    let next = revise(&without_title, &[("title", "text"), ("body", "text"), ("rank", "duration")]);
    assert_eq!(working.changed(&next).count(), 0);
    working.follow_retyped(&next, first.revision);
    assert_eq!(working.changed(&next).collect::<Vec<_>>(), [(2, &json!(9))]);
}

#[test]
fn a_working_copy_survives_a_round_trip() {
    let blueprint = fields();
    let live = [json!("a"), json!("b"), json!(1)];
    for actor in [None, Some(Actor::Member(3)), Some(Actor::Token("admin".to_owned()))] {
        let mut working = WorkingCopy::begin(-5);
        set(&mut working, &blueprint, 1, json!("\"ü\u{0}"), &live);
        working.updated = 7;
        working.schedule = Some(Schedule::new(9, Some(-1), true, actor.as_ref()));
        working.failed = Some(FailedSchedule { at: 3, errors: json!({ "code": "CONFLICT" }) });
        let read = WorkingCopy::decode(&working.encode(&blueprint).unwrap()).unwrap();
        assert_eq!(read, working);
        assert_eq!(read.schedule.unwrap().by(), actor);
    }
    let damaged = Copy { revision: 1, attributes: "{".into() };
    assert!(WorkingCopy::decode(&damaged).is_err());
}
