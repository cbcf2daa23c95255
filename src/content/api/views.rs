//! Views of lists that members save (`API.md` 4.19).

use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Outcome};
use crate::data::refusals::{no_blueprint, no_view};
use crate::data::saved_view::SavedView;
use crate::handle::Content;
use crate::prepare::view;

/// A view with the name of its owner; none if that member is gone.
#[derive(Debug)]
pub struct OwnedView {
    /// The view.
    pub view: Arc<SavedView>,
    /// The name of the member who saved it.
    pub owner: Option<String>,
}

impl Content {
    /// Returns the views that a member sees, of one blueprint or of all: their own, and those that are shared, in the
    /// order of their creation.
    ///
    /// # Errors
    /// `FORBIDDEN` for a token.
    pub fn list_views(&self, access: &Access, blueprint: Option<&str>) -> Result<Vec<OwnedView>> {
        let own = member(access)?;
        let state = self.state();
        let views = state.views.values().filter(|view| blueprint.is_none_or(|slug| view.blueprint == slug));
        let seen = views.filter(|view| is_seen(access, own, view));
        Ok(seen.map(|view| self.owned(Arc::clone(view))).collect())
    }

    /// Saves a view from a request body.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`, `CONFLICT` if there are too many.
    pub async fn create_view(
        &self,
        access: &Access,
        body: &[u8],
        idempotent: Option<Idempotency<OwnedView>>,
    ) -> Result<IdempotentAnswer<OwnedView>> {
        let own = member(access)?;
        let (new, _) = self.read_body(body, view::view).await?;
        if !access.sees(&new.blueprint) {
            return Err(Error::of_field("blueprint", no_blueprint(&new.blueprint).message));
        }
        let owner = self.name_of(own);
        let read = move |outcome: &Outcome| -> Result<OwnedView> {
            Ok(OwnedView { view: view_of(outcome)?, owner: owner.clone() })
        };
        let keep = idempotent.map(|idempotent| {
            let read = read.clone();
            idempotent.keep(move |outcome, _| read(outcome))
        });
        match self.submit_keeping(access, Command::CreateView(own, new), keep).await? {
            Outcome::Kept(answer) => Ok(IdempotentAnswer::Kept(answer)),
            outcome => Ok(IdempotentAnswer::Fresh(read(&outcome)?)),
        }
    }

    /// Checks that somebody may change a view.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn check_view(&self, access: &Access, id: &str) -> Result<()> {
        let own = member(access)?;
        let state = self.state();
        let view = state.views.get(id).filter(|view| is_seen(access, own, view)).ok_or_else(|| no_view(id))?;
        if view.owner == own || access.may(Ability::Manage) {
            return Ok(());
        }
        let text =
            "this view belongs to another member, who can change it, and so can members with the ability `manage`";
        Err(Error::new(Code::Forbidden, text))
    }

    /// Changes a view.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `MALFORMED_JSON`, `VALIDATION_FAILED`, `CONFLICT` if too many are shared.
    pub async fn change_view(&self, access: &Access, id: &str, body: &[u8]) -> Result<OwnedView> {
        self.checked(|| self.check_view(access, id)).await?;
        let (patch, _) = self.read_body(body, view::view_patch).await?;
        let outcome = self.submit_as(access, Command::ChangeView(id.to_owned(), patch)).await?;
        Ok(self.owned(view_of(&outcome)?))
    }

    /// Deletes a view.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn delete_view(&self, access: &Access, id: &str) -> Result<()> {
        self.checked(|| self.check_view(access, id)).await?;
        self.submit_as(access, Command::DeleteView(id.to_owned())).await.map(|_| ())
    }

    fn owned(&self, view: Arc<SavedView>) -> OwnedView {
        let owner = self.name_of(view.owner);
        OwnedView { view, owner }
    }

    fn name_of(&self, member: u64) -> Option<String> {
        self.state().members.get(&member).map(|member| member.name.clone())
    }
}

/// Returns the member who sends the request.
fn member(access: &Access) -> Result<u64> {
    access
        .member()
        .ok_or_else(|| Error::new(Code::Forbidden, "views belong to members who are signed in; a token has none"))
}

fn is_seen(access: &Access, own: u64, view: &SavedView) -> bool {
    (view.shared || view.owner == own) && access.sees(&view.blueprint)
}

fn view_of(outcome: &Outcome) -> Result<Arc<SavedView>> {
    match outcome {
        Outcome::View(view) => Ok(Arc::clone(view)),
        _ => Err(Error::internal("a view with the outcome of another command")),
    }
}
