//! Reads the size of pictures that are neither decoded nor cleaned.

/// Returns the width and height in pixels of a BMP, and the least number of bytes that its file has. `head` are its first
/// bytes. Returns `None` if they end too early.
pub(crate) fn of_bmp(head: &[u8]) -> Option<((u32, u32), u64)> {
    let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let (width, height, bits, is_compressed) = match number(14)? {
        // The oldest form has 16 bits for each side.
        12 => (number(18)? & 0xFFFF, number(18)? >> 16, number(22)? >> 16, false),
        // A height below 0 means that the first row is the upper one.
        _ => (number(18)?, number(22)?.cast_signed().unsigned_abs(), number(26)? >> 16, !matches!(number(30)?, 0 | 3)),
    };
    let row = u64::from(width) * u64::from(bits);
    // Some writers leave out the padding of the last row.
    let rows = (row.div_ceil(32) * 4).saturating_mul(u64::from(height).saturating_sub(1));
    let pixels = if is_compressed { 0 } else { rows.saturating_add(row.div_ceil(8)) };
    Some(((width, height), pixels.saturating_add(u64::from(number(10)?))))
}

/// Returns the width and height in pixels of the largest picture in an ICO. `head` are its first bytes.
pub(crate) fn of_icon(head: &[u8]) -> Option<(u32, u32)> {
    let count = usize::from(u16::from_le_bytes([*head.get(4)?, *head.get(5)?]));
    // A side of 256 pixels does not fit into a byte, and is stored as 0.
    let side = |byte: u8| if byte == 0 { 256 } else { u32::from(byte) };
    let sizes = head[6..].chunks_exact(16).take(count).map(|entry| (side(entry[0]), side(entry[1])));
    sizes.max_by_key(|(width, height)| width * height)
}
