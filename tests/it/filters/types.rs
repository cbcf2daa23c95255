//! The behaviour of filters and sorting for each field type (`API.md` 4.6 and 4.7).

use serde_json::{Value, json};

use super::{Case, INVALID, check, with_values};

#[test]
fn numbers_have_a_text_form_and_a_number_form() {
    let values = json!([10, 9, 1e-7, -1, null, 0, 123456.5, 1000000]);
    let server = with_values("number", json!({}), values.as_array().unwrap());
    check(
        &server,
        &[
            ("4.6.4 eq compares the text form", "filter[v]=10", "a"),
            ("4.6.4 the text form of 10 is not 10.0", "filter[v]=10.0", ""),
            ("4.6 numbers print as in ECMAScript", "filter[v]=1e-7", "c"),
            ("4.6 no other notation matches", "filter[v]=0.0000001", ""),
            ("4.6.4 gte accepts any decimal", "filter[v][gte]=10.0", "agh"),
            ("4.6.4 lt", "filter[v][lt]=1e-6", "cdf"),
            ("4.6.4 between", "filter[v][between]=-1,0", "df"),
            ("4.6.4 -0 is 0", "filter[v][between]=-0,0", "f"),
            ("4.6.4 compares text if the filter is not a number", "filter[v][gt]=9x", ""),
            ("4.6.4 text by code point", "filter[v][lt]=1x", "acdfgh"),
            ("4.6.4 a number beyond the range of a double", "filter[v][lt]=1e400", "abcdfgh"),
            ("4.6.5 in by text", "filter[v][in]=9,10.0,0", "bf"),
            ("4.6.9 contains by text", "filter[v][contains]=E-", "c"),
            ("4.6.9 starts_with by text", "filter[v][starts_with]=1", "acgh"),
            ("4.6.9 no thousands separators", "filter[v][contains]=,", ""),
            ("4.6.12 ne matches null", "filter[v][ne]=10", "bcdefgh"),
            ("4.7.6 by number", "sort=v", "dfcbaghe"),
            ("4.7.6 descending, null last", "sort=-v", "hgabcfde"),
        ],
    );
}

#[test]
fn equality_filters_on_booleans_accept_one_and_zero() {
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
            ("4.6 1 is not true for contains", "filter[v][contains]=1", ""),
            ("4.6.9 contains by text", "filter[v][contains]=RU", "ad"),
            ("4.6.4 booleans have no number form", "filter[v][gt]=0", ""),
            ("4.6.4 by text", "filter[v][gt]=false", "ad"),
            ("4.6 other values match nothing", "filter[v]=TRUE", ""),
            ("4.7.6 false first", "sort=v", "badc"),
            ("4.7.6 ties in the direction of the last key", "sort=-v", "dabc"),
        ],
    );
}

#[test]
fn dates_compare_as_text_and_timestamps_as_instants() {
    let days = [json!("2026-11-20"), json!("2025-01-31"), Value::Null];
    check(
        &with_values("date", json!({}), &days),
        &[
            ("4.6 a date compares as text", "filter[v]=2026-11-20", "a"),
            ("4.6.4 by text", "filter[v][gt]=2025-", "ab"),
            ("4.6.4 a year is a number, and dates have no number form", "filter[v][gt]=2025", ""),
            ("4.6.9 a year", "filter[v][starts_with]=2026-", "a"),
            ("4.6 the filter need not be a date", "filter[v]=yesterday", ""),
            ("4.7.6 chronological", "sort=v", "bac"),
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
            ("1.2 a space stands for the plus sign of an offset", "filter[v]=2026-01-01T01:00:00 01:00", "abc"),
            ("1.2 to the microsecond", "filter[v]=2026-01-01T00:00:00.000001Z", "d"),
            ("1.2 six digits are kept", "filter[v]=2026-01-01T00:00:00.0000019Z", "d"),
            ("4.6 ne", "filter[v][ne]=2026-01-01", "def"),
            ("4.6 gt", "filter[v][gt]=2026-01-01", "d"),
            ("4.6 lt", "filter[v][lt]=2026-01-01", "e"),
            ("4.6 between", "filter[v][between]=2025-12-31,2026-01-01", "abce"),
            ("4.6 in compares instants", "filter[v][in]=2026-01-01T02:00+02,2025-01-01", "abc"),
            ("4.6.7 not a timestamp", "filter[v]=today", INVALID),
            ("4.6.7 a number is not a timestamp", "filter[v][gt]=2026", INVALID),
            ("4.6.7 a list entry that is not a timestamp", "filter[v][in]=2026-01-01,x", INVALID),
            ("1.2 a space instead of T", "filter[v]=2026-01-01 00:00", INVALID),
            ("1.2 second 60", "filter[v]=2026-01-01T00:00:60Z", INVALID),
            ("4.6.9 substrings match the stored text", "filter[v][contains]=01t01", "b"),
            ("4.6.9 the stored text is as it was sent", "filter[v][ends_with]=-01", "c"),
            ("4.7.6 by instant, ties by id", "sort=v", "eabcdf"),
            ("4.7.6 descending", "sort=-v", "dcbaef"),
        ],
    );
}

#[test]
fn markup_is_searched_as_text_and_compared_as_html() {
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
        ("4.6 a space between blocks", "filter[v][contains]=world next", "a"),
        ("4.6 blocks do not run together", "filter[v][contains]=onetwo", ""),
        ("4.6 a space between list items", "filter[v][contains]=one two", "b"),
        ("4.6 tags are not text", "filter[v][contains]=<p>", ""),
        ("4.6 entities are decoded", "filter[v][contains]=< b %26 c", "c"),
        ("4.6 br separates like a block", "filter[v][contains]=a b", "d"),
        ("4.6 whitespace collapses", "filter[v][contains]=x y", "g"),
        ("4.6 text is trimmed", "filter[v][starts_with]=hello", "a"),
        ("4.6.4 eq compares the HTML", "filter[v]=<p>Hello <b>wor</b>ld</p><p>next</p>", "a"),
        ("4.6.4 eq does not compare the text", "filter[v]=Hello world next", ""),
        ("4.6.5 in compares the HTML", "filter[v][in]=a<br>b,x", "d"),
        ("4.6.4 gt compares the text", "filter[v][gt]=one", "bg"),
        ("4.6.9 the empty string", "filter[v][contains]=", "abcdeg"),
        ("4.6.11 empty is not null", "filter[v][null]=true", "f"),
        ("4.7.6 by text", "sort=v&filter[k][ne]=e", "cdabgf"),
    ];
    let server = with_values("rich-text", json!({}), values.as_array().unwrap());
    check(&server, cases);
    check(&server, &[("4.6.8 search", "search=world next", "a"), ("4.6.8 search ignores tags", "search=<b>", "")]);
    let pages: Vec<Value> = values.as_array().unwrap().iter().map(page).collect();
    let server = with_values("html-page", json!({}), &pages);
    check(&server, cases);
    check(&server, &[("4.6.8 without a searchable field, search is ignored", "search=world", "abcdefg")]);
}

fn page(html: &Value) -> Value {
    if html.is_null() { Value::Null } else { json!({ "html": html }) }
}

#[test]
fn arrays_match_by_element_or_as_a_whole() {
    let values = json!([["red", "green"], ["red"], [], null, ["light red"], ["a,b"]]);
    check(
        &with_values("multi-enum", json!({ "values": null }), values.as_array().unwrap()),
        &[
            ("4.6 eq compares all elements, joined", "filter[v]=red,green", "a"),
            ("4.6 eq with one element", "filter[v]=red", "b"),
            ("4.6 the empty array is the empty string", "filter[v]=", "c"),
            ("4.6 an element with a comma", "filter[v]=a,b", "f"),
            ("4.6.12 ne", "filter[v][ne]=red", "acdef"),
            ("4.6.5 in never matches", "filter[v][in]=red,green", ""),
            ("4.6.5 not_in always does", "filter[v][not_in]=red,green", "abcdef"),
            ("4.6.9 contains in any element", "filter[v][contains]=RED", "abe"),
            ("4.6.9 contains does not match across elements", "filter[v][contains]=d,g", ""),
            ("4.6.9 starts_with in any element", "filter[v][starts_with]=green", "a"),
            ("4.6.9 ends_with in any element", "filter[v][ends_with]=red", "abe"),
            ("4.6.9 an empty array contains nothing", "filter[v][contains]=", "abef"),
            ("4.6.12 not_contains is the complement", "filter[v][not_contains]=", "cd"),
            ("4.6 has", "filter[v][has]=red", "ab"),
            ("4.6 has is exact", "filter[v][has]=Red", ""),
            ("4.6 has does not split at commas", "filter[v][has]=a,b", "f"),
            ("4.6.11 the empty array is not null", "filter[v][null]=1", "d"),
            ("4.6.4 gt compares the joined text", "filter[v][gt]=red", "a"),
            ("4.6.4 arrays have no number form", "filter[v][lt]=5", ""),
            ("4.7.6 by the joined text", "sort=v", "cfebad"),
        ],
    );
}

#[test]
fn objects_match_as_a_whole_or_by_part() {
    let values = json!([
        { "amount": 10, "currency": "EUR" }, { "amount": 9.5, "currency": "USD" }, null, { "amount": 10, "currency": "USD" }
    ]);
    check(
        &with_values("money", json!({}), values.as_array().unwrap()),
        &[
            ("4.6 eq compares the text of the amount", "filter[v]=10", "ad"),
            ("4.6.4 gte compares the number of the amount", "filter[v][gte]=9.50", "abd"),
            ("4.6.1 the amount as a part", "filter[v.amount][lt]=10", "b"),
            ("4.6.1 the currency as a part", "filter[v.currency]=USD", "bd"),
            ("4.6.1 the currency of null is null", "filter[v.currency][null]=1", "c"),
            ("4.6.1 an unknown part", "filter[v.tax]=1", INVALID),
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
            ("4.6 an address without parts is the empty string", "filter[v]=", "d"),
            ("4.6.9 across parts", "filter[v][contains]=berlin, de", "a"),
            ("4.6.11 an empty address is not null", "filter[v][null]=1", "e"),
            ("4.6.1 a part", "filter[v.city][starts_with]=b", "ab"),
            ("4.6.1 a part as a number", "filter[v.postal_code][gt]=10000", "a"),
            ("4.6.4 an address has no number form", "filter[v][gt]=0", ""),
            ("4.6.11 an empty part is not null", "filter[v.street][null]=false", "ab"),
            ("4.6.11 a null part", "filter[v.postal_code][null]=true", "bcde"),
            ("4.7.6 by the text", "sort=v", "dbcae"),
        ],
    );
}
