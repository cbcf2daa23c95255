// Operations on many resources: in requests of 100, with progress, and a report of what failed.
import { ApiError, get, send } from './api';
import type { ListAnswer } from './types';
import { chunks } from './values';

export type BulkOperation = 'publish' | 'unpublish' | 'delete';

export interface BulkReport {
  done: number;
  failed: { id: string; message: string }[];
}

interface BulkAnswer {
  data: { failed?: { index: number; errors: { message: string } }[] };
  meta: Record<string, number>;
}

const REQUESTS: Record<BulkOperation, [string, string]> = {
  publish: ['POST', 'bulk-publish'],
  unpublish: ['POST', 'bulk-unpublish'],
  delete: ['DELETE', 'bulk'],
};

/** With `working`, publishing is about working copies; the other operations know none. */
export async function runBulk(blueprint: string, operation: BulkOperation, ids: string[], progress: (done: number) => void, publishedAt: string | null = null, working = false): Promise<BulkReport> {
  const [method, name] = REQUESTS[operation];
  const path = working && operation === 'publish' ? `${name}?copy=working` : name;
  const report: BulkReport = { done: 0, failed: [] };
  let handled = 0;
  for (const part of chunks(ids, 100)) {
    const { body } = await send<BulkAnswer>(method, `/v2/resources/${blueprint}/${path}`, { body: { ids: part, ...(publishedAt ? { published_at: publishedAt } : {}) } });
    const failed = body.data.failed ?? [];
    report.failed.push(...failed.map((one) => ({ id: part[one.index]!, message: one.errors.message })));
    report.done += part.length - failed.length;
    handled += part.length;
    progress(handled);
  }
  return report;
}

/** When each of the published resources among these was published. */
export async function datesOf(blueprint: string, ids: string[]): Promise<Map<string, string>> {
  const dates = new Map<string, string>();
  for (const part of chunks(ids, 100)) {
    const query = new URLSearchParams({ 'filter[id][in]': part.join(','), fields: 'id,published_at', per_page: '100' });
    for (const one of (await get<ListAnswer>(`/v2/resources/${blueprint}?${query}`)).data) if (one.published_at) dates.set(one.id, one.published_at);
  }
  return dates;
}

/** Gives each resource a date of its own. Returns how many failed. */
export async function publishAgain(blueprint: string, dates: Map<string, string>): Promise<number> {
  let failed = 0;
  for (const part of chunks([...dates], 100)) {
    const { body } = await send<BulkAnswer>('PATCH', `/v2/resources/${blueprint}/bulk`, { body: { updates: part.map(([id, date]) => ({ id, published_at: date })) } });
    failed += body.data.failed?.length ?? 0;
  }
  return failed;
}

export const MOST_SELECTED = 100_000;

/** The ids of everything that matches. */
export async function idsOf(blueprint: string, matching: URLSearchParams): Promise<string[]> {
  const query = new URLSearchParams(matching);
  query.set('fields', 'id');
  query.set('format', 'ndjson');
  const response = await fetch(`/v2/resources/${blueprint}/export?${query}`);
  if (!response.ok) throw new ApiError(response.status, { code: 'EXPORT', message: response.statusText });
  const ids = (await response.text()).split('\n').filter(Boolean).map((line) => (JSON.parse(line) as { id: string }).id);
  return ids.slice(0, MOST_SELECTED);
}
