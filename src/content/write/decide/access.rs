//! Decides commands on tokens and members.

use bindery_access::{Member, MemberPatch, NewMember, NewToken, SecretOf, Token, new_secret};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::sent::quote;
use bindery_store::{Counter, Key};

use super::{account, view};
use crate::command::Outcome;
use crate::data::refusals::{no_blueprint, no_member};
use crate::data::state::State;
use crate::write::overlay::Overlay;

pub(super) fn create_token(state: &State, overlay: &mut Overlay<'_>, new: &NewToken) -> Result<Outcome> {
    let unknown = unknown_blueprints(state, new.blueprints.iter().flatten());
    if !unknown.is_empty() {
        return Err(Error::validation(FieldErrors::from_iter([("blueprints".to_owned(), unknown)])));
    }
    let (secret, hash) = new_secret(SecretOf::Token)?;
    let NewToken { name, abilities, blueprints, expires_at } = new.clone();
    let id = overlay.new_id()?.to_string();
    let token = Token { id, name, abilities, blueprints, created_at: overlay.now, expires_at, used_at: None, hash };
    put_token(overlay, &token);
    Ok(Outcome::TokenCreated(token, secret))
}

fn put_token(overlay: &mut Overlay<'_>, token: &Token) {
    overlay.put(Key::Token(token.id.as_str().into()), token.encode());
}

/// Notes that a token is used. A token that was revoked meanwhile stays revoked.
pub(super) fn note_token_use(state: &State, overlay: &mut Overlay<'_>, id: &str) -> Outcome {
    if let Some(token) = state.tokens.get(id) {
        put_token(overlay, &Token { used_at: token.used_at.max(Some(overlay.now)), ..token.clone() });
    }
    Outcome::Done
}

/// Returns the errors about slugs that no blueprint has.
pub(super) fn unknown_blueprints<'a>(state: &State, slugs: impl Iterator<Item = &'a String>) -> Vec<String> {
    slugs.filter(|slug| !state.blueprints.contains_key(*slug)).map(|slug| no_blueprint(slug).message).collect()
}

pub(super) fn revoke_token(state: &State, overlay: &mut Overlay<'_>, id: &str) -> Result<Outcome> {
    if state.tokens.get(id).is_none() {
        return Err(Error::new(Code::NotFound, format!("there is no token {}", quote(id))));
    }
    overlay.remove(Key::Token(id.into()));
    Ok(Outcome::Done)
}

pub(super) fn create_member(state: &State, overlay: &mut Overlay<'_>, draft: &NewMember) -> Result<Outcome> {
    let id = overlay.next_of(Counter::Member)?;
    let NewMember { name, email, role, blueprints } = draft.clone();
    let member = Member { id, name, email, role, blueprints, seen_at: None };
    check_member(state, &member, None)?;
    Ok(put_member(overlay, member))
}

pub(super) fn change_member(state: &State, overlay: &mut Overlay<'_>, id: u64, patch: &MemberPatch) -> Result<Outcome> {
    let before = find(state, id)?;
    let mut member = before.clone();
    let MemberPatch { name, email, role, blueprints } = patch.clone();
    member.email = email.unwrap_or(member.email);
    member.name = name.unwrap_or(member.name);
    member.role = role.apply(member.role);
    member.blueprints = blueprints.apply(member.blueprints);
    check_member(state, &member, Some(before))?;
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
    // Shared views stay, because others use them.
    view::forget(state, overlay, |view| view.owner == id && !view.shared);
    Ok(Outcome::Done)
}

fn find(state: &State, id: u64) -> Result<&Member> {
    state.members.get(&id).ok_or_else(|| no_member(&id.to_string()))
}

fn check_member(state: &State, member: &Member, before: Option<&Member>) -> Result<()> {
    let mut errors = FieldErrors::default();
    let others = state.members.values().filter(|other| other.id != member.id);
    if let Some(other) = others.into_iter().find(|other| other.email == member.email) {
        let text = format!("must be unique: the member {} has it already", other.id);
        errors.push(("email".to_owned(), vec![text]));
    }
    // Blueprints that the member already has are accepted, even if they were deleted since.
    let known: Vec<&String> = before.iter().flat_map(|before| &before.blueprints).flatten().collect();
    let slugs = member.blueprints.iter().flatten().filter(|slug| !known.contains(slug));
    let mut texts = unknown_blueprints(state, slugs);
    let manages = member.rights().filter(|role| role.abilities().contains(&Ability::Manage));
    if let (Some(role), Some(_)) = (manages, &member.blueprints) {
        let role = role.as_str();
        texts.push(format!(
            "must be null for the role `{role}`, which has the ability `manage` and cannot be limited to blueprints"
        ));
    }
    if !texts.is_empty() {
        errors.push(("blueprints".to_owned(), texts));
    }
    if errors.is_empty() { Ok(()) } else { Err(Error::validation(errors)) }
}
