//! Blueprints as the API defines them (`API.md` 4.9).

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, BlueprintKind, Definition, Difference};
use bindery_model::error::{Conflict, Error, Result};
use bindery_model::json;
use bindery_query::RawParams;
use serde_json::Value;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Outcome};
use crate::compatibility::demands::Demands;
use crate::compatibility::revise::{Revision, revise};
use crate::compatibility::survey::{Scope, Survey};
use crate::data::blueprint_change::BlueprintChange;
use crate::data::refusals::{CONFLICT_IDS, check_kind};
use crate::handle::Content;

/// A replacement of a blueprint whose body is still to be read.
pub struct Replacement {
    content: Content,
    access: Access,
    slug: String,
    /// True if the replacement is only planned.
    is_dry_run: bool,
    force: bool,
}

/// The outcome of a replacement.
#[derive(Debug)]
pub enum ReplacementOutcome {
    /// The blueprint as it is now.
    Applied(Arc<Blueprint>),
    /// The findings of a dry run.
    Planned(BlueprintPlan),
}

/// The effects that a replacement of a blueprint would have.
#[derive(Debug)]
pub struct BlueprintPlan {
    /// The differences, in order.
    pub differences: Vec<Difference>,
    /// The number of resources that lose a value, by field.
    pub losses: BTreeMap<String, u64>,
    /// The resources that would become invalid, and those whose working copies prevent switching them off; each working
    /// copy counts.
    pub conflicts: Conflict,
}

impl Replacement {
    /// Replaces the blueprint as a request body says, or plans this. A replacement is in force on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `CONFLICT`, `VALIDATION_FAILED`.
    pub async fn run(self, body: &[u8]) -> Result<ReplacementOutcome> {
        let Replacement { content, access, slug, is_dry_run, force } = self;
        let (body, admitted) = content.read_body(body, json::parse).await?;
        content.checked(|| content.check_changeable(&slug, &body, is_dry_run)).await?;
        let kind = content.state().collection(&slug)?.blueprint.kind;
        let definition = Definition::parse_for(&slug, kind, body)?;
        drop(admitted);
        if is_dry_run {
            let plan = tokio::task::spawn_blocking(move || content.plan_blueprint(&slug, definition, force));
            return plan.await.map_err(Error::internal)?.map(ReplacementOutcome::Planned);
        }
        let outcome = content.submit_as(&access, Command::ReplaceBlueprint { slug, definition, force }).await?;
        let blueprint = blueprint_of(&outcome)?;
        if blueprint.kind == BlueprintKind::Media {
            content.complete_media(&access, &blueprint).await?;
        }
        Ok(ReplacementOutcome::Applied(blueprint))
    }
}

impl Content {
    /// Returns all blueprints that the token sees, by slug.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view` or `manage`.
    pub fn list_blueprints(&self, access: &Access) -> Result<Vec<Arc<Blueprint>>> {
        access.require(&[Ability::View, Ability::Manage])?;
        let state = self.state();
        let visible = state.blueprints.values().filter(|collection| access.sees(&collection.blueprint.slug));
        Ok(visible.map(|collection| Arc::clone(&collection.blueprint)).collect())
    }

    /// Returns one blueprint.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn find_blueprint(&self, access: &Access, slug: &str) -> Result<Arc<Blueprint>> {
        access.require(&[Ability::View, Ability::Manage])?;
        Ok(Arc::clone(&self.state().visible(access, slug)?.blueprint))
    }

    /// Creates a blueprint from a request body. In force on return.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn create_blueprint(
        &self,
        access: &Access,
        body: &[u8],
        idempotent: Option<Idempotency<Arc<Blueprint>>>,
    ) -> Result<IdempotentAnswer<Arc<Blueprint>>> {
        access.require(&[Ability::Manage])?;
        let read = |body: &[u8]| Definition::parse(json::parse(body)?);
        let (definition, _) = self.read_body(body, read).await?;
        self.submit_idempotent(access, Command::CreateBlueprint(definition), idempotent, blueprint_of).await
    }

    /// Returns the replacement of the blueprint of that slug; with `?dry_run=true` it is only planned.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `INVALID_PARAMETER`.
    pub fn replace_blueprint(&self, access: &Access, slug: &str, raw_query: &str) -> Result<Replacement> {
        self.check_managed(access, slug)?;
        let params = RawParams::parse(raw_query);
        let (is_dry_run, force) = (params.flag("dry_run")?, params.flag("force")?);
        let (content, access, slug) = (self.clone(), access.clone(), slug.to_owned());
        Ok(Replacement { content, access, slug, is_dry_run, force })
    }

    /// Deletes a blueprint.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `INVALID_PARAMETER`, `CONFLICT`.
    pub async fn delete_blueprint(&self, access: &Access, slug: &str, raw_query: &str) -> Result<()> {
        self.checked(|| self.check_managed(access, slug)).await?;
        let force = RawParams::parse(raw_query).flag("force")?;
        let command = Command::DeleteBlueprint { slug: slug.to_owned(), force };
        self.submit_as(access, command).await.map(|_| ())
    }

    fn check_managed(&self, access: &Access, slug: &str) -> Result<()> {
        access.require(&[Ability::Manage])?;
        self.state().visible(access, slug).map(|_| ())
    }

    /// Answers conflicts that come before errors of the body (`API.md` 1.7). The committer checks again.
    fn check_changeable(&self, slug: &str, body: &Value, is_dry_run: bool) -> Result<()> {
        let state = self.state();
        let collection = state.collection(slug)?;
        let kind = body.get("kind").and_then(Value::as_str).and_then(BlueprintKind::parse);
        check_kind(&collection.blueprint, kind)?;
        if is_dry_run { Ok(()) } else { collection.check_unchanging() }
    }

    /// Plans a replacement. Reads all stored resources of the blueprint, unless the change does not depend on them.
    fn plan_blueprint(&self, slug: &str, definition: Definition, force: bool) -> Result<BlueprintPlan> {
        let state = self.state();
        let collection = state.collection(slug)?;
        let current = &collection.blueprint;
        let Revision { next, differences } = revise(&state, current, definition, self.now())?;
        let change = BlueprintChange { current: Arc::clone(current), next: Arc::new(next), force, number: 0 };
        let demands = Demands::new(&self.shared.sanitizer, &change);
        let survey = Survey::run(&demands, &state, &self.shared.store, Scope::ConflictsAndLosses, |_| Ok(()))?;
        let mut conflicts = survey.conflicts();
        let edited = collection.forbidding_working_copies(&change.next);
        conflicts.count += edited.count;
        let others: Vec<String> = edited.ids.into_iter().filter(|id| !conflicts.ids.contains(id)).collect();
        conflicts.ids.extend(others);
        conflicts.ids.truncate(CONFLICT_IDS);
        Ok(BlueprintPlan { differences, losses: survey.losses, conflicts })
    }
}

fn blueprint_of(outcome: &Outcome) -> Result<Arc<Blueprint>> {
    match outcome {
        Outcome::Blueprint(blueprint) => Ok(Arc::clone(blueprint)),
        _ => Err(Error::internal("a blueprint with the outcome of another command")),
    }
}
