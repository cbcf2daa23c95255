//! Parts of keys: texts, and the encoding and decoding of the parts. Must not know tables.

use bindery_model::id::ResourceId;

/// The longest text that a key contains verbatim. A longer text is replaced by its hash.
const PLAIN_TEXT_BYTES: usize = 64;
const HASHED: u8 = 0xff; // stands in place of a length if a hash follows

/// A text in a key. For a long text, the key holds only a hash; if the text is needed later, store it in the value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyText(Text);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Text {
    Plain(String),
    Hashed([u8; 32]),
}

impl KeyText {
    /// Returns the text; `None` if it is too long to be stored in the key.
    pub fn plain(&self) -> Option<&str> {
        match &self.0 {
            Text::Plain(text) => Some(text),
            Text::Hashed(_) => None,
        }
    }
}

impl From<&str> for KeyText {
    fn from(text: &str) -> Self {
        KeyText(match text.len() {
            0..=PLAIN_TEXT_BYTES => Text::Plain(text.to_owned()),
            _ => Text::Hashed(*blake3::hash(text.as_bytes()).as_bytes()),
        })
    }
}

impl From<String> for KeyText {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// The bytes of a key that are encoded so far.
pub(super) struct Parts(Vec<u8>);

impl Parts {
    /// Begins a key of a table.
    pub(super) fn of(table: u8) -> Parts {
        let mut bytes = Vec::with_capacity(32);
        bytes.push(table);
        Parts(bytes)
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Parts {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(self, number: u8) -> Parts {
        self.bytes(&[number])
    }

    pub(super) fn u16(self, number: u16) -> Parts {
        self.bytes(&number.to_be_bytes())
    }

    pub(super) fn u32(self, number: u32) -> Parts {
        self.bytes(&number.to_be_bytes())
    }

    pub(super) fn u64(self, number: u64) -> Parts {
        self.bytes(&number.to_be_bytes())
    }

    pub(super) fn id(self, id: ResourceId) -> Parts {
        self.bytes(&id.as_u128().to_be_bytes())
    }

    /// Adds a text. Its length comes first, so that no encoded text is a prefix of another one.
    pub(super) fn text(self, text: &KeyText) -> Parts {
        match &text.0 {
            Text::Plain(text) => self.u8(text.len() as u8).bytes(text.as_bytes()),
            Text::Hashed(hash) => self.u8(HASHED).bytes(hash),
        }
    }

    /// Returns the encoded key.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// The bytes that are not decoded yet.
pub(super) struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Rest<'a> {
        Rest(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn bool(&mut self) -> Option<bool> {
        match self.take()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    pub(super) fn id(&mut self) -> Option<ResourceId> {
        self.take().map(|bytes| ResourceId::from_u128(u128::from_be_bytes(bytes)))
    }

    pub(super) fn text(&mut self) -> Option<KeyText> {
        let [length] = self.take()?;
        if length == HASHED {
            return Some(KeyText(Text::Hashed(self.take()?)));
        }
        let length = usize::from(length);
        if length > PLAIN_TEXT_BYTES {
            return None;
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(KeyText(Text::Plain(std::str::from_utf8(text).ok()?.to_owned())))
    }
}
