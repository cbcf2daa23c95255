//! Decides commands on blueprints, tokens and members.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::{Member, MemberDraft, MemberPatch, NewToken, Token, Tokens, new_secret};
use crate::content::command::{Command, Outcome, ReplaceMode};
use crate::content::decide::related_blueprint;
use crate::content::evolve;
use crate::content::record::Meta;
use crate::content::recovery::{self, StartError};
use crate::content::state::{State, StateCell, no_blueprint};
use crate::content::working::Working;
use crate::model::blueprint::draft::Draft;
use crate::model::blueprint::{Blueprint, FieldType, Kind, render};
use crate::model::error::{Code, Conflict, Error, Result};
use crate::model::html::Sanitizer;
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::projection;
use crate::store::{Counter, Key, Store};

/// A command that is decided: what to answer, and what readers see once it is durable.
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) effect: StateEffect,
}

/// What a command does to the state that readers see.
pub(crate) enum StateEffect {
    Nothing,
    /// A new blueprint, and its one resource if it is singular.
    NewBlueprint(Arc<Blueprint>, Vec<bindery_index::Change>),
    /// A blueprint that was changed, and the resources that are to be indexed again.
    ChangedBlueprint(Arc<Blueprint>, Vec<ResourceId>),
    /// A blueprint that is gone.
    NoBlueprint {
        slug: String,
        number: u32,
    },
    Tokens(Tokens),
    Members(BTreeMap<u64, Member>),
}

impl StateEffect {
    /// The number of the blueprint that it takes away.
    pub(crate) fn lost_blueprint(&self) -> Option<u32> {
        match self {
            StateEffect::NoBlueprint { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// Makes it visible, once it is in the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn apply(
        self,
        store: &Store,
        indexes: &bindery_index::Indexes,
        cell: &StateCell,
        version: u64,
    ) -> Result<(), StartError> {
        match self {
            StateEffect::Nothing => {}
            StateEffect::NewBlueprint(blueprint, changes) => {
                let index = indexes.create(blueprint.number, projection::schema(&blueprint));
                index.apply(changes);
                cell.update(|state| state.put(blueprint, index, version));
            }
            StateEffect::ChangedBlueprint(blueprint, reindexed) => {
                let index = indexes
                    .get(blueprint.number)
                    .unwrap_or_else(|| indexes.create(blueprint.number, projection::schema(&blueprint)));
                index.set_schema(projection::schema(&blueprint));
                recovery::index_resources(store, &index, &blueprint, reindexed.into_iter().map(Ok))?;
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
        Ok(())
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
        Command::ReplaceBlueprint { slug, draft, mode, force } => {
            let replacement = Replacement { slug: &slug, draft, mode, force };
            replace_blueprint(state, sanitizer, working, replacement)
        }
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

fn create_blueprint(state: &State, working: &mut Working<'_>, draft: Draft) -> Result<Settled> {
    if state.blueprints.contains_key(&draft.slug) {
        let text = format!("`{}` is taken by another blueprint", draft.slug);
        return Err(Error::validation(vec![("slug".to_owned(), vec![text])]));
    }
    check_related(state, &draft, None)?;
    let number = next_counter(working, Counter::Blueprint)?;
    let number = u32::try_from(number).map_err(Error::internal)?;
    let blueprint = Arc::new(Blueprint::create(draft, number, working.now));
    working.put(Key::Blueprint(number), render::encode(&blueprint));
    let mut changes = Vec::new();
    if blueprint.kind == Kind::Singular {
        changes.push(create_singular(working, number)?);
    }
    let outcome = Outcome::Blueprint(Arc::clone(&blueprint));
    Ok(Settled { outcome, effect: StateEffect::NewBlueprint(blueprint, changes) })
}

/// The one resource of a singular blueprint, made with it, published (`API.md` 2.3).
fn create_singular(working: &mut Working<'_>, blueprint: u32) -> Result<bindery_index::Change> {
    let id = working.new_id()?;
    let now = working.now;
    let meta = Meta {
        version: working.number,
        created: now,
        updated: now,
        published: Some(now),
        copies: Vec::new(),
        key: None,
    };
    working.put(Key::Resource { blueprint, id }, meta.encode());
    working.put(Key::Singular(blueprint), id.as_u128().to_be_bytes().to_vec());
    let dates = bindery_index::Dates { created: now, updated: now, published: Some(now) };
    Ok(bindery_index::Change::Put { id: id.as_u128(), dates, copies: Vec::new() })
}

/// What a blueprint shall become.
struct Replacement<'a> {
    slug: &'a str,
    draft: Draft,
    mode: ReplaceMode,
    force: bool,
}

fn replace_blueprint(
    state: &State,
    sanitizer: &Sanitizer,
    working: &mut Working<'_>,
    replacement: Replacement<'_>,
) -> Result<Settled> {
    let Replacement { slug, draft, mode, force } = replacement;
    let current = &state.collection(slug)?.blueprint;
    check_related(state, &draft, Some(current))?;
    check_kind(current, draft.kind)?;
    let (next, changes) = current.revise(draft, working.now);
    let plan = evolve::plan(state, working, sanitizer, current, &next, changes, force)?;
    if mode == ReplaceMode::DryRun {
        return Ok(Settled { outcome: Outcome::DryRun(plan), effect: StateEffect::Nothing });
    }
    if plan.conflicts.count > 0 {
        return Err(evolve::conflict(plan.conflicts));
    }
    if plan.changes.is_empty() {
        let outcome = Outcome::Blueprint(Arc::clone(current));
        return Ok(Settled { outcome, effect: StateEffect::Nothing });
    }
    evolve::claim_unique(working, current, &next)?;
    let reindexed = evolve::touch_retyped(working, current, &next)?;
    let next = Arc::new(next);
    working.put(Key::Blueprint(next.number), render::encode(&next));
    let outcome = Outcome::Blueprint(Arc::clone(&next));
    Ok(Settled { outcome, effect: StateEffect::ChangedBlueprint(next, reindexed) })
}

/// What a blueprint is cannot become something else.
pub(crate) fn check_kind(current: &Blueprint, kind: Option<Kind>) -> Result<()> {
    match kind.filter(|kind| *kind != current.kind) {
        None => Ok(()),
        Some(kind) => {
            let text = format!("the kind cannot be changed from `{}` to `{}`", current.kind.as_str(), kind.as_str());
            Err(Error::new(Code::Conflict, text))
        }
    }
}

/// The blueprint that a relation field names must exist, be this one, or be what this field names already.
fn check_related(state: &State, draft: &Draft, current: Option<&Blueprint>) -> Result<()> {
    let names_already = |field: &str, slug: &str| {
        let field = current.and_then(|current| current.field(field));
        field.and_then(related_blueprint) == Some(slug)
    };
    let is_there = |slug: &str| state.blueprints.contains_key(slug) || slug == draft.slug;
    let faults: Vec<(String, Vec<String>)> = draft
        .related()
        .filter(|(_, field, slug)| !is_there(slug) && !names_already(field, slug))
        .map(|(place, _, slug)| {
            let text = format!("relates to the blueprint `{slug}`, which does not exist");
            (format!("fields.{place}.settings"), vec![text])
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::validation(faults)) }
}

fn delete_blueprint(state: &State, working: &mut Working<'_>, slug: &str, force: bool) -> Result<Settled> {
    let collection = state.collection(slug)?;
    let blueprint = &collection.blueprint;
    if !force {
        check_deletable(state, slug)?;
    }
    // What belongs to the number is swept from the store afterwards: the number is never used again.
    working.remove(Key::Blueprint(blueprint.number));
    working.remove(Key::Singular(blueprint.number));
    let effect = StateEffect::NoBlueprint { slug: slug.to_owned(), number: blueprint.number };
    Ok(Settled { outcome: Outcome::Done, effect })
}

fn check_deletable(state: &State, slug: &str) -> Result<()> {
    let collection = state.collection(slug)?;
    let count = collection.snapshot.total();
    if count > 0 && collection.blueprint.kind != Kind::Singular {
        let text = format!("`{slug}` still has resources ({count}); delete them first, or add `?force=true`");
        let conflict = Conflict { count, ids: evolve::first_ids(&collection.snapshot)? };
        return Err(Error { conflict: Some(conflict), ..Error::new(Code::Conflict, text) });
    }
    let relating: Vec<String> = state
        .blueprints
        .values()
        .filter(|other| other.blueprint.slug != slug)
        .flat_map(|other| {
            let relates = |kind: &FieldType| match kind {
                FieldType::Reference { blueprint, .. } | FieldType::References { blueprint, .. } => blueprint == slug,
                _ => false,
            };
            let fields = other.blueprint.fields.iter().filter(move |field| relates(&field.kind));
            fields.map(|field| format!("`{}.{}`", other.blueprint.slug, field.slug)).collect::<Vec<_>>()
        })
        .collect();
    if relating.is_empty() {
        return Ok(());
    }
    let text = format!("fields relate to `{slug}`: {}; remove them first, or add `?force=true`", relating.join(", "));
    Err(Error::new(Code::Conflict, text))
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

fn create_member(state: &State, working: &mut Working<'_>, draft: MemberDraft) -> Result<Settled> {
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
    member.role = patch.role.unwrap_or(member.role);
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
