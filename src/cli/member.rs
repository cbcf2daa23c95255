//! `bindery member invite`. Must not know who may sign in.

use serde_json::{Value, json};

use super::error::CliError;
use super::folder::{configure_existing, with_content};
use super::output::print;
use super::remote::Remote;
use crate::access::{Access, Member};
use crate::config::MemberCommand;
use crate::content::{Answered, Content};
use crate::http;
use crate::model::error::Error;

/// Who is invited.
struct Invited {
    email: String,
    role: Option<String>,
    name: Option<String>,
}

pub(super) async fn member(command: MemberCommand) -> Result<(), CliError> {
    let MemberCommand::Invite { email, role, name, server } = command;
    let invited = Invited { email, role, name };
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

impl Invited {
    async fn remotely(&self, remote: &Remote) -> Result<String, CliError> {
        let members = remote.get("/v2/members").await?;
        let mut known = members.as_array().into_iter().flatten();
        let id = match known.find(|member| member["email"] == self.email.as_str()) {
            Some(member) => {
                let id = member["id"].clone();
                if let Some(role) = self.role.as_ref().filter(|role| member["role"] != role.as_str()) {
                    remote.patch(&format!("/v2/members/{id}"), &json!({ "role": role })).await?;
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
            Some(Member { id, role, .. }) => {
                if self.role.is_some() && self.role != role {
                    let patch = json!({ "role": self.role }).to_string();
                    content.change_member(&access, &id.to_string(), patch.as_bytes()).await?;
                }
                id
            }
            None => {
                let body = self.new_member()?.to_string();
                match content.create_member(&access, body.as_bytes(), None).await? {
                    Answered::Fresh(member) => member.id,
                    Answered::Kept(_) => return Err(Error::internal("a kept answer to a command").into()),
                }
            }
        };
        let issued = content.invite(&access, &id.to_string()).await?;
        Ok(http::invitation_url(base, &issued.secret))
    }

    fn new_member(&self) -> Result<Value, CliError> {
        let Some(role) = &self.role else {
            let text = format!("there is no member {}; to create one, say what they may do with `--role`", self.email);
            return Err(CliError::Incomplete(text));
        };
        let name = self.name.as_deref().or(self.email.split('@').next()).unwrap_or_default();
        Ok(json!({ "name": name, "email": self.email, "role": role }))
    }
}
