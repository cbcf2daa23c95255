//! `bindery member invite`. Must not know who may sign in.

use bindery_access::{Access, Member, Patch};
use bindery_config::MemberCommand;
use bindery_content::{Content, IdempotentAnswer};
use bindery_model::error::Error;
use serde_json::{Map, Value, json};

use super::error::CliError;
use super::folder::{configure_existing, with_content};
use super::output::print;
use super::remote::Remote;

/// The invited member.
struct Invitee {
    email: String,
    role: Option<String>,
    blueprints: Patch<Vec<String>>,
    name: Option<String>,
}

pub(super) async fn member(command: MemberCommand) -> Result<(), CliError> {
    let MemberCommand::Invite { email, role, blueprints, all_blueprints, name, server } = command;
    let blueprints = match (blueprints, all_blueprints) {
        (Some(slugs), _) => Patch::Set(slugs),
        (None, true) => Patch::Clear,
        (None, false) => Patch::Keep,
    };
    let invited = Invitee { email, role, blueprints, name };
    let url = match Remote::of(&server)? {
        Some(remote) => invited.remotely(&remote).await?,
        None => {
            let config = configure_existing(&server.folder)?;
            let base = config.public_url.clone().unwrap_or_else(|| format!("http://{}", config.listen));
            with_content(&config, async |content: Content| invited.in_folder(&content, &base).await).await?
        }
    };
    print(&url);
    Ok(())
}

impl Invitee {
    async fn remotely(&self, remote: &Remote) -> Result<String, CliError> {
        let members = remote.get("/v2/members").await?;
        let mut known = members.as_array().into_iter().flatten();
        let id = match known.find(|member| member["email"] == self.email.as_str()) {
            Some(member) => {
                let id = member["id"].clone();
                let changes = self.changes();
                if changes.iter().any(|(key, value)| member[key] != *value) {
                    remote.patch(&format!("/v2/members/{id}"), &Value::Object(changes)).await?;
                }
                id
            }
            None => remote.post("/v2/members", &self.new_member()?).await?["id"].take(),
        };
        let invitation = remote.post(&format!("/v2/members/{id}/invitations"), &json!({})).await?;
        Ok(invitation["url"].as_str().unwrap_or_default().to_owned())
    }

    async fn in_folder(&self, content: &Content, base: &str) -> Result<String, CliError> {
        let access = Access::everything("cli");
        let known = content.list_members(&access)?.into_iter().find(|member| member.email == self.email);
        let id = match known {
            Some(Member { id, .. }) => {
                // Sends no change if nothing differs.
                let changes = Value::Object(self.changes()).to_string();
                content.change_member(&access, &id.to_string(), changes.as_bytes()).await?;
                id
            }
            None => {
                let body = self.new_member()?.to_string();
                match content.create_member(&access, body.as_bytes(), None).await? {
                    IdempotentAnswer::Fresh(member) => member.id,
                    IdempotentAnswer::Kept(_) => return Err(Error::internal("a kept answer to a command").into()),
                }
            }
        };
        let issued = content.invite(&access, &id.to_string()).await?;
        Ok(bindery_http::invitation_url(base, &issued.secret))
    }

    /// Returns the changes of the member.
    fn changes(&self) -> Map<String, Value> {
        let role = self.role.as_ref().map(|role| ("role".to_owned(), json!(role)));
        let blueprints = match &self.blueprints {
            Patch::Keep => None,
            Patch::Clear => Some(Value::Null),
            Patch::Set(slugs) => Some(json!(slugs)),
        };
        role.into_iter().chain(blueprints.map(|slugs| ("blueprints".to_owned(), slugs))).collect()
    }

    fn new_member(&self) -> Result<Value, CliError> {
        if self.role.is_none() {
            let text = format!("there is no member {}; to create one, say what they may do with `--role`", self.email);
            return Err(CliError::Incomplete(text));
        }
        let name = self.name.as_deref().or(self.email.split('@').next()).unwrap_or_default();
        let mut member = json!({ "name": name, "email": self.email });
        member.as_object_mut().into_iter().for_each(|member| member.extend(self.changes()));
        Ok(member)
    }
}
