//! The form of an upload, `multipart/form-data`: received piece by piece, and bounded. Must not know what its parts
//! mean.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use bindery_media::Upload;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use tokio_stream::Stream;

use crate::app::App;
use crate::error::Failure;
use crate::media::error_of;
use crate::transport::body::{cut_off, no_memory};
use crate::transport::budget::Charge;
use crate::transport::connection::Connection;

/// The bytes that may be received and not processed yet. The parser of the form keeps what it receives until it finds
/// the end of a part's head, so this bounds its memory.
const WAITING_BYTES: usize = 256 << 10;
/// The times that the parser may ask for more at that bound before it is clear that it makes no progress.
const PATIENCE: usize = 32;
/// The memory of an upload that is under way.
const UPLOAD_BYTES: usize = 2 << 20;
/// The bytes of a form beside its file and its attributes.
const OVERHEAD_BYTES: u64 = 64 << 10;
/// The longest date.
const MAX_DATE_BYTES: usize = 100;

/// A form whose parts are still to be received.
pub(super) struct Form<'a> {
    app: &'a App,
    parts: Multipart,
    waiting: Arc<Waiting>,
    takes_attributes: bool,
    charge: Charge,
}

/// The parts of a form. The file is received, and not checked yet.
pub(super) struct ReceivedForm {
    pub(super) upload: Upload,
    /// The file's name as it was sent; empty if none was.
    pub(super) name: String,
    pub(super) attributes: Option<String>,
    pub(super) published_at: Option<String>,
}

/// The bytes that were passed to the parser and did not come out of it again.
#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    /// The number of times that it asked for more in vain.
    asked: AtomicUsize,
}

impl Waiting {
    fn take(&self, bytes: usize) {
        let _ = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| Some(waiting.saturating_sub(bytes)));
        self.asked.store(0, Ordering::Relaxed);
    }
}

impl<'a> Form<'a> {
    /// Begins to receive a form.
    ///
    /// # Errors
    /// `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`, `OVERLOADED`.
    pub(super) async fn begin(app: &'a App, request: Request, takes_attributes: bool) -> Result<Form<'a>, Failure> {
        let max_bytes = app.media.config().max_bytes;
        let announced =
            request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let most = max_bytes.saturating_add(app.config.max_body_bytes as u64).saturating_add(OVERHEAD_BYTES);
        if announced.is_some_and(|announced| announced > most) {
            return Err(too_large(max_bytes).into());
        }
        if request.headers().contains_key(CONTENT_ENCODING) {
            let text = "an upload must not have the header `Content-Encoding`; send the file as it is";
            return Err(Error::new(Code::UnsupportedMediaType, text).into());
        }
        let mut charge = Charge::to(Connection::account_of(request.extensions()));
        if !charge.try_set(UPLOAD_BYTES) {
            return Err(no_memory().into());
        }
        let waiting = Arc::<Waiting>::default();
        let sent =
            request.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let parts = parser(request, sent.as_deref(), &waiting).await.ok_or_else(|| {
            let sent = sent.map_or_else(|| "missing".to_owned(), |sent| quote(&sent));
            let text = format!("the header `Content-Type` is {sent}; send `multipart/form-data` with a boundary");
            Error::new(Code::UnsupportedMediaType, text)
        })?;
        Ok(Form { app, parts, waiting, takes_attributes, charge })
    }

    /// Receives all parts.
    ///
    /// # Errors
    /// `VALIDATION_FAILED` for a part that is unknown, missing or sent twice, `PAYLOAD_TOO_LARGE`, `MALFORMED_JSON` for
    /// a body that is cut off or no form.
    pub(super) async fn receive(self) -> Result<ReceivedForm, Failure> {
        let Form { app, mut parts, waiting, takes_attributes, mut charge } = self;
        let (mut file, mut attributes, mut published_at) = (None, None, None);
        while let Some(mut part) = parts.next_field().await.map_err(|error| broken(&error))? {
            let name = part.name().unwrap_or_default().to_owned();
            match name.as_str() {
                "file" if file.is_some() => return Err(twice("file").into()),
                "attributes" if attributes.is_some() => return Err(twice("attributes").into()),
                "published_at" if published_at.is_some() => return Err(twice("published_at").into()),
                "file" => file = Some(receive_file(app, &mut part, &waiting).await?),
                "attributes" if takes_attributes => {
                    let text = receive_text(&mut part, &waiting, app.config.max_body_bytes, &mut charge);
                    attributes = Some(text.await?);
                }
                "published_at" if takes_attributes => {
                    published_at = Some(receive_text(&mut part, &waiting, MAX_DATE_BYTES, &mut charge).await?);
                }
                other => {
                    let known = if takes_attributes { "`file`, `attributes`, `published_at`" } else { "`file`" };
                    let text = match other {
                        "" => format!("must be the name of a part, but one part has no name; known parts are {known}"),
                        _ => format!("is not a known part of the form; known parts are {known}"),
                    };
                    let field = if other.is_empty() { "file" } else { other };
                    return Err(Error::of_field(field, text).into());
                }
            }
        }
        let Some((upload, name)) = file else {
            let text = "must be given: a part of the form with the bytes of the file";
            return Err(Error::of_field("file", text).into());
        };
        Ok(ReceivedForm { upload, name, attributes, published_at })
    }
}

/// Returns the parser of a form; `None` if the body is none.
async fn parser(request: Request, content_type: Option<&str>, waiting: &Arc<Waiting>) -> Option<Multipart> {
    let media_type = content_type?.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let (head, body) = request.into_parts();
    let body = BoundedBody { body: body.into_data_stream(), waiting: Arc::clone(waiting) };
    let mut request = Request::from_parts(head, Body::from_stream(body));
    // The file has a limit of its own, and so has each other part.
    DefaultBodyLimit::disable().apply(&mut request);
    Multipart::from_request(request, &()).await.ok()
}

async fn receive_file(app: &App, part: &mut Field<'_>, waiting: &Waiting) -> Result<(Upload, String), Failure> {
    let name = part.file_name().unwrap_or_default().to_owned();
    let media = app.media.open()?;
    let mut upload = media.files.begin(app.media.config().max_bytes).await.map_err(|error| error_of(&error))?;
    while let Some(piece) = part.chunk().await.map_err(|error| broken(&error))? {
        waiting.take(piece.len());
        upload.write(piece).await.map_err(|error| error_of(&error))?;
    }
    Ok((upload, name))
}

async fn receive_text(
    part: &mut Field<'_>,
    waiting: &Waiting,
    max_bytes: usize,
    charge: &mut Charge,
) -> Result<String, Failure> {
    let name = part.name().unwrap_or_default().to_owned();
    let mut text = Vec::new();
    while let Some(piece) = part.chunk().await.map_err(|error| broken(&error))? {
        waiting.take(piece.len());
        if text.len() + piece.len() > max_bytes {
            let text = format!("the part `{name}` is larger than {max_bytes} bytes, which is the limit");
            return Err(Error::new(Code::PayloadTooLarge, text).into());
        }
        text.extend_from_slice(&piece);
        if !charge.try_set(UPLOAD_BYTES + text.capacity()) {
            return Err(no_memory().into());
        }
    }
    String::from_utf8(text).map_err(|_| Error::of_field(&name, "must be UTF-8 text").into())
}

fn twice(name: &str) -> Error {
    Error::of_field(name, "must be sent once; upload each file with a request of its own")
}

fn too_large(max_bytes: u64) -> Error {
    Error::new(Code::PayloadTooLarge, format!("the file is too large; at most {max_bytes} bytes are accepted"))
}

/// Returns the error for a form that cannot be parsed, or that broke off.
fn broken(error: &MultipartError) -> Failure {
    let first: &dyn std::error::Error = error;
    let causes = || std::iter::successors(Some(first), |cause| cause.source());
    if causes().any(|cause| cause.is::<HeadTooLong>()) {
        return Error::new(Code::MalformedJson, HeadTooLong.to_string()).into();
    }
    if let Some(cause) = causes().find_map(|cause| cause.downcast_ref::<axum::Error>()) {
        return cut_off(cause).into();
    }
    let text = format!("the body is not a valid form: {}", error.body_text());
    Error::new(Code::MalformedJson, text).into()
}

/// The error for a form whose parser makes no progress.
#[derive(Debug, thiserror::Error)]
#[error("the head of a part of the form is too long, or the form does not begin with its boundary")]
struct HeadTooLong;

/// A body that passes on only so much that the parser's memory is bounded.
struct BoundedBody {
    body: BodyDataStream,
    waiting: Arc<Waiting>,
}

impl Stream for BoundedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.waiting.bytes.load(Ordering::Relaxed) >= WAITING_BYTES {
            if self.waiting.asked.fetch_add(1, Ordering::Relaxed) >= PATIENCE {
                return Poll::Ready(Some(Err(axum::Error::new(HeadTooLong))));
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.body).poll_next(context);
        if let Poll::Ready(Some(Ok(piece))) = &polled {
            self.waiting.bytes.fetch_add(piece.len(), Ordering::Relaxed);
        }
        polled
    }
}
