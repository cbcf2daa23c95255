//! Tokens, members and webhooks as transactions leave them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::effects::Effects;
use crate::access::{Member, Token, Tokens};
use crate::content::data::state::State;
use crate::content::data::webhook::Webhook;
use crate::model::error::{Error, Result};

/// Applies what a transaction does to them.
///
/// # Errors
/// `INTERNAL` for a malformed record.
pub(super) fn apply(state: &mut State, effects: &Effects<'_>) -> Result<()> {
    if !effects.tokens.is_empty() {
        let mut tokens = Tokens::clone(&state.tokens);
        for (id, stored) in &effects.tokens {
            match stored {
                Some(bytes) => tokens.insert(Token::decode(bytes).map_err(Error::internal)?),
                None => drop(tokens.remove(id)),
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
    Ok(())
}
