//! The operations with which members sign in (`API.md` 5.8), as entries of the table. Must not know handlers.

use crate::observe::operation::{Body, Operation, Request, operation};

const TAG: &str = "Sessions";

pub(super) static OPERATIONS: [Operation; 13] = [
    operation("post", "/v2/session", TAG, "signIn", "Sign in with an email and a password.", "")
        .takes(Request::Json("SignIn"))
        .answers(&[(200, Body::Data("Session"))])
        .or(&[401, 403]),
    operation("get", "/v2/session", TAG, "getSession", "Who is signed in, and what they may do.", "session")
        .answers(&[(200, Body::Data("Session"))]),
    operation("delete", "/v2/session", TAG, "signOut", "Sign out.", "session").answers(&[(204, Body::None)]),
    operation("put", "/v2/session/password", TAG, "changePassword", "Set another password.", "session")
        .takes(Request::Json("ChangedPassword"))
        .answers(&[(200, Body::Data("Session"))]),
    operation("get", "/v2/sessions", TAG, "listSessions", "The sessions of a member.", "session")
        .with(&["member"])
        .answers(&[(200, Body::DataList("OpenSession"))])
        .or(&[404]),
    operation("delete", "/v2/sessions/{id}", TAG, "endSession", "End a session.", "session")
        .with(&["session_id"])
        .answers(&[(204, Body::None)]),
    operation(
        "post",
        "/v2/members/{id}/invitations",
        TAG,
        "inviteMember",
        "Make a link with which a member sets a password.",
        "manage",
    )
    .with(&["member_id"])
    .answers(&[(201, Body::Data("IssuedInvitation"))]),
    operation("get", "/v2/views", TAG, "listViews", "The views that the member sees.", "session")
        .with(&["view_blueprint"])
        .answers(&[(200, Body::DataList("View"))]),
    operation("post", "/v2/views", TAG, "createView", "Save a view of a list.", "session")
        .with(&["idempotency-key"])
        .takes(Request::Json("NewView"))
        .answers(&[(201, Body::Data("View"))])
        .or(&[409]),
    operation("patch", "/v2/views/{id}", TAG, "changeView", "Change a view.", "session")
        .with(&["view_id"])
        .takes(Request::Json("ViewChange"))
        .answers(&[(200, Body::Data("View"))])
        .or(&[409]),
    operation("delete", "/v2/views/{id}", TAG, "deleteView", "Delete a view.", "session")
        .with(&["view_id"])
        .answers(&[(204, Body::None)]),
    operation("get", "/v2/invitation", TAG, "getInvitation", "Whom an invitation is for.", "")
        .with(&["invitation"])
        .answers(&[(200, Body::Data("Invitation"))])
        .or(&[404]),
    operation("post", "/v2/invitation", TAG, "acceptInvitation", "Set a password and sign in.", "")
        .takes(Request::Json("AcceptedInvitation"))
        .answers(&[(200, Body::Data("Session"))])
        .or(&[403, 404]),
];
