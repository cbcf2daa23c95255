//! Reading one line of an import into an item.

use serde_json::{Map, Value};

use crate::content::command::{CopyDraft, Extent, Faults, ImportItem, Item, Missing};
use crate::content::prepare::{self, Workbench, into_object, kind_of, unknown_keys};
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::json;
use crate::model::value::Relations;

/// Reads one line into an item.
pub(super) fn prepare_line(bench: Workbench<'_>, line: &[u8]) -> Item {
    let read = json::parse(line).and_then(into_object).and_then(|body| read_item(bench, &body));
    match read {
        Ok(item) => Item::Import(item),
        Err(error) => Item::Refused(error),
    }
}

fn read_item(bench: Workbench<'_>, body: &Map<String, Value>) -> Result<ImportItem> {
    let known = ["key", "id", "published_at", "created_at", "updated_at", "attributes", "variants"];
    let mut faults = unknown_keys(body, &known, &["type", "relationships"]);
    let key = read_key(body.get("key"), &mut faults);
    let id = read_id(body.get("id"), &mut faults);
    let published = prepare::publication(body, &mut faults);
    let created = read_date(body, "created_at", &mut faults);
    let updated = read_date(body, "updated_at", &mut faults);
    let copies = read_copies(bench, body, &mut faults);
    faults.extend(copies.iter().flat_map(|copy| copy.faults.clone()));
    if !faults.is_empty() {
        return Err(Error::validation(faults));
    }
    Ok(ImportItem { key, id, copies, published, created, updated, missing: Missing::Wait })
}

fn read_key(value: Option<&Value>, faults: &mut Faults) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(key)) if (1..=1024).contains(&key.chars().count()) => Some(key.clone()),
        Some(_) => {
            faults.push(("key".to_owned(), vec!["must be a string of 1 to 1,024 characters".to_owned()]));
            None
        }
    }
}

fn read_id(value: Option<&Value>, faults: &mut Faults) -> Option<ResourceId> {
    let value = value.filter(|value| !value.is_null())?;
    let id = value.as_str().and_then(ResourceId::parse);
    if id.is_none() {
        let text = "must be a resource id as the server answers it: a UUID in lower case with hyphens";
        faults.push(("id".to_owned(), vec![text.to_owned()]));
    }
    id
}

fn read_date(body: &Map<String, Value>, key: &str, faults: &mut Faults) -> Option<i64> {
    let value = body.get(key).filter(|value| !value.is_null())?;
    prepare::date(value).map_err(|fault| faults.push((key.to_owned(), vec![fault]))).ok()
}

/// The copies of `attributes` (the requested variant's) or of `variants`, each whole.
fn read_copies(bench: Workbench<'_>, body: &Map<String, Value>, faults: &mut Faults) -> Vec<CopyDraft> {
    match (body.get("attributes"), body.get("variants")) {
        (Some(_), Some(_)) => {
            let text = "cannot stand beside `attributes`: an item has the one or the other";
            faults.push(("variants".to_owned(), vec![text.to_owned()]));
            Vec::new()
        }
        (_, Some(Value::Object(variants))) => {
            variants.iter().filter_map(|(slug, value)| read_variant(bench, slug, value, faults)).collect()
        }
        (_, Some(other)) => {
            let text = format!("must be an object of variant slugs and attributes; it is {}", kind_of(other));
            faults.push(("variants".to_owned(), vec![text]));
            Vec::new()
        }
        _ => prepare::copy(bench, body, Extent::Whole, Relations::IdsOrKeys, faults).into_iter().collect(),
    }
}

fn read_variant(bench: Workbench<'_>, slug: &str, value: &Value, faults: &mut Faults) -> Option<CopyDraft> {
    let Some(variant) = bench.blueprint.variant(slug) else {
        let slugs: Vec<&str> = bench.blueprint.variants.iter().map(|variant| variant.slug.as_str()).collect();
        let text = format!("`{slug}` is no variant of this blueprint; variants are {}", prepare::quoted(&slugs));
        faults.push(("variants".to_owned(), vec![text]));
        return None;
    };
    match value {
        Value::Object(attributes) => {
            let bench = Workbench { variant: variant.number, ..bench };
            Some(prepare::copy_of(bench, attributes, Extent::Whole, Relations::IdsOrKeys))
        }
        other => {
            let text = format!("`{slug}` must hold an object of attributes; it is {}", kind_of(other));
            faults.push(("variants".to_owned(), vec![text]));
            None
        }
    }
}
