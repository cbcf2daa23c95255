//! Blueprints, members and tokens as the API defines them (`API.md` 4.9, 4.10 and 5.5): bodies read, commands handed on,
//! answers made.

use serde_json::{Map, Value, json};

use crate::access::{Access, Member, MemberPatch, NewMember, NewToken, Patch, Token};
use crate::content::command::{BlueprintPlan, Command, Outcome};
use crate::content::evolve::{Demands, Scope};
use crate::content::idempotency::{Done, Keep};
use crate::content::prepare::{self, into_object, quoted, unknown_keys};
use crate::content::reading::visible;
use crate::content::settle::{check_kind, check_settled, find_member, revise};
use crate::content::{Content, now};
use crate::model::ability::Ability;
use crate::model::blueprint::{BlueprintKind, Definition, render};
use crate::model::error::{Error, Result};
use crate::model::json;
use crate::model::sent::quote;
use crate::model::time::format_millis;
use crate::model::value::is_email;
use crate::query::RawParams;

/// The longest email address; one that is valid holds ASCII alone.
const MAX_EMAIL_BYTES: usize = 254;

type Faults = crate::model::error::FieldErrors;

/// A blueprint as it is answered.
pub type BlueprintBody = Value;

/// A token's secret: shown once.
pub type Secret = String;

/// A replacement of a blueprint whose body is still to be read.
pub struct Replacing {
    content: Content,
    slug: String,
    is_dry_run: bool,
    force: bool,
}

impl Replacing {
    /// Replaces it by what a request body says. In force on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `CONFLICT`, `VALIDATION_FAILED`.
    pub async fn run(self, body: &[u8]) -> Result<BlueprintBody> {
        let Replacing { content, slug, is_dry_run, force } = self;
        let body = json::parse(body)?;
        content.check_changeable(&slug, &body, is_dry_run)?;
        let draft = Definition::parse_for(&slug, body)?;
        if is_dry_run {
            let plan = tokio::task::spawn_blocking(move || content.plan_blueprint(&slug, draft, force));
            return plan.await.map_err(Error::internal)?.map(|plan| plan_json(&plan));
        }
        content.submit_blueprint(Command::ReplaceBlueprint { slug, draft, force }).await
    }
}

impl Content {
    /// All blueprints that the token sees, by slug.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view` or `manage`.
    pub fn list_blueprints(&self, access: &Access) -> Result<Vec<BlueprintBody>> {
        access.require(&[Ability::View, Ability::Manage])?;
        let state = self.state();
        let seen = state.blueprints.values().filter(|collection| access.sees(&collection.blueprint.slug));
        Ok(seen.map(|collection| render::to_json(&collection.blueprint)).collect())
    }

    /// One blueprint.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn find_blueprint(&self, access: &Access, slug: &str) -> Result<BlueprintBody> {
        access.require(&[Ability::View, Ability::Manage])?;
        Ok(render::to_json(&visible(&self.state(), access, slug)?.blueprint))
    }

    /// `NOT_FOUND` unless the blueprint is there: asked before a body is read.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn check_blueprint(&self, access: &Access, slug: &str) -> Result<()> {
        access.require(&[Ability::Manage])?;
        visible(&self.state(), access, slug).map(|_| ())
    }

    /// Creates a blueprint from a request body. In force on return.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn create_blueprint(
        &self,
        access: &Access,
        body: &[u8],
        keep: Option<Keep<BlueprintBody>>,
    ) -> Result<Done<BlueprintBody>> {
        access.require(&[Ability::Manage])?;
        let draft = Definition::parse(json::parse(body)?)?;
        self.submit_answered(Command::CreateBlueprint(draft), keep, blueprint_answer).await
    }

    /// A replacement of the blueprint of that slug, or with `?dry_run=true` the telling of what it would change.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `INVALID_PARAMETER`.
    pub fn replace_blueprint(&self, access: &Access, slug: &str, raw: &str) -> Result<Replacing> {
        self.check_blueprint(access, slug)?;
        let params = RawParams::parse(raw);
        let is_dry_run = params.flag("dry_run")?;
        let force = params.flag("force")?;
        Ok(Replacing { content: self.clone(), slug: slug.to_owned(), is_dry_run, force })
    }

    /// `CONFLICT` for what is told before any fault of the body (`API.md` 1.7); the committer decides it again.
    fn check_changeable(&self, slug: &str, body: &Value, is_dry_run: bool) -> Result<()> {
        let state = self.state();
        let collection = state.collection(slug)?;
        let kind = body.get("kind").and_then(Value::as_str).and_then(BlueprintKind::parse);
        check_kind(&collection.blueprint, kind)?;
        if is_dry_run { Ok(()) } else { check_settled(collection) }
    }

    /// What a replacement would change. Reads all that is stored of the blueprint, unless nothing of it is concerned.
    fn plan_blueprint(&self, slug: &str, draft: Definition, force: bool) -> Result<BlueprintPlan> {
        let state = self.state();
        let current = &state.collection(slug)?.blueprint;
        let (next, changes) = revise(&state, current, draft, now())?;
        let demands = Demands::new(&self.shared.sanitizer, current, &next, force);
        let survey = demands.survey(&state, &self.shared.store, Scope::ConflictsAndLosses, |_| Ok(()))?;
        Ok(survey.into_plan(changes))
    }

    /// Deletes a blueprint.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `INVALID_PARAMETER`, `CONFLICT`.
    pub async fn delete_blueprint(&self, access: &Access, slug: &str, raw: &str) -> Result<()> {
        self.check_blueprint(access, slug)?;
        let force = RawParams::parse(raw).flag("force")?;
        self.submit(Command::DeleteBlueprint { slug: slug.to_owned(), force }).await.map(|_| ())
    }

    /// All tokens, in the order of their creation, without their secrets.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn list_tokens(&self, access: &Access) -> Result<Vec<Value>> {
        access.require(&[Ability::Manage])?;
        Ok(self.state().tokens.list().into_iter().map(token_json).collect())
    }

    /// Creates a token from a request body; the answer has its secret, this once.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn create_token(&self, access: &Access, body: &[u8]) -> Result<Value> {
        access.require(&[Ability::Manage])?;
        let new = read_token(&into_object(json::parse(body)?)?)?;
        let (token, secret) = self.issue_token(new).await?;
        let mut answer = token_json(&token);
        if let Some(object) = answer.as_object_mut() {
            object.insert("secret".to_owned(), Value::String(secret));
        }
        Ok(answer)
    }

    /// Creates a token. For whoever holds the data folder: asks for no ability.
    ///
    /// # Errors
    /// `VALIDATION_FAILED`, `OVERLOADED`.
    pub async fn issue_token(&self, new: NewToken) -> Result<(Token, Secret)> {
        match self.submit(Command::CreateToken(new)).await? {
            Outcome::TokenCreated(token, secret) => Ok((token, secret)),
            _ => Err(Error::internal("a token with another command's outcome")),
        }
    }

    /// Revokes a token; it is refused from now on.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn revoke_token(&self, access: &Access, id: &str) -> Result<()> {
        access.require(&[Ability::Manage])?;
        self.submit(Command::RevokeToken(id.to_owned())).await.map(|_| ())
    }

    /// All members, in the order of their creation.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn list_members(&self, access: &Access) -> Result<Vec<Value>> {
        access.require(&[Ability::Manage])?;
        Ok(self.state().members.values().map(member_json).collect())
    }

    /// One member.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn find_member(&self, access: &Access, id: &str) -> Result<Value> {
        access.require(&[Ability::Manage])?;
        find_member(&self.state(), id).map(member_json)
    }

    /// Creates a member from a request body.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn create_member(&self, access: &Access, body: &[u8], keep: Option<Keep<Value>>) -> Result<Done<Value>> {
        access.require(&[Ability::Manage])?;
        let patch = read_member(&into_object(json::parse(body)?)?, &["name", "email"])?;
        let (Some(name), Some(email)) = (patch.name, patch.email) else {
            return Err(Error::internal("a member without what was required"));
        };
        let draft = NewMember { name, email, role: patch.role.apply(None) };
        self.submit_answered(Command::CreateMember(draft), keep, member_answer).await
    }

    /// Changes a member.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn change_member(&self, access: &Access, id: &str, body: &[u8]) -> Result<Value> {
        access.require(&[Ability::Manage])?;
        let id = find_member(&self.state(), id)?.id;
        let patch = read_member(&into_object(json::parse(body)?)?, &[])?;
        self.submit_member(Command::ChangeMember(id, patch)).await
    }

    /// Deletes a member; values that name it stay as they are.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn delete_member(&self, access: &Access, id: &str) -> Result<()> {
        access.require(&[Ability::Manage])?;
        let id = find_member(&self.state(), id)?.id;
        self.submit(Command::DeleteMember(id)).await.map(|_| ())
    }

    /// Submits a command whose answer may be kept.
    async fn submit_answered(
        &self,
        command: Command,
        keep: Option<Keep<Value>>,
        read: fn(&Outcome) -> Result<Value>,
    ) -> Result<Done<Value>> {
        let keeping = keep.map(|keep| keep.for_command(move |outcome, _| read(outcome)));
        match self.submit_keeping(command, keeping).await? {
            Outcome::Kept(answer) => Ok(Done::Kept(answer)),
            outcome => Ok(Done::Now(read(&outcome)?)),
        }
    }

    async fn submit_blueprint(&self, command: Command) -> Result<BlueprintBody> {
        blueprint_answer(&self.submit(command).await?)
    }

    async fn submit_member(&self, command: Command) -> Result<Value> {
        member_answer(&self.submit(command).await?)
    }
}

/// Reads the body of a new token.
fn read_token(body: &Map<String, Value>) -> Result<NewToken> {
    let known = ["name", "abilities", "blueprints", "expires_at"];
    let mut faults = unknown_keys(body, &known, &["id", "type", "created_at", "secret"]);
    let name = required_text(body, "name", &mut faults);
    let abilities = read_abilities(body.get("abilities"), &mut faults);
    let blueprints = read_blueprints(body.get("blueprints"), &mut faults);
    if abilities.contains(&Ability::Manage) && blueprints.is_some() {
        let text = "must be null where `manage` is among the abilities: it cannot be limited to blueprints";
        faults.push(("blueprints".to_owned(), vec![text.to_owned()]));
    }
    let expires_at = match body.get("expires_at") {
        None | Some(Value::Null) => None,
        Some(value) => prepare::date(value).map_err(|fault| faults.push(("expires_at".to_owned(), vec![fault]))).ok(),
    };
    match name {
        Some(name) if faults.is_empty() => Ok(NewToken { name, abilities, blueprints, expires_at }),
        _ => Err(Error::validation(faults)),
    }
}

fn read_abilities(value: Option<&Value>, faults: &mut Faults) -> Vec<Ability> {
    let names: Vec<&str> = Ability::ALL.iter().map(|ability| ability.as_str()).collect();
    let mut fault = |text: String| faults.push(("abilities".to_owned(), vec![text]));
    let Some(items) = value.and_then(Value::as_array).filter(|items| !items.is_empty()) else {
        fault(format!("is required: an array of one or more of {}", quoted(&names)));
        return Vec::new();
    };
    let mut abilities = Vec::new();
    for item in items {
        match item.as_str().and_then(Ability::parse) {
            Some(ability) => abilities.push(ability),
            None => {
                let sent = item.as_str().map_or_else(|| quote(&item.to_string()), quote);
                fault(format!("holds {sent}, which is no ability; abilities are {}", quoted(&names)));
            }
        }
    }
    Ability::ALL.into_iter().filter(|ability| abilities.contains(ability)).collect()
}

fn read_blueprints(value: Option<&Value>, faults: &mut Faults) -> Option<Vec<String>> {
    let slugs = match value {
        None | Some(Value::Null) => return None,
        Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    if slugs.is_none() {
        let text = "must be null (all blueprints) or an array of blueprint slugs";
        faults.push(("blueprints".to_owned(), vec![text.to_owned()]));
    }
    slugs
}

/// Reads the body of a member; what is `required` must be there.
fn read_member(body: &Map<String, Value>, required: &[&str]) -> Result<MemberPatch> {
    let mut faults = unknown_keys(body, &["name", "email", "role"], &["id", "type"]);
    let mut text = |key: &str| {
        let is_wanted = required.contains(&key) || body.contains_key(key);
        if is_wanted { required_text(body, key, &mut faults) } else { None }
    };
    let name = text("name");
    let email = text("email");
    if email.as_ref().is_some_and(|email| email.len() > MAX_EMAIL_BYTES || !is_email(email)) {
        faults.push(("email".to_owned(), vec!["must be one email address such as `ada@example.org`".to_owned()]));
    }
    let role = match body.get("role") {
        None => Patch::Keep,
        Some(Value::Null) => Patch::Clear,
        Some(Value::String(role)) if is_word(role) => Patch::Set(role.clone()),
        Some(_) => {
            faults.push(("role".to_owned(), vec!["must be a word, or null".to_owned()]));
            Patch::Keep
        }
    };
    if faults.is_empty() { Ok(MemberPatch { name, email, role }) } else { Err(Error::validation(faults)) }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= 255 && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn required_text(body: &Map<String, Value>, key: &str, faults: &mut Faults) -> Option<String> {
    let text =
        body.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty() && text.chars().count() <= 255);
    if text.is_none() {
        faults.push((key.to_owned(), vec!["is required: a string of 1 to 255 characters".to_owned()]));
    }
    text.map(str::to_owned)
}

fn token_json(token: &Token) -> Value {
    json!({
        "id": token.id,
        "type": "token",
        "name": token.name,
        "abilities": token.abilities.iter().map(|ability| ability.as_str()).collect::<Vec<_>>(),
        "blueprints": token.blueprints,
        "created_at": format_millis(token.created_at),
        "expires_at": token.expires_at.map(format_millis),
    })
}

fn blueprint_answer(outcome: &Outcome) -> Result<BlueprintBody> {
    match outcome {
        Outcome::Blueprint(blueprint) => Ok(render::to_json(blueprint)),
        _ => Err(Error::internal("a blueprint with another command's outcome")),
    }
}

fn member_answer(outcome: &Outcome) -> Result<Value> {
    match outcome {
        Outcome::Member(member) => Ok(member_json(member)),
        _ => Err(Error::internal("a member with another command's outcome")),
    }
}

fn member_json(member: &Member) -> Value {
    json!({ "id": member.id, "type": "member", "name": member.name, "email": member.email, "role": member.role })
}

fn plan_json(plan: &BlueprintPlan) -> Value {
    let changes: Vec<Value> =
        plan.changes.iter().map(|change| json!({ "op": change.op.as_str(), "field": change.field })).collect();
    let loses: Map<String, Value> =
        plan.loses.iter().map(|(field, count)| (field.clone(), Value::from(*count))).collect();
    json!({
        "changes": changes,
        "loses": loses,
        "conflicts": { "count": plan.conflicts.count, "ids": plan.conflicts.ids },
    })
}
