//! `GET /v2/status` (`API.md` 4.16): the state of the server, for its operator. Must not compute anything itself.

use axum::http::StatusCode;
use bindery_model::ability::Ability;
use bindery_model::error::Error;
use bindery_model::time::format_millis;
use serde_json::{Map, Value, json};

use crate::answer::respond::data_value;
use crate::error::Answer;
use crate::observe::sizes::{FOLDERS, Process, Sizes};
use crate::request::head::Call;

pub(crate) async fn find(call: Call) -> Answer {
    call.access.require(&[Ability::Manage])?;
    call.takes_no_parameters()?;
    let app = call.app.clone();
    // Blocks, because it reads every name in the data folder.
    let value = tokio::task::spawn_blocking(move || {
        let (sizes, process) = (Sizes::kept(&app.config.data), Process::of_this());
        let content = app.content.status();
        let folders: Map<String, Value> =
            FOLDERS.into_iter().zip(sizes.bytes).map(|(folder, bytes)| (folder.to_owned(), bytes.into())).collect();
        let blueprints: Vec<Value> =
            content.blueprints.iter().map(|(slug, resources)| json!({ "id": slug, "resources": resources })).collect();
        json!({
            "type": "status",
            "version": env!("CARGO_PKG_VERSION"),
            "started_at": format_millis(app.started_at),
            "writable": app.content.is_writable(),
            "number": content.number,
            "bytes": folders,
            "index_runs": sizes.runs,
            "blueprints": blueprints,
            "tokens": content.tokens,
            "members": content.members,
            "analytics": { "open": app.analytics.is_open(), "dropped": app.analytics.dropped() },
            "process": {
                "resident_bytes": process.resident_bytes,
                "open_files": process.open_files,
                "threads": process.threads,
            },
        })
    });
    Ok(data_value(StatusCode::OK, value.await.map_err(Error::internal)?))
}
