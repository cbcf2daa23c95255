// Pages of lists that were fetched: shown at once when they are asked for again, and fetched before they are asked for. Any
// write forgets them.
import { get } from './api';
import type { ListAnswer } from './types';

const MOST = 40;
const FRESH_MS = 30_000;

interface Kept {
  at: number;
  answer: Promise<ListAnswer>;
  ready: ListAnswer | null;
  signal: AbortSignal | undefined;
}

const kept = new Map<string, Kept>();

function keep(url: string, signal?: AbortSignal): Kept {
  const answer = get<ListAnswer>(url, signal);
  const entry: Kept = { at: Date.now(), answer, ready: null, signal };
  kept.set(url, entry);
  answer.then(
    (ready) => (entry.ready = ready),
    () => kept.get(url) === entry && kept.delete(url),
  );
  while (kept.size > MOST) kept.delete(kept.keys().next().value!);
  return entry;
}

/** A request that was given up is not answered any more. */
const serves = (entry: Kept | undefined): entry is Kept => entry !== undefined && Date.now() - entry.at < FRESH_MS && (entry.ready !== null || !entry.signal?.aborted);

/** A page that is there already, however old. */
export const peek = (url: string): ListAnswer | null => kept.get(url)?.ready ?? null;

export async function page(url: string, signal: AbortSignal): Promise<ListAnswer> {
  const entry = kept.get(url);
  return (serves(entry) ? entry : keep(url, signal)).answer;
}

export function prefetch(url: string): void {
  if (!serves(kept.get(url))) keep(url).answer.catch(() => {});
}

export const forget = (): void => kept.clear();

const listeners = new Set<() => void>();

/** After a write that no list has made itself: those that are shown ask again. */
export function refresh(): void {
  forget();
  for (const listener of listeners) listener();
}

/** Returns what ends it. */
export function whenRefreshed(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
