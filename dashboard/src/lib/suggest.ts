// Values that a field has in other resources, most frequent first: exact where the server counts facets, otherwise from the
// latest resources.
import { get } from './api';
import type { Field, ListAnswer } from './types';

export interface Suggestion {
  value: string;
  count: number;
  exact: boolean;
}

const SAMPLE = 100;

export async function suggestionsFor(blueprint: string, field: Field, variant: string | null, matching?: URLSearchParams): Promise<Suggestion[]> {
  const query = new URLSearchParams(matching);
  query.set('facets', `${field.slug}:100`);
  query.set('fields', `attributes.${field.slug}`);
  query.set('per_page', String(SAMPLE));
  if (variant) query.set('variant', variant);
  const answer = await get<ListAnswer>(`/v2/resources/${blueprint}?${query}`);
  const facet = answer.meta.facets?.[field.slug];
  if (facet) return facet.values.map(({ value, count }) => ({ value: String(value), count, exact: true }));
  const counts = new Map<string, number>();
  for (const one of answer.data) {
    const value = one.attributes[field.slug] ?? null;
    for (const item of Array.isArray(value) ? value : [value]) if (item !== null) counts.set(String(item), (counts.get(String(item)) ?? 0) + 1);
  }
  return [...counts].map(([value, count]) => ({ value, count, exact: false })).sort((a, b) => b.count - a.count || a.value.localeCompare(b.value));
}
