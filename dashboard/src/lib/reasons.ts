// The reason why a resource comes after the one before it, from the reasons that the server gives for the place of each (API.md 4.18).
import type { Ranking } from './types';

/** The first rule of the order in which two resources differ. */
export type Below = 'words' | 'rarer' | 'typos' | 'ways' | 'score' | 'date';

/** The words that a resource lacks, as far as lacking them counts. */
const missing = (one: Ranking): number => one.words.filter((word) => word.found === null && word.missed).length;

/** Null if one of them has a place of its own. */
export function belowOf(upper: Ranking, lower: Ranking): Below | null {
  if (upper.pinned || lower.pinned) return null;
  if (missing(lower) > missing(upper)) return 'words';
  if (lower.lacks > upper.lacks) return 'rarer';
  if (lower.typos > upper.typos) return 'typos';
  if (lower.ways > upper.ways) return 'ways';
  return lower.score < upper.score ? 'score' : 'date';
}
