//! Blueprints, tokens and members as JSON. Must not know how they are requested.

use bindery_access::{Member, Token};
use bindery_content::{BlueprintPlan, IssuedToken, ReplacementOutcome};
use bindery_model::blueprint::render;
use bindery_model::time::{Millis, format_millis};
use serde_json::{Map, Value, json};

/// Returns a token without its secret (`API.md` 5.5).
pub fn token(token: &Token) -> Value {
    json!({
        "id": token.id,
        "type": "token",
        "name": token.name,
        "abilities": token.abilities.iter().map(|ability| ability.as_str()).collect::<Vec<_>>(),
        "blueprints": token.blueprints,
        "created_at": format_millis(token.created_at),
        "expires_at": token.expires_at.map(format_millis),
        "last_used_at": token.used_at.map(format_millis),
    })
}

/// Returns a new token with its secret.
pub fn issued_token(issued: &IssuedToken) -> Value {
    let mut value = token(&issued.token);
    value["secret"] = Value::from(issued.secret.as_str());
    value
}

/// Returns a member (`API.md` 4.10). `invited_until` is the end of the member's unused invitation.
pub(crate) fn member(member: &Member, invited_until: Option<Millis>) -> Value {
    json!({
        "id": member.id,
        "type": "member",
        "name": member.name,
        "email": member.email,
        "role": member.role,
        "blueprints": member.blueprints,
        "last_seen_at": member.seen_at.map(format_millis),
        "invited_until": invited_until.map(format_millis),
    })
}

/// Returns the answer to a write of a member, with warnings if there are any.
pub(crate) fn written_member(member: &Member, invited_until: Option<Millis>) -> Value {
    let mut body = json!({ "data": self::member(member, invited_until) });
    let warnings = member.warnings();
    if !warnings.is_empty() {
        body["meta"] = json!({ "warnings": warnings });
    }
    body
}

/// Returns a member as seen by other members that do not have `manage`.
pub(crate) fn colleague(member: &Member) -> Value {
    json!({ "id": member.id, "type": "member", "name": member.name, "role": member.role })
}

/// Returns the outcome of a replacement: the blueprint, or the plan of a dry run (`API.md` 4.9).
pub fn replaced(replaced: &ReplacementOutcome) -> Value {
    match replaced {
        ReplacementOutcome::Applied(blueprint) => render::to_json(blueprint),
        ReplacementOutcome::Planned(plan) => self::plan(plan),
    }
}

fn plan(plan: &BlueprintPlan) -> Value {
    let changes = plan.differences.iter();
    let changes: Vec<Value> =
        changes.map(|difference| json!({ "op": difference.op.as_str(), "field": difference.field })).collect();
    let loses: Map<String, Value> =
        plan.losses.iter().map(|(field, count)| (field.clone(), Value::from(*count))).collect();
    let conflicts = json!({ "count": plan.conflicts.count, "ids": plan.conflicts.ids });
    json!({ "changes": changes, "loses": loses, "conflicts": conflicts })
}
