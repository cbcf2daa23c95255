//! The type of a file comes from its bytes.

use super::Store;
use super::pictures;
use crate::{Accepted, MediaError};

/// A zip file with empty entries of these names.
fn zip(names: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for name in names {
        let length = (name.len() as u16).to_le_bytes();
        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend_from_slice(&[0; 24]);
        directory.extend_from_slice(&length);
        directory.extend_from_slice(&[0; 16]);
        directory.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b"PK\x03\x04");
        bytes.extend_from_slice(&[0; 22]);
        bytes.extend_from_slice(&length);
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(b"PK\x05\x06");
    bytes.extend_from_slice(&[0; 18]);
    bytes
}

/// An OLE container whose directory is its first sector.
fn ole(stream: &str) -> Vec<u8> {
    let mut bytes = vec![0; 1024];
    bytes[..8].copy_from_slice(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
    bytes[30] = 9;
    for (number, name) in ["Root Entry", stream].into_iter().enumerate() {
        let entry = 512 + number * 128;
        for (at, unit) in name.encode_utf16().enumerate() {
            bytes[entry + 2 * at..][..2].copy_from_slice(&unit.to_le_bytes());
        }
        bytes[entry + 64] = name.len() as u8 * 2 + 2;
    }
    bytes
}

fn font(signature: [u8; 4]) -> Vec<u8> {
    [&signature[..], &[0, 10, 0, 128, 0, 3, 0, 32], b"GDEF", &[0; 100]].concat()
}

#[tokio::test]
async fn the_bytes_decide_and_the_name_only_among_texts() {
    let store = Store::new();
    let utf16: Vec<u8> = "\u{FEFF}a,b\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let odt =
        [b"PK\x03\x04".as_slice(), &[0; 22], &[8, 0, 0, 0], b"mimetypeapplication/vnd.oasis.opendocument.text", b"PK"]
            .concat();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a.exe", pictures::jpeg(&pictures::corners(8, 8)), "image/jpeg"),
        ("a.jpg", pictures::png(pictures::corners(8, 8)), "image/png"),
        ("a.txt", pictures::gif(8, 8, 1), "image/gif"),
        ("a.jpg", b"MZ\x90\0\x03\0\0\0".to_vec(), "application/vnd.microsoft.portable-executable"),
        ("a.jpg", b"#!/bin/sh\nrm -rf /\n".to_vec(), "text/x-shellscript"),
        ("a.jpg", b"<!DOCTYPE html><script>alert(1)</script>".to_vec(), "text/html"),
        ("a.txt", b"  <!-- hi --> <SCRIPT src=x></SCRIPT>".to_vec(), "text/html"),
        (
            "a.svg",
            b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>".to_vec(),
            "application/xhtml+xml",
        ),
        ("a.txt", b"<?xml version='1.0'?><feed><title/></feed>".to_vec(), "application/xml"),
        (
            "a.txt",
            b"\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- made by hand -->\n<!DOCTYPE svg [ <!ENTITY a \"b\"> ]>\n<svg/>"
                .to_vec(),
            "image/svg+xml",
        ),
        ("a.xml", b"<svg:svg xmlns:svg='http://www.w3.org/2000/svg'></svg:svg>".to_vec(), "image/svg+xml"),
        ("a.csv", b"name,age\nAda,36\n".to_vec(), "text/csv"),
        ("a.CSV", b"n\xE4me;age\r\nJ\xFCrgen;36\r\n".to_vec(), "text/csv"),
        ("a.csv", utf16, "text/csv"),
        ("a.md", b"# Title\n".to_vec(), "text/markdown"),
        ("a.json", b"{\"a\": 1}".to_vec(), "application/json"),
        ("a", b"just a text".to_vec(), "text/plain"),
        ("a.pdf", b"just a text".to_vec(), "text/plain"),
        ("a.txt", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj".to_vec(), "application/pdf"),
        ("a.txt", b"%PDF-1.7\n1 0 obj".to_vec(), "application/pdf"),
        ("a.doc", b"{\\rtf1 text}".to_vec(), "application/rtf"),
        ("a.doc", ole("WordDocument"), "application/msword"),
        ("a.doc", ole("Workbook"), "application/vnd.ms-excel"),
        ("a.doc", ole("PowerPoint Document"), "application/vnd.ms-powerpoint"),
        ("a.doc", ole("Installer"), "application/x-ole-storage"),
        ("a.zip", odt, "application/vnd.oasis.opendocument.text"),
        ("a.docx", zip(&["a.txt"]), "application/zip"),
        (
            "a.zip",
            zip(&["[Content_Types].xml", "docProps/a", "word/document.xml"]),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (
            "a.zip",
            zip(&["_rels/.rels", "b", "c", "d", "xl/workbook.xml"]),
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ),
        (
            "a.zip",
            zip(&["ppt/presentation.xml"]),
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ),
        ("a", font(*b"OTTO"), "font/otf"),
        ("a", font([0, 1, 0, 0]), "font/ttf"),
        ("a", b"wOF2\0\x01\0\0".to_vec(), "font/woff2"),
        ("a", b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic\0".to_vec(), "image/heic"),
        ("a", b"\0\0\0\x18ftypavif\0\0\0\0mif1avif\0".to_vec(), "image/avif"),
        ("a", b"\0\0\0\x18ftypisom\0\0\0\0isomavc1\0".to_vec(), "video/mp4"),
        ("a", b"\0\0\0\x18ftypXAVC\0\0\0\0XAVCmp42".to_vec(), "video/mp4"),
        ("a", b"\0\0\0\x18ftypM4B \0\0\0\0isommp42".to_vec(), "audio/mp4"),
        ("a", b"\0\0\0\x18ftypqt  \0\0\0\0qt  isom".to_vec(), "video/quicktime"),
        ("a", b"\0\0\0\x18ftypcrx \0\0\0\0crx isom".to_vec(), "application/octet-stream"),
        ("a", b"\0\0\0\x18ftyp3gp5\0\0\0\x003gp5".to_vec(), "video/3gpp"),
        ("a", [[0xFF, 0xF3, 0x40, 0xC0].as_slice(), &[0; 100]].concat(), "audio/mpeg"),
        ("a", b"ID3\x03\0\0\0\0\0\0\0\0".to_vec(), "audio/mpeg"),
        ("a", [b"\x1A\x45\xDF\xA3\x42\x82\x84webm".as_slice(), &[0; 300]].concat(), "video/webm"),
        ("a.txt", b"text\0with a zero".to_vec(), "application/octet-stream"),
        ("a", vec![0xFE, 0xDC, 0xBA, 0x98, 0x12, 0x00], "application/octet-stream"),
    ];
    for (name, bytes, expected) in cases {
        let taken = store.upload(name, &bytes).await;
        let taken = taken.unwrap_or_else(|error| panic!("{name} {expected}: {error}"));
        assert_eq!(taken.mime, expected, "{name} {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
    }
}

#[tokio::test]
async fn a_type_that_is_not_in_the_list_is_refused_with_the_list() {
    let store = Store::new();
    let mut upload = store.files.begin(1000).await.unwrap();
    upload.write(b"<!doctype html><p>hi".as_slice().into()).await.unwrap();
    let only = Accepted::new(["image/*", "Application/PDF"]).unwrap();
    let error = upload.finish(&only, "page.png").await.unwrap_err();
    let text = "files of the type `text/html` are not accepted; accepted are image/*, application/pdf";
    assert_eq!(error.to_string(), text);
    assert_eq!(store.uploads(), Vec::<String>::new());
}

#[test]
fn the_list_of_types_has_groups_and_full_types() {
    let default = Accepted::default();
    for accepted in
        ["image/svg+xml", "image/avif", "video/mp4", "audio/mpeg", "font/woff2", "application/pdf", "text/csv"]
    {
        assert!(default.accepts(accepted), "{accepted}");
    }
    for refused in
        ["text/html", "application/octet-stream", "application/x-executable", "text/javascript", "imagex/png"]
    {
        assert!(!default.accepts(refused), "{refused}");
    }
    for invalid in ["", "image", "image/", "*/png", "image/*x", "a/b/c", "text/ht ml"] {
        let error = Accepted::new([invalid]).unwrap_err();
        assert!(matches!(error, MediaError::InvalidType { .. }), "{invalid}");
    }
    assert!(Accepted::new(["*/*"]).unwrap().accepts("application/octet-stream"));
}

/// A HEIC of 64 × 64 pixels, of which 40 × 30 are shown, turned; with another picture that is larger.
fn heic(primary: u16) -> Vec<u8> {
    let part =
        |kind: &[u8; 4], contents: &[u8]| [&(contents.len() as u32 + 8).to_be_bytes()[..], kind, contents].concat();
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
    let properties = [
        part(b"ispe", &numbers(&[0, 64, 64])),
        part(b"clap", &numbers(&[40, 1, 60, 2, 0, 1, 0, 1])),
        part(b"irot", &[1]),
        part(b"ispe", &numbers(&[0, 80, 90])),
    ];
    let table = [&numbers(&[0, 2])[..], &[0, 7, 1, 4], &[0, 9, 3, 0x81, 2, 3]].concat();
    let properties = part(b"iprp", &[part(b"ipco", &properties.concat()), part(b"ipma", &table)].concat());
    let primary = part(b"pitm", &[&[0; 4][..], &primary.to_be_bytes()].concat());
    let meta = part(b"meta", &[&[0; 4][..], &primary, &properties].concat());
    [part(b"ftyp", b"heic\0\0\0\0mif1heic"), meta].concat()
}

#[tokio::test]
async fn pictures_that_are_not_decoded_have_a_size() {
    let store = Store::new();
    let bmp = |header: &[u8]| [b"BM".as_slice(), &[0; 12], header, &[0; 100]].concat();
    for (bytes, size) in [
        (bmp(&[40, 0, 0, 0, 30, 0, 0, 0, 20, 0, 0, 0]), Some((30, 20))),
        (bmp(&[40, 0, 0, 0, 30, 0, 0, 0, 0xEC, 0xFF, 0xFF, 0xFF]), Some((30, 20))),
        (bmp(&[12, 0, 0, 0, 30, 0, 20, 0]), Some((30, 20))),
        (heic(9), Some((30, 40))),
        (heic(7), Some((80, 90))),
        (heic(1), Some((90, 80))),
        ([&[0, 0, 1, 0, 2, 0, 16, 32][..], &[0; 14], &[0, 0], &[0; 100]].concat(), Some((256, 256))),
        (b"\0\0\x01\0\xFF\xFF\x10\x10".to_vec(), None),
    ] {
        let picture = store.upload("picture", &bytes).await.unwrap().picture;
        assert_eq!(picture.map(|picture| (picture.width, picture.height)), size, "{bytes:?}");
    }
}
