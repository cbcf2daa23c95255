//! Compresses stored values that resemble others, and takes them apart: with another value as the dictionary, a value
//! takes little where the two differ little.

use bindery_model::error::{Error, Result};
use zstd::bulk::{Compressor, Decompressor};

/// The level of compression. It takes a tenth of a millisecond for an article.
const LEVEL: i32 = 3;

/// The largest value that is read back. A damaged length must not reserve more.
const MAX_BYTES: usize = 256 << 20;

/// Returns the length of a value in four bytes, then the value compressed. Only [`unpack`] with the same dictionary
/// reads it.
///
/// # Errors
/// `INTERNAL` if the library fails.
pub(crate) fn pack(bytes: &[u8], dictionary: Option<&[u8]>) -> Result<Vec<u8>> {
    let mut compressor = match dictionary {
        Some(dictionary) => Compressor::with_dictionary(LEVEL, dictionary),
        None => Compressor::new(LEVEL),
    }
    .map_err(Error::internal)?;
    let mut packed = (bytes.len() as u32).to_le_bytes().to_vec();
    packed.extend(compressor.compress(bytes).map_err(Error::internal)?);
    Ok(packed)
}

/// Returns the value.
///
/// # Errors
/// `INTERNAL` if it is damaged, or the dictionary is another one.
pub(crate) fn unpack(packed: &[u8], dictionary: Option<&[u8]>) -> Result<Vec<u8>> {
    let split = packed.split_first_chunk().map(|(length, frame)| (u32::from_le_bytes(*length) as usize, frame));
    let damaged = || Error::internal("a compressed value that this version cannot read");
    let (length, frame) = split.filter(|(length, _)| *length <= MAX_BYTES).ok_or_else(damaged)?;
    let mut decompressor = match dictionary {
        Some(dictionary) => Decompressor::with_dictionary(dictionary),
        None => Decompressor::new(),
    }
    .map_err(Error::internal)?;
    let bytes = decompressor.decompress(frame, length).map_err(Error::internal)?;
    // An empty frame is no error of the library.
    if bytes.len() == length { Ok(bytes) } else { Err(damaged()) }
}

/// Takes the first bytes of a stored value; `None` if it has fewer.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_value_is_read_back_with_its_dictionary_and_damage_is_an_error() {
        let (value, dictionary) = (b"one paragraph of another text".as_slice(), b"one paragraph of a text".as_slice());
        for dictionary in [None, Some(dictionary), Some(b"".as_slice())] {
            let packed = pack(value, dictionary).unwrap();
            assert_eq!(unpack(&packed, dictionary).unwrap(), value);
            (0..packed.len()).for_each(|cut| assert!(unpack(&packed[..cut], dictionary).is_err(), "{cut}"));
        }
        assert!(unpack(&u32::MAX.to_le_bytes(), None).is_err());
    }
}
