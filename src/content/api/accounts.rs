//! Members who sign in (`API.md` 5.8): passwords are checked here, everything else is decided by the committer.

use std::sync::Arc;

use bindery_access::{
    Access, Actor, ClientNote, FIRST_OWNER, Invitation, KnownSession, Member, PasswordHash, Role, Session,
    unauthenticated,
};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};
use bindery_model::time::Millis;

use crate::command::{AccountCommand, Command, Outcome};
use crate::data::refusals::{invitation_is_void, no_session, role_without_rights, wrong_password};
use crate::data::state::State;
use crate::handle::Content;
use crate::prepare::account::{self, PasswordChange, Profile, SignIn};

/// A member with a session, and what they may do.
#[derive(Debug, Clone)]
pub struct SignedInMember {
    /// The member.
    pub member: Member,
    /// The member's role.
    pub role: Role,
    /// The session.
    pub session: Session,
}

/// A session that has just begun.
#[derive(Debug)]
pub struct NewSession {
    /// The member who signed in.
    pub signed_in: SignedInMember,
    /// The secret of the session, for the cookie.
    pub secret: String,
}

/// An email and a password that are to be checked.
pub struct Credentials(SignIn);

/// The present password of a member, and the new one.
pub struct NewPassword(PasswordChange);

/// An invitation with its secret, for a link.
#[derive(Debug)]
pub struct IssuedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// Its secret, which is shown only once.
    pub secret: String,
}

/// The ways in which somebody can sign in to the dashboard.
#[derive(Debug)]
pub enum FirstOwner {
    /// A member has a password.
    Exists,
    /// No member has a password. An earlier link is valid until this moment.
    Invited(Millis),
    /// No member has a password. This link was just made.
    Link(IssuedInvitation),
}

impl Credentials {
    /// Reads the email and the password from a request body.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub fn parse(body: &[u8]) -> Result<Credentials> {
        account::sign_in(body).map(Credentials)
    }

    /// Returns the email as it was sent.
    pub fn email(&self) -> &str {
        &self.0.email
    }
}

impl NewPassword {
    /// Reads both passwords from a request body.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub fn parse(body: &[u8]) -> Result<NewPassword> {
        account::password_change(body).map(NewPassword)
    }
}

impl Content {
    /// Signs a member in. `replaced` is the secret of a session that ends with it.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`, `FORBIDDEN` for a member whose role carries no rights, `OVERLOADED`.
    pub async fn sign_in(
        &self,
        credentials: Credentials,
        client: ClientNote,
        replaced: Option<&str>,
    ) -> Result<NewSession> {
        let SignIn { email, password } = credentials.0;
        let (member, hash) = self.check_password(&email, password).await?;
        role_of(&member)?;
        let replaces = replaced.and_then(|secret| self.session(secret).ok()).map(|known| known.session.id.clone());
        let command = AccountCommand::SignIn { member: member.id, password: hash, client, replaces };
        self.begin_session(Some(Actor::Member(member.id)), command).await
    }

    /// Returns the member with that email, if the password is theirs. Takes the same time if there is no such member.
    async fn check_password(&self, email: &str, password: String) -> Result<(Member, PasswordHash)> {
        let state = self.state();
        let known = find_by_email(&state, email)
            .and_then(|member| Some((member.clone(), state.accounts.password(member.id)?.clone())));
        drop(state);
        let hash = known.as_ref().map(|(_, hash)| hash.clone());
        let passwords = &self.shared.passwords;
        let matches = match hash {
            Some(hash) => passwords.run(move || hash.matches(&password)).await?,
            // Takes the same time as a wrong password, so that the time does not reveal who is a member.
            None => passwords.pretend(move || drop(PasswordHash::of(&password))).await.map(|()| false)?,
        };
        known.filter(|_| matches).ok_or_else(wrong_password)
    }

    /// Sets another password of a member who is signed in, ends all sessions of the member, and begins one for the
    /// sender.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` if the present password is wrong, `FORBIDDEN` for a member whose role carries no rights,
    /// `OVERLOADED`.
    pub async fn change_password(&self, member: &Member, new: NewPassword, client: ClientNote) -> Result<NewSession> {
        let PasswordChange { present, password } = new.0;
        role_of(member)?;
        let (member, present) = self.check_password(&member.email, present).await?;
        let password = self.shared.passwords.run(move || PasswordHash::of(&password)).await??;
        let command = AccountCommand::ChangePassword { member: member.id, present, password, client };
        self.begin_session(Some(Actor::Member(member.id)), command).await
    }

    /// Returns the session with this secret.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`.
    pub fn session(&self, secret: &str) -> Result<Arc<KnownSession>> {
        let known = self.state().accounts.session(secret, self.now()).cloned();
        known.ok_or_else(|| unauthenticated("this session has ended; sign in again"))
    }

    /// Returns the access that the member of a session has now. Also has the committer note the use of the session,
    /// once in a while.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` if the member is gone, `FORBIDDEN` if their role carries no rights.
    pub fn access_of(&self, known: &Arc<KnownSession>) -> Result<Arc<Access>> {
        let SignedInMember { member, role, .. } = self.signed_in(&known.session)?;
        if known.begins_renewal(self.now()) {
            self.note_use(Command::Account(AccountCommand::Renew(known.session.id.clone())));
        }
        Ok(Arc::new(Access::of_member(&member, role)))
    }

    /// Returns the member of a session as they are now.
    ///
    /// # Errors
    /// The errors of [`Content::access_of`].
    pub fn signed_in(&self, session: &Session) -> Result<SignedInMember> {
        let state = self.state();
        let member = state.members.get(&session.member).cloned();
        let member = member.ok_or_else(|| unauthenticated("this session has ended; sign in again"))?;
        let role = role_of(&member)?;
        Ok(SignedInMember { member, role, session: session.clone() })
    }

    /// Returns the valid sessions of a member, the last used first. Without `member`, those of the sender.
    ///
    /// # Errors
    /// `FORBIDDEN` for another member's without `manage`, `NOT_FOUND`, `INVALID_PARAMETER` if a token sends no
    /// `member`.
    pub fn list_sessions(&self, access: &Access, member: Option<&str>) -> Result<Vec<Session>> {
        let state = self.state();
        let own = access.member();
        let member = match (member, own) {
            (None, Some(own)) => own,
            (None, None) => {
                access.require(&[Ability::Manage])?;
                let text = "`member` is required with a token: the id of the member whose sessions to list";
                return Err(Error::new(Code::InvalidParameter, text));
            }
            (Some(member), Some(own)) if member == own.to_string() => own,
            (Some(member), _) => {
                access.require(&[Ability::Manage])?;
                state.member(member)?.id
            }
        };
        let now = self.now();
        let sessions = state.accounts.sessions_of(member).into_iter().filter(|session| now < session.expires_at());
        Ok(sessions.cloned().collect())
    }

    /// Ends a session: one's own, or with `manage` any.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub async fn end_session(&self, access: &Access, id: &str) -> Result<()> {
        let is_reachable = |session: &Session| access.member() == Some(session.member) || access.may(Ability::Manage);
        self.checked(|| match self.state().accounts.session_by_id(id).is_some_and(is_reachable) {
            true => Ok(()),
            false => Err(no_session(id)),
        })
        .await?;
        let command = Command::Account(AccountCommand::EndSession(id.to_owned()));
        self.submit_as(access, command).await.map(|_| ())
    }

    /// Ends a session for its own member, which needs no ability.
    ///
    /// # Errors
    /// `OVERLOADED`.
    pub async fn sign_out(&self, session: &Session) -> Result<()> {
        let command = Command::Account(AccountCommand::EndSession(session.id.clone()));
        self.submit_for(Some(Actor::Member(session.member)), command, None).await.map(|_| ())
    }

    /// Makes a link with which the member sets a password. An earlier one is void from now on.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn invite(&self, access: &Access, id: &str) -> Result<IssuedInvitation> {
        access.require(&[Ability::Manage])?;
        let id = self.checked(|| Ok(self.state().member(id)?.id)).await?;
        issued(self.submit_as(access, Command::Account(AccountCommand::Invite(id))).await?)
    }

    /// Is true if any member has a password.
    pub fn somebody_can_sign_in(&self) -> bool {
        self.state().accounts.has_passwords()
    }

    /// Makes the link that makes the first owner, unless somebody can sign in or such a link is valid.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`.
    pub async fn invite_first_owner(&self) -> Result<FirstOwner> {
        let state = self.state();
        if state.accounts.has_passwords() {
            return Ok(FirstOwner::Exists);
        }
        if let Some(invitation) = state.accounts.invitation_of(FIRST_OWNER, self.now()) {
            return Ok(FirstOwner::Invited(invitation.expires_at));
        }
        issued(self.submit(Command::Account(AccountCommand::Invite(FIRST_OWNER))).await?).map(FirstOwner::Link)
    }

    /// Returns the member that an invitation is for; `None` for the first owner's link.
    ///
    /// # Errors
    /// `NOT_FOUND` if it was used or replaced, or has expired.
    pub fn invited(&self, secret: &str) -> Result<Option<Member>> {
        let state = self.state();
        let invitation = state.accounts.invitation(secret, self.now()).ok_or_else(invitation_is_void)?;
        match state.members.get(&invitation.member) {
            Some(member) => Ok(Some(member.clone())),
            None if invitation.member == FIRST_OWNER => Ok(None),
            None => Err(invitation_is_void()),
        }
    }

    /// Sets the password of the member that an invitation is for, and signs them in.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `NOT_FOUND`, `VALIDATION_FAILED`, `FORBIDDEN` for a member whose role carries no rights,
    /// `OVERLOADED`.
    pub async fn accept_invitation(&self, body: &[u8], client: ClientNote) -> Result<NewSession> {
        let acceptance = account::acceptance(body)?;
        let find = || {
            let found = self.state().accounts.invitation(&acceptance.token, self.now()).cloned();
            Ok((found.ok_or_else(invitation_is_void)?, self.invited(&acceptance.token)?))
        };
        let (invitation, invited) = self.checked(find).await?;
        let Profile { name, email, password } = acceptance.profile(invited.is_none())?;
        if let Some(member) = &invited {
            role_of(member)?;
        }
        let password = self.shared.passwords.run(move || PasswordHash::of(&password)).await??;
        let command = AccountCommand::Accept { invitation, name, email, password, client };
        self.begin_session(invited.map(|member| Actor::Member(member.id)), command).await
    }

    async fn begin_session(&self, actor: Option<Actor>, command: AccountCommand) -> Result<NewSession> {
        match self.submit_for(actor, Command::Account(command), None).await? {
            Outcome::SignedIn(session, secret) => Ok(NewSession { signed_in: self.signed_in(&session)?, secret }),
            _ => Err(Error::internal("a session with the outcome of another command")),
        }
    }
}

/// Returns the member with this email. Letter case matters only if two members' emails differ in nothing else.
fn find_by_email<'a>(state: &'a State, email: &str) -> Option<&'a Member> {
    let email = email.trim();
    if let Some(exact) = state.members.values().find(|member| member.email == email) {
        return Some(exact);
    }
    let mut similar = state.members.values().filter(|member| member.email.eq_ignore_ascii_case(email));
    similar.next().filter(|_| similar.next().is_none())
}

fn role_of(member: &Member) -> Result<Role> {
    member.rights().ok_or_else(|| role_without_rights(member.role.as_deref()))
}

fn issued(outcome: Outcome) -> Result<IssuedInvitation> {
    match outcome {
        Outcome::Invited(invitation, secret) => Ok(IssuedInvitation { invitation, secret }),
        _ => Err(Error::internal("an invitation with the outcome of another command")),
    }
}
