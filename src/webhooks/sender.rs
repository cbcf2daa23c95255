//! Makes and sends the messages of webhooks. Must not know when, or what an answer leads to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::address::{PublicResolver, SystemResolver, is_private_address, refused};
use super::progress::{Waiting, message_id};
use super::signature::sign;
use crate::access::Access;
use crate::content::{Content, Webhook};
use crate::model::error::Code;
use crate::model::time::{format_millis, now_millis};

/// How long a receiver has to answer, and to accept a connection.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages are made at once, and how much memory those take that are being sent.
const MAKING: usize = 4;
const SENDING_KIB: u32 = 64 << 10;

/// How many messages are sent at once.
const SENDING: usize = 128;

/// Sends messages. Clones share the limits.
#[derive(Clone)]
pub(super) struct Sender {
    client: Option<reqwest::Client>,
    allows_private_addresses: bool,
    access: Arc<Access>,
    making: Arc<Semaphore>,
    sending: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What it was sent under.
    pub message: String,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why it was not accepted.
    pub error: Option<String>,
    /// How long the receiver took.
    pub milliseconds: u64,
}

impl Sender {
    pub(super) fn new(allows_private_addresses: bool) -> Sender {
        let client = client(allows_private_addresses);
        if let Err(error) = &client {
            tracing::error!(%error, "webhooks cannot be delivered");
        }
        Sender {
            client: client.ok(),
            allows_private_addresses,
            access: Arc::new(Access::everything("webhook")),
            making: Arc::new(Semaphore::new(MAKING)),
            sending: Arc::new(Semaphore::new(SENDING)),
            memory: Arc::new(Semaphore::new(SENDING_KIB as usize)),
        }
    }

    /// Sends a change with the resource as it is now.
    pub(super) async fn send_change(&self, content: &Content, webhook: &Webhook, change: &Waiting) -> Sent {
        let message = message_id(&webhook.id, change.number);
        let Ok(making) = self.making.acquire().await else { return failed(&message, "the server stops") };
        let body = match self.body(content, change).await {
            Ok(body) => body,
            Err(error) => return failed(&message, &error),
        };
        let kib = u32::try_from(body.len() / 1024 + 1).unwrap_or(u32::MAX).min(SENDING_KIB);
        let Ok(_memory) = self.memory.acquire_many(kib).await else { return failed(&message, "the server stops") };
        drop(making);
        self.send(webhook, &message, body).await
    }

    /// Sends a message that is no change.
    pub(super) async fn send_test(&self, webhook: &Webhook) -> Sent {
        let at = now_millis();
        let message = format!("msg_{}_test_{at}", webhook.id);
        let body = json!({
            "number": null, "at": format_millis(at), "op": "test", "blueprint": null, "id": null, "resource": null,
        });
        self.send(webhook, &message, body.to_string()).await
    }

    /// The change with the resource as a token with `preview` gets it; null if it is gone.
    async fn body(&self, content: &Content, change: &Waiting) -> Result<String, String> {
        let resource = match change.is_deletion() {
            true => "null".to_owned(),
            false => {
                let id = change.resource().map(|id| id.to_string()).unwrap_or_default();
                read(content, &self.access, &change.blueprint, &id).await?
            }
        };
        let Waiting { number, at, op, blueprint, id, .. } = change;
        let at = Value::from(format_millis(*at));
        Ok(format!(
            r#"{{"number":{number},"at":{at},"op":"{op}","blueprint":"{blueprint}","id":"{id}","resource":{resource}}}"#
        ))
    }

    async fn send(&self, webhook: &Webhook, message: &str, body: String) -> Sent {
        let Some(client) = &self.client else { return failed(message, "the server cannot make connections") };
        let Ok(_sending) = self.sending.acquire().await else { return failed(message, "the server stops") };
        // A name is checked when it was resolved; an address is never resolved.
        if !self.allows_private_addresses && is_private_address(&webhook.url) {
            return failed(message, refused());
        }
        let seconds = now_millis() / 1_000;
        let signature = sign(&webhook.secret, message, seconds, body.as_bytes());
        let request = client
            .post(&webhook.url)
            .header("content-type", "application/json")
            .header("webhook-id", message)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signature)
            .body(body);
        let started = Instant::now();
        let answer = request.send().await;
        let milliseconds = started.elapsed().as_millis() as u64;
        let (status, error) = match answer {
            Ok(answer) if answer.status().is_success() => (Some(answer.status().as_u16()), None),
            Ok(answer) if answer.status().is_redirection() => {
                (Some(answer.status().as_u16()), Some("the receiver redirects, which is not followed".to_owned()))
            }
            Ok(answer) => (Some(answer.status().as_u16()), Some(format!("the receiver answered {}", answer.status()))),
            Err(error) => (None, Some(cause(&error))),
        };
        Sent { message: message.to_owned(), status, error, milliseconds }
    }
}

/// The resource as JSON text; `null` if it or its blueprint no longer exists.
async fn read(content: &Content, access: &Arc<Access>, blueprint: &str, id: &str) -> Result<String, String> {
    let read = async {
        let view = content.view(access, blueprint)?;
        let resource = view.locate(id)?;
        view.read(&resource, &view.get_params("")?).await
    };
    match read.await {
        Ok(json) => Ok(json),
        Err(error) if error.code == Code::NotFound => Ok("null".to_owned()),
        Err(error) => Err(error.message),
    }
}

fn failed(message: &str, error: &str) -> Sent {
    Sent { message: message.to_owned(), status: None, error: Some(error.to_owned()), milliseconds: 0 }
}

/// The innermost cause, which names neither the URL nor what libraries say around it.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("the receiver did not answer within {} seconds", TIMEOUT.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn client(allows_private_addresses: bool) -> reqwest::Result<reqwest::Client> {
    match allows_private_addresses {
        true => builder().build(),
        false => builder().dns_resolver(PublicResolver(SystemResolver)).build(),
    }
}

fn builder() -> reqwest::ClientBuilder {
    // Fails if a provider is installed already, which is just as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("Bindery/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .no_proxy()
        .timeout(TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reqwest::dns::{Addrs, Name, Resolve, Resolving};
    use tokio::net::TcpListener;

    use super::*;

    /// A name server that answers these addresses, one after the other, and the last one from then on.
    struct Rebinding {
        answers: Vec<SocketAddr>,
        asked: Arc<AtomicUsize>,
    }

    impl Resolve for Rebinding {
        fn resolve(&self, _: Name) -> Resolving {
            let asked = self.asked.fetch_add(1, Ordering::SeqCst);
            let answer = self.answers[asked.min(self.answers.len() - 1)];
            Box::pin(async move { Ok(Box::new(std::iter::once(answer)) as Addrs) })
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_to_a_private_address_is_refused_when_the_connection_is_made() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let rebinding = |answers: Vec<SocketAddr>| PublicResolver(Rebinding { answers, asked: Arc::clone(&asked) });
        let public = SocketAddr::from(([1, 1, 1, 1], here.port()));
        let resolver = Arc::new(rebinding(vec![public, here]));
        // Whoever checks the name first sees a public address.
        let found: Vec<SocketAddr> = resolver.resolve("rebinding.example".parse().unwrap()).await.unwrap().collect();
        assert_eq!(found, [public]);
        let client = builder().dns_resolver(Arc::clone(&resolver)).build().unwrap();
        let url = format!("http://rebinding.example:{}/", here.port());
        for connection in 2..4 {
            let error = client.post(&url).send().await.unwrap_err();
            assert_eq!(cause(&error), refused());
            assert_eq!(asked.load(Ordering::SeqCst), connection, "each connection asks again");
        }
        // Without the check the same client arrives, so it is the check that keeps it away.
        let unchecked = Rebinding { answers: vec![here], asked: Arc::default() };
        let client = builder().dns_resolver(Arc::new(unchecked)).build().unwrap();
        let sent = tokio::spawn(async move { client.post(&url).send().await.map(drop) });
        let accepted = tokio::time::timeout(Duration::from_secs(10), listener.accept()).await;
        assert!(accepted.is_ok_and(|accepted| accepted.is_ok()), "the only connection is the unchecked one");
        sent.abort();
    }
}
