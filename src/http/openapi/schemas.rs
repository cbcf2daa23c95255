//! The schemas that do not depend on blueprints. The shapes are those of `API.md`.

use serde_json::{Map, Value, json};

use super::services::{server, sessions, webhooks};
use super::shape::{Schemas, also, count, list_of, map_of, maybe, maybe_time, object, options, reference, text, time};
use crate::model::ability::Ability;
use crate::model::blueprint::{BlueprintKind, FieldType};

/// All of them, by name.
pub(super) fn general() -> Map<String, Value> {
    let all = [
        common(),
        resources(),
        writes(),
        bulk(),
        blueprints(),
        access(),
        sessions(),
        webhooks(),
        server(),
        analytics(),
    ];
    all.into_iter().flatten().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn common() -> Schemas {
    let error = also(
        object([("code", text()), ("message", text())]),
        [
            ("fields", json!({ "type": "object", "additionalProperties": list_of(text()) })),
            ("count", count()),
            ("ids", list_of(text())),
        ],
    );
    vec![
        ("Error", error),
        ("ErrorBody", object([("errors", reference("Error"))])),
        ("Description", json!({ "type": "object", "description": "A document of OpenAPI 3.1." })),
    ]
}

fn resources() -> Schemas {
    let blueprint = object([("data", object([("id", text()), ("type", json!({ "const": "blueprint" }))]))]);
    let resource = options([
        ("id", json!({ "type": "string", "format": "uuid" })),
        ("type", json!({ "const": "resource" })),
        ("published_at", maybe_time()),
        ("created_at", time()),
        ("updated_at", time()),
        (
            "attributes",
            json!({ "type": "object", "description": "Field slug to value; a blueprint has its own schema." }),
        ),
        ("relationships", object([("blueprint", blueprint)])),
        ("highlights", map_of(maybe("string"))),
    ]);
    let page = || json!({ "type": "integer", "minimum": 1 });
    let aggregates = || [("facets", map_of(reference("Facet"))), ("stats", map_of(reference("Stats")))];
    let meta =
        also(object([("per_page", page()), ("total", count())]), [("current_page", page()), ("last_page", page())]);
    let meta = also(meta, aggregates());
    let links =
        object([("first", text()), ("last", maybe("string")), ("prev", maybe("string")), ("next", maybe("string"))]);
    let included = || [("included", list_of(reference("Resource")))];
    let list = also(object([("data", list_of(reference("Resource"))), ("links", links), ("meta", meta)]), included());
    let answer = also(object([("data", reference("Resource"))]), included());
    let referrers = object([("blueprint", text()), ("field", text()), ("total", count()), ("ids", list_of(text()))]);
    let export = also(object([("data", list_of(json!({ "type": "object" })))]), included());
    let export = also(export, [("meta", options(aggregates()))]);
    let neighbor = || json!({ "anyOf": [reference("Resource"), { "type": "null" }] });
    let neighbors = object([
        ("data", object([("previous", neighbor()), ("next", neighbor())])),
        ("meta", object([("position", page()), ("total", page())])),
    ]);
    vec![
        ("Resource", resource),
        ("ResourceList", list),
        ("ResourceAnswer", answer),
        ("Neighbors", neighbors),
        ("Referrers", referrers),
        ("Export", export),
        ("Facet", facet()),
        ("Stats", stats()),
    ]
}

fn facet() -> Value {
    let value = json!({ "type": ["string", "number", "boolean"] });
    object([
        ("values", list_of(object([("value", value), ("count", count())]))),
        ("distinct", count()),
        ("null", count()),
    ])
}

/// Of numbers, or of money by currency.
fn stats() -> Value {
    let number = || json!({ "type": ["number", "null"] });
    let figures = || [("count", count()), ("min", number()), ("max", number()), ("sum", number()), ("avg", number())];
    let of_numbers = also(object([("null", count())]), figures());
    also(of_numbers, [("currencies", map_of(object(figures())))])
}

fn writes() -> Schemas {
    let attributes = || json!({ "type": "object", "description": "Field slug to value." });
    let create = also(object([("attributes", attributes())]), [("published_at", maybe_time())]);
    let change = options([("attributes", attributes()), ("published_at", maybe_time())]);
    let removed = object([("removed", json!({ "type": "object", "additionalProperties": count() }))]);
    let sanitized = json!({ "type": "object", "additionalProperties": removed });
    let written =
        also(object([("data", reference("Resource"))]), [("meta", options([("sanitized", reference("Sanitized"))]))]);
    vec![("ResourceCreate", create), ("ResourceChange", change), ("ResourceWritten", written), ("Sanitized", sanitized)]
}

fn bulk() -> Schemas {
    let up_to_100 = |items: Value| json!({ "type": "array", "items": items, "minItems": 1, "maxItems": 100 });
    let ids = || up_to_100(text());
    let change =
        also(object([("id", text())]), [("attributes", json!({ "type": "object" })), ("published_at", maybe_time())]);
    let applied = || list_of(object([("id", text()), ("index", count())]));
    let failed = list_of(object([("index", count()), ("errors", reference("Error"))]));
    let names = ["created", "updated", "deleted", "published", "unpublished"];
    let (mut data, mut meta) = (object([("failed", failed)]), object([("total", count()), ("failed", count())]));
    for name in names {
        data["properties"][name] = applied();
        meta["properties"][name] = count();
    }
    meta["properties"]["sanitized"] = json!({ "type": "object", "additionalProperties": reference("Sanitized") });
    vec![
        ("BulkCreate", object([("resources", up_to_100(reference("ResourceCreate")))])),
        ("BulkChange", object([("updates", up_to_100(change))])),
        ("BulkIds", object([("ids", ids())])),
        ("BulkPublish", also(object([("ids", ids())]), [("published_at", time())])),
        ("BulkAnswer", object([("data", data), ("meta", meta)])),
    ]
}

fn blueprints() -> Schemas {
    let kinds = BlueprintKind::ALL.map(BlueprintKind::as_str);
    let field = || {
        options([
            ("name", text()),
            ("slug", text()),
            ("type", json!({ "type": "string", "enum": FieldType::NAMES })),
            ("description", maybe("string")),
            ("required", json!({ "type": "boolean" })),
            ("unique", json!({ "type": "boolean" })),
            ("settings", json!({ "type": ["object", "null"] })),
        ])
    };
    let variant = || options([("name", text()), ("slug", text()), ("default", json!({ "type": "boolean" }))]);
    let seo = || {
        let part = || maybe("string");
        let mut schema = options([
            ("content", part()),
            ("focus_keyword", part()),
            ("title", part()),
            ("description", part()),
            ("slug", part()),
        ]);
        schema["type"] = json!(["object", "null"]);
        schema
    };
    let search = || {
        let weights = json!({ "type": "object", "minProperties": 1, "additionalProperties": { "type": "number", "exclusiveMinimum": 0, "maximum": 1000 } });
        json!({ "type": ["object", "null"], "required": ["fields"], "properties": { "fields": weights } })
    };
    let definition = also(
        json!({
            "type": "object", "required": ["name", "fields"],
            "properties": { "name": text(), "fields": list_of(also_required(field(), &["name", "type"])) },
        }),
        [
            ("slug", text()),
            ("kind", json!({ "type": "string", "enum": kinds })),
            ("scheduled", json!({ "type": "boolean" })),
            ("icon", maybe("string")),
            ("record_title", maybe("string")),
            ("variants", list_of(also_required(variant(), &["slug"]))),
            ("seo", seo()),
            ("search", search()),
        ],
    );
    let blueprint = also(
        object([
            ("id", text()),
            ("type", json!({ "const": "blueprint" })),
            ("name", text()),
            ("slug", text()),
            ("kind", json!({ "type": "string", "enum": kinds })),
            ("icon", maybe("string")),
            ("record_title", maybe("string")),
            ("is_singular", json!({ "type": "boolean" })),
            ("is_readonly", json!({ "type": "boolean" })),
            ("variants", list_of(variant())),
            ("seo", seo()),
            ("fields", list_of(field())),
            ("created_at", time()),
            ("updated_at", time()),
        ]),
        [("scheduled", json!({ "const": true })), ("search", search())],
    );
    let plan = object([
        ("changes", list_of(object([("op", text()), ("field", text())]))),
        ("loses", json!({ "type": "object", "additionalProperties": count() })),
        ("conflicts", object([("count", count()), ("ids", list_of(text()))])),
    ]);
    let answer = object([("data", json!({ "anyOf": [reference("Blueprint"), reference("BlueprintPlan")] }))]);
    vec![
        ("BlueprintDefinition", definition),
        ("Blueprint", blueprint),
        ("BlueprintPlan", plan),
        ("BlueprintAnswer", answer),
    ]
}

fn also_required(mut schema: Value, keys: &[&str]) -> Value {
    schema["required"] = json!(keys);
    schema
}

fn access() -> Schemas {
    let abilities = || list_of(json!({ "type": "string", "enum": Ability::ALL.map(Ability::as_str) }));
    let blueprints = || json!({ "type": ["array", "null"], "items": { "type": "string" } });
    let token = || {
        object([
            ("id", text()),
            ("type", json!({ "const": "token" })),
            ("name", text()),
            ("abilities", abilities()),
            ("blueprints", blueprints()),
            ("created_at", time()),
            ("expires_at", maybe_time()),
        ])
    };
    let new_token = also(
        object([("name", text()), ("abilities", abilities())]),
        [("blueprints", blueprints()), ("expires_at", maybe_time())],
    );
    let member = object([
        ("id", json!({ "type": "integer" })),
        ("type", json!({ "const": "member" })),
        ("name", text()),
        ("email", text()),
        ("role", maybe("string")),
    ]);
    let new_member = also(object([("name", text()), ("email", text())]), [("role", maybe("string"))]);
    let change = options([("name", text()), ("email", text()), ("role", maybe("string"))]);
    vec![
        ("Token", token()),
        ("IssuedToken", also(token(), [("secret", text())])),
        ("NewToken", new_token),
        ("Member", member),
        ("NewMember", new_member),
        ("MemberChange", change),
    ]
}

fn analytics() -> Schemas {
    let number = || json!({ "type": "number" });
    let trend = also(
        object([
            ("current", count()),
            ("previous", count()),
            ("change", number()),
            ("trend", json!({ "type": "string", "enum": ["up", "down", "stable"] })),
        ]),
        [("referrer", text())],
    );
    let summary = object([
        ("period", object([("start", time()), ("end", time())])),
        ("live_users", count()),
        ("visitors", count()),
        ("sessions", count()),
        ("pageviews", count()),
        ("average_session_duration", text()),
        ("bounce_rate", number()),
        ("visitors_change", number()),
        ("sessions_change", number()),
        ("pageviews_change", number()),
    ]);
    let share = also(
        object([("count", count()), ("percentage", number())]),
        [("device", text()), ("browser", text()), ("country", text())],
    );
    let log_import = object([
        ("lines", count()),
        ("pageviews", count()),
        ("added", count()),
        ("robots", count()),
        ("others", count()),
        ("bad", count()),
        ("first_bad", list_of(json!({}))),
    ]);
    let event = also(
        object([("name", json!({ "type": "string", "minLength": 1, "maxLength": 64 })), ("url", text())]),
        [
            ("referrer", maybe("string")),
            ("screen_width", json!({ "type": ["number", "null"] })),
            (
                "properties",
                json!({
                    "type": ["object", "null"], "maxProperties": 10,
                    "additionalProperties": { "type": ["string", "number", "boolean"], "maxLength": 512 },
                    "description": "Only of an event that is not a `pageview`, and needed there.",
                }),
            ),
        ],
    );
    let value = object([("value", text()), ("count", count()), ("visitors", count()), ("percentage", number())]);
    let property = object([("name", text()), ("count", count()), ("values", list_of(value))]);
    let custom_event = [("name", text()), ("count", count()), ("visitors", count()), ("conversion_rate", number())];
    vec![
        ("Figures", json!({ "type": "object", "additionalProperties": count() })),
        ("Duration", object([("average_session_duration", text())])),
        ("Summary", summary),
        ("Trend", trend),
        ("PageFigures", object([("path", text()), ("views", count()), ("visitors", count())])),
        ("ReferrerFigures", object([("referrer", text()), ("visitors", count()), ("percentage", number())])),
        (
            "UtmFigures",
            also(
                object([("visitors", count()), ("percentage", number())]),
                ["source", "medium", "campaign", "content", "term"].map(|key| (key, text())),
            ),
        ),
        ("SessionPage", object([("path", text()), ("sessions", count()), ("percentage", number())])),
        ("CustomEvent", also(object(custom_event), [("properties", list_of(property))])),
        ("Share", share),
        ("Point", object([("date", text()), ("value", count())])),
        ("LogImport", log_import),
        ("Event", event),
        ("Deleted", object([("deleted", count())])),
    ]
}
