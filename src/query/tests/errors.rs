//! Parameters that are rejected, with their messages.

use bindery_model::error::Code;

use super::*;

const FIELDS: &str = "Filterable fields: `title`, `body`, `page`, `slug`, `email`, `link`, `image`, `file`, \
    `kind`, `tags`, `featured`, `color`, `stock`, `price`, `price.amount`, `price.currency`, `day`, `starts`, \
    `length`, `author`, `related`, `editor`, `address`, `address.street`, `address.postal_code`, `address.city`, \
    `address.country`, `published`, `published_at`, `created_at`, `updated_at`, `id`";

fn check(code: Code, table: &[(&str, &str)]) {
    for (raw, expected) in table {
        let error = list_of(raw).expect_err(raw);
        assert_eq!(error.code, code, "{raw}");
        assert_eq!(error.message.replace(FIELDS, "{FIELDS}"), *expected, "{raw}");
    }
}

#[test]
fn an_unknown_field_or_operator_is_reported_with_the_known_ones() {
    let form = "is not a valid filter; write `filter[<field>]=…` or `filter[<field>][<operator>]=…`. {FIELDS}";
    let long = "x".repeat(200);
    let cut = "x".repeat(100);
    let all = OPERATORS.iter().filter(|operator| operator.fields.contains(&Fields::Columns));
    let all = message::quoted_list(all.map(|operator| operator.name));
    check(
        Code::InvalidFilter,
        &[
            ("filter[nope]=x", "there is no filterable field `nope`. {FIELDS}"),
            (
                "filter[title]=%C3",
                "the `%` escapes in the value of `filter[title]` do not decode to valid UTF-8; encode the value as UTF-8",
            ),
            ("filter[]=x", "there is no filterable field ``. {FIELDS}"),
            ("filter[Title]=x", "there is no filterable field `Title`; did you mean `title`? {FIELDS}"),
            ("filter[type]=x", "there is no filterable field `type`. {FIELDS}"),
            ("filter[price.tax]=x", "there is no filterable field `price.tax`. {FIELDS}"),
            ("filter[title.x][eq]=x", "there is no filterable field `title.x`; did you mean `title`? {FIELDS}"),
            ("filter[%ff]=x", "there is no filterable field `\u{fffd}`. {FIELDS}"),
            (&format!("filter[{long}]=x"), &format!("there is no filterable field `{cut}…`. {{FIELDS}}")),
            ("filter=x", &format!("`filter` {form}")),
            ("filter[title=x", &format!("`filter[title` {form}")),
            ("filter[title]x=1", &format!("`filter[title]x` {form}")),
            ("filter[title][eq][x]=1", &format!("`filter[title][eq][x]` {form}")),
            ("filter[title]eq]=1", &format!("`filter[title]eq]` {form}")),
            ("filter[[title]]=1", &format!("`filter[[title]]` {form}")),
            ("filter%5B=1", &format!("`filter[` {form}")),
            (
                "filter[title][like]=x",
                &format!("`title` does not support the operator `like`; it supports {all}. {{FIELDS}}"),
            ),
            ("filter[title][]=x", &format!("`title` does not support the operator ``; it supports {all}. {{FIELDS}}")),
            (
                "filter[title][EQ]=x",
                &format!(
                    "`title` does not support the operator `EQ`; did you mean `eq`? It supports {all}. {{FIELDS}}"
                ),
            ),
            (
                "filter[title][has]=x",
                &format!("`title` does not support the operator `has`; it supports {all}. {{FIELDS}}"),
            ),
            (
                "filter[tags][x]=x",
                &format!(
                    "`tags` does not support the operator `x`; it supports {all}, `has`, `has_any`, `has_all`, `has_none`. {{FIELDS}}"
                ),
            ),
            (
                "filter[created_at][in]=2026-01-01",
                "`created_at` does not support the operator `in`; it supports `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, \
                 `between`, `null`. {FIELDS}",
            ),
            (
                "filter[published][null]=1",
                "`published` does not support the operator `null`; it supports `eq`, `ne`. {FIELDS}",
            ),
            (
                "filter[id][gt]=1",
                "`id` does not support the operator `gt`; it supports `eq`, `ne`, `in`, `not_in`. {FIELDS}",
            ),
        ],
    );
}

#[test]
fn a_value_that_the_operator_does_not_support_is_quoted() {
    let time = "which is not a date or timestamp; examples are `2026-11-20` and `2026-11-20T20:42:31+00:00`";
    let two = "it must have two, separated by a comma (write `\\,` for a comma inside a value)";
    check(
        Code::InvalidFilter,
        &[
            ("filter[title][null]=yes", "`filter[title][null]` is `yes`; it must be `true`, `1`, `false` or `0`"),
            ("filter[created_at][null]=", "`filter[created_at][null]` is ``; it must be `true`, `1`, `false` or `0`"),
            ("filter[stock][between]=1", &format!("`filter[stock][between]` is `1`, which has 1 value; {two}")),
            (
                "filter[title][between]=a,b,c",
                &format!("`filter[title][between]` is `a,b,c`, which has 3 values; {two}"),
            ),
            (r"filter[day][between]=a\,b", &format!(r"`filter[day][between]` is `a\,b`, which has 1 value; {two}")),
            ("filter[updated_at][between]=", &format!("`filter[updated_at][between]` is ``, which has 1 value; {two}")),
            ("filter[created_at]=today", &format!("`filter[created_at][eq]` has the value `today`, {time}")),
            ("filter[created_at][ne]=", &format!("`filter[created_at][ne]` has the value ``, {time}")),
            ("filter[created_at]=2026-02-29", &format!("`filter[created_at][eq]` has the value `2026-02-29`, {time}")),
            (
                "filter[created_at]=2026-11-20 10:30",
                &format!("`filter[created_at][eq]` has the value `2026-11-20 10:30`, {time}"),
            ),
            (
                "filter[created_at]=2026-11-20T10:30 0200",
                &format!("`filter[created_at][eq]` has the value `2026-11-20T10:30 0200`, {time}"),
            ),
            ("filter[created_at]=0000-01-01", &format!("`filter[created_at][eq]` has the value `0000-01-01`, {time}")),
            (
                "filter[published_at][between]=2026-01-01,x",
                &format!("`filter[published_at][between]` has the value `x`, {time}"),
            ),
            (
                "filter[starts]=2026-11-20T20:42:60Z",
                &format!("`filter[starts][eq]` has the value `2026-11-20T20:42:60Z`, {time}"),
            ),
            ("filter[starts][gt]=5", &format!("`filter[starts][gt]` has the value `5`, {time}")),
            ("filter[starts][in]=2026-11-20,", &format!("`filter[starts][in]` has the value ``, {time}")),
            ("filter[starts][equals]=x", &format!("`filter[starts][eq]` has the value `x`, {time}")),
        ],
    );
}

#[test]
fn an_unknown_sort_field_is_reported_with_the_known_ones() {
    let fields = FIELDS
        .replace("Filterable fields:", "Sortable fields, with `-` in front for descending order:")
        .replace("`published`, ", "");
    check(
        Code::InvalidSort,
        &[
            ("sort=", &format!("`sort` is ``, which has an empty entry. {fields}")),
            ("sort=title,", &format!("`sort` is `title,`, which has an empty entry. {fields}")),
            ("sort=-", &format!("`sort` is `-`, which has an empty entry. {fields}")),
            ("sort=--title", &format!("there is no sortable field `-title`; did you mean `title`? {fields}")),
            ("sort=+title", &format!("there is no sortable field ` title`; did you mean `title`? {fields}")),
            ("sort=title, day", &format!("there is no sortable field ` day`; did you mean `day`? {fields}")),
            (
                "sort=published",
                &format!("there is no sortable field `published`; did you mean `published_at`? {fields}"),
            ),
            ("sort=attributes.title", &format!("there is no sortable field `attributes.title`. {fields}")),
        ],
    );
}

#[test]
fn more_filters_values_or_sort_keys_than_the_limits_are_refused() {
    let filters = |count: usize| vec!["filter[title][ne]=x"; count].join("&");
    let list =
        |operator: &str, field: &str, count: usize| format!("filter[{field}][{operator}]={}", ",".repeat(count - 1));
    let sort = "sort=title,-kind,stock,day,length,slug,-email,color";
    for raw in [&filters(100), &list("in", "title", 1_000), &list("not_in", "id", 1_000), sort] {
        assert!(list_of(raw).is_ok(), "{raw}");
    }
    let most = "it must have at most";
    check(
        Code::InvalidFilter,
        &[
            (&filters(101), &format!("the request has 101 filters; {most} 100")),
            // The limit applies even if the filters are otherwise invalid.
            (&"filter=&".repeat(5_000), &format!("the request has 5000 filters; {most} 100")),
            (&list("in", "title", 1_001), &format!("`filter[title][in]` has 1001 values; {most} 1000")),
            (&list("not_in", "tags", 1_001), &format!("`filter[tags][not_in]` has 1001 values; {most} 1000")),
            (&list("in", "id", 1_001), &format!("`filter[id][in]` has 1001 values; {most} 1000")),
        ],
    );
    check(
        Code::InvalidSort,
        &[
            (&format!("{sort},id"), &format!("`sort` has 9 keys; {most} 8")),
            (&format!("sort={}", "title,".repeat(13_000)), &format!("`sort` has 13001 keys; {most} 8")),
            ("sort=title,day,-title", "`sort` names `title` more than once; name each field once"),
            ("sort=id,-id", "`sort` names `id` more than once; name each field once"),
        ],
    );
}

#[test]
fn an_invalid_parameter_is_reported_with_what_is_valid() {
    let page = |sent| format!("`page` is `{sent}`; it must be a whole number, 1 or more");
    let per_page = |sent| format!("`per_page` is `{sent}`; it must be a whole number from 1 to 100");
    let keys = "`id`, `type`, `published_at`, `created_at`, `updated_at`, `attributes`, `relationships`";
    let fields = message::quoted_list(everything().fields.iter().map(|field| &field.slug));
    check(
        Code::InvalidParameter,
        &[
            ("page=0", &page("0")),
            ("page=-1", &page("-1")),
            ("page=%2B1", &page("+1")),
            ("page=1.0", &page("1.0")),
            ("page=", &page("")),
            ("page=%D9%A1", &page("١")),
            ("per_page=0", &per_page("0")),
            ("per_page=101", &per_page("101")),
            ("per_page=all", &per_page("all")),
            ("per_page=99999999999999999999", &per_page("99999999999999999999")),
            ("page=1&page=1", "`page` is given more than once; send it once"),
            ("search=a&search=b", "`search` is given more than once; send it once"),
            ("sort=title&s%6frt=day", "`sort` is given more than once; send it once"),
            ("variant=en&variant=en", "`variant` is given more than once; send it once"),
            (
                "search=%ff",
                "the `%` escapes in the value of `search` do not decode to valid UTF-8; encode the value as UTF-8",
            ),
            (
                "fields=title",
                &format!("`fields` names `title`, which does not exist; the names are {keys} and `attributes.<field>`"),
            ),
            (
                "exclude=id, type",
                &format!(
                    "`exclude` names ` type`, which does not exist; the names are {keys} and `attributes.<field>`"
                ),
            ),
            (
                "fields=",
                &format!(
                    "`fields` is ``, which has an empty entry; it must be a comma-separated list of {keys} and \
                     `attributes.<field>`"
                ),
            ),
            (
                "exclude=id,",
                &format!(
                    "`exclude` is `id,`, which has an empty entry; it must be a comma-separated list of {keys} and \
                     `attributes.<field>`"
                ),
            ),
            (
                "fields=attributes.nope",
                &format!(
                    "`fields` names the attribute `nope`, which does not exist; the attributes of `articles` are {fields}"
                ),
            ),
        ],
    );
}

#[test]
fn an_unknown_variant_is_reported_with_the_known_ones() {
    check(
        Code::InvalidVariant,
        &[
            ("variant=de", "`variant` is `de`; the variants of `articles` are `en`, `zh-CN`"),
            ("variant=", "`variant` is ``; the variants of `articles` are `en`, `zh-CN`"),
            ("variant=ZH-cn", "`variant` is `ZH-cn`; the variants of `articles` are `en`, `zh-CN`"),
            ("fallback=fr", "`fallback` is `fr`; the variants of `articles` are `en`, `zh-CN`"),
        ],
    );
    assert_eq!(WriteParams::parse("variant=de", &everything()).unwrap_err().code, Code::InvalidVariant);
    assert_eq!(WriteParams::parse("fallback=de", &everything()).unwrap().variant, 1);
}

#[test]
fn an_export_in_an_unknown_format_is_rejected() {
    let table = [
        ("format=xml", None, "`format` is `xml`; it must be `json`, `ndjson` or `csv`"),
        ("format=", None, "`format` is ``; it must be `json`, `ndjson` or `csv`"),
        (
            "format=csv&all_variants=true",
            None,
            "a CSV export holds one variant; use `all_variants` with `format=json` or `format=ndjson`",
        ),
        (
            "all_variants=1",
            Some("text/csv"),
            "a CSV export holds one variant; use `all_variants` with `format=json` or `format=ndjson`",
        ),
        (
            "format=csv&fields=relationships",
            None,
            "`fields` and `exclude` leave no column for CSV; keep `id`, or use `format=ndjson`",
        ),
        ("all_variants=yes", None, "`all_variants` is `yes`; it must be `true`, `1`, `false` or `0`"),
    ];
    for (raw, accept, expected) in table {
        let error = ExportParams::parse(
            &RawParams::parse(raw),
            accept,
            &everything(),
            &|slug| related(slug),
            NOW,
            &Steering::default(),
        )
        .expect_err(raw);
        assert_eq!((error.code, error.message.as_str()), (Code::InvalidParameter, expected), "{raw}");
    }
}
