//! Decides commands on blueprints, tokens and members.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::{Member, MemberDraft, MemberPatch, NewToken, Token, Tokens, new_secret};
use crate::content::change::{Carried, Pending};
use crate::content::command::{Command, Outcome};
use crate::content::evolve;
use crate::content::record::Meta;
use crate::content::state::{Collection, State, StateCell, no_blueprint};
use crate::content::sweep::Lost;
use crate::content::working::Working;
use crate::model::blueprint::draft::Draft;
use crate::model::blueprint::{Blueprint, BlueprintChange, FieldType, Kind, render};
use crate::model::error::{Code, Conflict, Error, Result};
use crate::model::html::Sanitizer;
use crate::projection;
use crate::model::time::Millis;
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
    NewBlueprint(Arc<Blueprint>, Vec<bindery_index::Change>),
    /// A change of a blueprint that begins.
    BegunChange(Arc<Pending>),
    /// What the change of the blueprint of that number needs of its index.
    CarriedChange(u32, Vec<bindery_index::Change>),
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
                    index.apply(changes);
                }
            }
            StateEffect::DroppedChange(pending) => {
                if let Some(index) = indexes.get(pending.current.number).filter(|_| pending.retypes()) {
                    index.set_schema(projection::schema(&pending.current));
                }
                cell.update(|state| state.set_pending(Arc::clone(&pending.current), None));
            }
            StateEffect::ChangedBlueprint { before: _, blueprint } => {
                let index = indexes
                    .get(blueprint.number)
                    .unwrap_or_else(|| indexes.create(blueprint.number, projection::schema(&blueprint)));
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
        Command::CarryChange { blueprint, carried } => carry_change(state, sanitizer, working, blueprint, carried),
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

/// Begins the change of a blueprint, or makes it at once where it need not look at what is stored.
fn replace_blueprint(
    state: &State,
    sanitizer: &Sanitizer,
    working: &mut Working<'_>,
    slug: &str,
    draft: Draft,
    force: bool,
) -> Result<Settled> {
    let collection = state.collection(slug)?;
    check_settled(collection)?;
    let current = &collection.blueprint;
    let (next, changes) = revise(state, current, draft, working.now)?;
    if changes.is_empty() {
        let outcome = Outcome::Blueprint(Arc::clone(current));
        return Ok(Settled { outcome, effect: StateEffect::Nothing });
    }
    let next = Arc::new(next);
    // Numbers that the change gives out are used up, also if it does not come into force.
    let mut bumped = Blueprint::clone(current);
    (bumped.next_field, bumped.next_variant) = (next.next_field, next.next_variant);
    let pending = Pending { current: Arc::new(bumped), next, force };
    if !pending.takes_time(sanitizer) {
        return Ok(bring_into_force(working, &pending));
    }
    working.put(Key::Blueprint(current.number), render::encode(&pending.current));
    working.put(Key::Change(current.number), pending.encode());
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::BegunChange(Arc::new(pending)) })
}

/// What a blueprint becomes by a draft, and the differences.
///
/// # Errors
/// `VALIDATION_FAILED` for a relation to a blueprint that is not there, `CONFLICT` for another kind.
pub(crate) fn revise(
    state: &State,
    current: &Blueprint,
    draft: Draft,
    now: Millis,
) -> Result<(Blueprint, Vec<BlueprintChange>)> {
    check_kind(current, &draft)?;
    check_related(state, &draft, Some(current))?;
    Ok(current.revise(draft, now))
}

/// `CONFLICT` while a change of the blueprint is under way.
pub(crate) fn check_settled(collection: &Collection) -> Result<()> {
    if collection.pending.is_none() {
        return Ok(());
    }
    let slug = &collection.blueprint.slug;
    let text = format!("a change of the blueprint `{slug}` is under way; try again when it is in force");
    Err(Error::new(Code::Conflict, text))
}

fn pending_of(state: &State, number: u32) -> Result<Arc<Pending>> {
    let pending = state.numbered(number).and_then(|collection| collection.pending.clone());
    pending.ok_or_else(|| Error::internal("a step of a change that was not begun"))
}

/// Claims values that become unique, and takes in what the index needs.
fn carry_change(
    state: &State,
    sanitizer: &Sanitizer,
    working: &mut Working<'_>,
    number: u32,
    carried: Vec<Carried>,
) -> Result<Settled> {
    let pending = pending_of(state, number)?;
    let claimed = pending.demands(sanitizer).claimed().to_vec();
    let mut changes = Vec::new();
    for Carried { id, version, claims, entry } in carried {
        let Some(meta) = working.meta(number, id)? else { continue };
        let (claims, entry) = if meta.version == version {
            (claims, entry)
        } else {
            // It was written since it was looked at.
            match pending.carry(working.store(), &claimed, id)? {
                Some(carried) => (carried.claims, carried.entry),
                None => continue,
            }
        };
        let owner = id.as_u128().to_be_bytes().to_vec();
        for key in claims {
            match working.get(&key)? {
                None => working.put(key, owner.clone()),
                Some(other) if other != owner => {
                    return Err(evolve::conflict(Conflict { count: 1, ids: vec![id.to_string()] }));
                }
                Some(_) => {}
            }
        }
        changes.extend(entry);
    }
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::CarriedChange(number, changes) })
}

fn finish_change(state: &State, working: &mut Working<'_>, number: u32) -> Result<Settled> {
    let pending = pending_of(state, number)?;
    working.remove(Key::Change(number));
    Ok(bring_into_force(working, &pending))
}

fn bring_into_force(working: &mut Working<'_>, pending: &Pending) -> Settled {
    let mut next = Blueprint::clone(&pending.next);
    next.updated_at = working.now.max(pending.current.updated_at + 1);
    if pending.retypes() {
        next.filled = working.number;
    }
    let next = Arc::new(next);
    working.put(Key::Blueprint(next.number), render::encode(&next));
    let effect = StateEffect::ChangedBlueprint { before: Arc::clone(&pending.current), blueprint: Arc::clone(&next) };
    Settled { outcome: Outcome::Blueprint(next), effect }
}

fn drop_change(state: &State, working: &mut Working<'_>, number: u32) -> Result<Settled> {
    let pending = pending_of(state, number)?;
    working.remove(Key::Change(number));
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::DroppedChange(pending) })
}

/// The claims of a blueprint that another one does not have.
fn lost_claims(blueprint: &Blueprint, other: &Blueprint) -> Vec<Lost> {
    let is_kept = |claims: u32| other.fields.iter().any(|field| field.claims == Some(claims));
    let claims = blueprint.fields.iter().filter_map(|field| field.claims).filter(|claims| !is_kept(*claims));
    claims.map(|claims| Lost::Claims { blueprint: blueprint.number, claims }).collect()
}

/// What a blueprint is cannot become something else.
fn check_kind(current: &Blueprint, draft: &Draft) -> Result<()> {
    match draft.kind.filter(|kind| *kind != current.kind) {
        None => Ok(()),
        Some(kind) => {
            let text = format!("the kind cannot be changed from `{}` to `{}`", current.kind.as_str(), kind.as_str());
            Err(Error::new(Code::Conflict, text))
        }
    }
}

/// The blueprints that relation fields name must exist, be this one, or be what the field names already.
fn check_related(state: &State, draft: &Draft, current: Option<&Blueprint>) -> Result<()> {
    let names_already = |slug: &str| {
        current.is_some_and(|current| {
            current.fields.iter().any(|field| match &field.kind {
                FieldType::Reference { blueprint, .. } | FieldType::References { blueprint, .. } => blueprint == slug,
                _ => false,
            })
        })
    };
    let faults: Vec<(String, Vec<String>)> = draft
        .related()
        .into_iter()
        .filter(|(_, slug)| !state.blueprints.contains_key(slug) && *slug != draft.slug && !names_already(slug))
        .map(|(path, slug)| (path, vec![format!("relates to the blueprint `{slug}`, which does not exist")]))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::validation(faults)) }
}

fn delete_blueprint(state: &State, working: &mut Working<'_>, slug: &str, force: bool) -> Result<Settled> {
    let collection = state.collection(slug)?;
    check_settled(collection)?;
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
        let id: String = id.chars().take(100).collect();
        return Err(Error::new(Code::NotFound, format!("there is no token `{id}`")));
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
    let id: String = id.chars().take(100).collect();
    Error::new(Code::NotFound, format!("there is no member `{id}`"))
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
