//! The operations on webhooks (`API.md` 6.2), as entries of the table. Must not know handlers.

use crate::observe::operation::{Body, Operation, Request, operation};

const TAG: &str = "Webhooks";

pub(super) static OPERATIONS: [Operation; 7] = [
    operation("get", "/v2/webhooks", TAG, "listWebhooks", "All webhooks, without their secrets.", "manage")
        .answers(&[(200, Body::DataList("Webhook"))]),
    operation("post", "/v2/webhooks", TAG, "createWebhook", "Create a webhook; its secret is shown once.", "manage")
        .with(&["idempotency-key"])
        .takes(Request::Json("NewWebhook"))
        .answers(&[(201, Body::Data("CreatedWebhook"))])
        .or(&[409]),
    operation("get", "/v2/webhooks/{id}", TAG, "getWebhook", "One webhook.", "manage")
        .with(&["webhook_id"])
        .answers(&[(200, Body::Data("Webhook"))]),
    operation("patch", "/v2/webhooks/{id}", TAG, "changeWebhook", "Change a webhook.", "manage")
        .with(&["webhook_id"])
        .takes(Request::Json("WebhookChange"))
        .answers(&[(200, Body::Data("Webhook"))]),
    operation("delete", "/v2/webhooks/{id}", TAG, "deleteWebhook", "Delete a webhook.", "manage")
        .with(&["webhook_id"])
        .answers(&[(204, Body::None)]),
    operation(
        "get",
        "/v2/webhooks/{id}/deliveries",
        TAG,
        "listDeliveries",
        "The latest deliveries of a webhook.",
        "manage",
    )
    .with(&["webhook_id"])
    .answers(&[(200, Body::DataList("Delivery"))]),
    operation("post", "/v2/webhooks/{id}/test", TAG, "testWebhook", "Send a message now.", "manage")
        .with(&["webhook_id", "idempotency-key"])
        .answers(&[(200, Body::Data("TestDelivery"))]),
];
