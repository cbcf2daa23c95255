//! Compression of answers, and decompression of request bodies. Must not know what they hold.
//!
//! Compressing takes long and needs memory for its window. So all but small pieces run on other threads ([`offload`]),
//! and the memory of a stream is charged to its connection.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::header::{ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use flate2::Compression;
use flate2::write::{GzEncoder, MultiGzDecoder};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use zstd::zstd_safe::CParameter;

use crate::answer::bounded::bounded;
use crate::answer::offload::offload;
use crate::answer::recode::{Codec, HeldResources, RecodedBody};
use crate::transport::budget::{Account, Charge};

/// Smaller answers are not compressed: they would not need fewer packets.
const LEAST_BYTES: u64 = 1_024;

/// Larger answers and pieces are compressed on a thread that may block.
const QUICK_BYTES: usize = 16 << 10;

/// The number of streams that are compressed at once. Further ones are sent uncompressed, which every client
/// understands.
const MAX_STREAMS: usize = 64;
static STREAMS: Semaphore = Semaphore::const_new(MAX_STREAMS);

/// The window of a stream's compressor in bytes, as a power of two. The records of a list repeat each other's keys at a
/// much shorter distance, and each stream would need the memory of a larger window.
const WINDOW_LOG: u32 = 18;

/// The greatest number of bytes of cached compressed answers.
const MAX_KEPT_BYTES: u64 = 16 << 20;

/// The number of parts of the cache: few enough that the largest answers fit into one.
const PARTS: usize = 4;

/// Larger answers are not cached: each would push out many small ones, and would be hashed each time it is sent.
const MAX_KEPT_ANSWER_BYTES: usize = 2 << 20;

/// The number of compressed bytes that are unpacked at a time. They may become a thousand times as many.
const UNPACKED_AT_ONCE: usize = 512;

/// A stream that has unpacked this many bytes passes them on before it unpacks more.
const UNPACKED_PIECE_BYTES: usize = 256 << 10;

/// The memory of unpacking a stream: its window, and the most that one step may unpack beyond a piece.
const UNPACKING_BYTES: usize = 64 << 10;

/// An encoding of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
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

    /// Returns the encoding that a client prefers; among equal preferences, the one with the best compression for its
    /// cost.
    pub(crate) fn accepted(headers: &HeaderMap) -> Option<Encoding> {
        let mut best: Option<(Encoding, f32)> = None;
        for encoding in [Encoding::Zstd, Encoding::Brotli, Encoding::Gzip] {
            let weight = encoding.weight(headers);
            if weight > best.map_or(0.0, |(_, best)| best) {
                best = Some((encoding, weight));
            }
        }
        best.map(|(encoding, _)| encoding)
    }

    /// Returns whether a client accepts the encoding.
    pub(crate) fn is_accepted(self, headers: &HeaderMap) -> bool {
        self.weight(headers) > 0.0
    }

    /// Returns the client's preference for the encoding; 0 if it does not accept it, as in `gzip;q=0`.
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

    /// Returns the memory of compressing a stream in bytes: the window, the tables for finding repetitions, and the
    /// pending output.
    fn stream_bytes(self) -> usize {
        match self {
            Encoding::Zstd => 1_200 << 10,
            Encoding::Brotli => 1_600 << 10,
            Encoding::Gzip => 300 << 10,
        }
    }

    fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut encoder = Encoder::new(self)?;
        encoder.write(bytes)?;
        encoder.finish()
    }
}

/// A compressor whose output is taken out piece by piece.
enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> io::Result<Encoder> {
        Ok(match encoding {
            Encoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3)?;
                encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
                Encoder::Zstd(encoder)
            }
            Encoding::Brotli => {
                Encoder::Brotli(Box::new(brotli::CompressorWriter::new(Vec::new(), 4_096, 4, WINDOW_LOG)))
            }
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

    /// Returns the output for everything written so far, which the receiver can unpack at once.
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

/// The cache of compressed answers, by the hash of the uncompressed bytes. An address with an entity tag would not do
/// as a key: answers to clients with different rights can share both, such as `PATCH` with `update` only and `GET` with
/// `view`.
pub(crate) struct EncodedAnswers(Cache<Key, Bytes, Weight>);

type Key = (blake3::Hash, Encoding);

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Bytes> for Weight {
    fn weight(&self, _: &Key, encoded: &Bytes) -> u64 {
        encoded.len() as u64 + 256
    }
}

impl Default for EncodedAnswers {
    fn default() -> EncodedAnswers {
        EncodedAnswers(bounded(MAX_KEPT_BYTES, PARTS, Weight))
    }
}

impl EncodedAnswers {
    /// Returns the response in an encoding that the client accepts.
    pub(crate) async fn encode(
        &self,
        response: Response,
        encoding: Option<Encoding>,
        account: Option<Arc<Account>>,
    ) -> Response {
        if !is_compressible(&response) {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        // Appended as a header line of its own, because the response may have a `Vary` already.
        parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        let Some(encoding) = encoding else { return Response::from_parts(parts, body) };
        if body.size_hint().exact() == Some(0) {
            // The answer to `HEAD`: the length of what `GET` answers is not known.
            parts.headers.remove(CONTENT_LENGTH);
            return Response::from_parts(parts, body);
        }
        let Some(length) = body.size_hint().exact().and_then(|length| usize::try_from(length).ok()) else {
            let Some((encoder, held)) = begin_stream(encoding, account) else {
                return Response::from_parts(parts, body);
            };
            note(&mut parts.headers, encoding);
            let stream = RecodedBody::new(body.into_data_stream(), encoder, held);
            return Response::from_parts(parts, Body::from_stream(stream));
        };
        let Ok(bytes) = axum::body::to_bytes(body, length).await else {
            return Response::from_parts(parts, Body::empty());
        };
        let is_kept =
            parts.status == StatusCode::OK && parts.headers.contains_key(ETAG) && bytes.len() <= MAX_KEPT_ANSWER_BYTES;
        let key = is_kept.then(|| (blake3::hash(&bytes), encoding));
        match self.encoded(key, &bytes, encoding).await {
            Some(encoded) => {
                note(&mut parts.headers, encoding);
                Response::from_parts(parts, Body::from(encoded))
            }
            None => Response::from_parts(parts, Body::from(bytes)),
        }
    }

    /// Returns the compressed bytes; `None` if they are not fewer.
    async fn encoded(&self, key: Option<Key>, bytes: &Bytes, encoding: Encoding) -> Option<Bytes> {
        if let Some(kept) = key.as_ref().and_then(|key| self.0.get(key)) {
            return Some(kept);
        }
        let encoded = if bytes.len() <= QUICK_BYTES {
            encoding.encode(bytes).ok()?
        } else {
            let bytes = bytes.clone();
            offload(move || encoding.encode(&bytes)).await?.ok()?
        };
        let encoded = Bytes::from(encoded);
        if encoded.len() >= bytes.len() {
            return None;
        }
        if let Some(key) = key {
            self.0.insert(key, encoded.clone());
        }
        Some(encoded)
    }
}

fn note(headers: &mut HeaderMap, encoding: Encoding) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    headers.remove(CONTENT_LENGTH);
}

/// Returns whether an answer is text that is worth compressing. Server-sent events are not: they must reach their
/// client one by one.
fn is_compressible(response: &Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("text/") && kind != "text/event-stream" || kind.starts_with("application/json");
    let is_lines = ["application/x-ndjson", "application/openmetrics-text"].iter().any(|text| kind.starts_with(text));
    (is_text || is_lines)
        && !headers.contains_key(CONTENT_ENCODING)
        // A part of a file has its place in the file as it is.
        && !headers.contains_key(ACCEPT_RANGES)
        && length_of(response).is_none_or(|length| length >= LEAST_BYTES)
}

/// Returns the length of an answer, also of one to `HEAD`, which has no body any more. `None` for a stream.
fn length_of(response: &Response) -> Option<u64> {
    match response.body().size_hint().exact()? {
        0 => response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok(),
        length => Some(length),
    }
}

/// Returns the compressor of a stream; `None` if too many streams are compressed already, or there is no memory for it.
fn begin_stream(encoding: Encoding, account: Option<Arc<Account>>) -> Option<(Encoder, HeldResources)> {
    let permit = STREAMS.try_acquire().ok()?;
    let mut charge = Charge::to(account);
    if !charge.try_set(encoding.stream_bytes()) {
        return None;
    }
    Some((Encoder::new(encoding).ok()?, (charge, Some(permit))))
}

impl Codec for Encoder {
    const QUICK_BYTES: usize = QUICK_BYTES;

    /// Compresses and flushes everything that arrived, so that the client can unpack it at once.
    fn push(&mut self, arrived: &mut Bytes) -> io::Result<Vec<u8>> {
        self.write(&std::mem::take(arrived))?;
        self.flush()
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        Encoder::finish(self)
    }
}

impl Codec for MultiGzDecoder<Vec<u8>> {
    const QUICK_BYTES: usize = UNPACKED_AT_ONCE;

    /// Unpacks until there is enough for a piece.
    fn push(&mut self, arrived: &mut Bytes) -> io::Result<Vec<u8>> {
        while !arrived.is_empty() && self.get_ref().len() < UNPACKED_PIECE_BYTES {
            let packed = arrived.split_to(arrived.len().min(UNPACKED_AT_ONCE));
            self.write_all(&packed)?;
        }
        Ok(std::mem::take(self.get_mut()))
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        MultiGzDecoder::finish(self)
    }
}

/// The outcome of unpacking a body.
#[derive(Debug, PartialEq)]
pub(crate) enum UnpackResult {
    Done(Vec<u8>),
    /// The body is larger than `max_bytes`.
    TooLarge,
    NoMemory,
}

/// Unpacks a body of at most `max_bytes`, and charges the bytes as they are unpacked.
///
/// # Errors
/// If the body is not valid gzip.
pub(crate) fn unpack(packed: &[u8], max_bytes: usize, charge: &mut Charge) -> io::Result<UnpackResult> {
    let mut decoder = MultiGzDecoder::new(Vec::new());
    for piece in packed.chunks(UNPACKED_AT_ONCE) {
        decoder.write_all(piece)?;
        if decoder.get_ref().len() > max_bytes {
            return Ok(UnpackResult::TooLarge);
        }
        if !charge.try_set(decoder.get_ref().capacity()) {
            return Ok(UnpackResult::NoMemory);
        }
    }
    let mut unpacked = decoder.finish()?;
    if unpacked.len() > max_bytes {
        return Ok(UnpackResult::TooLarge);
    }
    unpacked.shrink_to_fit();
    Ok(if charge.try_set(unpacked.capacity()) { UnpackResult::Done(unpacked) } else { UnpackResult::NoMemory })
}

/// Returns a body that is unpacked while it arrives.
pub(crate) fn unpacked(body: BodyDataStream, account: Option<Arc<Account>>) -> Body {
    let mut charge = Charge::to(account);
    charge.add(UNPACKING_BYTES);
    Body::from_stream(RecodedBody::new(body, MultiGzDecoder::new(Vec::new()), (charge, None)))
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
        let unpack = |packed: &[u8], max_bytes| unpack(packed, max_bytes, &mut Charge::default());
        assert_eq!(unpack(&bomb, 1 << 20).unwrap(), UnpackResult::TooLarge);
        let small = Encoding::Gzip.encode(b"abc").unwrap();
        assert_eq!(unpack(&small, 3).unwrap(), UnpackResult::Done(b"abc".to_vec()));
        assert_eq!(unpack(&small, 2).unwrap(), UnpackResult::TooLarge);
        assert!(unpack(&small[..small.len() - 1], 3).is_err());
        assert!(unpack(b"abc", 3).is_err());
    }
}
