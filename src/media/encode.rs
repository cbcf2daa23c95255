//! Encodes pictures. The settings are a compromise between bytes and time; the same input always gives the same bytes.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, RgbaImage};
use ravif::{BitDepth, Img, RGBA8};
use webp::{PixelLayout, WebPConfig};

use crate::error::MediaError;
use crate::pixels::on_white;
use crate::rendition::Format;

/// The number of pixels above which pictures are made faster, and larger by 4 to 7 %: whoever asks first waits for
/// them.
const LARGE: u32 = 1_000_000;
/// 1 is slow and small, 10 is fast.
const AVIF_SPEED: u8 = 9;
const AVIF_SPEED_LARGE: u8 = 10;
/// 0 is fast, 6 is slow and small.
const WEBP_METHOD: i32 = 4;
const WEBP_METHOD_LARGE: i32 = 2;

/// Returns the quality if none is wanted. The scales of the formats differ; these look alike.
pub(crate) fn default_quality(format: Format) -> u8 {
    match format {
        Format::Avif => 55,
        Format::Webp => 75,
        Format::Jpeg => 80,
        Format::Png => 100,
    }
}

/// Encodes a picture with a quality from 1 to 100.
pub(crate) fn encode(image: &RgbaImage, format: Format, quality: u8) -> Result<Vec<u8>, MediaError> {
    match format {
        Format::Avif => avif(image, quality),
        Format::Webp => webp(image, quality),
        Format::Jpeg => jpeg(image, quality),
        Format::Png => png(image),
    }
}

fn avif(image: &RgbaImage, quality: u8) -> Result<Vec<u8>, MediaError> {
    let speed = if is_large(image) { AVIF_SPEED_LARGE } else { AVIF_SPEED };
    let encoder = ravif::Encoder::new()
        .with_quality(f32::from(quality.clamp(1, 100)))
        .with_alpha_quality(f32::from(quality.clamp(1, 100)))
        .with_speed(speed)
        .with_bit_depth(BitDepth::Eight)
        .with_num_threads(Some(1));
    let pixels: Vec<RGBA8> = image.pixels().map(|&image::Rgba([r, g, b, a])| RGBA8::new(r, g, b, a)).collect();
    // Of opaque pixels, it writes no alpha. `encode_rgb` would be compiled here, with all of the encoder.
    let encoded = encoder.encode_rgba(Img::new(&pixels, image.width() as usize, image.height() as usize));
    encoded.map(|encoded| encoded.avif_file).map_err(failed)
}

/// Encodes a WebP file with one frame.
pub(crate) fn webp(image: &RgbaImage, quality: u8) -> Result<Vec<u8>, MediaError> {
    let mut config = WebPConfig::new().map_err(|()| failed("libwebp has another version"))?;
    config.quality = f32::from(quality);
    config.method = if is_large(image) { WEBP_METHOD_LARGE } else { WEBP_METHOD };
    let rgb = if is_opaque(image) { Some(opaque(image)) } else { None };
    let (pixels, layout) = match &rgb {
        Some(rgb) => (rgb.as_slice(), PixelLayout::Rgb),
        None => (image.as_raw().as_slice(), PixelLayout::Rgba),
    };
    let encoder = webp::Encoder::new(pixels, layout, image.width(), image.height());
    let encoded = encoder.encode_advanced(&config).map_err(|error| failed(format!("{error:?}")))?;
    Ok(encoded.to_vec())
}

fn jpeg(image: &RgbaImage, quality: u8) -> Result<Vec<u8>, MediaError> {
    let pixels = if is_opaque(image) { opaque(image) } else { on_white(image) };
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
    encoder.encode(&pixels, image.width(), image.height(), ExtendedColorType::Rgb8).map_err(failed)?;
    Ok(bytes)
}

fn png(image: &RgbaImage) -> Result<Vec<u8>, MediaError> {
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
    let (width, height) = image.dimensions();
    let written = if is_opaque(image) {
        encoder.write_image(&opaque(image), width, height, ExtendedColorType::Rgb8)
    } else {
        encoder.write_image(image.as_raw(), width, height, ExtendedColorType::Rgba8)
    };
    written.map_err(failed)?;
    Ok(bytes)
}

fn is_large(image: &RgbaImage) -> bool {
    image.width() * image.height() > LARGE
}

fn is_opaque(image: &RgbaImage) -> bool {
    image.pixels().all(|pixel| pixel[3] == 255)
}

fn opaque(image: &RgbaImage) -> Vec<u8> {
    image.pixels().flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

fn failed(error: impl std::fmt::Display) -> MediaError {
    MediaError::broken(format!("it cannot be encoded: {error}"))
}
