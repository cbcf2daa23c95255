//! Rules of ranked search (`API.md` 4.25), as a list applies them.

use std::time::{Duration, Instant};

use super::*;

/// Returns the resources that get a place in a list ordered by relevance, as their ids, places and rules.
fn pinned(rules: Vec<Rule>) -> Vec<(u128, u64, String)> {
    let steering = Steering { synonyms: None, rules: rules.into_iter().map(Arc::new).collect() };
    let blueprint = everything();
    let list = ListParams::parse(&RawParams::parse("q=a"), &blueprint, &|slug| related(slug), NOW, &steering).unwrap();
    list.pinned.into_iter().map(|pin| (pin.id, pin.position, pin.rule)).collect()
}

fn rule(id: &str, pins: Vec<(u128, u64)>, hidden: Vec<u128>) -> Rule {
    Rule::new(id, None, false).changing(pins, hidden, None)
}

#[test]
fn of_several_rules_the_first_pins_and_any_hides() {
    let rules = vec![
        rule("a", vec![(1, 2), (2, 1)], vec![]),
        rule("b", vec![(1, 1), (3, 1), (4, 1)], vec![4]),
        rule("c", vec![(5, 1)], vec![2]),
    ];
    let expected = [(3, 1, "b"), (5, 1, "c"), (1, 2, "a")].map(|(id, position, rule)| (id, position, rule.to_owned()));
    assert_eq!(pinned(rules), expected);
}

#[test]
fn a_thousand_rules_for_one_question_take_no_time() {
    // Each rule pins 50 resources, of which the one before hides 10, and hides 90 others.
    let rule_of = |nth: u128| {
        let pins = (0..50).map(|place| (nth * 1000 + place, place as u64 + 1)).collect();
        let hidden = (0..100).map(|place| (nth + 1) * 1000 + place + 40).collect();
        rule(&nth.to_string(), pins, hidden)
    };
    let rules: Vec<Rule> = (0..1000).map(rule_of).collect();
    let begun = Instant::now();
    assert_eq!(pinned(rules).len(), 50 + 999 * 40);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
