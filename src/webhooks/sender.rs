//! The making and the sending of webhook messages. Must not know the time of sending, or the effect of an answer.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_content::{Content, Webhook};
use bindery_model::error::Code;
use bindery_model::os_error::without_numbers;
use bindery_model::time::format_millis;
use serde_json::{Value, json};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::WebhookOptions;
use super::address::{build, client_builder, is_private_address, refused};
use super::progress::{WaitingChange, message_id};
use super::signature::sign;

/// The time limit for the answer of a receiver.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The reason why a message that waits is not sent when the server stops.
const STOPPING: &str = "the server stops";

/// The time of an answer from which a receiver counts as slow. Slow receivers have their own lane, so that fast ones
/// never wait for them: one slow receiver occupies a place for up to [`TIMEOUT`].
const SLOW: Duration = Duration::from_millis(500);

/// The sizes of the lanes: the number of messages that are sent at once, the number that are made at once, and the
/// memory of those that are being sent. A message that takes long moves to the lane for slow receivers while it is
/// sent; that lane has memory for the messages of several fast lanes. The connections use file descriptors that clients
/// cannot take.
const PROMPT: LaneSize = LaneSize { sending: 32, making: 4, kib: 32 << 10 };
const PATIENT: LaneSize = LaneSize { sending: 128, making: 4, kib: 32 << 10 };

struct LaneSize {
    sending: usize,
    making: usize,
    kib: u32,
}

/// The places for one kind of receiver. Messages get places in the order in which they ask.
struct Lane {
    sending: Arc<Semaphore>,
    making: Semaphore,
    memory: Arc<Semaphore>,
    kib: u32,
}

/// A place in a lane.
struct LanePermit {
    _sending: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

/// The pace of a receiver, according to its last answer.
#[derive(Debug, Default)]
pub(super) struct Pace {
    is_slow: AtomicBool,
}

/// Sends messages. Clones share the lanes.
#[derive(Clone)]
pub(super) struct Sender {
    content: Content,
    client: Option<reqwest::Client>,
    options: WebhookOptions,
    access: Arc<Access>,
    prompt: Arc<Lane>,
    patient: Arc<Lane>,
}

impl Lane {
    fn new(size: &LaneSize) -> Arc<Lane> {
        Arc::new(Lane {
            sending: Arc::new(Semaphore::new(size.sending)),
            making: Semaphore::new(size.making),
            memory: Arc::new(Semaphore::new(size.kib as usize)),
            kib: size.kib,
        })
    }

    /// Waits for a place. Fails when the server stops.
    async fn sending(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.sending).acquire_owned().await
    }

    /// Waits for the memory of a message with this many bytes.
    async fn memory(&self, bytes: usize) -> Result<OwnedSemaphorePermit, AcquireError> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(self.kib);
        Arc::clone(&self.memory).acquire_many_owned(kib).await
    }
}

/// The answers that a change made obsolete, for a cache that cannot read the body of a message (`API.md` 4.24.3).
struct Purge {
    /// The tags. None, if only readers of working copies see the change: their answers have no tags.
    tags: Vec<String>,
    /// The number of a state that includes the change.
    number: u64,
}

impl Purge {
    fn of(change: &WaitingChange, content: &Content) -> Purge {
        let tags =
            if change.is_of_live_copy() { vec![change.blueprint.clone(), change.id.clone()] } else { Vec::new() };
        Purge { tags, number: content.number() }
    }
}

/// The outcome of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendOutcome {
    /// The id of the message.
    pub message: String,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The reason why the message was not accepted.
    pub error: Option<String>,
    /// The time that the receiver took, in milliseconds.
    pub milliseconds: u64,
}

impl Sender {
    pub(super) fn new(content: Content, options: WebhookOptions) -> Sender {
        let client = build(builder(), options.private_addresses);
        if let Err(error) = &client {
            tracing::error!(%error, "webhooks cannot be delivered");
        }
        Sender {
            content,
            client: client.ok(),
            options,
            access: Arc::new(Access::everything("webhook")),
            prompt: Lane::new(&PROMPT),
            patient: Lane::new(&PATIENT),
        }
    }

    /// Sends a change with the current state of the resource.
    pub(super) async fn send_change(&self, webhook: &Webhook, change: &WaitingChange, pace: &Pace) -> SendOutcome {
        let message = message_id(&webhook.id, change.number);
        let is_slow = pace.is_slow.load(Ordering::Relaxed);
        let lane = if is_slow { &self.patient } else { &self.prompt };
        let (Ok(sending), Ok(making)) = (lane.sending().await, lane.making.acquire().await) else {
            return failed(&message, STOPPING);
        };
        let purge = self.options.cache_tags.then(|| Purge::of(change, &self.content));
        let body = match self.body(change, purge.as_ref()).await {
            Ok(body) => body,
            Err(error) => return failed(&message, &error),
        };
        let Ok(memory) = lane.memory(body.len()).await else { return failed(&message, STOPPING) };
        drop(making);
        let place = LanePermit { _sending: sending, _memory: memory };
        let bytes = body.len();
        let sent = self.send(webhook, &message, body, purge);
        let sent = if is_slow { sent.await } else { self.change_lanes_if_slow(sent, place, bytes).await };
        pace.is_slow.store(sent.milliseconds >= SLOW.as_millis() as u64, Ordering::Relaxed);
        sent
    }

    /// Waits until a message is sent. After a while, the message moves to the other lane as soon as that has a place.
    async fn change_lanes_if_slow(
        &self,
        sent: impl Future<Output = SendOutcome>,
        place: LanePermit,
        bytes: usize,
    ) -> SendOutcome {
        let change = async {
            tokio::time::sleep(SLOW).await;
            let (sending, memory) = (self.patient.sending().await, self.patient.memory(bytes).await);
            drop(place);
            (sending, memory)
        };
        let (mut sent, mut change) = (pin!(sent), pin!(change));
        tokio::select! {
            sent = &mut sent => sent,
            _place = &mut change => sent.await,
        }
    }

    /// Sends a message that is not a change.
    pub(super) async fn send_test(&self, webhook: &Webhook) -> SendOutcome {
        let at = self.content.clock_time();
        let message = format!("msg_{}_test_{at}", webhook.id);
        let mut body = json!({
            "number": null, "at": format_millis(at), "op": "test", "blueprint": null, "id": null, "resource": null,
        });
        if self.options.cache_tags {
            body["tags"] = Value::Null;
        }
        let Ok(_sending) = self.prompt.sending().await else { return failed(&message, STOPPING) };
        self.send(webhook, &message, body.to_string(), None).await
    }

    /// Returns the change with the resource as a token with `preview` gets it. The resource is null if it was deleted.
    async fn body(&self, change: &WaitingChange, purge: Option<&Purge>) -> Result<String, String> {
        let resource = match change.is_deletion() {
            true => "null".to_owned(),
            false => {
                let id = change.resource().map(|id| id.to_string()).unwrap_or_default();
                read(&self.content, &self.access, &change.blueprint, &id).await?
            }
        };
        let WaitingChange { number, at, op, blueprint, id, .. } = change;
        let at = Value::from(format_millis(*at));
        let tags = purge.map_or_else(String::new, |purge| format!(r#","tags":{}"#, Value::from(purge.tags.clone())));
        Ok(format!(
            r#"{{"number":{number},"at":{at},"op":"{op}","blueprint":"{blueprint}","id":"{id}","resource":{resource}{tags}}}"#
        ))
    }

    async fn send(&self, webhook: &Webhook, message: &str, body: String, purge: Option<Purge>) -> SendOutcome {
        let Some(client) = &self.client else { return failed(message, "the server cannot make connections") };
        // A name was checked when it was resolved. An address is never resolved, so it is checked here.
        if !self.options.private_addresses && is_private_address(&webhook.url) {
            return failed(message, refused());
        }
        let seconds = self.content.clock_time() / 1_000;
        let signature = sign(&webhook.secret, message, seconds, body.as_bytes());
        let mut request = client
            .post(&webhook.url)
            .header("content-type", "application/json")
            .header("webhook-id", message)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signature)
            .body(body);
        if let Some(Purge { tags, number }) = purge.filter(|purge| !purge.tags.is_empty()) {
            request = request.header("surrogate-key", tags.join(" ")).header("bindery-number", number.to_string());
        }
        let started = Instant::now();
        let answer = request.send().await;
        let milliseconds = started.elapsed().as_millis() as u64;
        let (status, error) = match answer {
            Ok(answer) if answer.status().is_success() => (Some(answer.status().as_u16()), None),
            Ok(answer) if answer.status().is_redirection() => {
                let text = format!("the receiver answered {}, a redirect, which is not followed", answer.status());
                (Some(answer.status().as_u16()), Some(text))
            }
            Ok(answer) => (Some(answer.status().as_u16()), Some(format!("the receiver answered {}", answer.status()))),
            Err(error) => (None, Some(cause(&error))),
        };
        SendOutcome { message: message.to_owned(), status, error, milliseconds }
    }
}

/// Returns the resource as JSON text; `null` if it or its blueprint no longer exists.
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

fn failed(message: &str, error: &str) -> SendOutcome {
    SendOutcome { message: message.to_owned(), status: None, error: Some(error.to_owned()), milliseconds: 0 }
}

/// Returns the innermost cause. It contains neither the URL nor the texts that libraries add.
pub(super) fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("the receiver did not answer within {} seconds", TIMEOUT.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    without_numbers(&cause.to_string()).into_owned()
}

fn builder() -> reqwest::ClientBuilder {
    client_builder().timeout(TIMEOUT).pool_idle_timeout(Duration::from_secs(30)).pool_max_idle_per_host(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reqwest::dns::{Addrs, Name, Resolve, Resolving};
    use tokio::net::TcpListener;

    use super::*;
    use crate::address::PublicResolver;

    /// A name server that answers these addresses, one after the other, and then always the last one.
    struct RebindingResolver {
        answers: Vec<SocketAddr>,
        asked: Arc<AtomicUsize>,
    }

    impl Resolve for RebindingResolver {
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
        let rebinding =
            |answers: Vec<SocketAddr>| PublicResolver(RebindingResolver { answers, asked: Arc::clone(&asked) });
        let public = SocketAddr::from(([1, 1, 1, 1], here.port()));
        let resolver = Arc::new(rebinding(vec![public, here]));
        // A check of the name alone would see a public address.
        let found: Vec<SocketAddr> = resolver.resolve("rebinding.example".parse().unwrap()).await.unwrap().collect();
        assert_eq!(found, [public]);
        let client = builder().dns_resolver(Arc::clone(&resolver)).build().unwrap();
        let url = format!("http://rebinding.example:{}/", here.port());
        for connection in 2..4 {
            let error = client.post(&url).send().await.unwrap_err();
            assert_eq!(cause(&error), refused());
            assert_eq!(asked.load(Ordering::SeqCst), connection, "each connection asks again");
        }
        // Without the check, the same client connects. So it is the check that prevents the connection.
        let unchecked = RebindingResolver { answers: vec![here], asked: Arc::default() };
        let client = builder().dns_resolver(Arc::new(unchecked)).build().unwrap();
        let sent = tokio::spawn(async move { client.post(&url).send().await.map(drop) });
        let accepted = tokio::time::timeout(Duration::from_secs(10), listener.accept()).await;
        assert!(accepted.is_ok_and(|accepted| accepted.is_ok()), "the only connection is the unchecked one");
        sent.abort();
    }
}
