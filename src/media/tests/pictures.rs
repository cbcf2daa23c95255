//! Makes the pictures of the tests.

use std::io::Cursor;

use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{Delay, DynamicImage, ExtendedColorType, Frame, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

/// A text that stands for private data in the metadata of the pictures.
pub(super) const SECRET: &[u8] = b"at home, 52.5200 N 13.4050 E";

pub(super) const RED: [u8; 3] = [220, 20, 20];
pub(super) const GREEN: [u8; 3] = [20, 200, 20];
pub(super) const BLUE: [u8; 3] = [20, 20, 220];
pub(super) const YELLOW: [u8; 3] = [220, 220, 20];

/// A picture with another color in each corner: red, green, blue, yellow, from left to right, from top to bottom.
pub(super) fn corners(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| match (x < width / 2, y < height / 2) {
        (true, true) => Rgb(RED),
        (false, true) => Rgb(GREEN),
        (true, false) => Rgb(BLUE),
        (false, false) => Rgb(YELLOW),
    })
}

/// A picture with gradients and edges, which compresses like a photo.
pub(super) fn photo(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let noise = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)) >> 13 & 7;
        let wave = ((f64::from(x) / 37.0).sin() * (f64::from(y) / 23.0).cos() * 60.0) as i32;
        let shade = |base: u32| (base as i32 + wave + noise as i32).clamp(0, 255) as u8;
        Rgb([shade(x * 200 / width), shade(y * 200 / height), shade(100)])
    })
}

/// A picture with a transparent left half and an opaque red right half.
pub(super) fn half_transparent(width: u32, height: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, _| if x < width / 2 { Rgba([0; 4]) } else { Rgba([220, 20, 20, 255]) })
}

pub(super) fn jpeg(image: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
    encoder.encode(image, image.width(), image.height(), ExtendedColorType::Rgb8).unwrap();
    bytes
}

pub(super) fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
    encoded(&image.into(), ImageFormat::Png)
}

pub(super) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

pub(super) fn png_with_profile(image: &RgbImage, profile: Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = PngEncoder::new(&mut bytes);
    encoder.set_icc_profile(profile).unwrap();
    encoder.write_image(image, image.width(), image.height(), ExtendedColorType::Rgb8).unwrap();
    bytes
}

/// An animation whose frames show a square that moves.
pub(super) fn gif(width: u32, height: u32, frames: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut bytes, 30);
    encoder.set_repeat(Repeat::Infinite).unwrap();
    for number in 0..frames {
        let image = RgbaImage::from_fn(width, height, |x, y| {
            let is_inside = x / 8 == number % (width / 8).max(1) && y < height / 2;
            if is_inside { Rgba([220, 20, 20, 255]) } else { Rgba([240, 240, 240, 255]) }
        });
        encoder.encode_frame(Frame::from_parts(image, 0, 0, Delay::from_numer_denom_ms(80, 1))).unwrap();
    }
    drop(encoder);
    bytes
}

/// EXIF data with a rotation, the name of a camera, and a position.
pub(super) fn exif(rotation: u8) -> Vec<u8> {
    let mut exif = b"Exif\0\0II*\0\x08\0\0\0".to_vec();
    exif.extend_from_slice(&3_u16.to_le_bytes());
    let mut entry = |tag: u16, kind: u16, count: u32, value: u32| {
        exif.extend_from_slice(&tag.to_le_bytes());
        exif.extend_from_slice(&kind.to_le_bytes());
        exif.extend_from_slice(&count.to_le_bytes());
        exif.extend_from_slice(&value.to_le_bytes());
    };
    entry(0x010F, 2, SECRET.len() as u32, 50);
    entry(0x0112, 3, 1, u32::from(rotation));
    entry(0x8825, 4, 1, 200);
    exif.extend_from_slice(&[0; 4]);
    exif.extend_from_slice(SECRET);
    exif
}

/// Inserts segments behind the start mark of a JPEG.
pub(super) fn with_segments(jpeg: &[u8], segments: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = jpeg[..2].to_vec();
    for (marker, contents) in segments {
        bytes.extend_from_slice(&[0xFF, *marker]);
        bytes.extend_from_slice(&(contents.len() as u16 + 2).to_be_bytes());
        bytes.extend_from_slice(contents);
    }
    bytes.extend_from_slice(&jpeg[2..]);
    bytes
}

/// Inserts chunks in front of the pixels of a PNG.
pub(super) fn with_chunks(png: &[u8], chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    with_chunks_at(33, png, chunks)
}

/// Inserts chunks behind the pixels.
pub(super) fn with_chunks_behind(png: &[u8], chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    with_chunks_at(png.len() - 12, png, chunks)
}

fn with_chunks_at(position: usize, png: &[u8], chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut bytes = png[..position].to_vec();
    for (kind, contents) in chunks {
        bytes.extend_from_slice(&(contents.len() as u32).to_be_bytes());
        bytes.extend_from_slice(*kind);
        bytes.extend_from_slice(contents);
        let checksum = crc([kind.as_slice(), contents].concat().as_slice());
        bytes.extend_from_slice(&checksum.to_be_bytes());
    }
    bytes.extend_from_slice(&png[position..]);
    bytes
}

pub(super) fn crc(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

/// A WebP file of chunks.
pub(super) fn riff(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut bytes = b"RIFF\0\0\0\0WEBP".to_vec();
    for (kind, contents) in chunks {
        bytes.extend_from_slice(*kind);
        bytes.extend_from_slice(&(contents.len() as u32).to_le_bytes());
        bytes.extend_from_slice(contents);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    let length = bytes.len() as u32 - 8;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// A lossless WebP file in the extended form, with EXIF and XMP.
pub(super) fn webp_with_metadata(image: &RgbImage, rotation: u8) -> Vec<u8> {
    let simple = encoded(&image.clone().into(), ImageFormat::WebP);
    let size = |number: u32| number.to_le_bytes()[..3].to_vec();
    let extended = [vec![0x0C, 0, 0, 0], size(image.width() - 1), size(image.height() - 1)].concat();
    let length = u32::from_le_bytes(simple[16..20].try_into().unwrap()) as usize;
    let exif = exif(rotation);
    riff(&[(b"VP8X", &extended), (b"VP8L", &simple[20..20 + length]), (b"EXIF", &exif[6..]), (b"XMP ", SECRET)])
}

/// A JPEG of one block with four components (CMYK) that all have one value, in the inverted form that Adobe writes.
pub(super) fn cmyk_jpeg(inks: [u8; 4]) -> Vec<u8> {
    let quantization = [&[0_u8][..], &[1; 64]].concat();
    // A table for differences with codes of 4 bits for the sizes 0 to 11, and one for the rest with only an end code.
    let mut differences = vec![0x00, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    differences.extend(0..12);
    let rest = [&[0x10, 1][..], &[0; 15], &[0]].concat();
    let frame = [&[8, 0, 8, 0, 8, 4][..], &[1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 4, 0x11, 0]].concat();
    let scan = [4, 1, 0, 2, 0, 3, 0, 4, 0, 0, 63, 0];
    let mut bits = String::new();
    for ink in inks {
        let value = (i32::from(ink) - 128) * 8;
        let size = 32 - value.unsigned_abs().leading_zeros();
        let number = if value < 0 { value + (1 << size) - 1 } else { value };
        bits += &format!("{size:04b}");
        if size > 0 {
            bits += &format!("{number:0width$b}", width = size as usize);
        }
        bits += "0";
    }
    while !bits.len().is_multiple_of(8) {
        bits.push('1');
    }
    let pixels =
        bits.as_bytes().chunks(8).map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap());
    let start = with_segments(
        &[0xFF, 0xD8],
        &[
            (0xEE, b"Adobe\0\x64\0\0\0\0\0"),
            (0xDB, &quantization),
            (0xC0, &frame),
            (0xC4, &differences),
            (0xC4, &rest),
            (0xDA, &scan),
        ],
    );
    let pixels = pixels.flat_map(|byte| if byte == 0xFF { vec![0xFF, 0] } else { vec![byte] });
    start.into_iter().chain(pixels).chain([0xFF, 0xD9]).collect()
}
