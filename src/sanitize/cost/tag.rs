//! The attributes of one tag, counted as the tokenizer counts them.

/// The state of a tokenizer inside a tag.
#[derive(Clone, Copy)]
enum State {
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Value,
}

/// Reads a tag from behind its name. Returns the offset behind its `>`, and the number of its attributes.
pub(super) fn rest_of_tag(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let mut count = 0;
    let mut state = State::BeforeName;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        state = match (state, byte) {
            (_, b'>') => break,
            (State::BeforeValue, b'"' | b'\'') => {
                at = bytes[at..].iter().position(|other| *other == byte).map_or(bytes.len(), |end| at + end + 1);
                State::BeforeName
            }
            (State::Name | State::AfterName, b'=') => State::BeforeValue,
            (State::BeforeName | State::Name | State::AfterName, b'/') => State::BeforeName,
            (State::Name, _) if byte.is_ascii_whitespace() => State::AfterName,
            (State::Value, _) if byte.is_ascii_whitespace() => State::BeforeName,
            (_, _) if byte.is_ascii_whitespace() => state,
            (State::BeforeName | State::AfterName, _) => {
                count += 1;
                State::Name
            }
            (State::BeforeValue, _) => State::Value,
            (State::Name | State::Value, _) => state,
        };
    }
    (at, count)
}
