// The state of a content table as it stands in the address of the page, and the request that it stands for. Both use the
// parameters of the API, so a link to a table reads like a request.
import type { Blueprint, FieldType } from './types';

export interface Condition {
  field: string;
  op: string;
  value: string;
}

export interface ListState {
  search: string;
  /** Groups of conditions: a resource is shown if all conditions of any group match. */
  groups: Condition[][];
  /** Sort keys of the API, such as `-created_at`. */
  sort: string[];
  page: number;
  perPage: number;
  variant: string | null;
  /** The table shows working copies in the place of what the site shows. */
  working: boolean;
  /** Columns that were chosen, or null for those of the blueprint. */
  columns: string[] | null;
}

export const DEFAULT_SORT = '-updated_at';
export const PER_PAGE = 25;
export const SYSTEM_DATES = ['published_at', 'created_at', 'updated_at'] as const;
export const SYSTEM_COLUMNS = [...SYSTEM_DATES, 'id'] as const;
/** The subjects of conditions, besides fields. */
export const SYSTEM_NAMES = ['published', ...SYSTEM_COLUMNS] as const;

/** The types of what a condition is about: those of fields, and those of the system. */
export type ConditionType = FieldType | 'system-date' | 'published' | 'id';

const ARRAYS: FieldType[] = ['multi-enum', 'references'];
const ORDERED: FieldType[] = ['number', 'money', 'duration', 'date', 'text', 'slug'];
const WITHOUT_TEXT: FieldType[] = ['boolean', 'number', 'money', 'duration', 'date', 'user'];

/** The operators that make sense for a type of field; the API accepts more. */
export function operatorsOf(type: ConditionType): string[] {
  if (type === 'published') return ['eq'];
  if (type === 'id') return ['eq', 'in'];
  if (type === 'system-date') return ['eq', 'gte', 'lte', 'between', 'null'];
  // A day is chosen, which a moment is hardly ever equal to.
  if (type === 'datetime') return ['between', 'gte', 'lte', 'gt', 'lt', 'null'];
  if (type === 'boolean') return ['eq', 'null'];
  if (type === 'reference') return ['eq', 'ne', 'null', 'dangling'];
  if (type === 'references') return ['has', 'has_none', 'null', 'dangling'];
  if (ARRAYS.includes(type)) return ['has', 'has_any', 'has_all', 'has_none', 'contains', 'null'];
  const operators = WITHOUT_TEXT.includes(type) ? ['eq', 'ne'] : ['contains', 'not_contains', 'eq', 'ne', 'starts_with', 'ends_with'];
  if (ORDERED.includes(type)) operators.push('gt', 'gte', 'lt', 'lte', 'between');
  if (type === 'enum') operators.unshift(...operators.splice(2, 2));
  return [...operators, 'null'];
}

/** The state "edited and not published", of working copies only. A field of that name comes first, as at the server. */
export const EDITED = 'working_copy';
export const filtersEdited = (blueprint: Blueprint): boolean => (blueprint.working_copy ?? false) && !blueprint.fields.some((field) => field.slug === EDITED);

/** The buttons of the toolbar stand for these conditions: published, drafts, edited. */
export const isStatus = (blueprint: Blueprint, { field, op, value }: Condition): boolean =>
  (field === 'published_at' && op === 'null') || (field === EDITED && op === 'eq' && value === 'true' && filtersEdited(blueprint));

/** The conditions that a table of the site cannot have are left out. */
export function withoutEdited(groups: Condition[][]): Condition[][] {
  if (!groups.some((group) => group.some((one) => one.field === EDITED))) return groups;
  return groups.map((group) => group.filter((one) => one.field !== EDITED)).filter((group) => group.length > 0);
}

const FILTER = /^filter(?:\[\$or\]\[(\d+)\])?\[([^\]$]+)\](?:\[([a-z_]+)\])?$/;

export function parseList(query: string): ListState {
  const parameters = new URLSearchParams(query);
  const groups = new Map<number, Condition[]>();
  for (const [name, value] of parameters) {
    const match = FILTER.exec(name);
    if (!match) continue;
    const group = Number(match[1] ?? 0);
    groups.set(group, [...(groups.get(group) ?? []), { field: match[2]!, op: match[3] ?? 'eq', value }]);
  }
  const columns = parameters.get('columns');
  return {
    search: parameters.get('search') ?? '',
    groups: [...groups.entries()].sort(([a], [b]) => a - b).map(([, conditions]) => conditions),
    sort: (parameters.get('sort') ?? '').split(',').filter(Boolean),
    page: Math.max(1, Math.floor(Number(parameters.get('page'))) || 1),
    perPage: Math.min(100, Math.max(1, Math.floor(Number(parameters.get('per_page'))) || PER_PAGE)),
    variant: parameters.get('variant'),
    working: parameters.get('copy') === 'working',
    columns: columns === null ? null : columns.split(',').filter(Boolean),
  };
}

function addFilters(parameters: URLSearchParams, groups: Condition[][]): void {
  const filled = groups.filter((group) => group.length > 0);
  filled.forEach((group, index) => {
    const prefix = filled.length > 1 ? `[$or][${index}]` : '';
    for (const { field, op, value } of group) parameters.append(`filter${prefix}[${field}][${op}]`, value);
  });
}

/** The conditions of filters in the form of an address; null if some of them cannot be built by clicking. */
export function conditionsOf(filters: string): Condition[][] | null {
  const names = [...new URLSearchParams(filters).keys()];
  const grouped = names.filter((name) => name.startsWith('filter[$or]')).length;
  const isBuilt = names.every((name) => FILTER.test(name)) && (grouped === 0 || grouped === names.length);
  return isBuilt ? parseList(filters).groups : null;
}

/** Conditions as filters in an address, as `conditionsOf` reads them. Those without a value are left out. */
export function filtersOf(groups: Condition[][]): string {
  const parameters = new URLSearchParams();
  addFilters(parameters, groups.map((group) => group.filter(isComplete)));
  return [...parameters].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

/** The query of the page's address; what is as usual is left out. */
export function formatList(state: ListState): string {
  const parameters = new URLSearchParams();
  if (state.search) parameters.set('search', state.search);
  addFilters(parameters, state.groups);
  if (state.sort.length > 0) parameters.set('sort', state.sort.join(','));
  if (state.variant) parameters.set('variant', state.variant);
  if (state.working) parameters.set('copy', 'working');
  if (state.columns) parameters.set('columns', state.columns.join(','));
  if (state.perPage !== PER_PAGE) parameters.set('per_page', String(state.perPage));
  if (state.page > 1) parameters.set('page', String(state.page));
  const text = parameters.toString();
  return text ? `?${text}` : '';
}

/** The order that is asked for: without a choice, what changed last comes first, and what a search finds is ranked. */
export const sortOf = ({ sort, search }: ListState): string[] => (sort.length > 0 || search.trimStart() ? sort : [DEFAULT_SORT]);

/** What is asked for, without the page: also what an export and a bulk operation over everything need. */
export function matching(state: ListState): URLSearchParams {
  const parameters = new URLSearchParams();
  // A space at the end says that the last word is complete (API.md 4.6.15).
  const words = state.search.trimStart();
  if (words) parameters.set('q', words);
  addFilters(parameters, state.groups.map((group) => group.filter(isComplete)));
  const sort = sortOf(state);
  if (sort.length > 0) parameters.set('sort', sort.join(','));
  if (state.variant) parameters.set('variant', state.variant);
  if (state.working) parameters.set('copy', 'working');
  return parameters;
}

/** The address of an export: what the table shows. Without a choice of columns it has every field. */
export function exportOf(blueprint: Blueprint, state: ListState, columns: string[] | null, format: string): string {
  const parameters = matching(state);
  parameters.set('format', format);
  // A cell that begins like a formula is made harmless for spreadsheets.
  if (format === 'csv') parameters.set('spreadsheet', 'true');
  if (columns) parameters.set('fields', ['id', ...columns.filter((column) => column !== 'id').map((column) => ((SYSTEM_COLUMNS as readonly string[]).includes(column) ? column : `attributes.${column}`))].join(','));
  return `/v2/resources/${blueprint.slug}/export?${parameters}`;
}

export function requestOf(blueprint: Blueprint, state: ListState, columns: string[], page = state.page): string {
  const parameters = matching(state);
  parameters.set('per_page', String(state.perPage));
  parameters.set('page', String(page));
  const attributes = columns.filter((column) => !(SYSTEM_COLUMNS as readonly string[]).includes(column));
  parameters.set('fields', ['id', 'published_at', 'created_at', 'updated_at', ...attributes.map((slug) => `attributes.${slug}`)].join(','));
  if (parameters.has('q')) {
    const texts = highlighted(blueprint);
    if (texts.length > 0) parameters.set('highlight', texts.join(','));
  }
  return `/v2/resources/${blueprint.slug}?${parameters}`;
}

const MOST_HIGHLIGHTED = 10;

/** The fields that the search looks in: in these the answer shows what was found. */
export const highlighted = (blueprint: Blueprint): string[] => blueprint.fields.filter((field) => field.type === 'text' || field.type === 'rich-text').slice(0, MOST_HIGHLIGHTED).map((field) => field.slug);

const QUIET: FieldType[] = ['rich-text', 'html-page', 'address', 'file', 'color'];

/** The columns of a blueprint that nobody has chosen any for: the title, then what is short. */
export function usualColumns(blueprint: Blueprint, title: string | undefined): string[] {
  const others = blueprint.fields.filter((field) => field.slug !== title && !QUIET.includes(field.type));
  const useful = others.filter((field) => !['slug', 'link', 'text'].includes(field.type)).concat(others.filter((field) => ['text', 'slug', 'link'].includes(field.type)));
  return [...(title ? [title] : []), ...useful.slice(0, 2).map((field) => field.slug), 'updated_at'];
}

/** The choice of a sort after a click on a column: ascending, descending, none. Without a choice it is `usual`: that is turned around. */
export function nextSort(sort: string[], column: string, add: boolean, usual: string[] = []): string[] {
  const current = sort.find((key) => key.replace(/^-/, '') === column);
  const next = current === undefined ? column : current === column ? `-${column}` : null;
  if (next === null && sort.length === 1 && usual.includes(`-${column}`)) return [column];
  if (!add) return next ? [next] : [];
  const others = sort.map((key) => (key.replace(/^-/, '') === column ? next : key)).filter((key): key is string => key !== null);
  return current === undefined ? [...others, column].slice(0, 8) : others;
}

const EMPTY_OPERATORS = ['null', 'dangling'];
/** The value is yes or no: a condition on such a field is complete as soon as it is there. */
export const takesYesNo = (op: string, type?: ConditionType): boolean => EMPTY_OPERATORS.includes(op) || type === 'boolean' || type === 'published';

/** The value is one of the field, or two. Other operators, also those that are not known here, take text. */
export const comparesValues = (op: string): boolean => ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'between'].includes(op);

/** One value as the list that the server reads (API.md 4.6.10), and back. */
export const listOf = (one: string): string => one.replace(/[\\,]/g, '\\$&');
export const onlyOf = (list: string): string => list.replace(/\\(.)/gs, '$1');
const LISTS = ['in', 'not_in', 'has_any', 'has_all', 'has_none'];
/** The list has several values. */
export const isSeveral = (list: string): boolean => /^(?:\\.|[^\\,])*,/s.test(list);

/** Only complete conditions act. `between` needs both ends. */
export const isComplete = ({ op, value }: Condition): boolean => (op === 'between' ? /^[^,]+,[^,]+$/.test(value) : value !== '');

/** The value is a day, or two. */
export const comparesDays = (type: ConditionType, op: string): boolean => comparesValues(op) && (type === 'system-date' || type === 'date' || type === 'datetime');

/**
 * The server compares moments, to the microsecond: a day alone is its midnight. It compares the days of the system's
 * dates, except in a range.
 */
const comparesMoments = (type: ConditionType, op: string): boolean => comparesDays(type, op) && (type === 'datetime' || (type === 'system-date' && op === 'between'));

/**
 * A day as the value of a condition, or as one end of a range. The whole day counts, so its last moment is the limit of
 * values that are at most this day, or more than it.
 */
export function dayValue(type: ConditionType, op: string, day: string, end: 'from' | 'to' = 'from'): string {
  const isLast = op === 'gt' || op === 'lte' || (op === 'between' && end === 'to');
  return day && isLast && comparesMoments(type, op) ? `${day}T23:59:59.999999Z` : day;
}

/** The day of a value, also of one with a time. */
export const dayOf = (value: string): string => value.slice(0, 10);

/** The value of a condition after its operator changed from one to another: what can still be meant is kept. */
export function valueFor(type: ConditionType, from: string | null, to: string, value: string): string {
  if (takesYesNo(to, type)) return 'true';
  if (from === null || takesYesNo(from, type)) return '';
  if (comparesDays(type, from) && comparesDays(type, to)) {
    const [first = '', last = ''] = value.split(',').map(dayOf);
    return to === 'between' ? `${dayValue(type, to, first)},${dayValue(type, to, last, 'to')}` : dayValue(type, to, first);
  }
  if (LISTS.includes(from) !== LISTS.includes(to)) return LISTS.includes(to) ? listOf(value) : isSeveral(value) ? value : onlyOf(value);
  if (to === 'between') return value.includes(',') ? value : `${value},`;
  return from === 'between' ? value.split(',')[0]! : value;
}
