// Operations on many resources: in requests of 100, with progress, and a report of what failed.
import { get, send } from './api';
import type { Attributes, ErrorBody, Json, ListAnswer } from './types';
import { chunks } from './values';

export type BulkOperation = 'publish' | 'unpublish' | 'delete';

export interface BulkReport {
  done: number;
  failed: { id: string; error: ErrorBody }[];
  /** Had nothing to publish: the site shows the same. */
  unchanged: string[];
  /** The error that ended it. What came before is done. */
  stoppedBy?: unknown;
}

interface BulkAnswer {
  data: { failed?: { index: number; errors: ErrorBody }[] };
  meta: Record<string, number>;
}

/** A published resource has no working copy in any language. */
const hasNothingToPublish = ({ code, message }: { code: string; message: string }): boolean => code === 'NOT_FOUND' && message.endsWith('has no working copy');

const REQUESTS: Record<BulkOperation, [string, string]> = {
  publish: ['POST', 'bulk-publish'],
  unpublish: ['POST', 'bulk-unpublish'],
  delete: ['DELETE', 'bulk'],
};

/** Of a publication: the date that the resources get, or the moment at which it happens. */
interface Publication {
  published_at?: string;
  at?: string | null;
}

/** Handles parts of what is to be done until one fails, which is part of the report. */
async function runParts<T>(items: T[], report: BulkReport, progress: (done: number) => void, run: (part: T[]) => Promise<void>, stop?: AbortSignal): Promise<BulkReport> {
  let handled = 0;
  try {
    for (const part of chunks(items, 100)) {
      if (stop?.aborted) break;
      await run(part);
      progress((handled += part.length));
    }
  } catch (error) {
    report.stoppedBy = error;
  }
  return report;
}

/** Returns how many were not changed. Throws the error that ended it. */
export function failedOf({ failed, unchanged, stoppedBy }: BulkReport): number {
  if (stoppedBy) throw stoppedBy;
  return failed.length + unchanged.length;
}

/** With `working`, publishing is about working copies; the other operations know none. Once stopped, it leaves out the rest of the ids. */
export async function runBulk(blueprint: string, operation: BulkOperation, ids: string[], progress: (done: number) => void, publication: Publication = {}, working = false, stop?: AbortSignal): Promise<BulkReport> {
  const [method, name] = REQUESTS[operation];
  const path = working && operation === 'publish' ? `${name}?copy=working` : name;
  const report: BulkReport = { done: 0, failed: [], unchanged: [] };
  return runParts(ids, report, progress, async (part) => {
    const { body } = await send<BulkAnswer>(method, `/v2/resources/${blueprint}/${path}`, { body: { ids: part, ...publication } });
    const failed = (body.data.failed ?? []).map((one) => ({ id: part[one.index]!, error: one.errors }));
    report.failed.push(...failed.filter(({ error }) => !hasNothingToPublish(error)));
    report.unchanged.push(...failed.filter(({ error }) => hasNothingToPublish(error)).map(({ id }) => id));
    report.done += part.length - failed.length;
  }, stop);
}

/** The ids that an operation came to before it was stopped. */
export const triedOf = (ids: string[], { done, failed, unchanged }: BulkReport): string[] => ids.slice(0, done + failed.length + unchanged.length);

export interface PlanReport extends BulkReport {
  /** Resources whose working copies are published at the moment. */
  planned: string[];
  /** Drafts without working copies, which got the moment as their date. */
  dated: string[];
}

/** Plans the publication of working copies. `waits`: drafts wait for their date, so those without working copies get it. */
export async function planBulk(blueprint: string, ids: string[], at: string, waits: boolean, progress: (done: number) => void, stop: AbortSignal): Promise<PlanReport> {
  const published = await datesOf(blueprint, ids, stop);
  const result = await runBulk(blueprint, 'publish', ids, progress, { at }, true, stop);
  const { failed, unchanged } = result;
  const drafts = unchanged.filter((id) => waits && !published.has(id));
  const rest = await runBulk(blueprint, 'publish', drafts, () => {}, { published_at: at });
  const without = (left: string[], all: string[]): string[] => {
    const rest = new Set(left);
    return all.filter((id) => !rest.has(id));
  };
  const planned = without([...failed.map(({ id }) => id), ...unchanged], triedOf(ids, result));
  const dated = without(rest.failed.map(({ id }) => id), triedOf(drafts, rest));
  return { done: planned.length + dated.length, failed: [...failed, ...rest.failed], unchanged: without(drafts, unchanged), planned, dated, stoppedBy: result.stoppedBy ?? rest.stoppedBy };
}

/** Returns how many stay planned. */
export async function takeBackPlans(blueprint: string, { planned, dated }: PlanReport): Promise<number> {
  const stay = await runBulk(blueprint, 'publish', planned, () => {}, { at: null }, true);
  const rest = await runBulk(blueprint, 'unpublish', dated, () => {});
  return failedOf(stay) + failedOf(rest);
}

/** When each of the published resources among these was published. */
export async function datesOf(blueprint: string, ids: string[], stop?: AbortSignal): Promise<Map<string, string>> {
  const dates = new Map<string, string>();
  for (const part of chunks(ids, 100)) {
    if (stop?.aborted) break;
    const query = new URLSearchParams({ 'filter[id][in]': part.join(','), fields: 'id,published_at', per_page: '100' });
    for (const one of (await get<ListAnswer>(`/v2/resources/${blueprint}?${query}`)).data) if (one.published_at) dates.set(one.id, one.published_at);
  }
  return dates;
}

interface Update {
  id: string;
  published_at?: string;
  attributes?: Attributes;
}

/** Gives each resource values of its own. With `working`, they go into working copies. */
async function runUpdates(blueprint: string, updates: Update[], progress: (done: number) => void = () => {}, working = false): Promise<BulkReport> {
  const report: BulkReport = { done: 0, failed: [], unchanged: [] };
  return runParts(updates, report, progress, async (part) => {
    const { body } = await send<BulkAnswer>('PATCH', `/v2/resources/${blueprint}/bulk${working ? '?copy=working' : ''}`, { body: { updates: part } });
    const failed = body.data.failed ?? [];
    report.failed.push(...failed.map((one) => ({ id: part[one.index]!.id, error: one.errors })));
    report.done += part.length - failed.length;
  });
}

/** Gives each resource a date of its own. Returns how many failed. */
export const publishAgain = async (blueprint: string, dates: Map<string, string>): Promise<number> =>
  failedOf(await runUpdates(blueprint, [...dates].map(([id, date]) => ({ id, published_at: date }))));

/** The values that one field has in these resources, in their main language. */
export async function valuesOf(blueprint: string, field: string, ids: string[], working: boolean): Promise<Map<string, Json>> {
  const values = new Map<string, Json>();
  for (const part of chunks(ids, 100)) {
    const query = new URLSearchParams({ 'filter[id][in]': part.join(','), fields: `id,attributes.${field}`, per_page: '100', ...(working ? { copy: 'working' } : {}) });
    for (const one of (await get<ListAnswer>(`/v2/resources/${blueprint}?${query}`)).data) values.set(one.id, one.attributes[field] ?? null);
  }
  return values;
}

export const setValues = (blueprint: string, field: string, values: Map<string, Json>, working: boolean, progress?: (done: number) => void): Promise<BulkReport> =>
  runUpdates(blueprint, [...values].map(([id, value]) => ({ id, attributes: { [field]: value } })), progress, working);

export const MOST_SELECTED = 100_000;

/** The ids of everything that matches. */
export async function idsOf(blueprint: string, matching: URLSearchParams): Promise<string[]> {
  const query = new URLSearchParams(matching);
  query.set('fields', 'id');
  const ids = (await get<{ data: { id: string }[] }>(`/v2/resources/${blueprint}/export?${query}`)).data.map(({ id }) => id);
  return ids.slice(0, MOST_SELECTED);
}
