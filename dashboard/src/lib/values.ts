// What can be said about a value without drawing it: whether it is empty, whether two are the same, and its text.
import { day, dateTime, money, number } from './format';
import { parseHtml } from './inert';
import type { Field, Json } from './types';

export const isEmpty = (value: Json | undefined): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

export const chunks = <T>(items: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** Deep equality of two JSON values; the order of keys does not matter. */
export function same(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    return Array.isArray(left) && Array.isArray(right) && left.length === right.length && left.every((item, index) => same(item, right[index]));
  }
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => key in right && same(left[key], right[key]));
}

/** The text of HTML. The document is inert: nothing in it is loaded or run. */
export function textOfHtml(html: string): string {
  const text = parseHtml(html.replace(/<(\/?(p|div|li|h[1-6]|tr|td|th|br|pre|blockquote))\b/gi, ' <$1')).textContent;
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

/** What was typed and is no number is shown as it was typed. */
const numberOrText = (value: Json): string => (typeof value === 'number' ? number(value, { maximumFractionDigits: 15 }) : String(value));

type Titles = (blueprint: string, id: string) => string;

/** A value in one line, for tables and comparisons. */
export function display(field: Field, value: Json | undefined, titles: Titles = (_, id) => id, words = { yes: 'Yes', no: 'No' }): string {
  if (value === null || value === undefined) return '';
  switch (field.type) {
    case 'rich-text':
      return textOfHtml(String(value)).slice(0, 300);
    case 'html-page':
      return textOfHtml(String((value as { html?: string }).html ?? '')).slice(0, 300);
    case 'boolean':
      return value ? words.yes : words.no;
    case 'number':
      return numberOrText(value);
    case 'duration':
      return `${numberOrText(value)} ${({ minutes: 'min', hours: 'h', days: 'd' } as const)[field.settings.unit ?? 'minutes']}`;
    case 'money': {
      const { amount, currency } = value as { amount: number | string; currency: string };
      return typeof amount === 'number' ? money(amount, currency) : `${amount} ${currency}`;
    }
    case 'date':
      return day(String(value));
    case 'datetime':
      return dateTime(String(value));
    case 'address': {
      const parts = value as Record<string, string | null>;
      return ['street', 'postal_code', 'city', 'country'].map((part) => parts[part]).filter(Boolean).join(', ');
    }
    case 'reference':
      return titles(field.settings.blueprint ?? '', String(value));
    case 'references':
      return (value as string[]).map((id) => titles(field.settings.blueprint ?? '', id)).join(', ');
    case 'multi-enum':
      return (value as string[]).join(', ');
    default:
      return String(value);
  }
}
