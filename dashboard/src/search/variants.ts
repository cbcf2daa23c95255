// The variants of all blueprints: synonyms count in every blueprint that has one.
import { blueprints } from '../lib/blueprints.svelte';
import type { Variant } from '../lib/types';

export const allVariants = (): Variant[] => [...new Map(blueprints.all.flatMap((one) => one.variants).map((one) => [one.slug, one])).values()];

export const variantName = (slug: string): string => allVariants().find((one) => one.slug === slug)?.name ?? slug;
