#![allow(clippy::unwrap_used)]

use std::io::Write as _;

use bindery_model::blueprint::{Blueprint, Definition};
use serde_json::json;

use super::*;
use crate::survey::TableOptions;

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
    let table = TableOptions { delimiter: None, order: None, max_bytes: 1 << 20 };
    let (list_separator, key) = ("|".to_owned(), key.map(str::to_owned));
    RowOptions { blueprint, map, list_separator, key, publish: None, table }
}

/// Returns the results for a file: items, and texts for broken rows.
fn items(rows: Rows, options: &RowOptions, text: &str) -> Result<Vec<Value>, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (rows, mut source) = Source::open(file.path(), Some(rows)).unwrap();
    let read = Items::of(rows, options, &mut source).map_err(|error| error.to_string())?;
    let mut items = Vec::new();
    let mut emit = |item: Item| {
        items.push(match item.line {
            Ok(line) => {
                assert!(!line.contains(&b'\n'));
                serde_json::from_slice(&line).unwrap_or_else(|_| Value::from(String::from_utf8(line).unwrap()))
            }
            Err(message) => Value::from(format!("line {}: {message}", item.place)),
        });
        true
    };
    read.each(options, source.reader().unwrap(), &mut emit).map_err(|error| error.to_string())?;
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
    assert!(refused(&[], None, "title,sku,title\na\n").contains("two columns have the name `title`"));
    assert!(
        refused(&[], None, "In Stock,sku,in_stock\na\n")
            .contains("the columns `In Stock` and `in_stock` mean the same")
    );
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
fn a_broken_row_does_not_stop_the_others() {
    let found = items(Rows::Csv, &options(&[], None), "title,sku\na\n\"b\"c,d\ne,f,\n,\ng,h,i\n").unwrap();
    let broken = |line: u64, text: &str| json!(format!("line {line}: {text}"));
    let expected = [
        broken(2, "the row has 1 cells, but the header row has 2"),
        broken(3, "a quote within a quoted cell is not doubled, or a quote is not closed"),
        json!({ "attributes": { "title": "e", "sku": "f" } }),
        broken(6, "the row has 3 cells, but the header row has 2"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn numbers_and_money_are_read_in_the_form_of_their_column() {
    let read = |csv: &str| {
        let mut read = Vec::new();
        for mut item in items(Rows::Csv, &options(&[], None), csv).unwrap() {
            let attributes = item["attributes"].take();
            read.push((attributes["weight"].clone(), attributes["price"]["amount"].clone()));
        }
        read
    };
    // The meaning of `1.299` is revealed by another cell of the column, by another column, or by the delimiter.
    assert_eq!(read("weight;price\n1.299;1\n2,5;2 EUR\n"), [(json!(1299), json!(1)), (json!(2.5), json!(2))]);
    assert_eq!(read("weight,price\n1.299,\"1,50 €\"\n"), [(json!(1299), json!(1.5))]);
    assert_eq!(read("weight;price\n1.299;485.90 EUR\n"), [(json!(1.299), json!(485.9))]);
    assert_eq!(read("weight;price\n1.299;1\n"), [(json!(1299), json!(1))]);
    assert_eq!(read("weight,price\n1.299,1\n"), [(json!(1.299), json!(1))]);
    // A column may contain both notations if each cell has only one meaning.
    assert_eq!(read("weight;price\n0,5;1.299,00 €\n0.25;485.90 EUR\n")[1], (json!(0.25), json!(485.9)));
}
