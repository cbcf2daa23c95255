//! The form in which the log stores a transaction: writes that take effect together, in one record or several.
//!
//! ```text
//! record  format version (1)  flags (1)  writer (8)  piece of the list of writes (see `write.rs`)
//! flags   1  the first record of its transaction
//!         2  the last record: the commit mark, without which the transaction does not exist
//! ```
//!
//! A record holds at most `PIECE_BYTES` of the list, so that no reader needs to hold or send more at once. The records
//! of one transaction are consecutive. A record with the first flag discards an incomplete transaction before it: its
//! writer crashed, or another process appended in between and the transaction was decided again.

use super::write::{StoreWrite, WritesError, decode_writes, encode_writes};

/// The maximum size of the piece of a list in one record.
const PIECE_BYTES: usize = 1 << 20;

const VERSION: u8 = 2;
const FIRST: u8 = 1;
const LAST: u8 = 2;
const HEADER_BYTES: usize = 10;

/// A committed transaction, read from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The number of its first record. The versions that it creates carry this number, which is known when the
    /// transaction is decided, before its size is known.
    pub first: u64,
    /// The number of its last record. Store, index and state are at this number once it is applied.
    pub last: u64,
    /// The random number of the process that wrote it.
    pub writer: u64,
    /// The writes of the transaction, in order.
    pub writes: Vec<StoreWrite>,
}

/// Encodes a transaction as records for the log, in order.
pub fn encode_transaction(writer: u64, writes: &[StoreWrite]) -> Vec<Vec<u8>> {
    let list = encode_writes(writes);
    let n_pieces = list.len().div_ceil(PIECE_BYTES);
    let piece = |position: usize, bytes: &[u8]| {
        let first = if position == 0 { FIRST } else { 0 };
        let last = if position + 1 == n_pieces { LAST } else { 0 };
        let mut record = Vec::with_capacity(HEADER_BYTES + bytes.len());
        record.extend([VERSION, first | last]);
        record.extend(writer.to_le_bytes());
        record.extend(bytes);
        record
    };
    list.chunks(PIECE_BYTES).enumerate().map(|(position, bytes)| piece(position, bytes)).collect()
}

/// Returns whether a record is the last one of its transaction.
#[must_use]
pub fn ends_transaction(record: &[u8]) -> bool {
    Piece::read(record).is_ok_and(|piece| piece.flags & LAST != 0)
}

/// Assembles transactions from the records of a log.
#[derive(Debug, Default)]
pub struct Assembler {
    incomplete: Option<IncompleteTransaction>,
}

#[derive(Debug)]
struct IncompleteTransaction {
    first: u64,
    next: u64,
    writer: u64,
    list: Vec<u8>,
}

impl Assembler {
    /// Adds the next record. Returns the transaction that it completes, if any.
    ///
    /// # Errors
    /// [`WritesError`] if the record is malformed or of another format.
    pub fn push(&mut self, number: u64, record: &[u8]) -> Result<Option<Transaction>, WritesError> {
        let piece = Piece::read(record)?;
        let before = self.incomplete.take();
        if piece.flags == FIRST | LAST {
            let writes = decode_writes(piece.bytes)?;
            return Ok(Some(Transaction { first: number, last: number, writer: piece.writer, writes }));
        }
        let mut transaction = match before {
            _ if piece.flags & FIRST != 0 => {
                IncompleteTransaction { first: number, next: number, writer: piece.writer, list: Vec::new() }
            }
            Some(before) if before.next == number && before.writer == piece.writer => before,
            // This is the rest of a transaction whose beginning is missing, so the transaction does not exist.
            _ => return Ok(None),
        };
        transaction.list.extend_from_slice(piece.bytes);
        transaction.next += 1;
        if piece.flags & LAST == 0 {
            self.incomplete = Some(transaction);
            return Ok(None);
        }
        let IncompleteTransaction { first, writer, list, .. } = transaction;
        Ok(Some(Transaction { first, last: number, writer, writes: decode_writes(&list)? }))
    }
}

struct Piece<'a> {
    flags: u8,
    writer: u64,
    bytes: &'a [u8],
}

impl Piece<'_> {
    fn read(record: &[u8]) -> Result<Piece<'_>, WritesError> {
        let (header, bytes) = record.split_first_chunk::<HEADER_BYTES>().ok_or(WritesError::Malformed(record.len()))?;
        let [version, flags, writer @ ..] = *header;
        if version != VERSION {
            return Err(WritesError::Version(version));
        }
        if flags > FIRST | LAST {
            return Err(WritesError::Malformed(1));
        }
        Ok(Piece { flags, writer: u64::from_le_bytes(writer), bytes })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Key;

    fn writes(bytes: usize) -> Vec<StoreWrite> {
        vec![StoreWrite::put(Key::Blueprint(7), vec![5; bytes]), StoreWrite::delete(Key::Member(1))]
    }

    fn assemble(records: &[Vec<u8>]) -> Vec<Transaction> {
        let mut assembler = Assembler::default();
        (1..).zip(records).filter_map(|(number, record)| assembler.push(number, record).unwrap()).collect()
    }

    #[test]
    fn a_transaction_of_any_size_survives_a_round_trip_in_records_of_limited_size() {
        for (bytes, n_records) in [(0, 1), (1000, 1), (PIECE_BYTES, 2), (3 * PIECE_BYTES + 5, 4)] {
            let records = encode_transaction(9, &writes(bytes));
            assert_eq!(records.len(), n_records, "{bytes} bytes");
            assert!(records.iter().all(|record| record.len() <= PIECE_BYTES + HEADER_BYTES));
            let ends = records.iter().filter(|record| ends_transaction(record)).count();
            assert!(ends == 1 && ends_transaction(&records[n_records - 1]), "{bytes} bytes");
            let expected = Transaction { first: 1, last: n_records as u64, writer: 9, writes: writes(bytes) };
            assert_eq!(assemble(&records), [expected], "{bytes} bytes");
        }
    }

    #[test]
    fn a_transaction_without_its_commit_mark_does_not_exist() {
        let large = encode_transaction(1, &writes(3 * PIECE_BYTES));
        let small = encode_transaction(2, &writes(3));
        for kept in 0..large.len() {
            let records: Vec<_> = large[..kept].iter().chain(&small).cloned().collect();
            let found: Vec<_> = assemble(&records).into_iter().map(|transaction| transaction.writer).collect();
            assert_eq!(found, [2], "{kept} of {} records", large.len());
        }
        // A transaction that another one interrupted does not exist.
        let records: Vec<_> = large[..2].iter().chain(&small).chain(&large[2..]).cloned().collect();
        assert_eq!(assemble(&records).len(), 1);
    }

    #[test]
    fn records_of_another_format_are_refused_by_its_number() {
        let mut assembler = Assembler::default();
        // A list without a header, which development builds wrote, begins with 1.
        assert_eq!(assembler.push(1, &encode_writes(&writes(3))), Err(WritesError::Version(1)));
        let mut newer = encode_transaction(1, &writes(3)).remove(0);
        newer[0] += 1;
        assert_eq!(assembler.push(1, &newer), Err(WritesError::Version(3)));
    }

    #[test]
    fn damaged_records_are_rejected() {
        let mut assembler = Assembler::default();
        for record in [&[][..], &[2], &[3; 20], &[2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1], &[1, 1, 0, 0, 0]] {
            assert!(assembler.push(1, record).is_err(), "{record:?}");
        }
    }
}
