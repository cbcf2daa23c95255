//! Filtering, search and sorting (`API.md` 4.6 and 4.7). Each case cites its section.

mod types;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::support::Server;

/// A case: the section and the rule that it shows, the query, and the keys of the matches in order, or the status and
/// error code.
type Case<'a> = (&'a str, &'a str, &'a str);

/// Starts a server with a blueprint `things` (a key `k`, and a field `v` of the given type) and one resource for each
/// value. The keys are `a`, `b`, `c` …
fn with_values(kind: &str, settings: Value, values: &[Value]) -> Server {
    let server = Server::start();
    let field = json!({ "name": "v", "slug": "v", "type": kind, "settings": settings });
    server.blueprint("things", json!([{ "name": "k", "slug": "k", "type": "slug" }, field]));
    for (key, value) in ('a'..).zip(values) {
        server.create("things", json!({ "k": key, "v": value }));
    }
    server
}

/// Runs the queries and compares the matches. Queries are not encoded, except that a `&` in a value is written `%26`.
fn check(server: &Server, cases: &[Case]) {
    for (rule, query, expected) in cases {
        let encode = |part: &str| match part.split_once('=') {
            Some((name, value)) => {
                let value = value.replace("%26", "&");
                format!("{name}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC))
            }
            None => part.to_owned(),
        };
        let encoded: Vec<String> = query.split('&').map(encode).collect();
        let sort = if query.contains("sort=") { "" } else { "&sort=k" };
        let reply = server.get(&format!("/v2/resources/things?{}{sort}&per_page=100", encoded.join("&")));
        let found = if reply.status == 200 {
            let body = reply.json();
            let keys: Vec<&str> =
                body["data"].as_array().unwrap().iter().map(|item| item["attributes"]["k"].as_str().unwrap()).collect();
            assert_eq!(body["meta"]["total"], keys.len(), "{rule}: {query}");
            keys.join("")
        } else {
            format!("{} {}", reply.status, reply.code())
        };
        assert_eq!(found, *expected, "{rule}: {query}");
    }
}

const INVALID: &str = "422 INVALID_FILTER";

#[test]
fn text_compares_exactly_as_numbers_or_by_code_point() {
    let values = json!(["Apple", "apple", "10", "10.0", "9", "", null, "1e1", "a,b", "a\\b", "Zebra", "\u{1F600}"]);
    let server = with_values("text", json!({}), values.as_array().unwrap());
    check(
        &server,
        &[
            ("4.6 the short form is eq", "filter[v]=Apple", "a"),
            ("4.6 eq", "filter[v][eq]=Apple", "a"),
            ("4.6 equals is eq", "filter[v][equals]=Apple", "a"),
            ("4.6 not_equals is ne", "filter[v][not_equals]=Apple", "bcdefghijkl"),
            ("4.6.2 an unknown field", "filter[w]=1", INVALID),
            ("4.6.2 an unknown operator", "filter[v][like]=1", INVALID),
            ("4.6.2 names are case-sensitive", "filter[V]=1", INVALID),
            ("4.6.2 filter without brackets is malformed", "filter=1", INVALID),
            ("4.6.2 an open bracket", "filter[v=1", INVALID),
            ("4.6.2 three pairs of brackets", "filter[v][eq][x]=1", INVALID),
            ("4.6.2 has is not for text", "filter[v][has]=1", INVALID),
            ("4.6.3 several operators of a field", "filter[v][gte]=a&filter[v][lt]=b", "bij"),
            ("4.6.3 several fields", "filter[v][contains]=apple&filter[k]=b", "b"),
            ("4.6.3 one filter twice", "filter[v][contains]=a&filter[v][contains]=b", "ijk"),
            ("4.6.4 eq is case-sensitive", "filter[v]=apple", "b"),
            ("4.6.4 eq compares text: 10 is not 10.0", "filter[v]=10", "c"),
            ("4.6.4 eq compares text: 10.0 is not 10", "filter[v]=10.0", "d"),
            ("4.6.4 eq of the empty string", "filter[v]=", "f"),
            ("4.6.4 eq trims nothing", "filter[v]= 10", ""),
            ("4.6.4 gt compares numbers", "filter[v][gt]=9", "cdh"),
            ("4.6.4 gte compares numbers", "filter[v][gte]=10", "cdh"),
            ("4.6.4 lt compares numbers", "filter[v][lt]=10", "e"),
            ("4.6.4 lte with an exponent", "filter[v][lte]=1E+1", "cdeh"),
            ("4.6.4 a space before a number makes it text", "filter[v][gt]= 9", "abcdehijkl"),
            ("4.6.4 a plus sign makes it text", "filter[v][lt]=+9", "f"),
            ("4.6.4 a leading zero makes it text", "filter[v][lt]=09", "f"),
            ("4.6.4 text is compared by code point", "filter[v][gt]=a", "bijl"),
            ("4.6.4 lt by code point", "filter[v][lt]=a", "acdefhk"),
            ("4.6.4 a code point beyond the basic plane", "filter[v][gte]=\u{FFFF}", "l"),
            ("4.6.4 between numbers", "filter[v][between]=9,10", "cdeh"),
            ("4.6.4 between is inclusive", "filter[v][between]=Apple,apple", "abijk"),
            ("4.6.4 between with only one number compares text", "filter[v][between]=10,9x", "cdeh"),
            ("4.6.4 between with swapped bounds", "filter[v][between]=10,9", ""),
            ("4.6.4 between with one value", "filter[v][between]=9", INVALID),
            ("4.6.4 between with three values", "filter[v][between]=1,2,3", INVALID),
            ("4.6.5 in", "filter[v][in]=Apple,10", "ac"),
            ("4.6.5 not_in", "filter[v][not_in]=Apple,10", "bdefghijkl"),
            ("4.6.5 in is case-sensitive", "filter[v][in]=APPLE", ""),
            ("4.6.10 an empty list is one empty string", "filter[v][in]=", "f"),
            ("4.6.10 an escaped comma", "filter[v][in]=a\\,b,9", "ei"),
            ("4.6.10 an escaped backslash", "filter[v][in]=a\\\\b", "j"),
            ("4.6.10 a backslash before another character", "filter[v][in]=\\A\\p\\ple", "a"),
            ("4.6.10 a backslash at the end", "filter[v][in]=x\\", ""),
            ("4.6.10 nothing is trimmed", "filter[v][in]=Apple, 10", "a"),
            ("4.6.10 escapes work in between", "filter[v][between]=a\\,b,a\\\\c", "ij"),
            ("4.6.10 eq has no escapes", "filter[v]=a,b", "i"),
            ("4.6.9 contains ignores case", "filter[v][contains]=APP", "ab"),
            ("4.6.9 every value except null contains the empty string", "filter[v][contains]=", "abcdefhijkl"),
            ("4.6.9 starts_with the empty string", "filter[v][starts_with]=", "abcdefhijkl"),
            ("4.6.9 starts_with", "filter[v][starts_with]=1", "cdh"),
            ("4.6.9 ends_with", "filter[v][ends_with]=BRA", "k"),
            ("4.6.9 the needle is longer than the value", "filter[v][contains]=apples", ""),
            ("4.6.12 not_contains matches null", "filter[v][not_contains]=a", "cdefghl"),
            ("4.6.12 ne matches null", "filter[v][ne]=", "abcdeghijkl"),
            ("4.6.12 not_in matches null", "filter[v][not_in]=,Apple", "bcdeghijkl"),
            ("4.6.12 lt does not match null", "filter[v][lt]=A", "cdefh"),
            ("4.6.11 null", "filter[v][null]=true", "g"),
            ("4.6.11 1 is true", "filter[v][null]=1", "g"),
            ("4.6.11 not null", "filter[v][null]=false", "abcdefhijkl"),
            ("4.6.11 0 is false", "filter[v][null]=0", "abcdefhijkl"),
            ("4.6.11 an invalid value", "filter[v][null]=yes", INVALID),
            ("4.6.11 an empty value", "filter[v][null]=", INVALID),
            ("4.6.8 search", "search=PPL", "ab"),
            ("4.6.8 search is one substring", "search=apple 10", ""),
            ("4.6.8 an empty search is ignored", "search=", "abcdefghijkl"),
            ("4.6.8 search combines with filters", "search=a&filter[v][ne]=apple", "aijk"),
            ("4.6.8 search ignores slugs", "search=l", "ab"),
            ("4.2.4 search twice", "search=a&search=b", "422 INVALID_PARAMETER"),
            ("4.7 collation sorts lowercase first", "filter[v][in]=Apple,apple,Zebra&sort=v", "bak"),
            ("4.7.2 descending", "filter[v][in]=Apple,apple,Zebra&sort=-v", "kab"),
            ("4.7.5 an unknown name", "sort=w", "422 INVALID_SORT"),
            ("4.7.5 an empty entry", "sort=v,", "422 INVALID_SORT"),
            ("4.7.5 published is not sortable", "sort=published", "422 INVALID_SORT"),
            ("4.7.6 null is last", "filter[k][in]=a,g,f&sort=v", "fag"),
            ("4.7.6 null is last, descending", "filter[k][in]=a,g,f&sort=-v", "afg"),
            ("4.7.6 by slug, descending", "filter[v][starts_with]=a&sort=-k", "jiba"),
            ("4.7.4 the newest first", "filter[v][starts_with]=a&sort=-created_at", "jiba"),
            ("4.7.3 by id", "filter[v][starts_with]=a&sort=-id", "jiba"),
        ],
    );
    let newest: Vec<String> = server.ids("things");
    let mut oldest = server.ids("things?sort=created_at");
    oldest.reverse();
    assert_eq!(newest, oldest, "4.7.4 the default order is newest first");
}

#[test]
fn substring_search_ignores_only_case() {
    let values = json!([
        "Straße",
        "STRASSE",
        "İstanbul",
        "istanbul",
        "ﬁn",
        "FIN",
        "ΟΔΟΣ",
        "οδός",
        "café",
        "cafe\u{301}",
        "cafe",
        "日本語",
        "👩‍👩‍👧‍👦",
        "100%_x",
        "line\nbreak",
        "say \"hi\", it's"
    ]);
    let server = with_values("text", json!({}), values.as_array().unwrap());
    check(
        &server,
        &[
            ("4.6.9 ß is ss", "filter[v][contains]=asse", "ab"),
            ("4.6.9 ss is ß", "filter[v][contains]=ß", "ab"),
            ("4.6.9 capital ẞ", "filter[v][ends_with]=ẞE", "ab"),
            ("4.6.9 half of the folded ß", "filter[v][contains]=as", "ab"),
            ("4.6.9 İ is i and a dot", "filter[v][starts_with]=i\u{307}", "c"),
            ("4.6.9 i is in İ", "filter[v][starts_with]=i", "cd"),
            ("4.6.9 İ is not i", "filter[v][contains]=İS", "c"),
            ("4.6.9 ligatures", "filter[v][starts_with]=fi", "ef"),
            ("4.6.9 the ligature as the needle", "filter[v][contains]=ﬁ", "ef"),
            ("4.6.9 the final sigma", "filter[v][contains]=ος", "g"),
            ("4.6.9 the middle sigma", "filter[v][contains]=οσ", "g"),
            ("4.6.9 accents count", "filter[v][contains]=οδο", "g"),
            ("4.6.9 a composed needle", "filter[v][contains]=fé", "ij"),
            ("4.6.9 a decomposed needle", "filter[v][contains]=fe\u{301}", "ij"),
            ("4.6.9 e is not é", "filter[v][contains]=fe", "k"),
            ("4.6.9 a needle of one character", "filter[v][contains]=本", "l"),
            ("4.6.9 a needle of two characters", "filter[v][contains]=日本", "l"),
            ("4.6.9 an emoji of a family", "filter[v][contains]=👩", "m"),
            ("4.6.9 the joiner of the emoji", "filter[v][contains]=\u{200d}", "m"),
            ("4.6.9 the whole emoji", "filter[v]=👩‍👩‍👧‍👦", "m"),
            ("4.6.9 % is not a wildcard", "filter[v][contains]=%", "n"),
            ("4.6.9 _ is not a wildcard", "filter[v][contains]=_", "n"),
            ("4.6.9 * is not a wildcard", "filter[v][contains]=*", ""),
            ("4.6.9 line breaks", "filter[v][contains]=e\nb", "o"),
            ("4.6.9 quotes and commas", "filter[v][contains]=\"hi\", it's", "p"),
            ("4.6.8 search does the same", "search=STRASSE", "ab"),
        ],
    );
}

#[test]
fn sorting_follows_the_language_of_the_variant() {
    let server = Server::start();
    let body = json!({
        "name": "things", "slug": "things",
        "fields": [{ "name": "k", "slug": "k", "type": "slug" }, { "name": "v", "slug": "v", "type": "text" }],
        "variants": [
            { "name": "Deutsch", "slug": "de", "default": true }, { "name": "Svenska", "slug": "sv-FI", "default": false },
            { "name": "中文", "slug": "zh-CN", "default": false }
        ],
    });
    server.post("/v2/blueprints", &body).expect(201);
    for (key, value) in ["zebra", "ähnlich", "apfel", "Apfel", "a b", "ab"].iter().enumerate() {
        let key = char::from(b'a' + key as u8);
        let copy = |text: &str| json!({ "k": key, "v": text });
        let chinese = ["爸", "阿"].get(usize::from(key as u8 - b'a')).copied();
        let mut variants = json!({ "de": copy(value), "sv-FI": copy(value) });
        if let Some(chinese) = chinese {
            variants["zh-CN"] = copy(chinese);
        }
        let line = json!({ "variants": variants, "published_at": "2026-01-01" }).to_string();
        let headers = [("content-type", "application/x-ndjson")];
        let token = crate::support::ADMIN;
        server.as_token(token).raw("POST", "/v2/resources/things/import", &headers, line.as_bytes()).expect(200);
    }
    let keys = |query: &str| {
        let data = server.get(&format!("/v2/resources/things?{query}")).expect(200).data();
        let keys =
            data.as_array().unwrap().iter().map(|item| item["attributes"]["k"].as_str().unwrap_or("-").to_owned());
        keys.collect::<String>()
    };
    assert_eq!(keys("sort=v"), "efbcda", "4.7.6 German: spaces count, and ä sorts with a");
    assert_eq!(keys("sort=v&variant=sv-FI"), "efcdab", "4.7.6 Swedish: ä sorts after z");
    assert_eq!(keys("sort=v&variant=zh-CN"), "ba----", "2.5 missing copies are null and sort last");
    assert_eq!(
        keys("filter[v][null]=true&variant=zh-CN&sort=id"),
        "----",
        "2.5 null matches resources without a translation"
    );
    assert_eq!(keys("filter[v]=爸&variant=zh-CN"), "a", "2.5 filters see the requested variant");
    assert_eq!(keys("filter[v]=爸"), "", "2.5 filters see no other variant");
    assert_eq!(
        keys("filter[v][null]=true&variant=zh-CN&fallback=de&sort=id"),
        "cdef",
        "2.5 fallback does not affect filters"
    );
    let reply = server.get("/v2/resources/things?variant=fr").expect(422);
    assert_eq!(
        (reply.code().as_str(), reply.message().as_str()),
        ("INVALID_VARIANT", "`variant` is `fr`; the variants of `things` are `de`, `sv-FI`, `zh-CN`")
    );
}

#[test]
fn system_dates_compare_by_day_except_with_between() {
    let server = Server::start();
    server.blueprint("things", json!([{ "name": "k", "slug": "k", "type": "slug" }]));
    let now = chrono::Utc::now();
    let day = |days: i64, time: &str| format!("{}T{time}", (now + chrono::Duration::days(days)).format("%Y-%m-%d"));
    let dates = [
        json!("2026-01-01T00:00:00Z"),
        json!("2026-01-01T23:59:59.999Z"),
        json!("2026-01-02T00:30:00+01:00"),
        Value::Null,
        json!(day(0, "23:59:59.999Z")),
        json!(day(1, "00:00:00Z")),
        json!("2025-12-31T23:59:59.9999Z"),
    ];
    for (key, date) in ('a'..).zip(&dates) {
        let body = json!({ "attributes": { "k": key }, "published_at": date });
        server.post("/v2/resources/things", &body).expect(201);
    }
    let today = now.format("filter[created_at]=%Y-%m-%d").to_string();
    check(
        &server,
        &[
            ("4.6.6 today or before", "filter[published]=true", "abceg"),
            ("4.6.6 1 is true", "filter[published]=1", "abceg"),
            ("4.6.6 drafts and scheduled resources", "filter[published]=false", "df"),
            ("4.6.6 0 is false", "filter[published][equals]=0", "df"),
            ("4.6.6 ne", "filter[published][ne]=true", "df"),
            ("4.6.6 not_equals", "filter[published][not_equals]=0", "abceg"),
            ("4.6.6 other values are ignored", "filter[published]=maybe", "abcdefg"),
            ("4.6.6 other values are ignored with ne, too", "filter[published][ne]=", "abcdefg"),
            ("4.6.6 other operators are invalid", "filter[published][in]=true", INVALID),
            ("4.6.7 eq compares the day", "filter[published_at]=2026-01-01", "abc"),
            ("4.6.7 eq ignores the time", "filter[published_at]=2026-01-01T12:34:56Z", "abc"),
            ("4.6.7 days are UTC days", "filter[published_at]=2026-01-01T00:30:00+01:00", "g"),
            (
                "1.2 a space stands for the plus sign of an offset",
                "filter[published_at]=2026-01-01T00:30:00 01:00",
                "g",
            ),
            ("4.6.7 ne is the complement", "filter[published_at][ne]=2026-01-01", "defg"),
            ("4.6.7 gt is after the day", "filter[published_at][gt]=2026-01-01", "ef"),
            ("4.6.7 gte", "filter[published_at][gte]=2026-01-01T23:00:00Z", "abcef"),
            ("4.6.7 lt is before the day", "filter[published_at][lt]=2026-01-01T23:00:00Z", "g"),
            ("4.6.7 lte", "filter[published_at][lte]=2026-01-01", "abcg"),
            ("4.6.7 between compares instants", "filter[published_at][between]=2026-01-01,2026-01-01", "a"),
            (
                "4.6.7 a date as the upper bound means its midnight",
                "filter[published_at][between]=2025-12-31,2026-01-01",
                "ag",
            ),
            (
                "4.6.7 between is inclusive",
                "filter[published_at][between]=2026-01-01T00:00Z,2026-01-01T23:59:59.999Z",
                "abc",
            ),
            (
                "1.2 digits beyond milliseconds are cut",
                "filter[published_at][between]=2025-12-31T23:59:59.9991Z,2025-12-31T23:59:59.999Z",
                "g",
            ),
            ("4.6.7 null", "filter[published_at][null]=true", "d"),
            ("4.6.7 not null", "filter[published_at][null]=0", "abcefg"),
            ("4.6.7 created_at is never null", "filter[created_at][null]=true", ""),
            ("4.6.7 created_at", &today, "abcdefg"),
            ("4.6.7 other operators are invalid", "filter[created_at][contains]=2026", INVALID),
            ("4.6.7 in is invalid, too", "filter[updated_at][in]=2026-01-01", INVALID),
            ("4.6.7 not a date", "filter[created_at]=now", INVALID),
            ("4.6.7 a date that does not exist", "filter[created_at]=2026-02-29", INVALID),
            ("4.6.7 between with an invalid date", "filter[created_at][between]=2026-01-01,x", INVALID),
            ("4.7.6 by instant, null last", "sort=published_at", "gacbefd"),
            ("4.7.6 descending, null last", "sort=-published_at", "febcagd"),
        ],
    );
    let ids = server.ids("things?sort=id");
    check(
        &server,
        &[
            ("4.6.1 id", &format!("filter[id]={}", ids[1]), "b"),
            ("4.6.1 id ne", &format!("filter[id][ne]={}", ids[1]), "acdefg"),
            ("4.6.1 id in", &format!("filter[id][in]={},x,{}", ids[0], ids[6]), "ag"),
            ("4.6.1 id not_in", &format!("filter[id][not_in]={},x", ids[0]), "bcdefg"),
            ("4.6.1 ids are case-sensitive", &format!("filter[id]={}", ids[1].to_uppercase()), ""),
            ("4.6.1 other operators are invalid", "filter[id][contains]=0", INVALID),
        ],
    );
    let viewer = server.token(&["view"]);
    let total = |query: &str| {
        server.as_token(&viewer).get(&format!("/v2/resources/things?{query}")).json()["meta"]["total"].clone()
    };
    assert_eq!(total(""), 6, "4.2.6 without preview, drafts are hidden");
    assert_eq!(total("filter[published]=false"), 1, "4.2.6 a filter finds no drafts, but finds future dates");
    assert_eq!(total("filter[published_at][null]=true"), 0, "4.2.6 a null filter finds no drafts");
}

#[test]
fn pages_and_links_reach_every_match() {
    let server = Server::start();
    server.blueprint("things", json!([{ "name": "k", "slug": "k", "type": "text" }]));
    let ids: Vec<String> = (0..23).map(|n| server.create("things", json!({ "k": format!("{}", n % 3) }))).collect();
    let page = |query: &str| server.get(&format!("/v2/resources/things?{query}")).expect(200).json();
    let body = page("search=0&per_page=3&page=2&x=%5B&sort=id");
    let link = |number: u32| {
        format!("{}/v2/resources/things?search=0&per_page=3&x=%5B&sort=id&page={number}", server.address())
    };
    assert_eq!(body["links"], json!({ "first": link(1), "last": link(3), "prev": link(1), "next": link(3) }), "4.2.2");
    assert_eq!(body["meta"], json!({ "current_page": 2, "last_page": 3, "per_page": 3, "total": 8 }), "4.2.1");
    assert_eq!(body["data"][0]["id"], ids[9], "4.2.1");
    let body = page("per_page=10&page=9");
    assert_eq!(
        (&body["data"], &body["links"]["next"]),
        (&json!([]), &Value::Null),
        "4.2.1 a page past the last is empty"
    );
    assert!(
        body["links"]["prev"].as_str().unwrap().ends_with("page=3"),
        "4.2.1 prev of a page past the last is the last page"
    );
    let body = page("filter[k]=none");
    assert_eq!(
        body["meta"],
        json!({ "current_page": 1, "last_page": 1, "per_page": 25, "total": 0 }),
        "4.2.1 no matches"
    );
    assert_eq!(page("page=99999999999999999999")["data"], json!([]), "4.2.1 any page number is accepted");
    for wrong in ["page=0", "page=-1", "page=1.0", "page=", "page=a", "per_page=0", "per_page=101", "page=1&page=2"] {
        assert_eq!(
            server.get(&format!("/v2/resources/things?{wrong}")).expect(422).code(),
            "INVALID_PARAMETER",
            "{wrong}"
        );
    }
}
