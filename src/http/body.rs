//! Request bodies: their size limit and their media types. Must not parse them.

use std::convert::Infallible;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use tokio_stream::StreamExt;

use super::error::Failure;
use crate::model::error::{Code, Error};
use crate::model::sent::quote;

/// How much memory is reserved at most on the strength of `Content-Length`.
const MAX_RESERVED_BYTES: usize = 1 << 20;

/// A body that is still to be read. Errors in it rank behind errors in the rest of the request (`API.md` 1.7), so the
/// handler decides when to read it.
#[derive(Debug)]
pub(super) struct JsonBody {
    content_type: Option<String>,
    /// As announced by `Content-Length`; 0 without one.
    announced_bytes: usize,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Unread(Body),
    /// Read early; an error in it is reported when the body is asked for.
    ReadAhead(Result<Bytes, Failure>),
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody, Infallible> {
        let (parts, body) = request.into_parts();
        let content_type = parts.headers.get(CONTENT_TYPE);
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(JsonBody {
            content_type: content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            announced_bytes: announced.unwrap_or(0),
            source: Source::Unread(body),
        })
    }
}

impl JsonBody {
    /// The bytes of a body of the type `application/json`.
    ///
    /// # Errors
    /// In this order: `MALFORMED_JSON` for a body that is cut off, `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`.
    pub(super) async fn read(self, max_bytes: usize) -> Result<Bytes, Failure> {
        self.read_as(max_bytes, &["application/json"]).await
    }

    /// The bytes of a body of one of these types; the first is the one that messages recommend. The type of an empty
    /// body does not matter: it is not valid JSON, which the parser reports.
    ///
    /// # Errors
    /// As [`JsonBody::read`].
    pub(super) async fn read_as(self, max_bytes: usize, types: &[&str]) -> Result<Bytes, Failure> {
        let bytes = match self.source {
            Source::Unread(body) => read(body, self.announced_bytes, max_bytes).await,
            Source::ReadAhead(read) => read,
        }?;
        if !bytes.is_empty() {
            check_type(self.content_type.as_deref(), types)?;
        }
        Ok(bytes)
    }

    /// The body as it arrives, of one of these types.
    ///
    /// # Errors
    /// `UNSUPPORTED_MEDIA_TYPE`.
    pub(super) fn into_stream(self, types: &[&str]) -> Result<BodyDataStream, Failure> {
        check_type(self.content_type.as_deref(), types)?;
        let body = match self.source {
            Source::Unread(body) => body,
            Source::ReadAhead(read) => Body::from(read?),
        };
        Ok(body.into_data_stream())
    }

    /// The same body, read before its errors may be reported. [`JsonBody::read`] reports them.
    pub(super) async fn read_ahead(self, max_bytes: usize) -> JsonBody {
        let read = match self.source {
            Source::Unread(body) => read(body, self.announced_bytes, max_bytes).await,
            Source::ReadAhead(read) => read,
        };
        JsonBody { source: Source::ReadAhead(read), ..self }
    }

    /// The bytes that were read ahead; `None` if reading failed.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.source {
            Source::ReadAhead(Ok(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

/// The error for a body whose sender stopped before its end.
pub(super) fn cut_off() -> Error {
    Error::new(Code::MalformedJson, "the body was cut off before its end")
}

async fn read(body: Body, announced_bytes: usize, max_bytes: usize) -> Result<Bytes, Failure> {
    let too_large =
        || Error::new(Code::PayloadTooLarge, format!("the body is larger than {max_bytes} bytes, which is the limit"));
    if announced_bytes > max_bytes {
        return Err(too_large().into());
    }
    let mut chunks = body.into_data_stream();
    let mut read = Vec::with_capacity(announced_bytes.min(MAX_RESERVED_BYTES));
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| cut_off())?;
        if read.len() + chunk.len() > max_bytes {
            return Err(too_large().into());
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read.into())
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
