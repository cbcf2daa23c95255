// Operations on many resources: in requests of 100, with progress, and a report of what failed.
import { ApiError, send } from './api';
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

export async function runBulk(blueprint: string, operation: BulkOperation, ids: string[], progress: (done: number) => void, publishedAt: string | null = null): Promise<BulkReport> {
  const [method, path] = REQUESTS[operation];
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
