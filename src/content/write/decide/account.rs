//! Decides commands on the sign-in of members: sessions, invitations and passwords (`API.md` 5.8).

use bindery_access::{
    ClientNote, FIRST_OWNER, INVITATION_LASTS, Invitation, Member, PasswordHash, Role, SESSIONS_MAX, SecretOf, Session,
    new_secret,
};
use bindery_model::error::{Error, Result};
use bindery_store::{Counter, Key};

use crate::command::{AccountCommand, Outcome};
use crate::data::refusals::{invitation_is_void, no_member, wrong_password};
use crate::data::state::State;
use crate::write::overlay::Overlay;

pub(super) fn decide(state: &State, overlay: &mut Overlay<'_>, command: &AccountCommand) -> Result<Outcome> {
    match command {
        AccountCommand::SignIn { member, password, client, replaces } => {
            let member = with_password(state, *member, password)?;
            if let Some(replaced) = replaces {
                overlay.remove(session_key(replaced));
            }
            begin_session(state, overlay, member, client)
        }
        AccountCommand::Renew(id) => Ok(renew(state, overlay, id)),
        AccountCommand::EndSession(id) => {
            if state.accounts.session_by_id(id).is_some() {
                overlay.remove(session_key(id));
            }
            Ok(Outcome::Done)
        }
        AccountCommand::Invite(member) => invite(state, overlay, *member),
        AccountCommand::ChangePassword { member, present, password, client } => {
            let member = with_password(state, *member, present)?;
            set_password(state, overlay, member.id, password);
            begin_session(state, overlay, member, client)
        }
        AccountCommand::Accept { invitation, name, email, password, client } => {
            let member = accept(state, overlay, invitation, name.as_deref(), email.as_deref())?;
            set_password(state, overlay, member.id, password);
            begin_session(state, overlay, member, client)
        }
    }
}

/// Returns the member, if the password that was checked is still theirs.
fn with_password(state: &State, member: u64, checked: &PasswordHash) -> Result<Member> {
    let known = state.members.get(&member).filter(|_| state.accounts.password(member) == Some(checked));
    known.cloned().ok_or_else(wrong_password)
}

/// Sets the password of a member. Somebody else may know the old one, so everyone who signed in with it is signed out.
fn set_password(state: &State, overlay: &mut Overlay<'_>, member: u64, password: &PasswordHash) {
    overlay.put(Key::Password(member), password.encode());
    end_sessions(state, overlay, member);
}

/// Removes the password, invitation and sessions of a member.
pub(super) fn forget(state: &State, overlay: &mut Overlay<'_>, member: u64) {
    if state.accounts.password(member).is_some() {
        overlay.remove(Key::Password(member));
    }
    // Removes the invitation even if it has expired.
    overlay.remove(Key::Invitation(member));
    end_sessions(state, overlay, member);
}

fn end_sessions(state: &State, overlay: &mut Overlay<'_>, member: u64) {
    for session in state.accounts.sessions_of(member) {
        overlay.remove(session_key(&session.id));
    }
}

fn session_key(id: &str) -> Key {
    Key::Session(id.into())
}

/// Begins a session, and notes that the member was seen now. Ends expired sessions of the member, and the longest
/// unused ones beyond the limit.
fn begin_session(state: &State, overlay: &mut Overlay<'_>, member: Member, client: &ClientNote) -> Result<Outcome> {
    let (secret, hash) = new_secret(SecretOf::Session)?;
    let (id, now) = (overlay.new_id()?.to_string(), overlay.now);
    let kept = |session: &&&Session| now < session.expires_at();
    let own = state.accounts.sessions_of(member.id);
    // The sessions are sorted by their last use, the latest first, so those cut off are the longest unused.
    let n_kept = own.iter().filter(kept).count().min(SESSIONS_MAX - 1);
    for session in &own[n_kept..] {
        overlay.remove(session_key(&session.id));
    }
    let session = Session { id, member: member.id, hash, created_at: now, used_at: now, client: client.clone() };
    overlay.put(session_key(&session.id), session.encode());
    put_seen(overlay, member);
    Ok(Outcome::SignedIn(session, secret))
}

fn renew(state: &State, overlay: &mut Overlay<'_>, id: &str) -> Outcome {
    if let Some(session) = state.accounts.session_by_id(id) {
        let renewed = Session { used_at: session.used_at.max(overlay.now), ..session.clone() };
        overlay.put(session_key(id), renewed.encode());
        state.members.get(&session.member).cloned().into_iter().for_each(|member| put_seen(overlay, member));
    }
    Outcome::Done
}

/// Stores a member with the current time as the time they were last seen.
fn put_seen(overlay: &mut Overlay<'_>, mut member: Member) {
    member.seen_at = member.seen_at.max(Some(overlay.now));
    overlay.put(Key::Member(member.id), member.encode());
}

fn invite(state: &State, overlay: &mut Overlay<'_>, member: u64) -> Result<Outcome> {
    if member != FIRST_OWNER && !state.members.contains_key(&member) {
        return Err(no_member(&member.to_string()));
    }
    let (secret, hash) = new_secret(SecretOf::Invitation)?;
    let invitation = Invitation { member, hash, expires_at: overlay.now + INVITATION_LASTS };
    overlay.put(Key::Invitation(member), invitation.encode());
    Ok(Outcome::Invited(invitation, secret))
}

/// Consumes an invitation. Returns its member; the first owner's link creates one.
fn accept(
    state: &State,
    overlay: &mut Overlay<'_>,
    invitation: &Invitation,
    name: Option<&str>,
    email: Option<&str>,
) -> Result<Member> {
    let known = state.accounts.invitation_of(invitation.member, overlay.now);
    if known != Some(invitation) {
        return Err(invitation_is_void());
    }
    overlay.remove(Key::Invitation(invitation.member));
    let mut member = match state.members.get(&invitation.member) {
        Some(member) => member.clone(),
        None if invitation.member == FIRST_OWNER => first_owner(state, overlay, name, email)?,
        None => return Err(invitation_is_void()),
    };
    if let Some(name) = name {
        name.clone_into(&mut member.name);
    }
    if member.rights() == Some(Role::Owner) {
        // There is an owner who can invite others now, so the link of the first start must not create another.
        overlay.remove(Key::Invitation(FIRST_OWNER));
    }
    Ok(member)
}

/// Returns the owner that the first start's link creates: a new member, or the existing one with that email.
fn first_owner(state: &State, overlay: &mut Overlay<'_>, name: Option<&str>, email: Option<&str>) -> Result<Member> {
    let (Some(name), Some(email)) = (name, email) else {
        return Err(Error::internal("the first owner's link without a name or an email"));
    };
    let role = Some(Role::Owner.as_str().to_owned());
    let known = state.members.values().find(|member| member.email == email);
    Ok(match known {
        Some(member) => Member { role, blueprints: None, ..member.clone() },
        None => {
            let id = overlay.next_of(Counter::Member)?;
            Member { id, name: name.to_owned(), email: email.to_owned(), role, blueprints: None, seen_at: None }
        }
    })
}
