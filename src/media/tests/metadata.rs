//! Metadata is removed, and the rotation stays.

use image::ImageFormat;

use super::pictures::{self, SECRET, corners, exif, jpeg, png, with_chunks, with_segments};
use super::{Store, contains};

#[tokio::test]
async fn private_data_is_not_stored() {
    let store = Store::new();
    let image = corners(64, 48);
    let text = [b"Comment\0".as_slice(), SECRET].concat();
    let xmp = [b"http://ns.adobe.com/xap/1.0/\0".as_slice(), SECRET].concat();
    let iptc = [b"Photoshop 3.0\08BIM".as_slice(), SECRET].concat();
    let mut gif = pictures::gif(32, 32, 2);
    let comment = [&[0x21, 0xFE, SECRET.len() as u8][..], SECRET, &[0]].concat();
    let end = gif.len() - 1;
    gif.splice(end..end, comment);
    let pixels = vec![ravif::RGB8::new(1, 2, 3); 64 * 48];
    let avif = ravif::Encoder::new().with_speed(10).with_exif(exif(1)[6..].to_vec());
    let avif = avif.encode_rgb(ravif::Img::new(&pixels, 64, 48)).unwrap().avif_file;
    // Phones put a short video behind the picture, in a box of its own.
    let video = [&(SECRET.len() as u32 + 8).to_be_bytes()[..], b"mpvd", SECRET].concat();
    let cases: Vec<(&str, Vec<u8>, (u32, u32))> = vec![
        (
            "image/jpeg",
            with_segments(
                &jpeg(&image),
                &[(0xE1, &exif(1)), (0xE1, &xmp), (0xED, &iptc), (0xFE, SECRET), (0xE5, SECRET)],
            ),
            (64, 48),
        ),
        (
            "image/png",
            with_chunks(
                &png(image.clone()),
                &[(b"eXIf", &exif(1)[6..]), (b"tEXt", &text), (b"iTXt", SECRET), (b"zTXt", SECRET), (b"prVt", SECRET)],
            ),
            (64, 48),
        ),
        ("image/webp", pictures::webp_with_metadata(&image, 1), (64, 48)),
        ("image/gif", gif, (32, 32)),
        ("image/tiff", tiff(), (2, 2)),
        ("image/avif", [avif, video].concat(), (64, 48)),
    ];
    for (mime, bytes, size) in cases {
        // Data behind the end is private, too, except in a format whose length is not stored.
        let is_open = mime == "image/tiff";
        let bytes = if is_open { bytes } else { [bytes.as_slice(), b"PK\x03\x04", SECRET].concat() };
        assert!(contains(&bytes, SECRET), "{mime}");
        let taken = store.upload("picture", &bytes).await.unwrap_or_else(|error| panic!("{mime}: {error}"));
        let stored = store.read(&taken.hash).await.unwrap();
        assert!(!contains(&stored, SECRET), "{mime}");
        assert_eq!((taken.mime.as_str(), taken.bytes), (mime, stored.len() as u64));
        let picture = taken.picture.unwrap();
        assert_eq!((picture.width, picture.height), size, "{mime}");
        assert_eq!(picture.placeholder.is_some(), mime != "image/avif");
        // A file that was cleaned is not changed again.
        assert_eq!(store.upload("picture", &stored).await.unwrap().hash, taken.hash, "{mime}");
    }
}

#[tokio::test]
async fn the_empty_items_of_a_cleaned_avif_are_valid() {
    let store = Store::new();
    let pixels = vec![ravif::RGB8::new(1, 2, 3); 64 * 48];
    let avif = ravif::Encoder::new().with_speed(10).with_exif(exif(1)[6..].to_vec());
    let avif = avif.encode_rgb(ravif::Img::new(&pixels, 64, 48)).unwrap().avif_file;
    let taken = store.upload("a.avif", &avif).await.unwrap();
    let stored = store.read(&taken.hash).await.unwrap();
    // Readers refuse a file whose EXIF data has no valid beginning.
    assert!(contains(&stored, b"\0\0\0\0MM\0\x2A\0\0\0\x08\0\0\0\0\0\0") && stored.len() == avif.len());
    let error = store.upload("a.avif", &avif[..avif.len() - 10]).await.unwrap_err();
    assert!(error.to_string().contains("ends before the picture does"), "{error}");
}

#[tokio::test]
async fn a_cleaned_picture_has_the_same_pixels() {
    let store = Store::new();
    let image = pictures::photo(120, 90);
    for (bytes, format) in [
        (with_segments(&jpeg(&image), &[(0xE1, &exif(1))]), ImageFormat::Jpeg),
        (with_chunks(&png(image.clone()), &[(b"tEXt", SECRET)]), ImageFormat::Png),
        (pictures::webp_with_metadata(&image, 1), ImageFormat::WebP),
    ] {
        let taken = store.upload("picture", &bytes).await.unwrap();
        let stored = store.read(&taken.hash).await.unwrap();
        let pixels = |bytes: &[u8]| image::load_from_memory_with_format(bytes, format).unwrap().into_rgb8();
        assert_eq!(pixels(&stored), pixels(&bytes), "{format:?}");
    }
}

#[tokio::test]
async fn the_color_profile_stays() {
    let store = Store::new();
    let profile = moxcms::ColorProfile::new_display_p3().encode().unwrap();
    let segment = [b"ICC_PROFILE\0\x01\x01".as_slice(), &profile].concat();
    let with_profile = with_segments(&jpeg(&corners(32, 32)), &[(0xE2, &segment), (0xE2, b"MPF\0secret")]);
    let hash = store.upload("a.jpg", &with_profile).await.unwrap().hash;
    let stored = store.read(&hash).await.unwrap();
    assert!(contains(&stored, &profile));
    assert!(!contains(&stored, b"secret"));
    let with_profile = pictures::png_with_profile(&corners(32, 32), profile);
    let hash = store.upload("a.png", &with_profile).await.unwrap().hash;
    assert!(contains(&store.read(&hash).await.unwrap(), b"iCCP"));
}

#[tokio::test]
async fn a_rotation_stays_and_decides_about_the_size() {
    let store = Store::new();
    let image = corners(64, 48);
    for rotation in 1..=8 {
        let size = if rotation >= 5 { (48, 64) } else { (64, 48) };
        for bytes in [
            with_segments(&jpeg(&image), &[(0xE1, &exif(rotation))]),
            with_chunks(&png(image.clone()), &[(b"eXIf", &exif(rotation)[6..])]),
            pictures::webp_with_metadata(&image, rotation),
        ] {
            let taken = store.upload("picture", &bytes).await.unwrap();
            let picture = taken.picture.unwrap();
            assert_eq!((picture.width, picture.height), size, "{rotation} {}", taken.mime);
            let stored = store.read(&taken.hash).await.unwrap();
            assert!(!contains(&stored, SECRET));
            // EXIF data of one entry takes 26 bytes.
            let kept = contains(&stored, b"MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03");
            assert_eq!(kept, rotation != 1, "{rotation} {}", taken.mime);
        }
    }
}

/// A TIFF of 2 × 2 gray pixels, with a description and a position.
fn tiff() -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    let entries: [(u16, u16, u32, u32); 10] = [
        (256, 3, 1, 2),
        (257, 3, 1, 2),
        (258, 3, 1, 8),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (270, 2, SECRET.len() as u32, 200),
        (273, 4, 1, 300),
        (278, 3, 1, 2),
        (279, 4, 1, 4),
        (34853, 4, 1, 304),
    ];
    let mut push = |entries: &[(u16, u16, u32, u32)], until: usize| {
        bytes.extend_from_slice(&(entries.len() as u16).to_le_bytes());
        for (tag, kind, count, value) in entries {
            bytes.extend_from_slice(&tag.to_le_bytes());
            bytes.extend_from_slice(&kind.to_le_bytes());
            bytes.extend_from_slice(&count.to_le_bytes());
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        bytes.resize(until, 0);
    };
    push(&entries, 304);
    push(&[(29, 2, SECRET.len() as u32, 340)], 340);
    bytes[200..200 + SECRET.len()].copy_from_slice(SECRET);
    bytes[300..304].copy_from_slice(&[0, 80, 160, 240]);
    bytes.extend_from_slice(SECRET);
    bytes
}
