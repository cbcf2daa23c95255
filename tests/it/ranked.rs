//! Ranked search (`API.md` 4.6.15 to 4.6.17): the typing errors that it accepts, its order, its settings and its
//! excerpts. The oracle checks that `q` finds the right resources.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Failures, Server};

const LIST: &str = "/v2/resources/articles";

fn field(slug: &str, kind: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind })
}

/// Articles with the title as their record title.
fn articles() -> Server {
    let server = Server::start();
    let fields = [field("title", "text"), field("body", "rich-text"), field("note", "text"), field("code", "slug")];
    let blueprint = json!({ "name": "Articles", "slug": "articles", "record_title": "title", "fields": fields });
    server.post("/v2/blueprints", &blueprint).expect(201);
    server
}

/// Returns the titles of the results of a query, in order; for an error, its code.
fn titles(client: &Client<'_>, query: &[(&str, &str)]) -> Vec<String> {
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let reply = client.get(&format!("{LIST}?{}", query.join("&")));
    if reply.status != 200 {
        return vec![reply.code()];
    }
    let title = |item: &Value| item["attributes"]["title"].as_str().unwrap().to_owned();
    reply.data().as_array().unwrap().iter().map(title).collect()
}

fn encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn fewer_typos_come_first_then_whole_words_then_weights_then_the_newest() {
    let server = articles();
    let all = server.as_token(server.secret());
    for (title, body) in [
        ("Kernels of corn", ""),
        ("A kenrel", ""),
        ("Old", "<p>kernel</p>"),
        ("Unrelated", "<p>of corn</p>"),
        ("The kernel", ""),
        ("Much about it", "<p>kernel kernel kernel kernel</p>"),
        ("New", "<p>kernel</p>"),
        ("Kenrels", ""),
    ] {
        server.create("articles", json!({ "title": title, "body": body }));
    }
    let found = titles(&all, &[("q", "kernel")]);
    let expected = ["The kernel", "Much about it", "New", "Old", "Kernels of corn", "A kenrel", "Kenrels"];
    assert_eq!(found, expected);
    // A space ends the word. So `Kernels`, which only begins with it, counts as one typing error.
    assert_eq!(titles(&all, &[("q", "kernel ")])[4..], ["A kenrel", "Kernels of corn"]);
    assert_eq!(titles(&all, &[("q", "kernel"), ("typos", "false")]), expected[..5]);
    assert_eq!(titles(&all, &[("q", "kernel"), ("sort", "title"), ("per_page", "2")]), ["A kenrel", "Kenrels"]);
    // Pages are cut from the same order.
    let pages: Vec<String> = ["1", "2", "3", "4", "5"]
        .iter()
        .flat_map(|page| titles(&all, &[("q", "kernel"), ("per_page", "2"), ("page", page)]))
        .collect();
    assert_eq!(pages, expected);
    let meta = all.get(&format!("{LIST}?q=kernel&per_page=2")).expect(200).json()["meta"].clone();
    assert_eq!(meta["total"], 7);
}

/// A cached answer must not keep an order that has changed since: another server would answer the new one.
#[test]
fn a_ranked_list_and_its_tag_change_with_drafts() {
    let server = articles();
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    for (title, body) in [("disks", "kernel disk disk disk"), ("kernels", "kernel kernel kernel disk")] {
        server.create("articles", json!({ "title": title, "body": format!("<p>{body}</p>") }));
    }
    let query = [("q", "disk kernel "), ("typos", "false")];
    let ask = |path: &str, tag: &str| {
        let reply = viewer.raw("GET", path, &[("if-none-match", tag)], b"");
        (reply.status, reply.header("etag").unwrap().to_owned())
    };
    let ranked = format!("{LIST}?q=disk+kernel+&typos=false");
    // The drafts of the first round leave the order as it is, those of the second one turn it.
    for (word, drafts, first, status) in [("disk", 8, "kernels", 304), ("kernel", 40, "disks", 200)] {
        titles(&viewer, &query);
        let (tag, tag_of_list) = (ask(&ranked, "\"x\"").1, ask(LIST, "\"x\"").1);
        // The other word becomes the rarer one.
        for _ in 0..drafts {
            let attributes = json!({ "title": "draft", "body": format!("<p>{word}</p>") });
            server.post(LIST, &json!({ "attributes": attributes })).expect(201);
        }
        assert_eq!(titles(&viewer, &query)[0], first);
        assert_eq!((ask(&ranked, &tag).0, ask(LIST, &tag_of_list).0), (status, 304));
    }
}

#[test]
fn words_are_forgiven_as_the_contract_says() {
    let server = articles();
    for (title, body) in [
        ("zoe", "<p>The Zo\u{eb} <b>page cache</b>, 20261122, don't</p>"),
        ("nihon", "<p>\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{66f8}</p>"),
        ("yoga", "<p>\u{419}\u{43e}\u{433}\u{430} \u{30ac}\u{30f3}</p>"),
        ("long", "<p>Internationalization of pages</p>"),
    ] {
        server.create("articles", json!({ "title": title, "body": body, "code": "hidden-code" }));
    }
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (q, expected) in [
        ("zoe cache", "zoe"),
        ("ZO\u{cb}", "zoe"),
        ("\"page cache\"", "zoe"),
        ("\"cache page\"", ""),
        ("\"pag\"", ""),
        ("cahce", "zoe"),
        ("cahec", ""),
        ("dache", ""),
        ("zoo", ""),
        ("20261123", ""),
        ("20261122", "zoe"),
        ("2026", "zoe"),
        ("2026 ", ""),
        ("don't", "zoe"),
        ("intrenationalizaton", "long"),
        ("intrenationalizatn ", ""),
        ("internat", "long"),
        ("internat ", ""),
        ("pages -cache", "long"),
        ("pages -cahce", "long,zoe"),
        ("pages -\"page cache\"", "long"),
        ("-page", "long,nihon,yoga"),
        ("\u{65e5}\u{672c}\u{8a9e}", "nihon"),
        ("\u{672c}", "nihon"),
        ("\u{65e5}\u{8a9e}", ""),
        ("\u{438}\u{43e}\u{433}\u{430}", "yoga"),
        ("\u{30ab}", ""),
        ("\u{30ac}", "yoga"),
        ("hidden", ""),
        ("", "long,nihon,yoga,zoe"),
        ("...", "long,nihon,yoga,zoe"),
    ] {
        let mut found = titles(&all, &[("q", q)]);
        found.sort();
        failures.check_eq(q, found.join(",").as_str(), expected);
    }
    failures.assert_none();
}

#[test]
fn the_blueprint_says_which_fields_count() {
    let server = articles();
    server.create("articles", json!({ "title": "a", "body": "<p>ship</p>", "note": "" }));
    server.create("articles", json!({ "title": "b", "note": "ship" }));
    let all = server.as_token(server.secret());
    assert_eq!(titles(&all, &[("q", "ship")]), ["b", "a"]);
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    assert_eq!(blueprint.get("search"), None);
    blueprint["search"] = json!({ "fields": { "body": 5, "note": 0.5 } });
    let changed = server.put("/v2/blueprints/articles", &blueprint).expect(200).data();
    assert_eq!(changed["search"], json!({ "fields": { "body": 5, "note": 0.5 } }));
    assert_eq!(titles(&all, &[("q", "ship")]), ["a", "b"]);
    blueprint["search"] = json!({ "fields": { "note": 1 } });
    server.put("/v2/blueprints/articles", &blueprint).expect(200);
    assert_eq!(titles(&all, &[("q", "ship")]), ["b"]);
    let mut failures = Failures::default();
    for (search, path) in [
        (json!({ "fields": {} }), "search.fields"),
        (json!({ "fields": { "code": 1 } }), "search.fields.code"),
        (json!({ "fields": { "none": 1 } }), "search.fields.none"),
        (json!({ "fields": { "note": 0 } }), "search.fields.note"),
        (json!({ "fields": { "note": "1" } }), "search.fields.note"),
        (json!({ "fields": ["note"] }), "search.fields"),
        (json!({ "weights": {}, "fields": { "note": 1 } }), "search.weights"),
        (json!("note"), "search"),
    ] {
        blueprint["search"] = search.clone();
        let keys = server.put("/v2/blueprints/articles", &blueprint).expect(422).error_keys();
        failures.check_eq(&search.to_string(), keys.join(",").as_str(), path);
    }
    failures.assert_none();
}

#[test]
fn highlights_show_where_it_was_found_and_run_nothing() {
    let server = articles();
    let body = "<p>Tags &lt;script&gt;alert(1)&lt;/script&gt; in the kernel</p>";
    server.create("articles", json!({ "title": "Kernels & <b>", "body": body }));
    let all = server.as_token(server.secret());
    let list = all.get(&format!("{LIST}?q=kernel&highlight=title,body,note")).expect(200).data();
    let expected = json!({
        "title": "<mark>Kernels</mark> &amp; &lt;b&gt;",
        "body": "Tags &lt;script&gt;alert(1)&lt;/script&gt; in the <mark>kernel</mark>",
        "note": null,
    });
    assert_eq!(list[0]["highlights"], expected);
    let lines = all.get(&format!("{LIST}/export?format=ndjson&q=kernel&highlight=title&fields=id")).expect(200).text;
    let line: Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(line["highlights"], json!({ "title": expected["title"] }));
    assert_eq!(line.as_object().unwrap().len(), 2);
    let mut failures = Failures::default();
    for (query, expected) in [
        (
            "highlight=code",
            "`highlight` names `code`, which is of the type `slug`. Fields of the types `text` and `rich-text`: `title`, `body`, `note`",
        ),
        (
            "highlight=titel",
            "`highlight` names `titel`, which does not exist; did you mean `title`? Fields of the types `text` and `rich-text`: `title`, `body`, `note`",
        ),
        (
            "highlight=",
            "`highlight` is ``, which has an empty entry. Fields of the types `text` and `rich-text`: `title`, `body`, `note`",
        ),
        ("q=a&typos=maybe", "`typos` is `maybe`; it must be `true`, `1`, `false` or `0`"),
        ("q=a&q=b", "`q` is given more than once; send it once"),
        ("strict=true&q=", "`q` has no effect: it has no words"),
        ("strict=true&typos=true", "`typos` has no effect: there is no `q`"),
        ("strict=true&highlight=title", "`highlight` has no effect: there is no `q` with words"),
    ] {
        let reply = all.get(&format!("{LIST}?{query}")).expect(422);
        failures.check_eq(query, reply.message().as_str(), expected);
    }
    failures.assert_none();
    let many = format!("{LIST}?q={}", "a+".repeat(101));
    assert_eq!(all.get(&many).expect(422).message(), "`q` has 101 words; it must have at most 100");
    all.get(&format!("{LIST}/export?format=csv&q=a&highlight=title")).expect(422);
}

#[test]
fn words_are_counted_in_quotes_too_and_text_without_spaces_is_one() {
    let server = articles();
    let all = server.as_token(server.secret());
    let many = |count: usize| "a ".repeat(count);
    let sentence = "\u{65e5}\u{672c}\u{8a9e}".repeat(70);
    let mut failures = Failures::default();
    for (q, count) in [
        (format!("\"{}\"", many(100)), 100),
        (format!("\"{}\"", many(101)), 101),
        (format!("-\"{}\" {}", many(60), many(60)), 120),
        (format!("x -{}", ["a"; 100].join("-")), 101),
        (sentence.clone(), 1),
        (format!("\"{sentence}\""), 1),
        (format!("\"{}\"", format!("{sentence} a ").repeat(3)), 6),
    ] {
        let found = titles(&all, &[("q", &q)]).join(",");
        failures.check_eq(&q, found.as_str(), if count > 100 { "INVALID_PARAMETER" } else { "" });
        let reply = all.get(&format!("/v2/search/suggest?q={}", encoded(&q)));
        let message = format!("`q` has {count} words; it must have at most 100");
        let is_refused = reply.status == 422 && reply.message() == message;
        failures.check(is_refused == (count > 100), || format!("{q}: {}", reply.text));
    }
    failures.assert_none();
}

#[test]
fn too_many_words_are_refused_before_they_are_compared_with_stop_words() {
    let server = articles();
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    let stop_words = (0..1_000).map(|n| format!("{}{n}", "\u{416}".repeat(90)));
    blueprint["search"] = json!({ "language": "de", "stop_words": stop_words.collect::<Vec<_>>() });
    server.put("/v2/blueprints/articles", &blueprint).expect(200);
    let started = Instant::now();
    for q in ["a+".repeat(30_000), "a-".repeat(30_000)] {
        let reply = server.get(&format!("{LIST}?q={q}")).expect(422);
        assert_eq!(reply.message(), "`q` has 30000 words; it must have at most 100");
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_fallback_that_counts_is_found_where_the_variant_is_null() {
    let server = Server::start();
    let variants = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    let blueprint = json!({ "name": "Articles", "slug": "articles", "variants": variants,
        "fields": [field("title", "text"), field("body", "text")] });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let both = server.create("articles", json!({ "title": "both", "body": "english words" }));
    server.create("articles", json!({ "title": "one", "body": "english words" }));
    let german = json!({ "attributes": { "title": "beide", "body": "deutsche Worte" } });
    server.patch(&format!("{LIST}/{both}?variant=de"), &german).expect(200);
    let all = server.as_token(server.secret());
    let fallback = [("variant", "de"), ("fallback", "en"), ("fallback_mode", "all")];
    let with = |q: &'static str| titles(&all, &[&fallback[..], &[("q", q)]].concat());
    assert_eq!(with("english"), ["one"]);
    assert_eq!(with("worte"), ["beide"]);
    assert_eq!(with("\"english words\""), ["one"]);
    assert_eq!(titles(&all, &[("variant", "de"), ("q", "english")]), [""; 0]);
    let shown = all.get(&format!("{LIST}?variant=de&fallback=en&fallback_mode=all&q=english&highlight=body"));
    assert_eq!(shown.expect(200).data()[0]["highlights"]["body"], "<mark>english</mark> words");
}

#[test]
fn highlighting_is_bounded_in_time_and_equal_words_count_once() {
    let server = articles();
    let text = "alpha beta ".repeat(5_400);
    (0..10).for_each(|_| drop(server.create("articles", json!({ "title": text, "note": text }))));
    let took = |words: &[String]| {
        let started = std::time::Instant::now();
        let q = words.join("+");
        let reply = server.get(&format!("{LIST}?q={q}&highlight=title,note&fields=id")).expect(200);
        assert!(reply.data()[9]["highlights"]["note"].as_str().unwrap().contains("<mark>"), "{}", reply.text);
        started.elapsed()
    };
    let once = took(&["alpha".to_owned()]);
    let often = took(&vec!["alpha".to_owned(); 99]);
    assert!(often < 5 * once + std::time::Duration::from_millis(500), "once {once:?}, 99 times {often:?}");
    // The words differ, and each matches every other token. So each token gets as many marks as words.
    let different: Vec<String> = (0..99).map(|n| format!("alph{}", char::from(b'a' + n % 26))).collect();
    assert!(took(&different) < std::time::Duration::from_secs(20));
}

/// Articles, and a list of them whose excerpts take seconds to make.
fn articles_that_take_long(server: &Server) -> String {
    let fields: Vec<Value> = (0..9).map(|n| field(&format!("t{n}"), "text")).collect();
    server.blueprint("articles", json!(fields));
    let text = "wordaaaaaaaaa ".repeat(4_300);
    let attributes = Value::from_iter((0..9).map(|n| (format!("t{n}"), json!(text))));
    (0..60).for_each(|_| drop(server.create("articles", attributes.clone())));
    // The 99 words are very similar, so that they cost as much as possible.
    let words: Vec<String> = (0..99u8)
        .map(|n| format!("word{}{}aaaaaaa", char::from(b'a' + n % 10), char::from(b'a' + n / 10)))
        .filter(|word| word.matches(|char| char != 'a').count() <= 6)
        .collect();
    let highlight: Vec<String> = (0..9).map(|n| format!("t{n}")).collect();
    format!("{LIST}?q={}&per_page=100&fields=id&highlight={}", words.join("+"), highlight.join(","))
}

#[test]
fn highlighting_ends_when_the_time_of_a_query_is_up() {
    let server = Server::start_with(&["--query-timeout", "1"]);
    let path = articles_that_take_long(&server);
    let started = Instant::now();
    let reply = server.get(&path);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(6), "{took:?}: {}", reply.outcome());
    assert_eq!(reply.outcome(), "503 OVERLOADED", "{took:?}");
}

#[test]
fn searches_that_take_longer_than_estimated_hold_up_nobody() {
    let temp = tempfile::tempdir().unwrap();
    // The server estimates that none of them takes time.
    let server = Server::start_failing(&temp.path().join("data"), &["--query-timeout", "3"], "search::misjudge=return");
    let path = articles_that_take_long(&server);
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..64).map(|_| scope.spawn(|| server.get(&path).status)).collect();
        std::thread::sleep(Duration::from_millis(300));
        let mut took = Vec::from_iter((0..31).map(|_| {
            let started = Instant::now();
            server.get("/healthz").expect(200);
            started.elapsed()
        }));
        assert!(searches.iter().any(|search| !search.is_finished()), "the searches were over");
        took.sort_unstable();
        assert!(took[took.len() / 2] < Duration::from_millis(50), "{took:?}");
        assert!(searches.into_iter().all(|search| [200, 503].contains(&search.join().unwrap())));
    });
}
