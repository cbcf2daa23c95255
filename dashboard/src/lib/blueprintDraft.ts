// A blueprint while it is being made or changed, and the body that the API accepts for it.
import { SYSTEM_DATES } from './list';
import { ALT, FOLDER, isMediaKind, isSystemField, SYSTEM, TITLES } from './media';
import { fieldSlug } from './slug';
import type { Blueprint, Field, FieldSettings, FieldType, Kind, Seo, Variant } from './types';

export interface DraftField extends Field {
  /** Tells rows apart while they are moved and renamed. Not sent. */
  key: number;
  /** The field exists on the server: its slug cannot change. */
  stored: boolean;
}

export interface BlueprintDraft {
  name: string;
  slug: string;
  kind: Kind;
  icon: string | null;
  record_title: string | null;
  scheduled: boolean;
  workingCopy: boolean;
  trash: { days: number } | null;
  history: { keep: number; days: number } | null;
  /** Is shown nowhere. Only what names fields that cannot have it any more is left out. */
  search: NonNullable<Blueprint['search']> | null;
  variants: Variant[];
  seo: Seo | null;
  fields: DraftField[];
}

let next = 1;

/** What the form of a new blueprint begins with, and what a switch sets. */
export const TRASH = { days: 30 };
export const HISTORY = { keep: 50, days: 365 };

export function draftOf(blueprint: Blueprint | null): BlueprintDraft {
  if (!blueprint) return { name: '', slug: '', kind: 'resource', icon: 'file-text', record_title: null, scheduled: true, workingCopy: true, trash: { ...TRASH }, history: { ...HISTORY }, search: null, variants: [], seo: null, fields: [newField('text', 'Title', true)] };
  const { name, slug, kind, icon, record_title, scheduled, working_copy, trash, history, search, variants, seo, fields } = JSON.parse(JSON.stringify(blueprint)) as Blueprint;
  return { name, slug, kind, icon, record_title, scheduled: scheduled ?? false, workingCopy: working_copy ?? false, trash: trash ?? null, history: history ?? null, search: search ?? null, variants, seo, fields: fields.filter((field) => !isSystemField(blueprint, field)).map((field) => ({ ...field, key: next++, stored: true })) };
}

/** A draft that was kept: its rows get keys that no other row has. */
export const rekeyed = (draft: BlueprintDraft): BlueprintDraft => ({ ...draft, fields: draft.fields.map((field) => ({ ...field, key: next++ })) });

export const newField = (type: FieldType, name = '', required = false): DraftField => ({
  name, slug: '', type, description: null, required, unique: false, settings: startSettings(type), key: next++, stored: false,
});

/** The fields that a library begins with: what describes a picture, and folders. */
export const mediaFields = (): DraftField[] => [
  { ...newField('text', 'Alt text'), slug: ALT }, newField('text', 'Caption'), { ...newField('enum', 'Folder'), slug: FOLDER },
];

export function startSettings(type: FieldType): FieldSettings {
  if (type === 'duration') return { unit: 'minutes' };
  if (type === 'enum' || type === 'multi-enum') return { values: null };
  return {};
}

export const slugOf = (field: DraftField): string => field.slug || fieldSlug(field.name);

export const UNIQUE_TYPES: FieldType[] = ['text', 'slug', 'email', 'link', 'number'];

/** Empty settings are left out, so that the server's defaults apply. */
function settingsOf(field: DraftField): FieldSettings {
  const entries = Object.entries(field.settings).filter(([name, value]) => (value !== '' && value !== undefined && value !== null) || (name === 'values' && value === null));
  return Object.fromEntries(entries);
}

const DATES: FieldType[] = ['date', 'datetime'];
const NUMBERS: FieldType[] = ['number', 'duration', 'money'];

/**
 * The boosts of the draft whose fields can still count into the order of a search. Those of fields that are gone or
 * have another type would be rejected. A date has a half-life, a number has none.
 */
function boostsOf(draft: BlueprintDraft): NonNullable<NonNullable<BlueprintDraft['search']>['boost']> {
  const types = new Map(draft.fields.map((field) => [slugOf(field), field.type]));
  const added: readonly string[] = [...SYSTEM_DATES, ...(isMediaKind(draft.kind) ? SYSTEM : [])];
  return (draft.search?.boost ?? []).filter(({ field, half_life_days }) => {
    const type = types.get(field);
    return added.includes(field) || (type !== undefined && (typeof half_life_days === 'number' ? DATES : NUMBERS).includes(type));
  });
}

export function bodyOf(draft: BlueprintDraft, creating: boolean): Record<string, unknown> {
  const fields = draft.fields.map((field) => ({
    name: field.name, ...(slugOf(field) ? { slug: slugOf(field) } : {}), type: field.type, description: field.description || null,
    required: field.required, unique: field.unique && UNIQUE_TYPES.includes(field.type), settings: settingsOf(field),
  }));
  // The name of the file is a field that the server adds.
  const known = new Set([...fields.map((field) => field.slug), ...(isMediaKind(draft.kind) ? TITLES : [])]);
  const seo = draft.seo && Object.fromEntries(Object.entries(draft.seo).map(([name, slug]) => [name, slug && known.has(slug) ? slug : null]));
  const { fields: weights, boost: _, ...words } = draft.search ?? {};
  // Only texts can have a weight.
  const texts = new Set([...fields.filter(({ type }) => type === 'text' || type === 'rich-text').map(({ slug }) => slug), ...(isMediaKind(draft.kind) ? TITLES : [])]);
  const searched = Object.entries(weights ?? {}).filter(([slug]) => texts.has(slug));
  const boost = boostsOf(draft);
  const search = { ...words, ...(searched.length > 0 ? { fields: Object.fromEntries(searched) } : {}), ...(boost.length > 0 ? { boost } : {}) };
  return {
    name: draft.name, ...(creating ? { ...(draft.slug ? { slug: draft.slug } : {}), kind: draft.kind } : {}),
    icon: draft.icon || null, record_title: draft.record_title && known.has(draft.record_title) ? draft.record_title : null,
    ...(draft.scheduled || !creating ? { scheduled: draft.scheduled } : {}), variants: draft.variants, seo, fields,
    ...(draft.workingCopy ? { working_copy: true } : {}), ...(draft.trash ? { trash: draft.trash } : {}), ...(draft.history ? { history: draft.history } : {}),
    ...(Object.keys(search).length > 0 ? { search } : {}),
  };
}
