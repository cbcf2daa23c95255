//! A test that visits every route and method of the server.

use std::collections::BTreeSet;

use super::*;
use crate::observe::operations;

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Returns the methods of a path, according to `Allow`.
async fn methods_of(router: &HttpService, path: &str) -> Vec<Method> {
    let unknown = Method::from_bytes(b"BREW").unwrap();
    let (status, headers, _) = send_to(router.clone(), request(unknown, path)).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
    let allowed = headers["allow"].to_str().unwrap();
    allowed.split(',').map(|method| Method::from_bytes(method.trim().as_bytes()).unwrap()).collect()
}

#[tokio::test]
async fn every_method_of_every_route_needs_a_token_except_the_public_ones() {
    let app = app(Settings::default());
    let mut table = crate::routes();
    table.extend(analytics::intake());
    let router = service(app);
    let mut open = BTreeSet::new();
    let mut n_closed = 0;
    for route in table {
        // Replaced by an existing file, since missing ones are answered with 404.
        let path = route.path.replace("/docs/{file}", "/docs/swagger-ui.css");
        let path = path.replace('{', "x").replace(['}', '*'], "");
        let methods = methods_of(&router, &path).await;
        assert!(route.open.iter().all(|method| methods.contains(method)), "{path}: {methods:?}");
        for method in methods {
            for token in [None, Some("Bearer nobody-has-this-token"), Some("Bearer "), Some("Basic bm9ib2R5")] {
                let mut request = request(method.clone(), &path);
                if let Some(token) = token {
                    request.headers_mut().insert("authorization", token.parse().unwrap());
                }
                let (status, headers, _) = send_to(router.clone(), request).await;
                // The description depends on the token, so it requires a valid one if there is one.
                let is_open = route.open.contains(&method) && (token.is_none() || path != "/v2/openapi.json");
                let case = format!("{method} {path} with {token:?}: {status}");
                assert_eq!(status != StatusCode::UNAUTHORIZED, is_open, "{case}");
                assert_eq!(headers.contains_key("www-authenticate"), !is_open, "{case}");
            }
            match route.open.contains(&method) {
                true => drop(open.insert(format!("{method} {path}"))),
                false => n_closed += 1,
            }
        }
        // Unlisted methods must not have an effect either.
        for method in METHODS {
            let (status, ..) = send_to(router.clone(), request(method, &path)).await;
            // A file or a search that does not exist is 404 for everybody.
            let may_be_missing = path.starts_with("/media/") || path.ends_with("/click");
            assert!(status != StatusCode::NOT_FOUND || may_be_missing, "{path}");
        }
    }
    let expected = [
        "GET /admin",
        "GET /admin/",
        "GET /admin/xpath",
        "GET /docs",
        "GET /docs/swagger-ui.css",
        "GET /healthz",
        "GET /media/xid/xfile_name",
        "GET /metrics",
        "GET /readyz",
        "GET /v2/analytics/script.js",
        "GET /v2/cluster/questions",
        "GET /v2/invitation",
        "GET /v2/openapi.json",
        "HEAD /admin",
        "HEAD /admin/",
        "HEAD /admin/xpath",
        "HEAD /docs",
        "HEAD /docs/swagger-ui.css",
        "HEAD /healthz",
        "HEAD /media/xid/xfile_name",
        "HEAD /metrics",
        "HEAD /readyz",
        "HEAD /v2/analytics/script.js",
        "HEAD /v2/cluster/questions",
        "HEAD /v2/invitation",
        "HEAD /v2/openapi.json",
        "POST /v2/analytics/events",
        "POST /v2/analytics/searches/xsearch_id/click",
        "POST /v2/cluster/batches",
        "POST /v2/cluster/hint",
        "POST /v2/invitation",
        "POST /v2/session",
    ];
    assert_eq!(open.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert!(n_closed > 60, "{n_closed}");
}

#[tokio::test]
async fn the_description_has_every_method_of_every_route_and_nothing_else() {
    let app = app(Settings::default());
    let mut table = crate::routes();
    table.extend(analytics::intake());
    let router = service(app);
    let mut expected = BTreeSet::new();
    for route in table {
        let path = route.path.replace('{', "x").replace(['}', '*'], "");
        let methods = methods_of(&router, &path).await;
        let described = methods.iter().filter(|method| !matches!(**method, Method::HEAD | Method::OPTIONS));
        expected.extend(described.map(|method| (method.as_str().to_lowercase(), route.path.replace('*', ""))));
    }
    let described: BTreeSet<(String, String)> =
        openapi::described().into_iter().map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(described, expected);
    let (status, _, text) = send_to(router, request(Method::GET, "/v2/openapi.json")).await;
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &document["openapi"]), (StatusCode::OK, &json!("3.1.0")));
    assert_every_reference_resolves(&document, &document);
}

#[tokio::test]
async fn the_page_on_security_names_each_open_route_and_no_other() {
    let app = app(Settings::default());
    let mut table = crate::routes();
    table.extend(analytics::intake());
    let open = table.into_iter().filter(|route| !route.open.is_empty()).map(|route| route.path.replace('*', ""));
    // The description omits the address with a slash at its end, because it is another form of the one without.
    let open: BTreeSet<String> = open.filter(|path| !path.ends_with('/')).collect();
    let (_, _, text) = send_to(service(app), request(Method::GET, "/v2/openapi.json")).await;
    let document: Value = serde_json::from_str(&text).unwrap();
    let needs_no_token = |operations: &Value| {
        operations.as_object().unwrap().values().any(|operation| operation["security"] == json!([{}]))
    };
    let paths = document["paths"].as_object().unwrap().iter();
    let described: BTreeSet<String> =
        paths.filter(|(_, operations)| needs_no_token(operations)).map(|(path, _)| path.clone()).collect();
    assert_eq!(described, open);
    let page = include_str!("../../../SECURITY.md");
    let list = page.split("<!-- open routes -->").nth(1).unwrap().split("<!-- open routes end -->").next().unwrap();
    let quoted = list.split('`').skip(1).step_by(2).filter(|text| text.starts_with('/'));
    let named: BTreeSet<String> = quoted.map(str::to_owned).collect();
    assert_eq!(named, open);
}

#[test]
fn samples_of_proxies_do_not_publish_the_metrics() {
    let documents = [
        include_str!("../../../docs/operations.md"),
        include_str!("../../../README.md"),
        include_str!("../../../API.md"),
        include_str!("../../../SECURITY.md"),
    ];
    let is_proxy = |block: &&str| block.contains("location / {") || block.contains("\n    reverse_proxy 127");
    assert!(documents[0].split("```").filter(is_proxy).count() >= 2);
    for document in documents {
        let blocks = document.split("```").skip(1).step_by(2);
        for block in blocks.filter(is_proxy) {
            assert!(block.contains("/metrics"), "{block}");
        }
    }
}

/// Checks that each `$ref` names something in the document.
fn assert_every_reference_resolves(document: &Value, part: &Value) {
    match part {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
            object.values().for_each(|part| assert_every_reference_resolves(document, part));
        }
        Value::Array(parts) => parts.iter().for_each(|part| assert_every_reference_resolves(document, part)),
        _ => {}
    }
}

#[test]
fn every_path_of_the_description_is_found_by_an_address_of_it() {
    for path in operations::paths() {
        assert_eq!(operations::route_of(&path.replace(['{', '}'], "")), Some(path));
    }
    let found = |address| operations::route_of(address).unwrap_or_default();
    assert_eq!(found("/v2/resources/articles/export"), "/v2/resources/{blueprint}/export");
    assert_eq!(found("/v2/resources/articles/7"), "/v2/resources/{blueprint}/{id}");
    assert_eq!(found("/v2/resources"), "");
    assert_eq!(found("/v2/resources/articles/7/8/9"), "");
}

#[test]
fn the_router_is_made_from_the_table_only() {
    let sources = [include_str!("../lib.rs"), include_str!("../handlers/analytics.rs"), include_str!("../frame.rs")];
    assert!(sources.iter().all(|source| !source.contains(".route(")), "a route that no test walks");
}
