//! Ranked search beyond the words as they stand (`API.md` 4.6.16): parts of names, forms of a word, compounds, and
//! resources that lack some of the words. The oracle of the index checks that `q` finds the right resources.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Failures, Reply, Server};

const LIST: &str = "/v2/resources/articles";

/// Articles in English and German.
fn articles() -> Server {
    let server = Server::start();
    let variants = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    let fields = json!([field("title", "text"), field("body", "rich-text")]);
    let blueprint = json!({ "name": "Articles", "slug": "articles", "record_title": "title", "variants": variants,
        "fields": fields });
    server.post("/v2/blueprints", &blueprint).expect(201);
    server
}

fn field(slug: &str, kind: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind })
}

fn add(server: &Server, titles: &[&str]) {
    titles.iter().for_each(|title| drop(server.create("articles", json!({ "title": title, "body": "" }))));
}

fn draft(server: &Server, title: &str) {
    server.post(LIST, &json!({ "attributes": { "title": title } })).expect(201);
}

fn add_german(server: &Server, titles: &[&str]) {
    for title in titles {
        let id = server.create("articles", json!({ "title": "", "body": "" }));
        let german = json!({ "attributes": { "title": title, "body": "" } });
        server.patch(&format!("{LIST}/{id}?variant=de"), &german).expect(200);
    }
}

fn ask(client: &Client<'_>, query: &str) -> Reply {
    let encode = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        b'"' | 0x80.. => format!("%{byte:02X}"),
        other => char::from(other).to_string(),
    };
    let encoded: String = query.bytes().map(encode).collect();
    client.get(&format!("{LIST}?{encoded}")).expect(200)
}

/// Returns the titles of the results, in order, joined.
fn titles(client: &Client<'_>, query: &str) -> String {
    let reply = ask(client, query);
    let title = |item: &Value| item["attributes"]["title"].as_str().unwrap().to_owned();
    reply.data().as_array().unwrap().iter().map(title).collect::<Vec<_>>().join("; ")
}

#[test]
fn parts_of_names_are_found_after_whole_words() {
    let server = articles();
    add(&server, &["Int 32, get it", "DataView.getInt32()", "getInt32", "l'environnement", "U.S.A.", "/Zc:rvalueCast"]);
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (query, expected) in [
        ("q=getInt32 ", "getInt32; DataView.getInt32(); Int 32, get it"),
        ("q=getint32 ", "getInt32; DataView.getInt32()"),
        ("q=int32 ", "getInt32; DataView.getInt32(); Int 32, get it"),
        ("q=dataview ", "DataView.getInt32()"),
        ("q=environnement ", "l'environnement"),
        ("q=environ", "l'environnement"),
        ("q=d'environnement ", "l'environnement"),
        ("q=usa ", "U.S.A."),
        ("q=rvalueCast ", "/Zc:rvalueCast"),
        ("q=cast ", "/Zc:rvalueCast"),
        ("q=\"int32\"", ""),
        ("q=rvalue -cast ", "/Zc:rvalueCast"),
        ("q=getInt32 &q_mode=exact", "getInt32"),
        ("q=environnement &q_mode=exact", ""),
    ] {
        failures.check_eq(query, titles(&all, query).as_str(), expected);
    }
    failures.assert_none();
    let shown = ask(&all, "q=int32 &highlight=title&sort=title").data();
    let shown: Vec<&str> =
        shown.as_array().unwrap().iter().filter_map(|item| item["highlights"]["title"].as_str()).collect();
    let expected =
        ["DataView.get<mark>Int32</mark>()", "get<mark>Int32</mark>", "<mark>Int</mark> <mark>32</mark>, get it"];
    assert_eq!(shown, expected);
}

#[test]
fn parts_that_begin_with_the_last_word_are_marked() {
    let server = articles();
    add(&server, &["getInt32", "l'environnement", "get_int_8"]);
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (q, expected) in [
        ("environ", "l&#39;<mark>environnement</mark>"),
        ("in", "get<mark>Int</mark>32; get_<mark>int</mark>_8"),
        ("int3", "get<mark>Int32</mark>; get_<mark>int</mark>_8"),
        ("getin", "<mark>getInt32</mark>; <mark>get_int</mark>_8"),
        ("e", "l&#39;<mark>environnement</mark>"),
    ] {
        let found = ask(&all, &format!("q={q}&typos=false&highlight=title")).data();
        let shown = |item: &Value| item["highlights"]["title"].as_str().unwrap().to_owned();
        let mut shown: Vec<String> = found.as_array().unwrap().iter().map(shown).collect();
        shown.sort();
        failures.check_eq(q, shown.join("; ").as_str(), expected);
    }
    failures.assert_none();
}

#[test]
fn names_with_many_parts_are_found_by_each() {
    let server = articles();
    let name = "System.Collections.Generic.IReadOnlyDictionary.TryGetValue";
    add(&server, &[name, "a1b2c3d4e5f60718293a4b"]);
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (query, expected) in [
        ("q=TryGetValue ", name),
        ("q=TryGetValue", name),
        ("q=dictionary ", name),
        ("q=ReadOnlyDictionary ", name),
        ("q=diction", name),
        ("q=System.Collections.Generic.IReadOnlyDictionary.TryGetValue ", name),
        ("q=Generic.IReadOnlyDictionary.TryGetValue.Other ", ""),
        // A hash is found as a whole.
        ("q=a1b2c3d4e5f60718293a4b ", "a1b2c3d4e5f60718293a4b"),
        ("q=60718293 ", ""),
    ] {
        failures.check_eq(query, titles(&all, &format!("{query}&q_match=all&typos=false")).as_str(), expected);
    }
    failures.assert_none();
}

#[test]
fn forms_of_a_word_follow_the_language_of_the_variant() {
    let server = articles();
    add(&server, &["A compiler", "All compilers", "A compilre"]);
    add_german(&server, &["Die Ordnung", "Ordnungen"]);
    let all = server.as_token(server.secret());
    assert_eq!(titles(&all, "q=compilers "), "All compilers; A compiler; A compilre");
    assert_eq!(titles(&all, "q=compilers &typos=false"), "All compilers; A compiler");
    assert_eq!(titles(&all, "q=compilers &typos=false&q_mode=exact"), "All compilers");
    assert_eq!(titles(&all, "q=ordnungen &typos=false&variant=de"), "Ordnungen; Die Ordnung");
    let shown = ask(&all, "q=compilers &typos=false&highlight=title&sort=title").data();
    assert_eq!(shown[0]["highlights"]["title"], "A <mark>compiler</mark>");
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    for (language, expected) in
        [(json!(null), "Ordnungen"), (json!("en"), "Ordnungen"), (json!("de"), "Ordnungen; Die Ordnung")]
    {
        blueprint["search"] = json!({ "language": language });
        let changed = server.put("/v2/blueprints/articles", &blueprint).expect(200).data();
        assert_eq!(changed["search"], json!({ "language": language }));
        assert_eq!(titles(&all, "q=ordnungen &typos=false&variant=de"), expected, "{language}");
    }
    let mut failures = Failures::default();
    for (search, path) in [
        (json!({ "language": "xx" }), "search.language"),
        (json!({ "language": 1 }), "search.language"),
        (json!({ "stop_words": "the" }), "search.stop_words"),
        (json!({ "stop_words": ["the", "two words"] }), "search.stop_words.1"),
        (json!({ "stop_words": vec!["a"; 1_001] }), "search.stop_words"),
        (json!({}), "search.fields"),
    ] {
        blueprint["search"] = search.clone();
        let keys = server.put("/v2/blueprints/articles", &blueprint).expect(422).error_keys();
        failures.check_eq(&search.to_string(), keys.join(",").as_str(), path);
    }
    failures.assert_none();
}

#[test]
fn a_title_with_all_words_in_other_forms_comes_before_mentions() {
    let server = articles();
    let mention = json!({ "title": "Much", "body": "<p>errors of compilers, and the compilers errors</p>" });
    server.create("articles", mention);
    add(&server, &["Compiler error", "Compilers of errors", "A compiler", "Error"]);
    let all = server.as_token(server.secret());
    let found = titles(&all, "q=compilers errors &q_match=all");
    assert_eq!(found, "Compilers of errors; Compiler error; Much");
    assert_eq!(titles(&all, "q=the compilers errors &q_match=all"), "Much");
    assert!(titles(&all, "q=the compilers errors ").starts_with("Compilers of errors; Compiler error; Much; "));
    // One word alone is found as it stands first.
    assert_eq!(titles(&all, "q=compilers "), "Compilers of errors; Much; A compiler; Compiler error");
    assert!(titles(&all, "q=errors ").ends_with("Much; Error; Compiler error"), "{}", titles(&all, "q=errors "));
}

#[test]
fn compounds_are_found_if_their_other_part_is_a_word() {
    let server = articles();
    add_german(&server, &["Gewerbeordnung", "Das Gewerbe", "Ordnungsamt", "Ein Amt", "Unordnung", "Die Ordnung"]);
    let all = server.as_token(server.secret());
    let found = |query: &str| {
        let mut found: Vec<String> = titles(&all, query).split("; ").map(str::to_owned).collect();
        found.sort();
        found.join("; ")
    };
    assert_eq!(found("variant=de&typos=false&q=ordnung "), "Die Ordnung; Gewerbeordnung; Ordnungsamt");
    assert!(titles(&all, "variant=de&typos=false&q=ordnung ").starts_with("Die Ordnung"));
    assert_eq!(found("variant=de&typos=false&q=gewerbe "), "Das Gewerbe; Gewerbeordnung");
    assert_eq!(found("variant=de&typos=false&q=amt "), "Ein Amt");
    assert_eq!(found("variant=de&typos=false&q_mode=exact&q=ordnung "), "Die Ordnung");
    // Once no resource has the other word, it is no compound.
    let amt = ask(&all, "variant=de&q=\"amt\"").data()[0]["id"].as_str().unwrap().to_owned();
    server.delete(&format!("{LIST}/{amt}")).expect(204);
    assert_eq!(found("variant=de&typos=false&q=ordnung "), "Die Ordnung; Gewerbeordnung");
}

#[test]
fn resources_that_lack_a_word_follow_if_few_have_all() {
    let server = articles();
    add(&server, &["the alpha beta", "the beta", "the alpha", "the gamma alpha"]);
    (0..20).for_each(|_| add(&server, &["the"]));
    let all = server.as_token(server.secret());
    let meta = |query: &str| ask(&all, query).json()["meta"].clone();
    // `beta` is rarer than `alpha`, so what lacks it comes later. Nobody misses `the`.
    assert_eq!(titles(&all, "q=the alpha beta "), "the alpha beta; the beta; the alpha; the gamma alpha");
    let found = meta("q=the alpha beta ");
    assert_eq!((&found["total"], &found["matched_all"]), (&json!(4), &json!(1)));
    assert_eq!(found["ignored_words"], json!(["alpha", "beta"]));
    assert_eq!(titles(&all, "q=the beta alpha &q_match=all"), "the alpha beta");
    let found = meta("q=the beta &sort=title");
    assert_eq!((&found["total"], &found["ignored_words"]), (&json!(2), &json!([])));
    // With enough resources, nothing is let go.
    assert_eq!(meta("q=the the ")["total"], 24);
    // Quoted words are never let go.
    assert_eq!(titles(&all, "q=\"gamma alpha\" beta "), "the gamma alpha");
    assert_eq!(titles(&all, "q=alpha beta -gamma &sort=title"), "the alpha; the alpha beta; the beta");
    let exact = meta("q=alpha beta &q_mode=exact");
    assert_eq!((&exact["total"], exact.get("matched_all"), exact.get("ignored_words")), (&json!(1), None, None));
    // Facets, cursors and exports have exactly the resources of the list.
    assert_eq!(meta("q=alpha beta &sort=title&cursor="), json!({ "per_page": 25, "total": 4 }));
    let lines = all.get(&format!("{LIST}/export?format=ndjson&q=alpha+beta+")).expect(200).text;
    assert_eq!(lines.lines().count(), 4);
    let mut failures = Failures::default();
    for (query, expected) in [
        ("q=a&q_mode=all", "`q_mode` is `all`; it must be `broad` or `exact`, or left out"),
        ("q=a&q_match=", "`q_match` is ``; it must be `any` or `all`, or left out"),
        ("strict=true&q_mode=exact", "`q_mode` has no effect: there is no `q`"),
        ("strict=true&q=a&q_mode=exact&q_match=all", "`q_match` has no effect: `q_mode=exact` asks for all words"),
    ] {
        failures.check_eq(query, all.get(&format!("{LIST}?{query}")).expect(422).message().as_str(), expected);
    }
    failures.assert_none();
}

#[test]
fn stop_words_are_not_missed() {
    let server = articles();
    add(&server, &["alpha in body", "only alpha", "only zeta"]);
    let all = server.as_token(server.secret());
    assert_eq!(titles(&all, "q=zeta alpha "), "only zeta; only alpha; alpha in body");
    let mut blueprint = server.get("/v2/blueprints/articles").expect(200).data();
    blueprint["search"] = json!({ "stop_words": ["Zeta"] });
    server.put("/v2/blueprints/articles", &blueprint).expect(200);
    assert_eq!(titles(&all, "q=zeta alpha "), "only alpha; alpha in body");
    assert_eq!(titles(&all, "q=zeta "), "only zeta");
    // The language of the variant has stop words, too.
    assert_eq!(titles(&all, "q=how alpha "), "only alpha; alpha in body");
}

#[test]
fn a_similar_question_that_finds_more_is_suggested() {
    let server = articles();
    add(&server, &["kernel panic", "kernel", "disk kernel"]);
    let all = server.as_token(server.secret());
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    let meant = |client: &Client<'_>, query: &str| ask(client, query).json()["meta"]["did_you_mean"].clone();
    for (query, expected) in [
        ("q=cernel ", json!("kernel ")),
        ("q=ekrnel panic", json!("kernel panic")),
        ("q=dusk -panic", json!("disk -panic")),
        ("q=cernel panic cernel ekrnel ", json!("kernel panic kernel kernel ")),
        ("q=kernle ", json!(null)),
        ("q=kernle &typos=false", json!("kernel ")),
        ("q=kernel ", json!(null)),
        ("q=kern", json!(null)),
        ("q=\"cernel\"", json!(null)),
        ("q=xyzzy", json!(null)),
        ("q=cernel &filter[title]=nothing", json!(null)),
    ] {
        assert_eq!(meant(&all, query), expected, "{query}");
    }
    // Nothing is told about words of drafts.
    draft(&server, "secret");
    assert_eq!(meant(&all, "q=zecret "), json!("secret "));
    assert_eq!(meant(&viewer, "q=zecret "), json!(null));
    assert_eq!(meant(&viewer, "q=cernel "), json!("kernel "));
}

#[test]
fn titles_with_the_words_in_a_row_come_first() {
    let server = articles();
    add(&server, &["beta alpha gamma", "alpha x beta y", "x alpha beta y", "alpha beta", "beta of alpha"]);
    let all = server.as_token(server.secret());
    let found = titles(&all, "q=alpha beta ");
    assert!(found.starts_with("alpha beta; x alpha beta y; "), "{found}");
    assert_eq!(titles(&all, "q=x "), "x alpha beta y; alpha x beta y");
    assert_ne!(titles(&all, "q=alpha beta &q_mode=exact"), found);
}

/// An answer depends on drafts that a token does not see, if these decide whether something is a compound or few.
#[test]
fn a_list_and_its_tag_change_with_drafts_also_if_it_is_sorted() {
    let server = articles();
    let viewer = server.token(&["view"]);
    let viewer = server.as_token(&viewer);
    let publish = |title: &str| {
        let body = json!({ "attributes": { "title": title }, "published_at": "2020-01-01" });
        server.post(LIST, &body).expect(201);
    };
    publish("alpha");
    publish("beta");
    let path = format!("{LIST}?q=alpha+beta+&sort=title");
    let before = viewer.get(&path).expect(200);
    assert_eq!(before.json()["meta"]["total"], 2);
    (0..10).for_each(|_| draft(&server, "alpha beta"));
    let tag = before.header("etag").unwrap().to_owned();
    let after = viewer.raw("GET", &path, &[("if-none-match", &tag)], b"");
    assert_eq!(after.status, 200);
    assert_eq!(after.json()["meta"]["total"], 0);
}

#[test]
fn hostile_questions_are_cheap() {
    let server = articles();
    let text = "alpha betaGamma gamma.delta x_y_z \u{e9}t\u{e9} ".repeat(40);
    (0..40).for_each(|_| add(&server, &[&text]));
    let all = server.as_token(server.secret());
    let marks = "a\u{301}\u{301}\u{301}".repeat(500);
    for q in [
        "a".repeat(10_000),
        "aB".repeat(5_000),
        "a.b_c:d'".repeat(1_000),
        ".:'_-".repeat(1_000),
        "\u{301}".repeat(3_000),
        marks,
        (0..99).map(|n| format!("alphaBeta{n}")).collect::<Vec<_>>().join(" "),
        "e".to_owned(),
    ] {
        let started = Instant::now();
        for variant in ["en", "de"] {
            let encoded: String = q.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let reply = all.get(&format!("{LIST}?variant={variant}&q={encoded}"));
            assert_eq!(reply.status, 200, "{}", reply.text);
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}: {:.40}", started.elapsed(), q);
    }
}

#[test]
fn a_million_separators_in_a_row_are_cheap() {
    let server = articles();
    let separators = |count| format!("a{}b", "_".repeat(count));
    let started = Instant::now();
    server.create("articles", json!({ "title": "Many", "body": format!("<p>{}</p>", separators(1_000_000)) }));
    let all = server.as_token(server.secret());
    // A name with the same parts is found.
    assert_eq!(titles(&all, &format!("q={}&highlight=body", separators(60_000))), "Many");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_word_is_marked_at_the_beginning_or_end_of_a_compound() {
    let server = articles();
    let long = format!("Pflicht{}ordnung", "\u{ad}".repeat(130));
    let whole = format!("<mark>{long}</mark>");
    add_german(&server, &["Gebührenordnung", "Die Gebühren, die Ordnung", "Brand am Rand", "Pflicht", &long]);
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    for (q, expected) in [
        ("ordnung ", "Gebühren<mark>ordnung</mark>"),
        ("gebühr ", "<mark>Gebühr</mark>enordnung"),
        ("gebuhren ", "<mark>Gebühren</mark>ordnung"),
        // A single character is no rest of a compound.
        ("rand ", "Brand am <mark>Rand</mark>"),
        ("pflicht ", whole.as_str()),
    ] {
        let list = ask(&all, &format!("variant=de&typos=false&q={q}&highlight=title")).data();
        let marked: Vec<&str> =
            list.as_array().unwrap().iter().filter_map(|one| one["highlights"]["title"].as_str()).collect();
        failures.check(marked.contains(&expected), || format!("{q}: {marked:?}"));
    }
    failures.assert_none();
}

#[test]
fn a_word_in_a_compound_is_marked_as_a_whole_if_its_end_is_inside_a_character() {
    let server = articles();
    add_german(&server, &["Die Straßenbahn kommt", "Bahn und Strasse", "stras"]);
    let all = server.as_token(server.secret());
    for query in ["stras%20bahn", "bahn%20stras%20kommt"] {
        let list = ask(&all, &format!("variant=de&q={query}&highlight=title")).expect(200).data();
        let marked: Vec<&str> =
            list.as_array().unwrap().iter().filter_map(|one| one["highlights"]["title"].as_str()).collect();
        assert!(marked.iter().any(|text| text.contains("<mark>Straßenbahn</mark>")), "{query}: {marked:?}");
    }
}

#[test]
fn invisible_characters_do_not_count() {
    let server = articles();
    let long = "Donau\u{ad}dampf\u{ad}schiff\u{ad}fahrts\u{ad}gesell\u{ad}schaft";
    let persian = "\u{6a9}\u{62a}\u{627}\u{628}\u{200c}\u{647}\u{627}";
    let hindi = "\u{915}\u{94d}\u{200d}\u{937}";
    let family = "family\u{feff} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
    let titles_of = ["Kernel\u{200f}", "\u{200e}panic\u{200e}", long, "navi\u{2060}gator", persian, hindi, family];
    add(&server, &titles_of);
    let all = server.as_token(server.secret());
    let mut failures = Failures::default();
    let is_invisible = |char: char| "\u{200f}\u{200e}\u{ad}\u{2060}\u{200c}\u{200d}\u{feff}".contains(char);
    for title in titles_of {
        for q in [title.to_owned(), title.replace(is_invisible, ""), format!("{title}\u{200f}")] {
            for mode in ["broad", "exact"] {
                let query = format!("q={q} &typos=false&q_match=all&q_mode={mode}");
                failures.check_eq(&query, titles(&all, &query).as_str(), title);
            }
        }
    }
    // Endings behind a zero-width non-joiner are parts, but syllables are not.
    failures.check_eq("part", titles(&all, "q=\u{6a9}\u{62a}\u{627}\u{628} &q_match=all").as_str(), persian);
    failures.check_eq("syllable", titles(&all, "q=dampf &q_match=all").as_str(), "");
    failures.assert_none();
}

#[test]
fn japanese_is_found_in_either_normal_form() {
    let server = articles();
    add(&server, &["がくせいの本"]);
    let all = server.as_token(server.secret());
    for query in ["がくせい", "か\u{3099}くせい"] {
        for mode in ["", "&q_mode=exact", "&q_match=all"] {
            let query = format!("q={query}{mode}");
            assert_eq!(titles(&all, &query), "がくせいの本", "{query}");
        }
    }
}
