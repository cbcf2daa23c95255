// Values that a field has in other resources, most frequent first.
import { get } from './api';
import type { Field, ListAnswer } from './types';

export interface Suggestion {
  value: string;
  count: number;
}

const MOST = 100;

export async function suggestionsFor(blueprint: string, field: Field, variant: string | null, matching?: URLSearchParams): Promise<Suggestion[]> {
  const query = new URLSearchParams(matching);
  const facet = `${field.slug}:${MOST}`;
  query.set('facets', facet);
  query.set('fields', 'id');
  query.set('per_page', '1');
  if (variant) query.set('variant', variant);
  const answer = await get<ListAnswer>(`/v2/resources/${blueprint}?${query}`);
  return (answer.meta.facets?.[facet]?.values ?? []).map(({ value, count }) => ({ value: String(value), count }));
}
