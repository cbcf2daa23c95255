// Work on blueprints that is not saved on the server yet, kept in this browser as the work on entries is.
import { rekeyed, type BlueprintDraft } from './blueprintDraft';

export interface BlueprintWork {
  draft: BlueprintDraft;
  /** What the server had when the work began, as the body of a request. */
  start: string;
  at: number;
}

const keyOf = (member: number, place: string): string => `bindery.blueprint.${member}/${place}`;

/** False if the browser has no room. */
export function keepBlueprint(member: number, place: string, work: BlueprintWork): boolean {
  try {
    localStorage.setItem(keyOf(member, place), JSON.stringify(work));
    return true;
  } catch {
    return false;
  }
}

export const dropBlueprint = (member: number, place: string): void => localStorage.removeItem(keyOf(member, place));

export function readBlueprint(member: number, place: string): BlueprintWork | null {
  try {
    const work = JSON.parse(localStorage.getItem(keyOf(member, place)) ?? 'null') as BlueprintWork | null;
    return work && Array.isArray(work.draft?.fields) && Array.isArray(work.draft.variants) ? { ...work, draft: rekeyed(work.draft) } : null;
  } catch {
    return null;
  }
}

/** Every blueprint that a member has not saved, latest first. */
export function allUnsavedBlueprints(member: number): { place: string; name: string; at: number }[] {
  const prefix = keyOf(member, '');
  const places = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index)!).filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  return places.flatMap((place) => {
    const work = readBlueprint(member, place);
    return work ? [{ place, name: work.draft.name, at: work.at }] : [];
  }).sort((a, b) => b.at - a.at);
}
