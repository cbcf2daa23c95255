// The ways out of the trash (API.md 4.23): back, one by one or many at once, or gone for good. It must not know any component.
import { ApiError, get, post, remove } from './api';
import { blueprints, fieldOf } from './blueprints.svelte';
import { withEach } from './each';
import { locale, t } from './i18n.svelte';
import { listFormat } from './intl';
import { session } from './session.svelte';
import { explain } from './toasts.svelte';
import type { Blueprint, Trash, TrashEntry } from './types';

export interface Waiting {
  blueprint: string;
  id: string;
}

export const keyOf = (one: Waiting): string => `${one.blueprint}/${one.id}`;

const url = (one: Waiting, path = ''): string => `/v2/trash/${one.id}${path}?blueprint=${encodeURIComponent(one.blueprint)}`;

/** Each is a request of its own: more at once would take minutes. */
export const MOST_AT_ONCE = 1000;

/** Returns the newest entries of the trash, of one blueprint or of all: as many as can be restored or removed at once. */
export async function newestOf(blueprint: string): Promise<TrashEntry[]> {
  const found = new Map<string, TrashEntry>();
  for (let page = 1, last = 1; page <= last && found.size < MOST_AT_ONCE; page += 1) {
    const query = new URLSearchParams({ page: String(page), per_page: '100', ...(blueprint ? { blueprint } : {}) });
    const { data, meta } = await get<Trash>(`/v2/trash?${query}`);
    // By their keys: a deletion meanwhile moves entries to the next page, which would have them again.
    for (const one of data) found.set(keyOf(one), one);
    last = meta.last_page ?? 1;
  }
  return [...found.values()].slice(0, MOST_AT_ONCE);
}

/** Somebody else restored or removed it. */
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/** Brings resources back, as drafts or as they were. Returns the errors by `keyOf`. */
export async function restoreAll(items: Waiting[], asDraft = false): Promise<Map<string, unknown>> {
  const restore = (one: Waiting): Promise<unknown> => post(url(one, '/restore'), { as_draft: asDraft });
  let failed = await withEach(items, keyOf, restore);
  // One that needs another one of these is tried again when that one is back.
  for (let before = items.length; failed.size > 0 && failed.size < before; ) {
    before = failed.size;
    failed = await withEach(items.filter((one) => failed.has(keyOf(one))), keyOf, restore);
  }
  return failed;
}

/** Removes resources for good. Returns the errors by `keyOf`. */
export const removeAll = (items: Waiting[]): Promise<Map<string, unknown>> => withEach(items, keyOf, (one) => remove(url(one)));

/** What becomes of one entry that is deleted, or of several. */
export function afterDeletion({ trash, variants }: Blueprint, one: boolean): string {
  const key = one ? 'editor.delete' : 'bulk.ask.delete';
  const languages = variants.length > 1 ? '' : '.single';
  return trash ? t(`${key}.trash${languages}`, { count: trash.days }) : t(`${key}.text${languages}`);
}

/** Why a resource stays in the trash, with the names of its fields. */
export function whyItStays(one: Waiting, error: unknown): string {
  if (error instanceof ApiError && error.status === 403 && !session.can('publish')) return t('trash.published');
  const faults = error instanceof ApiError ? Object.entries(error.fields) : [];
  if (!(error instanceof ApiError) || faults.length === 0) return explain(error);
  const blueprint = blueprints.of(one.blueprint);
  const nameOf = (slug: string): string => (blueprint && fieldOf(blueprint, slug)?.name) ?? slug;
  if (error.status === 409) return t('trash.taken', { count: faults.length, fields: listFormat(locale.tag).format(faults.map(([slug]) => nameOf(slug))) });
  return faults.map(([slug, texts]) => `${nameOf(slug)}: ${texts.join(' ')}`).join(' ');
}
