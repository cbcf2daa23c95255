//! Reasons for the order of ranked lists in explained answers (`API.md` 4.18), and lists with a rule that is not stored
//! (4.25).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Failures, Server};

const LIST: &str = "/v2/resources/articles";
const RULES: &str = "/v2/search/rules";
const PREVIEW: &str = "/v2/search/rules/preview";

fn articles() -> Server {
    let server = Server::start();
    let variants = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let fields = json!([field("title", "text"), field("body", "rich-text"), field("price", "number")]);
    let blueprint = json!({ "name": "Articles", "slug": "articles", "record_title": "title", "variants": variants,
        "fields": fields, "search": { "boost": [{ "field": "price", "weight": 1, "from": 0, "to": 100 }] } });
    server.post("/v2/blueprints", &blueprint).expect(201);
    server
}

fn add(server: &Server, title: &str, body: &str, price: Option<u64>) -> String {
    server.create("articles", json!({ "title": title, "body": body, "price": price }))
}

fn encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns the titles of an explained list, each with its reasons.
fn ranking(server: &Server, q: &str, more: &str) -> Vec<(String, Value)> {
    let reply = server.get(&format!("{LIST}?q={}&explain=true{more}", encoded(q))).expect(200).json();
    let (data, ranking) = (reply["data"].as_array().unwrap(), reply["meta"]["ranking"].as_array());
    let ranking = ranking.cloned().unwrap_or_default();
    assert_eq!(data.len(), ranking.len(), "{q}: {reply}");
    let title = |item: &Value| item["attributes"]["title"].as_str().unwrap_or_default().to_owned();
    let each = data.iter().zip(ranking);
    each.map(|(item, reason)| {
        assert_eq!(item["id"], reason["id"], "{q}");
        (title(item), reason)
    })
    .collect()
}

/// Formats the way of each word: `asked:way~typos(words)[fields]`, or `asked:-` for one that is lacked; `asked:0` if
/// that costs nothing.
fn ways(reason: &Value) -> String {
    let list = |list: &Value| {
        list.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect::<Vec<_>>().join(",")
    };
    let way = |word: &Value| {
        let asked = word["asked"].as_str().unwrap();
        match word["found"].as_str() {
            None => format!("{asked}:{}", if word["missed"] == json!(true) { "-" } else { "0" }),
            Some(way) => {
                format!("{asked}:{way}~{}({})[{}]", word["typos"], list(&word["as"]), list(&word["fields"]))
            }
        }
    };
    reason["words"].as_array().unwrap().iter().map(way).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_explained_list_says_how_each_word_was_found() {
    let server = articles();
    for (title, body) in [
        ("Compiler", ""),
        ("The compilers", "<p>compiler</p>"),
        ("Kenrel", ""),
        ("DataView.getInt32()", ""),
        ("int and 32", ""),
        ("Graphics card", ""),
        ("page cache", ""),
        ("cache page", "<p>日本語入力</p>"),
        ("Gewerbe", ""),
    ] {
        add(&server, title, body, None);
    }
    let german = add(&server, "", "", None);
    let body = json!({ "attributes": { "title": "Die Gewerbeordnung" } });
    server.patch(&format!("{LIST}/{german}?variant=de"), &body).expect(200);
    let other = add(&server, "", "", None);
    server.patch(&format!("{LIST}/{other}?variant=de"), &json!({ "attributes": { "title": "Gewerbe" } })).expect(200);
    server.post("/v2/search/synonyms", &json!({ "words": ["gpu", "graphics card"] })).expect(201);
    server.post("/v2/search/synonyms", &json!({ "words": ["日本語入力", "Gewerbe"] })).expect(201);
    let mut failures = Failures::default();
    for (q, more, title, expected) in [
        ("compilers ", "", "The compilers", "compilers:whole~0()[title]"),
        ("compilers ", "", "Compiler", "compilers:form~0(Compiler)[title]"),
        ("kernel ", "", "Kenrel", "kernel:whole~1(Kenrel)[title]"),
        ("int32 ", "", "DataView.getInt32()", "int32:part~0(DataView.getInt32)[title]"),
        ("int32 ", "", "int and 32", "int32:parts~0(int,32)[title]"),
        ("compil", "", "The compilers", "compil:form~0(compilers,compiler)[title,body]"),
        ("grap", "", "Graphics card", "grap:beginning~0(Graphics)[title]"),
        ("gpu ", "", "Graphics card", "gpu:synonym~0(Graphics,card)[title]"),
        ("ordnung ", "&variant=de", "Die Gewerbeordnung", "ordnung:compound~0(Gewerbeordnung)[title]"),
        ("\"page cache\" ", "", "page cache", "page cache:whole~0()[title]"),
        ("日本語 cache ", "", "cache page", "日本語:whole~0()[body] cache:whole~0()[title]"),
        ("日本語 cache ", "", "page cache", "日本語:- cache:whole~0()[title]"),
        ("日本語入力 ", "", "Gewerbe", "日本語入力:synonym~0(Gewerbe)[title]"),
        ("the compiler zzzz ", "", "Compiler", "the:0 compiler:whole~0()[title] zzzz:0"),
    ] {
        let list = ranking(&server, q, more);
        let found = list.iter().find(|(other, _)| other == title).map(|(_, reason)| ways(reason));
        failures.check_eq(&format!("{q} {title}"), found.as_deref().unwrap_or("not found"), expected);
    }
    // Lists in another order, and lists without words, have none.
    for path in ["q=compiler&sort=title", "search=compiler", ""] {
        let reply = server.get(&format!("{LIST}?{path}&explain=true")).expect(200).json();
        failures.check_eq(path, &reply["meta"]["ranking"], &Value::Null);
    }
    let plain = server.get(&format!("{LIST}?q=compiler")).expect(200).json();
    failures.check_eq("not explained", &plain["meta"]["ranking"], &Value::Null);
    failures.assert_none();
}

/// A sequence of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &items[(self.0 >> 33) as usize % items.len()]
    }
}

#[test]
fn reasons_order_a_list_as_the_server_does() {
    let server = articles();
    let mut numbers = Numbers(11);
    let vocabulary = [
        "kernel",
        "kernels",
        "kernal",
        "pageCache",
        "page",
        "cache",
        "caches",
        "日本語",
        "日本",
        "語学",
        "gpu",
        "card",
    ];
    for number in 0..60 {
        let mut text = || (0..1 + number % 4).map(|_| *numbers.of(&vocabulary)).collect::<Vec<_>>().join(" ");
        let (title, body) = (text(), format!("<p>{}</p>", text()));
        add(&server, &title, &body, (number % 3 == 0).then_some(number as u64));
    }
    server.post("/v2/search/synonyms", &json!({ "words": ["gpu", "page cache"] })).expect(201);
    server.post("/v2/search/synonyms", &json!({ "words": ["日本語", "kernel"] })).expect(201);
    for _ in 0..60 {
        let q: Vec<&str> = (0..1 + *numbers.of(&[0, 1, 2])).map(|_| *numbers.of(&vocabulary)).collect();
        let q = format!("{}{}", q.join(" "), numbers.of(&["", " "]));
        let more = *numbers.of(&["", "&q_match=all", "&q_mode=exact", "&typos=false"]);
        let list = ranking(&server, &q, &format!("&per_page=100{more}"));
        let place = |reason: &Value| {
            let number = |key: &str| reason[key].as_f64().unwrap();
            [number("lacks"), number("typos"), number("ways"), -number("score")]
        };
        for pair in list.windows(2) {
            assert!(place(&pair[0].1) <= place(&pair[1].1), "{q} {more}: {} {}", pair[0].1, pair[1].1);
        }
        let first = list.first().map_or(0, |(_, reason)| reason["lacks"].as_u64().unwrap());
        assert!(more != "&q_match=all" || first == 0, "{q}");
    }
    let boosted = ranking(&server, "kernel ", "&per_page=100");
    let factors: BTreeSet<String> = boosted.iter().map(|(_, reason)| reason["boost"].to_string()).collect();
    assert!(factors.len() > 3 && factors.contains("1.0"), "{factors:?}");
}

#[test]
fn an_explained_list_names_the_rule_that_pins() {
    let server = articles();
    let ids: Vec<String> = (0..4).map(|number| add(&server, &format!("red {number}"), "", None)).collect();
    let far = add(&server, "blue", "", None);
    let rule = |body: Value| server.post(RULES, &body).expect(201).data()["id"].clone();
    let one = rule(json!({ "query": "red", "pin": [{ "id": far, "position": 2 }] }));
    let other = rule(json!({ "query": null, "pin": [{ "id": ids[0], "position": 1 }, { "id": far, "position": 9 }] }));
    let list = ranking(&server, "red ", "");
    let pinned: Vec<&Value> = list.iter().map(|(_, reason)| &reason["pinned"]).collect();
    assert_eq!(pinned[0], &json!({ "rule": other, "position": 1 }));
    assert_eq!(pinned[1], &json!({ "rule": one, "position": 2 }));
    assert!(pinned[2..].iter().all(|pinned| pinned.is_null()), "{pinned:?}");
    assert_eq!(ways(&list[1].1), "red:-");
}

#[test]
fn a_rule_is_previewed_before_it_is_stored() {
    let server = articles();
    let ids: Vec<String> =
        (0..12).map(|number| add(&server, &format!("red shoe {number}"), "", Some(number))).collect();
    let hat = add(&server, "blue hat", "", None);
    let draft = server.post(LIST, &json!({ "attributes": { "title": "red draft" } })).expect(201).data()["id"].clone();
    let list = "q=red+&filter[published]=true&per_page=5&fields=id,attributes.title";
    let before = server.get(&format!("{LIST}?{list}")).expect(200).json();
    let stored = server.post(RULES, &json!({ "query": "red", "hide": [ids[1]] })).expect(201).data();
    let rule = json!({ "query": "RED", "blueprint": "articles", "filter_add": "filter[price][gt]=3",
        "pin": [{ "id": hat, "position": 2 }, { "id": draft, "position": 1 }, { "id": ids[5], "position": 1 }],
        "hide": [ids[7]], "from": "2090-01-01" });
    let ask = |list: &str, rule: &Value, id: &Value| {
        server.post(PREVIEW, &json!({ "blueprint": "articles", "list": list, "rule": rule, "id": id }))
    };
    let shown = |reply: &Value| {
        let ids: Vec<Value> = reply["data"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
        (ids, reply["meta"]["total"].clone(), reply["meta"]["current_page"].clone())
    };
    // The answer is what the list is once the rule is stored.
    let mut failures = Failures::default();
    for page in [1, 2] {
        let list = format!("{list}&page={page}");
        let previewed = ask(&list, &rule, &json!(null)).expect(200).json();
        let mut now = rule.clone();
        now["from"] = json!(null);
        let made = server.post(RULES, &now).expect(201).data();
        let saved = server.get(&format!("{LIST}?{list}&explain=true")).expect(200).json();
        failures.check_eq(&format!("page {page}"), &shown(&previewed), &shown(&saved));
        let rule_of = |reply: &Value| reply["meta"]["ranking"][0]["pinned"]["rule"].clone();
        if page == 1 {
            failures.check_eq("the rule has no id", &rule_of(&previewed), &json!("unsaved"));
            failures.check_eq(
                "links",
                &previewed["links"]["first"],
                &saved["links"]["first"].as_str().map_or(json!(0), |link| json!(link.replace("&explain=true", ""))),
            );
        }
        // In place of the stored one, it changes nothing.
        let same = ask(&list, &now, &made["id"]).expect(200).json();
        failures.check_eq("stored already", &shown(&same), &shown(&saved));
        let without = ask(&list, &json!({ "query": "red" }), &made["id"]).expect(200).json();
        server.delete(&format!("{RULES}/{}", made["id"].as_str().unwrap())).expect(204);
        let gone = server.get(&format!("{LIST}?{list}")).expect(200).json();
        failures.check_eq("without its effects", &shown(&without), &shown(&gone));
    }
    let gone = ask(list, &json!({ "query": "red" }), &stored["id"]).expect(200).json();
    failures.check_eq("a stored rule is replaced", &shown(&gone), &shown(&before));
    failures.check_eq("nothing is stored", &server.get(RULES).expect(200).data(), &json!([stored]));
    let reply = ask(list, &rule, &json!(null)).expect(200);
    failures.check_eq("not cached", &(reply.header("etag"), reply.header("cache-control")), &(None, Some("no-store")));
    let steps = reply.json()["meta"]["explain"].clone();
    let names: Vec<&Value> =
        steps.as_array().unwrap().iter().filter(|step| step["step"] == "rule").map(|step| &step["what"]).collect();
    failures.check_eq("it holds", &json!(names), &json!([stored["id"], "unsaved"]));
    for (body, outcome) in [
        (json!({ "blueprint": "articles", "list": list }), "422 VALIDATION_FAILED"),
        (json!({ "blueprint": "none", "list": list, "rule": {} }), "404 NOT_FOUND"),
        (json!({ "blueprint": "articles", "list": list, "rule": { "query": "..." } }), "422 VALIDATION_FAILED"),
        (json!({ "blueprint": "articles", "list": list, "rule": { "variant": "fr" } }), "422 VALIDATION_FAILED"),
        (json!({ "blueprint": "articles", "list": "page=0", "rule": {} }), "422 INVALID_PARAMETER"),
        (json!({ "blueprint": "articles", "list": list, "rule": {}, "id": 7 }), "422 VALIDATION_FAILED"),
        (json!({ "blueprint": "articles", "list": list, "rule": {}, "id": hat }), "404 NOT_FOUND"),
        (json!({ "blueprint": "articles", "list": list, "rule": {}, "more": 1 }), "422 VALIDATION_FAILED"),
    ] {
        failures.check_eq(&body.to_string(), server.post(PREVIEW, &body).outcome().as_str(), outcome);
    }
    let viewer = server.token(&["view", "preview"]);
    let refused = server.as_token(&viewer).send("POST", PREVIEW, Some(&json!({})));
    failures.check_eq("without manage", refused.outcome().as_str(), "403 FORBIDDEN");
    failures.assert_none();
}
