// Excerpts of a search (API.md 4.6.17): HTML that is text with `<mark>` around what was found.
import type { Resource } from './types';

export interface Piece {
  text: string;
  found: boolean;
}

const ESCAPED: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const unescaped = (html: string): string => html.replace(/&(?:amp|lt|gt|quot|#39);/g, (one) => ESCAPED[one]!);

/** An excerpt has no other tags and entities, so no parser of HTML is needed: a table asks for hundreds at once. */
export const pieces = (excerpt: string): Piece[] => excerpt.split(/<\/?mark>/).map((text, index) => ({ text: unescaped(text), found: index % 2 === 1 })).filter((one) => one.text !== '');

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
