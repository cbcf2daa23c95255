//! The neighbors of a resource in a list (`API.md` 4.3.2). The oracle checks that they are the right ones.

use serde_json::{Value, json};

use crate::support::Server;

#[test]
fn neighbors_are_those_of_the_list() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let ids: Vec<String> =
        ["a", "b", "c"].iter().map(|title| server.create("notes", json!({ "title": title }))).collect();
    let draft = server.post("/v2/resources/notes", &json!({ "attributes": { "title": "bb" } })).expect(201);
    let draft = draft.data()["id"].as_str().unwrap().to_owned();
    let view = server.token(&["view"]);
    let reader = server.as_token(&view);
    let at = |id: &str, query: &str| reader.get(&format!("/v2/resources/notes/{id}/neighbors?{query}"));
    let shown = |id: &str| json!({ "attributes": { "title": id } });
    let query = "sort=title&fields=attributes.title";
    for (id, previous, next, position) in [
        (&ids[0], Value::Null, shown("b"), 1),
        (&ids[1], shown("a"), shown("c"), 2),
        (&ids[2], shown("b"), Value::Null, 3),
    ] {
        let expected =
            json!({ "data": { "previous": previous, "next": next }, "meta": { "position": position, "total": 3 } });
        assert_eq!(at(id, query).expect(200).json(), expected, "{id}");
    }
    let found = at(&ids[2], "sort=-title&filter[title][ne]=b&search=").expect(200).json();
    assert_eq!(found["data"]["next"]["id"], json!(ids[0]));
    assert_eq!(found["data"]["previous"], Value::Null);
    assert_eq!(found["meta"], json!({ "position": 1, "total": 2 }));
    for (id, query, outcome) in [
        (&ids[1], "filter[title]=a", "404 NOT_FOUND"),
        (&draft, "", "404 NOT_FOUND"),
        (&"nothing".to_owned(), "", "404 NOT_FOUND"),
        (&ids[1], "sort=nothing", "422 INVALID_SORT"),
        (&ids[1], "filter[nothing]=1", "422 INVALID_FILTER"),
        (&ids[1], "strict=1&page=1", "422 INVALID_PARAMETER"),
        (&ids[1], "strict=1&fields=id&exclude=id&sort=id&search=a&filter[title]=b", "404 NOT_FOUND"),
    ] {
        assert_eq!(at(id, query).outcome(), outcome, "{id} {query}");
    }
    let message = |id: &str| at(id, "filter[title]=a").expect(404).json()["errors"]["message"].to_string();
    assert!(message(&ids[1]).contains("exists, but"), "{}", message(&ids[1]));
    assert!(message(&draft).contains("there is no resource"), "{}", message(&draft));
    let other = server.token(&["create"]);
    assert_eq!(
        server.as_token(&other).get(&format!("/v2/resources/notes/{}/neighbors", ids[0])).outcome(),
        "403 FORBIDDEN"
    );
}
