// Brings a draft of a blueprint up to date with what others changed on the server since it was begun. It must not know any screen.
import { bodyOf, slugOf, type BlueprintDraft, type DraftField } from './blueprintDraft';
import type { Json } from './types';
import { same } from './values';

/** What a request holds, such as what the server had when the draft was begun. */
type Body = Record<string, unknown>;

/** The settings of a draft, and the keys of a body that hold them. */
const SETTINGS = { name: 'name', icon: 'icon', record_title: 'record_title', scheduled: 'scheduled', workingCopy: 'working_copy', trash: 'trash', history: 'history', search: 'search', variants: 'variants', seo: 'seo' } as const satisfies Partial<Record<keyof BlueprintDraft, string>>;
/** The parts of a field that change together: the settings of one type mean nothing to another one. */
const PARTS: (keyof DraftField)[][] = [['name'], ['description'], ['required'], ['unique'], ['type', 'settings']];

const differ = (one: Body, other: Body, key: string): boolean => !same(one[key] as Json, other[key] as Json);
const bodiesOf = (draft: BlueprintDraft): Body[] => bodyOf(draft, false).fields as Body[];

/**
 * The draft with everything that `theirs`, which is on the server now, changed since `start`, unless the draft changed the same.
 * A field that somebody else added stays, although the draft does not know it.
 */
export function mergedDraft(start: Body, mine: BlueprintDraft, theirs: BlueprintDraft): BlueprintDraft {
  const now = bodyOf(mine, false);
  const taken = (Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]).filter((name) => !differ(start, now, SETTINGS[name]));
  const settings = Object.fromEntries(taken.map((name) => [name, theirs[name]]));
  return { ...mine, ...settings, fields: mergedFields(new Map((start.fields as Body[]).map((one) => [one.slug as string, one])), mine, theirs.fields) };
}

function mergedFields(before: Map<string, Body>, mine: BlueprintDraft, stored: DraftField[]): DraftField[] {
  // The row of a field that both have is that of the draft.
  const rows = new Map(mine.fields.map((one) => [slugOf(one), one.key]));
  const theirs = stored.map((one) => ({ ...one, key: rows.get(one.slug) ?? one.key }));
  const there = new Map(theirs.map((one) => [one.slug, one]));
  const bodies = bodiesOf(mine);
  const kept = mine.fields.flatMap((field, index) => mergedField(field, bodies[index]!, before.get(slugOf(field)), there.get(slugOf(field))));
  const added = theirs.filter((one) => !before.has(one.slug) && !rows.has(one.slug));
  const all = new Map([...kept, ...added].map((one) => [one.key, one]));
  const [here, elsewhere] = [mine.fields, theirs].map((list) => list.map((one) => one.key).filter((key) => all.has(key))) as [number[], number[]];
  const order = isMoved([...before.keys()], [...rows.keys()]) ? woven(here, elsewhere) : woven(elsewhere, here);
  return order.map((key) => all.get(key)!);
}

/** One field of the draft as it is after the merge; none if somebody else removed it and the draft did not change it. */
function mergedField(mine: DraftField, body: Body, before: Body | undefined, theirs: DraftField | undefined): DraftField[] {
  if (!before) return [theirs ? { ...mine, slug: theirs.slug, stored: true } : mine];
  const changed = PARTS.filter((part) => part.some((key) => differ(before, body, key)));
  if (!theirs) return changed.length > 0 ? [{ ...mine, stored: false }] : [];
  return [{ ...theirs, ...Object.fromEntries(changed.flat().map((key) => [key, mine[key]])) }];
}

/** The draft has what it kept in another order. */
function isMoved(before: string[], now: string[]): boolean {
  return !same(now.filter((slug) => before.includes(slug)), before.filter((slug) => now.includes(slug)));
}

/** The first list, with what only the second has after what stands before it there. */
function woven(first: number[], second: number[]): number[] {
  const order = [...first];
  second.forEach((key, index) => {
    if (!order.includes(key)) order.splice(index === 0 ? 0 : order.indexOf(second[index - 1]!) + 1, 0, key);
  });
  return order;
}
