// The list of a question as a rule would make it that is not saved yet, beside the list as it is. The server makes both.
import { send } from './api';
import { asked, find, listOf, PUBLISHED, rulesOf, SHOWN, wordsOf, type FoundList, type Question } from './searching';
import type { Resource, SearchRule } from './types';

export type RuleDraft = Omit<SearchRule, 'id' | 'type' | 'created_at' | 'updated_at'> & { id?: string };

export interface PreviewRow {
  resource: Resource;
  /** The edited rule gives it its place. */
  pinned: boolean;
  /** The place that it has today, if that is shown. */
  today: number | null;
}

export interface Preview {
  /** False if the rule says nothing about this question. */
  holds: boolean;
  rows: PreviewRow[];
  total: number;
  /** What the rule takes out of the rows that are shown today. */
  gone: { resource: Resource; today: number }[];
  /** What the rule pins, and no reader of the site would see. */
  absent: string[];
}

/** The server's name for a rule that has no id yet. */
const UNSAVED = 'unsaved';

/** The list with and without the rule. */
export async function previewOf(rule: RuleDraft, question: Question, signal: AbortSignal): Promise<Preview> {
  const filters = [PUBLISHED, ...(rule.filter ? [rule.filter] : [])];
  // A rule whose words are not typed yet cannot be sent.
  const isComplete = rule.query === null || wordsOf(rule.query).length > 0;
  const today = await find(question, isComplete ? {} : { explain: 'true' }, filters, signal);
  const list = isComplete ? await previewed(rule, question, listOf(question, {}, filters), signal) : today;
  const places = new Map(today.data.map((one, index) => [one.id, index + 1]));
  const id = rule.id ?? UNSAVED;
  const holds = isComplete && rulesOf(list).includes(id);
  const pins = new Set((list.meta.ranking ?? []).filter((one) => one.pinned?.rule === id).map((one) => one.id));
  const rows = list.data.map((resource) => ({ resource, pinned: pins.has(resource.id), today: places.get(resource.id) ?? null }));
  const shown = new Set(list.data.map((one) => one.id));
  const left = holds ? today.data.filter((one) => !shown.has(one.id)) : [];
  const unseen = holds ? rule.pin.map((one) => one.id).filter((one) => !shown.has(one)) : [];
  const later = await foundOf(rule, question, filters, [...new Set([...unseen, ...left.map((one) => one.id)])], signal);
  return {
    holds,
    rows,
    total: list.meta.total,
    gone: left.filter((one) => !later.has(one.id)).map((resource) => ({ resource, today: places.get(resource.id)! })),
    absent: unseen.filter((one) => !later.has(one)),
  };
}

async function previewed(rule: RuleDraft, { blueprint }: Question, list: URLSearchParams, signal: AbortSignal): Promise<FoundList> {
  const { id, ...body } = rule;
  return (await send<FoundList>('POST', '/v2/search/rules/preview', { body: { blueprint: blueprint.slug, list: list.toString(), id: id ?? null, rule: body }, signal })).body;
}

/** Which of these resources are in the list, on any page. */
async function foundOf(rule: RuleDraft, question: Question, filters: string[], ids: string[], signal: AbortSignal): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const list = asked(question, { per_page: String(SHOWN + 50), fields: 'id' }, [...filters, `filter[id][in]=${ids.join(',')}`]);
  return new Set((await previewed(rule, question, list, signal)).data.map((one) => one.id));
}
