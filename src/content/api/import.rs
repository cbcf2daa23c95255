//! Imports (`API.md` 4.11): lines in, one answer per line, through the same write path as every write, in commands of
//! many lines.
//!
//! Lines are prepared on several threads and submitted in order, so the later of two lines with the same key or id
//! wins. Several commands are under way at a time (`pipeline`). A line that relates to something that a later line
//! brings waits until the end of the file, and then is written after that line. Lines are kept until they are decided:
//! if the blueprint is changed meanwhile, they are prepared again.

mod answer;
mod line;
mod pipeline;
mod waiting_lines;

use std::collections::VecDeque;
use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_query::WriteParams;
use bytes::Bytes;

use self::answer::{lines_of, too_many_together};
use self::line::{RawLine, expansion_of};
use self::pipeline::{PreparedLines, PreparingLines, SubmittedLines};
use self::waiting_lines::{ReadyLine, WaitingLines};
use crate::admission::MemoryPermit;
use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Item, MissingTargets, Outcome, Write};
use crate::data::lookup::Lookup;
use crate::handle::Content;
use crate::prepare::body::Preparation;
use crate::prepare::import_order::targets_of;
use crate::queue::{IMPORT_COMMAND_BYTES, ImportPieces};

pub use self::answer::{ImportLine, ImportedResource};

/// Lines become a command when there are this many, or [`IMPORT_COMMAND_BYTES`].
const COMMAND_LINES: usize = 128;

/// The memory that lines may take that are written in one transaction, since they reference each other in a cycle or
/// come with an idempotency key.
const TOGETHER_BYTES: usize = 512 << 20;

/// The maximum number of commands in preparation: enough to keep the cores busy, and few enough to limit the memory.
const COMMANDS_IN_PREPARATION: usize = 3;

/// Looks up the access that the sender of an import has now.
type LookAgain = Box<dyn Fn() -> Result<Arc<Access>> + Send + Sync>;

/// An import that is under way.
pub struct Import {
    content: Content,
    access: Access,
    /// `None` if the access cannot change.
    look_again: Option<LookAgain>,
    slug: String,
    raw_query: String,
    blueprint: Arc<Blueprint>,
    /// The variant that `attributes` of a line are written to.
    variant: u16,
    lines: Vec<RawLine>,
    lines_bytes: usize,
    next_index: u64,
    preparing: VecDeque<PreparingLines>,
    submitted: VecDeque<SubmittedLines>,
    pieces: ImportPieces,
    waiting: WaitingLines,
    /// The groups of lines that waited, once the file has ended.
    ordered: Option<VecDeque<Vec<ReadyLine>>>,
    /// True if the blueprint was changed since the import began.
    is_overtaken: bool,
    /// The number of lines that are written.
    written: u64,
    /// Answers that were not returned yet.
    answers: Vec<ImportLine>,
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
            look_again: None,
            slug: slug.to_owned(),
            raw_query: raw_query.to_owned(),
            blueprint,
            variant,
            lines: Vec::new(),
            lines_bytes: 0,
            next_index: 0,
            preparing: VecDeque::new(),
            submitted: VecDeque::new(),
            pieces: ImportPieces::default(),
            waiting: WaitingLines::default(),
            ordered: None,
            is_overtaken: false,
            written: 0,
            answers: Vec::new(),
        })
    }
}

impl Import {
    /// Makes the import end with the error of `look_again` if that fails before a command: the sender may lose its
    /// access while lines arrive.
    pub fn looking_again(self, look_again: impl Fn() -> Result<Arc<Access>> + Send + Sync + 'static) -> Import {
        Import { look_again: Some(Box::new(look_again)), ..self }
    }

    /// Adds the next line. Skips blank lines. Returns the answers that are ready so far.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`: the import cannot continue, and [`Import::settle`] returns the last answers. An
    /// invalid line is an answer, not an error.
    pub async fn push(&mut self, line: &[u8]) -> Result<Vec<ImportLine>> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Vec::new());
        }
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
        let line = RawLine { index: self.next_index, text };
        self.next_index += 1;
        self.lines_bytes += line.bytes();
        self.lines.push(line);
        if self.lines.len() >= COMMAND_LINES || self.lines_bytes >= IMPORT_COMMAND_BYTES {
            let begun = self.begin_lines().await;
            self.or_settle(begun).await?;
        }
        Ok(std::mem::take(&mut self.answers))
    }

    /// Waits until [`Import::take_ready`] has answers, for ever if no lines are under way. Loses nothing if it is
    /// cancelled.
    pub async fn answered(&mut self) {
        match self.submitted.front_mut() {
            Some(first) => first.pending.arrive().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the answers that are ready, for a client that waits for them before it sends more lines.
    ///
    /// # Errors
    /// The errors of [`Import::push`].
    pub async fn take_ready(&mut self) -> Result<Vec<ImportLine>> {
        let completed = self.complete_decided().await;
        self.or_settle(completed).await?;
        Ok(std::mem::take(&mut self.answers))
    }

    /// Writes the lines that wait for more, for a client that pauses. Returns the answers that are ready so far.
    ///
    /// # Errors
    /// The errors of [`Import::push`].
    pub async fn flush(&mut self) -> Result<Vec<ImportLine>> {
        let submitted = self.submit_all().await;
        self.or_settle(submitted).await?;
        Ok(std::mem::take(&mut self.answers))
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
        let advanced = self.advance().await;
        let is_over = !self.or_settle(advanced).await?;
        Ok((!is_over || !self.answers.is_empty()).then(|| std::mem::take(&mut self.answers)))
    }

    /// Returns the last answers of an import that ends early, once all its commands have an outcome. Lines without an
    /// answer were not written, or it is not known.
    pub async fn settle(&mut self) -> Vec<ImportLine> {
        self.settle_submitted().await;
        std::mem::take(&mut self.answers)
    }

    /// Waits for the commands that are under way if there is an error that ends the import, and adds to it how many
    /// lines are written.
    async fn or_settle<T>(&mut self, result: Result<T>) -> Result<T> {
        let Err(mut error) = result else { return result };
        self.settle_submitted().await;
        if self.written > 0 {
            let applied = format!("{} lines of the import were applied, and no other", self.written);
            error.message = error.message.replace("nothing was applied", &applied);
        }
        Err(error)
    }

    async fn submit_all(&mut self) -> Result<()> {
        self.begin_lines().await?;
        while !self.preparing.is_empty() {
            self.submit_next().await?;
        }
        Ok(())
    }

    /// Makes the next step towards the end of the import. Returns false if there is none.
    async fn advance(&mut self) -> Result<bool> {
        if !self.lines.is_empty() {
            self.begin_lines().await?;
            return Ok(true);
        }
        let is_decided = self.preparing.is_empty() && self.submitted.is_empty();
        if self.ordered.is_none() && is_decided {
            // Only now it is known which lines wait.
            self.ordered = Some(self.order_waiting().await?);
        }
        if self.preparing.len() < COMMANDS_IN_PREPARATION && self.begin_waiting().await? {
            return Ok(true);
        }
        self.proceed().await
    }

    /// Begins to prepare the collected lines.
    async fn begin_lines(&mut self) -> Result<()> {
        let lines: Vec<Arc<RawLine>> = std::mem::take(&mut self.lines).into_iter().map(Arc::new).collect();
        self.lines_bytes = 0;
        if lines.is_empty() {
            return Ok(());
        }
        while self.preparing.len() >= COMMANDS_IN_PREPARATION {
            self.submit_next().await?;
        }
        let bytes = expansion_of(lines.clone()).await?;
        let memory = self.admit(bytes).await?;
        self.begin(lines, true, vec![memory]);
        Ok(())
    }

    /// Begins to prepare the next of the lines that waited, each after those that it relates to. Lines that relate to
    /// each other are written in one transaction. Returns false if there are no more, or if it is not known yet which
    /// lines wait.
    async fn begin_waiting(&mut self) -> Result<bool> {
        let group = self.ordered.as_mut().map(next_ordered).unwrap_or_default();
        if group.is_empty() {
            return Ok(false);
        }
        let (lines, mut memory): (Vec<_>, Vec<_>) =
            group.into_iter().map(|waited| (waited.line, waited.memory)).unzip();
        let bytes = expansion_of(lines.clone()).await?;
        if bytes > TOGETHER_BYTES {
            let refused = lines.iter().map(|line| too_many_together(line.index, lines.len()));
            self.answers.extend(refused);
            return Ok(true);
        }
        memory.push(self.admit(bytes).await?);
        self.begin(lines, false, memory);
        Ok(true)
    }

    /// Returns memory for lines.
    async fn admit(&mut self, bytes: usize) -> Result<MemoryPermit> {
        if let Some(memory) = self.content.shared.admission.try_admit_lines(bytes) {
            return Ok(memory);
        }
        // An import must not hold memory while it waits for more: two imports could wait for each other.
        while self.proceed().await? {}
        self.content.shared.admission.admit_lines(bytes).await
    }

    /// Imports a whole body in one transaction, at most once under its idempotency key.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL`, `NOT_FOUND` if the blueprint was deleted meanwhile, `PAYLOAD_TOO_LARGE` if the lines
    /// are too many: nothing was applied.
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
        let _memory = self.content.shared.admission.admit_lines(bytes).await?;
        loop {
            let PreparedLines { blueprint, items, .. } = self.prepare(lines.clone()).await.map_err(Error::internal)?;
            let (items, missing_targets) = (Arc::new(items), MissingTargets::Refuse);
            self.renew_access()?;
            let (access, kept) = (self.access.clone(), Arc::clone(&items));
            let command = Command::Write(Write { blueprint, items: Arc::clone(&items), missing_targets, access });
            let keep = idempotent.keep(move |outcome: &Outcome, _: &dyn Lookup| lines_of(outcome, &kept));
            let (actor, piece) = (self.access.actor.clone(), self.pieces.next(body.len()).await?);
            let pending = self.content.shared.queue.submit(Some(actor), command, Some(keep), Some(piece))?;
            match self.content.outcome_of(pending).await? {
                Outcome::Kept(answer) => return Ok(IdempotentAnswer::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                outcome => return Ok(IdempotentAnswer::Fresh(lines_of(&outcome, &items)?)),
            }
        }
    }

    /// Switches to the access that the sender has now.
    fn renew_access(&mut self) -> Result<()> {
        let Some(look_again) = &self.look_again else { return Ok(()) };
        let access = look_again()?;
        access.require(&[Ability::Manage])?;
        self.content.state().visible(&access, &self.slug)?;
        self.access = Access::clone(&access);
        Ok(())
    }

    /// Switches to the blueprint that is in force now.
    fn refresh(&mut self) -> Result<()> {
        self.blueprint = Arc::clone(&self.content.state().visible(&self.access, &self.slug)?.blueprint);
        self.variant = WriteParams::parse(&self.raw_query, &self.blueprint)?.variant;
        self.is_overtaken = true;
        Ok(())
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
                        relations.targets = targets_of(&blueprint, &item).map(str::to_owned).collect();
                    }
                }
            }
            waiting.into_groups().into()
        };
        tokio::task::spawn_blocking(order).await.map_err(Error::internal)
    }
}

/// Takes the next groups of lines that waited, as many as one command takes.
fn next_ordered(ordered: &mut VecDeque<Vec<ReadyLine>>) -> Vec<ReadyLine> {
    let bytes_of = |group: &[ReadyLine]| group.iter().map(|waited| waited.line.bytes()).sum::<usize>();
    let mut group = ordered.pop_front().unwrap_or_default();
    let mut bytes = bytes_of(&group);
    while let Some(next) = ordered.front()
        && group.len() + next.len() <= COMMAND_LINES
        && bytes < IMPORT_COMMAND_BYTES
    {
        bytes += bytes_of(next);
        group.extend(ordered.pop_front().unwrap_or_default());
    }
    group
}
