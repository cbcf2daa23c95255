//! The services that handlers use. Must not know routes, handlers or requests.

use std::sync::Arc;

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
}
