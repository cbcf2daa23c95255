// Says what was done, with a button that takes it back. It must not know any component.
import { failedOf, publishAgain, runBulk, setValues, takeBackPlans, type PlanReport } from './bulk';
import type { Editing } from './editing.svelte';
import { t, type Key } from './i18n.svelte';
import { refresh } from './pages';
import { href, route } from './router.svelte';
import { showError, toasts, type About } from './toasts.svelte';
import { keyOf, MOST_AT_ONCE, restoreAll, whyItStays, type Waiting } from './trash';
import type { Attributes, Blueprint, Json } from './types';

const MOST_SILENT = 200;

/** What a message about these entries is about. */
export const aboutEntries = (blueprint: string, ids: string[], name?: string): About => ({ entries: ids.map((id) => keyOf({ blueprint, id })), ...(name ? { name } : {}) });

/** Resources were deleted. Without a trash nothing can be taken back. */
export function sayDeleted(blueprint: Blueprint, ids: string[], without: Key, name?: string): void {
  const about = aboutEntries(blueprint.slug, ids, name);
  if (!blueprint.trash || ids.length === 0) return toasts.show(t(without, { count: ids.length }), 'good', undefined, about);
  const said = t('trash.moved', { count: ids.length });
  // More are found in the trash.
  if (ids.length > MOST_AT_ONCE) return toasts.show(said, 'good', openTrash(), about);
  toasts.show(said, 'good', { label: t('undo'), run: () => void bringBack(ids.map((id) => ({ blueprint: blueprint.slug, id })), about) }, about);
}

const openTrash = () => ({ label: t('trash.open'), run: () => route.go(href('trash')) });

async function bringBack(items: Waiting[], about: About): Promise<void> {
  const failed = await toasts.during(t('trash.restoring', { count: items.length }), restoreAll(items));
  refresh();
  const done = items.length - failed.size;
  const first = items.find((one) => failed.has(keyOf(one)));
  if (first) return toasts.show(t('trash.restored.partly', { done, failed: failed.size, why: whyItStays(first, failed.get(keyOf(first))) }), 'bad', openTrash(), about);
  const [only] = items;
  toasts.show(t('trash.restored', { count: done }), 'good', only && done === 1 ? { label: t('open'), run: () => route.go(href('content', only.blueprint, only.id)) } : undefined, about);
}

/** Says that many are being taken back, because it takes as long as what was done. */
const takingBack = <T>(count: number, work: Promise<T>): Promise<T> => (count > MOST_SILENT ? toasts.during(t('undo.running', { count }), work) : work);

/** Resources were made drafts. They get the dates back that they had. */
export function sayUnpublished(blueprint: string, dates: Map<string, string>, said: string): void {
  if (dates.size === 0) return toasts.show(said);
  const about = aboutEntries(blueprint, [...dates.keys()]);
  toasts.show(said, 'good', { label: t('undo'), run: () => void republish(blueprint, dates, about) }, about);
}

/** Publications were planned. Undo takes the plans back. */
export function sayPlanned(blueprint: string, report: PlanReport, when: string): void {
  const about = aboutEntries(blueprint, [...report.planned, ...report.dated]);
  toasts.show(t('bulk.done.planned', { count: report.done, when }), 'good', { label: t('undo'), run: () => void unplan(blueprint, report, about) }, about);
}

async function unplan(blueprint: string, report: PlanReport, about: About): Promise<void> {
  try {
    const failed = await takingBack(report.done, takeBackPlans(blueprint, report));
    refresh();
    if (failed > 0) toasts.show(t('undo.plan.partly', { done: report.done - failed, failed }), 'bad');
    else toasts.show(t('undo.plan', { count: report.done }), 'good', undefined, about);
  } catch (error) {
    showError(error);
  }
}

/** Resources were published. Those that were drafts become drafts again, and the others get the dates back that they had. */
export function sayPublished(blueprint: string, ids: string[], before: Map<string, string>, said: string): void {
  const about = aboutEntries(blueprint, ids);
  toasts.show(said, 'good', { label: t('undo'), run: () => void unpublish(blueprint, ids, before, about) }, about);
}

async function unpublish(blueprint: string, ids: string[], before: Map<string, string>, about: About): Promise<void> {
  try {
    const changed = new Set(ids);
    const dates = new Map([...before].filter(([id]) => changed.has(id)));
    const drafts = ids.filter((id) => !dates.has(id));
    const all = publishAgain(blueprint, dates).then(async (failed) => failed + failedOf(await runBulk(blueprint, 'unpublish', drafts, () => {})));
    const failed = await takingBack(ids.length, all);
    refresh();
    if (failed > 0) toasts.show(t('undo.unpublish.partly', { done: ids.length - failed, failed }), 'bad');
    else toasts.show(t('undo.unpublish', { count: ids.length }), 'good', undefined, about);
  } catch (error) {
    showError(error);
  }
}

async function republish(blueprint: string, dates: Map<string, string>, about: About): Promise<void> {
  try {
    const failed = await takingBack(dates.size, publishAgain(blueprint, dates));
    refresh();
    if (failed > 0) toasts.show(t('undo.publish.partly', { done: dates.size - failed, failed }), 'bad');
    else toasts.show(t('bulk.done.publish', { count: dates.size }), 'good', undefined, about);
  } catch (error) {
    showError(error);
  }
}

/** Files were moved to a folder, or out of all. Each goes back to the folder that it was in. */
export function sayMoved(blueprint: string, field: string, before: Map<string, Json>, working: boolean, folder: string | null): void {
  const about = aboutEntries(blueprint, [...before.keys()]);
  const said = folder === null ? t('media.moved.out', { count: before.size }) : t('media.moved', { count: before.size, folder });
  toasts.show(said, 'good', { label: t('undo'), run: () => void moveBack(blueprint, field, before, working, about) }, about);
}

async function moveBack(blueprint: string, field: string, before: Map<string, Json>, working: boolean, about: About): Promise<void> {
  try {
    const failed = failedOf(await takingBack(before.size, setValues(blueprint, field, before, working)));
    refresh();
    if (failed > 0) toasts.show(t('undo.unpublish.partly', { done: before.size - failed, failed }), 'bad');
    else toasts.show(t('media.moved.back', { count: before.size }), 'good', undefined, about);
  } catch (error) {
    showError(error);
  }
}

/** Values of the form were replaced, which may not be saved anywhere. Undo puts them back, and can be undone as well: somebody may have typed since. */
export function sayReplaced(editing: Editing, before: Attributes, said: string): void {
  const run = (): void => sayReplaced(editing, editing.replace(before), t('field.back'));
  // Without the entry, so that a message about another field does not replace it.
  toasts.show(said, 'plain', { label: t('undo'), run }, { entries: [], form: editing });
}
