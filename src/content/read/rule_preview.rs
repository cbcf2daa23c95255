//! Lists as they would be with a rule of ranked search that is not stored (`API.md` 4.25). Must not know what rules
//! change.

use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::error::Result;

use crate::data::refusals::no_search_rule;
use crate::data::search_rule::SearchRule;
use crate::data::steering_checks::check_rule;
use crate::handle::Content;
use crate::prepare::steering::{self, AskedPreview};
use crate::read::list::ListPage;
use crate::read::view::View;

/// A list with a rule that is not stored.
pub struct RulePreview {
    /// The slug of the blueprint.
    pub blueprint: String,
    /// The query string of the list.
    pub list: String,
    /// Its page, explained.
    pub page: ListPage,
}

impl Content {
    /// Returns the list that a request body asks for, as it would be with the rule of the body. The rule holds at any
    /// time.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`, `NOT_FOUND` without the blueprint or the rule that is
    /// changed, and the errors of the list.
    pub async fn preview_rule(&self, access: &Arc<Access>, body: &[u8]) -> Result<RulePreview> {
        access.require(&[Ability::Manage])?;
        let (asked, _) = self.read_body(body, |body| steering::preview(&steering::body(body)?)).await?;
        let AskedPreview { blueprint, list, rule, is_stored } = asked;
        let view = self.view_of(access, &blueprint, &list)?;
        if is_stored && view.state.steering.rule(&rule.id).is_none() {
            return Err(no_search_rule(&rule.id));
        }
        check_rule(&view.state, &rule, view.now)?;
        let view = view.with_rule(&rule)?;
        let mut request = view.list_request(&list)?;
        request.is_explained = true;
        let page = view.list_in_time(&Arc::new(request)).await?;
        Ok(RulePreview { blueprint, list, page })
    }
}

impl View {
    /// Returns the view with a rule in the place of that of its id, or beside the others.
    fn with_rule(self, rule: &SearchRule) -> Result<View> {
        let mut state = (*self.state).clone();
        Arc::make_mut(&mut state.steering).put_rule(&rule.id, Some(&rule.encode()))?;
        Ok(View { state: Arc::new(state), ..self })
    }
}
