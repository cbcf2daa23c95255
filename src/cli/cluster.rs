//! `bindery cluster`. Must not know how a log is shared.

use std::path::{Path, PathBuf};

use bindery_analytics::AnalyticsOptions;
use bindery_config::{
    ClusterCommand, ClusterLeaveArgs, ClusterRepairArgs, ClusterRestoreArgs, ClusterUpgradeArgs, Config, NodeArgs,
};
use bindery_content::{
    ContentOptions, LeavingNode, RestorePoint, begin_history_of, create_cluster_from, repair_cluster, restore_cluster,
    upgrade_cluster,
};
use bindery_counting::{bring_along, set_copy_aside, take_along};
use bindery_model::time::{format_millis, parse_system_date};

use super::backup::note_switched_off;
use super::error::{CliError, failed};
use super::folder::{analytics_options, blocking, content_options};
use super::output::{note, print, start_log};

pub(super) async fn cluster(command: ClusterCommand) -> Result<(), CliError> {
    match command {
        ClusterCommand::Create(args) => create(args).await,
        ClusterCommand::Restore(args) => restore(args).await,
        ClusterCommand::Repair(args) => repair(args).await,
        ClusterCommand::Upgrade(args) => upgrade(args).await,
        ClusterCommand::Leave(args) => leave_cluster(args).await,
    }
}

async fn create(args: NodeArgs) -> Result<(), CliError> {
    let config = configure(&args)?;
    let (options, address) = (ContentOptions { cluster: None, ..content_options(&config) }, args.log.clone());
    let node = blocking("creating the cluster", move || create_cluster_from(&options, &address)).await?;
    if let Err(error) = bring_analytics(&config, &node, &args.log).await {
        note(&format!(
            "The analytics are not in the cluster yet: {error}. Start this machine first, which brings them"
        ));
    }
    let (data, log) = (config.data.display(), args.log);
    print(&format!("Created the cluster at {log}; {data} is its node {node}"));
    note(&format!("Start it with `bindery serve --data {data} --log {log}`, and further nodes with empty folders"));
    Ok(())
}

/// Writes what the server counted to the storage of its cluster. Without a key, each node counts for itself.
async fn bring_analytics(config: &Config, node: &str, log: &str) -> Result<(), CliError> {
    let Some(key) = config.cluster.as_ref().and_then(|cluster| cluster.key.as_ref()) else { return Ok(()) };
    let (secret, node, log) = (key.secret().to_owned(), node.to_owned(), log.to_owned());
    let analytics = analytics_options(config);
    let what = "writing the analytics";
    blocking(what, move || bring_along(&log, analytics, secret, node).map_err(|error| failed(what, &error))).await
}

async fn leave_cluster(args: ClusterLeaveArgs) -> Result<(), CliError> {
    let config = super::folder::configure(&args.folder)?;
    let (data, analytics) = (config.data.clone(), AnalyticsOptions::in_folder(&config.data).folder);
    let what = "leaving the cluster";
    let leaving = blocking(what, move || LeavingNode::begin(&data)).await?;
    let (leaving, left_behind) = match args.log.filter(|_| !args.without_storage) {
        Some(log) => {
            let taking = blocking(what, move || with_analytics(leaving, &log, &analytics)).await;
            (taking.map_err(|error| cannot_leave(&error))?, None)
        }
        None => (leaving, Some(leave_analytics(analytics).await?)),
    };
    blocking(what, move || leaving.finish()).await?;
    if let Some(text) = left_behind {
        note(&text);
    }
    print(&format!("{} is a single server now; start it without `--log`", config.data.display()));
    Ok(())
}

/// Returns the node once it is certain that the storage is that of its cluster, and the folder has the analytics.
fn with_analytics(mut leaving: LeavingNode, log: &str, analytics: &Path) -> Result<LeavingNode, CliError> {
    leaving.find_cluster(log)?;
    take_along(log, analytics).map_err(|error| failed("getting the analytics of the cluster", &error))?;
    Ok(leaving)
}

/// Returns the error of a node that does not leave because of the storage of its cluster.
fn cannot_leave(error: &CliError) -> CliError {
    CliError::Incomplete(format!(
        "{error}; the folder is still a node, and the command can be repeated; if the storage of its cluster is gone for good, \
         `--without-storage` leaves without the analytics of the cluster"
    ))
}

/// Moves a copy of the analytics of the cluster aside. Returns what to say about them.
async fn leave_analytics(analytics: PathBuf) -> Result<String, CliError> {
    let what = "moving the analytics of the cluster aside";
    let aside = blocking(what, move || set_copy_aside(&analytics).map_err(|error| failed(what, &error))).await?;
    let copy = aside.map(|aside| format!("; the copy that this node had is in {} now", aside.display()));
    Ok(format!("The analytics of the cluster stay behind{}", copy.unwrap_or_default()))
}

async fn restore(args: ClusterRestoreArgs) -> Result<(), CliError> {
    let config = configure(&args.node)?;
    let to = restore_point(&args.to)?;
    let temporary = args.temporary.unwrap_or_else(std::env::temp_dir);
    let (options, log, keeps) = (content_options(&config), args.node.log.clone(), args.keep_webhooks);
    let restore = move || restore_cluster(&options, &log, &to, &temporary, keeps);
    let restored = blocking("restoring the cluster", restore).await?;
    let of_history = restored.from_history.map(|history| format!(" of history {history}")).unwrap_or_default();
    let last = restored.last_time.map(|time| format!(" (last change at {})", format_millis(time))).unwrap_or_default();
    print(&format!(
        "The cluster at {} is restored to number {}{of_history}{last}, in its history {}; its nodes begin again from there",
        args.node.log, restored.number, restored.history
    ));
    note_left_out(restored.left_out);
    note_switched_off(restored.webhooks_switched_off);
    Ok(())
}

/// Says how many transactions a restore to a time has left out because they have no time, if it has.
fn note_left_out(left_out: u64) {
    if left_out > 0 {
        note(&format!(
            "transactions without a time that followed: {left_out}, left out because they may be later; the servers \
             repeat removals of obsolete data, and `bindery cluster upgrade` may be run again"
        ));
    }
}

async fn repair(args: ClusterRepairArgs) -> Result<(), CliError> {
    let config = configure(&args.node)?;
    let temporary = args.temporary.unwrap_or_else(std::env::temp_dir);
    let (options, log) = (content_options(&config), args.node.log.clone());
    if args.new_history {
        let begin = move || begin_history_of(&options, &log, &temporary);
        let begun = blocking("beginning the history", begin).await?;
        print(&format!(
            "The cluster at {} has the content of {} up to number {}, in its history {}; its nodes begin again from there",
            args.node.log,
            config.data.display(),
            begun.number,
            begun.history
        ));
        return Ok(());
    }
    let missing = blocking("repairing the log", move || repair_cluster(&options, &log)).await?;
    print(&match missing {
        0 => format!("The log at {} has everything that {} has", args.node.log, config.data.display()),
        _ => format!("The log at {} has {missing} records again, from {}", args.node.log, config.data.display()),
    });
    Ok(())
}

async fn upgrade(ClusterUpgradeArgs { log }: ClusterUpgradeArgs) -> Result<(), CliError> {
    start_log("warn", false);
    let address = log.clone();
    let what = "upgrading the cluster";
    let upgraded = blocking(what, move || upgrade_cluster(&address).map_err(|error| failed(what, &error))).await?;
    print(&format!(
        "The nodes of the cluster at {log} may write format {} from number {} on; an older version cannot follow it any more",
        upgraded.format, upgraded.number
    ));
    Ok(())
}

/// Reads a moment: digits are a number, what can be read as a time is one, and everything else names a file.
fn restore_point(sent: &str) -> Result<RestorePoint, CliError> {
    if let Ok(number) = sent.parse() {
        return Ok(RestorePoint::Number(number));
    }
    if let Some(time) = parse_system_date(sent) {
        return Ok(RestorePoint::Time(time));
    }
    match Path::new(sent).is_file() {
        true => Ok(RestorePoint::Backup(sent.into())),
        false => Err(CliError::Incomplete(format!(
            "`--to {sent}` names no file; it must be a file that `bindery backup` wrote, a number such as 8123, or a time such as \
             2026-11-25T14:30:00Z"
        ))),
    }
}

fn configure(args: &NodeArgs) -> Result<Config, CliError> {
    let config = Config::load(args.settings(), args.folder.config.as_deref())?;
    start_log("warn", false);
    Ok(config)
}
