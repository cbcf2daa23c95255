//! The OpenAPI 3.1 description of the API (`API.md` 4.12): every route, and the schemas of the blueprints that a token
//! sees. A test compares it with the router.

mod by_blueprint;
mod fields;
mod parameters;
mod schemas;
mod services;
mod shape;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::{AUTHORIZATION, VARY};
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::response::IntoResponse;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use bindery_query::{RawParams, strict};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::{OnceCell, Semaphore};

use crate::answer::respond::{self, VARY_BY_TOKEN};
use crate::app::App;
use crate::error::Answer;
use crate::observe::operation::{Body, Operation, Request};
use crate::observe::operations;
use crate::request::head::{authorize, is_by_session};

/// The greatest number of bytes of kept descriptions, in addition to the last one.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The approximate memory of a description's list of blueprints. A server has some thousands of blueprints at most.
const ENTRY_BYTES: usize = 16 << 10;

/// The most recently requested descriptions.
static KEPT: Mutex<Vec<Description>> = Mutex::new(Vec::new());

/// The permit for making a description, one at a time.
static MAKING: Semaphore = Semaphore::const_new(1);

/// A description, and its blueprints.
struct Description {
    blueprints: Vec<Arc<Blueprint>>,
    text: Arc<OnceCell<Bytes>>,
}

/// Descriptions of more blueprints have only the general paths: with paths for 2,000 blueprints they would be ten times
/// as large.
const MAX_WITH_PATHS: usize = 200;

/// The descriptions of error statuses, in addition to the codes of `API.md` 7.
const ERRORS: [(u16, &str); 14] = [
    (400, "The body is not JSON."),
    (401, "The token is missing, unknown, expired or revoked."),
    (403, "The token lacks an ability, which the message names."),
    (404, "There is no such blueprint, resource, token or member, or the token may not see it."),
    (409, "The change conflicts with what is stored, or with another change."),
    (410, "Changes after this number are no longer kept."),
    (412, "`If-Match` names another version."),
    (413, "The body is too large."),
    (415, "The body has another type."),
    (416, "The range begins behind the end of the file."),
    (422, "A parameter or the body is not valid; the message and `fields` say what would be."),
    (429, "Too many requests; `Retry-After` says when to go on."),
    (500, "The server failed; its log has the cause."),
    (503, "The server is overloaded, or stops; nothing was applied. `Retry-After` says when to try again."),
];

/// `GET /v2/openapi.json`. Without a token it describes resources in general.
pub(crate) async fn describe(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Answer {
    let params = RawParams::parse(query.as_deref().unwrap_or_default());
    strict::check(&params, &["blueprints"])?;
    let mut blueprints = Vec::new();
    if headers.contains_key(AUTHORIZATION) || is_by_session(&headers) {
        let access = authorize(&app, &Method::GET, &extensions, &headers)?;
        // A token that may read no blueprint sees none.
        blueprints = app.content.list_blueprints(&access).unwrap_or_default();
    }
    if let Some(asked) = params.single("blueprints")? {
        blueprints = chosen(asked, &blueprints)?;
    }
    let description = description_of(blueprints).await?;
    Ok(([(VARY, VARY_BY_TOKEN)], respond::json(StatusCode::OK, description)).into_response())
}

/// Returns the requested blueprints.
///
/// # Errors
/// `INVALID_PARAMETER` for a blueprint that the token does not see, with the same message whether or not it exists.
fn chosen(asked: &str, blueprints: &[Arc<Blueprint>]) -> Result<Vec<Arc<Blueprint>>, Error> {
    let asked: BTreeSet<&str> = asked.split(',').collect();
    let find = |slug: &&str| {
        let found = blueprints.iter().find(|blueprint| blueprint.slug == *slug).cloned();
        let message =
            || format!("`blueprints` lists slugs of blueprints that the token sees, and {} is none", quote(slug));
        found.ok_or_else(|| Error::new(Code::InvalidParameter, message()))
    };
    asked.iter().map(find).collect()
}

/// Returns the description with these blueprints: a kept one, or a new one, made on a thread that may block. Making it
/// takes a good part of a second with thousands of blueprints, so requests that arrive meanwhile wait for the same
/// result.
async fn description_of(blueprints: Vec<Arc<Blueprint>>) -> Result<Bytes, Error> {
    let text = kept(&blueprints);
    let make = async || {
        let _turn = MAKING.acquire().await.map_err(Error::internal)?;
        let making = tokio::task::spawn_blocking(move || make(&blueprints));
        making.await.map(Bytes::from).map_err(Error::internal)
    };
    text.get_or_try_init(make).await.cloned()
}

/// Returns the cell of the description for these blueprints. The most recently used is first. Blueprints are compared
/// by address, so a changed one is another one.
fn kept(blueprints: &[Arc<Blueprint>]) -> Arc<OnceCell<Bytes>> {
    let is_for_them = |kept: &Description| {
        let mut pairs = kept.blueprints.iter().zip(blueprints);
        kept.blueprints.len() == blueprints.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
    };
    let mut all = KEPT.lock();
    let description = match all.iter().position(is_for_them) {
        Some(position) => all.remove(position),
        None => Description { blueprints: blueprints.to_vec(), text: Arc::default() },
    };
    let text = Arc::clone(&description.text);
    all.insert(0, description);
    let mut bytes = 0;
    all.retain(|description| {
        let is_within = bytes <= MAX_KEPT_BYTES;
        bytes += ENTRY_BYTES + description.text.get().map_or(0, Bytes::len);
        is_within
    });
    text
}

fn make(blueprints: &[Arc<Blueprint>]) -> String {
    let mut schemas = general_schemas();
    let has_paths = have_paths(blueprints);
    let own = blueprints.iter().flat_map(|blueprint| by_blueprint::schemas(blueprint, &schemas, has_paths));
    let own: Vec<(String, Value)> = own.collect();
    schemas.extend(own);
    document(schemas, blueprints).to_string()
}

/// Returns the schemas that do not depend on blueprints, by name.
pub fn general_schemas() -> Map<String, Value> {
    schemas::general()
}

/// Is true if a description of these blueprints has paths for each.
fn have_paths(blueprints: &[Arc<Blueprint>]) -> bool {
    (1..=MAX_WITH_PATHS).contains(&blueprints.len())
}

fn document(schemas: Map<String, Value>, blueprints: &[Arc<Blueprint>]) -> Value {
    let has_own_paths = have_paths(blueprints);
    let mut tags: Vec<(&str, &str)> = operations::TAGS.into();
    let mut paths = Map::new();
    if has_own_paths {
        tags.retain(|(name, _)| *name != "Bulk");
        tags.splice(0..0, blueprints.iter().map(|blueprint| (blueprint.slug.as_str(), blueprint.name.as_str())));
        let names = by_blueprint::names(blueprints.iter().map(|blueprint| blueprint.slug.as_str()));
        paths.extend(blueprints.iter().zip(&names).flat_map(|(blueprint, name)| by_blueprint::paths(blueprint, name)));
    }
    for operation in operations::all() {
        // An address with a slash at its end is a second form of the one without, which linters report.
        let is_other_form = operation.path.ends_with('/') && operation.path.len() > 1;
        let is_replaced = has_own_paths && by_blueprint::is_replaced(operation.path);
        if !(is_other_form || is_replaced) {
            let path = paths.entry(operation.path).or_insert_with(|| json!({}));
            path[operation.method] = operation.describe();
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bindery",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A headless content server.",
            "description": "API.md in the repository is the whole contract. What is described here is generated by the running server.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "session": [] }],
        "tags": tags.iter().map(|(name, description)| json!({ "name": name, "description": description })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": "bindery_session" },
            },
            "parameters": parameters::parameters(blueprints),
            "responses": error_responses(),
            "schemas": schemas,
        },
    });
    remove_unused(&mut document);
    document
}

/// Removes the general components that no path refers to. The schemas of blueprints stay, because without paths nothing
/// refers to them.
fn remove_unused(document: &mut Value) {
    let mut used = BTreeSet::new();
    let mut open = vec![&document["paths"]];
    while let Some(part) = open.pop() {
        match part {
            Value::Object(object) => open.extend(object.values()),
            Value::Array(parts) => open.extend(parts),
            Value::String(text) if text.starts_with("#/components/") && !used.contains(text) => {
                open.extend(document.pointer(&text[1..]));
                used.insert(text.clone());
            }
            _ => {}
        }
    }
    for kind in ["parameters", "responses", "schemas"] {
        if let Some(components) = document["components"][kind].as_object_mut() {
            components.retain(|name, _| name.contains('.') || used.contains(&format!("#/components/{kind}/{name}")));
        }
    }
}

fn error_responses() -> Map<String, Value> {
    let response = |(status, description): (u16, &str)| {
        let mut response = json!({
            "description": description,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorBody" } } },
        });
        let header = match status {
            401 => Some("WWW-Authenticate"),
            429 | 503 => Some("Retry-After"),
            _ => None,
        };
        if let Some(header) = header {
            response["headers"] = json!({ header: { "schema": { "type": "string" } } });
        }
        (status.to_string(), response)
    };
    ERRORS.into_iter().map(response).collect()
}

fn parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

impl Operation {
    /// Returns the operation's own parameters, and `strict` on every read.
    fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().copied().chain((self.method == "get").then_some("strict"))
    }

    fn describe(&self) -> Value {
        let mut description = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "parameters": self.parameters().map(parameter).collect::<Vec<_>>(),
            "responses": self.responses(),
        });
        match self.ability {
            "" => description["security"] = json!([{}]),
            "session" => description["description"] = "For signed-in members.".into(),
            ability => description["description"] = format!("Needs the ability `{ability}`.").into(),
        }
        let content = match self.request {
            Request::None => return description,
            Request::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
            Request::Event => json_or_text("Event"),
            Request::Click => json_or_text("Click"),
            Request::Text(media_type) => json!({ media_type: { "schema": { "type": "string" } } }),
            Request::Form { has_attributes } => json!({ "multipart/form-data": { "schema": form(has_attributes) } }),
        };
        description["requestBody"] = json!({ "required": true, "content": content });
        description
    }

    fn responses(&self) -> Map<String, Value> {
        let mut responses = Map::new();
        for (status, body) in self.answers {
            let mut response = json!({ "description": meaning(*status) });
            if let Some((media_type, schema)) = body.content() {
                response["content"] = json!({ media_type: { "schema": schema } });
            }
            responses.insert(status.to_string(), response);
        }
        for (status, _) in ERRORS {
            if self.may_fail_with(status) {
                responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{status}") }));
            }
        }
        responses
    }

    fn may_fail_with(&self, status: u16) -> bool {
        let (has_body, has_token) = (!matches!(self.request, Request::None), !self.ability.is_empty());
        let by_its_kind = match status {
            400 | 413 | 415 => has_body,
            401 | 403 => has_token,
            404 => self.path.contains('{'),
            422 => has_body || self.parameters().next().is_some(),
            429 | 500 | 503 => true,
            _ => false,
        };
        by_its_kind || self.errors.contains(&status)
    }
}

impl Body {
    fn content(&self) -> Option<(&'static str, Value)> {
        let data = |schema: Value| json!({ "type": "object", "required": ["data"], "properties": { "data": schema } });
        Some(match self {
            Body::None => return None,
            Body::Data(schema) => ("application/json", data(reference(schema))),
            Body::DataList(schema) => {
                ("application/json", data(json!({ "type": "array", "items": reference(schema) })))
            }
            Body::Json(schema) => ("application/json", reference(schema)),
            Body::JsonList(schema) => ("application/json", json!({ "type": "array", "items": reference(schema) })),
            Body::Text(media_type) => (media_type, json!({ "type": "string" })),
            Body::Binary => ("*/*", json!({})),
        })
    }
}

/// Returns the content of a request that pages send as JSON or as text, which needs no preflight.
fn json_or_text(schema: &str) -> Value {
    json!({
        "application/json": { "schema": reference(schema) },
        "text/plain": { "schema": { "type": "string", "description": "The same as JSON text." } },
    })
}

/// Returns the schema of the form of an upload.
fn form(has_attributes: bool) -> Value {
    let file = json!({ "type": "string", "contentMediaType": "application/octet-stream", "description": "The file." });
    let mut schema = json!({ "type": "object", "required": ["file"], "properties": { "file": file } });
    if has_attributes {
        schema["properties"]["attributes"] =
            json!({ "type": "object", "additionalProperties": true, "description": "The attributes, as JSON text." });
        schema["properties"]["published_at"] =
            json!({ "type": "string", "format": "date-time", "description": "The publication date." });
    }
    schema
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done.",
        201 => "Created.",
        202 => "Accepted.",
        204 => "Done; there is nothing to say.",
        206 => "A part of the file.",
        207 => "Some items failed; the others are applied.",
        304 => "The client has the current version.",
        _ => "",
    }
}

#[cfg(test)]
pub(crate) fn described() -> Vec<(&'static str, &'static str)> {
    operations::all().map(|operation| (operation.method, operation.path)).collect()
}
