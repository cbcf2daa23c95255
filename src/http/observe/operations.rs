//! Every operation of the API, as a table: an entry for each method of each route. Must not know handlers; a test
//! compares it with the router.

mod accounts;
mod steering;
mod webhooks;

use std::sync::LazyLock;

use crate::observe::operation::{
    Body, EXPORT, LIMITED, LIST, NEIGHBORS, Operation, PERIOD, Request, SEARCHES, SERIES, operation,
};

pub(crate) const TAGS: [(&str, &str); 10] = [
    ("Resources", "Reading and writing content."),
    ("Bulk", "Many resources in one request."),
    ("Media", "Files: uploading them, and getting them in other sizes and formats."),
    ("Changes", "What happened to resources."),
    ("Webhooks", "Where changes are sent."),
    ("Blueprints", "What resources consist of."),
    ("Access", "Tokens and members."),
    ("Sessions", "How members sign in to the dashboard."),
    ("Analytics", "Pageviews and reports."),
    ("Server", "Health, metrics, backups, this description."),
];

const fn report(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    operation("get", path, "Analytics", id, summary, "analytics:view").with(PERIOD)
}

static OPERATIONS: [Operation; 93] = [
    operation(
        "get",
        "/v2/resources/{blueprint}",
        "Resources",
        "listResources",
        "A page of the resources that match.",
        "view",
    )
    .with(LIST)
    .answers(&[(200, Body::Json("ResourceList")), (304, Body::None)]),
    operation("post", "/v2/resources/{blueprint}", "Resources", "createResource", "Create a resource.", "create")
        .with(&["blueprint", "variant", "idempotency-key"])
        .takes(Request::Json("ResourceCreate"))
        .answers(&[(201, Body::Json("ResourceWritten"))])
        .or(&[409]),
    operation("get", "/v2/resources/{blueprint}/{id}", "Resources", "getResource", "One resource.", "view")
        .with(&[
            "blueprint",
            "id",
            "fields",
            "exclude",
            "variant",
            "fallback",
            "copy",
            "expand",
            "fields-of",
            "if-none-match",
        ])
        .answers(&[(200, Body::Json("ResourceAnswer")), (304, Body::None)]),
    operation(
        "put",
        "/v2/resources/{blueprint}/{id}",
        "Resources",
        "replaceResource",
        "Replace all attributes of a variant.",
        "update",
    )
    .with(&["blueprint", "id", "variant", "copy", "if-match"])
    .takes(Request::Json("ResourceCreate"))
    .answers(&[(200, Body::Json("ResourceWritten"))])
    .or(&[409, 412]),
    operation(
        "patch",
        "/v2/resources/{blueprint}/{id}",
        "Resources",
        "changeResource",
        "Change some attributes, or the publication.",
        "update",
    )
    .with(&["blueprint", "id", "variant", "copy", "if-match"])
    .takes(Request::Json("ResourceChange"))
    .answers(&[(200, Body::Json("ResourceWritten"))])
    .or(&[409, 412]),
    operation(
        "delete",
        "/v2/resources/{blueprint}/{id}",
        "Resources",
        "deleteResource",
        "Delete a resource, or discard its working copy.",
        "delete",
    )
    .with(&["blueprint", "id", "variant", "copy", "if-match"])
    .answers(&[(204, Body::None)])
    .or(&[409, 412]),
    operation(
        "post",
        "/v2/resources/{blueprint}/{id}/publish",
        "Resources",
        "publishWorkingCopies",
        "Make working copies live, now or at a moment.",
        "publish",
    )
    .with(&["blueprint", "id", "if-match", "idempotency-key"])
    .takes(Request::Json("WorkingPublication"))
    .answers(&[(200, Body::Json("ResourceAnswer"))])
    .or(&[409, 412]),
    operation(
        "get",
        "/v2/resources/{blueprint}/{id}/neighbors",
        "Resources",
        "findNeighbors",
        "The resources beside one in a list.",
        "view",
    )
    .with(NEIGHBORS)
    .answers(&[(200, Body::Json("Neighbors"))]),
    operation(
        "get",
        "/v2/resources/{blueprint}/{id}/referrers",
        "Resources",
        "listReferrers",
        "Where a resource is used.",
        "view",
    )
    .with(&["blueprint", "id", "copy"])
    .answers(&[(200, Body::DataList("Referrers"))]),
    operation(
        "get",
        "/v2/resources/{blueprint}/export",
        "Resources",
        "exportResources",
        "Everything that matches, streamed.",
        "view",
    )
    .with(EXPORT)
    .answers(&[(200, Body::Json("Export"))]),
    operation(
        "post",
        "/v2/resources/{blueprint}/import",
        "Resources",
        "importResources",
        "Create and update resources line by line.",
        "manage",
    )
    .with(&["blueprint", "variant", "answers", "idempotency-key"])
    .takes(Request::Text("application/x-ndjson"))
    .answers(&[(200, Body::Text("application/x-ndjson"))]),
    operation(
        "post",
        "/v2/resources/{blueprint}/bulk",
        "Bulk",
        "createResources",
        "Create up to 100 resources.",
        "create",
    )
    .with(&["blueprint", "variant", "idempotency-key"])
    .takes(Request::Json("BulkCreate"))
    .answers(&[(201, Body::Json("BulkAnswer")), (207, Body::Json("BulkAnswer"))])
    .or(&[409]),
    operation(
        "patch",
        "/v2/resources/{blueprint}/bulk",
        "Bulk",
        "changeResources",
        "Change up to 100 resources.",
        "update",
    )
    .with(&["blueprint", "variant", "copy"])
    .takes(Request::Json("BulkChange"))
    .answers(&[(200, Body::Json("BulkAnswer")), (207, Body::Json("BulkAnswer"))]),
    operation(
        "delete",
        "/v2/resources/{blueprint}/bulk",
        "Bulk",
        "deleteResources",
        "Delete up to 100 resources.",
        "delete",
    )
    .with(&["blueprint", "variant"])
    .takes(Request::Json("BulkIds"))
    .answers(&[(200, Body::Json("BulkAnswer")), (207, Body::Json("BulkAnswer"))]),
    operation(
        "post",
        "/v2/resources/{blueprint}/bulk-publish",
        "Bulk",
        "publishResources",
        "Publish up to 100 resources.",
        "publish",
    )
    .with(&["blueprint", "variant", "copy", "idempotency-key"])
    .takes(Request::Json("BulkPublish"))
    .answers(&[(200, Body::Json("BulkAnswer")), (207, Body::Json("BulkAnswer"))])
    .or(&[409]),
    operation(
        "post",
        "/v2/resources/{blueprint}/bulk-unpublish",
        "Bulk",
        "unpublishResources",
        "Make up to 100 resources drafts.",
        "publish",
    )
    .with(&["blueprint", "variant", "idempotency-key"])
    .takes(Request::Json("BulkIds"))
    .answers(&[(200, Body::Json("BulkAnswer")), (207, Body::Json("BulkAnswer"))])
    .or(&[409]),
    operation(
        "get",
        "/v2/resources/{blueprint}/{id}/history",
        "Resources",
        "listRevisions",
        "The revisions of a resource.",
        "preview",
    )
    .with(&["blueprint", "id", "variant", "history_limit", "history_cursor"])
    .answers(&[(200, Body::Json("History"))]),
    operation(
        "delete",
        "/v2/resources/{blueprint}/{id}/history",
        "Resources",
        "deleteHistory",
        "Remove the revisions of a resource.",
        "manage",
    )
    .with(&["blueprint", "id", "variant"])
    .answers(&[(204, Body::None)]),
    operation(
        "get",
        "/v2/resources/{blueprint}/{id}/history/{number}",
        "Resources",
        "getRevision",
        "A resource as it was.",
        "preview",
    )
    .with(&["blueprint", "id", "revision", "variant", "compare"])
    .answers(&[(200, Body::Json("RevisionAnswer"))]),
    operation(
        "post",
        "/v2/resources/{blueprint}/{id}/history/{number}/restore",
        "Resources",
        "restoreRevision",
        "Bring values of a revision back.",
        "update",
    )
    .with(&["blueprint", "id", "revision", "variant", "if-match", "idempotency-key"])
    .takes(Request::Json("RevisionRestoration"))
    .answers(&[(200, Body::Json("ResourceAnswer"))])
    .or(&[409, 412]),
    operation(
        "post",
        "/v2/media/{blueprint}",
        "Media",
        "uploadFile",
        "Upload a file and create its resource.",
        "create",
    )
    .with(&["blueprint", "variant", "idempotency-key"])
    .takes(Request::Form { has_attributes: true })
    .answers(&[(201, Body::Json("ResourceWritten"))])
    .or(&[409]),
    operation(
        "post",
        "/v2/media/{blueprint}/fetch",
        "Media",
        "fetchFile",
        "Fetch a file from the web and create its resource.",
        "create",
    )
    .with(&["blueprint", "variant", "idempotency-key"])
    .takes(Request::Json("MediaFetch"))
    .answers(&[(200, Body::Json("ResourceWritten")), (201, Body::Json("ResourceWritten"))])
    .or(&[409]),
    operation(
        "put",
        "/v2/media/{blueprint}/{id}/content",
        "Media",
        "uploadNewFile",
        "Replace the file of a resource.",
        "update",
    )
    .with(&["blueprint", "id", "variant", "if-match"])
    .takes(Request::Form { has_attributes: false })
    .answers(&[(200, Body::Json("ResourceWritten"))])
    .or(&[409, 412]),
    operation(
        "get",
        "/media/{id}/{file_name}",
        "Media",
        "deliverFile",
        "A file, or a picture in another size or format.",
        "",
    )
    .with(&[
        "id",
        "file_name",
        "media_width",
        "media_height",
        "media_fit",
        "media_format",
        "media_quality",
        "media_version",
        "range",
        "if-none-match",
    ])
    .answers(&[(200, Body::Binary), (206, Body::Binary), (304, Body::None)])
    .or(&[416]),
    operation("get", "/v2/trash", "Resources", "listTrash", "Deleted resources that can be restored.", "delete")
        .with(&["trash_blueprint", "page", "per_page"])
        .answers(&[(200, Body::Json("Trash"))]),
    operation(
        "delete",
        "/v2/trash/{id}",
        "Resources",
        "purgeResource",
        "Remove a deleted resource for good.",
        "delete",
    )
    .with(&["id", "trash_blueprint"])
    .answers(&[(204, Body::None)]),
    operation("post", "/v2/trash/{id}/restore", "Resources", "restoreResource", "Bring a resource back.", "delete")
        .with(&["id", "trash_blueprint", "variant", "idempotency-key"])
        .takes(Request::Json("Restoration"))
        .answers(&[(200, Body::Json("ResourceAnswer"))])
        .or(&[409]),
    operation("get", "/v2/changes", "Changes", "listChanges", "What changed since a number.", "view")
        .with(&["since", "changes_limit", "wait", "last-event-id"])
        .answers(&[(200, Body::Text("application/x-ndjson"))])
        .or(&[410]),
    operation("get", "/v2/blueprints", "Blueprints", "listBlueprints", "All blueprints that the token sees.", "view")
        .answers(&[(200, Body::DataList("Blueprint"))]),
    operation("post", "/v2/blueprints", "Blueprints", "createBlueprint", "Create a blueprint.", "manage")
        .with(&["idempotency-key"])
        .takes(Request::Json("BlueprintDefinition"))
        .answers(&[(201, Body::Data("Blueprint"))])
        .or(&[409]),
    operation("get", "/v2/blueprints/{slug}", "Blueprints", "getBlueprint", "One blueprint.", "view")
        .with(&["slug"])
        .answers(&[(200, Body::Data("Blueprint"))]),
    operation(
        "put",
        "/v2/blueprints/{slug}",
        "Blueprints",
        "replaceBlueprint",
        "Change a blueprint, or plan to.",
        "manage",
    )
    .with(&["slug", "dry_run", "force"])
    .takes(Request::Json("BlueprintDefinition"))
    .answers(&[(200, Body::Json("BlueprintAnswer"))])
    .or(&[409]),
    operation("delete", "/v2/blueprints/{slug}", "Blueprints", "deleteBlueprint", "Delete a blueprint.", "manage")
        .with(&["slug", "force"])
        .answers(&[(204, Body::None)])
        .or(&[409]),
    operation("get", "/v2/tokens", "Access", "listTokens", "All tokens, without their secrets.", "manage")
        .answers(&[(200, Body::DataList("Token"))]),
    operation("post", "/v2/tokens", "Access", "createToken", "Create a token; its secret is shown once.", "manage")
        .takes(Request::Json("NewToken"))
        .answers(&[(201, Body::Data("IssuedToken"))])
        .or(&[409]),
    operation("delete", "/v2/tokens/{id}", "Access", "revokeToken", "Revoke a token.", "manage")
        .with(&["token_id"])
        .answers(&[(204, Body::None)]),
    operation("get", "/v2/members", "Access", "listMembers", "All members.", "manage")
        .answers(&[(200, Body::DataList("Member"))]),
    operation("post", "/v2/members", "Access", "createMember", "Create a member.", "manage")
        .with(&["idempotency-key"])
        .takes(Request::Json("NewMember"))
        .answers(&[(201, Body::Json("MemberWritten"))])
        .or(&[409]),
    operation("get", "/v2/members/{id}", "Access", "getMember", "One member.", "manage")
        .with(&["member_id"])
        .answers(&[(200, Body::Data("Member"))]),
    operation("patch", "/v2/members/{id}", "Access", "changeMember", "Change a member.", "manage")
        .with(&["member_id"])
        .takes(Request::Json("MemberChange"))
        .answers(&[(200, Body::Json("MemberWritten"))])
        .or(&[409]),
    operation("delete", "/v2/members/{id}", "Access", "deleteMember", "Delete a member.", "manage")
        .with(&["member_id"])
        .answers(&[(204, Body::None)]),
    report("/v2/analytics/summary", "summary", "The main figures, with changes.")
        .answers(&[(200, Body::Json("Summary"))]),
    report("/v2/analytics/live", "live", "How many visitors are there now.")
        .with(&["site", "visits"])
        .answers(&[(200, Body::Json("Figures"))]),
    report("/v2/analytics/visitors", "visitors", "Visitors.").answers(&[(200, Body::Json("Figures"))]),
    report("/v2/analytics/visitors/trends", "visitorsTrends", "Visitors and those of the period before.")
        .answers(&[(200, Body::Json("Trend"))]),
    report("/v2/analytics/sessions", "sessions", "Sessions.").answers(&[(200, Body::Json("Figures"))]),
    report("/v2/analytics/sessions/average-duration", "averageDuration", "How long a session takes.")
        .answers(&[(200, Body::Json("Duration"))]),
    report("/v2/analytics/pageviews", "pageviews", "Pageviews.").answers(&[(200, Body::Json("Figures"))]),
    report("/v2/analytics/pages", "pages", "The most viewed pages.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("PageFigures"))]),
    report("/v2/analytics/pages/", "rootPage", "The figures of the root page.")
        .answers(&[(200, Body::Json("PageFigures"))]),
    report("/v2/analytics/pages/{path}", "page", "The figures of one page; its path may have slashes.")
        .with(&["page_path", "start", "end", "site", "visits"])
        .answers(&[(200, Body::Json("PageFigures"))]),
    report("/v2/analytics/referrers", "referrers", "Where visitors come from.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("ReferrerFigures"))]),
    report("/v2/analytics/referrers/trends", "referrersTrends", "The same, and the period before.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("Trend"))]),
    report("/v2/analytics/entry-pages", "entryPages", "The pages at which sessions began.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("SessionPage"))]),
    report("/v2/analytics/exit-pages", "exitPages", "The pages at which sessions ended.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("SessionPage"))]),
    report("/v2/analytics/utm/source", "utmSource", "Visitors by `utm_source`.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("UtmFigures"))]),
    report("/v2/analytics/utm/medium", "utmMedium", "Visitors by `utm_medium`.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("UtmFigures"))]),
    report("/v2/analytics/utm/campaign", "utmCampaign", "Visitors by `utm_campaign`.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("UtmFigures"))]),
    report("/v2/analytics/utm/content", "utmContent", "Visitors by `utm_content`.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("UtmFigures"))]),
    report("/v2/analytics/utm/term", "utmTerm", "Visitors by `utm_term`.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("UtmFigures"))]),
    report("/v2/analytics/custom-events", "customEvents", "Events with names of their own.")
        .with(LIMITED)
        .answers(&[(200, Body::JsonList("CustomEvent"))]),
    report("/v2/analytics/custom-events/{event}", "customEvent", "One event, with its properties and their values.")
        .with(&["event_name", "start", "end", "limit", "site", "visits"])
        .answers(&[(200, Body::Json("CustomEvent"))]),
    report("/v2/analytics/searches", "searches", "What people search for.")
        .with(SEARCHES)
        .answers(&[(200, Body::JsonList("SearchFigures"))]),
    report("/v2/analytics/searches/without-results", "searchesWithoutResults", "Searches that found nothing.")
        .with(SEARCHES)
        .answers(&[(200, Body::JsonList("SearchFigures"))]),
    report("/v2/analytics/searches/without-clicks", "searchesWithoutClicks", "Searches without a click on a result.")
        .with(SEARCHES)
        .answers(&[(200, Body::JsonList("SearchFigures"))]),
    report("/v2/analytics/demographics/devices", "devices", "Visitors by device.")
        .answers(&[(200, Body::JsonList("Share"))]),
    report("/v2/analytics/demographics/browsers", "browsers", "Visitors by browser.")
        .answers(&[(200, Body::JsonList("Share"))]),
    report("/v2/analytics/demographics/countries", "countries", "Visitors by country.")
        .answers(&[(200, Body::JsonList("Share"))]),
    report("/v2/analytics/timeseries/visitors", "visitorsSeries", "Visitors over time.")
        .with(SERIES)
        .answers(&[(200, Body::JsonList("Point"))]),
    report("/v2/analytics/timeseries/pageviews", "pageviewsSeries", "Pageviews over time.")
        .with(SERIES)
        .answers(&[(200, Body::JsonList("Point"))]),
    report("/v2/analytics/timeseries/sessions", "sessionsSeries", "Sessions over time.")
        .with(SERIES)
        .answers(&[(200, Body::JsonList("Point"))]),
    operation(
        "post",
        "/v2/analytics/import",
        "Analytics",
        "importLog",
        "Count the pageviews of an access log.",
        "manage",
    )
    .with(&["host"])
    .takes(Request::Text("text/plain"))
    .answers(&[(200, Body::Json("LogImport"))]),
    operation("post", "/v2/analytics/events", "Analytics", "sendEvent", "Count a pageview or an event.", "")
        .takes(Request::Event)
        .answers(&[(202, Body::None)]),
    operation(
        "post",
        "/v2/analytics/searches/{search_id}/click",
        "Analytics",
        "sendClick",
        "Count a click on a result of a search.",
        "",
    )
    .with(&["search_id"])
    .takes(Request::Click)
    .answers(&[(202, Body::None)])
    .or(&[404]),
    operation(
        "delete",
        "/v2/analytics/events",
        "Analytics",
        "deleteFigures",
        "Delete the figures of a site.",
        "manage",
    )
    .with(&["host", "start", "end"])
    .answers(&[(200, Body::Json("Deleted"))]),
    operation("get", "/v2/analytics/script.js", "Analytics", "script", "The script that sends pageviews.", "")
        .answers(&[(200, Body::Text("text/javascript"))]),
    operation("get", "/v2/search", "Resources", "searchAll", "One search over all blueprints.", "view")
        .with(&[
            "search",
            "q",
            "typos",
            "q_mode",
            "q_match",
            "group",
            "searched_blueprints",
            "searched_variant",
            "weights",
            "page",
            "per_page",
            "search_limit",
            "copy",
            "explain",
            "track",
        ])
        .answers(&[(200, Body::Json("Found"))]),
    operation("get", "/v2/status", "Server", "status", "How the server is.", "manage")
        .answers(&[(200, Body::Data("Status"))]),
    operation("get", "/v2/cluster", "Server", "cluster", "The nodes of the cluster.", "manage")
        .answers(&[(200, Body::Data("Cluster"))])
        .or(&[404]),
    operation("post", "/v2/cluster/hint", "Server", "hint", "Only for nodes: how far the log of the cluster is.", "")
        .takes(Request::Json("Hint"))
        .answers(&[(204, Body::None)])
        .or(&[400, 403]),
    operation(
        "post",
        "/v2/cluster/batches",
        "Server",
        "countBatch",
        "Only for nodes: pageviews for the one that counts.",
        "",
    )
    .takes(Request::Json("Batch"))
    .answers(&[(200, Body::Json("Counted"))])
    .or(&[400, 403, 503]),
    operation("get", "/v2/cluster/questions", "Server", "questions", "Only for nodes: questions to suggest.", "")
        .answers(&[(200, Body::Json("Questions"))])
        .or(&[403, 503]),
    operation("get", "/v2/backup", "Server", "backup", "Everything in one file, streamed.", "manage")
        .answers(&[(200, Body::Text("application/octet-stream"))]),
    operation("get", "/v2/backup/media", "Server", "backUpMedia", "The files of media in one file.", "manage")
        .answers(&[(200, Body::Text("application/octet-stream"))]),
    operation(
        "get",
        "/v2/openapi.json",
        "Server",
        "describe",
        "This description; with a token also the blueprints that it sees.",
        "",
    )
    .with(&["described"])
    .answers(&[(200, Body::Json("Description"))])
    .or(&[401]),
    operation("get", "/docs", "Server", "docs", "A viewer of this description.", "")
        .answers(&[(200, Body::Text("text/html")), (304, Body::None)]),
    operation("get", "/docs/{file}", "Server", "docsFile", "A file of the viewer.", "")
        .with(&["docs_file"])
        .answers(&[(200, Body::Text("text/javascript")), (304, Body::None)]),
    operation("get", "/metrics", "Server", "metrics", "Figures of the server, for Prometheus.", "")
        .answers(&[(200, Body::Text("text/plain"))])
        .or(&[401, 403]),
    operation("get", "/admin", "Server", "dashboard", "The dashboard.", "")
        .answers(&[(200, Body::Text("text/html")), (304, Body::None)]),
    operation("get", "/admin/", "Server", "dashboardRoot", "The dashboard.", "")
        .answers(&[(200, Body::Text("text/html")), (304, Body::None)]),
    operation("get", "/admin/{path}", "Server", "dashboardFile", "A file or a screen of the dashboard.", "")
        .with(&["file_path"])
        .answers(&[(200, Body::Text("application/octet-stream")), (304, Body::None)]),
    operation("get", "/healthz", "Server", "isAlive", "Whether the process answers.", "").answers(&[(200, Body::None)]),
    operation("get", "/readyz", "Server", "isReady", "Whether writes are accepted.", "").answers(&[(200, Body::None)]),
];

/// Returns all operations.
pub(crate) fn all() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().chain(&accounts::OPERATIONS).chain(&webhooks::OPERATIONS).chain(&steering::OPERATIONS)
}

/// Returns the paths of all operations in OpenAPI notation; a path with several methods is repeated.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    all().map(|operation| operation.path)
}

/// Returns the route that matches a path, in OpenAPI notation.
pub(crate) fn route_of(path: &str) -> Option<&'static str> {
    static ROUTES: LazyLock<matchit::Router<&'static str>> = LazyLock::new(|| {
        let mut routes = matchit::Router::new();
        for path in paths() {
            // The path of a page, or the name of an event, may have more segments.
            let pattern = path.replace("{path}", "{*path}").replace("{event}", "{*event}");
            // Several operations have the same path, so an error (already inserted) is expected. A test looks up each
            // path.
            let _ = routes.insert(pattern, path);
        }
        routes
    });
    ROUTES.at(path).ok().map(|found| *found.value)
}
