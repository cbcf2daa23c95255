//! Facets and statistics (`API.md` 4.2.7): the valid requests, and entity tags. The oracle checks the counts.

use serde_json::{Value, json};

use crate::support::{Failures, Server};

const LIST: &str = "/v2/resources/articles";

fn world() -> Server {
    let server = Server::start();
    let with = |slug: &str, kind: &str, settings: Value| json!({ "name": slug, "slug": slug, "type": kind, "settings": settings });
    let field = |slug: &str, kind: &str| with(slug, kind, json!({}));
    let fields = json!([
        field("category", "enum"),
        field("tags", "multi-enum"),
        field("featured", "boolean"),
        field("minutes", "duration"),
        field("price", "money"),
        field("day", "date"),
        field("at", "datetime"),
        field("place", "address"),
        field("body", "rich-text"),
        with("next", "reference", json!({ "blueprint": "articles" })),
    ]);
    server.blueprint("articles", fields);
    for (category, tags, featured, minutes, price) in [
        ("cloud", json!(["a", "b"]), json!(true), json!(1.5), json!({ "amount": 10, "currency": "EUR" })),
        ("cloud", json!(["a"]), json!(false), json!(2), json!({ "amount": 0.1, "currency": "EUR" })),
        ("desk", json!([]), json!(null), json!(null), json!({ "amount": 7, "currency": "USD" })),
        ("attic", json!(null), json!(true), json!(10), json!(null)),
    ] {
        server.create(
            "articles",
            json!({
                "category": category, "tags": tags, "featured": featured, "minutes": minutes, "price": price,
                "day": "2026-11-20", "at": "2026-12-01T00:30:00+01:00", "place": { "city": "Bonn" },
            }),
        );
    }
    server
}

#[test]
fn facets_and_statistics_are_of_all_that_matches() {
    let server = world();
    let meta = |query: &str| server.get(&format!("{LIST}?per_page=1&{query}")).expect(200).json()["meta"].clone();
    let value = |value: Value, count: u64| json!({ "value": value, "count": count });
    let facet =
        |values: Value, distinct: u64, nulls: u64| json!({ "values": values, "distinct": distinct, "null": nulls });
    let mut failures = Failures::default();
    for (facets, expected) in [
        ("category", facet(json!([value("cloud".into(), 2), value("attic".into(), 1), value("desk".into(), 1)]), 3, 0)),
        ("category:1", facet(json!([value("cloud".into(), 2)]), 3, 0)),
        ("tags", facet(json!([value("a".into(), 2), value("b".into(), 1)]), 2, 2)),
        ("featured", facet(json!([value(true.into(), 2), value(false.into(), 1)]), 2, 1)),
        ("minutes", facet(json!([value(json!(1.5), 1), value(json!(10), 1), value(json!(2), 1)]), 3, 1)),
        ("price.currency", facet(json!([value("EUR".into(), 2), value("USD".into(), 1)]), 2, 1)),
        ("place.city", facet(json!([value("Bonn".into(), 4)]), 1, 0)),
        ("place.country", facet(json!([]), 0, 4)),
        ("next", facet(json!([]), 0, 4)),
        ("day:month", facet(json!([value("2026-11".into(), 4)]), 1, 0)),
        // Days are in UTC.
        ("at:day", facet(json!([value("2026-11-30".into(), 4)]), 1, 0)),
        ("published_at:year", facet(json!([value("2026".into(), 4)]), 1, 0)),
    ] {
        failures.check_eq(facets, meta(&format!("facets={facets}"))["facets"][facets].clone(), expected);
    }
    let cloudy = "filter[category]=cloud&filter[minutes][gt]=1&facets=category,featured";
    let counted = |query: &str| meta(query)["facets"]["category"]["values"].clone();
    failures.check_eq(cloudy, counted(cloudy), json!([value("cloud".into(), 2)]));
    let both = json!([value("cloud".into(), 2), value("attic".into(), 1)]);
    failures.check_eq("disjunctive", counted(&format!("{cloudy}&facet_mode=disjunctive")), both);
    let stats = meta("stats=minutes,price")["stats"].clone();
    let minutes = json!({ "count": 3, "null": 1, "min": 1.5, "max": 10, "sum": 13.5, "avg": 4.5 });
    failures.check_eq("minutes", stats["minutes"].clone(), minutes);
    let currency = |count: u64, min: f64, max: u64, sum: Value, avg: Value| json!({ "count": count, "min": if min.fract() == 0.0 { json!(min as u64) } else { json!(min) }, "max": max, "sum": sum, "avg": avg });
    let price = json!({
        "null": 1,
        "currencies": { "EUR": currency(2, 0.1, 10, json!(10.1), json!(5.05)), "USD": currency(1, 7.0, 7, json!(7), json!(7)) },
    });
    failures.check_eq("price", stats["price"].clone(), price);
    let none = meta("filter[category]=none&stats=minutes")["stats"]["minutes"].clone();
    let nothing = json!({ "count": 0, "null": 0, "min": null, "max": null, "sum": 0, "avg": null });
    failures.check_eq("none", none, nothing);
    let export = server.get(&format!("{LIST}/export?facets=category&stats=minutes")).expect(200).json();
    failures.check_eq("export", export["meta"]["facets"].clone(), meta("facets=category")["facets"].clone());
    failures.check_eq("export", export["data"].as_array().unwrap().len(), 4);
    failures.check_eq("no facets", server.get(LIST).expect(200).json()["meta"].get("facets").is_none(), true);
    failures.assert_none();
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let server = world();
    let many =
        |name: &str, count: usize| (1..=count).map(|number| format!("{name}:{number}")).collect::<Vec<_>>().join(",");
    for (query, meant) in [
        ("facets=categroy".to_owned(), "did you mean `category`?"),
        ("facets=".to_owned(), "empty entry"),
        ("facets=category,".to_owned(), "empty entry"),
        ("facets=body".to_owned(), "another type"),
        ("facets=price".to_owned(), "another type"),
        ("facets=id".to_owned(), "another type"),
        ("facets=published".to_owned(), "another type"),
        ("facets=place.street".to_owned(), "another type"),
        ("facets=next.category".to_owned(), "no field"),
        ("facets=category:0".to_owned(), "from 1 to 1000"),
        ("facets=category:1001".to_owned(), "from 1 to 1000"),
        ("facets=category:".to_owned(), "from 1 to 1000"),
        ("facets=category:month".to_owned(), "only dates"),
        ("facets=day".to_owned(), "`day:month`"),
        ("facets=created_at:week".to_owned(), "`created_at:year`"),
        ("facets=category,category".to_owned(), "more than once"),
        (format!("facets={}", many("tags", 11)), "at most 10"),
        ("facets=category&facets=tags".to_owned(), "more than once"),
        ("facets=category&facet_mode=all".to_owned(), "`disjunctive`"),
        ("stats=category".to_owned(), "another type"),
        ("stats=price.amount".to_owned(), "another type"),
        ("stats=minuets".to_owned(), "did you mean `minutes`?"),
        ("strict=1&facet_mode=disjunctive".to_owned(), "there are no `facets`"),
        ("strict=1&facet=category".to_owned(), "did you mean `facets`?"),
    ] {
        let reply = server.get(&format!("{LIST}?{query}"));
        assert_eq!(reply.outcome(), "422 INVALID_PARAMETER", "{query}");
        assert!(reply.message().contains(meant), "{query}: {}", reply.message());
    }
    for query in ["facets=category", "stats=minutes", "expand=next"] {
        for (format, status) in [("json", 200), ("ndjson", 422), ("csv", 422)] {
            let reply = server.get(&format!("{LIST}/export?{query}&format={format}"));
            assert_eq!(reply.status, status, "{query} {format}");
        }
    }
    server
        .get(&format!("{LIST}?strict=1&facets={}&stats=minutes,price&facet_mode=disjunctive", many("tags", 10)))
        .expect(200);
}

#[test]
fn the_entity_tag_of_a_list_changes_with_its_facets() {
    let server = world();
    let path = format!("{LIST}?filter[category]=desk&facets=tags&facet_mode=disjunctive");
    let tag = || server.get(&path).expect(200).header("etag").unwrap().to_owned();
    let before = tag();
    assert_eq!(server.raw("GET", &path, &[("if-none-match", &before)], b"").status, 304);
    server.create("articles", json!({ "category": "attic", "tags": ["z"] }));
    assert_eq!(tag(), before, "the filter leaves it out, and no facet counts it");
    server.create("articles", json!({ "category": "desk", "tags": ["z"] }));
    assert_ne!(tag(), before);
    // An invalid facet is reported even if the client has the list.
    let wrong = format!("{LIST}?facets=nothing");
    assert_eq!(server.raw("GET", &wrong, &[("if-none-match", "*")], b"").status, 422);
}
