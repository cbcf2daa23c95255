//! Filters on related resources (`API.md` 4.6.14): the parts that a token sees, and the entity tags of such lists. The
//! oracle checks that they find the right resources.

use serde_json::{Value, json};

use crate::support::{Client, Failures, Server};

const LIST: &str = "/v2/resources/articles";

/// Articles relate to authors, and authors to a company.
fn world() -> Server {
    let server = Server::start();
    let text = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
    let relation = |slug: &str, kind: &str, to: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": to } });
    server.blueprint("companies", json!([text("name")]));
    server.blueprint("authors", json!([text("name"), text("city"), relation("company", "reference", "companies")]));
    let fields =
        [text("title"), relation("author", "reference", "authors"), relation("readers", "references", "authors")];
    server.blueprint("articles", json!(fields));
    server.blueprint("others", json!([text("name")]));
    server
}

fn limited(server: &Server, abilities: &[&str], blueprints: &[&str]) -> String {
    let body = json!({ "name": "limited", "abilities": abilities, "blueprints": blueprints });
    server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
}

fn draft(server: &Server, blueprint: &str, attributes: Value) -> String {
    let reply = server.post(&format!("/v2/resources/{blueprint}"), &json!({ "attributes": attributes })).expect(201);
    reply.data()["id"].as_str().unwrap().to_owned()
}

/// Returns the titles of the articles that a filter finds, sorted and joined; of an error, its code.
fn titles(client: &Client<'_>, filter: &str) -> String {
    let reply = client.get(&format!("{LIST}?{filter}&sort=title&fields=attributes.title"));
    if reply.status != 200 {
        return reply.code();
    }
    let data = reply.data();
    data.as_array().unwrap().iter().map(|item| item["attributes"]["title"].as_str().unwrap()).collect()
}

#[test]
fn only_what_the_token_sees_is_related() {
    let server = world();
    let company = server.create("companies", json!({ "name": "Analytical" }));
    let ada = server.create("authors", json!({ "name": "Ada", "city": "London", "company": company }));
    let bob = server.create("authors", json!({ "name": "Bob", "city": "Paris" }));
    let hidden = draft(&server, "authors", json!({ "name": "Hidden", "city": "London" }));
    let gone = server.create("authors", json!({ "name": "Gone" }));
    for (title, author, readers) in [
        ("a", json!(ada), json!([bob, hidden])),
        ("b", json!(bob), json!([])),
        ("c", json!(hidden), json!([ada])),
        ("d", json!(gone), json!(null)),
        ("e", json!(null), json!([bob, gone])),
    ] {
        server.create("articles", json!({ "title": title, "author": author, "readers": readers }));
    }
    server.delete(&format!("/v2/resources/authors/{gone}")).expect(204);
    let view = server.token(&["view"]);
    let preview = server.token(&["preview"]);
    let only = limited(&server, &["preview"], &["articles"]);
    let mut failures = Failures::default();
    for (filter, with_view, with_preview, without_authors) in [
        ("filter[author.city]=London", "a", "ac", "INVALID_FILTER"),
        ("filter[author.city]=Nowhere", "", "", "INVALID_FILTER"),
        ("filter[author.company.name]=Analytical", "a", "a", "INVALID_FILTER"),
        ("filter[author.company][null]=true", "b", "bc", "INVALID_FILTER"),
        ("filter[$not][author.city]=London", "bcde", "bde", "INVALID_FILTER"),
        ("filter[readers.name][in]=Hidden,Ada", "c", "ac", "INVALID_FILTER"),
        ("filter[readers][$some][name]=Bob&filter[readers][$some][city]=London", "", "", "INVALID_FILTER"),
        ("filter[readers.name]=Bob&filter[readers.city]=London", "", "a", "INVALID_FILTER"),
        ("filter[author.published_at][null]=true", "", "c", "INVALID_FILTER"),
        ("filter[author.invented]=x", "INVALID_FILTER", "INVALID_FILTER", "INVALID_FILTER"),
        ("filter[author][dangling]=true", "cd", "d", "abcd"),
        ("filter[author][dangling]=false", "abe", "abce", "e"),
        ("filter[readers][dangling]=true", "ae", "e", "ace"),
    ] {
        for (token, expected) in [(&view, with_view), (&preview, with_preview), (&only, without_authors)] {
            failures.check_eq(filter, titles(&server.as_token(token), filter).as_str(), expected);
        }
    }
    failures.assert_none();
    // Real and invented fields of a blueprint that the token does not see get the same message.
    let message = |filter: &str| server.as_token(&only).get(&format!("{LIST}?{filter}=x")).expect(422).message();
    let expected = message("filter[author.city]");
    assert!(expected.contains("`author` relates to a blueprint that this token does not have"), "{expected}");
    for filter in ["filter[author.invented]", "filter[author.company.name][like]", "filter[author][$some][x]"] {
        assert_eq!(message(filter), expected, "{filter}");
    }
}

#[test]
fn exports_take_the_same_filters() {
    let server = world();
    let ada = server.create("authors", json!({ "name": "Ada" }));
    server.create("articles", json!({ "title": "a", "author": ada }));
    server.create("articles", json!({ "title": "b" }));
    let export = |filter: &str| {
        server.get(&format!("{LIST}/export?{filter}&sort=title&format=csv&fields=attributes.title")).expect(200).text
    };
    assert_eq!(export("filter[author.name][contains]=AD"), "title\r\na\r\n");
    assert_eq!(export("filter[$or][0][author.name]=x&filter[$or][1][title]=b"), "title\r\nb\r\n");
}

#[test]
fn the_tag_of_a_list_changes_with_what_it_depends_on() {
    let server = world();
    let company = server.create("companies", json!({ "name": "Analytical" }));
    let ada = server.create("authors", json!({ "name": "Ada", "company": company }));
    let hidden = draft(&server, "authors", json!({ "name": "Hidden" }));
    let other = server.create("others", json!({ "name": "x" }));
    server.create("articles", json!({ "title": "a", "author": ada }));
    server.create("articles", json!({ "title": "b", "author": hidden }));
    let (view, preview) = (server.token(&["view"]), server.token(&["preview"]));
    let paths =
        ["", "?filter[author.name]=Ada", "?filter[author.company.name]=Analytical", "?filter[author][dangling]=true"]
            .map(|query| format!("{LIST}{query}"));
    let patch = |path: String, body: Value| drop(server.patch(&format!("/v2/resources/{path}"), &body).expect(200));
    let name = |name: &str| json!({ "attributes": { "name": name } });
    let dated = |at: Value| json!({ "published_at": at });
    type Step<'a> = (&'a str, Box<dyn Fn() + 'a>, [bool; 4], [bool; 4]);
    // Each step: whether it may change the tags, for a token with `view` and one with `preview`, in the order of the
    // paths. It does change them if it changes the answer.
    let steps: Vec<Step<'_>> = vec![
        ("another blueprint", Box::new(|| patch(format!("others/{other}"), name("y"))), [false; 4], [false; 4]),
        (
            "an author",
            Box::new(|| patch(format!("authors/{ada}"), name("Eva"))),
            [false, true, true, true],
            [false, true, true, true],
        ),
        ("a draft", Box::new(|| patch(format!("authors/{hidden}"), name("H"))), [false; 4], [false, true, true, true]),
        (
            "the company",
            Box::new(|| patch(format!("companies/{company}"), name("C"))),
            [false, false, true, false],
            [false, false, true, false],
        ),
        (
            "a publication",
            Box::new(|| patch(format!("authors/{hidden}"), dated(json!("2026-01-01")))),
            [false, true, true, true],
            [false, true, true, true],
        ),
        ("a new draft", Box::new(|| drop(draft(&server, "authors", json!({})))), [false; 4], [false, true, true, true]),
        ("an article", Box::new(|| drop(server.create("articles", json!({ "title": "c" })))), [true; 4], [true; 4]),
        (
            "a deletion",
            Box::new(|| drop(server.delete(&format!("/v2/resources/authors/{hidden}")).expect(204))),
            [false, true, true, true],
            [false, true, true, true],
        ),
        (
            "the blueprint's fields",
            Box::new(|| {
                drop(server.put("/v2/blueprints/companies", &json!({ "name": "Companies", "fields": [{ "name": "name", "slug": "name", "type": "text" }, { "name": "more", "slug": "more", "type": "text" }] })).expect(200))
            }),
            [false, false, true, false],
            [false, false, true, false],
        ),
    ];
    let mut failures = Failures::default();
    for (step, act, for_view, for_preview) in steps {
        let tokens = [(&view, for_view), (&preview, for_preview)];
        let read = |token: &str, path: &String| {
            let reply = server.as_token(token).get(path).expect(200);
            (reply.header("etag").unwrap().to_owned(), reply.text)
        };
        let before = tokens.map(|(token, _)| paths.each_ref().map(|path| read(token, path)));
        act();
        for ((token, may_change), before) in tokens.into_iter().zip(before) {
            for ((path, may_change), (tag, body)) in paths.iter().zip(may_change).zip(before) {
                let again = server.as_token(token).raw("GET", path, &[("if-none-match", &tag)], b"");
                let case = format!("{step}: {path}, {}", if token == &view { "view" } else { "preview" });
                let (new_tag, new_body) = read(token, path);
                failures.check_eq(&case, again.status, if new_body == body { 304 } else { 200 });
                failures.check_eq(&case, new_tag != tag, new_body != body);
                failures.check(new_body == body || may_change, || format!("{case}: changed"));
            }
        }
    }
    failures.assert_none();
}

#[test]
fn a_kept_answer_is_not_given_to_a_token_that_has_other_blueprints() {
    let server = world();
    let ada = server.create("authors", json!({ "name": "Ada" }));
    server.create("articles", json!({ "title": "a", "author": ada }));
    server.create("articles", json!({ "title": "b" }));
    let all = server.token(&["view"]);
    let only = limited(&server, &["view"], &["articles"]);
    for _ in 0..3 {
        for (token, found) in [(&all, ""), (&only, "a"), (&only, "a"), (&all, "")] {
            assert_eq!(titles(&server.as_token(token), "filter[author][dangling]=true"), found);
        }
        for (token, found) in [(&all, "a"), (&only, "INVALID_FILTER"), (&only, "INVALID_FILTER"), (&all, "a")] {
            assert_eq!(titles(&server.as_token(token), "filter[author.name]=Ada"), found);
        }
    }
    // The blueprint is deleted and created anew. The ids now refer to no resource.
    server.delete("/v2/blueprints/authors?force=true").expect(204);
    assert_eq!(titles(&server.as_token(&all), "filter[author][dangling]=true"), "a");
    assert_eq!(titles(&server.as_token(&all), "filter[author.name]=Ada"), "INVALID_FILTER");
    server.blueprint("authors", json!([{ "name": "name", "slug": "name", "type": "text" }]));
    server.create("authors", json!({ "name": "Ada" }));
    assert_eq!(titles(&server.as_token(&all), "filter[author][dangling]=true"), "a");
    assert_eq!(titles(&server.as_token(&all), "filter[author.name]=Ada"), "");
}
