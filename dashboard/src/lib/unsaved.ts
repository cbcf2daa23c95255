// Work that is not saved on the server yet, kept in this browser: it survives a reload, a crash and a lost connection. Each
// copy (member, blueprint, resource, variant) has an entry of its own, and each tab that changes it.
import { openTabs } from './tab';
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
  /** The tab with the work. Empty for a new entry, whose `id` belongs to one tab already. */
  tab: string;
}

export type Kept = UnsavedPlace & Unsaved;
/** `open`: the tab with the work is open, and somebody may go on there. */
export type Offered = Kept & { open: boolean };

const PREFIX = 'bindery.unsaved.';
const keyOf = ({ member, blueprint, id, variant, tab }: UnsavedPlace): string => `${PREFIX}${member}/${blueprint}/${id}/${variant ?? ''}${tab && `/${tab}`}`;

const listeners = new Set<() => void>();

/** Calls this once work was kept or dropped, also by another tab. Returns what ends it. */
export function whenUnsavedChanges(listener: () => void): () => void {
  const elsewhere = ({ key }: StorageEvent): void => void ((key === null || key.startsWith(PREFIX)) && listener());
  listeners.add(listener);
  addEventListener('storage', elsewhere);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', elsewhere);
  };
}

const tell = (): void => listeners.forEach((listener) => listener());

/** False if the browser has no room: then the person must be told. */
export function keepUnsaved(place: UnsavedPlace, { changes, base, etag, title, at }: Unsaved): boolean {
  try {
    localStorage.setItem(keyOf(place), JSON.stringify({ changes, base, etag, title, at }));
  } catch {
    return false;
  }
  tell();
  return true;
}

export function dropUnsaved(place: UnsavedPlace): void {
  localStorage.removeItem(keyOf(place));
  tell();
}

/** The first save of a new entry: its place cannot be found any more, so what was written in other languages goes to that of its id. */
export function giveId(place: UnsavedPlace, { id, tab }: UnsavedPlace): void {
  dropUnsaved(place);
  for (const one of allUnsaved(place.member).filter(({ blueprint, id }) => blueprint === place.blueprint && id === place.id)) {
    if (keepUnsaved({ ...one, id, tab }, one)) dropUnsaved(one);
  }
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
export function allUnsaved(member: number): Kept[] {
  const found: Kept[] = [];
  for (let index = 0; index < localStorage.length; index += 1) {
    const key = localStorage.key(index)!;
    if (!key.startsWith(`${PREFIX}${member}/`)) continue;
    const work = parse(localStorage.getItem(key));
    const [, blueprint, id, variant, tab] = key.slice(PREFIX.length).split('/');
    if (work && blueprint && id) found.push({ member, blueprint, id, variant: variant || null, tab: tab ?? '', ...work });
  }
  return found.sort((a, b) => b.at - a.at);
}

/** Everything that a member has not saved of one copy, latest first. */
export async function unsavedOf({ member, blueprint, id, variant }: UnsavedPlace): Promise<Offered[]> {
  const open = await openTabs();
  const ofCopy = (one: Kept): boolean => one.blueprint === blueprint && one.id === id && one.variant === variant;
  return allUnsaved(member).filter(ofCopy).map((one) => ({ ...one, open: open.has(one.tab) }));
}
