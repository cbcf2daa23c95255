//! Pictures that are as hard to encode as photos: shapes of all sizes, edges, and noise.

use image::codecs::jpeg::JpegEncoder;
use image::{Rgb, RgbImage};

use crate::Result;

/// Returns a picture of this size as a JPEG with the quality of a camera.
pub(crate) fn photo(width: u32, height: u32) -> Result<Vec<u8>> {
    let mut random = u64::from(width) * 7_919 + u64::from(height);
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 40) as f32 / (1 << 24) as f32
    };
    let waves: Vec<[f32; 6]> = (0..12)
        .map(|wave| {
            let frequency = 1.7_f32.powi(wave) * 2.0;
            [frequency * (next() - 0.5), frequency * (next() - 0.5), next() * 6.3, next(), next(), next()]
        })
        .collect();
    let disks: Vec<[f32; 6]> =
        (0..40).map(|_| [next(), next(), 0.01 + next() * next() * 0.2, next(), next(), next()]).collect();
    // Most pixels of a photo belong to soft areas, so rows of shapes are computed at a quarter of the size.
    let (small_width, small_height) = (width.div_ceil(4), height.div_ceil(4));
    let small = RgbImage::from_fn(small_width, small_height, |x, y| {
        let (u, v) = (x as f32 / small_width as f32, y as f32 / small_width as f32);
        let mut color = [0.5_f32; 3];
        for [a, b, phase, red, green, blue] in &waves {
            let wave = (u * a * 20.0 + v * b * 20.0 + phase).sin() * 0.12;
            color = [color[0] + wave * red, color[1] + wave * green, color[2] + wave * blue];
        }
        for [at_u, at_v, radius, red, green, blue] in &disks {
            if (u - at_u).hypot(v - at_v) < *radius {
                color = [0.6 * red + 0.4 * color[0], 0.6 * green + 0.4 * color[1], 0.6 * blue + 0.4 * color[2]];
            }
        }
        Rgb(color.map(|channel| (channel.clamp(0.0, 1.0) * 255.0) as u8))
    });
    let mut picture = image::imageops::resize(&small, width, height, image::imageops::FilterType::Triangle);
    for pixel in picture.pixels_mut() {
        let noise = (next() + next() - 1.0) * 14.0;
        pixel.0 = pixel.0.map(|channel| (f32::from(channel) + noise).clamp(0.0, 255.0) as u8);
    }
    let mut bytes = Vec::new();
    picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, 90))?;
    Ok(bytes)
}

/// Returns the same pixels in another file. A comment would be removed by the upload, so the density differs.
pub(crate) fn as_other_file(jpeg: &[u8], number: u32) -> Vec<u8> {
    let mut bytes = jpeg.to_vec();
    // The header JFIF follows the mark of the beginning, and has the density at 14.
    bytes[14..16].copy_from_slice(&(number as u16 + 2).to_be_bytes());
    bytes
}
