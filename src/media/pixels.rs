//! Resizes pictures, turns them upright, and brings their colors to sRGB.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::{DynamicImage, Rgba, RgbaImage, imageops};
use moxcms::{ColorProfile, DataColorSpace, Layout, TransformOptions};

use crate::decode::Decoded;
use crate::error::MediaError;
use crate::geometry::{Plan, Rectangle, stored};

/// Makes the planned picture: upright, in sRGB, with 8 bits for each channel.
pub(crate) fn make(decoded: &Decoded, plan: &Plan, background: Rgba<u8>) -> Result<RgbaImage, MediaError> {
    let orientation = decoded.orientation;
    let is_turned = orientation.to_exif() >= 5;
    let (width, height) = (decoded.image.width(), decoded.image.height());
    let shown = if is_turned { (height, width) } else { (width, height) };
    let size = if is_turned { (plan.size.1, plan.size.0) } else { plan.size };
    let crop = stored(plan.crop, shown, orientation);
    let mut image = DynamicImage::ImageRgba8(resize(&decoded.image, crop, size)?);
    image.apply_orientation(orientation);
    let mut image = image.into_rgba8();
    if let Some(profile) = &decoded.profile {
        to_srgb(&mut image, profile);
    }
    Ok(place(image, plan.canvas, background))
}

/// Resizes a part of a picture. The channels are as many as the source has until it is small, which saves most of the
/// time and memory.
pub(crate) fn resize(image: &DynamicImage, part: Rectangle, size: (u32, u32)) -> Result<RgbaImage, MediaError> {
    let kind = match image {
        DynamicImage::ImageLuma8(_) => PixelType::U8,
        DynamicImage::ImageLumaA8(_) => PixelType::U8x2,
        DynamicImage::ImageRgb8(_) => PixelType::U8x3,
        DynamicImage::ImageRgba8(_) => PixelType::U8x4,
        DynamicImage::ImageLuma16(_) => PixelType::U16,
        DynamicImage::ImageLumaA16(_) => PixelType::U16x2,
        DynamicImage::ImageRgb16(_) => PixelType::U16x3,
        DynamicImage::ImageRgba16(_) => PixelType::U16x4,
        // Numbers beyond 0 to 1 (HDR) are cut.
        other => return resize(&DynamicImage::ImageRgba8(other.to_rgba8()), part, size),
    };
    let source = ImageRef::new(image.width(), image.height(), image.as_bytes(), kind).map_err(unexpected)?;
    let mut target = Image::new(size.0, size.1, kind);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3)).crop(
        part.left,
        part.top,
        part.width,
        part.height,
    );
    Resizer::new().resize(&source, &mut target, &options).map_err(unexpected)?;
    let pixels = expand(target.buffer(), kind);
    RgbaImage::from_raw(size.0, size.1, pixels).ok_or_else(|| unexpected("a buffer has another size"))
}

/// Brings pixels to four channels of 8 bits.
fn expand(bytes: &[u8], kind: PixelType) -> Vec<u8> {
    let narrow = |pair: &[u8]| {
        let wide = u32::from(u16::from_ne_bytes([pair[0], pair[1]]));
        ((wide * 255 + 32_767) / 65_535) as u8
    };
    let narrowed = |bytes: &[u8]| bytes.chunks_exact(2).map(narrow).collect::<Vec<u8>>();
    let gray = |bytes: &[u8]| bytes.iter().flat_map(|&l| [l, l, l, 255]).collect();
    let gray_alpha = |bytes: &[u8]| bytes.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect();
    let rgb = |bytes: &[u8]| bytes.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
    match kind {
        PixelType::U8 => gray(bytes),
        PixelType::U8x2 => gray_alpha(bytes),
        PixelType::U8x3 => rgb(bytes),
        PixelType::U16 => gray(&narrowed(bytes)),
        PixelType::U16x2 => gray_alpha(&narrowed(bytes)),
        PixelType::U16x3 => rgb(&narrowed(bytes)),
        PixelType::U16x4 => narrowed(bytes),
        _ => bytes.to_vec(),
    }
}

/// Converts colors of a profile to sRGB, which all formats mean without a profile. A profile that cannot be used is
/// ignored: also one for CMYK, because the decoder has converted the pixels to RGB already, and one for gray, whose
/// difference is hardly visible.
pub(crate) fn to_srgb(image: &mut RgbaImage, profile: &[u8]) {
    let Ok(profile) = ColorProfile::new_from_slice(profile) else { return };
    if profile.color_space != DataColorSpace::Rgb {
        return;
    }
    let srgb = ColorProfile::new_srgb();
    let options = TransformOptions::default();
    let Ok(transform) = profile.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgba, options) else { return };
    let mut converted = vec![0; image.as_raw().len()];
    if transform.transform(image.as_raw(), &mut converted).is_ok() {
        image.copy_from_slice(&converted);
    }
}

/// Puts a picture into the middle of a canvas, if that is larger.
fn place(image: RgbaImage, canvas: (u32, u32), background: Rgba<u8>) -> RgbaImage {
    if image.dimensions() == canvas {
        return image;
    }
    let mut placed = RgbaImage::from_pixel(canvas.0, canvas.1, background);
    let left = i64::from(canvas.0.saturating_sub(image.width()) / 2);
    let top = i64::from(canvas.1.saturating_sub(image.height()) / 2);
    imageops::replace(&mut placed, &image, left, top);
    placed
}

/// Puts a picture in front of white, for formats without transparency.
pub(crate) fn on_white(image: &RgbaImage) -> Vec<u8> {
    let mix = |color: u8, alpha: u8| {
        let (color, alpha) = (u32::from(color), u32::from(alpha));
        ((color * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    image.pixels().flat_map(|Rgba([r, g, b, a])| [mix(*r, *a), mix(*g, *a), mix(*b, *a)]).collect()
}

/// Makes a thumbhash, in Base64.
pub(crate) fn placeholder(decoded: &Decoded) -> Result<String, MediaError> {
    use base64::Engine;
    let (width, height) = (f64::from(decoded.image.width()), f64::from(decoded.image.height()));
    let upright = decoded.orientation.to_exif() < 5;
    let (width, height) = if upright { (width, height) } else { (height, width) };
    let factor = (100.0 / width.max(height)).min(1.0);
    let size = ((width * factor).round().max(1.0) as u32, (height * factor).round().max(1.0) as u32);
    let plan = Plan { crop: Rectangle { left: 0.0, top: 0.0, width, height }, size, canvas: size };
    let small = make(decoded, &plan, Rgba([0, 0, 0, 0]))?;
    let hash = thumbhash::rgba_to_thumb_hash(size.0 as usize, size.1 as usize, small.as_raw());
    Ok(base64::engine::general_purpose::STANDARD.encode(hash))
}

fn unexpected(error: impl std::fmt::Display) -> MediaError {
    MediaError::broken(format!("it cannot be resized: {error}"))
}
