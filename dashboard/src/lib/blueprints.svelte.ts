// All blueprints, loaded once and again after a change to them.
import { get } from './api';
import { session } from './session.svelte';
import type { Blueprint, Field } from './types';

class Blueprints {
  all = $state<Blueprint[]>([]);
  loaded = $state(false);

  async load(): Promise<void> {
    this.all = (await get<{ data: Blueprint[] }>('/v2/blueprints')).data;
    this.loaded = true;
  }

  of(slug: string | undefined): Blueprint | undefined {
    return this.all.find((blueprint) => blueprint.slug === slug);
  }
}

export const blueprints = new Blueprints();

export const fieldOf = (blueprint: Blueprint, slug: string | null | undefined): Field | undefined =>
  blueprint.fields.find((field) => field.slug === slug);

/** The field that labels a resource: the record title, or the first field of text. */
export const titleField = (blueprint: Blueprint): Field | undefined =>
  fieldOf(blueprint, blueprint.record_title) ?? blueprint.fields.find((field) => field.type === 'text') ?? blueprint.fields[0];

export const defaultVariant = (blueprint: Blueprint): string | null => blueprint.variants.find((variant) => variant.default)?.slug ?? null;

/** The blueprint has working copies (API.md 4.21), and the member may see them. */
export const hasCopies = (blueprint: Blueprint): boolean => (blueprint.working_copy ?? false) && session.can('preview');
