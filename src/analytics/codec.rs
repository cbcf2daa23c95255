//! The encoding that log records and day files share: numbers in as few bytes as they need, texts preceded by their
//! length. It does not know what is encoded.

/// The error for bytes that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the data is damaged or is of a format that this version of the server cannot read")]
pub(super) struct DecodeError;

/// Appends a number, seven bits to a byte.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number that may be negative.
pub(super) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a text.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads values in the order in which they were appended. Every method fails with [`DecodeError`] if the bytes do not
/// hold such a value.
#[derive(Debug)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn number(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError)
    }

    pub(super) fn signed(&mut self) -> Result<i64, DecodeError> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn small(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.number()?).map_err(|_| DecodeError)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.count()?;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| DecodeError)
    }

    /// Reads the number of items that follow. It is at most the number of bytes left, because an item takes at least
    /// one byte.
    pub(super) fn count(&mut self) -> Result<usize, DecodeError> {
        let count = self.number()?;
        usize::try_from(count).ok().filter(|count| *count <= self.0.len()).ok_or(DecodeError)
    }

    pub(super) fn wide(&mut self) -> Result<u128, DecodeError> {
        let bytes = self.bytes(16)?.try_into().map_err(|_| DecodeError)?;
        Ok(u128::from_le_bytes(bytes))
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(DecodeError)?;
        self.0 = rest;
        Ok(bytes)
    }
}
