// Finds the files that the values of an entry name and that visitors of the site cannot see: drafts, and those that wait for their date.
import { get } from '../lib/api';
import { blueprints } from '../lib/blueprints.svelte';
import { idsIn, isMedia, mediaBlueprints } from '../lib/media';
import type { Attributes, Blueprint, ListAnswer, Resource } from '../lib/types';
import { chunks } from '../lib/values';

export interface HiddenFiles {
  library: Blueprint;
  files: Resource[];
}

const AT_ONCE = 100;

/** `from` is the time from which the entry is shown. */
const isHidden = (library: Blueprint, { published_at: published }: Resource, from: string): boolean =>
  published === null || ((library.scheduled ?? false) && Date.parse(published) > Date.parse(from));

/** Ids in relations to this library, and in addresses, which do not say of which library they are. */
function namedIn(blueprint: Blueprint, library: Blueprint, all: Attributes[]): string[] {
  const relations = blueprint.fields.filter(({ settings }) => settings.blueprint === library.slug);
  const related = all.flatMap((values) => relations.flatMap(({ slug }) => values[slug] ?? [])).map(String);
  return [...new Set([...related, ...all.flatMap((values) => idsIn(JSON.stringify(values)))])];
}

/** `all` are the values in each language that is published. */
export async function hiddenFiles(blueprint: Blueprint, all: Attributes[], from: string): Promise<HiddenFiles[]> {
  if (isMedia(blueprint)) return [];
  const found = mediaBlueprints(blueprints.all).map(async (library) => {
    const files: Resource[] = [];
    for (const part of chunks(namedIn(blueprint, library, all), AT_ONCE)) {
      const query = new URLSearchParams({ fields: 'id,published_at,attributes.file_name,attributes.mime,attributes.url,attributes.placeholder', 'filter[id][in]': part.join(','), per_page: String(AT_ONCE) });
      files.push(...(await get<ListAnswer>(`/v2/resources/${library.slug}?${query}`)).data.filter((one) => isHidden(library, one, from)));
    }
    return { library, files };
  });
  return (await Promise.all(found)).filter(({ files }) => files.length > 0);
}
