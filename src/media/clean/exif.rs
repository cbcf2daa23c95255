//! The rotation in EXIF data.

use image::metadata::Orientation;

/// Returns the rotation, as its EXIF number, unless it is 1: upright.
pub(super) fn rotation(exif: &[u8]) -> Option<u8> {
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    let number = Orientation::from_exif_chunk(exif)?.to_exif();
    (number != 1).then_some(number)
}

/// Makes EXIF data with a rotation and nothing else.
pub(super) fn with_rotation(rotation: u8) -> Vec<u8> {
    let mut exif = b"MM\0\x2A\0\0\0\x08".to_vec();
    // One entry: the tag 0x0112 of the type 3 (16 bits) has one value. No further directory follows.
    exif.extend_from_slice(&[0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, rotation, 0, 0, 0, 0, 0, 0]);
    exif
}
