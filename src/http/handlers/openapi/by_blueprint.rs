//! The paths of each blueprint, with its own schemas in their bodies, from which generated clients get their types.
//! They are the general operations on resources with some parts replaced. Must not know how operations are described.

use std::collections::BTreeSet;

use bindery_model::blueprint::{Blueprint, BlueprintKind, Field};
use serde_json::{Map, Value, json};

use super::fields;
use super::shape::{self, reference};
use crate::observe::operation::Operation;
use crate::observe::operations;

/// The path of the general operations on resources.
const RESOURCES: &str = "/v2/resources/{blueprint}";

/// The general schemas that are replaced: name, the suffix of the blueprint's own schema, and its attributes schema.
const PARTS: [(&str, &str, &str); 9] = [
    ("Resource", "resource", "attributes"),
    ("ResourceList", "list", "attributes"),
    ("ResourceAnswer", "answer", "attributes"),
    ("ResourceWritten", "written", "attributes"),
    ("Neighbors", "neighbors", "attributes"),
    ("ResourceCreate", "create", "write"),
    ("ResourceChange", "update", "change"),
    ("BulkCreate", "bulk-create", "write"),
    ("BulkChange", "bulk-update", "change"),
];

/// Is true if the general description of these operations is replaced by those of blueprints.
pub(super) fn is_replaced(path: &str) -> bool {
    path.starts_with(RESOURCES)
}

/// Returns the schemas of a blueprint, by name: the general ones with its attributes. Without paths, the schemas of
/// request and response bodies are left out.
pub(super) fn schemas(blueprint: &Blueprint, general: &Map<String, Value>, has_paths: bool) -> Vec<(String, Value)> {
    let mut schemas = fields::schemas(blueprint);
    let parts = if has_paths { &PARTS[..] } else { &PARTS[..2] };
    let is_used = |(name, ..): &(&str, &str, &str)| *name != "BulkCreate" || takes_creates(blueprint);
    for (name, part, attributes) in parts.iter().copied().filter(is_used) {
        let mut schema = general[name].clone();
        replace_references(&mut schema, &blueprint.slug, attributes);
        if part == "resource" {
            // All keys are required: only `fields` and `exclude` leave keys out, and their caller knows which.
            schema["required"] =
                json!(["id", "type", "published_at", "created_at", "updated_at", "attributes", "relationships"]);
        }
        schemas.push((format!("{}.{part}", blueprint.slug), schema));
    }
    if has_paths && blueprint.working_copy {
        let attributes = reference(&format!("{}.change", blueprint.slug));
        schemas.push((working(blueprint), shape::object([("attributes", attributes)])));
    }
    schemas
}

/// Returns the name of the schema of a `PUT` of a working copy, which may lack required attributes.
fn working(blueprint: &Blueprint) -> String {
    format!("{}.working", blueprint.slug)
}

/// Returns a name for identifiers for each blueprint: `ContactMessages` for `contact-messages`. Equal names get
/// numbers.
pub(super) fn names<'a>(slugs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut name_of = |slug: &str| {
        let words = slug.split(['-', '_']).filter(|word| !word.is_empty());
        let name: String = words.map(|word| format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..])).collect();
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        free
    };
    slugs.map(&mut name_of).collect()
}

/// Returns the paths of a blueprint. `name` is its name for identifiers.
pub(super) fn paths(blueprint: &Blueprint, name: &str) -> Map<String, Value> {
    let mut paths = Map::new();
    for operation in operations::all().filter(|operation| is_accepted(operation, blueprint)) {
        if let Some(rest) = operation.path.strip_prefix(RESOURCES) {
            let path = paths.entry(format!("/v2/resources/{}{rest}", blueprint.slug)).or_insert_with(|| json!({}));
            path[operation.method] = describe(operation, blueprint, name);
        }
    }
    paths
}

/// Is false for operations that the server refuses for every resource of the blueprint.
fn is_accepted(operation: &Operation, blueprint: &Blueprint) -> bool {
    match operation.id {
        "createResource" | "createResources" => takes_creates(blueprint),
        // The resource of a singular blueprint stays, but its working copy can be discarded.
        "deleteResource" => blueprint.kind != BlueprintKind::Singular || blueprint.working_copy,
        "deleteResources" => blueprint.kind != BlueprintKind::Singular,
        _ => true,
    }
}

/// Is false for a singular blueprint, which has its resource already, and for media, whose resources come from uploads.
fn takes_creates(blueprint: &Blueprint) -> bool {
    !matches!(blueprint.kind, BlueprintKind::Singular | BlueprintKind::Media)
}

fn describe(operation: &Operation, blueprint: &Blueprint, name: &str) -> Value {
    let mut description = operation.describe();
    description["operationId"] = format!("{}{name}", verb(operation.id)).into();
    description["tags"] = json!([blueprint.slug]);
    description["parameters"] = parameters(operation, blueprint).into();
    for part in ["requestBody", "responses"] {
        if let Some(part) = description.get_mut(part) {
            replace_references(part, &blueprint.slug, "attributes");
        }
    }
    if operation.id == "replaceResource" && blueprint.working_copy {
        // A schema cannot depend on the parameter `copy`, so the body has either form.
        let schema = &mut description["requestBody"]["content"]["application/json"]["schema"];
        *schema = json!({ "anyOf": [schema.take(), reference(&working(blueprint))] });
    }
    if let Some(example) = example(operation, blueprint) {
        description["requestBody"]["content"]["application/json"]["example"] = example;
    }
    description
}

/// Returns the word with which the identifier of an operation begins.
fn verb(id: &str) -> String {
    let verb = match id {
        "listResources" => "list",
        "createResource" => "create",
        "getResource" => "get",
        "replaceResource" => "replace",
        "changeResource" => "update",
        "deleteResource" => "delete",
        "exportResources" => "export",
        "importResources" => "import",
        "createResources" => "bulkCreate",
        "changeResources" => "bulkUpdate",
        "deleteResources" => "bulkDelete",
        "publishResources" => "bulkPublish",
        "unpublishResources" => "bulkUnpublish",
        "listReferrers" => "listReferrersOf",
        "findNeighbors" => "findNeighborsOf",
        other => return format!("{other}Of"),
    };
    verb.to_owned()
}

/// Returns the parameters that have an effect for this blueprint, with its variants and related blueprints.
fn parameters(operation: &Operation, blueprint: &Blueprint) -> Vec<Value> {
    let query = |name: &str, schema: Value, about: &str| json!({ "in": "query", "name": name, "required": false, "schema": schema, "description": about });
    let variants: Vec<&str> = blueprint.variants.iter().map(|variant| variant.slug.as_str()).collect();
    let related: BTreeSet<&str> = blueprint.fields.iter().filter_map(Field::related_blueprint).collect();
    let mut parameters = Vec::new();
    for name in operation.parameters() {
        match name {
            "blueprint" => {}
            "variant" | "fallback" | "fallback_mode" if variants.is_empty() => {}
            "copy" if !blueprint.working_copy => {}
            "expand" | "fields-of" if related.is_empty() => {}
            "variant" => {
                parameters.push(query(name, json!({ "type": "string", "enum": variants }), "The variant to use."));
            }
            "fallback" => {
                let about = "The variant whose values stand in for nulls.";
                parameters.push(query(name, json!({ "type": "string", "enum": variants }), about));
            }
            "fields-of" => parameters.extend(related.iter().map(|slug| {
                let about = format!("The keys to answer of the resources of `{slug}` in `included`.");
                query(&format!("fields[{slug}]"), json!({ "type": "string" }), &about)
            })),
            _ => parameters.push(super::parameter(name)),
        }
    }
    parameters
}

/// Returns an example body. The server accepts it, unless a required relation has to name an existing resource.
fn example(operation: &Operation, blueprint: &Blueprint) -> Option<Value> {
    let is_related = |field: &&Field| field.related_blueprint().is_some();
    let mut shown: Vec<&Field> = blueprint.fields.iter().filter(|field| field.required).collect();
    if shown.is_empty() {
        shown.extend(blueprint.fields.iter().find(|field| !is_related(field)));
    }
    let attributes: Map<String, Value> =
        shown.into_iter().map(|field| (field.slug.clone(), fields::example(&field.field_type))).collect();
    match operation.id {
        "createResource" | "replaceResource" | "changeResource" => Some(json!({ "attributes": attributes })),
        "createResources" => Some(json!({ "resources": [{ "attributes": attributes }] })),
        _ => None,
    }
}

/// Makes references to general schemas point to those of a blueprint.
fn replace_references(schema: &mut Value, slug: &str, attributes: &str) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get("$ref") {
                let name = target.rsplit('/').next().unwrap_or_default();
                let part = match name {
                    "Attributes" => Some(attributes),
                    _ => PARTS.iter().find(|(general, ..)| *general == name).map(|(_, part, _)| *part),
                };
                if let Some(part) = part {
                    *schema = reference(&format!("{slug}.{part}"));
                }
                return;
            }
            object.values_mut().for_each(|part| replace_references(part, slug, attributes));
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| replace_references(part, slug, attributes)),
        _ => {}
    }
}
