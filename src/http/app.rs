//! The services that handlers use. Must not know routes, handlers or requests.

use std::ops::Deref;
use std::sync::Arc;

use bindery_analytics::Analytics;
use bindery_config::Config;
use bindery_content::Content;
use bindery_model::time::{Millis, now_millis};
use bindery_webhooks::Webhooks;

use crate::answer::answer_cache::AnswerCache;
use crate::answer::encoding::EncodedAnswers;
use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::request::limits::Limits;
use crate::request::sign_ins::SignIns;

/// The services that handlers use. Every request gets some clones, so they share one count of references.
#[derive(Clone)]
pub struct App(Arc<Services>);

/// What an [`App`] shares.
pub struct Services {
    /// The settings of the server.
    pub config: Config,
    /// Resources, blueprints, tokens and members.
    pub content: Content,
    /// Pageviews and the reports on them.
    pub analytics: Analytics,
    /// The deliveries of webhooks.
    pub webhooks: Webhooks,
    /// When the server started.
    pub(super) started_at: Millis,
    /// The rate limits, and what clients have left of them.
    pub(super) limits: Limits,
    /// Who failed to sign in of late.
    pub(super) sign_ins: SignIns,
    /// Answers to reads, to be sent again.
    pub(super) answers: AnswerCache,
    /// Compressed answers, to be sent again.
    pub(super) encoded: EncodedAnswers,
    /// The access log.
    pub(super) access_log: AccessLog,
    /// What is counted.
    pub(super) metrics: Metrics,
}

impl App {
    /// The services of a server with this configuration.
    pub fn new(config: Config, content: Content, analytics: Analytics) -> App {
        let (limits, sign_ins) = (Limits::of(&config), SignIns::new());
        let (answers, encoded, metrics) = (AnswerCache::default(), EncodedAnswers::default(), Metrics::default());
        let webhooks = Webhooks::new(content.clone(), config.webhook_private_addresses);
        let (started_at, access_log) = (now_millis(), AccessLog::new(&config));
        App(Arc::new(Services {
            config,
            content,
            analytics,
            webhooks,
            started_at,
            limits,
            sign_ins,
            answers,
            encoded,
            access_log,
            metrics,
        }))
    }
}

impl Deref for App {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}
