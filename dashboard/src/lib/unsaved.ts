// Work that is not saved on the server yet, kept in this browser: it survives a reload, a crash and a lost connection. Each
// copy (member, blueprint, resource, variant) has an entry of its own.
import type { Attributes } from './types';

export interface Unsaved {
  /** The fields that were changed, and their values. */
  changes: Attributes;
  /** The values of these fields that the work began from: what others changed meanwhile is found by them. */
  base: Attributes;
  etag: string | null;
  title: string;
  at: number;
}

/** The entry of the first save: `new~` and a random part, so that two new entries do not share their text. */
export const isNew = (id: string): boolean => id === 'new' || id.startsWith('new~');
export const newPlace = (): string => `new~${Math.random().toString(36).slice(2, 10)}`;

/** The place of what this screen makes anew: that of the address, that of this step of the history, or another one. */
export function placeOfNew(): string {
  const asked = new URLSearchParams(location.search).get('draft') ?? (history.state as { draft?: string } | null)?.draft;
  const place = asked && isNew(asked) ? asked : newPlace();
  history.replaceState({ draft: place }, '', location.href);
  return place;
}

export interface UnsavedPlace {
  member: number;
  blueprint: string;
  id: string;
  variant: string | null;
}

const PREFIX = 'bindery.unsaved.';
const keyOf = ({ member, blueprint, id, variant }: UnsavedPlace): string => `${PREFIX}${member}/${blueprint}/${id}/${variant ?? ''}`;

/** False if the browser has no room: then the person must be told. */
export function keepUnsaved(place: UnsavedPlace, work: Unsaved): boolean {
  try {
    localStorage.setItem(keyOf(place), JSON.stringify(work));
    return true;
  } catch {
    return false;
  }
}

export function dropUnsaved(place: UnsavedPlace): void {
  localStorage.removeItem(keyOf(place));
}

export function readUnsaved(place: UnsavedPlace): Unsaved | null {
  return parse(localStorage.getItem(keyOf(place)));
}

function parse(text: string | null): Unsaved | null {
  if (!text) return null;
  try {
    const work = JSON.parse(text) as Unsaved;
    return typeof work.changes === 'object' && work.changes !== null && Object.keys(work.changes).length > 0 ? work : null;
  } catch {
    return null;
  }
}

/** Everything that a member has not saved, latest first. */
export function allUnsaved(member: number): (UnsavedPlace & Unsaved)[] {
  const found: (UnsavedPlace & Unsaved)[] = [];
  for (let index = 0; index < localStorage.length; index += 1) {
    const key = localStorage.key(index)!;
    if (!key.startsWith(`${PREFIX}${member}/`)) continue;
    const work = parse(localStorage.getItem(key));
    const [, blueprint, id, variant] = key.slice(PREFIX.length).split('/');
    if (work && blueprint && id) found.push({ member, blueprint, id, variant: variant || null, ...work });
  }
  return found.sort((a, b) => b.at - a.at);
}
