//! Renditions: sizes, crops, formats, and how they are kept.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use image::codecs::webp::WebPDecoder;
use image::{AnimationDecoder, DynamicImage, ImageFormat, Rgba, RgbaImage};

use super::Store;
use super::pictures::{self, BLUE, GREEN, RED, YELLOW, corners, exif, jpeg, png, with_chunks, with_segments};
use crate::{Fit, Format, MadePicture, MediaError, Rendition, RenditionLimits, Renditions, Source, Wanted};

const LIMITS: RenditionLimits = RenditionLimits { cache_bytes: 100 << 20, memory_bytes: 1 << 20 };

/// The client of all requests.
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn open(store: &Store, limits: RenditionLimits) -> Renditions {
    Renditions::open(&folder(store), store.files.clone(), limits).unwrap()
}

fn folder(store: &Store) -> PathBuf {
    store.folder.path().join("renditions")
}

async fn source(store: &Store, bytes: &[u8]) -> Source {
    let taken = store.upload("picture", bytes).await.unwrap();
    let picture = taken.picture.unwrap();
    Source {
        hash: taken.hash,
        mime: taken.mime,
        bytes: taken.bytes,
        width: picture.width,
        height: picture.height,
        is_animated: picture.is_animated,
    }
}

fn wanted(width: u32, height: u32, fit: Fit, format: Format) -> Wanted {
    let set = |side: u32| (side > 0).then_some(side);
    Wanted { width: set(width), height: set(height), fit, format, quality: None, focal: (0.5, 0.5) }
}

async fn make(renditions: &Renditions, source: &Source, wanted: &Wanted) -> MadePicture {
    match renditions.get(source, wanted, CLIENT).await.unwrap() {
        Rendition::Made(made) => made,
        Rendition::Original | Rendition::Failed => panic!("{wanted:?} is the original"),
    }
}

/// Decodes everything but AVIF.
fn decode(made: &MadePicture) -> RgbaImage {
    let format = ImageFormat::from_mime_type(made.mime).unwrap();
    image::load_from_memory_with_format(&made.bytes, format).unwrap().into_rgba8()
}

#[track_caller]
fn assert_close(found: Rgba<u8>, expected: [u8; 3]) {
    let distance = (0..3).map(|i| found[i].abs_diff(expected[i])).max().unwrap();
    assert!(distance < 25, "{found:?} is not {expected:?}");
}

#[tokio::test]
async fn sizes_follow_the_fit_and_nothing_is_enlarged() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let source = source(&store, &png(corners(400, 200))).await;
    for (width, height, fit, expected) in [
        (100, 0, Fit::Inside, (100, 50)),
        (0, 50, Fit::Inside, (100, 50)),
        (0, 0, Fit::Inside, (400, 200)),
        (100, 100, Fit::Inside, (100, 50)),
        (100, 100, Fit::Cover, (100, 100)),
        (100, 100, Fit::Contain, (100, 100)),
        (800, 0, Fit::Cover, (400, 200)),
        (800, 800, Fit::Inside, (400, 200)),
        (800, 800, Fit::Cover, (200, 200)),
        (800, 800, Fit::Contain, (400, 400)),
        (1, 0, Fit::Inside, (1, 1)),
        (4000, 1, Fit::Cover, (400, 1)),
    ] {
        for format in [Format::Webp, Format::Jpeg, Format::Png] {
            let wanted = wanted(width, height, fit, format);
            match renditions.get(&source, &wanted, CLIENT).await.unwrap() {
                Rendition::Made(made) => assert_eq!(decode(&made).dimensions(), expected, "{wanted:?}"),
                // The source has this size and format, and is smaller.
                Rendition::Original => assert_eq!((expected, format), ((400, 200), Format::Png), "{wanted:?}"),
                Rendition::Failed => panic!("{wanted:?} failed"),
            }
        }
    }
}

#[tokio::test]
async fn a_cover_is_cropped_around_the_focal_point() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let source = source(&store, &png(corners(400, 200))).await;
    for (focal, left, right) in [
        ((0.0, 0.5), RED, RED),
        ((1.0, 0.5), GREEN, GREEN),
        ((0.5, 0.5), RED, GREEN),
        ((0.25, 0.0), RED, RED),
        ((f32::NAN, 7.0), RED, GREEN),
    ] {
        let wanted = Wanted { focal, ..wanted(100, 100, Fit::Cover, Format::Png) };
        let image = decode(&make(&renditions, &source, &wanted).await);
        assert_close(*image.get_pixel(5, 5), left);
        assert_close(*image.get_pixel(94, 5), right);
    }
    for (focal, top) in [(0.0, RED), (1.0, BLUE)] {
        let wanted = Wanted { focal: (0.0, focal), ..wanted(100, 25, Fit::Cover, Format::Png) };
        let image = decode(&make(&renditions, &source, &wanted).await);
        assert_close(*image.get_pixel(5, 2), top);
    }
}

/// The colors of the corners as each rotation shows them: from left to right, from top to bottom.
const ROTATIONS: [[[u8; 3]; 4]; 8] = [
    [RED, GREEN, BLUE, YELLOW],
    [GREEN, RED, YELLOW, BLUE],
    [YELLOW, BLUE, GREEN, RED],
    [BLUE, YELLOW, RED, GREEN],
    [RED, BLUE, GREEN, YELLOW],
    [BLUE, RED, YELLOW, GREEN],
    [YELLOW, GREEN, BLUE, RED],
    [GREEN, YELLOW, RED, BLUE],
];

#[tokio::test]
async fn renditions_are_upright() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let image = corners(120, 80);
    for (rotation, colors) in (1..=8).zip(ROTATIONS) {
        for bytes in [
            with_segments(&jpeg(&image), &[(0xE1, &exif(rotation))]),
            with_chunks(&png(image.clone()), &[(b"eXIf", &exif(rotation)[6..])]),
            pictures::webp_with_metadata(&image, rotation),
        ] {
            let source = source(&store, &bytes).await;
            let (width, height) = if rotation >= 5 { (40, 60) } else { (60, 40) };
            let image = decode(&make(&renditions, &source, &wanted(width, height, Fit::Inside, Format::Png)).await);
            assert_eq!(image.dimensions(), (width, height), "{rotation}");
            for (corner, color) in
                [(5, 5), (width - 6, 5), (5, height - 6), (width - 6, height - 6)].into_iter().zip(colors)
            {
                assert_close(*image.get_pixel(corner.0, corner.1), color);
            }
            // The focal point is one of the shown picture: the bottom left corner.
            let focused = Wanted { focal: (0.0, 1.0), ..wanted(20, 20, Fit::Cover, Format::Png) };
            let image = decode(&make(&renditions, &source, &focused).await);
            assert_close(*image.get_pixel(2, 17), colors[2]);
        }
    }
}

#[tokio::test]
async fn transparency_stays_or_becomes_white() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let source = source(&store, &png(pictures::half_transparent(80, 40))).await;
    for format in [Format::Png, Format::Webp, Format::Jpeg] {
        let image = decode(&make(&renditions, &source, &wanted(40, 0, Fit::Inside, format)).await);
        let clear = *image.get_pixel(4, 10);
        match format {
            Format::Jpeg => assert_close(clear, [255, 255, 255]),
            _ => assert_eq!(clear[3], 0, "{format:?}"),
        }
        assert_close(*image.get_pixel(35, 10), [220, 20, 20]);
        assert_eq!(image.get_pixel(35, 10)[3], 255);
        // Alpha is multiplied in before resizing, so no dark seam appears at the edge.
        let edge = image.get_pixel(20, 10);
        assert!(edge[3] < 128 || edge[0] > 180, "{format:?}: {edge:?}");
        let padded = decode(&make(&renditions, &source, &wanted(40, 40, Fit::Contain, format)).await);
        match format {
            Format::Jpeg => assert_close(*padded.get_pixel(35, 2), [255, 255, 255]),
            _ => assert_eq!(padded.get_pixel(35, 2)[3], 0),
        }
        assert_close(*padded.get_pixel(35, 20), [220, 20, 20]);
    }
    let avif = make(&renditions, &source, &wanted(40, 0, Fit::Inside, Format::Avif)).await;
    assert_eq!(avif.mime, "image/avif");
    assert_eq!(crate::clean::size_of_heif(&avif.bytes), Some((40, 20)));
    // The picture of the transparency is an item of its own.
    assert!(super::contains(&avif.bytes, b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"));
}

#[tokio::test]
async fn gray_wide_and_cmyk_pictures_have_their_colors() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let gray = DynamicImage::from(corners(40, 40)).into_luma8();
    let luma = gray.get_pixel(2, 2)[0];
    let deep = DynamicImage::from(corners(40, 40)).into_rgb16();
    let deep_gray = DynamicImage::from(gray.clone()).into_luma_alpha16();
    for (name, bytes, expected) in [
        ("gray jpeg", pictures::encoded(&gray.clone().into(), ImageFormat::Jpeg), [luma; 3]),
        ("gray png", png(gray.clone()), [luma; 3]),
        ("16-bit png", png(deep.clone()), RED),
        ("16-bit gray png", png(deep_gray), [luma; 3]),
        ("16-bit tiff", pictures::encoded(&deep.into(), ImageFormat::Tiff), RED),
        // Adobe stores inks inverted: no cyan, all magenta, all yellow, no black.
        ("cmyk jpeg", pictures::cmyk_jpeg([255, 0, 0, 255]), [255, 0, 0]),
        ("cmyk jpeg", pictures::cmyk_jpeg([255, 255, 255, 0]), [0, 0, 0]),
    ] {
        let source = source(&store, &bytes).await;
        for format in [Format::Png, Format::Webp, Format::Jpeg] {
            let side = source.width / 2;
            let image = decode(&make(&renditions, &source, &wanted(side, side, Fit::Cover, format)).await);
            let found = *image.get_pixel(1, 1);
            let distance = (0..3).map(|i| found[i].abs_diff(expected[i])).max().unwrap();
            assert!(distance < 25, "{name} {format:?}: {found:?} is not {expected:?}");
        }
    }
}

#[tokio::test]
async fn colors_of_a_profile_become_those_of_srgb() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let image = image::RgbImage::from_pixel(32, 32, image::Rgb([200, 100, 50]));
    let profile = moxcms::ColorProfile::new_display_p3().encode().unwrap();
    let source = source(&store, &pictures::png_with_profile(&image, profile)).await;
    let found = *decode(&make(&renditions, &source, &wanted(16, 0, Fit::Inside, Format::Png)).await).get_pixel(8, 8);
    // Computed from the matrices of Display P3 and sRGB.
    for (channel, expected) in [215, 93, 31].into_iter().enumerate() {
        assert!(found[channel].abs_diff(expected) <= 3, "{found:?}");
    }
}

#[tokio::test]
async fn only_a_picture_with_several_frames_counts_as_animated() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let photo = pictures::photo(400, 300);
    let webp = pictures::encoded(&photo.clone().into(), ImageFormat::WebP);
    let gif = |frames: u32| pictures::gif(64, 64, frames);
    let animated = source(&store, &gif(6)).await;
    let made = make(&renditions, &animated, &wanted(32, 0, Fit::Inside, Format::Webp)).await.bytes.to_vec();
    let still_gif = pictures::encoded(&photo.clone().into(), ImageFormat::Gif);
    assert!(still_gif.len() > 20_000, "the first bytes do not decide");
    for (name, bytes, expected) in [
        ("gif", gif(1), false),
        ("large gif", still_gif, false),
        ("animated gif", gif(2), true),
        ("webp", webp, false),
        ("animated webp", made, true),
        ("webp with metadata", pictures::webp_with_metadata(&photo, 6), false),
        ("png", png(photo.clone()), false),
        ("jpeg", jpeg(&photo), false),
    ] {
        let Source { hash, mime, is_animated, .. } = source(&store, &bytes).await;
        assert_eq!(renditions.is_animated(&hash, &mime).await.unwrap(), expected, "{name}");
        assert_eq!(is_animated, expected, "{name}");
    }
    let announced = |frames: u8| with_chunks(&png(photo.clone()), &[(b"acTL", &[0, 0, 0, frames, 0, 0, 0, 0])]);
    for (frames, expected) in [(1, false), (2, true)] {
        assert_eq!(crate::clean::is_animated(crate::decode::Raster::Png, &announced(frames)).unwrap(), expected);
    }
    // A picture that stands still is made in every format, and is one frame in all of them.
    let still = source(&store, &gif(1)).await;
    for format in [Format::Webp, Format::Avif, Format::Png] {
        let made = make(&renditions, &still, &wanted(32, 0, Fit::Inside, format)).await;
        assert_eq!(made.mime, format.mime());
        assert!(format != Format::Webp || !made.bytes.windows(4).any(|chunk| chunk == b"ANIM"));
    }
}

#[tokio::test]
async fn a_file_is_read_once_for_all_who_ask_if_it_is_animated() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let Source { hash, mime, .. } = source(&store, &pictures::gif(64, 64, 6)).await;
    let asked = (0..50).map(|_| renditions.is_animated(&hash, &mime));
    for found in futures_util::future::join_all(asked).await {
        assert!(found.unwrap());
    }
    assert_eq!(renditions.searched(), 1);
    // An error is not remembered.
    let missing = crate::Hash::of(b"missing");
    for _ in 0..2 {
        assert!(matches!(renditions.is_animated(&missing, &mime).await, Err(MediaError::Missing { .. })));
    }
    assert_eq!(renditions.searched(), 3);
}

#[tokio::test]
async fn an_animated_picture_stays_animated_as_webp() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    for bytes in [pictures::gif(64, 64, 6), pictures::gif(64, 63, 6)] {
        let animated = source(&store, &bytes).await;
        assert!(animated.is_animated);
        let made = make(&renditions, &animated, &wanted(32, 0, Fit::Inside, Format::Webp)).await;
        let decoder = WebPDecoder::new(std::io::Cursor::new(made.bytes.clone())).unwrap();
        assert!(decoder.has_animation());
        assert!(matches!(decoder.loop_count(), image::metadata::LoopCount::Infinite));
        let frames = decoder.into_frames().collect_frames().unwrap();
        assert_eq!(frames.len(), 6);
        for (number, frame) in frames.iter().enumerate() {
            assert_eq!(frame.delay().numer_denom_ms().0, 80);
            let image = frame.buffer();
            assert_eq!(image.dimensions(), (32, 32));
            // The square is where the frame number says, and nowhere else.
            for other in 0..8 {
                let found = *image.get_pixel(other * 4 + 2, 4);
                assert_close(found, if other as usize == number { [220, 20, 20] } else { [240, 240, 240] });
            }
        }
        // Other formats show the first frame.
        let first = decode(&make(&renditions, &animated, &wanted(32, 0, Fit::Inside, Format::Jpeg)).await);
        assert_close(*first.get_pixel(1, 4), [220, 20, 20]);
        // The animated WebP is a source, too.
        let again = source(&store, &made.bytes).await;
        assert!(again.is_animated);
        let smaller = make(&renditions, &again, &wanted(16, 0, Fit::Inside, Format::Webp)).await;
        let decoder = WebPDecoder::new(std::io::Cursor::new(smaller.bytes.clone())).unwrap();
        assert_eq!(decoder.into_frames().collect_frames().unwrap().len(), 6);
    }
}

#[tokio::test]
async fn frames_without_a_change_become_one_longer_frame() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    // The square of 8 pixels moves outside of this crop for most of the frames.
    let source = source(&store, &pictures::gif(64, 64, 8)).await;
    let wanted = Wanted { focal: (0.0, 1.0), ..wanted(64, 16, Fit::Cover, Format::Webp) };
    let made = make(&renditions, &source, &wanted).await;
    let frames = WebPDecoder::new(std::io::Cursor::new(made.bytes)).unwrap().into_frames().collect_frames().unwrap();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].delay().numer_denom_ms().0, 640);
}

#[tokio::test]
async fn what_cannot_be_made_is_the_original() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let long = source(&store, &pictures::gif(8, 8, 301)).await;
    assert_eq!(
        renditions.get(&long, &wanted(4, 0, Fit::Inside, Format::Webp), CLIENT).await.unwrap(),
        Rendition::Original
    );
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'/>";
    let svg = source(&store, svg).await;
    assert_eq!(
        renditions.get(&svg, &wanted(4, 0, Fit::Inside, Format::Webp), CLIENT).await.unwrap(),
        Rendition::Original
    );
    // A rendition of the same size and format that is not smaller.
    let tiny = source(&store, &jpeg(&pictures::photo(64, 64))).await;
    let larger = Wanted { quality: Some(100), ..wanted(0, 0, Fit::Inside, Format::Jpeg) };
    assert_eq!(renditions.get(&tiny, &larger, CLIENT).await.unwrap(), Rendition::Original);
    // A file that was damaged after its upload.
    let whole = jpeg(&corners(64, 64));
    let damaged = source(&store, &whole).await;
    std::fs::write(store.files.local_path(&damaged.hash).unwrap(), b"\xFF\xD8\xFF\xE0 not a picture").unwrap();
    let (small, before) = (wanted(8, 0, Fit::Inside, Format::Webp), (renditions.made(), renditions.bytes_on_disk()));
    for _ in 0..2 {
        assert_eq!(renditions.get(&damaged, &small, CLIENT).await.unwrap(), Rendition::Failed);
    }
    // The failure is remembered, but not on disk.
    assert_eq!((renditions.made(), renditions.bytes_on_disk()), (before.0 + 1, before.1));
    store.upload("picture", &whole).await.unwrap();
    renditions.forget(&damaged.hash);
    make(&renditions, &damaged, &small).await;
    let missing = Source { hash: crate::Hash::of(b"missing"), ..damaged };
    let error = renditions.get(&missing, &small, CLIENT).await.unwrap_err();
    assert!(matches!(error, MediaError::Missing { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rendition_is_made_once_for_all_who_ask_at_once_and_then_kept() {
    let store = Store::new();
    let renditions = open(&store, LIMITS);
    let source = source(&store, &jpeg(&pictures::photo(600, 400))).await;
    let wish = wanted(320, 0, Fit::Inside, Format::Webp);
    let ask = |renditions: &Renditions| {
        let (renditions, source) = (renditions.clone(), source.clone());
        tokio::spawn(async move { make(&renditions, &source, &wish).await })
    };
    let asked: Vec<_> = (0..50).map(|_| ask(&renditions)).collect();
    let mut answers = Vec::new();
    for task in asked {
        answers.push(task.await.unwrap());
    }
    assert_eq!(renditions.made(), 1);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    // Another wish with the same result is the same rendition, and another quality is not.
    make(&renditions, &source, &wanted(320, 4000, Fit::Inside, Format::Webp)).await;
    assert_eq!(renditions.made(), 1);
    let other = make(&renditions, &source, &Wanted { quality: Some(30), ..wish }).await;
    assert_eq!(renditions.made(), 2);
    assert!(other.tag != answers[0].tag && other.bytes.len() < answers[0].bytes.len());
    // A new process finds it on disk, with the same tag.
    let reopened = open(&store, LIMITS);
    assert_eq!(make(&reopened, &source, &wish).await, answers[0]);
    assert_eq!(reopened.made(), 0);
    reopened.forget(&source.hash);
    assert_eq!(reopened.bytes_on_disk(), 0);
    make(&reopened, &source, &wish).await;
    assert_eq!(reopened.made(), 1);
}

#[tokio::test]
async fn the_least_recently_used_go_first() {
    let store = Store::new();
    let limits = RenditionLimits { cache_bytes: 5 * 4096, memory_bytes: 0 };
    let renditions = open(&store, limits);
    let source = source(&store, &jpeg(&corners(300, 200))).await;
    let wish = |width: u32| wanted(width, 0, Fit::Inside, Format::Webp);
    for width in 10..15 {
        make(&renditions, &source, &wish(width)).await;
    }
    assert_eq!((renditions.made(), renditions.bytes_on_disk()), (5, 5 * 4096));
    make(&renditions, &source, &wish(10)).await;
    make(&renditions, &source, &wish(20)).await;
    assert_eq!((renditions.made(), renditions.bytes_on_disk()), (6, 5 * 4096));
    make(&renditions, &source, &wish(10)).await;
    assert_eq!(renditions.made(), 6);
    make(&renditions, &source, &wish(11)).await;
    assert_eq!(renditions.made(), 7);
    // A smaller bound holds from the next start on.
    let smaller = open(&store, RenditionLimits { cache_bytes: 2 * 4096, ..limits });
    assert_eq!(smaller.bytes_on_disk(), 2 * 4096);
    let files: usize =
        std::fs::read_dir(folder(&store)).unwrap().map(|f| std::fs::read_dir(f.unwrap().path()).unwrap().count()).sum();
    assert_eq!(files, 2);
}

#[tokio::test]
async fn a_damaged_or_unfinished_file_is_never_served() {
    let store = Store::new();
    let limits = RenditionLimits { memory_bytes: 0, ..LIMITS };
    let renditions = open(&store, limits);
    let source = source(&store, &jpeg(&corners(300, 200))).await;
    let wish = wanted(100, 0, Fit::Inside, Format::Jpeg);
    let whole = make(&renditions, &source, &wish).await;
    let folder = std::fs::read_dir(folder(&store)).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let stored = std::fs::read(&file).unwrap();
    let mut garbled = stored.clone();
    *garbled.last_mut().unwrap() ^= 1;
    for damaged in [&stored[..stored.len() - 1], &stored[..10], &[], garbled.as_slice()] {
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(make(&renditions, &source, &wish).await, whole);
        assert_eq!(std::fs::read(&file).unwrap(), stored);
    }
    assert_eq!(renditions.made(), 5);
    std::fs::write(file.with_extension("part"), b"half").unwrap();
    open(&store, limits);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[tokio::test]
async fn a_source_in_a_bucket_is_read_for_renditions() {
    let store = Store::at(|folder| crate::Place::Bucket(format!("file://{}/bucket", folder.display())));
    let renditions = open(&store, LIMITS);
    let source = source(&store, &jpeg(&corners(300, 200))).await;
    let image = decode(&make(&renditions, &source, &wanted(100, 0, Fit::Inside, Format::Jpeg)).await);
    assert_close(*image.get_pixel(5, 5), RED);
}

#[tokio::test]
async fn a_placeholder_shows_the_colors_of_the_picture() {
    use base64::Engine;
    let store = Store::new();
    for (rotation, colors) in [(1, ROTATIONS[0]), (6, ROTATIONS[5])] {
        let bytes = with_segments(&jpeg(&corners(300, 200)), &[(0xE1, &exif(rotation))]);
        let picture = store.upload("a.jpg", &bytes).await.unwrap().picture.unwrap();
        let hash = base64::engine::general_purpose::STANDARD.decode(picture.placeholder.unwrap()).unwrap();
        let (width, height, pixels) = thumbhash::thumb_hash_to_rgba(&hash).unwrap();
        assert_eq!(width > height, picture.width > picture.height);
        let pixel = |x: usize, y: usize| Rgba::<u8>(pixels[(y * width + x) * 4..][..4].try_into().unwrap());
        for (at, color) in [(3, 3), (width - 4, 3), (3, height - 4), (width - 4, height - 4)].into_iter().zip(colors) {
            let found = pixel(at.0, at.1);
            let distance = (0..3).map(|i| found[i].abs_diff(color[i])).max().unwrap();
            assert!(distance < 90, "{found:?} is not {color:?}");
        }
    }
}
