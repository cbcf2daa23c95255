//! The services that handlers use. Must not know routes, handlers or requests.

use std::ops::Deref;
use std::sync::Arc;

use bindery_config::Config;
use bindery_content::Content;
use bindery_counting::ServerAnalytics;
use bindery_model::time::{Millis, now_millis};
use bindery_webhooks::{WebhookOptions, Webhooks};
use tokio::sync::Mutex;

use crate::answer::answer_cache::AnswerCache;
use crate::answer::encoding::EncodedAnswers;
use crate::cluster::counting::Courier;
use crate::cluster::hints::Heard;
use crate::cluster::key::ClusterKey;
use crate::media::Media;
use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::request::backups::Backups;
use crate::request::rate_limits::RateLimits;
use crate::request::sign_ins::SignIns;

/// The services that handlers use. Every request clones this handle several times, so it is only one reference count.
#[derive(Clone)]
pub struct App(Arc<Services>);

/// The services that an [`App`] shares.
pub struct Services {
    /// The settings of the server.
    pub config: Config,
    /// Resources, blueprints, tokens and members.
    pub content: Content,
    /// Pageviews and the reports on them.
    pub analytics: ServerAnalytics,
    /// The files of media.
    pub media: Media,
    /// The deliveries of webhooks.
    pub webhooks: Webhooks,
    /// The time of the server's start.
    pub(super) started_at: Millis,
    /// The rate limits, with the requests that each client has left.
    pub(super) limits: RateLimits,
    /// The recent failed sign-ins.
    pub(super) sign_ins: SignIns,
    /// The cache of answers to reads.
    pub(super) answers: AnswerCache,
    /// The cache of compressed answers.
    pub(super) encoded: EncodedAnswers,
    /// The access log.
    pub(super) access_log: AccessLog,
    /// The counters of requests.
    pub(super) metrics: Metrics,
    /// The key of the cluster, if the server belongs to one and has it.
    pub(super) cluster_key: Option<ClusterKey>,
    /// What was heard from the leader of the cluster.
    pub(super) heard: Heard,
    /// Sends what this server collected to the node that counts.
    pub(super) courier: Mutex<Courier>,
    /// The backups that are under way.
    pub(super) backups: Backups,
}

impl App {
    /// Creates the services of a server with this configuration.
    pub fn new(config: Config, content: Content, analytics: impl Into<ServerAnalytics>, media: Media) -> App {
        let (limits, sign_ins) = (RateLimits::of(&config), SignIns::new());
        let (answers, encoded, metrics) = (AnswerCache::default(), EncodedAnswers::default(), Metrics::default());
        let options =
            WebhookOptions { private_addresses: config.webhook_private_addresses, cache_tags: config.cache_tags };
        let webhooks = Webhooks::new(content.clone(), options);
        let key = config.cluster.as_ref().and_then(|cluster| cluster.key.as_ref());
        let clock = content.clone();
        let cluster_key = key.map(|key| ClusterKey::new(key.secret(), move || clock.clock_time()));
        let (started_at, access_log) = (now_millis(), AccessLog::new(&config));
        App(Arc::new(Services {
            config,
            content,
            analytics: analytics.into(),
            media,
            webhooks,
            started_at,
            limits,
            sign_ins,
            answers,
            encoded,
            access_log,
            metrics,
            cluster_key,
            heard: Heard::default(),
            courier: Mutex::default(),
            backups: Backups::default(),
        }))
    }
}

impl Deref for App {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}
