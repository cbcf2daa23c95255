//! The format of a file of items, found by its name or its beginning, and its compression, found by its name. Must not
//! know how it is read or written.

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// One item on each line.
    Ndjson,
    /// An array of items, or of plain objects if none of them has `attributes`.
    Json,
    /// A header row, and a row for each item.
    Csv,
}

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Plain,
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the compression of a file with this name.
    pub(super) fn of_name(name: &str) -> Compression {
        match name.to_ascii_lowercase().rsplit_once('.') {
            Some((_, "gz")) => Compression::Gzip,
            Some((_, "zst")) => Compression::Zstd,
            _ => Compression::Plain,
        }
    }
}

impl Rows {
    /// Returns the format with this name.
    pub(super) fn named(name: &str) -> Option<Rows> {
        match name {
            "ndjson" => Some(Rows::Ndjson),
            "json" => Some(Rows::Json),
            "csv" => Some(Rows::Csv),
            _ => None,
        }
    }

    /// Returns its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Rows::Ndjson => "ndjson",
            Rows::Json => "json",
            Rows::Csv => "csv",
        }
    }

    /// Returns the format of a file with this name; `None` if the name does not tell. Endings of compressed files are
    /// ignored.
    pub(super) fn of_name(name: &str) -> Option<Rows> {
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        match name.rsplit_once('.')?.1 {
            "csv" | "tsv" => Some(Rows::Csv),
            "json" => Some(Rows::Json),
            "ndjson" | "jsonl" => Some(Rows::Ndjson),
            _ => None,
        }
    }

    /// Returns the format of a text that begins like this: JSON begins with a bracket, and a table does not.
    pub(super) fn of_beginning(text: &[u8]) -> Rows {
        match text.trim_ascii_start().first() {
            Some(b'[') => Rows::Json,
            Some(b'{') | None => Rows::Ndjson,
            Some(_) => Rows::Csv,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Compression, Rows};

    #[test]
    fn names_and_beginnings_tell_what_a_file_holds() {
        for (name, rows, compression) in [
            ("a.csv", Some(Rows::Csv), Compression::Plain),
            ("A.CSV.GZ", Some(Rows::Csv), Compression::Gzip),
            ("a.tsv", Some(Rows::Csv), Compression::Plain),
            ("a.json", Some(Rows::Json), Compression::Plain),
            ("a.jsonl.zst", Some(Rows::Ndjson), Compression::Zstd),
            ("a.gz", None, Compression::Gzip),
            ("a.txt", None, Compression::Plain),
            ("-", None, Compression::Plain),
        ] {
            assert_eq!((Rows::of_name(name), Compression::of_name(name)), (rows, compression), "{name}");
        }
        assert_eq!(Rows::of_beginning(b" \n[1"), Rows::Json);
        assert_eq!(Rows::of_beginning(b"{\"a\":1}"), Rows::Ndjson);
        assert_eq!(Rows::of_beginning(b"title,sku"), Rows::Csv);
        assert_eq!(Rows::of_beginning(b"\xff\xfet\0"), Rows::Csv);
        assert_eq!(Rows::of_beginning(b""), Rows::Ndjson);
    }
}
