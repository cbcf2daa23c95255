//! Request bodies: their size limit, the memory that they take, and their media types. Must not parse them.

use std::convert::Infallible;
use std::error::Error as _;
use std::io;
use std::sync::Arc;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use tokio_stream::StreamExt;

use crate::answer::encoding::{self, UnpackResult};
use crate::answer::offload::offload;
use crate::error::Failure;
use crate::transport::budget::{Account, Charge};
use crate::transport::connection::Connection;

/// The memory that is reserved for a body before any of it has arrived.
const RESERVED_BYTES: usize = 16 << 10;

/// A body that was not read yet. Errors in it rank behind errors in the rest of the request (`API.md` 1.7), so the
/// handler decides when to read it.
#[derive(Debug)]
pub(crate) struct JsonBody {
    content_type: Option<String>,
    /// The value of `Content-Encoding`.
    packed_as: Option<String>,
    /// The length announced by `Content-Length`; 0 without one.
    announced_bytes: usize,
    account: Option<Arc<Account>>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Unread(Body),
    /// Read early. An error is reported only when the handler asks for the body.
    ReadAhead(Result<Bytes, Failure>),
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody, Infallible> {
        let (parts, body) = request.into_parts();
        let content_type = parts.headers.get(CONTENT_TYPE);
        let packed_as = parts.headers.get(CONTENT_ENCODING);
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(JsonBody {
            content_type: content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            packed_as: packed_as.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase()),
            announced_bytes: announced.unwrap_or(0),
            account: Connection::account_of(&parts.extensions),
            source: Source::Unread(body),
        })
    }
}

impl JsonBody {
    /// Returns the bytes of a body of the type `application/json`.
    ///
    /// # Errors
    /// In this order: `MALFORMED_JSON` for a body that is cut off, `PAYLOAD_TOO_LARGE`, `OVERLOADED` if other bodies
    /// have left too little memory, `UNSUPPORTED_MEDIA_TYPE`.
    pub(crate) async fn read(self, max_bytes: usize) -> Result<Bytes, Failure> {
        self.read_as(max_bytes, &["application/json"]).await
    }

    /// Returns the bytes of a body of one of these types; messages recommend the first one. The type of an empty body
    /// is not checked: it is not valid JSON, which the parser reports.
    ///
    /// # Errors
    /// The errors of [`JsonBody::read`].
    pub(crate) async fn read_as(self, max_bytes: usize, types: &[&str]) -> Result<Bytes, Failure> {
        let is_packed = is_packed(self.packed_as.as_deref());
        let account = self.account.clone();
        let bytes = match self.source {
            Source::Unread(body) => read(body, self.announced_bytes, max_bytes, Charge::to(self.account)).await,
            Source::ReadAhead(read) => read,
        }?;
        if !bytes.is_empty() {
            check_type(self.content_type.as_deref(), types)?;
        }
        match is_packed? {
            true => unpack(bytes, max_bytes, Charge::to(account)).await,
            false => Ok(bytes),
        }
    }

    /// Returns the body as a stream of one of these types, and the charge for the parts of it that are kept.
    ///
    /// # Errors
    /// `UNSUPPORTED_MEDIA_TYPE`.
    pub(crate) fn into_stream(self, types: &[&str]) -> Result<(BodyDataStream, Charge), Failure> {
        check_type(self.content_type.as_deref(), types)?;
        let body = match self.source {
            Source::Unread(body) => body,
            Source::ReadAhead(read) => Body::from(read?),
        };
        let body = match is_packed(self.packed_as.as_deref())? {
            true => encoding::unpacked(body.into_data_stream(), self.account.clone()),
            false => body,
        };
        Ok((body.into_data_stream(), Charge::to(self.account)))
    }

    /// Reads the body before its errors may be reported. [`JsonBody::read`] reports them.
    pub(crate) async fn read_ahead(self, max_bytes: usize) -> JsonBody {
        let read = match self.source {
            Source::Unread(body) => read(body, self.announced_bytes, max_bytes, Charge::to(self.account.clone())).await,
            Source::ReadAhead(read) => read,
        };
        JsonBody { source: Source::ReadAhead(read), ..self }
    }

    /// Returns the bytes that were read ahead; `None` if reading failed.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.source {
            Source::ReadAhead(Ok(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

/// Returns the error for a body that broke off: its sender stopped, or sent it too slowly.
pub(crate) fn cut_off(error: &axum::Error) -> Error {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut) {
            return Error::new(Code::MalformedJson, "the body was not sent to its end in time");
        }
        source = cause.source();
    }
    Error::new(Code::MalformedJson, "the body was cut off before its end")
}

/// Returns the error for a body for which there is no memory left.
pub(crate) fn no_memory() -> Error {
    Error::new(Code::Overloaded, "the server holds too many large requests and answers; try again")
}

async fn read(body: Body, announced_bytes: usize, max_bytes: usize, mut charge: Charge) -> Result<Bytes, Failure> {
    let too_large =
        || Error::new(Code::PayloadTooLarge, format!("the body is larger than {max_bytes} bytes, which is the limit"));
    if announced_bytes > max_bytes {
        return Err(too_large().into());
    }
    let mut chunks = body.into_data_stream();
    let mut read = Vec::with_capacity(announced_bytes.min(RESERVED_BYTES));
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| cut_off(&error))?;
        let bytes = read.len() + chunk.len();
        if bytes > max_bytes {
            return Err(too_large().into());
        }
        if bytes > read.capacity() {
            // Grows to at least double the size, so that copying stays cheap, but not beyond the announced length.
            let most = if announced_bytes >= bytes { announced_bytes } else { max_bytes };
            let capacity = (read.capacity() * 2).max(bytes).min(most);
            read.reserve_exact(capacity - read.len());
        }
        if !charge.try_set(read.capacity()) {
            return Err(no_memory().into());
        }
        read.extend_from_slice(&chunk);
    }
    Ok(charge.attach(read))
}

/// Returns whether a body is compressed.
fn is_packed(encoding: Option<&str>) -> Result<bool, Failure> {
    match encoding {
        None | Some("identity") => Ok(false),
        Some("gzip" | "x-gzip") => Ok(true),
        Some(other) => {
            let message = format!("the header `Content-Encoding` is {}; send `gzip`, or no such header", quote(other));
            Err(Error::new(Code::UnsupportedMediaType, message).into())
        }
    }
}

async fn unpack(packed: Bytes, max_bytes: usize, mut charge: Charge) -> Result<Bytes, Failure> {
    let unpack = move || {
        let unpacking = encoding::unpack(&packed, max_bytes, &mut charge);
        (unpacking, charge)
    };
    let (unpacking, charge) = offload(unpack).await.ok_or_else(|| Error::internal("unpacking a body panicked"))?;
    match unpacking {
        Ok(UnpackResult::Done(unpacked)) => Ok(charge.attach(unpacked)),
        Ok(UnpackResult::NoMemory) => Err(no_memory().into()),
        Ok(UnpackResult::TooLarge) => {
            let message = format!("the body, unpacked, is larger than {max_bytes} bytes, which is the limit");
            Err(Error::new(Code::PayloadTooLarge, message).into())
        }
        Err(_) => {
            Err(Error::new(Code::MalformedJson, "the body is not valid gzip, as its `Content-Encoding` says").into())
        }
    }
}

fn check_type(content_type: Option<&str>, types: &[&str]) -> Result<(), Failure> {
    let recommended = types.first().copied().unwrap_or_default();
    let message = match content_type {
        None => format!("the header `Content-Type` is missing; send `{recommended}`"),
        Some(sent) => {
            let media_type = sent.split(';').next().unwrap_or_default().trim();
            if types.iter().any(|known| media_type.eq_ignore_ascii_case(known)) {
                return Ok(());
            }
            format!("the header `Content-Type` is {}; send `{recommended}`", quote(sent))
        }
    };
    Err(Error::new(Code::UnsupportedMediaType, message).into())
}
