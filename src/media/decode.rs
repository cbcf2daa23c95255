//! Decodes pictures within bounds of size, memory and time. A picture that passes at its upload passes later, too.

use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::tiff::TiffDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::{LoopCount, Orientation};
use image::{AnimationDecoder, ColorType, DynamicImage, Frames, ImageDecoder, ImageError, Limits};
use rustix::time::{ClockId, clock_gettime};

use crate::clean::check_tiff;
use crate::error::MediaError;
use crate::pixels::narrow;
use crate::workers::{MEMORY_BYTES, Memory, Reservation};

/// The longest side of a picture.
const MAX_SIDE: u32 = 65_535;
/// The number of pixels of a picture, and of the frame of an animation.
const MAX_PIXELS: u64 = 100_000_000;
/// The number of pixels of all frames of an animation, which a browser has to decode.
const MAX_ANIMATED_PIXELS: u64 = 2_000_000_000;
const MAX_FRAMES: u64 = 10_000;
/// The number of pixels times the number of scans of a progressive JPEG. Usual files have 3 to 12 scans.
const MAX_SCANNED_PIXELS: u64 = 2_000_000_000;
/// The length of a file that is decoded.
pub(crate) const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// The memory for the parts of a PNG before the pixels.
const HEADER_BYTES: u64 = 16 * 1024 * 1024;
/// The time of its thread that the decoding of a picture may take.
const MAX_TIME: Duration = Duration::from_secs(30);

/// A format that can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raster {
    Jpeg,
    Png,
    Gif,
    Webp,
    Tiff,
}

impl Raster {
    /// Returns the format of a media type.
    pub(crate) fn of(mime: &str) -> Option<Raster> {
        Some(match mime {
            "image/jpeg" => Raster::Jpeg,
            "image/png" => Raster::Png,
            "image/gif" => Raster::Gif,
            "image/webp" => Raster::Webp,
            "image/tiff" => Raster::Tiff,
            _ => return None,
        })
    }
}

/// Properties of a file that are known before it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The width as the pixels are stored.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) orientation: Orientation,
    /// The memory that decoding takes.
    pub(crate) memory: u64,
}

impl Header {
    /// Returns the size as the picture is shown.
    pub(crate) fn shown(&self) -> (u32, u32) {
        if self.orientation.to_exif() >= 5 { (self.height, self.width) } else { (self.width, self.height) }
    }
}

/// A decoded picture with 8 bits for each channel, as its pixels are stored: not rotated, and in the colors of its
/// profile.
pub(crate) struct Decoded {
    pub(crate) image: DynamicImage,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Vec<u8>>,
}

/// Reads the header, and checks the bounds of the size.
///
/// `scratch` is the number of bytes for each pixel that the decoder needs beside its result.
pub(crate) fn header(kind: Raster, bytes: &[u8], scratch: u64) -> Result<Header, MediaError> {
    let mut decoder = open(kind, bytes, Stopwatch::start())?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    let pixels = u64::from(width) * u64::from(height);
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    // The file itself is in memory, too, and the decoder of JPEG makes a copy of it.
    let narrowed = match decoder.color_type() {
        ColorType::L8 | ColorType::Rgb8 | ColorType::Rgba8 => 0,
        ColorType::L16 => 1,
        ColorType::Rgb16 | ColorType::Rgb32F => 3,
        _ => 4,
    };
    let memory = decoder.total_bytes() + pixels * (scratch + narrowed) + 2 * bytes.len() as u64;
    Ok(Header { width, height, orientation, memory })
}

/// Checks the number of frames and scans, which cost time instead of memory.
pub(crate) fn check_repetitions(header: &Header, frames: u64, scans: u64) -> Result<(), MediaError> {
    let pixels = u64::from(header.width) * u64::from(header.height);
    if frames > MAX_FRAMES {
        return Err(MediaError::beyond(format!("it has {frames} frames; at most {MAX_FRAMES} are allowed")));
    }
    if frames > 1 && pixels * frames > MAX_ANIMATED_PIXELS {
        let (found, limit) = (pixels * frames / 1_000_000, MAX_ANIMATED_PIXELS / 1_000_000);
        return Err(MediaError::beyond(format!(
            "its {frames} frames have {found} megapixels together; at most {limit} are allowed"
        )));
    }
    if pixels.saturating_mul(scans) > MAX_SCANNED_PIXELS && scans > 1 {
        return Err(MediaError::beyond(format!(
            "its {pixels} pixels are stored in {scans} scans; save it with fewer, or without `progressive`"
        )));
    }
    Ok(())
}

/// # Errors
/// `BrokenPicture` if a side is 0, and `PictureTooLarge` beyond the bounds.
pub(crate) fn check_size(width: u32, height: u32) -> Result<(), MediaError> {
    if width == 0 || height == 0 {
        return Err(MediaError::broken("its width or height is 0"));
    }
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(MediaError::beyond(format!(
            "it has {width} × {height} pixels; at most {MAX_SIDE} on a side and {} megapixels are allowed",
            MAX_PIXELS / 1_000_000
        )));
    }
    Ok(())
}

/// Decodes a picture, of an animation the first frame. The memory stays reserved as long as the reservation.
pub(crate) fn decode<'a>(
    kind: Raster,
    bytes: &[u8],
    header: &Header,
    memory: &'a Memory,
) -> Result<(Decoded, Reservation<'a>), MediaError> {
    let reservation = memory.reserve(header.memory)?;
    let stopwatch = Stopwatch::start();
    let mut decoder = open(kind, bytes, stopwatch)?;
    check_size(decoder.dimensions().0, decoder.dimensions().1)?;
    let profile = decoder.icc_profile().ok().flatten().filter(|profile| profile.len() < 4 << 20);
    let mut image = DynamicImage::from_decoder(decoder).map_err(failed)?;
    if !matches!(image.color(), ColorType::L8 | ColorType::Rgb8 | ColorType::Rgba8) {
        image = narrow(&image);
    }
    stopwatch.check()?;
    Ok((Decoded { image, orientation: header.orientation, profile }, reservation))
}

/// The frames of an animation, each as large as the whole picture.
pub(crate) struct Animation<'a> {
    pub(crate) frames: Frames<'a>,
    /// The number of repetitions; 0 means without end.
    pub(crate) repetitions: u16,
    pub(crate) profile: Option<Vec<u8>>,
}

/// Opens an animation. Returns `None` for formats without any.
pub(crate) fn animation(kind: Raster, bytes: &[u8]) -> Result<Option<Animation<'_>>, MediaError> {
    let reader = Timed::new(bytes, Stopwatch::start());
    Ok(Some(match kind {
        Raster::Gif => {
            let mut decoder = GifDecoder::new(reader).map_err(failed)?;
            decoder.set_limits(limits()).map_err(failed)?;
            let profile = decoder.icc_profile().ok().flatten();
            Animation { repetitions: repetitions(decoder.loop_count()), profile, frames: decoder.into_frames() }
        }
        Raster::Webp => {
            let mut decoder = WebPDecoder::new(reader).map_err(failed)?;
            decoder.set_limits(limits()).map_err(failed)?;
            let profile = decoder.icc_profile().ok().flatten();
            Animation { repetitions: repetitions(decoder.loop_count()), profile, frames: decoder.into_frames() }
        }
        Raster::Png => {
            let mut decoder = PngDecoder::with_limits(reader, limits_of_header()).map_err(failed)?;
            decoder.set_limits(limits()).map_err(failed)?;
            let profile = decoder.icc_profile().ok().flatten();
            let decoder = decoder.apng().map_err(failed)?;
            Animation { repetitions: repetitions(decoder.loop_count()), profile, frames: decoder.into_frames() }
        }
        Raster::Jpeg | Raster::Tiff => return Ok(None),
    }))
}

fn repetitions(count: LoopCount) -> u16 {
    match count {
        LoopCount::Infinite => 0,
        LoopCount::Finite(count) => count.get().min(u32::from(u16::MAX)) as u16,
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MEMORY_BYTES);
    limits
}

/// Bounds what the decoder of PNG reads before the pixels: a color profile, which is compressed.
fn limits_of_header() -> Limits {
    let mut limits = limits();
    limits.max_alloc = Some(HEADER_BYTES);
    limits
}

fn open(kind: Raster, bytes: &[u8], stopwatch: Stopwatch) -> Result<Box<dyn ImageDecoder + '_>, MediaError> {
    let reader = Timed::new(bytes, stopwatch);
    let mut decoder: Box<dyn ImageDecoder + '_> = match kind {
        Raster::Jpeg => Box::new(JpegDecoder::new(reader).map_err(failed)?),
        Raster::Png => Box::new(PngDecoder::with_limits(reader, limits_of_header()).map_err(failed)?),
        Raster::Gif => Box::new(GifDecoder::new(reader).map_err(failed)?),
        Raster::Webp => Box::new(WebPDecoder::new(reader).map_err(failed)?),
        Raster::Tiff => {
            check_tiff(bytes)?;
            Box::new(TiffDecoder::new(reader).map_err(failed)?)
        }
    };
    // The memory is reserved before the pixels are decoded, so exact numbers of the size stand in the message.
    check_size(decoder.dimensions().0, decoder.dimensions().1)?;
    decoder.set_limits(limits()).map_err(failed)?;
    Ok(decoder)
}

/// Turns the error of a decoder into one of media.
pub(crate) fn failed(error: ImageError) -> MediaError {
    match error {
        ImageError::Limits(error) => {
            MediaError::beyond(format!("{error}; at most {} MiB are allowed", MEMORY_BYTES >> 20))
        }
        ImageError::IoError(error) if error.kind() == io::ErrorKind::TimedOut => too_slow(),
        ImageError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            MediaError::broken("the file ends before the picture does")
        }
        error => MediaError::broken(error.to_string()),
    }
}

fn too_slow() -> MediaError {
    MediaError::beyond(format!("decoding it takes more than {} seconds", MAX_TIME.as_secs()))
}

/// Measures the time that the thread computes. Its priority is low, so on a busy machine it waits for most of the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    started: Instant,
    /// The time that the thread had computed by then.
    computed: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { started: Instant::now(), computed: computed() }
    }

    /// # Errors
    /// `PictureTooLarge` once the thread has computed for as long as reading a picture may take.
    pub(crate) fn check(&self) -> Result<(), MediaError> {
        if self.is_beyond(MAX_TIME) { Err(too_slow()) } else { Ok(()) }
    }

    fn is_beyond(&self, limit: Duration) -> bool {
        // Decoders ask at each read. Reading the thread's time takes a system call, and it is never longer than the
        // elapsed time, so it is read only beyond the limit.
        self.started.elapsed() > limit && computed().saturating_sub(self.computed) > limit
    }
}

/// Returns the time that this thread has computed.
fn computed() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Reads from memory, until the time is over. A decoder cannot be stopped in another way.
struct Timed<'a> {
    inner: Cursor<&'a [u8]>,
    stopwatch: Stopwatch,
}

impl<'a> Timed<'a> {
    fn new(bytes: &'a [u8], stopwatch: Stopwatch) -> Timed<'a> {
        Timed { inner: Cursor::new(bytes), stopwatch }
    }

    fn check(&self) -> io::Result<()> {
        if self.stopwatch.is_beyond(MAX_TIME) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.inner.read(buffer)
    }
}

impl BufRead for Timed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check()?;
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
    }
}

impl Seek for Timed<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.check()?;
        self.inner.seek(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_that_a_thread_computes_counts() {
        let (stopwatch, limit) = (Stopwatch::start(), Duration::from_millis(20));
        std::thread::sleep(3 * limit);
        assert!(!stopwatch.is_beyond(limit));
        while !stopwatch.is_beyond(limit) {
            std::hint::spin_loop();
        }
    }
}
