//! Filters on related resources, `fallback_mode`, and strict requests.

use bindery_model::error::Code;

use super::*;

fn shown(raw: &str) -> String {
    let params = list_of(raw).unwrap_or_else(|error| panic!("{raw}: {error}"));
    show::filter(&params.query.filter, &everything())
}

#[test]
fn conditions_follow_relations() {
    for (raw, expected) in [
        ("filter[author.name][contains]=ada", r#"author>6[name ~ *"ada"*]"#),
        ("filter[author.id]=x", "author>6[nothing]"),
        ("filter[author.published_at][null]=true", "author>6[draft]"),
        ("filter[author.address.city]=Rome", r#"author>6[address.city = "Rome"]"#),
        ("filter[author.name][null]=true", "author>6[name null]"),
        ("filter[author.tags][has_any]=a,b", r#"author>6[(tags has "a" | tags has "b")]"#),
        ("filter[author.company.name]=x", r#"author>6[company>0[name = "x"]]"#),
        ("filter[related.author.name]=x", r#"related>1[author>6[name = "x"]]"#),
        ("filter[author.name]=a&filter[author.tags][has]=b", r#"(author>6[name = "a"] & author>6[tags has "b"])"#),
        (
            "filter[author][$some][name]=a&filter[author][$some][tags][has]=b",
            r#"author>6[(name = "a" & tags has "b")]"#,
        ),
        (
            "filter[author][$some][company][$some][name]=a&filter[author][$some][name]=b",
            r#"author>6[(company>0[name = "a"] & name = "b")]"#,
        ),
        ("filter[author.company][$some][name]=a", r#"author>6[company>0[name = "a"]]"#),
        ("filter[author][$some][company.name]=a", r#"author>6[company>0[name = "a"]]"#),
        (
            "filter[author][$some][$or][0][name]=a&filter[author][$some][$or][1][name]=b",
            r#"author>6[(name = "a" | name = "b")]"#,
        ),
        (
            "filter[$or][0][author.name]=a&filter[$or][1][title]=b&filter[stock]=1",
            r#"((author>6[name = "a"] | title = "b") & stock = "1")"#,
        ),
        ("filter[$not][author][$some][name]=a", r#"!author>6[name = "a"]"#),
        ("filter[author][dangling]=true", "author dangles"),
        ("filter[related][dangling]=0", "!related dangles"),
        ("filter[author.company][dangling]=1", "author>6[company dangles]"),
        // The token does not have the blueprint, so every id dangles.
        ("filter[author.company.owner][dangling]=1", "author>6[company>0[owner dangles]]"),
        ("filter[author.published]=maybe", "all"),
    ] {
        assert_eq!(shown(raw), expected, "{raw}");
    }
}

#[test]
fn the_related_copy_is_that_of_the_same_variant_or_the_default() {
    for (raw, expected) in [
        ("variant=zh-CN&filter[author.name]=a", r#"author>5[name = "a"]"#),
        ("variant=en&filter[author.name]=a", r#"author>6[name = "a"]"#),
        ("variant=zh-CN&filter[related.author.name]=a", r#"related>2[author>5[name = "a"]]"#),
        ("variant=zh-CN&fallback=en&filter[author.name]=a", r#"author>5[name = "a"]"#),
        ("variant=zh-CN&fallback=en&fallback_mode=all&filter[author.name]=a", r#"author>5/6[name = "a"]"#),
        ("fallback=zh-CN&fallback_mode=all&filter[author.company.name]=a", r#"author>6/5[company>0[name = "a"]]"#),
    ] {
        assert_eq!(shown(raw), expected, "{raw}");
    }
}

#[test]
fn what_a_filter_depends_on_is_known() {
    for (raw, expected) in [
        ("filter[title]=a", &[][..]),
        ("filter[author.name]=a&filter[$or][0][author.company.name]=b", &["authors", "companies"]),
        ("filter[$not][related][dangling]=1", &["articles"]),
        ("filter[author.company.owner][dangling]=1", &["authors", "companies", "secrets"]),
    ] {
        assert_eq!(list_of(raw).unwrap().query.filter.depends_on(), expected, "{raw}");
    }
}

#[test]
fn relations_that_lead_nowhere_are_reported() {
    for (raw, expected) in [
        (
            "filter[author.nmae]=a",
            "there is no filterable field `nmae` in `authors`, which `author` relates to; did you mean `name`? Filterable fields: `name`, `company`",
        ),
        ("filter[autor.name]=a", "there is no filterable field `autor.name`; did you mean `author.name`?"),
        ("filter[title.name]=a", "there is no filterable field `title.name`. "),
        ("filter[author.name][like]=a", "`author.name` does not support the operator `like`; it supports `eq`"),
        ("filter[author.name][dangling]=1", "`author.name` does not support the operator `dangling`"),
        ("filter[title][dangling]=1", "`title` does not support the operator `dangling`"),
        ("filter[author][dangling]=x", "`filter[author][dangling]` is `x`; it must be `true`"),
        ("filter[title][$some][name]=a", "`title` is no relation, so `$some` cannot follow it"),
        ("filter[nope][$some][name]=a", "there is no filterable field `nope`."),
        ("filter[author][$some][nope]=a", "there is no filterable field `nope` in `authors`"),
        ("filter[related.author.company.name]=a", "`related.author.company` goes through more than 2 relations"),
        (
            "filter[related][$some][author.company.name]=a",
            "`related.author.company` goes through more than 2 relations",
        ),
        ("filter[author][$some][name][between]=1", "`filter[author][$some][name][between]` is `1`"),
    ] {
        let error = list_of(raw).expect_err(raw);
        assert_eq!(error.code, Code::InvalidFilter, "{raw}");
        assert!(error.message.contains(expected), "{raw}: {}", error.message);
    }
}

#[test]
fn nothing_is_said_about_a_blueprint_that_the_token_does_not_have() {
    let to = |slug: &str| FieldType::Reference(relation(slug));
    let blueprint = blueprint(&[("owner", to("secrets"))]);
    let message = |raw: &str| {
        let error =
            ListParams::parse(&RawParams::parse(raw), &blueprint, &|slug| related(slug), NOW, &Steering::default())
                .expect_err(raw);
        assert_eq!(error.code, Code::InvalidFilter);
        error.message
    };
    let expected =
        "`owner` relates to a blueprint that this token does not have; filter by the ids that `owner` has instead";
    for raw in [
        "filter[owner.name]=a",
        "filter[owner.invented][nope]=a",
        "filter[owner.]=a",
        "filter[owner.a.b.c.d]=a",
        "filter[owner][$some][name]=a",
        "filter[owner][$some][$or][0][x.y]=a",
    ] {
        assert_eq!(message(raw), expected, "{raw}");
    }
}

#[test]
fn a_fallback_counts_if_the_request_says_so() {
    let copies = |raw: &str| list_of(raw).unwrap().query.copies;
    assert_eq!(copies("fallback=zh-CN"), Copies { variant: 1, fallback: None });
    assert_eq!(copies("fallback=zh-CN&fallback_mode=all"), Copies { variant: 1, fallback: Some(2) });
    assert_eq!(copies("fallback=en&fallback_mode=all"), Copies { variant: 1, fallback: None });
    assert_eq!(copies("variant=zh-CN&fallback=en&fallback_mode=all"), Copies { variant: 2, fallback: Some(1) });
    let error = list_of("fallback=en&fallback_mode=some").unwrap_err();
    assert_eq!(error.message, "`fallback_mode` is `some`; it must be `all`, or left out");
    assert!(
        ListParams::parse(
            &RawParams::parse("fallback_mode=some"),
            &plain(),
            &|slug| related(slug),
            NOW,
            &Steering::default()
        )
        .is_ok(),
        "ignored without variants"
    );
}

#[test]
fn a_strict_request_has_no_parameter_that_is_ignored() {
    for raw in [
        "strict=true&page=2&per_page=3&filter[title]=x&search=x&sort=title&fields=id&exclude=id",
        "strict=false&x=1",
        "x=1",
    ] {
        assert!(list_of(raw).is_ok(), "{raw}");
    }
    let parameters = "Its parameters: `page`, `per_page`, `cursor`, `track`, `filter[…]`, `search`, `q`, `typos`, `q_mode`, `q_match`, `sort`, `fields`, `exclude`, \
        `variant`, `fallback`, `fallback_mode`, `copy`, `explain`, `highlight`, `facets`, `facet_mode`, `stats`, `expand`, `fields[…]`, `strict`";
    for (raw, code, expected) in [
        (
            "strict=1&pgae=2",
            Code::InvalidParameter,
            format!("`pgae` is not a parameter of this endpoint; did you mean `page`? {parameters}"),
        ),
        (
            "strict=1&format=csv",
            Code::InvalidParameter,
            format!("`format` is not a parameter of this endpoint. {parameters}"),
        ),
        (
            "strict=1&filters[title]=x",
            Code::InvalidParameter,
            format!("`filters[title]` is not a parameter of this endpoint. {parameters}"),
        ),
        ("strict=maybe", Code::InvalidParameter, "`strict` is `maybe`; it must be `true`, `1`, `false` or `0`".into()),
        (
            "strict=1&filter[$or][0][published]=maybe",
            Code::InvalidFilter,
            "`filter[$or][0][published][eq]` is `maybe`; it must be `true`, `1`, `false` or `0`".into(),
        ),
        ("strict=1&search=", Code::InvalidParameter, "`search` has no effect: it is empty".into()),
        (
            "strict=1&fallback_mode=all",
            Code::InvalidParameter,
            "`fallback_mode` has no effect: there is no `fallback`".into(),
        ),
    ] {
        let error = list_of(raw).expect_err(raw);
        assert_eq!((error.code, error.message.as_str()), (code, expected.as_str()), "{raw}");
    }
    for (raw, expected) in [
        ("strict=1&search=x", "`search` has no effect: `articles` has no field of the type `text` or `rich-text`"),
        ("strict=1&variant=de", "`variant` has no effect: `articles` has no variants"),
    ] {
        let error =
            ListParams::parse(&RawParams::parse(raw), &plain(), &|slug| related(slug), NOW, &Steering::default())
                .expect_err(raw);
        assert_eq!(error.message, expected);
    }
    let error = GetParams::parse("strict=1&page=1", &everything(), &|slug| related(slug)).unwrap_err();
    assert!(error.message.starts_with("`page` is not a parameter of this endpoint."));
    assert!(
        ExportParams::parse(
            &RawParams::parse("strict=1&format=csv"),
            None,
            &everything(),
            &|slug| related(slug),
            NOW,
            &Steering::default()
        )
        .is_ok()
    );
}
