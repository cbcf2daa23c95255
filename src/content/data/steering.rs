//! Steering of ranked search: all synonyms and rules, as the state has them (`API.md` 4.25). Must not know how they
//! were written.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_index::{SynonymEntry, Synonyms};
use bindery_model::error::{Error, Result};
use bindery_model::time::Millis;
use bindery_query::Rule;

use crate::data::search_rule::SearchRule;
use crate::data::synonym::Synonym;

/// The synonyms and rules in force.
#[derive(Clone, Default)]
pub(crate) struct SearchSteering {
    synonyms: BTreeMap<String, Arc<StoredSynonym>>,
    rules: BTreeMap<String, Arc<StoredRule>>,
    table: Arc<Synonyms>,
    /// The sum of the hashes of all synonyms and rules.
    fingerprint: u64,
    /// The moments at which a rule begins or ends, in order.
    moments: Vec<Millis>,
}

/// Synonyms, cut into words.
pub(crate) struct StoredSynonym {
    pub(crate) synonym: Synonym,
    pub(crate) entry: Arc<SynonymEntry>,
    hash: u64,
}

/// A rule, as stored and as applied.
pub(crate) struct StoredRule {
    pub(crate) rule: SearchRule,
    pub(crate) prepared: Arc<Rule>,
    hash: u64,
}

impl SearchSteering {
    /// Returns whether there are neither synonyms nor rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.synonyms.is_empty() && self.rules.is_empty()
    }

    /// Returns all synonyms, in the order of their creation.
    pub(crate) fn synonyms(&self) -> impl ExactSizeIterator<Item = &Arc<StoredSynonym>> {
        self.synonyms.values()
    }

    /// Returns all rules, in the order of their creation.
    pub(crate) fn rules(&self) -> impl ExactSizeIterator<Item = &Arc<StoredRule>> {
        self.rules.values()
    }

    /// Returns the synonyms of that id.
    pub(crate) fn synonym(&self, id: &str) -> Option<&Synonym> {
        self.synonyms.get(id).map(|stored| &stored.synonym)
    }

    /// Returns the rule of that id.
    pub(crate) fn rule(&self, id: &str) -> Option<&SearchRule> {
        self.rules.get(id).map(|stored| &stored.rule)
    }

    /// Puts synonyms in their stored form in the place of those of that id; `None` removes them.
    ///
    /// # Errors
    /// `INTERNAL` for a malformed record.
    pub(crate) fn put_synonym(&mut self, id: &str, stored: Option<&[u8]>) -> Result<()> {
        if let Some(before) = self.synonyms.remove(id) {
            Arc::make_mut(&mut self.table).remove(&before.entry);
            self.fingerprint = self.fingerprint.wrapping_sub(before.hash);
        }
        let Some(bytes) = stored else { return Ok(()) };
        let synonym = Synonym::decode(bytes).map_err(Error::internal)?;
        let entry = SynonymEntry::new(&synonym.id, synonym.variant.clone(), &synonym.words, synonym.one_way);
        let (entry, hash) = (Arc::new(entry), hash_of(bytes));
        Arc::make_mut(&mut self.table).insert(&entry);
        self.fingerprint = self.fingerprint.wrapping_add(hash);
        self.synonyms.insert(id.to_owned(), Arc::new(StoredSynonym { synonym, entry, hash }));
        Ok(())
    }

    /// Puts a rule in its stored form in the place of that of that id; `None` removes it.
    ///
    /// # Errors
    /// `INTERNAL` for a malformed record.
    pub(crate) fn put_rule(&mut self, id: &str, stored: Option<&[u8]>) -> Result<()> {
        if let Some(before) = self.rules.remove(id) {
            self.fingerprint = self.fingerprint.wrapping_sub(before.hash);
        }
        if let Some(bytes) = stored {
            let rule = SearchRule::decode(bytes).map_err(Error::internal)?;
            let (prepared, hash) = (Arc::new(rule.prepared()), hash_of(bytes));
            self.fingerprint = self.fingerprint.wrapping_add(hash);
            self.rules.insert(id.to_owned(), Arc::new(StoredRule { rule, prepared, hash }));
        }
        self.moments = self.rules.values().flat_map(|stored| [stored.rule.from, stored.rule.until]).flatten().collect();
        self.moments.sort_unstable();
        Ok(())
    }

    /// Returns the table of all synonyms; `None` if there are none.
    pub(crate) fn table(&self) -> Option<Arc<Synonyms>> {
        (!self.synonyms.is_empty()).then(|| Arc::clone(&self.table))
    }

    /// Returns the rules that hold in a blueprint at this moment, in the order of their creation.
    pub(crate) fn rules_of(&self, blueprint: &str, now: Millis) -> Vec<Arc<Rule>> {
        let holds =
            |rule: &SearchRule| rule.blueprint.as_deref().is_none_or(|slug| slug == blueprint) && rule.is_in_force(now);
        let rules = self.rules.values().filter(|stored| holds(&stored.rule));
        rules.map(|stored| Arc::clone(&stored.prepared)).collect()
    }

    /// Returns a number that changes with every change of a synonym or rule, and when a rule begins or ends. It is the
    /// same on every server with the same synonyms and rules. `None` if there are none.
    pub(crate) fn version(&self, now: Millis) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let passed = self.moments.partition_point(|moment| *moment <= now) as u64;
        Some(hash_of(&[self.fingerprint.to_le_bytes(), passed.to_le_bytes()].concat()))
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hash = [0; 8];
    blake3::Hasher::new().update(bytes).finalize_xof().fill(&mut hash);
    u64::from_le_bytes(hash)
}
