//! The lines of NDJSON, with their numbers. A file of any length takes only the memory of the longest allowed line.
//! Must not know the contents of a line.

use std::io::{self, BufRead, Read as _};

/// Calls `each` with the number of every line that is not empty, from 1, and its text or the reason why it is broken,
/// until it returns false.
pub(crate) fn each_line(
    mut reader: Box<dyn BufRead + Send>,
    max_bytes: usize,
    mut each: impl FnMut(u64, Result<Vec<u8>, String>) -> bool,
) -> io::Result<()> {
    for number in 1.. {
        let mut line = Vec::new();
        let read = reader.by_ref().take(max_bytes as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let line = match read > max_bytes && !line.ends_with(b"\n") {
            true => {
                skip_line(&mut reader)?;
                Err(too_long(max_bytes))
            }
            false => Ok(line.trim_ascii().to_vec()),
        };
        if line.as_ref().is_ok_and(Vec::is_empty) {
            continue;
        }
        if !each(number, line) {
            break;
        }
    }
    Ok(())
}

/// Returns the reason why a line that is longer than a body is broken.
pub(crate) fn too_long(max_bytes: usize) -> String {
    format!("the line is longer than {max_bytes} bytes, which is the limit (`max_body_bytes`)")
}

/// Reads to the end of a line and discards it.
fn skip_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let read = reader.fill_buf()?;
        let end = read.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(read.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() || used == 0 {
            return Ok(());
        }
    }
}
