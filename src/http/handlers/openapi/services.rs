//! The schemas of webhooks, sessions and the server itself. Must not know what stores them.

use bindery_access::Role;
use bindery_content::ChangeOp;
use serde_json::{Value, json};

use super::shape::{
    Schemas, all_required, also, any_object, count, flag, list_of, maybe, maybe_time, object, options, or_null,
    reference, text, time,
};

pub(super) fn webhooks() -> Schemas {
    let op = || json!({ "type": "string", "enum": ChangeOp::ALL.map(ChangeOp::as_str) });
    let events = || json!({ "type": "array", "items": op(), "minItems": 1, "uniqueItems": true });
    let blueprints = || json!({ "type": ["array", "null"], "items": text() });
    let webhook = || {
        object([
            ("id", text()),
            ("type", json!({ "const": "webhook" })),
            ("name", text()),
            ("url", text()),
            ("events", events()),
            ("blueprints", blueprints()),
            ("active", json!({ "type": "boolean" })),
            ("created_at", time()),
            ("updated_at", time()),
            ("error", maybe("string")),
        ])
    };
    let active = || ("active", json!({ "type": "boolean" }));
    let new = also(
        object([("name", text()), ("url", text()), ("events", events())]),
        [("blueprints", blueprints()), active()],
    );
    let change =
        options([("name", text()), ("url", text()), ("events", events()), ("blueprints", blueprints()), active()]);
    let attempt = || {
        object([
            ("id", text()),
            ("state", json!({ "type": "string", "enum": ["delivered", "retrying", "given_up"] })),
            ("status", maybe("integer")),
            ("error", maybe("string")),
            ("duration_ms", count()),
        ])
    };
    let delivery = also(
        attempt(),
        [
            ("type", json!({ "const": "delivery" })),
            ("number", count()),
            ("op", op()),
            ("blueprint", text()),
            ("resource", text()),
            ("at", time()),
            ("attempt", count()),
            ("next_attempt_at", maybe_time()),
        ],
    );
    let delivery = all_required(delivery);
    vec![
        ("Webhook", webhook()),
        ("CreatedWebhook", also(webhook(), [("secret", text())])),
        ("NewWebhook", new),
        ("WebhookChange", change),
        ("Delivery", delivery),
        ("TestDelivery", attempt()),
    ]
}

pub(super) fn sessions() -> Schemas {
    let member = object([("id", count()), ("name", text()), ("email", text()), ("role", text())]);
    let session = object([
        ("member", member),
        ("role", reference("Role")),
        ("abilities", list_of(reference("Ability"))),
        ("blueprints", json!({ "type": ["array", "null"], "items": text() })),
        ("csrf", text()),
        ("expires_at", time()),
    ]);
    let open = object([
        ("id", text()),
        ("type", json!({ "const": "session" })),
        ("created_at", time()),
        ("last_used_at", time()),
        ("address", maybe("string")),
        ("agent", text()),
        ("current", json!({ "type": "boolean" })),
    ]);
    let shared = || ("shared", json!({ "type": "boolean" }));
    let view = object([
        ("id", text()),
        ("type", json!({ "const": "view" })),
        ("blueprint", text()),
        ("name", text()),
        ("query", text()),
        shared(),
        ("owner", object([("id", count()), ("name", maybe("string"))])),
        ("created_at", time()),
        ("updated_at", time()),
    ]);
    let new_view = also(object([("blueprint", text()), ("name", text()), ("query", text())]), [shared()]);
    let invitation = object([("email", maybe("string")), ("name", maybe("string")), ("role", maybe("string"))]);
    let accepted = also(object([("token", text()), ("password", text())]), [("name", text()), ("email", text())]);
    vec![
        ("Role", json!({ "type": "string", "enum": Role::ALL.map(Role::as_str) })),
        ("SignIn", object([("email", text()), ("password", text())])),
        ("ChangedPassword", object([("current_password", text()), ("password", text())])),
        ("Session", session),
        ("OpenSession", open),
        ("View", view),
        ("NewView", new_view),
        ("ViewChange", options([("name", text()), ("query", text()), shared()])),
        ("IssuedInvitation", object([("type", text()), ("url", text()), ("expires_at", time())])),
        ("Invitation", invitation),
        ("AcceptedInvitation", accepted),
    ]
}

/// Synonyms and rules of ranked search (`API.md` 4.25).
pub(super) fn steering() -> Schemas {
    let words = || {
        (
            "words",
            json!({ "type": "array", "items": { "type": "string", "maxLength": 100 }, "minItems": 2, "maxItems": 20 }),
        )
    };
    let variant = || ("variant", maybe("string"));
    let one_way = || ("one_way", json!({ "type": "boolean" }));
    let stamps = |kind: &str| {
        [("id", text()), ("type", json!({ "const": kind })), ("created_at", time()), ("updated_at", time())]
    };
    let pin = object([("id", text()), ("position", json!({ "type": "integer", "minimum": 1, "maximum": 1000 }))]);
    let suggestion = also(
        object([("kind", json!({ "type": "string", "enum": ["word", "question", "title"] })), ("text", text())]),
        [("count", count()), ("blueprint", text()), ("id", text())],
    );
    let parts = || {
        [
            ("query", json!({ "type": ["string", "null"], "maxLength": 200 })),
            ("match", json!({ "type": "string", "enum": ["is", "contains"] })),
            ("blueprint", maybe("string")),
            variant(),
            ("filter", maybe("string")),
            ("from", maybe_time()),
            ("until", maybe_time()),
            ("pin", json!({ "type": "array", "items": pin.clone(), "maxItems": 50 })),
            ("hide", json!({ "type": "array", "items": text(), "maxItems": 100 })),
            ("filter_add", maybe("string")),
        ]
    };
    let way = json!({
        "type": "string",
        "enum": ["whole", "part", "parts", "form", "compound", "beginning", "synonym"],
    });
    let word = also(
        object([("asked", text()), ("found", or_null("WordWay"))]),
        [("typos", count()), ("as", list_of(text())), ("fields", list_of(text())), ("missed", flag())],
    );
    let number = || json!({ "type": "number" });
    let ranking = object([
        ("id", text()),
        ("pinned", or_null("RankingPin")),
        ("words", list_of(reference("RankingWord"))),
        ("lacks", count()),
        ("typos", count()),
        ("ways", count()),
        ("score", number()),
        ("nearness", number()),
        ("boost", number()),
    ]);
    vec![
        ("Ranking", ranking),
        ("RankingWord", word),
        ("RankingPin", object([("rule", text()), ("position", count())])),
        ("WordWay", way),
        ("Synonym", all_required(also(object([variant(), words(), one_way()]), stamps("synonym")))),
        ("NewSynonym", also(object([words()]), [variant(), one_way()])),
        ("SynonymChange", options([variant(), words(), one_way()])),
        ("SearchRule", all_required(also(object(parts()), stamps("search_rule")))),
        ("SearchRuleChange", options(parts())),
        (
            "RulePreview",
            also(
                object([("blueprint", text()), ("list", text()), ("rule", reference("SearchRuleChange"))]),
                [("id", maybe("string"))],
            ),
        ),
        ("Suggestion", suggestion),
    ]
}

pub(super) fn server() -> Schemas {
    let found = object([("blueprint", text()), ("total", count()), ("resources", list_of(any_object()))]);
    let status = object([
        ("type", json!({ "const": "status" })),
        ("version", text()),
        ("started_at", time()),
        ("writable", json!({ "type": "boolean" })),
        ("number", count()),
        ("bytes", json!({ "type": "object", "additionalProperties": count() })),
        ("index_runs", count()),
        ("blueprints", list_of(object([("id", text()), ("resources", count())]))),
        ("tokens", count()),
        ("members", count()),
        ("analytics", object([("open", json!({ "type": "boolean" })), ("dropped", count())])),
        ("process", object([("resident_bytes", count()), ("open_files", count()), ("threads", count())])),
    ]);
    // With `group`, or without `q`, each entry is a blueprint; otherwise a resource.
    let found = also(
        object([
            ("data", list_of(json!({ "anyOf": [found, reference("Resource")] }))),
            (
                "meta",
                also(
                    object([("total", count())]),
                    [
                        ("current_page", count()),
                        ("last_page", count()),
                        ("per_page", count()),
                        ("matched_all", count()),
                        ("ignored_words", list_of(text())),
                        ("did_you_mean", maybe("string")),
                        ("search_id", maybe("string")),
                        ("facets", any_object()),
                    ],
                ),
            ),
        ]),
        [("links", any_object())],
    );
    let [batch, counted, questions] = counting();
    vec![
        ("Status", status),
        ("Cluster", cluster()),
        ("Hint", hint()),
        ("Batch", batch),
        ("Counted", counted),
        ("Questions", questions),
        ("Found", found),
    ]
}

/// The nodes of a cluster (`API.md` 4.20).
fn cluster() -> Value {
    let node = object([
        ("node", text()),
        ("address", text()),
        ("version", text()),
        ("position", count()),
        ("lag", count()),
        ("ready", json!({ "type": "boolean" })),
        ("warnings", list_of(text())),
    ]);
    object([
        ("id", text()),
        ("history", text()),
        ("position", count()),
        ("leader", maybe("string")),
        ("warnings", list_of(text())),
        ("nodes", list_of(node)),
    ])
}

/// Analytics between nodes.
fn counting() -> [Value; 3] {
    let item = json!({ "type": "array", "description": "A time, and what to count." });
    let batch = object([("sender", text()), ("number", count()), ("now", count()), ("items", list_of(item))]);
    let question = object([("text", text()), ("blueprints", list_of(json!({ "type": "array" })))]);
    let questions = json!({ "type": ["object", "null"], "properties": { "questions": list_of(question) } });
    [batch, object([("counted", count()), ("confirmed", count())]), questions]
}

fn hint() -> Value {
    object([("node", text()), ("address", text()), ("term", count()), ("seq", count())])
}
