//! The schemas that do not depend on blueprints. Their shapes are defined in `API.md`.

use bindery_model::ability::Ability;
use bindery_model::blueprint::{
    BlueprintKind, DurationUnit, FieldType, HistorySettings, OnDelete, SearchLanguage, TrashSettings,
};
use serde_json::{Map, Value, json};

use super::services::{server, sessions, steering, webhooks};
use super::shape::{
    Schemas, all_required, also, any_object, count, described, flag, list_of, map_of, maybe, maybe_time, object,
    options, or_null, reference, text, time,
};

/// Returns all of them, by name.
pub(super) fn general() -> Map<String, Value> {
    let all = [
        common(),
        resources(),
        writes(),
        kept(),
        bulk(),
        blueprints(),
        access(),
        sessions(),
        webhooks(),
        steering(),
        server(),
        analytics(),
    ];
    all.into_iter().flatten().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn common() -> Schemas {
    let error = also(
        object([("code", described(text(), "One of the codes of API.md 7.")), ("message", text())]),
        [
            ("fields", json!({ "type": "object", "additionalProperties": list_of(text()) })),
            ("count", count()),
            ("ids", list_of(text())),
        ],
    );
    vec![
        ("Error", error),
        ("ErrorBody", object([("errors", reference("Error"))])),
        ("Description", described(any_object(), "A document of OpenAPI 3.1.")),
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
        ("attributes", reference("Attributes")),
        ("relationships", reference("Relationships")),
        ("highlights", map_of(maybe("string"))),
        ("working_copy", or_null("WorkingCopy")),
        ("meta", reference("ResourceMeta")),
    ]);
    let page = || json!({ "type": "integer", "minimum": 1 });
    let aggregates = || [("facets", map_of(reference("Facet"))), ("stats", map_of(reference("Stats")))];
    let meta =
        also(object([("per_page", page()), ("total", count())]), [("current_page", page()), ("last_page", page())]);
    let meta = also(meta, aggregates());
    let meta =
        also(meta, [("matched_all", count()), ("ignored_words", list_of(text())), ("did_you_mean", maybe("string"))]);
    let meta = also(meta, [("search_id", maybe("string")), ("explain", list_of(any_object()))]);
    let meta = also(meta, [("ranking", list_of(reference("Ranking")))]);
    let links =
        object([("first", text()), ("last", maybe("string")), ("prev", maybe("string")), ("next", maybe("string"))]);
    let included = || [("included", reference("Included"))];
    let list =
        [("data", list_of(reference("Resource"))), ("links", reference("ListLinks")), ("meta", reference("ListMeta"))];
    let list = also(object(list), included());
    let answer = also(object([("data", reference("Resource"))]), included());
    let by = |id: Value| object([("id", id), ("name", maybe("string"))]);
    let author = options([("member", by(json!({ "type": "integer" }))), ("token", by(text()))]);
    let resource_meta = described(
        object([
            ("created_by", or_null("Author")),
            ("updated_by", or_null("Author")),
            ("outdated_variants", list_of(text())),
        ]),
        "Only in answers to sessions.",
    );
    let referrers = object([("blueprint", text()), ("field", text()), ("total", count()), ("ids", list_of(text()))]);
    let export = also(object([("data", list_of(any_object()))]), included());
    let export = also(export, [("meta", options(aggregates()))]);
    let neighbors = object([
        ("data", object([("previous", or_null("Resource")), ("next", or_null("Resource"))])),
        ("meta", object([("position", page()), ("total", page())])),
    ]);
    vec![
        ("WorkingCopy", working_copy()),
        ("Attributes", described(any_object(), "Field slug to value; a blueprint has its own schema.")),
        ("Relationships", object([("blueprint", blueprint)])),
        ("Resource", resource),
        ("Included", described(list_of(reference("Resource")), "The resources that `expand` leads to.")),
        ("ListLinks", links),
        ("ListMeta", meta),
        ("ResourceMeta", resource_meta),
        ("Author", author),
        ("ResourceList", list),
        ("ResourceAnswer", answer),
        ("Neighbors", neighbors),
        ("Referrers", referrers),
        ("Export", export),
        ("Facet", facet()),
        ("Stats", stats()),
    ]
}

/// Returns the schema of the key `working_copy` of a resource.
fn working_copy() -> Value {
    let failed = object([("at", time()), ("errors", reference("Error"))]);
    let copy = object([
        ("created_at", time()),
        ("updated_at", time()),
        ("publish_at", maybe_time()),
        ("conflicts", list_of(text())),
    ]);
    described(also(copy, [("publish_failed", failed)]), "Only in answers to requests with `copy=working`.")
}

fn facet() -> Value {
    let value = json!({ "type": ["string", "number", "boolean"] });
    object([
        ("values", list_of(object([("value", value), ("count", count())]))),
        ("distinct", count()),
        ("null", count()),
    ])
}

/// Returns the schema of statistics: of numbers, or of money by currency.
fn stats() -> Value {
    let number = || json!({ "type": ["number", "null"] });
    let figures = || [("count", count()), ("min", number()), ("max", number()), ("sum", number()), ("avg", number())];
    let of_numbers = also(object([("null", count())]), figures());
    also(of_numbers, [("currencies", map_of(object(figures())))])
}

fn writes() -> Schemas {
    let attributes = || reference("Attributes");
    let create = also(object([("attributes", attributes())]), [("published_at", maybe_time())]);
    let change = options([("attributes", attributes()), ("published_at", maybe_time())]);
    let removed = object([("removed", json!({ "type": "object", "additionalProperties": count() }))]);
    let sanitized = json!({ "type": "object", "additionalProperties": removed });
    let meta = options([("sanitized", reference("Sanitized")), ("not_ready", map_of(text()))]);
    let written = also(object([("data", reference("Resource"))]), [("meta", meta)]);
    vec![
        ("ResourceCreate", create),
        ("ResourceChange", change),
        ("ResourceWritten", written),
        ("Sanitized", sanitized),
        ("WorkingPublication", options(publication())),
        ("MediaFetch", media_fetch()),
    ]
}

/// Returns the schema of a request for a file from the web.
fn media_fetch() -> Value {
    let url = json!({ "type": "string", "format": "uri" });
    let more = [("key", maybe("string")), ("attributes", reference("Attributes")), ("published_at", maybe_time())];
    also(object([("url", url)]), more)
}

/// The keys of a publication of working copies.
fn publication() -> [(&'static str, Value); 4] {
    [
        ("variants", json!({ "type": ["array", "null"], "items": { "type": "string" } })),
        ("published_at", time()),
        ("at", maybe_time()),
        ("force", flag()),
    ]
}

fn kept() -> Schemas {
    let actor = object([
        ("type", json!({ "type": "string", "enum": ["member", "token"] })),
        ("id", described(json!({ "type": ["integer", "string"] }), "Of a member an integer.")),
        ("name", maybe("string")),
    ]);
    let entry = object([
        ("id", text()),
        ("blueprint", text()),
        ("title", maybe("string")),
        ("deleted_at", time()),
        ("by", or_null("Actor")),
        ("referrers", list_of(object([("blueprint", text()), ("field", text()), ("total", count())]))),
    ]);
    let page = [
        ("data", list_of(reference("TrashEntry"))),
        ("links", reference("ListLinks")),
        ("meta", reference("ListMeta")),
    ];
    let revision = object([
        ("number", json!({ "type": "integer", "minimum": 1 })),
        ("at", time()),
        ("by", or_null("Actor")),
        (
            "op",
            json!({
                "type": "string",
                "enum": ["created", "updated", "edited", "published", "unpublished", "restored", "deleted"],
            }),
        ),
        ("variant", maybe("string")),
        ("fields", list_of(text())),
    ]);
    let history = object([
        ("data", list_of(reference("Revision"))),
        ("links", object([("first", text()), ("next", maybe("string"))])),
    ]);
    let changes = map_of(object([("from", json!({})), ("to", json!({}))]));
    let of_revision = also(object([("data", reference("Resource"))]), [("changes", changes)]);
    let fields = json!({ "type": ["array", "null"], "items": { "type": "string" } });
    vec![
        ("Revision", revision),
        ("History", history),
        ("RevisionAnswer", of_revision),
        ("RevisionRestoration", options([("fields", fields)])),
        ("Actor", actor),
        ("TrashEntry", entry),
        ("Trash", object(page)),
        ("Restoration", options([("as_draft", flag())])),
    ]
}

fn bulk() -> Schemas {
    let up_to_100 = |items: Value| json!({ "type": "array", "items": items, "minItems": 1, "maxItems": 100 });
    let ids = || up_to_100(text());
    let change =
        also(object([("id", text())]), [("attributes", reference("Attributes")), ("published_at", maybe_time())]);
    let applied = || list_of(object([("id", text()), ("index", count())]));
    let failed = list_of(object([("index", count()), ("errors", reference("Error"))]));
    let names = ["created", "updated", "deleted", "published", "unpublished"];
    let (mut data, mut meta) = (object([("failed", failed)]), object([("total", count()), ("failed", count())]));
    for name in names {
        data["properties"][name] = applied();
        meta["properties"][name] = count();
    }
    meta["properties"]["sanitized"] = map_of(reference("Sanitized"));
    meta["properties"]["not_ready"] = map_of(map_of(text()));
    vec![
        ("BulkCreate", object([("resources", up_to_100(reference("ResourceCreate")))])),
        ("BulkChange", object([("updates", up_to_100(change))])),
        ("BulkIds", object([("ids", ids())])),
        ("BulkPublish", also(object([("ids", ids())]), publication())),
        ("BulkAnswer", object([("data", data), ("meta", meta)])),
    ]
}

fn blueprints() -> Schemas {
    let kind = || json!({ "type": "string", "enum": BlueprintKind::ALL.map(BlueprintKind::as_str) });
    let described_field = || {
        options([
            ("name", text()),
            ("slug", text()),
            ("type", reference("FieldType")),
            ("description", maybe("string")),
            ("required", flag()),
            ("unique", flag()),
            ("settings", json!({ "type": ["object", "null"], "additionalProperties": true })),
        ])
    };
    let variant = || options([("name", text()), ("slug", text()), ("default", flag())]);
    let seo = || SEO_PARTS.map(|part| (part, maybe("string")));
    let sent_seo = || {
        let mut schema = options(seo());
        schema["type"] = json!(["object", "null"]);
        schema
    };
    let search = || {
        let weights = json!({ "type": "object", "minProperties": 1, "additionalProperties": { "type": "number", "exclusiveMinimum": 0, "maximum": 1000 } });
        let language = json!({ "type": ["string", "null"], "enum": languages() });
        let stop_words = json!({ "type": "array", "items": { "type": "string", "maxLength": 100 }, "maxItems": 1000 });
        let number = || json!({ "type": "number" });
        let days = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 100_000 });
        let weight = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 100 });
        let boost = also(
            object([("field", text()), ("weight", weight)]),
            [("half_life_days", days), ("from", number()), ("to", number())],
        );
        let boosts = json!({ "type": "array", "items": boost, "maxItems": 5 });
        json!({
            "type": ["object", "null"], "minProperties": 1,
            "properties": { "fields": weights, "language": language, "stop_words": stop_words, "synonyms": flag(), "boost": boosts },
        })
    };
    // Answers leave out settings that are off.
    let settings = |or: &str, numbers: &[(&str, u16)]| {
        let number = |most: &u16| json!({ "type": "integer", "minimum": 1, "maximum": most });
        let properties: Map<String, Value> =
            numbers.iter().map(|(name, most)| ((*name).to_owned(), number(most))).collect();
        let required: Vec<&str> = numbers.iter().map(|(name, _)| *name).collect();
        let kinds = if or == "null" { json!(["object", "null"]) } else { json!("object") };
        json!({ "type": kinds, "required": required, "properties": properties })
    };
    let trash = |or: &str| settings(or, &[("days", TrashSettings::MAX_DAYS)]);
    let history = |or: &str| settings(or, &[("keep", HistorySettings::MAX_KEEP), ("days", HistorySettings::MAX_DAYS)]);
    let sent_field = also(also_required(described_field(), &["name", "type"]), [("system", flag())]);
    let definition = also(
        json!({
            "type": "object", "required": ["name", "fields"],
            "properties": { "name": text(), "fields": list_of(sent_field) },
        }),
        [
            ("slug", text()),
            ("kind", kind()),
            ("scheduled", flag()),
            ("working_copy", flag()),
            ("icon", maybe("string")),
            ("record_title", maybe("string")),
            ("variants", list_of(also_required(variant(), &["slug"]))),
            ("seo", sent_seo()),
            ("search", search()),
            ("trash", trash("null")),
            ("history", history("null")),
        ],
    );
    let blueprint = also(
        object([
            ("id", text()),
            ("type", json!({ "const": "blueprint" })),
            ("name", text()),
            ("slug", text()),
            ("kind", kind()),
            ("icon", maybe("string")),
            ("record_title", maybe("string")),
            ("is_singular", flag()),
            ("is_readonly", flag()),
            ("variants", list_of(reference("Variant"))),
            ("seo", or_null("Seo")),
            ("fields", list_of(reference("Field"))),
            ("created_at", time()),
            ("updated_at", time()),
        ]),
        [
            ("scheduled", json!({ "const": true })),
            ("working_copy", json!({ "const": true })),
            ("search", search()),
            ("trash", trash("object")),
            ("history", history("object")),
        ],
    );
    let plan = object([
        ("changes", list_of(object([("op", text()), ("field", text())]))),
        ("loses", json!({ "type": "object", "additionalProperties": count() })),
        ("conflicts", object([("count", count()), ("ids", list_of(text()))])),
    ]);
    let answer = object([("data", json!({ "anyOf": [reference("Blueprint"), reference("BlueprintPlan")] }))]);
    let field = all_required(also(described_field(), [("settings", reference("FieldSettings"))]));
    vec![
        ("FieldType", json!({ "type": "string", "enum": FieldType::NAMES })),
        ("FieldSettings", field_settings()),
        ("Field", also(field, [("system", json!({ "const": true }))])),
        ("Variant", all_required(variant())),
        ("Seo", object(seo())),
        ("BlueprintDefinition", definition),
        ("Blueprint", blueprint),
        ("BlueprintPlan", plan),
        ("BlueprintAnswer", answer),
    ]
}

/// Returns the values of the setting `search.language`.
fn languages() -> Vec<Value> {
    SearchLanguage::CODES.map(Value::from).into_iter().chain([Value::Null]).collect()
}

/// The purposes for which the search engine settings of a blueprint name fields.
const SEO_PARTS: [&str; 5] = ["content", "focus_keyword", "title", "description", "slug"];

/// Returns the settings of all types of fields, as they are answered. Each type has some of them.
fn field_settings() -> Value {
    let maybe_list = || json!({ "type": ["array", "null"], "items": text() });
    let unit = json!({ "type": "string", "enum": DurationUnit::ALL.map(DurationUnit::as_str) });
    let on_delete = json!({ "type": "string", "enum": OnDelete::ALL.map(OnDelete::as_str) });
    options([
        ("values", described(maybe_list(), "`enum` and `multi-enum`.")),
        ("default_currency", described(maybe("string"), "`money`.")),
        ("currencies", described(list_of(text()), "`money`.")),
        ("unit", described(unit, "`duration`.")),
        (
            "display",
            described(json!({ "type": ["string", "array", "null"], "items": text() }), "`duration` and relations."),
        ),
        ("min", described(maybe("number"), "`duration`.")),
        ("max", described(maybe("number"), "`duration`.")),
        ("blueprint", described(text(), "Relations.")),
        ("on_delete", described(on_delete, "Relations.")),
        ("role", described(maybe("string"), "`user`.")),
        ("blocks", described(maybe_list(), "`html-page`.")),
        ("template", described(maybe("string"), "`html-page`.")),
    ])
}

/// Adds keys to the required ones of a schema.
fn also_required(mut schema: Value, keys: &[&str]) -> Value {
    schema["required"] = json!(keys);
    schema
}

fn access() -> Schemas {
    let abilities = || list_of(reference("Ability"));
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
            ("last_used_at", maybe_time()),
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
        ("role", maybe("string")),
    ]);
    let left_out = "Left out for sessions that may not manage.";
    let managed = [
        ("email", text()),
        ("blueprints", blueprints()),
        ("last_seen_at", maybe_time()),
        ("invited_until", maybe_time()),
    ]
    .map(|(key, schema)| (key, described(schema, left_out)));
    let member = also(member, managed);
    let warnings = ("meta", options([("warnings", list_of(text()))]));
    let written_member = also(object([("data", reference("Member"))]), [warnings]);
    let rights = || [("role", maybe("string")), ("blueprints", blueprints())];
    let new_member = also(object([("name", text()), ("email", text())]), rights());
    let change = also(options([("name", text()), ("email", text())]), rights());
    vec![
        ("Ability", json!({ "type": "string", "enum": Ability::ALL.map(Ability::as_str) })),
        ("Token", token()),
        ("IssuedToken", also(token(), [("secret", text())])),
        ("NewToken", new_token),
        ("Member", member),
        ("MemberWritten", written_member),
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
    let searches = object([
        ("question", text()),
        ("searches", count()),
        ("visitors", count()),
        ("without_results", count()),
        ("without_clicks", count()),
        ("click_rate", number()),
        ("mean_position", maybe("number")),
    ]);
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
        ("SearchFigures", searches),
        (
            "Click",
            object([("id", text()), ("position", json!({ "type": "integer", "minimum": 1, "maximum": 100_000 }))]),
        ),
        ("CustomEvent", also(object(custom_event), [("properties", list_of(property))])),
        ("Share", share),
        ("Point", object([("date", text()), ("value", count())])),
        ("LogImport", log_import),
        ("Event", event),
        ("Deleted", object([("deleted", count())])),
    ]
}
