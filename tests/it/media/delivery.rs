//! Delivery (`API.md` 4.27.5): headers, parts, pictures in other sizes and formats, and who sees what is not published.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use image::ImageFormat;
use serde_json::{Value, json};

use super::{Part, fetch, jpeg, picture, png, request, send_form, start, start_with, text, upload};
use crate::support::Failures;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Returns the size of a picture in these bytes.
fn size(bytes: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(bytes).unwrap();
    (picture.width(), picture.height())
}

#[test]
fn the_file_is_answered_with_headers_for_caches_and_browsers() {
    let server = start();
    let resource = upload(&server, "ä b.jpg", &jpeg(40, 20));
    let (url, hash) = (text(&resource, "url"), text(&resource, "hash"));
    let answer = fetch(&server, url).expect(200);
    for (name, value) in [
        ("content-type", "image/jpeg"),
        ("etag", &*format!("\"{hash}\"")),
        ("accept-ranges", "bytes"),
        ("content-disposition", "inline; filename*=UTF-8''%C3%A4%20b.jpg"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", IMMUTABLE),
        ("content-length", &*answer.bytes.len().to_string()),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    let (path, _) = url.split_once('?').unwrap();
    let id = resource["id"].as_str().unwrap();
    for other in [path.to_owned(), format!("{path}?v=old"), format!("/media/{id}/another-name")] {
        let answer = fetch(&server, &other).expect(200);
        assert_eq!(answer.header("cache-control"), "public, max-age=60, must-revalidate", "{other}");
    }
    let head = request(&server, "HEAD", url, &[]).expect(200);
    assert_eq!((head.header("content-length"), head.bytes.len()), (answer.header("content-length"), 0));
    let known = request(&server, "GET", url, &[("if-none-match", answer.header("etag"))]).expect(304);
    assert_eq!((known.header("cache-control"), known.bytes.len()), (IMMUTABLE, 0));
    for missing in [format!("/media/{hash}/a.jpg"), format!("/media/{id}"), "/media/x/a.jpg".to_owned()] {
        fetch(&server, &missing).expect(404);
    }
    // A parameter is checked before the file is looked for.
    for query in ["w=abc", "width=1"] {
        fetch(&server, &format!("/media/0192b3c4-0000-7000-8000-000000000000/a.jpg?{query}")).expect(422);
    }
}

#[test]
fn parts_of_a_file_are_answered() {
    let server = start();
    let content: String = (0..5_000).map(|number| format!("line {number}\n")).collect();
    let resource = upload(&server, "a.txt", content.as_bytes());
    let url = text(&resource, "url");
    let tag = format!("\"{}\"", text(&resource, "hash"));
    let length = content.len();
    let mut failures = Failures::default();
    for (range, status, expected) in [
        ("bytes=0-9", 206, &content[..10]),
        ("bytes=100-", 206, &content[100..]),
        ("bytes=-7", 206, &content[length - 7..]),
        ("bytes=0-1,5-6", 200, &content[..]),
        ("bytes=9999999-", 416, ""),
    ] {
        let headers = [("range", range), ("accept-encoding", "gzip")];
        let answer = request(&server, "GET", url, &headers);
        failures.check_eq(
            range,
            (answer.status, String::from_utf8(answer.bytes.clone()).unwrap()),
            (status, expected.to_owned()),
        );
        failures.check_eq(range, answer.header("content-encoding"), "");
        // An error is not kept for as long as the file.
        let expected = if status == 416 { "no-store" } else { IMMUTABLE };
        failures.check_eq(range, answer.header("cache-control"), expected);
    }
    let part = request(&server, "GET", url, &[("range", "bytes=0-9")]);
    failures.check_eq("range", part.header("content-range").to_owned(), format!("bytes 0-9/{length}"));
    for (condition, status) in [(&*tag, 206), ("\"other\"", 200)] {
        let headers = [("range", "bytes=0-9"), ("if-range", condition)];
        failures.check_eq(condition, request(&server, "GET", url, &headers).status, status);
    }
    let head = request(&server, "HEAD", url, &[("range", "bytes=0-9")]);
    failures.check_eq("HEAD", (head.status, head.header("content-length")), (200, &*length.to_string()));
    failures.check_eq(
        "disposition",
        fetch(&server, url).header("content-disposition"),
        "attachment; filename*=UTF-8''a.txt",
    );
    failures.assert_none();
}

#[test]
fn parts_of_a_picture_in_another_size_are_answered() {
    let server = start();
    let url = format!("{}&w=160", text(&upload(&server, "a.jpg", &jpeg(1_000, 500)), "url"));
    let whole = fetch(&server, &url).expect(200);
    let (tag, length) = (whole.header("etag").to_owned(), whole.bytes.len());
    let part = request(&server, "GET", &url, &[("range", "bytes=10-19"), ("if-range", &tag)]).expect(206);
    assert_eq!(part.bytes, whole.bytes[10..20]);
    for (name, value) in [
        ("content-range", &*format!("bytes 10-19/{length}")),
        ("content-length", "10"),
        ("content-type", "image/jpeg"),
        ("etag", &*tag),
        ("cache-control", IMMUTABLE),
    ] {
        assert_eq!(part.header(name), value, "{name}");
    }
    let end = request(&server, "GET", &url, &[("range", "bytes=-5")]).expect(206);
    assert_eq!(end.bytes, whole.bytes[length - 5..]);
    request(&server, "GET", &url, &[("range", &format!("bytes={length}-"))]).expect(416);
    assert_eq!(
        request(&server, "GET", &url, &[("range", "bytes=0-9"), ("if-range", "\"x\"")]).expect(200).bytes,
        whole.bytes
    );
    request(&server, "GET", &url, &[("range", "bytes=0-9"), ("if-none-match", &tag)]).expect(304);
}

#[test]
fn pictures_are_answered_in_other_sizes_and_formats() {
    let server = start();
    let resource = upload(&server, "a.jpg", &jpeg(1_000, 500));
    let url = text(&resource, "url");
    let get = |query: &str| fetch(&server, &format!("{url}&{query}"));
    let mut failures = Failures::default();
    for (query, mime, expected) in [
        ("w=100", "image/jpeg", (160, 80)),
        ("w=160", "image/jpeg", (160, 80)),
        ("w=161", "image/jpeg", (320, 160)),
        ("w=5000", "image/jpeg", (1_000, 500)),
        ("h=160", "image/jpeg", (320, 160)),
        ("w=160&h=160&fit=cover&format=png", "image/png", (160, 160)),
        ("w=160&h=160&fit=contain&format=png", "image/png", (160, 160)),
        ("w=160&h=160&fit=inside", "image/jpeg", (160, 80)),
        ("w=640&h=360&fit=cover", "image/jpeg", (640, 360)),
        ("w=600&h=450&fit=contain", "image/jpeg", (640, 480)),
        ("w=180&h=320&fit=cover", "image/jpeg", (180, 320)),
        ("w=320&format=webp", "image/webp", (320, 160)),
    ] {
        let answer = get(query).expect(200);
        failures.check_eq(query, (answer.header("content-type"), size(&answer.bytes)), (mime, expected));
        failures.check_eq(query, answer.header("cache-control"), IMMUTABLE);
        let known = request(&server, "GET", &format!("{url}&{query}"), &[("if-none-match", answer.header("etag"))]);
        failures.check_eq(query, known.status, 304);
    }
    failures.check_eq("same", get("w=100").bytes == get("w=150").bytes, true);
    for (accept, mime) in
        [("image/avif,image/webp,*/*", "image/avif"), ("image/webp", "image/webp"), ("*/*", "image/jpeg")]
    {
        let answer = request(&server, "GET", &format!("{url}&w=160&format=auto"), &[("accept", accept)]);
        failures.check_eq(accept, (answer.status, answer.header("content-type")), (200, mime));
        failures.check(answer.header("vary").contains("Accept"), || format!("{accept}: {}", answer.header("vary")));
    }
    for query in ["w=0", "w=x", "fit=stretch", "format=gif", "q=0", "q=101", "width=100", "w=1&w=2"] {
        failures.check_eq(query, get(query).status, 422);
    }
    failures.assert_none();
}

#[test]
fn clients_take_turns_for_pictures_that_have_to_be_made() {
    let server = start_with(&["--analytics-trusted-proxies", "127.0.0.1"]);
    let url = text(&upload(&server, "a.jpg", &jpeg(1_300, 975)), "url").to_owned();
    let made = AtomicUsize::new(0);
    let addresses = ["jpeg", "webp", "png"].iter().flat_map(|format| {
        let qualities = [30, 45, 60, 75, 90, 100].iter().filter(move |quality| *format != "png" || **quality == 30);
        qualities
            .flat_map(move |quality| [1280, 960, 640].map(|width| format!("&format={format}&q={quality}&w={width}")))
    });
    let addresses: Vec<String> = addresses.map(|wanted| format!("{url}{wanted}")).collect();
    std::thread::scope(|scope| {
        for address in &addresses {
            scope.spawn(|| {
                request(&server, "GET", address, &[("x-forwarded-for", "203.0.113.1")]);
                made.fetch_add(1, Ordering::Relaxed);
            });
        }
        while made.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The second client joins those who wait for a picture that the first one asked for, and then asks for another.
        let last = addresses.last().unwrap().clone();
        for address in [last, format!("{url}&format=jpeg&q=30&w=320")] {
            request(&server, "GET", &address, &[("x-forwarded-for", "203.0.113.2")]).expect(200);
        }
        let before = made.load(Ordering::Relaxed);
        assert!(before < addresses.len() / 2, "{before} of {} pictures were made before", addresses.len());
    });
}

#[test]
fn a_picture_that_failed_is_made_once_its_file_was_stored_again() {
    let server = start();
    let bytes = jpeg(1_000, 500);
    let resource = upload(&server, "a.jpg", &bytes);
    let (url, hash) = (format!("{}&w=160", text(&resource, "url")), text(&resource, "hash"));
    let file = server.folder().join("media").join(&hash[..2]).join(hash);
    let length = std::fs::metadata(&file).unwrap().len() as usize;
    std::fs::write(&file, vec![0; length]).unwrap();
    let failed = fetch(&server, &url).expect(200);
    assert_eq!((failed.bytes.len(), failed.header("etag")), (length, &*format!("\"{hash}\"")));
    assert_eq!(failed.header("cache-control"), "public, max-age=60, must-revalidate");
    upload(&server, "b.jpg", &bytes);
    let made = fetch(&server, &url).expect(200);
    assert_eq!((size(&made.bytes), made.header("cache-control")), ((160, 80), IMMUTABLE));
}

#[test]
fn the_focal_point_decides_what_is_cut_off() {
    let server = start();
    let resource = upload(&server, "a.png", &png(1_000, 250));
    let path = format!("/v2/resources/media/{}", resource["id"].as_str().unwrap());
    let crop = |focal: Value| {
        let changed = server.patch(&path, &json!({ "attributes": { "focal_x": focal } })).expect(200).data();
        let url = format!("{}&w=160&h=160&fit=cover", text(&changed, "url"));
        let bytes = fetch(&server, &url).expect(200).bytes;
        image::load_from_memory(&bytes).unwrap().to_rgb8().get_pixel(80, 80)[0]
    };
    // The picture is red on its right.
    let (left, middle, right) = (crop(json!(0.0)), crop(Value::Null), crop(json!(1.0)));
    assert!(left < middle && middle < right, "{left} {middle} {right}");
}

#[test]
fn what_cannot_be_resized_is_answered_as_it_is_or_refused() {
    let server = start_with(&["--media-types", "*/*"]);
    let svg = br#"<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><script>alert(1)</script></svg>"#;
    let drawing = upload(&server, "a.svg", svg);
    for query in ["", "&w=160", "&format=webp"] {
        let answer = fetch(&server, &format!("{}{query}", text(&drawing, "url"))).expect(200);
        assert_eq!(answer.header("content-type"), "image/svg+xml");
        let policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'";
        assert_eq!(answer.header("content-security-policy"), policy);
    }
    let notes = upload(&server, "a.txt", b"only text");
    fetch(&server, text(&notes, "url")).expect(200);
    for query in ["w=160", "format=auto", "q=50"] {
        fetch(&server, &format!("{}&{query}", text(&notes, "url"))).expect(422);
    }
    let page = upload(&server, "a.html", b"<!doctype html><html><body><script>alert(1)</script></body></html>");
    let answer = fetch(&server, text(&page, "url")).expect(200);
    assert!(answer.header("content-disposition").starts_with("attachment;"));
    assert!(answer.header("content-security-policy").starts_with("sandbox;"));
}

#[test]
fn a_still_gif_or_webp_is_resized_like_other_pictures_and_an_animated_one_stays_animated() {
    let server = start();
    let still = |name: &str, format| upload(&server, name, &picture(400, 200, format));
    let accept = [("accept", "image/avif,image/webp,*/*")];
    let is_animated = |bytes: &[u8]| bytes.windows(4).any(|chunk| chunk == b"ANIM");
    for resource in [still("a.gif", ImageFormat::Gif), still("a.webp", ImageFormat::WebP)] {
        let url = text(&resource, "url");
        let smaller = fetch(&server, &format!("{url}&w=160")).expect(200);
        assert_eq!(size(&smaller.bytes), (160, 80));
        assert!(smaller.header("content-type") == "image/webp" && !is_animated(&smaller.bytes), "{url}");
        let smallest = request(&server, "GET", &format!("{url}&w=160&format=auto"), &accept).expect(200);
        assert_eq!(smallest.header("content-type"), "image/avif", "{url}");
    }
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for shade in [0, 120, 240] {
        encoder
            .encode_frame(image::Frame::new(image::RgbaImage::from_pixel(400, 200, [shade, 0, 9, 255].into())))
            .unwrap();
    }
    drop(encoder);
    let url = text(&upload(&server, "b.gif", &bytes), "url").to_owned();
    for query in ["w=160", "w=160&format=auto"] {
        let smaller = request(&server, "GET", &format!("{url}&{query}"), &accept).expect(200);
        assert!(smaller.header("content-type") == "image/webp" && is_animated(&smaller.bytes), "{query}");
    }
    for accept in ["*/*", "image/avif,*/*"] {
        let answer = request(&server, "GET", &format!("{url}&w=160&format=auto"), &[("accept", accept)]).expect(200);
        assert_eq!((answer.header("content-type"), answer.header("vary")), ("image/gif", "Accept"), "{accept}");
    }
}

#[test]
fn what_is_not_published_is_seen_with_preview_only() {
    let server = start();
    let bytes = png(300, 200);
    let file: Part<'_> = ("file", Some("a.png"), &bytes);
    let draft = send_form(&server, "POST", "/v2/media/media", &[file]).expect(201).data();
    let (url, id) = (text(&draft, "url").to_owned(), draft["id"].as_str().unwrap().to_owned());
    let (viewer, editor) = (server.token(&["view"]), server.token(&["view", "preview"]));
    let with = |token: &str, url: &str| request(&server, "GET", url, &[("authorization", &format!("Bearer {token}"))]);
    let thumbnail = format!("{url}&w=160");
    let check = |is_public: bool| {
        for url in [&url, &thumbnail] {
            let public = if is_public { 200 } else { 404 };
            assert_eq!(fetch(&server, url).status, public, "{url}");
            assert_eq!(with(&viewer, url).status, public, "{url}");
            assert_eq!(with("bnd_nonsense", url).status, public, "{url}");
            let seen = with(&editor, url).expect(200);
            let expected = if is_public { IMMUTABLE } else { "private, no-store" };
            assert_eq!(seen.header("cache-control"), expected, "{url}");
        }
    };
    check(false);
    let path = format!("/v2/resources/media/{id}");
    server.patch(&path, &json!({ "published_at": "2026-01-01T00:00:00Z" })).expect(200);
    check(true);
    // The thumbnail is kept by now, which makes no difference.
    server.patch(&path, &json!({ "published_at": null })).expect(200);
    check(false);
    server.delete(&path).expect(204);
    assert_eq!(with(&editor, &url).status, 404);
}

#[test]
fn too_many_requests_for_a_file_that_is_not_public_are_told_so() {
    let server = start_with(&["--rate-limit-per-token", "6/m"]);
    let bytes = png(30, 20);
    let file: Part<'_> = ("file", Some("a.png"), &bytes);
    let draft = send_form(&server, "POST", "/v2/media/media", &[file]).expect(201).data();
    let editor = format!("Bearer {}", server.token(&["view", "preview"]));
    let ask = |_| request(&server, "GET", text(&draft, "url"), &[("authorization", &editor)]);
    let answers: Vec<_> = (0..7).map(ask).collect();
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 200, 200, 200, 200, 200, 429]);
    assert_ne!(answers[6].header("retry-after"), "");
}

#[test]
fn metadata_is_not_served() {
    let server = start();
    let mut bytes = jpeg(20, 10);
    let comment = b"taken at 52.5200, 13.4050";
    let mut segment = vec![0xff, 0xfe];
    segment.extend((comment.len() as u16 + 2).to_be_bytes());
    segment.extend(comment);
    bytes.splice(2..2, segment);
    bytes.extend(b"PK\x03\x04 something behind the end");
    let served = fetch(&server, text(&upload(&server, "a.jpg", &bytes), "url")).expect(200).bytes;
    for hidden in [&comment[..], b"behind the end"] {
        assert!(!served.windows(hidden.len()).any(|window| window == hidden));
    }
    assert_eq!(size(&served), (20, 10));
}

#[test]
fn the_position_of_a_film_is_not_served() {
    let server = start();
    let part =
        |kind: &[u8; 4], contents: &[u8]| [&(contents.len() as u32 + 8).to_be_bytes()[..], kind, contents].concat();
    let position = part(b"\xA9xyz", b"\0\x12\x15\xC7+52.5200+013.4050/");
    let film =
        [part(b"ftyp", b"qt  \0\0\0\0qt  "), part(b"mdat", b"the pixels"), part(b"moov", &part(b"udta", &position))]
            .concat();
    let resource = upload(&server, "a.mov", &film);
    assert_eq!(text(&resource, "mime"), "video/quicktime");
    let served = fetch(&server, text(&resource, "url")).expect(200).bytes;
    assert_eq!(blake3::hash(&served).to_hex().as_str(), text(&resource, "hash"));
    let has = |part: &[u8]| served.windows(part.len()).any(|window| window == part);
    assert!(has(b"the pixels") && !has(b"+52.5200") && served.len() == film.len());
}

#[test]
fn an_address_in_another_spelling_is_no_address() {
    let server = start();
    let media = upload(&server, "a.png", &png(30, 20));
    let id = media["id"].as_str().unwrap();
    fetch(&server, &format!("/media/{id}/other%20name.png")).expect(200);
    let coded = format!("/media/%{:02X}{}/a.png", id.as_bytes()[0], &id[1..]);
    assert_eq!(fetch(&server, &coded).status, 404, "{coded}");
}
