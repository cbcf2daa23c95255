//! What is refused, with its message.

use super::*;
use crate::model::error::Code;

const FIELDS: &str = "Fields that can be filtered: `title`, `body`, `page`, `slug`, `email`, `link`, `image`, `file`, \
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
fn unknown_fields_and_operators_are_answered_with_what_is_known() {
    let form = "is not a filter; a filter is written `filter[<field>]=…` or `filter[<field>][<operator>]=…`. {FIELDS}";
    let long = "x".repeat(200);
    let cut = "x".repeat(100);
    let all = "`eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `not_in`, `contains`, `not_contains`, `starts_with`, \
        `ends_with`, `between`, `null`";
    check(
        Code::InvalidFilter,
        &[
            ("filter[nope]=x", "there is no field `nope` to filter by. {FIELDS}"),
            (
                "filter[title]=%C3",
                "the value of `filter[title]` is not valid UTF-8 once its `%` escapes are decoded; encode it as UTF-8",
            ),
            ("filter[]=x", "there is no field `` to filter by. {FIELDS}"),
            ("filter[Title]=x", "there is no field `Title` to filter by. {FIELDS}"),
            ("filter[type]=x", "there is no field `type` to filter by. {FIELDS}"),
            ("filter[price.tax]=x", "there is no field `price.tax` to filter by. {FIELDS}"),
            ("filter[title.x][eq]=x", "there is no field `title.x` to filter by. {FIELDS}"),
            ("filter[%ff]=x", "there is no field `\u{fffd}` to filter by. {FIELDS}"),
            (&format!("filter[{long}]=x"), &format!("there is no field `{cut}…` to filter by. {{FIELDS}}")),
            ("filter=x", &format!("`filter` {form}")),
            ("filter[title=x", &format!("`filter[title` {form}")),
            ("filter[title]x=1", &format!("`filter[title]x` {form}")),
            ("filter[title][eq][x]=1", &format!("`filter[title][eq][x]` {form}")),
            ("filter[title]eq]=1", &format!("`filter[title]eq]` {form}")),
            ("filter[[title]]=1", &format!("`filter[[title]]` {form}")),
            ("filter%5B=1", &format!("`filter[` {form}")),
            ("filter[title][like]=x", &format!("`like` is not an operator of `title`, which takes {all}. {{FIELDS}}")),
            ("filter[title][]=x", &format!("`` is not an operator of `title`, which takes {all}. {{FIELDS}}")),
            ("filter[title][EQ]=x", &format!("`EQ` is not an operator of `title`, which takes {all}. {{FIELDS}}")),
            ("filter[title][has]=x", &format!("`has` is not an operator of `title`, which takes {all}. {{FIELDS}}")),
            ("filter[tags][x]=x", &format!("`x` is not an operator of `tags`, which takes {all}, `has`. {{FIELDS}}")),
            (
                "filter[created_at][in]=2026-01-01",
                "`in` is not an operator of `created_at`, which takes `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, \
                 `between`, `null`. {FIELDS}",
            ),
            ("filter[published][null]=1", "`null` is not an operator of `published`, which takes `eq`, `ne`. {FIELDS}"),
            ("filter[id][gt]=1", "`gt` is not an operator of `id`, which takes `eq`, `ne`, `in`, `not_in`. {FIELDS}"),
        ],
    );
}

#[test]
fn values_that_an_operator_does_not_take_are_quoted() {
    let time = "which is no date or timestamp; right are `2026-11-20` and `2026-11-20T20:42:31+00:00`";
    let two = "it takes two with a comma between (`\\,` is a comma inside a value)";
    check(
        Code::InvalidFilter,
        &[
            ("filter[title][null]=yes", "`filter[title][null]` is `yes`; it takes `true`, `1`, `false` or `0`"),
            ("filter[created_at][null]=", "`filter[created_at][null]` is ``; it takes `true`, `1`, `false` or `0`"),
            ("filter[stock][between]=1", &format!("`filter[stock][between]` is `1`, which holds 1 value; {two}")),
            (
                "filter[title][between]=a,b,c",
                &format!("`filter[title][between]` is `a,b,c`, which holds 3 values; {two}"),
            ),
            (r"filter[day][between]=a\,b", &format!(r"`filter[day][between]` is `a\,b`, which holds 1 value; {two}")),
            (
                "filter[updated_at][between]=",
                &format!("`filter[updated_at][between]` is ``, which holds 1 value; {two}"),
            ),
            ("filter[created_at]=today", &format!("`filter[created_at][eq]` holds `today`, {time}")),
            ("filter[created_at][ne]=", &format!("`filter[created_at][ne]` holds ``, {time}")),
            ("filter[created_at]=2026-02-29", &format!("`filter[created_at][eq]` holds `2026-02-29`, {time}")),
            (
                "filter[created_at]=2026-11-20 10:30",
                &format!("`filter[created_at][eq]` holds `2026-11-20 10:30`, {time}"),
            ),
            (
                "filter[created_at]=2026-11-20T10:30 0200",
                &format!("`filter[created_at][eq]` holds `2026-11-20T10:30 0200`, {time}"),
            ),
            ("filter[created_at]=0000-01-01", &format!("`filter[created_at][eq]` holds `0000-01-01`, {time}")),
            (
                "filter[published_at][between]=2026-01-01,x",
                &format!("`filter[published_at][between]` holds `x`, {time}"),
            ),
            (
                "filter[starts]=2026-11-20T20:42:60Z",
                &format!("`filter[starts][eq]` holds `2026-11-20T20:42:60Z`, {time}"),
            ),
            ("filter[starts][gt]=5", &format!("`filter[starts][gt]` holds `5`, {time}")),
            ("filter[starts][in]=2026-11-20,", &format!("`filter[starts][in]` holds ``, {time}")),
            ("filter[starts][equals]=x", &format!("`filter[starts][eq]` holds `x`, {time}")),
        ],
    );
}

#[test]
fn sort_names_what_can_be_sorted_by() {
    let fields = FIELDS
        .replace("Fields that can be filtered:", "Fields that can be sorted by, with `-` before them for descending:")
        .replace("`published`, ", "");
    check(
        Code::InvalidSort,
        &[
            ("sort=", &format!("`sort` is ``, which has an empty entry. {fields}")),
            ("sort=title,", &format!("`sort` is `title,`, which has an empty entry. {fields}")),
            ("sort=-", &format!("`sort` is `-`, which has an empty entry. {fields}")),
            ("sort=--title", &format!("there is no field `-title` to sort by. {fields}")),
            ("sort=+title", &format!("there is no field ` title` to sort by. {fields}")),
            ("sort=title, day", &format!("there is no field ` day` to sort by. {fields}")),
            ("sort=published", &format!("there is no field `published` to sort by. {fields}")),
            ("sort=attributes.title", &format!("there is no field `attributes.title` to sort by. {fields}")),
        ],
    );
}

#[test]
fn parameters_say_what_they_take() {
    let page = |sent| format!("`page` is `{sent}`; it takes a whole number from 1");
    let per_page = |sent| format!("`per_page` is `{sent}`; it takes a whole number from 1 to 100");
    let keys = "`id`, `type`, `published_at`, `created_at`, `updated_at`, `attributes`, `relationships`";
    let fields = list(everything().fields.iter().map(|field| &field.slug));
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
            ("page=1&page=1", "`page` is given twice; it may be given once"),
            ("search=a&search=b", "`search` is given twice; it may be given once"),
            ("sort=title&s%6frt=day", "`sort` is given twice; it may be given once"),
            ("variant=en&variant=en", "`variant` is given twice; it may be given once"),
            (
                "search=%ff",
                "the value of `search` is not valid UTF-8 once its `%` escapes are decoded; encode it as UTF-8",
            ),
            ("fields=title", &format!("`fields` names `title`; it takes {keys} and `attributes.<field>`")),
            ("exclude=id, type", &format!("`exclude` names ` type`; it takes {keys} and `attributes.<field>`")),
            (
                "fields=",
                &format!(
                    "`fields` is ``, which has an empty entry; it takes a comma-separated list of {keys} and \
                     `attributes.<field>`"
                ),
            ),
            (
                "exclude=id,",
                &format!(
                    "`exclude` is `id,`, which has an empty entry; it takes a comma-separated list of {keys} and \
                     `attributes.<field>`"
                ),
            ),
            (
                "fields=attributes.nope",
                &format!("`fields` names the attribute `nope`, which does not exist; `articles` has {fields}"),
            ),
        ],
    );
}

#[test]
fn variants_are_listed() {
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
fn exports_refuse_other_formats() {
    let table = [
        ("format=xml", None, "`format` is `xml`; it takes `json`, `ndjson` or `csv`"),
        ("format=", None, "`format` is ``; it takes `json`, `ndjson` or `csv`"),
        (
            "format=csv&all_variants=true",
            None,
            "CSV has room for one variant; take `all_variants` with `format=json` or `format=ndjson`",
        ),
        (
            "all_variants=1",
            Some("text/csv"),
            "CSV has room for one variant; take `all_variants` with `format=json` or `format=ndjson`",
        ),
        ("all_variants=yes", None, "`all_variants` is `yes`; it takes `true`, `1`, `false` or `0`"),
    ];
    for (raw, accept, expected) in table {
        let error = ExportParams::parse(raw, accept, &everything(), NOW).expect_err(raw);
        assert_eq!((error.code, error.message.as_str()), (Code::InvalidParameter, expected), "{raw}");
    }
}
