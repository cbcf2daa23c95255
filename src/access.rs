//! Tokens and members: who may do what (`API.md` 5 and 4.10). Must not know HTTP or storage: the store keeps the bytes
//! that `encode` returns.

mod authentication;
mod member;
mod secret;
mod token;

pub use authentication::{ADMIN_TOKEN_MIN, Access, AdminToken, Tokens, unauthenticated};
pub use member::{Member, MemberPatch, NewMember, Patch};
pub use secret::new_secret;
pub use token::{NewToken, Token};

#[cfg(test)]
mod tests;
