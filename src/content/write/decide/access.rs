//! Decides commands on tokens and members.

use super::account;
use crate::access::{Member, MemberPatch, NewMember, NewToken, SecretOf, Token, new_secret};
use crate::content::command::Outcome;
use crate::content::data::refusals::{no_blueprint, no_member};
use crate::content::data::state::State;
use crate::content::write::overlay::Overlay;
use crate::model::error::{Code, Error, FieldErrors, Result};
use crate::model::sent::quote;
use crate::store::{Counter, Key};

pub(super) fn create_token(state: &State, overlay: &mut Overlay<'_>, new: &NewToken) -> Result<Outcome> {
    let unknown: Vec<&String> =
        new.blueprints.iter().flatten().filter(|slug| !state.blueprints.contains_key(*slug)).collect();
    if !unknown.is_empty() {
        let texts = unknown.iter().map(|slug| no_blueprint(slug).message).collect();
        return Err(Error::validation(FieldErrors::from_iter([("blueprints".to_owned(), texts)])));
    }
    let (secret, hash) = new_secret(SecretOf::Token)?;
    let NewToken { name, abilities, blueprints, expires_at } = new.clone();
    let id = overlay.new_id()?.to_string();
    let token = Token { id, name, abilities, blueprints, created_at: overlay.now, expires_at, hash };
    overlay.put(Key::Token(token.id.as_str().into()), token.encode());
    Ok(Outcome::TokenCreated(token, secret))
}

pub(super) fn revoke_token(state: &State, overlay: &mut Overlay<'_>, id: &str) -> Result<Outcome> {
    if !state.tokens.list().iter().any(|token| token.id == id) {
        return Err(Error::new(Code::NotFound, format!("there is no token {}", quote(id))));
    }
    overlay.remove(Key::Token(id.into()));
    Ok(Outcome::Done)
}

pub(super) fn create_member(state: &State, overlay: &mut Overlay<'_>, draft: &NewMember) -> Result<Outcome> {
    check_email(state, &draft.email, None)?;
    let id = overlay.next_of(Counter::Member)?;
    let NewMember { name, email, role } = draft.clone();
    Ok(put_member(overlay, Member { id, name, email, role }))
}

pub(super) fn change_member(state: &State, overlay: &mut Overlay<'_>, id: u64, patch: &MemberPatch) -> Result<Outcome> {
    let before = find(state, id)?;
    let mut member = before.clone();
    let MemberPatch { name, email, role } = patch.clone();
    if let Some(email) = email {
        check_email(state, &email, Some(id))?;
        member.email = email;
    }
    member.name = name.unwrap_or(member.name);
    member.role = role.apply(member.role);
    if *before == member {
        return Ok(Outcome::Member(member));
    }
    Ok(put_member(overlay, member))
}

pub(super) fn put_member(overlay: &mut Overlay<'_>, member: Member) -> Outcome {
    overlay.put(Key::Member(member.id), member.encode());
    Outcome::Member(member)
}

pub(super) fn delete_member(state: &State, overlay: &mut Overlay<'_>, id: u64) -> Result<Outcome> {
    find(state, id)?;
    overlay.remove(Key::Member(id));
    account::forget(state, overlay, id);
    Ok(Outcome::Done)
}

fn find(state: &State, id: u64) -> Result<&Member> {
    state.members.get(&id).ok_or_else(|| no_member(&id.to_string()))
}

fn check_email(state: &State, email: &str, own: Option<u64>) -> Result<()> {
    match state.members.values().find(|member| member.email == email && Some(member.id) != own) {
        Some(other) => {
            let text = format!("must be unique: the member {} has it already", other.id);
            Err(Error::of_field("email", text))
        }
        None => Ok(()),
    }
}
