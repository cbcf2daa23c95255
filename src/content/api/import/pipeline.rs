//! The commands of an import that are under way: lines are prepared on several threads, and several commands are with
//! the committer at a time.
//!
//! The committer decides the commands of an import in order, each against the state that the ones before it leave, and
//! carries out none after one that failed. So commands may be submitted before the outcomes of earlier ones are known.

use std::sync::Arc;

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use tokio::task::JoinHandle;

use super::Import;
use super::answer::{ImportLine, answer_of};
use super::line::RawLine;
use crate::admission::MemoryPermit;
use crate::command::{Command, Item, ItemOutcome, MissingTargets, Outcome, Write};
use crate::data::waiting_names::WaitingNames;
use crate::prepare::body::Preparation;
use crate::prepare::import_order::{Relations, targets_of};
use crate::queue::PendingOutcome;

/// Lines in preparation, and the memory that they take.
pub(super) struct PreparingLines {
    prepared: JoinHandle<PreparedLines>,
    /// True if they may wait for later lines.
    may_wait: bool,
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
    may_wait: bool,
    /// The names of the resources of those lines that come back to wait for later ones, once the command is decided.
    waiting: WaitingNames,
    pub(super) pending: PendingOutcome,
    memory: Vec<MemoryPermit>,
}

impl Import {
    /// Begins to prepare lines.
    pub(super) fn begin(&mut self, lines: Vec<Arc<RawLine>>, may_wait: bool, memory: Vec<MemoryPermit>) {
        let prepared = self.prepare(lines);
        self.preparing.push_back(PreparingLines { prepared, may_wait, memory });
    }

    /// Prepares lines under the current blueprint, on another thread.
    pub(super) fn prepare(&self, lines: Vec<Arc<RawLine>>) -> JoinHandle<PreparedLines> {
        let blueprint = Arc::clone(&self.blueprint);
        let shared = Arc::clone(&self.content.shared);
        let variant = self.variant;
        tokio::task::spawn_blocking(move || {
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            let items = lines.iter().map(|line| line.prepare(preparation)).collect();
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

    /// Submits the first lines in preparation, unless they must be prepared again: then they are still the first ones.
    pub(super) async fn submit_next(&mut self) -> Result<()> {
        let Some(PreparingLines { prepared, may_wait, memory }) = self.preparing.pop_front() else {
            return Ok(());
        };
        let prepared = prepared.await.map_err(Error::internal)?;
        // All commands with the committer must have one blueprint: then those behind the first stale one are stale,
        // too.
        if !Arc::ptr_eq(&prepared.blueprint, &self.blueprint) {
            let prepared = self.prepare(prepared.lines);
            self.preparing.push_front(PreparingLines { prepared, may_wait, memory });
            return Ok(());
        }
        self.submit(prepared, may_wait, memory).await?;
        self.complete_decided().await
    }

    async fn submit(
        &mut self,
        PreparedLines { blueprint, lines, items }: PreparedLines,
        may_wait: bool,
        memory: Vec<MemoryPermit>,
    ) -> Result<()> {
        let items = Arc::new(items);
        let piece = self.pieces.next(lines.iter().map(|line| line.bytes()).sum()).await?;
        self.renew_access()?;
        let access = self.access.clone();
        let waiting = WaitingNames::default();
        let missing_targets = if may_wait {
            MissingTargets::Wait { earlier: self.waiting_names(), own: waiting.clone() }
        } else {
            MissingTargets::Refuse
        };
        let write = Write { blueprint: Arc::clone(&blueprint), items: Arc::clone(&items), missing_targets, access };
        let (actor, queue) = (self.access.actor.clone(), &self.content.shared.queue);
        let pending = queue.submit(Some(actor), Command::Write(write), None, Some(piece))?;
        let submitted = SubmittedLines { blueprint, lines, items, may_wait, waiting, pending, memory };
        self.submitted.push_back(submitted);
        Ok(())
    }

    /// Returns the names of the resources of lines that wait: of those that came back, and of those in each command
    /// under way, which the committer decides before the next one.
    fn waiting_names(&self) -> Vec<WaitingNames> {
        let under_way = self.submitted.iter().map(|submitted| &submitted.waiting);
        std::iter::once(self.waiting.names()).chain(under_way).cloned().collect()
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
        let Some(SubmittedLines { blueprint, lines, items, may_wait, pending, memory, .. }) =
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
                self.preparing.push_front(PreparingLines { prepared, may_wait, memory });
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
                ItemOutcome::Waiting(names) => self.wait(line, blueprint, item, names),
                _ => {
                    self.written += u64::from(matches!(outcome, ItemOutcome::Written(_)));
                    self.answers.push(answer_of(line.index, outcome, item));
                }
            }
        }
    }

    /// Makes a line wait for later ones. `item` is the line as it was prepared under `blueprint`, and `names` are those
    /// of its resource. If there is no memory for the line, that is its answer.
    fn wait(&mut self, line: Arc<RawLine>, blueprint: &Blueprint, item: &Item, names: &[String]) {
        let Item::Import(item) = item else { return };
        let index = line.index;
        let targets = targets_of(blueprint, item).map(str::to_owned).collect();
        let relations = Relations { names: names.to_vec(), targets };
        if let Err(error) = self.waiting.add(&self.content.shared.admission, line, relations) {
            self.answers.push(ImportLine { index, result: Err(error) });
        }
    }
}
