//! Imports (`API.md` 4.11): lines in, one answer a line, through the same write path in large groups.
//!
//! Lines are prepared on several threads and submitted in their order, so a later line of a key or id wins. A line that
//! relates to what a later line brings waits until the end of the file; then what it relates to goes in before it.
//! Lines are kept until they are decided: where the blueprint is changed meanwhile, they are prepared again.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::access::Access;
use crate::content::Content;
use crate::content::command::{Command, Effect, ImportItem, Item, ItemOutcome, Missing, Outcome, Write};
use crate::content::decide::import::given_names;
use crate::content::idempotency::{Done, Keep};
use crate::content::prepare::Workbench;
use crate::content::reading::visible;
use crate::content::working::Working;
use crate::model::ability::Ability;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::query::WriteParams;
use line::prepare_line;

mod line;
mod order;

/// A group is submitted when it has this many lines, or this many bytes.
const GROUP_LINES: usize = 256;
const GROUP_BYTES: usize = 2 << 20;

/// How many groups may be in preparation at once: enough to keep the cores busy, few enough to bound the memory.
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
    preparing: VecDeque<JoinHandle<Prepared>>,
    waiting: Vec<(Arc<Line>, ImportItem)>,
    /// What the waiting lines call their resources: later lines about the same wait as well.
    waiting_names: HashSet<String>,
    /// Whether the blueprint was changed since the import began.
    is_overtaken: bool,
}

/// A line as it came.
struct Line {
    index: u64,
    /// The error is for a line that cannot be read.
    text: Result<Vec<u8>>,
}

/// Lines with the items that they are under a blueprint.
struct Prepared {
    blueprint: Arc<Blueprint>,
    lines: Vec<Arc<Line>>,
    items: Vec<Item>,
}

/// What became of a line.
#[derive(Debug)]
pub struct ImportLine {
    /// The line's place among the items of the import, from 0.
    pub index: u64,
    /// The resource and what happened to it, or what is wrong with the line.
    pub result: Result<(ResourceId, &'static str)>,
}

impl Content {
    /// An import into the blueprint of that slug. `variant` in the query string says whose copy `attributes` are.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, those of the parameters.
    pub fn import(&self, access: &Access, slug: &str, raw_query: &str) -> Result<Import> {
        access.require(&[Ability::Manage])?;
        let blueprint = Arc::clone(&visible(&self.state(), access, slug)?.blueprint);
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
    /// Takes the next line. Blank lines are no items. Returns the answers that are ready.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`: the import cannot go on. A faulty line is an answer, not an error.
    pub async fn push(&mut self, line: &[u8]) -> Result<Vec<ImportLine>> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Vec::new());
        }
        self.lines_bytes += line.len();
        self.take(Ok(line.to_vec())).await
    }

    /// Takes a line that cannot be read: it keeps its place, and the error is its answer.
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

    /// Ends the import: everything is written, also the lines that waited for others.
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

    /// Makes items of lines, under the blueprint that is known now.
    fn prepare(&self, lines: Vec<Arc<Line>>) -> JoinHandle<Prepared> {
        let blueprint = Arc::clone(&self.blueprint);
        let shared = Arc::clone(&self.content.shared);
        let variant = self.variant;
        tokio::task::spawn_blocking(move || {
            let bench = Workbench { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            let prepare = |line: &Arc<Line>| match &line.text {
                Ok(text) => prepare_line(bench, text),
                Err(error) => Item::Refused(error.clone()),
            };
            let items = lines.iter().map(prepare).collect();
            Prepared { blueprint, lines, items }
        })
    }

    async fn submit_group(&mut self) -> Result<Vec<ImportLine>> {
        let Some(preparing) = self.preparing.pop_front() else { return Ok(Vec::new()) };
        let mut prepared = preparing.await.map_err(Error::internal)?;
        self.set_aside(&mut prepared);
        self.write(prepared, Missing::Wait).await
    }

    /// Does a whole import in one transaction, once under its key.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`, `NOT_FOUND` if the blueprint went away: nothing was applied.
    pub async fn once(mut self, body: Bytes, keep: Keep<Vec<ImportLine>>) -> Result<Done<Vec<ImportLine>>> {
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        let lines: Vec<Arc<Line>> =
            (0..).zip(lines).map(|(index, line)| Arc::new(Line { index, text: Ok(line.to_vec()) })).collect();
        loop {
            let prepared = self.prepare(lines.clone()).await.map_err(Error::internal)?;
            let items = prepared.items.into_iter().map(|item| try_as(Missing::Refuse, item)).collect();
            let command = Command::Write(Write { blueprint: prepared.blueprint, items });
            let keeping = keep.for_command(|outcome: &Outcome, _: &Working<'_>| lines_of(outcome));
            match self.content.submit_keeping(command, Some(keeping)).await? {
                Outcome::Kept(answer) => return Ok(Done::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                outcome => return Ok(Done::Now(lines_of(&outcome)?)),
            }
        }
    }

    /// Takes up the blueprint that is in force now.
    fn refresh(&mut self) -> Result<()> {
        self.blueprint = Arc::clone(&visible(&self.content.state(), &self.access, &self.slug)?.blueprint);
        self.variant = WriteParams::parse(&self.raw_query, &self.blueprint)?.variant;
        self.is_overtaken = true;
        Ok(())
    }

    /// Takes out the lines that are about a resource which a waiting line is about.
    fn set_aside(&mut self, prepared: &mut Prepared) {
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
        self.waiting.push((line, item));
    }

    /// Writes prepared lines; those that wait for a later line are set aside.
    async fn write(&mut self, mut prepared: Prepared, missing: Missing) -> Result<Vec<ImportLine>> {
        let (lines, outcomes) = loop {
            let Prepared { blueprint, lines, items } = prepared;
            let items = items.into_iter().map(|item| try_as(missing, item)).collect();
            match self.content.submit(Command::Write(Write { blueprint, items })).await? {
                Outcome::Written(outcomes) => break (lines, outcomes),
                Outcome::Stale => {
                    self.refresh()?;
                    prepared = self.prepare(lines).await.map_err(Error::internal)?;
                }
                _ => return Err(Error::internal("an import with another command's outcome")),
            }
        };
        let mut answers = Vec::with_capacity(lines.len());
        for (line, outcome) in lines.into_iter().zip(outcomes) {
            let index = line.index;
            match outcome {
                ItemOutcome::Done(written) => {
                    answers.push(ImportLine { index, result: Ok((written.id, op(written.effect))) });
                }
                ItemOutcome::Failed(error) => answers.push(ImportLine { index, result: Err(error) }),
                ItemOutcome::Waiting(item) => self.wait(line, *item),
            }
        }
        Ok(answers)
    }

    /// Writes the waiting lines, each after those that it relates to; lines that relate to each other in one transaction.
    async fn submit_waiting(&mut self) -> Result<Vec<ImportLine>> {
        let (blueprint, waiting, mut answers) = self.take_waiting().await?;
        let items: Vec<&ImportItem> = waiting.iter().map(|(_, item)| item).collect();
        let groups = order::in_order(&blueprint, &items);
        let mut waiting: Vec<Option<(Arc<Line>, ImportItem)>> = waiting.into_iter().map(Some).collect();
        let nothing = || Prepared { blueprint: Arc::clone(&blueprint), lines: Vec::new(), items: Vec::new() };
        let mut together = nothing();
        for group in groups {
            if together.lines.len() + group.len() > GROUP_LINES && !together.lines.is_empty() {
                answers.extend(self.write(std::mem::replace(&mut together, nothing()), Missing::Refuse).await?);
            }
            for (line, item) in group.into_iter().filter_map(|place| waiting[place].take()) {
                together.lines.push(line);
                together.items.push(Item::Import(item));
            }
        }
        if !together.lines.is_empty() {
            answers.extend(self.write(together, Missing::Refuse).await?);
        }
        Ok(answers)
    }

    /// The waiting lines as items under one blueprint, and the answers to those that are none under it.
    async fn take_waiting(&mut self) -> Result<(Arc<Blueprint>, Vec<(Arc<Line>, ImportItem)>, Vec<ImportLine>)> {
        let waiting = std::mem::take(&mut self.waiting);
        let blueprint = Arc::clone(&self.blueprint);
        if !self.is_overtaken {
            return Ok((blueprint, waiting, Vec::new()));
        }
        let lines = waiting.into_iter().map(|(line, _)| line).collect();
        let prepared = self.prepare(lines).await.map_err(Error::internal)?;
        let (mut waiting, mut answers) = (Vec::new(), Vec::new());
        for (line, item) in prepared.lines.into_iter().zip(prepared.items) {
            match item {
                Item::Import(item) => waiting.push((line, item)),
                Item::Refused(error) => answers.push(ImportLine { index: line.index, result: Err(error) }),
                _ => return Err(Error::internal("a line of an import that is another item")),
            }
        }
        Ok((prepared.blueprint, waiting, answers))
    }
}

/// The item, with what becomes of a relation to what is not there.
fn try_as(missing: Missing, item: Item) -> Item {
    match item {
        Item::Import(item) => Item::Import(ImportItem { missing, ..item }),
        other => other,
    }
}

/// The answer lines of an import in one transaction.
fn lines_of(outcome: &Outcome) -> Result<Vec<ImportLine>> {
    let Outcome::Written(outcomes) = outcome else {
        return Err(Error::internal("an import with another command's outcome"));
    };
    let lines = (0..).zip(outcomes).map(|(index, outcome)| {
        let result = match outcome {
            ItemOutcome::Done(written) => Ok((written.id, op(written.effect))),
            ItemOutcome::Failed(error) => Err(error.clone()),
            ItemOutcome::Waiting(_) => Err(Error::internal("a line that waits for another transaction")),
        };
        ImportLine { index, result }
    });
    Ok(lines.collect())
}

fn op(effect: Effect) -> &'static str {
    match effect {
        Effect::Created => "created",
        Effect::Updated => "updated",
        Effect::Deleted => "deleted",
    }
}
