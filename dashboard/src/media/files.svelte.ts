// The facts about files that a form refers to: looked up in batches, in the language of the form.
import { get } from '../lib/api';
import { shownFields, variantQuery } from '../lib/media';
import type { Blueprint, ListAnswer, Resource } from '../lib/types';
import { chunks } from '../lib/values';
import { SvelteMap } from 'svelte/reactivity';

const AT_ONCE = 100;

export class Files {
  private readonly known = new SvelteMap<string, Resource>();
  private readonly asked = new Set<string>();

  of = (id: string): Resource | undefined => this.known.get(id);

  /** Files may have been published or described meanwhile. */
  askAgain(): void {
    this.asked.clear();
  }

  /** What was chosen or uploaded here came with the same fields. */
  add(resources: Resource[]): void {
    for (const one of resources) {
      this.asked.add(one.id);
      this.known.set(one.id, one);
    }
  }

  /** Pictures help, and are not needed: a failure is not worth a message. */
  async load(library: Blueprint, ids: string[], variant: string | null): Promise<void> {
    const unknown = ids.filter((id) => !this.asked.has(id));
    for (const id of unknown) this.asked.add(id);
    for (const part of chunks(unknown, AT_ONCE)) {
      const fields = ['id', 'published_at', ...shownFields(library).map((one) => `attributes.${one}`)].join(',');
      const query = new URLSearchParams({ fields, 'filter[id][in]': part.join(','), per_page: String(AT_ONCE), ...variantQuery(library, variant) });
      const answer = await get<ListAnswer>(`/v2/resources/${library.slug}?${query}`).catch(() => null);
      for (const one of answer?.data ?? []) this.known.set(one.id, one);
    }
  }
}
