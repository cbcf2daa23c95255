//! Converts OpenAPI schemas to TypeScript types. Must not know the schemas.

use serde_json::{Map, Value};

/// Returns a declaration for each schema, in order.
pub(super) fn declarations(schemas: &Map<String, Value>) -> String {
    schemas.iter().map(|(name, schema)| declaration(name, schema)).collect::<Vec<_>>().join("\n")
}

fn declaration(name: &str, schema: &Value) -> String {
    let doc = schema["description"].as_str().map(|text| format!("/** {text} */\n")).unwrap_or_default();
    match schema["properties"].as_object() {
        Some(properties) if schema["type"] == "object" => {
            format!("{doc}export interface {name} {}\n", object(schema, properties, ""))
        }
        _ => format!("{doc}export type {name} = {};\n", type_of(schema, "")),
    }
}

/// Returns the type of a schema. `indent` is the indentation of its first line.
fn type_of(schema: &Value, indent: &str) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(|choice| type_of(choice, indent)).collect::<Vec<_>>().join(" | ");
    }
    match &schema["type"] {
        Value::String(kind) => of_kind(kind, schema, indent),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| of_kind(kind, schema, indent)).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn of_kind(kind: &str, schema: &Value, indent: &str) -> String {
    match kind {
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let items = type_of(&schema["items"], indent);
            if items.contains(" | ") && !items.ends_with('}') { format!("({items})[]") } else { format!("{items}[]") }
        }
        "object" => match (schema["properties"].as_object(), &schema["additionalProperties"]) {
            (Some(properties), _) => object(schema, properties, indent),
            (None, values @ Value::Object(_)) => format!("Record<string, {}>", type_of(values, indent)),
            (None, _) => "Record<string, unknown>".to_owned(),
        },
        // The other types have the same names in both: strings, booleans and null.
        same => same.to_owned(),
    }
}

/// Returns an object type, with a line for each key.
fn object(schema: &Value, properties: &Map<String, Value>, indent: &str) -> String {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let inner = format!("{indent}  ");
    let mut out = String::from("{\n");
    for (key, property) in properties {
        let mark = if required.iter().any(|name| name == key) { "" } else { "?" };
        if let Some(text) = property["description"].as_str() {
            out.push_str(&format!("{inner}/** {text} */\n"));
        }
        out.push_str(&format!("{inner}{key}{mark}: {};\n", type_of(property, &inner)));
    }
    out.push_str(indent);
    out.push('}');
    out
}
