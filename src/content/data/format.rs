//! The format of what the nodes of a cluster write to its log. A node writes a newer format only once a record of the
//! log allows it, because nodes of an older version cannot read it. That record is appended when all nodes can
//! (`start/upgrade.rs`).

use bindery_model::error::{Code, Error, Result};

/// The newest format that this version reads. A change of it needs a new number, and writes the new format only while
/// the last record of a format is at least that number.
pub(crate) const FORMAT: u32 = 1;

/// Encodes the record that allows a format.
pub(crate) fn encode_format(format: u32) -> Vec<u8> {
    format.to_le_bytes().to_vec()
}

/// Checks that this version reads what is written after a record.
///
/// # Errors
/// `INTERNAL` if the format is newer, or the record is malformed.
pub(crate) fn check_format(record: &[u8]) -> Result<()> {
    let format = record.try_into().map(u32::from_le_bytes);
    match format.map_err(|_| Error::internal("a format of the wrong length"))? {
        format if format > FORMAT => {
            let text = format!(
                "the nodes of the cluster write format {format} by now, and this version of Bindery reads formats up to {FORMAT}; \
                 install the version that the other nodes have"
            );
            // Not the usual text, which points to the log of the server: the list of nodes shows it.
            Err(Error::new(Code::Internal, text))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_newer_format_is_refused_with_the_reason() {
        (0..=FORMAT).for_each(|format| check_format(&encode_format(format)).unwrap());
        let error = check_format(&encode_format(FORMAT + 1)).unwrap_err();
        let expected = "the nodes of the cluster write format 2 by now, and this version of Bindery reads formats up to 1; install the version \
                        that the other nodes have";
        assert_eq!(error.message, expected);
        assert!(check_format(&[1]).is_err());
    }
}
