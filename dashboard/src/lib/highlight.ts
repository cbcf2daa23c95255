// Excerpts of a search (API.md 4.6.17): HTML that is text with `<mark>` around what was found.
import { parseHtml } from './inert';
import type { Resource } from './types';

export interface Piece {
  text: string;
  found: boolean;
}

export const pieces = (excerpt: string): Piece[] => [...parseHtml(excerpt).childNodes].map((node) => ({ text: node.textContent ?? '', found: node.nodeName === 'MARK' }));

/** The title with what was found in it, if the excerpt has all of it. */
export function markedTitle(row: Resource, field: string | undefined, title: string): Piece[] | null {
  const excerpt = field && row.highlights?.[field];
  if (!excerpt?.includes('<mark>')) return null;
  const found = pieces(excerpt);
  return found.map((one) => one.text).join('') === title ? found : null;
}

/** The first excerpt of another field in which something was found. */
export function excerptOf(row: Resource, except: string | undefined): Piece[] | null {
  const found = Object.entries(row.highlights ?? {}).find(([field, excerpt]) => field !== except && excerpt?.includes('<mark>'));
  return found ? pieces(found[1]!) : null;
}
