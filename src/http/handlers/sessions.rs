//! Signing in and out, sessions and invitations (`API.md` 5.8). Must not know how passwords are checked.

use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::header::{SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bindery_access::{ClientNote, Session, csrf_of};
use bindery_content::{Credentials, NewPassword, NewSession, SignedInMember};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error};
use bindery_model::time::{Millis, format_millis};
use bindery_query::{RawParams, strict};
use serde_json::{Value, json};

use crate::answer::respond::{data_value, no_content};
use crate::app::App;
use crate::error::{Answer, Failure};
use crate::request::client::Client;
use crate::request::head::{BaseUrl, Call, known_session, session_of, takes_no_parameters};
use crate::request::session_cookie::{CookieKind, check_origin};
use crate::transport::body::JsonBody;

/// Bodies here hold an email, a name and a password.
const MAX_BODY_BYTES: usize = 16 << 10;

/// The number of characters of a user agent that are kept.
const MAX_AGENT_CHARS: usize = 256;

/// The header that holds the secret of an invitation: a path or a query string would be logged.
const X_INVITATION: HeaderName = HeaderName::from_static("x-invitation");

/// The head of a request that signs somebody in.
pub(crate) struct SignInHead {
    app: App,
    extensions: Extensions,
    headers: HeaderMap,
}

impl FromRequestParts<App> for SignInHead {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<SignInHead, Failure> {
        let signing_in =
            SignInHead { app: app.clone(), extensions: parts.extensions.clone(), headers: parts.headers.clone() };
        app.limits.take_address(signing_in.client().address)?;
        // Prevents a page of another site from signing its visitors in as somebody else.
        check_origin(&app.config, &parts.headers)?;
        Ok(signing_in)
    }
}

impl SignInHead {
    fn client(&self) -> Client {
        Client::of(&self.extensions, &self.headers, &self.app.config.analytics)
    }

    fn note(&self) -> ClientNote {
        let agent = self.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let address = Some(self.client().address).filter(|address| !address.is_unspecified());
        ClientNote {
            address: address.map(|address| address.to_string()),
            agent: agent.chars().take(MAX_AGENT_CHARS).collect(),
        }
    }

    fn cookie(&self) -> CookieKind {
        CookieKind::of(&self.app, &self.extensions, &self.headers)
    }

    /// Returns the response that sets the session's cookie.
    fn answer(&self, new: &NewSession) -> Answer {
        signed_in(self.cookie(), self.app.content.clock_time(), &new.signed_in, &new.secret)
    }
}

fn signed_in(cookie: CookieKind, now: Millis, signed_in: &SignedInMember, secret: &str) -> Answer {
    let SignedInMember { member, role, session } = signed_in;
    let abilities: Vec<&str> = role.abilities().iter().map(|ability| ability.as_str()).collect();
    let value = json!({
        "member": { "id": member.id, "name": member.name, "email": member.email, "role": member.role },
        "role": role.as_str(),
        "abilities": abilities,
        "blueprints": member.blueprints,
        "csrf": csrf_of(secret),
        "expires_at": format_millis(session.expires_at()),
    });
    let kept = cookie.keep(secret, session.expires_at() - now)?;
    Ok(with_cookie(data_value(StatusCode::OK, value), kept))
}

fn with_cookie(mut response: Response, cookie: HeaderValue) -> Response {
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

pub(crate) async fn sign_in(signing_in: SignInHead, body: JsonBody) -> Answer {
    let credentials = Credentials::parse(&body.read(MAX_BODY_BYTES).await?)?;
    let app = &signing_in.app;
    let attempt = app.sign_ins.begin(signing_in.client().address, credentials.email())?;
    let secrets: Vec<&str> = signing_in.cookie().secrets(&signing_in.headers).collect();
    let replaced = secrets.iter().copied().find(|secret| app.content.session(secret).is_ok());
    let outcome = app.content.sign_in(credentials, signing_in.note(), replaced).await;
    if !outcome.as_ref().is_err_and(|error| error.code == Code::Unauthenticated) {
        attempt.did_not_fail();
    }
    signing_in.answer(&outcome?)
}

pub(crate) async fn find(State(app): State<App>, extensions: Extensions, headers: HeaderMap) -> Answer {
    let (known, secret) = session_of(&app, &Method::GET, &extensions, &headers)?;
    app.content.access_of(&known)?;
    // This request is a use, which is noted later.
    let session = known.after_use(app.content.now());
    let cookie = CookieKind::of(&app, &extensions, &headers);
    signed_in(cookie, app.content.clock_time(), &app.content.signed_in(&session)?, &secret)
}

/// Signs a member out. This also works for a member whose role carries no rights any more.
pub(crate) async fn sign_out(
    State(app): State<App>,
    method: Method,
    extensions: Extensions,
    headers: HeaderMap,
) -> Answer {
    let (known, _) = session_of(&app, &method, &extensions, &headers)?;
    app.content.sign_out(&known.session).await?;
    Ok(with_cookie(no_content(), CookieKind::of(&app, &extensions, &headers).clear()?))
}

/// Changes the password. A wrong present password is not answered with 401, which would mean that the session has
/// ended. It counts as a failed sign-in.
pub(crate) async fn change_password(signing_in: SignInHead, body: JsonBody) -> Answer {
    let SignInHead { app, extensions, headers } = &signing_in;
    let (known, _) = known_session(app, &Method::PUT, extensions, headers)?;
    let SignedInMember { member, .. } = app.content.signed_in(&known.session)?;
    let new = NewPassword::parse(&body.read(MAX_BODY_BYTES).await?)?;
    let attempt = app.sign_ins.begin(signing_in.client().address, &member.email)?;
    match app.content.change_password(&member, new, signing_in.note()).await {
        Err(error) if error.code == Code::Unauthenticated => {
            Err(Error::of_field("current_password", "is not the password of this member").into())
        }
        outcome => {
            attempt.did_not_fail();
            signing_in.answer(&outcome?)
        }
    }
}

pub(crate) async fn list(call: Call, extensions: Extensions, headers: HeaderMap) -> Answer {
    if call.access.member().is_none() {
        // Checked before the parameters (`API.md` 1.7).
        call.access.require(&[Ability::Manage])?;
    }
    let params = RawParams::parse(&call.query);
    strict::check(&params, &["member"])?;
    let sessions = call.app.content.list_sessions(&call.access, params.single("member")?)?;
    let current = known_session(&call.app, &Method::GET, &extensions, &headers).ok();
    let current = current.map(|(known, _)| known.session.id.clone());
    let shown = sessions.iter().map(|session| open_session(session, current.as_deref()));
    Ok(data_value(StatusCode::OK, shown.collect()))
}

fn open_session(session: &Session, current: Option<&str>) -> Value {
    json!({
        "id": session.id,
        "type": "session",
        "created_at": format_millis(session.created_at),
        "last_used_at": format_millis(session.used_at),
        "address": session.client.address,
        "agent": session.client.agent,
        "current": current == Some(session.id.as_str()),
    })
}

pub(crate) async fn end(call: Call<String>) -> Answer {
    call.app.content.end_session(&call.access, &call.path).await?;
    Ok(no_content())
}

pub(crate) async fn invite(call: Call<String>, BaseUrl(base): BaseUrl) -> Answer {
    let issued = call.app.content.invite(&call.access, &call.path).await?;
    let value = json!({
        "type": "invitation",
        "url": invitation_url(&base, &issued.secret),
        "expires_at": format_millis(issued.invitation.expires_at),
    });
    Ok(data_value(StatusCode::CREATED, value))
}

/// Returns the link of an invitation. Browsers do not send the part behind `#`, so the secret appears in no log.
pub fn invitation_url(base: &str, secret: &str) -> String {
    format!("{base}/admin/invitation#{secret}")
}

pub(crate) async fn find_invitation(signing_in: SignInHead, RawQuery(query): RawQuery) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    let secret = signing_in.headers.get(X_INVITATION).and_then(|secret| secret.to_str().ok()).ok_or_else(|| {
        let text = "the header `X-Invitation` is missing: the secret that the link of the invitation ends with";
        Error::new(Code::InvalidParameter, text)
    })?;
    let value = match signing_in.app.content.invited(secret)? {
        Some(member) => json!({ "email": member.email, "name": member.name, "role": member.role }),
        None => json!({ "email": null, "name": null, "role": "owner" }),
    };
    Ok(data_value(StatusCode::OK, value))
}

pub(crate) async fn accept_invitation(signing_in: SignInHead, body: JsonBody) -> Answer {
    let body = body.read(MAX_BODY_BYTES).await?;
    let new = signing_in.app.content.accept_invitation(&body, signing_in.note()).await?;
    signing_in.answer(&new)
}
