//! Random bytes, and pictures with random damage: each is refused or accepted, and nothing panics or takes long.

use std::sync::LazyLock;

use image::{DynamicImage, ImageFormat};
use proptest::prelude::*;

use super::Store;
use super::pictures::{self, corners, exif, with_chunks, with_segments};
use crate::decode::Raster;
use crate::rendition::{Fit, Format, Source, Wanted};
use crate::workers::Memory;
use crate::{Hash, MediaError, clean, render, svg};

/// Valid pictures of all formats.
static PICTURES: LazyLock<Vec<(Raster, Vec<u8>)>> = LazyLock::new(|| {
    let image = pictures::photo(40, 30);
    let wide = DynamicImage::from(image.clone()).into_rgba16();
    vec![
        (Raster::Jpeg, with_segments(&pictures::jpeg(&image), &[(0xE1, &exif(6))])),
        (Raster::Jpeg, pictures::cmyk_jpeg([1, 2, 3, 4])),
        (Raster::Png, with_chunks(&pictures::png(image.clone()), &[(b"eXIf", &exif(6)[6..])])),
        (Raster::Png, pictures::png(wide.clone())),
        (Raster::Gif, pictures::gif(32, 24, 3)),
        (Raster::Webp, pictures::webp_with_metadata(&image, 6)),
        (Raster::Webp, crate::encode::webp(&pictures::half_transparent(20, 20), 50).unwrap()),
        (Raster::Tiff, pictures::encoded(&wide.into(), ImageFormat::Tiff)),
        (Raster::Tiff, pictures::encoded(&corners(20, 20).into(), ImageFormat::Tiff)),
    ]
});

/// Cleans and renders bytes as a picture, as an upload and a later request do.
pub(super) fn pass(kind: Raster, bytes: &[u8], is_animated: bool) -> Result<(), MediaError> {
    let cleaned = match kind {
        Raster::Jpeg => clean::clean_jpeg(bytes)?,
        Raster::Png => clean::clean_png(bytes)?,
        Raster::Gif => clean::clean_gif(bytes)?,
        Raster::Webp => clean::clean_webp(bytes)?,
        Raster::Tiff => clean::clean_tiff(bytes)?,
    };
    let source =
        Source { hash: Hash::of(b""), mime: "image/x".to_owned(), bytes: 0, width: 40, height: 30, is_animated };
    let focal = (0.1, 0.9);
    let wanted =
        Wanted { width: Some(16), height: Some(16), fit: Fit::Cover, format: Format::Webp, quality: None, focal };
    render::render(&Memory::default(), kind, &cleaned.bytes, &source, &wanted).map(drop)
}

/// Returns the message of a panic. The threads for pictures turn one into an error, but none is known.
fn panic_of(kind: Raster, bytes: &[u8]) -> Option<String> {
    let panic = std::panic::catch_unwind(|| pass(kind, bytes, kind == Raster::Gif)).err()?;
    let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
    Some(text.unwrap_or_default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn damaged_pictures_are_refused_or_accepted(
        number in 0..9_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        length in any::<prop::sample::Index>(),
        is_cut in prop::bool::weighted(0.2),
    ) {
        let (kind, mut bytes) = PICTURES[number].clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(length.index(bytes.len()));
        }
        prop_assert_eq!(panic_of(kind, &bytes), None);
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), number in 0..9_usize, head in 0..40_usize) {
        let (kind, picture) = &PICTURES[number];
        let bytes = [&picture[..head], &bytes].concat();
        prop_assert_eq!(panic_of(*kind, &bytes), None);
        let _ = clean::clean_heif(&bytes);
        let _ = clean::size_of_heif(&bytes);
        let _ = svg::check(&bytes);
    }

    #[test]
    fn damaged_avif_is_cleaned_without_a_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
    ) {
        static AVIF: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let pixels = vec![ravif::RGBA8::new(1, 2, 3, 255); 64];
            let encoder = ravif::Encoder::new().with_speed(10).with_exif(exif(1));
            encoder.encode_rgba(ravif::Img::new(&pixels, 8, 8)).unwrap().avif_file
        });
        let mut bytes = AVIF.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(cleaned) = clean::clean_heif(&bytes) {
            prop_assert!(cleaned.len() <= bytes.len());
        }
        let _ = clean::size_of_heif(&bytes);
        for container in [clean::Container::Video, clean::Container::Audio] {
            let cleaned = clean::clean_boxes(&mut std::io::Cursor::new(bytes.clone()), container).unwrap();
            prop_assert!(cleaned.bytes <= bytes.len() as u64);
        }
    }

    #[test]
    fn texts_like_svg_are_refused_or_accepted(text in "(<svg( [a-z]+='[^<]{0,9}')*/?>|<!DOCTYPE [^>]{0,20}>|<!ENTITY a '[^']{0,9}'>|&[a-z]{1,3};|</[a-z]+>|<[a-z]{1,3}>|.){0,20}") {
        let _ = svg::check(text.as_bytes());
    }
}

#[tokio::test]
async fn random_bytes_have_some_type() {
    let store = Store::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for head in [
        b"".as_slice(),
        b"PK\x03\x04",
        &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1],
        b"\0\0\0\x18ftyp",
        b"RIFF",
        b"<?xml",
        &[0xFF, 0xFE],
    ] {
        for _ in 0..40 {
            let tree = prop::collection::vec(any::<u8>(), 1..200).new_tree(&mut runner).unwrap();
            let bytes = [head, &proptest::strategy::ValueTree::current(&tree)].concat();
            let _ = store.upload("file.bin", &bytes).await;
        }
    }
    assert_eq!(store.uploads(), Vec::<String>::new());
}
