//! Valid filters and the queries that they become.

use super::*;

fn check(table: &[(&str, &str)]) {
    let blueprint = everything();
    for (raw, expected) in table {
        let params = list_of(raw).unwrap_or_else(|error| panic!("{raw}: {error}"));
        assert_eq!(show::filter(&params.query.filter, &blueprint), *expected, "{raw}");
    }
}

#[test]
fn equality_compares_the_text_as_sent() {
    check(&[
        ("", "all"),
        ("filter[title]=Hello", "title = \"Hello\""),
        ("filter[title][eq]=Hello", "title = \"Hello\""),
        ("filter[title][equals]=a,b\\", "title = \"a,b\\\\\""),
        ("filter[title]=", "title = \"\""),
        ("filter[title]", "title = \"\""),
        ("filter[title]= x ", "title = \" x \""),
        ("filter[title][ne]=x", "!title = \"x\""),
        ("filter[title][not_equals]=x", "!title = \"x\""),
        ("filter[body]=<p>x</p>", "body = \"<p>x</p>\""),
        ("filter[page]=<p>x</p>", "page = \"<p>x</p>\""),
        ("filter[stock]=10.0", "stock = \"10.0\""),
        ("filter[editor]=3", "editor = \"3\""),
        ("filter[day]=2026-11-20", "day = \"2026-11-20\""),
        ("filter[tags]=a,b", "tags = \"a,b\""),
        ("filter[tags][ne]=a,b", "!tags = \"a,b\""),
        ("filter[address]=Street 1, 12345, Town", "address = \"Street 1, 12345, Town\""),
    ]);
}

#[test]
fn names_and_values_are_decoded() {
    check(&[
        ("filter%5Btitle%5D%5Beq%5D=x", "title = \"x\""),
        ("filter%5btitle%5d=x", "title = \"x\""),
        ("%66ilter[title]=x", "title = \"x\""),
        ("filter[title]=a+b%2Bc%20d", "title = \"a b+c d\""),
        ("filter[title]=%C3%A9=é", "title = \"é=é\""),
        ("filter[title]=%zz%4", "title = \"%zz%4\""),
        ("filter[title]=a%26b&&", "title = \"a&b\""),
        ("filter[title]=%00", "title = \"\\0\""),
    ]);
}

#[test]
fn one_and_zero_equal_true_and_false() {
    check(&[
        ("filter[featured]=1", "featured = \"true\""),
        ("filter[featured]=0", "featured = \"false\""),
        ("filter[featured]=true", "featured = \"true\""),
        ("filter[featured]=yes", "featured = \"yes\""),
        ("filter[featured][ne]=1", "!featured = \"true\""),
        ("filter[featured][in]=0,1", "(featured = \"false\" | featured = \"true\")"),
        ("filter[featured][not_in]=0", "!featured = \"false\""),
        ("filter[featured][contains]=1", "featured ~ *\"1\"*"),
        ("filter[featured][gt]=false", "featured > \"false\""),
        ("filter[title]=1", "title = \"1\""),
    ]);
}

#[test]
fn lists_are_split_at_unescaped_commas() {
    check(&[
        ("filter[title][in]=a", "title = \"a\""),
        ("filter[title][in]=a,b", "(title = \"a\" | title = \"b\")"),
        ("filter[title][in]=a, b", "(title = \"a\" | title = \" b\")"),
        ("filter[title][in]=a%2Cb", "(title = \"a\" | title = \"b\")"),
        (r"filter[title][in]=a\,b,c", "(title = \"a,b\" | title = \"c\")"),
        (r"filter[title][in]=a\\,b", r#"(title = "a\\" | title = "b")"#),
        (r"filter[title][in]=\a\", r#"title = "a\\""#),
        ("filter[title][in]=", "title = \"\""),
        ("filter[title][in]=,", "(title = \"\" | title = \"\")"),
        ("filter[title][not_in]=a,b", "!(title = \"a\" | title = \"b\")"),
        ("filter[price.currency][in]=EUR,USD", "(price.currency = \"EUR\" | price.currency = \"USD\")"),
    ]);
}

#[test]
fn in_never_matches_an_array() {
    check(&[
        ("filter[tags][in]=a,b", "nothing"),
        ("filter[tags][not_in]=a", "all"),
        ("filter[related][in]=x", "nothing"),
        ("filter[tags][has]=a,b", "tags has \"a,b\""),
        ("filter[related][has]=x", "related has \"x\""),
        ("filter[tags][contains]=x", "tags ~ *\"x\"*"),
    ]);
}

#[test]
fn ranges_compare_numbers_if_the_value_is_a_number() {
    check(&[
        ("filter[stock][gt]=10", "stock > 10"),
        ("filter[stock][gte]=10.0", "stock >= 10"),
        ("filter[stock][lt]=-1.5e3", "stock < -1500"),
        ("filter[stock][lte]=-0", "stock <= 0"),
        ("filter[title][gt]=10", "title > 10"),
        ("filter[title][gt]=0", "title > 0"),
        ("filter[title][gt]=1E%2B2", "title > 100"),
        ("filter[title][gt]=010", "title > \"010\""),
        ("filter[title][gt]=%2B1", "title > \"+1\""),
        ("filter[title][gt]=.5", "title > \".5\""),
        ("filter[title][gt]=1.", "title > \"1.\""),
        ("filter[title][gt]=1e", "title > \"1e\""),
        ("filter[title][gt]=-", "title > \"-\""),
        ("filter[title][gt]= 1", "title > \" 1\""),
        ("filter[title][gt]=0x10", "title > \"0x10\""),
        ("filter[title][gt]=NaN", "title > \"NaN\""),
        ("filter[title][gt]=inf", "title > \"inf\""),
        ("filter[title][gt]=1e999", "title > inf"),
        ("filter[title][lt]=", "title < \"\""),
        ("filter[day][gte]=2026", "day >= 2026"),
        ("filter[day][gte]=2026-01-01", "day >= \"2026-01-01\""),
        ("filter[price][gt]=9.99", "price > 9.99"),
        ("filter[price.amount][gt]=9.99", "price > 9.99"),
        ("filter[address.city][lt]=M", "address.city < \"M\""),
    ]);
}

#[test]
fn between_includes_both_ends() {
    check(&[
        ("filter[stock][between]=1,10", "stock >= 1 <= 10"),
        ("filter[stock][between]=10,1", "nothing"),
        ("filter[stock][between]=1,x", "stock >= \"1\" <= \"x\""),
        ("filter[title][between]=a,b", "title >= \"a\" <= \"b\""),
        (r"filter[title][between]=a\,b,c", "title >= \"a,b\" <= \"c\""),
        ("filter[title][between]=b,a", "nothing"),
        ("filter[title][between]=,", "title >= \"\" <= \"\""),
    ]);
}

#[test]
fn substring_operators_keep_the_value_as_sent() {
    check(&[
        ("filter[title][contains]=Ab", "title ~ *\"Ab\"*"),
        ("filter[title][contains]=", "title ~ *\"\"*"),
        ("filter[title][not_contains]=Ab", "!title ~ *\"Ab\"*"),
        ("filter[title][starts_with]=Ab", "title ~ \"Ab\"*"),
        ("filter[title][ends_with]=a,b", "title ~ *\"a,b\""),
        ("filter[starts][starts_with]=2026-11", "starts ~ \"2026-11\"*"),
        ("filter[stock][contains]=1", "stock ~ *\"1\"*"),
    ]);
}

#[test]
fn null_asks_for_nulls_or_for_values() {
    check(&[
        ("filter[title][null]=true", "title null"),
        ("filter[title][null]=1", "title null"),
        ("filter[title][null]=false", "!title null"),
        ("filter[tags][null]=0", "!tags null"),
        ("filter[address.city][null]=1", "address.city null"),
        ("filter[published_at][null]=true", "draft"),
        ("filter[published_at][null]=0", "!draft"),
        ("filter[created_at][null]=true", "nothing"),
        ("filter[updated_at][null]=false", "all"),
    ]);
}

#[test]
fn datetime_attributes_compare_instants() {
    check(&[
        ("filter[starts]=1970-01-02", "starts >= 86400000000us <= 86400000000us"),
        ("filter[starts][ne]=1970-01-01T00:00", "!starts >= 0us <= 0us"),
        ("filter[starts][gt]=1970-01-01T02:00:00.1234567%2B02:00", "starts > 123456us"),
        ("filter[starts][gt]=1970-01-01T02:00:00+02:00", "starts > 0us"),
        ("filter[starts][gte]=1970-01-01t01:00:00z", "starts >= 3600000000us"),
        ("filter[starts][lt]=1970-01-01T00:00-0130", "starts < 5400000000us"),
        ("filter[starts][lte]=1970-01-01T00:00-02", "starts <= 7200000000us"),
        ("filter[starts][between]=1970-01-01T00:00:00.000001Z,1970-01-01T00:00:01Z", "starts >= 1us <= 1000000us"),
        ("filter[starts][between]=1970-01-01T01:00+01:00,1970-01-01T02:00 02:00", "starts >= 0us <= 0us"),
        (
            "filter[starts][in]=1970-01-01,1970-01-02",
            "(starts >= 0us <= 0us | starts >= 86400000000us <= 86400000000us)",
        ),
    ]);
}

#[test]
fn system_dates_compare_days_except_in_between() {
    check(&[
        ("filter[created_at]=1970-01-02", "created >= 86400000ms < 172800000ms"),
        ("filter[created_at][eq]=1970-01-02T23:59:59Z", "created >= 86400000ms < 172800000ms"),
        ("filter[created_at]=1970-01-02T01:00+02:00", "created >= 0ms < 86400000ms"),
        ("filter[created_at][ne]=1970-01-01", "!created >= 0ms < 86400000ms"),
        ("filter[published_at][not_equals]=1970-01-01", "!published >= 0ms < 86400000ms"),
        ("filter[updated_at][gt]=1970-01-01T12:00Z", "updated >= 86400000ms"),
        ("filter[updated_at][gte]=1970-01-02T12:00Z", "updated >= 86400000ms"),
        ("filter[updated_at][lt]=1970-01-02T12:00Z", "updated < 86400000ms"),
        ("filter[updated_at][lte]=1970-01-02T12:00Z", "updated < 172800000ms"),
        ("filter[published_at]=1969-12-31T23:59:59.9999Z", "published >= -86400000ms < 0ms"),
        ("filter[published_at][between]=1970-01-01,1970-01-02", "published >= 0ms <= 86400000ms"),
        ("filter[published_at][between]=1970-01-01,1970-01-01T00:00:00.0019Z", "published >= 0ms <= 1ms"),
        ("filter[published_at][between]=1970-01-02,1970-01-01", "nothing"),
    ]);
}

#[test]
fn published_compares_with_today_and_ignores_other_values() {
    let tomorrow = "published < 1795219200000ms";
    check(&[
        ("filter[published]=true", tomorrow),
        ("filter[published][equals]=1", tomorrow),
        ("filter[published]=false", &format!("!{tomorrow}")),
        ("filter[published]=0", &format!("!{tomorrow}")),
        ("filter[published][ne]=true", &format!("!{tomorrow}")),
        ("filter[published][not_equals]=0", tomorrow),
        ("filter[published]=maybe", "all"),
        ("filter[published]=", "all"),
        ("filter[published][ne]=TRUE", "all"),
    ]);
}

#[test]
fn an_invalid_id_matches_nothing() {
    let id = "0190b4a0-0000-7000-8000-000000000001";
    let shown = "190b4a0000070008000000000000001";
    check(&[
        (&format!("filter[id]={id}"), &format!("ids[{shown}]")),
        (&format!("filter[id][ne]={id}"), &format!("!ids[{shown}]")),
        (&format!("filter[id][in]=x,{id}"), &format!("ids[{shown}]")),
        (&format!("filter[id][not_in]={id},"), &format!("!ids[{shown}]")),
        (&format!("filter[id]={}", id.to_uppercase()), "nothing"),
        ("filter[id]=x", "nothing"),
        ("filter[id][not_equals]=", "all"),
        ("filter[id][in]=x,y", "nothing"),
        ("filter[id][not_in]=x", "all"),
    ]);
}

#[test]
fn several_filters_are_a_conjunction() {
    check(&[
        ("filter[stock][gt]=1&filter[stock][lt]=9", "(stock > 1 & stock < 9)"),
        ("filter[title]=a&filter[title]=b", "(title = \"a\" & title = \"b\")"),
        ("filter[title]=a&filter[published]=maybe", "title = \"a\""),
        ("filter[title]=a&filter[tags][in]=b", "(title = \"a\" & nothing)"),
    ]);
}

#[test]
fn search_covers_text_and_rich_text() {
    check(&[
        ("search=Two words", "(title ~ *\"Two words\"* | body ~ *\"Two words\"*)"),
        ("search=+x", "(title ~ *\" x\"* | body ~ *\" x\"*)"),
        ("search=", "all"),
        ("search", "all"),
        ("search=x&filter[stock]=1", "(stock = \"1\" & (title ~ *\"x\"* | body ~ *\"x\"*))"),
    ]);
    assert_eq!(
        ListParams::parse(&RawParams::parse("search=x"), &plain(), &|slug| related(slug), NOW, &Steering::default())
            .unwrap()
            .query
            .filter,
        Filter::Own(bindery_index::Filter::All)
    );
}

#[test]
fn parameters_unknown_to_the_endpoint_are_ignored() {
    check(&[
        ("filters=1&Filter[x]=1&unknown=%ff&unknown=2&=x", "all"),
        ("format=x&format=y&all_variants=z", "all"),
        ("%ff=1", "all"),
    ]);
    let get =
        GetParams::parse("filter[x=1&page=x&sort=,&search=a&search=b", &everything(), &|slug| related(slug)).unwrap();
    assert_eq!(
        get,
        GetParams { variant: 1, fallback: None, selection: Selection::all(), expansion: Expansion::default() }
    );
}
