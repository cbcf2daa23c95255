//! The actor of a change, in a few bytes, because it is stored with every resource.

use std::fmt;

use uuid::Uuid;

/// The actor of a change: a member or a token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The member with this id, signed in to the dashboard.
    Member(u64),
    /// A token with this id. Commands that open the data folder have names instead of ids, such as `cli`.
    Token(String),
}

/// The kinds of actors, which are the first byte of the stored form.
mod kind {
    pub(super) const MEMBER: u8 = 1;
    pub(super) const TOKEN: u8 = 2;
    pub(super) const NAME: u8 = 3;
}

/// The longest name of a token that is stored. Ids of tokens are shorter.
const MAX_NAME_BYTES: usize = u8::MAX as usize;

impl Actor {
    /// Appends the stored form. The form contains its own length.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        match self {
            Actor::Member(id) => {
                out.push(kind::MEMBER);
                out.extend(id.to_le_bytes());
            }
            Actor::Token(id) => match Uuid::try_parse(id).ok().filter(|uuid| uuid.to_string() == *id) {
                Some(uuid) => {
                    out.push(kind::TOKEN);
                    out.extend(uuid.as_bytes());
                }
                None => {
                    let end =
                        (0..=id.len().min(MAX_NAME_BYTES)).rev().find(|end| id.is_char_boundary(*end)).unwrap_or(0);
                    out.extend([kind::NAME, end as u8]);
                    out.extend(&id.as_bytes()[..end]);
                }
            },
        }
    }

    /// Reads the stored form at the beginning of `bytes`. Returns the actor and the bytes behind it, or `None` if the
    /// form is damaged.
    pub fn decode_from(bytes: &[u8]) -> Option<(Actor, &[u8])> {
        let (kind, rest) = bytes.split_first()?;
        match *kind {
            kind::MEMBER => {
                let (id, rest) = rest.split_first_chunk()?;
                Some((Actor::Member(u64::from_le_bytes(*id)), rest))
            }
            kind::TOKEN => {
                let (id, rest) = rest.split_first_chunk()?;
                Some((Actor::Token(Uuid::from_bytes(*id).to_string()), rest))
            }
            kind::NAME => {
                let (length, rest) = rest.split_first()?;
                let (name, rest) = rest.split_at_checked(usize::from(*length))?;
                Some((Actor::Token(std::str::from_utf8(name).ok()?.to_owned()), rest))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Actor {
    /// Writes a text that is different for each actor. This holds because no id of a token begins with `member-`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Member(id) => write!(f, "member-{id}"),
            Actor::Token(id) => f.write_str(id),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_actor_survives_a_round_trip_and_a_truncated_one_is_none() {
        let uuid = "0199b0a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b".to_owned();
        for actor in [
            Actor::Member(0),
            Actor::Member(u64::MAX),
            Actor::Token(uuid.clone()),
            Actor::Token(uuid.to_uppercase()),
            Actor::Token("admin".to_owned()),
            Actor::Token(String::new()),
        ] {
            let mut bytes = Vec::new();
            actor.encode_to(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Actor::decode_from(&bytes[..cut]), None, "{actor} cut at {cut}");
            }
            bytes.extend(b"rest");
            assert_eq!(Actor::decode_from(&bytes), Some((actor, &b"rest"[..])));
        }
        assert_eq!(Actor::decode_from(&[9, 0]), None);
    }
}
