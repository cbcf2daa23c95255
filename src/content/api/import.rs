//! Imports (`API.md` 4.11): lines in, one answer per line, through the same write path in large groups.
//!
//! Lines are prepared on several threads and submitted in order, so the later of two lines with the same key or id wins.
//! A line that relates to something that a later line brings waits until the end of the file, and then is written after
//! that line. Lines are kept until they are decided: if the blueprint is changed meanwhile, they are prepared again.

mod answer;
mod line;
mod waiting_lines;

use std::collections::VecDeque;
use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_query::WriteParams;
use bytes::Bytes;
use tokio::task::JoinHandle;

use self::answer::{answer_of, lines_of, too_many_together};
use self::line::{RawLine, expansion_of};
use self::waiting_lines::{ReadyLine, WaitingLines};
use crate::admission::MemoryPermit;
use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Item, ItemOutcome, MissingTargets, Outcome, Write};
use crate::data::lookup::Lookup;
use crate::handle::Content;
use crate::prepare::body::Preparation;
use crate::prepare::import_order::Relations;

pub use self::answer::{ImportLine, ImportedResource};

/// A group is submitted when it has this many lines, or this many bytes.
const GROUP_LINES: usize = 256;
const GROUP_BYTES: usize = 2 << 20;

/// The memory that lines may take that are written in one transaction, since they reference each other in a cycle or
/// come with an idempotency key.
const TOGETHER_BYTES: usize = 512 << 20;

/// The maximum number of groups in preparation: enough to keep the cores busy, and few enough to limit the memory.
const GROUPS_IN_FLIGHT: usize = 3;

/// An import that is under way.
pub struct Import {
    content: Content,
    access: Access,
    slug: String,
    raw_query: String,
    blueprint: Arc<Blueprint>,
    /// The variant that `attributes` of a line are written to.
    variant: u16,
    lines: Vec<RawLine>,
    lines_bytes: usize,
    next_index: u64,
    preparing: VecDeque<GroupPreparation>,
    waiting: WaitingLines,
    /// The groups of lines that waited, once the file has ended.
    ordered: Option<VecDeque<Vec<ReadyLine>>>,
    /// True if the blueprint was changed since the import began.
    is_overtaken: bool,
    /// The number of lines that are written.
    written: u64,
}

/// A group in preparation, and the memory that it takes.
struct GroupPreparation {
    lines: JoinHandle<PreparedLines>,
    memory: MemoryPermit,
}

/// Lines, with their items under a blueprint.
struct PreparedLines {
    blueprint: Arc<Blueprint>,
    lines: Vec<Arc<RawLine>>,
    items: Vec<Item>,
}

impl Content {
    /// Returns an import into the blueprint of that slug. `variant` in the query string names the variant that
    /// `attributes` of a line are written to.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, those of the parameters.
    pub fn import(&self, access: &Access, slug: &str, raw_query: &str) -> Result<Import> {
        access.require(&[Ability::Manage])?;
        let blueprint = Arc::clone(&self.state().visible(access, slug)?.blueprint);
        let WriteParams { variant, copy } = WriteParams::parse(raw_query, &blueprint)?;
        copy.require_live("import")?;
        Ok(Import {
            content: self.clone(),
            access: access.clone(),
            slug: slug.to_owned(),
            raw_query: raw_query.to_owned(),
            blueprint,
            variant,
            lines: Vec::new(),
            lines_bytes: 0,
            next_index: 0,
            preparing: VecDeque::new(),
            waiting: WaitingLines::default(),
            ordered: None,
            is_overtaken: false,
            written: 0,
        })
    }
}

impl Import {
    /// Adds the next line. Skips blank lines. Returns the answers that are ready so far.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`: the import cannot continue. An invalid line is an answer, not an error.
    pub async fn push(&mut self, line: &[u8]) -> Result<Vec<ImportLine>> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Vec::new());
        }
        self.lines_bytes += line.len();
        self.take(Ok(line.to_vec())).await
    }

    /// Adds a line that cannot be read. The error is its answer.
    ///
    /// # Errors
    /// The errors of [`Import::push`].
    pub async fn refuse(&mut self, error: Error) -> Result<Vec<ImportLine>> {
        self.take(Err(error)).await
    }

    async fn take(&mut self, text: Result<Vec<u8>>) -> Result<Vec<ImportLine>> {
        self.lines.push(RawLine { index: self.next_index, text });
        self.next_index += 1;
        if self.lines.len() < GROUP_LINES && self.lines_bytes < GROUP_BYTES {
            return Ok(Vec::new());
        }
        let begun = self.begin_group().await;
        begun.map_err(|error| self.ended(error))
    }

    /// Adds a sentence to the error that ends an import: the lines of earlier groups are written.
    fn ended(&self, mut error: Error) -> Error {
        if self.written > 0 {
            let applied = format!("{} lines of the import were applied, and no other", self.written);
            error.message = error.message.replace("nothing was applied", &applied);
        }
        error
    }

    /// Ends the import. Writes everything that is left, including the lines that waited for others.
    ///
    /// # Errors
    /// The errors of [`Import::push`].
    pub async fn finish(mut self) -> Result<Vec<ImportLine>> {
        let mut answers = Vec::new();
        while let Some(more) = self.finish_next().await? {
            answers.extend(more);
        }
        Ok(answers)
    }

    /// Like [`Import::finish`], but returns the answers in pieces, so that they are never all in memory. Returns `None`
    /// after the last piece.
    ///
    /// # Errors
    /// The errors of [`Import::push`].
    pub async fn finish_next(&mut self) -> Result<Option<Vec<ImportLine>>> {
        let next = self.next_group().await;
        next.map_err(|error| self.ended(error))
    }

    async fn next_group(&mut self) -> Result<Option<Vec<ImportLine>>> {
        let begun = self.begin_group().await?;
        if !begun.is_empty() {
            return Ok(Some(begun));
        }
        if !self.preparing.is_empty() {
            return self.submit_group().await.map(Some);
        }
        self.submit_waiting().await
    }

    /// Begins to prepare the collected lines. Returns the answers to earlier groups that had to be finished first.
    async fn begin_group(&mut self) -> Result<Vec<ImportLine>> {
        let lines: Vec<Arc<RawLine>> = std::mem::take(&mut self.lines).into_iter().map(Arc::new).collect();
        self.lines_bytes = 0;
        let mut answers = Vec::new();
        if lines.is_empty() {
            return Ok(answers);
        }
        let bytes = expansion_of(lines.clone()).await?;
        let admitted = self.content.shared.admission.try_admit(bytes);
        // An import must not hold memory while it waits for more: two imports could wait for each other.
        while !self.preparing.is_empty() && (admitted.is_none() || self.preparing.len() >= GROUPS_IN_FLIGHT) {
            answers.extend(self.submit_group().await?);
        }
        let memory = match admitted {
            Some(admitted) => admitted,
            None => self.content.shared.admission.admit(bytes).await?,
        };
        let lines = self.prepare(lines);
        self.preparing.push_back(GroupPreparation { lines, memory });
        Ok(answers)
    }

    /// Prepares lines under the current blueprint, on another thread.
    fn prepare(&self, lines: Vec<Arc<RawLine>>) -> JoinHandle<PreparedLines> {
        let blueprint = Arc::clone(&self.blueprint);
        let shared = Arc::clone(&self.content.shared);
        let variant = self.variant;
        tokio::task::spawn_blocking(move || {
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            let items = lines.iter().map(|line| line.prepare(preparation)).collect();
            PreparedLines { blueprint, lines, items }
        })
    }

    async fn submit_group(&mut self) -> Result<Vec<ImportLine>> {
        let Some(GroupPreparation { lines, memory }) = self.preparing.pop_front() else { return Ok(Vec::new()) };
        let mut prepared = lines.await.map_err(Error::internal)?;
        let mut answers = self.set_aside(&mut prepared);
        answers.extend(self.write(prepared, MissingTargets::Wait).await?);
        drop(memory);
        Ok(answers)
    }

    /// Imports a whole body in one transaction, at most once under its idempotency key.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`, `NOT_FOUND` if the blueprint was deleted meanwhile, `PAYLOAD_TOO_LARGE` if the lines are too
    /// many: nothing was applied.
    pub async fn once(
        mut self,
        body: Bytes,
        idempotent: Idempotency<Vec<ImportLine>>,
    ) -> Result<IdempotentAnswer<Vec<ImportLine>>> {
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        let lines: Vec<Arc<RawLine>> =
            (0..).zip(lines).map(|(index, line)| Arc::new(RawLine { index, text: Ok(line.to_vec()) })).collect();
        let bytes = expansion_of(lines.clone()).await?;
        if bytes > TOGETHER_BYTES {
            let text =
                "the body has more lines than one transaction takes; send it in parts, or without `Idempotency-Key`";
            return Err(Error::new(Code::PayloadTooLarge, text));
        }
        let _memory = self.content.shared.admission.admit(bytes).await?;
        loop {
            let PreparedLines { blueprint, items, .. } = self.prepare(lines.clone()).await.map_err(Error::internal)?;
            let (items, missing_targets) = (Arc::new(items), MissingTargets::Refuse);
            let (access, kept) = (self.access.clone(), Arc::clone(&items));
            let command = Command::Write(Write { blueprint, items: Arc::clone(&items), missing_targets, access });
            let keep = idempotent.keep(move |outcome: &Outcome, _: &dyn Lookup| lines_of(outcome, &kept));
            match self.content.submit_keeping(&self.access, command, Some(keep)).await? {
                Outcome::Kept(answer) => return Ok(IdempotentAnswer::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                outcome => return Ok(IdempotentAnswer::Fresh(lines_of(&outcome, &items)?)),
            }
        }
    }

    /// Switches to the blueprint that is in force now.
    fn refresh(&mut self) -> Result<()> {
        self.blueprint = Arc::clone(&self.content.state().visible(&self.access, &self.slug)?.blueprint);
        self.variant = WriteParams::parse(&self.raw_query, &self.blueprint)?.variant;
        self.is_overtaken = true;
        Ok(())
    }

    /// Moves the lines that are about the resource of a waiting line to the waiting lines. Returns the answers to those for
    /// which there is no room.
    fn set_aside(&mut self, prepared: &mut PreparedLines) -> Vec<ImportLine> {
        let mut answers = Vec::new();
        let lines = std::mem::take(&mut prepared.lines).into_iter();
        for (line, item) in lines.zip(std::mem::take(&mut prepared.items)) {
            match &item {
                Item::Import(import) if self.waiting.includes(&prepared.blueprint, import) => {
                    answers.extend(self.wait(line, &prepared.blueprint, &item));
                }
                _ => {
                    prepared.lines.push(line);
                    prepared.items.push(item);
                }
            }
        }
        answers
    }

    /// Makes a line wait for later ones. `item` is the line as it was prepared under `blueprint`. Returns the line's
    /// answer if there is no memory for it.
    fn wait(&mut self, line: Arc<RawLine>, blueprint: &Blueprint, item: &Item) -> Option<ImportLine> {
        let Item::Import(item) = item else { return None };
        let index = line.index;
        let added = self.waiting.add(&self.content.shared.admission, line, blueprint, item);
        added.err().map(|error| ImportLine { index, result: Err(error) })
    }

    /// Writes prepared lines. Those that wait for a later line are set aside.
    async fn write(&mut self, mut prepared: PreparedLines, missing_targets: MissingTargets) -> Result<Vec<ImportLine>> {
        let (blueprint, lines, items, outcomes) = loop {
            let PreparedLines { blueprint, lines, items } = prepared;
            let items = Arc::new(items);
            let access = self.access.clone();
            let write = Write { blueprint: Arc::clone(&blueprint), items: Arc::clone(&items), missing_targets, access };
            match self.content.submit_as(&self.access, Command::Write(write)).await? {
                Outcome::Written(outcomes) => break (blueprint, lines, items, outcomes),
                Outcome::Stale => {
                    self.refresh()?;
                    prepared = self.prepare(lines).await.map_err(Error::internal)?;
                }
                _ => return Err(Error::internal("an import with the outcome of another command")),
            }
        };
        let mut answers = Vec::with_capacity(lines.len());
        for ((line, item), outcome) in lines.into_iter().zip(&*items).zip(&outcomes) {
            match outcome {
                ItemOutcome::Waiting => answers.extend(self.wait(line, &blueprint, item)),
                _ => {
                    self.written += u64::from(matches!(outcome, ItemOutcome::Written(_)));
                    answers.push(answer_of(line.index, outcome, item));
                }
            }
        }
        Ok(answers)
    }

    /// Writes the next of the lines that waited, each after those that it relates to. Lines that relate to each other are
    /// written in one transaction. None if there are no more.
    async fn submit_waiting(&mut self) -> Result<Option<Vec<ImportLine>>> {
        let mut ordered = match self.ordered.take() {
            Some(ordered) => ordered,
            None => self.order_waiting().await?,
        };
        let bytes_of = |group: &[ReadyLine]| group.iter().map(|waited| waited.line.bytes()).sum::<usize>();
        let mut group = ordered.pop_front().unwrap_or_default();
        let mut bytes = bytes_of(&group);
        while let Some(next) = ordered.front()
            && group.len() + next.len() <= GROUP_LINES
            && bytes < GROUP_BYTES
        {
            bytes += bytes_of(next);
            group.extend(ordered.pop_front().unwrap_or_default());
        }
        self.ordered = Some(ordered);
        if group.is_empty() {
            return Ok(None);
        }
        let lines: Vec<Arc<RawLine>> = group.iter().map(|waited| Arc::clone(&waited.line)).collect();
        let bytes = expansion_of(lines.clone()).await?;
        if bytes > TOGETHER_BYTES {
            return Ok(Some(lines.iter().map(|line| too_many_together(line.index, lines.len())).collect()));
        }
        let _memory = self.content.shared.admission.admit(bytes).await?;
        let prepared = self.prepare(lines).await.map_err(Error::internal)?;
        self.write(prepared, MissingTargets::Refuse).await.map(Some)
    }

    async fn order_waiting(&mut self) -> Result<VecDeque<Vec<ReadyLine>>> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let (blueprint, shared) = (Arc::clone(&self.blueprint), Arc::clone(&self.content.shared));
        let (variant, is_overtaken) = (self.variant, self.is_overtaken);
        let order = move || {
            if is_overtaken {
                // References are read again: under the changed blueprint they may differ.
                let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
                for (line, relations) in waiting.lines_mut() {
                    if let Item::Import(item) = line.prepare(preparation) {
                        *relations = Relations::of(&blueprint, &item);
                    }
                }
            }
            waiting.into_groups().into()
        };
        tokio::task::spawn_blocking(order).await.map_err(Error::internal)
    }
}
