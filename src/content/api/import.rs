//! Imports (`API.md` 4.11): lines in, one answer per line, through the same write path in large groups.
//!
//! Lines are prepared on several threads and submitted in order, so the later of two lines with the same key or id wins.
//! A line that relates to something that a later line brings waits until the end of the file, and then is written after
//! that line. Lines are kept until they are decided: if the blueprint is changed meanwhile, they are prepared again.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::access::Access;
use crate::content::api::idempotency::{Answered, Idempotent};
use crate::content::command::{Command, ImportItem, Item, ItemOutcome, MissingTargets, Outcome, Write};
use crate::content::data::lookup::Lookup;
use crate::content::handle::Content;
use crate::content::prepare::body::Preparation;
use crate::content::prepare::import_line::prepare_line;
use crate::content::prepare::import_order::{given_names, in_order};
use crate::model::ability::Ability;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::query::WriteParams;

/// A group is submitted when it has this many lines, or this many bytes.
const GROUP_LINES: usize = 256;
const GROUP_BYTES: usize = 2 << 20;

/// How many groups may be in preparation at once: enough to keep the cores busy, few enough to bound memory.
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
    lines: Vec<Line>,
    lines_bytes: usize,
    next_index: u64,
    preparing: VecDeque<JoinHandle<PreparedLines>>,
    waiting: Vec<WaitingLine>,
    /// The names of the resources of waiting lines: later lines about the same resources wait as well.
    waiting_names: HashSet<String>,
    /// Whether the blueprint was changed since the import began.
    is_overtaken: bool,
}

/// A line as it was sent.
struct Line {
    index: u64,
    /// An error if the line could not be read.
    text: Result<Vec<u8>>,
}

/// A line that relates to something that a later line may bring.
struct WaitingLine {
    line: Arc<Line>,
    item: ImportItem,
}

/// Lines, and the items that they are under a blueprint.
struct PreparedLines {
    blueprint: Arc<Blueprint>,
    lines: Vec<Arc<Line>>,
    items: Vec<Item>,
}

/// What became of a line.
#[derive(Debug)]
pub struct ImportLine {
    /// The line's position among the items of the import, from 0.
    pub index: u64,
    /// What was written, or what is wrong with the line.
    pub result: Result<ImportedResource>,
}

/// What a line wrote.
#[derive(Debug)]
pub struct ImportedResource {
    /// The resource.
    pub id: ResourceId,
    /// `created` or `updated`.
    pub op: &'static str,
}

impl Content {
    /// An import into the blueprint of that slug. `variant` in the query string names the variant that `attributes` of a
    /// line are written to.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, those of the parameters.
    pub fn import(&self, access: &Access, slug: &str, raw_query: &str) -> Result<Import> {
        access.require(&[Ability::Manage])?;
        let blueprint = Arc::clone(&self.state().visible(access, slug)?.blueprint);
        let variant = WriteParams::parse(raw_query, &blueprint)?.variant;
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
            waiting: Vec::new(),
            waiting_names: HashSet::new(),
            is_overtaken: false,
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
    /// As [`Import::push`].
    pub async fn refuse(&mut self, error: Error) -> Result<Vec<ImportLine>> {
        self.take(Err(error)).await
    }

    async fn take(&mut self, text: Result<Vec<u8>>) -> Result<Vec<ImportLine>> {
        self.lines.push(Line { index: self.next_index, text });
        self.next_index += 1;
        if self.lines.len() < GROUP_LINES && self.lines_bytes < GROUP_BYTES {
            return Ok(Vec::new());
        }
        self.begin_group();
        if self.preparing.len() < GROUPS_IN_FLIGHT {
            return Ok(Vec::new());
        }
        self.submit_group().await
    }

    /// Ends the import. Writes everything that is left, including the lines that waited for others.
    ///
    /// # Errors
    /// As [`Import::push`].
    pub async fn finish(mut self) -> Result<Vec<ImportLine>> {
        self.begin_group();
        let mut answers = Vec::new();
        while !self.preparing.is_empty() {
            answers.extend(self.submit_group().await?);
        }
        answers.extend(self.submit_waiting().await?);
        Ok(answers)
    }

    fn begin_group(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        self.lines_bytes = 0;
        if lines.is_empty() {
            return;
        }
        let preparing = self.prepare(lines.into_iter().map(Arc::new).collect());
        self.preparing.push_back(preparing);
    }

    /// Prepares lines under the current blueprint, on another thread.
    fn prepare(&self, lines: Vec<Arc<Line>>) -> JoinHandle<PreparedLines> {
        let blueprint = Arc::clone(&self.blueprint);
        let shared = Arc::clone(&self.content.shared);
        let variant = self.variant;
        tokio::task::spawn_blocking(move || {
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            let prepare = |line: &Arc<Line>| match &line.text {
                Ok(text) => prepare_line(preparation, text),
                Err(error) => Item::Refused(error.clone()),
            };
            let items = lines.iter().map(prepare).collect();
            PreparedLines { blueprint, lines, items }
        })
    }

    async fn submit_group(&mut self) -> Result<Vec<ImportLine>> {
        let Some(preparing) = self.preparing.pop_front() else { return Ok(Vec::new()) };
        let mut prepared = preparing.await.map_err(Error::internal)?;
        self.set_aside(&mut prepared);
        self.write(prepared, MissingTargets::Wait).await
    }

    /// Imports a whole body in one transaction, at most once under its idempotency key.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`, `NOT_FOUND` if the blueprint was deleted meanwhile: nothing was applied.
    pub async fn once(
        mut self,
        body: Bytes,
        idempotent: Idempotent<Vec<ImportLine>>,
    ) -> Result<Answered<Vec<ImportLine>>> {
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        let lines: Vec<Arc<Line>> =
            (0..).zip(lines).map(|(index, line)| Arc::new(Line { index, text: Ok(line.to_vec()) })).collect();
        loop {
            let PreparedLines { blueprint, items, .. } = self.prepare(lines.clone()).await.map_err(Error::internal)?;
            let (items, missing_targets) = (Arc::new(items), MissingTargets::Refuse);
            let command = Command::Write(Write { blueprint, items, missing_targets, access: self.access.clone() });
            let keep = idempotent.keep(|outcome: &Outcome, _: &dyn Lookup| lines_of(outcome));
            match self.content.submit_keeping(command, Some(keep)).await? {
                Outcome::Kept(answer) => return Ok(Answered::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                outcome => return Ok(Answered::Fresh(lines_of(&outcome)?)),
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

    /// Moves the lines that are about the resource of a waiting line to the waiting lines.
    fn set_aside(&mut self, prepared: &mut PreparedLines) {
        if self.waiting_names.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut prepared.lines).into_iter();
        for (line, item) in lines.zip(std::mem::take(&mut prepared.items)) {
            match item {
                Item::Import(item) if self.waits(&item) => self.wait(line, item),
                item => {
                    prepared.lines.push(line);
                    prepared.items.push(item);
                }
            }
        }
    }

    fn waits(&self, item: &ImportItem) -> bool {
        given_names(&self.blueprint, item).iter().any(|name| self.waiting_names.contains(name))
    }

    fn wait(&mut self, line: Arc<Line>, item: ImportItem) {
        self.waiting_names.extend(given_names(&self.blueprint, &item));
        self.waiting.push(WaitingLine { line, item });
    }

    /// Writes prepared lines. Those that wait for a later line are set aside.
    async fn write(&mut self, mut prepared: PreparedLines, missing_targets: MissingTargets) -> Result<Vec<ImportLine>> {
        let (lines, items, outcomes) = loop {
            let PreparedLines { blueprint, lines, items } = prepared;
            let items = Arc::new(items);
            let access = self.access.clone();
            let write = Write { blueprint, items: Arc::clone(&items), missing_targets, access };
            match self.content.submit(Command::Write(write)).await? {
                Outcome::Written(outcomes) => break (lines, items, outcomes),
                Outcome::Stale => {
                    self.refresh()?;
                    prepared = self.prepare(lines).await.map_err(Error::internal)?;
                }
                _ => return Err(Error::internal("an import with the outcome of another command")),
            }
        };
        let mut answers = Vec::with_capacity(lines.len());
        for ((line, item), outcome) in lines.into_iter().zip(&*items).zip(&outcomes) {
            match (outcome, item) {
                (ItemOutcome::Waiting, Item::Import(item)) => self.wait(line, item.clone()),
                _ => answers.push(answer_of(line.index, outcome)),
            }
        }
        Ok(answers)
    }

    /// Writes the waiting lines, each after those that it relates to. Lines that relate to each other are written in one
    /// transaction.
    async fn submit_waiting(&mut self) -> Result<Vec<ImportLine>> {
        let (blueprint, waiting, mut answers) = self.take_waiting().await?;
        let items: Vec<&ImportItem> = waiting.iter().map(|waiting| &waiting.item).collect();
        let groups = in_order(&blueprint, &items);
        let mut waiting: Vec<Option<WaitingLine>> = waiting.into_iter().map(Some).collect();
        let nothing = || PreparedLines { blueprint: Arc::clone(&blueprint), lines: Vec::new(), items: Vec::new() };
        let mut together = nothing();
        for group in groups {
            if together.lines.len() + group.len() > GROUP_LINES && !together.lines.is_empty() {
                let full = std::mem::replace(&mut together, nothing());
                answers.extend(self.write(full, MissingTargets::Refuse).await?);
            }
            for WaitingLine { line, item } in group.into_iter().filter_map(|position| waiting[position].take()) {
                together.lines.push(line);
                together.items.push(Item::Import(item));
            }
        }
        if !together.lines.is_empty() {
            answers.extend(self.write(together, MissingTargets::Refuse).await?);
        }
        Ok(answers)
    }

    /// The waiting lines as items under one blueprint, and the answers to those that are invalid under it.
    async fn take_waiting(&mut self) -> Result<(Arc<Blueprint>, Vec<WaitingLine>, Vec<ImportLine>)> {
        let waiting = std::mem::take(&mut self.waiting);
        let blueprint = Arc::clone(&self.blueprint);
        if !self.is_overtaken {
            return Ok((blueprint, waiting, Vec::new()));
        }
        let lines = waiting.into_iter().map(|waiting| waiting.line).collect();
        let prepared = self.prepare(lines).await.map_err(Error::internal)?;
        let (mut waiting, mut answers) = (Vec::new(), Vec::new());
        for (line, item) in prepared.lines.into_iter().zip(prepared.items) {
            match item {
                Item::Import(item) => waiting.push(WaitingLine { line, item }),
                Item::Refused(error) => answers.push(ImportLine { index: line.index, result: Err(error) }),
                _ => return Err(Error::internal("a line of an import that is another item")),
            }
        }
        Ok((prepared.blueprint, waiting, answers))
    }
}

/// The answers to an import in one transaction.
fn lines_of(outcome: &Outcome) -> Result<Vec<ImportLine>> {
    let outcomes = (0..).zip(outcome.items()?);
    Ok(outcomes.map(|(index, outcome)| answer_of(index, outcome)).collect())
}

fn answer_of(index: u64, outcome: &ItemOutcome) -> ImportLine {
    let imported = outcome.written().map(|written| ImportedResource { id: written.id, op: written.effect.as_str() });
    ImportLine { index, result: imported }
}
