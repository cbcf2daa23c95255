//! The shared parameters of operations, as described in OpenAPI.

use std::sync::Arc;

use bindery_model::blueprint::Blueprint;
use serde_json::{Map, Value, json};

/// Returns the shared parameters by name. If `blueprints` are given, only they can be named.
pub(super) fn parameters(blueprints: &[Arc<Blueprint>]) -> Map<String, Value> {
    let mut slug = json!({ "type": "string", "pattern": "^[a-z][a-z0-9_-]{0,62}$" });
    if !blueprints.is_empty() {
        slug["examples"] = blueprints.iter().map(|blueprint| blueprint.slug.as_str()).collect();
    }
    let text = || json!({ "type": "string" });
    let number = |least: u64, most: u64| json!({ "type": "integer", "minimum": least, "maximum": most });
    let day = || json!({ "type": "string", "format": "date" });
    let flag = || json!({ "type": "string", "enum": ["true", "false", "1", "0"] });
    let at = |place: &'static str, name: &'static str, schema: Value, about: &'static str| json!({ "in": place, "name": name, "required": place == "path", "schema": schema, "description": about });
    let mut all = Map::new();
    for (key, parameter) in [
        ("blueprint", at("path", "blueprint", slug.clone(), "The slug of the blueprint.")),
        ("slug", at("path", "slug", slug, "The slug of the blueprint.")),
        ("id", at("path", "id", json!({ "type": "string", "format": "uuid" }), "The id of the resource.")),
        ("token_id", at("path", "id", text(), "The id of the token.")),
        ("docs_file", at("path", "file", text(), "The name of the file.")),
        ("webhook_id", at("path", "id", text(), "The id of the webhook.")),
        ("member_id", at("path", "id", text(), "The id of the member.")),
        (
            "searched_variant",
            at("query", "variant", text(), "The slug of the variant; other blueprints have their default."),
        ),
        ("suggest_limit", at("query", "limit", number(1, 20), "How many suggestions; the default is 10.")),
        (
            "track",
            at("query", "track", flag(), "Count the search, and answer `meta.search_id` for clicks (API.md 4.8.13)."),
        ),
        ("search_id", at("path", "search_id", text(), "The `meta.search_id` of a search.")),
        (
            "asked_blueprint",
            at("query", "blueprint", text(), "Only searches that found something in it, or looked nowhere else."),
        ),
        ("group", at("query", "group", flag(), "With `true`, each blueprint has its own list.")),
        (
            "searched_blueprints",
            at("query", "blueprints", text(), "The slugs of the blueprints to search, separated by commas."),
        ),
        ("weights", at("query", "weights", text(), "The weights of blueprints, such as `articles:2,pages:0.5`.")),
        ("synonym_id", at("path", "id", text(), "The id of the synonyms.")),
        ("search_rule_id", at("path", "id", text(), "The id of the rule.")),
        ("view_id", at("path", "id", text(), "The id of the view.")),
        ("revision", at("path", "number", json!({ "type": "integer", "minimum": 1 }), "The number of the revision.")),
        ("history_limit", at("query", "limit", number(1, 100), "How many revisions; the default is 25.")),
        ("history_cursor", at("query", "cursor", text(), "What `links.next` has.")),
        ("compare", at("query", "compare", text(), "`live`, `working`, or the number of another revision.")),
        ("trash_blueprint", at("query", "blueprint", text(), "The slug of the blueprint; by default all of them.")),
        ("view_blueprint", at("query", "blueprint", text(), "Only views of this blueprint.")),
        ("session_id", at("path", "id", text(), "The id of the session.")),
        ("member", at("query", "member", text(), "The id of the member; without it the member who is signed in.")),
        ("invitation", at("header", "X-Invitation", text(), "The secret that the link of the invitation ends with.")),
        ("page_path", at("path", "path", text(), "The path of the page, without its first slash.")),
        ("event_name", at("path", "event", text(), "The name of the event.")),
        ("file_path", at("path", "path", text(), "The path of a file or a screen, without its first slash.")),
        (
            "described",
            at(
                "query",
                "blueprints",
                text(),
                "The slugs of the blueprints to describe, separated by commas; by default all that the token sees.",
            ),
        ),
        (
            "filter",
            json!({
                "in": "query", "name": "filter", "style": "deepObject", "explode": true,
                "description": "`filter[field]=value` or `filter[field][operator]=value`; all must match (API.md 4.6).",
                "schema": { "type": "object", "additionalProperties": { "type": "string" } },
                // Without it, viewers send invented fields.
                "example": {},
            }),
        ),
        (
            "visits",
            json!({
                "in": "query", "name": "filter", "style": "deepObject", "explode": true,
                "description": "`filter[field]=value` or `filter[field][operator]=value`: which visits count (API.md 4.8.12).",
                "schema": { "type": "object", "additionalProperties": { "type": "string" } },
                // Without it, viewers send invented fields.
                "example": {},
            }),
        ),
        ("search", at("query", "search", text(), "A text that one of the text fields contains.")),
        ("q", at("query", "q", text(), "Words to find, best matches first (API.md 4.6.15).")),
        ("typos", at("query", "typos", flag(), "Whether words with typos are found; the default is `true`.")),
        (
            "q_mode",
            at(
                "query",
                "q_mode",
                json!({ "type": "string", "enum": ["broad", "exact"] }),
                "`exact`: words as they stand, with typos, but without parts of names, forms of a word and compounds.",
            ),
        ),
        (
            "q_match",
            at(
                "query",
                "q_match",
                json!({ "type": "string", "enum": ["any", "all"] }),
                "`all`: only resources with all words, however few there are.",
            ),
        ),
        ("highlight", at("query", "highlight", text(), "Text fields to show with what was found in them marked.")),
        ("sort", at("query", "sort", text(), "Fields, separated by commas; `-` before one is descending.")),
        ("page", at("query", "page", number(1, u32::MAX.into()), "Which page; the default is 1.")),
        ("per_page", at("query", "per_page", number(1, 100), "How many resources a page has; the default is 25.")),
        ("cursor", at("query", "cursor", text(), "Empty: begin a walk; else what `links.next` has.")),
        (
            "facets",
            at(
                "query",
                "facets",
                text(),
                "Fields whose values are counted, such as `category,tags:50,created_at:month`.",
            ),
        ),
        (
            "facet_mode",
            at(
                "query",
                "facet_mode",
                json!({ "type": "string", "enum": ["disjunctive"] }),
                "`disjunctive`: a facet ignores the filters on its own field.",
            ),
        ),
        ("stats", at("query", "stats", text(), "Fields whose numbers are added up, separated by commas.")),
        (
            "expand",
            at("query", "expand", text(), "Relations whose resources are answered too, such as `author,issue.editor`."),
        ),
        (
            "fields-of",
            at(
                "query",
                "fields[blueprint]",
                text(),
                "The keys to answer of the resources in `included`; `blueprint` stands for the slug of theirs.",
            ),
        ),
        ("fields", at("query", "fields", text(), "The keys to answer, such as `id,attributes.title`.")),
        ("exclude", at("query", "exclude", text(), "The keys to leave out.")),
        ("variant", at("query", "variant", text(), "The slug of the variant; the default is the blueprint's default.")),
        (
            "copy",
            at(
                "query",
                "copy",
                json!({ "type": "string", "enum": ["live", "working"], "default": "live" }),
                "`working`: working copies, and live copies of resources that have none (API.md 4.21). A `PUT` of a \
                 working copy may leave out required attributes.",
            ),
        ),
        (
            "answers",
            at(
                "query",
                "answers",
                json!({ "enum": ["all", "failures"], "default": "all" }),
                "`failures`: of an import, only lines that failed are answered, and a summary.",
            ),
        ),
        ("fallback", at("query", "fallback", text(), "The variant whose values stand in for nulls.")),
        (
            "fallback_mode",
            at(
                "query",
                "fallback_mode",
                json!({ "type": "string", "enum": ["all"] }),
                "`all`: filters, searches and orders see the values of the fallback, too.",
            ),
        ),
        ("strict", at("query", "strict", flag(), "Refuse a parameter or a value that would be ignored.")),
        (
            "explain",
            at(
                "query",
                "explain",
                flag(),
                "Answer in `meta.explain` how the search was done; needs the ability `manage`.",
            ),
        ),
        ("since", at("query", "since", text(), "The number of the last change that the client knows, or `now`.")),
        ("changes_limit", at("query", "limit", number(1, 10_000), "The most changes; the default is 1,000.")),
        ("wait", at("query", "wait", number(0, 60), "How many seconds to wait for the first change.")),
        ("last-event-id", at("header", "Last-Event-ID", text(), "As `since`, for server-sent events.")),
        (
            "format",
            at("query", "format", json!({ "type": "string", "enum": ["json", "ndjson", "csv"] }), "What to answer."),
        ),
        ("all_variants", at("query", "all_variants", flag(), "Answer all variants of each resource.")),
        (
            "spreadsheet",
            at(
                "query",
                "spreadsheet",
                flag(),
                "In CSV, put `'` before each cell that a spreadsheet would run as a formula; numbers stay.",
            ),
        ),
        ("dry_run", at("query", "dry_run", flag(), "Only answer what would change.")),
        ("force", at("query", "force", flag(), "Accept that values or resources are lost.")),
        ("start", at("query", "start", day(), "The first day.")),
        ("end", at("query", "end", day(), "The last day.")),
        ("limit", at("query", "limit", number(1, 1000), "The most rows.")),
        (
            "search_limit",
            at("query", "limit", number(1, 20), "How many resources of each blueprint; the default is 5."),
        ),
        (
            "interval",
            at(
                "query",
                "interval",
                json!({ "type": "string", "enum": ["hour", "day", "week", "month"] }),
                "What a value stands for.",
            ),
        ),
        ("site", at("query", "site", text(), "A host; without it all sites count together.")),
        (
            "host",
            json!({ "in": "query", "name": "site", "required": true, "schema": text(), "description": "The host." }),
        ),
        ("if-none-match", at("header", "If-None-Match", text(), "Entity tags that the client has.")),
        ("if-match", at("header", "If-Match", text(), "The entity tag that the resource must have.")),
        ("range", at("header", "Range", text(), "A part of the file, such as `bytes=0-1023`.")),
        ("file_name", at("path", "file_name", text(), "The name of the file; any other name does as well.")),
        (
            "media_width",
            at("query", "w", number(1, 100_000), "The width in pixels, rounded up to one of `media_sizes`."),
        ),
        (
            "media_height",
            at(
                "query",
                "h",
                number(1, 100_000),
                "The height in pixels, rounded up likewise. With `cover` and `contain`, the proportions of both stay.",
            ),
        ),
        (
            "media_fit",
            at(
                "query",
                "fit",
                json!({ "type": "string", "enum": ["cover", "contain", "inside"] }),
                "What becomes of other proportions; the default is `inside`.",
            ),
        ),
        (
            "media_format",
            at(
                "query",
                "format",
                json!({ "type": "string", "enum": ["auto", "avif", "webp", "jpeg", "png"] }),
                "The format; `auto` is the smallest that `Accept` names.",
            ),
        ),
        ("media_quality", at("query", "q", number(1, 100), "The quality.")),
        ("media_version", at("query", "v", text(), "The version of the file, as the attribute `url` has it.")),
        (
            "idempotency-key",
            at("header", "Idempotency-Key", text(), "A key under which the request is carried out once."),
        ),
    ] {
        all.insert(key.to_owned(), parameter);
    }
    all
}
