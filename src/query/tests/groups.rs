//! Valid and invalid groups.

use bindery_model::error::Code;

use super::*;

#[test]
fn groups_become_one_condition() {
    for (raw, expected) in [
        ("filter[$or][0][title]=a&filter[$or][1][stock][lt]=5", r#"(title = "a" | stock < 5)"#),
        ("filter[$or][7][title]=a&filter[$or][99][stock]=5", r#"(title = "a" | stock = "5")"#),
        (
            "filter[$or][0][title]=a&filter[$or][0][stock]=5&filter[$or][1][id]=x",
            r#"((title = "a" & stock = "5") | nothing)"#,
        ),
        ("filter[$or][0][title]=a", r#"title = "a""#),
        (
            "filter[$and][0][title]=a&filter[$and][1][$not][title]=b&filter[stock]=1",
            r#"(stock = "1" & title = "a" & !title = "b")"#,
        ),
        (
            "filter[$not][title]=a&filter[$not][stock]=5&filter[kind]=x",
            r#"(kind = "x" & !(title = "a" & stock = "5"))"#,
        ),
        ("filter[$not][$or][0][title]=a&filter[$not][$or][1][title]=b", r#"!(title = "a" | title = "b")"#),
        (
            "filter[$or][0][$and][0][$not][$or][3][title]=a&filter[$or][0][$and][0][$not][$or][4][title]=b&filter[$or][1][title]=c",
            r#"(!(title = "a" | title = "b") | title = "c")"#,
        ),
        (
            "filter[$or][0][published_at][null]=1&filter[$or][1][title]=a&search=x",
            r#"((draft | title = "a") & (title ~ *"x"* | body ~ *"x"*))"#,
        ),
        // An ignored filter has no effect in a group either.
        ("filter[$or][0][published]=maybe&filter[$or][1][title]=a", r#"title = "a""#),
        ("filter[$not][published]=maybe", "all"),
        ("filter[$not][created_at][null]=true", "all"),
        ("filter[$not][created_at][null]=false", "nothing"),
    ] {
        let params = list_of(raw).unwrap_or_else(|error| panic!("{raw}: {error}"));
        assert_eq!(show::filter(&params.query.filter, &everything()), expected, "{raw}");
    }
}

#[test]
fn malformed_groups_are_reported() {
    let number = "is followed by a number from 0 to 99, as in";
    for (raw, expected) in [
        ("filter[$or][title]=a", format!("`$or` {number} `filter[$or][0][<field>]`")),
        ("filter[$or][100][title]=a", format!("`$or` {number}")),
        ("filter[$and][01][title]=a", format!("`$and` {number}")),
        ("filter[$and][+1][title]=a", format!("`$and` {number}")),
        ("filter[$or]=a", format!("`$or` {number}")),
        ("filter[$or][0]=a", "a field is missing at its end".into()),
        ("filter[$not]=a", "a field is missing at its end".into()),
        ("filter[$not][0][title]=a", "`$not` takes no numbers; write `filter[$not][<field>]`".into()),
        ("filter[$nor][0][title]=a", "there is no group `$nor`; did you mean `$or`?".into()),
        ("filter[$xyz][0][title]=a", "there is no group `$xyz`. Groups are `$or` and `$and` with a number".into()),
        ("filter[author][$same][name]=a", "there is no group `$same`; did you mean `$some`?".into()),
        ("filter[$price]=5", "there is no group `$price`. Groups are `$or`".into()),
        ("filter[$price]=5", "`$some` after a relation. Filterable fields: `title`".into()),
        ("filter[$some][name]=a", "`$some` follows a relation, as in".into()),
        ("filter[author][$some]=a", "a field is missing at its end".into()),
        ("filter[$or][0][$or][0][$or][0][$or][0][$or][0][title]=a", "groups may be nested to 4 levels".into()),
        ("filter[$or][0][title][between]=1", "`filter[$or][0][title][between]` is `1`, which has 1 value".into()),
        ("filter[$or][0][nope]=1", "there is no filterable field `nope`. Filterable fields: `title`".into()),
        (
            "filter[$or][0][title][contain]=1",
            "`title` does not support the operator `contain`; did you mean `contains`? It supports".into(),
        ),
    ] {
        let error = list_of(raw).expect_err(raw);
        assert_eq!(error.code, Code::InvalidFilter, "{raw}");
        assert!(error.message.contains(&expected), "{raw}: {}", error.message);
    }
    let deep = format!("filter{}[title]=a", "[author][$some]".repeat(4_000));
    assert!(list_of(&deep).unwrap_err().message.contains("at most 2 are possible"));
}

#[test]
fn limits_count_across_groups() {
    let filters =
        |count: usize| (0..count).map(|at| format!("filter[$or][{}][title]=a", at % 100)).collect::<Vec<_>>().join("&");
    assert!(list_of(&filters(100)).is_ok());
    let error = list_of(&filters(101)).unwrap_err();
    assert_eq!(error.message, "the request has 101 filters; it must have at most 100");
    for operator in ["has_any", "has_all", "has_none"] {
        let values = |count: usize| format!("filter[$not][tags][{operator}]=a{}", ",a".repeat(count - 1));
        assert!(list_of(&values(1_000)).is_ok());
        let error = list_of(&values(1_001)).unwrap_err();
        assert_eq!(
            error.message,
            format!("`filter[$not][tags][{operator}]` has 1001 values; it must have at most 1000")
        );
    }
}

#[test]
fn arrays_are_asked_for_several_elements() {
    for (raw, expected) in [
        ("filter[tags][has_any]=a,b", r#"(tags has "a" | tags has "b")"#),
        ("filter[tags][has_all]=a,b\\,c", r#"(tags has "a" & tags has "b,c")"#),
        ("filter[related][has_none]=x", r#"!(related has "x")"#),
    ] {
        assert_eq!(show::filter(&list_of(raw).unwrap().query.filter, &everything()), expected, "{raw}");
    }
    for raw in ["filter[title][has_any]=a", "filter[author][has_all]=a"] {
        assert!(list_of(raw).unwrap_err().message.contains("does not support the operator"), "{raw}");
    }
}
