//! Compressed answers, and bodies of requests that are compressed. Must not know what they hold.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder};
use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_stream::Stream;

/// Smaller answers are sent as they are: compressed they would fit into no fewer packets.
const LEAST_BYTES: u64 = 1_024;

/// Larger answers are compressed on a thread that may block.
const QUICK_BYTES: usize = 64 << 10;

/// How many large answers are compressed at once.
static COMPRESSING: Semaphore = Semaphore::const_new(2);

/// How many bytes of compressed answers are kept.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// How much of a compressed body is unpacked at a time: it may become a thousand times as large.
const UNPACKED_AT_ONCE: usize = 512;

/// A form in which an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Encoding {
    Zstd,
    Brotli,
    Gzip,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Encoding::Zstd => "zstd",
            Encoding::Brotli => "br",
            Encoding::Gzip => "gzip",
        }
    }

    /// The one that a client prefers; of equal preferences, the one that packs best for its cost.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Encoding> {
        let mut best: Option<(Encoding, f32)> = None;
        for encoding in [Encoding::Zstd, Encoding::Brotli, Encoding::Gzip] {
            let weight = encoding.weight(headers);
            if weight > best.map_or(0.0, |(_, best)| best) {
                best = Some((encoding, weight));
            }
        }
        best.map(|(encoding, _)| encoding)
    }

    /// Whether a client accepts it.
    pub(super) fn is_accepted(self, headers: &HeaderMap) -> bool {
        self.weight(headers) > 0.0
    }

    /// How much a client prefers it; 0 if it does not accept it, as with `gzip;q=0`.
    fn weight(self, headers: &HeaderMap) -> f32 {
        let sent = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let entries: Vec<&str> = sent.flat_map(|value| value.split(',')).collect();
        let weight_of = |name: &str| {
            entries.iter().find_map(|entry| {
                let (coding, parameters) = entry.split_once(';').unwrap_or((entry, ""));
                let weight = || parameters.trim().strip_prefix("q=").map_or(Some(1.0), |text| text.parse::<f32>().ok());
                coding.trim().eq_ignore_ascii_case(name).then(|| weight().unwrap_or(0.0))
            })
        };
        weight_of(self.name()).or_else(|| weight_of("*")).unwrap_or(0.0)
    }

    fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut encoder = Encoder::new(self)?;
        encoder.write(bytes)?;
        encoder.finish()
    }
}

/// A compressor whose output is taken from time to time.
enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> io::Result<Encoder> {
        Ok(match encoding {
            Encoding::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(Vec::new(), 3)?),
            Encoding::Brotli => Encoder::Brotli(Box::new(brotli::CompressorWriter::new(Vec::new(), 4_096, 4, 20))),
            Encoding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::default())),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Zstd(encoder) => encoder.write_all(bytes),
            Encoder::Brotli(encoder) => encoder.write_all(bytes),
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
        }
    }

    /// Everything that was written, so that its receiver can unpack it.
    fn flush(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Zstd(encoder) => encoder.flush().map(|()| std::mem::take(encoder.get_mut())),
            Encoder::Brotli(encoder) => encoder.flush().map(|()| std::mem::take(encoder.get_mut())),
            Encoder::Gzip(encoder) => encoder.flush().map(|()| std::mem::take(encoder.get_mut())),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Zstd(encoder) => encoder.finish(),
            Encoder::Brotli(encoder) => Ok(encoder.into_inner()),
            Encoder::Gzip(encoder) => encoder.finish(),
        }
    }
}

/// Answers with an entity tag, compressed. The tag and the address say what an answer is.
pub(super) struct EncodedAnswers(Mutex<Kept>);

/// Address, entity tag and encoding.
type Key = (String, HeaderValue, Encoding);

struct Kept {
    answers: LruCache<Key, Bytes>,
    bytes: usize,
}

impl Default for EncodedAnswers {
    fn default() -> EncodedAnswers {
        EncodedAnswers(Mutex::new(Kept { answers: LruCache::unbounded(), bytes: 0 }))
    }
}

impl EncodedAnswers {
    /// The answer as the client accepts it.
    pub(super) async fn encode(&self, response: Response, encoding: Option<Encoding>, uri: &Uri) -> Response {
        if !is_compressible(&response) {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        // A line of its own: other parts of the answer have theirs.
        parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        let Some(encoding) = encoding else { return Response::from_parts(parts, body) };
        let Some(length) = body.size_hint().exact().and_then(|length| usize::try_from(length).ok()) else {
            let Ok(encoder) = Encoder::new(encoding) else { return Response::from_parts(parts, body) };
            note(&mut parts.headers, encoding);
            let stream = EncodedStream { body: body.into_data_stream(), encoder: Some(encoder) };
            return Response::from_parts(parts, Body::from_stream(stream));
        };
        let Ok(bytes) = axum::body::to_bytes(body, length).await else {
            return Response::from_parts(parts, Body::empty());
        };
        let tag = parts.headers.get(ETAG).filter(|_| parts.status == StatusCode::OK).cloned();
        let key = tag.map(|tag| (uri.to_string(), tag, encoding));
        match self.encoded(key, &bytes, encoding).await {
            Some(encoded) => {
                note(&mut parts.headers, encoding);
                Response::from_parts(parts, Body::from(encoded))
            }
            None => Response::from_parts(parts, Body::from(bytes)),
        }
    }

    /// The compressed bytes; `None` if they are not fewer.
    async fn encoded(&self, key: Option<Key>, bytes: &Bytes, encoding: Encoding) -> Option<Bytes> {
        if let Some(kept) = key.as_ref().and_then(|key| self.0.lock().answers.get(key).cloned()) {
            return Some(kept);
        }
        let encoded = if bytes.len() <= QUICK_BYTES {
            encoding.encode(bytes).ok()?
        } else {
            let _permit = COMPRESSING.acquire().await.ok()?;
            let bytes = bytes.clone();
            tokio::task::spawn_blocking(move || encoding.encode(&bytes)).await.ok()?.ok()?
        };
        let encoded = Bytes::from(encoded);
        if encoded.len() >= bytes.len() {
            return None;
        }
        if let Some(key) = key {
            self.0.lock().keep(key, encoded.clone());
        }
        Some(encoded)
    }
}

impl Kept {
    fn keep(&mut self, key: Key, encoded: Bytes) {
        if encoded.len() > MAX_KEPT_BYTES / 16 {
            return;
        }
        self.bytes += weight(&key, &encoded);
        if let Some((key, replaced)) = self.answers.push(key, encoded) {
            self.bytes -= weight(&key, &replaced);
        }
        while self.bytes > MAX_KEPT_BYTES
            && let Some((key, answer)) = self.answers.pop_lru()
        {
            self.bytes -= weight(&key, &answer);
        }
    }
}

fn weight(key: &Key, encoded: &Bytes) -> usize {
    key.0.len() + encoded.len() + 256
}

fn note(headers: &mut HeaderMap, encoding: Encoding) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    headers.remove(CONTENT_LENGTH);
}

/// Whether an answer is text that is worth it. Events must reach their client one by one.
fn is_compressible(response: &Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("text/") && kind != "text/event-stream" || kind.starts_with("application/json");
    let is_lines = ["application/x-ndjson", "application/openmetrics-text"].iter().any(|text| kind.starts_with(text));
    (is_text || is_lines)
        && !headers.contains_key(CONTENT_ENCODING)
        && response.body().size_hint().exact().is_none_or(|length| length >= LEAST_BYTES)
}

/// A body that is compressed piece by piece.
struct EncodedStream {
    body: BodyDataStream,
    /// `None` at the end.
    encoder: Option<Encoder>,
}

impl Stream for EncodedStream {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if self.encoder.is_none() {
                return Poll::Ready(None);
            }
            let piece = ready!(Pin::new(&mut self.body).poll_next(context));
            let encoded = match (piece, self.encoder.as_mut()) {
                (Some(Ok(piece)), Some(encoder)) => encoder.write(&piece).and_then(|()| encoder.flush()),
                (Some(Err(error)), _) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                (None, _) | (_, None) => match self.encoder.take() {
                    Some(encoder) => encoder.finish(),
                    None => return Poll::Ready(None),
                },
            };
            match encoded {
                Ok(bytes) if bytes.is_empty() => {}
                encoded => return Poll::Ready(Some(encoded.map(Bytes::from))),
            }
        }
    }
}

/// Unpacks a body, of which at most `max_bytes` are kept; `None` if it has more.
///
/// # Errors
/// If it is not valid gzip.
pub(super) fn unpack(packed: &[u8], max_bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let mut decoder = GzDecoder::new(Vec::new());
    for piece in packed.chunks(UNPACKED_AT_ONCE) {
        decoder.write_all(piece)?;
        if decoder.get_ref().len() > max_bytes {
            return Ok(None);
        }
    }
    let unpacked = decoder.finish()?;
    Ok((unpacked.len() <= max_bytes).then_some(unpacked))
}

/// A body that is unpacked while it arrives.
pub(super) struct Unpacked {
    body: BodyDataStream,
    arrived: Bytes,
    /// `None` at the end.
    decoder: Option<GzDecoder<Vec<u8>>>,
}

impl Unpacked {
    pub(super) fn new(body: BodyDataStream) -> Unpacked {
        Unpacked { body, arrived: Bytes::new(), decoder: Some(GzDecoder::new(Vec::new())) }
    }
}

impl Stream for Unpacked {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if self.decoder.is_none() {
                return Poll::Ready(None);
            }
            if self.arrived.is_empty() {
                match ready!(Pin::new(&mut self.body).poll_next(context)) {
                    Some(Ok(piece)) => self.arrived = piece,
                    Some(Err(error)) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                    None => {
                        let rest = self.decoder.take().map_or(Ok(Vec::new()), GzDecoder::finish);
                        return Poll::Ready(Some(rest.map(Bytes::from)));
                    }
                }
            }
            let length = self.arrived.len().min(UNPACKED_AT_ONCE);
            let piece = self.arrived.split_to(length);
            let Some(decoder) = &mut self.decoder else { return Poll::Ready(None) };
            let unpacked = decoder.write_all(&piece).map(|()| std::mem::take(decoder.get_mut()));
            match unpacked {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(Bytes::from(bytes)))),
                Err(error) => {
                    self.decoder = None;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_preferred_encoding_is_chosen() {
        for (sent, expected) in [
            ("gzip, deflate, br, zstd", Some(Encoding::Zstd)),
            ("gzip, br", Some(Encoding::Brotli)),
            ("GZIP", Some(Encoding::Gzip)),
            ("gzip;q=1.0, br;q=0.5", Some(Encoding::Gzip)),
            ("zstd;q=0, *", Some(Encoding::Brotli)),
            ("*;q=0", None),
            ("identity", None),
            ("gzip;q=x", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(sent))]);
            assert_eq!(Encoding::accepted(&headers), expected, "{sent}");
        }
    }

    #[test]
    fn a_small_body_that_unpacks_to_a_large_one_is_given_up_early() {
        let bomb = Encoding::Gzip.encode(&vec![0; 50 << 20]).unwrap();
        assert!(bomb.len() < 60_000);
        assert_eq!(unpack(&bomb, 1 << 20).unwrap(), None);
        let small = Encoding::Gzip.encode(b"abc").unwrap();
        assert_eq!(unpack(&small, 3).unwrap(), Some(b"abc".to_vec()));
        assert_eq!(unpack(&small, 2).unwrap(), None);
        assert!(unpack(&small[..small.len() - 1], 3).is_err());
        assert!(unpack(b"abc", 3).is_err());
    }
}
