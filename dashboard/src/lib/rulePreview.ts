// The list of a question as a rule would make it that is not saved yet. The server has no preview of a rule, so the list is asked
// for without what the rule pins and hides and with its filter, and what it pins is put into its places here.
import { get } from './api';
import { asked, find, inGroup, placeOf, PUBLISHED, rowOf, rulesOf, SHOWN, shownFields, wordsOf, type FoundList, type Question } from './searching';
import type { Resource, SearchRule } from './types';

export type RuleDraft = Omit<SearchRule, 'id' | 'type' | 'created_at' | 'updated_at'> & { id?: string };

export interface PreviewRow {
  resource: Resource;
  /** The place that the edited rule gives it. */
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
  /** The saved form of the rule counts in the list already, and its effects cannot all be taken out. */
  isMixed: boolean;
}

/** True if the rule holds for the question, as the server decides it (API.md 4.25.2). */
export function holds(rule: RuleDraft, { text, blueprint, variant }: Question): boolean {
  if (rule.blueprint !== null && rule.blueprint !== blueprint.slug) return false;
  if (rule.variant !== null && rule.variant !== (variant ?? blueprint.variants.find((one) => one.default)?.slug)) return false;
  if (rule.query === null) return true;
  const [row, wanted] = [rowOf(text), wordsOf(rule.query)];
  return placeOf(row, wanted) >= 0 && (rule.match === 'contains' || row.length === wanted.length);
}

/** The list with and without the rule. `saved` are the rules of the server, in their order. */
export async function previewOf(rule: RuleDraft, question: Question, saved: SearchRule[], signal: AbortSignal): Promise<Preview> {
  const filters = [PUBLISHED, ...(rule.filter ? [rule.filter] : [])];
  const today = await find(question, { explain: 'true' }, filters, signal);
  const places = new Map(today.data.map((one, index) => [one.id, index + 1]));
  const rowsOf = (list: Resource[], pinned: Set<string>): PreviewRow[] => list.slice(0, SHOWN).map((resource) => ({ resource, pinned: pinned.has(resource.id), today: places.get(resource.id) ?? null }));
  if (!holds(rule, question)) return { holds: false, rows: rowsOf(today.data, new Set()), total: today.meta.total, gone: [], absent: [], isMixed: false };

  const holding = new Set(rulesOf(today));
  const others = saved.filter((one) => holding.has(one.id) && one.id !== rule.id);
  const pins = pinsOf(rule, saved, others);
  const own = new Set(rule.pin.map((one) => one.id));
  const added = rule.filter_add ? [inGroup(rule.filter_add, 90)] : [];
  const apart = unique([...pins.map((one) => one.id), ...rule.hide]);
  const [rest, pinned] = await Promise.all([
    find(question, {}, [...filters, ...added, ...(apart.length > 0 ? [`filter[id][not_in]=${apart.join(',')}`] : [])], signal),
    pinnedOf(question, pins.map((one) => one.id), [...filters, ...added, ...others.flatMap((one, index) => (one.filter_add ? [inGroup(one.filter_add, index)] : []))], signal),
  ]);
  const list = placed(rest, pins, pinned);
  const shown = new Set(list.map((one) => one.id));
  return {
    holds: true,
    rows: rowsOf(list, own),
    total: rest.meta.total + pinned.size,
    gone: today.data.filter((one) => !shown.has(one.id) && (rule.hide.includes(one.id) || rule.filter_add !== null)).map((resource) => ({ resource, today: places.get(resource.id)! })),
    absent: rule.pin.map((one) => one.id).filter((id) => !pinned.has(id)),
    isMixed: isMixed(rule, saved.find((one) => one.id === rule.id && holding.has(one.id))),
  };
}

const unique = <T>(list: T[]): T[] => [...new Set(list)];

interface Pin {
  id: string;
  position: number;
}

/** What all rules that hold pin, in the order of the server: the first rule wins, and what one hides is not pinned. */
function pinsOf(rule: RuleDraft, saved: SearchRule[], others: SearchRule[]): Pin[] {
  const isOld = saved.some((one) => one.id === rule.id);
  const inOrder: RuleDraft[] = isOld ? saved.flatMap((one) => (one.id === rule.id ? [rule] : others.includes(one) ? [one] : [])) : [...others, rule];
  const hidden = new Set(inOrder.flatMap((one) => one.hide));
  const pins = inOrder.flatMap((one) => one.pin).filter((one) => !hidden.has(one.id));
  return pins.filter((one, index) => pins.findIndex((other) => other.id === one.id) === index).sort((a, b) => a.position - b.position);
}

/** The pinned resources that a reader sees. Without a question, no rule changes their list. */
async function pinnedOf({ blueprint, variant }: Question, ids: string[], filters: string[], signal: AbortSignal): Promise<Map<string, Resource>> {
  if (ids.length === 0) return new Map();
  const parameters = asked({ text: '', blueprint, variant }, { per_page: '100', fields: shownFields(blueprint) }, [...filters, `filter[id][in]=${ids.slice(0, 100).join(',')}`]);
  parameters.delete('q');
  const { data } = await get<{ data: Resource[] }>(`/v2/resources/${blueprint.slug}?${parameters}`, signal);
  return new Map(data.map((one) => [one.id, one]));
}

/** Puts what is pinned into its places, from the first on. */
export function placed(rest: Pick<FoundList, 'data'>, pins: Pin[], pinned: Map<string, Resource>): Resource[] {
  const list = [...rest.data];
  for (const { id, position } of pins) {
    const resource = pinned.get(id);
    if (resource) list.splice(Math.min(position - 1, list.length), 0, resource);
  }
  return list;
}

/** Something that the saved rule pins, hides or filters, and this one does not. */
function isMixed(rule: RuleDraft, saved: SearchRule | undefined): boolean {
  if (!saved) return false;
  const apart = new Set([...rule.pin.map((one) => one.id), ...rule.hide]);
  return saved.pin.some((one) => !apart.has(one.id)) || saved.hide.some((one) => !apart.has(one)) || (saved.filter_add !== null && saved.filter_add !== rule.filter_add);
}
