//! Files that are made to harm: each is refused with a reason, or harmless.

use std::time::{Duration, Instant};

use super::damage::pass;
use super::pictures::{self, corners, crc, gif, jpeg, png, riff, with_segments};
use super::{Store, contains};
use crate::MediaError;
use crate::decode::Raster;

/// A PNG of black pixels, as small as it gets.
fn black_png(width: u32, height: u32) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let mut bytes = b"\x89PNG\r\n\x1A\n".to_vec();
    for (kind, contents) in [(b"IHDR", header), (b"IDAT", vec![0x78, 0x9C, 3, 0, 0, 0, 0, 1]), (b"IEND", Vec::new())] {
        bytes.extend_from_slice(&(contents.len() as u32).to_be_bytes());
        bytes.extend_from_slice(kind);
        bytes.extend_from_slice(&contents);
        bytes.extend_from_slice(&crc(&[kind.as_slice(), &contents].concat()).to_be_bytes());
    }
    bytes
}

/// A JPEG that claims another size than it has.
fn jpeg_of_size(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = jpeg(&corners(16, 16));
    let frame = bytes.windows(2).position(|marker| marker == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    bytes
}

fn gif_of_size(width: u16, height: u16, frames: usize) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend_from_slice(&width.to_le_bytes());
    bytes.extend_from_slice(&height.to_le_bytes());
    bytes.extend_from_slice(&[0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
    for _ in 0..frames {
        // A frame of one pixel.
        bytes.extend_from_slice(&[0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 0x01, 0]);
    }
    bytes.push(0x3B);
    bytes
}

/// A GIF of one pixel with a frame that is much larger.
fn gif_with_large_frame() -> Vec<u8> {
    let mut bytes = gif_of_size(1, 1, 1);
    let frame = bytes.len() - 16;
    bytes[frame + 5..frame + 9].copy_from_slice(&[0, 0x80, 0, 0x80]);
    bytes
}

/// A TIFF with these entries: the tag, the type, the number of values, and the value or its position.
fn tiff(entries: &[(u16, u16, u32, u32)], length: usize) -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    bytes.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        bytes.extend_from_slice(&[tag.to_le_bytes(), kind.to_le_bytes()].concat());
        bytes.extend_from_slice(&[count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    bytes.resize(length, 0);
    bytes
}

fn tiff_of_size(width: u32, height: u32) -> Vec<u8> {
    let values =
        [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 200), (277, 1), (278, height), (279, 4)];
    tiff(&values.map(|(tag, value)| (tag, 4, 1, value)), 300)
}

/// A small TIFF of one tile, with very many samples for each pixel. The width of the tile is there twice, and the
/// second one counts.
fn tiff_with_wide_tile() -> Vec<u8> {
    let values = [(256, 16), (257, 16), (258, 8), (259, 1), (262, 2), (277, 65_535), (322, 16), (322, u32::MAX)];
    let tile = [(323, 16), (324, 200), (325, 768)];
    let mut entries: Vec<_> = values.into_iter().chain(tile).map(|(tag, value)| (tag, 4, 1, value)).collect();
    entries.push((338, 3, 65_532, 200));
    tiff(&entries, 200 + 2 * 65_532)
}

fn webp_of_size(side: u32) -> Vec<u8> {
    let size = &side.to_le_bytes()[..3];
    riff(&[(b"VP8X", &[&[2, 0, 0, 0], size, size].concat()), (b"ANIM", &[0; 6]), (b"ANMF", &[0; 30])])
}

fn bmp_of_size(width: u32, height: u32) -> Vec<u8> {
    let numbers = [0, 0, 54, 40, width, height, 0x0018_0001].map(u32::to_le_bytes).concat();
    let mut bytes = [&b"BM"[..], &numbers].concat();
    bytes.resize(100, 0);
    bytes
}

/// An AVIF that claims another size than it has.
fn avif_of_size(width: u32, height: u32) -> Vec<u8> {
    let pixels = vec![ravif::RGBA8::new(1, 2, 3, 255); 64];
    let encoder = ravif::Encoder::new().with_speed(10);
    let mut bytes = encoder.encode_rgba(ravif::Img::new(&pixels, 8, 8)).unwrap().avif_file;
    let size = bytes.windows(4).position(|kind| kind == b"ispe").unwrap() + 8;
    bytes[size..size + 8].copy_from_slice(&[width.to_be_bytes(), height.to_be_bytes()].concat());
    bytes
}

#[tokio::test]
async fn pictures_that_claim_to_be_large_are_refused_at_once() {
    let store = Store::new();
    for (name, bytes) in [
        ("png", black_png(30_000, 30_000)),
        ("png", black_png(u32::MAX / 2, 1)),
        ("png", black_png(100_000, 100)),
        ("jpeg", jpeg_of_size(65_535, 65_535)),
        ("jpeg", jpeg_of_size(65_500, 10_000)),
        ("gif", gif_of_size(65_535, 65_535, 1)),
        ("gif, frames", gif_of_size(1, 1, 10_001)),
        ("gif, pixels of all frames", gif_of_size(5000, 5000, 100)),
        ("tiff", tiff_of_size(65_535, 65_535)),
        ("tiff, a tile", tiff_with_wide_tile()),
        ("tiff, a list", tiff(&[(256, 4, 1, 16), (257, 4, 1, 16), (262, 4, 1, 1), (258, 1, 1 << 21, 200)], 300)),
        ("webp", webp_of_size(0xFF_FFFF)),
        ("gif, a frame", gif_with_large_frame()),
        ("bmp", bmp_of_size(60_000, 60_000)),
        ("avif", avif_of_size(65_000, 65_000)),
    ] {
        assert!(bytes.len() < 200_000, "{name}");
        let started = Instant::now();
        let error = store.upload("picture", &bytes).await.unwrap_err();
        assert!(matches!(error, MediaError::PictureTooLarge { .. }), "{name}: {error}");
        assert!(error.to_string().contains("at most"), "{name}: {error}");
        assert!(started.elapsed() < Duration::from_secs(5), "{name}: {:?}", started.elapsed());
        assert_eq!(store.uploads(), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn a_picture_of_16_bits_that_does_not_fit_into_the_memory_is_refused() {
    let store = Store::new();
    let mut bytes = black_png(9_999, 9_999);
    // 16 bits for each of four channels.
    bytes[24..26].copy_from_slice(&[16, 6]);
    let checksum = crc(&bytes[12..29]).to_be_bytes();
    bytes[29..33].copy_from_slice(&checksum);
    let error = store.upload("picture", &bytes).await.unwrap_err();
    assert!(matches!(error, MediaError::PictureTooLarge { .. }), "{error}");
    assert!(error.to_string().contains("MiB"), "{error}");
}

#[test]
fn an_animation_reserves_memory_for_a_frame_that_is_larger_than_the_picture() {
    let error = pass(Raster::Gif, &gif_with_large_frame(), true).unwrap_err();
    assert!(error.to_string().contains("it needs 4097 MiB of memory"), "{error}");
}

#[tokio::test]
async fn a_tiff_whose_parts_are_jpeg_files_is_refused() {
    let store = Store::new();
    let mut bytes = tiff_of_size(16, 16);
    // The compression is the fourth entry.
    bytes[10 + 3 * 12 + 8] = 7;
    let error = store.upload("picture", &bytes).await.unwrap_err();
    assert!(error.to_string().contains("compressed as JPEG"), "{error}");
}

#[test]
fn a_bigtiff_with_an_entry_of_an_unknown_type_is_refused() {
    let mut bytes = b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x01".to_vec();
    for (kind, is_known) in [(4, true), (18, true), (0, false), (14, false)] {
        bytes.resize(26, 0);
        bytes.push(kind);
        bytes.resize(100, 0);
        assert_eq!(crate::clean::check_tiff(&bytes).is_ok(), is_known, "{kind}");
    }
}

#[tokio::test]
async fn a_jpeg_with_very_many_scans_is_refused() {
    let store = Store::new();
    let mut bytes = jpeg_of_size(9000, 9000);
    let scan = bytes.windows(2).position(|marker| marker == [0xFF, 0xDA]).unwrap();
    let (start, end) = (scan, bytes.len() - 2);
    let repeated = bytes[start..end].repeat(30);
    bytes.splice(start..end, repeated);
    let error = store.upload("picture", &bytes).await.unwrap_err();
    assert!(error.to_string().contains("30 scans"), "{error}");
}

#[tokio::test]
async fn broken_and_cut_pictures_are_refused_with_a_reason() {
    let store = Store::new();
    let image = pictures::photo(64, 48);
    let webp = image::DynamicImage::from(image.clone());
    let whole: Vec<(&str, Vec<u8>)> = vec![
        ("jpeg", jpeg(&image)),
        ("png", png(image.clone())),
        ("gif", gif(32, 32, 3)),
        ("webp", pictures::encoded(&webp, image::ImageFormat::WebP)),
        ("tiff", pictures::encoded(&webp, image::ImageFormat::Tiff)),
    ];
    for (name, bytes) in whole {
        assert!(store.upload("picture", &bytes).await.is_ok(), "{name}");
        for length in [bytes.len() / 2, bytes.len() * 3 / 4, 40] {
            let error = store.upload("picture", &bytes[..length]).await.unwrap_err();
            assert!(matches!(error, MediaError::BrokenPicture { .. }), "{name} of {length} bytes: {error}");
            assert!(error.to_string().starts_with("the picture is broken: "), "{error}");
        }
        let mut garbled = bytes.clone();
        garbled[12..].iter_mut().for_each(|byte| *byte ^= 0x5A);
        let error = store.upload("picture", &garbled).await.unwrap_err();
        let is_refused = matches!(error, MediaError::BrokenPicture { .. } | MediaError::PictureTooLarge { .. });
        assert!(is_refused, "{name}: {error}");
    }
    assert_eq!(store.uploads(), Vec::<String>::new());
}

#[tokio::test]
async fn a_file_of_two_types_becomes_what_its_first_bytes_say() {
    let store = Store::new();
    let script = b"*/=alert(document.cookie)//";
    let archive = b"PK\x03\x04 an archive PK\x05\x06";
    for (mime, bytes, hidden) in [
        ("image/gif", [gif(16, 16, 1).as_slice(), script].concat(), script.as_slice()),
        ("image/jpeg", [jpeg(&corners(16, 16)).as_slice(), archive].concat(), archive),
        ("image/png", [png(corners(16, 16)).as_slice(), archive].concat(), archive),
        ("image/jpeg", with_segments(&jpeg(&corners(16, 16)), &[(0xFE, script)]), script),
    ] {
        let taken = store.upload("polyglot.js", &bytes).await.unwrap();
        assert_eq!(taken.mime, mime);
        assert!(!contains(&store.read(&taken.hash).await.unwrap(), hidden), "{mime}");
    }
}

#[tokio::test]
async fn pixels_of_another_size_than_claimed_are_refused_before_they_are_decoded() {
    let store = Store::new();
    let simple = pictures::encoded(&corners(64, 64).into(), image::ImageFormat::WebP);
    let tiny = [2, 0, 0, 0, 7, 0, 0, 7, 0, 0];
    let still = riff(&[(b"VP8X", &tiny), (b"VP8L", &simple[20..])]);
    let frame = [&[0, 0, 0, 0, 0, 0, 7, 0, 0, 7, 0, 0, 9, 0, 0, 0][..], &simple[12..]].concat();
    let animated = riff(&[(b"VP8X", &tiny), (b"ANIM", &[0; 6]), (b"ANMF", &frame)]);
    for bytes in [still, animated] {
        let error = store.upload("picture", &bytes).await.unwrap_err();
        assert!(error.to_string().contains("another size than it claims"), "{error}");
    }
}

#[tokio::test]
async fn structures_that_repeat_themselves_take_no_time() {
    let store = Store::new();
    // A TIFF with 60,000 texts that each span the whole file.
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    tiff.extend_from_slice(&60_000_u16.to_le_bytes());
    for _ in 0..60_000 {
        tiff.extend_from_slice(&[0x0E, 1, 2, 0, 0, 0, 0xF0, 0, 8, 0, 0, 0]);
    }
    tiff.resize(16 << 20, 0);
    // An AVIF with 4,096 items of 65,535 parts, which take no byte.
    let part =
        |kind: &[u8; 4], contents: &[u8]| [&(contents.len() as u32 + 8).to_be_bytes()[..], kind, contents].concat();
    let items: Vec<u8> = (0..4096_u16)
        .flat_map(|id| part(b"infe", &[&[2, 0, 0, 0][..], &id.to_be_bytes(), &[0, 0], b"Exif"].concat()))
        .collect();
    let places: Vec<u8> = (0..4096_u16).flat_map(|id| [&id.to_be_bytes()[..], &[0, 0, 0xFF, 0xFF]].concat()).collect();
    let infos = part(b"iinf", &[&[0, 0, 0, 0, 0x10, 0][..], &items].concat());
    let locations = part(b"iloc", &[&[0, 0, 0, 0, 0, 0, 0x10, 0][..], &places].concat());
    let meta = part(b"meta", &[&[0, 0, 0, 0][..], &infos, &locations].concat());
    let avif = [part(b"ftyp", b"avif\0\0\0\0mif1avif"), meta].concat();
    let declarations = "<!DOCTYPE svg>".repeat(500_000);
    for bytes in [tiff, avif, format!("<svg>{declarations}</svg>").into_bytes()] {
        let started = Instant::now();
        let _ = store.upload("picture", &bytes).await;
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_script_that_begins_like_a_picture_is_a_broken_picture() {
    let store = Store::new();
    let error = store.upload("a.js", b"GIF89a/*padding*/=1;alert(document.cookie);//").await.unwrap_err();
    assert!(matches!(error, MediaError::BrokenPicture { .. }), "{error}");
}

#[tokio::test]
async fn svg_is_well_formed_and_expands_to_nothing_large() {
    let store = Store::new();
    let namespace = "xmlns='http://www.w3.org/2000/svg'";
    let laughs: String = (1..10).map(|n| format!("<!ENTITY l{n} '{}'>", format!("&l{};", n - 1).repeat(10))).collect();
    let nested = format!("<svg {namespace}>{}{}</svg>", "<g>".repeat(600), "</g>".repeat(600));
    let many = format!("<!DOCTYPE svg [<!ENTITY a '{}'>]><svg>{}</svg>", "a".repeat(5000), "&a;".repeat(5000));
    let large = format!("<svg {namespace}>{}</svg>", "<g/>".repeat(3_000_000));
    for (name, text, part) in [
        ("laughs", format!("<!DOCTYPE svg [<!ENTITY l0 'ha'>{laughs}]><svg>&l9;</svg>"), "entities"),
        ("files", "<!DOCTYPE svg [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><svg>&f;</svg>".to_owned(), "entities"),
        ("many uses", many, "expand"),
        ("deep", nested, "levels deep"),
        ("not closed", format!("<svg {namespace}><g>"), "not closed"),
        ("wrong end", format!("<svg {namespace}></g>"), "broken"),
        ("two roots", "<svg/><svg/>".to_owned(), "one root"),
        ("large", large, "at most 10 MiB"),
    ] {
        let error = store.upload("a.svg", text.as_bytes()).await.unwrap_err();
        let is_refused = matches!(error, MediaError::BrokenPicture { .. } | MediaError::PictureTooLarge { .. });
        assert!(is_refused && error.to_string().contains(part), "{name}: {error}");
    }
    for (text, size) in [
        (format!("<svg {namespace} width='24px' height='12.4'><script>alert(1)</script></svg>"), Some((24, 12))),
        (format!("<?xml version='1.0'?><svg {namespace} width='100%' viewBox='0 0 640 480'/>"), Some((640, 480))),
        (format!("<!DOCTYPE svg [<!ENTITY ns 'http://ns.adobe.com/a'>]><svg {namespace} xmlns:x='&ns;'/>"), None),
        (format!("<svg {namespace} width='NaN' height='-1'/>"), None),
    ] {
        let taken = store.upload("a.svg", text.as_bytes()).await.unwrap();
        assert_eq!(taken.mime, "image/svg+xml");
        assert_eq!(taken.picture.map(|picture| (picture.width, picture.height)), size, "{text}");
        assert_eq!(store.read(&taken.hash).await.unwrap(), text.as_bytes());
    }
}

#[tokio::test]
async fn a_panic_in_the_work_becomes_an_error_and_the_threads_go_on() {
    let store = Store::new();
    let panicking = |_: &crate::workers::Memory| -> Result<(), MediaError> { panic!("index out of bounds") };
    let error = store.files.workers().run(crate::workers::Class::Upload, panicking).await.unwrap_err();
    assert!(error.to_string().contains("index out of bounds"), "{error}");
    assert!(store.upload("a.png", &png(corners(8, 8))).await.is_ok());
}

#[tokio::test]
async fn beyond_the_bound_of_waiting_pictures_the_next_is_refused() {
    let store = Store::new();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Arc::new(parking_lot::Mutex::new(blocked));
    let wait = || {
        let blocked = std::sync::Arc::clone(&blocked);
        let files = store.files.clone();
        tokio::spawn(async move {
            let work = move |_: &crate::workers::Memory| {
                let _ = blocked.lock().recv();
                Ok(())
            };
            let clients = crate::turns::Clients::of(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
            files.workers().run(crate::workers::Class::Rendition(clients), work).await
        })
    };
    let tasks: Vec<_> = (0..300).map(|_| wait()).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(release);
    let mut busy = 0;
    for task in tasks {
        busy += usize::from(matches!(task.await.unwrap(), Err(MediaError::Busy)));
    }
    assert!((100..=172).contains(&busy), "{busy}");
}
