//! Decides commands on views that members saved.

use std::sync::Arc;

use bindery_model::error::{Code, Error, Result};
use bindery_model::time::time_of_change;
use bindery_store::Key;

use crate::command::Outcome;
use crate::data::refusals::{no_blueprint, no_view};
use crate::data::saved_view::{NewView, SavedView, ViewPatch};
use crate::data::state::State;
use crate::write::overlay::Overlay;

/// The maximum number of views of a member. Together with the maximum size of a view, it limits the memory that members
/// can fill.
const MAX_OF_MEMBER: usize = 100;

/// The maximum number of shared views of a blueprint, because all of them are shown to everybody.
const MAX_SHARED: usize = 200;

pub(super) fn create(state: &State, overlay: &mut Overlay<'_>, owner: u64, new: &NewView) -> Result<Outcome> {
    let NewView { blueprint, name, query, shared } = new.clone();
    if !state.blueprints.contains_key(&blueprint) {
        return Err(Error::of_field("blueprint", no_blueprint(&blueprint).message));
    }
    if state.views.values().filter(|view| view.owner == owner).count() >= MAX_OF_MEMBER {
        return Err(too_many(&format!("you have {MAX_OF_MEMBER} views")));
    }
    let id = overlay.new_id()?.to_string();
    let (created_at, updated_at) = (overlay.now, overlay.now);
    let view = SavedView { id, blueprint, name, query, shared, owner, created_at, updated_at };
    check_shared(state, &view)?;
    Ok(put(overlay, view))
}

pub(super) fn change(state: &State, overlay: &mut Overlay<'_>, id: &str, patch: &ViewPatch) -> Result<Outcome> {
    let before = state.views.get(id).ok_or_else(|| no_view(id))?;
    let ViewPatch { name, query, shared } = patch.clone();
    let mut view = SavedView {
        name: name.unwrap_or_else(|| before.name.clone()),
        query: query.unwrap_or_else(|| before.query.clone()),
        shared: shared.unwrap_or(before.shared),
        ..SavedView::clone(before)
    };
    if view == **before {
        return Ok(Outcome::View(Arc::clone(before)));
    }
    check_shared(state, &view)?;
    view.updated_at = time_of_change(overlay.now, before.updated_at);
    Ok(put(overlay, view))
}

pub(super) fn delete(state: &State, overlay: &mut Overlay<'_>, id: &str) -> Result<Outcome> {
    state.views.get(id).ok_or_else(|| no_view(id))?;
    overlay.remove(key(id));
    Ok(Outcome::Done)
}

/// Removes the views that a deletion concerns.
pub(super) fn forget(state: &State, overlay: &mut Overlay<'_>, is_concerned: impl Fn(&SavedView) -> bool) {
    for view in state.views.values().filter(|view| is_concerned(view)) {
        overlay.remove(key(&view.id));
    }
}

fn check_shared(state: &State, view: &SavedView) -> Result<()> {
    let others = state.views.values().filter(|other| other.id != view.id);
    let shared = others.filter(|other| other.shared && other.blueprint == view.blueprint).count();
    match view.shared && shared >= MAX_SHARED {
        true => Err(too_many(&format!("the blueprint `{}` has {MAX_SHARED} shared views", view.blueprint))),
        false => Ok(()),
    }
}

fn too_many(there_are: &str) -> Error {
    Error::new(Code::Conflict, format!("{there_are}, which is the most there may be; delete one first"))
}

fn put(overlay: &mut Overlay<'_>, view: SavedView) -> Outcome {
    overlay.put(key(&view.id), view.encode());
    Outcome::View(Arc::new(view))
}

fn key(id: &str) -> Key {
    Key::View(id.into())
}
