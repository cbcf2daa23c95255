//! Resource ids: UUIDv7, strictly increasing within a server (`API.md` 1.3).

use std::fmt;

use uuid::Uuid;

/// A resource's id. Ids are ordered like their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u128);

impl ResourceId {
    /// Returns the id as a number. Numbers are ordered like the text.
    pub fn as_u128(self) -> u128 {
        self.0
    }

    /// Returns the id with this number.
    pub fn from_u128(number: u128) -> Self {
        ResourceId(number)
    }

    /// Reads the form that responses contain: lowercase with hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let uuid = Uuid::try_parse(text).ok()?;
        let canonical = uuid.hyphenated().to_string();
        (canonical == text).then(|| ResourceId(uuid.as_u128()))
    }

    /// Returns the id after `last`: an id with the time `millis` if it is larger than `last`, or else the next larger
    /// UUIDv7.
    pub fn next(last: Option<ResourceId>, millis: i64, random: [u8; 10]) -> Self {
        let fresh = uuid::Builder::from_unix_timestamp_millis(millis.max(0) as u64, &random).into_uuid().as_u128();
        match last {
            Some(last) if fresh <= last.0 => last.successor(),
            _ => ResourceId(fresh),
        }
    }

    /// Returns the next larger UUIDv7. Keeps the version and variant bits, and increments the random bits and the time
    /// as one counter.
    pub fn successor(self) -> Self {
        const LOW: u128 = (1 << 62) - 1;
        const VARIANT: u128 = 0b10 << 62;
        const VERSION: u128 = 7 << 76;
        let low = self.0 & LOW;
        let mid = (self.0 >> 64) & 0xfff;
        let time = self.0 >> 80;
        let counter = (((time << 12) | mid) << 62 | low) + 1;
        let low = counter & LOW;
        let mid = (counter >> 62) & 0xfff;
        let time = counter >> 74;
        ResourceId(time << 80 | VERSION | mid << 64 | VARIANT | low)
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Uuid::from_u128(self.0).hyphenated())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_increase_whatever_the_clock_does() {
        let mut last = ResourceId::next(None, 1_000_000, [0xff; 10]);
        for millis in [1_000_000, 5, 0, 1_000_000, 1_000_001, 3] {
            let next = ResourceId::next(Some(last), millis, [0xff; 10]);
            assert!(next > last, "{next} after {last}");
            let uuid = Uuid::from_u128(next.as_u128());
            assert_eq!(uuid.get_version_num(), 7);
            assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
            assert_eq!(ResourceId::parse(&next.to_string()), Some(next));
            last = next;
        }
    }

    #[test]
    fn only_the_form_of_responses_is_read() {
        let id = "0190b4a0-0000-7000-8000-000000000001";
        assert!(ResourceId::parse(id).is_some());
        for other in [&id.to_uppercase(), &id.replace('-', ""), "", "x", &format!("{{{id}}}")] {
            let is_same_text = other == id;
            assert_eq!(ResourceId::parse(other).is_some(), is_same_text, "{other}");
        }
    }
}
