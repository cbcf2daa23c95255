//! Publications of scheduled blueprints that become due (`API.md` 3.5, 6.1): a transaction records them in the change
//! feed, and readers see them from then on, since they see what is published by the time of the last transaction.
//!
//! The resource itself stays as it is at that moment. Each is recorded once: before a transaction is decided,
//! everything that is due by its time is recorded. So the stored time of the last transaction says where to go on, also
//! after a kill, and everybody who applies the log sees the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_index::{Bound, DateColumn, Filter, Query, Range};
use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Key, Store};

use super::append::{Appended, Group};
use super::commit::Waiters;
use super::committer::Committer;
use super::decide::{Context, decide};
use super::overlay::Overlay;
use crate::command::{Command, Item, ItemOutcome, MissingTargets, PublicationMoment, WorkingPublication, Write};
use crate::data::changes::ChangeOp;
use crate::data::lookup::{Lookup, resources};
use crate::data::state::{Collection, State};
use crate::data::version::IfMatch;
use crate::queue::Job;

/// The number of publications one transaction records, unless more became due in the same millisecond.
const GROUP_RELEASES: usize = 10_000;

/// The most planned publications of one group. Their transactions become durable together, and everybody who writes
/// waits for them.
const GROUP_PLANNED: usize = 500;

/// The number of resources that are read from a snapshot at a time.
const BATCH: usize = 1_024;

/// The time in which a planned publication is passed over that could not be decided.
const PASSED_OVER_FOR: Duration = Duration::from_secs(60);

/// The name under which planned publications are decided. Errors may name every resource, since only readers with
/// `preview` see them.
const PLANNER: &str = "planned publication";

/// A publication that became due.
struct DuePublication<'a> {
    at: Millis,
    blueprint: &'a Blueprint,
    id: ResourceId,
}

impl Committer {
    /// Records due publications while nothing is written.
    pub(crate) fn release(&mut self) {
        if self.is_broken() || !self.leads() {
            return;
        }
        let now = self.now();
        if let Err(error) = self.release_due(now, &mut [])
            && !self.room.is_short()
        {
            tracing::warn!(%error, "publications that became due could not be recorded; this is tried again");
        }
    }

    /// Returns the time until the next publication becomes due.
    pub(super) fn until_next_release(&mut self) -> Duration {
        if !self.leads() {
            return Duration::MAX;
        }
        let state = self.applier.cell.load();
        let after = state.released;
        let store = &self.applier.store;
        let moments =
            scheduled(&state).filter_map(|collection| first_after(collection, store, after).unwrap_or_default());
        let planned = self.planned(&state).next().map(moment_of);
        let Some(next) = moments.chain(planned).min() else { return Duration::MAX };
        // The time is at least a millisecond, so that there is a pause between attempts while the disk is full.
        Duration::from_millis((next - self.now()).max(1).cast_unsigned())
    }

    /// Records the publications that became due between the last transaction and `now`. Answers those of the jobs that
    /// wait too long for it.
    ///
    /// # Errors
    /// The errors of [`Committer::commit`].
    pub(super) fn release_due(&mut self, now: Millis, jobs: &mut [Job]) -> Result<()> {
        loop {
            let state = self.applier.cell.load();
            let store = self.applier.store.clone();
            let mut due = due_between(&state, &store, state.released, now)?;
            if due.is_empty() {
                // Their resources were changed or deleted since.
                scheduled(&state).for_each(|collection| collection.releases.forget(now));
                return self.publish_planned(jobs);
            }
            let through = due.get(GROUP_RELEASES).map_or(now, |release| release.at);
            due.retain(|release| release.at <= through);
            let changes = self.applier.changes.numbers;
            let mut overlay = Overlay::new(&store, self.appender.next_number(), through, None, changes);
            for DuePublication { blueprint, id, .. } in due {
                overlay.note_change(blueprint, id, ChangeOp::Published, false, true);
            }
            drop(state);
            self.commit_overlay(overlay, jobs)?;
        }
    }

    /// Returns the keys of the planned publications, in the order of their moments. Those of a blueprint that is being
    /// changed wait until that is over: meanwhile one may be refused that is possible afterwards. Those that could not
    /// be decided wait too.
    fn planned<'a>(&'a self, state: &'a State) -> impl Iterator<Item = &'a Key> {
        let is_changing = move |number| state.numbered(number).is_some_and(|collection| collection.change.is_some());
        let waits = move |due: &Key| matches!(due, Key::WorkingDue { blueprint, .. } if is_changing(*blueprint));
        let is_passed_over = |due: &Key| self.passed_over.get(due).is_some_and(|until| *until > Instant::now());
        self.applier.due.iter().filter(move |due| !waits(due) && !is_passed_over(due))
    }

    /// Publishes the working copies whose moment has come, each plan by a transaction of its own, many in a group. The
    /// key of a resource with several plans for one moment stays until the last of them, so a later turn of the loop,
    /// or the next start after a crash, carries out the others. Runs after the due publications were recorded, which
    /// end with the time of the last transaction.
    fn publish_planned(&mut self, jobs: &mut [Job]) -> Result<()> {
        let mut most = GROUP_PLANNED;
        loop {
            // Another process may have appended meanwhile, with a later time.
            let now = self.applier.clock.last_time;
            let state = self.applier.cell.load();
            let due = self.planned(&state).take_while(|due| moment_of(due) <= now).take(most);
            let due: Vec<Key> = due.cloned().collect();
            let Some(first) = due.first().cloned() else { return Ok(()) };
            let group = self.decide_all_planned(&state, due, now);
            drop(state);
            if group.is_empty() {
                continue;
            }
            match self.commit_due(group, jobs) {
                // The log of a cluster may accept each of them, but not all together.
                Err(error) if error.code == Code::PayloadTooLarge && most > 1 => most = 1,
                // One that no group can hold must not keep everybody from writing.
                Err(error) if error.code == Code::PayloadTooLarge => {
                    tracing::error!(%error, due = ?first, "a planned publication is too large; it is tried again later");
                    self.pass_over(first);
                }
                done => done?,
            }
        }
    }

    /// Lets a planned publication wait, which cannot be made at the moment.
    fn pass_over(&mut self, due: Key) {
        self.passed_over.retain(|_, until| *until > Instant::now());
        self.passed_over.insert(due, Instant::now() + PASSED_OVER_FOR);
    }

    /// Decides planned publications, each against the state that those before it leave. Returns the transactions of
    /// those that were decided: of all, or of as many as make a full group.
    fn decide_all_planned(&mut self, state: &State, due: Vec<Key>, now: Millis) -> Group {
        let store = self.applier.store.clone();
        let (last_id, changes) = (self.last_id.max(self.applier.clock.last_id), self.applier.changes.numbers);
        let mut overlay = Overlay::new(&store, self.appender.next_number(), now, last_id, changes);
        let context = Context { state, sanitizer: &self.sanitizer };
        let (mut group, mut undecided) = (Group::default(), Vec::new());
        for due in due {
            overlay.actor = None;
            // One damaged record must not keep everybody from writing.
            if let Err(error) = decide_planned(&context, &mut overlay, &due) {
                tracing::error!(%error, ?due, "a planned publication could not be decided; it is tried again later");
                overlay.roll_back();
                undecided.push(due);
                continue;
            }
            if let Some(decided) = overlay.finish() {
                overlay.number += self.appender.add(&mut group, decided);
            }
            if self.appender.is_full(&group) {
                break;
            }
        }
        undecided.into_iter().for_each(|due| self.pass_over(due));
        group
    }

    /// Commits and applies the transaction of publications that became due.
    fn commit_overlay(&mut self, mut overlay: Overlay<'_>, jobs: &mut [Job]) -> Result<()> {
        let mut group = Group::default();
        if let Some(decided) = overlay.finish() {
            self.appender.add(&mut group, decided);
        }
        self.commit_due(group, jobs)
    }

    /// Commits and applies the transactions of publications. If another process has written meanwhile, nothing is
    /// committed: it may have made them, so the caller looks again.
    fn commit_due(&mut self, group: Group, jobs: &mut [Job]) -> Result<()> {
        match self.commit(group, Waiters::Undecided(jobs))? {
            Appended::Group(transactions) => self.apply(transactions).map_err(|error| self.stop(error)),
            Appended::Outrun => self.catch_up(jobs),
        }
    }
}

/// Decides the first plan to publish working copies of a resource whose moment has come. If it fails, the resource says
/// so. Removes the key of the moment unless the resource has another plan for it.
fn decide_planned(context: &Context<'_>, overlay: &mut Overlay<'_>, due: &Key) -> Result<()> {
    let &Key::WorkingDue { blueprint, id, .. } = due else { return Ok(()) };
    let at = moment_of(due);
    // Its blueprint or the resource may have been deleted since.
    let exists = overlay.meta(blueprint, id)?.is_some();
    let Some(collection) = context.state.numbered(blueprint).filter(|_| exists) else {
        overlay.remove(due.clone());
        return Ok(());
    };
    let (moment, published, force) = (PublicationMoment::Planned(at), None, false);
    let (variants, if_match, refusal) = (None, IfMatch::Any, None);
    let publication = WorkingPublication { id, variants, moment, published, force, if_match, refusal };
    let mut item = Item::PublishWorkingCopies(Box::new(publication));
    loop {
        let is_noted = matches!(item, Item::NoteFailedPublication { .. });
        let write = Write {
            blueprint: Arc::clone(&collection.blueprint),
            items: Arc::new(vec![item]),
            missing_targets: MissingTargets::Refuse,
            access: Access::everything(PLANNER),
        };
        let outcome = decide(context, overlay, &Command::Write(write))?;
        match outcome.items()? {
            [ItemOutcome::Failed(error)] if error.code == Code::Internal || is_noted => return Err(error.clone()),
            [ItemOutcome::Failed(error)] => {
                item = Item::NoteFailedPublication { id, at, error: error.clone() };
            }
            _ => return Ok(()),
        }
    }
}

/// Returns the moment of a planned publication.
fn moment_of(due: &Key) -> Millis {
    match due {
        Key::WorkingDue { at, .. } => at.cast_signed(),
        _ => Millis::MAX,
    }
}

fn scheduled(state: &State) -> impl Iterator<Item = &Collection> {
    let collections = state.blueprints.values().map(AsRef::as_ref);
    collections.filter(|collection: &&Collection| {
        collection.blueprint.scheduled && collection.blueprint.kind != BlueprintKind::Singular
    })
}

/// Returns the first moment after `after` at which something may become due. If the index is damaged, all moments are
/// read from the store, once.
fn first_after(collection: &Collection, store: &Store, after: Millis) -> Result<Option<Millis>> {
    let Collection { releases, snapshot, blueprint, .. } = collection;
    if let Ok(first) = releases.first_after(after, snapshot) {
        return Ok(first);
    }
    let moments = resources(store, blueprint.number).map(|resource| Ok(resource?.1.published));
    releases.fill(moments.collect::<Result<Vec<_>>>()?.into_iter().flatten());
    releases.first_after(after, snapshot).map_err(Error::internal)
}

/// Returns the publications that became due after `after` and until `until`, in that order.
fn due_between<'a>(state: &'a State, store: &Store, after: Millis, until: Millis) -> Result<Vec<DuePublication<'a>>> {
    let mut due = Vec::new();
    for collection in scheduled(state) {
        if first_after(collection, store, after)?.is_none_or(|first| first > until) {
            continue;
        }
        let blueprint = &*collection.blueprint;
        match due_in_index(collection, after, until) {
            Ok(found) => due.extend(found.into_iter().map(|(at, id)| DuePublication { at, blueprint, id })),
            Err(error) => {
                tracing::debug!(%error, slug = blueprint.slug, "publications that became due are read from the store");
                for resource in resources(store, blueprint.number) {
                    let (id, meta) = resource?;
                    let at = meta.published.filter(|at| *at > after && *at <= until);
                    due.extend(at.map(|at| DuePublication { at, blueprint, id }));
                }
            }
        }
    }
    due.sort_unstable_by_key(|release| (release.at, release.id.as_u128()));
    Ok(due)
}

fn due_in_index(
    collection: &Collection,
    after: Millis,
    until: Millis,
) -> Result<Vec<(Millis, ResourceId)>, bindery_index::Error> {
    let range = Range { from: Some(Bound::Excluded(after)), to: Some(Bound::Included(until)) };
    let query = Query { variant: 0, filter: Filter::Date(DateColumn::Published, range), sort: Vec::new() };
    let mut stream = collection.snapshot.stream(&query)?;
    let mut found = Vec::new();
    loop {
        let hits = stream.next(BATCH);
        if hits.is_empty() {
            return Ok(found);
        }
        let due = hits.iter().filter_map(|hit| Some((hit.stamps.published?, ResourceId::from_u128(hit.id))));
        found.extend(due);
    }
}
