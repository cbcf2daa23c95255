// The comparison of two people's changes to one resource, field by field.
import type { Attributes, Field, Json } from './types';
import { same } from './values';

export interface Difference {
  field: Field;
  base: Json;
  mine: Json;
  theirs: Json;
  /** Both changed the field, to different values: somebody has to choose. */
  conflict: boolean;
  by: 'me' | 'them' | 'both';
}

/** What differs between the common base, what is being written, and what the server has now. */
export function compare(fields: Field[], base: Attributes, mine: Attributes, theirs: Attributes): Difference[] {
  const found: Difference[] = [];
  for (const field of fields) {
    const [b, m, t] = [base[field.slug] ?? null, mine[field.slug] ?? null, theirs[field.slug] ?? null];
    const [changedHere, changedThere] = [!same(b, m), !same(b, t)];
    if (!changedHere && !changedThere) continue;
    const by = changedHere && changedThere ? 'both' : changedHere ? 'me' : 'them';
    found.push({ field, base: b, mine: m, theirs: t, by, conflict: by === 'both' && !same(m, t) });
  }
  return found;
}

/** The values after a choice: mine where I changed something, except for the fields where theirs was chosen. */
export function merged(differences: Difference[], theirs: Attributes, choices: Record<string, 'mine' | 'theirs'>): Attributes {
  const result = { ...theirs };
  for (const one of differences) {
    if (one.by === 'me' || (one.conflict && choices[one.field.slug] !== 'theirs')) result[one.field.slug] = one.mine;
  }
  return result;
}
