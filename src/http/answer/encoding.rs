//! Compressed answers, and bodies of requests that are compressed. Must not know what they hold.
//!
//! Compressing and unpacking take long, and their windows take memory, so more than a little runs on other threads
//! ([`offload`]), and what a stream holds is charged to its connection.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use zstd::zstd_safe::CParameter;

use crate::answer::bounded::bounded;
use crate::answer::offload::offload;
use crate::answer::recode::{Codec, HeldResources, RecodedBody};
use crate::transport::budget::{Account, Charge};

/// Smaller answers are sent as they are: compressed they would fit into no fewer packets.
const LEAST_BYTES: u64 = 1_024;

/// Larger answers, and pieces of answers, are compressed on a thread that may block.
const QUICK_BYTES: usize = 16 << 10;

/// How many streams are compressed at a time. Those beyond are sent as they are, which clients must understand as well.
const MAX_STREAMS: usize = 64;
static STREAMS: Semaphore = Semaphore::const_new(MAX_STREAMS);

/// How far back a compressor of a stream finds repetitions, as a power of two: the records of a list repeat each other's
/// keys at a much shorter distance, and a larger window would take that memory for each stream.
const WINDOW_LOG: u32 = 18;

/// How many bytes of compressed answers are kept.
const MAX_KEPT_BYTES: u64 = 16 << 20;

/// So few that the largest answers fit into one.
const PARTS: usize = 4;

/// Larger answers are not kept: each would push out many small ones, and is hashed each time that it is sent.
const MAX_KEPT_ANSWER_BYTES: usize = 2 << 20;

/// How much of a compressed body is unpacked at a time: it may become a thousand times as large.
const UNPACKED_AT_ONCE: usize = 512;

/// Once a stream has unpacked this much, it hands it on before it unpacks more.
const UNPACKED_PIECE_BYTES: usize = 256 << 10;

/// What unpacking a stream takes: its window, and what one step may unpack at most beyond a piece.
const UNPACKING_BYTES: usize = 64 << 10;

/// A form in which an answer is sent.
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

    /// The one that a client prefers; of equal preferences, the one that packs best for its cost.
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

    /// Whether a client accepts it.
    pub(crate) fn is_accepted(self, headers: &HeaderMap) -> bool {
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

    /// What compressing a stream takes: the window, the tables to find repetitions, and the output that is not taken yet.
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

/// A compressor whose output is taken from time to time.
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

/// Compressed answers, kept by the hash of what was compressed. An address and an entity tag are no key: they are the same
/// for answers to clients that may see different things, as `PATCH` with `update` only and `GET` with `view`.
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
    /// The answer as the client accepts it.
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
        // A line of its own: other parts of the answer have theirs.
        parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        let Some(encoding) = encoding else { return Response::from_parts(parts, body) };
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

    /// The compressed bytes; `None` if they are not fewer.
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

/// The compressor of a stream; `None` if too many streams are compressed already, or there is no memory for one more.
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

    /// Everything, so that the client can unpack it at once.
    fn push(&mut self, arrived: &mut Bytes) -> io::Result<Vec<u8>> {
        self.write(&std::mem::take(arrived))?;
        self.flush()
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        Encoder::finish(self)
    }
}

impl Codec for GzDecoder<Vec<u8>> {
    const QUICK_BYTES: usize = UNPACKED_AT_ONCE;

    /// As much as becomes a piece.
    fn push(&mut self, arrived: &mut Bytes) -> io::Result<Vec<u8>> {
        while !arrived.is_empty() && self.get_ref().len() < UNPACKED_PIECE_BYTES {
            let packed = arrived.split_to(arrived.len().min(UNPACKED_AT_ONCE));
            self.write_all(&packed)?;
        }
        Ok(std::mem::take(self.get_mut()))
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        GzDecoder::finish(self)
    }
}

/// What became of a compressed body.
#[derive(Debug, PartialEq)]
pub(crate) enum UnpackResult {
    Done(Vec<u8>),
    /// It has more bytes than it may have.
    TooLarge,
    NoMemory,
}

/// Unpacks a body of at most `max_bytes`, which are charged as they are unpacked.
///
/// # Errors
/// If it is not valid gzip.
pub(crate) fn unpack(packed: &[u8], max_bytes: usize, charge: &mut Charge) -> io::Result<UnpackResult> {
    let mut decoder = GzDecoder::new(Vec::new());
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

/// A body that is unpacked while it arrives.
pub(crate) fn unpacked(body: BodyDataStream, account: Option<Arc<Account>>) -> Body {
    let mut charge = Charge::to(account);
    charge.add(UNPACKING_BYTES);
    Body::from_stream(RecodedBody::new(body, GzDecoder::new(Vec::new()), (charge, None)))
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
