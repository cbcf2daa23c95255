//! Decides commands on blueprints, tokens and members.

use std::collections::BTreeMap;
use std::sync::Arc;

mod blueprint;

use blueprint::{
    carry_change, create_blueprint, delete_blueprint, drop_change, finish_change, lost_claims, replace_blueprint,
};
pub(crate) use blueprint::{check_kind, check_settled, revise};

use crate::access::{Member, MemberPatch, NewMember, NewToken, Token, Tokens, new_secret};
use crate::content::change::Pending;
use crate::content::command::{Command, Outcome};
use crate::content::state::{State, StateCell, no_blueprint};
use crate::content::sweep::Lost;
use crate::content::working::Working;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};
use crate::model::sent::quote;
use crate::projection;
use crate::sanitize::Sanitizer;
use crate::store::{Counter, Key};

/// A command that is decided: what to answer, and what readers see once it is durable.
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) effect: StateEffect,
}

/// What a command does to the state that readers see.
pub(crate) enum StateEffect {
    Nothing,
    /// A new blueprint, and its one resource if it is singular.
    NewBlueprint(Arc<Blueprint>, Vec<bindery_index::IndexOp>),
    /// A change of a blueprint that begins.
    BegunChange(Arc<Pending>),
    /// What the change of the blueprint of that number needs of its index.
    CarriedChange(u32, Vec<bindery_index::IndexOp>),
    /// A change that does not come into force.
    DroppedChange(Arc<Pending>),
    /// A blueprint that was changed, and what it was before.
    ChangedBlueprint {
        before: Arc<Blueprint>,
        blueprint: Arc<Blueprint>,
    },
    /// A blueprint that is gone.
    NoBlueprint {
        slug: String,
        number: u32,
    },
    Tokens(Tokens),
    Members(BTreeMap<u64, Member>),
}

impl StateEffect {
    /// What it leaves in the store that nothing names any more.
    pub(crate) fn lost(&self) -> Vec<Lost> {
        match self {
            StateEffect::NoBlueprint { number, .. } => vec![Lost::Blueprint(*number)],
            StateEffect::ChangedBlueprint { before, blueprint } => lost_claims(before, blueprint),
            StateEffect::DroppedChange(pending) => lost_claims(&pending.next, &pending.current),
            _ => Vec::new(),
        }
    }

    /// Whether an index from before it would have to be built anew.
    pub(crate) fn fills_columns(&self) -> bool {
        matches!(self, StateEffect::ChangedBlueprint { before, blueprint } if before.filled != blueprint.filled)
    }

    /// Makes it visible, once it is in the store.
    pub(crate) fn apply(self, indexes: &bindery_index::Indexes, cell: &StateCell, version: u64) {
        match self {
            StateEffect::Nothing => {}
            StateEffect::NewBlueprint(blueprint, changes) => {
                let index = indexes.create(blueprint.number, projection::schema(&blueprint));
                index.apply(changes);
                cell.update(|state| state.put(blueprint, index, version));
            }
            StateEffect::BegunChange(pending) => {
                if let Some(index) = indexes.get(pending.current.number).filter(|_| pending.retypes()) {
                    index.set_schema(pending.shape().schema());
                }
                cell.update(|state| state.set_pending(Arc::clone(&pending.current), Some(pending)));
            }
            StateEffect::CarriedChange(number, changes) => {
                if let Some(index) = indexes.get(number) {
                    index.backfill(changes);
                }
            }
            StateEffect::DroppedChange(pending) => {
                if let Some(index) = indexes.get(pending.current.number).filter(|_| pending.retypes()) {
                    index.set_schema(projection::schema(&pending.current));
                }
                cell.update(|state| state.set_pending(Arc::clone(&pending.current), None));
            }
            StateEffect::ChangedBlueprint { before: _, blueprint } => {
                let index = indexes.get(blueprint.number).expect("a blueprint has an index from its beginning");
                index.set_schema(projection::schema(&blueprint));
                cell.update(|state| state.put(blueprint, index, version));
            }
            StateEffect::NoBlueprint { slug, number } => {
                cell.update(|state| {
                    state.blueprints.remove(&slug);
                });
                indexes.remove(number);
            }
            StateEffect::Tokens(tokens) => cell.update(|state| state.tokens = Arc::new(tokens)),
            StateEffect::Members(members) => cell.update(|state| state.members = Arc::new(members)),
        }
    }
}

/// Decides one command.
pub(crate) fn settle(
    state: &State,
    sanitizer: &Sanitizer,
    working: &mut Working<'_>,
    command: Command,
) -> Result<Settled> {
    match command {
        Command::CreateBlueprint(draft) => create_blueprint(state, working, draft),
        Command::ReplaceBlueprint { slug, draft, force } => {
            replace_blueprint(state, sanitizer, working, &slug, draft, force)
        }
        Command::CarryChange { blueprint, carried } => carry_change(state, working, blueprint, carried),
        Command::FinishChange { blueprint } => finish_change(state, working, blueprint),
        Command::DropChange { blueprint } => drop_change(state, working, blueprint),
        Command::DeleteBlueprint { slug, force } => delete_blueprint(state, working, &slug, force),
        Command::CreateToken(token) => create_token(state, working, token),
        Command::RevokeToken(id) => revoke_token(state, working, &id),
        Command::CreateMember(draft) => create_member(state, working, draft),
        Command::ChangeMember(id, patch) => change_member(state, working, id, patch),
        Command::DeleteMember(id) => delete_member(state, working, id),
        Command::Wait => Ok(Settled { outcome: Outcome::Done, effect: StateEffect::Nothing }),
        Command::Write(_) | Command::Checkpoint => Err(Error::internal("a command that is decided elsewhere")),
    }
}

fn create_token(state: &State, working: &mut Working<'_>, new: NewToken) -> Result<Settled> {
    let unknown: Vec<&String> =
        new.blueprints.iter().flatten().filter(|slug| !state.blueprints.contains_key(*slug)).collect();
    if !unknown.is_empty() {
        let texts = unknown.iter().map(|slug| no_blueprint(slug).message).collect();
        return Err(Error::validation(vec![("blueprints".to_owned(), texts)]));
    }
    let (secret, hash) = new_secret()?;
    let NewToken { name, abilities, blueprints, expires_at } = new;
    let id = working.new_id()?.to_string();
    let token = Token { id, name, abilities, blueprints, created_at: working.now, expires_at, hash };
    working.put(Key::Token(token.id.as_str().into()), token.encode());
    let mut tokens = Tokens::clone(&state.tokens);
    tokens.insert(token.clone());
    Ok(Settled { outcome: Outcome::TokenCreated(token, secret), effect: StateEffect::Tokens(tokens) })
}

fn revoke_token(state: &State, working: &mut Working<'_>, id: &str) -> Result<Settled> {
    let mut tokens = Tokens::clone(&state.tokens);
    if tokens.remove(id).is_none() {
        return Err(Error::new(Code::NotFound, format!("there is no token {}", quote(id))));
    }
    working.remove(Key::Token(id.into()));
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::Tokens(tokens) })
}

fn create_member(state: &State, working: &mut Working<'_>, draft: NewMember) -> Result<Settled> {
    check_email(state, &draft.email, None)?;
    let id = next_counter(working, Counter::Member)?;
    let member = Member { id, name: draft.name, email: draft.email, role: draft.role };
    Ok(put_member(state, working, member))
}

fn change_member(state: &State, working: &mut Working<'_>, id: u64, patch: MemberPatch) -> Result<Settled> {
    let mut member = member(state, id)?.clone();
    if let Some(email) = patch.email {
        check_email(state, &email, Some(id))?;
        member.email = email;
    }
    member.name = patch.name.unwrap_or(member.name);
    member.role = patch.role.apply(member.role);
    if state.members.get(&id) == Some(&member) {
        return Ok(Settled { outcome: Outcome::Member(member), effect: StateEffect::Nothing });
    }
    Ok(put_member(state, working, member))
}

fn put_member(state: &State, working: &mut Working<'_>, member: Member) -> Settled {
    working.put(Key::Member(member.id), member.encode());
    let mut members = BTreeMap::clone(&state.members);
    members.insert(member.id, member.clone());
    Settled { outcome: Outcome::Member(member), effect: StateEffect::Members(members) }
}

fn delete_member(state: &State, working: &mut Working<'_>, id: u64) -> Result<Settled> {
    member(state, id)?;
    working.remove(Key::Member(id));
    let mut members = BTreeMap::clone(&state.members);
    members.remove(&id);
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::Members(members) })
}

/// The member that a path names.
///
/// # Errors
/// `NOT_FOUND`.
pub(crate) fn find_member<'a>(state: &'a State, id: &str) -> Result<&'a Member> {
    let number = id.parse().ok().filter(|number: &u64| number.to_string() == id);
    number.and_then(|number| state.members.get(&number)).ok_or_else(|| no_member(id))
}

fn member(state: &State, id: u64) -> Result<&Member> {
    state.members.get(&id).ok_or_else(|| no_member(&id.to_string()))
}

fn no_member(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no member {}", quote(id)))
}

fn check_email(state: &State, email: &str, own: Option<u64>) -> Result<()> {
    match state.members.values().find(|member| member.email == email && Some(member.id) != own) {
        Some(other) => {
            let text = format!("must be unique: the member {} has it already", other.id);
            Err(Error::validation(vec![("email".to_owned(), vec![text])]))
        }
        None => Ok(()),
    }
}

/// Takes the next number of a counter; they begin at 1 and are never used again.
fn next_counter(working: &mut Working<'_>, counter: Counter) -> Result<u64> {
    let key = Key::Counter(counter);
    let last = match working.get(&key)? {
        Some(bytes) => {
            u64::from_le_bytes(bytes.try_into().map_err(|_| Error::internal("a counter of the wrong length"))?)
        }
        None => 0,
    };
    working.put(key, (last + 1).to_le_bytes().to_vec());
    Ok(last + 1)
}
