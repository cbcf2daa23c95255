//! The commands of an import that are under way: lines are prepared on several threads, and several commands are with
//! the committer at a time.
//!
//! The committer decides the commands of an import in order, each against the state that the ones before it leave, and
//! carries out none after one that failed. So commands may be submitted before the outcomes of earlier ones are known,
//! except where an outcome changes what a later command contains: see [`Import::may_be_held_back`].

use std::collections::HashSet;
use std::sync::Arc;

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use tokio::task::JoinHandle;

use super::Import;
use super::answer::{ImportLine, answer_of};
use super::line::RawLine;
use crate::admission::MemoryPermit;
use crate::command::{Command, ImportItem, Item, ItemOutcome, MissingTargets, Outcome, Write};
use crate::data::lookup::Lookup;
use crate::prepare::body::Preparation;
use crate::prepare::import_order::given_names;
use crate::queue::PendingOutcome;

/// Lines in preparation, and the memory that they take.
pub(super) struct PreparingLines {
    prepared: JoinHandle<PreparedLines>,
    missing_targets: MissingTargets,
    memory: Vec<MemoryPermit>,
}

/// Lines, with their items under a blueprint.
pub(super) struct PreparedLines {
    pub(super) blueprint: Arc<Blueprint>,
    pub(super) lines: Vec<Arc<RawLine>>,
    pub(super) items: Vec<Item>,
}

/// Lines whose command is with the committer, and the memory that they take.
pub(super) struct SubmittedLines {
    blueprint: Arc<Blueprint>,
    lines: Vec<Arc<RawLine>>,
    items: Arc<Vec<Item>>,
    missing_targets: MissingTargets,
    /// The names of the resources of those lines that may come back to wait for later ones.
    unsettled: HashSet<String>,
    pub(super) pending: PendingOutcome,
    memory: Vec<MemoryPermit>,
}

impl Import {
    /// Begins to prepare lines.
    pub(super) fn begin(
        &mut self,
        lines: Vec<Arc<RawLine>>,
        missing_targets: MissingTargets,
        memory: Vec<MemoryPermit>,
    ) {
        let prepared = self.prepare(lines);
        self.preparing.push_back(PreparingLines { prepared, missing_targets, memory });
    }

    /// Prepares lines under the current blueprint, on another thread.
    pub(super) fn prepare(&self, lines: Vec<Arc<RawLine>>) -> JoinHandle<PreparedLines> {
        let blueprint = Arc::clone(&self.blueprint);
        let shared = Arc::clone(&self.content.shared);
        let variant = self.variant;
        tokio::task::spawn_blocking(move || {
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            let mut items: Vec<Item> = lines.iter().map(|line| line.prepare(preparation)).collect();
            for item in &mut items {
                if let Item::Import(item) = item {
                    // An error will meet the committer, too.
                    let key = item.key.as_ref().filter(|_| item.id.is_none());
                    item.known = key.and_then(|key| shared.store.known_under(blueprint.number, key).ok().flatten());
                }
            }
            PreparedLines { blueprint, lines, items }
        })
    }

    /// Submits the next lines in preparation, or waits for the outcome of the first command. Returns false if nothing
    /// is under way.
    pub(super) async fn proceed(&mut self) -> Result<bool> {
        match (self.preparing.is_empty(), self.submitted.is_empty()) {
            (false, _) => self.submit_next().await?,
            (true, false) => self.complete_first().await?,
            (true, true) => return Ok(false),
        }
        Ok(true)
    }

    /// Submits the first lines in preparation, unless something must happen before: then they are still the first ones,
    /// or behind earlier lines that are prepared again.
    pub(super) async fn submit_next(&mut self) -> Result<()> {
        let Some(PreparingLines { prepared, missing_targets, memory }) = self.preparing.pop_front() else {
            return Ok(());
        };
        let mut prepared = prepared.await.map_err(Error::internal)?;
        // All commands with the committer must have one blueprint: then those behind the first stale one are stale,
        // too.
        if !Arc::ptr_eq(&prepared.blueprint, &self.blueprint) {
            let prepared = self.prepare(prepared.lines);
            self.preparing.push_front(PreparingLines { prepared, missing_targets, memory });
            return Ok(());
        }
        if self.may_be_held_back(&prepared) {
            let prepared = tokio::spawn(async move { prepared });
            self.preparing.push_front(PreparingLines { prepared, missing_targets, memory });
            return self.complete_all().await;
        }
        self.set_aside(&mut prepared);
        self.submit(prepared, missing_targets, memory).await?;
        self.complete_decided().await
    }

    /// Returns whether lines must not be submitted before earlier outcomes are known. A line waits if it is about the
    /// resource of an earlier line that waits: otherwise the earlier line, which is written at the end, would win.
    fn may_be_held_back(&self, prepared: &PreparedLines) -> bool {
        let is_unsettled = |name: &String| self.submitted.iter().any(|submitted| submitted.unsettled.contains(name));
        prepared.items.iter().any(|item| match item {
            Item::Import(item) => given_names(&prepared.blueprint, item).iter().any(is_unsettled),
            _ => false,
        })
    }

    async fn submit(
        &mut self,
        PreparedLines { blueprint, lines, items }: PreparedLines,
        missing_targets: MissingTargets,
        memory: Vec<MemoryPermit>,
    ) -> Result<()> {
        let unsettled = match missing_targets {
            MissingTargets::Wait => unsettled_names(&blueprint, &items),
            MissingTargets::Refuse => HashSet::new(),
        };
        let items = Arc::new(items);
        let piece = self.pieces.next(lines.iter().map(|line| line.bytes()).sum()).await?;
        self.renew_access()?;
        let access = self.access.clone();
        let write = Write { blueprint: Arc::clone(&blueprint), items: Arc::clone(&items), missing_targets, access };
        let (actor, queue) = (self.access.actor.clone(), &self.content.shared.queue);
        let pending = queue.submit(Some(actor), Command::Write(write), None, Some(piece))?;
        let submitted = SubmittedLines { blueprint, lines, items, missing_targets, unsettled, pending, memory };
        self.submitted.push_back(submitted);
        Ok(())
    }

    /// Takes the outcomes that have arrived.
    pub(super) async fn complete_decided(&mut self) -> Result<()> {
        while self.submitted.front().is_some_and(|first| first.pending.has_arrived()) {
            self.complete_first().await?;
        }
        Ok(())
    }

    /// Waits for the outcomes of all commands.
    async fn complete_all(&mut self) -> Result<()> {
        while !self.submitted.is_empty() {
            self.complete_first().await?;
        }
        Ok(())
    }

    /// Waits for the outcome of the first command. Prepares its lines again if the blueprint was changed.
    async fn complete_first(&mut self) -> Result<()> {
        let Some(SubmittedLines { blueprint, lines, items, missing_targets, pending, memory, .. }) =
            self.submitted.pop_front()
        else {
            return Ok(());
        };
        match self.content.outcome_of(pending).await? {
            Outcome::Written(outcomes) => self.note(&blueprint, lines, &items, &outcomes),
            Outcome::Stale => {
                if Arc::ptr_eq(&blueprint, &self.blueprint) {
                    self.refresh()?;
                }
                // The commands behind it come back as well. Their lines must stay behind these.
                Box::pin(self.complete_all()).await?;
                let prepared = self.prepare(lines);
                self.preparing.push_front(PreparingLines { prepared, missing_targets, memory });
            }
            _ => return Err(Error::internal("an import with the outcome of another command")),
        }
        Ok(())
    }

    /// Waits for the outcomes of all commands of an import that ends with an error.
    pub(super) async fn settle_submitted(&mut self) {
        while let Some(SubmittedLines { blueprint, lines, items, pending, .. }) = self.submitted.pop_front() {
            // Further errors follow from the first one, which is reported.
            if let Ok(Outcome::Written(outcomes)) = self.content.outcome_of(pending).await {
                self.note(&blueprint, lines, &items, &outcomes);
            }
        }
    }

    /// Notes the answers to lines that were decided. Those that wait for a later line are set aside.
    fn note(&mut self, blueprint: &Blueprint, lines: Vec<Arc<RawLine>>, items: &[Item], outcomes: &[ItemOutcome]) {
        for ((line, item), outcome) in lines.into_iter().zip(items).zip(outcomes) {
            match outcome {
                ItemOutcome::Waiting => self.wait(line, blueprint, item),
                _ => {
                    self.written += u64::from(matches!(outcome, ItemOutcome::Written(_)));
                    self.answers.push(answer_of(line.index, outcome, item));
                }
            }
        }
    }

    /// Moves the lines that are about the resource of a waiting line to the waiting lines.
    fn set_aside(&mut self, prepared: &mut PreparedLines) {
        let lines = std::mem::take(&mut prepared.lines).into_iter();
        for (line, item) in lines.zip(std::mem::take(&mut prepared.items)) {
            match &item {
                Item::Import(import) if self.waiting.includes(&prepared.blueprint, import) => {
                    self.wait(line, &prepared.blueprint, &item);
                }
                _ => {
                    prepared.lines.push(line);
                    prepared.items.push(item);
                }
            }
        }
    }

    /// Makes a line wait for later ones. `item` is the line as it was prepared under `blueprint`. If there is no memory
    /// for the line, that is its answer.
    fn wait(&mut self, line: Arc<RawLine>, blueprint: &Blueprint, item: &Item) {
        let Item::Import(item) = item else { return };
        let index = line.index;
        if let Err(error) = self.waiting.add(&self.content.shared.admission, line, blueprint, item) {
            self.answers.push(ImportLine { index, result: Err(error) });
        }
    }
}

/// Returns the names of the resources of those items that may come back to wait for later ones: items with relations,
/// and items about the same resources behind them.
fn unsettled_names(blueprint: &Blueprint, items: &[Item]) -> HashSet<String> {
    let mut unsettled = HashSet::new();
    for item in items {
        let Item::Import(item) = item else { continue };
        let names = given_names(blueprint, item);
        if has_relations(blueprint, item) || names.iter().any(|name| unsettled.contains(name)) {
            unsettled.extend(names);
        }
    }
    unsettled
}

/// Returns whether an item relates to resources of any blueprint.
fn has_relations(blueprint: &Blueprint, item: &ImportItem) -> bool {
    let mut values = item.copies.iter().flat_map(|copy| &copy.values);
    values.any(|written| !written.value.is_null() && blueprint.fields[written.position].related_blueprint().is_some())
}
