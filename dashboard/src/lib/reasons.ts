// Why a resource is in the list of a question, and why it comes after the one before it. The API says how a list is ordered, but
// not how each word was found. So each word is asked for again, among the resources that are shown: as it stands, without typos,
// and as it was asked. The first of these lists that has the resource says how it was found.
import { get } from './api';
import { asked, folded, placeOf, rowOf, unitsOf, wordsOf, type Question, type Unit } from './searching';
import { pieces, type Piece } from './highlight';
import { highlighted } from './list';
import type { Blueprint, Resource, Synonym } from './types';

/** The ways in which a word is found, the closest first (API.md 4.6.16). A typo comes after all others. */
export const WAYS = ['whole', 'part', 'form', 'compound', 'begun', 'synonym'] as const;
export type Way = (typeof WAYS)[number];

export interface WordReason {
  /** The word or phrase as it was asked for. */
  asked: string;
  /** Null if the resource lacks it. */
  way: Way | null;
  typos: number;
  /** What the resource has in its place. */
  found: string[];
  /** The slugs of the fields. */
  fields: string[];
}

/** The most words that are explained. Each needs up to four requests. */
const MOST_UNITS = 8;

type Hits = Map<string, Resource>;

/** The fields that a search looks in, as far as the answer can mark them. */
export const searchedFields = (blueprint: Blueprint): string[] => highlighted(blueprint).filter((slug) => !blueprint.search?.fields || slug in blueprint.search.fields);

class Probe {
  private readonly question: Question;
  private readonly ids: string[];
  private readonly signal: AbortSignal;

  constructor(question: Question, ids: string[], signal: AbortSignal) {
    this.question = question;
    this.ids = ids;
    this.signal = signal;
  }

  /** Which of the resources have these words. With `sort`, no rule pins anything among them. */
  async ask(q: string, more: Record<string, string> = {}): Promise<Hits> {
    const { blueprint } = this.question;
    const parameters = asked({ ...this.question, text: q }, { 'filter[id][in]': this.ids.join(','), sort: 'id', q_match: 'all', per_page: '100', fields: 'id', highlight: searchedFields(blueprint).join(','), ...more });
    const { data } = await get<{ data: Resource[] }>(`/v2/resources/${blueprint.slug}?${parameters}`, this.signal);
    return new Map(data.map((one) => [one.id, one]));
  }
}

/** Explains each of these resources, by id. */
export async function reasonsFor(question: Question, ids: string[], synonyms: Synonym[], signal: AbortSignal): Promise<Map<string, WordReason[]>> {
  const units = unitsOf(question.text).slice(0, MOST_UNITS);
  if (ids.length === 0 || units.length === 0) return new Map();
  const probe = new Probe(question, ids, signal);
  const [byUnit, bySynonym] = await Promise.all([Promise.all(units.map((unit) => explainUnit(probe, unit, ids))), explainSynonyms(probe, question, synonyms)]);
  return new Map(ids.map((id) => [id, units.map((unit, index) => byUnit[index]!.get(id) ?? standIn(unit, bySynonym, id))]));
}

async function explainUnit(probe: Probe, unit: Unit, ids: string[]): Promise<Map<string, WordReason>> {
  const quoted = `"${unit.text.replaceAll('"', ' ')}"`;
  const complete = `${unit.text} `;
  const steps: Promise<Hits>[] = [probe.ask(quoted)];
  if (!unit.quoted) steps.push(probe.ask(complete, { typos: 'false' }), unit.typed ? probe.ask(unit.text, { typos: 'false' }) : Promise.resolve(new Map()), probe.ask(unit.typed ? unit.text : complete));
  const [whole, close = new Map(), begun = new Map(), typos = new Map()] = await Promise.all(steps);
  return new Map(ids.flatMap((id) => {
    const hit = whole!.get(id) ?? close.get(id) ?? begun.get(id) ?? typos.get(id);
    if (!hit) return [];
    const way = whole!.has(id) ? 'whole' : close.has(id) ? null : begun.has(id) ? 'begun' : 'typo';
    return [[id, reasonOf(unit, hit, way)]];
  }));
}

interface Place {
  field: string;
  /** What is marked, and the whole word around it. */
  mark: string;
  word: string;
  way: Way;
}

function reasonOf(unit: Unit, hit: Resource, way: 'whole' | 'begun' | 'typo' | null): WordReason {
  const places = placesOf(unit.text, hit);
  const best = way === 'whole' || way === 'begun' ? way : (WAYS.find((one) => places.some((place) => place.way === one)) ?? 'form');
  const typosIn = (place: Place): number => distance(folded(unit.text), folded(place.mark), unit.typed);
  const least = Math.min(...places.map(typosIn));
  const closest = places.filter((one) => (way === 'typo' ? typosIn(one) === least : way !== null || one.way === best));
  const found = way === 'whole' ? [] : wordsIn(closest);
  const fields = unique(closest.map((one) => one.field));
  if (way !== 'typo') return { asked: unit.text, way: best, typos: 0, found, fields };
  return { asked: unit.text, way: 'whole', typos: Math.max(1, Math.min(2, least)), found, fields };
}

/** The words that are shown of what was found, each once. */
const MOST_WORDS = 2;
const wordsIn = (places: Place[]): string[] => [...new Map(places.map((one) => [folded(one.word), one.word])).values()].slice(0, MOST_WORDS);

const unique = <T>(list: T[]): T[] => [...new Set(list)];

/** What is marked in the excerpts, each with the way in which it stands for the word. */
export function placesOf(text: string, hit: Resource): Place[] {
  return Object.entries(hit.highlights ?? {}).flatMap(([field, excerpt]) => {
    const all = pieces(excerpt ?? '');
    return all.flatMap((one, at) => (one.found ? [placeOfMark(text, field, all, at)] : []));
  });
}

const BEFORE = /[\p{L}\p{N}\p{M}_.:'’-]+$/u;
const AFTER = /^[\p{L}\p{N}\p{M}_.:'’-]+/u;

function placeOfMark(text: string, field: string, all: Piece[], at: number): Place {
  const mark = all[at]!.text;
  const before = BEFORE.exec(all[at - 1]?.text ?? '')?.[0] ?? '';
  const after = (AFTER.exec(all[at + 1]?.text ?? '')?.[0] ?? '').replace(/[.:'’-]+$/, '');
  return { field, mark, word: before + mark + after, way: wayOf(text, mark, before, after) };
}

/** The least that a word and another form of it begin with. */
const SHARED = 3;

function wayOf(text: string, mark: string, before: string, after: string): Way {
  const [wanted, found] = [folded(text), folded(mark)];
  if (found === wanted) {
    if (before === '' && after === '') return 'whole';
    return isLetters(before.slice(-1), mark[0]!) || isLetters(mark.slice(-1), after[0] ?? '') ? 'compound' : 'part';
  }
  if (found.endsWith(wanted)) return isName(mark) ? 'part' : 'compound';
  if (wanted.includes(found) && isName(text)) return 'part';
  return wanted.slice(0, SHARED) === found.slice(0, SHARED) ? 'form' : 'synonym';
}

/** A word that has parts: by signs in it, by a capital after a small letter, or by digits beside letters. */
const isName = (text: string): boolean => /[\p{L}\p{N}][^\p{L}\p{N}\s][\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{L}\p{N}|\p{N}\p{L}/u.test(text);

/** Two neighbors that belong to one word, and not to two parts of a name. */
const isLetters = (left: string, right: string): boolean => /\p{L}/u.test(left) && /\p{Ll}|\p{Lo}/u.test(right);

/** Letters inserted, left out or exchanged, and neighbors swapped. If `begun`, the rest of the second word does not count. */
export function distance(left: string, right: string, begun: boolean): number {
  const rows = Array.from({ length: left.length + 1 }, (_, a) => Array.from({ length: right.length + 1 }, (_, b) => (a === 0 ? b : b === 0 ? a : 0)));
  for (let a = 1; a <= left.length; a += 1) {
    for (let b = 1; b <= right.length; b += 1) {
      const same = left[a - 1] === right[b - 1] ? 0 : 1;
      let best = Math.min(rows[a - 1]![b]! + 1, rows[a]![b - 1]! + 1, rows[a - 1]![b - 1]! + same);
      if (a > 1 && b > 1 && left[a - 1] === right[b - 2] && left[a - 2] === right[b - 1]) best = Math.min(best, rows[a - 2]![b - 2]! + 1);
      rows[a]![b] = best;
    }
  }
  return begun ? Math.min(...rows[left.length]!) : rows[left.length]![right.length]!;
}

interface Replaced {
  /** The words of the question that the entry stands for. */
  words: string[];
  hits: Hits;
}

/** Phrases of several words have synonyms only as a whole, so they are asked for as a whole. */
async function explainSynonyms(probe: Probe, question: Question, synonyms: Synonym[]): Promise<Replaced[]> {
  if (question.blueprint.search?.synonyms === false) return [];
  const row = rowOf(question.text);
  const counting = synonyms.filter((one) => one.variant === null || one.variant === question.variant);
  const phrases = counting.flatMap((one) => (one.one_way ? one.words.slice(0, 1) : one.words)).map(wordsOf);
  const asked = phrases.filter((one) => one.length > 1 && placeOf(row, one) >= 0).slice(0, MOST_UNITS);
  return Promise.all(asked.map(async (words) => ({ words, hits: await probe.ask(`${words.join(' ')} `, { typos: 'false' }) })));
}

/** How a resource is found that lacks the word itself. */
function standIn(unit: Unit, bySynonym: Replaced[], id: string): WordReason {
  const lacking = { asked: unit.text, way: null, typos: 0, found: [], fields: [] };
  const entry = unit.quoted ? undefined : bySynonym.find((one) => one.hits.has(id) && wordsOf(unit.text).every((word) => one.words.includes(word)));
  if (!entry) return lacking;
  const places = placesOf(unit.text, entry.hits.get(id)!).filter((one) => !entry.words.includes(folded(one.mark)));
  return { ...lacking, way: 'synonym', found: wordsIn(places), fields: unique(places.map((one) => one.field)) };
}

/** Why a resource comes after the one before it: the first rule of the order in which they differ. */
export type Below = 'words' | 'typos' | 'ways' | 'score';

export function belowOf(upper: WordReason[], lower: WordReason[]): Below | null {
  const [above, here] = [upper, lower].map((list) => new Set(list.filter((one) => one.way === null).map((one) => one.asked))) as [Set<string>, Set<string>];
  // Of different words, the rarer one decides, which is not known here. Words that most resources have do not count at all.
  if ([...above].some((word) => !here.has(word))) return null;
  if (here.size > above.size) return 'words';
  const measures: [Below, (one: WordReason) => number][] = [['typos', (one) => one.typos], ['ways', (one) => costOf(one.way)]];
  for (const [name, measure] of measures) {
    const [first, second] = [upper, lower].map((list) => list.reduce((sum, one) => sum + measure(one), 0)) as [number, number];
    if (second > first) return name;
    if (second < first) return null;
  }
  return 'score';
}

/** A part of a name is as close as a whole word. */
const costOf = (way: Way | null): number => (way === null ? 0 : Math.max(0, WAYS.indexOf(way) - 1));
