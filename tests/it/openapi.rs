//! The description of the API (`API.md` 4.12).

use serde_json::{Value, json};

use crate::support::{Server, TYPES};

fn blueprint(server: &Server, slug: &str) {
    let field = |kind: &&str| {
        let settings = if kind.starts_with("reference") { json!({ "blueprint": "all-types" }) } else { json!({}) };
        json!({ "name": kind, "slug": kind.replace('-', "_"), "type": kind, "settings": settings })
    };
    let mut fields: Vec<Value> = TYPES.iter().map(field).collect();
    fields[0]["required"] = json!(true);
    fields[0]["description"] = json!("What it is called.");
    let body = json!({ "name": "All types", "slug": slug, "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
}

#[test]
fn a_token_gets_the_schemas_of_the_blueprints_that_it_sees() {
    let server = Server::start();
    blueprint(&server, "all-types");
    server.blueprint("other", json!([{ "name": "T", "slug": "t", "type": "text" }]));
    let limited = json!({ "name": "l", "abilities": ["view"], "blueprints": ["other"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let of_blueprints = |document: &Value| -> Vec<String> {
        let schemas = document["components"]["schemas"].as_object().unwrap();
        schemas.keys().filter(|name| name.ends_with(".attributes")).cloned().collect()
    };
    let url = format!("{}/v2/openapi.json", server.address());
    let general: Value =
        serde_json::from_str(&ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap()).unwrap();
    assert!(of_blueprints(&general).is_empty());
    let all = server.get("/v2/openapi.json").expect(200).json();
    assert_eq!(of_blueprints(&all), ["all-types.attributes", "other.attributes"]);
    let some = server.as_token(&limited).get("/v2/openapi.json").expect(200).json();
    assert_eq!(of_blueprints(&some), ["other.attributes"]);

    let schemas = &all["components"]["schemas"];
    let attributes = &schemas["all-types.attributes"];
    assert_eq!(attributes["required"].as_array().unwrap().len(), TYPES.len());
    let title = &attributes["properties"]["text"];
    assert_eq!((&title["type"], &title["description"]), (&json!(["string", "null"]), &json!("What it is called.")));
    assert_eq!(schemas["all-types.write"]["required"], json!(["text"]));
    assert_eq!(schemas["all-types.change"].get("required"), None);
}
