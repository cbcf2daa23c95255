//! Resizes pictures, turns them upright, and brings their colors to sRGB.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x4;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::{ColorType, DynamicImage, Rgba, RgbaImage, imageops};
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

/// The largest factor of the first step of resizing, with which its sums fit into 32 bits.
const MAX_FACTOR: u32 = 128;
/// The number of pixels up to which the first step leaves at least 1.5 times the wanted size.
const LARGE: f64 = 64_000_000.0;

/// Resizes a part of a picture in two steps: by a whole number with the mean of each square, which is fast and needs no
/// other copy of a large picture; and the rest, which is a factor of 1.5 to 3, with Lanczos.
pub(crate) fn resize(image: &DynamicImage, part: Rectangle, size: (u32, u32)) -> Result<RgbaImage, MediaError> {
    let factor = first_factor(part, size);
    let window = Window::around(part, image.width(), image.height());
    let small = match image {
        DynamicImage::ImageLuma8(image) => shrink_opaque(&window.lines::<1>(image, image.width()), factor),
        DynamicImage::ImageRgb8(image) => shrink_opaque(&window.lines::<3>(image, image.width()), factor),
        DynamicImage::ImageRgba8(image) => shrink(&window.lines::<4>(image, image.width()), factor),
        other => return resize(&narrow(other), part, size),
    };
    let scale = f64::from(factor);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3)).crop(
        (part.left - f64::from(window.left)) / scale,
        (part.top - f64::from(window.top)) / scale,
        part.width / scale,
        part.height / scale,
    );
    let (width, height) = (window.width.div_ceil(factor), window.height.div_ceil(factor));
    let source = TypedImageRef::<U8x4>::from_buffer(width, height, &small).map_err(unexpected)?;
    let mut target = TypedImage::<U8x4>::new(size.0, size.1);
    Resizer::new().resize_typed(&source, &mut target, &options).map_err(unexpected)?;
    let pixels = target.pixels().iter().flat_map(|pixel| pixel.0).collect();
    RgbaImage::from_raw(size.0, size.1, pixels).ok_or_else(|| unexpected("a buffer has another size"))
}

/// Returns the memory that resizing a part takes.
pub(crate) fn memory_to_resize(part: Rectangle, size: (u32, u32)) -> u64 {
    let factor = f64::from(first_factor(part, size));
    let (width, height) = (part.width / factor + 2.0, part.height / factor + 2.0);
    // Lanczos changes one side first, and the other then.
    let between = f64::from(size.0.max(size.1)) * width.max(height);
    (4.0 * (width * height + between + 2.0 * f64::from(size.0) * f64::from(size.1))) as u64
}

fn first_factor(part: Rectangle, size: (u32, u32)) -> u32 {
    let scale = (part.width / f64::from(size.0)).min(part.height / f64::from(size.1));
    let rest = if part.width * part.height > LARGE { 1.0 } else { 1.5 };
    ((scale / rest).max(1.0) as u32).min(MAX_FACTOR)
}

/// Brings a picture to one of the kinds of pixels that are resized. Numbers beyond 0 to 1 (HDR) are cut.
pub(crate) fn narrow(image: &DynamicImage) -> DynamicImage {
    match image.color() {
        ColorType::L8 | ColorType::L16 => DynamicImage::ImageLuma8(image.to_luma8()),
        ColorType::Rgb8 | ColorType::Rgb16 | ColorType::Rgb32F => DynamicImage::ImageRgb8(image.to_rgb8()),
        _ => DynamicImage::ImageRgba8(image.to_rgba8()),
    }
}

/// The whole pixels that a part touches.
#[derive(Debug, Clone, Copy)]
struct Window {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl Window {
    fn around(part: Rectangle, width: u32, height: u32) -> Window {
        let (left, top) = ((part.left as u32).min(width - 1), (part.top as u32).min(height - 1));
        let right = ((part.left + part.width).ceil() as u32).clamp(left + 1, width);
        let bottom = ((part.top + part.height).ceil() as u32).clamp(top + 1, height);
        Window { left, top, width: right - left, height: bottom - top }
    }

    /// Returns the lines of the window in a picture of this width with `N` channels.
    fn lines<const N: usize>(self, bytes: &[u8], width: u32) -> Vec<&[[u8; N]]> {
        let (pixels, _) = bytes.as_chunks::<N>();
        let lines = pixels.chunks_exact(width as usize).skip(self.top as usize).take(self.height as usize);
        lines.map(|line| &line[self.left as usize..][..self.width as usize]).collect()
    }
}

/// Makes one pixel with four channels of each square of pixels with one or three channels.
fn shrink_opaque<const N: usize>(lines: &[&[[u8; N]]], factor: u32) -> Vec<u8> {
    let factor = factor as usize;
    let width = lines.first().map_or(0, |line| line.len());
    let mut small = Vec::with_capacity(width.div_ceil(factor) * lines.len().div_ceil(factor) * 4);
    if factor == 1 {
        let pixels = lines.iter().copied().flatten();
        small.extend(pixels.flat_map(|pixel| [pixel[0], pixel[1 % N], pixel[2 % N], 255]));
        return small;
    }
    // Adding whole lines first lets the compiler add many bytes at once. `MAX_FACTOR` bytes fit into 16 bits.
    let mut sums = vec![[0_u16; N]; width];
    for group in lines.chunks(factor) {
        sums.fill([0; N]);
        for line in group {
            let channels = sums.as_flattened_mut().iter_mut().zip(line.as_flattened());
            channels.for_each(|(sum, &byte)| *sum += u16::from(byte));
        }
        for square in sums.chunks(factor) {
            let pixels = (square.len() * group.len()) as u32;
            let mean = |channel: usize| {
                let sum: u32 = square.iter().map(|sum| u32::from(sum[channel % N])).sum();
                ((sum + pixels / 2) / pixels) as u8
            };
            small.extend_from_slice(&[mean(0), mean(1), mean(2), 255]);
        }
    }
    small
}

/// Makes one pixel of each square of pixels. Colors count by their alpha, so that invisible ones do not shine through.
fn shrink(lines: &[&[[u8; 4]]], factor: u32) -> Vec<u8> {
    if factor == 1 {
        return lines.concat().into_flattened();
    }
    let factor = factor as usize;
    let columns = lines.first().map_or(0, |line| line.len().div_ceil(factor));
    let mut small = Vec::with_capacity(columns * lines.len().div_ceil(factor) * 4);
    for group in lines.chunks(factor) {
        let mut sums = vec![[0_u32; 4]; columns];
        let mut sizes = vec![0_u32; columns];
        for line in group {
            for ((sum, size), square) in sums.iter_mut().zip(&mut sizes).zip(line.chunks(factor)) {
                square.iter().for_each(|pixel| add(sum, pixel));
                *size += square.len() as u32;
            }
        }
        small.extend(sums.iter().zip(sizes).flat_map(|(sum, size)| mean(sum, size)));
    }
    small
}

fn add(sum: &mut [u32; 4], pixel: &[u8; 4]) {
    let alpha = u32::from(pixel[3]);
    for channel in 0..3 {
        sum[channel] += u32::from(pixel[channel]) * alpha;
    }
    sum[3] += alpha;
}

fn mean([red, green, blue, alpha]: &[u32; 4], pixels: u32) -> [u8; 4] {
    let color = |sum: &u32| if *alpha == 0 { 0 } else { ((sum + alpha / 2) / alpha) as u8 };
    [color(red), color(green), color(blue), ((alpha + pixels / 2) / pixels) as u8]
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
