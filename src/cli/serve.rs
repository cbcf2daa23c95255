//! `bindery serve`. Must not know routes.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bindery_access::{Access, NewToken};
use bindery_config::{Config, LogFormat, ServeArgs};
use bindery_content::{Content, FirstOwner, Progress};
use bindery_http::{App, Limits, Media};
use bindery_model::ability::Ability;
use bindery_model::time::format_millis;

use super::error::{CliError, failed};
use super::folder::{
    close_analytics, close_content, open_content_reporting, open_server_analytics, warn_of_other_files,
};
use super::output::{leave_stdout_to_the_access_log, note, print, start_log};
use super::private;

/// The time for running requests to finish after a signal to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The default limit of open connections.
const DEFAULT_CONNECTIONS: usize = 4096;

/// The number of open files that are reserved: for log, store, index and analytics, and for connections that are being
/// closed.
const KEPT_FILES: usize = 256;

pub(super) async fn serve(args: ServeArgs) -> Result<(), CliError> {
    // An upgrade may replace the file while the server runs. Then the system no longer knows its path.
    let program = std::env::current_exe();
    let mut config = Config::load(args.settings, args.config.as_deref())?;
    let logs_json = config.log_format == LogFormat::Json;
    start_log(&config.log_filter, logs_json);
    if logs_json {
        leave_stdout_to_the_access_log();
    }
    let limits = limits(&config);
    let listener = bindery_http::listen(config.listen)
        .map_err(|error| failed(format!("listening on {}", config.listen), &error))?;
    let address = listener.local_addr().map_err(|error| failed("listening", &error))?;
    // The other nodes of a cluster reach it there; the system may have chosen the port.
    config.listen = address;
    warn_of_other_files(&config.data);
    if let Some(warning) = private::warning_of(&config.data) {
        tracing::warn!("{warning}");
    }
    let media = Media::new(&config).map_err(|error| failed("reading `media_types`", &error))?;
    let progress = Progress::default();
    let opening = async {
        let content = open_content_reporting(&config, &progress).await?;
        let analytics = open_server_analytics(&config, &content).await?;
        let is_first_start = is_first_start(&content).await;
        if is_first_start && config.demo {
            print("Filling the empty data folder with demonstration content …");
            let store = async |name: &str, bytes: Vec<u8>| media.store_bytes(&content, name, bytes).await;
            bindery_demo::fill(&content, &Access::everything("demo"), media.has_place().then_some(store)).await?;
        }
        Ok::<_, CliError>((content, analytics, is_first_start))
    };
    // Opening may take minutes, so probes are answered meanwhile.
    let reported = progress.clone();
    let (content, analytics, is_first_start) =
        bindery_http::serve_while(&listener, move || reported.get(), opening).await?;
    // Must come before the line below: a program that reads it may stop the server at once.
    let signal = bindery_http::stop_signal().map_err(|error| failed("listening for signals", &error))?;
    print(&format!("Bindery listens on http://{address}, data folder {}", config.data.display()));
    if is_first_start {
        greet(&content, &config, &format!("http://{address}")).await?;
    }
    if content.node().is_none() || is_first_start {
        invite_first_owner(&content, &config, &format!("http://{address}")).await;
    }
    if content.node().is_none() {
        content.resume_changes();
    }
    let app = App::new(config, content.clone(), analytics.clone(), media);
    let stopping = app.clone();
    let stop = async move {
        tokio::select! {
            () = signal => bindery_http::hand_over(&stopping).await,
            () = must_rejoin(&stopping.content) => {}
        }
        stopping.content.begin_stop();
    };
    let webhooks = app.webhooks.clone();
    let upkeep = content.upkeep().cloned();
    let keeping = upkeep.clone().map(|upkeep| std::thread::spawn(move || upkeep.run()));
    let watching = tokio::spawn(bindery_http::watch_cluster(app.clone()));
    let counting = tokio::spawn(bindery_http::count_for_cluster(app.clone()));
    let sweeping = tokio::spawn(bindery_http::sweep_media(app.clone()));
    let delivering = tokio::spawn(webhooks.clone().run());
    bindery_http::serve(listener, bindery_http::service(app), stop, limits).await;
    watching.abort();
    counting.abort();
    sweeping.abort();
    webhooks.stop().await;
    if let (Some(upkeep), Some(keeping)) = (upkeep, keeping) {
        upkeep.stop();
        let _ = keeping.join();
    }
    delivering.abort();
    close_analytics(analytics).await?;
    let rejoins = content.node().is_some_and(|node| node.standing.must_rejoin);
    close_content(content).await?;
    if rejoins {
        note("This node begins again from a base of its cluster");
        return Err(restart(program));
    }
    note("Bindery has stopped; everything is on disk");
    Ok(())
}

/// Returns whether nothing was ever stored: then the server says how to begin. A node asks its cluster.
async fn is_first_start(content: &Content) -> bool {
    if !content.was_empty() || content.node().is_none() {
        return content.was_empty();
    }
    content.confirm().await.is_ok_and(|number| number <= 1)
}

/// Returns when the log of the cluster no longer has what this node needs next.
async fn must_rejoin(content: &Content) {
    while !content.node().is_some_and(|node| node.standing.must_rejoin) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Replaces this process by a new one of the same program, with the same arguments. Returns only if that fails.
fn restart(program: io::Result<PathBuf>) -> CliError {
    use std::os::unix::process::CommandExt as _;
    match program {
        Ok(program) => {
            let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).exec();
            failed("restarting", &error)
        }
        Err(error) => failed("restarting", &error),
    }
}

/// Prints a link that makes the first owner of the dashboard, unless somebody can sign in. If that fails, for example
/// because the disk is full, the server runs without it.
async fn invite_first_owner(content: &Content, config: &Config, address: &str) {
    let base = config.public_url.as_deref().unwrap_or(address);
    match content.invite_first_owner().await {
        Ok(FirstOwner::Exists) => {}
        Ok(FirstOwner::Invited(until)) => note(&format!(
            "Nobody can sign in to {base}/admin yet: the link of an earlier start is valid until {}, and \
             `bindery member invite EMAIL --role owner --url {address} --token TOKEN` makes another",
            format_millis(until)
        )),
        Ok(FirstOwner::Link(issued)) => {
            print("");
            print("This link makes you the owner of the dashboard. It is valid once, for 72 hours:");
            print("");
            print(&format!("  {}", bindery_http::invitation_url(base, &issued.secret)));
            print("");
        }
        Err(error) => tracing::warn!(%error, "no link for the first owner of the dashboard could be made"),
    }
}

/// Returns the limits for clients. Raises the limit on open files as far as the system allows.
fn limits(config: &Config) -> Limits {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
        tracing::warn!(%error, "the limit on open files could not be raised");
        rlimit::Resource::NOFILE.get_soft().unwrap_or(1024)
    });
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    let most = files.saturating_sub(KEPT_FILES).max(files / 4).max(1);
    let wanted = config.max_connections.unwrap_or(DEFAULT_CONNECTIONS);
    if wanted > most {
        tracing::warn!(open_files = files, "at most {most} connections may be open: raise the limit on open files");
    }
    Limits {
        max_connections: wanted.min(most),
        max_buffer_bytes: config.max_buffer_bytes,
        client_timeout: config.client_timeout,
        keepalive_timeout: config.keepalive_timeout,
        stop_timeout: STOP_TIMEOUT,
    }
}

/// Prints the information for a first start: a token, unless the environment has one, and commands to try on the
/// demonstration.
async fn greet(content: &Content, config: &Config, address: &str) -> Result<(), CliError> {
    if config.admin_token.is_none() {
        let new = NewToken {
            name: "first start".to_owned(),
            abilities: Ability::ALL.to_vec(),
            blueprints: None,
            expires_at: None,
        };
        let secret = content.issue_token(new).await?.secret;
        print("");
        print("This token has every ability. It cannot be shown again:");
        print("");
        print(&format!("  export TOKEN={secret}"));
    }
    if config.demo {
        print("");
        print("Try:");
        print("");
        for command in bindery_demo::commands(address) {
            print(&format!("  {command}"));
        }
        print("");
    }
    Ok(())
}
