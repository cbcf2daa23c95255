//! The services that handlers use. Must not know routes, handlers or requests.

use std::sync::Arc;

use super::limits::Limits;
use crate::analytics::Analytics;
use crate::config::Config;
use crate::content::Content;

/// The services that handlers use. Cloning is cheap: every request gets a clone.
#[derive(Clone)]
pub struct App {
    /// The settings of the server.
    pub config: Arc<Config>,
    /// Resources, blueprints, tokens and members.
    pub content: Content,
    /// Pageviews and the reports on them.
    pub analytics: Analytics,
    /// The rate limits, and what clients have left of them.
    pub(super) limits: Arc<Limits>,
}

impl App {
    /// The services of a server with this configuration.
    pub fn new(config: Config, content: Content, analytics: Analytics) -> App {
        let limits = Arc::new(Limits::of(&config));
        App { config: Arc::new(config), content, analytics, limits }
    }
}
