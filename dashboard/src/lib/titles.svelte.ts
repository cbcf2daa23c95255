// The titles of related resources, asked for in batches and kept. Ids whose resource does not exist are kept as null.
import { get } from './api';
import { blueprints, titleField } from './blueprints.svelte';
import type { Field, ListAnswer, Resource } from './types';
import { SvelteMap } from 'svelte/reactivity';
import { chunks, display } from './values';

const MOST_KEPT = 5000;
const known = new SvelteMap<string, string | null>();
const wanted = new Map<string, Set<string>>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** The title of a resource; `undefined` while it is loading, `null` if it does not exist. */
export function titleOf(blueprint: string, id: string): string | null | undefined {
  const key = `${blueprint}/${id}`;
  const title = known.get(key);
  if (title !== undefined) return title;
  const ids = wanted.get(blueprint) ?? new Set();
  ids.add(id);
  wanted.set(blueprint, ids);
  timer ??= setTimeout(fetchWanted, 10);
  return undefined;
}

/** The title, or the beginning of the id. */
export const shortTitle = (blueprint: string, id: string): string => titleOf(blueprint, id) ?? id.slice(0, 8);

export function remember(blueprint: string, id: string, title: string): void {
  if (known.size > MOST_KEPT) known.clear();
  known.set(`${blueprint}/${id}`, title);
}

async function fetchWanted(): Promise<void> {
  timer = undefined;
  const batches = [...wanted].flatMap(([slug, ids]) => chunks([...ids], 100).map((chunk) => [slug, chunk] as const));
  wanted.clear();
  for (const [slug, ids] of batches) {
    const blueprint = blueprints.of(slug);
    const field = blueprint && titleField(blueprint);
    const query = new URLSearchParams({ 'filter[id][in]': ids.join(','), per_page: '100', fields: `id${field ? `,attributes.${field.slug}` : ''}` });
    try {
      const answer = await get<ListAnswer>(`/v2/resources/${slug}?${query}`);
      for (const one of answer.data) remember(slug, one.id, field ? display(field, one.attributes?.[field.slug]) || one.id.slice(0, 8) : one.id.slice(0, 8));
      for (const id of ids) if (!answer.data.some((one) => one.id === id)) known.set(`${slug}/${id}`, null);
    } catch {
      for (const id of ids) known.set(`${slug}/${id}`, id.slice(0, 8));
    }
  }
}

const MOST_EXPANDED = 10;

/**
 * Asks for the titles of related resources with the list itself (API.md 4.2.9). Only fields with one resource: of the others
 * there may be more than an answer includes.
 */
export function askTitles(parameters: URLSearchParams, fields: (Field | undefined)[]): void {
  const related = fields.filter((field) => field?.type === 'reference' && blueprints.of(field.settings.blueprint)).slice(0, MOST_EXPANDED) as Field[];
  if (related.length === 0) return;
  parameters.set('expand', related.map((field) => field.slug).join(','));
  for (const slug of new Set(related.map((field) => field.settings.blueprint!))) {
    const title = titleField(blueprints.of(slug)!);
    parameters.set(`fields[${slug}]`, ['id', 'relationships', ...(title ? [`attributes.${title.slug}`] : [])].join(','));
  }
}

/** Remembers the titles that came with a list. Empty ones are asked for again, in their blueprint's own language. */
export function rememberIncluded(included: Resource[] = []): void {
  for (const one of included) {
    const slug = one.relationships?.blueprint.data.id;
    const field = slug && blueprints.of(slug) && titleField(blueprints.of(slug)!);
    const title = field ? display(field, one.attributes?.[field.slug]) : '';
    if (slug && title) remember(slug, one.id, title);
  }
}
