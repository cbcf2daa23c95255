// Asks where a resource is used, and what that means for its deletion.
import { get } from './api';
import { blueprints, fieldOf } from './blueprints.svelte';
import { isMedia } from './media';
import { session } from './session.svelte';
import type { Blueprint, Referrers } from './types';

export const referrersOf = async (blueprint: string, id: string): Promise<Referrers[]> =>
  (await get<{ data: Referrers[] }>(`/v2/resources/${blueprint}/${id}/referrers${session.can('preview') ? '?copy=working' : ''}`)).data;

/** Counts places: an entry that names something in two fields counts twice. */
export const countUses = (all: Referrers[]): number => all.reduce((sum, one) => sum + one.total, 0);

/** The uses that forbid the deletion: of a file all but those that empty the field, of other entries only what the field protects. */
export function forbidding(blueprint: Blueprint, all: Referrers[]): Referrers[] {
  const protects = isMedia(blueprint) ? (how: unknown) => how !== 'nullify' : (how: unknown) => how === 'restrict';
  return all.filter((one) => {
    const from = blueprints.of(one.blueprint);
    return protects(from && fieldOf(from, one.field)?.settings.on_delete);
  });
}
