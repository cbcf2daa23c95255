//! Metadata is removed, and the rotation stays.

use image::ImageFormat;

use super::pictures::{self, SECRET, corners, exif, jpeg, png, with_chunks, with_chunks_behind, with_segments};
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
    let pixels = vec![ravif::RGBA8::new(1, 2, 3, 255); 64 * 48];
    let avif = ravif::Encoder::new().with_speed(10).with_exif(exif(1)[6..].to_vec());
    let avif = avif.encode_rgba(ravif::Img::new(&pixels, 64, 48)).unwrap().avif_file;
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
        ("image/tiff", tiff(false), (2, 2)),
        ("image/tiff", tiff(true), (2, 2)),
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
        assert_eq!(contains(&stored, b"colors"), mime == "image/tiff");
        // A file that was cleaned is not changed again.
        assert_eq!(store.upload("picture", &stored).await.unwrap().hash, taken.hash, "{mime}");
    }
}

#[tokio::test]
async fn a_raw_picture_loses_its_position_and_nothing_else() {
    let store = Store::new();
    let mut raw = tiff(false);
    let exif = raw.len() as u32;
    raw[10 + 12..][..12].copy_from_slice(&[&[0x69, 0x87, 4, 0, 1, 0, 0, 0][..], &exif.to_le_bytes()].concat());
    // EXIF data with a maker's note, and the position in a directory of its own.
    let entry = |tag: u16, kind: u16, count: u32, value: u32| {
        [&tag.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    raw.extend([&[1, 0][..], &entry(37500, 7, 8, exif + 20), &[0; 6], b"the note"].concat());
    // The marker of Canon stands where this directory began.
    let directory = raw[8..8 + 2 + 14 * 12 + 4].to_vec();
    let at = raw.len() as u32;
    raw.extend(directory);
    raw[4..8].copy_from_slice(&at.to_le_bytes());
    raw[8..16].copy_from_slice(b"CR\x02\0\0\0\0\0");
    let taken = store.upload("a.cr2", &raw).await.unwrap();
    let stored = store.read(&taken.hash).await.unwrap();
    assert_eq!((taken.mime.as_str(), stored.len()), ("image/x-canon-cr2", raw.len()));
    assert_eq!(stored[660..660 + SECRET.len()], [0; SECRET.len()]);
    for (at, (stored, sent)) in stored.iter().zip(&raw).enumerate() {
        assert!(stored == sent || (600..700).contains(&at), "byte {at}");
    }
    assert!(contains(&stored, b"the note"));
}

#[tokio::test]
async fn the_empty_items_of_a_cleaned_avif_are_valid() {
    let store = Store::new();
    let pixels = vec![ravif::RGBA8::new(1, 2, 3, 255); 64 * 48];
    let avif = ravif::Encoder::new().with_speed(10).with_exif(exif(1)[6..].to_vec());
    let avif = avif.encode_rgba(ravif::Img::new(&pixels, 64, 48)).unwrap().avif_file;
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
            with_chunks_behind(&png(image.clone()), &[(b"eXIf", &exif(rotation)[6..])]),
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

/// A TIFF of 2 × 2 gray pixels, with a description, a comment of Windows, the place of a map, and a position in a
/// directory of its own.
fn tiff(is_big: bool) -> Vec<u8> {
    let length = SECRET.len() as u64;
    let private = [
        (270, 2, length, 400),
        (34853, 4, 1, 600),
        (34737, 2, length, 480),
        (40092, 1, length, 440),
        (50721, 2, 6, 560),
        (50735, 2, length, 520),
    ];
    let pixels = [(256, 2), (257, 2), (258, 8), (259, 1), (262, 1), (273, 360), (278, 2), (279, 4)];
    let entries: Vec<_> = pixels.iter().map(|(tag, value)| (*tag, 4, 1, *value)).chain(private).collect();
    let mut bytes = if is_big { b"II\x2B\0\x08\0\0\0".to_vec() } else { b"II*\0".to_vec() };
    let number = |value: u64, length: usize| value.to_le_bytes()[..length].to_vec();
    let (count_bytes, offset_bytes) = if is_big { (8, 8) } else { (2, 4) };
    bytes.extend(number(bytes.len() as u64 + offset_bytes as u64, offset_bytes));
    let directory = |bytes: &mut Vec<u8>, entries: &[(u64, u64, u64, u64)]| {
        bytes.extend(number(entries.len() as u64, count_bytes));
        for (tag, kind, count, value) in entries {
            bytes.extend([number(*tag, 2), number(*kind, 2)].concat());
            bytes.extend([number(*count, offset_bytes), number(*value, offset_bytes)].concat());
        }
        bytes.extend(number(0, offset_bytes));
    };
    directory(&mut bytes, &entries);
    bytes.resize(700, 0);
    bytes[360..364].copy_from_slice(&[0, 80, 160, 240]);
    bytes[560..566].copy_from_slice(b"colors");
    for at in [400, 440, 480, 520] {
        bytes[at..at + SECRET.len()].copy_from_slice(SECRET);
    }
    let mut position = Vec::new();
    directory(&mut position, &[(29, 2, length, 660)]);
    bytes[600..600 + position.len()].copy_from_slice(&position);
    bytes[660..660 + SECRET.len()].copy_from_slice(SECRET);
    bytes
}
