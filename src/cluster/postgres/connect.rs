//! Connections to the PostgreSQL of a cluster: addresses, TLS, what is checked of a server, what its errors mean, and
//! who listens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use futures_util::stream;
use futures_util::{FutureExt as _, StreamExt as _, TryFutureExt as _};
use object_store::Error;
use object_store::path::Path;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::http::SENT;

/// The name of the kind of store, for messages.
pub(super) const STORE: &str = "PostgreSQL";
/// A statement that takes longer has failed. Less than the time of a read of the layer above, which would drop a
/// connection that is no longer usable back into the pool.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);
/// The bytes a second that a statement may be slow at.
const SLOW_BYTES: u64 = 1 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time after which a server that answers nothing is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// The connections of a node, beside the one that listens.
const MAX_CONNECTIONS: usize = 8;
/// The pause before listening is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(2);
/// The text by which a missing database is recognized.
pub(crate) const NO_DATABASE: &str = "the database does not exist";

/// Reads what durability depends on, and sets it for the session, so that it stays as it was checked. Statements wait
/// for locks for a bounded time: a server does not notice that a client has left.
const CHECK: &str = "
    select set_config('synchronous_commit', current_setting('synchronous_commit'), false),
    current_setting('synchronous_standby_names'), current_setting('fsync'), set_config('lock_timeout', '15s', false),
    set_config('default_transaction_isolation', 'read committed', false)";

/// True once it was said that the server does not sync.
static SAID: AtomicBool = AtomicBool::new(false);

/// A value of a statement. Its type is sent along, so that a statement needs one round trip, and no state of its
/// connection: a pooler may be between.
pub(super) enum Parameter<'a> {
    Text(&'a str),
    Int(i32),
    BigInt(i64),
    Blob(&'a [u8]),
}

impl Parameter<'_> {
    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Parameter::Text(value) => (value, Type::TEXT),
            Parameter::Int(value) => (value, Type::INT4),
            Parameter::BigInt(value) => (value, Type::INT8),
            Parameter::Blob(value) => (value, Type::BYTEA),
        }
    }

    /// Returns the time that it takes to send the value over a slow network.
    fn time(&self) -> Duration {
        match self {
            Parameter::Blob(value) => Duration::from_secs(value.len() as u64 / SLOW_BYTES),
            _ => Duration::ZERO,
        }
    }
}

/// A database. Clones share its connections.
#[derive(Clone)]
pub(crate) struct Database {
    pool: Pool,
    config: Config,
    tls: MakeRustlsConnect,
    /// The newest history, and the last of its groups that was seen.
    last: Arc<Mutex<(i32, i64)>>,
}

/// The text of an error: a database that has less than was read of it.
#[derive(Debug, thiserror::Error)]
#[error("its log ends with group {last}, and this node has group {known}, which is missing there or another one")]
pub(crate) struct SetBack {
    last: i64,
    known: i64,
}

impl Database {
    /// Prepares connections to an address such as `postgres://USER@HOST/DATABASE`. `setting` returns variables of the
    /// environment. Nothing is sent yet.
    ///
    /// # Errors
    /// The fault of the address or of a variable, for people.
    pub(crate) fn open(address: &str, setting: &dyn Fn(&str) -> Option<String>) -> Result<Database, String> {
        let config = config(address, setting)?;
        let tls = MakeRustlsConnect::new(tls(setting("PGSSLROOTCERT").as_deref())?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), tls.clone(), recycling);
        let check = Hook::async_fn(|client, _| {
            async move { check(client).await.map_err(|fault| fault.map_or_else(HookError::Backend, HookError::message)) }
                .boxed()
        });
        let pool = Pool::builder(manager).max_size(MAX_CONNECTIONS).post_create(check).build();
        Ok(Database { pool: pool.map_err(|error| error.to_string())?, config, tls, last: Arc::default() })
    }

    /// Returns the last group of a history that was seen.
    pub(super) fn last_known(&self, history: i32) -> i64 {
        let (of, seq) = *self.last.lock();
        if of == history { seq } else { 0 }
    }

    /// Notes the last group of a history. Older histories do not grow any more.
    pub(super) fn note_last(&self, history: i32, seq: i64) {
        let mut last = self.last.lock();
        *last = (*last).max((history, seq));
    }

    /// Returns the error of a database whose last group is `last`, although this node has `known`.
    pub(super) fn set_back(&self, last: i64, known: i64) -> Error {
        Error::NotSupported { source: Box::new(SetBack { last, known }) }
    }

    /// Runs a statement on a connection of the pool.
    pub(super) async fn query(&self, path: &Path, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Error> {
        let client = self.client(path).await?;
        let time = QUERY_TIMEOUT + parameters.iter().map(Parameter::time).sum::<Duration>();
        let typed: Vec<_> = parameters.iter().map(Parameter::typed).collect();
        let answer = timeout(time, client.query_typed(sql, &typed)).await;
        self.settle(path, client, answer)
    }

    /// Makes the tables, in one transaction.
    pub(super) async fn make_tables(&self, sql: &str) -> Result<(), Error> {
        let path = Path::default();
        let client = self.client(&path).await?;
        let answer = timeout(QUERY_TIMEOUT, client.batch_execute(sql)).await;
        self.settle(&path, client, answer)
    }

    /// Returns the answer to a statement. Gives up the connections if the server is silent, or accepts no writes any
    /// more.
    fn settle<T>(
        &self,
        path: &Path,
        client: Object,
        answer: Result<Result<T, tokio_postgres::Error>, Elapsed>,
    ) -> Result<T, Error> {
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => {
                note_sent(&error);
                if error.code() != Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
                    return Err(meaning(path, error));
                }
                meaning(path, error)
            }
            Err(_) => {
                let _ = SENT.try_with(crate::http::Sent::set);
                Error::Generic { store: STORE, source: "no answer arrived in time".into() }
            }
        };
        // A late answer belongs to no other statement. The server is not told to stop: that would end its wait for a
        // standby.
        drop(Object::take(client));
        self.pool.retain(|_, _| false);
        Err(error)
    }

    async fn client(&self, path: &Path) -> Result<Object, Error> {
        let connecting = self.pool.get().map_err(|error| match error {
            PoolError::PostCreateHook(HookError::Message(what)) => Error::NotSupported { source: what.into() },
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => meaning(path, error),
            error => Error::Generic { store: STORE, source: Box::new(error) },
        });
        let in_time = timeout(QUERY_TIMEOUT, connecting).await;
        in_time.unwrap_or_else(|_| {
            Err(Error::Generic { store: STORE, source: "no connection became free in time".into() })
        })
    }

    /// Calls `hint` with the number of each group that a node adds to the log of a history, until the task is aborted.
    /// A pooler may keep that from arriving.
    pub(crate) fn listen<H: Fn(u64) + Send + Sync + 'static>(
        &self,
        history: u32,
        hint: H,
    ) -> impl Future<Output = ()> + use<H> {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let hint = move |payload: &str| {
            if let Some((of, seq)) = payload.split_once('/')
                && of.parse() == Ok(history)
                && let Ok(seq) = seq.parse()
            {
                hint(seq);
            }
        };
        async move {
            loop {
                if let Err(error) = listen_once(&config, &tls, &hint).await {
                    tracing::debug!(
                        "cannot listen to the cluster's database, so its log is looked at regularly: {error}"
                    );
                }
                tokio::time::sleep(LISTEN_AGAIN).await;
            }
        }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Database").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Listens until the connection ends.
async fn listen_once(
    config: &Config,
    tls: &MakeRustlsConnect,
    hint: &(impl Fn(&str) + Sync),
) -> Result<(), tokio_postgres::Error> {
    let Ok(connected) = timeout(QUERY_TIMEOUT, config.connect(tls.clone())).await else { return Ok(()) };
    let (client, mut connection) = connected?;
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let messages = async {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message? {
                hint(notification.payload());
            }
        }
        Ok(())
    };
    let listening = async {
        client.batch_execute("listen bindery_log").await?;
        // Without its client, the connection would end.
        std::future::pending().await
    };
    // The connection makes progress only while its messages are asked for.
    tokio::select! {
        ended = messages => ended,
        failed = listening => failed,
    }
}

fn config(address: &str, setting: &dyn Fn(&str) -> Option<String>) -> Result<Config, String> {
    let mut config: Config = address.parse().map_err(|error: tokio_postgres::Error| with_cause(&error))?;
    if config.get_password().is_some() {
        return Err(
            "a password belongs into the variable PGPASSWORD, because addresses are shown in messages".to_owned()
        );
    }
    if config.get_hosts().is_empty() {
        return Err("it names no host".to_owned());
    }
    if let Some(password) = setting("PGPASSWORD") {
        config.password(password);
    }
    if let Some(user) = setting("PGUSER").filter(|_| config.get_user().is_none()) {
        config.user(user);
    }
    match setting("PGSSLMODE").filter(|_| !address.contains("sslmode=")).as_deref() {
        None => {}
        Some("disable") => drop(config.ssl_mode(SslMode::Disable)),
        Some("prefer") => drop(config.ssl_mode(SslMode::Prefer)),
        // Certificates are always checked.
        Some("require" | "verify-ca" | "verify-full") => drop(config.ssl_mode(SslMode::Require)),
        Some(mode) => return Err(format!("PGSSLMODE is `{mode}`; use disable, prefer or require")),
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    // A standby answers, but accepts no writes.
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE).keepalives_interval(SILENCE / 4).keepalives_retries(3);
    config.application_name("bindery");
    Ok(config)
}

fn tls(roots: Option<&str>) -> Result<ClientConfig, String> {
    let roots = match roots {
        None => Vec::new(),
        Some(file) => CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect)
            .map_err(|error| format!("cannot read the certificates of PGSSLROOTCERT in {file}: {error}"))?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: rustls::Error| format!("cannot use TLS: {error}");
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider)).map_err(failed)?;
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(failed)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// Checks that what the server says is durable is durable. Returns the fault, or the error of the question.
async fn check(client: &Client) -> Result<(), Result<String, tokio_postgres::Error>> {
    let row = client.query_typed_one(CHECK, &[]).await.map_err(Err)?;
    let [commit, standbys, fsync]: [String; 3] = [row.get(0), row.get(1), row.get(2)];
    if fsync == "off" && !SAID.swap(true, Ordering::Relaxed) {
        tracing::warn!("the cluster's database has fsync = off: it loses writes if its machine fails");
    }
    let is_lost = commit == "off" || (commit == "local" && !standbys.is_empty());
    if is_lost {
        return Err(Ok(format!(
            "synchronous_commit is `{commit}`, so PostgreSQL would lose acknowledged writes; use `alter database NAME set \
             synchronous_commit = on`"
        )));
    }
    Ok(())
}

/// Notes that a statement may have been carried out, unless the server says that it was not.
fn note_sent(error: &tokio_postgres::Error) {
    let is_refused = error
        .code()
        .is_some_and(|code| [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::UNDEFINED_TABLE].contains(code));
    if !is_refused {
        let _ = SENT.try_with(crate::http::Sent::set);
    }
}

/// Returns what an error means for a store of objects.
fn meaning(path: &Path, error: tokio_postgres::Error) -> Error {
    let path = path.to_string();
    match error.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Error::Unauthenticated { path, source: with_cause(&error).into() }
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::PermissionDenied { path, source: with_cause(&error).into() }
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => {
            Error::NotFound { path, source: format!("{NO_DATABASE}: {}", with_cause(&error)).into() }
        }
        _ => Error::Generic { store: STORE, source: Box::new(error) },
    }
}

/// Returns whether the cause is that the tables do not exist yet.
pub(super) fn is_missing_table(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    let code = source.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code);
    code == Some(&SqlState::UNDEFINED_TABLE)
}

/// Returns the text of an error with that of its cause, which says more.
fn with_cause(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
