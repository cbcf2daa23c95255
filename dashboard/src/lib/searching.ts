// Ranked search as the page about it asks for it: the list of a question, with what its answer says about itself. It must not
// know why a resource is found.
import { get, post, put } from './api';
import { titleField } from './blueprints.svelte';
import { highlighted } from './list';
import type { Blueprint, ListAnswer } from './types';

/** A question to one blueprint, in one of its variants. */
export interface Question {
  text: string;
  blueprint: Blueprint;
  /** Null for the main variant, and for blueprints without any. */
  variant: string | null;
}

interface Step {
  step: string;
  what?: string;
}

export type FoundList = Omit<ListAnswer, 'meta'> & { meta: Omit<ListAnswer['meta'], 'explain'> & { explain?: Step[] } };

/** The rows that are shown. */
export const SHOWN = 20;

/** Blueprints in which a question finds something: they have a text. */
export const isSearched = (blueprint: Blueprint): boolean => !blueprint.is_singular && highlighted(blueprint).length > 0;

/** The parameters of every request about a question. `filters` are those of an address. */
export function asked({ text, variant }: Question, more: Record<string, string> = {}, filters: string[] = []): URLSearchParams {
  const parameters = new URLSearchParams({ q: text, ...more });
  if (variant) parameters.set('variant', variant);
  for (const one of filters) for (const [name, value] of new URLSearchParams(one)) parameters.append(name, value);
  return parameters;
}

/** Only what the site shows today. */
export const PUBLISHED = 'filter[published]=true';

/** The fields of a row that is shown. */
function shownFields(blueprint: Blueprint): string {
  const title = titleField(blueprint);
  return ['id', 'published_at', ...(title ? [`attributes.${title.slug}`] : [])].join(',');
}

/** The parameters for the first rows of a question, with excerpts. */
export function listOf(question: Question, more: Record<string, string>, filters: string[]): URLSearchParams {
  const { blueprint } = question;
  return asked(question, { per_page: String(SHOWN), fields: shownFields(blueprint), highlight: highlighted(blueprint).join(','), ...more }, filters);
}

/** The first rows of a question. */
export async function find(question: Question, more: Record<string, string>, filters: string[], signal?: AbortSignal): Promise<FoundList> {
  return get<FoundList>(`/v2/resources/${question.blueprint.slug}?${listOf(question, more, filters)}`, signal);
}

/** The ids of the rules that hold for an explained list. */
export const rulesOf = (found: FoundList): string[] => (found.meta.explain ?? []).filter((one) => one.step === 'rule').map((one) => one.what ?? '');

/** The fields whose dates or numbers count into the order of an explained list. */
export const boostsOf = (found: FoundList): string[] => (found.meta.explain ?? []).filter((one) => one.step === 'boost').map((one) => one.what ?? '');

/** A text as words are compared: without case and accents. */
export const folded = (text: string): string => text.normalize('NFKD').replace(/\p{M}+/gu, '').toLowerCase();

const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;

/** The words of a text, folded. Of scripts without spaces, each character is one. */
export function wordsOf(text: string): string[] {
  const words = [...new Intl.Segmenter('en', { granularity: 'word' }).segment(text)].filter((one) => one.isWordLike).map((one) => folded(one.segment));
  return words.flatMap((one) => (WITHOUT_SPACES.test(one) ? [...one] : [one]));
}

/** Stores a synonym or a rule: a new one, or one that has an id. */
export const storeEntry = (kind: 'synonyms' | 'rules', id: string | undefined, body: object): Promise<unknown> => (id ? put(`/v2/search/${kind}/${id}`, body) : post(`/v2/search/${kind}`, body));
