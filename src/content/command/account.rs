//! The commands of the committer about the sign-in of members: data only.

use bindery_access::{ClientNote, Invitation, PasswordHash};

/// A change of the sign-in of a member.
#[derive(Debug)]
pub(crate) enum AccountCommand {
    /// Begins a session of a member whose password was checked.
    SignIn {
        /// The member.
        member: u64,
        /// The hash that the password matched: it may have been replaced meanwhile.
        password: PasswordHash,
        /// The client that signs in.
        client: ClientNote,
        /// The id of a session that ends with it.
        replaces: Option<String>,
    },
    /// Notes that the session of that id was used.
    Renew(String),
    /// Ends the session of that id.
    EndSession(String),
    /// Makes an invitation for the member, in the place of an earlier one.
    Invite(u64),
    /// Sets another password of a member who knows the present one, and begins a session in the place of all others.
    ChangePassword {
        /// The member.
        member: u64,
        /// The hash that the present password matched: it may have been replaced meanwhile.
        present: PasswordHash,
        /// The new password.
        password: PasswordHash,
        /// The client that signs in.
        client: ClientNote,
    },
    /// Sets the password of the member that an invitation is for, and begins a session.
    Accept {
        /// The invitation, as it was found.
        invitation: Invitation,
        /// The member's name; for the first owner's link it is needed.
        name: Option<String>,
        /// The member's email; for the first owner's link only.
        email: Option<String>,
        /// The new password.
        password: PasswordHash,
        /// The client that signs in.
        client: ClientNote,
    },
}
