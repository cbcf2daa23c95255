//! `bindery types typescript`: types of the existing blueprints with a small client, or types of the API itself. Must
//! not know the meaning of a value, only its shape.

mod shapes;

use bindery_config::TypesArgs;
use bindery_http::general_schemas;
use bindery_query::{OPERATORS, Operand};
use serde_json::Value;

use super::blueprint::on_site;
use super::error::CliError;
use super::output::print;

/// The part that does not depend on blueprints.
const CLIENT: &str = include_str!("types/client.ts");

/// The line of the client that the operators replace.
const OPERATORS_HERE: &str = "  // The operators.\n";

/// A search client for InstantSearch, which is built on the client.
const INSTANTSEARCH: &str = include_str!("types/instantsearch.ts");

/// The line of the search client that the fields replace.
const FIELDS_HERE: &str = "  // The fields.\n";

pub(super) async fn types(args: TypesArgs) -> Result<(), CliError> {
    if args.api {
        print(api().trim_end());
        return Ok(());
    }
    let blueprints = on_site(&args.server, async |site| site.blueprints().await).await?;
    print(typescript(blueprints.values()).trim_end());
    Ok(())
}

/// Returns a module with the types of the API's requests and answers, independent of blueprints.
fn api() -> String {
    let mut out = String::from(
        "// What the API of a Bindery server takes and answers. Made by `bindery types typescript --api`; do not edit.\n\n",
    );
    out.push_str(&shapes::declarations(&general_schemas()));
    out
}

/// Returns a module with the types of these blueprints, and a client.
fn typescript<'a>(blueprints: impl Iterator<Item = &'a Value>) -> String {
    let mut out = String::from(
        "// The blueprints of a Bindery server, and a client. Made by `bindery types typescript`; do not edit.\n\n",
    );
    let blueprints: Vec<&Value> = blueprints.collect();
    let slugs: Vec<&Value> = blueprints.iter().map(|blueprint| &blueprint["slug"]).collect();
    out.push_str("/** What resources consist of, by the slug of their blueprint. */\nexport interface Blueprints {\n");
    for blueprint in &blueprints {
        push_blueprint(&mut out, blueprint, &slugs);
    }
    out.push_str("}\n\n");
    out.push_str(&CLIENT.replace(OPERATORS_HERE, &operators()));
    out.push_str(&INSTANTSEARCH.replace(FIELDS_HERE, &fields(&blueprints)));
    out
}

/// Returns the types of fields as properties by blueprint, which the search client reads while it runs.
fn fields(blueprints: &[&Value]) -> String {
    let mut out = String::new();
    for blueprint in blueprints {
        out.push_str(&format!("  {}: {{\n", blueprint["slug"]));
        for field in blueprint["fields"].as_array().into_iter().flatten() {
            let related = match &field["settings"]["blueprint"] {
                Value::Null => String::new(),
                slug => format!(", {slug}"),
            };
            out.push_str(&format!("    {}: [{}{related}],\n", field["slug"], field["type"]));
        }
        out.push_str("  },\n");
    }
    out
}

/// Returns the operators of filters as properties, whose values have the type `V`.
fn operators() -> String {
    let mut out = String::new();
    for operator in OPERATORS {
        let value = match operator.operand {
            Operand::Value | Operand::Text => "V",
            Operand::List => "List<V>",
            Operand::Pair => "string | readonly [V, V]",
            Operand::Boolean => "boolean",
        };
        for name in operator.names() {
            out.push_str(&format!("  {name}?: {value} | undefined;\n"));
        }
    }
    out
}

fn push_blueprint(out: &mut String, blueprint: &Value, slugs: &[&Value]) {
    let fields: Vec<&Value> = blueprint["fields"].as_array().into_iter().flatten().collect();
    let variants = union(blueprint["variants"].as_array().into_iter().flatten().map(|variant| &variant["slug"]));
    out.push_str(&format!("  {}: {{\n    attributes: {{\n", blueprint["slug"]));
    for field in &fields {
        out.push_str(&format!("      {}: {} | null;\n", field["slug"], answered(field)));
    }
    out.push_str("    };\n    write: {\n");
    // The focal point is the only one of the server's fields that a client may change.
    let is_writable = |field: &Value| ["focal_x", "focal_y"].iter().any(|slug| field["slug"] == *slug);
    let is_set_by_uploads = |field: &Value| field["system"] == true && !is_writable(field);
    for field in fields.iter().filter(|field| !is_set_by_uploads(field)) {
        let is_required = field["required"] == true;
        let (mark, null) = if is_required { ("", "") } else { ("?", " | null") };
        out.push_str(&format!("      {}{mark}: {}{null};\n", field["slug"], written(field)));
    }
    let instants = union(fields.iter().filter(|field| field["type"] == "datetime").map(|field| &field["slug"]));
    out.push_str(&format!("    }};\n    instants: {instants};\n    variants: {variants};\n    relations: {{\n"));
    for field in &fields {
        // A token that is limited to some blueprints cannot expand relations to others.
        let related = &field["settings"]["blueprint"];
        if slugs.contains(&related) {
            out.push_str(&format!("      {}: {related};\n", field["slug"]));
        }
    }
    out.push_str("    };\n  };\n");
}

/// Returns the type of a field's value in answers.
fn answered(field: &Value) -> String {
    let settings = &field["settings"];
    let values = || match settings["values"].as_array().filter(|values| !values.is_empty()) {
        Some(values) => union(values.iter()),
        None => "string".to_owned(),
    };
    match field["type"].as_str().unwrap_or_default() {
        "boolean" => "boolean".to_owned(),
        "number" | "duration" | "user" => "number".to_owned(),
        "enum" => values(),
        "multi-enum" => format!("({})[]", values()),
        "references" => "string[]".to_owned(),
        "money" => {
            let currencies = settings["currencies"].as_array().filter(|currencies| !currencies.is_empty());
            let currency = currencies.map_or_else(|| "string".to_owned(), |known| union(known.iter()));
            format!("{{ amount: number; currency: {currency} }}")
        }
        "address" => {
            "{ street: string | null; postal_code: string | null; city: string | null; country: string | null }"
                .to_owned()
        }
        "html-page" => "{ html: string; css: string; blocks: Record<string, unknown>[] }".to_owned(),
        _ => "string".to_owned(),
    }
}

/// Returns the type of a field's value in requests. Parts that the server fills may be left out.
fn written(field: &Value) -> String {
    match field["type"].as_str() {
        Some("address" | "html-page") => format!("Partial<{}>", answered(field)),
        _ => answered(field),
    }
}

/// Returns texts as a union; `never` without texts. JSON strings are valid TypeScript strings.
fn union<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let values: Vec<String> = values.map(Value::to_string).collect();
    if values.is_empty() { "never".to_owned() } else { values.join(" | ") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_client_has_every_operator() {
        assert!(super::typescript(std::iter::empty()).contains(&super::operators()));
    }

    #[test]
    fn the_dashboard_has_the_types_of_this_api() {
        let kept = include_str!("../../dashboard/src/lib/apiTypes.ts");
        assert!(
            kept == super::api(),
            "make them anew: cargo run -- types typescript --api > dashboard/src/lib/apiTypes.ts"
        );
    }
}
