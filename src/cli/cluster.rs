//! `bindery cluster`. Must not know how a log is shared.

use bindery_config::{ClusterCommand, Config, NodeArgs};
use bindery_content::{ContentOptions, create_cluster_from, leave};

use super::error::CliError;
use super::folder::{blocking, content_options};
use super::output::{note, print, start_log};

pub(super) async fn cluster(command: ClusterCommand) -> Result<(), CliError> {
    match command {
        ClusterCommand::Create(args) => create(args).await,
        ClusterCommand::Leave(args) => leave_cluster(args).await,
    }
}

async fn create(args: NodeArgs) -> Result<(), CliError> {
    let config = configure(&args)?;
    let (options, address) = (ContentOptions { cluster: None, ..content_options(&config) }, args.log.clone());
    let node = blocking("creating the cluster", move || create_cluster_from(&options, &address)).await?;
    let (data, log) = (config.data.display(), args.log);
    print(&format!("Created the cluster at {log}; {data} is its node {node}"));
    note(&format!("Start it with `bindery serve --data {data} --log {log}`, and further nodes with empty folders"));
    Ok(())
}

async fn leave_cluster(args: NodeArgs) -> Result<(), CliError> {
    let config = configure(&args)?;
    let (data, address) = (config.data.clone(), args.log.clone());
    blocking("leaving the cluster", move || leave(&data, &address)).await?;
    print(&format!("{} is a single server now; start it without `--log`", config.data.display()));
    Ok(())
}

fn configure(args: &NodeArgs) -> Result<Config, CliError> {
    let config = Config::load(args.settings(), args.folder.config.as_deref())?;
    start_log("warn", false);
    Ok(config)
}
