//! `bindery token create | list | revoke`.

use serde_json::{Value, json};

use super::remote::Remote;
use super::{CliError, close, open_folder, print};
use crate::access::Access;
use crate::config::{ServerArgs, TokenCommand};
use crate::content::now;
use crate::model::error::Error;
use crate::model::time::format_millis;

pub(super) async fn token(command: TokenCommand) -> Result<(), CliError> {
    match command {
        TokenCommand::Create { name, abilities, blueprints, expires, server } => {
            let expires_at = expires.map(|lifetime| format_millis(now() + lifetime.as_millis() as i64));
            let body =
                json!({ "name": name, "abilities": abilities, "blueprints": blueprints, "expires_at": expires_at });
            let token = match Remote::of(&server)? {
                Some(remote) => remote.post("/v2/tokens", &body).await?,
                None => create_in_folder(&server, &body).await?,
            };
            print(token["secret"].as_str().unwrap_or_default());
            Ok(())
        }
        TokenCommand::List { server } => {
            let tokens = match Remote::of(&server)? {
                Some(remote) => remote.get("/v2/tokens").await?,
                None => {
                    let content = open_folder(&server).await?;
                    let tokens = content.list_tokens(&Access::everything("cli"));
                    close(content).await?;
                    Value::Array(tokens?)
                }
            };
            print_tokens(&tokens);
            Ok(())
        }
        TokenCommand::Revoke { id, server } => match Remote::of(&server)? {
            Some(remote) => remote.delete(&format!("/v2/tokens/{id}")).await,
            None => {
                let content = open_folder(&server).await?;
                let revoked = content.revoke_token(&Access::everything("cli"), &id).await;
                close(content).await?;
                Ok(revoked?)
            }
        },
    }
}

async fn create_in_folder(server: &ServerArgs, body: &Value) -> Result<Value, CliError> {
    let content = open_folder(server).await?;
    let bytes = serde_json::to_vec(body).map_err(Error::internal)?;
    let token = content.create_token(&Access::everything("cli"), &bytes).await;
    close(content).await?;
    Ok(token?)
}

fn print_tokens(tokens: &Value) {
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    print("id\tname\tabilities\tblueprints\texpires_at");
    for token in tokens.as_array().into_iter().flatten() {
        let cells = ["id", "name", "abilities", "blueprints", "expires_at"].map(|key| text(&token[key]));
        print(&cells.join("\t"));
    }
}
