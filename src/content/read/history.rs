//! The history of a resource as it is answered (`API.md` 4.22). Every answer asks today's rights on today's resource.

use std::sync::Arc;
use std::time::Duration;

use bindery_access::Access;
use bindery_index::Interrupt;
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, HistorySettings};
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::json as model_json;
use bindery_model::sent::quote;
use bindery_model::time::Millis;
use bindery_query::{RawParams, Selection, WriteParams, strict};
use bindery_sanitize::Sanitizer;
use bindery_store::Store;
use serde_json::{Map, Value, json};

use crate::command::{Effect, WrittenResource};
use crate::data::history::{FormerLookup, HistoryOf, RevisionRange};
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta};
use crate::data::refusals::{no_resource, without_working_copies};
use crate::data::revision::Revision;
use crate::data::state::State;
use crate::data::working::WorkingCopy;
use crate::handle::Content;
use crate::read::authors::actor_to_json;
use crate::read::resource::{Presentation, written_answer};
use crate::read::view::View;

/// The estimated time of a read: too long for a thread that serves connections.
const ESTIMATE: Duration = Duration::from_millis(5);
const DEFAULT_LIMIT: u32 = 25;
const MAX_LIMIT: u32 = 100;
/// The most reads of a range beside writes of its resource.
const MAX_READS: usize = 10;
const MILLIS_PER_DAY: Millis = 24 * 60 * 60 * 1_000;

/// A page of a history, newest first.
#[derive(Debug)]
pub struct HistoryPage {
    /// The revisions.
    pub revisions: Vec<RevisionEntry>,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<String>,
}

/// A revision in a list.
#[derive(Debug)]
pub struct RevisionEntry {
    /// Its number, which increases by one with each revision of the variant.
    pub number: u32,
    /// The time of the write.
    pub at: Millis,
    /// The actor who wrote, as an object with `type`, `id` and `name`.
    pub by: Value,
    /// The kind of write.
    pub op: &'static str,
    /// The slug of the variant; `None` if the blueprint has none.
    pub variant: Option<String>,
    /// The slugs of the changed fields.
    pub fields: Vec<String>,
}

/// A revision with its values.
#[derive(Debug)]
pub struct RevisionAnswer {
    /// The resource object of that moment as JSON text.
    pub json: String,
    /// The fields that differ from the compared version, if one was asked for.
    pub changes: Option<Map<String, Value>>,
}

/// A version that a revision is compared with.
#[derive(Clone, Copy)]
enum Compared {
    Live,
    /// The values that readers of working copies see.
    Working,
    Revision(u32),
}

/// The history of one variant, as it is at the moment.
pub(crate) struct OpenHistory<'a> {
    store: &'a Store,
    blueprint: &'a Blueprint,
    sanitizer: &'a Sanitizer,
    of: HistoryOf,
    meta: Meta,
    /// The numbers of the revisions that are answered.
    first: u32,
    last: u32,
    /// False if the only revision is the live version, which follows from the meta record.
    is_stored: bool,
}

impl<'a> OpenHistory<'a> {
    /// Opens the history of a variant. Revisions are left out that are too old by `now`, the time of the content, by
    /// which they are also removed.
    ///
    /// # Errors
    /// `NOT_FOUND`, `INVALID_PARAMETER` if the blueprint keeps no history.
    pub(crate) fn open(
        store: &'a Store,
        blueprint: &'a Blueprint,
        sanitizer: &'a Sanitizer,
        id: ResourceId,
        variant: u16,
        now: Millis,
    ) -> Result<OpenHistory<'a>> {
        let settings = settings(blueprint)?;
        let of = HistoryOf { blueprint: blueprint.number, id, variant };
        let missing = || no_resource(blueprint, &id.to_string());
        let (meta, range) = read_range(store, of)?.ok_or_else(missing)?;
        let (first, last, is_stored) = match range {
            Some((RevisionRange { first, last, .. }, true)) => {
                (first.max((last + 1).saturating_sub(settings.keep.into())), last, true)
            }
            Some((RevisionRange { last, .. }, false)) => (last + 1, last + 1, false),
            None => (1, 1, false),
        };
        let mut history = OpenHistory { store, blueprint, sanitizer, of, meta, first, last, is_stored };
        history.leave_out_expired(settings, now)?;
        Ok(history)
    }

    /// Leaves out revisions that are older than the setting says. The newest one is the live version, and always stays.
    fn leave_out_expired(&mut self, settings: HistorySettings, now: Millis) -> Result<()> {
        let since = now - Millis::from(settings.days) * MILLIS_PER_DAY;
        // Revisions are in the order of their times, so the first one to answer is found by a binary search.
        let (mut from, mut to) = (self.first, self.last);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.of.revision(self.store, middle)?.is_none_or(|revision| revision.at < since) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        self.first = from;
        Ok(())
    }

    /// Returns a revision.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn revision(&self, number: u32) -> Result<Revision> {
        let missing = || {
            let text = format!("there is no revision {number}; the history has {} to {}", self.first, self.last);
            Error::new(Code::NotFound, text)
        };
        if !(self.first..=self.last).contains(&number) {
            return Err(missing());
        }
        if !self.is_stored {
            return Revision::of_live(self.store, self.blueprint, self.of.id, &self.meta, self.of.variant);
        }
        self.of.revision(self.store, number)?.ok_or_else(missing)
    }

    fn entry(&self, state: &State, number: u32) -> Result<RevisionEntry> {
        let revision = self.revision(number)?;
        let variant = self.blueprint.variants.iter().find(|variant| variant.number == self.of.variant);
        Ok(RevisionEntry {
            number,
            at: revision.at,
            by: actor_to_json(state, revision.by.as_ref()),
            op: revision.op.as_str(),
            variant: variant.map(|variant| variant.slug.clone()),
            fields: revision.fields_of(self.blueprint).map(str::to_owned).collect(),
        })
    }

    fn page(&self, state: &State, before: Option<u32>, limit: u32) -> Result<HistoryPage> {
        let newest = before.map_or(self.last, |before| self.last.min(before.saturating_sub(1)));
        let oldest = self.first.max((newest + 1).saturating_sub(limit));
        let entries = (oldest..=newest).rev().map(|number| self.entry(state, number));
        // A write of the resource removes the oldest revisions, also while the page is read.
        let is_gone = |entry: &Result<RevisionEntry>| entry.as_ref().is_err_and(|error| error.code == Code::NotFound);
        let revisions = entries.filter(|entry| !is_gone(entry)).collect::<Result<_>>()?;
        let next = (oldest > self.first && newest >= self.first).then(|| format!("{oldest:08x}"));
        Ok(HistoryPage { revisions, next })
    }

    /// Returns the live values in the order of today's fields.
    fn live_values(&self) -> Result<Vec<Value>> {
        self.values_of(self.meta.copy(self.of.variant).map_or(0, |copy| copy.number), None)
    }

    fn working_values(&self) -> Result<Vec<Value>> {
        let mut values = self.live_values()?;
        if let Some(version) = self.meta.working_copy(self.of.variant) {
            self.store.working(self.blueprint, self.of.id, version)?.apply_to(self.blueprint, &mut values);
        }
        Ok(values)
    }

    fn values_of(&self, copy: u64, working: Option<WorkingCopy>) -> Result<Vec<Value>> {
        let version = CopyVersion { variant: self.of.variant, number: copy };
        self.lookup(working).values(self.blueprint, self.of.id, version)
    }

    /// Returns the working copy of a revision, if it has one.
    fn working_of(&self, revision: &Revision) -> Result<Option<WorkingCopy>> {
        let Some(former) = &revision.working else { return Ok(None) };
        let mut working = former.read(&self.copy_bytes(revision.copy)?)?;
        working.follow_retyped(self.blueprint, revision.blueprint);
        Ok(Some(working))
    }

    /// Returns the stored bytes of a version of the live copy; none for the version 0, that of a copy that was never
    /// written.
    fn copy_bytes(&self, copy: u64) -> Result<Vec<u8>> {
        if copy == 0 { Ok(Vec::new()) } else { self.of.copy_bytes(self.store, copy) }
    }

    fn lookup(&self, working: Option<WorkingCopy>) -> FormerLookup<'_> {
        let OpenHistory { store, of, blueprint, sanitizer, .. } = *self;
        FormerLookup { lookup: store, of, working, blueprint, sanitizer }
    }

    /// Returns the values of a revision.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn values(&self, number: u32) -> Result<Vec<Value>> {
        let revision = self.revision(number)?;
        self.values_of(revision.copy, self.working_of(&revision)?)
    }

    /// Estimates the memory that the values of a revision take while they are restored, in bytes. Parses none of them.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn expansion(&self, number: u32) -> Result<usize> {
        let (copy, working) = match self.is_stored {
            true => {
                let revision = self.revision(number)?;
                (revision.copy, revision.working)
            }
            false => (self.meta.copy(self.of.variant).map_or(0, |copy| copy.number), None),
        };
        let live = self.copy_bytes(copy)?;
        let working = working.map(|former| former.stored(&live)).transpose()?;
        let live = (copy > 0).then(|| Copy::decode(&live).map_err(Error::internal)).transpose()?;
        Ok([live, working].iter().flatten().map(|copy| model_json::expansion(copy.attributes.as_bytes())).sum())
    }

    fn answer(&self, number: u32, state: &State, compared: Option<Compared>) -> Result<RevisionAnswer> {
        let revision = self.revision(number)?;
        let (id, variant) = (self.of.id, self.of.variant);
        let mut meta = Meta { updated: revision.at, published: revision.published, ..self.meta.clone() };
        let working = self.working_of(&revision)?;
        let has_copy = revision.copy > 0 || working.is_some();
        meta.copies = has_copy.then_some(CopyVersion { variant, number: revision.copy }).into_iter().collect();
        let written = WrittenResource::live(id, Effect::Updated, meta, None);
        let selection = Selection::all();
        let (fallback, highlights, names) = (None, None, None);
        let (is_working, hides_errors) = (false, false);
        let public_url = state.public_url.clone();
        let presentation =
            Presentation { variant, fallback, selection, highlights, is_working, hides_errors, names, public_url };
        let lookup = self.lookup(working.clone());
        let json =
            written_answer(&lookup, self.blueprint, state.epoch, &written, &presentation, Default::default())?.json;
        let other = match compared {
            None => return Ok(RevisionAnswer { json, changes: None }),
            Some(Compared::Live) => self.live_values()?,
            Some(Compared::Working) => self.working_values()?,
            Some(Compared::Revision(other)) => self.values(other)?,
        };
        let pairs = self.values_of(revision.copy, working)?.into_iter().zip(other);
        let changes = self.blueprint.fields.iter().zip(pairs).filter(|(_, (from, to))| from != to);
        let changes = changes.map(|(field, (from, to))| (field.slug.clone(), json!({ "from": from, "to": to })));
        Ok(RevisionAnswer { json, changes: Some(changes.collect()) })
    }
}

/// The range of a history, and false if its newest revision is not the live version; `None` if there is no history.
type FoundRange = Option<(RevisionRange, bool)>;

/// Reads the meta record of a resource and the range of its history; `None` if there is no such resource.
///
/// The store applies a transaction key by key, the history before the meta record. So the range may be newer than the
/// meta record, and would then look as if it belonged to another resource: it is read again after the write.
fn read_range(store: &Store, of: HistoryOf) -> Result<Option<(Meta, FoundRange)>> {
    let mut before = None;
    for _ in 0..MAX_READS {
        let Some(meta) = store.meta(of.blueprint, of.id)? else { return Ok(None) };
        let range = of.trusted_range(store, &meta)?;
        let is_trusted = range.is_none_or(|(_, is_trusted)| is_trusted);
        let read = Some((meta, range));
        if is_trusted || read == before {
            return Ok(read);
        }
        store.applied_in_full();
        before = read;
    }
    Ok(before)
}

/// # Errors
/// `INVALID_PARAMETER` if the blueprint keeps no history.
pub(crate) fn settings(blueprint: &Blueprint) -> Result<HistorySettings> {
    blueprint.history.ok_or_else(|| {
        let text = format!("the blueprint `{}` keeps no history; set its `history` to keep one", blueprint.slug);
        Error::new(Code::InvalidParameter, text)
    })
}

/// Reads the number of a revision in a path.
///
/// # Errors
/// `NOT_FOUND`.
pub(crate) fn revision_number(text: &str) -> Result<u32> {
    let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
    number.ok_or_else(|| Error::new(Code::NotFound, format!("there is no revision {}", quote(text))))
}

impl Content {
    /// Returns a page of the history of a resource.
    ///
    /// # Errors
    /// `FORBIDDEN` without `preview`, `NOT_FOUND`, `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub async fn history(&self, access: &Arc<Access>, slug: &str, id: &str, raw_query: &str) -> Result<HistoryPage> {
        let params = RawParams::parse(raw_query);
        let (view, blueprint, variant) = self.history_of(access, slug, raw_query)?;
        strict::check(&params, &["variant", "limit", "cursor"])?;
        let invalid = |name: &str, must: &str| Error::new(Code::InvalidParameter, format!("`{name}` must be {must}"));
        let limit = match params.single("limit")? {
            None => DEFAULT_LIMIT,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
                limit.ok_or_else(|| invalid("limit", "a whole number from 1 to 100"))?
            }
        };
        let before = match params.single("cursor")?.filter(|cursor| !cursor.is_empty()) {
            None => None,
            Some(cursor) => {
                let number = u32::from_str_radix(cursor, 16).ok().filter(|_| cursor.len() == 8);
                Some(number.ok_or_else(|| invalid("cursor", "what `links.next` has, or empty"))?)
            }
        };
        let (id, state) = (view.locate(id)?.id(), view.state);
        let shared = Arc::clone(&self.shared);
        let now = self.now();
        let read = move |_: &Interrupt<'_>| {
            let opened = OpenHistory::open(&shared.store, &blueprint, &shared.sanitizer, id, variant, now);
            Some(opened.and_then(|history| history.page(&state, before, limit)))
        };
        self.shared.searches.run(ESTIMATE, read).await
    }

    /// Returns a revision of a resource, and with `?compare=` how it differs from another version.
    ///
    /// # Errors
    /// `FORBIDDEN` without `preview`, `NOT_FOUND`, `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub async fn revision(
        &self,
        access: &Arc<Access>,
        slug: &str,
        id: &str,
        number: &str,
        raw_query: &str,
    ) -> Result<RevisionAnswer> {
        let params = RawParams::parse(raw_query);
        let (view, blueprint, variant) = self.history_of(access, slug, raw_query)?;
        strict::check(&params, &["variant", "compare"])?;
        let compared = match params.single("compare")? {
            None => None,
            Some("live") => Some(Compared::Live),
            Some("working") if blueprint.working_copy => Some(Compared::Working),
            Some("working") => return Err(without_working_copies(slug)),
            Some(text) => Some(Compared::Revision(text.parse().map_err(|_| {
                let text =
                    format!("`compare` is {}; it must be `live`, `working` or the number of a revision", quote(text));
                Error::new(Code::InvalidParameter, text)
            })?)),
        };
        let (id, number) = (view.locate(id)?.id(), revision_number(number)?);
        let state = view.state;
        let shared = Arc::clone(&self.shared);
        let now = self.now();
        let read = move |_: &Interrupt<'_>| {
            let opened = OpenHistory::open(&shared.store, &blueprint, &shared.sanitizer, id, variant, now);
            Some(opened.and_then(|history| history.answer(number, &state, compared)))
        };
        self.shared.searches.run(ESTIMATE, read).await
    }

    /// Checks a read of a history. The caller looks for the resource in the view, after it has read its own parameters.
    /// The state of the view keeps the live versions readable.
    fn history_of(&self, access: &Arc<Access>, slug: &str, raw_query: &str) -> Result<(View, Arc<Blueprint>, u16)> {
        access.require(&[Ability::Preview])?;
        let view = self.view(access, slug)?;
        let blueprint = Arc::clone(&view.collection.blueprint);
        settings(&blueprint)?;
        let variant = WriteParams::parse(raw_query, &blueprint)?.variant;
        Ok((view, blueprint, variant))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bindery_store::StoreWrite;

    use super::*;
    use crate::fixture;
    use crate::{IdempotentAnswer, IfMatch};

    #[tokio::test]
    async fn a_page_leaves_out_a_revision_that_a_write_removes_while_it_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let (content, access) = (fixture::open(temp.path()), fixture::access());
        let body = json!({ "name": "Notes", "slug": "notes", "history": { "keep": 10, "days": 10 },
            "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
        content.create_blueprint(&access, body.to_string().as_bytes(), None).await.unwrap();
        let body = |title: &str| json!({ "attributes": { "title": title } }).to_string();
        let writing = content.write(&access, Ability::Create, "notes", "").unwrap();
        let created = writing.create(body("one").as_bytes(), None).await.unwrap();
        let IdempotentAnswer::Fresh(created) = created else { unreachable!() };
        for title in ["two", "three", "four"] {
            let writing = content.write(&access, Ability::Update, "notes", "").unwrap();
            writing.change(created.id, IfMatch::Any, body(title).as_bytes()).await.unwrap();
        }
        let (state, shared) = (content.state(), &content.shared);
        let blueprint = &state.visible(&access, "notes").unwrap().blueprint;
        let variant = blueprint.default_variant();
        let opened = OpenHistory::open(&shared.store, blueprint, &shared.sanitizer, created.id, variant, content.now());
        let history = opened.unwrap();
        let removed = StoreWrite::delete(history.of.revision_key(history.first));
        shared.store.apply(shared.store.applied(), &[removed]).unwrap();
        let page = history.page(&state, None, MAX_LIMIT).unwrap();
        let numbers: Vec<u32> = page.revisions.iter().map(|revision| revision.number).collect();
        assert_eq!(numbers, [4, 3, 2]);
        assert_eq!(history.revision(1).unwrap_err().code, Code::NotFound);
    }
}
