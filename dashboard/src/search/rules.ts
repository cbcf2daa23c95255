// The name of a rule where it is mentioned, and the form in which it is edited and sent.
import { t } from '../lib/i18n.svelte';
import type { RuleDraft } from '../lib/rulePreview';

export const ruleName = (rule: Pick<RuleDraft, 'query'>): string => (rule.query === null ? t('rules.any') : t('quoted', { text: rule.query }));

const EMPTY: RuleDraft = { query: '', match: 'is', blueprint: null, variant: null, filter: null, from: null, until: null, pin: [], hide: [], filter_add: null };

/** A rule to edit: without what only the server writes. */
export function draftOf(entry: Partial<RuleDraft>): RuleDraft {
  const keys = Object.keys(EMPTY) as (keyof typeof EMPTY)[];
  return { ...EMPTY, ...(Object.fromEntries(keys.filter((key) => entry[key] !== undefined).map((key) => [key, entry[key]])) as Partial<RuleDraft>), ...(entry.id ? { id: entry.id } : {}) };
}
