//! The operations on synonyms and rules of ranked search (`API.md` 4.25) and on suggestions (4.26), as entries of the
//! table. Must not know handlers.

use crate::observe::operation::{Body, Operation, Request, operation};

const TAG: &str = "Search";

pub(super) static OPERATIONS: [Operation; 14] = [
    operation("get", "/v2/search/suggest", TAG, "suggest", "What a search field offers while somebody types.", "view")
        .with(&["q", "searched_blueprints", "searched_variant", "suggest_limit", "copy"])
        .answers(&[(200, Body::DataList("Suggestion"))]),
    operation("get", "/v2/search/synonyms", TAG, "listSynonyms", "All synonyms.", "manage")
        .answers(&[(200, Body::DataList("Synonym"))]),
    operation("post", "/v2/search/synonyms", TAG, "createSynonym", "Create synonyms.", "manage")
        .with(&["idempotency-key"])
        .takes(Request::Json("NewSynonym"))
        .answers(&[(201, Body::Data("Synonym"))]),
    operation("get", "/v2/search/synonyms/{id}", TAG, "getSynonym", "One entry of synonyms.", "manage")
        .with(&["synonym_id"])
        .answers(&[(200, Body::Data("Synonym"))]),
    operation("put", "/v2/search/synonyms/{id}", TAG, "replaceSynonym", "Replace synonyms.", "manage")
        .with(&["synonym_id"])
        .takes(Request::Json("NewSynonym"))
        .answers(&[(200, Body::Data("Synonym"))]),
    operation("patch", "/v2/search/synonyms/{id}", TAG, "changeSynonym", "Change synonyms.", "manage")
        .with(&["synonym_id"])
        .takes(Request::Json("SynonymChange"))
        .answers(&[(200, Body::Data("Synonym"))]),
    operation("delete", "/v2/search/synonyms/{id}", TAG, "deleteSynonym", "Delete synonyms.", "manage")
        .with(&["synonym_id"])
        .answers(&[(204, Body::None)]),
    operation("get", "/v2/search/rules", TAG, "listSearchRules", "All rules of ranked search.", "manage")
        .answers(&[(200, Body::DataList("SearchRule"))]),
    operation("post", "/v2/search/rules", TAG, "createSearchRule", "Create a rule.", "manage")
        .with(&["idempotency-key"])
        .takes(Request::Json("SearchRuleChange"))
        .answers(&[(201, Body::Data("SearchRule"))]),
    operation(
        "post",
        "/v2/search/rules/preview",
        TAG,
        "previewSearchRule",
        "A list with a rule that is not stored.",
        "manage",
    )
    .takes(Request::Json("RulePreview"))
    .answers(&[(200, Body::Json("ResourceList"))])
    // The body names a blueprint.
    .or(&[404]),
    operation("get", "/v2/search/rules/{id}", TAG, "getSearchRule", "One rule.", "manage")
        .with(&["search_rule_id"])
        .answers(&[(200, Body::Data("SearchRule"))]),
    operation("put", "/v2/search/rules/{id}", TAG, "replaceSearchRule", "Replace a rule.", "manage")
        .with(&["search_rule_id"])
        .takes(Request::Json("SearchRuleChange"))
        .answers(&[(200, Body::Data("SearchRule"))]),
    operation("patch", "/v2/search/rules/{id}", TAG, "changeSearchRule", "Change a rule.", "manage")
        .with(&["search_rule_id"])
        .takes(Request::Json("SearchRuleChange"))
        .answers(&[(200, Body::Data("SearchRule"))]),
    operation("delete", "/v2/search/rules/{id}", TAG, "deleteSearchRule", "Delete a rule.", "manage")
        .with(&["search_rule_id"])
        .answers(&[(204, Body::None)]),
];
