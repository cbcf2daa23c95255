//! Cursors: the position of a resource in an order, as a text that clients send back (`API.md` 4.2.8). Must not know
//! how a position is found.
//!
//! A cursor is authenticated with a key derived from the list that it belongs to, from the epoch of the content, which
//! outlives restarts, and from the language and the releases of the data that orders texts. So a cursor that is damaged,
//! invented, or of another list or order is rejected, and the server stores no cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bindery_index::{Position, PositionKey, SortBy, SortKey, TEXT_DATA};
use bindery_model::error::{Code, Error, Result};
use bindery_query::{Query, projection};

use crate::data::state::Collection;
use crate::data::visibility::Visibility;

/// The format of cursors. Cursors in another format are rejected.
const FORM: u8 = 1;
const TAG_BYTES: usize = 16;
const ID_BYTES: usize = 16;

/// The key that authenticates the cursors of one list.
pub(super) struct CursorKey([u8; blake3::KEY_LEN]);

impl CursorKey {
    /// Derives the key for the lists of a blueprint in one order, variant and visibility,
    /// with live or with working copies.
    pub(super) fn new(epoch: u64, collection: &Collection, query: &Query, visibility: Visibility) -> CursorKey {
        let locale = projection::locale_of(&collection.blueprint, query.copies.variant);
        let mut hasher = hasher_of(epoch, TEXT_DATA, locale);
        hasher.update(&collection.blueprint.number.to_le_bytes());
        hasher.update(&query.copies.variant.to_le_bytes());
        hasher.update(&[match visibility {
            Visibility::Nothing => 0,
            Visibility::Published => 1,
            Visibility::PublishedBy(_) => 2,
            Visibility::Drafts => 3,
        }]);
        for SortKey { by, descending } in &query.sort {
            let (kind, numbers) = match by {
                SortBy::Id => (0, [0; 3]),
                SortBy::Date(date) => (1, [*date as u32, 0, 0]),
                SortBy::Column(column) => (2, [*column, 0, 0]),
                SortBy::ColumnOr(of) => (3, [of.column, of.unless_null, of.variant.into()]),
                SortBy::Relevance => (4, [0; 3]),
            };
            hasher.update(&[kind, u8::from(*descending)]);
            for number in numbers {
                hasher.update(&number.to_le_bytes());
            }
        }
        if collection.snapshot.is_working() {
            hasher.update(b"working copies");
        }
        CursorKey(*hasher.finalize().as_bytes())
    }

    /// Returns the cursor of a position.
    pub(super) fn seal(&self, position: &Position) -> String {
        let mut bytes = vec![FORM];
        bytes.extend_from_slice(&position.id.to_be_bytes());
        for key in &position.keys {
            match key {
                PositionKey::Null => bytes.push(0),
                PositionKey::Rank(rank) => {
                    bytes.push(1);
                    bytes.extend_from_slice(&rank.to_be_bytes());
                }
                PositionKey::Text(text) => {
                    bytes.push(2);
                    // At most 1 KiB: texts are sorted only by their beginning.
                    bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    bytes.extend_from_slice(text.as_bytes());
                }
            }
        }
        bytes.extend_from_slice(&self.tag(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the position of a cursor.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it is damaged, or belongs to something else.
    pub(super) fn open(&self, cursor: &str) -> Result<Position> {
        self.position(cursor).ok_or_else(|| {
            let problem = "`cursor` is damaged, or belongs to another blueprint, `sort`, `variant` or visibility, or to \
                           another release of the server";
            Error::new(Code::InvalidParameter, format!("{problem}; begin again with an empty `cursor=`"))
        })
    }

    fn position(&self, cursor: &str) -> Option<Position> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (content, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
        // Comparing hashes takes the same time wherever they differ.
        let is_ours = blake3::Hash::from_bytes(widened(self.tag(content))) == widened(tag.try_into().ok()?);
        let (&form, rest) = content.split_first().filter(|_| is_ours)?;
        let (id, mut rest) = rest.split_first_chunk::<ID_BYTES>().filter(|_| form == FORM)?;
        let mut keys = Vec::new();
        while let Some((kind, after)) = rest.split_first() {
            let (key, after) = match kind {
                0 => (PositionKey::Null, after),
                1 => {
                    let (rank, after) = after.split_first_chunk::<8>()?;
                    (PositionKey::Rank(u64::from_be_bytes(*rank)), after)
                }
                _ => {
                    let (length, after) = after.split_first_chunk::<4>()?;
                    let (text, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
                    (PositionKey::Text(String::from_utf8(text.to_vec()).ok()?), after)
                }
            };
            keys.push(key);
            rest = after;
        }
        Some(Position { keys, id: u128::from_be_bytes(*id) })
    }

    fn tag(&self, content: &[u8]) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        blake3::Hasher::new_keyed(&self.0).update(content).finalize_xof().fill(&mut tag);
        tag
    }
}

/// Begins the key of a list of a content whose texts are ordered by this data, in the order of this language. Under
/// others a text may have another place in an order, and a walk that went on would skip resources or repeat them.
fn hasher_of(epoch: u64, text_data: &str, locale: Option<&str>) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_derive_key("Bindery cursor");
    hasher.update(&epoch.to_le_bytes());
    for text in [text_data, locale.unwrap_or_default()] {
        hasher.update(blake3::hash(text.as_bytes()).as_bytes());
    }
    hasher
}

fn widened(tag: [u8; TAG_BYTES]) -> [u8; blake3::OUT_LEN] {
    let mut wide = [0; blake3::OUT_LEN];
    wide[..TAG_BYTES].copy_from_slice(&tag);
    wide
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn keys() -> impl Strategy<Value = Vec<PositionKey>> {
        let key = prop_oneof![
            Just(PositionKey::Null),
            any::<u64>().prop_map(PositionKey::Rank),
            "\\PC{0,20}".prop_map(PositionKey::Text),
        ];
        prop::collection::vec(key, 0..5)
    }

    #[test]
    fn a_cursor_belongs_to_one_release_of_the_data_that_orders_texts() {
        let key = |text_data: &str| CursorKey(*hasher_of(1, text_data, None).finalize().as_bytes());
        let position = Position { keys: vec![PositionKey::Text("a".to_owned())], id: 7 };
        let cursor = key("icu_collator 2.0.0").seal(&position);
        assert_eq!(key("icu_collator 2.0.0").open(&cursor).unwrap(), position);
        assert_eq!(key("icu_collator 2.1.0").open(&cursor).unwrap_err().code, Code::InvalidParameter);
    }

    proptest! {
        #[test]
        fn a_cursor_is_opened_by_its_own_key_only(keys in keys(), id in any::<u128>(), at in any::<prop::sample::Index>(), bit in 0u8..6) {
            let (key, other) = (CursorKey([1; 32]), CursorKey([2; 32]));
            let position = Position { keys, id };
            let cursor = key.seal(&position);
            prop_assert_eq!(key.open(&cursor).unwrap(), position);
            prop_assert!(other.open(&cursor).is_err());
            let mut bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(key.open(&URL_SAFE_NO_PAD.encode(&bytes)).is_err());
            prop_assert!(key.open(&URL_SAFE_NO_PAD.encode(&bytes[..at])).is_err());
        }

        #[test]
        fn opening_never_panics(text in "[A-Za-z0-9_=+/ %-]{0,60}") {
            let _ = CursorKey([1; 32]).open(&text);
        }
    }
}
