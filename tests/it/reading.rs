//! Lists, pages, links, entity tags, selected fields, exports (`API.md` 4.2, 4.3 and 4.5).

mod moments;
mod repeated;
mod tags;

use serde_json::{Value, json};

use crate::support::{ADMIN, Failures, Server};

fn notes(server: &Server, count: usize) -> Vec<String> {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    server.blueprint("notes", json!([field("title", "text"), field("count", "number"), field("place", "address")]));
    (0..count).map(|n| server.create("notes", json!({ "title": format!("note {n}"), "count": n }))).collect()
}

#[test]
fn a_page_that_is_too_large_to_be_sent_is_refused_with_what_helps() {
    let server = Server::start_with(&["--max-buffer-mib", "24"]);
    server.blueprint("pages", json!([{ "name": "Page", "slug": "page", "type": "html-page" }]));
    let page = json!({ "attributes": { "page": { "blocks": [{ "text": "x".repeat(200_000) }] } } });
    for _ in 0..4 {
        server.post("/v2/resources/pages/bulk", &json!({ "resources": vec![&page; 25] })).expect(201);
    }
    // 20 MB, of three quarters of 24 MiB. The second request for a page finds what the first one has read.
    for query in ["per_page=100", "per_page=100", "per_page=100&explain=true", "per_page=100&cursor=&sort=id"] {
        let refused = server.get(&format!("/v2/resources/pages?{query}"));
        assert_eq!(refused.outcome(), "422 INVALID_PARAMETER", "{query}");
        let message = refused.message();
        assert!(message.contains("more than 18 MiB") && message.contains("`per_page`"), "{message}");
    }
    for (query, count) in [("per_page=50", 50), ("per_page=100&fields=id", 100)] {
        let reply = server.get(&format!("/v2/resources/pages?{query}")).expect(200);
        assert_eq!(reply.data().as_array().unwrap().len(), count, "{query}");
    }
    let export = server.get("/v2/resources/pages/export?format=ndjson").expect(200);
    assert_eq!(export.text.lines().count(), 100, "an export is a stream, and has no such limit");
}

#[test]
fn lists_are_paged() {
    let server = Server::start();
    let mut ids = notes(&server, 30);
    ids.reverse();
    let mut failures = Failures::default();
    // Each case: the query, the items, the current page, the last page, the page size, and the previous and next pages.
    for (query, range, current, last, per_page, prev, next) in [
        ("", 0..25, 1, 2, 25, None, Some(2)),
        ("?page=2", 25..30, 2, 2, 25, Some(1), None),
        ("?page=3", 30..30, 3, 2, 25, Some(2), None),
        ("?page=1000000000000", 30..30, 1_000_000_000_000u64, 2, 25, Some(2), None),
        ("?per_page=30", 0..30, 1, 1, 30, None, None),
        ("?per_page=100", 0..30, 1, 1, 100, None, None),
        ("?per_page=1&page=30", 29..30, 30, 30, 1, Some(29), None),
        ("?per_page=7&page=3", 14..21, 3, 5, 7, Some(2), Some(4)),
        ("?page=007&per_page=04", 24..28, 7, 8, 4, Some(6), Some(8)),
    ] {
        let reply = server.get(&format!("/v2/resources/notes{query}"));
        failures.check_eq(query, reply.status, 200);
        let body = reply.json();
        let got: Vec<&str> = body["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        failures.check_eq(query, got, ids[range].iter().map(String::as_str).collect());
        let meta = json!({ "current_page": current, "last_page": last, "per_page": per_page, "total": 30 });
        failures.check_eq(query, &body["meta"], &meta);
        let page_of =
            |link: &Value| link.as_str().map(|link| link.rsplit_once("page=").unwrap().1.parse::<u64>().unwrap());
        failures.check_eq(query, page_of(&body["links"]["first"]), Some(1));
        failures.check_eq(query, page_of(&body["links"]["last"]), Some(last));
        failures.check_eq(query, page_of(&body["links"]["prev"]), prev);
        failures.check_eq(query, page_of(&body["links"]["next"]), next);
    }
    for query in [
        "page=0",
        "page=-1",
        "page=+1",
        "page=1.0",
        "page=",
        "page=x",
        "page=1e2",
        "page=%201",
        "page=１",
        "per_page=0",
        "per_page=101",
        "per_page=-5",
        "per_page=",
        "per_page=all",
        "page=1&page=1",
        "per_page=5&per_page=6",
        "page",
    ] {
        failures.check_eq(
            query,
            server.get(&format!("/v2/resources/notes?{query}")).outcome(),
            "422 INVALID_PARAMETER".to_owned(),
        );
    }
    let far = server.get("/v2/resources/notes?page=99999999999999999999999999");
    failures.check(far.status == 200 || far.code() == "INVALID_PARAMETER", || far.text.clone());
    let none = server.get("/v2/resources/notes?filter[title]=nothing").expect(200).json();
    failures.check_eq(
        "no match",
        &none["meta"],
        &json!({ "current_page": 1, "last_page": 1, "per_page": 25, "total": 0 }),
    );
    failures.check_eq("no match", &none["links"]["prev"], &Value::Null);
    failures.assert_none();
}

#[test]
fn page_links_keep_the_query() {
    let server = Server::start();
    notes(&server, 3);
    let base = format!("{}/v2/resources/notes", server.address());
    let mut failures = Failures::default();
    for (sent, kept) in [
        ("per_page=1", "per_page=1&"),
        ("per_page=1&page=1&sort=title", "per_page=1&sort=title&"),
        ("per_page=1&search=note%20", "per_page=1&search=note%20&"),
        ("filter%5Btitle%5D%5Bcontains%5D=e+&per_page=1", "filter%5Btitle%5D%5Bcontains%5D=e+&per_page=1&"),
        ("unknown=x&per_page=1", "unknown=x&per_page=1&"),
    ] {
        let body = server.get(&format!("/v2/resources/notes?{sent}")).json();
        failures.check_eq(sent, &body["links"]["next"], &json!(format!("{base}?{kept}page=2")));
        let next = body["links"]["next"].as_str().unwrap_or(&base).strip_prefix(server.address()).unwrap().to_owned();
        failures.check_eq(sent, server.get(&next).status, 200);
    }
    let host = [("host", "cms.example.org:81")];
    let reply = raw_host(&server, "/v2/resources/notes", "cms.example.org:81");
    failures
        .check(reply.contains("http://cms.example.org:81/v2/resources/notes?page=1"), || format!("{host:?}: {reply}"));
    failures.assert_none();
}

/// Sends a request with the given `Host` header. The HTTP client of the other tests sets its own.
fn raw_host(server: &Server, path: &str, host: &str) -> String {
    use std::io::{Read, Write};
    let address = server.address().trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn fields_and_exclude_select_keys() {
    let server = Server::start();
    let ids = notes(&server, 1);
    let one = format!("/v2/resources/notes/{}", ids[0]);
    let mut failures = Failures::default();
    for (query, keys, attributes) in [
        ("fields=id", "id", ""),
        ("fields=attributes,id", "id attributes", "title count place"),
        ("fields=id,id", "id", ""),
        ("exclude=attributes,relationships", "id type published_at created_at updated_at", ""),
        ("fields=id,type,attributes&exclude=id", "type attributes", "title count place"),
        ("fields=id&exclude=id", "", ""),
        ("fields=attributes.count", "attributes", "count"),
        ("fields=attributes.place,attributes.title,id", "id attributes", "title place"),
        ("fields=attributes,attributes.title", "attributes", "title count place"),
        (
            "exclude=attributes.title",
            "id type published_at created_at updated_at attributes relationships",
            "count place",
        ),
        ("fields=attributes.title,attributes.count&exclude=attributes.title", "attributes", "count"),
        ("fields=attributes.title&exclude=attributes.title", "attributes", ""),
    ] {
        let got = server.get(&format!("{one}?{query}")).expect(200).data();
        let names = |value: &Value| {
            let object = value.as_object();
            object.map(|object| object.keys().map(String::as_str).collect::<Vec<_>>().join(" ")).unwrap_or_default()
        };
        failures.check_eq(query, names(&got), keys.to_owned());
        failures.check_eq(query, names(&got["attributes"]), attributes.to_owned());
        let listed = server.get(&format!("/v2/resources/notes?{query}")).expect(200).data();
        failures.check_eq(query, &listed[0], &got);
        let exported = server.get(&format!("/v2/resources/notes/export?{query}")).expect(200).data();
        failures.check_eq(query, &exported[0], &got);
    }
    for query in [
        "fields=",
        "fields=id,",
        "fields=,id",
        "fields=id,,type",
        "fields=title",
        "fields=ID",
        "fields=id,%20type",
        "fields=attributes.nothing",
        "fields=attributes.",
        "exclude=",
        "exclude=nothing",
        "fields=id&fields=type",
        "exclude=attributes.x",
        "fields=relationships.blueprint",
    ] {
        for path in [one.as_str(), "/v2/resources/notes", "/v2/resources/notes/export"] {
            let case = format!("{path}?{query}");
            failures.check_eq(&case, server.get(&case).outcome(), "422 INVALID_PARAMETER".to_owned());
        }
    }
    failures.assert_none();
}

#[test]
fn unknown_parameters_are_ignored_and_invalid_ones_rejected() {
    let server = Server::start();
    let ids = notes(&server, 1);
    let mut failures = Failures::default();
    for (query, outcome) in [
        ("nothing=1&nothing=2", "200"),
        ("=", "200"),
        ("&&", "200"),
        ("%ff=%ff", "200"),
        ("filters[title]=x", "200"),
        ("sort=title&sort=title", "422 INVALID_PARAMETER"),
        ("search=a&search=a", "422 INVALID_PARAMETER"),
        ("search=%ff", "422 INVALID_PARAMETER"),
        ("variant=x", "200"),
        ("variant=x&variant=x", "422 INVALID_PARAMETER"),
        ("filter=x", "422 INVALID_FILTER"),
        ("filter[=x", "422 INVALID_FILTER"),
        ("filter[title=x", "422 INVALID_FILTER"),
        ("filter[]=x", "422 INVALID_FILTER"),
        ("filter[title][]=x", "422 INVALID_FILTER"),
        ("filter[title][eq][x]=x", "422 INVALID_FILTER"),
        ("filter[title]x=x", "422 INVALID_FILTER"),
        ("filter[nothing]=x", "422 INVALID_FILTER"),
        ("filter[title][like]=x", "422 INVALID_FILTER"),
        ("filter[title]=a&filter[title]=b", "200"),
        ("sort=nothing", "422 INVALID_SORT"),
        ("sort=", "422 INVALID_SORT"),
        ("sort=title,", "422 INVALID_SORT"),
        ("sort=--title", "422 INVALID_SORT"),
    ] {
        let brackets = query.replace('[', "%5B").replace(']', "%5D");
        for path in ["/v2/resources/notes", "/v2/resources/notes/export"] {
            failures.check_eq(
                &format!("{path}?{query}"),
                server.get(&format!("{path}?{brackets}")).outcome(),
                outcome.to_owned(),
            );
        }
    }
    // A get ignores the parameters of lists.
    for query in ["page=0", "filter=x", "sort=nothing", "search=a&search=a"] {
        failures.check_eq(query, server.get(&format!("/v2/resources/notes/{}?{query}", ids[0])).status, 200);
    }
    failures.assert_none();
}

#[test]
fn only_preview_can_see_drafts() {
    let server = Server::start();
    notes(&server, 1);
    let draft = server.post("/v2/resources/notes", &json!({ "attributes": { "title": "draft" } })).expect(201).data();
    let future = json!({ "attributes": { "title": "future" }, "published_at": "2999-01-01" });
    let future = server.post("/v2/resources/notes", &future).expect(201).data();
    let (draft, future) = (draft["id"].as_str().unwrap(), future["id"].as_str().unwrap());
    let (view, preview) = (server.token(&["view"]), server.token(&["preview"]));
    let mut failures = Failures::default();
    for (name, token, total, draft_status) in [("view", &view, 2, 404), ("preview", &preview, 3, 200)] {
        let client = server.as_token(token);
        failures.check_eq(name, client.get("/v2/resources/notes").json()["meta"]["total"].as_u64(), Some(total));
        failures.check_eq(
            name,
            client.get("/v2/resources/notes/export").data().as_array().unwrap().len() as u64,
            total,
        );
        failures.check_eq(name, client.get(&format!("/v2/resources/notes/{draft}")).status, draft_status);
        failures.check_eq(name, client.get(&format!("/v2/resources/notes/{future}")).status, 200);
        let drafts = if draft_status == 200 { 1 } else { 0 };
        let found = client.get("/v2/resources/notes?search=draft").json()["meta"]["total"].as_u64();
        failures.check_eq(name, found, Some(drafts));
        let null = client.get("/v2/resources/notes?filter[published_at][null]=true").json()["meta"]["total"].as_u64();
        failures.check_eq(name, null, Some(drafts));
        let published = client.get("/v2/resources/notes?filter[published]=true").json()["meta"]["total"].as_u64();
        failures.check_eq(name, published, Some(1));
    }
    // The answer does not reveal that the draft exists.
    let hidden = server.as_token(&view).get(&format!("/v2/resources/notes/{draft}")).message();
    let nothing = "0192b3c4-0000-7000-8000-000000000000";
    let absent = server.as_token(&view).get(&format!("/v2/resources/notes/{nothing}")).message();
    failures.check_eq("messages", hidden.replace(draft, "ID"), absent.replace(nothing, "ID"));
    failures.assert_none();
}

#[test]
fn an_export_comes_in_three_formats() {
    let server = Server::start();
    notes(&server, 3);
    server.create("notes", json!({ "title": "a \"quoted\", comma\nline", "place": { "city": "x" } }));
    let json = server.get("/v2/resources/notes/export").expect(200);
    assert_eq!(json.header("content-type"), Some("application/json"));
    let all = json.data();
    assert_eq!(all, server.get("/v2/resources/notes").data(), "the export has the order and shape of the list");
    for (query, accept, content_type) in [
        ("?format=ndjson", "", "application/x-ndjson"),
        ("", "application/x-ndjson", "application/x-ndjson"),
        ("?format=json", "application/x-ndjson", "application/json"),
        ("", "*/*", "application/json"),
        ("", "text/csv", "text/csv"),
        ("?format=csv", "", "text/csv"),
    ] {
        let headers: Vec<(&str, &str)> = if accept.is_empty() { vec![] } else { vec![("accept", accept)] };
        let reply = server.raw("GET", &format!("/v2/resources/notes/export{query}"), &headers, b"").expect(200);
        let sent = reply.header("content-type").unwrap_or_default();
        assert!(sent.starts_with(content_type), "{query} {accept}: {sent}");
        if content_type == "application/x-ndjson" {
            assert_eq!(Value::Array(reply.lines()), all);
            assert!(reply.text.ends_with('\n'));
        }
    }
    let csv = server.get("/v2/resources/notes/export?format=csv&sort=count&fields=id,type,attributes").expect(200).text;
    let mut lines = csv.split("\r\n");
    assert_eq!(lines.next(), Some("id,type,title,count,place"));
    assert!(lines.next().unwrap().ends_with(",resource,note 0,0,"));
    assert!(csv.contains(r#","a ""quoted"", comma"#), "{csv}");
    assert!(csv.contains(r#""{""street"":null"#), "{csv}");
    for query in
        ["format=xml", "format=", "format=csv&format=csv", "format=csv&all_variants=true", "all_variants=maybe"]
    {
        let reply = server.get(&format!("/v2/resources/notes/export?{query}"));
        assert_eq!(reply.outcome(), "422 INVALID_PARAMETER", "{query}");
    }
    let part = server.get("/v2/resources/notes/export?filter[count][gte]=1&search=note&sort=-count&page=9&per_page=1");
    let counts: Vec<i64> = part
        .expect(200)
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["attributes"]["count"].as_i64().unwrap())
        .collect();
    assert_eq!(counts, [2, 1], "filters, search and sort apply; pages do not");
}
