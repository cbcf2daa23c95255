// The paragraphs in which two texts differ, each of which can be brought back without the others. It must not know how they are drawn.
import { diffArrays } from 'diff';
import { blocksOf } from './differences';
import type { Field } from './types';

export interface Passage {
  older: string;
  newer: string;
  /** The newer text with this passage as it was in the older one. */
  broughtBack: string;
}

interface Part {
  older: string[];
  newer: string[];
  same: boolean;
}

/** More are not read one by one. */
const MOST = 30;
const TIMEOUT_MS = 500;

const linesOf = (text: string): string[] => text.split(/(?<=\n)/);

function partsOf(older: string[], newer: string[]): Part[] {
  const changes = diffArrays(older.map((one) => one.trim()), newer.map((one) => one.trim()), { timeout: TIMEOUT_MS }) ?? [];
  let [left, right] = [0, 0];
  const parts: Part[] = [];
  for (const { added, removed, value } of changes) {
    const part: Part = { older: added ? [] : older.slice(left, (left += value.length)), newer: removed ? [] : newer.slice(right, (right += value.length)), same: !added && !removed };
    const before = parts.at(-1);
    if (!part.same && before && !before.same) [before.older, before.newer] = [[...before.older, ...part.older], [...before.newer, ...part.newer]];
    else parts.push(part);
  }
  return parts.flatMap((part) => (part.same || part.older.length !== part.newer.length ? [part] : part.older.map((one, index): Part => ({ older: [one], newer: [part.newer[index]!], same: false }))));
}

/** None if the texts have nothing in common and are one passage, differ in very many, or are no texts. */
export function passagesOf(field: Field, older: unknown, newer: unknown): Passage[] {
  if (typeof older !== 'string' || typeof newer !== 'string' || (field.type !== 'text' && field.type !== 'rich-text')) return [];
  const split = field.type === 'text' ? linesOf : blocksOf;
  const parts = partsOf(split(older), split(newer));
  const found = parts.flatMap((part, at): Passage[] => {
    if (part.same) return [];
    const broughtBack = parts.map((one, index) => (index === at ? one.older : one.newer).join('')).join('');
    return [{ older: part.older.join(''), newer: part.newer.join(''), broughtBack }];
  });
  // A single one that is the whole text is brought back with its field.
  return parts.length > 1 && found.length <= MOST ? found : [];
}
