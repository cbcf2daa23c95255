//! `GET /v2/status` (`API.md` 4.16): the state of the server, for its operator. Must not compute anything itself.

use axum::http::StatusCode;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error};
use bindery_model::time::format_millis;
use serde_json::{Map, Value, json};

use crate::answer::respond::data_value;
use crate::error::Answer;
use crate::observe::sizes::{FOLDERS, Process, Sizes};
use crate::request::head::Call;

/// The seconds after which a node counts as gone that says nothing: it should every 30.
const LISTED_FOR: i64 = 90;

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

/// `GET /v2/cluster` (`API.md` 4.20): the nodes of the cluster.
pub(crate) async fn cluster(call: Call) -> Answer {
    call.access.require(&[Ability::Manage])?;
    call.takes_no_parameters()?;
    let (Some(node), Some(upkeep)) = (call.app.content.node(), call.app.content.upkeep().cloned()) else {
        return Err(
            Error::new(Code::NotFound, "this server belongs to no cluster: it was started without `log`").into()
        );
    };
    let facts = upkeep.facts();
    let listed = tokio::task::spawn_blocking(move || upkeep.nodes()).await.map_err(Error::internal)?;
    let listed = listed.map_err(|error| Error::new(Code::LogUnreachable, error.to_string()))?;
    let own_hash = facts.settings_hash;
    let nodes: Vec<Value> = listed
        .iter()
        .map(|listed| {
            let mut warnings = Vec::new();
            if listed.settings_hash != own_hash {
                warnings.push(format!("its settings differ from those of {}", node.node));
            }
            if listed.version != env!("CARGO_PKG_VERSION") {
                warnings.push(format!(
                    "it has version {}, and {} has {}",
                    listed.version,
                    node.node,
                    env!("CARGO_PKG_VERSION")
                ));
            }
            let is_this = listed.node == node.node;
            let age = call.app.content.clock_time().saturating_sub(i64::try_from(listed.at).unwrap_or(i64::MAX)).max(0)
                / 1_000;
            let lag = if is_this { node.standing.lag.as_secs() } else { age.cast_unsigned() };
            let position = if is_this { node.standing.position.seq } else { listed.position.seq };
            let is_ready = if is_this { call.app.content.check_follows().is_ok() } else { age <= LISTED_FOR };
            if listed.clock_error != 0 {
                let (seconds, which) =
                    (listed.clock_error.abs(), if listed.clock_error > 0 { "ahead of" } else { "behind" });
                warnings.push(format!(
                    "its clock is {seconds} seconds {which} that of the storage, by which it goes; set it with NTP"
                ));
            }
            if !is_this && !is_ready {
                warnings.push(format!("it has said nothing for {age} seconds"));
            }
            json!({
                "node": listed.node, "address": listed.address, "version": listed.version, "position": position,
                "lag": lag, "ready": is_ready, "warnings": warnings,
            })
        })
        .collect();
    let warnings: Vec<String> = node.standing.fault.iter().chain(&node.standing.gap).cloned().collect();
    Ok(data_value(
        StatusCode::OK,
        json!({
            "id": facts.cluster, "history": facts.history, "position": node.standing.position.seq,
            "leader": node.leader.as_ref().map(|leader| leader.node.clone()), "warnings": warnings, "nodes": nodes,
        }),
    ))
}
