//! Indents JSON texts by two spaces, a piece at a time. Must not know where a text comes from or what it holds.

/// What one level of nesting adds to a line.
const SPACES: &[u8] = b"  ";

/// Where an indented text goes.
pub(super) trait Output {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Output for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Only how long an indented text would be.
#[derive(Debug, Default)]
pub(super) struct Length(pub(super) usize);

impl Output for Length {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Indents one JSON text that arrives in pieces, wherever they were cut.
#[derive(Debug, Default)]
pub(super) struct Indenter {
    depth: usize,
    inside: Inside,
    /// Whether the last thing was an opening bracket: an empty object or array stays on its line.
    is_opened: bool,
}

#[derive(Debug, Default)]
enum Inside {
    #[default]
    Structure,
    Text,
    /// Behind a backslash.
    Escape,
}

impl Indenter {
    /// Appends the next piece, indented.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut impl Output) {
        let mut rest = piece;
        while let Some((&byte, behind)) = rest.split_first() {
            rest = match self.inside {
                Inside::Structure => {
                    self.structure(byte, out);
                    behind
                }
                Inside::Escape => {
                    out.put(&[byte]);
                    self.inside = Inside::Text;
                    behind
                }
                Inside::Text => self.text(rest, out),
            }
        }
    }

    /// Copies a text up to its end or its next escape. Returns what is behind that.
    fn text<'a>(&mut self, piece: &'a [u8], out: &mut impl Output) -> &'a [u8] {
        let end = piece.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        let (text, behind) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
        out.put(text);
        match end.map(|end| piece[end]) {
            Some(b'"') => self.inside = Inside::Structure,
            Some(_) => self.inside = Inside::Escape,
            None => {}
        }
        behind
    }

    fn structure(&mut self, byte: u8, out: &mut impl Output) {
        if byte.is_ascii_whitespace() {
            return;
        }
        let was_opened = std::mem::take(&mut self.is_opened);
        let is_closing = matches!(byte, b'}' | b']');
        if is_closing {
            self.depth = self.depth.saturating_sub(1);
        }
        // Either the first thing behind an opening bracket, or the bracket behind the last one.
        if was_opened != is_closing {
            self.begin_line(out);
        }
        out.put(&[byte]);
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.is_opened = true;
            }
            b',' => self.begin_line(out),
            b':' => out.put(b" "),
            b'"' => self.inside = Inside::Text,
            _ => {}
        }
    }

    fn begin_line(&self, out: &mut impl Output) {
        out.put(b"\n");
        (0..self.depth).for_each(|_| out.put(SPACES));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn indented<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> String {
        let (mut indenter, mut out) = (Indenter::default(), Vec::new());
        pieces.for_each(|piece| indenter.push(piece, &mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_are_indented_as_people_expect() {
        let value = json!({
            "data": [{ "a": 1.5, "empty": {}, "none": [], "null": null }, [[]], "x"],
            "text": "{\"quoted\": [1, 2]} \\ \" \u{1} ü",
            "nested": { "deep": { "deeper": [true, false, -1e-7] } },
        });
        let expected = serde_json::to_string_pretty(&value).unwrap();
        let (compact, spaced) = (value.to_string(), serde_json::to_string_pretty(&value).unwrap());
        for text in [compact, spaced] {
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(indented(text.as_bytes().chunks(size)), expected, "in pieces of {size}");
            }
            let mut length = Length::default();
            Indenter::default().push(text.as_bytes(), &mut length);
            assert_eq!(length.0, expected.len());
        }
        for text in ["{}", "[]", "null", "\"a, b\"", "12"] {
            assert_eq!(indented([text.as_bytes()].into_iter()), text);
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "([\\\\\"{},:\\[\\] \\n]|\\PC){0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("([\\\\\"{},:]|\\PC){0,5}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_indented_wherever_it_is_cut(value in values(), size in 1_usize..20) {
            let text = value.to_string();
            let expected = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(indented(text.as_bytes().chunks(size)), expected);
        }

        #[test]
        fn what_is_no_json_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            Indenter::default().push(&bytes, &mut Vec::new());
        }
    }
}
