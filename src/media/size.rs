//! Reads the size of pictures that are neither decoded nor cleaned.

/// Returns the width and height in pixels of a BMP, and those of the largest picture in an ICO. `head` are its first
/// bytes.
pub(crate) fn of(mime: &str, head: &[u8]) -> Option<(u32, u32)> {
    let size = match mime {
        "image/bmp" => of_bmp(head),
        "image/x-icon" => of_icon(head),
        _ => None,
    };
    size.filter(|(width, height)| *width > 0 && *height > 0)
}

fn of_bmp(head: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    match number(14)? {
        // The oldest form has 16 bits for each side.
        12 => number(18).map(|sides| (sides & 0xFFFF, sides >> 16)),
        // A height below 0 means that the first row is the upper one.
        _ => Some((number(18)?, number(22)?.cast_signed().unsigned_abs())),
    }
}

fn of_icon(head: &[u8]) -> Option<(u32, u32)> {
    let count = usize::from(u16::from_le_bytes([*head.get(4)?, *head.get(5)?]));
    // A side of 256 pixels does not fit into a byte, and is stored as 0.
    let side = |byte: u8| if byte == 0 { 256 } else { u32::from(byte) };
    let sizes = head[6..].chunks_exact(16).take(count).map(|entry| (side(entry[0]), side(entry[1])));
    sizes.max_by_key(|(width, height)| width * height)
}
