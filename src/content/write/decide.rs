//! Decides commands against the state: their writes and their outcomes.
//!
//! Runs on the committer's thread, so nothing here can race. Makes nothing durable and publishes nothing: its result is
//! the writes in the overlay, from which `apply` derives everything else.

mod access;
mod account;
mod blueprint;
mod decider;
mod during_change;
mod history;
mod import;
mod media;
mod on_delete;
mod relations;
mod resource;
mod rewriting;
mod steering;
mod trash;
mod unique;
mod view;
mod webhook;
mod working;

use bindery_model::error::{Code, Error, Result};
use bindery_store::{Counter, Key};

use crate::command::{Command, Item, ItemOutcome, MissingTargets, Outcome, Write};
use crate::data::files::{FileHash, names_file};
use crate::data::leader::Leader;
use crate::data::media_users::NotedCopy;
use crate::data::state::State;
use crate::write::overlay::Overlay;
pub(crate) use decider::Context;
use decider::Decider;
pub(crate) use on_delete::asks_the_index;

/// Decides one command. After an error the caller rolls the overlay back. (A write has no error as a whole: its items
/// fail one by one and leave nothing behind.)
pub(crate) fn decide(context: &Context<'_>, overlay: &mut Overlay<'_>, command: &Command) -> Result<Outcome> {
    let state = context.state;
    match command {
        Command::Write(write) => Ok(decide_write(context, overlay, write)),
        Command::CreateBlueprint(definition) => blueprint::create(state, overlay, definition),
        Command::ReplaceBlueprint { slug, definition, force } => {
            blueprint::replace(context, overlay, slug, definition, *force)
        }
        Command::Backfill { change, resources } => blueprint::backfill(state, overlay, *change, resources),
        Command::FinishChange(change) => blueprint::finish_change(state, overlay, *change),
        Command::DropChange(change) => blueprint::drop_change(state, overlay, *change),
        Command::DeleteBlueprint { slug, force } => blueprint::delete(state, overlay, slug, *force),
        Command::CreateToken(token) => access::create_token(state, overlay, token),
        Command::RevokeToken(id) => access::revoke_token(state, overlay, id),
        Command::NoteTokenUse(id) => Ok(access::note_token_use(state, overlay, id)),
        Command::CreateMember(member) => access::create_member(state, overlay, member),
        Command::ChangeMember(id, patch) => access::change_member(state, overlay, *id, patch),
        Command::DeleteMember(id) => access::delete_member(state, overlay, *id),
        Command::CreateView(owner, new) => view::create(state, overlay, *owner, new),
        Command::ChangeView(id, patch) => view::change(state, overlay, id, patch),
        Command::DeleteView(id) => view::delete(state, overlay, id),
        Command::Steer(command) => steering::decide(state, overlay, command),
        Command::CreateWebhook(webhook) => webhook::create(state, overlay, webhook),
        Command::ChangeWebhook(id, patch) => webhook::change(state, overlay, id, patch),
        Command::DeleteWebhook(id) => webhook::delete(state, overlay, id),
        Command::SaveWebhookProgress { term, parts } => webhook::save(state, overlay, *term, parts),
        Command::Account(command) => account::decide(state, overlay, command),
        Command::Lead(leader) => lead(state, overlay, leader),
        Command::CondemnFiles(files) => condemn_files(overlay, files),
        Command::ForgetRemovals(files) => {
            files.iter().for_each(|hash| overlay.remove(Key::FileRemoval(*hash)));
            Ok(Outcome::Done)
        }
        Command::ForgetUses(notes) => forget_uses(state, overlay, notes),
        Command::Wait => Ok(Outcome::Done),
        Command::Checkpoint => Err(Error::internal("a checkpoint is not decided")),
    }
}

/// Makes a node the leader, unless another one has the term already.
fn lead(state: &State, overlay: &mut Overlay<'_>, leader: &Leader) -> Result<Outcome> {
    if state.term() >= leader.term {
        return Err(Error::new(Code::Conflict, "another node leads by now"));
    }
    overlay.put(Key::Counter(Counter::Leader), leader.encode()?);
    Ok(Outcome::Done)
}

/// Marks files as being removed, unless a resource or a revision names them. From then on no resource can begin to.
fn condemn_files(overlay: &mut Overlay<'_>, files: &[FileHash]) -> Result<Outcome> {
    let mut condemned = Vec::new();
    for hash in files {
        let owners = overlay.file_owners(*hash)?;
        let mut is_named = false;
        for key in &owners {
            let Key::FileOwner { blueprint, id, .. } = key else { continue };
            is_named = is_named || names_file(&*overlay, *blueprint, *id, *hash)?;
        }
        if !is_named {
            owners.into_iter().for_each(|key| overlay.remove(key));
            overlay.put(Key::FileRemoval(*hash), Vec::new());
            condemned.push(*hash);
        }
    }
    Ok(Outcome::CondemnedFiles(condemned))
}

/// Removes those of some notes of uses of media that are not true any more.
fn forget_uses(state: &State, overlay: &mut Overlay<'_>, notes: &[Key]) -> Result<Outcome> {
    for note in notes {
        let (Key::MediaUser { media, .. }, Some(copy)) = (note, NotedCopy::of(note)) else { continue };
        if !copy.uses(&*overlay, state, *media)? {
            overlay.remove(note.clone());
        }
    }
    Ok(Outcome::Done)
}

/// Decides the items of a write one after another, each against what the items before it left.
fn decide_write(context: &Context<'_>, overlay: &mut Overlay<'_>, write: &Write) -> Outcome {
    if !is_current(context.state, write) {
        return Outcome::Stale;
    }
    let mut decider = Decider::new(context, write, overlay);
    let is_import = write.items.iter().any(|item| matches!(item, Item::Import(_)));
    let outcomes = match write.missing_targets {
        MissingTargets::Refuse if is_import => decider.decide_together(&write.items),
        _ => write.items.iter().map(|item| decide_item(&mut decider, item)).collect(),
    };
    if let MissingTargets::Wait { own, .. } = &write.missing_targets {
        own.replace(decider.waiting);
    }
    Outcome::Written(outcomes)
}

fn decide_item(decider: &mut Decider<'_, '_>, item: &Item) -> ItemOutcome {
    if let Err(error) = decider.check_rewriting(item) {
        return ItemOutcome::Failed(error);
    }
    let (before, bytes) = (decider.overlay.savepoint(), decider.overlay.bytes());
    let result = match item {
        Item::Refused(error) => Err(error.clone()),
        Item::Create { copy, published, key } => decider.create(copy, *published, key.as_deref()),
        Item::Update(update) => decider.update(update),
        Item::Delete { id, if_match } => decider.delete(*id, if_match),
        Item::DiscardWorkingCopy { id, variant, if_match } => decider.discard_working_copy(*id, *variant, if_match),
        Item::PublishWorkingCopies(publication) => decider.publish_working_copies(publication),
        Item::NoteFailedPublication { id, at, error } => decider.note_failed_publication(*id, *at, error),
        Item::Restore(restoration) => decider.restore(restoration),
        Item::Purge(id) => decider.purge(*id),
        Item::DeleteHistory(id) => decider.delete_history(*id),
        Item::Import(item) => return decider.import(item),
    };
    match result.and_then(|written| decider.limit_rewriting(item, bytes).map(|()| written)) {
        Ok(written) => ItemOutcome::Written(Box::new(written)),
        Err(error) => {
            // Only a failure of the store, and the limit of a command, can come after the first write of an item.
            decider.overlay.roll_back_to(&before);
            ItemOutcome::Failed(error)
        }
    }
}

/// Returns whether the blueprint that a write was prepared against is still in force.
fn is_current(state: &State, write: &Write) -> bool {
    let prepared = &write.blueprint;
    let current = state.blueprints.get(&prepared.slug).map(|collection| &collection.blueprint);
    current.is_some_and(|current| current.number == prepared.number && current.revision == prepared.revision)
}
