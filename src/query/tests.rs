#![allow(clippy::unwrap_used)]

mod errors;
mod filters;
mod groups;
mod parameters;
mod relations;
mod show;
mod steering;

use std::sync::LazyLock;

use bindery_model::blueprint::{BlueprintKind, DurationUnit, Field, FieldType, OnDelete, Relation, Variant};
use proptest::prelude::*;

use super::*;

/// 2026-11-20T20:42:31.123Z.
const NOW: Millis = 1_795_207_351_123;

/// Returns a blueprint with a field of every type, named after its type, and the variants `en` (1, the default) and
/// `zh-CN` (2).
fn everything() -> Blueprint {
    let types = [
        ("title", FieldType::Text),
        ("body", FieldType::RichText),
        ("page", FieldType::HtmlPage { blocks: None, template: None }),
        ("slug", FieldType::Slug),
        ("email", FieldType::Email),
        ("link", FieldType::Link),
        ("image", FieldType::Image),
        ("file", FieldType::File),
        ("kind", FieldType::Enum { values: None }),
        ("tags", FieldType::MultiEnum { values: None }),
        ("featured", FieldType::Boolean),
        ("color", FieldType::Color),
        ("stock", FieldType::Number),
        ("price", FieldType::Money { default_currency: None, currencies: vec!["EUR".into()] }),
        ("day", FieldType::Date),
        ("starts", FieldType::DateTime),
        ("length", FieldType::Duration { unit: DurationUnit::Minutes, display: None, min: None, max: None }),
        ("author", FieldType::Reference(relation("authors"))),
        ("related", FieldType::References(relation("articles"))),
        ("editor", FieldType::User { role: None }),
        ("address", FieldType::Address),
    ];
    let variant = |number, slug: &str, default| Variant { number, name: slug.into(), slug: slug.into(), default };
    Blueprint { variants: vec![variant(1, "en", true), variant(2, "zh-CN", false)], ..blueprint(&types) }
}

/// Returns a blueprint without variants, whose only field `search` ignores.
fn plain() -> Blueprint {
    blueprint(&[("stock", FieldType::Number)])
}

fn relation(blueprint: &str) -> Relation {
    Relation { blueprint: blueprint.to_owned(), display: Vec::new(), on_delete: OnDelete::Keep }
}

/// Returns related blueprints: authors belong to a company, and companies to a blueprint that the token does not have.
fn related(slug: &str) -> Option<&'static Blueprint> {
    static AUTHORS: LazyLock<Blueprint> = LazyLock::new(|| {
        let company = FieldType::Reference(relation("companies"));
        let fields = [
            ("name", FieldType::Text),
            ("company", company),
            ("tags", FieldType::MultiEnum { values: None }),
            ("address", FieldType::Address),
        ];
        let variant = |number, slug: &str, default| Variant { number, name: slug.into(), slug: slug.into(), default };
        let variants = vec![variant(5, "zh-CN", false), variant(6, "de", true)];
        Blueprint { slug: "authors".into(), variants, ..blueprint(&fields) }
    });
    static COMPANIES: LazyLock<Blueprint> = LazyLock::new(|| {
        let to = |slug: &str| FieldType::Reference(relation(slug));
        let fields = [("name", FieldType::Text), ("owner", to("secrets")), ("founder", to("authors"))];
        Blueprint { slug: "companies".into(), ..blueprint(&fields) }
    });
    static ARTICLES: LazyLock<Blueprint> = LazyLock::new(everything);
    match slug {
        "authors" => Some(&*AUTHORS),
        "companies" => Some(&*COMPANIES),
        "articles" => Some(&*ARTICLES),
        _ => None,
    }
}

fn blueprint(types: &[(&str, FieldType)]) -> Blueprint {
    let fields = types.iter().zip(1..).map(|((slug, field_type), number)| Field {
        number,
        since: 1,
        name: slug.to_string(),
        slug: slug.to_string(),
        description: None,
        required: false,
        claims: None,
        is_system: false,
        field_type: field_type.clone(),
    });
    Blueprint {
        scheduled: false,
        number: 1,
        revision: 1,
        shape: 1,
        next_field: 100,
        next_variant: 3,
        plain_variant: 0,
        filled: 0,
        slug: "articles".into(),
        name: "Articles".into(),
        kind: BlueprintKind::Resource,
        icon: None,
        record_title: None,
        search: None,
        working_copy: false,
        trash: None,
        history: None,
        variants: vec![],
        seo: None,
        fields: fields.collect(),
        created_at: 0,
        updated_at: 0,
    }
}

fn list_of(raw: &str) -> Result<ListParams, Error> {
    ListParams::parse(&RawParams::parse(raw), &everything(), &|slug| related(slug), NOW, &Steering::default())
}

proptest! {
    #[test]
    fn parsing_never_panics(raw in "(filter|search|sort|fields|exclude|page|per_page|variant|strict=1|\\$or|\\$not|\\$some|author|author\\.name|0|\\]\\[|%|\\[|\\]|=|&|,|-|\\PC){0,24}") {
        let blueprint = everything();
        let _ = ListParams::parse(&RawParams::parse(&raw), &blueprint, &|slug| related(slug), NOW, &Steering::default());
        let _ = GetParams::parse(&raw, &blueprint, &|slug| related(slug));
        let _ = WriteParams::parse(&raw, &blueprint);
        let _ = ExportParams::parse(&RawParams::parse(&raw), Some(&raw), &blueprint, &|slug| related(slug), NOW, &Steering::default());
    }

    #[test]
    fn filters_never_panic(
        field in "(title|stock|starts|created_at|published|tags|price\\.amount|id|author\\.name|related\\.author\\.company\\.name)",
        operator in proptest::sample::select(OPERATORS),
        value in "(-|0|1|9{1,5}|\\.|e|,|\\\\|:|T| |\\+|é|\\PC){0,16}",
    ) {
        let encoded = percent_encoding::utf8_percent_encode(&value, percent_encoding::NON_ALPHANUMERIC);
        let _ = list_of(&format!("filter[{field}][{}]={encoded}", operator.name));
    }

    #[test]
    fn a_percent_encoded_value_is_decoded_to_the_original(value in "\\PC{0,12}") {
        let encoded = percent_encoding::utf8_percent_encode(&value, percent_encoding::NON_ALPHANUMERIC);
        let params = list_of(&format!("filter%5Btitle%5D={encoded}")).unwrap();
        prop_assert_eq!(show::filter(&params.query.filter, &everything()), format!("title = {value:?}"));
    }
}
