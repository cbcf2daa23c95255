#![allow(clippy::unwrap_used)]

use encoding_rs::WINDOWS_1252;

use super::*;

fn rows(text: &[u8], delimiter: Option<u8>, max_bytes: usize) -> Vec<(u64, Vec<String>, bool)> {
    let mut table = Table::new(text, delimiter, UTF_8, max_bytes).unwrap();
    let rows = std::iter::from_fn(|| table.next().unwrap());
    rows.map(|row| (row.line, row.cells, row.broken.is_some())).collect()
}

fn row(line: u64, cells: &[&str], is_broken: bool) -> (u64, Vec<String>, bool) {
    (line, cells.iter().map(|cell| (*cell).to_owned()).collect(), is_broken)
}

#[test]
fn rows_have_the_line_in_which_they_begin_as_editors_number_it() {
    for end in ["\n", "\r\n", "\r"] {
        let text = "a;b|1;\"x|y\"||;|2;z".replace('|', end);
        let cell = format!("x{end}y");
        let expected = [row(1, &["a", "b"], false), row(2, &["1", &cell], false), row(6, &["2", "z"], false)];
        assert_eq!(rows(text.as_bytes(), None, 1 << 20), expected, "{end:?}");
    }
}

#[test]
fn a_quote_that_is_not_closed_costs_its_own_line_only() {
    let text = b"a,b\n\"open,1\n\"2\"\"\",\"x\"\n3,5\" screen\n\"4\" inch,y\n5,\"end\n6,z\n";
    let expected = [
        row(1, &["a", "b"], false),
        row(2, &["\"open", "1"], true),
        row(3, &["2\"", "x"], false),
        row(4, &["3", "5\" screen"], false),
        row(5, &["\"4\" inch", "y"], true),
        row(6, &["5", "\"end"], true),
        row(7, &["6", "z"], false),
    ];
    assert_eq!(rows(text, None, 1 << 20), expected);
}

#[test]
fn a_row_takes_bounded_memory() {
    let long = format!("a,b\n1,{}\n2,x\n\"{}\n3,y\n", "z".repeat(5_000), "q\n".repeat(400));
    let found = rows(long.as_bytes(), Some(b','), 1_500);
    assert_eq!((found[1].0, found[1].2, found[1].1[1].len()), (2, true, 998));
    assert_eq!(found[2], row(3, &["2", "x"], false));
    assert_eq!((found[3].0, found[3].2), (4, true));
    assert_eq!(found.last().unwrap().1, ["3", "y"]);
    let wide = ",".repeat(10_000);
    let found = rows(wide.as_bytes(), Some(b','), 1 << 20);
    assert!(found[0].2 && found[0].1.len() == MAX_COLUMNS);
}

#[test]
fn delimiters_are_guessed_from_the_rows() {
    for (text, delimiter) in [
        ("a,b\n1,2\n", b','),
        ("Name;Preis, netto;Lager, Stk\nx;1,5;2\n", b';'),
        ("Preis, netto; Menge, Stk\n1,50;2\n2,50;3\n", b';'),
        ("a\tb\n1,5\t2\n", b'\t'),
        ("a|b\n1|2\n", b'|'),
        ("title\nx\n", b','),
        ("\"a;b\",c\n\"x;y;\",z\n", b','),
        ("", b','),
    ] {
        assert_eq!(guess_delimiter(text.as_bytes()), delimiter, "{text}");
    }
    assert_eq!(rows(b"sep=|\na,b|c\n", None, 100), [row(2, &["a,b", "c"], false)]);
}

#[test]
fn text_is_decoded() {
    let mut table = Table::new(&b"M\xfcller;5 \x80"[..], None, WINDOWS_1252, 100).unwrap();
    assert_eq!(table.next().unwrap().unwrap().cells, ["Müller", "5 €"]);
    let mut table = Table::new(&b"M\xfcller"[..], None, UTF_8, 100).unwrap();
    assert!(table.next().unwrap().is_some() && !table.is_valid());
    let utf16: Vec<u8> = "\u{feff}a\tü".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (reader, mark) = decoded(Box::new(io::Cursor::new(utf16))).unwrap();
    assert_eq!(mark, Mark::Utf16);
    let mut table = Table::new(reader, None, UTF_8, 100).unwrap();
    assert_eq!(table.next().unwrap().unwrap().cells, ["a", "ü"]);
}

#[test]
fn cells_are_quoted_where_they_must_be() {
    assert_eq!(joined(["a", "b;c", "d\"e", "f,g", ""].into_iter(), b';'), "a;\"b;c\";\"d\"\"e\";f,g;");
}
