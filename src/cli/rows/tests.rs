#![allow(clippy::unwrap_used)]

use super::*;
use crate::model::blueprint::Definition;

fn options(map: &[(&str, &str)], key: Option<&str>) -> RowOptions {
    let field = |slug: &str, kind: &str| json!({ "name": slug.replace('_', " "), "slug": slug, "type": kind });
    let mut price = field("price", "money");
    price["settings"] = json!({ "default_currency": "EUR" });
    let body = json!({ "name": "Products", "fields": [
        field("title", "text"), field("sku", "text"), field("tags", "multi-enum"), field("in_stock", "boolean"),
        field("weight", "number"), price, field("made_at", "address"), field("page", "html-page"),
    ] });
    let blueprint = Blueprint::create(Definition::parse(body).unwrap(), 1, 0);
    let map = map.iter().map(|(column, field)| (column.to_string(), field.to_string())).collect();
    RowOptions { blueprint, map, list_separator: "|".to_owned(), key: key.map(str::to_owned) }
}

fn items(rows: Rows, options: &RowOptions, text: &str) -> Result<Vec<Value>, String> {
    let mut items = Vec::new();
    let mut emit = |line: Vec<u8>| {
        assert!(!line.contains(&b'\n'));
        items.push(serde_json::from_slice(&line).unwrap_or_else(|_| Value::from(String::from_utf8(line).unwrap())));
        true
    };
    each_item(rows, options, text.as_bytes(), &mut emit).map_err(|error| error.to_string())?;
    Ok(items)
}

#[test]
fn cells_become_values_of_their_fields() {
    let csv = "\u{feff}title,SKU,tags,In Stock,weight,price,made_at.city,made_at.street,page,ignored,published_at\n\
        \"A, \"\"b\"\"\n c\",s1,x | y,yes,1.50,9.5,Porto,,<p>t</p>,z,2026-01-01\n\
        ,s2,,0,heavy,USD 3,,,,z,\n\
        007,s3,\"[\"\"q\"\"]\",maybe,-2e3,\"{\"\"amount\"\":1,\"\"currency\"\":\"\"USD\"\"}\",,Rua 1,,,\n";
    let found = items(Rows::Csv, &options(&[("ignored", "")], Some("SKU")), csv).unwrap();
    let expected = [
        json!({ "published_at": "2026-01-01", "key": "s1", "attributes": { "title": "A, \"b\"\n c", "sku": "s1",
            "tags": ["x", "y"], "in_stock": true, "weight": 1.50, "price": { "amount": 9.5, "currency": "EUR" },
            "made_at": { "city": "Porto" }, "page": { "html": "<p>t</p>" } } }),
        json!({ "published_at": null, "key": "s2", "attributes": { "title": null, "sku": "s2", "tags": null,
            "in_stock": false, "weight": "heavy", "price": { "amount": 3, "currency": "USD" }, "made_at": null, "page": null } }),
        json!({ "published_at": null, "key": "s3", "attributes": { "title": "007", "sku": "s3", "tags": ["q"],
            "in_stock": "maybe", "weight": -2e3, "price": { "amount": 1, "currency": "USD" },
            "made_at": { "street": "Rua 1" }, "page": null } }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn columns_that_mean_nothing_are_refused_with_what_to_do() {
    let refused =
        |map: &[(&str, &str)], key: Option<&str>, csv: &str| items(Rows::Csv, &options(map, key), csv).unwrap_err();
    let text = refused(&[], None, "title,colour\na,b\n");
    assert!(text.contains("the column `colour` is no field of `products`, whose fields are `title`, `sku`"), "{text}");
    assert!(text.contains("`--map 'colour=FIELD'`"), "{text}");
    assert!(refused(&[("title", "tilte")], None, "title\na\n").contains("the column `title`"));
    assert!(refused(&[], Some("nr"), "title\na\n").contains("`--key` names `nr`"));
    assert!(refused(&[], None, "title,sku\na\n").contains("the row in line 2 has 1 cells, but the header row has 2"));
}

#[test]
fn json_arrays_hold_items_or_plain_objects() {
    let plain =
        r#"[{"title": "a", "sku": "s", "id": null}, {"Title": "b", "price.amount": 2, "price.currency": "EUR"}]"#;
    let found = items(Rows::Json, &options(&[], Some("sku")), plain).unwrap();
    let expected = [
        json!({ "key": "s", "id": null, "attributes": { "title": "a", "sku": "s" } }),
        json!({ "attributes": { "title": "b", "price": { "amount": 2, "currency": "EUR" } } }),
    ];
    assert_eq!(found, expected);
    let whole = r#"[{"key": "k", "attributes": {"sku": "s"}}, {"attributes": {"sku": "t"}}, 7]"#;
    let found = items(Rows::Json, &options(&[], Some("sku")), whole).unwrap();
    let expected = [
        json!({ "key": "k", "attributes": { "sku": "s" } }),
        json!({ "key": "t", "attributes": { "sku": "t" } }),
        json!(7),
    ];
    assert_eq!(found, expected);
    assert!(items(Rows::Json, &options(&[], None), "{}").unwrap_err().contains("no JSON array of objects"));
}

#[test]
fn names_and_beginnings_tell_what_a_file_holds() {
    for (name, expected) in [
        ("a.csv", Some(Rows::Csv)),
        ("A.CSV.gz", Some(Rows::Csv)),
        ("a.json", Some(Rows::Json)),
        ("a.jsonl.zst", Some(Rows::Ndjson)),
        ("a.txt", None),
        ("-", None),
    ] {
        assert_eq!(Rows::of_name(name), expected, "{name}");
    }
    assert_eq!(Rows::of_beginning(b" \n[1"), Rows::Json);
    assert_eq!(Rows::of_beginning(b"{\"a\":1}"), Rows::Ndjson);
    assert_eq!(Rows::of_beginning(b"title,sku"), Rows::Csv);
    assert_eq!(Rows::of_beginning(b""), Rows::Ndjson);
}
