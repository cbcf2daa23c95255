// Looks up the media resource that an address names, to say whether somebody has described it.
import { get } from '../lib/api';
import { blueprints } from '../lib/blueprints.svelte';
import { ALT, hasAlt, idIn, lacksAlt, mediaBlueprints, variantQuery } from '../lib/media';
import type { Blueprint, Resource } from '../lib/types';

export interface Named {
  blueprint: Blueprint;
  resource: Resource;
  lacksAlt: boolean;
}

/** Returns null for an address of another place, and for a file that no library has. */
export async function mediaAt(address: string, variant: string | null, signal: AbortSignal): Promise<Named | null> {
  const id = idIn(address);
  if (!id) return null;
  for (const blueprint of mediaBlueprints(blueprints.all)) {
    const fields = ['id', 'published_at', 'attributes.file_name', 'attributes.mime', ...(hasAlt(blueprint) ? [`attributes.${ALT}`] : [])].join(',');
    const query = new URLSearchParams({ fields, 'filter[id][eq]': id, ...variantQuery(blueprint, variant) });
    const [resource] = (await get<{ data: Resource[] }>(`/v2/resources/${blueprint.slug}?${query}`, signal)).data;
    if (resource) return { blueprint, resource, lacksAlt: lacksAlt(blueprint, resource) };
  }
  return null;
}
