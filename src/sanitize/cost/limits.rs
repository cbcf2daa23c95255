//! Limits on the cost of markup, and the messages for markup that costs more.

/// The maximum number of open elements, without those whose end tag is usually left out. Browsers also stop nesting
/// there.
pub(super) const MAX_DEPTH: usize = 512;
/// The maximum number of attributes of one tag. The parser compares each with those before it.
pub(super) const MAX_ATTRIBUTES: usize = 1000;
/// The maximum number of distinct names of tags and attributes. The parser keeps them in a table of fixed size that all
/// threads share.
pub(super) const MAX_NAMES: usize = 4096;
/// The maximum number of all open elements and formatting elements, including those that do not count as nested.
pub(super) const MAX_OPEN: usize = 4 * MAX_DEPTH;
/// The number of steps that are free, and of further steps for each byte. Real articles take a few for each byte.
pub(super) const FREE_STEPS: u64 = 1_000_000;
pub(super) const STEPS_PER_BYTE: u64 = 64;
/// The number of elements and texts that are free. There may be one more for each [`BYTES_PER_NODE`] bytes.
pub(super) const FREE_NODES: usize = 400_000;
pub(super) const BYTES_PER_NODE: usize = 16;

/// The bytes that the serializer may look at again because of characters that it escapes, which takes some tenths of a
/// second. In a text of a megabyte without `<` and `>`, one in thirty may be such a character.
pub(super) const MAX_SCANNED: u64 = 1 << 34;

/// The reason why markup is rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Refusal {
    Depth,
    Attributes,
    Names,
    /// Most elements are copies of formatting that was left open.
    Formatting,
    Elements,
    Steps,
    /// A long text has too many characters that are escaped.
    Escaped,
}

impl Refusal {
    /// Returns a clause that begins with `must`.
    pub(super) fn clause(self) -> String {
        match self {
            Refusal::Depth => format!("must not nest elements more than {MAX_DEPTH} deep"),
            Refusal::Attributes => format!("must not contain a tag with more than {MAX_ATTRIBUTES} attributes"),
            Refusal::Names => format!("must not use more than {MAX_NAMES} different names of tags and attributes"),
            Refusal::Formatting => "must close its formatting tags: too many are left open".to_owned(),
            Refusal::Elements => "must consist of fewer elements".to_owned(),
            Refusal::Escaped => {
                "must divide its long texts into paragraphs: one of them has too many `&`, no-break spaces or signs such as `§`".to_owned()
            }
            Refusal::Steps => {
                "must be nested less deeply and close its tags: parsing it takes too many steps for its size".to_owned()
            }
        }
    }
}
