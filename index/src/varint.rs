//! Variable-length numbers: 7 bits per byte, the lowest first. The highest bit of a byte is set if another follows.

/// Appends a number.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Removes a number of at most 35 bits from the beginning. Returns `None` if there is none.
#[inline]
pub(crate) fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (index, &byte) in rest.iter().take(5).enumerate() {
        number |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            *rest = &rest[index + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_and_truncated_ones_are_not() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::from(u32::MAX) << 1 | 1] {
            let mut bytes = vec![9];
            put_varint(&mut bytes, number);
            assert!((1..bytes.len()).all(|length| take_varint(&mut &bytes[1..length]).is_none()));
            bytes.push(200);
            let mut rest = &bytes[1..];
            assert_eq!((take_varint(&mut rest), rest), (Some(number), &[200][..]));
        }
        assert_eq!(take_varint(&mut &[0x80; 9][..]), None);
    }
}
