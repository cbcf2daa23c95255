// What the source language said when a translation was last saved in this browser, so that later changes of it are found. The
// server keeps no earlier versions, so a translation that was saved elsewhere is not known here.
import type { Attributes, Field } from './types';
import { isEmpty } from './values';

const PREFIX = 'bindery.source.';
const MOST_KEPT = 400;

export interface TranslationPlace {
  blueprint: string;
  id: string;
  variant: string;
}

const keyOf = ({ blueprint, id, variant }: TranslationPlace): string => `${PREFIX}${blueprint}/${id}/${variant}`;

/** A short sum of a value (FNV-1a of its JSON). */
function sumOf(value: unknown): number {
  let sum = 0x811c9dc5;
  const text = JSON.stringify(value ?? null);
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return sum;
}

/** Called when a translation was saved: the source as it is now is what it translates. */
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

/** The fields whose source changed since the translation was saved. */
export function changedSince(place: TranslationPlace, source: Attributes, fields: Field[]): string[] {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(place)) ?? 'null') as { sums: Record<string, number> } | null;
    if (!kept) return [];
    return fields.map((field) => field.slug).filter((slug) => kept.sums[slug] !== undefined && kept.sums[slug] !== sumOf(source[slug] ?? null));
  } catch {
    return [];
  }
}
