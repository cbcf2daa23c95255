//! The choice of the reported error if a request has several (`API.md` 1.7): all pairs and triples of errors of each
//! endpoint.

use serde_json::{Value, json};

use crate::support::{Failures, Server};

/// An error that a test puts into a request. If there are several, the first in this order is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestError {
    Route,
    Method,
    Token,
    Ability,
    Blueprint,
    Parameter,
    Resource,
    TooLarge,
    MediaType,
    Malformed,
    PublishedAt,
    Match,
    Singular,
    Invalid,
    State,
}

use RequestError::*;

impl RequestError {
    fn outcome(self) -> &'static str {
        match self {
            Route | Blueprint | Resource => "404 NOT_FOUND",
            Method => "405 METHOD_NOT_ALLOWED",
            Token => "401 UNAUTHENTICATED",
            Ability | PublishedAt | State => "403 FORBIDDEN",
            Parameter => "422 INVALID_VARIANT",
            TooLarge => "413 PAYLOAD_TOO_LARGE",
            MediaType => "415 UNSUPPORTED_MEDIA_TYPE",
            Malformed => "400 MALFORMED_JSON",
            Match => "412 PRECONDITION_FAILED",
            Singular => "409 SINGULAR_RESOURCE",
            Invalid => "422 VALIDATION_FAILED",
        }
    }

    /// Words in the message of this error, if other errors have the same outcome.
    fn message_part(self) -> &'static str {
        match self {
            Route => "no route",
            Blueprint => "no blueprint",
            Resource => "no resource",
            _ => "",
        }
    }
}

struct Endpoint {
    method: &'static str,
    wrong_method: &'static str,
    is_item: bool,
    ability: &'static str,
    errors: &'static [RequestError],
}

const ENDPOINTS: [Endpoint; 6] = [
    Endpoint {
        method: "GET",
        wrong_method: "DELETE",
        is_item: false,
        ability: "view",
        errors: &[Route, Method, Token, Ability, Blueprint, Parameter],
    },
    Endpoint {
        method: "GET",
        wrong_method: "POST",
        is_item: true,
        ability: "view",
        errors: &[Route, Method, Token, Ability, Blueprint, Parameter, Resource],
    },
    Endpoint {
        method: "POST",
        wrong_method: "PUT",
        is_item: false,
        ability: "create",
        errors: &[
            Route, Method, Token, Ability, Blueprint, Parameter, TooLarge, MediaType, Malformed, Singular, Invalid,
        ],
    },
    Endpoint {
        method: "PUT",
        wrong_method: "POST",
        is_item: true,
        ability: "update",
        errors: &[
            Route, Method, Token, Ability, Blueprint, Parameter, Resource, TooLarge, MediaType, Malformed, Match,
            Invalid, State,
        ],
    },
    Endpoint {
        method: "PATCH",
        wrong_method: "POST",
        is_item: true,
        ability: "update",
        errors: &[
            Route,
            Method,
            Token,
            Ability,
            Blueprint,
            Parameter,
            Resource,
            TooLarge,
            MediaType,
            Malformed,
            PublishedAt,
            Match,
            Invalid,
        ],
    },
    Endpoint {
        method: "DELETE",
        wrong_method: "POST",
        is_item: true,
        ability: "delete",
        errors: &[Route, Method, Token, Ability, Blueprint, Parameter, Resource, Match, Singular],
    },
];

/// The server and the ids and tokens that produce the errors.
struct Scene {
    server: Server,
    note: String,
    setting: String,
    other: String,
}

#[test]
fn the_first_error_is_reported() {
    let server = Server::start_with(&["--max-body-bytes", "1000"]);
    let variants = json!([{ "name": "English", "slug": "en", "default": true }]);
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    for (slug, kind) in [("notes", "resource"), ("settings", "singular_resource")] {
        let body = json!({ "name": slug, "slug": slug, "kind": kind, "variants": variants, "fields": fields });
        server.post("/v2/blueprints", &body).expect(201);
    }
    let draft = server.post("/v2/resources/notes", &json!({ "attributes": { "title": "a" } })).expect(201).data();
    let note = draft["id"].as_str().unwrap().to_owned();
    let setting = server.ids("settings").remove(0);
    let other = server.token(&["analytics:view"]);
    let mut failures = Failures::default();
    let scene = Scene { server, note, setting, other };
    for endpoint in &ENDPOINTS {
        let token = scene.server.token(&[endpoint.ability, "preview"]);
        for set in pairs_and_triples(endpoint.errors) {
            // A missing resource cannot be singular.
            if set.contains(&Singular) && set.contains(&Resource) {
                continue;
            }
            check(&scene, endpoint, &token, &set, &mut failures);
        }
    }
    failures.assert_none();
}

fn pairs_and_triples(errors: &[RequestError]) -> Vec<Vec<RequestError>> {
    let mut sets = Vec::new();
    for (i, first) in errors.iter().enumerate() {
        sets.push(vec![*first]);
        for (j, second) in errors.iter().enumerate().skip(i + 1) {
            sets.push(vec![*first, *second]);
            sets.extend(errors[j + 1..].iter().map(|third| vec![*first, *second, *third]));
        }
    }
    sets
}

fn check(scene: &Scene, endpoint: &Endpoint, token: &str, set: &[RequestError], failures: &mut Failures) {
    let has = |error: RequestError| set.contains(&error);
    let blueprint = match () {
        () if has(Blueprint) => "nothing",
        () if has(Singular) => "settings",
        () => "notes",
    };
    let id = match () {
        () if has(Resource) => "0192b3c4-0000-7000-8000-000000000000",
        () if has(Singular) => &scene.setting,
        () => &scene.note,
    };
    let mut path = if has(Route) { format!("/v2/resource/{blueprint}") } else { format!("/v2/resources/{blueprint}") };
    if endpoint.is_item {
        path.push_str(&format!("/{id}"));
    }
    if has(Parameter) {
        path.push_str("?variant=xx");
    }
    let token = match () {
        () if has(Token) => "bnd_unknown",
        () if has(Ability) => &scene.other,
        () => token,
    };
    let mut headers = Vec::new();
    if has(Match) {
        headers.push(("if-match", "\"0-0\""));
    }
    let mut body = String::new();
    let has_body = !matches!(endpoint.method, "GET" | "DELETE");
    if has_body {
        headers.push(("content-type", if has(MediaType) { "text/plain" } else { "application/json" }));
        body = body_with(&has).to_string();
        if has(TooLarge) {
            body.push_str(&" ".repeat(1000));
        }
        if has(Malformed) {
            body.push('x');
        }
    }
    let method = if has(Method) { endpoint.wrong_method } else { endpoint.method };
    let reply = scene.server.as_token(token).raw(method, &path, &headers, body.as_bytes());
    let case = format!("{} {set:?}", endpoint.method);
    failures.check_eq(&case, reply.outcome(), set[0].outcome().to_owned());
    failures.check(reply.message().contains(set[0].message_part()), || format!("{case}: {}", reply.text));
}

fn body_with(has: &impl Fn(RequestError) -> bool) -> Value {
    let mut body = json!({ "attributes": { "title": if has(Invalid) { json!(1) } else { json!("b") } } });
    if has(PublishedAt) || has(State) {
        body["published_at"] = json!("2026-01-01");
    }
    body
}

#[test]
fn malformed_json_is_rejected() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Page", "slug": "page", "type": "html-page" }]));
    let nested = |levels: usize| {
        // The body, `attributes`, the page and `blocks` are four levels. The rest are nested objects.
        let inner = levels - 4;
        let (open, close) = ("{\"a\":".repeat(inner), "}".repeat(inner));
        format!("{{\"attributes\":{{\"page\":{{\"blocks\":[{open}1{close}]}}}}}}")
    };
    let (deep, deeper, abyss) = (nested(64), nested(65), "[".repeat(100_000));
    let mut failures = Failures::default();
    let json = Some("application/json");
    let good = "{\"attributes\":{}}";
    for (name, content_type, body, outcome) in [
        ("good", json, good.as_bytes(), "201"),
        ("charset", Some("application/json; charset=utf-8"), good.as_bytes(), "201"),
        ("capital letters in the type", Some("Application/JSON"), good.as_bytes(), "201"),
        ("whitespace around it", json, b" \r\n\t{\"attributes\":{}} \n".as_slice(), "201"),
        ("64 levels", json, deep.as_bytes(), "201"),
        ("65 levels", json, deeper.as_bytes(), "400 MALFORMED_JSON"),
        ("100,000 levels", json, abyss.as_bytes(), "400 MALFORMED_JSON"),
        ("no type", None, good.as_bytes(), "415 UNSUPPORTED_MEDIA_TYPE"),
        ("another type", Some("text/plain"), good.as_bytes(), "415 UNSUPPORTED_MEDIA_TYPE"),
        ("a form", Some("application/x-www-form-urlencoded"), b"a=b".as_slice(), "415 UNSUPPORTED_MEDIA_TYPE"),
        ("a type with a suffix", Some("application/json5"), good.as_bytes(), "415 UNSUPPORTED_MEDIA_TYPE"),
        ("empty", json, b"", "400 MALFORMED_JSON"),
        ("only whitespace", json, b"  \n", "400 MALFORMED_JSON"),
        ("truncated", json, b"{\"attributes\":{", "400 MALFORMED_JSON"),
        ("two values", json, b"{} {}", "400 MALFORMED_JSON"),
        ("a trailing comma", json, b"{\"attributes\":{},}", "400 MALFORMED_JSON"),
        ("a comment", json, b"{\"attributes\":{}} // x", "400 MALFORMED_JSON"),
        ("single quotes", json, b"{'attributes':{}}", "400 MALFORMED_JSON"),
        ("NaN", json, b"{\"attributes\":{\"page\":NaN}}", "400 MALFORMED_JSON"),
        ("a leading zero", json, b"{\"attributes\":{\"page\":01}}", "400 MALFORMED_JSON"),
        ("a huge number", json, b"{\"attributes\":{\"page\":1e999}}", "422 VALIDATION_FAILED"),
        ("a duplicate key", json, b"{\"attributes\":{},\"attributes\":{}}", "400 MALFORMED_JSON"),
        (
            "a duplicate nested key",
            json,
            b"{\"attributes\":{\"page\":{\"blocks\":[{\"a\":1,\"a\":1}]}}}",
            "400 MALFORMED_JSON",
        ),
        ("a duplicate key, once escaped", json, b"{\"attributes\":{},\"\\u0061ttributes\":{}}", "400 MALFORMED_JSON"),
        ("byte order mark", json, b"\xef\xbb\xbf{\"attributes\":{}}", "400 MALFORMED_JSON"),
        ("utf-16", json, b"{\x00}\x00", "400 MALFORMED_JSON"),
        ("invalid utf-8", json, b"{\"attributes\":{\"page\":\"\xff\"}}", "400 MALFORMED_JSON"),
        ("invalid utf-8 in a key", json, b"{\"attri\xc0butes\":1}", "400 MALFORMED_JSON"),
        ("lone surrogate", json, b"{\"attributes\":{\"page\":\"\\ud800\"}}", "400 MALFORMED_JSON"),
        ("lone low surrogate", json, b"{\"attributes\":{\"page\":\"\\udc00x\"}}", "400 MALFORMED_JSON"),
        ("surrogate in a key", json, b"{\"\\ud800\":1}", "400 MALFORMED_JSON"),
        ("raw control character", json, b"{\"attributes\":{\"page\":\"\x01\"}}", "400 MALFORMED_JSON"),
        ("trailing zero byte", json, b"{\"attributes\":{}}\0", "400 MALFORMED_JSON"),
    ] {
        let headers: Vec<(&str, &str)> = content_type.map(|sent| ("content-type", sent)).into_iter().collect();
        let reply = server.raw("POST", "/v2/resources/notes", &headers, body);
        failures.check_eq(name, reply.outcome(), outcome.to_owned());
        if reply.status == 400 {
            failures
                .check(reply.message().contains("(line "), || format!("{name}: no line number in {}", reply.message()));
        }
    }
    // Other endpoints reject the same bodies.
    for (method, path) in
        [("POST", "/v2/blueprints"), ("PUT", "/v2/blueprints/notes"), ("POST", "/v2/tokens"), ("POST", "/v2/members")]
    {
        for (headers, body, outcome) in [
            (vec![("content-type", "application/json")], "{", "400 MALFORMED_JSON"),
            (vec![("content-type", "text/plain")], "{}", "415 UNSUPPORTED_MEDIA_TYPE"),
            (vec![], "{}", "415 UNSUPPORTED_MEDIA_TYPE"),
            (vec![("content-type", "application/json")], "{}", "422 VALIDATION_FAILED"),
            (vec![("content-type", "application/json")], "[]", "422 VALIDATION_FAILED"),
        ] {
            let reply = server.raw(method, path, &headers, body.as_bytes());
            failures.check_eq(&format!("{method} {path} {body}"), reply.outcome(), outcome.to_owned());
        }
    }
    failures.assert_none();
}

#[test]
fn the_order_of_errors_also_holds_for_administration() {
    let server = Server::start_with(&["--max-body-bytes", "1000"]);
    server.blueprint("notes", json!([]));
    let member = server.member("ada", None).to_string();
    let view = server.token(&["view"]);
    let large = format!("{}x", " ".repeat(1000));
    let mut failures = Failures::default();
    let json = "application/json";
    for (name, token, method, path, content_type, body, outcome) in [
        ("token, ability", "x", "PUT", "/v2/blueprints/nothing", json, "", "401 UNAUTHENTICATED"),
        ("ability, blueprint", &view, "PUT", "/v2/blueprints/nothing", json, "", "403 FORBIDDEN"),
        ("ability, media type", &view, "POST", "/v2/blueprints", "text/plain", "x", "403 FORBIDDEN"),
        ("ability, body", &view, "POST", "/v2/tokens", json, "x", "403 FORBIDDEN"),
        ("ability, member", &view, "PATCH", "/v2/members/99", json, "x", "403 FORBIDDEN"),
        ("ability, token", &view, "DELETE", "/v2/tokens/x", json, "", "403 FORBIDDEN"),
        ("blueprint, parameter", "", "PUT", "/v2/blueprints/nothing?dry_run=x", json, "x", "404 NOT_FOUND"),
        ("parameter, too large", "", "PUT", "/v2/blueprints/notes?dry_run=x", json, &large, "422 INVALID_PARAMETER"),
        (
            "parameter, media type",
            "",
            "PUT",
            "/v2/blueprints/notes?force=x",
            "text/plain",
            "x",
            "422 INVALID_PARAMETER",
        ),
        ("parameter twice", "", "PUT", "/v2/blueprints/notes?force=1&force=1", json, "{}", "422 INVALID_PARAMETER"),
        ("too large, media type", "", "PUT", "/v2/blueprints/notes", "text/plain", &large, "413 PAYLOAD_TOO_LARGE"),
        ("media type, malformed", "", "PUT", "/v2/blueprints/notes", "text/plain", "x", "415 UNSUPPORTED_MEDIA_TYPE"),
        ("malformed", "", "PUT", "/v2/blueprints/notes", json, "x", "400 MALFORMED_JSON"),
        ("member, body", "", "PATCH", "/v2/members/99", json, "x", "404 NOT_FOUND"),
        ("member id", "", "PATCH", "/v2/members/01", json, "{}", "404 NOT_FOUND"),
        ("too large for members", "", "PATCH", &format!("/v2/members/{member}"), json, &large, "413 PAYLOAD_TOO_LARGE"),
        ("delete with parameter", "", "DELETE", "/v2/blueprints/notes?force=maybe", json, "", "422 INVALID_PARAMETER"),
        ("import: ability, blueprint", &view, "POST", "/v2/resources/nothing/import", json, "x", "403 FORBIDDEN"),
        (
            "import: blueprint, media type",
            "",
            "POST",
            "/v2/resources/nothing/import",
            "text/plain",
            "x",
            "404 NOT_FOUND",
        ),
        (
            "import: media type",
            "",
            "POST",
            "/v2/resources/notes/import",
            "text/plain",
            "x",
            "415 UNSUPPORTED_MEDIA_TYPE",
        ),
    ] {
        let token = if token.is_empty() { crate::support::ADMIN } else { token };
        let reply = server.as_token(token).raw(method, path, &[("content-type", content_type)], body.as_bytes());
        failures.check_eq(name, reply.outcome(), outcome.to_owned());
    }
    failures.assert_none();
}

#[test]
fn an_invalid_parameter_is_reported_after_a_missing_ability_and_blueprint() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let note = server.create("notes", json!({}));
    let (view, delete, none) =
        (server.token(&["view"]), server.token(&["delete", "preview"]), server.token(&["analytics:view"]));
    let (one, missing) = (format!("/v2/resources/notes/{note}"), format!("/v2/resources/nothing/{note}"));
    let copies = "copy=live&copy=live";
    let mut failures = Failures::default();
    for (method, token, path, outcome) in [
        ("DELETE", &view, format!("{one}?{copies}"), "403 FORBIDDEN"),
        ("DELETE", &delete, format!("{missing}?{copies}"), "404 NOT_FOUND"),
        ("DELETE", &delete, format!("{one}?{copies}"), "422 INVALID_PARAMETER"),
        ("GET", &none, format!("{one}/referrers?strict=1&x=1"), "403 FORBIDDEN"),
        ("GET", &view, format!("{missing}/referrers?strict=1&x=1"), "404 NOT_FOUND"),
        ("GET", &view, format!("{one}/referrers?strict=1&x=1"), "422 INVALID_PARAMETER"),
        ("GET", &view, "/v2/views?blueprint=a&blueprint=b".to_owned(), "403 FORBIDDEN"),
        ("GET", &view, "/v2/sessions?member=1&member=2".to_owned(), "403 FORBIDDEN"),
    ] {
        let reply = server.as_token(token).raw(method, &path, &[], b"");
        failures.check_eq(&format!("{method} {path}"), reply.outcome(), outcome.to_owned());
    }
    failures.assert_none();
}

#[test]
fn a_missing_ability_that_a_parameter_demands_is_reported_first() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let note = server.create("notes", json!({}));
    let view = server.token(&["view"]);
    let (one, missing) = (format!("/v2/resources/notes/{note}"), format!("/v2/resources/nothing/{note}"));
    let mut failures = Failures::default();
    for (path, outcome) in [
        ("/v2/resources/nothing?copy=working".to_owned(), "403 FORBIDDEN"),
        ("/v2/resources/notes?copy=working".to_owned(), "403 FORBIDDEN"),
        ("/v2/resources/notes?copy=working&page=0".to_owned(), "403 FORBIDDEN"),
        ("/v2/resources/nothing/export?copy=working".to_owned(), "403 FORBIDDEN"),
        (format!("{missing}?copy=working"), "403 FORBIDDEN"),
        (format!("{one}?copy=working"), "403 FORBIDDEN"),
        (format!("{missing}/neighbors?copy=working"), "403 FORBIDDEN"),
        (format!("{missing}/referrers?copy=working"), "403 FORBIDDEN"),
        (format!("{one}/referrers?copy=working&strict=1&x=1"), "403 FORBIDDEN"),
        ("/v2/search?copy=working&strict=1&x=1".to_owned(), "403 FORBIDDEN"),
        ("/v2/search/suggest?copy=working&strict=1&x=1".to_owned(), "403 FORBIDDEN"),
        ("/v2/resources/nothing?explain=true".to_owned(), "403 FORBIDDEN"),
        ("/v2/resources/notes?explain=true&copy=x".to_owned(), "403 FORBIDDEN"),
        ("/v2/resources/nothing/export?explain=true".to_owned(), "403 FORBIDDEN"),
        (format!("{missing}/neighbors?explain=true"), "403 FORBIDDEN"),
        ("/v2/search?explain=true&strict=1&x=1".to_owned(), "403 FORBIDDEN"),
        // These demand no ability.
        ("/v2/resources/nothing?copy=x".to_owned(), "404 NOT_FOUND"),
        ("/v2/resources/notes?copy=x".to_owned(), "422 INVALID_PARAMETER"),
        ("/v2/resources/nothing?explain=x".to_owned(), "404 NOT_FOUND"),
        ("/v2/resources/notes?explain=x".to_owned(), "422 INVALID_PARAMETER"),
        ("/v2/resources/notes?explain=false".to_owned(), "200"),
        (format!("{one}?explain=true"), "200"),
    ] {
        failures.check_eq(&path, server.as_token(&view).get(&path).outcome(), outcome.to_owned());
    }
    failures.assert_none();
}

#[test]
fn the_order_of_errors_also_holds_for_restoring_a_revision() {
    let server = Server::start_with(&["--max-body-bytes", "1000"]);
    let body = json!({ "name": "notes", "slug": "notes", "working_copy": true, "history": { "keep": 10, "days": 10 },
        "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
    server.post("/v2/blueprints", &body).expect(201);
    let note = server.create("notes", json!({ "title": "a" }));
    let one = format!("/v2/resources/notes/{note}");
    server.patch(&format!("{one}?copy=working"), &json!({ "attributes": { "title": "b" } })).expect(200);
    server.post(&format!("{one}/publish"), &json!({ "at": "2100-01-01" })).expect(200);
    let (revision, unknown) = (format!("{one}/history/1/restore"), format!("{one}/history/9/restore"));
    let missing = "/v2/resources/notes/0192b3c4-0000-7000-8000-000000000000/history/1/restore";
    let large = " ".repeat(1001);
    let (kind, json) = ("text/plain", "application/json");
    let mut failures = Failures::default();
    let mut check = |path: &str, kind: &str, stale: bool, body: &str, outcome: &str| {
        let mut headers = vec![("content-type", kind)];
        headers.extend(stale.then_some(("if-match", "\"0-0\"")));
        let reply = server.raw("POST", path, &headers, body.as_bytes());
        let case = format!("{path}, {kind}, stale: {stale}, {} bytes: {}", body.len(), body.trim());
        failures.check_eq(&case, reply.outcome(), outcome.to_owned());
    };
    let invalid = [r#"{"fields":1}"#, r#"{"fields":["no"]}"#, r#"{"no":1}"#, "[]"];
    for path in [&*unknown, missing] {
        for (kind, body) in [(json, &*large), (kind, "{}"), (json, "x"), (json, invalid[0]), (json, "")] {
            check(path, kind, true, body, "404 NOT_FOUND");
        }
    }
    check(&revision, kind, true, &large, "413 PAYLOAD_TOO_LARGE");
    check(&revision, kind, true, "x", "415 UNSUPPORTED_MEDIA_TYPE");
    check(&revision, json, true, "x", "400 MALFORMED_JSON");
    for body in invalid.into_iter().chain(["{}"]) {
        check(&revision, json, true, body, "412 PRECONDITION_FAILED");
        check(&revision, json, false, body, "409 CONFLICT");
    }
    server.post(&format!("{one}/publish"), &json!({ "at": null })).expect(200);
    for body in invalid {
        check(&revision, json, false, body, "422 VALIDATION_FAILED");
    }
    check(&revision, json, false, "{}", "200");
    failures.assert_none();
}

#[test]
fn a_conflict_of_a_publication_or_a_restoration_is_reported_before_an_invalid_body() {
    let server = Server::start();
    let fields = json!([
        { "name": "Title", "slug": "title", "type": "text" },
        { "name": "Code", "slug": "code", "type": "text", "unique": true },
    ]);
    let body =
        json!({ "name": "notes", "slug": "notes", "working_copy": true, "trash": { "days": 10 }, "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
    let note = server.create("notes", json!({ "title": "a" }));
    let deleted = server.create("notes", json!({ "code": "x" }));
    server.delete(&format!("/v2/resources/notes/{deleted}")).expect(204);
    let (one, restoration) = (format!("/v2/resources/notes/{note}"), format!("/v2/trash/{deleted}/restore"));
    let (working, publication) = (format!("{one}?copy=working"), format!("{one}/publish"));
    server.patch(&working, &json!({ "attributes": { "title": "b" } })).expect(200);
    let (conflict, invalid) = ("409 CONFLICT", "422 VALIDATION_FAILED");
    let mut failures = Failures::default();
    let mut check = |case: &str, path: &str, body: Value, outcome: &str| {
        failures.check_eq(&format!("{case} {body}"), server.post(path, &body).outcome(), outcome.to_owned());
    };
    let bodies = [json!({ "force": "yes" }), json!({ "when": 1 }), json!([])];
    server.post(&publication, &json!({ "at": "2100-01-01" })).expect(200);
    for body in &bodies {
        check("planned", &publication, body.clone(), conflict);
    }
    // These conflict with nothing.
    check("planned", &publication, json!({ "at": null, "force": "yes" }), invalid);
    server.post(&publication, &json!({ "at": null })).expect(200);
    for body in &bodies {
        check("not planned", &publication, body.clone(), invalid);
    }
    server.patch(&one, &json!({ "attributes": { "title": "c" } })).expect(200);
    for body in &bodies {
        check("changed in both copies", &publication, body.clone(), conflict);
    }
    check("changed in both copies", &publication, json!({ "force": true, "when": 1 }), invalid);

    let bodies = [json!({ "as_draft": 1 }), json!({ "when": 1 }), json!([])];
    let holder = server.create("notes", json!({ "code": "x" }));
    for body in &bodies {
        check("a unique value is taken", &restoration, body.clone(), conflict);
    }
    server.delete(&format!("/v2/resources/notes/{holder}")).expect(204);
    for body in &bodies {
        check("no value is taken", &restoration, body.clone(), invalid);
    }
    check("a valid body", &restoration, json!({ "as_draft": true }), "200");
    failures.assert_none();
}

#[test]
fn a_request_that_working_copies_do_not_have_is_refused_before_its_body() {
    let server = Server::start_with(&["--max-body-bytes", "1000"]);
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let body = json!({ "name": "notes", "slug": "notes", "working_copy": true, "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
    let note = server.create("notes", json!({ "title": "a" }));
    let large = " ".repeat(1001);
    let mut failures = Failures::default();
    for (method, path) in [
        ("POST", ""),
        ("POST", "/bulk"),
        ("DELETE", "/bulk"),
        ("POST", "/bulk-unpublish"),
        ("POST", &format!("/{note}/publish")),
    ] {
        let path = format!("/v2/resources/notes{path}?copy=working");
        for (content_type, body) in
            [("text/plain", "{}"), ("application/json", &large), ("application/json", "x"), ("application/json", "{}")]
        {
            let reply = server.raw(method, &path, &[("content-type", content_type)], body.as_bytes());
            let case = format!("{method} {path}, {content_type}, {} bytes", body.len());
            failures.check_eq(&case, reply.outcome(), "422 INVALID_PARAMETER".to_owned());
        }
    }
    let missing = "/v2/resources/notes/0192b3c4-0000-7000-8000-000000000000/publish?copy=working";
    failures.check_eq("a missing resource", server.post(missing, &json!({})).outcome(), "422 INVALID_PARAMETER".into());
    failures.assert_none();
}
