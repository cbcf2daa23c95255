//! Requests with an `Idempotency-Key` (`API.md` 4.13): carried out once, however often they are sent.
//!
//! The committer either finds the kept answer, or carries out the command and keeps the answer in the same transaction.
//! So if two requests with the same key race, the second one gets the answer to the first. The caller encodes the
//! answer; here it is bytes.

use std::sync::Arc;

use bindery_access::Access;
use bindery_model::error::{Error, Result};

use crate::command::{Command, KeepAnswer, Outcome};
use crate::data::kept_answer::{IdempotencyKey, IdempotentRequest, KeptAnswer};
use crate::data::lookup::Lookup;
use crate::handle::Content;

/// The function that encodes an answer that must be kept. It returns `None` for other answers.
type Encode<T> = dyn Fn(&Result<T>) -> Option<Vec<u8>> + Send + Sync;

/// An idempotent request, with the function that encodes its answer.
pub struct Idempotency<T> {
    request: IdempotentRequest,
    encode: Arc<Encode<T>>,
}

/// The way a request was answered.
#[derive(Debug)]
pub enum IdempotentAnswer<T> {
    /// It was carried out by this call, and the answer is not kept: it has no key.
    Fresh(T),
    /// It has a key, and was carried out by this call or by an earlier one: the kept answer as it was encoded.
    Kept(Vec<u8>),
}

impl<T: 'static> Idempotency<T> {
    /// Makes an idempotent request. `encode` returns the bytes of an answer that must be kept, and `None` for other
    /// answers.
    pub fn new(
        request: IdempotentRequest,
        encode: impl Fn(&Result<T>) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Idempotency<T> {
        Idempotency { request, encode: Arc::new(encode) }
    }

    /// Returns what the committer needs to keep the answer. `read` turns the outcome of the command into the value that
    /// `encode` accepts.
    pub(crate) fn keep(&self, read: impl Fn(&Outcome, &dyn Lookup) -> Result<T> + Send + 'static) -> KeepAnswer {
        let encode = Arc::clone(&self.encode);
        let encode = Box::new(move |result: &Result<Outcome>, lookup: &dyn Lookup| match result {
            Ok(outcome) => encode(&read(outcome, lookup)),
            Err(error) => encode(&Err(error.clone())),
        });
        KeepAnswer { request: self.request.clone(), encode }
    }
}

impl<T> IdempotentAnswer<T> {
    /// Maps a fresh value; a kept answer stays as it is.
    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> IdempotentAnswer<U> {
        match self {
            IdempotentAnswer::Fresh(value) => IdempotentAnswer::Fresh(map(value)),
            IdempotentAnswer::Kept(answer) => IdempotentAnswer::Kept(answer),
        }
    }
}

impl Content {
    /// Returns the kept answer to a request; `None` if none is kept under its key. `request` is `None` for a request
    /// that could not be read whole: its answer is never kept.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` if the key was used with another request.
    pub async fn kept_answer(
        &self,
        key: &IdempotencyKey,
        request: Option<&IdempotentRequest>,
    ) -> Result<Option<Vec<u8>>> {
        let stored = Lookup::get(&self.shared.store, &key.store_key())?;
        let Some(kept) = stored.map(|bytes| KeptAnswer::decode(&bytes)).transpose()? else { return Ok(None) };
        let Some(answer) = kept.answer_to(request, self.now())? else { return Ok(None) };
        // The store is ahead of what readers see for a moment. A client that gets this answer must be able to read what
        // it describes.
        self.submit(Command::Wait).await?;
        Ok(Some(answer))
    }

    /// Returns the kept answer to a request that was refused, in case that it was carried out just before.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` if the key was used with another request.
    pub async fn kept_answer_to_refused(&self, request: &IdempotentRequest) -> Result<Option<Vec<u8>>> {
        // The store applies a transaction key by key, and the kept answer after the changes that led to the refusal.
        let store = self.shared.store.clone();
        tokio::task::spawn_blocking(move || store.applied_in_full()).await.map_err(Error::internal)?;
        self.kept_answer(request.key(), Some(request)).await
    }

    /// Answers with a value that no write has made, such as a resource that exists already. Writes nothing but the
    /// answer, if that is to be kept.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED`, `OVERLOADED`, `LOG_UNREACHABLE`, `OUTCOME_UNKNOWN`.
    pub async fn answer_without_write<T: Clone + Send + 'static>(
        &self,
        access: &Access,
        value: T,
        idempotent: Option<Idempotency<T>>,
    ) -> Result<IdempotentAnswer<T>> {
        let Some(idempotent) = idempotent else { return Ok(IdempotentAnswer::Fresh(value)) };
        let keep = idempotent.keep(move |_, _| Ok(value.clone()));
        match self.submit_keeping(access, Command::Wait, Some(keep)).await? {
            Outcome::Kept(answer) => Ok(IdempotentAnswer::Kept(answer)),
            _ => Err(Error::internal("an answer that was to be kept and is not")),
        }
    }

    /// Submits a command whose answer may be kept.
    pub(crate) async fn submit_idempotent<T: 'static>(
        &self,
        access: &Access,
        command: Command,
        idempotent: Option<Idempotency<T>>,
        read: fn(&Outcome) -> Result<T>,
    ) -> Result<IdempotentAnswer<T>> {
        let keep = idempotent.map(|idempotent| idempotent.keep(move |outcome, _| read(outcome)));
        match self.submit_keeping(access, command, keep).await? {
            Outcome::Kept(answer) => Ok(IdempotentAnswer::Kept(answer)),
            outcome => Ok(IdempotentAnswer::Fresh(read(&outcome)?)),
        }
    }
}
