//! Makes a rendition of a file in memory.

use image::{DynamicImage, Rgba};

use crate::animate;
use crate::clean;
use crate::decode::{self, Animation, Decoded, Header, Raster};
use crate::encode;
use crate::error::MediaError;
use crate::geometry::{self, Plan};
use crate::pixels;
use crate::rendition::{Format, Source, Wanted};
use crate::workers::{MEMORY_BYTES, Memory, Reservation};

/// Animations with more frames, or more pixels in all frames, are served as they are.
const MAX_FRAMES: u64 = 300;
const MAX_ANIMATED_PIXELS: u64 = 100_000_000;
/// The memory for each pixel that an encoder takes. That of AVIF takes most.
const ENCODER_BYTES: u64 = 24;

/// Makes a rendition of a picture. Returns `None` if the original file serves better.
///
/// # Errors
/// `BrokenPicture` and `PictureTooLarge`, although the upload accepted the file.
pub(crate) fn render(
    memory: &Memory,
    kind: Raster,
    bytes: &[u8],
    source: &Source,
    wanted: &Wanted,
) -> Result<Option<Vec<u8>>, MediaError> {
    let header = decode::header(kind, bytes, scratch(kind, bytes)?)?;
    let (width, height) = header.shown();
    let plan = geometry::plan(width, height, wanted);
    let quality = quality(wanted);
    if source.is_animated && wanted.format == Format::Webp {
        return render_animation(memory, kind, bytes, &header, &plan, quality);
    }
    let more = pixels::memory_to_resize(plan.crop, plan.size);
    let header = Header { memory: (header.memory + more).min(MEMORY_BYTES.max(header.memory)), ..header };
    let (decoded, reservation) = decode::decode(kind, bytes, &header, memory)?;
    let image = pixels::make(&decoded, &plan, background(wanted.format))?;
    drop((decoded, reservation));
    let _reservation = memory.reserve(u64::from(plan.canvas.0) * u64::from(plan.canvas.1) * ENCODER_BYTES)?;
    let encoded = encode::encode(&image, wanted.format, quality)?;
    let is_same_picture = plan.canvas == (width, height) && wanted.format.mime() == source.mime && !source.is_animated;
    Ok((!is_same_picture || encoded.len() < bytes.len()).then_some(encoded))
}

/// Returns the quality, or that of the format.
pub(crate) fn quality(wanted: &Wanted) -> u8 {
    match wanted.format {
        Format::Png => encode::default_quality(Format::Png),
        format => wanted.quality.unwrap_or_else(|| encode::default_quality(format)).clamp(1, 100),
    }
}

fn render_animation(
    memory: &Memory,
    kind: Raster,
    bytes: &[u8],
    header: &Header,
    plan: &Plan,
    quality: u8,
) -> Result<Option<Vec<u8>>, MediaError> {
    let opened = open_animation(memory, kind, bytes, header, frames(kind, bytes)?)?;
    let Some((animation, _reservation)) = opened else { return Ok(None) };
    let profile = animation.profile.clone();
    let encoded = animate::encode(animation, quality, MAX_FRAMES as usize, |frame| {
        let image = DynamicImage::ImageRgba8(frame);
        let decoded = Decoded { image, orientation: header.orientation, profile: profile.clone() };
        pixels::make(&decoded, plan, Rgba([0, 0, 0, 0]))
    })?;
    let is_same_picture = plan.canvas == header.shown() && kind == Raster::Webp;
    Ok((!is_same_picture || encoded.len() < bytes.len()).then_some(encoded))
}

/// Decodes all frames of an animation, if it is small enough for renditions, so that one that is damaged is reported at
/// its upload.
pub(crate) fn check_animation(
    memory: &Memory,
    kind: Raster,
    bytes: &[u8],
    header: &Header,
    frames: u64,
) -> Result<(), MediaError> {
    let Some((mut animation, _reservation)) = open_animation(memory, kind, bytes, header, frames)? else {
        return Ok(());
    };
    animation.frames.try_for_each(|frame| frame.map(drop).map_err(decode::failed))
}

/// Opens an animation with the memory for its frames. Returns `None` if it has too many of them or too many pixels, or
/// no format of animations.
fn open_animation<'a>(
    memory: &'a Memory,
    kind: Raster,
    bytes: &'a [u8],
    header: &Header,
    frames: u64,
) -> Result<Option<(Animation<'a>, Reservation<'a>)>, MediaError> {
    let pixels = u64::from(header.width) * u64::from(header.height);
    if frames > MAX_FRAMES || frames * pixels > MAX_ANIMATED_PIXELS {
        return Ok(None);
    }
    // The decoder keeps two frames, and the encoder two and its own copy. A frame of a GIF may be larger than the
    // picture: then the decoder has it beside two pictures, while the encoder has one.
    let usual = pixels * 4 * 5 + bytes.len() as u64;
    let reservation = memory.reserve(usual.max(header.memory + pixels * 4 * 2))?;
    Ok(decode::animation(kind, bytes)?.map(|animation| (animation, reservation)))
}

/// Counts the frames without decoding them.
fn frames(kind: Raster, bytes: &[u8]) -> Result<u64, MediaError> {
    let cleaned = match kind {
        Raster::Gif => clean::clean_gif(bytes)?,
        Raster::Webp => clean::clean_webp(bytes)?,
        Raster::Png => clean::clean_png(bytes)?,
        Raster::Jpeg | Raster::Tiff => return Ok(1),
    };
    Ok(cleaned.frames)
}

/// The bytes for each pixel that a decoder needs beside its result.
fn scratch(kind: Raster, bytes: &[u8]) -> Result<u64, MediaError> {
    Ok(match kind {
        Raster::Jpeg => clean::scratch_of_jpeg(bytes),
        Raster::Png => 0,
        Raster::Gif => clean::clean_gif(bytes)?.scratch,
        Raster::Webp => clean::clean_webp(bytes)?.scratch,
        Raster::Tiff => 8,
    })
}

fn background(format: Format) -> Rgba<u8> {
    if format == Format::Jpeg { Rgba([255; 4]) } else { Rgba([0; 4]) }
}
