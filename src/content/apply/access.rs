//! The effects of a transaction on tokens, webhooks, views, synonyms, search rules, members and their sign-in.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_access::{Accounts, Invitation, Member, PasswordHash, Session, Token, Tokens};
use bindery_model::error::{Error, Result};

use super::effects::{AccountEffect, Effects};
use crate::data::saved_view::SavedView;
use crate::data::state::State;
use crate::data::steering::SearchSteering;
use crate::data::webhook::Webhook;

/// Applies the effects to the next state.
///
/// # Errors
/// `INTERNAL` for a malformed record.
pub(super) fn apply(state: &mut State, effects: &Effects<'_>) -> Result<()> {
    if !effects.tokens.is_empty() {
        let mut tokens = Tokens::clone(&state.tokens);
        for (id, stored) in &effects.tokens {
            match stored {
                Some(bytes) => tokens.insert(Token::decode(bytes).map_err(Error::internal)?),
                None => tokens.remove(id),
            }
        }
        state.tokens = Arc::new(tokens);
    }
    if !effects.webhooks.is_empty() {
        let mut webhooks = BTreeMap::clone(&state.webhooks);
        for (id, stored) in &effects.webhooks {
            match stored {
                Some(bytes) => {
                    let webhook = Webhook::decode(bytes).map_err(Error::internal)?;
                    webhooks.insert(id.clone(), Arc::new(webhook));
                }
                None => drop(webhooks.remove(id)),
            }
        }
        state.webhooks = Arc::new(webhooks);
    }
    if !effects.views.is_empty() {
        let mut views = BTreeMap::clone(&state.views);
        for (id, stored) in &effects.views {
            match stored {
                Some(bytes) => {
                    drop(views.insert(id.clone(), Arc::new(SavedView::decode(bytes).map_err(Error::internal)?)));
                }
                None => drop(views.remove(id)),
            }
        }
        state.views = Arc::new(views);
    }
    if !effects.synonyms.is_empty() || !effects.search_rules.is_empty() {
        let mut steering = SearchSteering::clone(&state.steering);
        effects.synonyms.iter().try_for_each(|(id, stored)| steering.put_synonym(id, *stored))?;
        effects.search_rules.iter().try_for_each(|(id, stored)| steering.put_rule(id, *stored))?;
        state.steering = Arc::new(steering);
    }
    if !effects.members.is_empty() {
        let mut members = BTreeMap::clone(&state.members);
        for (id, stored) in &effects.members {
            match stored {
                Some(bytes) => drop(members.insert(*id, Member::decode(bytes).map_err(Error::internal)?)),
                None => drop(members.remove(id)),
            }
        }
        state.members = Arc::new(members);
    }
    if !effects.accounts.is_empty() {
        let mut accounts = Accounts::clone(&state.accounts);
        for effect in &effects.accounts {
            apply_account(&mut accounts, effect).map_err(Error::internal)?;
        }
        state.accounts = Arc::new(accounts);
    }
    Ok(())
}

fn apply_account(accounts: &mut Accounts, effect: &AccountEffect<'_>) -> Result<(), String> {
    match effect {
        AccountEffect::Password(member, stored) => {
            accounts.set_password(*member, stored.map(PasswordHash::decode).transpose()?);
        }
        AccountEffect::Invitation(member, stored) => {
            accounts.set_invitation(*member, stored.map(Invitation::decode).transpose()?);
        }
        AccountEffect::Session(_, Some(stored)) => accounts.insert_session(Session::decode(stored)?),
        AccountEffect::Session(id, None) => accounts.remove_session(id),
    }
    Ok(())
}
