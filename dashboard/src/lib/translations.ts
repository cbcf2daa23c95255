// Which translations are outdated. The server says whether the source was written after a translation. In which fields it changed
// is known if the translation was last saved in this browser, which keeps what the source said then: the server keeps no earlier
// versions.
import { FOLDER, isMedia, isSystemField } from './media';
import type { Attributes, Blueprint, Field } from './types';
import { isEmpty } from './values';

const PREFIX = 'bindery.source.';
const MOST_KEPT = 400;

export interface TranslationPlace {
  blueprint: string;
  id: string;
  variant: string;
}

/** The fields that each language has of its own: files have their facts in all of them, and stand in the folder of the main one. */
export const translated = (blueprint: Blueprint): Field[] => blueprint.fields.filter((field) => !isSystemField(blueprint, field) && !(isMedia(blueprint) && field.slug === FOLDER));

/** Nobody wrote anything in this language: it can lack texts, but none of them is outdated. */
export const isUnwritten = (blueprint: Blueprint, values: Attributes): boolean => translated(blueprint).every(({ slug }) => isEmpty(values[slug]));

const keyOf = ({ blueprint, id, variant }: TranslationPlace): string => `${PREFIX}${blueprint}/${id}/${variant}`;

/** A short sum of a value (FNV-1a of its JSON). */
function sumOf(value: unknown): number {
  let sum = 0x811c9dc5;
  const text = JSON.stringify(value ?? null);
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return sum;
}

/** Called when a translation was saved, or found to fit: the source as it is now is what it translates. */
export function keepSource(place: TranslationPlace, source: Attributes): void {
  const sums = Object.fromEntries(Object.entries(source).filter(([, value]) => !isEmpty(value)).map(([slug, value]) => [slug, sumOf(value)]));
  try {
    makeRoom();
    localStorage.setItem(keyOf(place), JSON.stringify({ at: Date.now(), sums }));
  } catch {
    // Without room, changes are not found.
  }
}

function makeRoom(): void {
  const keys = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index)!).filter((key) => key.startsWith(PREFIX));
  if (keys.length < MOST_KEPT) return;
  const age = (key: string): number => (JSON.parse(localStorage.getItem(key) ?? '{}') as { at?: number }).at ?? 0;
  for (const key of keys.sort((a, b) => age(a) - age(b)).slice(0, keys.length - MOST_KEPT + 1)) localStorage.removeItem(key);
}

/**
 * The fields whose source changed since the translation was saved: none if it is only known that something did. Null if the
 * translation is up to date. `outdated` are the variants that the server calls so.
 */
export function changedSince(place: TranslationPlace, outdated: string[], source: Attributes, fields: Field[]): string[] | null {
  if (!outdated.includes(place.variant)) return null;
  const kept = keptSums(place);
  if (!kept) return [];
  const changed = fields.map((field) => field.slug).filter((slug) => kept[slug] !== undefined && kept[slug] !== sumOf(source[slug] ?? null));
  // Somebody has found that the translation still fits, or the source says again what it said.
  return changed.length > 0 ? changed : null;
}

function keptSums(place: TranslationPlace): Record<string, number> | null {
  try {
    return (JSON.parse(localStorage.getItem(keyOf(place)) ?? 'null') as { sums: Record<string, number> } | null)?.sums ?? null;
  } catch {
    return null;
  }
}
