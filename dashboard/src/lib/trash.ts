// The ways out of the trash (API.md 4.23): back, one by one or many at once, or gone for good. It must not know any component.
import { ApiError, post, remove } from './api';
import { blueprints, fieldOf } from './blueprints.svelte';
import { locale, t } from './i18n.svelte';
import { listFormat } from './intl';
import { session } from './session.svelte';
import { explain } from './toasts.svelte';

export interface Waiting {
  blueprint: string;
  id: string;
}

/** Requests that run beside each other. */
const AT_ONCE = 4;

export const keyOf = (one: Waiting): string => `${one.blueprint}/${one.id}`;

const url = (one: Waiting, path = ''): string => `/v2/trash/${one.id}${path}?blueprint=${encodeURIComponent(one.blueprint)}`;

/** Does something with each of these. Returns the errors by `keyOf`. */
async function withEach(items: Waiting[], work: (one: Waiting) => Promise<unknown>): Promise<Map<string, unknown>> {
  const failed = new Map<string, unknown>();
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let one = rest.shift(); one; one = rest.shift()) {
      const key = keyOf(one);
      await work(one).catch((error: unknown) => failed.set(key, error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failed;
}

/** Brings resources back, as drafts or as they were. Returns the errors by `keyOf`. */
export async function restoreAll(items: Waiting[], asDraft = false): Promise<Map<string, unknown>> {
  const restore = (one: Waiting): Promise<unknown> => post(url(one, '/restore'), { as_draft: asDraft });
  let failed = await withEach(items, restore);
  // One that needs another one of these is tried again when that one is back.
  for (let before = items.length; failed.size > 0 && failed.size < before; ) {
    before = failed.size;
    failed = await withEach(items.filter((one) => failed.has(keyOf(one))), restore);
  }
  return failed;
}

/** Removes resources for good. Returns the errors by `keyOf`. */
export const removeAll = (items: Waiting[]): Promise<Map<string, unknown>> => withEach(items, (one) => remove(url(one)));

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
