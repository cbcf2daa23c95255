//! Synonyms and rules of ranked search (`API.md` 4.25), compared with a slow and obvious oracle.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Failures, Server};

const LIST: &str = "/v2/resources/articles";
const SYNONYMS: &str = "/v2/search/synonyms";
const RULES: &str = "/v2/search/rules";

/// A sequence of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

fn articles() -> Server {
    let server = Server::start();
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let fields = json!([field("title", "text"), field("kind", "text"), field("price", "number")]);
    let blueprint = json!({ "name": "Articles", "slug": "articles", "record_title": "title", "fields": fields,
        "search": { "fields": { "title": 1 } } });
    server.post("/v2/blueprints", &blueprint).expect(201);
    server
}

fn add(server: &Server, title: &str) -> String {
    server.create("articles", json!({ "title": title }))
}

fn path(query: &str) -> String {
    format!("{LIST}?{}", query.replace(' ', "+").replace('"', "%22"))
}

/// Returns the titles of the results, in order, joined.
fn titles(client: &Client<'_>, query: &str) -> String {
    let reply = client.get(&path(query)).expect(200);
    let title = |item: &Value| item["attributes"]["title"].as_str().unwrap().to_owned();
    reply.data().as_array().unwrap().iter().map(title).collect::<Vec<_>>().join("; ")
}

/// Returns the ids of all pages of this size, in order, and checks that each page has the same total.
fn ids(client: &Client<'_>, query: &str, per_page: usize) -> Vec<String> {
    let mut all = Vec::new();
    for page in 1.. {
        let reply = client.get(&format!("{}&per_page={per_page}&page={page}", path(query))).expect(200);
        let total = reply.json()["meta"]["total"].as_u64().unwrap() as usize;
        let ids: Vec<String> =
            reply.data().as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
        let is_last = ids.len() < per_page;
        all.extend(ids);
        if is_last {
            assert_eq!(all.len(), total, "{query}");
            return all;
        }
    }
    unreachable!("a list without an end")
}

fn synonyms(server: &Server, words: &[&str], one_way: bool) -> String {
    let made = server.post(SYNONYMS, &json!({ "words": words, "one_way": one_way })).expect(201).data();
    made["id"].as_str().unwrap().to_owned()
}

#[test]
fn synonyms_are_found_at_once_after_the_words_asked_for() {
    let server = articles();
    for title in ["Graphics card", "Best gpu", "gpus", "card with graphics", "gpx", "A video card", "Graphics only"] {
        add(&server, title);
    }
    let all = server.as_token(server.secret());
    assert_eq!(titles(&all, "q=gpu "), "Best gpu");
    let entry = synonyms(&server, &["GPU", "graphics card"], false);
    let mut failures = Failures::default();
    for (query, expected) in [
        // The words in a row count more.
        ("q=gpu ", "Best gpu; Graphics card; card with graphics"),
        ("q=gpu", "Best gpu; gpus; Graphics card; card with graphics"),
        ("q=gpu &q_mode=exact", "Best gpu"),
        ("q=\"gpu\"", "Best gpu"),
        ("q=Graphics Card &q_match=all", "Graphics card; card with graphics; Best gpu"),
        ("q=card graphics &q_match=all", "card with graphics; Graphics card"),
        ("q=best gpu &q_match=all", "Best gpu"),
        ("q=gpu -with ", "Best gpu; Graphics card"),
        ("q=gpu &sort=title", "Best gpu; card with graphics; Graphics card"),
    ] {
        failures.check_eq(query, titles(&all, query).as_str(), expected);
    }
    let list = all.get(&path("q=gpu &highlight=title&facets=kind&per_page=2")).expect(200).json();
    failures.check_eq("total", &list["meta"]["total"], &json!(3));
    failures.check_eq("matched_all", &list["meta"]["matched_all"], &json!(3));
    failures.check_eq("facets", &list["meta"]["facets"]["kind"]["null"], &json!(3));
    let mark = json!("<mark>Graphics</mark> <mark>card</mark>");
    failures.check_eq("highlights", &list["data"][1]["highlights"]["title"], &mark);
    // The other direction ends at once, and so does the entry.
    server.patch(&format!("{SYNONYMS}/{entry}"), &json!({ "one_way": true })).expect(200);
    failures.check_eq("one way", titles(&all, "q=gpu ").as_str(), "Best gpu; Graphics card; card with graphics");
    failures.check_eq(
        "back",
        titles(&all, "q=graphics card &q_match=all").as_str(),
        "Graphics card; card with graphics",
    );
    server.delete(&format!("{SYNONYMS}/{entry}")).expect(204);
    failures.check_eq("deleted", titles(&all, "q=gpu ").as_str(), "Best gpu");
    synonyms(&server, &["gpu", "video card"], false);
    failures.check_eq("another", titles(&all, "q=gpu ").as_str(), "Best gpu; A video card");
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    blueprint["search"]["synonyms"] = json!(false);
    let changed = server.put("/v2/blueprints/articles", &blueprint).expect(200).data();
    failures.check_eq("setting", &changed["search"]["synonyms"], &json!(false));
    failures.check_eq("off", titles(&all, "q=gpu ").as_str(), "Best gpu");
    failures.assert_none();
}

#[test]
fn synonyms_belong_to_a_variant_or_to_all() {
    let server = articles();
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    blueprint["variants"] = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    server.put("/v2/blueprints/articles", &blueprint).expect(200);
    let id = add(&server, "A car");
    server.patch(&format!("{LIST}/{id}?variant=de"), &json!({ "attributes": { "title": "Ein car" } })).expect(200);
    server.post(SYNONYMS, &json!({ "variant": "de", "words": ["Auto", "car"] })).expect(201);
    let all = server.as_token(server.secret());
    assert_eq!(titles(&all, "q=auto &variant=de"), "Ein car");
    assert_eq!(titles(&all, "q=auto "), "");
    synonyms(&server, &["auto", "car"], false);
    assert_eq!(titles(&all, "q=auto "), "A car");
    // A form of a synonym is one.
    add(&server, "Two cars");
    assert_eq!(titles(&all, "q=auto "), "Two cars; A car");
}

#[test]
fn text_without_spaces_has_synonyms_of_any_length() {
    let server = articles();
    for title in [
        "Japanese",
        "Japanese 入力",
        "日本語入力",
        "日本語",
        "water pipe",
        "水道",
        "computer",
        "คอมพิวเตอร์",
        "machine learning with Go",
        "機械学習",
        "Tokyo 都",
    ] {
        add(&server, title);
    }
    synonyms(&server, &["日本語", "Japanese"], false);
    synonyms(&server, &["水", "water"], false);
    synonyms(&server, &["คอมพิวเตอร์", "computer"], false);
    synonyms(&server, &["機械学習", "machine learning"], true);
    synonyms(&server, &["東京", "Tokyo"], false);
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (q, expected) in [
        ("日本語 ", "日本語; 日本語入力; Japanese; Japanese 入力"),
        ("japanese ", "Japanese; Japanese 入力; 日本語; 日本語入力"),
        // A part of the text has a synonym, and the rest is wanted beside it.
        ("日本語入力 ", "日本語入力; Japanese 入力"),
        ("\"日本語\" ", "日本語; 日本語入力"),
        ("水 ", "水道; water pipe"),
        ("water ", "water pipe; 水道"),
        ("水道 ", "水道"),
        ("คอมพิวเตอร์ ", "คอมพิวเตอร์; computer"),
        ("computer ", "computer; คอมพิวเตอร์"),
        ("機械学習 ", "機械学習; machine learning with Go"),
        ("go 機械学習 ", "machine learning with Go"),
        ("machine learning ", "machine learning with Go"),
        ("東京都 ", "Tokyo 都"),
        ("-日本語 japanese ", "Japanese; Japanese 入力"),
    ] {
        let encoded: String = q.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let query = format!("q={encoded}&q_match=all");
        failures.check_eq(q, titles(&all, &query).as_str(), expected);
        let exact = titles(&all, &format!("{query}&q_mode=exact"));
        let is_own = !exact.contains(if q.starts_with(char::is_alphabetic) && q.is_ascii() { '日' } else { 'J' });
        failures.check_eq(&format!("{q} exactly"), &(is_own || q.starts_with('-')), &true);
    }
    let marked = |q: &str, title: &str| {
        let encoded: String = q.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let reply = all.get(&format!("{LIST}?q={encoded}&highlight=title")).expect(200);
        let found = reply.data().as_array().unwrap().iter().find(|item| item["attributes"]["title"] == title).cloned();
        found.map_or(json!(null), |item| item["highlights"]["title"].clone())
    };
    failures.check_eq("marks", &marked("日本語", "Japanese"), &json!("<mark>Japanese</mark>"));
    failures.check_eq(
        "marks",
        &marked("日本語入力", "Japanese 入力"),
        &json!("<mark>Japanese</mark> <mark>入力</mark>"),
    );
    // A match by a synonym has all words, and comes before one that lacks characters.
    add(&server, "日本");
    failures.check_eq(
        "lacking",
        titles(&all, "q=%E6%97%A5%E6%9C%AC%E8%AA%9E ").as_str(),
        "日本語; 日本語入力; Japanese; Japanese 入力; 日本",
    );
    failures.assert_none();
}

#[test]
fn bodies_of_synonyms_and_rules_are_checked() {
    let server = articles();
    let id = add(&server, "one");
    let long = "x".repeat(101);
    let many: Vec<String> = (0..21).map(|number| format!("w{number}")).collect();
    let hidden = vec![id.as_str(); 101];
    let pins: Vec<Value> = (0..51).map(|position| json!({ "id": id, "position": position + 1 })).collect();
    let mut failures = Failures::default();
    for (at, body, keys) in [
        (SYNONYMS, json!({}), "words"),
        (SYNONYMS, json!({ "words": ["one"] }), "words"),
        (SYNONYMS, json!({ "words": many }), "words"),
        (SYNONYMS, json!({ "words": ["one", long] }), "words.1"),
        (SYNONYMS, json!({ "words": ["one", "..."] }), "words.1"),
        (SYNONYMS, json!({ "words": ["Été", "two", "ete"] }), "words.2"),
        (SYNONYMS, json!({ "words": ["one", 2] }), "words.1"),
        (SYNONYMS, json!({ "words": ["one", "two"], "one_way": 1 }), "one_way"),
        (SYNONYMS, json!({ "words": ["one", "two"], "variant": "xx" }), "variant"),
        (SYNONYMS, json!({ "words": ["one", "two"], "word": 1 }), "word"),
        (RULES, json!({ "query": "..." }), "query"),
        (RULES, json!({ "query": "x".repeat(201) }), "query"),
        (RULES, json!({ "match": "begins" }), "match"),
        (RULES, json!({ "blueprint": "none" }), "blueprint"),
        (RULES, json!({ "variant": "none" }), "variant"),
        (RULES, json!({ "filter_add": "filter[kind]=a" }), "filter_add"),
        (RULES, json!({ "blueprint": "articles", "filter_add": "filter[none]=a" }), "filter_add"),
        (RULES, json!({ "blueprint": "articles", "filter": "kind=a" }), "filter"),
        (RULES, json!({ "from": "today" }), "from"),
        (RULES, json!({ "from": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z" }), "until"),
        (RULES, json!({ "pin": pins }), "pin"),
        (RULES, json!({ "pin": [{ "id": id, "position": 0 }] }), "pin.0"),
        (RULES, json!({ "pin": [{ "id": "x", "position": 1 }] }), "pin.0"),
        (RULES, json!({ "pin": [{ "id": id, "position": 1 }, { "id": id, "position": 2 }] }), "pin.1"),
        (RULES, json!({ "hide": hidden }), "hide"),
        (RULES, json!({ "hide": ["x"] }), "hide.0"),
        (RULES, json!({ "hide": [id], "pin": [{ "id": id, "position": 1 }] }), "hide"),
    ] {
        let reply = server.post(at, &body).expect(422);
        failures.check_eq(&body.to_string(), reply.error_keys().join(",").as_str(), keys);
    }
    // Many entries together give one word too many synonyms.
    let of_one = |others: Vec<String>| [vec!["One".to_owned()], others].concat();
    for part in 0..5 {
        let others: Vec<String> = (0..19).map(|number| format!("w{part}x{number}")).collect();
        server.post(SYNONYMS, &json!({ "words": of_one(others) })).expect(201);
    }
    let others: Vec<String> = (0..6).map(|number| format!("v{number}")).collect();
    let reply = server.post(SYNONYMS, &json!({ "words": of_one(others) }));
    failures.check_eq("too many of a word", reply.expect(422).error_keys().join(",").as_str(), "words");
    for at in [SYNONYMS, RULES] {
        for (method, outcome) in [("GET", "404 NOT_FOUND"), ("DELETE", "404 NOT_FOUND"), ("PUT", "404 NOT_FOUND")] {
            let reply = server.raw(method, &format!("{at}/none"), &[("content-type", "application/json")], b"{}");
            failures.check_eq(&format!("{method} {at}/none"), reply.outcome().as_str(), outcome);
        }
        let viewer = server.token(&["view"]);
        failures.check_eq(at, server.as_token(&viewer).get(at).outcome().as_str(), "403 FORBIDDEN");
    }
    failures.assert_none();
}

/// The oracle of synonyms: in how many words a title needs one, or none if it lacks a word.
fn needed(title: &str, asked: &[&str], entries: &[(Vec<Vec<&str>>, bool)]) -> Option<usize> {
    let words: Vec<&str> = title.split(' ').collect();
    let has_all = |phrase: &[&str]| phrase.iter().all(|word| words.contains(word));
    let mut needed = 0;
    for (at, word) in asked.iter().enumerate() {
        if words.contains(word) {
            continue;
        }
        let is_by = |(phrases, one_way): &(Vec<Vec<&str>>, bool)| {
            let sources = if *one_way { 1 } else { phrases.len() };
            (0..sources).any(|source| {
                let row = &phrases[source];
                let covers = |first: usize| asked[first..].starts_with(row) && first <= at && at < first + row.len();
                let others = phrases.iter().enumerate().filter(|(other, _)| *other != source);
                (0..asked.len()).any(covers) && others.into_iter().any(|(_, phrase)| has_all(phrase))
            })
        };
        if !entries.iter().any(is_by) {
            return None;
        }
        needed += 1;
    }
    Some(needed)
}

#[test]
fn random_synonyms_agree_with_the_oracle() {
    let server = articles();
    let all = server.as_token(server.secret());
    let mut numbers = Numbers(7);
    let vocabulary = ["ka", "le", "mo", "nu", "pi", "ro"];
    let titles: Vec<String> = (0..40)
        .map(|_| (0..=numbers.below(3)).map(|_| *numbers.of(&vocabulary)).collect::<Vec<_>>().join(" "))
        .collect();
    let ids_of: Vec<String> = titles.iter().map(|title| add(&server, title)).collect();
    for round in 0..12 {
        let mut entries: Vec<(Vec<Vec<&str>>, bool)> = Vec::new();
        let mut made = Vec::new();
        for _ in 0..numbers.below(4) {
            let mut phrases: Vec<Vec<&str>> = Vec::new();
            for _ in 0..2 + numbers.below(2) {
                let phrase: Vec<&str> = (0..=numbers.below(2)).map(|_| *numbers.of(&vocabulary)).collect();
                if !phrases.contains(&phrase) {
                    phrases.push(phrase);
                }
            }
            if phrases.len() < 2 {
                continue;
            }
            let one_way = numbers.below(2) == 0;
            let words: Vec<String> = phrases.iter().map(|phrase| phrase.join(" ")).collect();
            made.push(synonyms(&server, &words.iter().map(String::as_str).collect::<Vec<_>>(), one_way));
            entries.push((phrases, one_way));
        }
        for _ in 0..8 {
            // Equal words count once, so that a row with a repeated word is not in a question.
            let mut asked: Vec<&str> = Vec::new();
            for _ in 0..=numbers.below(3) {
                let word = *numbers.of(&vocabulary);
                if !asked.contains(&word) {
                    asked.push(word);
                }
            }
            let found = ids(&all, &format!("q={} &typos=false&q_match=all", asked.join(" ")), 100);
            let needs = |id: &String| {
                let at = ids_of.iter().position(|other| other == id).unwrap();
                needed(&titles[at], &asked, &entries)
            };
            let order: Vec<Option<usize>> = found.iter().map(needs).collect();
            assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{round} {asked:?} {entries:?} {order:?}");
            let expected: BTreeSet<&String> = ids_of.iter().filter(|id| needs(id).is_some()).collect();
            assert_eq!(found.iter().collect::<BTreeSet<_>>(), expected, "{round} {asked:?} {entries:?}");
        }
        made.iter().for_each(|id| drop(server.delete(&format!("{SYNONYMS}/{id}")).expect(204)));
    }
}

/// The oracle of pins: the list without them, with each at its place, or behind the others if there are too few.
fn with_pins(others: Vec<String>, pins: &[(String, usize)]) -> Vec<String> {
    let mut list = others;
    let mut sorted = pins.to_vec();
    sorted.sort_by_key(|(_, position)| *position);
    for (at, (id, position)) in sorted.iter().enumerate() {
        // Pins before it are in the list already, so it does not come before them.
        let before = sorted[..at].iter().filter_map(|(other, _)| list.iter().position(|id| id == other)).max();
        let place = (position - 1).max(before.map_or(0, |before| before + 1)).min(list.len());
        list.insert(place, id.clone());
    }
    list
}

#[test]
fn synonyms_and_rules_are_found_in_either_normal_form() {
    let (composed, decomposed) = ("がくせい", "か\u{3099}くせい");
    let all_of = |server: &Server, query: &str| titles(&server.as_token(server.secret()), query);
    for (stored, asked) in [(composed, decomposed), (decomposed, composed)] {
        let server = articles();
        add(&server, "Students");
        let pinned = add(&server, "Other");
        let encoded: String = asked.bytes().map(|byte| format!("%{byte:02X}")).collect();
        synonyms(&server, &[stored, "students"], false);
        assert_eq!(all_of(&server, &format!("q={encoded}&q_match=all")), "Students", "{stored}");
        assert_eq!(all_of(&server, "q=students &q_match=all"), "Students");
        add(&server, asked);
        assert_eq!(all_of(&server, "q=students &q_match=all"), format!("Students; {asked}"));
        let body = json!({ "query": stored, "pin": [{ "id": pinned, "position": 1 }] });
        server.post(RULES, &body).expect(201);
        let expected = format!("Other; {asked}; Students");
        assert_eq!(all_of(&server, &format!("q={encoded}&q_match=all")), expected, "{stored}");
    }
}

#[test]
fn rules_pin_hide_and_filter() {
    let server = articles();
    let kinds = ["new", "old"];
    let made: Vec<String> = (0..12)
        .map(|number| {
            let title = if number < 9 { format!("red shoe {number}") } else { format!("blue hat {number}") };
            server.create("articles", json!({ "title": title, "kind": kinds[number % 2], "price": number }))
        })
        .collect();
    let draft = server.post(LIST, &json!({ "attributes": { "title": "red draft", "kind": "new" } })).expect(201).data();
    let draft = draft["id"].as_str().unwrap().to_owned();
    let all = server.as_token(server.secret());
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    let (natural, seen) = (ids(&all, "q=red ", 100), ids(&viewer, "q=red ", 100));
    let pins = [(made[10].clone(), 2), (made[0].clone(), 1), (draft.clone(), 4), (made[11].clone(), 500)];
    let pin: Vec<Value> = pins.iter().map(|(id, position)| json!({ "id": id, "position": position })).collect();
    let body = json!({ "query": "RED", "blueprint": "articles", "pin": pin, "hide": [made[3]] });
    let rule = server.post(RULES, &body).expect(201).data();
    let at = format!("{RULES}/{}", rule["id"].as_str().unwrap());
    let rest = |list: &[String]| -> Vec<String> {
        let is_moved = |id: &&String| !pins.iter().any(|(pin, _)| pin == *id) && **id != made[3];
        list.iter().filter(is_moved).cloned().collect()
    };
    let mut failures = Failures::default();
    for per_page in [1, 2, 3, 5, 100] {
        let expected = with_pins(rest(&natural), &pins);
        failures.check_eq(&format!("manage, {per_page}"), &ids(&all, "q=red ", per_page), &expected);
        let shown: Vec<(String, usize)> = pins.iter().filter(|(id, _)| *id != draft).cloned().collect();
        failures.check_eq(
            &format!("view, {per_page}"),
            &ids(&viewer, "q=red ", per_page),
            &with_pins(rest(&seen), &shown),
        );
    }
    let of_kind: Vec<(String, usize)> =
        pins.iter().filter(|(id, _)| *id != made[11] && *id != draft).cloned().collect();
    let old: BTreeSet<String> = ids(&viewer, "filter[kind]=new", 100).into_iter().collect();
    let expected: Vec<String> = rest(&seen).into_iter().filter(|id| old.contains(id)).collect();
    failures.check_eq("a filter", &ids(&viewer, "q=red &filter[kind]=new", 2), &with_pins(expected, &of_kind));
    let total = all.get(&path("q=red &facets=kind&per_page=1")).expect(200).json()["meta"].clone();
    failures.check_eq("total", &total["total"], &json!(natural.len() - 1 + 2));
    failures.check_eq("matched_all", &total["matched_all"], &json!(natural.len() - 1));
    let counted: u64 =
        total["facets"]["kind"]["values"].as_array().unwrap().iter().map(|of| of["count"].as_u64().unwrap()).sum();
    failures.check_eq("facets", &counted, &total["total"].as_u64().unwrap());
    let explained = all.get(&path("q=red &explain=true")).expect(200).json()["meta"]["explain"].clone();
    let is_named =
        explained.as_array().unwrap().iter().any(|step| step["step"] == "rule" && step["what"] == rule["id"]);
    failures.check_eq("explain", &is_named, &true);
    // With a sort, only what is hidden counts.
    let mut sorted = ids(&all, "q=red &sort=price", 3);
    failures.check_eq("sorted", &sorted.contains(&made[3]), &false);
    sorted.sort();
    let mut expected: Vec<String> = natural.iter().filter(|id| **id != made[3]).cloned().collect();
    expected.sort();
    failures.check_eq("sorted", &sorted, &expected);
    for (query, holds) in [("q=red shoe ", false), ("q=réd ", true), ("q=\"red\"", true), ("q=blue ", false)] {
        let first = ids(&all, query, 100).first().cloned();
        failures.check_eq(query, &(first == Some(made[0].clone())), &holds);
    }
    server.patch(&at, &json!({ "match": "contains" })).expect(200);
    failures.check_eq("contains", &ids(&all, "q=red shoe ", 4)[0], &made[0]);
    server.patch(&at, &json!({ "filter": "filter[kind][eq]=old" })).expect(200);
    failures.check_eq("without the filter", &ids(&all, "q=red ", 100), &natural);
    let filtered = ids(&all, "q=red &filter[kind]=old", 100);
    failures.check_eq("with the filter", &filtered.contains(&made[3]), &false);
    // A rule begins and ends by itself.
    for (times, holds) in [
        (json!({ "filter": null, "from": "2020-01-01T00:00:00Z", "until": "2021-01-01T00:00:00Z" }), false),
        (json!({ "from": "2020-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z" }), true),
        (json!({ "from": "2099-01-01T00:00:00Z" }), false),
        (json!({ "from": null, "until": null }), true),
    ] {
        server.patch(&at, &times).expect(200);
        failures.check_eq(&times.to_string(), &(ids(&all, "q=red ", 100) != natural), &holds);
    }
    let add = json!({ "blueprint": "articles", "filter_add": "filter[$or][0][price][lt]=2&filter[$or][1][price]=5" });
    server.put(&at, &add).expect(200);
    let expected: Vec<String> =
        natural.iter().filter(|id| [0, 1, 5].iter().any(|number| made[*number] == **id)).cloned().collect();
    failures.check_eq("a filter is added", &ids(&all, "q=red ", 2), &expected);
    let both = ids(&all, "q=red &filter[$or][0][price]=5&filter[$or][1][price]=7", 2);
    failures.check_eq("beside another", &both, &vec![made[5].clone()]);
    server.delete(&at).expect(204);
    failures.check_eq("deleted", &ids(&all, "q=red ", 100), &natural);
    failures.assert_none();
}

#[test]
fn kept_answers_know_that_a_rule_ends() {
    let server = articles();
    let id = add(&server, "red shoe");
    let all = server.as_token(server.secret());
    let until = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now() + Duration::from_secs(3));
    let until = until.format("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string();
    server.post(RULES, &json!({ "query": "red", "hide": [id], "until": until })).expect(201);
    let started = Instant::now();
    assert!(ids(&all, "q=red ", 5).is_empty());
    while ids(&all, "q=red ", 5).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "the rule does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_kept_answer_knows_that_a_rule_was_not_applied() {
    let server = Server::start();
    let text = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
    let authors = server.blueprint("authors", json!([text("name"), text("town")]));
    let author =
        json!({ "name": "Author", "slug": "author", "type": "reference", "settings": { "blueprint": "authors" } });
    server.blueprint("articles", json!([text("title"), author]));
    let ada = server.create("authors", json!({ "name": "Ada" }));
    server.create("articles", json!({ "title": "red shoe", "author": ada }));
    server.create("articles", json!({ "title": "red hat" }));
    server.post(RULES, &json!({ "blueprint": "articles", "filter_add": "filter[author.name]=Ada" })).expect(201);

    let secret = |blueprints: Value| {
        let token = json!({ "name": "t", "abilities": ["view"], "blueprints": blueprints });
        server.post("/v2/tokens", &token).expect(201).data()["secret"].as_str().unwrap().to_owned()
    };
    let (some, both) = (secret(json!(["articles"])), secret(json!(["articles", "authors"])));
    let (without_authors, with_authors) = (server.as_token(&some), server.as_token(&both));
    let (all, filtered) = ("red hat; red shoe", "red shoe");
    let query = "q=red &sort=title";
    for _ in 0..2 {
        assert_eq!(titles(&without_authors, query), all, "the rule needs a blueprint that the token does not have");
        assert_eq!(titles(&with_authors, query), filtered);
    }
    let mut changed = authors.clone();
    changed["fields"] = json!([authors["fields"][1]]);
    server.put("/v2/blueprints/authors", &changed).expect(200);
    assert_eq!(titles(&with_authors, query), all, "the rule needs a field that is gone");
    changed["fields"] = json!([text("name"), text("town")]);
    server.put("/v2/blueprints/authors", &changed).expect(200);
    server.patch(&format!("/v2/resources/authors/{ada}"), &json!({ "attributes": { "name": "Ada" } })).expect(200);
    assert_eq!(titles(&with_authors, query), filtered);
}

#[test]
fn steering_survives_a_restart() {
    let mut server = articles();
    let id = add(&server, "red shoe");
    synonyms(&server, &["scarlet", "red"], false);
    server.post(RULES, &json!({ "query": "blue", "pin": [{ "id": id, "position": 1 }] })).expect(201);
    server.kill_and_restart();
    let all = server.as_token(server.secret());
    assert_eq!(titles(&all, "q=scarlet "), "red shoe");
    assert_eq!(titles(&all, "q=blue "), "red shoe");
    assert_eq!(server.get(SYNONYMS).expect(200).data().as_array().unwrap().len(), 1);
    // Rules of a blueprint go with it.
    server.post(RULES, &json!({ "query": "green", "blueprint": "articles" })).expect(201);
    server.delete("/v2/blueprints/articles?force=true").expect(204);
    assert_eq!(server.get(RULES).expect(200).data().as_array().unwrap().len(), 1);
}

#[test]
fn dates_and_numbers_count_into_the_order() {
    let server = articles();
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    let field = json!({ "name": "day", "slug": "day", "type": "date" });
    blueprint["fields"].as_array_mut().unwrap().push(field);
    server.put("/v2/blueprints/articles", &blueprint).expect(200);
    for (title, price, day) in [
        ("red one", json!(1), json!("2020-01-01")),
        ("red two", json!(100), json!("2019-01-01")),
        ("red six", json!(null), json!("2025-01-01")),
        ("red ten", json!(50), json!(null)),
        ("rod", json!(1_000), json!("2026-01-01")),
        ("red and other words after it", json!(5), json!("2026-01-01")),
    ] {
        server.create("articles", json!({ "title": title, "price": price, "day": day }));
    }
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    let mut set = |boost: Value, query: &str, expected: &str| {
        blueprint["search"]["boost"] = boost.clone();
        let shown = server.put("/v2/blueprints/articles", &blueprint).expect(200).data();
        let shown = if boost == json!([]) { boost.clone() } else { shown["search"]["boost"].clone() };
        failures.check_eq("setting", &shown, &boost);
        failures.check_eq(&format!("{query} {boost}"), titles(&all, query).as_str(), expected);
    };
    let rest = "red and other words after it";
    set(json!([]), "q=red ", &format!("red ten; red six; red two; red one; {rest}"));
    set(json!([{ "field": "price", "weight": 9 }]), "q=red ", &format!("red two; red ten; {rest}; red one; red six"));
    set(
        json!([{ "field": "price", "weight": 1, "from": 40, "to": 60 }]),
        "q=red ",
        &format!("red two; red ten; red six; red one; {rest}"),
    );
    set(
        json!([{ "field": "day", "half_life_days": 900, "weight": 9 }]),
        "q=red ",
        &format!("red six; {rest}; red one; red two; red ten"),
    );
    // A boost never lifts a resource into another tier.
    set(json!([{ "field": "price", "weight": 100 }]), "q=rod ", "rod");
    set(json!([{ "field": "price", "weight": 100 }]), "q=one red &q_match=all", "red one");
    let explained = all.get(&path("q=red &explain=true")).expect(200).json()["meta"]["explain"].clone();
    let is_named = explained.as_array().unwrap().iter().any(|step| step["step"] == "boost" && step["what"] == "price");
    failures.check_eq("explain", &is_named, &true);
    for (boost, key) in [
        (json!([{ "field": "price", "weight": 0 }]), "search.boost.0.weight"),
        (json!([{ "field": "price" }]), "search.boost.0.weight"),
        (json!([{ "weight": 1 }]), "search.boost.0.field"),
        (json!([{ "field": "kind", "weight": 1 }]), "search.boost.0.field"),
        (json!([{ "field": "day", "weight": 1 }]), "search.boost.0.half_life_days"),
        (json!([{ "field": "price", "weight": 1, "half_life_days": 1 }]), "search.boost.0.half_life_days"),
        (json!([{ "field": "price", "weight": 1, "from": 2, "to": 2 }]), "search.boost.0.to"),
        (json!(vec![json!({ "field": "price", "weight": 1 }); 6]), "search.boost"),
        (json!([{ "field": "price", "weight": 1 }, { "field": "price", "weight": 2 }]), "search.boost.1.field"),
    ] {
        blueprint["search"]["boost"] = boost.clone();
        let keys = server.put("/v2/blueprints/articles", &blueprint).expect(422).error_keys();
        failures.check_eq(&boost.to_string(), keys.join(",").as_str(), key);
    }
    failures.assert_none();
}

/// Returns the list of all blueprints, as blueprint and title of each resource, and its `meta`.
fn everywhere(client: &Client<'_>, query: &str) -> (Vec<String>, Value) {
    let reply = client.get(&format!("/v2/search?{}", query.replace(' ', "+"))).expect(200).json();
    let shown = |item: &Value| {
        let slug = item["relationships"]["blueprint"]["data"]["id"].as_str().unwrap();
        format!("{slug}: {}", item["attributes"]["title"].as_str().unwrap())
    };
    (reply["data"].as_array().unwrap().iter().map(shown).collect(), reply["meta"].clone())
}

#[test]
fn all_blueprints_have_one_ranked_list() {
    let server = articles();
    let pages = json!({ "name": "Pages", "slug": "pages", "record_title": "title",
        "fields": [{ "name": "title", "slug": "title", "type": "text" }, { "name": "body", "slug": "body", "type": "rich-text" }] });
    server.post("/v2/blueprints", &pages).expect(201);
    server.blueprint("numbers", json!([{ "name": "number", "slug": "number", "type": "number" }]));
    let article = add(&server, "compiler");
    ["compilre", "compiler and other words", "linker"].iter().for_each(|title| drop(add(&server, title)));
    for (title, body) in [("compiler", "<p>compiler</p>"), ("compilre", "<p></p>"), ("about", "<p>the compiler</p>")] {
        server.create("pages", json!({ "title": title, "body": body }));
    }
    server.post("/v2/resources/pages", &json!({ "attributes": { "title": "compiler draft", "body": "" } })).expect(201);
    let all = server.as_token(server.secret());
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    let mut failures = Failures::default();
    let (whole, meta) = everywhere(&viewer, "q=compiler ");
    failures.check_eq("total", &meta["total"], &json!(6));
    failures.check_eq("matched_all", &meta["matched_all"], &json!(6));
    let facet = json!({ "values": [{ "value": "articles", "count": 3 }, { "value": "pages", "count": 3 }], "distinct": 2, "null": 0 });
    failures.check_eq("facet", &meta["facets"]["blueprint"], &facet);
    // Typos come last, whatever the blueprint.
    failures.check(whole[..4].iter().all(|one| !one.ends_with("compilre")), || format!("{whole:?}"));
    failures.check_eq("drafts", &everywhere(&all, "q=compiler ").1["total"], &json!(7));
    for per_page in [1, 2, 3] {
        let mut paged = Vec::new();
        for page in 1..=6usize.div_ceil(per_page) {
            let (part, meta) = everywhere(&viewer, &format!("q=compiler &per_page={per_page}&page={page}"));
            failures.check_eq("last page", &meta["last_page"], &json!(6usize.div_ceil(per_page)));
            paged.extend(part);
        }
        failures.check_eq(&format!("pages of {per_page}"), &paged, &whole);
    }
    failures.check_eq("behind the end", &everywhere(&viewer, "q=compiler &page=9").0, &Vec::new());
    // The order inside a blueprint is that of its own list.
    for slug in ["articles", "pages"] {
        let own = viewer.get(&format!("/v2/resources/{slug}?q=compiler+&fields=attributes.title")).expect(200).data();
        let own: Vec<String> = own
            .as_array()
            .unwrap()
            .iter()
            .map(|item| format!("{slug}: {}", item["attributes"]["title"].as_str().unwrap()))
            .collect();
        let part: Vec<String> = whole.iter().filter(|one| one.starts_with(slug)).cloned().collect();
        failures.check_eq(slug, &part, &own);
        failures.check_eq("only it", &everywhere(&viewer, &format!("q=compiler &blueprints={slug}")).0, &own);
    }
    for (weights, first) in [("articles:100", "articles: compiler"), ("pages:100", "pages: compiler")] {
        failures.check_eq(weights, everywhere(&viewer, &format!("q=compiler &weights={weights}")).0[0].as_str(), first);
    }
    let light = everywhere(&viewer, "q=compiler &weights=articles:0.001").0;
    failures.check(light[..2].iter().all(|one| one.starts_with("pages")), || format!("{light:?}"));
    let body = json!({ "query": "compiler", "pin": [{ "id": article, "position": 3 }] });
    server.post(RULES, &body).expect(201);
    failures.check_eq("pinned", everywhere(&viewer, "q=compiler ").0[2].as_str(), "articles: compiler");
    let pinned = everywhere(&viewer, "q=compiler ").0;
    for per_page in [1, 4] {
        let page = |page: usize| everywhere(&viewer, &format!("q=compiler &per_page={per_page}&page={page}")).0;
        let paged: Vec<String> = (1..=6usize.div_ceil(per_page)).flat_map(page).collect();
        failures.check_eq(&format!("pages of {per_page} with a pin"), &paged, &pinned);
    }
    let grouped = viewer.get("/v2/search?q=compiler+&group=true").expect(200).data();
    failures.check_eq("grouped", &grouped[1]["total"], &json!(3));
    for query in [
        "q=compiler&blueprints=none",
        "q=compiler&weights=none:1",
        "q=compiler&weights=pages",
        "q=compiler&weights=pages:0",
        "q=compiler&group=maybe",
        "q=compiler&page=0",
        "q=compiler&per_page=101",
    ] {
        failures.check_eq(
            query,
            viewer.get(&format!("/v2/search?{query}")).outcome().as_str(),
            "422 INVALID_PARAMETER",
        );
    }
    failures.assert_none();
}

#[test]
fn one_search_over_all_blueprints_is_in_one_language() {
    let server = Server::start();
    let title = json!([{ "name": "title", "slug": "title", "type": "text" }]);
    let languages = json!([{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }]);
    let body =
        json!({ "name": "Guides", "slug": "guides", "record_title": "title", "fields": title, "variants": languages });
    server.post("/v2/blueprints", &body).expect(201);
    server
        .post("/v2/blueprints", &json!({ "name": "Notes", "slug": "notes", "record_title": "title", "fields": title }))
        .expect(201);
    let id = server.create("guides", json!({ "title": "glue" }));
    let german = json!({ "attributes": { "title": "Leim" } });
    server.patch(&format!("/v2/resources/guides/{id}?variant=de"), &german).expect(200);
    server.create("notes", json!({ "title": "glue and Leim" }));
    let mut failures = Failures::default();
    let (guide, note) = ("guides: ", "notes: glue and Leim");
    for (query, expected) in [
        ("q=glue", vec![format!("{guide}glue"), note.to_owned()]),
        ("q=glue&variant=en", vec![format!("{guide}glue"), note.to_owned()]),
        ("q=glue&variant=de", vec![note.to_owned()]),
        ("q=Leim&variant=de", vec![format!("{guide}Leim"), note.to_owned()]),
        ("q=Leim", vec![note.to_owned()]),
    ] {
        let mut found = everywhere(&server.as_token(server.secret()), query).0;
        found.sort();
        failures.check_eq(query, &found, &expected);
    }
    let grouped = server.get("/v2/search?search=leim&variant=de&blueprints=guides").expect(200).json();
    failures.check_eq("text", &grouped["data"][0]["resources"][0]["attributes"]["title"], &json!("Leim"));
    for (query, known) in
        [("variant=fr", "`en`"), ("variant=de&blueprints=notes", "none of these blueprints has variants")]
    {
        let refused = server.get(&format!("/v2/search?q=glue&{query}"));
        failures.check_eq(query, refused.outcome().as_str(), "422 INVALID_VARIANT");
        failures.check(refused.message().contains(known), || refused.text.clone());
    }
    failures.assert_none();
}

#[test]
fn suggestions_complete_the_last_word_and_offer_titles() {
    let server = articles();
    for title in ["Red shoe", "Red shoes for men", "A red shovel", "Blue shoes", "Über uns"] {
        add(&server, title);
    }
    server.post(LIST, &json!({ "attributes": { "title": "Red shotgun draft" } })).expect(201);
    server.post("/v2/blueprints", &json!({ "name": "Pages", "slug": "pages", "record_title": "name",
        "fields": [{ "name": "name", "slug": "name", "type": "text" }, { "name": "body", "slug": "body", "type": "rich-text" }] }))
        .expect(201);
    server.create("pages", json!({ "name": "Shoes", "body": "<p>The shop and the shoes</p>" }));
    let all = server.as_token(server.secret());
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    let limited = json!({ "name": "l", "abilities": ["view"], "blueprints": ["pages"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let limited = server.as_token(&limited);
    let suggest = |client: &Client<'_>, query: &str| -> Vec<String> {
        let query = query.replace(' ', "+").replace('"', "%22").replace('\u{fc}', "%C3%BC");
        let data = client.get(&format!("/v2/search/suggest?{query}")).expect(200).data();
        let shown = |item: &Value| match item["kind"].as_str().unwrap() {
            "word" => format!("{} {}", item["text"].as_str().unwrap(), item["count"]),
            _ => format!("[{}]", item["text"].as_str().unwrap()),
        };
        data.as_array().unwrap().iter().map(shown).collect()
    };
    let mut failures = Failures::default();
    for (client, query, expected) in [
        (
            &viewer,
            "q=sho&blueprints=articles",
            "shoes 2, shoe 1, shovel 1, [Blue shoes], [Red shoe], [A red shovel], [Red shoes for men]",
        ),
        (
            &viewer,
            "q=red sho&blueprints=articles",
            "red shoe 1, red shoes 1, red shovel 1, [Red shoe], [A red shovel], [Red shoes for men]",
        ),
        (&all, "q=red shot", "red shotgun 1, [Red shotgun draft]"),
        (&viewer, "q=red shot", ""),
        (&viewer, "q=red ", "[Red shoe], [A red shovel], [Red shoes for men]"),
        (&viewer, "q=-red", "[Über uns], [Shoes], [Blue shoes]"),
        (
            &viewer,
            "q=red-sho&blueprints=articles",
            "red-shoe 1, red-shoes 1, red-shovel 1, [Red shoe], [A red shovel], [Red shoes for men]",
        ),
        // No title has `re` as a word.
        (&viewer, "q=re-sho", ""),
        (&viewer, "q=re/sho", ""),
        (&viewer, "q=ub", "über 1, [Über uns]"),
        (&viewer, "q=Üb", "über 1, [Über uns]"),
        (&viewer, "q=sho&limit=2", "shoes 3, [Blue shoes]"),
        (&limited, "q=sho", "shoes 1, shop 1, [Shoes]"),
        (&viewer, "q=", ""),
        (&viewer, "q=...", ""),
    ] {
        let got = suggest(client, query).join(", ");
        failures.check_eq(query, got.as_str(), expected);
    }
    for (query, outcome) in [
        ("", "422 INVALID_PARAMETER"),
        ("q=a&limit=0", "422 INVALID_PARAMETER"),
        ("q=a&limit=21", "422 INVALID_PARAMETER"),
        ("q=a&blueprints=none", "422 INVALID_PARAMETER"),
        ("q=a&variant=de", "422 INVALID_VARIANT"),
        ("q=a&copy=working", "403 FORBIDDEN"),
    ] {
        failures.check_eq(query, viewer.get(&format!("/v2/search/suggest?{query}")).outcome().as_str(), outcome);
    }
    failures.assert_none();
}

/// Returns the words that are suggested, each with its count.
fn suggested_words(client: &Client<'_>, query: &str) -> Vec<String> {
    let query = query.replace(' ', "+");
    let data = client.get(&format!("/v2/search/suggest?{query}")).expect(200).data();
    let words = data.as_array().unwrap().iter().filter(|item| item["kind"] == "word");
    words.map(|item| format!("{} {}", item["text"].as_str().unwrap(), item["count"])).collect()
}

#[test]
fn words_of_several_blueprints_are_counted_together() {
    let server = articles();
    server.blueprint("pages", json!([{ "name": "title", "slug": "title", "type": "text" }]));
    let page = |title: &str| server.create("pages", json!({ "title": title }));
    // The articles have many words that are more frequent than `ship`, and none of the blueprints has it most often.
    let others: Vec<String> = (0..60).map(|number| format!("sha{number}")).collect();
    for _ in 0..2 {
        add(&server, &others.join(" "));
    }
    for title in ["ship", "shop shoe", "shop shoe", "shop", "\u{dc}ber"] {
        add(&server, title);
    }
    for title in ["ship", "ship", "ship", "sheep", "sheep", "sheep", "sheep", "Uber"] {
        page(title);
    }
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (query, expected) in [
        ("q=sh&limit=1", "sheep 4"),
        ("q=sh&limit=6", "sheep 4, ship 4, shop 3"),
        ("q=shi", "ship 4"),
        ("q=shoe", "shoe 2"),
        ("q=ub", "\u{fc}ber 2"),
    ] {
        failures.check_eq(query, suggested_words(&all, query).join(", ").as_str(), expected);
    }
    failures.assert_none();
}

#[test]
fn rare_words_beside_the_words_before_are_suggested() {
    let server = articles();
    // More words that begin so, and are more frequent, than are counted.
    let frequent: Vec<String> = (0..130).map(|number| format!("wa{number}")).collect();
    for _ in 0..2 {
        add(&server, &frequent.join(" "));
    }
    for title in ["Zeta Wombat", "zeta wombat", "zeta weasel"] {
        add(&server, title);
    }
    server.post(LIST, &json!({ "attributes": { "title": "zeta walrus" } })).expect(201);
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    assert_eq!(suggested_words(&viewer, "q=zeta w"), ["zeta wombat 2", "zeta weasel 1"]);
    assert_eq!(suggested_words(&viewer, "q=zeta wo"), ["zeta wombat 2"]);
    let all = server.as_token(server.secret());
    assert_eq!(suggested_words(&all, "q=zeta wa"), ["zeta walrus 1"]);
}
