//! `bindery serve`.

use std::sync::Arc;
use std::time::Duration;

use super::{CliError, close, close_analytics, failed, open, open_analytics, print, start_log};
use crate::access::{Access, NewToken};
use crate::config::{Config, ServeArgs};
use crate::content::Content;
use crate::demo;
use crate::http::{self, App};
use crate::model::ability::Ability;

/// How long requests may go on once the server is told to stop.
const STOP_GRACE: Duration = Duration::from_secs(20);

pub(super) async fn serve(args: ServeArgs) -> Result<(), CliError> {
    let config = Config::load(args.settings, args.config.as_deref())?;
    start_log(&config.log);
    let listener = tokio::net::TcpListener::bind(config.listen)
        .await
        .map_err(|error| failed(format!("listening on {}", config.listen), &error))?;
    let address = listener.local_addr().map_err(|error| failed("listening", &error))?;
    let content = open(&config).await?;
    let analytics = open_analytics(&config).await?;
    let is_first_start = content.was_empty();
    if is_first_start && config.demo {
        print("Filling the empty data folder with demonstration content …");
        demo::fill(&content, &Access::everything("demo")).await?;
    }
    print(&format!("Bindery listens on http://{address}, its data is in {}", config.data.display()));
    if is_first_start {
        greet(&content, &config, &format!("http://{address}")).await?;
    }
    content.resume_changes();
    let signal = http::stop_signal().map_err(|error| failed("listening for signals", &error))?;
    let changing = content.clone();
    let stop = async move {
        signal.await;
        changing.leave_changes();
    };
    let app = App { config: Arc::new(config), content: content.clone(), analytics: analytics.clone() };
    let served = http::serve(listener, http::router(app), stop, STOP_GRACE).await;
    close_analytics(analytics).await?;
    close(content).await?;
    served.map_err(|error| failed("serving", &error))
}

/// What a first start prints: a token, unless the environment names one, and of a demonstration what to try.
async fn greet(content: &Content, config: &Config, address: &str) -> Result<(), CliError> {
    if config.admin_token.is_none() {
        let new = NewToken {
            name: "first start".to_owned(),
            abilities: Ability::ALL.to_vec(),
            blueprints: None,
            expires_at: None,
        };
        let (_, secret) = content.issue_token(new).await?;
        print("");
        print("This token may do everything. It is shown this once:");
        print("");
        print(&format!("  export TOKEN={secret}"));
    }
    if config.demo {
        print("");
        print("Try:");
        print("");
        for command in demo::commands(address) {
            print(&format!("  {command}"));
        }
        print("");
    }
    Ok(())
}
