//! Every parameter except filters: pages, links, order, selection, variants, formats.

use bindery_index::SortBy;

use super::*;

#[test]
fn pages_have_defaults_and_bounds() {
    let table = [
        ("", 1, 25),
        ("page=3&per_page=100", 3, 100),
        ("per_page=1&page=007", 7, 1),
        ("page=99999999999999999999999", u64::MAX, 25),
    ];
    for (raw, number, per_page) in table {
        assert_eq!(list_of(raw).unwrap().page, Page { number, per_page }, "{raw}");
    }
    assert_eq!(Page { number: u64::MAX, per_page: 100 }.offset(), u64::MAX);
    assert_eq!(Page { number: 3, per_page: 10 }.offset(), 20);
}

#[test]
fn sort_lists_keys_by_priority() {
    let table = [
        ("", "-created"),
        ("sort=title", "title"),
        ("sort=-price,day", "-price day"),
        ("sort=published_at,-updated_at,created_at,-id", "published -updated created -id"),
        ("sort=price.amount,price.currency,address.city", "price price.currency address.city"),
        ("sort=-tags,body,page,related,address,starts", "-tags body page related address starts"),
        ("q=a", "-relevance"),
        ("q=a&sort=title", "title"),
        ("q=...", "-created"),
        // Two names of one column.
        ("sort=price,-price.amount", "price -price"),
    ];
    let blueprint = everything();
    for (raw, expected) in table {
        let keys = list_of(raw).unwrap().query.sort;
        let shown = keys.iter().map(|key| {
            let name = match key.by {
                SortBy::Id => "id".into(),
                SortBy::Relevance => "relevance".into(),
                SortBy::Date(date) => show::date(date).into(),
                SortBy::Column(column) => show::name(column, &blueprint),
                SortBy::ColumnOr(fallback) => {
                    format!("{}/{}", show::name(fallback.column, &blueprint), fallback.variant)
                }
            };
            if key.descending { format!("-{name}") } else { name }
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{raw}");
    }
}

#[test]
fn selection_is_fields_without_exclude() {
    let all = "id type published_at created_at updated_at attributes* relationships";
    let table = [
        ("", all),
        ("fields=id,type,published_at,created_at,updated_at,attributes,relationships", all),
        ("fields=attributes,id,id", "id attributes*"),
        ("exclude=attributes,relationships", "id type published_at created_at updated_at"),
        ("fields=id,attributes.title", "id attributes{title}"),
        ("fields=attributes.day,attributes.title", "attributes{title,day}"),
        ("fields=attributes.title,attributes", "attributes*"),
        ("fields=attributes&exclude=attributes.body,attributes.page", "attributes!{body,page}"),
        ("fields=attributes.title&exclude=attributes.title", "attributes{}"),
        ("fields=id,attributes.title&exclude=attributes", "id"),
        ("fields=id&exclude=attributes.title", "id"),
        ("fields=id&exclude=id", ""),
    ];
    let blueprint = everything();
    for (raw, expected) in table {
        let selection = list_of(raw).unwrap().selection;
        let names = |chosen: bool| {
            let fields = blueprint.fields.iter().filter(|field| selection.has_attribute(field.number) == chosen);
            fields.map(|field| field.slug.as_str()).collect::<Vec<_>>().join(",")
        };
        let shown = selection.keys().iter().map(|key| match key {
            ResourceKey::Attributes if selection.has_all_attributes() => "attributes*".into(),
            ResourceKey::Attributes if names(false).len() < names(true).len() => {
                format!("attributes!{{{}}}", names(false))
            }
            ResourceKey::Attributes => format!("attributes{{{}}}", names(true)),
            key => key.as_str().to_owned(),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{raw}");
        assert_eq!(selection.is_all(), expected == all, "{raw}");
        assert_eq!(selection.has(ResourceKey::Id), expected.starts_with("id"), "{raw}");
    }
}

#[test]
fn variants_are_resolved_or_ignored() {
    let table = [
        ("", 1, None),
        ("variant=en", 1, None),
        ("variant=zh-CN", 2, None),
        ("variant=zh%2DCN&fallback=en", 2, Some(1)),
        ("fallback=zh-CN", 1, Some(2)),
    ];
    for (raw, variant, fallback) in table {
        let list = list_of(raw).unwrap();
        assert_eq!((list.query.copies.variant, list.fallback), (variant, fallback), "{raw}");
        let get = GetParams::parse(raw, &everything(), &|slug| related(slug)).unwrap();
        assert_eq!((get.variant, get.fallback), (variant, fallback), "{raw}");
        assert_eq!(WriteParams::parse(raw, &everything()).unwrap().variant, variant, "{raw}");
    }
    let list = ListParams::parse(
        &RawParams::parse("variant=de&fallback="),
        &plain(),
        &|slug| related(slug),
        NOW,
        &Steering::default(),
    )
    .unwrap();
    assert_eq!((list.query.copies.variant, list.fallback), (0, None));
}

#[test]
fn the_export_format_comes_from_the_parameter_or_the_accept_header() {
    let table = [
        ("", None, Format::Json),
        ("format=json", Some("text/csv"), Format::Json),
        ("format=ndjson", None, Format::Ndjson),
        ("format=csv", Some("application/json"), Format::Csv),
        ("", Some("*/*"), Format::Json),
        ("", Some("Application/X-NDJSON"), Format::Ndjson),
        ("", Some("text/html, text/csv;charset=utf-8"), Format::Csv),
        ("", Some("text/csv;q=0.5, application/x-ndjson; q=0.9"), Format::Ndjson),
        ("", Some("text/csv;q=0, */*"), Format::Json),
        ("", Some("text/html"), Format::Json),
        ("all_variants=1", Some("application/x-ndjson"), Format::Ndjson),
    ];
    for (raw, accept, format) in table {
        let params = ExportParams::parse(
            &RawParams::parse(raw),
            accept,
            &everything(),
            &|slug| related(slug),
            NOW,
            &Steering::default(),
        )
        .unwrap();
        assert_eq!(params.format, format, "{raw} {accept:?}");
        assert_eq!(params.all_variants, raw.contains("all_variants"), "{raw}");
    }
}

#[test]
fn exports_accept_the_parameters_of_lists_except_pages() {
    let raw = "filter[title]=x&search=y&sort=title&fields=id&variant=zh-CN&fallback=en";
    let list = list_of(raw).unwrap();
    let export = ExportParams::parse(
        &RawParams::parse(&format!("{raw}&page=x")),
        None,
        &everything(),
        &|slug| related(slug),
        NOW,
        &Steering::default(),
    )
    .unwrap();
    assert_eq!(export.query, list.query);
    assert_eq!(export.selection, list.selection);
    assert_eq!(export.fallback, list.fallback);
}

#[test]
fn a_query_string_has_the_parameters_that_parsing_it_finds() {
    for raw in
        ["", "copy", "a=b&copy=working", "c%6Fpy=x", "%63opy", "copies=x", "a=copy", "filter%5Bcopy%5D=x", "copy%FF"]
    {
        let is_found = RawParams::parse(raw).names().any(|name| name == "copy");
        assert_eq!(RawParams::has(raw, "copy"), is_found, "{raw}");
    }
}
