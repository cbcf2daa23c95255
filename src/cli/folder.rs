//! The data folder of a server that is not running: opening it for a command, and closing it again. Must not know
//! commands.

use std::path::Path;
use std::sync::Arc;

use bindery_analytics::{Analytics, AnalyticsOptions};
use bindery_config::{ClusterConfig, Config, FolderArgs};
use bindery_content::{
    ClusterOptions, Content, ContentOptions, IndexOptions, Progress, first_entry, is_data_folder, is_node,
};
use bindery_counting::{NodeOptions, ServerAnalytics, is_copy};
use bindery_http::max_large_bytes;

use super::error::{CliError, failed};
use super::output::start_log;

/// Returns the configuration for a command that works on a data folder. Also starts logging of warnings.
pub(super) fn configure(folder: &FolderArgs) -> Result<Config, CliError> {
    let config = Config::load(folder.settings(), folder.config.as_deref())?;
    start_log("warn", false);
    Ok(config)
}

/// Warns before the first start in a folder that already contains files: the user may have meant another one.
pub(super) fn warn_of_other_files(data: &Path) {
    if is_data_folder(data) {
        return;
    }
    if let Ok(Some(found)) = first_entry(data) {
        let found = found.display();
        tracing::warn!(
            "the data folder already contains other files, such as {found}; they are kept, but check the path"
        );
    }
}

/// Like [`configure`], for a command that needs an existing folder.
pub(super) fn configure_existing(folder: &FolderArgs) -> Result<Config, CliError> {
    let config = configure(folder)?;
    let data = config.data.display();
    if !config.data.is_dir() {
        return Err(CliError::Incomplete(format!("the data folder {data} does not exist")));
    }
    if !is_data_folder(&config.data) {
        let text = format!("{data} is no data folder: `bindery serve` or `bindery restore` creates one");
        return Err(CliError::Incomplete(text));
    }
    Ok(config)
}

/// Returns the options for opening the content of the configured folder.
pub(super) fn content_options(config: &Config) -> ContentOptions {
    ContentOptions {
        folder: config.data.clone(),
        admin_token: config.admin_token.as_ref().map(|token| token.secret().to_owned()),
        video_hosts: config.video_hosts.clone(),
        public_url: config.public_url.clone(),
        store_cache_bytes: config.store_cache_bytes,
        index: IndexOptions::default(),
        query_timeout: config.query_timeout,
        write_timeout: config.write_timeout,
        changes_kept: config.changes_kept,
        max_answer_bytes: max_large_bytes(config.max_buffer_bytes),
        cluster: config.cluster.as_ref().map(|cluster| cluster_options(config, cluster)),
    }
}

fn cluster_options(config: &Config, cluster: &ClusterConfig) -> ClusterOptions {
    ClusterOptions {
        log: cluster.log.clone(),
        node_address: cluster.node_address.clone().unwrap_or_else(|| config.listen.to_string()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings_hash: config.hash_of_shared_settings(),
        max_lag: cluster.max_lag,
    }
}

/// Opens the content of the configured folder, which is created if it does not exist.
pub(super) async fn open_content(config: &Config) -> Result<Content, CliError> {
    open_content_reporting(config, &Progress::default()).await
}

/// Like [`open_content`], and reports its progress.
pub(super) async fn open_content_reporting(config: &Config, progress: &Progress) -> Result<Content, CliError> {
    let (options, progress) = (content_options(config), progress.clone());
    blocking("opening the data folder", move || Content::open_reporting(&options, &progress)).await
}

/// Writes all data to disk and closes the content.
pub(super) async fn close_content(content: Content) -> Result<(), CliError> {
    blocking("closing the data folder", move || {
        content.close();
        Ok::<_, CliError>(())
    })
    .await
}

/// Opens the content, runs `work` on it and closes it, even if `work` fails.
pub(super) async fn with_content<T>(
    config: &Config,
    work: impl AsyncFnOnce(Content) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let content = open_content(config).await?;
    let result = work(content.clone()).await;
    close_content(content).await?;
    result
}

/// Opens the analytics of the configured folder.
pub(super) async fn open_analytics(config: &Config) -> Result<Analytics, CliError> {
    let options = analytics_options(config);
    blocking("opening the analytics", move || Analytics::open(&options)).await
}

/// Like [`open_analytics`], for a server or a backup, which continue without analytics that cannot be opened.
async fn open_analytics_or_refuse(config: &Config) -> Result<Analytics, CliError> {
    let options = analytics_options(config);
    blocking("opening the analytics", move || Analytics::open_or_refuse(&options)).await
}

/// Returns the analytics of a server, or of its folder for a backup. Those of a node are shared, if it has the key of its cluster.
pub(super) async fn open_server_analytics(config: &Config, content: &Content) -> Result<ServerAnalytics, CliError> {
    let key = config.cluster.as_ref().and_then(|cluster| cluster.key.as_ref());
    let Some((upkeep, key)) = content.upkeep().zip(key) else {
        return Ok(open_analytics_or_refuse(config).await?.into());
    };
    let (clock, store) = (content.clone(), upkeep.store().clone());
    let analytics = AnalyticsOptions { clock: Arc::new(move || clock.now()), ..analytics_options(config) };
    let (secret, node) = (key.secret().to_owned(), upkeep.node().to_owned());
    ServerAnalytics::of_node(NodeOptions { analytics, store, secret, node })
        .map_err(|error| failed("opening the analytics", &error))
}

/// Returns the options of the analytics in the configured folder.
pub(super) fn analytics_options(config: &Config) -> AnalyticsOptions {
    let settings = &config.analytics;
    AnalyticsOptions {
        sites: settings.sites.clone(),
        country_file: settings.country_file.clone(),
        retention_days: settings.retention_days,
        ..AnalyticsOptions::in_folder(&config.data)
    }
}

/// Writes all data to disk and closes the analytics.
pub(super) async fn close_analytics(analytics: impl Into<ServerAnalytics>) -> Result<(), CliError> {
    let analytics = analytics.into();
    blocking("closing the analytics", move || {
        analytics.close();
        Ok::<_, CliError>(())
    })
    .await
}

/// Returns whether the analytics in the folder are its own. The folder of a node whose cluster counts together has a
/// copy at most, which the node replaces when it leads.
pub(super) fn has_own_analytics(config: &Config) -> bool {
    let has_no_key = config.cluster.as_ref().is_some_and(|cluster| cluster.key.is_none());
    let counts_for_itself = has_no_key && !is_copy(&analytics_options(config).folder);
    !is_node(&config.data) || counts_for_itself
}

/// Fails for a folder without analytics of its own. `advice` says what to do instead.
pub(super) fn require_own_analytics(config: &Config, advice: &str) -> Result<(), CliError> {
    if has_own_analytics(config) {
        return Ok(());
    }
    let data = config.data.display();
    Err(CliError::Incomplete(format!(
        "{data} is a node of a cluster, whose leader has the analytics of all nodes: {advice}; a node without a \
         `cluster_key` counts for itself: set its `log` for this command, such as in `BINDERY_LOG`"
    )))
}

/// Opens the analytics, runs `work` on a blocking thread and closes them, even if `work` fails.
pub(super) async fn with_analytics<T: Send + 'static>(
    config: &Config,
    work: impl FnOnce(Analytics) -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    require_own_analytics(config, "name a running node with `--url` and `--token`")?;
    let analytics = open_analytics(config).await?;
    let working = analytics.clone();
    let result = blocking("working on the analytics", move || work(working)).await;
    close_analytics(analytics).await?;
    result
}

/// Runs `work` on a blocking thread. `what` names it if it panics.
pub(super) async fn blocking<T: Send + 'static, E: Into<CliError> + Send + 'static>(
    what: &str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, CliError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| failed(what, &error))?.map_err(E::into)
}
