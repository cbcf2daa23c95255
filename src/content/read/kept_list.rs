//! Lists that outlive writes: an answer stays valid while the writes since are of resources that neither its page nor
//! its numbers show. Must not know how an answer is kept.

use std::sync::Arc;

use bindery_index::KeptPage;
use bindery_model::blueprint::Blueprint;

use crate::data::version::AnswerVersion;
use crate::data::visibility::Visibility;
use crate::read::view::{IndexQuery, View};

/// A page of a list, with what decides whether it is the same after writes. Holds nothing in use.
#[derive(Debug, Clone)]
pub struct KeptList {
    page: KeptPage,
    /// The query that found the page, restricted to what `visibility` shows.
    query: Arc<IndexQuery>,
    visibility: Visibility,
    blueprint: Arc<Blueprint>,
    /// The version of the lists that the last change without a write gave them.
    without_writes: u64,
}

impl KeptList {
    /// Returns whether it may still outlive writes. Once it returns false, it always does.
    pub fn may_outlive_writes(&self) -> bool {
        self.page.is_comparable()
    }

    /// Returns roughly how many bytes it takes.
    pub fn bytes(&self) -> usize {
        size_of::<KeptList>() + self.page.bytes() + self.query.filter.bytes()
    }
}

impl View {
    /// Remembers a page that a query of this view found.
    pub(super) fn keep_list(&self, page: KeptPage, query: IndexQuery) -> Option<KeptList> {
        // While a blueprint changes, columns are filled without anything being recorded as changed.
        self.collection.change.is_none().then(|| KeptList {
            page,
            query: Arc::new(query),
            visibility: self.visibility,
            blueprint: Arc::clone(&self.collection.blueprint),
            without_writes: self.collection.versions.without_writes,
        })
    }

    /// Returns whether the list that was made for the version `from` has the same page, totals and numbers for `to`,
    /// the version of this view: then what to keep with it from now on. Looks at the resources that were written in
    /// between, and at no others.
    pub fn has_list(&self, kept: &KeptList, from: AnswerVersion, to: AnswerVersion) -> Option<KeptList> {
        let KeptList { page, query, visibility, blueprint, without_writes } = kept;
        let collection = &*self.collection;
        let is_comparable = from.differs_by_writes(to)
            && Arc::ptr_eq(blueprint, &collection.blueprint)
            && collection.change.is_none()
            && collection.versions.without_writes == *without_writes;
        if !is_comparable {
            return None;
        }
        let now = match self.visibility == *visibility {
            true => Arc::clone(query),
            // Time has passed, in which no publication became due.
            false => {
                let filter = visibility.exchange(self.visibility, &query.filter)?;
                Arc::new(IndexQuery { variant: query.variant, filter, sort: query.sort.clone() })
            }
        };
        let page = collection.snapshot.has_page(page, query, &now)?;
        Some(KeptList { page, query: now, visibility: self.visibility, ..kept.clone() })
    }
}
