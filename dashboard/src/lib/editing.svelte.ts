// One copy of a resource being edited: the values of the server, the values of the form, and how the second become the first.
// Only what was changed is sent, under the version that the work began from. What is published is edited as a working copy where
// the blueprint has them (API.md 4.21). It must not know how a field is drawn.
import { SvelteSet } from 'svelte/reactivity';
import { ApiError, send, type Answer } from './api';
import { forget, refresh } from './pages';
import { faultText } from './faults';
import { handOver } from './pending';
import { locale, t } from './i18n.svelte';
import { listFormat } from './intl';
import { compare, merged, type Difference } from './merge';
import { session } from './session.svelte';
import { hasCopies, titleField } from './blueprints.svelte';
import { addressSlug } from './slug';
import { newTab, thisTab } from './tab';
import { remember } from './titles.svelte';
import { explain, type About } from './toasts.svelte';
import type { Attributes, Blueprint, Field, Json, Resource, ResourceAnswer, Sanitized } from './types';
import { uploads } from './uploads.svelte';
import { dropUnsaved, giveId, keepUnsaved, readUnsaved, unsavedOf, type Offered, type Unsaved, type UnsavedPlace } from './unsaved';
import { display, same } from './values';

export interface Conflict {
  differences: Difference[];
  theirs: Attributes;
  resource: Resource;
  etag: string | null;
  /** What was to be done when the conflict showed, to be done after the choice. */
  then: SaveOptions | null;
}

/** Who changed a resource last, if the server knows: its working copy, if it has one. */
export function changerOf(resource: Resource | null): string | undefined {
  const actor = resource?.meta?.updated_by;
  return actor?.member?.name ?? actor?.token?.name ?? undefined;
}

/** The same member changed it, in another tab or browser. */
export const isOwnChange = (resource: Resource): boolean => resource.meta?.updated_by?.member?.id !== undefined && resource.meta.updated_by.member.id === session.member?.id;

/** The tag of no version: where that of the work is not known, nothing is written over theirs. */
const NO_VERSION = '""';

/** The server may have carried it out. */
const isUnanswered = (error: unknown): boolean => error instanceof ApiError && (error.offline || error.status >= 500);
const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
/** The key of the first save stands for another body: an earlier try was carried out. */
const isReused = (error: unknown): boolean => error instanceof ApiError && error.code === 'IDEMPOTENCY_KEY_REUSED';

function joinedText(resource: Resource, theirs: Difference[]): string {
  const fields = listFormat(locale.tag).format(theirs.map(({ field }) => field.name));
  return isOwnChange(resource) ? t('conflict.joined.you', { fields }) : t('conflict.joined', { fields, who: changerOf(resource) ?? t('conflict.somebody') });
}

export interface SaveOptions {
  /** A time publishes, null makes a draft; without it the status stays. */
  publishedAt?: string | null;
  /** Makes the working copy what the site shows, after what was changed here is saved in it. */
  publish?: 'unless changed' | 'anyway';
  /** With `publish`: the moment in the future at which it is done. */
  at?: string;
}

/** Fields that changed on the site since the working copy changed them, which its publication would replace. */
export interface Overwriting {
  fields: Field[];
  live: Attributes;
  /** The moment for which the publication was to be planned. */
  at: string | undefined;
}

/** A save that did not reach the server, or whose answer did not arrive. */
interface WaitingSave {
  why: 'offline' | 'busy';
  options: SaveOptions;
  /** What the form had then. */
  sent: Attributes;
}

interface CreateBody {
  attributes: Attributes;
  published_at?: string | null;
}

export class Editing {
  readonly blueprint: Blueprint;
  readonly variant: string | null;
  id = $state<string | null>(null);
  resource = $state.raw<Resource | null>(null);
  base = $state.raw<Attributes>({});
  values = $state.raw<Attributes>({});
  errors = $state.raw<Record<string, string[]>>({});
  /** The fields whose inputs hold something that is no value. Nothing is saved until they are completed or emptied. */
  readonly incomplete = new SvelteSet<string>();
  /** Goes up when the form is put back. An input drops a half-typed date then, which no change of its value says. */
  discards = $state(0);
  fault = $state('');
  /** Repeated as it was until the server answers: what was typed since is not published with it. */
  waiting = $state.raw<WaitingSave | null>(null);
  /** Somebody deleted the entry. What was typed stays, and can become a new one. */
  gone = $state(false);
  loading = $state(true);
  missing = $state(false);
  /** Why the entry could not be read. Nothing is kept or saved then, because the form does not have its values. */
  unread = $state('');
  private running = $state.raw<Promise<boolean> | null>(null);
  /** When work was found that had not been saved, the time of its last change. */
  restoredAt = $state<number | null>(null);
  /** Other work on this copy that was not saved, of this browser's tabs. */
  others = $state.raw<Offered[]>([]);
  /** False if this browser cannot keep unsaved work. */
  kept = $state(true);
  conflict = $state.raw<Conflict | null>(null);
  /** Somebody else's version, found while the form was open. */
  newer = $state.raw<Conflict | null>(null);
  sanitized = $state.raw<Sanitized>({});
  /** What would be wrong with the saved values if they were published now, by field. */
  notReady = $state.raw<Record<string, string>>({});
  /** The errors are about publishing: the values are saved. */
  savedOnly = $state(false);
  overwriting = $state.raw<Overwriting | null>(null);
  /** What the last save joined with the changes of the form, in words, because others had changed other fields. */
  joined = $state('');
  etag: string | null = null;
  private madeSlug: string | null = null;
  /** Where the work on an entry without an id is kept. */
  private readonly draft: string;
  /** What the work on a deleted entry began from, should somebody restore the entry. */
  private before: Attributes = {};
  /** The place of a deleted entry, whose work becomes a new one. */
  private replaced: UnsavedPlace | null = null;
  /** What the form had in saves that the server may have carried out, though no answer said so. */
  private readonly unanswered = new Set<Attributes>();
  /** The first save: one key for all its tries, and those whose answers got lost, of which the server carried out one at most. */
  private creation: { key: string; lost: Map<string, CreateBody> } | null = null;
  /** The fields that differ between two states of the form, which are replaced and never changed. */
  private differing: { base: Attributes; values: Attributes; fields: Field[] } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(blueprint: Blueprint, id: string | null, variant: string | null, draft: string) {
    this.blueprint = blueprint;
    this.id = id;
    this.variant = variant;
    this.draft = draft;
  }

  /** Computed here, because a `$derived` value is frozen once the screen is left: a save that is answered later would count as unsaved. */
  get changed(): Field[] {
    const { base, values } = this;
    if (this.differing?.base !== base || this.differing.values !== values) {
      const fields = this.blueprint.fields.filter(({ slug }) => !same(base[slug] ?? null, values[slug] ?? null));
      this.differing = { base, values, fields };
    }
    return this.differing.fields;
  }

  private get place(): UnsavedPlace {
    return { member: session.member?.id ?? 0, blueprint: this.blueprint.slug, id: this.id ?? this.draft, variant: this.variant, tab: this.id ? thisTab() : '' };
  }

  private url(path = '', copy: 'live' | 'working' = 'live'): string {
    const query = new URLSearchParams({ ...(this.variant ? { variant: this.variant } : {}), ...(copy === 'working' ? { copy } : {}) });
    return `/v2/resources/${this.blueprint.slug}${path}${query.size > 0 ? `?${query}` : ''}`;
  }

  /** What is saved goes to a working copy, which the site does not show. Only answers about working copies have the key. */
  get usesCopy(): boolean {
    return this.resource?.working_copy !== undefined;
  }

  /** There is a working copy: saved changes that the site does not show. */
  get edited(): boolean {
    return this.resource?.working_copy != null;
  }

  /** The moment at which the working copy is published, before which it cannot be changed. */
  get planned(): string | null {
    return this.resource?.working_copy?.publish_at ?? null;
  }

  private get ifUnchanged(): Record<string, string> {
    return this.etag ? { 'if-match': this.etag } : {};
  }

  get title(): string {
    return this.titleIn(this.values);
  }

  private titleIn(values: Attributes): string {
    const field = titleField(this.blueprint);
    return field ? display(field, values[field.slug]) : '';
  }

  /** What a message about the entry is about: the title that is stored, not what was typed since. Its button works on this form. */
  get about(): About {
    return { entries: [`${this.blueprint.slug}/${this.id ?? this.draft}`], name: this.titleIn(this.base) || this.title, form: this };
  }

  get dirty(): boolean {
    return this.changed.length > 0;
  }

  get saving(): boolean {
    return this.running !== null;
  }

  /** `wanted` is the tab whose work is asked for. */
  async load(wanted: string | null = null): Promise<void> {
    this.loading = true;
    this.fault = '';
    let unread = '';
    try {
      if (this.id) await this.fetch();
      else this.base = this.values = this.empty();
      this.restore(await this.keptWork(wanted));
    } catch (error) {
      if (isMissing(error)) this.restoreGone(await this.keptWork(wanted));
      else if (this.resource) this.fault = explain(error);
      else unread = explain(error);
    } finally {
      this.unread = unread;
      this.loading = false;
    }
  }

  private empty(): Attributes {
    return Object.fromEntries(this.blueprint.fields.map((field) => [field.slug, null]));
  }

  /** What was asked for, or what this tab kept, or the latest of a tab that was closed. The rest is offered. */
  private async keptWork(wanted: string | null): Promise<Unsaved | null> {
    if (!this.id) return readUnsaved(this.place);
    const works = await unsavedOf(this.place);
    const own = works.find((one) => one.tab === thisTab());
    const chosen = works.find((one) => one.tab === wanted) ?? own ?? works.find((one) => !one.open);
    if (chosen && chosen !== own) this.adopt(chosen, own);
    await this.findOthers();
    return chosen ?? null;
  }

  /** This tab goes on with the work of another one. What it had itself is put aside. */
  private adopt(work: Offered, own: Unsaved | null | undefined): void {
    if (own) keepUnsaved({ ...this.place, tab: newTab() }, own);
    if (!work.open) dropUnsaved(work);
    keepUnsaved(this.place, work);
  }

  private async findOthers(): Promise<void> {
    this.others = (await unsavedOf(this.place)).filter((one) => one.tab !== thisTab());
  }

  /** Shows other work on this copy instead of this one, which is offered from then on. */
  async take(work: Offered): Promise<void> {
    this.keep();
    this.waiting = null;
    this.acceptNewer();
    this.adopt(work, readUnsaved(this.place));
    this.restore(work);
    await this.findOthers();
  }

  async drop(work: Offered): Promise<void> {
    dropUnsaved(work);
    await this.findOthers();
  }

  /** The entry does not exist any more. What was typed into it does. */
  private restoreGone(work: Unsaved | null): void {
    if (!work) return void (this.missing = true);
    this.base = { ...this.empty(), ...work.base };
    this.lose({ ...this.base, ...work.changes });
    this.restoredAt = work.at;
  }

  /** Found while the form is open. Without changes, nothing is kept of it. */
  private lost(): void {
    if (this.dirty) this.lose(this.values);
    else this.missing = true;
    this.keep();
  }

  private lose(values: Attributes): void {
    this.gone = true;
    this.fault = '';
    this.resource = null;
    this.etag = null;
    this.before = this.base;
    this.base = this.empty();
    this.values = values;
    this.newer = this.conflict = null;
  }

  /** Looks whether somebody restored the entry, whose changes are then what was typed. True if nothing has to be decided first. */
  async findAgain(): Promise<boolean> {
    const found = await this.read().catch(() => null);
    if (found && this.gone) {
      handOver();
      const changes = Object.fromEntries(Object.entries(this.values).filter(([slug, value]) => !same(value, this.before[slug] ?? null)));
      this.gone = false;
      this.accept(found.body, found.etag);
      this.values = this.base;
      this.restore({ changes, base: this.before, etag: null, title: this.title, at: Date.now() });
      this.restoredAt = null;
      this.keep();
    }
    return !this.gone && this.conflict === null;
  }

  /** Makes a new entry of what was typed into a deleted one, unless that exists again. */
  async recreate(): Promise<boolean> {
    if (!this.gone) return false;
    if (await this.findAgain()) return this.save();
    if (!this.gone) return false;
    handOver();
    this.replaced ??= this.place;
    this.id = null;
    this.gone = false;
    return this.save();
  }

  /** The answer is about the copy to edit: the working copy of what the site shows, and a draft itself. */
  private isEdited(resource: Resource): boolean {
    const shown = resource.published_at !== null || this.blueprint.is_singular || resource.working_copy != null;
    return (resource.working_copy !== undefined) === (hasCopies(this.blueprint) && shown);
  }

  /** The copy to edit, as it is stored. */
  private async read(id = this.id): Promise<Answer<ResourceAnswer>> {
    const first = (this.resource ? this.usesCopy : hasCopies(this.blueprint)) ? 'working' : 'live';
    const answer = await send<ResourceAnswer>('GET', this.url(`/${id}`, first));
    if (this.isEdited(answer.body.data)) return answer;
    return send<ResourceAnswer>('GET', this.url(`/${id}`, first === 'live' ? 'working' : 'live'));
  }

  private async fetch(): Promise<void> {
    const { body, etag } = await this.read();
    this.accept(body, etag);
    this.values = this.base;
  }

  private accept(answer: ResourceAnswer, etag: string | null): void {
    this.resource = answer.data;
    this.base = answer.data.attributes;
    this.etag = etag;
    this.waiting = null;
    this.notReady = Object.fromEntries(Object.entries(answer.meta?.not_ready ?? {}).map(([slug, message]) => [slug, faultText(message)]));
  }

  /** Lays work that was not saved over what the server has. What others changed meanwhile is shown, not overwritten. */
  private restore(work: Unsaved | null): void {
    if (!work) return;
    const known = Object.fromEntries(Object.entries(work.changes).filter(([slug]) => slug in this.base));
    const mine = { ...this.base, ...known };
    const differences = compare(this.blueprint.fields, { ...this.base, ...work.base }, mine, this.base);
    this.values = mine;
    this.restoredAt = this.dirty ? work.at : null;
    if (!this.dirty) dropUnsaved(this.place);
    if (!this.resource || !differences.some((one) => one.conflict)) return;
    this.newer = this.conflict = { differences, theirs: this.base, resource: this.resource, etag: this.etag, then: null };
    // Until somebody decides, the work stands on the version that it began from, also when it is kept again.
    this.base = { ...this.base, ...work.base };
    this.etag = work.etag ?? NO_VERSION;
  }

  /** Goes on from the newer version that was found. */
  private acceptNewer(): void {
    if (this.newer) this.accept({ data: this.newer.resource }, this.newer.etag);
    this.newer = null;
  }

  set(slug: string, value: Json): void {
    this.values = { ...this.values, [slug]: value, ...this.slugFor(slug, value) };
    this.setIncomplete(slug, false);
    this.clearErrors(slug);
    if (this.notReady[slug]) {
      const { [slug]: _, ...rest } = this.notReady;
      this.notReady = rest;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.keep(), 250);
  }

  private clearErrors(slug: string): void {
    if (!this.errors[slug]) return;
    const { [slug]: _, ...rest } = this.errors;
    this.errors = rest;
  }

  setIncomplete(slug: string, is: boolean): void {
    if (is) this.incomplete.add(slug);
    else if (this.incomplete.delete(slug)) this.clearErrors(slug);
  }

  /** Puts other values into fields. Answers what was there. */
  replace(values: Attributes): Attributes {
    handOver();
    const before = Object.fromEntries(Object.keys(values).map((slug) => [slug, this.values[slug] ?? null]));
    for (const [slug, value] of Object.entries(values)) this.set(slug, value);
    return before;
  }

  /** While the address of an entry is not stored yet and nobody typed one, it follows the title. */
  private slugFor(changed: string, title: Json): Attributes {
    const { seo, record_title, fields } = this.blueprint;
    const field = fields.find((one) => one.type === 'slug' && (!seo?.slug || one.slug === seo.slug));
    if (!field || changed !== (seo?.title ?? record_title) || this.base[field.slug] != null) return {};
    const now = this.values[field.slug] ?? null;
    if (now !== null && now !== this.madeSlug) return {};
    this.madeSlug = typeof title === 'string' ? addressSlug(title) || null : null;
    return { [field.slug]: this.madeSlug };
  }

  /** Keeps what is not saved in this browser. Called at once when the page is left. */
  keep(): void {
    handOver();
    clearTimeout(this.timer);
    if (this.loading || this.unread) return;
    if (!this.dirty) return dropUnsaved(this.place);
    const pick = (from: Attributes): Attributes => Object.fromEntries(this.changed.map(({ slug }) => [slug, from[slug] ?? null]));
    this.kept = keepUnsaved(this.place, { changes: pick(this.values), base: pick(this.base), etag: this.etag, title: this.title, at: Date.now() });
  }

  /** The form shows what was saved. Answers what takes this back; what was typed since stays. */
  discard(): () => void {
    handOver();
    const [discarded, base, etag] = [this.changes, this.base, this.etag];
    this.acceptNewer();
    this.values = this.base;
    this.discards += 1;
    this.errors = {};
    this.restoredAt = null;
    this.waiting = null;
    if (this.gone) this.missing = true;
    this.keep();
    return () => {
      handOver();
      if (this.gone) this.missing = false;
      const untouched = Object.keys(discarded).filter((slug) => same(this.values[slug] ?? null, this.base[slug] ?? null));
      const pick = (from: Attributes): Attributes => Object.fromEntries(untouched.map((slug) => [slug, from[slug] ?? null]));
      this.restore({ changes: { ...this.changes, ...pick(discarded) }, base: pick(base), etag, title: this.title, at: Date.now() });
      this.restoredAt = null;
      this.keep();
    };
  }

  /** Settled when what is being saved is answered. */
  async saved(): Promise<void> {
    await this.running;
  }

  /**
   * True if everything was stored. While something is being saved, what was changed since is saved after it.
   * `repeated` is what the form had when a save was tried that is repeated.
   */
  async save(options: SaveOptions = {}, repeated?: Attributes): Promise<boolean> {
    if (this.loading || this.unread || (this.gone && !(await this.findAgain()))) return false;
    if (!this.running) {
      this.running = this.saveNow(options, repeated).finally(() => (this.running = null));
      return this.running;
    }
    const done = await this.running;
    if (!done && !this.waiting) return false;
    const changed = Object.keys(this.typedSince(this.waiting?.sent ?? this.base)).length > 0;
    return changed || options.publishedAt !== undefined || options.publish ? this.save(options) : done;
  }

  /** False if an input is half filled, or waits for a file that does not arrive. */
  private async isComplete(): Promise<boolean> {
    // Nobody expects an entry to be published without a picture that was put into it.
    if (uploads.awaited.length > 0 && !(await uploads.arrive())) {
      this.fault = t('editor.upload.failed');
      return false;
    }
    handOver();
    if (this.incomplete.size > 0) {
      this.errors = Object.fromEntries([...this.incomplete].map((slug) => [slug, [t('fault.date.incomplete')]]));
      return false;
    }
    return true;
  }

  private async saveNow(options: SaveOptions, repeated?: Attributes): Promise<boolean> {
    if (!repeated && !(await this.isComplete())) return false;
    this.fault = '';
    this.overwriting = null;
    this.joined = '';
    const sent = repeated ?? this.values;
    try {
      const answer = await this.request(options, sent);
      this.stored(answer.body, answer.etag, sent);
      return true;
    } catch (error) {
      return await this.failed(error, options, sent);
    }
  }

  private async request(options: SaveOptions, sent: Attributes): Promise<Answer<ResourceAnswer>> {
    const answer = this.usesCopy ? await this.requestCopy(options, sent) : await this.requestLive(options, sent);
    if (!this.id) this.identify(answer.body.data.id);
    if (this.isEdited(answer.body.data)) return answer;
    const found = await this.read();
    return { ...found, body: { ...found.body, meta: answer.body.meta } };
  }

  /** The entry was created. */
  private identify(id: string): void {
    const place = this.place;
    this.id = id;
    giveId(place, this.place);
  }

  private get changes(): Attributes {
    return Object.fromEntries(this.changed.map(({ slug }) => [slug, this.values[slug] ?? null]));
  }

  /** The values that are others than in `before`. */
  private changesSince(before: Attributes, values: Attributes): Attributes {
    return Object.fromEntries(this.blueprint.fields.filter(({ slug }) => !same(before[slug] ?? null, values[slug] ?? null)).map(({ slug }) => [slug, values[slug] ?? null]));
  }

  private async requestLive(options: SaveOptions, sent: Attributes): Promise<Answer<ResourceAnswer>> {
    const { publishedAt } = options;
    const attributes = this.changesSince(this.base, sent);
    const date = publishedAt === undefined ? {} : { published_at: publishedAt };
    if (this.id) {
      const body = { ...(Object.keys(attributes).length > 0 ? { attributes } : {}), ...date };
      return send<ResourceAnswer>('PATCH', this.url(`/${this.id}`), { body, headers: this.ifUnchanged });
    }
    return this.create({ attributes, ...date }, options, sent);
  }

  /** All tries of the first save have one key, so that they create nothing twice. */
  private async create(body: CreateBody, options: SaveOptions, sent: Attributes): Promise<Answer<ResourceAnswer>> {
    const { key, lost } = (this.creation ??= { key: crypto.randomUUID?.() ?? String(Math.random()), lost: new Map() });
    const post = (tried: CreateBody): Promise<Answer<ResourceAnswer>> => send('POST', this.url(), { body: tried, headers: { 'idempotency-key': key } });
    try {
      const answer = await post(body);
      this.creation = null;
      return answer;
    } catch (error) {
      if (isReused(error)) return this.goOnFrom([...lost.values()], post, options, sent, error);
      // One that waits is repeated every few seconds.
      if (isUnanswered(error)) lost.set(JSON.stringify(body), body);
      // A conflict is kept for its key as what was created is. Other refusals are not.
      if (error instanceof ApiError && error.status === 409) this.creation = null;
      throw error;
    }
  }

  /** The server carried out an earlier try, whose answer got lost. What was changed since goes into what that try created. */
  private async goOnFrom(lost: CreateBody[], post: (body: CreateBody) => Promise<Answer<ResourceAnswer>>, options: SaveOptions, sent: Attributes, refusal: unknown): Promise<Answer<ResourceAnswer>> {
    for (const body of lost) {
      const answer = await post(body).catch((error: unknown) => {
        if (isReused(error)) return null;
        throw error;
      });
      if (!answer) continue;
      const { id } = answer.body.data;
      const edited = this.isEdited(answer.body.data) ? answer : await this.read(id);
      const created = { ...this.empty(), ...body.attributes };
      const [later, typed] = [this.changesSince(created, sent), this.typedSince(created)];
      this.creation = null;
      this.identify(id);
      this.accept(edited.body, edited.etag);
      this.values = { ...this.base, ...typed };
      // The earlier try may have published the entry, so this text is in a working copy, and `publishedAt` alone would leave it there.
      return this.request(this.usesCopy && options.publishedAt ? { ...options, publish: 'unless changed' } : options, { ...this.base, ...later });
    }
    throw refusal;
  }

  private async requestCopy({ publishedAt, publish, at }: SaveOptions, sent: Attributes): Promise<Answer<ResourceAnswer>> {
    const attributes = this.changesSince(this.base, sent);
    const further = publishedAt !== undefined || publish !== undefined;
    let saved: Answer<ResourceAnswer> | null = null;
    // Without changes, too, this is answered with what is not ready to be published.
    if (Object.keys(attributes).length > 0 || !further || at) {
      saved = await send<ResourceAnswer>('PATCH', this.url(`/${this.id}`, 'working'), { body: { attributes }, headers: this.ifUnchanged });
      if (!further) return saved;
      // Stays saved, also if what follows fails.
      this.accept(saved.body, saved.etag);
      this.sanitized = saved.body.meta?.sanitized ?? {};
    }
    // Publishes nothing if the saved values are those of the site, or if somebody else has published them.
    const nothing = publish && !this.edited && this.resource?.published_at != null;
    if (at && publish) this.refuseToPlan(saved?.body.meta?.not_ready ?? {}, publish === 'anyway');
    if (publish && !nothing) await send('POST', this.url(`/${this.id}/publish`), { body: this.publication(publish, at), headers: this.ifUnchanged });
    // Writes nothing but the date, and the tag of a working copy is not that of the live one.
    if (publishedAt !== undefined) await send('PATCH', this.url(`/${this.id}`), { body: { published_at: publishedAt } });
    const found = await this.read();
    return { ...found, body: { ...found.body, meta: saved?.body.meta?.sanitized ? { sanitized: saved.body.meta.sanitized } : {} } };
  }

  /** The server checks a plan when its moment comes. What would fail now is said now, as if it were published. */
  private refuseToPlan(notReady: Record<string, string>, force: boolean): void {
    const refuse = (status: number, code: string, fields: Record<string, string[]>): never => {
      throw new ApiError(status, { code, message: '', fields });
    };
    if (Object.keys(notReady).length > 0) refuse(422, 'VALIDATION_FAILED', Object.fromEntries(Object.entries(notReady).map(([slug, message]) => [slug, [message]])));
    const conflicts = this.resource?.working_copy?.conflicts ?? [];
    if (conflicts.length > 0 && !force) refuse(409, 'CONFLICT', Object.fromEntries(conflicts.map((slug) => [slug, ['']])));
  }

  /** Only the language that is open: the others may not be ready. */
  private publication(publish: 'unless changed' | 'anyway', at?: string) {
    return { ...this.openVariant, ...(publish === 'anyway' ? { force: true } : {}), ...(at ? { at } : {}) };
  }

  private get openVariant(): { variants?: string[] } {
    const variant = this.variant ?? this.blueprint.variants.find((one) => one.default)?.slug;
    return variant && this.edited ? { variants: [variant] } : {};
  }

  /** What the form had then is in `values`. */
  private typedSince(values: Attributes): Attributes {
    handOver();
    return this.changesSince(values, this.values);
  }

  private stored(answer: ResourceAnswer, etag: string | null, sent: Attributes): void {
    const typedMeanwhile = this.typedSince(sent);
    dropUnsaved(this.place);
    if (this.replaced) dropUnsaved(this.replaced);
    this.replaced = null;
    this.accept(answer, etag);
    this.id = answer.data.id;
    this.values = { ...this.base, ...typedMeanwhile };
    this.errors = {};
    this.restoredAt = null;
    this.savedOnly = false;
    this.newer = null;
    this.conflict = null;
    this.unanswered.clear();
    this.sanitized = answer.meta?.sanitized ?? {};
    remember(this.blueprint.slug, answer.data.id, this.title || answer.data.id.slice(0, 8));
    forget();
    this.keep();
  }

  private async failed(error: unknown, options: SaveOptions, sent: Attributes): Promise<boolean> {
    this.keep();
    this.waiting = null;
    if (this.id && isMissing(error)) {
      this.lost();
      return false;
    }
    if (error instanceof ApiError && error.status === 412) return this.differ(options, sent);
    if (error instanceof ApiError && error.status === 409 && options.publish && (await this.wouldOverwrite(error, options.at))) return false;
    if (error instanceof ApiError && error.status === 422) {
      this.errors = error.fields;
      this.savedOnly = options.publish !== undefined && !this.dirty;
      this.fault = Object.keys(error.fields).some((slug) => this.blueprint.fields.some((field) => field.slug === slug)) ? '' : explain(error);
      return false;
    }
    if (isUnanswered(error)) this.unanswered.add(sent);
    const why = !(error instanceof ApiError) ? null : error.offline ? 'offline' : error.busy ? 'busy' : null;
    this.waiting = why && { why, options, sent };
    this.fault = why ? '' : explain(error);
    return false;
  }

  /** The site shows newer values of fields that would be published. True if they could be read, to be shown. */
  private async wouldOverwrite(error: ApiError, at: string | undefined): Promise<boolean> {
    const fields = this.blueprint.fields.filter(({ slug }) => error.messages[slug]);
    if (fields.length === 0) return false;
    const live = await this.live().catch(() => null);
    if (live) this.overwriting = { fields, live, at };
    return live !== null;
  }

  /** Somebody saved another version: it is compared, and if nothing has to be decided, the save goes on with both changes. */
  private async differ(options: SaveOptions, sent: Attributes): Promise<boolean> {
    try {
      const found = await this.fetchTheirs(options);
      if (!found) return false;
      const theirs = found.differences.filter((one) => one.by !== 'me');
      // Somebody looks at the difference before it is published.
      const decides = options.publish !== undefined || options.publishedAt !== undefined || theirs.some((one) => one.conflict);
      this.conflict = found;
      if (theirs.length > 0 && decides) return false;
      sent = merged(this.compareTo(found.theirs, sent), found.theirs, {});
      this.resolve({});
      const answer = await this.request(options, sent);
      this.stored(answer.body, answer.etag, sent);
      if (theirs.length > 0) this.joined = joinedText(found.resource, theirs);
      return true;
    } catch (error) {
      return error instanceof ApiError && error.status === 412 ? false : this.failed(error, options, sent);
    }
  }

  private async fetchTheirs(then: SaveOptions | null): Promise<Conflict | null> {
    const { body, etag } = await this.read();
    handOver();
    const theirs = body.data.attributes;
    return { differences: this.compareTo(theirs), theirs, resource: body.data, etag, then };
  }

  /** A save of this form whose answer got lost is no change of theirs: the form goes on from what it left. */
  private compareTo(theirs: Attributes, mine = this.values): Difference[] {
    const own = Object.entries(theirs).filter(([slug, value]) => [...this.unanswered].some((sent) => same(sent[slug], value)));
    return compare(this.blueprint.fields, { ...this.base, ...Object.fromEntries(own) }, mine, theirs);
  }

  /** Goes on from their version with what was chosen. */
  resolve(choices: Record<string, 'mine' | 'theirs'>): SaveOptions | null {
    const conflict = this.conflict;
    if (!conflict) return null;
    this.values = merged(conflict.differences, conflict.theirs, choices);
    this.base = conflict.theirs;
    this.resource = conflict.resource;
    this.etag = conflict.etag;
    this.conflict = null;
    this.newer = null;
    this.keep();
    return conflict.then;
  }

  /** Goes on from a version that changes nothing but what the form changes, such as one that it saved before it was left and opened again. */
  private follow(found: Conflict): void {
    this.conflict = found;
    this.resolve({});
    if (!this.dirty) this.restoredAt = null;
  }

  /** Compares with the newer version that was found. What was typed since is part of it. */
  compareNewer(): void {
    if (!this.newer) return;
    handOver();
    this.conflict = { ...this.newer, differences: this.compareTo(this.newer.theirs) };
  }

  /** Looks whether somebody else saved meanwhile. A form without changes follows. */
  async look(): Promise<void> {
    if (!this.id || this.loading || this.unread || this.saving || this.waiting || this.conflict || this.missing || session.status !== 'in') return;
    if (this.gone) return void (await this.findAgain());
    const { etag } = this;
    try {
      const found = await this.fetchTheirs(null);
      // A save that ended meanwhile is newer than what was found.
      if (!found || found.etag === etag || this.saving || this.etag !== etag) return;
      if (this.dirty) {
        if (found.differences.some((one) => one.by === 'them' || one.conflict)) this.newer = found;
        else this.follow(found);
        return;
      }
      this.accept({ data: found.resource }, found.etag);
      this.values = this.base;
      this.newer = null;
    } catch (error) {
      // Of everything else, the next save tells what is wrong.
      if (isMissing(error) && !this.saving) this.lost();
    }
  }

  /** What could not be saved is sent again. */
  async retry(): Promise<boolean> {
    return this.waiting && !this.saving ? this.save(this.waiting.options, this.waiting.sent) : false;
  }

  /** What is typed into these fields and not saved. */
  typedInto(fields: string[]): Attributes {
    handOver();
    return Object.fromEntries(Object.entries(this.changes).filter(([slug]) => fields.includes(slug)));
  }

  /** Brings the values back that these fields had in an earlier version. What was typed into others stays. `typed` comes back into the form. */
  async restoreRevision(number: number, fields: string[], typed: Attributes = {}): Promise<void> {
    handOver();
    const before = this.values;
    const { body, etag } = await send<ResourceAnswer>('POST', this.url(`/${this.id}/history/${number}/restore`), { body: { fields }, headers: this.ifUnchanged });
    const late = this.typedSince(before);
    const others = Object.fromEntries(Object.entries(this.changes).filter(([slug]) => !fields.includes(slug)));
    this.accept(body, etag);
    this.values = { ...this.base, ...others, ...typed, ...late };
    this.errors = {};
    this.newer = null;
    this.keep();
    refresh();
  }

  /** Takes an unpublishing back. Nothing that was typed since is saved with it. */
  async publishAgain(publishedAt: string, etag: string | null): Promise<void> {
    await send('PATCH', this.url(`/${this.id}`), { body: { published_at: publishedAt }, headers: etag && !this.usesCopy ? { 'if-match': etag } : {} });
    await this.look();
    refresh();
  }

  /** Writes into the working copy without what is typed, which stays in the form. `typed` comes back into it. */
  async writeCopy(attributes: Attributes, typed: Attributes = {}): Promise<void> {
    const { body, etag } = await send<ResourceAnswer>('PATCH', this.url(`/${this.id}`, 'working'), { body: { attributes }, headers: this.ifUnchanged });
    handOver();
    const late = this.changes;
    this.accept(body, etag);
    this.values = { ...this.base, ...typed, ...late };
    this.keep();
    refresh();
  }

  /** The form shows what the site shows. Answers what takes this back, unless the entry is a draft, which has no working copy then. */
  async discardCopy(): Promise<(() => Promise<void>) | null> {
    handOver();
    const [before, typed, shown] = [this.base, this.changes, this.values];
    await send('DELETE', this.url(`/${this.id}`, 'working'), { headers: this.ifUnchanged });
    const { body, etag } = await this.read();
    const late = this.typedSince(shown);
    this.accept(body, etag);
    this.values = { ...this.base, ...late };
    this.discards += 1;
    this.errors = {};
    this.newer = null;
    this.restoredAt = null;
    this.keep();
    refresh();
    const discarded = Object.fromEntries(Object.entries(before).filter(([slug, value]) => !same(value, this.base[slug] ?? null)));
    return this.usesCopy ? () => this.writeCopy(discarded, typed) : null;
  }

  /** The working copy is not published at its time, and can be changed again. */
  async takeBackPlan(): Promise<void> {
    await send('POST', this.url(`/${this.id}/publish`), { body: { ...this.openVariant, at: null } });
    await this.look();
    refresh();
  }

  /** The title under which the trash shows the entry: that of what is stored, not of a working copy, in its main language. */
  async storedTitle(): Promise<string> {
    const field = titleField(this.blueprint);
    if (!field) return this.title;
    const { body } = await send<ResourceAnswer>('GET', `/v2/resources/${this.blueprint.slug}/${this.id}`);
    return display(field, body.data.attributes[field.slug]);
  }

  /** The values that the site shows of this copy. */
  async live(): Promise<Attributes> {
    return (await send<ResourceAnswer>('GET', this.url(`/${this.id}`))).body.data.attributes;
  }

  async remove(): Promise<void> {
    // The tag of a working copy is not that of the entry. With one that is out of date the server refuses.
    const unchanged = this.usesCopy && (await this.read()).etag === this.etag;
    await send('DELETE', this.url(`/${this.id}`), { headers: unchanged ? {} : this.ifUnchanged });
    this.values = this.base;
    dropUnsaved(this.place);
    forget();
  }
}
