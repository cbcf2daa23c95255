//! Errors that several modules of `content` return, each worded once.

use bindery_access::Access;
use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::error::{Code, Conflict, Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::sent::quote;
use bindery_model::time::{Millis, format_millis};

/// The number of ids a conflict names.
pub(crate) const CONFLICT_IDS: usize = 10;

/// Returns `NOT_FOUND` for a blueprint.
pub(crate) fn no_blueprint(slug: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no blueprint {}", quote(slug)))
}

/// Returns `NOT_FOUND` for a resource.
pub(crate) fn no_resource(blueprint: &Blueprint, id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no resource {} of the blueprint `{}`", quote(id), blueprint.slug))
}

/// Returns `CONFLICT` for a key that another request gave to a resource meanwhile.
pub(crate) fn key_is_known(key: &str) -> Error {
    let text = format!("another request has just created the resource with the key {}; repeat this one", quote(key));
    Error::new(Code::Conflict, text)
}

/// Returns `NOT_FOUND` for a webhook.
pub(crate) fn no_webhook(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no webhook {}", quote(id)))
}

/// Returns `NOT_FOUND` for synonyms.
pub(crate) fn no_synonym(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there are no synonyms {}", quote(id)))
}

/// Returns `NOT_FOUND` for a rule of ranked search.
pub(crate) fn no_search_rule(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no search rule {}", quote(id)))
}

/// Returns `NOT_FOUND` for a saved view.
pub(crate) fn no_view(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no view {}", quote(id)))
}

/// Returns `NOT_FOUND` for a member.
pub(crate) fn no_member(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no member {}", quote(id)))
}

/// Returns `NOT_FOUND` for an invitation.
pub(crate) fn invitation_is_void() -> Error {
    let text =
        "this link is not valid: it was used, replaced by a newer one, or has expired; ask an owner for a new one";
    Error::new(Code::NotFound, text)
}

/// Returns `UNAUTHENTICATED` for an unknown email and for a wrong password: which of the two it is would tell who is a
/// member.
pub(crate) fn wrong_password() -> Error {
    Error::new(Code::Unauthenticated, "the email or the password is wrong")
}

/// Returns `NOT_FOUND` for a session.
pub(crate) fn no_session(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no session {}", quote(id)))
}

/// Returns `FORBIDDEN` for a member whose role carries no rights.
pub(crate) fn role_without_rights(role: Option<&str>) -> Error {
    let text = match role {
        Some(role) => format!("the role {} of this member carries no rights here", quote(role)),
        None => "this member has no role, and so no rights here".to_owned(),
    };
    Error::new(Code::Forbidden, format!("{text}; those of `owner`, `editor`, `author` and `viewer` do"))
}

/// Returns `FORBIDDEN` for a change between draft and published.
pub(crate) fn needs_publish() -> Error {
    let text = "publishing or unpublishing needs the ability `publish`, which this token lacks";
    Error::new(Code::Forbidden, text)
}

/// Returns `FORBIDDEN` for a write of a resource that readers without `preview` see, by somebody who may write drafts
/// only.
pub(crate) fn only_drafts(what: &str) -> Error {
    Error::new(Code::Forbidden, format!("your role may write drafts only, and {what}"))
}

/// Returns `SINGULAR_RESOURCE` for a create.
pub(crate) fn no_second(blueprint: &Blueprint) -> Error {
    singular(blueprint, "a second one cannot be created; change the existing one")
}

/// Returns `SINGULAR_RESOURCE` for a delete.
pub(crate) fn not_deletable(blueprint: &Blueprint) -> Error {
    singular(blueprint, "it cannot be deleted")
}

/// Returns `VALIDATION_FAILED` for the creation of a media resource without a file.
pub(crate) fn needs_upload(blueprint: &Blueprint) -> Error {
    let slug = &blueprint.slug;
    let text = format!(
        "`{slug}` is a blueprint of the kind `media`: its resources are created with their files, by `POST /v2/media/{slug}`"
    );
    Error::new(Code::ValidationFailed, text)
}

fn singular(blueprint: &Blueprint, what: &str) -> Error {
    let slug = &blueprint.slug;
    Error::new(Code::SingularResource, format!("`{slug}` is a singular blueprint with exactly one resource: {what}"))
}

/// # Errors
/// `CONFLICT` if a body names another kind than the blueprint's, which never changes.
pub(crate) fn check_kind(current: &Blueprint, kind: Option<BlueprintKind>) -> Result<()> {
    match kind.filter(|kind| *kind != current.kind) {
        None => Ok(()),
        Some(kind) => {
            let text = format!("the kind cannot be changed from `{}` to `{}`", current.kind.as_str(), kind.as_str());
            Err(Error::new(Code::Conflict, text))
        }
    }
}

/// Returns `CONFLICT` for a change or deletion of a blueprint that is being changed.
pub(crate) fn change_under_way(slug: &str) -> Error {
    let text = format!("the blueprint `{slug}` is being changed; try again when that change is in force");
    Error::new(Code::Conflict, text)
}

/// Returns `CONFLICT` for a deletion of a resource that a changed blueprint is going to relate to. Names that blueprint
/// if the token sees it.
pub(crate) fn relation_under_way(access: &Access, slug: &str) -> Error {
    match access.sees(slug) {
        true => change_under_way(slug),
        false => {
            Error::new(Code::Conflict, "a blueprint is being changed that may relate to this one; try again later")
        }
    }
}

/// Returns `CONFLICT` for a write that only the changed blueprint would refuse (`API.md` 4.9.3).
pub(crate) fn refused_by_change(blueprint: &Blueprint, errors: FieldErrors) -> Error {
    let error = Error::validation(errors);
    let text = format!(
        "the blueprint `{}` is being changed, and the changed one would refuse this: {}; send what both accept, or wait \
         until the change is in force",
        blueprint.slug, error.message
    );
    Error { code: Code::Conflict, message: text, ..error }
}

/// Returns `CONFLICT` for a write of a variant that is being removed.
pub(crate) fn variant_leaving(blueprint: &Blueprint, variant: u16) -> Error {
    let variant = blueprint.variants.iter().find(|known| known.number == variant);
    let variant = variant.map_or_else(String::new, |variant| format!(" `{}`", variant.slug));
    let text =
        format!("the blueprint `{}` is being changed, and its variant{variant} is being removed", blueprint.slug);
    Error::new(Code::Conflict, text)
}

/// Returns `CONFLICT` for a blueprint change that stored resources do not allow.
pub(crate) fn change_conflict(conflict: Conflict) -> Error {
    let text = format!(
        "this change would invalidate or drop values of {}; change those first (`?dry_run=true` shows the plan)",
        counted(conflict.count, "stored resource")
    );
    Error { conflict: Some(conflict), ..Error::new(Code::Conflict, text) }
}

/// Returns `OVERLOADED` for a search in an index that is being rebuilt.
pub(crate) fn index_is_damaged(slug: &str) -> Error {
    let text = format!("the index of `{slug}` is damaged and is being rebuilt; try again in a moment");
    Error::new(Code::Overloaded, text)
}

/// Returns `CONFLICT` for the deletion of a blueprint that has resources.
///
/// # Errors
/// If the index fails.
pub(crate) fn still_has_resources(
    slug: &str,
    snapshot: &bindery_index::Snapshot,
) -> std::result::Result<Error, bindery_index::Error> {
    let count = snapshot.total();
    let query = bindery_index::Query { variant: 0, filter: bindery_index::Filter::All, sort: Vec::new() };
    let first = snapshot.search(&query, 0, CONFLICT_IDS)?;
    let text = format!("`{slug}` still has {}; delete them first, or add `?force=true`", counted(count, "resource"));
    let conflict = conflict_of(count, first.hits.iter().map(|hit| ResourceId::from_u128(hit.id)));
    Ok(Error { conflict: Some(conflict), ..Error::new(Code::Conflict, text) })
}

/// Returns `CONFLICT` for the deletion of a resource that relations forbid. `named` are those that the writer may see.
pub(crate) fn still_referred_to(count: u64, named: Vec<ResourceId>) -> Error {
    let (who, them) = if count == 1 { ("resource refers", "it") } else { ("resources refer", "them") };
    let text =
        format!("{count} {who} to it by a relation whose `on_delete` is `restrict`; change or delete {them} first",);
    Error { conflict: Some(conflict_of(count, named.into_iter())), ..Error::new(Code::Conflict, text) }
}

/// Returns `CONFLICT` for the deletion of media that are used. `named` are the users that the writer may see.
pub(crate) fn media_in_use(count: u64, named: Vec<ResourceId>) -> Error {
    let (who, them) = if count == 1 { ("resource uses", "it") } else { ("resources use", "them") };
    let text = format!("{count} {who} this file, by a relation or its address; change or delete {them} first");
    Error { conflict: Some(conflict_of(count, named.into_iter())), ..Error::new(Code::Conflict, text) }
}

/// The message for a changed system field of a media resource.
pub(crate) const UNCHANGEABLE_SYSTEM_FIELD: &str =
    "cannot be changed: only an upload sets it; leave it out, or send the present value";

/// Returns `OVERLOADED` for a write that names a file which is just being removed.
pub(crate) fn file_is_being_removed() -> Error {
    let text = "no resource had this file any more, and it is just being removed; upload it again";
    Error::new(Code::Overloaded, text)
}

/// Returns `CONFLICT` for the deletion of a resource that would remove too many values. `named` are those of the
/// resources that the writer may see.
pub(crate) fn too_many_to_nullify(count: u64, most: usize, named: Vec<ResourceId>) -> Error {
    let text = format!(
        "{} to it by relations whose `on_delete` is `nullify`, and at most {most} can be changed together with a deletion; \
         take it out of some of them first",
        resources_refer(count)
    );
    Error { conflict: Some(conflict_of(count, named.into_iter())), ..Error::new(Code::Conflict, text) }
}

/// Returns the refusal of a deletion that would be possible in a separate request. `named` are those of the resources
/// that the writer may see.
pub(crate) fn too_many_in_request(count: u64, most: usize, named: Vec<ResourceId>) -> Error {
    let text = format!(
        "{} to it by relations that the deletion follows, and at most {most} can be changed by one request, in which the \
         deletions before this one count; delete it in another request",
        resources_refer(count)
    );
    Error { conflict: Some(conflict_of(count, named.into_iter())), ..Error::new(Code::Conflict, text) }
}

/// Returns `PAYLOAD_TOO_LARGE` for an item that would be possible in a separate request. `most` is the number of bytes
/// that one request writes of stored values.
pub(crate) fn too_much_rewritten(most: usize) -> Error {
    let text = format!(
        "an update, or a publication of a working copy, writes all attributes of its resource again; one request may \
         write {} MiB of them; send this item and the later ones in another request",
        most >> 20
    );
    Error::new(Code::PayloadTooLarge, text)
}

/// Returns `NOT_FOUND` for a resource that is not in the trash, or not in that of a blueprint that the token sees.
pub(crate) fn not_in_trash(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no resource {} in the trash", quote(id)))
}

/// Returns `CONFLICT` for a resource that was deleted a second time while it was being restored.
pub(crate) fn changed_in_trash(id: ResourceId) -> Error {
    Error::new(Code::Conflict, format!("the resource `{id}` in the trash has just been replaced; try again"))
}

/// Returns `CONFLICT` for the restoration of a resource whose id an import has used again.
pub(crate) fn exists_again(blueprint: &Blueprint, id: ResourceId) -> Error {
    let text = format!(
        "the blueprint `{}` has a resource `{id}` again, which an import has created; deleting that one replaces the one in \
         the trash",
        blueprint.slug
    );
    Error::new(Code::Conflict, text)
}

/// Returns `CONFLICT` for the restoration of a resource whose unique values other resources hold by now.
pub(crate) fn unique_values_taken(errors: FieldErrors) -> Error {
    let error = Error::validation(errors);
    let text = format!("{}; change the other resource first; this one stays in the trash until then", error.message);
    Error { code: Code::Conflict, message: text, ..error }
}

/// Returns the error of a restoration with what can be done about it.
pub(crate) fn unrestorable(error: Error) -> Error {
    let text = format!(
        "{}; the blueprint has changed, or a related resource was deleted, since this one was: change the field so that it \
         accepts the value, or restore the related resource first; this one stays in the trash until then",
        error.message
    );
    if error.code == Code::ValidationFailed { Error { message: text, ..error } } else { error }
}

/// Returns `NOT_FOUND` for a working copy.
pub(crate) fn no_working_copy(id: ResourceId) -> Error {
    Error::new(Code::NotFound, format!("the resource `{id}` has no working copy"))
}

/// Returns `CONFLICT` for a change of a working copy whose publication is planned.
pub(crate) fn is_planned(at: Millis) -> Error {
    let text = format!(
        "the working copy is to be published at {}; take that back first, by publishing with `{{\"at\": null}}`",
        format_millis(at)
    );
    Error::new(Code::Conflict, text)
}

/// Returns `CONFLICT` for a publication that would overwrite values of the live copy.
pub(crate) fn working_copy_conflict(errors: FieldErrors) -> Error {
    let error = Error::validation(errors);
    let names: Vec<String> = error.fields.iter().map(|(slug, _)| quote(slug)).collect();
    let text = format!(
        "the live copy has changed since in fields that the working copy changes too: {}; compare both, then change the \
         working copy, or publish with `\"force\": true` to overwrite them",
        names.join(", ")
    );
    Error { code: Code::Conflict, message: text, ..error }
}

/// Returns `INVALID_PARAMETER` for a request about the working copies of a blueprint whose setting is off.
pub(crate) fn without_working_copies(slug: &str) -> Error {
    let text = format!("the blueprint `{slug}` has no working copies; set its `working_copy` to true");
    Error::new(Code::InvalidParameter, text)
}

/// Returns `CONFLICT` for switching off the working copies of a blueprint that has some.
pub(crate) fn still_has_working_copies(slug: &str, conflict: Conflict) -> Error {
    let working_copies = match conflict.count {
        1 => "1 working copy".to_owned(),
        count => format!("{count} working copies"),
    };
    let text = format!("`{slug}` still has {working_copies}; publish or discard them first");
    Error { conflict: Some(conflict), ..Error::new(Code::Conflict, text) }
}

/// Returns `CONFLICT` for the deletion of a blueprint whose trash is not empty. `first` are the first resources in it.
pub(crate) fn still_has_trash(slug: &str, count: u64, first: Vec<ResourceId>) -> Error {
    let text = format!(
        "`{slug}` still has {} in its trash; remove them first, or add `?force=true`",
        counted(count, "resource")
    );
    Error { conflict: Some(conflict_of(count, first.into_iter())), ..Error::new(Code::Conflict, text) }
}

fn resources_refer(count: u64) -> String {
    if count == 1 { "1 resource refers".to_owned() } else { format!("{count} resources refer") }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Returns a conflict with `count` resources, of which it names the first.
pub(crate) fn conflict_of(count: u64, ids: impl Iterator<Item = ResourceId>) -> Conflict {
    Conflict { count, ids: ids.take(CONFLICT_IDS).map(|id| id.to_string()).collect() }
}
