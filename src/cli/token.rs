//! `bindery token create | list | revoke`. Must not know the rules for tokens.

use bindery_access::Access;
use bindery_config::TokenCommand;
use bindery_content::Content;
use bindery_model::time::{format_millis, now_millis};
use serde_json::{Value, json};

use super::error::CliError;
use super::folder::{configure_existing, with_content};
use super::output::{print, shown};
use super::remote::Remote;

pub(super) async fn token(command: TokenCommand) -> Result<(), CliError> {
    let access = Access::everything("cli");
    match command {
        TokenCommand::Create { name, abilities, blueprints, expires, server } => {
            let expires_at = expires.map(|lifetime| format_millis(now_millis() + lifetime.as_millis() as i64));
            let body =
                json!({ "name": name, "abilities": abilities, "blueprints": blueprints, "expires_at": expires_at });
            let token = match Remote::of(&server)? {
                Some(remote) => remote.post("/v2/tokens", &body).await?,
                None => {
                    let body = body.to_string();
                    let create = async |content: Content| {
                        Ok(bindery_http::issued_token(&content.create_token(&access, body.as_bytes()).await?))
                    };
                    with_content(&configure_existing(&server.folder)?, create).await?
                }
            };
            print(token["secret"].as_str().unwrap_or_default());
        }
        TokenCommand::List { json, server } => {
            let tokens = match Remote::of(&server)? {
                Some(remote) => remote.get("/v2/tokens").await?,
                None => {
                    let list = async |content: Content| {
                        Ok(content.list_tokens(&access)?.iter().map(bindery_http::token).collect())
                    };
                    with_content(&configure_existing(&server.folder)?, list).await?
                }
            };
            match json {
                true => print(&format!("{tokens:#}")),
                false => print_table(&tokens),
            }
        }
        TokenCommand::Revoke { id, server } => match Remote::of(&server)? {
            Some(remote) => remote.delete(&format!("/v2/tokens/{id}")).await?,
            None => {
                let revoke = async |content: Content| Ok(content.revoke_token(&access, &id).await?);
                with_content(&configure_existing(&server.folder)?, revoke).await?;
            }
        },
    }
    Ok(())
}

fn print_table(tokens: &Value) {
    print("id\tname\tabilities\tblueprints\texpires_at\tlast_used_at");
    for token in tokens.as_array().into_iter().flatten() {
        let cells =
            ["id", "name", "abilities", "blueprints", "expires_at", "last_used_at"].map(|key| shown(&token[key]));
        print(&cells.join("\t"));
    }
}
