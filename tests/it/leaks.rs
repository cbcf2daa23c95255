//! The facts that a token can learn about resources that it may not see, by all parameters of lists. Two servers that
//! differ only in hidden resources must answer alike (`API.md` 5.4).

use serde_json::{Value, json};

use crate::support::{Failures, Server};

const FUTURE: &str = "9999-01-01T00:00:00Z";

/// The content: articles relate to authors, who are scheduled, and to secrets, which some tokens do not see.
struct World {
    server: Server,
    /// The ids that differ between two worlds, and names for them.
    names: Vec<(String, String)>,
}

impl World {
    fn new(hidden: bool) -> World {
        let server = Server::start();
        let text = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
        let number = |slug: &str| json!({ "name": slug, "slug": slug, "type": "number" });
        let relation = |slug: &str, kind: &str, to: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": to } });
        for slug in ["authors", "secrets"] {
            let fields = json!([text("name"), number("rank")]);
            let body = json!({ "name": slug, "slug": slug, "fields": fields, "scheduled": slug == "authors" });
            server.post("/v2/blueprints", &body).expect(201);
        }
        let fields = [
            text("title"),
            number("price"),
            relation("author", "reference", "authors"),
            relation("readers", "references", "authors"),
            relation("secret", "reference", "secrets"),
        ];
        server
            .post("/v2/blueprints", &json!({ "name": "A", "slug": "articles", "fields": fields, "scheduled": true }))
            .expect(201);
        let mut world = World { server, names: Vec::new() };
        let seen = world.put("authors", "seen", json!({ "name": "seen", "rank": 1 }), Some("2026-01-01"));
        let (draft, later, secret) = match hidden {
            true => (
                world.put("authors", "draft", json!({ "name": "draft", "rank": 2 }), None),
                world.put("authors", "later", json!({ "name": "later", "rank": 3 }), Some(FUTURE)),
                world.put("secrets", "secret", json!({ "name": "secret", "rank": 4 }), Some("2026-01-01")),
            ),
            // These authors are deleted below, after the articles relate to them.
            false => (
                world.put("authors", "draft", json!({ "name": "other" }), None),
                world.put("authors", "later", json!({ "name": "other" }), None),
                world.put("secrets", "secret", json!({ "name": "other" }), None),
            ),
        };
        for (title, author, readers) in
            [("a", &seen, vec![&seen, &draft]), ("b", &draft, vec![&later]), ("c", &later, vec![&draft, &later, &seen])]
        {
            let values = json!({ "title": title, "price": 1, "author": author, "readers": readers, "secret": secret });
            world.put("articles", title, values, Some("2026-01-01"));
        }
        if hidden {
            world.put("articles", "hidden draft", json!({ "title": "b", "price": 7, "author": seen }), None);
            world.put("articles", "hidden later", json!({ "title": "ab", "price": 9, "author": seen }), Some(FUTURE));
        } else {
            for (blueprint, id) in [("authors", &draft), ("authors", &later), ("secrets", &secret)] {
                world.server.delete(&format!("/v2/resources/{blueprint}/{id}")).expect(204);
            }
        }
        world
    }

    fn put(&mut self, blueprint: &str, name: &str, attributes: Value, published: Option<&str>) -> String {
        let body = json!({ "attributes": attributes, "published_at": published });
        let reply = self.server.post(&format!("/v2/resources/{blueprint}"), &body).expect(201);
        let id = reply.data()["id"].as_str().unwrap().to_owned();
        self.names.push((id.clone(), format!("<{name}>")));
        id
    }

    fn id(&self, name: &str) -> &str {
        let name = format!("<{name}>");
        &self.names.iter().find(|(_, other)| *other == name).unwrap().0
    }

    fn token(&self, abilities: &[&str], blueprints: Option<&[&str]>) -> String {
        let body = json!({ "name": "t", "abilities": abilities, "blueprints": blueprints });
        self.server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
    }

    /// Sends a request, and returns the answer with names in place of ids.
    fn ask(&self, token: &str, path: &str) -> String {
        let mut path = path.to_owned();
        for (id, name) in &self.names {
            path = path.replace(name, id);
        }
        let reply = self.server.as_token(token).get(&path);
        let mut text = format!("{} {}", reply.status, reply.text.replace(self.server.address(), "host"));
        for (id, name) in &self.names {
            text = text.replace(id, name);
        }
        text
    }
}

/// Returns the requests that are sent with each token.
fn questions() -> Vec<String> {
    let list = "/v2/resources/articles?fields=attributes.title";
    let filters = [
        "filter[author.name]=draft",
        "filter[author.name]=later",
        "filter[author.name][null]=true",
        "filter[author.rank][gte]=2",
        "filter[author][$some][name][contains]=a",
        "filter[readers.published_at][gt]=2027-01-01",
        "filter[readers.published]=false",
        "filter[readers.id][in]=<draft>,<later>",
        "filter[author][dangling]=true",
        "filter[readers][dangling]=false",
        "filter[secret][dangling]=true",
        "filter[secret.name]=secret",
        "filter[secret.nothing]=secret",
        "filter[$not][author.name]=seen",
    ];
    let beside = [
        "facets=title,price,author,readers,published_at:day",
        "stats=price",
        "sort=title&cursor=&per_page=1",
        "expand=author,readers&fields[authors]=attributes.name",
        "expand=secret",
        "expand=secret.nothing",
        "sort=price&facets=price&filter[price][gt]=1&facet_mode=disjunctive",
    ];
    let mut all: Vec<String> = filters
        .iter()
        .chain(&beside)
        .map(|query| format!("{list}&sort=title&{query}").replace("&sort=title&sort", "&sort"))
        .collect();
    all.extend(beside.iter().map(|query| format!("/v2/resources/articles/export?fields=attributes.title&{query}")));
    for name in ["a", "b", "c", "draft", "later", "hidden draft"] {
        all.push(format!("/v2/resources/articles/<{name}>/neighbors?sort=title&fields=attributes.title"));
        all.push(format!("/v2/resources/articles/<{name}>?fields=attributes.title&expand=author,readers&fields[authors]=attributes.name"));
    }
    for name in ["seen", "draft", "later"] {
        all.push(format!("/v2/resources/authors/<{name}>/referrers"));
        all.push(format!("/v2/resources/authors/<{name}>/neighbors?fields=id"));
    }
    all.push("/v2/resources/secrets/<secret>/referrers".to_owned());
    all
}

/// Returns an answer without its cursors, which name ids.
fn without_cursors(text: &str) -> String {
    let mut parts = text.split("cursor=");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.find('"').map_or("", |end| &part[end..]));
    }
    kept
}

#[test]
fn hidden_resources_change_no_answer() {
    let (with, without) = (World::new(true), World::new(false));
    let mut failures = Failures::default();
    let limited: &[&str] = &["articles", "authors"];
    for (abilities, blueprints) in [(&["view"][..], None), (&["view"], Some(limited))] {
        let (one, other) = (with.token(abilities, blueprints), without.token(abilities, blueprints));
        for question in questions() {
            // A token for all blueprints may see the secrets.
            if blueprints.is_none() && question.contains("secret") {
                continue;
            }
            // Resources that the second world does not have have no name there.
            let question = question.replace("<hidden draft>", "0192b3c4-0000-7000-8000-000000000000");
            let (mut with, mut without) = (with.ask(&one, &question), without.ask(&other, &question));
            if question.contains("cursor") {
                (with, without) = (without_cursors(&with), without_cursors(&without));
            }
            failures.check(with == without, || format!("{abilities:?} {question}\n  {with}\n  {without}"));
        }
    }
    failures.assert_none();
    // A token that may see drafts can tell the worlds apart, so the requests are suitable.
    let (one, other) = (with.token(&["view", "preview"], None), without.token(&["view", "preview"], None));
    let differ = questions()
        .iter()
        .filter(|question| !question.contains("hidden") && with.ask(&one, question) != without.ask(&other, question))
        .count();
    assert!(differ > 20, "only {differ} questions tell the worlds apart");
}

#[test]
fn hidden_writes_change_no_entity_tag() {
    let world = World::new(true);
    let limited = world.token(&["view"], Some(&["articles", "authors"]));
    let client = world.server.as_token(&limited);
    let one = format!("/v2/resources/articles/{}", world.id("a"));
    let paths = [
        "/v2/resources/articles?facets=title&stats=price".to_owned(),
        "/v2/resources/articles?filter[author.name]=draft".to_owned(),
        "/v2/resources/articles?filter[secret][dangling]=true".to_owned(),
        "/v2/resources/articles?expand=author,readers&fields[authors]=attributes.name".to_owned(),
        format!("{one}?expand=author,readers&fields[authors]=attributes.name"),
    ];
    let tags =
        || paths.iter().map(|path| client.get(path).expect(200).header("etag").unwrap().to_owned()).collect::<Vec<_>>();
    let before = tags();
    for (blueprint, name, attributes) in [
        ("authors", "draft", json!({ "name": "changed" })),
        ("authors", "later", json!({ "rank": 99 })),
        ("secrets", "secret", json!({ "name": "changed" })),
        ("articles", "hidden draft", json!({ "price": 1_000 })),
        ("articles", "hidden later", json!({ "title": "changed" })),
    ] {
        let path = format!("/v2/resources/{blueprint}/{}", world.id(name));
        world.server.patch(&path, &json!({ "attributes": attributes })).expect(200);
        assert_eq!(tags(), before, "{name}");
    }
}
