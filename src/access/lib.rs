//! Tokens, members, and how members sign in: who may do what (`API.md` 5 and 4.10). Must not know HTTP or storage: the
//! store keeps the bytes that `encode` returns.

mod account;
mod actor;
mod authentication;
mod member;
mod password;
mod role;
mod secret;
mod token;
mod use_note;

pub use account::{
    Accounts, ClientNote, FIRST_OWNER, INVITATION_LASTS, Invitation, KnownSession, SESSIONS_MAX, Session, csrf_of,
    is_csrf_of,
};
pub use actor::Actor;
pub use authentication::{ADMIN_TOKEN_MIN, Access, AdminToken, KnownToken, Tokens, unauthenticated};
pub use member::{Member, MemberPatch, NewMember, Patch};
pub use password::{PASSWORD_MAX, PASSWORD_MIN, PasswordHash};
pub use role::Role;
pub use secret::{SecretOf, new_secret};
pub use token::{NewToken, Token};

#[cfg(test)]
mod tests;
