// The earlier versions of an entry (API.md 4.22): their list, one of them, and what differs. It must not know any component.
import { get, remove } from './api';
import type { Editing } from './editing.svelte';
import { fieldOf } from './blueprints.svelte';
import { t } from './i18n.svelte';
import type { Attributes, Field, History, Json, Resource, Revision } from './types';

/** What an earlier version is compared with: the entry now, the version before it, or nothing. */
export type Comparison = 'now' | 'before' | 'whole';

/** A field whose value differs between two versions. */
export interface FieldChange {
  field: Field;
  older: Json;
  newer: Json;
}

export interface OpenRevision {
  values: Attributes;
  changes: FieldChange[];
}

function url(editing: Editing, path: string, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...(editing.variant ? { variant: editing.variant } : {}), ...parameters });
  return `/v2/resources/${editing.blueprint.slug}/${editing.id}/history${path}?${query}`;
}

export interface RevisionPage {
  revisions: Revision[];
  /** What the next page is asked for with. */
  next: string | null;
}

export async function revisionsOf(editing: Editing, limit: number, cursor: string | null): Promise<RevisionPage> {
  const { data, links } = await get<History>(url(editing, '', { limit: String(limit), ...(cursor ? { cursor } : {}) }));
  return { revisions: data, next: links.next && new URL(links.next, location.href).searchParams.get('cursor') };
}

interface Answer {
  data: Resource;
  changes?: Record<string, { from: Json; to: Json }>;
}

export interface Numbered {
  number: number;
  /** The version that this one changed. */
  before: number;
}

/** The site showed the entry when the revision was written: what publishing or unpublishing did later says so, or its state now. */
function wasShown({ number }: Revision, known: Revision[], shownNow: boolean): boolean {
  const turn = known.findLast((one) => one.number > number && (one.op === 'published' || one.op === 'unpublished'));
  return turn ? turn.op === 'unpublished' : shownNow;
}

/**
 * The revision is one of the working copy, which the site does not show. `restored` stands for two things (API.md 4.22.1): with
 * fields, an earlier version was brought back, into the working copy of what is shown; without, the entry came from the trash.
 */
function isOfCopy(revision: Revision, known: Revision[], { blueprint, usesCopy }: Editing): boolean {
  if (revision.op === 'edited') return true;
  return revision.op === 'restored' && revision.fields.length > 0 && (blueprint.working_copy ?? false) && wasShown(revision, known, usesCopy);
}

/** The numbers of the versions that the working copy has, if there is one, and the stored entry. `known` has the newest first. */
export function presentOf(editing: Editing, known: Revision[]): { copy: number | undefined; stored: number | undefined } {
  const newest = (ofCopy: boolean): number | undefined => known.find((one) => isOfCopy(one, known, editing) === ofCopy)?.number;
  return { copy: editing.edited ? newest(true) : undefined, stored: newest(false) };
}

/** Publishing a working copy changes what the site shows. */
const publishes = (revision: Revision, known: Revision[], { blueprint, usesCopy }: Editing): boolean =>
  revision.op === 'updated' && revision.fields.length > 0 && (blueprint.working_copy ?? false) && wasShown(revision, known, usesCopy);

const MINUTE_MS = 60_000;

/**
 * Whoever publishes what is typed and not saved writes two versions at once: the edit, and its publication. The list has the
 * second one only, which says the same: nothing was written between them, and it changed the same fields. `known` has the newest first.
 */
export function listedOf(known: Revision[], editing: Editing): Revision[] {
  const { copy } = presentOf(editing, known);
  return known.filter((one, index) => {
    const next = known[index - 1];
    if (one.op !== 'edited' || one.number === copy || next?.number !== one.number + 1 || !publishes(next, known, editing)) return true;
    const sameMember = one.by !== null && next.by !== null && one.by.type === next.by.type && one.by.id === next.by.id;
    const atOnce = Math.abs(Date.parse(next.at) - Date.parse(one.at)) < MINUTE_MS;
    return !sameMember || !atOnce || one.fields.length !== next.fields.length || !one.fields.every((slug) => next.fields.includes(slug));
  });
}

/** The version that one changed: what the site shows does not follow from drafts. Numbers of revisions have no gaps. */
export function beforeOf(revision: Revision, known: Revision[], editing: Editing): number {
  const ofCopy = isOfCopy(revision, known, editing);
  const earlier = known.find((one) => one.number < revision.number && (ofCopy || !isOfCopy(one, known, editing)));
  return earlier?.number ?? revision.number - 1;
}

/** One version, with what it changed if that is asked for. What the entry says now is known without asking. */
export async function openRevision(editing: Editing, { number, before }: Numbered, comparison: Comparison): Promise<OpenRevision> {
  const { data, changes = {} } = await get<Answer>(url(editing, `/${number}`, comparison === 'before' ? { compare: String(before) } : {}));
  const found = editing.blueprint.fields.flatMap((field): FieldChange[] => {
    const one = changes[field.slug];
    return one ? [{ field, older: one.to, newer: one.from }] : [];
  });
  return { values: data.attributes, changes: found };
}

/** In every language, only what the entry says now stays. */
export const deleteHistory = (editing: Editing): Promise<void> => remove(`/v2/resources/${editing.blueprint.slug}/${editing.id}/history`);

const MOST_NAMED = 3;

/** Such as "Changed: Title, Text". `known` has the newest versions first. */
export function summaryOf(editing: Editing, revision: Revision, known: Revision[]): string {
  const { blueprint } = editing;
  const op = t(`history.op.${publishes(revision, known, editing) ? 'published' : revision.op}`);
  // The first version changed every field that has a value.
  if (revision.fields.length === 0 || revision.op === 'created') return op;
  const names = revision.fields.map((slug) => fieldOf(blueprint, slug)?.name ?? slug);
  const fields = names.slice(0, MOST_NAMED).join(', ');
  return names.length > MOST_NAMED ? t('history.fields.many', { op, fields, count: names.length - MOST_NAMED }) : t('history.fields', { op, fields });
}
