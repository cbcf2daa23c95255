//! The rules of filtering, search and sorting, one line each, named by its number in `API.md`.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::support::Server;

/// What it shows, the query, and the keys of the resources that are answered, in order; or the code of a fault.
type Case<'a> = (&'a str, &'a str, &'a str);

/// A blueprint `things` with a key `k` and a field `v` of that type, and one resource for each value, with the keys `a`,
/// `b`, `c` …
fn with_values(kind: &str, settings: Value, values: &[Value]) -> Server {
    let server = Server::start();
    let field = json!({ "name": "v", "slug": "v", "type": kind, "settings": settings });
    server.blueprint("things", json!([{ "name": "k", "slug": "k", "type": "slug" }, field]));
    for (key, value) in ('a'..).zip(values) {
        server.create("things", json!({ "k": key, "v": value }));
    }
    server
}

/// Values of the parameters stand as they are meant, but for `&`, which is written `%26`.
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

const FAULT: &str = "422 INVALID_FILTER";

#[test]
fn text_is_compared_as_given_as_a_number_or_by_code_point() {
    let values = json!(["Apple", "apple", "10", "10.0", "9", "", null, "1e1", "a,b", "a\\b", "Zebra", "\u{1F600}"]);
    let server = with_values("text", json!({}), values.as_array().unwrap());
    check(
        &server,
        &[
            ("4.6 the short form is eq", "filter[v]=Apple", "a"),
            ("4.6 eq", "filter[v][eq]=Apple", "a"),
            ("4.6 equals is eq", "filter[v][equals]=Apple", "a"),
            ("4.6 not_equals is ne", "filter[v][not_equals]=Apple", "bcdefghijkl"),
            ("4.6.2 an unknown field", "filter[w]=1", FAULT),
            ("4.6.2 an unknown operator", "filter[v][like]=1", FAULT),
            ("4.6.2 names are case-sensitive", "filter[V]=1", FAULT),
            ("4.6.2 filter alone is not well-formed", "filter=1", FAULT),
            ("4.6.2 an open bracket", "filter[v=1", FAULT),
            ("4.6.2 three pairs of brackets", "filter[v][eq][x]=1", FAULT),
            ("4.6.2 has is not for text", "filter[v][has]=1", FAULT),
            ("4.6.3 several operators of a field", "filter[v][gte]=a&filter[v][lt]=b", "bij"),
            ("4.6.3 several fields", "filter[v][contains]=apple&filter[k]=b", "b"),
            ("4.6.3 one filter twice", "filter[v][contains]=a&filter[v][contains]=b", "ijk"),
            ("4.6.4 eq is case-sensitive", "filter[v]=apple", "b"),
            ("4.6.4 eq takes no number for another", "filter[v]=10", "c"),
            ("4.6.4 nor the other way", "filter[v]=10.0", "d"),
            ("4.6.4 eq of the empty string", "filter[v]=", "f"),
            ("4.6.4 eq trims nothing", "filter[v]= 10", ""),
            ("4.6.4 gt compares numbers", "filter[v][gt]=9", "cdh"),
            ("4.6.4 gte compares numbers", "filter[v][gte]=10", "cdh"),
            ("4.6.4 lt compares numbers", "filter[v][lt]=10", "e"),
            ("4.6.4 lte with an exponent", "filter[v][lte]=1E+1", "cdeh"),
            ("4.6.4 a blank before a number makes it text", "filter[v][gt]= 9", "abcdehijkl"),
            ("4.6.4 a plus sign makes it text", "filter[v][lt]=+9", "f"),
            ("4.6.4 a leading zero makes it text", "filter[v][lt]=09", "f"),
            ("4.6.4 text is compared by code point", "filter[v][gt]=a", "bijl"),
            ("4.6.4 lt by code point", "filter[v][lt]=a", "acdefhk"),
            ("4.6.4 beyond the basic plane", "filter[v][gte]=\u{FFFF}", "l"),
            ("4.6.4 between numbers", "filter[v][between]=9,10", "cdeh"),
            ("4.6.4 between is inclusive", "filter[v][between]=Apple,apple", "abijk"),
            ("4.6.4 between of one number is text", "filter[v][between]=10,9x", "cdeh"),
            ("4.6.4 between the wrong way round", "filter[v][between]=10,9", ""),
            ("4.6.4 between with one value", "filter[v][between]=9", FAULT),
            ("4.6.4 between with three values", "filter[v][between]=1,2,3", FAULT),
            ("4.6.5 in", "filter[v][in]=Apple,10", "ac"),
            ("4.6.5 not_in", "filter[v][not_in]=Apple,10", "bdefghijkl"),
            ("4.6.5 in is case-sensitive", "filter[v][in]=APPLE", ""),
            ("4.6.10 an empty list is one empty string", "filter[v][in]=", "f"),
            ("4.6.10 an escaped comma", "filter[v][in]=a\\,b,9", "ei"),
            ("4.6.10 an escaped backslash", "filter[v][in]=a\\\\b", "j"),
            ("4.6.10 a backslash before another character", "filter[v][in]=\\A\\p\\ple", "a"),
            ("4.6.10 a lone backslash at the end", "filter[v][in]=x\\", ""),
            ("4.6.10 nothing is trimmed", "filter[v][in]=Apple, 10", "a"),
            ("4.6.10 escapes in between", "filter[v][between]=a\\,b,a\\\\c", "ij"),
            ("4.6.10 no escapes in eq", "filter[v]=a,b", "i"),
            ("4.6.9 contains ignores case", "filter[v][contains]=APP", "ab"),
            ("4.6.9 the empty string is in all but null", "filter[v][contains]=", "abcdefhijkl"),
            ("4.6.9 starts_with the empty string", "filter[v][starts_with]=", "abcdefhijkl"),
            ("4.6.9 starts_with", "filter[v][starts_with]=1", "cdh"),
            ("4.6.9 ends_with", "filter[v][ends_with]=BRA", "k"),
            ("4.6.9 longer than the value", "filter[v][contains]=apples", ""),
            ("4.6.12 not_contains matches null", "filter[v][not_contains]=a", "cdefghl"),
            ("4.6.12 ne matches null", "filter[v][ne]=", "abcdeghijkl"),
            ("4.6.12 not_in matches null", "filter[v][not_in]=,Apple", "bcdeghijkl"),
            ("4.6.12 lt does not match null", "filter[v][lt]=A", "cdefh"),
            ("4.6.11 null", "filter[v][null]=true", "g"),
            ("4.6.11 1 is true", "filter[v][null]=1", "g"),
            ("4.6.11 not null", "filter[v][null]=false", "abcdefhijkl"),
            ("4.6.11 0 is false", "filter[v][null]=0", "abcdefhijkl"),
            ("4.6.11 another value", "filter[v][null]=yes", FAULT),
            ("4.6.11 an empty value", "filter[v][null]=", FAULT),
            ("4.6.8 search", "search=PPL", "ab"),
            ("4.6.8 search is one substring", "search=apple 10", ""),
            ("4.6.8 an empty search is none", "search=", "abcdefghijkl"),
            ("4.6.8 search combines with filters", "search=a&filter[v][ne]=apple", "aijk"),
            ("4.6.8 search looks at no slug", "search=l", "ab"),
            ("4.2.4 search twice", "search=a&search=b", "422 INVALID_PARAMETER"),
            ("4.7 collation puts small letters first", "filter[v][in]=Apple,apple,Zebra&sort=v", "bak"),
            ("4.7.2 descending", "filter[v][in]=Apple,apple,Zebra&sort=-v", "kab"),
            ("4.7.5 an unknown name", "sort=w", "422 INVALID_SORT"),
            ("4.7.5 an empty entry", "sort=v,", "422 INVALID_SORT"),
            ("4.7.5 published cannot be sorted by", "sort=published", "422 INVALID_SORT"),
            ("4.7.6 null is last", "filter[k][in]=a,g,f&sort=v", "fag"),
            ("4.7.6 null is last, descending", "filter[k][in]=a,g,f&sort=-v", "afg"),
            ("4.7.6 by key, descending", "filter[v][starts_with]=a&sort=-k", "jiba"),
            ("4.7.4 the newest first", "filter[v][starts_with]=a&sort=-created_at", "jiba"),
            ("4.7.3 by id", "filter[v][starts_with]=a&sort=-id", "jiba"),
        ],
    );
    let newest: Vec<String> = server.ids("things");
    let mut oldest = server.ids("things?sort=created_at");
    oldest.reverse();
    assert_eq!(newest, oldest, "4.7.4 without sort the newest come first");
}

#[test]
fn substrings_ignore_case_and_nothing_else() {
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
            ("4.6.9 half of what ß folds to", "filter[v][contains]=as", "ab"),
            ("4.6.9 İ is i and a dot", "filter[v][starts_with]=i\u{307}", "c"),
            ("4.6.9 i is in İ", "filter[v][starts_with]=i", "cd"),
            ("4.6.9 İ is not i", "filter[v][contains]=İS", "c"),
            ("4.6.9 ligatures", "filter[v][starts_with]=fi", "ef"),
            ("4.6.9 the ligature as the needle", "filter[v][contains]=ﬁ", "ef"),
            ("4.6.9 the final sigma", "filter[v][contains]=ος", "g"),
            ("4.6.9 the middle sigma", "filter[v][contains]=οσ", "g"),
            ("4.6.9 accents count", "filter[v][contains]=οδο", "g"),
            ("4.6.9 composed or not", "filter[v][contains]=fé", "ij"),
            ("4.6.9 decomposed needle", "filter[v][contains]=fe\u{301}", "ij"),
            ("4.6.9 e is not é", "filter[v][contains]=fe", "k"),
            ("4.6.9 one character", "filter[v][contains]=本", "l"),
            ("4.6.9 two characters", "filter[v][contains]=日本", "l"),
            ("4.6.9 an emoji of a family", "filter[v][contains]=👩", "m"),
            ("4.6.9 the joiner alone", "filter[v][contains]=\u{200d}", "m"),
            ("4.6.9 the whole emoji", "filter[v]=👩‍👩‍👧‍👦", "m"),
            ("4.6.9 % is no wildcard", "filter[v][contains]=%", "n"),
            ("4.6.9 _ is no wildcard", "filter[v][contains]=_", "n"),
            ("4.6.9 * is no wildcard", "filter[v][contains]=*", ""),
            ("4.6.9 line breaks", "filter[v][contains]=e\nb", "o"),
            ("4.6.9 quotes and commas", "filter[v][contains]=\"hi\", it's", "p"),
            ("4.6.8 search does the same", "search=STRASSE", "ab"),
        ],
    );
}

#[test]
fn numbers_have_both_forms() {
    let values = json!([10, 9, 1e-7, -1, null, 0, 123456.5, 1000000]);
    let server = with_values("number", json!({}), values.as_array().unwrap());
    check(
        &server,
        &[
            ("4.6.4 eq by text", "filter[v]=10", "a"),
            ("4.6.4 10.0 is not its text", "filter[v]=10.0", ""),
            ("4.6 as ECMAScript prints it", "filter[v]=1e-7", "c"),
            ("4.6 not as others print it", "filter[v]=0.0000001", ""),
            ("4.6.4 gte takes any decimal", "filter[v][gte]=10.0", "agh"),
            ("4.6.4 lt", "filter[v][lt]=1e-6", "cdf"),
            ("4.6.4 between", "filter[v][between]=-1,0", "df"),
            ("4.6.4 -0 is 0", "filter[v][between]=-0,0", "f"),
            ("4.6.4 text where the value is none", "filter[v][gt]=9x", ""),
            ("4.6.4 text by code point", "filter[v][lt]=1x", "acdfgh"),
            ("4.6.4 beyond a double", "filter[v][lt]=1e400", "abcdfgh"),
            ("4.6.5 in by text", "filter[v][in]=9,10.0,0", "bf"),
            ("4.6.9 contains by text", "filter[v][contains]=E-", "c"),
            ("4.6.9 starts_with by text", "filter[v][starts_with]=1", "acgh"),
            ("4.6.9 no grouping", "filter[v][contains]=,", ""),
            ("4.6.12 ne matches null", "filter[v][ne]=10", "bcdefgh"),
            ("4.7.6 by number", "sort=v", "dfcbaghe"),
            ("4.7.6 descending, null last", "sort=-v", "hgabcfde"),
        ],
    );
}

#[test]
fn booleans_take_one_and_zero_in_equality() {
    let server = with_values("boolean", json!({}), &[json!(true), json!(false), Value::Null, json!(true)]);
    check(
        &server,
        &[
            ("4.6 true", "filter[v]=true", "ad"),
            ("4.6 1 is true", "filter[v]=1", "ad"),
            ("4.6 0 is false", "filter[v]=0", "b"),
            ("4.6.12 ne matches null", "filter[v][ne]=1", "bc"),
            ("4.6.5 in", "filter[v][in]=0,true", "abd"),
            ("4.6.5 not_in", "filter[v][not_in]=1", "bc"),
            ("4.6 1 means nothing to contains", "filter[v][contains]=1", ""),
            ("4.6.9 contains by text", "filter[v][contains]=RU", "ad"),
            ("4.6.4 no number form", "filter[v][gt]=0", ""),
            ("4.6.4 by text", "filter[v][gt]=false", "ad"),
            ("4.6 another value equals nothing", "filter[v]=TRUE", ""),
            ("4.7.6 false first", "sort=v", "badc"),
            ("4.7.6 ties in the direction of the last key", "sort=-v", "dabc"),
        ],
    );
}

#[test]
fn dates_are_text_and_timestamps_are_instants() {
    let days = [json!("2026-11-20"), json!("2025-01-31"), Value::Null];
    check(
        &with_values("date", json!({}), &days),
        &[
            ("4.6 a date is its text", "filter[v]=2026-11-20", "a"),
            ("4.6.4 by text", "filter[v][gt]=2025-", "ab"),
            ("4.6.4 a year is a number, which a date has not", "filter[v][gt]=2025", ""),
            ("4.6.9 a year", "filter[v][starts_with]=2026-", "a"),
            ("4.6 no timestamp is asked for", "filter[v]=yesterday", ""),
            ("4.7.6 in order of time", "sort=v", "bac"),
        ],
    );
    let moments = json!([
        "2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00+01:00",
        "2026-01-01",
        "2026-01-01T00:00:00.000001Z",
        "2025-12-31T23:59:59.999999Z",
        null
    ]);
    check(
        &with_values("datetime", json!({}), moments.as_array().unwrap()),
        &[
            ("4.6 eq compares instants", "filter[v]=2026-01-01T00:00:00Z", "abc"),
            ("4.6 a bare date is midnight", "filter[v]=2026-01-01", "abc"),
            ("4.6 with an offset", "filter[v]=2025-12-31T19:00-05:00", "abc"),
            ("1.2 a blank was a plus", "filter[v]=2026-01-01T01:00:00 01:00", "abc"),
            ("1.2 to the microsecond", "filter[v]=2026-01-01T00:00:00.000001Z", "d"),
            ("1.2 six digits are kept", "filter[v]=2026-01-01T00:00:00.0000019Z", "d"),
            ("4.6 ne", "filter[v][ne]=2026-01-01", "def"),
            ("4.6 gt", "filter[v][gt]=2026-01-01", "d"),
            ("4.6 lt", "filter[v][lt]=2026-01-01", "e"),
            ("4.6 between", "filter[v][between]=2025-12-31,2026-01-01", "abce"),
            ("4.6 in compares instants", "filter[v][in]=2026-01-01T02:00+02,2025-01-01", "abc"),
            ("4.6.7 no timestamp", "filter[v]=today", FAULT),
            ("4.6.7 a number is no timestamp", "filter[v][gt]=2026", FAULT),
            ("4.6.7 an entry that is no timestamp", "filter[v][in]=2026-01-01,x", FAULT),
            ("1.2 no blank for T", "filter[v]=2026-01-01 00:00", FAULT),
            ("1.2 no second 60", "filter[v]=2026-01-01T00:00:60Z", FAULT),
            ("4.6.9 substrings of what is stored", "filter[v][contains]=01t01", "b"),
            ("4.6.9 as it was sent", "filter[v][ends_with]=-01", "c"),
            ("4.7.6 by instant, ties by id", "sort=v", "eabcdf"),
            ("4.7.6 descending", "sort=-v", "dcbaef"),
        ],
    );
}

#[test]
fn markup_is_searched_as_text_and_equal_as_html() {
    let values = json!([
        "<p>Hello <b>wor</b>ld</p><p>next</p>",
        "<ul><li>one</li><li>two</li></ul>",
        "a &lt; b &amp; c",
        "a<br>b",
        "",
        null,
        "<p>x\u{a0}\n y</p>"
    ]);
    let cases: &[Case] = &[
        ("4.6 across inline tags", "filter[v][contains]=WORLD", "a"),
        ("4.6 across blocks one space", "filter[v][contains]=world next", "a"),
        ("4.6 blocks do not run together", "filter[v][contains]=onetwo", ""),
        ("4.6 lists", "filter[v][contains]=one two", "b"),
        ("4.6 tags are no text", "filter[v][contains]=<p>", ""),
        ("4.6 entities are decoded", "filter[v][contains]=< b %26 c", "c"),
        ("4.6 br is a block", "filter[v][contains]=a b", "d"),
        ("4.6 white space runs together", "filter[v][contains]=x y", "g"),
        ("4.6 trimmed", "filter[v][starts_with]=hello", "a"),
        ("4.6.4 eq compares the HTML", "filter[v]=<p>Hello <b>wor</b>ld</p><p>next</p>", "a"),
        ("4.6.4 not the text", "filter[v]=Hello world next", ""),
        ("4.6.5 in compares the HTML", "filter[v][in]=a<br>b,x", "d"),
        ("4.6.4 gt compares the text", "filter[v][gt]=one", "bg"),
        ("4.6.9 the empty string", "filter[v][contains]=", "abcdeg"),
        ("4.6.11 empty is not null", "filter[v][null]=true", "f"),
        ("4.7.6 by text", "sort=v&filter[k][ne]=e", "cdabgf"),
    ];
    let server = with_values("rich-text", json!({}), values.as_array().unwrap());
    check(&server, cases);
    check(&server, &[("4.6.8 search", "search=world next", "a"), ("4.6.8 not in the tags", "search=<b>", "")]);
    let pages: Vec<Value> = values.as_array().unwrap().iter().map(page).collect();
    let server = with_values("html-page", json!({}), &pages);
    check(&server, cases);
    check(&server, &[("4.6.8 search looks at no page, so it is ignored", "search=world", "abcdefg")]);
}

fn page(html: &Value) -> Value {
    if html.is_null() { Value::Null } else { json!({ "html": html }) }
}

#[test]
fn arrays_are_asked_by_element_or_as_a_whole() {
    let values = json!([["red", "green"], ["red"], [], null, ["light red"], ["a,b"]]);
    check(
        &with_values("multi-enum", json!({ "values": null }), values.as_array().unwrap()),
        &[
            ("4.6 eq compares all, joined", "filter[v]=red,green", "a"),
            ("4.6 eq of one", "filter[v]=red", "b"),
            ("4.6 the empty array is the empty string", "filter[v]=", "c"),
            ("4.6 an element with a comma", "filter[v]=a,b", "f"),
            ("4.6.12 ne", "filter[v][ne]=red", "acdef"),
            ("4.6.5 in never matches", "filter[v][in]=red,green", ""),
            ("4.6.5 not_in always does", "filter[v][not_in]=red,green", "abcdef"),
            ("4.6.9 contains in any element", "filter[v][contains]=RED", "abe"),
            ("4.6.9 not across elements", "filter[v][contains]=d,g", ""),
            ("4.6.9 starts_with in any element", "filter[v][starts_with]=green", "a"),
            ("4.6.9 ends_with in any element", "filter[v][ends_with]=red", "abe"),
            ("4.6.9 never in the empty array", "filter[v][contains]=", "abef"),
            ("4.6.12 not_contains is the complement", "filter[v][not_contains]=", "cd"),
            ("4.6 has", "filter[v][has]=red", "ab"),
            ("4.6 has is exact", "filter[v][has]=Red", ""),
            ("4.6 has a comma", "filter[v][has]=a,b", "f"),
            ("4.6.11 the empty array is not null", "filter[v][null]=1", "d"),
            ("4.6.4 gt compares the joined text", "filter[v][gt]=red", "a"),
            ("4.6.4 no number form", "filter[v][lt]=5", ""),
            ("4.7.6 by the joined text", "sort=v", "cfebad"),
        ],
    );
}

#[test]
fn objects_are_asked_as_a_whole_or_by_part() {
    let values = json!([
        { "amount": 10, "currency": "EUR" }, { "amount": 9.5, "currency": "USD" }, null, { "amount": 10, "currency": "USD" }
    ]);
    check(
        &with_values("money", json!({}), values.as_array().unwrap()),
        &[
            ("4.6 the amount's text", "filter[v]=10", "ad"),
            ("4.6.4 the amount's number", "filter[v][gte]=9.50", "abd"),
            ("4.6.1 the amount", "filter[v.amount][lt]=10", "b"),
            ("4.6.1 the currency", "filter[v.currency]=USD", "bd"),
            ("4.6.1 the currency's null", "filter[v.currency][null]=1", "c"),
            ("4.6.1 another part", "filter[v.tax]=1", FAULT),
            ("4.7.3 by a part", "sort=-v.currency,v", "bdac"),
            ("4.7.6 by number, ties by id", "sort=v", "badc"),
        ],
    );
    let values = json!([
        { "street": "Main St 1", "postal_code": "10115", "city": "Berlin", "country": "DE" },
        { "street": "", "postal_code": null, "city": "Bonn" }, { "country": "FR" }, {}, null
    ]);
    check(
        &with_values("address", json!({}), values.as_array().unwrap()),
        &[
            ("4.6 the parts joined", "filter[v]=Main St 1, 10115, Berlin, DE", "a"),
            ("4.6 empty parts are left out", "filter[v]=Bonn", "b"),
            ("4.6 no parts at all", "filter[v]=", "d"),
            ("4.6.9 across parts", "filter[v][contains]=berlin, de", "a"),
            ("4.6.11 an empty address is not null", "filter[v][null]=1", "e"),
            ("4.6.1 a part", "filter[v.city][starts_with]=b", "ab"),
            ("4.6.1 a part as a number", "filter[v.postal_code][gt]=10000", "a"),
            ("4.6.4 the whole has no number form", "filter[v][gt]=0", ""),
            ("4.6.11 an empty part is not null", "filter[v.street][null]=false", "ab"),
            ("4.6.11 a null part", "filter[v.postal_code][null]=true", "bcde"),
            ("4.7.6 by the text", "sort=v", "dbcae"),
        ],
    );
}

#[test]
fn sorting_is_by_the_language_of_the_variant() {
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
    assert_eq!(keys("sort=v"), "efbcda", "4.7.6 a blank counts, ä beside a");
    assert_eq!(keys("sort=v&variant=sv-FI"), "efcdab", "4.7.6 ä after z");
    assert_eq!(keys("sort=v&variant=zh-CN"), "ba----", "2.5 null in the other copies, which come last");
    assert_eq!(keys("filter[v][null]=true&variant=zh-CN&sort=id"), "----", "2.5 what is not translated");
    assert_eq!(keys("filter[v]=爸&variant=zh-CN"), "a", "2.5 filters look at the variant");
    assert_eq!(keys("filter[v]=爸"), "", "2.5 and at no other");
    assert_eq!(
        keys("filter[v][null]=true&variant=zh-CN&fallback=de&sort=id"),
        "cdef",
        "2.5 fallback is for what is shown"
    );
    let reply = server.get("/v2/resources/things?variant=fr").expect(422);
    assert_eq!(
        (reply.code().as_str(), reply.message().as_str()),
        ("INVALID_VARIANT", "`variant` is `fr`; the variants of `things` are `de`, `sv-FI`, `zh-CN`")
    );
}

#[test]
fn system_dates_go_by_day_but_for_between() {
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
            ("4.6.6 drafts and what is scheduled", "filter[published]=false", "df"),
            ("4.6.6 0 is false", "filter[published][equals]=0", "df"),
            ("4.6.6 ne", "filter[published][ne]=true", "df"),
            ("4.6.6 not_equals", "filter[published][not_equals]=0", "abceg"),
            ("4.6.6 other values are ignored", "filter[published]=maybe", "abcdefg"),
            ("4.6.6 by ne too", "filter[published][ne]=", "abcdefg"),
            ("4.6.6 no other operator", "filter[published][in]=true", FAULT),
            ("4.6.7 eq is the day", "filter[published_at]=2026-01-01", "abc"),
            ("4.6.7 whatever the time", "filter[published_at]=2026-01-01T12:34:56Z", "abc"),
            ("4.6.7 the day is of UTC", "filter[published_at]=2026-01-01T00:30:00+01:00", "g"),
            ("1.2 a blank was a plus", "filter[published_at]=2026-01-01T00:30:00 01:00", "g"),
            ("4.6.7 ne is the complement", "filter[published_at][ne]=2026-01-01", "defg"),
            ("4.6.7 gt is after the day", "filter[published_at][gt]=2026-01-01", "ef"),
            ("4.6.7 gte", "filter[published_at][gte]=2026-01-01T23:00:00Z", "abcef"),
            ("4.6.7 lt is before the day", "filter[published_at][lt]=2026-01-01T23:00:00Z", "g"),
            ("4.6.7 lte", "filter[published_at][lte]=2026-01-01", "abcg"),
            ("4.6.7 between compares instants", "filter[published_at][between]=2026-01-01,2026-01-01", "a"),
            ("4.6.7 the last day ends at its start", "filter[published_at][between]=2025-12-31,2026-01-01", "ag"),
            ("4.6.7 both ends", "filter[published_at][between]=2026-01-01T00:00Z,2026-01-01T23:59:59.999Z", "abc"),
            (
                "1.2 digits beyond are cut",
                "filter[published_at][between]=2025-12-31T23:59:59.9991Z,2025-12-31T23:59:59.999Z",
                "g",
            ),
            ("4.6.7 null", "filter[published_at][null]=true", "d"),
            ("4.6.7 not null", "filter[published_at][null]=0", "abcefg"),
            ("4.6.7 created_at is never null", "filter[created_at][null]=true", ""),
            ("4.6.7 created_at", &today, "abcdefg"),
            ("4.6.7 no other operator", "filter[created_at][contains]=2026", FAULT),
            ("4.6.7 in neither", "filter[updated_at][in]=2026-01-01", FAULT),
            ("4.6.7 no date", "filter[created_at]=now", FAULT),
            ("4.6.7 no real date", "filter[created_at]=2026-02-29", FAULT),
            ("4.6.7 between with no date", "filter[created_at][between]=2026-01-01,x", FAULT),
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
            ("4.6.1 an id is exact", &format!("filter[id]={}", ids[1].to_uppercase()), ""),
            ("4.6.1 no other operator", "filter[id][contains]=0", FAULT),
        ],
    );
    let viewer = server.token(&["view"]);
    let total = |query: &str| {
        server.as_token(&viewer).get(&format!("/v2/resources/things?{query}")).json()["meta"]["total"].clone()
    };
    assert_eq!(total(""), 6, "4.2.6 drafts are not seen");
    assert_eq!(total("filter[published]=false"), 1, "4.2.6 nor by a filter; the future is");
    assert_eq!(total("filter[published_at][null]=true"), 0, "4.2.6 nor by null");
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
    assert_eq!((&body["data"], &body["links"]["next"]), (&json!([]), &Value::Null), "4.2.1 past the last");
    assert!(body["links"]["prev"].as_str().unwrap().ends_with("page=3"), "4.2.1 prev is the last");
    let body = page("filter[k]=none");
    assert_eq!(
        body["meta"],
        json!({ "current_page": 1, "last_page": 1, "per_page": 25, "total": 0 }),
        "4.2.1 no match"
    );
    assert_eq!(page("page=99999999999999999999")["data"], json!([]), "4.2.1 any page");
    for wrong in ["page=0", "page=-1", "page=1.0", "page=", "page=a", "per_page=0", "per_page=101", "page=1&page=2"] {
        assert_eq!(
            server.get(&format!("/v2/resources/things?{wrong}")).expect(422).code(),
            "INVALID_PARAMETER",
            "{wrong}"
        );
    }
}
